"""Tests of compaction.py with arrays of NumPy, as a user who has read only the documentation passes them."""

import doctest
import sys

import compaction
import numpy

FLAGS, KEPT = numpy.array([True, False, True, True, False]), [0, 2, 3]


def fails(error, text, function, *arguments, **named):
    """Checks that a call fails with one line that begins with `text`."""
    try:
        function(*arguments, **named)
    except error as failure:
        message = str(failure)
        assert message.startswith(text) and "\n" not in message, message
        return
    raise AssertionError(f"no error: {text}")


def examples_of_the_documentation_run():
    functions = [getattr(compaction, name) for name in compaction.__all__]
    assert all(function.__doc__ for function in functions)
    for module in {function.__module__ for function in functions}:
        result = doctest.testmod(sys.modules[module], extraglobs={"numpy": numpy})
        assert result.failed == 0 and (result.attempted > 20 or module == "_compaction"), module


def items_of_every_dtype_are_selected():
    count = numpy.zeros(1, numpy.int64)
    structure = [("position", "f4", (3,)), ("id", "u1")]
    for dtype in ("M8[ns]", "m8[s]", "f2", "?", "c8", "c16", "S3", "U2", "V5", "u1", "i2", "longdouble", ">i4", structure):
        bits = numpy.random.default_rng(1).integers(0, 1 << 8, 5 * numpy.dtype(dtype).itemsize, numpy.uint8)
        values = (bits & 1).view(dtype)
        out = numpy.zeros_like(values)
        compaction.select(FLAGS, out, count, values=values)
        assert count[0] == 3 and out[:3].tobytes() == values[KEPT].tobytes(), dtype
        if values.itemsize in (1, 2) or values.itemsize % 4 == 0:
            compaction.partition(FLAGS, out, count, values=values)
            assert out.tobytes() == values[[*KEPT, 1, 4]].tobytes(), dtype
    rows = numpy.arange(60, dtype=numpy.uint8).reshape(5, 2, 2, 3)
    out = numpy.zeros_like(rows)
    compaction.select(FLAGS, out, count, values=rows)
    assert (out[:3] == rows[KEPT]).all()


def sorts_as_numpy_does():
    random = numpy.random.default_rng(2)
    for dtype in ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"):
        keys = random.integers(-100, 100, 1000).astype(dtype)
        out = numpy.empty_like(keys)
        compaction.radix_sort(keys, out, descending=True)
        assert (out == numpy.sort(keys)[::-1]).all(), dtype
    keys = numpy.array([True, False, True])
    out = numpy.empty_like(keys)
    compaction.radix_sort(keys, out)
    assert out.tolist() == [False, True, True]
    dates = numpy.array(["2020-01-02", "NaT", "1960-01-01"], "M8[s]")
    compaction.radix_sort(dates.view("i8"), (sorted_dates := numpy.empty_like(dates)).view("i8"))
    assert numpy.isnat(sorted_dates[0]) and sorted_dates[1] < sorted_dates[2]


def scans_and_tables_are_those_of_numpy():
    random = numpy.random.default_rng(3)
    for dtype in ("u4", "i4", "u8", "i8", "f4", "f8"):
        values = random.integers(0, 100, (30, 20)).astype(dtype)
        table, sums = numpy.empty_like(values), numpy.empty_like(values.ravel())
        compaction.summed_area(values, table)
        assert (table == values.cumsum(0, dtype).cumsum(1, dtype)).all(), dtype
        compaction.scan_inclusive(values.ravel(), sums)
        assert (sums == values.cumsum(dtype=dtype)).all(), dtype
        if dtype != "i8":
            compaction.scan_inclusive(values.ravel(), sums, op="min")
            assert (sums == numpy.minimum.accumulate(values.ravel())).all(), dtype
    sums = numpy.array([-5, 3, 2])
    compaction.scan_exclusive(sums, sums)
    assert sums.tolist() == [0, -5, -2]


