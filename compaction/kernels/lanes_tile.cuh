// Words for tiles of a few flags a lane: what a thread reads of a tile, where its survivors go, and how they are copied
// there.
//
// A block takes a tile, BLOCK_THREADS * ITEMS_PER_THREAD items. A warp of it takes rows of four items a lane, where that
// of tile.cuh takes sixteen: flags are read in whole lines, and so are items that are read beside them.
#pragma once

#include "look_back_sum.cuh"

constexpr u32 LANE_ITEMS = 4;  // in a row: one word of flags
constexpr u32 ROWS = ITEMS_PER_THREAD / LANE_ITEMS;
constexpr u32 ROW_ITEMS = LANE_ITEMS * WARP_THREADS;
constexpr u32 TILE_ITEMS = BLOCK_THREADS * ITEMS_PER_THREAD;
static_assert(ITEMS_PER_THREAD % 16 == 0, "the counts of four rows are added up in one word");
static_assert(TILE_ITEMS <= 1 << 16, "an item's place in its tile is held in 16 bits");

__device__ __forceinline__ bool is_aligned(const void *address, u32 bytes) { return (u64)address % bytes == 0; }

// ------------------------------------------------------------------------------------------------ tiles and their rows

struct Tile {
    u32 first;  // index of its first item
    u32 items;  // how many it has; 0 beyond the end
};

__device__ __forceinline__ u32 tile_count(u32 items) { return items / TILE_ITEMS + (items % TILE_ITEMS != 0); }

__device__ __forceinline__ Tile tile_at(u32 index, u32 items)
{
    if (index >= tile_count(items)) return {0, 0};
    const u32 first = index * TILE_ITEMS;
    return {first, min(TILE_ITEMS, items - first)};
}

// The place in the tile of this thread's first item; that of its first item in a row is ROW_ITEMS more with each row.
__device__ __forceinline__ u32 first_place() { return warp_index() * ROWS * ROW_ITEMS + lane_index() * LANE_ITEMS; }

// How many items the tile has from this thread's first one on.
__device__ __forceinline__ u32 items_left(Tile tile)
{
    return first_place() < tile.items ? tile.items - first_place() : 0;
}

// How many of this thread's four items of a row the tile has.
__device__ __forceinline__ u32 present(u32 left, u32 row)
{
    return left > row * ROW_ITEMS ? min(LANE_ITEMS, left - row * ROW_ITEMS) : 0;
}

// ------------------------------------------------------------------------------------------------------ flags to ranks

__device__ __forceinline__ u32 load_flags_bytewise(const u8 *flags, u32 count)
{
    u32 word = 0;
#pragma unroll
    for (u32 item = 0; item < LANE_ITEMS; item++)
        if (item < count) word |= (u32)flags[item] << 8 * item;
    return word;
}

// This thread's flags, a row's four in a word; 0 where the tile has none. Reads nothing beyond the tile.
__device__ __forceinline__ void load_flags(const u8 *__restrict__ flags, Tile tile, u32 (&words)[ROWS])
{
    const u32 left = items_left(tile);
    flags += (u64)tile.first + first_place();
    const bool aligned = is_aligned(flags, LANE_ITEMS);
    if (aligned) {
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            words[row] = 0;
            if (present(left, row) == LANE_ITEMS) words[row] = *(const u32 *)(flags + row * ROW_ITEMS);
        }
        // At most one thread has a word that the tile does not fill.
        if (tile.items % LANE_ITEMS == 0) return;
    }
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        const u32 count = present(left, row);
        if (!aligned || count % LANE_ITEMS != 0) words[row] = load_flags_bytewise(flags + row * ROW_ITEMS, count);
    }
}

// 1 in each byte that is not zero, else 0.
__device__ __forceinline__ u32 marks_of(u32 flags)
{
    return (((flags & 0x7f7f7f7f) + 0x7f7f7f7f) | flags) >> 7 & 0x01010101;
}

// Turns flags into marks, and ranks the tile's survivors: ranks[row] is where the first of this thread's in that row
// goes. Returns their number. Holds one barrier.
__device__ __forceinline__ u32 rank_survivors(u32 (&marks)[ROWS], u32 (&ranks)[ROWS])
{
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) marks[row] = marks_of(marks[row]);

    u32 warp_survivors = 0;
#pragma unroll
    for (u32 four_rows = 0; four_rows < ROWS; four_rows += 4) {
        // A row has at most 128 survivors, so four rows are added up at once, a byte each.
        u32 counts = 0;
#pragma unroll
        for (u32 row = 0; row < 4; row++) counts |= __popc(marks[four_rows + row]) << 8 * row;
        const u32 inclusive = warp_inclusive_sum(counts);
        const u32 exclusive = inclusive - counts;
        const u32 totals = warp_last(inclusive);
#pragma unroll
        for (u32 row = 0; row < 4; row++) {
            ranks[four_rows + row] = warp_survivors + (exclusive >> 8 * row & 0xff);
            warp_survivors += totals >> 8 * row & 0xff;
        }
    }
    const BlockSum sum = block_sum_of_warps(warp_survivors);
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) ranks[row] += sum.before;
    return sum.total;
}

