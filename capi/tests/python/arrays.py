"""Tests of compaction.py with arrays of each protocol, on the backend that the first argument names: cpu or cuda."""

import ctypes
import functools
import itertools
import random
import struct
import sys
import types

import _compaction
import compaction

ON_GPU = sys.argv[1] == "cuda"
CODES = {"u1": "B", "u4": "I", "u8": "Q", "f4": "f", "b1": "?", "i2": "h", "i4": "i", "i8": "q", "f8": "d"}


def driver(name, *arguments):
    assert getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments) == 0, name


class Memory:
    """Memory of the backend."""

    def __init__(self, content):
        self.bytes = len(content)
        if not ON_GPU:
            self.host = ctypes.create_string_buffer(bytes(content), max(1, self.bytes))
            self.address = ctypes.addressof(self.host)
            return
        address = ctypes.c_uint64()
        driver("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, self.bytes)))
        self.address = address.value
        driver("cuMemcpyHtoD_v2", address, bytes(content), ctypes.c_size_t(self.bytes))

    def read(self):
        content = ctypes.create_string_buffer(max(1, self.bytes))
        if ON_GPU:
            driver("cuStreamSynchronize", ctypes.c_void_p(STREAM))
            driver("cuMemcpyDtoH_v2", content, ctypes.c_uint64(self.address), ctypes.c_size_t(self.bytes))
        else:
            ctypes.memmove(content, self.address, self.bytes)
        return content.raw[: self.bytes]


class Array:
    """An array with `__cuda_array_interface__`, or `__array_interface__` on the CPU."""

    def __init__(self, kind, items, columns=None, **changes):
        self.kind, self.code, size = kind, CODES[kind], int(kind[1])
        self.memory = Memory(struct.pack(f"{len(items)}{self.code}", *items))
        shape = (len(items),) if columns is None else (len(items) // columns, columns)
        order = "|" if size == 1 else "<"
        interface = {"shape": shape, "typestr": order + kind, "data": (self.memory.address, False), "version": 3, **changes}
        setattr(self, "__cuda_array_interface__" if ON_GPU else "__array_interface__", interface)

    def fill(self, number):
        """Moves the array to new memory, where all items are `number`."""
        self.__init__(self.kind, [number] * len(self.items()))

    def items(self):
        content = self.memory.read()
        return list(struct.unpack(f"{len(content) // struct.calcsize(self.code)}{self.code}", content))


class DLPack:
    """An array of u8, u32 or f32 with `__dlpack__` alone."""

    def __init__(self, array, strides=None):
        interface = array.__cuda_array_interface__ if ON_GPU else array.__array_interface__
        kind = interface["typestr"][1:]
        self.array, self.shape = array, (ctypes.c_int64 * 1)(*interface["shape"])
        self.strides = strides and (ctypes.c_int64 * 1)(strides)
        self.tensor = _compaction.DLTensor(
            array.memory.address, 2 if ON_GPU else 1, 0, 1, {"u": 1, "f": 2}[kind[0]], 8 * int(kind[1]), 1,
            self.shape, self.strides, 0)
        self.streams = []

    def __dlpack_device__(self):
        return (self.tensor.device_type, 0)

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes, new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


class TorchType:
    """A type as PyTorch has it."""

    is_complex = False

    def __init__(self, name, size):
        self.name, self.itemsize, self.is_floating_point = name, size, name.startswith("float")

    def __str__(self):
        return f"torch.{self.name}"


class Tensor:
    """A tensor on a GPU as PyTorch has it."""

    __module__, is_cuda = "torch", True

    def __init__(self, array, dtype, is_contiguous=True, device=0):
        self.get_device = lambda: device
        self.array, self.dtype, self.shape = array, dtype, array.__cuda_array_interface__["shape"]
        self.data_ptr = lambda: array.memory.address
        self.is_contiguous, self.stride = lambda: is_contiguous, lambda: (2,)


class CuPyArray:
    """An array on a GPU as CuPy has it."""

    __module__ = "cupy"

    def __init__(self, array, device):
        self.__cuda_array_interface__ = array.__cuda_array_interface__
        self.device = types.SimpleNamespace(id=device)


class Stream:
    """A stream as CuPy has it."""

    def __init__(self, handle):
        self.ptr = handle


def fails(error, text, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except error as message:
        assert text in str(message), message
        return
    raise AssertionError(f"no error: {text}")


def selects_and_partitions(count, kind):
    flags = [random.randrange(3) == 0 for _ in range(count)]
    expected = [index for index, flag in enumerate(flags) if flag]
    others = [index for index, flag in enumerate(flags) if not flag]
    on_flags, out, kept = Array("b1", flags), Array(kind, [7] * count), Array(kind, [0])
    compaction.select(on_flags, out, kept, stream=Stream(STREAM))
    assert kept.items() == [len(expected)]
    assert out.items() == expected + [7] * len(others)
    compaction.partition(on_flags, out, kept, stream=STREAM)
    assert out.items() == expected + others
    # Rows of two numbers, and a count of items that stays in memory.
    rows, rows_out, half = Array("f4", range(2 * count), 2), Array("f4", [-1] * 2 * count, 2), Array(kind, [count // 2])
    compaction.select(on_flags, rows_out, kept, values=rows, item_count=half, stream=STREAM)
    first = [index for index in expected if index < count // 2]
    assert kept.items() == [len(first)]
    assert rows_out.items()[: 2 * len(first)] == [number for index in first for number in (2 * index, 2 * index + 1)]


def selects_in_place(count):
    flags = [random.randrange(3) == 0 for _ in range(count)]
    on_flags, values, kept = Array("b1", flags), Array("u4", range(count)), Array("u4", [7])
    compaction.select(on_flags, values, kept, values=values, stream=STREAM)
    expected = [index for index, flag in enumerate(flags) if flag]
    assert kept.items() == [len(expected)] and values.items()[: len(expected)] == expected


def selects_columns(count):
    flags = [random.randrange(3) == 0 for _ in range(count)]
    expected = [index for index, flag in enumerate(flags) if flag]
    on_flags, kept = Array("b1", flags), Array("i8", [0])
    colors, ids = Array("u1", [index % 251 for index in range(3 * count)], 3), Array("f8", range(count))
    colors_out, ids_out = Array("u1", [7] * 3 * count, 3), Array("f8", [7] * count)
    compaction.select_columns(on_flags, [colors, ids], [colors_out, ids_out], kept, stream=STREAM)
    kept_colors = [channel % 251 for index in expected for channel in range(3 * index, 3 * index + 3)]
    assert kept.items() == [len(expected)]
    assert ids_out.items() == expected + [7] * (count - len(expected))
    assert colors_out.items() == kept_colors + [7] * (3 * count - len(kept_colors))
    # A plain selection takes items of three bytes, too.
    colors_out, half = Array("u1", [7] * 3 * count, 3), Array("i8", [count // 2])
    compaction.select(on_flags, colors_out, kept, values=colors, item_count=half, stream=STREAM)
    kept_colors = kept_colors[: 3 * sum(flags[: count // 2])]
    assert colors_out.items() == kept_colors + [7] * (3 * count - len(kept_colors))


def partitions_classes(count):
    keys = [random.randrange(5) for _ in range(count)]
    on_keys, out, starts = Array("u1", keys), Array("u4", [7] * count), Array("u4", [0] * 4)
    compaction.partition_classes(on_keys, out, starts, stream=STREAM)
    assert out.items() == sorted(range(count), key=lambda index: min(keys[index], 3))
    assert starts.items() == [sum(key < start for key in keys) for start in range(4)]
    compaction.partition_classes(on_keys, out, starts, classes=2, item_count=Array("u4", [count // 2]), stream=STREAM)
    assert starts.items()[2] == sum(key < 2 for key in keys[: count // 2])


def scans(kind, op, combine, identity, count):
    numbers = [random.randrange(-50, 50) % (1 << 32 if kind[0] == "u" else 101) for _ in range(count)]
    if kind[0] == "u" and op == "sum":
        combine = lambda before, number: (before + number) % (1 << 8 * int(kind[1]))
    inclusive = list(itertools.accumulate(numbers, combine))
    values, out = Array(kind, numbers), Array(kind, [7] * count)
    compaction.scan_inclusive(values, out, op=op, stream=STREAM)
    assert out.items() == inclusive, (kind, op)
    compaction.scan_exclusive(values, out, op=op, item_count=Array("u4", [count // 2]), stream=STREAM)
    before = [identity, *inclusive][: count // 2]
    assert out.items() == before + inclusive[count // 2 :], (kind, op)
    compaction.scan_exclusive(values, values, op=op, stream=STREAM)
    assert values.items() == [identity, *inclusive][:count], (kind, op)


def makes_tables(kind, width, height):
    numbers = [random.randrange(100) for _ in range(width * height)]
    values, out = Array(kind, numbers, width), Array(kind, [7] * width * height, width)
    compaction.summed_area(values, out, stream=STREAM)
    expected = [
        sum(numbers[row * width + column] for row in range(y + 1) for column in range(x + 1))
        for y in range(height) for x in range(width)
    ]
    assert out.items() == expected, (kind, width, height)


def reports_counts_that_are_too_large():
    flags, out, count, large = Array("u1", [1] * 9), Array("u4", [0] * 9), Array("u4", [0]), Array("u4", [10])
    compaction.check()
    if ON_GPU:
        compaction.select(flags, out, count, item_count=large, stream=STREAM)
        fails(compaction.Error, "says 10 items, but there were 9", compaction.check)
        assert count.items() == [9]
        compaction.check()
    else:
        text = "item_count: 10 items, where at most 9 are possible"
        fails(compaction.Error, text, compaction.select, flags, out, count, item_count=large)


def sorts(count):
    keys = [random.randrange(-1000, 1000) for _ in range(count)]
    on_keys, out = Array("i2", keys), Array("i2", keys)
    values, values_out = Array("u4", range(count)), Array("u4", range(count))
    compaction.radix_sort(on_keys, out, stream=STREAM)
    assert out.items() == sorted(keys)
    compaction.radix_sort(on_keys, out, values=values, values_out=values_out, stream=STREAM)
    assert values_out.items() == sorted(range(count), key=lambda index: keys[index])


def argsorts(count, kind):
    keys = [random.randrange(50) for _ in range(count)]
    on_keys, out, indices = Array("u4", keys), Array("u4", keys), Array(kind, [7] * count)
    compaction.argsort(on_keys, out, indices, stream=STREAM)
    assert out.items() == sorted(keys) and indices.items() == sorted(range(count), key=lambda index: keys[index])
    half = Array(kind, [count // 2])
    compaction.argsort(on_keys, out, indices, descending=True, item_count=half, bits=(0, 6), stream=STREAM)
    assert indices.items()[: count // 2] == sorted(range(count // 2), key=lambda index: -keys[index])


def selects_top_k(count, k, descending):
    keys = [random.randrange(-50, 50) for _ in range(count)]
    order = sorted(range(count), key=lambda index: -keys[index] if descending else keys[index])[:k]
    on_keys, out, indices = Array("f4", keys), Array("f4", [70] * k), Array("u4", [700] * k)
    compaction.top_k(on_keys, out, indices, largest=descending, stream=STREAM)
    assert indices.items() == order + [700] * (k - len(order))
    assert out.items() == [keys[index] for index in order] + [70] * (k - len(order))
    half, indices = Array("u4", [count // 2]), Array("u4", [700] * k)
    compaction.top_k(on_keys, out, indices, k=k // 2, largest=descending, item_count=half, stream=STREAM)
    order = sorted(range(count // 2), key=lambda index: -keys[index] if descending else keys[index])[: k // 2]
    assert indices.items() == order + [700] * (k - len(order))


def gathers_and_scatters(count, kind):
    rows = [number for index in range(count) for number in (index, index + 0.5)]
    indices = list(range(count))
    random.shuffle(indices)
    values, out, on_indices = Array("f4", rows, 2), Array("f4", [-1] * 2 * count, 2), Array(kind, indices)
    compaction.gather(values, on_indices, out, stream=STREAM)
    assert out.items() == [number for index in indices for number in (index, index + 0.5)]
    compaction.scatter(out, on_indices, values, stream=STREAM)
    assert values.items() == rows
    # A count of indices in memory, and indices that do not exist.
    half = Array(kind, [count // 2])
    few, out = Array("f4", rows[: 2 * (count // 3)], 2), Array("f4", [-1] * 2 * count, 2)
    compaction.gather(few, on_indices, out, item_count=half, stream=STREAM)
    first = [index if index < count // 3 else -1 for index in indices[: count // 2]] + [-1] * (count - count // 2)
    assert out.items()[::2] == first
    compaction.scatter(values, on_indices, few, item_count=half, stream=STREAM)
    moved = {index: position for position, index in enumerate(indices[: count // 2])}
    assert few.items()[::2] == [moved.get(index, index) for index in range(count // 3)]
    if kind[0] == "i" and count > 0:
        out = Array("f4", [-1, -1], 2)
        compaction.gather(values, Array(kind, [-1]), out, stream=STREAM)
        compaction.scatter(values, Array(kind, [-1] * count), out, stream=STREAM)
        assert out.items() == [-1, -1]


def reduces(kind, op, combine, identity, count):
    numbers = [random.randrange(-50, 50) % (1 << 32 if kind[0] == "u" else 101) for _ in range(count)]
    on_numbers, out, half = Array(kind, numbers), Array(kind, [7, 8]), Array("u4", [count // 2])
    wrap = (1 << 8 * int(kind[1])) if kind[0] == "u" else 1 << 64
    compaction.reduce(on_numbers, out, op=op, stream=STREAM)
    assert out.items() == [functools.reduce(combine, numbers, identity) % wrap, 8], (kind, op)
    compaction.reduce(on_numbers, out, op=op, item_count=half, stream=STREAM)
    assert out.items() == [functools.reduce(combine, numbers[: count // 2], identity) % wrap, 8], (kind, op)


def finds_extremes(count, kind):
    numbers = [random.randrange(-50, 50) for _ in range(count)]
    on_numbers, index, value = Array("i4", numbers), Array(kind, [7]), Array("i4", [7])
    compaction.argmin(on_numbers, index, value, stream=STREAM)
    expected = ([numbers.index(min(numbers))], [min(numbers)]) if numbers else ([-1], [(1 << 31) - 1])
    assert (index.items(), value.items()) == expected
    compaction.argmax(on_numbers, index, value, item_count=Array(kind, [count // 2]), stream=STREAM)
    numbers = numbers[: count // 2]
    expected = ([numbers.index(max(numbers))], [max(numbers)]) if numbers else ([-1], [-(1 << 31)])
    assert (index.items(), value.items()) == expected


def finds_runs(count, kind):
    keys = [random.randrange(3) for _ in range(count)]
    values = [random.randrange(100) for _ in range(count)]
    on_keys, on_values = Array("u4", keys), Array("f4", values)

    def check(length, item_count):
        groups = [list(group) for _, group in itertools.groupby(range(length), key=lambda index: keys[index])]
        named, tail = {"item_count": item_count, "stream": STREAM}, [7] * (count - len(groups))
        out, values_out, runs, lengths = (Array(of, [7] * max(1, size)) for of, size in (
            ("u4", count), ("f4", count), (kind, 1), (kind, count)))
        starts = [keys[group[0]] for group in groups]
        # The outputs are new before each call, so that the results are its own.
        for call, arrays, others in (
            (compaction.unique, (out, runs), None),
            (compaction.run_lengths, (out, lengths, runs), (lengths, [len(group) for group in groups])),
            (compaction.unique_by_key, (out, values_out, runs), (values_out, [values[group[0]] for group in groups])),
            (compaction.reduce_by_key, (out, values_out, runs),
             (values_out, [sum(values[index] for index in group) for group in groups])),
        ):
            out.fill(7), runs.fill(7), values_out.fill(7), lengths.fill(7)
            call(on_keys, *([on_values] if "by_key" in call.__name__ else []), *arrays, **named)
            assert runs.items() == [len(groups)] and out.items()[:count] == starts + tail, call.__name__
            assert others is None or others[0].items()[:count] == others[1] + tail, call.__name__

    check(count, None)
    check(count // 2, Array(kind, [count // 2]))
    # Keys of two words and smallest values.
    wide, out, values_out, runs = Array("u8", keys), Array("u8", keys), Array("f4", values), Array(kind, [7])
    compaction.reduce_by_key(wide, on_values, out, values_out, runs, op="min", stream=STREAM)
    groups = [list(group) for _, group in itertools.groupby(range(count), key=lambda index: keys[index])]
    assert runs.items() == [len(groups)]
    assert values_out.items()[: len(groups)] == [min(values[index] for index in group) for group in groups]


def scans_by_key(count):
    keys, numbers = ([random.randrange(limit) for _ in range(count)] for limit in (2, 100))
    on_keys, values, out = Array("u4", keys), Array("i8", numbers), Array("i8", [7] * count)
    inclusive, exclusive = [], []
    for _, group in itertools.groupby(range(count), key=lambda index: keys[index]):
        sums = list(itertools.accumulate(numbers[index] for index in group))
        inclusive, exclusive = inclusive + sums, exclusive + [0] + sums[:-1]
    compaction.scan_by_key_exclusive(on_keys, values, out, stream=STREAM)
    assert out.items() == exclusive
    half = Array("u4", [count // 2])
    compaction.scan_by_key_inclusive(on_keys, values, out, item_count=half, stream=STREAM)
    assert out.items() == inclusive[: count // 2] + exclusive[count // 2 :]


def counts_in_bins(count, kind):
    numbers = [random.randrange(256) for _ in range(count)]
    keys, values = Array("u1", numbers), Array("f4", [number / 4 for number in numbers])
    out, half = Array(kind, [7] * 11), Array(kind, [count // 2])
    compaction.histogram(keys, out, stream=STREAM)
    assert out.items() == [numbers.count(bin) for bin in range(11)]
    compaction.histogram(values, out, range=(1, 41), bins=10, item_count=half, stream=STREAM)
    expected = [sum(4 + 16 * bin <= number < 20 + 16 * bin for number in numbers[: count // 2]) for bin in range(10)]
    assert out.items() == expected + [numbers.count(10)]
    for values, bounds in ((values, Array("f4", [0, 1.5, 10, 64])), (keys, Array("i8", [0, 6, 40, 256]))):
        compaction.histogram(values, out, bounds=bounds, stream=STREAM)
        edges = ((0, 6), (6, 40), (40, 256))
        assert out.items()[:3] == [sum(first <= number < end for number in numbers) for first, end in edges]


def reduces_and_sorts_segments(count, kind):
    keys = [random.randrange(100) for _ in range(count)]
    bounds = sorted(random.randrange(count + 1) for _ in range(count // 9 + 2))
    between = list(zip(bounds, bounds[1:]))
    on_keys, offsets, segments = Array("u4", keys), Array(kind, bounds), len(between)
    of_three = [(first, first + 3) for first in range(0, count // 3 * 3, 3)]
    one_less = Array(kind, [segments - 1])
    for ends, written, named in (
        (between, segments, {"offsets": offsets}),
        (between, segments - 1, {"offsets": offsets, "segment_count": one_less}),
        (of_three, len(of_three), {"length": 3}),
    ):
        out, reduced = Array("u4", [700] * count), Array("u4", [700] * len(ends))
        compaction.segmented_reduce(on_keys, reduced, stream=STREAM, **named)
        ends = ends[:written]
        sums = [sum(keys[first:end]) for first, end in ends]
        assert reduced.items() == sums + [700] * (len(reduced.items()) - written)
        compaction.segmented_sort(on_keys, out, stream=STREAM, **named)
        expected, values_expected = [700] * count, [7] * count
        for first, end in ends:
            expected[first:end] = sorted(keys[first:end])
            values_expected[first:end] = sorted(range(first, end), key=lambda index: -keys[index])
        assert out.items() == expected
        values, values_out = Array("u4", range(count)), Array("u4", [7] * count)
        compaction.segmented_sort(on_keys, out, values=values, values_out=values_out, descending=True, stream=STREAM,
                                  **named)
        assert values_out.items() == values_expected


def copies_items_of_any_type():
    flags, count = Array("u1", [0, 1, 0]), Array("u4", [0])
    for typestr in ("<M8[ns]", "<m8", "|V8", "|S8", "<U2", "<c8", ">f8"):
        values, out = (Array("u8", [5, 6, 7], typestr=typestr) for _ in range(2))
        compaction.select(flags, out, count, values=values, stream=STREAM)
        assert out.items()[0] == 6, typestr
        for function in (compaction.radix_sort, compaction.scan_inclusive, compaction.summed_area):
            fails(ValueError, "a dtype of ", function, values, out, stream=STREAM)
    objects = Array("u8", [0, 0, 0], typestr="|O8")
    fails(TypeError, "values: |O8: items must be plain data", compaction.select, flags, out, count, values=objects)


def takes_current_streams():
    """Streams of arrays count unless the caller gives one. All arrays of a call are on one stream."""
    flags, out, count = Array("u1", [0, 1, 1]), Array("u4", [0] * 3), Array("u4", [0])
    streams = []
    run = _compaction._library.compaction_select_indices
    _compaction._library.compaction_select_indices = lambda *arguments: streams.append(arguments[2]) or run(*arguments)
    compaction.select(flags, out, count)
    flags.__cuda_array_interface__["stream"] = STREAM
    compaction.select(flags, out, count)
    compaction.select(flags, out, count, stream=0)
    sys.modules["torch"] = types.SimpleNamespace(cuda=types.SimpleNamespace(
        current_stream=lambda device: types.SimpleNamespace(cuda_stream=STREAM)))
    compaction.select(Tensor(flags, TorchType("uint8", 1)), out, count)
    assert streams == [0, STREAM, 0, STREAM]
    out.__cuda_array_interface__["stream"] = 1
    fails(ValueError, f"on stream 0x0, where arrays before it are on {STREAM:#x}", compaction.select, flags, out, count)
    del flags.__cuda_array_interface__["stream"]
    compaction.select(flags, out, count)
    assert streams[4:] == [0] and count.items() == [2]
    _compaction._library.compaction_select_indices = run
    del sys.modules["torch"]


def refuses_other_devices():
    flags, out, count = Array("u1", [0, 1, 1]), Array("u4", [0] * 3), Array("u4", [0])
    host = types.SimpleNamespace(__array_interface__=count.__cuda_array_interface__)
    text = "count: uint32 of shape (1,): on the CPU, where flags is on the current GPU"
    fails(ValueError, text, compaction.select, flags, out, host)
    fails(ValueError, "flags: uint8 of shape (3,): on GPU 1, where GPU 0 is current", compaction.select,
          CuPyArray(flags, 1), out, count)
    fails(ValueError, "out: uint32 of shape (3,): on GPU 1, where flags is on GPU 0", compaction.select,
          CuPyArray(flags, 0), CuPyArray(out, 1), count)
    compaction.select(CuPyArray(flags, 0), out, count)
    assert count.items() == [2]


def takes_dlpack():
    flags, out, count = DLPack(Array("u1", [1, 0, 1])), DLPack(Array("u4", [0] * 3)), DLPack(Array("u4", [0]))
    compaction.select(flags, out, count, stream=STREAM)
    assert out.array.items() == [0, 2, 0] and count.array.items() == [2]
    assert flags.streams == [(STREAM or 1) if ON_GPU else None]
    immutable = type("ArrayImpl", (DLPack,), {"__module__": "jaxlib._jax"})
    text = "out: uint32 of shape (3,): the output is read-only"
    fails(ValueError, text, compaction.select, flags, immutable(out.array), count, stream=STREAM)
    strided = DLPack(Array("u1", [1, 0, 1]), 2)
    fails(ValueError, "flags: uint8 of shape (3,): not contiguous", compaction.select, strided, out, count)


def takes_tensors():
    out, count = Array("i8", [7] * 3), Array("i8", [0])
    flags, int64 = Tensor(Array("b1", [True, False, True]), TorchType("bool", 1)), TorchType("int64", 8)
    on_out, on_count = Tensor(out, int64), Tensor(count, int64)
    compaction.select(flags, on_out, on_count, stream=STREAM)
    assert out.items() == [0, 2, 7] and count.items() == [2]
    call = (compaction.select, flags, on_out, on_count)
    strided, floats = Tensor(flags.array, flags.dtype, False), Tensor(out, TorchType("bfloat16", 2))
    fails(ValueError, "flags: torch.bool of shape (3,): not contiguous", *call[:1], strided, *call[2:], stream=STREAM)
    fails(ValueError, "flags: torch.bfloat16 of shape (3,): flags are", *call[:1], floats, *call[2:], stream=STREAM)
    halves, halves_out = Tensor(out, TorchType("float16", 2)), Tensor(out, TorchType("bfloat16", 2))
    fails(ValueError, "not the type of values, torch.float16", compaction.select, flags, halves_out, on_count,
          values=halves, stream=STREAM)
    on_other = Tensor(out, int64, device=1)
    fails(ValueError, "out: torch.int64 of shape (3,): on GPU 1, where flags is on GPU 0", compaction.select, flags,
          on_other, on_count, stream=STREAM)


def refuses_invalid_arguments():
    flags, out, count = Array("u1", [1, 0, 1]), Array("u4", [0] * 3), Array("u4", [0])
    fails(TypeError, "list has no __cuda_array_interface__", compaction.select, [1, 0], out, count)
    fails(ValueError, "flags: uint32 of shape (3,): flags are bool or uint8", compaction.select, out, out, count)
    fails(ValueError, "up to 3 may be written", compaction.select, flags, count, count)
    fails(ValueError, "not the type of count", compaction.select, flags, Array("u8", [0] * 3), count)
    fails(ValueError, "not the type of count", compaction.select, flags, Array("i4", [0] * 3), count)
    fails(ValueError, "have 32 or 64 bits", compaction.select, flags, out, Array("f4", [0]))
    fails(ValueError, "not as many as the 3 flags", compaction.select, flags, out, count, values=Array("u4", [0] * 4))
    fails(ValueError, "read-only", compaction.select, flags, Array("u4", [0] * 3, data=(out.memory.address, True)), count)
    fails(ValueError, "not contiguous", compaction.select, Array("u1", [1, 0, 1], strides=(2,)), out, count)
    fails(compaction.Error, "\"fastest\"", compaction.select, flags, out, count, strategy="fastest")
    fails(ValueError, "one is missing", compaction.radix_sort, out, out, values=out)
    fails(ValueError, "values: uint8 of shape (3,): an item has 1 bytes, where 4 or 8 are possible", compaction.radix_sort,
          out, out, values=flags, values_out=flags)
    fails(ValueError, "keys: uint32 of shape (1, 3): keys have one dimension", compaction.radix_sort,
          Array("u4", [1, 2, 3], 3), out)
    fails(ValueError, "bits: (0, 33) is not (first, end)", compaction.radix_sort, out, out, bits=(0, 33))
    fails(compaction.Error, "keys and keys_out overlap", compaction.radix_sort, out, out)
    fails(compaction.Error, "count and out overlap", compaction.select, flags, out, out)
    text = "item_count: uint8 of shape (3,): the counts of the call are integers of 32 bits"
    fails(ValueError, text, compaction.select, flags, out, count, item_count=flags)
    fails(ValueError, "starts: uint32 of shape (1,): for 0 classes", compaction.partition_classes, flags, out, count)
    fails(ValueError, "up to 10 may be written", compaction.partition_classes, flags, out, count, classes=9)
    fails(ValueError, "out[1]: uint32 of shape (1,): up to 3 may be written", compaction.select_columns, flags, [out, out],
          [out, count], count)
    image = types.SimpleNamespace(__array_interface__={"shape": (3,), "typestr": "|u1", "data": b"101", "version": 3})
    fails(TypeError, "flags: SimpleNamespace has no address", compaction.select, image, out, count)
    fails(ValueError, "out: 0 arrays, where values has 1", compaction.select_columns, flags, [out], [], count)
    fails(TypeError, "op: None is no name", compaction.scan_inclusive, out, out, op=None)
    fails(compaction.Error, "\"product\"", compaction.scan_inclusive, out, out, op="product")
    fails(TypeError, "is no CUDA stream", compaction.select, flags, out, count, stream="0")


random.seed(1)
STREAM = 0
if ON_GPU:
    context, stream = ctypes.c_void_p(), ctypes.c_void_p()
    driver("cuInit", 0)
    driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    driver("cuCtxSetCurrent", context)
    driver("cuStreamCreate", ctypes.byref(stream), 1)
    STREAM = stream.value
for length in (0, 1, 100, 9000):
    selects_and_partitions(length, "u4")
    selects_in_place(length)
    partitions_classes(length)
    scans("u4", "sum", None, 0, length)
    sorts(length)
selects_columns(1000)
for kind in ("u8", "i4", "i8"):
    selects_and_partitions(100, kind)
    scans(kind, "sum", lambda before, number: before + number, 0, 100)
scans("i4", "min", min, (1 << 31) - 1, 100)
scans("f4", "max", max, float("-inf"), 100)
for length in (0, 1, 100, 3000):
    finds_extremes(length, "i4")
    finds_runs(length, "u4")
    scans_by_key(length)
    counts_in_bins(length, "u4")
    reduces_and_sorts_segments(length, "u4")
    argsorts(length, "u4")
    gathers_and_scatters(length, "i4")
    reduces("u4", "sum", int.__add__, 0, length)
reduces("i8", "sum", int.__add__, 0, 100)
reduces("f8", "min", min, float("inf"), 100)
for length, k, descending in ((0, 3, False), (100, 10, True), (3000, 200, False), (3, 5, False)):
    selects_top_k(length, k, descending)
finds_extremes(100, "i8")
finds_runs(100, "i8")
counts_in_bins(100, "i8")
reduces_and_sorts_segments(100, "i8")
argsorts(100, "i8")
gathers_and_scatters(100, "i8")
for kind, width, height in (("u4", 1, 1), ("i8", 7, 5), ("f4", 70, 40), ("u4", 3, 100)):
    makes_tables(kind, width, height)
reports_counts_that_are_too_large()
copies_items_of_any_type()
takes_dlpack()
if ON_GPU:
    takes_tensors()
    takes_current_streams()
    refuses_other_devices()
refuses_invalid_arguments()
compaction.clear()
print("done")
