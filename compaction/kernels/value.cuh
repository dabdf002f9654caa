// The values that are selected: indices, or items of ITEM_BYTES bytes aligned to ITEM_ALIGN bytes.
#pragma once

#include "vector.cuh"

// The vector type of which every item consists.
using Part = Vector<ITEM_ALIGN>::type;
static_assert(ITEM_BYTES % ITEM_ALIGN == 0, "items stand side by side");
constexpr u32 ITEM_PARTS = ITEM_BYTES / ITEM_ALIGN;

__device__ __forceinline__ Part all_ones()
{
    Part part;
    memset(&part, 0xff, sizeof part);
    return part;
}

struct Indices {
    u8 *out;
    __device__ __forceinline__ void put(Word to, Word from) const { ((Word *)out)[to] = from; }
};

struct Items {
    const u8 *items;
    u8 *out;
    __device__ __forceinline__ void put(Word to, Word from) const
    {
#pragma unroll
        for (u32 part = 0; part < ITEM_PARTS; part++)
            ((Part *)out)[(u64)to * ITEM_PARTS + part] = ((const Part *)items)[(u64)from * ITEM_PARTS + part];
    }
};

#define KERNEL(name) extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) name
