// The prefixes of a tile of `scan`: ITEMs combined by OPERATOR.
//
// A warp takes rows with one vector per lane, so that whole lines of memory are read and written. A tile is always
// combined by the same tree: a lane's items one by one, the lanes of a row as in `warp_inclusive`, rows one by one,
// warps one by one. Twin: `src/scan/tree.rs`.
#pragma once

#include "item_count.cuh"
#include "async_copy.cuh"

using Monoid = OPERATOR<ITEM>;
using Value = Monoid::Value;

constexpr u32 LANE_ITEMS = LANE_BYTES / sizeof(ITEM);  // items of a lane in a row: one vector
constexpr u32 ROW_ITEMS = LANE_ITEMS * WARP_THREADS;

struct alignas(LANE_BYTES) Vector {
    ITEM items[LANE_ITEMS];
};

__device__ __forceinline__ bool is_aligned(const void *address) { return (u64)address % sizeof(Vector) == 0; }

// The combined items of a lane in one row.
__device__ __forceinline__ Value fold_lane(const Vector &vector)
{
    Value value = Monoid::lift(vector.items[0]);
#pragma unroll
    for (u32 item = 1; item < LANE_ITEMS; item++) value = Monoid::combine(value, Monoid::lift(vector.items[item]));
    return value;
}

// The prefixes of a lane's items. `base` is the prefix of the lane within the tile, and `before` the prefix of the
// tile.
__device__ __forceinline__ Vector prefixes(const Vector &vector, Value base, u32 inclusive, Value before)
{
    Vector result;
    Value lane = Monoid::lift(vector.items[0]), exclusive = base;
#pragma unroll
    for (u32 item = 0; item < LANE_ITEMS; item++) {
        if (item > 0) lane = Monoid::combine(lane, Monoid::lift(vector.items[item]));
        const Value with_item = Monoid::combine(base, lane);
        result.items[item] = Monoid::lower(Monoid::combine(before, inclusive != 0 ? with_item : exclusive));
        exclusive = with_item;
    }
    return result;
}

// The combined values of all lanes for each row, in the order of `warp_fold`. In each step, a lane halves its number of
// rows, each combined over twice as many lanes.
template <u32 ROWS>
__device__ __forceinline__ Value fold_rows(Value (&rows)[ROWS])
{
    static_assert(ROWS <= WARP_THREADS && (ROWS & (ROWS - 1)) == 0, "a lane comes to hold one row");
#pragma unroll
    for (u32 distance = 1; distance < WARP_THREADS; distance *= 2) {
        if (distance >= ROWS) {
            rows[0] = Monoid::combine(__shfl_xor_sync(ALL_LANES, rows[0], distance), rows[0]);
            continue;
        }
        const bool upper = (lane_index() & distance) != 0;
#pragma unroll
        for (u32 pair = 0; pair < ROWS / distance / 2; pair++) {
            const Value own = upper ? rows[2 * pair + 1] : rows[2 * pair];
            const Value others = upper ? rows[2 * pair] : rows[2 * pair + 1];
            rows[pair] = Monoid::combine(__shfl_xor_sync(ALL_LANES, others, distance), own);
        }
    }
    return rows[0];
}

// A block's tile in shared memory. Each thread only accesses its own vectors.
template <u32 ROWS>
using Staged = Vector[ROWS * BLOCK_THREADS];

template <u32 ROWS>
struct Tile {
    static constexpr u32 ITEMS = BLOCK_THREADS * ROWS * LANE_ITEMS;

    u64 first;         // index of its first item
    u32 items;         // number of items
    Value bases[ROWS]; // after scan: prefix, within the tile, of this thread's vector in each row

    __device__ __forceinline__ Tile(u32 tile, u64 item_count)
        : first((u64)tile * ITEMS), items(first < item_count ? (u32)min((u64)ITEMS, item_count - first) : 0)
    {
    }

    // Whether the tile lies completely inside the buffer, with aligned vectors.
    __device__ __forceinline__ bool is_whole(const ITEM *buffer) const { return items == ITEMS && is_aligned(buffer); }

    // The index within the tile of this thread's first item in a row. Each warp has ROWS rows. Warps beyond those of a
    // tile use the same rows again.
    __device__ __forceinline__ u32 place(u32 row) const
    {
        return (warp_index() % BLOCK_WARPS * ROWS + row) * ROW_ITEMS + lane_index() * LANE_ITEMS;
    }

    // Loads the tile and fills it up with the identity. Reads nothing outside the tile.
    __device__ __forceinline__ void load(const ITEM *from, Staged<ROWS> &staged) const
    {
        const bool whole = is_whole(from);
        from += first;
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            Vector &vector = staged[place(row) / LANE_ITEMS];
            if (whole) {
                stage(&vector, from + place(row));
            } else {
                for (u32 item = 0; item < LANE_ITEMS; item++) {
                    const u32 at = place(row) + item;
                    vector.items[item] = at < items ? from[at] : Monoid::lower(Monoid::identity());
                }
            }
        }
        await_stage();
    }

    // Scans the tile and returns all items combined. Contains one barrier.
    __device__ __forceinline__ Value scan(const Staged<ROWS> &staged)
    {
        const BlockFold<Value> fold = block_fold_of_warps<Monoid>(scan_warp(staged, Monoid::identity()));
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) bases[row] = Monoid::combine(fold.before, bases[row]);
        return fold.total;
    }

    // Returns all items combined, in the order of `scan`. Contains one barrier.
    __device__ __forceinline__ Value fold(const Staged<ROWS> &staged) const
    {
        return block_fold_of_warps<Monoid>(fold_warp(staged)).total;
    }

    // Scans the rows of a warp, whose prefix within the tile is `before`. Returns the rows combined.
    __device__ __forceinline__ Value scan_warp(const Staged<ROWS> &staged, Value before)
    {
        Value total = Monoid::identity();
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            const Value inclusive = warp_inclusive<Monoid>(fold_lane(staged[place(row) / LANE_ITEMS]));
            const Value below = __shfl_up_sync(ALL_LANES, inclusive, 1);
            const Value base = Monoid::combine(total, lane_index() == 0 ? Monoid::identity() : below);
            bases[row] = Monoid::combine(before, base);
            total = Monoid::combine(total, warp_last(inclusive));
        }
        return total;
    }

    // Returns the rows of a warp combined, in the order of `scan_warp`.
    __device__ __forceinline__ Value fold_warp(const Staged<ROWS> &staged) const
    {
        Value rows[ROWS];
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) rows[row] = fold_lane(staged[place(row) / LANE_ITEMS]);
        Value total = Monoid::identity();
        if (Monoid::EXACT) {
#pragma unroll
            for (u32 row = 0; row < ROWS; row++) total = Monoid::combine(total, rows[row]);
            return warp_fold<Monoid>(total);
        }
        const Value row_total = fold_rows(rows);
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) total = Monoid::combine(total, __shfl_sync(ALL_LANES, row_total, row));
        return total;
    }

    // Writes the prefixes of a scanned tile whose own prefix is `before`. Writes nothing outside the tile.
    __device__ __forceinline__ void store(
        const Staged<ROWS> &staged, ITEM *to, u32 inclusive, Value before) const
    {
        const bool whole = is_whole(to);
        to += first;
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            const Vector vector = prefixes(staged[place(row) / LANE_ITEMS], bases[row], inclusive, before);
            if (whole) {
                *(Vector *)(to + place(row)) = vector;
            } else {
                for (u32 item = 0; item < LANE_ITEMS; item++)
                    if (place(row) + item < items) to[place(row) + item] = vector.items[item];
            }
        }
    }
};