def reductions_and_runs_are_those_of_numpy():
    random = numpy.random.default_rng(4)
    runs, index = numpy.zeros(1, numpy.int64), numpy.zeros(1, numpy.int64)
    for dtype in ("u4", "i4", "u8", "i8", "f4", "f8"):
        values = random.integers(0, 50, 1000).astype(dtype)
        keys = numpy.sort(random.integers(0, 90, 1000)).astype(dtype)
        out, out_keys, one = numpy.zeros_like(values), numpy.zeros_like(keys), numpy.zeros(1, dtype)
        names, firsts, lengths = numpy.unique(keys, return_index=True, return_counts=True)
        for op, combine in (("sum", numpy.add), ("min", numpy.minimum), ("max", numpy.maximum)):
            if dtype == "i8" and op != "sum":
                continue
            compaction.reduce(values, one, op=op)
            assert one[0] == combine.reduce(values, dtype=dtype), (dtype, op)
            compaction.reduce_by_key(keys, values, out_keys, out, runs, op=op)
            assert (out_keys[: runs[0]] == names).all(), (dtype, op)
            assert (out[: runs[0]] == combine.reduceat(values, firsts, dtype=dtype)).all(), (dtype, op)
            offsets = numpy.append(firsts, 1000)
            compaction.segmented_reduce(values, out, offsets=offsets, op=op)
            assert (out[: len(firsts)] == combine.reduceat(values, firsts, dtype=dtype)).all(), (dtype, op)
            compaction.segmented_reduce(values, out, length=20, op=op)
            assert (out[:50] == combine.reduce(values.reshape(50, 20), 1, dtype=dtype)).all(), (dtype, op)
            for of_key in (slice(first, first + length) for first, length in zip(firsts, lengths)):
                out[of_key] = combine.accumulate(values[of_key], dtype=dtype)
            sums = numpy.zeros_like(values)
            compaction.scan_by_key_inclusive(keys, values, sums, op=op)
            assert (sums == out).all(), (dtype, op)
        if dtype != "i8":
            for find, expected in ((compaction.argmin, values.argmin()), (compaction.argmax, values.argmax())):
                find(values, index, one)
                assert index[0] == expected and one[0] == values[expected], dtype
        compaction.unique(keys, out, runs)
        assert (out[: runs[0]] == names).all(), dtype
        counts = numpy.zeros(1000, numpy.int64)
        compaction.run_lengths(keys, out, counts, runs)
        assert (counts[: runs[0]] == lengths).all(), dtype
        compaction.unique_by_key(keys, values, out_keys, out, runs)
        assert (out[: runs[0]] == values[firsts]).all(), dtype
    # NaNs are ignored, where NumPy returns them.
    one = numpy.zeros(1)
    compaction.argmin(numpy.array([numpy.nan, 2.0, 1.0]), index, one)
    assert (index[0], one[0]) == (2, 1.0)
    rows = numpy.array([[1, 2], [1, 2], [1, 3]])
    out = numpy.zeros_like(rows)
    compaction.unique(rows, out, runs)
    assert out[: runs[0]].tolist() == [[1, 2], [1, 3]]


def histograms_are_those_of_numpy():
    random = numpy.random.default_rng(5)
    counts = numpy.zeros(256, numpy.int64)
    for dtype in ("u1", "u2", "u4", "i1", "i2", "i4", "f4", "f8"):
        values = random.integers(0, 128, 1000).astype(dtype)
        # NumPy counts the end of the last bin, too, so that no item is there.
        compaction.histogram(values, counts, range=(0, 128), bins=16)
        assert (counts[:16] == numpy.histogram(values, 16, (0, 128))[0]).all(), dtype
        bounds = numpy.array([3, 4, 60, 100, 127.5]).astype(dtype if dtype[0] == "f" else "i8")
        inside = values[values < bounds[-1]]
        compaction.histogram(values, counts, bounds=bounds)
        assert (counts[:4] == numpy.histogram(inside, bounds)[0]).all(), dtype
        if dtype[0] == "u":
            compaction.histogram(values, counts)
            assert (counts == numpy.bincount(values, minlength=256)).all(), dtype
    compaction.histogram(FLAGS, counts[:2])
    assert counts[:2].tolist() == [2, 3]


