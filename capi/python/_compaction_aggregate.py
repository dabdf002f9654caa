"""Reductions, runs of equal items, histograms and segments, for compaction.py."""

from _compaction import BIN_NUMBERS, ITEM_BYTES, NUMBERS, PAIR_BYTES, SAMPLES, SUMMANDS, Call


def reduce(values, out, *, op="sum", item_count=None, stream=None):
    """Writes the sum, the minimum or the maximum of `values` to `out[0]`.

    Without items, that is 0 for a sum, the largest value of the dtype for min, and the smallest for max.

    values      n numbers of one dimension: uint32, int32, uint64, int64, float32 or float64. Sums of integers
                wrap around. Sums of floats have the same bits on every device
    out         one number of the same dtype
    op          sum, min or max. Minimum and maximum ignore NaNs, and -0 is less than +0
    item_count  an array whose first number, of 32 or 64 bits, says how many items to read, at most n

    >>> out = numpy.zeros(1)
    >>> reduce(numpy.array([3.0, 1.0, 4.0]), out, op="max")
    >>> out.tolist()
    [4.0]
    """
    call = Call(stream, op=op)
    values, out = call.read(values=values, out=out)
    type_name = _require_items(values, op)
    out.require_output(1, values)
    item_count, bits = call.item_count(item_count, values)
    call.run("reduce", (op, type_name, bits), "reduce", values, values.length, item_count, out, extent=values.length)


def argmin(values, index, value, *, item_count=None, stream=None):
    """Writes the index of the smallest item of `values` to `index[0]`, and the item to `value[0]`.

    Of equal items, the first one counts. -0 is less than +0. NaNs are ignored. Without other items, the index has all
    bits set, so that it is -1 if it is signed, and the item is the largest value of the dtype.

    values      n numbers of one dimension: uint32, int32, uint64, int64, float32 or float64
    index       one int32, uint32, int64 or uint64
    value       one number of the dtype of `values`
    item_count  an array whose first number, of the size of the index, says how many items to read, at most n

    >>> index, value = numpy.zeros(1, numpy.int64), numpy.zeros(1)
    >>> argmin(numpy.array([3.0, 1.0, 4.0]), index, value)
    >>> index.tolist(), value.tolist()
    ([1], [1.0])
    """
    _arg_reduce("min", values, index, value, item_count, stream)


def argmax(values, index, value, *, item_count=None, stream=None):
    """Writes the index of the largest item of `values` to `index[0]`, and the item to `value[0]`.

    Without items other than NaNs, the item is the smallest value of the dtype. Otherwise, the arguments and results are
    those of `argmin`.

    >>> index, value = numpy.zeros(1, numpy.int64), numpy.zeros(1)
    >>> argmax(numpy.array([3.0, 1.0, 4.0]), index, value)
    >>> index.tolist(), value.tolist()
    ([2], [4.0])
    """
    _arg_reduce("max", values, index, value, item_count, stream)


def unique(values, out, runs, *, item_count=None, stream=None):
    """Writes the first item of each run of equal items to `out`, and the number of runs to `runs[0]`.

    A run is a sequence of adjacent items with equal bytes. So of a sorted array, each item is written once.

    values      n items of any dtype, of 1, 2 or a multiple of 4 up to 64 bytes each
    out         room for n items; not `values` itself
    runs        one int32, uint32, int64 or uint64
    item_count  an array whose first number, of the size of `runs`, says how many items to read, at most n

    >>> out, runs = numpy.zeros(5, int), numpy.zeros(1, int)
    >>> unique(numpy.array([7, 7, 5, 5, 7]), out, runs)
    >>> out[: runs[0]].tolist()
    [7, 5, 7]
    """
    call = Call(stream)
    values, out, runs = call.read(values=values, out=out, runs=runs)
    values.require_bytes(ITEM_BYTES, _ITEM_REMEDY)
    out.require_output(values.length, values)
    item_count, bits = call.item_count(item_count, values, runs.require_counts(1, values))
    call.run("unique", (values.item_bytes, bits), "unique", values, values.length, item_count, out, runs,
             extent=values.length)


