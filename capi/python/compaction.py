"""Primitives for arrays on a GPU, by the library compaction: scan, reduction, stream compaction, partition, sorts, runs
of equal items, histograms, gather and scatter, and summed-area tables.

Arrays are objects with ``__cuda_array_interface__`` (CuPy, Numba, PyTorch), ``__dlpack__`` (JAX, and others), or, for
the CPU, ``__array_interface__`` (NumPy). They are contiguous, and the caller provides the outputs::

    import compaction, cupy

    flags = cupy.array([0, 1, 1, 0, 0, 1], cupy.uint8)
    hits, count = cupy.empty(6, cupy.uint32), cupy.empty(1, cupy.uint32)
    compaction.select(flags, hits, count)
    print(hits[: int(count[0])])  # [1 2 5]

Items. An array of any shape is a sequence of its rows: everything with the same first index is one item. Items are
copied as bytes, so they may have any dtype without references to Python objects, also dates, complex numbers and
structures. Scans and sorts compute with numbers, and take one dimension and the dtypes that they name. No call
converts a dtype. An output has the dtype and the row size of its input. It may be longer, and keeps its values behind
the results. Arrays of JAX are inputs only, because they never change.

Counts. Counts and indices are int32, uint32, int64 or uint64, all of one size in a call. A call writes counts to the
memory of its device, and reads the number of its items from `item_count[0]` there if that is given, so the host need
not wait. Segments are counted by `segment_count[0]` instead. On the CPU, a count larger than the array is an error. On
a GPU it counts as the length, and `check()` reports it.

Streams. Calls on a GPU put work on a stream and return at once. The caller keeps the arrays alive until the work has
finished. `stream` is a stream of any library or its handle as a number; 0 is the default stream. If it is None, the
call uses the current stream of PyTorch or CuPy, the stream of a Numba array, and otherwise the default stream. Arrays
of PyTorch, and those with ``__dlpack__`` alone, use the primary context of their GPU. Others use the CUDA context that
is current on the thread.

Errors are one line that names the argument. TypeError means that an object is no supported array, and ValueError that
its dtype, shape, memory or device does not fit. Error is a failure of the library, such as overlapping arrays, an
unknown strategy, no GPU, or kernels that are not shipped on a machine without NVRTC. Calls that fail write nothing.

Plans and workspaces are kept for later calls, by thread and stream. A call that needs more memory than earlier ones
replaces its workspace. Before a graph capture, run the call once with the largest number of items on the stream of the
capture. ``clear()`` releases all workspaces of the thread; their work must have finished, and their streams exist.

The environment variable COMPACTION_LIBRARY names the library. By default, the system searches for libcompaction.so.0.1.
"""

from _compaction import BYTES, COLUMN_BYTES, ITEM_BYTES, NUMBERS, SUMMANDS
from _compaction import Call, Column, Error, check, clear, type_names
from _compaction_aggregate import argmax, argmin, histogram, reduce, reduce_by_key, run_lengths, scan_by_key_exclusive
from _compaction_aggregate import scan_by_key_inclusive, segmented_reduce, unique, unique_by_key
from _compaction_order import argsort, gather, radix_sort, scatter, segmented_sort, top_k

__all__ = [
    "Error", "argmax", "argmin", "argsort", "check", "clear", "gather", "histogram", "partition", "partition_classes",
    "radix_sort", "reduce", "reduce_by_key", "run_lengths", "scan_by_key_exclusive", "scan_by_key_inclusive",
    "scan_exclusive", "scan_inclusive", "scatter", "segmented_reduce", "segmented_sort", "select", "select_columns",
    "summed_area", "top_k", "unique", "unique_by_key",
]

# The remedy for items that are too large.
_BY_INDEX = "leave out values, and take the items by the indices"


def select(flags, out, count, *, values=None, item_count=None, strategy=None, stream=None):
    """Writes the indices of the nonzero flags, or their items of `values`, to `out`, and their number to `count[0]`.

    flags       bool or uint8, one for each of n items
    out         room for n indices of the dtype of `count`, or for n items of `values`. It may be `values` itself: then
                the selected items move to its front, and those behind them are unspecified
    count       one int32, uint32, int64 or uint64
    values      n items of any dtype, of 1 to 64 bytes each. In place, or with a strategy, these are 1, 2 or a multiple
                of 4 bytes
    item_count  an array whose first number, of the size of `count`, says how many flags to read, at most n
    strategy    look-back (the default, which keeps the order), count-scan-scatter, sequences, scan-scatter,
                hole-filling, atomic or off; in place look-back, hole-filling or off

    >>> flags, count = numpy.array([True, False, True]), numpy.zeros(1, numpy.int64)
    >>> out = numpy.zeros(3, numpy.float32)
    >>> select(flags, out, count, values=numpy.array([0.5, 1.5, 2.5], numpy.float32))
    >>> out[: count[0]].tolist()
    [0.5, 2.5]
    """
    call = Call(stream, strategy)
    flags, out, count, values, bits, item_count = _read_flags(call, flags, out, count, values, item_count)
    items, tail = flags.length, (flags, flags.length, item_count)
    if values is None:
        return call.run("select", (strategy, 0, bits), "select_indices", *tail, out, count, extent=items)
    if out.address == values.address and items > 0:
        values.require_bytes(ITEM_BYTES, "select to another array")
        return call.run("select_in_place", (strategy, values.item_bytes, bits), "select_in_place", values, *tail, count,
                        extent=items)
    if strategy is None and values.item_bytes not in ITEM_BYTES[1]:
        return _select_columns(call, flags, [values], [out], count, item_count, bits)
    values.require_bytes(ITEM_BYTES, "leave out the strategy" if values.item_bytes in COLUMN_BYTES[1] else _BY_INDEX)
    call.run("select", (strategy, values.item_bytes, bits), "select_items", values, *tail, out, count, extent=items)


