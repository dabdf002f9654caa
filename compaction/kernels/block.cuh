// Collective functions of a block of BLOCK_THREADS threads. All threads must call each of them together, and only once
// per kernel: a second call would need a barrier before it reuses the shared memory.
#pragma once

#include "warp.cuh"

constexpr u32 BLOCK_WARPS = BLOCK_THREADS / WARP_THREADS;
static_assert(BLOCK_THREADS % WARP_THREADS == 0, "a block is made of whole warps");

template <class Value>
struct BlockFold {
    Value before;  // combined values of the warps before this one
    Value total;   // combined values of all warps
};

// Combines one value per warp, equal in all lanes, from the first warp to the last. Contains one barrier.
template <class Monoid>
__device__ __forceinline__ BlockFold<typename Monoid::Value> block_fold_of_warps(typename Monoid::Value warp_value)
{
    using Value = typename Monoid::Value;
    // Aligned for vector loads, so that they read nothing outside the array.
    __shared__ alignas(16) Value values[BLOCK_WARPS];
    if (lane_index() == 0) values[warp_index()] = warp_value;
    __syncthreads();

    BlockFold<Value> fold = {Monoid::identity(), Monoid::identity()};
#pragma unroll
    for (u32 warp = 0; warp < BLOCK_WARPS; warp++) {
        if (warp < warp_index()) fold.before = Monoid::combine(fold.before, values[warp]);
        fold.total = Monoid::combine(fold.total, values[warp]);
    }
    return fold;
}

using BlockSum = BlockFold<u32>;

// Adds one value per warp, equal in all its lanes. Contains one barrier.
__device__ __forceinline__ BlockSum block_sum_of_warps(u32 warp_value)
{
    return block_fold_of_warps<Sum<u32>>(warp_value);
}

// Returns the first thread's value in every thread of the block. Contains one barrier.
template <class Value>
__device__ __forceinline__ Value block_first(Value value)
{
    __shared__ Value first;
    if (threadIdx.x == 0) first = value;
    __syncthreads();
    return first;
}
