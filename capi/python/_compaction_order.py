"""Sorts, the first keys in sort order, and copies by indices, for compaction.py."""

from _compaction import ITEM_BYTES, KEYS, PAIR_BYTES, Call


def radix_sort(keys, keys_out, *, values=None, values_out=None, item_count=None, descending=False, bits=(0, 0),
               strategy=None, stream=None):
    """Writes the sorted keys to `keys_out` and the values of these keys, if any, to `values_out`. The sort is stable.

    keys        n numbers of one dimension: integers of 8 to 64 bits, float32, float64 or bool. Floats are in the order
                of IEEE 754 totalOrder: -0 before 0, and NaN last, or first if its sign is set. Dates are no keys; in a
                view of them as int64, NaT is the smallest, where NumPy sorts it last
    keys_out    room for n keys; not `keys` itself
    values      n items of any dtype, of 4 or 8 bytes each, such as indices
    values_out  room for n values; not `values` itself
    item_count  an array whose first number, of 32 or 64 bits, says how many keys to read, at most n
    descending  whether the largest key comes first
    bits        the range of bits to compare, from the first up to but not including the second; (0, 0) stands for all
    strategy    onesweep (the default) or split

    >>> keys, names = numpy.array([2.5, -1.0, 0.0]), numpy.array([10, 20, 30], numpy.uint32)
    >>> keys_out, names_out = numpy.zeros_like(keys), numpy.zeros_like(names)
    >>> radix_sort(keys, keys_out, values=names, values_out=names_out)
    >>> keys_out.tolist(), names_out.tolist()
    ([-1.0, 0.0, 2.5], [20, 30, 10])
    """
    call = Call(stream, strategy)
    keys, keys_out = call.read(keys=keys, keys_out=keys_out)
    type_name = keys.require_type(KEYS, "keys")
    keys_out.require_output(keys.length, keys)
    _check_bits(bits, keys)
    values, values_out = _read_values(call, values, values_out, keys)
    item_count, word_bits = call.item_count(item_count, keys)
    value_bytes = 0 if values is None else values.item_bytes
    plan = (strategy, type_name, value_bytes, int(bool(descending)), *map(int, bits), word_bits)
    arrays = [keys, keys.length, item_count, keys_out] if values is None else \
        [keys, values, keys.length, item_count, keys_out, values_out]
    function = "radix_sort_keys" if values is None else "radix_sort_pairs"
    call.run("radix_sort", plan, function, *arrays, extent=keys.length)


def argsort(keys, keys_out, indices_out, *, item_count=None, descending=False, bits=(0, 0), strategy=None, stream=None):
    """Writes the sorted keys to `keys_out`, and the index that each of them had to `indices_out`. The sort is stable.

    keys         n numbers of one dimension, as for `radix_sort`
    keys_out     room for n keys; not `keys` itself
    indices_out  room for n numbers, int32, uint32, int64 or uint64
    item_count   an array whose first number, of the size of an index, says how many keys to read, at most n
    descending   whether the largest key comes first. Equal keys keep their order also then
    bits         the range of bits to compare, from the first up to but not including the second; (0, 0) stands for all
    strategy     onesweep (the default) or split

    >>> keys = numpy.array([2.5, -1.0, 0.0])
    >>> keys_out, indices = numpy.zeros_like(keys), numpy.zeros(3, numpy.int64)
    >>> argsort(keys, keys_out, indices)
    >>> keys_out.tolist(), indices.tolist()
    ([-1.0, 0.0, 2.5], [1, 2, 0])
    """
    call = Call(stream, strategy)
    keys, keys_out, indices_out = call.read(keys=keys, keys_out=keys_out, indices_out=indices_out)
    type_name = keys.require_type(KEYS, "keys")
    keys_out.require_output(keys.length, keys)
    _check_bits(bits, keys)
    item_count, word_bits = call.item_count(item_count, keys, indices_out.require_counts(keys.length, keys))
    plan = (strategy, type_name, int(bool(descending)), *map(int, bits), word_bits)
    call.run("argsort", plan, "argsort", keys, keys.length, item_count, keys_out, indices_out, extent=keys.length)


def segmented_sort(keys, keys_out, *, offsets=None, length=None, values=None, values_out=None, segment_count=None,
                   descending=False, stream=None):
    """Writes the keys of each segment, sorted, to `keys_out`, and the values of these keys, if any, to `values_out`.

    The sort is stable. What is in no segment is not written. Either `offsets` or `length` describes the segments.

    keys           n numbers of one dimension, as for `radix_sort`
    keys_out       room for n keys; not `keys` itself
    offsets        one number more than segments, int32, uint32, int64 or uint64: segment s has the keys from
                   `offsets[s]` to before `offsets[s + 1]`. Offsets ascend and are at most n. On a GPU, others give
                   unspecified results
    length         the number of keys of each segment, at least 1. There are as many segments as whole ones in `keys`
    values         n items of any dtype, of 4 or 8 bytes each, such as indices
    values_out     room for n values; not `values` itself
    segment_count  an array whose first number, of the size of the offsets or of 32 or 64 bits, says how many segments
                   to sort, at most all
    descending     whether the largest key of a segment comes first

    >>> keys, keys_out = numpy.array([3, 1, 2, 9, 8]), numpy.zeros(5, int)
    >>> segmented_sort(keys, keys_out, offsets=numpy.array([0, 3, 5]))
    >>> keys_out.tolist()
    [1, 2, 3, 8, 9]
    """
    call = Call(stream)
    keys, keys_out = call.read(keys=keys, keys_out=keys_out)
    type_name = keys.require_type(KEYS, "keys")
    keys_out.require_output(keys.length, keys)
    values, values_out = _read_values(call, values, values_out, keys)
    kind, segments, _, bits = call.segments(keys, offsets, length, segment_count)
    plan = (type_name, 0 if values is None else values.item_bytes, int(bool(descending)), bits)
    if values is None:
        return call.run("segmented_sort", plan, f"segmented_sort_keys_{kind}", keys, keys.length, *segments, keys_out,
                        extent=keys.length)
    call.run("segmented_sort", plan, f"segmented_sort_pairs_{kind}", keys, values, keys.length, *segments, keys_out,
             values_out, extent=keys.length)


