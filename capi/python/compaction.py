"""Stream compaction, partition and radix sort of arrays on a GPU, by the library compaction.

Arrays are objects with ``__cuda_array_interface__`` (CuPy, Numba, PyTorch), ``__dlpack__`` (JAX, and others), or, for
the CPU, ``__array_interface__`` (NumPy). They are contiguous, and the caller provides the outputs::

    import compaction, cupy

    flags = cupy.array([0, 1, 1, 0, 0, 1], cupy.uint8)
    hits, count = cupy.empty(6, cupy.uint32), cupy.empty(1, cupy.uint32)
    compaction.select(flags, hits, count, stream=cupy.cuda.get_current_stream())
    print(hits[: int(count[0])])  # [1 2 5]

Calls on a GPU put work on the stream and return at once. The caller keeps the arrays alive until the work has finished.
Arrays with ``__cuda_array_interface__`` use the CUDA context that is current on the thread; those with ``__dlpack__``
alone use the primary context of their device.

Plans and workspaces are kept for later calls, by thread and stream. A call that needs more memory than earlier ones
replaces its workspace. Before a graph capture, run the call once with the largest number of items on the stream of the
capture. ``clear()`` releases all workspaces of the thread; their work must have finished, and their streams exist.

The environment variable COMPACTION_LIBRARY names the library. By default, the system searches for libcompaction.so.0.1.
"""

import ctypes
import functools
import math
import os
import threading

__all__ = ["Error", "clear", "partition", "radix_sort", "select"]


