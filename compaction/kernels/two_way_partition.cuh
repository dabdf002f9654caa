// A stable partition in two parts: the selected items, followed by the rejected ones, both in input order.
//
// The start of the rejected part is known only after everything is counted. So the flags are read twice, in one launch,
// and the items once.
//
// A warp takes rows of four items per lane, not sixteen as in tile.cuh. One reason is that the flags may be computed from
// items wider than a byte. The other is that the indices of all items of a tile are written to shared memory, where lanes
// that are far apart would use the same banks.
#pragma once

#include "count_then_move.cuh"
#include "tile.cuh"

constexpr u32 WORD_FLAGS = 4;  // flags of a lane in a row: one 4-byte word
constexpr u32 ROWS = LANE_ITEMS / WORD_FLAGS;
constexpr u32 SHORT_ROW_ITEMS = WORD_FLAGS * WARP_THREADS;
static_assert(ROWS == 4 && SHORT_ROW_ITEMS < 1 << 8, "the counts of four rows are added up in one word");

// ------------------------------------------------------------------------------------------------------- tiles by rows

// The index within the tile of this thread's first item. Its first item in each further row is SHORT_ROW_ITEMS more.
__device__ __forceinline__ u32 first_place()
{
    return warp_index() * ROWS * SHORT_ROW_ITEMS + lane_index() * WORD_FLAGS;
}

// The number of items of the tile from this thread's first one on.
__device__ __forceinline__ u32 items_left(Tile tile)
{
    return first_place() < tile.items ? tile.items - first_place() : 0;
}

// The number of this thread's four items of a row that are inside the tile.
__device__ __forceinline__ u32 present(u32 left, u32 row)
{
    return left > row * SHORT_ROW_ITEMS ? min(WORD_FLAGS, left - row * SHORT_ROW_ITEMS) : 0;
}

__device__ __forceinline__ u32 load_flags_bytewise(const u8 *flags, u32 count)
{
    u32 word = 0;
#pragma unroll
    for (u32 item = 0; item < WORD_FLAGS; item++)
        if (item < count) word |= (u32)flags[item] << 8 * item;
    return word;
}

// Loads this thread's flags, four of a row in a word; 0 outside the tile. Reads nothing outside the tile.
__device__ __forceinline__ void load_flags(const u8 *__restrict__ flags, Tile tile, u32 (&words)[ROWS])
{
    const u32 left = items_left(tile);
    flags += (u64)tile.first + first_place();
    const bool aligned = is_aligned(flags, WORD_FLAGS);
    if (aligned) {
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            words[row] = 0;
            if (present(left, row) == WORD_FLAGS) words[row] = *(const u32 *)(flags + row * SHORT_ROW_ITEMS);
        }
        // At most one thread has a word that the tile fills only partly.
        if (tile.items % WORD_FLAGS == 0) return;
    }
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        const u32 count = present(left, row);
        if (!aligned || count % WORD_FLAGS != 0) words[row] = load_flags_bytewise(flags + row * SHORT_ROW_ITEMS, count);
    }
}

// Turns flags into marks and ranks the tile's survivors: ranks[row] is the rank of this thread's first survivor in that
// row. Returns the number of survivors. Contains one barrier.
__device__ __forceinline__ u32 rank_survivors(u32 (&marks)[ROWS], u32 (&ranks)[ROWS])
{
    u32 counts = 0;  // one byte per row
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        marks[row] = marks_of(marks[row]);
        counts |= __popc(marks[row]) << 8 * row;
    }
    const u32 inclusive = warp_inclusive_sum(counts);
    const u32 exclusive = inclusive - counts;
    const u32 totals = warp_last(inclusive);
    u32 warp_survivors = 0;
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        ranks[row] = warp_survivors + (exclusive >> 8 * row & 0xff);
        warp_survivors += totals >> 8 * row & 0xff;
    }
    const BlockSum sum = block_sum_of_warps(warp_survivors);
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) ranks[row] += sum.before;
    return sum.total;
}

// Calls put(to, row, item) for each of this thread's items of the tile: `to` is its index in the tile with the selected
// items first. `marks` and `ranks` come from rank_survivors.
template <class Put>
__device__ __forceinline__ void place_two_ways(
    Tile tile, const u32 (&marks)[ROWS], const u32 (&ranks)[ROWS], u32 survivors, Put put)
{
    const u32 left = items_left(tile);
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        u32 rank = ranks[row];
        const u32 count = present(left, row);
#pragma unroll
        for (u32 item = 0; item < WORD_FLAGS; item++) {
            const u32 place = first_place() + row * SHORT_ROW_ITEMS + item;
            const bool selected = marks[row] >> (8 * item + 7) & 1;
            if (item < count) put(selected ? rank : survivors + place - rank, row, item);
            rank += selected;
        }
    }
}

// ------------------------------------------------------------------------------------------------------ chunks of tiles

// The sums over the block of two values per thread. Contains two barriers.
__device__ __forceinline__ uint2 block_sums(u32 left, u32 right)
{
    __shared__ u32 sums[2][BLOCK_WARPS];
    left = warp_sum(left);
    right = warp_sum(right);
    __syncthreads();
    if (lane_index() == 0) sums[0][warp_index()] = left, sums[1][warp_index()] = right;
    __syncthreads();
    uint2 sum = {0, 0};
#pragma unroll
    for (u32 warp = 0; warp < BLOCK_WARPS; warp++) sum.x += sums[0][warp], sum.y += sums[1][warp];
    return sum;
}

