"""The library compaction and the arrays, contexts, plans and workspaces of its calls, for compaction.py."""

import ctypes
import functools
import math
import os
import re
import sys
import threading

class Error(RuntimeError):
    """A call of the library failed. ``status`` is its ``compaction_status``."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


# ---------------------------------------------------------------------------------------------------------- library


class Column(ctypes.Structure):
    _fields_ = [("values", ctypes.c_uint64), ("out", ctypes.c_uint64)]


# The letters of the parameters in _FUNCTIONS.
_PARAMETERS = {
    "p": ctypes.c_void_p,  # a context, plan, workspace or stream
    "o": ctypes.POINTER(ctypes.c_void_p),  # where to write the object that is made
    "s": ctypes.c_char_p,
    "a": ctypes.c_uint64,  # the address of an array, or 0
    "n": ctypes.c_uint64,
    "w": ctypes.c_uint32,
    "i": ctypes.c_int32,
    "d": ctypes.c_double,
    "N": ctypes.POINTER(ctypes.c_uint64),
    "W": ctypes.POINTER(ctypes.c_uint32),
    "C": ctypes.POINTER(Column),
}

# The functions of the library by their parameters. Operations begin with plan, workspace and stream.
_FUNCTIONS = {
    "o": "open_cpu open_current",
    "io": "open_device",
    "ppnano": "workspace_create",
    "pwwN": "table_workspace_bytes",
    "ppwwano": "table_workspace_create",
    "pp": "workspace_check",
    "pswwo": "plan_select plan_select_in_place plan_histogram",
    "pWwwo": "plan_select_columns",
    "pwwo": "plan_partition plan_partition_classes plan_unique plan_run_lengths plan_gather plan_scatter",
    "pwwwo": "plan_unique_by_key",
    "psswo": "plan_reduce plan_arg_reduce plan_segmented_reduce",
    "pssswo": "plan_scan",
    "pswswo": "plan_reduce_by_key plan_scan_by_key",
    "pswiwo": "plan_segmented_sort",
    "pssiwwwo": "plan_argsort",
    "psswiwwwo": "plan_radix_sort",
    "psso": "plan_summed_area",
    "psino": "plan_top_k",
    "pppanaa": "scan_exclusive scan_inclusive radix_sort_keys reduce histogram_keys",
    "pppanaaa": "select_indices partition_indices partition_classes arg_reduce unique argsort histogram_bounds",
    "pppanaaaa": "run_lengths",
    "pppanadda": "histogram_even",
    "pppananaa": "segmented_reduce_by_offsets segmented_sort_keys_by_offsets gather top_k",
    "pppannaa": "segmented_reduce_of_length segmented_sort_keys_of_length",
    "pppanaCwa": "select_columns",
    "pppaanaa": "select_in_place scan_by_key_exclusive scan_by_key_inclusive",
    "pppaanaaa": "select_items partition_items radix_sort_pairs",
    "pppaanaaaa": "unique_by_key reduce_by_key",
    "pppaanaan": "scatter",
    "pppaananaaa": "segmented_sort_pairs_by_offsets",
    "pppaannaaa": "segmented_sort_pairs_of_length",
    "pppawwa": "summed_area",
}


def _load():
    try:
        library = ctypes.CDLL(os.environ.get("COMPACTION_LIBRARY", "libcompaction.so.0.1"))
    except OSError as error:
        remedy = "run capi/install PREFIX, and set COMPACTION_LIBRARY to PREFIX/lib/libcompaction.so"
        raise ImportError(f"the library of compaction cannot be loaded ({error}); {remedy}") from error
    for parameters, names in _FUNCTIONS.items():
        for name in names.split():
            function = getattr(library, "compaction_" + name)
            function.argtypes, function.restype = [_PARAMETERS[letter] for letter in parameters], ctypes.c_int32
    library.compaction_workspace_destroy.argtypes = [ctypes.c_void_p]
    library.compaction_workspace_destroy.restype = None
    library.compaction_last_error.argtypes = []
    library.compaction_last_error.restype = ctypes.c_char_p
    return library


_library = _load()
_lock = threading.Lock()
_contexts = {}
_plans = {}
_threads = threading.local()

# The parameters of the library that have another name here, where its messages name them. Its `count` is the
# `item_count` or the `segment_count` of a call.
_NAMES = {"selected": "count", "lower": "range", "upper": "range"}
_NAMED = re.compile(r"\b(count|selected|lower|upper)\b(?=:| is null| overlap| and \w+ overlap)")


def _check(status, count_name="item_count"):
    if status != 0:
        message, names = _library.compaction_last_error().decode(), {**_NAMES, "count": count_name}
        message = re.sub("^compaction_[a-z_]+: ", "", message)  # the traceback names the call
        raise Error(status, _NAMED.sub(lambda found: names[found[0]], message))


def _make(name, *arguments):
    """Calls a function of the library that makes an object, and returns the object."""
    made = ctypes.c_void_p()
    _check(getattr(_library, "compaction_" + name)(*arguments, ctypes.byref(made)))
    return made.value


# ----------------------------------------------------------------------------------------------------------- arrays


class DLTensor(ctypes.Structure):
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
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED = 1, 2, 3, 13

# Kinds of items, as in `typestr`. Those of DLPack that are not here, such as bfloat16, count as plain bytes: "V".
_DL_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex", "M": "datetime", "m": "timedelta",
          "V": "void", "S": "bytes", "U": "str"}

# The types of the library by kind and size of an item. Booleans are sorted as u8.
KEYS = {"u1": "u8", "u2": "u16", "u4": "u32", "u8": "u64", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64",
        "f4": "f32", "f8": "f64", "b1": "u8"}
BYTES = {"u1": "u8", "b1": "u8"}
NUMBERS = {"u4": "u32", "i4": "i32", "u8": "u64", "i8": "i64", "f4": "f32", "f8": "f64"}
# Sums of int64 wrap around, so they have the bits of those of uint64, whose kernels are shipped.
SUMMANDS = {**NUMBERS, "i8": "u64"}
# The types of the items of histograms, and of those that are the numbers of bins.
SAMPLES = {code: name for code, name in KEYS.items() if name not in ("u64", "i64")}
BIN_NUMBERS = {"u1": "u8", "u2": "u16", "u4": "u32", "b1": "u8"}

# The possible sizes of an item in bytes, in words and as numbers.
ITEM_BYTES = "1, 2 or a multiple of 4 up to 64", (1, 2, *range(4, 65, 4))
COLUMN_BYTES = "1 to 64", range(1, 65)
PAIR_BYTES = "4 or 8", (4, 8)


@functools.cache
def _library_of(array_type):
    """Returns the library of a type: cupy, torch or another; masked array or scalar for those types of NumPy."""
    library, names = array_type.__module__.partition(".")[0], [base.__name__ for base in array_type.__mro__]
    if library == "numpy" and "generic" in names:
        return "scalar"
    return "masked array" if "MaskedArray" in names else library


@functools.cache
def _parse_typestr(text):
    """Returns the kind and the size in bytes of items by their `typestr`, or None if they are no plain data."""
    match = re.fullmatch(r"([<>|=])([biufcMmVSU])(\d+)(\[.*\])?", text)
    if match is None:
        return None
    # Items in another byte order can only be copied.
    return "V" if match[1] == ">" else match[2], int(match[3]) * (4 if match[2] == "U" else 1)


@functools.cache
def _torch_type(dtype):
    """Returns the kind and the size in bytes of a PyTorch type: ("i", 4) for torch.int32."""
    name = str(dtype).removeprefix("torch.").rstrip("0123456789")
    return {"bool": "b", "int": "i", "uint": "u", "float": "f", "complex": "c"}.get(name, "V"), dtype.itemsize


class _Array:
    """Address, shape and type of an array.

    `device` is None for host memory, -1 for the current CUDA context, or the number of a GPU. `gpu` is the number of
    its GPU, if that is known. `stream` is the handle of the stream on which its library works, if any. `length` is the
    first dimension, and `item_bytes` the size of all that shares a first index.
    """

    __slots__ = ("name", "keep", "dtype", "device", "gpu", "stream", "kind", "size", "address", "is_read_only", "shape",
                 "length", "item_bytes")

    def __init__(self, name, array, call):
        self.name, self.keep, self.dtype = name, array, getattr(array, "dtype", None)
        self.gpu, self.stream, self.is_read_only = None, None, False
        library = _library_of(type(array))
        if library == "torch" and array.is_cuda:
            self._read_torch(array, call)
            return
        interface = None if library == "numpy" else getattr(array, "__cuda_array_interface__", None)
        if interface is not None:
            self.gpu = array.device.id if library == "cupy" else None
            self.stream = interface.get("stream")
            self._read_interface(interface, -1)
            return
        if library in ("masked array", "scalar"):
            raise TypeError(f"{name}: a {library} is not supported; pass a plain array, and a mask as flags")
        interface = getattr(array, "__array_interface__", None)
        if interface is not None:
            self._read_interface(interface, None)
        elif hasattr(array, "__dlpack__"):
            self.is_read_only = library == "jaxlib"  # whose arrays never change
            self._read_dlpack(array, call)
        else:
            what = "has no __cuda_array_interface__, __dlpack__ or __array_interface__"
            raise TypeError(f"{name}: {type(array).__name__} {what}; pass an array, such as one of NumPy or CuPy")

    def _read_torch(self, tensor, call):
        """Reads a tensor on a GPU. Its ``__cuda_array_interface__`` would take several times as long."""
        self.device = self.gpu = tensor.get_device()
        self.address, self.stream = tensor.data_ptr(), call.torch_stream(self.device)
        self.kind, self.size = _torch_type(tensor.dtype)
        if self.kind == "c" and tensor.is_conj():
            raise TypeError(f"{self.name}: conjugated lazily; pass tensor.resolve_conj()")
        self._set_shape(tensor.shape, None if tensor.is_contiguous() else tensor.stride())

    def _read_interface(self, interface, device):
        self.device, self.keep = device, (self.keep, interface)
        parsed, data = _parse_typestr(interface["typestr"]), interface.get("data")
        if parsed is None or parsed[0] == "V" and getattr(self.dtype, "hasobject", False):
            dtype = interface["typestr"] if self.dtype is None else self.dtype
            raise TypeError(f"{self.name}: {dtype}: items must be plain data, without references to Python objects")
        if not isinstance(data, tuple):
            library_type = type(self.keep[0]).__name__
            raise TypeError(f"{self.name}: {library_type} has no address; pass what numpy.asarray makes of it")
        (self.kind, self.size), (self.address, self.is_read_only) = parsed, data
        strides = interface.get("strides")
        self._set_shape(interface["shape"], strides and [stride / max(1, self.size) for stride in strides])

    def _read_dlpack(self, array, call):
        kind, number = array.__dlpack_device__()
        if kind in (_DL_CUDA, _DL_CUDA_MANAGED):
            # DLPack names the default stream 1. The producer orders its work before that of the stream.
            self.device = self.gpu = number
            self.stream = call.stream or 0
            capsule = array.__dlpack__(stream=self.stream or 1)
        elif kind in (_DL_CPU, _DL_CUDA_HOST):
            capsule, self.device = array.__dlpack__(), None
        else:
            raise TypeError(f"{self.name}: DLPack device {kind} is neither the CPU nor CUDA")
        tensor = DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
        # The capsule owns the tensor until it is dropped, because nobody consumes it.
        self.keep = (array, capsule)
        if tensor.lanes != 1 or tensor.bits % 8 != 0:
            raise TypeError(f"{self.name}: items of {tensor.lanes} times {tensor.bits} bits are not whole bytes")
        self.kind, self.size = _DL_KINDS.get(tensor.code, "V"), tensor.bits // 8
        self.address = (tensor.data or 0) + tensor.byte_offset
        dimensions = tensor.ndim
        self._set_shape(tensor.shape[:dimensions], tensor.strides[:dimensions] if tensor.strides else None)

    def _set_shape(self, shape, strides):
        """Sets the length and the size of items, and checks the strides, given in items: no gaps between items."""
        self.shape, self.length = shape, shape[0] if shape else 1
        self.item_bytes = self.size if len(shape) < 2 else self.size * math.prod(shape[1:])
        if strides:
            expected = 1
            for length, stride in zip(reversed(shape), reversed(strides)):
                if stride != expected and length > 1 and 0 not in shape:
                    self.fail("not contiguous in row-major order; give a contiguous array, such as a copy of an input")
                expected *= length

    @property
    def type_name(self):
        return _type_name(self.kind, self.size) if self.dtype is None else str(self.dtype)

    @property
    def type(self):
        return f"{self.type_name} of shape {tuple(self.shape)}"

    @property
    def place(self):
        return "the CPU" if self.device is None else "the current GPU" if self.gpu is None else f"GPU {self.gpu}"

    def fail(self, what):
        raise ValueError(f"{self.name}: {self.type}: {what}")

    def require_flags(self):
        if self.item_bytes != 1 or self.kind not in "bu":
            self.fail("flags are bool or uint8, one for each item; compare, as in array != 0")

    def require_type(self, types, what):
        """Returns the library's name of the type: u32."""
        name = types.get(f"{self.kind}{self.size}")
        if name is None or self.item_bytes != self.size:
            view = "; view it as int64, where NaT is the smallest number" if self.kind in "mM" and "i8" in types else ""
            self.fail(f"{what} have one dimension and a dtype of {type_names(types)}{view}")
        return name

    def require_bytes(self, sizes, remedy):
        """Checks the size of an item: `sizes` are in words and as numbers, and `remedy` is for other sizes."""
        if self.item_bytes not in sizes[1]:
            self.fail(f"an item has {self.item_bytes} bytes, where {sizes[0]} are possible; {remedy}")

    def require_length(self, of):
        if self.length != of.length:
            self.fail(f"not as many as the {of.length} {of.name}")

    def require_output(self, length, of=None):
        """Checks an output: room for `length` items, and the type of the array `of`, if given."""
        if self.is_read_only:
            self.fail("the output is read-only")
        if self.length < length:
            self.fail(f"up to {length} may be written")
        if of is not None:
            mine, other = self.dtype, of.dtype
            is_other = mine is not other and type(mine) is type(other) and mine != other
            if is_other or (self.kind, self.size, self.item_bytes) != (of.kind, of.size, of.item_bytes):
                self.fail(f"not the type of {of.name}, {of.type}")

    def require_counts(self, count, of):
        """Checks an output of `count` counts of the items of `of`, and returns their size in bits."""
        bits = self.require_indices(of)
        self.require_output(count)
        return bits

    def require_indices(self, of):
        """Checks an array of counts or indices of the items of `of`, and returns their size in bits."""
        if self.size not in (4, 8) or self.item_bytes != self.size or self.kind not in "iu":
            self.fail("counts and indices have 32 or 64 bits: int32, uint32, int64 or uint64")
        bits = 8 * self.size
        if of.length >= 1 << (bits - (self.kind == "i")):
            self.fail(f"too narrow for {of.length} {of.name}")
        return bits


