// What is selected: indices, or items of ITEM_WORDS words, one a thread.
#pragma once

#include "prelude.cuh"

struct Indices {
    u32 *out;
    __device__ __forceinline__ void put(u32 to, u32 from) const { out[to] = from; }
};

struct Items {
    const u32 *items;
    u32 *out;
    __device__ __forceinline__ void put(u32 to, u32 from) const
    {
#pragma unroll
        for (u32 word = 0; word < ITEM_WORDS; word++)
            out[(u64)to * ITEM_WORDS + word] = items[(u64)from * ITEM_WORDS + word];
    }
};

#define KERNEL(name) extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) name
