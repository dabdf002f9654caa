// Tiles of flags, one byte per item, nonzero for selected items. A block loads a tile, finds the indices of its
// survivors, and ranks them in order.
#pragma once

#include "block.cuh"

constexpr u32 LANE_ITEMS = 16;  // consecutive flags that a lane loads at once from one row
constexpr u32 ROW_ITEMS = LANE_ITEMS * WARP_THREADS;
constexpr u32 TILE_ITEMS = BLOCK_THREADS * LANE_ITEMS;  // items of a tile with one row per warp; other tiles are multiples
static_assert(2 * TILE_ITEMS <= 1 << 16, "an index within a tile has 16 bits");

__device__ __forceinline__ bool is_aligned(const void *address, u32 bytes) { return (u64)address % bytes == 0; }

struct Tile {
    u32 first;  // index of its first item
    u32 items;  // number of items; 0 behind the end of the input
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

// Returns 0x80 in each byte that is nonzero, and 0 in the others.
__device__ __forceinline__ u32 marks_of(u32 flags)
{
    return (((flags & 0x7f7f7f7f) + 0x7f7f7f7f) | flags) & 0x80808080;
}

// Returns the dot product of the four bytes of each operand, plus `sum`.
__device__ __forceinline__ u32 add_products(u32 left, u32 right, u32 sum)
{
    u32 result;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(left), "r"(right), "r"(sum));
    return result;
}

// Returns a mask with one bit for each of eight flags. Each mark is 128 or 0, and its byte's factor moves it to its
// bit.
__device__ __forceinline__ u32 mask_of(u32 low, u32 high)
{
    return add_products(marks_of(high), 0x80402010, add_products(marks_of(low), 0x08040201, 0)) >> 7;
}

// Returns a mask with one bit for each of the lane's flags. At most min(count, LANE_ITEMS) flags are read.
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

// The index within its tile of this thread's first item in a row.
template <u32 ROWS>
__device__ __forceinline__ u32 row_place(u32 row)
{
    return (warp_index() * ROWS + row) * ROW_ITEMS + lane_index() * LANE_ITEMS;
}

// ------------------------------------------------------------------------------------------------------ masks to ranks

// The survivors of a tile, as seen by one thread.
template <u32 ROWS>
struct Survivors {
    u32 masks[ROWS];  // one bit per item of this thread in each row
    u32 ranks[ROWS];  // number of survivors of the tile before these items
    u32 total;        // number of survivors of the tile
};

// Loads a tile's flags and ranks its survivors. Contains one barrier.
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

// Calls put(rank, item) for each set bit of a lane's mask; `rank` is the rank of the first one. All lanes of a warp
// call it.
//
// With AT_ONCE, if any lane has many bits, all bits are tested in an unrolled loop instead of searched one by one,
// which has less latency but more instructions.
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

// Writes the indices within the tile of its survivors to kept[0], kept[1], ... The caller must synchronise before
// reading them.
template <u32 ROWS>
__device__ __forceinline__ void gather_places(const Survivors<ROWS> &found, u16 *kept)
{
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        const u32 place = row_place<ROWS>(row);
        // A long tile has enough other work to hide the latency.
        for_each_bit<ROWS == 1>(
            found.masks[row], found.ranks[row], [&](u32 rank, u32 item) { kept[rank] = (u16)(place + item); });
    }
}
