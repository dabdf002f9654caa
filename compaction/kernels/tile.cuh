// Tiles of flags: one byte an item, not zero: selected. A block takes a tile, finds the places of its survivors, and
// ranks them in order.
#pragma once

#include "block.cuh"

constexpr u32 LANE_ITEMS = 16;  // flags that a lane reads at once, of one row
constexpr u32 ROW_ITEMS = LANE_ITEMS * WARP_THREADS;
constexpr u32 TILE_ITEMS = BLOCK_THREADS * LANE_ITEMS;  // of a tile of one row a warp; others are multiples of it
static_assert(2 * TILE_ITEMS <= 1 << 16, "an item's place in its tile is held in 16 bits");

__device__ __forceinline__ bool is_aligned(const void *address, u32 bytes) { return (u64)address % bytes == 0; }

struct Tile {
    u32 first;  // index of its first item
    u32 items;  // how many it has; 0 beyond the end
};

__device__ __forceinline__ u32 tile_count(u32 items, u32 tile_items)
{
    return items / tile_items + (items % tile_items != 0);
}

__device__ __forceinline__ Tile tile_at(u32 index, u32 items, u32 tile_items)
{
    if (index >= tile_count(items, tile_items)) return {0, 0};
    const u32 first = index * tile_items;
    return {first, min(tile_items, items - first)};
}

// ------------------------------------------------------------------------------------------------------ flags to masks

// 0x80 in each byte that is not zero, else 0.
__device__ __forceinline__ u32 marks_of(u32 flags)
{
    return (((flags & 0x7f7f7f7f) + 0x7f7f7f7f) | flags) & 0x80808080;
}

// The sum of the products of four bytes each, and `sum`.
__device__ __forceinline__ u32 add_products(u32 left, u32 right, u32 sum)
{
    u32 result;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(left), "r"(right), "r"(sum));
    return result;
}

// A bit for each of eight flags. Each mark is 128 or 0, and its byte's factor says where its bit goes.
__device__ __forceinline__ u32 mask_of(u32 low, u32 high)
{
    return add_products(marks_of(high), 0x80402010, add_products(marks_of(low), 0x08040201, 0)) >> 7;
}

// A bit for each of a lane's flags, of which there are `count` or, if that is more, LANE_ITEMS. Reads nothing else.
__device__ __forceinline__ u32 load_mask(const u8 *__restrict__ flags, u32 count)
{
    if (count >= LANE_ITEMS && is_aligned(flags, sizeof(uint4))) {
        const uint4 four = *(const uint4 *)flags;
        return mask_of(four.x, four.y) | mask_of(four.z, four.w) << 8;
    }
    u32 mask = 0;
#pragma unroll
    for (u32 item = 0; item < LANE_ITEMS; item++)
        if (item < count) mask |= (u32)(flags[item] != 0) << item;
    return mask;
}

// The place in its tile of this thread's first item in a row.
template <u32 ROWS>
__device__ __forceinline__ u32 row_place(u32 row)
{
    return (warp_index() * ROWS + row) * ROW_ITEMS + lane_index() * LANE_ITEMS;
}

// ------------------------------------------------------------------------------------------------------ masks to ranks

// What this thread knows of its tile's survivors.
template <u32 ROWS>
struct Survivors {
    u32 masks[ROWS];  // a bit for each of its items in a row
    u32 ranks[ROWS];  // how many survivors the tile has before them
    u32 total;        // how many the tile has
};

// Reads a tile's flags and ranks its survivors. Holds one barrier.
template <u32 ROWS>
__device__ __forceinline__ Survivors<ROWS> find_survivors(const u8 *__restrict__ flags, Tile tile)
{
    Survivors<ROWS> found;
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        const u32 place = row_place<ROWS>(row);
        found.masks[row] = place < tile.items ? load_mask(flags + tile.first + place, tile.items - place) : 0;
    }
    u32 warp_survivors = 0;
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        const u32 count = __popc(found.masks[row]);
        const u32 inclusive = warp_inclusive_sum(count);
        found.ranks[row] = warp_survivors + inclusive - count;
        warp_survivors += warp_last(inclusive);
    }
    const BlockSum sum = block_sum_of_warps(warp_survivors);
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) found.ranks[row] += sum.before;
    found.total = sum.total;
    return found;
}

// Calls put(rank, item) for each bit of a lane's mask; `rank` is that of the first. All lanes of a warp call it.
//
// With AT_ONCE, where some lane has many bits all are asked for at once, instead of looking for one after the other:
// sooner done, by more work.
template <bool AT_ONCE, class Put>
__device__ __forceinline__ void for_each_bit(u32 mask, u32 rank, Put put)
{
    if (AT_ONCE && __ballot_sync(ALL_LANES, __popc(mask) > LANE_ITEMS / 2) != 0) {
#pragma unroll
        for (u32 item = 0; item < LANE_ITEMS; item++)
            if (mask >> item & 1) put(rank++, item);
    } else {
        for (; mask != 0; mask &= mask - 1) put(rank++, (u32)__ffs(mask) - 1);
    }
}

// Writes the places of the tile's survivors to kept[0], kept[1], ...; whoever reads them waits at a barrier first.
template <u32 ROWS>
__device__ __forceinline__ void gather_places(const Survivors<ROWS> &found, u16 *kept)
{
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        const u32 place = row_place<ROWS>(row);
        // A long tile has enough to do while it waits.
        for_each_bit<ROWS == 1>(
            found.masks[row], found.ranks[row], [&](u32 rank, u32 item) { kept[rank] = (u16)(place + item); });
    }
}