def unique_by_key(keys, values, keys_out, values_out, runs, *, item_count=None, stream=None):
    """Writes the first key of each run of equal keys to `keys_out`, its value to `values_out`, and the number of runs
    to `runs[0]`.

    A run is a sequence of adjacent keys with equal bytes.

    keys        n items of any dtype, of 4 or 8 bytes each
    values      n items of any dtype, of 4 or 8 bytes each
    keys_out    room for n keys; not `keys` itself
    values_out  room for n values; not `values` itself
    runs        one int32, uint32, int64 or uint64
    item_count  an array whose first number, of the size of `runs`, says how many keys to read, at most n

    >>> keys, values = numpy.array([7, 7, 5]), numpy.array([0.5, 1.5, 2.5])
    >>> keys_out, values_out, runs = numpy.zeros_like(keys), numpy.zeros_like(values), numpy.zeros(1, int)
    >>> unique_by_key(keys, values, keys_out, values_out, runs)
    >>> keys_out[: runs[0]].tolist(), values_out[: runs[0]].tolist()
    ([7, 5], [0.5, 2.5])
    """
    call = Call(stream)
    keys, values = _read_pairs(call, keys, values)
    values.require_bytes(PAIR_BYTES, "pass indices as values, and take the items by them")
    outputs, bits = _read_runs(call, keys, values, keys_out, values_out, runs)
    item_count, bits = call.item_count(item_count, keys, bits)
    call.run("unique_by_key", (keys.item_bytes, values.item_bytes, bits), "unique_by_key", keys, values, keys.length,
             item_count, *outputs, extent=keys.length)


def run_lengths(values, out, lengths, runs, *, item_count=None, stream=None):
    """Writes the first item of each run of equal items to `out`, the number of items of each run to `lengths`, and the
    number of runs to `runs[0]`.

    A run is a sequence of adjacent items with equal bytes.

    values      n items of any dtype, of 1, 2 or a multiple of 4 up to 64 bytes each
    out         room for n items; not `values` itself
    lengths     room for n numbers of the dtype of `runs`
    runs        one int32, uint32, int64 or uint64
    item_count  an array whose first number, of the size of `runs`, says how many items to read, at most n

    >>> out, lengths, runs = numpy.zeros(5, int), numpy.zeros(5, int), numpy.zeros(1, int)
    >>> run_lengths(numpy.array([7, 7, 5, 5, 7]), out, lengths, runs)
    >>> out[: runs[0]].tolist(), lengths[: runs[0]].tolist()
    ([7, 5, 7], [2, 2, 1])
    """
    call = Call(stream)
    values, out, lengths, runs = call.read(values=values, out=out, lengths=lengths, runs=runs)
    values.require_bytes(ITEM_BYTES, _ITEM_REMEDY)
    out.require_output(values.length, values)
    item_count, bits = call.item_count(item_count, values, runs.require_counts(1, values))
    lengths.require_output(values.length, runs)
    call.run("run_lengths", (values.item_bytes, bits), "run_lengths", values, values.length, item_count, out, lengths,
             runs, extent=values.length)


def reduce_by_key(keys, values, keys_out, values_out, runs, *, op="sum", item_count=None, stream=None):
    """Writes the key of each run of equal keys to `keys_out`, the sum, minimum or maximum of its values to
    `values_out`, and the number of runs to `runs[0]`.

    A run is a sequence of adjacent keys with equal bytes.

    keys        n items of any dtype, of 4 or 8 bytes each
    values      n numbers, as for `reduce`
    keys_out    room for n keys; not `keys` itself
    values_out  room for n values; not `values` itself
    runs        one int32, uint32, int64 or uint64
    op          sum, min or max
    item_count  an array whose first number, of the size of `runs`, says how many keys to read, at most n

    >>> keys, values = numpy.array([7, 7, 5]), numpy.array([0.5, 1.5, 2.5])
    >>> keys_out, values_out, runs = numpy.zeros_like(keys), numpy.zeros_like(values), numpy.zeros(1, int)
    >>> reduce_by_key(keys, values, keys_out, values_out, runs)
    >>> keys_out[: runs[0]].tolist(), values_out[: runs[0]].tolist()
    ([7, 5], [2.0, 2.5])
    """
    call = Call(stream, op=op)
    keys, values = _read_pairs(call, keys, values)
    type_name = _require_items(values, op)
    outputs, bits = _read_runs(call, keys, values, keys_out, values_out, runs)
    item_count, bits = call.item_count(item_count, keys, bits)
    call.run("reduce_by_key", (op, keys.item_bytes, type_name, bits), "reduce_by_key", keys, values, keys.length,
             item_count, *outputs, extent=keys.length)