class Error(RuntimeError):
    """A call of the library failed. ``status`` is its ``compaction_status``."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def _load():
    try:
        library = ctypes.CDLL(os.environ.get("COMPACTION_LIBRARY", "libcompaction.so.0.1"))
    except OSError as error:
        remedy = "run capi/install PREFIX, and set COMPACTION_LIBRARY to PREFIX/lib/libcompaction.so"
        raise ImportError(f"the library of compaction cannot be loaded ({error}); {remedy}") from error
    handle, text, address, count = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64
    word, number = ctypes.c_uint32, ctypes.c_int32
    made = ctypes.POINTER(handle)
    call = [handle, handle, handle]  # plan, workspace, stream
    for name, arguments in {
        "open_cpu": [made],
        "open_current": [made],
        "open_device": [number, made],
        "plan_select": [handle, text, word, word, made],
        "plan_partition": [handle, word, word, made],
        "plan_radix_sort": [handle, text, text, word, number, word, word, word, made],
        "workspace_create": [handle, handle, count, address, count, made],
        "select_indices": [*call, address, count, address, address, address],
        "select_items": [*call, address, address, count, address, address, address],
        "partition_indices": [*call, address, count, address, address, address],
        "partition_items": [*call, address, address, count, address, address, address],
        "radix_sort_keys": [*call, address, count, address, address],
        "radix_sort_pairs": [*call, address, address, count, address, address, address],
    }.items():
        function = getattr(library, "compaction_" + name)
        function.argtypes, function.restype = arguments, ctypes.c_int32
    library.compaction_workspace_destroy.argtypes = [handle]
    library.compaction_workspace_destroy.restype = None
    library.compaction_last_error.argtypes = []
    library.compaction_last_error.restype = text
    return library


_library = _load()
_lock = threading.Lock()
_contexts = {}
_plans = {}
_threads = threading.local()


def _check(status):
    if status != 0:
        raise Error(status, _library.compaction_last_error().decode())


def _make(name, *arguments):
    """Calls a function of the library that makes an object, and returns the object."""
    made = ctypes.c_void_p()
    _check(getattr(_library, "compaction_" + name)(*arguments, ctypes.byref(made)))
    return made.value


# ----------------------------------------------------------------------------------------------------------- arrays


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes, _capsule_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED = 1, 2, 3, 13


@functools.cache
def _torch_type(dtype):
    """Returns the kind and the size in bytes of a PyTorch type: torch.int32."""
    if dtype.is_complex:
        raise TypeError(f"{dtype}: items must be integers, floats or booleans")
    if dtype.is_floating_point:
        return "f", dtype.itemsize
    name = str(dtype)
    return "b" if name == "torch.bool" else "u" if name.startswith("torch.u") else "i", dtype.itemsize


class _Array:
    """Address, shape and type of an array. ``device`` is None for host memory, -1 for the current CUDA context, or the
    number of a GPU. ``length`` is the first dimension, and ``item_bytes`` the size of all that shares a first index."""

    __slots__ = ("name", "keep", "device", "kind", "size", "address", "is_read_only", "length", "item_bytes")

    def __init__(self, name, array, stream):
        self.name, self.is_read_only, self.keep = name, False, array
        if type(array).__module__ == "torch" and array.is_cuda:
            self._read_torch(array)
            return
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is not None:
            self._read_interface(interface, -1)
            return
        interface = getattr(array, "__array_interface__", None)
        if interface is not None:
            self._read_interface(interface, None)
        elif hasattr(array, "__dlpack__"):
            self._read_dlpack(array, stream)
        else:
            raise TypeError(f"{name}: {type(array).__name__} has no __cuda_array_interface__, __dlpack__ or __array_interface__")

    def _read_torch(self, tensor):
        """Reads a tensor on a GPU. Its ``__cuda_array_interface__`` would take several times as long."""
        self.device, self.address = -1, tensor.data_ptr()
        self.kind, self.size = _torch_type(tensor.dtype)
        self._set_shape(tensor.shape, None if tensor.is_contiguous() else tensor.stride())

    def _read_interface(self, interface, device):
        self.device = device
        text = interface["typestr"]
        self.kind, self.size = text[1], int(text[2:])
        self.address, self.is_read_only = interface["data"]
        if text[0] == ">":
            raise TypeError(f"{self.name}: big-endian items are not supported")
        if interface.get("mask") is not None:
            raise TypeError(f"{self.name}: masked arrays are not supported")
        strides = interface.get("strides")
        self._set_shape(interface["shape"], strides and [stride / self.size for stride in strides])

    def _read_dlpack(self, array, stream):
        kind, number = array.__dlpack_device__()
        if kind in (_DL_CUDA, _DL_CUDA_MANAGED):
            # DLPack names the default stream 1. The producer orders its work before that of the stream.
            capsule, self.device = array.__dlpack__(stream=stream or 1), number
        elif kind in (_DL_CPU, _DL_CUDA_HOST):
            capsule, self.device = array.__dlpack__(), None
        else:
            raise TypeError(f"{self.name}: DLPack device {kind} is neither the CPU nor CUDA")
        tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
        # The capsule owns the tensor until it is dropped, because nobody consumes it.
        self.keep = (array, capsule)
        if tensor.code not in _KINDS or tensor.lanes != 1 or tensor.bits % 8 != 0:
            raise TypeError(f"{self.name}: items must be integers, floats or booleans")
        self.kind, self.size = _KINDS[tensor.code], tensor.bits // 8
        self.address = (tensor.data or 0) + tensor.byte_offset
        dimensions = tensor.ndim
        self._set_shape(tensor.shape[:dimensions], tensor.strides[:dimensions] if tensor.strides else None)

    def _set_shape(self, shape, strides):
        """Sets the length and the size of items, and checks the strides, given in items: no gaps between items."""
        self.length = shape[0] if shape else 1
        self.item_bytes = self.size if len(shape) < 2 else self.size * math.prod(shape[1:])
        if strides:
            expected = 1
            for length, stride in zip(reversed(shape), reversed(strides)):
                if stride != expected and length > 1 and 0 not in shape:
                    raise ValueError(f"{self.name} is not contiguous")
                expected *= length

    @property
    def type(self):
        """The name of the type: u32."""
        return f"{self.kind}{8 * self.size}"

    def fail(self, what):
        raise ValueError(f"{self.name}: {self.length} items of {self.item_bytes} bytes ({self.type}): {what}")

    def require_flags(self):
        if self.item_bytes != 1 or self.kind not in "bu":
            self.fail("flags are booleans or u8")

    def require_word(self):
        if self.item_bytes not in (4, 8) or self.kind not in "iu":
            self.fail("counts and indices have 32 or 64 bits")

    def require_output(self, length, of=None):
        if self.is_read_only:
            self.fail("the output is read-only")
        if self.length < length:
            self.fail(f"up to {length} may be written")
        if of is not None and (self.item_bytes != of.item_bytes or self.kind != of.kind):
            self.fail(f"not the type of {of.name}")


def _stream_handle(stream):
    """Returns the handle of a stream: None, a number, or a stream of PyTorch, CuPy, Numba or another library."""
    if stream is None or isinstance(stream, int):
        return stream or 0
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(getattr(handle, "value", handle) or 0)
    raise TypeError(f"stream: {type(stream).__name__} is no CUDA stream")


# ------------------------------------------------------------------------------------- contexts, plans, workspaces


@functools.cache
def _driver():
    return ctypes.CDLL("libcuda.so.1")


def _context(device):
    """Returns (key, context) of the CPU (None), of the current context (-1) or of a GPU."""
    key = device
    if device == -1:
        current = ctypes.c_void_p()
        _driver().cuCtxGetCurrent(ctypes.byref(current))
        key = ("current", current.value)
    with _lock:
        if key not in _contexts:
            if device is None:
                _contexts[key] = _make("open_cpu")
            elif device == -1:
                _contexts[key] = _make("open_current")
            else:
                _contexts[key] = _make("open_device", device)
        return key, _contexts[key]


def _prepare(device, stream, items, name, *parameters):
    """Returns the plan of these parameters and a workspace for `items` items on the stream."""
    context_key, context = _context(device)
    key = (context_key, name, *parameters)
    with _lock:
        if key not in _plans:
            _plans[key] = _make(name, context, *parameters)
        plan = _plans[key]
    if device is None:
        return plan, None
    workspaces = _threads.__dict__.setdefault("workspaces", {})
    capacity, workspace = workspaces.get((key, stream), (-1, None))
    if capacity < items:
        made = _make("workspace_create", plan, stream, items, 0, 0)
        workspaces[key, stream] = (items, made)
        _library.compaction_workspace_destroy(workspace)
        workspace = made
    return plan, workspace


def clear():
    """Releases all workspaces of this thread."""
    workspaces = _threads.__dict__.pop("workspaces", {})
    for _, workspace in workspaces.values():
        _library.compaction_workspace_destroy(workspace)


class _Call:
    """The arrays of a call, all on one device."""

    def __init__(self, stream):
        self.stream, self.device, self.arrays = _stream_handle(stream), None, []

    def array(self, name, array):
        read = _Array(name, array, self.stream)
        if not self.arrays:
            self.device = read.device
        elif (read.device is None) != (self.device is None):
            read.fail(f"not where {self.arrays[0].name} is")
        self.arrays.append(read)
        return read

    def item_count(self, count, bits):
        """Returns the address of an item count in memory, or 0."""
        if count is None:
            return 0
        word = self.array("item_count", count)
        word.require_word()
        if 8 * word.size != bits or word.length < 1:
            word.fail(f"the counts of the call have {bits} bits")
        return word.address


# ------------------------------------------------------------------------------------------------------- operations


def select(flags, out, count, *, values=None, item_count=None, strategy=None, stream=None):
    """Writes the indices of the nonzero flags to `out`, or the items of `values` there, and their number to `count[0]`.

    `flags` are u8 or booleans. `count`, and `out` for indices, are integers of 32 or 64 bits, and both have the same
    size. `out` has room for as many items as there are flags. An item of `values` is a row: all that has the same first index; it has 1, 2 or a multiple of 4 bytes, up
    to 64. `item_count[0]`, if given, is the number of flags to read. `strategy` is the name of a strategy of the
    library.
    """
    _by_flags("select", flags, out, count, values, item_count, stream, strategy and strategy.encode())


def partition(flags, out, count, *, values=None, item_count=None, stream=None):
    """Like `select`, and writes the other indices or items behind the selected ones. Both parts keep their order."""
    _by_flags("partition", flags, out, count, values, item_count, stream)


def _by_flags(name, flags, out, count, values, item_count, stream, *strategy):
    call = _Call(stream)
    flags, out, count = call.array("flags", flags), call.array("out", out), call.array("count", count)
    values = None if values is None else call.array("values", values)
    flags.require_flags()
    count.require_word()
    count.require_output(1)
    bits = 8 * count.size
    if flags.length >= 1 << (bits - (count.kind == "i")):
        count.fail(f"too narrow for {flags.length} flags")
    out.require_output(flags.length, values or count)
    if values is not None and values.length != flags.length:
        values.fail(f"not as many as the {flags.length} flags")
    read = call.item_count(item_count, bits)
    item_bytes = 0 if values is None else values.item_bytes
    plan, workspace = _prepare(call.device, call.stream, flags.length, "plan_" + name, *strategy, item_bytes, bits)
    head = (plan, workspace, call.stream)
    tail = (flags.address, flags.length, read, out.address, count.address)
    if values is None:
        _check(getattr(_library, f"compaction_{name}_indices")(*head, *tail))
    else:
        _check(getattr(_library, f"compaction_{name}_items")(*head, values.address, *tail))


def radix_sort(keys, keys_out, *, values=None, values_out=None, item_count=None, descending=False, bits=(0, 0),
               strategy=None, stream=None):
    """Writes the sorted keys to `keys_out` and, if there are values, the value of each key to `values_out`.

    Keys are integers or floats of 8 to 64 bits. Values have 4 or 8 bytes. The sort is stable. `bits` is the range of
    bits to compare, from the first up to but not including the second; (0, 0) stands for all. `item_count[0]`, if given,
    is the number of keys to read.
    """
    call = _Call(stream)
    keys, keys_out = call.array("keys", keys), call.array("keys_out", keys_out)
    if keys.item_bytes != keys.size:
        keys.fail("a key is a number")
    keys_out.require_output(keys.length, keys)
    if (values is None) != (values_out is None):
        raise ValueError("values and values_out: one is missing")
    value_bytes = 0
    if values is not None:
        values, values_out = call.array("values", values), call.array("values_out", values_out)
        if values.length != keys.length:
            values.fail(f"not as many as the {keys.length} keys")
        values_out.require_output(keys.length, values)
        value_bytes = values.item_bytes
    word_bits = 32 if keys.length < 1 << 32 else 64
    if item_count is not None:
        counts = _Array("item_count", item_count, call.stream)
        word_bits = 8 * counts.size
    read = call.item_count(item_count, word_bits)
    parameters = (strategy and strategy.encode(), keys.type.encode(), value_bytes, int(descending), *bits, word_bits)
    plan, workspace = _prepare(call.device, call.stream, keys.length, "plan_radix_sort", *parameters)
    head = (plan, workspace, call.stream, keys.address)
    if values is None:
        _check(_library.compaction_radix_sort_keys(*head, keys.length, read, keys_out.address))
    else:
        addresses = (keys_out.address, values_out.address)
        _check(_library.compaction_radix_sort_pairs(*head, values.address, keys.length, read, *addresses))
