// Words for a block of BLOCK_THREADS threads. All threads call them together, once a kernel: what a block shares lies
// in one place of shared memory, which a second call would need a barrier to reuse.
#pragma once

#include "warp.cuh"

constexpr u32 BLOCK_WARPS = BLOCK_THREADS / WARP_THREADS;
static_assert(BLOCK_THREADS % WARP_THREADS == 0, "a block is made of whole warps");

template <class Value>
struct BlockFold {
    Value before;  // that of the warps before this one
    Value total;   // that of all warps
};

// Combines one value of each warp, the same in all its lanes, from the first warp to the last. Holds one barrier.
template <class Monoid>
__device__ __forceinline__ BlockFold<typename Monoid::Value> block_fold_of_warps(typename Monoid::Value warp_value)
{
    using Value = typename Monoid::Value;
    // On the bounds of the vectors by which they are read: nothing beside them is read along.
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

// Adds up one value of each warp, the same in all its lanes. Holds one barrier.
__device__ __forceinline__ BlockSum block_sum_of_warps(u32 warp_value)
{
    return block_fold_of_warps<Sum<u32>>(warp_value);
}

// Gives every thread of the block what its first thread holds. Holds one barrier.
template <class Value>
__device__ __forceinline__ Value block_first(Value value)
{
    __shared__ Value first;
    if (threadIdx.x == 0) first = value;
    __syncthreads();
    return first;
}
