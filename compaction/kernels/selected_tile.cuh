// The output of a tile in select's single-launch kernels: the indices of the selected items, or the items.
#pragma once
#include "extent.cuh"
#include "tile.cuh"
#include "value.cuh"

// Writes value(0), value(1), ... to `to`, coalesced, in vectors of 16 bytes.
template <class Value>
__device__ __forceinline__ void write_words(Word *to, u32 count, Value value)
{
    constexpr u32 WIDTH = sizeof(uint4) / sizeof(Word);
    const u32 head = min(count, (u32)(-(u64)to / sizeof(Word) % WIDTH));
    if (threadIdx.x < head) to[threadIdx.x] = value(threadIdx.x);
    u32 at = head + WIDTH * threadIdx.x;
    for (; at + WIDTH <= count; at += WIDTH * BLOCK_THREADS) {
        if constexpr (IS_LONG)
            *(ulonglong2 *)(to + at) = {value(at), value(at + 1)};
        else
            *(uint4 *)(to + at) = {value(at), value(at + 1), value(at + 2), value(at + 3)};
    }
    for (; at < count; at++) to[at] = value(at);
}

template <u32 ROWS, class Order>
__device__ __forceinline__ void keep_indices(
    const u8 *__restrict__ flags, Tile tile, const Extent &extent, Word *__restrict__ out, Order &order)
{
    __shared__ u16 kept[ROWS * TILE_ITEMS];
    const auto found = find_survivors<ROWS>(flags, tile);
    order.announce(found.total);
    gather_places(found, kept);
    const Word begin = order.begin(found.total), first = extent.begin() + tile.first;
    write_words(out + begin, extent.room_for(begin, found.total), [&](u32 rank) { return first + kept[rank]; });
}

// Copies the selected items of a tile by vectors, PARTS per item. The first batch is loaded while the order finds the
// output position.
template <u32 PARTS, class Part, class Order>
__device__ __forceinline__ void copy_kept(
    const Part *__restrict__ items, const u16 *kept, u32 survivors, const Extent &extent, Part *__restrict__ out, Order &order)
{
    constexpr u32 BATCH = PARTS == 1 && sizeof(Part) <= 4 ? 8 : sizeof(Part) <= 8 ? 4 : 2, STEP = BATCH * BLOCK_THREADS;
    u32 count = survivors * PARTS;
    Part batch[BATCH];
    const auto load = [&](u32 first) {
#pragma unroll
        for (u32 each = 0; each < BATCH; each++) {
            const u32 part = first + each * BLOCK_THREADS;
            if (part < count) batch[each] = items[kept[part / PARTS] * PARTS + part % PARTS];
        }
    };
    load(threadIdx.x);
    const Word begin = order.begin(survivors);
    count = extent.room_for(begin, survivors) * PARTS;
    out += (u64)begin * PARTS;
    for (u32 first = threadIdx.x; first < count; first += STEP) {
        if (first != threadIdx.x) load(first);
#pragma unroll
        for (u32 each = 0; each < BATCH; each++) {
            const u32 part = first + each * BLOCK_THREADS;
            if (part < count) out[part] = batch[each];
        }
    }
}

// Copies the selected items of a tile by vectors of BYTES bytes if both buffers are aligned to them, else by narrower
// ones.
template <u32 BYTES, class Order>
__device__ __forceinline__ void copy_kept_by(
    const u8 *__restrict__ items, const u16 *kept, u32 survivors, const Extent &extent, u8 *__restrict__ out, Order &order)
{
    using Wide = typename Vector<BYTES>::type;
    constexpr u32 NARROWER = BYTES / 4 > ITEM_ALIGN ? BYTES / 4 : ITEM_ALIGN;
    if (BYTES == ITEM_ALIGN || (is_aligned(items, BYTES) && is_aligned(out, BYTES)))
        copy_kept<ITEM_BYTES / BYTES>((const Wide *)items, kept, survivors, extent, (Wide *)out, order);
    else if constexpr (BYTES != ITEM_ALIGN)
        copy_kept_by<NARROWER>(items, kept, survivors, extent, out, order);
}

// The widest vectors, in bytes, into which the items can be divided.
constexpr u32 ITEM_VECTOR = (ITEM_BYTES & -ITEM_BYTES) < WIDEST_VECTOR ? ITEM_BYTES & -ITEM_BYTES : WIDEST_VECTOR;

// Items are read once it is known which are selected: sectors that contain only rejected items are never loaded.
template <u32 ROWS, class Order>
__device__ __forceinline__ void keep_items(
    const u8 *__restrict__ items, const u8 *__restrict__ flags, Tile tile, const Extent &extent, u8 *__restrict__ out,
    Order &order)
{
    __shared__ u16 kept[ROWS * TILE_ITEMS];
    const auto found = find_survivors<ROWS>(flags, tile);
    order.announce(found.total);
    gather_places(found, kept);
    __syncthreads();
    copy_kept_by<ITEM_VECTOR>(items + (u64)tile.first * ITEM_BYTES, kept, found.total, extent, out, order);
}

// The parameters of select's kernels. Kernels for indices do not read `items`.
#define SELECT_PARAMS                                                                                             \
    const u8 *items, const u8 *flags, const Word *count, Extent extent, u8 *out, Word *selected, u64 *workspace

// The minimum number of resident blocks per multiprocessor. By itself, ptxas limits registers in some kernels so that
// they spill.
#if __CUDA_ARCH__ < 900
constexpr u32 MIN_BLOCKS = 2, MIN_WIDE_BLOCKS = 2;
#elif __CUDA_ARCH__ < 1200
constexpr u32 MIN_BLOCKS = IS_LONG ? 3 : 4, MIN_WIDE_BLOCKS = ITEM_VECTOR > 8 ? 3 : MIN_BLOCKS;
#else
constexpr u32 MIN_BLOCKS = 3, MIN_WIDE_BLOCKS = 3;
#endif
#define SELECT(name) extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, MIN_BLOCKS) name
#define SELECT_WIDE(name) extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, MIN_WIDE_BLOCKS) name