def scan_by_key_exclusive(keys, values, out, *, op="sum", item_count=None, stream=None):
    """Writes to `out`, for each item of `values`, the combination of all items before it in its run of equal keys.

    A run is a sequence of adjacent keys with equal bytes. Its first result is 0 for sums, the largest value of the
    dtype for min, and the smallest for max.

    keys        n items of any dtype, of 4 or 8 bytes each
    values      n numbers, as for `reduce`
    out         room for n numbers of the same dtype; not `values` itself
    op          sum, min or max
    item_count  an array whose first number, of 32 or 64 bits, says how many keys to read, at most n

    >>> values, out = numpy.array([3.0, 1.0, 4.0]), numpy.zeros(3)
    >>> scan_by_key_exclusive(numpy.array([7, 7, 5]), values, out)
    >>> out.tolist()
    [0.0, 3.0, 0.0]
    """
    _scan_by_key("exclusive", keys, values, out, op, item_count, stream)


def scan_by_key_inclusive(keys, values, out, *, op="sum", item_count=None, stream=None):
    """Writes to `out`, for each item of `values`, the combination of all items in its run of equal keys up to and
    including it.

    The arguments are those of `scan_by_key_exclusive`.

    >>> values, out = numpy.array([3.0, 1.0, 4.0]), numpy.zeros(3)
    >>> scan_by_key_inclusive(numpy.array([7, 7, 5]), values, out)
    >>> out.tolist()
    [3.0, 4.0, 4.0]
    """
    _scan_by_key("inclusive", keys, values, out, op, item_count, stream)


def histogram(values, out, *, range=None, bounds=None, bins=None, item_count=None, stream=None):
    """Writes to `out` the number of items of `values` in each bin. Items outside all bins, and NaNs, are not counted.

    With `range`, the bins have equal widths. With `bounds`, bin b has the items from `bounds[b]` to below the next one.
    With neither, it has the items that are equal to b. The end of the last bin does not belong to it, unlike in NumPy.

    values      n numbers of one dimension: integers of 8 to 32 bits, float32, float64 or bool; without `range` and
                `bounds` uint8, uint16, uint32 or bool
    out         room for one count for each bin: int32, uint32, int64 or uint64
    range       (start of the first bin, end of the last), two finite numbers; whole ones for items that are no floats
    bounds      bins + 1 numbers in ascending order, of the dtype of `values` for floats and int64 for others
    bins        1 to 2**24; by default one less than the length of `bounds`, or the length of `out`
    item_count  an array whose first number, of the size of the counts, says how many items to read, at most n

    >>> out = numpy.zeros(4, int)
    >>> histogram(numpy.array([0.5, 0.1, 0.9, 0.6]), out, range=(0, 1))
    >>> out.tolist()
    [1, 0, 2, 1]
    """
    call = Call(stream)
    values, out = call.read(values=values, out=out)
    if range is not None and bounds is not None:
        raise ValueError("range and bounds: both are given; leave one out")
    kind, edges = "keys", ()
    if range is not None:
        kind, edges = "even", _read_range(range)
    elif bounds is not None:
        bounds = call.array("bounds", bounds)
        kind, edges = "bounds", (bounds,)
    types, what = (BIN_NUMBERS, " without range and bounds") if kind == "keys" else (SAMPLES, "")
    type_name = values.require_type(types, f"items of a histogram{what}")
    if bins is None:
        bins = out.length if bounds is None else bounds.length - 1
    if not 1 <= bins <= 1 << 24:
        out.fail(f"for {bins} bins, where 1 to {1 << 24} are possible")
    if bounds is not None:
        bounds.require_type({f"f{values.size}": type_name} if values.kind == "f" else {"i8": "i64"}, "bounds")
        if bounds.length != bins + 1:
            bounds.fail(f"{bins} bins have {bins + 1} bounds")
    item_count, bits = call.item_count(item_count, values, out.require_counts(bins, values))
    call.run("histogram", (type_name, int(bins), bits), f"histogram_{kind}", values, values.length, item_count, *edges,
             out, extent=0)


