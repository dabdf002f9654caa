"""Tests of compaction.py with arrays of each protocol, on the backend that the first argument names: cpu or cuda."""

import ctypes
import random
import struct
import sys

import compaction

ON_GPU = sys.argv[1] == "cuda"
CODES = {"u1": "B", "u4": "I", "u8": "Q", "f4": "f", "b1": "?", "i2": "h", "i4": "i", "i8": "q"}


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
        self.code, size = CODES[kind], int(kind[1])
        self.memory = Memory(struct.pack(f"{len(items)}{self.code}", *items))
        shape = (len(items),) if columns is None else (len(items) // columns, columns)
        order = "|" if size == 1 else "<"
        interface = {"shape": shape, "typestr": order + kind, "data": (self.memory.address, False), "version": 3, **changes}
        setattr(self, "__cuda_array_interface__" if ON_GPU else "__array_interface__", interface)

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
        self.tensor = compaction._DLTensor(
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

    def __init__(self, array, dtype, is_contiguous=True):
        self.array, self.dtype, self.shape = array, dtype, array.__cuda_array_interface__["shape"]
        self.data_ptr = lambda: array.memory.address
        self.is_contiguous, self.stride = lambda: is_contiguous, lambda: (2,)


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


def sorts(count):
    keys = [random.randrange(-1000, 1000) for _ in range(count)]
    on_keys, out = Array("i2", keys), Array("i2", keys)
    values, values_out = Array("u4", range(count)), Array("u4", range(count))
    compaction.radix_sort(on_keys, out, stream=STREAM)
    assert out.items() == sorted(keys)
    compaction.radix_sort(on_keys, out, values=values, values_out=values_out, stream=STREAM)
    assert values_out.items() == sorted(range(count), key=lambda index: keys[index])


def takes_dlpack():
    flags, out, count = DLPack(Array("u1", [1, 0, 1])), DLPack(Array("u4", [0] * 3)), DLPack(Array("u4", [0]))
    compaction.select(flags, out, count, stream=STREAM)
    assert out.array.items() == [0, 2, 0] and count.array.items() == [2]
    assert flags.streams == [(STREAM or 1) if ON_GPU else None]
    fails(ValueError, "flags is not contiguous", compaction.select, DLPack(Array("u1", [1, 0, 1]), 2), out, count)


def takes_tensors():
    out, count = Array("i8", [7] * 3), Array("i8", [0])
    flags = Tensor(Array("b1", [True, False, True]), TorchType("bool", 1))
    on_out, on_count = (Tensor(array, TorchType("int64", 8)) for array in (out, count))
    compaction.select(flags, on_out, on_count, stream=STREAM)
    assert out.items() == [0, 2, 7] and count.items() == [2]
    fails(ValueError, "flags is not contiguous", compaction.select, Tensor(flags.array, flags.dtype, False), on_out, on_count)
    fails(ValueError, "(f32)", compaction.select, Tensor(out, TorchType("float32", 4)), on_out, on_count)


def takes_numpy():
    try:
        import numpy
    except ImportError:
        return
    flags, out, count = numpy.array([0, 1, 1], bool), numpy.zeros(3, numpy.uint64), numpy.zeros(1, numpy.uint64)
    compaction.select(flags, out, count)
    assert list(out) == [1, 2, 0] and count[0] == 2
    keys = numpy.array([2.5, -1.0, numpy.inf])
    sorted_keys = numpy.empty_like(keys)
    compaction.radix_sort(keys, sorted_keys, descending=True)
    assert list(sorted_keys) == [numpy.inf, 2.5, -1.0]
    fails(ValueError, "keys is not contiguous", compaction.radix_sort, keys[::2], sorted_keys)


def refuses_invalid_arguments():
    flags, out, count = Array("u1", [1, 0, 1]), Array("u4", [0] * 3), Array("u4", [0])
    fails(TypeError, "list has no __cuda_array_interface__", compaction.select, [1, 0], out, count)
    fails(ValueError, "flags are booleans or u8", compaction.select, out, out, count)
    fails(ValueError, "up to 3 may be written", compaction.select, flags, count, count)
    fails(ValueError, "not the type of count", compaction.select, flags, Array("u8", [0] * 3), count)
    fails(ValueError, "not the type of count", compaction.select, flags, Array("i4", [0] * 3), count)
    fails(ValueError, "have 32 or 64 bits", compaction.select, flags, out, Array("f4", [0]))
    fails(ValueError, "not as many as the 3 flags", compaction.select, flags, out, count, values=Array("u4", [0] * 4))
    fails(ValueError, "read-only", compaction.select, flags, Array("u4", [0] * 3, data=(out.memory.address, True)), count)
    fails(ValueError, "not contiguous", compaction.select, Array("u1", [1, 0, 1], strides=(2,)), out, count)
    fails(compaction.Error, "\"fastest\"", compaction.select, flags, out, count, strategy="fastest")
    fails(ValueError, "one is missing", compaction.radix_sort, out, out, values=out)
    fails(compaction.Error, "overlap", compaction.radix_sort, out, out)
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
    sorts(length)
for kind in ("u8", "i4", "i8"):
    selects_and_partitions(100, kind)
takes_dlpack()
if ON_GPU:
    takes_tensors()
else:
    takes_numpy()
refuses_invalid_arguments()
compaction.clear()
print("done")
