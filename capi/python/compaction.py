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

The environment variable COMPACTION_LIBRARY names the library. By default, the system searches for libcompaction.so.
"""

import ctypes
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
    library = ctypes.CDLL(os.environ.get("COMPACTION_LIBRARY", "libcompaction.so"))
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


_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED = 1, 2, 3, 13


class _Array:
    """Address, shape and type of an array. ``device`` is None for host memory, -1 for the current CUDA context, or the
    number of a GPU."""

    def __init__(self, name, array, stream):
        self.name, self.is_read_only, self.keep = name, False, array
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is not None:
            self._read_interface(interface, -1)
        elif getattr(array, "__array_interface__", None) is not None:
            self._read_interface(array.__array_interface__, None)
        elif hasattr(array, "__dlpack__"):
            self._read_dlpack(array, stream)
        else:
            raise TypeError(f"{name}: {type(array).__name__} has no __cuda_array_interface__, __dlpack__ or __array_interface__")

    def _read_interface(self, interface, device):
        self.device = device
        self.shape = tuple(interface["shape"])
        order, self.kind, self.size = interface["typestr"][0], interface["typestr"][1], int(interface["typestr"][2:])
        self.address, self.is_read_only = interface["data"]
        if order == ">":
            raise TypeError(f"{self.name}: big-endian items are not supported")
        if interface.get("mask") is not None:
            raise TypeError(f"{self.name}: masked arrays are not supported")
        strides = interface.get("strides")
        self._check_strides(strides and [stride / self.size for stride in strides])

    def _read_dlpack(self, array, stream):
        kind, number = array.__dlpack_device__()
        if kind in (_DL_CUDA, _DL_CUDA_MANAGED):
            # DLPack names the default stream 1. The producer orders its work before that of the stream.
            capsule, self.device = array.__dlpack__(stream=stream or 1), number
        elif kind in (_DL_CPU, _DL_CUDA_HOST):
            capsule, self.device = array.__dlpack__(), None
        else:
            raise TypeError(f"{self.name}: DLPack device {kind} is neither the CPU nor CUDA")
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
        tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
        # The capsule owns the tensor until it is dropped, because nobody consumes it.
        self.keep = (array, capsule)
        if tensor.code not in _KINDS or tensor.lanes != 1 or tensor.bits % 8 != 0:
            raise TypeError(f"{self.name}: items must be integers, floats or booleans")
        self.shape = tuple(tensor.shape[: tensor.ndim])
        self.kind, self.size = _KINDS[tensor.code], tensor.bits // 8
        self.address = (tensor.data or 0) + tensor.byte_offset
        self._check_strides(tensor.strides[: tensor.ndim] if tensor.strides else None)

    def _check_strides(self, strides):
        """Checks that the items, whose strides are given in items, follow each other without gaps."""
        expected = 1
        for length, stride in reversed(list(zip(self.shape, strides or []))):
            if stride != expected and length > 1 and math.prod(self.shape) > 0:
                raise ValueError(f"{self.name} is not contiguous")
            expected *= length

    @property
    def length(self):
        """The number of items: the first dimension. A scalar is one item."""
        return self.shape[0] if self.shape else 1

    @property
    def item_bytes(self):
        """The size of an item, which includes all dimensions behind the first."""
        return self.size * math.prod(self.shape[1:])

    @property
    def type(self):
        """The name of the type: u32."""
        return f"{self.kind}{8 * self.size}"

    def require(self, is_right, what):
        if not is_right:
            raise ValueError(f"{self.name}: {self.length} items of {self.item_bytes} bytes ({self.type}): {what}")

    def require_flags(self):
        self.require(self.kind in "bu" and self.item_bytes == 1, "flags are booleans or u8")

    def require_word(self):
        self.require(self.kind == "u" and self.item_bytes in (4, 8), "counts and indices are u32 or u64")

    def require_output(self, length, of=None):
        self.require(not self.is_read_only, "the output is read-only")
        self.require(self.length >= length, f"up to {length} may be written")
        if of is not None:
            self.require((self.kind, self.item_bytes) == (of.kind, of.item_bytes), f"not the type of {of.name}")


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


def _context(device):
    """Returns (key, context) of the CPU (None), of the current context (-1) or of a GPU."""
    key = device
    if device == -1:
        current = ctypes.c_void_p()
        ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(current))
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
        read.require((read.device is None) == (self.device is None), f"not where {self.arrays and self.arrays[0].name} is")
        self.arrays.append(read)
        return read

    def item_count(self, count, bits):
        """Returns the address of an item count in memory, or 0."""
        if count is None:
            return 0
        word = self.array("item_count", count)
        word.require_word()
        word.require(8 * word.size == bits and word.length >= 1, f"the counts of the call have {bits} bits")
        return word.address


# ------------------------------------------------------------------------------------------------------- operations


def select(flags, out, count, *, values=None, item_count=None, strategy=None, stream=None):
    """Writes the indices of the nonzero flags to `out`, or the items of `values` there, and their number to `count[0]`.

    `flags` are u8 or booleans. `count`, and `out` for indices, are u32 or u64. `out` has room for as many items as there
    are flags. An item of `values` is a row: all that has the same first index; it has 1, 2 or a multiple of 4 bytes, up
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
    out.require_output(flags.length, values or count)
    if values is not None:
        values.require(values.length == flags.length, f"not as many as the {flags.length} flags")
    bits = 8 * count.size
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
    keys.require(keys.item_bytes == keys.size, "a key is a number")
    keys_out.require_output(keys.length, keys)
    if (values is None) != (values_out is None):
        raise ValueError("values and values_out: one is missing")
    value_bytes = 0
    if values is not None:
        values, values_out = call.array("values", values), call.array("values_out", values_out)
        values.require(values.length == keys.length, f"not as many as the {keys.length} keys")
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
