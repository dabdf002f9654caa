// Stable merging of sorted runs, and the sort of a tile by it. A merge is divided among threads by merge paths: the
// outputs before a diagonal consist of as many items of both runs as a search finds (O. Green, R. McColl and D. A.
// Bader, "GPU Merge Path", ICS 2012). Equal items of the first run come first.
//
// before(left, right) says whether `left` belongs before `right`. It is a strict weak order.
#pragma once

#include "block.cuh"

constexpr u32 TILE_ITEMS = BLOCK_THREADS * ITEMS_PER_THREAD;

// Returns how many of the first `diagonal` outputs come from `a`. For runs in shared memory.
template <class AnyItem, class Before>
__device__ __forceinline__ u32 split_at(const AnyItem *a, u32 a_items, const AnyItem *b, u32 b_items, u32 diagonal, Before before)
{
    u32 low = diagonal > b_items ? diagonal - b_items : 0, high = min(diagonal, a_items);
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (before(b[diagonal - 1 - middle], a[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// Returns how many of the first `diagonal` outputs come from `a`, in every lane. For runs in global memory: the lanes
// probe 32 places at once, because each step takes the time of a load. All lanes call it.
template <class AnyItem, class Before>
__device__ __forceinline__ u64 warp_split_at(
    const AnyItem *a, u64 a_items, const AnyItem *b, u64 b_items, u64 diagonal, Before before)
{
    u64 low = diagonal > b_items ? diagonal - b_items : 0, high = min(diagonal, a_items);
    while (low < high) {
        const u64 step = (high - low + WARP_THREADS - 1) / WARP_THREADS, probe = low + lane_index() * step;
        const bool is_before = probe < high && !before(b[diagonal - 1 - probe], a[probe]);
        const u32 known = __popc(__ballot_sync(ALL_LANES, is_before));
        if (known == 0) break;
        high = min(high, low + known * step);
        low += (known - 1) * step + 1;
    }
    return low;
}

// Merges two adjacent runs in shared memory, from the items `a` and `b` on: calls put(output, item, place) for
// ITEMS_PER_THREAD outputs, with the item and its place. Outputs behind the end of both runs are unspecified.
template <class AnyItem, class Before, class Put>
__device__ __forceinline__ void merge_serially(
    const AnyItem *tile, u32 a, u32 a_end, u32 b, u32 b_end, Before before, Put put)
{
    // The next item of each run stays in registers, so that an output takes one load.
    AnyItem a_item = tile[min(a, b_end - 1)], b_item = tile[min(b, b_end - 1)];
#pragma unroll
    for (u32 output = 0; output < ITEMS_PER_THREAD; output++) {
        // Without short circuits, because branches take longer.
        const bool from_b = (a >= a_end) | ((b < b_end) & before(b_item, a_item));
        AnyItem item = a_item;
        if (from_b) item = b_item;
        put(output, item, from_b ? b : a);
        const u32 next = (from_b ? ++b : ++a);
        if (output + 1 < ITEMS_PER_THREAD) {
            const AnyItem next_item = tile[min(next, b_end - 1)];
            if (from_b) b_item = next_item;
            if (!from_b) a_item = next_item;
        }
    }
}

// Sorts the first `items` items of a tile in shared memory. All threads of the block call it, and need a barrier before
// and after it.
template <class AnyItem, class Before>
__device__ __forceinline__ void sort_tile(AnyItem *tile, u32 items, Before before)
{
    AnyItem mine[ITEMS_PER_THREAD];
    const u32 first = threadIdx.x * ITEMS_PER_THREAD;
    const u32 left = first < items ? min(items - first, ITEMS_PER_THREAD) : 0;
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
        if (item < left) mine[item] = tile[first + item];
    // Odd-even transposition sort.
    const auto sort_mine = [&](auto is_here) {
#pragma unroll
        for (u32 round = 0; round < ITEMS_PER_THREAD; round++) {
#pragma unroll
            for (u32 item = round % 2; item + 1 < ITEMS_PER_THREAD; item += 2) {
                if (is_here(item + 1) && before(mine[item + 1], mine[item])) {
                    const AnyItem swapped = mine[item];
                    mine[item] = mine[item + 1];
                    mine[item + 1] = swapped;
                }
            }
        }
    };
    if (left == ITEMS_PER_THREAD)
        sort_mine([](u32) { return true; });
    else
        sort_mine([&](u32 item) { return item < left; });
    for (u32 threads = 1; threads < BLOCK_THREADS && threads * ITEMS_PER_THREAD < items; threads *= 2) {
        // The threads whose runs are merged are in one warp, or later in several.
        const bool is_in_warp = 2 * threads <= WARP_THREADS;
        const auto wait = [&] {
            if (is_in_warp)
                __syncwarp();
            else
                __syncthreads();
        };
#pragma unroll
        for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
            if (item < left) tile[first + item] = mine[item];
        wait();
        const u32 run = threads * ITEMS_PER_THREAD, pair = first / (2 * run) * (2 * run);
        const u32 a_end = min(pair + run, items), b_end = min(pair + 2 * run, items);
        if (left > 0) {
            const u32 from_a = split_at(tile + pair, a_end - pair, tile + a_end, b_end - a_end, first - pair, before);
            merge_serially(
                tile, pair + from_a, a_end, a_end + first - pair - from_a, b_end, before,
                [&](u32 output, const AnyItem &item, u32) { mine[output] = item; });
        }
        wait();
    }
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
        if (item < left) tile[first + item] = mine[item];
}

// A tile of the outputs of a merge of two adjacent runs in global memory.
struct MergeTile {
    u64 first;      // index of the first run's first item
    u64 a_items;    // items of the first run
    u64 b_items;    // items of the second run, which follows it
    u64 diagonal;   // number of outputs before the tile
    u32 outputs;    // number of outputs of the tile

    // The tile with the number `chunk` of the items from `begin` to before `end`, for runs of `run` items.
    static __device__ __forceinline__ MergeTile of(u64 begin, u64 end, u64 chunk, u64 run)
    {
        const u64 place = chunk * TILE_ITEMS, pair = place / (2 * run) * (2 * run), items = end - begin;
        const u64 a_end = min(pair + run, items), b_end = min(pair + 2 * run, items);
        return {begin + pair, a_end - pair, b_end - a_end, place - pair, (u32)min(items - place, (u64)TILE_ITEMS)};
    }
};

// Merges a tile. `tile` is shared memory for TILE_ITEMS items. At the end, values(places, first, count, source) can
// move values: the thread's outputs from `first` on are the items at source(places[0]), source(places[1]), ... of the
// input. All threads of the block call it; it begins with a barrier.
template <class AnyItem, class Before, class Values>
__device__ __forceinline__ void merge_tile(
    const AnyItem *from, AnyItem *to, const MergeTile &work, AnyItem *tile, Before before, Values values)
{
    __shared__ u64 splits[2];
    const AnyItem *a = from + work.first, *b = a + work.a_items;
    __syncthreads();
    for (u32 end = warp_index(); end < 2; end += BLOCK_WARPS) {
        const u64 diagonal = work.diagonal + (end == 0 ? 0 : work.outputs);
        const u64 split = warp_split_at(a, work.a_items, b, work.b_items, diagonal, before);
        if (lane_index() == 0) splits[end] = split;
    }
    __syncthreads();
    const u64 a_first = splits[0], b_first = work.diagonal - a_first;
    // The limits matter only for an inconsistent comparison, or overlapping segments. Without them, the tile would then
    // read beyond the runs.
    const u32 a_here = splits[1] > a_first ? (u32)min(splits[1] - a_first, (u64)work.outputs) : 0;
    const auto source = [&](u32 place) {
        return work.first + (place < a_here ? a_first + place : work.a_items + b_first + place - a_here);
    };
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) {
        const u32 place = threadIdx.x + item * BLOCK_THREADS;
        if (place < work.outputs) tile[place] = from[source(place)];
    }
    __syncthreads();
    const u32 first = threadIdx.x * ITEMS_PER_THREAD;
    const u32 left = first < work.outputs ? min(work.outputs - first, ITEMS_PER_THREAD) : 0;
    AnyItem mine[ITEMS_PER_THREAD];
    u16 places[ITEMS_PER_THREAD];
    if (left > 0) {
        const u32 from_a = split_at(tile, a_here, tile + a_here, work.outputs - a_here, first, before);
        merge_serially(
            tile, from_a, a_here, a_here + first - from_a, work.outputs, before,
            [&](u32 output, const AnyItem &item, u32 place) {
                mine[output] = item;
                places[output] = (u16)place;
            });
    }
    __syncthreads();
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
        if (item < left) tile[first + item] = mine[item];
    __syncthreads();
    AnyItem *const out = to + work.first + work.diagonal;
    for (u32 place = threadIdx.x; place < work.outputs; place += BLOCK_THREADS) out[place] = tile[place];
    values(places, first, left, source);
}

// The number of rounds of merges that sort as many tiles.
__device__ __forceinline__ u32 merge_rounds(u64 tiles) { return tiles <= 1 ? 0 : 64 - __clzll(tiles - 1); }