def orders_and_copies_are_those_of_numpy():
    random = numpy.random.default_rng(6)
    indices = numpy.zeros(1000, numpy.int64)
    for dtype in ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"):
        keys = random.integers(0, 100, 1000).astype(dtype)
        out, order = numpy.zeros_like(keys), numpy.argsort(keys, kind="stable")
        compaction.argsort(keys, out, indices)
        assert (indices == order).all() and (out == keys[order]).all(), dtype
        compaction.segmented_sort(keys, out, length=10)
        assert (out == numpy.sort(keys.reshape(100, 10), 1).ravel()).all(), dtype
        few, few_indices = numpy.zeros_like(keys[:30]), numpy.zeros(30, numpy.uint32)
        compaction.top_k(keys, few, few_indices, largest=False)
        assert (few_indices == order[:30]).all() and (few == keys[order[:30]]).all(), dtype
        compaction.gather(keys, order, out)
        assert (out == keys[order]).all(), dtype
        back = numpy.zeros_like(keys)
        compaction.scatter(out, order, back)
        assert (back == keys).all(), dtype
    out = numpy.full(3, 7)
    compaction.gather(numpy.arange(5), numpy.array([4, -1, 5]), out)
    assert out.tolist() == [4, 7, 7]
    read_only = numpy.array([0, 2, 5])
    read_only.flags.writeable = False
    compaction.segmented_reduce(numpy.arange(5), out, offsets=read_only)
    assert out.tolist() == [1, 9, 7]