def top_k(keys, keys_out, indices_out, *, k=None, item_count=None, largest=True, stream=None):
    """Writes the `k` largest keys to `keys_out`, the largest first, and the index that each of them had to
    `indices_out`.

    Of equal keys, those with the smallest indices come first. If there are fewer than `k` keys, all are written.

    keys         n numbers of one dimension, fewer than 2**32, as for `radix_sort`
    keys_out     room for k keys, or for n if those are fewer
    indices_out  room for as many numbers, int32 or uint32
    k            how many keys to select; by default the length of `keys_out`
    item_count   an array whose first number, of 32 bits, says how many keys to read, at most n
    largest      whether to select the largest keys; otherwise the smallest, the smallest first

    >>> keys = numpy.array([0.5, 2.5, 1.5, 2.5])
    >>> keys_out, indices = numpy.zeros(3), numpy.zeros(3, numpy.uint32)
    >>> top_k(keys, keys_out, indices)
    >>> keys_out.tolist(), indices.tolist()
    ([2.5, 2.5, 1.5], [1, 3, 2])
    """
    call = Call(stream)
    keys, keys_out, indices_out = call.read(keys=keys, keys_out=keys_out, indices_out=indices_out)
    type_name = keys.require_type(KEYS, "keys")
    k = keys_out.length if k is None else k
    if k < 0:
        raise ValueError(f"k: {k} is negative")
    k = min(int(k), keys.length)
    keys_out.require_output(k, keys)
    if indices_out.require_counts(k, keys) != 32:
        indices_out.fail("indices have 32 bits: int32 or uint32")
    item_count, _ = call.item_count(item_count, keys, 32)
    # Plans for powers of two serve many k.
    max_k = min(1 << max(0, k - 1).bit_length(), (1 << 32) - 1)
    call.run("top_k", (type_name, int(bool(largest)), max_k), "top_k", keys, keys.length, item_count, k, keys_out,
             indices_out, extent=keys.length)


def gather(values, indices, out, *, item_count=None, stream=None):
    """Writes `values[indices[i]]` to `out[i]`, for each i.

    Indices that `values` does not have, such as negative ones, leave their item of `out` as it is.

    values      items of any dtype, of 1, 2 or a multiple of 4 up to 64 bytes each
    indices     n numbers, int32, uint32, int64 or uint64
    out         room for n items; not `values` itself
    item_count  an array whose first number, of the size of the indices, says how many indices to read, at most n

    >>> values, out = numpy.array([[1, 2], [3, 4], [5, 6]]), numpy.zeros((2, 2), int)
    >>> gather(values, numpy.array([2, 0]), out)
    >>> out.tolist()
    [[5, 6], [1, 2]]
    """
    call = Call(stream)
    values, indices, out = call.read(values=values, indices=indices, out=out)
    values.require_bytes(ITEM_BYTES, "gather parts of such a size")
    item_count, bits = call.item_count(item_count, indices, indices.require_indices(values))
    out.require_output(indices.length, values)
    call.run("gather", (values.item_bytes, bits), "gather", values, values.length, indices, indices.length, item_count,
             out, extent=0)


def scatter(values, indices, out, *, item_count=None, stream=None):
    """Writes `values[i]` to `out[indices[i]]`, for each i.

    Items whose index `out` does not have, such as a negative one, are skipped. The indices should differ: an entry
    that several name receives the last of their items on the CPU, and on a GPU unspecified bytes of these items.

    values      n items of any dtype, of 1, 2 or a multiple of 4 up to 64 bytes each
    indices     n numbers, int32, uint32, int64 or uint64
    out         any number of items; not `values` itself
    item_count  an array whose first number, of the size of the indices, says how many items to read, at most n

    >>> out = numpy.zeros(4)
    >>> scatter(numpy.array([0.5, 1.5]), numpy.array([3, 0]), out)
    >>> out.tolist()
    [1.5, 0.0, 0.0, 0.5]
    """
    call = Call(stream)
    values, indices, out = call.read(values=values, indices=indices, out=out)
    values.require_bytes(ITEM_BYTES, "scatter parts of such a size")
    indices.require_length(values)
    out.require_output(0, values)
    item_count, bits = call.item_count(item_count, values, indices.require_indices(out))
    call.run("scatter", (values.item_bytes, bits), "scatter", values, indices, values.length, item_count, out,
             out.length, extent=0)


def _check_bits(bits, keys):
    if bits != (0, 0) and (len(bits) != 2 or any(bit not in range(8 * keys.size + 1) for bit in bits)):
        raise ValueError(f"bits: {bits} is not (first, end) with numbers from 0 to {8 * keys.size}")


def _read_values(call, values, values_out, keys):
    """Reads and checks the values of keys that are sorted, if any, and the output for them."""
    if (values is None) != (values_out is None):
        raise ValueError("values and values_out: one is missing; give both, or none")
    if values is None:
        return None, None
    values, values_out = call.read(values=values, values_out=values_out)
    values.require_bytes(PAIR_BYTES, "sort indices instead, and take the items by them")
    values.require_length(keys)
    values_out.require_output(keys.length, values)
    return values, values_out
