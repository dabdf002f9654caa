"""Measures compaction on arrays of PyTorch and CuPy, next to what these libraries offer.

Each row compares results first, and then prints the median time between two CUDA events around a call, in microseconds.
The calls rotate over at least 256 MB of keys and 64 MB of flags, so that no input stays in the cache::

    cargo build --release -p compaction-capi
    export COMPACTION_LIBRARY=target/release/libcompaction_capi.so PYTHONPATH=capi/python
    python capi/examples/array_speed.py

``in a graph`` is the time of the same call replayed as a CUDA graph, which leaves out the time that Python needs to
enqueue it. PyTorch's ``nonzero`` and ``masked_select`` wait for the number of items and cannot be captured.
"""

import statistics
import sys

import compaction
import torch

try:
    import cupy
except ImportError:
    cupy = None

SIZES = [1 << 20, 1 << 22, 1 << 24, 1 << 26]


def between_events(call, inputs, repeat):
    """Returns the median time of `call(input)` in microseconds on PyTorch's current stream."""
    times = []
    for turn in range(3 + repeat):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call(inputs[turn % len(inputs)])
        end.record()
        end.synchronize()
        if turn >= 3:
            times.append(1000 * start.elapsed_time(end))
    return statistics.median(times)


def in_graph(call, inputs, repeat):
    """Returns the median time of one call in a CUDA graph of calls with each of the inputs, in microseconds."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call(inputs[0])  # creates the workspace of this stream
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        for one in inputs:
            call(one)
    return between_events(lambda _: graph.replay(), [None], repeat) / len(inputs)


def check(is_right, what):
    if not is_right:
        print(f"WRONG: {what}")
        sys.exit(1)


def current():
    return torch.cuda.current_stream()


def on_cupy(call):
    """Returns `call` on PyTorch's stream, with its arguments as CuPy arrays of the same memory."""

    def run(tensor):
        with cupy.cuda.Stream.from_external(current()):
            return call(cupy.asarray(tensor))

    return run


def operations(count):
    """Yields (name, inputs, call of compaction, the calls of other libraries by name)."""
    torch.manual_seed(1)
    copies = max(2, (256 << 20) // (4 * count))
    flags = [torch.rand(count, device="cuda") < 0.5 for _ in range(copies)]
    keys = [torch.randint(-(1 << 31), 1 << 31, (count,), dtype=torch.int32, device="cuda") for _ in range(copies)]
    pairs = list(zip(flags, keys))
    indices, number = torch.empty(count, dtype=torch.int32, device="cuda"), torch.empty(1, dtype=torch.int32, device="cuda")
    items, values = torch.empty_like(keys[0]), torch.arange(count, dtype=torch.int32, device="cuda")
    values_out = torch.empty_like(values)

    def kept():
        return int(number.cpu()[0])

    compaction.select(flags[0], indices, number, stream=current())
    expected = torch.nonzero(flags[0]).flatten()
    check(torch.equal(indices[: kept()].to(torch.int64), expected), "select of indices")
    yield (
        "flags to indices",
        flags,
        lambda flag: compaction.select(flag, indices, number, stream=current()),
        {"torch.nonzero": torch.nonzero, "cupy.flatnonzero": lambda flag: cupy.flatnonzero(flag)},
    )

    compaction.select(flags[0], items, number, values=keys[0], stream=current())
    check(torch.equal(items[: kept()], torch.masked_select(keys[0], flags[0])), "select of items")
    yield (
        "select of i32",
        pairs,
        lambda pair: compaction.select(pair[0], items, number, values=pair[1], stream=current()),
        {"torch.masked_select": lambda pair: torch.masked_select(pair[1], pair[0])},
    )

    compaction.partition(flags[0], indices, number, stream=current())
    order = torch.sort((~flags[0]).to(torch.uint8), stable=True).indices
    check(torch.equal(indices.to(torch.int64), order), "partition of indices")
    yield (
        "partition of indices",
        flags,
        lambda flag: compaction.partition(flag, indices, number, stream=current()),
        {"torch.sort of the flags": lambda flag: torch.sort(flag, stable=True)},
    )

    compaction.radix_sort(keys[0], items, stream=current())
    check(torch.equal(items, torch.sort(keys[0]).values), "sort of keys")
    yield (
        "sort of i32",
        keys,
        lambda key: compaction.radix_sort(key, items, stream=current()),
        {"torch.sort": torch.sort, "cupy.sort": lambda key: cupy.sort(key)},
    )

    compaction.radix_sort(keys[0], items, values=values, values_out=values_out, stream=current())
    order = torch.sort(keys[0], stable=True).indices
    check(torch.equal(values_out.to(torch.int64), order), "sort of pairs")
    yield (
        "sort of i32 with their indices",
        keys,
        lambda key: compaction.radix_sort(key, items, values=values, values_out=values_out, stream=current()),
        {"torch.sort, stable": lambda key: torch.sort(key, stable=True), "cupy.argsort": lambda key: cupy.argsort(key)},
    )


def main():
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CuPy {cupy.__version__ if cupy else 'missing'}")
    for count in sizes:
        repeat = 101 if count <= 1 << 22 else 21
        print(f"{count} items, half of the flags set                       microseconds")
        for name, inputs, ours, peers in operations(count):
            print(f"  {name:32} compaction              {between_events(ours, inputs, repeat):10.1f}")
            print(f"  {'':32} compaction, in a graph  {in_graph(ours, inputs, repeat):10.1f}", flush=True)
            for peer, call in peers.items():
                if peer.startswith("cupy"):
                    if cupy is None:
                        continue
                    call = on_cupy(call)
                print(f"  {'':32} {peer:23} {between_events(call, inputs, repeat):10.1f}", flush=True)
    torch.cuda.synchronize()
    compaction.clear()


if __name__ == "__main__":
    main()