def select_columns(flags, values, out, count, *, item_count=None, stream=None):
    """Writes the items of several arrays whose flag is nonzero, in their order, and their number to `count[0]`.

    flags       bool or uint8, one for each of n items
    values      a list of 1 to 8 arrays, each with n items of any dtype, of 1 to 64 bytes each
    out         a list of as many arrays, each with room for n items of the array of `values` at its place
    count       one int32, uint32, int64 or uint64
    item_count  an array whose first number, of the size of `count`, says how many flags to read, at most n

    >>> flags, count = numpy.array([1, 0, 1], numpy.uint8), numpy.zeros(1, numpy.uint32)
    >>> ids, colors = numpy.arange(3), numpy.array([[255, 0, 0], [0, 255, 0], [0, 0, 255]], numpy.uint8)
    >>> out = [numpy.zeros_like(ids), numpy.zeros_like(colors)]
    >>> select_columns(flags, [ids, colors], out, count)
    >>> [column[: count[0]].tolist() for column in out]
    [[0, 2], [[255, 0, 0], [0, 0, 255]]]
    """
    call, values, out = Call(stream), list(values), list(out)
    if len(values) != len(out):
        raise ValueError(f"out: {len(out)} arrays, where values has {len(values)}")
    flags, count = call.read(flags=flags, count=count)
    flags.require_flags()
    bits = count.require_counts(1, flags)
    values = [call.array(f"values[{number}]", column) for number, column in enumerate(values)]
    out = [call.array(f"out[{number}]", column) for number, column in enumerate(out)]
    item_count, bits = call.item_count(item_count, flags, bits)
    for column, to in zip(values, out):
        column.require_length(flags)
        to.require_output(flags.length, column)
    _select_columns(call, flags, values, out, count, item_count, bits)


def partition(flags, out, count, *, values=None, item_count=None, stream=None):
    """Writes what `select` writes, and behind it the indices or items whose flag is zero. Both parts keep their order.

    flags       bool or uint8, one for each of n items
    out         room for n indices of the dtype of `count`, or for n items of `values`
    count       one int32, uint32, int64 or uint64: the number of nonzero flags
    values      n items of any dtype, of 1, 2 or a multiple of 4 up to 64 bytes each
    item_count  an array whose first number, of the size of `count`, says how many flags to read, at most n

    >>> flags, out, count = numpy.array([False, True, True]), numpy.zeros(3, numpy.uint32), numpy.zeros(1, numpy.uint32)
    >>> partition(flags, out, count)
    >>> out.tolist(), count.tolist()
    ([1, 2, 0], [2])
    """
    call = Call(stream)
    flags, out, count, values, bits, item_count = _read_flags(call, flags, out, count, values, item_count)
    tail = (flags, flags.length, item_count, out, count)
    if values is None:
        return call.run("partition", (0, bits), "partition_indices", *tail, extent=flags.length)
    values.require_bytes(ITEM_BYTES, _BY_INDEX)
    call.run("partition", (values.item_bytes, bits), "partition_items", values, *tail, extent=flags.length)


def partition_classes(keys, out, starts, *, classes=None, item_count=None, stream=None):
    """Writes the indices of all keys to `out`, ordered by key, and where each class starts there to `starts`.

    Equal keys keep their order. Indices of keys that are no class, `classes` or larger, follow the last class.

    keys        uint8 or bool, one for each of n items
    out         room for n indices of the dtype of `starts`
    starts      room for classes + 1 numbers, int32, uint32, int64 or uint64: the start of each class in `out`, and the
                end of the last
    classes     1 to 256; by default one less than the length of `starts`
    item_count  an array whose first number, of the size of those of `starts`, says how many keys to read, at most n

    >>> keys = numpy.array([1, 0, 7, 1], numpy.uint8)
    >>> out, starts = numpy.zeros(4, numpy.int32), numpy.zeros(3, numpy.int32)
    >>> partition_classes(keys, out, starts)
    >>> out.tolist(), starts.tolist()
    ([1, 0, 3, 2], [0, 1, 3])
    """
    call = Call(stream)
    keys, out, starts = call.read(keys=keys, out=out, starts=starts)
    keys.require_type(BYTES, "keys")
    classes = starts.length - 1 if classes is None else classes
    if classes not in range(1, 257):
        starts.fail(f"for {classes} classes, where 1 to 256 are possible")
    bits = starts.require_counts(classes + 1, keys)
    out.require_output(keys.length, starts)
    item_count, bits = call.item_count(item_count, keys, bits)
    call.run("partition_classes", (int(classes), bits), "partition_classes", keys, keys.length, item_count, out, starts,
             extent=keys.length)


