// Inputs that 32 bits may not count: in portions of fewer than 2^32 items, whose places within are words of 32 bits.
#pragma once

#include "order.cuh"

// As item_count, of any capacity, by a count of one word or of two.
__device__ __forceinline__ u64 long_item_count(
    const u32 *count, u32 count_words, u64 capacity, u32 is_given, Control *control)
{
    if (is_given) return capacity;
    const u64 said = count_words == 2 ? *(const u64 *)count : *count;
    report_overrun(said, capacity, control);
    return min(said, capacity);
}

// Writes a count as one word, or as one of two words, to the place with this index.
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

// This block's share of all items: one run, of whole tiles but for the end.
__device__ __forceinline__ Portion block_portion(u64 items, u32 tile_items)
{
    const u64 tiles = items / tile_items + (items % tile_items != 0);
    const u64 most = (tiles / gridDim.x + (tiles % gridDim.x != 0)) * tile_items;
    const u64 first = min(blockIdx.x * most, items);
    return {first, (u32)min(most, items - first)};
}