def _type_name(kind, size):
    return _KINDS[kind] + ("" if kind == "b" else str(8 * size))


def type_names(types):
    return ", ".join(_type_name(code[0], int(code[1:])) for code in types)


def _stream_handle(stream):
    """Returns the handle of a stream: None, a number, or a stream of PyTorch, CuPy, Numba or another library."""
    if stream is None or isinstance(stream, int):
        return 0 if stream == 1 else stream  # 1 names the default stream, too
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


def _context(device, gpu):
    """Returns (key, context, number of its GPU) for the CPU (None), the current context (-1) or a GPU. A thread without
    a current context uses the primary one of `gpu`, if that is not None."""
    key = device
    if device == -1:
        current = ctypes.c_void_p()
        _driver().cuCtxGetCurrent(ctypes.byref(current))
        key = gpu if current.value is None and gpu is not None else ("current", current.value)
    with _lock:
        if key not in _contexts:
            if key is None:
                _contexts[key] = _make("open_cpu"), None
            elif isinstance(key, int):
                _contexts[key] = _make("open_device", key), key
            else:
                number = ctypes.c_int32()
                context = _make("open_current")
                _driver().cuCtxGetDevice(ctypes.byref(number))
                _contexts[key] = context, number.value
        return key, *_contexts[key]