// Calls put(rank, row, item) for each of this thread's survivors; item is 0 to 3.
template <class Put>
__device__ __forceinline__ void for_each_survivor(const u32 (&marks)[ROWS], const u32 (&ranks)[ROWS], Put put)
{
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        u32 rank = ranks[row];
#pragma unroll
        for (u32 item = 0; item < LANE_ITEMS; item++)
            if (marks[row] >> 8 * item & 1) put(rank++, row, item);
    }
}

// Finds the places of the tile's kept items, in order, and announces how many they are, which it returns.
template <class Order>
__device__ __forceinline__ u32 find_kept(
    const u8 *__restrict__ flags, Tile tile, u16 (&kept)[TILE_ITEMS], Order &order)
{
    u32 marks[ROWS], ranks[ROWS];
    load_flags(flags, tile, marks);
    const u32 survivors = rank_survivors(marks, ranks);
    order.announce(survivors);
    for_each_survivor(marks, ranks, [&](u32 rank, u32 row, u32 item) {
        kept[rank] = (u16)(first_place() + row * ROW_ITEMS + item);
    });
    return survivors;
}

// ------------------------------------------------------------------------------------------------------------- copies

// Writes value(0), value(1), ... to `to`, neighbours by neighbours. The values of a batch are all asked for before the
// first is written, so that a thread waits for its reads together.
template <class Part, class Value>
__device__ __forceinline__ void write_out(Part *to, u32 count, Value value)
{
    constexpr u32 BATCH = 4;
    for (u32 first = threadIdx.x; first < count; first += BATCH * BLOCK_THREADS) {
        Part batch[BATCH];
#pragma unroll
        for (u32 part = 0; part < BATCH; part++)
            if (first + part * BLOCK_THREADS < count) batch[part] = value(first + part * BLOCK_THREADS);
#pragma unroll
        for (u32 part = 0; part < BATCH; part++)
            if (first + part * BLOCK_THREADS < count) to[first + part * BLOCK_THREADS] = batch[part];
    }
}

// Copies the items at the places `kept`, of the tile that begins with `first`, in parts of one vector each.
template <u32 WORDS, class Part>
__device__ __forceinline__ void copy_parts(
    const u32 *__restrict__ items, u32 first, const u16 *kept, u32 count, u32 *__restrict__ out, u32 begin)
{
    constexpr u32 PARTS = WORDS * sizeof(u32) / sizeof(Part);
    const Part *from = (const Part *)items + (u64)first * PARTS;
    Part *to = (Part *)out + (u64)begin * PARTS;
    write_out(to, count * PARTS, [&](u32 part) { return from[kept[part / PARTS] * PARTS + part % PARTS]; });
}

// As copy_parts, by the widest vector that items of so many words are made of and lie on.
template <u32 WORDS>
__device__ __forceinline__ void copy_kept(
    const u32 *__restrict__ items, u32 first, const u16 *kept, u32 count, u32 *__restrict__ out, u32 begin)
{
    constexpr u32 BYTES = WORDS * sizeof(u32);
    if constexpr (BYTES % sizeof(uint4) == 0)
        if (is_aligned(items, sizeof(uint4)) && is_aligned(out, sizeof(uint4)))
            return copy_parts<WORDS, uint4>(items, first, kept, count, out, begin);
    if constexpr (BYTES % sizeof(uint2) == 0)
        if (is_aligned(items, sizeof(uint2)) && is_aligned(out, sizeof(uint2)))
            return copy_parts<WORDS, uint2>(items, first, kept, count, out, begin);
    copy_parts<WORDS, u32>(items, first, kept, count, out, begin);
}

// ------------------------------------------------------------------------------------------- tiles in their order

// Puts a tile's survivors behind those of the tiles before it.
struct InOrder {
    LookBack look_back;
    bool is_last_tile;
    u32 *selected;

    __device__ __forceinline__ void announce(u32 survivors) const
    {
        if (threadIdx.x == 0) look_back.publish(look_back.ticket.tile == 0 ? INCLUSIVE : AGGREGATE, survivors);
        __syncwarp();  // Without it ptxas puts the store off until all that follows is written to shared memory.
    }

    // Looks back, with the first warp, which has the answer. The others go on.
    __device__ __forceinline__ u32 look(u32 survivors) const
    {
        u32 before = 0;
        if (warp_index() == 0) {
            before = look_back.walk();
            if (lane_index() == 0) {
                if (look_back.ticket.tile != 0) look_back.publish(INCLUSIVE, before + survivors);
                if (is_last_tile) *selected = before + survivors;
            }
        }
        return before;
    }
};

// Runs keep(tile, order) for the tile that this block draws.
template <class Keep>
__device__ __forceinline__ void in_order(const u32 *count, u32 capacity, u32 *selected, Control *control, Keep keep)
{
    Ticket ticket;
    const u32 items = draw_ticket(control, ticket, [&] { return min(*count, capacity); });

    // Without items the first tile is still there, to say that nothing was kept.
    const u32 tiles = max(1u, tile_count(items));
    if (ticket.tile < tiles) {
        InOrder order = {{control->states(), ticket}, ticket.tile == tiles - 1, selected};
        keep(tile_at(ticket.tile, items), order);
    }
    retire(control, ticket.epoch);
}