// Waits until every chunk is counted. Returns the number selected before this chunk and the total number selected.
__device__ __forceinline__ uint2 wait_for_counts(LookBack counts)
{
    constexpr u32 BATCH = 4;
    u32 before = 0, total = 0;
    for (u32 first = threadIdx.x; first < gridDim.x; first += BATCH * BLOCK_THREADS) {
        LookBack::TileState states[BATCH];
#pragma unroll
        for (u32 part = 0; part < BATCH; part++) {
            const u32 chunk = first + part * BLOCK_THREADS;
            if (chunk < gridDim.x) states[part] = counts.loaded(chunk);
        }
#pragma unroll
        for (u32 part = 0; part < BATCH; part++) {
            const u32 chunk = first + part * BLOCK_THREADS;
            if (chunk >= gridDim.x) break;
            while (counts.status(states[part]) == PENDING) states[part] = counts.loaded(chunk);
            before += chunk < counts.ticket.tile ? states[part].value() : 0;
            total += states[part].value();
        }
    }
    return block_sums(before, total);
}

// The output positions of a tile: `survivors` items from `selected` on, the others from `rejected` on.
struct TwoWays {
    u32 survivors;
    u32 selected;
    u32 rejected;
};

// Returns the number of selected items of a run of tiles, in all threads. load(tile, flags) loads this thread's flags
// of a tile, as load_flags does.
template <class Load>
__device__ __forceinline__ u32 count_tiles(u32 begin, u32 end, u32 items, Load load)
{
    u32 sum = 0;
    for (u32 index = begin; index < end; index++) {
        u32 flags[ROWS];
        load(tile_at(index, items, TILE_ITEMS), flags);
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) sum += __popc(marks_of(flags[row]));
    }
    return block_sums(sum, 0).x;
}

// Moves the items of a run of tiles. fetch(tile) loads what `stage` needs while the flags are ranked.
// stage(fetched, tile, marks, ranks, survivors) writes the tile in its new order to shared memory, and
// write(tile, ways) from there to the output positions. ways_of(tile) returns those of the first tile, after it is ranked.
template <class Load, class Fetch, class Stage, class WaysOf, class Write>
__device__ __forceinline__ void move_staged_tiles(
    u32 begin, u32 end, u32 items, Load load, Fetch fetch, Stage stage, WaysOf ways_of, Write write)
{
    TwoWays ways = {};
    for (u32 index = begin; index < end; index++) {
        const Tile tile = tile_at(index, items, TILE_ITEMS);
        u32 marks[ROWS], ranks[ROWS];
        load(tile, marks);
        const auto fetched = fetch(tile);
        const u32 survivors = rank_survivors(marks, ranks);
        stage(fetched, tile, marks, ranks, survivors);
        if (index == begin) ways = ways_of(tile);
        ways.survivors = survivors;
        __syncthreads();
        write(tile, ways);
        __syncthreads();
        ways.selected += survivors;
        ways.rejected += tile.items - survivors;
    }
}

struct Nothing {};

// Moves the items of a run of tiles. write(tile, places, ways) moves a tile's items; `places` are their indices within
// the tile, selected ones first.
template <class Load, class WaysOf, class Write>
__device__ __forceinline__ void move_tiles(u32 begin, u32 end, u32 items, Load load, WaysOf ways_of, Write write)
{
    __shared__ u16 places[TILE_ITEMS];
    const auto stage = [&](Nothing, Tile tile, const u32(&marks)[ROWS], const u32(&ranks)[ROWS], u32 survivors) {
        place_two_ways(tile, marks, ranks, survivors, [&](u32 to, u32 row, u32 item) {
            places[to] = (u16)(first_place() + row * SHORT_ROW_ITEMS + item);
        });
    };
    move_staged_tiles(
        begin, end, items, load, [](Tile) { return Nothing{}; }, stage, ways_of,
        [&](Tile tile, TwoWays ways) { write(tile, places, ways); });
}

// Partitions in one launch. `load` is that of count_tiles; move(begin, end, items, ways_of) moves a run of tiles.
template <class Load, class Move>
__device__ __forceinline__ void two_way_by(u32 items, u32 *selected, Control *control, Load load, Move move)
{
    const u32 tiles = tile_count(items, TILE_ITEMS);
    const u32 chunk_tiles = tiles / gridDim.x + (tiles % gridDim.x != 0);
    const auto count_chunk = [&](Ticket chunk) {
        const u32 begin = chunk.tile * chunk_tiles;
        const u32 sum = count_tiles(begin, min(tiles, begin + chunk_tiles), items, load);
        if (threadIdx.x == 0) LookBack{control->states(), chunk}.publish(AGGREGATE, sum);
    };
    const auto move_chunk = [&](Ticket chunk) {
        const u32 begin = min(tiles, chunk.tile * chunk_tiles), end = min(tiles, begin + chunk_tiles);
        const auto ways_of = [&](Tile tile) {
            const uint2 sums = wait_for_counts({control->states(), chunk});
            if (chunk.tile == 0 && threadIdx.x == 0) *selected = sums.y;
            return TwoWays{0, sums.x, sums.y + tile.first - sums.x};
        };
        move(begin, end, items, ways_of);
        if (tiles == 0 && chunk.tile == 0 && threadIdx.x == 0) *selected = 0;
    };
    count_then_move(control, count_chunk, move_chunk);
}

// Partitions in one launch. `load` and `write` are those of count_tiles and move_tiles.
template <class Load, class Write>
__device__ __forceinline__ void two_way(u32 items, u32 *selected, Control *control, Load load, Write write)
{
    two_way_by(items, selected, control, load, [&](u32 begin, u32 end, u32 items, auto ways_of) {
        move_tiles(begin, end, items, load, ways_of, write);
    });
}