def _prepare(context_key, context, stream, extent, name, parameters):
    """Returns the plan of these parameters and a workspace on the stream for `extent`: items, or (width, height)."""
    key = (context_key, name, *parameters)
    with _lock:
        if key not in _plans:
            _plans[key] = _make(name, context, *map(_to_c, parameters))
        plan = _plans[key]
    need, create, extent = extent, "workspace_create", (extent,) if isinstance(extent, int) else extent
    if len(extent) == 2:
        need, create = ctypes.c_uint64(), "table_workspace_create"
        _check(_library.compaction_table_workspace_bytes(plan, *extent, ctypes.byref(need)))
        # The CPU needs no memory, but its workspaces are for as many items.
        need = need.value or extent[0] * extent[1]
    workspaces = _threads.__dict__.setdefault("workspaces", {})
    capacity, workspace = workspaces.get((key, stream), (-1, None))
    if capacity < need:
        made = _make(create, plan, stream, *extent, 0, 0)
        workspaces[key, stream] = (need, made)
        _library.compaction_workspace_destroy(workspace)
        workspace = made
    return plan, workspace


def _to_c(argument):
    """Converts an argument: an array to its address, a name to bytes, a tuple of sizes to words, and None to null."""
    if isinstance(argument, _Array):
        return argument.address
    if isinstance(argument, str):
        return argument.encode()
    return (ctypes.c_uint32 * len(argument))(*argument) if isinstance(argument, tuple) else argument


