// Values combined over runs of equal keys, in tiles. Contract and source: compaction/src/runs.rs.
//
// The tree of combinations within a run depends on the indices of its items only: a lane's quad one by one, the lanes of
// a row as in `warp_inclusive`, rows one by one, warps one by one, tiles as in `OrderedLookBack`. A head cuts each of
// these steps. Twin: src/runs/tree.rs.
#pragma once

#include "runs.cuh"

// What a sequence of items adds: its number of heads, and the combined values from the last head on, or of all items if
// there is no head.
struct Segmented {
    struct Value {
        Word heads;
        Monoid::Value sum;
    };
    static constexpr bool EXACT = Monoid::EXACT;

    static __device__ __forceinline__ Value identity() { return {0, Monoid::identity()}; }
    static __device__ __forceinline__ Value combine(const Value &left, const Value &right)
    {
        return {left.heads + right.heads, right.heads > 0 ? right.sum : Monoid::combine(left.sum, right.sum)};
    }
};

using LiftedRows = Monoid::Value[ROWS][QUAD];

// Converts the values of a tile. Places behind the end count as the identity.
__device__ __forceinline__ void lift_rows(const Tile &tile, const Rows<Monoid::Item> &rows, LiftedRows &lifted)
{
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
#pragma unroll
        for (u32 item = 0; item < QUAD; item++) {
            const bool exists = tile.items == TILE_ITEMS || Tile::place(row) + item < tile.items;
            lifted[row][item] = exists ? Monoid::lift(rows[row].items[item]) : Monoid::identity();
        }
    }
}

// The combined values before this thread's items of each row, from the last head within the tile on.
struct Before {
    Monoid::Value sums[ROWS];
};

// Combines the values of a tile whose heads are ranked in their warps. Ranks the heads in the tile, and returns what the
// tile adds. Contains one barrier.
__device__ __forceinline__ Segmented::Value combine_tile(const LiftedRows &values, Heads &heads, Before &before)
{
    const u32 lane = lane_index();
    Monoid::Value total = Monoid::identity();  // of the rows so far
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        const u32 quad = heads.quad(row);
        Monoid::Value sum = values[row][0];
#pragma unroll
        for (u32 item = 1; item < QUAD; item++)
            sum = quad >> item & 1 ? values[row][item] : Monoid::combine(sum, values[row][item]);
        const u32 with_head = __ballot_sync(ALL_LANES, quad != 0);
        // The number of lanes back to the nearest one with a head, or to the first lane.
        const u32 up_to_here = with_head & (ALL_LANES >> (WARP_THREADS - 1 - lane));
        const u32 reach = up_to_here == 0 ? lane : lane - (WARP_THREADS - 1 - __clz(up_to_here));
#pragma unroll
        for (u32 distance = 1; distance < WARP_THREADS; distance *= 2) {
            const Monoid::Value below = shuffle_up(sum, distance);
            if (distance <= reach) sum = Monoid::combine(below, sum);
        }
        const Monoid::Value below = shuffle_up(sum, 1), last = shuffle_from(sum, WARP_THREADS - 1);
        const bool is_cut = (with_head & ((1u << lane) - 1)) != 0;
        before.sums[row] = lane == 0 ? total : is_cut ? below : Monoid::combine(total, below);
        total = with_head != 0 ? last : Monoid::combine(total, last);
    }
    const BlockFold<Segmented::Value> fold = block_fold_of_warps<Segmented>({heads.total, total});
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        if (heads.ranks[row] == 0) before.sums[row] = Monoid::combine(fold.before.sum, before.sums[row]);
        heads.ranks[row] += (u32)fold.before.heads;
    }
    heads.total = (u32)fold.total.heads;
    return fold.total;
}
