// Counting: reads all items of a grid by vectors, and adds the counts of all blocks.
#pragma once

#include "block.cuh"

// Calls count(item, exists) for all items of the grid, by vectors of 16 bytes where they are aligned. All lanes of a
// warp call it together. `prepare` runs while the first items load.
template <class Item, class Prepare, class Count>
__device__ __forceinline__ void for_each_item(const Item *__restrict__ items, u64 item_count, Prepare prepare, Count count)
{
    constexpr u32 VECTOR_ITEMS = 16 / sizeof(Item);
    constexpr u32 BATCH = 2;  // vectors that a thread loads at a time
    struct Items {
        Item items[VECTOR_ITEMS];
    };
    const u64 thread = (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x, threads = (u64)gridDim.x * BLOCK_THREADS;
    const u64 head = min(item_count, (u64)(16 - (u64)items % 16) % 16 / sizeof(Item));
    // Whole warps of vectors.
    const u64 vectors = (item_count - head) / VECTOR_ITEMS / WARP_THREADS * WARP_THREADS;
    const uint4 *aligned = (const uint4 *)(items + head);
    uint4 batch[BATCH];
    const auto load = [&](u64 first) {
#pragma unroll
        for (u32 vector = 0; vector < BATCH; vector++)
            if (first + vector * threads < vectors) batch[vector] = aligned[first + vector * threads];
    };
    load(thread);
    prepare();
    for (u64 first = thread; first < vectors; first += BATCH * threads) {
#pragma unroll
        for (u32 vector = 0; vector < BATCH; vector++) {
            if (first + vector * threads >= vectors) break;
            count(bits_as<Items>(batch[vector]).items, true);
        }
        load(first + BATCH * threads);
    }
    if (blockIdx.x != 0) return;
    // The ends.
    const u64 ends = item_count - vectors * VECTOR_ITEMS;
    for (u64 end = threadIdx.x; end - lane_index() < ends; end += BLOCK_THREADS) {
        const bool exists = end < ends;
        const Item item[1] = {exists ? items[end < head ? end : vectors * VECTOR_ITEMS + end] : (Item)0};
        count(item, exists);
    }
}

// Clears counters of a block, a multiple of four words aligned to 16 bytes.
__device__ __forceinline__ void clear_counters(u32 *counters, u32 words)
{
    for (u32 vector = threadIdx.x; vector < words / 4; vector += BLOCK_THREADS) ((uint4 *)counters)[vector] = uint4{0, 0, 0, 0};
}

// Adds the replicas of each bin, which stand side by side, and calls put(bin, sum) in one thread for each bin.
template <class Put>
__device__ __forceinline__ void add_replicas(const u32 *counters, u32 bins, u32 log_replicas, Put put)
{
    if (log_replicas < 2) {
        for (u32 bin = threadIdx.x; bin < bins; bin += BLOCK_THREADS)
            put(bin, counters[bin << log_replicas] + (log_replicas == 1 ? counters[2 * bin + 1] : 0));
        return;
    }
    const u32 log_lanes = log_replicas - 2;  // a lane adds four replicas
    for (u32 first = warp_index() * WARP_THREADS; first < bins << log_lanes; first += BLOCK_THREADS) {
        const u32 vector = first + lane_index();
        u32 sum = 0;
        if (vector < bins << log_lanes) {
            const uint4 four = ((const uint4 *)counters)[vector];
            sum = four.x + four.y + four.z + four.w;
        }
        for (u32 distance = 1; distance >> log_lanes == 0; distance *= 2) sum += __shfl_xor_sync(ALL_LANES, sum, distance);
        const u32 bin = vector >> log_lanes;
        if (bin < bins && (vector & ((1u << log_lanes) - 1)) == 0) put(bin, sum);
    }
}

// A total to which each block adds once: the number of blocks that have added, and the sum. One word tells that it is
// complete, so no other memory has to be ordered. It is zero between launches.
constexpr u32 SUM_BITS = 40;

// The index of the total of a bin. Twin: src/totals.rs.
__device__ __forceinline__ u32 total_place(u32 bin) { return bin / TOTALS_SIDE_BY_SIDE * TOTAL_STRIDE + bin % TOTALS_SIDE_BY_SIDE; }

// Adds the sum of a block, and returns the word before.
__device__ __forceinline__ u64 add_arrival(u64 *total, u32 sum) { return atomicAdd(total, 1ull << SUM_BITS | sum); }

__device__ __forceinline__ u32 arrivals(u64 word) { return (u32)(word >> SUM_BITS); }

__device__ __forceinline__ u64 arrived_sum(u64 word) { return word & ((1ull << SUM_BITS) - 1); }