def segmented_reduce(values, out, *, offsets=None, length=None, op="sum", segment_count=None, stream=None):
    """Writes the sum, the minimum or the maximum of each segment of `values` to `out`.

    Either `offsets` or `length` describes the segments. The result of an empty one is 0 for a sum, the largest value of
    the dtype for min, and the smallest for max.

    values         n numbers, as for `reduce`
    out            room for one number of the same dtype for each segment
    offsets        one number more than segments, int32, uint32, int64 or uint64: segment s has the items from
                   `offsets[s]` to before `offsets[s + 1]`. Offsets ascend and are at most n. On a GPU, others give
                   unspecified results
    length         the number of items of each segment, at least 1. There are as many segments as whole ones in `values`
    op             sum, min or max
    segment_count  an array whose first number, of the size of the offsets or of 32 or 64 bits, says how many segments
                   to reduce, at most all

    >>> values, out = numpy.array([3.0, 1.0, 4.0, 1.0, 5.0]), numpy.zeros(3)
    >>> segmented_reduce(values, out, offsets=numpy.array([0, 2, 2, 5]))
    >>> out.tolist()
    [4.0, 0.0, 10.0]
    """
    call = Call(stream, op=op)
    values, out = call.read(values=values, out=out)
    type_name = _require_items(values, op)
    kind, segments, count, bits = call.segments(values, offsets, length, segment_count)
    out.require_output(count, values)
    call.run("segmented_reduce", (op, type_name, bits), f"segmented_reduce_{kind}", values, values.length, *segments,
             out, extent=values.length)


# The remedy for items of a size that is not possible.
_ITEM_REMEDY = "copy them to rows of such a size"


def _require_items(values, op):
    """Checks the dtype of the items of an operator. Returns the library's name of it."""
    return values.require_type(NUMBERS if op in ("min", "max") else SUMMANDS, f"items of a {op}")


def _arg_reduce(extreme, values, index, value, item_count, stream):
    call = Call(stream)
    values, index, value = call.read(values=values, index=index, value=value)
    type_name = values.require_type(NUMBERS, "items of a search")
    value.require_output(1, values)
    item_count, bits = call.item_count(item_count, values, index.require_counts(1, values))
    call.run("arg_reduce", (extreme, type_name, bits), "arg_reduce", values, values.length, item_count, index, value,
             extent=values.length)


def _read_pairs(call, keys, values):
    """Reads keys and their values, and checks the size of the keys."""
    keys, values = call.read(keys=keys, values=values)
    keys.require_bytes(PAIR_BYTES, "convert them to such a size")
    values.require_length(keys)
    return keys, values


def _read_runs(call, keys, values, keys_out, values_out, runs):
    """Reads and checks the outputs of a call for runs of keys. Returns them with the size of counts in bits."""
    keys_out, values_out, runs = outputs = call.read(keys_out=keys_out, values_out=values_out, runs=runs)
    keys_out.require_output(keys.length, keys)
    values_out.require_output(keys.length, values)
    return outputs, runs.require_counts(1, keys)


def _scan_by_key(kind, keys, values, out, op, item_count, stream):
    call = Call(stream, op=op)
    keys, values = _read_pairs(call, keys, values)
    type_name = _require_items(values, op)
    out = call.array("out", out)
    out.require_output(keys.length, values)
    item_count, bits = call.item_count(item_count, keys)
    call.run("scan_by_key", (op, keys.item_bytes, type_name, bits), f"scan_by_key_{kind}", keys, values, keys.length,
             item_count, out, extent=keys.length)


def _read_range(limits):
    """Returns the two numbers of a range."""
    try:
        lower, upper = map(float, limits)
    except (TypeError, ValueError):
        raise ValueError(f"range: {limits!r} is not (start of the first bin, end of the last)") from None
    return lower, upper