def unsuitable_arrays_are_refused_in_one_line():
    doubles, count = numpy.zeros(5), numpy.zeros(1, numpy.int64)

    def select(values, out=None, **named):
        out = numpy.zeros_like(values) if out is None else out
        compaction.select(FLAGS, out, count, values=values, **named)

    read_only = numpy.zeros(5)
    read_only.flags.writeable = False
    fails(ValueError, "values: float64 of shape (5,): not contiguous in row-major", select, numpy.zeros(10)[::2], doubles)
    fails(ValueError, "values: float64 of shape (5, 4): not contiguous", select, numpy.zeros((4, 5)).T, numpy.zeros((5, 4)))
    fails(ValueError, "out: float64 of shape (5,): the output is read-only", select, doubles, read_only)
    fails(ValueError, "out: float64 of shape (3,): up to 5 may be written", select, doubles, numpy.zeros(3))
    fails(ValueError, "values: float64 of shape (6,): not as many as the 5 flags", select, numpy.zeros(6))
    fails(ValueError, "out: datetime64[s] of shape (5,): not the type of values, datetime64[ns]", select,
          numpy.zeros(5, "M8[ns]"), numpy.zeros(5, "M8[s]"))
    fails(ValueError, "values: float32 of shape (5, 17): an item has 68 bytes, where 1 to 64", select, numpy.zeros((5, 17), "f4"))
    fails(ValueError, "values: float32 of shape (5, 0): an item has 0 bytes", select, numpy.zeros((5, 0), "f4"))
    colors = numpy.zeros((5, 3), numpy.uint8)
    fails(ValueError, "values: uint8 of shape (5, 3): an item has 3 bytes, where 1, 2 or a multiple of 4 up to 64",
          compaction.partition, FLAGS, colors.copy(), count, values=colors)
    fails(ValueError, "values: uint8 of shape (5, 3): an item has 3 bytes", select, colors, strategy="atomic")
    fails(ValueError, "values: uint8 of shape (5, 3): an item has 3 bytes", select, colors, colors)
    fails(compaction.Error, "values: address", select, numpy.frombuffer(bytes(41), offset=1), doubles)
    for objects in (numpy.zeros(5, object), numpy.zeros(5, [("a", object)])):
        fails(TypeError, f"values: {objects.dtype}: items must be plain data", select, objects, doubles)
    masked = numpy.ma.masked_array(numpy.zeros(5), FLAGS)
    fails(TypeError, "values: a masked array is not supported", select, masked, doubles)
    fails(TypeError, "count: a scalar is not supported", compaction.select, FLAGS, numpy.zeros(5, int), numpy.int64(0))
    fails(TypeError, "count: int has no __cuda", compaction.select, FLAGS, numpy.zeros(5, int), 0)
    fails(ValueError, "flags: bool of shape (5, 2): flags are", compaction.select, numpy.zeros((5, 2), bool), doubles, count)
    for dtype in ("M8[s]", "f2", "c8", ">i4", "S1", "V8"):
        values = numpy.zeros(5, dtype)
        text = f"{values.dtype} of shape (5,)"
        fails(ValueError, f"keys: {text}: keys have one dimension and a dtype of uint8,", compaction.radix_sort, values, values)
        fails(ValueError, f"values: {text}: items of a sum have one dimension and a dtype of uint32,",
              compaction.scan_exclusive, values, values)
        fails(ValueError, f"values: {text}: tables have two dimensions", compaction.summed_area, values, values)
    integers = numpy.zeros(5, numpy.int64)
    for arguments, text in (
        ({"range": (1, 0)}, "the range of histogram: 1.0..0.0"),
        ({"bounds": doubles, "bins": 9}, "bounds: float64 of shape (5,): 9 bins have 10 bounds"),
        ({"bounds": integers}, "bounds: int64 of shape (5,): bounds have one dimension and a dtype of float64"),
        ({"range": (0, 1), "bounds": doubles}, "range and bounds: both are given"),
        ({"range": 3}, "range: 3 is not (start of the first bin, end of the last)"),
        ({}, "values: float64 of shape (5,): items of a histogram without range and bounds have one dimension"),
    ):
        fails((ValueError, compaction.Error), text, compaction.histogram, doubles, integers.copy(), **arguments)
    short = numpy.zeros(3, numpy.int32)
    fails(compaction.Error, "range: 0.5, where a histogram of i32", compaction.histogram, short, integers,
          range=(0.5, 2))
    fails(ValueError, "out: int64 of shape (0,): for 0 bins", compaction.histogram, short, integers[:0], range=(0, 2))
    fails(ValueError, "length: 0, where", compaction.segmented_reduce, doubles, doubles.copy(), length=0)
    fails(ValueError, "offsets and length: give one", compaction.segmented_reduce, doubles, doubles.copy())
    fails(ValueError, "out: float64 of shape (2,): up to 4 may be", compaction.segmented_reduce, doubles, numpy.zeros(2),
          offsets=integers)
    fails(compaction.Error, "an offset of segmented_reduce: ", compaction.segmented_reduce, doubles, doubles.copy(),
          offsets=numpy.array([3, 1]))
    fails(compaction.Error, "segment_count: 3 items, where at most 2", compaction.segmented_sort, doubles, doubles.copy(),
          length=2, segment_count=numpy.array([3]))
    fails(ValueError, "lengths: int64 of shape (5,): not the type of runs, int32", compaction.run_lengths, doubles,
          doubles.copy(), integers, short)
    fails(ValueError, "keys: float64 of shape (5, 2): an item has 16 bytes, where 4 or 8", compaction.reduce_by_key,
          numpy.zeros((5, 2)), doubles, numpy.zeros((5, 2)), doubles.copy(), count)
    fails(ValueError, "indices_out: int64 of shape (5,): indices have 32 bits", compaction.top_k, doubles, doubles.copy(),
          integers)
    fails(ValueError, "k: -1 is negative", compaction.top_k, doubles, doubles.copy(), short, k=-1)
    shorts = numpy.zeros(5, numpy.int16)
    fails(ValueError, "values: int16 of shape (5,): items of a search have", compaction.argmin, shorts, count, count)
    fails(ValueError, "indices: int64 of shape (5,): not as many as the 3 values", compaction.scatter, short, integers,
          short)
    fails(ValueError, "values: int16 of shape (5,): items of a max have", compaction.scan_exclusive, shorts, shorts, op="max")
    fails(ValueError, "out: float64 of shape (3, 4): not the shape of values, (4, 3)", compaction.summed_area,
          numpy.zeros((4, 3)), numpy.zeros((3, 4)))
    fails(ValueError, "starts: int64 of shape (258,): for 257 classes, where 1 to 256 are possible",
          compaction.partition_classes, numpy.zeros(5, numpy.uint8), integers, numpy.zeros(258, numpy.int64))


examples_of_the_documentation_run()
items_of_every_dtype_are_selected()
sorts_as_numpy_does()
scans_and_tables_are_those_of_numpy()
reductions_and_runs_are_those_of_numpy()
histograms_are_those_of_numpy()
orders_and_copies_are_those_of_numpy()
unsuitable_arrays_are_refused_in_one_line()
print("done")
