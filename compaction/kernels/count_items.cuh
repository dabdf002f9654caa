// Counting: reads all items of a grid by vectors, and adds the counts of all blocks. A block writes its counts to a row
// of a table; rows of 32-bit words begin at multiples of 16 bytes. The last block to finish adds them.
#pragma once

#include "block.cuh"

// Calls count(item, exists) for all items of the grid, by vectors of 16 bytes where they are aligned. All lanes of a
// warp call it together.
template <class Item, class Count>
__device__ __forceinline__ void for_each_item(const Item *__restrict__ items, u64 item_count, Count count)
{
    constexpr u32 VECTOR_ITEMS = 16 / sizeof(Item);
    constexpr u32 BATCH = sizeof(Item) == 1 ? 2 : 4;  // vectors that a thread loads at a time
    struct Items {
        Item items[VECTOR_ITEMS];
    };
    const u64 thread = (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x, threads = (u64)gridDim.x * BLOCK_THREADS;
    const u64 head = min(item_count, (u64)(16 - (u64)items % 16) % 16 / sizeof(Item));
    const u64 vectors = (item_count - head) / VECTOR_ITEMS;
    const uint4 *aligned = (const uint4 *)(items + head);
    for (u64 first = thread; first - lane_index() < vectors; first += BATCH * threads) {
        uint4 batch[BATCH];
#pragma unroll
        for (u32 vector = 0; vector < BATCH; vector++)
            if (first + vector * threads < vectors) batch[vector] = aligned[first + vector * threads];
#pragma unroll
        for (u32 vector = 0; vector < BATCH; vector++) {
            const u64 at = first + vector * threads;
            if (at - lane_index() >= vectors) break;
            const Items here = bits_as<Items>(batch[vector]);
#pragma unroll
            for (u32 item = 0; item < VECTOR_ITEMS; item++) count(here.items[item], at < vectors);
        }
    }
    if (thread >= WARP_THREADS) return;
    // The ends have fewer than 32 items together.
    const u64 tail = item_count - head - vectors * VECTOR_ITEMS;
    const bool exists = thread < head + tail;
    const u64 at = thread < head ? thread : vectors * VECTOR_ITEMS + thread;
    count(exists ? items[at] : (Item)0, exists);
}

// The words from one row to the next, which begin at multiples of 16 bytes.
__device__ __forceinline__ u32 row_stride(u32 bins) { return (bins + 3) / 4 * 4; }

// Returns, in all threads of a block, whether all other blocks have called this function before. Everything that they
// wrote before is then visible. `finished` is zero between launches.
__device__ __forceinline__ bool is_last_block(u64 *finished)
{
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(finished, 1ull) == gridDim.x - 1;
        if (is_last) *finished = 0;
        __threadfence();
    }
    __syncthreads();
    return is_last;
}

// Adds the rows of all blocks in one block, and calls put(bin, sum). `sums` is shared memory for SUMS words.
constexpr u32 SUMS = 4 * BLOCK_THREADS;
template <class Put>
__device__ __forceinline__ void add_rows(u32 bins, const u32 *rows, u64 *sums, Put put)
{
    // Each warp adds a share of the rows; the sums of all warps meet in shared memory.
    constexpr u32 EACH = SUMS / BLOCK_THREADS, VECTOR_BINS = EACH * WARP_THREADS;
    static_assert(VECTOR_BINS <= BLOCK_THREADS, "a thread for each bin");
    const u32 stride = row_stride(bins);
    for (u32 first = 0; first < bins; first += VECTOR_BINS) {
        const u32 bin = first + lane_index() * EACH;
        u64 sum[EACH] = {};
        if (bin < bins) {
#pragma unroll 16
            for (u32 row = warp_index(); row < gridDim.x; row += BLOCK_WARPS) {
                const uint4 counts = *(const uint4 *)(rows + (u64)row * stride + bin);
                sum[0] += counts.x, sum[1] += counts.y, sum[2] += counts.z, sum[3] += counts.w;
            }
        }
#pragma unroll
        for (u32 each = 0; each < EACH; each++) sums[each * BLOCK_THREADS + threadIdx.x] = sum[each];
        __syncthreads();
        if (threadIdx.x < VECTOR_BINS && first + threadIdx.x < bins) {
            u64 all = 0;
            for (u32 warp = 0; warp < BLOCK_WARPS; warp++)
                all += sums[threadIdx.x % EACH * BLOCK_THREADS + warp * WARP_THREADS + threadIdx.x / EACH];
            put(first + threadIdx.x, all);
        }
        __syncthreads();
    }
}
