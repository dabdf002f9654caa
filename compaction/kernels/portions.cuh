// Inputs of 2^32 items or more, divided into portions of fewer than 2^32 items, within which positions have 32 bits.
#pragma once

#include "order.cuh"

// The number of items: `capacity`, or the device's count of one or two 4-byte words, clamped to `capacity`.
__device__ __forceinline__ u64 long_item_count(
    const u32 *count, u32 count_words, u64 capacity, u32 is_given, Control *control)
{
    if (is_given) return capacity;
    const u64 said = count_words == 2 ? *(const u64 *)count : *count;
    report_overrun(said, capacity, control);
    return min(said, capacity);
}

// Writes a count of one or two 4-byte words to the entry `index`.
__device__ __forceinline__ void write_count(u32 *counts, u32 count_words, u32 index, u64 count)
{
    if (count_words == 2)
        ((u64 *)counts)[index] = count;
    else
        counts[index] = (u32)count;
}

struct Portion {
    u64 first;
    u32 items;
};

// The contiguous share of this block of all items, in whole tiles except at the end.
__device__ __forceinline__ Portion block_portion(u64 items, u32 tile_items)
{
    const u64 tiles = items / tile_items + (items % tile_items != 0);
    const u64 most = (tiles / gridDim.x + (tiles % gridDim.x != 0)) * tile_items;
    const u64 first = min(blockIdx.x * most, items);
    return {first, (u32)min(most, items - first)};
}
