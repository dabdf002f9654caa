// Words for a block of BLOCK_THREADS threads. All threads call them together, once a kernel: what a block shares lies
// in one place of shared memory, which a second call would need a barrier to reuse.
#pragma once

#include "warp.cuh"

constexpr u32 BLOCK_WARPS = BLOCK_THREADS / WARP_THREADS;
static_assert(BLOCK_THREADS % WARP_THREADS == 0, "a block is made of whole warps");

struct BlockSum {
    u32 before;  // the sum over the warps before this one
    u32 total;   // the sum over all warps
};

// Adds up one value of each warp, the same in all its lanes. Holds one barrier.
__device__ __forceinline__ BlockSum block_sum_of_warps(u32 warp_value)
{
    __shared__ u32 values[BLOCK_WARPS];
    if (lane_index() == 0) values[warp_index()] = warp_value;
    __syncthreads();

    BlockSum sum = {0, 0};
#pragma unroll
    for (u32 warp = 0; warp < BLOCK_WARPS; warp++) {
        sum.before += warp < warp_index() ? values[warp] : 0;
        sum.total += values[warp];
    }
    return sum;
}

// Gives every thread of the block what its first thread holds. Holds one barrier.
__device__ __forceinline__ u32 block_first(u32 value)
{
    __shared__ u32 first;
    if (threadIdx.x == 0) first = value;
    __syncthreads();
    return first;
}