def scan_exclusive(values, out, *, op="sum", item_count=None, strategy=None, stream=None):
    """Writes to `out`, for each item of `values`, the combination of all items before it.

    The first result is 0 for sums, the largest value of the dtype for min, and the smallest for max.

    values      n numbers of one dimension: uint32, int32, uint64, int64, float32 or float64. Sums of integers
                wrap around
    out         room for n numbers of the same dtype. It may be `values` itself
    op          sum, min or max
    item_count  an array whose first number, of 32 or 64 bits, says how many items to read, at most n
    strategy    look-back (the default), raking, block-sums, blelloch-compact, blelloch or hillis-steele. Sums of floats
                have the same bits in every run, and by raking and block-sums those of the CPU

    >>> values = numpy.array([3, 1, 4], numpy.uint32)
    >>> scan_exclusive(values, values)
    >>> values.tolist()
    [0, 3, 4]
    """
    _scan("scan_exclusive", values, out, op, item_count, strategy, stream)


def scan_inclusive(values, out, *, op="sum", item_count=None, strategy=None, stream=None):
    """Writes to `out`, for each item of `values`, the combination of all items up to and including it.

    The arguments are those of `scan_exclusive`.

    >>> values, out = numpy.array([3.0, 1.0, 4.0]), numpy.zeros(3)
    >>> scan_inclusive(values, out, op="max")
    >>> out.tolist()
    [3.0, 3.0, 4.0]
    """
    _scan("scan_inclusive", values, out, op, item_count, strategy, stream)


def summed_area(values, out, *, strategy=None, stream=None):
    """Writes to `out[y, x]` the sum of all `values[j, i]` with j <= y and i <= x: the summed-area table of an image.

    values    numbers of shape (height, width): uint32, int32, uint64, int64, float32 or float64. Sums of integers wrap
              around
    out       the same shape and dtype; not `values` itself
    strategy  single-pass (the default) or scan-transpose. Sums of floats have the same bits in every run

    >>> values, out = numpy.array([[1, 2], [3, 4]]), numpy.zeros((2, 2), int)
    >>> summed_area(values, out)
    >>> out.tolist()
    [[1, 3], [4, 10]]
    """
    call = Call(stream, strategy)
    values, out = call.read(values=values, out=out)
    type_name = SUMMANDS.get(f"{values.kind}{values.size}")
    if type_name is None or len(values.shape) != 2 or max(values.shape) >= 1 << 32:
        values.fail(f"tables have two dimensions and a dtype of {type_names(SUMMANDS)}")
    if tuple(out.shape) != tuple(values.shape):
        out.fail(f"not the shape of values, {tuple(values.shape)}")
    out.require_output(values.length, values)
    height, width = values.shape
    call.run("summed_area", (strategy, type_name), "summed_area", values, width, height, out, extent=(width, height))


def _read_flags(call, flags, out, count, values, item_count):
    """Reads and checks the arrays of `select` and `partition`. Returns them with the size of counts in bits."""
    flags, out, count = call.read(flags=flags, out=out, count=count)
    flags.require_flags()
    bits = count.require_counts(1, flags)
    if values is not None:
        values = call.array("values", values)
        values.require_length(flags)
    out.require_output(flags.length, values or count)
    item_count, bits = call.item_count(item_count, flags, bits)
    return flags, out, count, values, bits, item_count


def _select_columns(call, flags, values, out, count, item_count, bits):
    for column in values:
        column.require_bytes(COLUMN_BYTES, _BY_INDEX)
    columns = (Column * len(values))(*[(column.address, to.address) for column, to in zip(values, out)])
    plan = (tuple(column.item_bytes for column in values), len(values), bits)
    call.run("select_columns", plan, "select_columns", flags, flags.length, item_count, columns, len(values), count,
             extent=flags.length)


def _scan(name, values, out, op, item_count, strategy, stream):
    call = Call(stream, strategy, op)
    values, out = call.read(values=values, out=out)
    type_name = values.require_type(NUMBERS if op in ("min", "max") else SUMMANDS, f"items of a {op}")
    out.require_output(values.length, values)
    item_count, bits = call.item_count(item_count, values)
    items = values.length
    call.run("scan", (strategy, op, type_name, bits), name, values, items, item_count, out, extent=items)
