"""Tests of compaction.py with arrays of NumPy, as a user who has read only the documentation passes them."""

import doctest

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
    result = doctest.testmod(compaction, extraglobs={"numpy": numpy})
    assert result.failed == 0 and result.attempted > 20
    for name in compaction.__all__:
        assert getattr(compaction, name).__doc__, name


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
    fails(ValueError, "values: int64 of shape (5,): items of a max have", compaction.scan_exclusive, integers, integers, op="max")
    fails(ValueError, "out: float64 of shape (3, 4): not the shape of values, (4, 3)", compaction.summed_area,
          numpy.zeros((4, 3)), numpy.zeros((3, 4)))
    fails(ValueError, "starts: int64 of shape (258,): for 257 classes, where 1 to 256 are possible",
          compaction.partition_classes, numpy.zeros(5, numpy.uint8), integers, numpy.zeros(258, numpy.int64))


examples_of_the_documentation_run()
items_of_every_dtype_are_selected()
sorts_as_numpy_does()
scans_and_tables_are_those_of_numpy()
unsuitable_arrays_are_refused_in_one_line()
print("done")
