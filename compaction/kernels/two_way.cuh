// A stable partition in two: what is selected comes first, what is rejected comes behind it, both in their order.
//
// Where the rejected begin is known only when all are counted. So the flags are read twice, in one launch; what is moved
// is read once.
#pragma once

#include "chunks.cuh"
#include "lanes_tile.cuh"

// The sums over the block of two values of each thread. Holds two barriers.
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

// How many are selected before a chunk, and in all, as soon as every chunk is counted.
__device__ __forceinline__ uint2 wait_for_counts(LookBack counts)
{
    constexpr u32 BATCH = 4;
    u32 before = 0, total = 0;
    for (u32 first = threadIdx.x; first < gridDim.x; first += BATCH * BLOCK_THREADS) {
        u64 states[BATCH];
#pragma unroll
        for (u32 part = 0; part < BATCH; part++) {
            const u32 chunk = first + part * BLOCK_THREADS;
            if (chunk < gridDim.x) states[part] = load_relaxed(&counts.states[chunk]);
        }
#pragma unroll
        for (u32 part = 0; part < BATCH; part++) {
            const u32 chunk = first + part * BLOCK_THREADS;
            if (chunk >= gridDim.x) break;
            while (counts.status(states[part]) == PENDING) states[part] = load_relaxed(&counts.states[chunk]);
            before += chunk < counts.ticket.tile ? (u32)states[part] : 0;
            total += (u32)states[part];
        }
    }
    return block_sums(before, total);
}

// The places of a tile's items, those of the selected first. `marks` has 1 in the byte of each that is selected; `ranks`
// are those of rank_survivors.
__device__ __forceinline__ void place_two_ways(
    Tile tile, const u32 (&marks)[ROWS], const u32 (&ranks)[ROWS], u32 survivors, u16 (&places)[TILE_ITEMS])
{
    const u32 left = items_left(tile);
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        u32 rank = ranks[row];
        const u32 count = present(left, row);
#pragma unroll
        for (u32 item = 0; item < LANE_ITEMS; item++) {
            const u32 place = first_place() + row * ROW_ITEMS + item;
            const bool selected = marks[row] >> 8 * item & 1;
            if (item < count) places[selected ? rank : survivors + place - rank] = (u16)place;
            rank += selected;
        }
    }
}

// Where a tile's items go: `survivors` of them from `selected` on, the others from `rejected` on.
struct TwoWays {
    u32 survivors;
    u32 selected;
    u32 rejected;
};

// load(tile, flags) gives this thread's flags of a tile, as load_flags does; write(tile, places, ways) moves its items,
// whose places in the tile come with those of the selected first.
template <class Load, class Write>
__device__ __forceinline__ void two_way(
    const u32 *count, u32 capacity, u32 *selected, Control *control, Load load, Write write)
{
    __shared__ u16 places[TILE_ITEMS];
    const u32 items = min(*count, capacity);
    const u32 tiles = tile_count(items);
    const u32 chunk_tiles = tiles / gridDim.x + (tiles % gridDim.x != 0);

    const auto count_chunk = [&](Ticket chunk) {
        const u32 end = min(tiles, (chunk.tile + 1) * chunk_tiles);
        u32 sum = 0;
        for (u32 index = chunk.tile * chunk_tiles; index < end; index++) {
            u32 flags[ROWS];
            load(tile_at(index, items), flags);
#pragma unroll
            for (u32 row = 0; row < ROWS; row++) sum += __popc(marks_of(flags[row]));
        }
        sum = block_sums(sum, 0).x;
        if (threadIdx.x == 0) LookBack{control->states(), chunk}.publish(AGGREGATE, sum);
    };
    const auto move_chunk = [&](Ticket chunk) {
        const u32 begin = min(tiles, chunk.tile * chunk_tiles), end = min(tiles, begin + chunk_tiles);
        TwoWays ways = {};
        for (u32 index = begin; index < end; index++) {
            const Tile tile = tile_at(index, items);
            u32 marks[ROWS], ranks[ROWS];
            load(tile, marks);
            ways.survivors = rank_survivors(marks, ranks);
            place_two_ways(tile, marks, ranks, ways.survivors, places);
            if (index == begin) {
                const uint2 sums = wait_for_counts({control->states(), chunk});
                ways.selected = sums.x;
                ways.rejected = sums.y + tile.first - sums.x;
                if (index == 0 && threadIdx.x == 0) *selected = sums.y;
            }
            __syncthreads();
            write(tile, places, ways);
            __syncthreads();
            ways.selected += ways.survivors;
            ways.rejected += tile.items - ways.survivors;
        }
        if (tiles == 0 && chunk.tile == 0 && threadIdx.x == 0) *selected = 0;
    };
    count_then_move(control, count_chunk, move_chunk);
}