def check():
    """Waits for the calls of this thread on GPUs, on all of its streams.

    Raises Error if an `item_count` or a `segment_count` in the memory of a GPU was too large since the last check; the
    call then processed all items or segments. The streams must exist. Must not be called during a graph capture.
    """
    for (_, stream), (_, workspace) in _threads.__dict__.get("workspaces", {}).items():
        _check(_library.compaction_workspace_check(workspace, stream))


def clear():
    """Releases all workspaces of this thread. Their work must have finished, and their streams exist."""
    workspaces = _threads.__dict__.pop("workspaces", {})
    for _, workspace in workspaces.values():
        _library.compaction_workspace_destroy(workspace)


class Call:
    """The arrays of a call, all on one device, and its stream. An operation reads its arrays, checks them and runs."""

    def __init__(self, stream, strategy=None, op=""):
        if not (strategy is None or isinstance(strategy, str)):
            raise TypeError(f"strategy: {strategy!r} is no name")
        if not isinstance(op, str):
            raise TypeError(f"op: {op!r} is no name")
        self.stream, self.arrays = _stream_handle(stream), []
        self.is_stream_given, self.gpu, self.on_torch = stream is not None, None, None
        self.count_name = "item_count"

    def torch_stream(self, device):
        """Returns the handle of PyTorch's current stream, or None if the caller has chosen a stream."""
        if self.on_torch is None and not self.is_stream_given:
            self.on_torch = sys.modules["torch"].cuda.current_stream(device).cuda_stream
        return self.on_torch

    def read(self, **arrays):
        """Reads arrays by their names."""
        return [self.array(name, array) for name, array in arrays.items()]

    def array(self, name, array):
        """Reads an array. Raises ValueError unless it is on the device and stream of those before it."""
        read = _Array(name, array, self)
        if self.arrays:
            first = self.arrays[0]
            is_on_other_gpu = None not in (read.gpu, self.gpu) and read.gpu != self.gpu
            if (read.device is None) != (first.device is None) or is_on_other_gpu:
                read.fail(f"on {read.place}, where {first.name} is on {first.place}")
        if read.gpu is not None:
            self.gpu = read.gpu
        if read.stream is not None and not self.is_stream_given:
            stream = 0 if read.stream == 1 else read.stream
            if self.stream is None:
                self.stream = stream
            elif self.stream != stream:
                read.fail(f"on stream {stream:#x}, where arrays before it are on {self.stream:#x}; pass a stream")
        self.arrays.append(read)
        return read

    def item_count(self, count, items, bits=None, name="item_count"):
        """Reads the count of a call, if any, and returns it with the size of counts in bits: `bits` if given, its own,
        or enough for `items`. `name` is its parameter."""
        self.count_name = name
        if count is None:
            return None, bits or (32 if items.length < 1 << 32 else 64)
        word = self.array(name, count)
        sizes = [bits] if bits else [32, 64]
        if word.kind not in "iu" or 8 * word.item_bytes not in sizes or word.item_bytes != word.size or word.length < 1:
            word.fail(f"the counts of the call are integers of {' or '.join(map(str, sizes))} bits")
        return word, 8 * word.size

    def segments(self, items, offsets, length, count):
        """Reads the segments of `items`: those between `offsets`, or those of `length` items. Returns the end of the
        name of the function for them, its arguments that describe them, their number, and the size of counts in
        bits."""
        if (offsets is None) == (length is None):
            raise ValueError("offsets and length: give one of them")
        if offsets is None:
            if not 1 <= length < 1 << 63:
                raise ValueError(f"length: {length}, where segments have at least one item")
            count, bits = self.item_count(count, items, name="segment_count")
            return "of_length", (int(length), count), items.length // length, bits
        offsets = self.array("offsets", offsets)
        bits = offsets.require_indices(items)
        if offsets.length < 1:
            offsets.fail("there is one offset more than segments")
        count, bits = self.item_count(count, items, bits, "segment_count")
        return "by_offsets", (offsets, offsets.length - 1, count), offsets.length - 1, bits

    def run(self, plan, parameters, function, *arguments, extent):
        """Runs a function of the library with these arguments, by a plan with these parameters, and a workspace for
        `extent`: the number of items, or the (width, height) of a table."""
        key, context, gpu = _context(self.arrays[0].device, self.gpu)
        if self.gpu is not None and self.gpu != gpu:
            array = next(array for array in self.arrays if array.gpu is not None)
            array.fail(f"on GPU {self.gpu}, where GPU {gpu} is current; make its GPU current for the call")
        stream = self.stream or 0
        plan, workspace = _prepare(key, context, stream, extent, "plan_" + plan, parameters)
        call = getattr(_library, "compaction_" + function)
        _check(call(plan, workspace, stream, *[_to_c(argument) or 0 for argument in arguments]), self.count_name)
