// Runs of equal adjacent keys, in tiles. Contract and source: compaction/src/runs.rs.
//
// A head is the first item of a run. A block loads the keys of a tile, finds and ranks the heads, and learns from its
// look-back what earlier tiles contain. Keys are compared as bytes: KEY_BYTES each, aligned to KEY_ALIGN.
#pragma once

#include "quad_tile.cuh"
#include "vector.cuh"

struct Key {
    using KeyWord = typename Vector<(KEY_ALIGN < 4 ? KEY_ALIGN : 4)>::type;
    static constexpr u32 WORDS = KEY_BYTES / sizeof(KeyWord);
    KeyWord words[WORDS];

    __device__ __forceinline__ bool operator!=(const Key &other) const
    {
        bool differs = false;
#pragma unroll
        for (u32 word = 0; word < WORDS; word++) differs |= words[word] != other.words[word];
        return differs;
    }
};

// The heads of a tile, as seen by one thread.
struct Heads {
    u32 mask;         // one bit per item of this thread, QUAD per row
    u32 ranks[ROWS];  // number of heads of the tile before this thread's items of each row
    u32 total;        // number of heads of the tile

    __device__ __forceinline__ u32 quad(u32 row) const { return mask >> row * QUAD & ((1u << QUAD) - 1); }

    // Calls put(rank, place, row, item) for each head of this thread.
    template <class Put>
    __device__ __forceinline__ void for_each(Put put) const
    {
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            u32 rank = ranks[row];
#pragma unroll
            for (u32 item = 0; item < QUAD; item++)
                if (mask >> (row * QUAD + item) & 1) put(rank++, Tile::place(row) + item, row, item);
        }
    }
};

// Returns a bit for each item of this thread that is a head.
__device__ __forceinline__ u32 head_mask(const Key *__restrict__ keys, const Tile &tile, const Rows<Key> &rows)
{
    // The last lane compares the first item of the warp with the item before, which is in another warp's row.
    Key before = rows[0].items[0];
    const u64 warp_first = tile.first + warp_index() * ROWS * ROW_ITEMS;
    if (lane_index() == WARP_THREADS - 1 && warp_first > 0 && warp_first < tile.first + tile.items)
        before = keys[warp_first - 1];
    u32 mask = 0;
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        const Quad<Key> &own = rows[row];
        const bool is_last = lane_index() == WARP_THREADS - 1;
        const Key offered = !is_last ? own.items[QUAD - 1] : row == 0 ? before : rows[row == 0 ? 0 : row - 1].items[QUAD - 1];
        const Key previous = shuffle_from(offered, (lane_index() + WARP_THREADS - 1) % WARP_THREADS);
#pragma unroll
        for (u32 item = 0; item < QUAD; item++) {
            const bool differs = own.items[item] != (item == 0 ? previous : own.items[item == 0 ? 0 : item - 1]);
            if (differs && Tile::place(row) + item < tile.items) mask |= 1u << (row * QUAD + item);
        }
    }
    // The first item of all has no item before it.
    if (tile.first == 0 && threadIdx.x == 0 && tile.items > 0) mask |= 1;
    return mask;
}

// Ranks heads within their warp. Returns the number of heads of the warp in `total`.
__device__ __forceinline__ Heads rank_in_warp(u32 mask)
{
    Heads heads = {mask};
    // A row has at most 128 heads, so that the sums of four rows fit into the bytes of one word.
    constexpr u32 PACKED = ROWS < 4 ? ROWS : 4;
#pragma unroll
    for (u32 first = 0; first < ROWS; first += PACKED) {
        u32 counts = 0;
#pragma unroll
        for (u32 row = 0; row < PACKED; row++) counts |= __popc(heads.quad(first + row)) << 8 * row;
        const u32 inclusive = warp_inclusive_sum(counts), sums = warp_last(inclusive);
#pragma unroll
        for (u32 row = 0; row < PACKED; row++) {
            heads.ranks[first + row] = heads.total + (((inclusive - counts) >> 8 * row) & 255);
            heads.total += sums >> 8 * row & 255;
        }
    }
    return heads;
}

// Adds the heads of earlier warps to the ranks, and sets the total of the tile. Contains one barrier.
__device__ __forceinline__ void rank_in_tile(Heads &heads)
{
    const BlockSum sum = block_sum_of_warps(heads.total);
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) heads.ranks[row] += sum.before;
    heads.total = sum.total;
}
