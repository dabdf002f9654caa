// Words for a warp. All lanes call them together.
#pragma once

#include "monoid.cuh"

constexpr u32 WARP_THREADS = 32;
constexpr u32 ALL_LANES = 0xffffffff;

__device__ __forceinline__ u32 lane_index() { return threadIdx.x % WARP_THREADS; }

__device__ __forceinline__ u32 warp_index() { return threadIdx.x / WARP_THREADS; }

// The values of the lanes below this one and of this one, combined in a tree that is the same for all values.
template <class Monoid>
__device__ __forceinline__ typename Monoid::Value warp_inclusive(typename Monoid::Value value)
{
#pragma unroll
    for (u32 distance = 1; distance < WARP_THREADS; distance *= 2) {
        const typename Monoid::Value below = __shfl_up_sync(ALL_LANES, value, distance);
        if (lane_index() >= distance) value = Monoid::combine(below, value);
    }
    return value;
}

// All lanes' values combined, in every lane: by the tree by which `warp_inclusive` comes to its last. `combine` has to
// give the same both ways round.
template <class Monoid>
__device__ __forceinline__ typename Monoid::Value warp_fold(typename Monoid::Value value)
{
#pragma unroll
    for (u32 distance = 1; distance < WARP_THREADS; distance *= 2)
        value = Monoid::combine(__shfl_xor_sync(ALL_LANES, value, distance), value);
    return value;
}

// The sum of the values of this lane and of those below it.
__device__ __forceinline__ u32 warp_inclusive_sum(u32 value) { return warp_inclusive<Sum<u32>>(value); }

// The sum of all lanes' values, in every lane.
__device__ __forceinline__ u32 warp_sum(u32 value) { return warp_fold<Sum<u32>>(value); }

// The value of the highest lane, in every lane.
template <class Value>
__device__ __forceinline__ Value warp_last(Value value)
{
    return __shfl_sync(ALL_LANES, value, WARP_THREADS - 1);
}
