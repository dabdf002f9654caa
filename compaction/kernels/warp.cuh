// Collective functions of a warp. All lanes must call them together.
#pragma once

#include "monoid.cuh"

constexpr u32 WARP_THREADS = 32;
constexpr u32 ALL_LANES = 0xffffffff;

__device__ __forceinline__ u32 lane_index() { return threadIdx.x % WARP_THREADS; }

__device__ __forceinline__ u32 warp_index() { return threadIdx.x / WARP_THREADS; }

// The inclusive scan over the lanes of a warp, combined in the same order for all types.
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

// The values of all lanes combined, in every lane, in the order in which `warp_inclusive` computes its last value.
// `combine` must be commutative.
template <class Monoid>
__device__ __forceinline__ typename Monoid::Value warp_fold(typename Monoid::Value value)
{
#pragma unroll
    for (u32 distance = 1; distance < WARP_THREADS; distance *= 2)
        value = Monoid::combine(__shfl_xor_sync(ALL_LANES, value, distance), value);
    return value;
}

// The sum of the values of this lane and all lower lanes.
__device__ __forceinline__ u32 warp_inclusive_sum(u32 value) { return warp_inclusive<Sum<u32>>(value); }

// The sum of the values of all lanes, in every lane.
__device__ __forceinline__ u32 warp_sum(u32 value) { return warp_fold<Sum<u32>>(value); }

// The value of the last lane, in every lane.
template <class Value>
__device__ __forceinline__ Value warp_last(Value value)
{
    return __shfl_sync(ALL_LANES, value, WARP_THREADS - 1);
}
