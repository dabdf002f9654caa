// Words for a warp. All lanes call them together.
#pragma once

#include "prelude.cuh"

constexpr u32 WARP_THREADS = 32;
constexpr u32 ALL_LANES = 0xffffffff;

__device__ __forceinline__ u32 lane_index() { return threadIdx.x % WARP_THREADS; }

__device__ __forceinline__ u32 warp_index() { return threadIdx.x / WARP_THREADS; }

// The sum of the values of this lane and of those below it.
__device__ __forceinline__ u32 warp_inclusive_sum(u32 value)
{
#pragma unroll
    for (u32 distance = 1; distance < WARP_THREADS; distance *= 2) {
        const u32 below = __shfl_up_sync(ALL_LANES, value, distance);
        value += lane_index() >= distance ? below : 0;
    }
    return value;
}

// The sum of all lanes' values, in every lane.
__device__ __forceinline__ u32 warp_sum(u32 value)
{
#pragma unroll
    for (u32 distance = WARP_THREADS / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, distance);
    return value;
}

// The value of the highest lane, in every lane.
__device__ __forceinline__ u32 warp_last(u32 value) { return __shfl_sync(ALL_LANES, value, WARP_THREADS - 1); }
