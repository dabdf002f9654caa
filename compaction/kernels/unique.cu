// unique: keeps the first item of each run, and its value. Contract and source: compaction/src/runs.rs.

#include "runs.cuh"

// The number of heads.
struct Count : Sum<Word> {
    static constexpr bool EXACT = true;
};

// Calls put(output index, rank) for each run of a tile, coalesced.
template <class Put>
__device__ __forceinline__ void put_runs(Word begin, u32 total, Put put)
{
    for (u32 rank = threadIdx.x; rank < total; rank += BLOCK_THREADS) put(begin + rank, rank);
}

template <class LookBack>
__device__ __forceinline__ Word find_begin(const LookBack &look_back, const Heads &heads, bool is_last, Word *runs)
{
    Word begin = 0;
    if (warp_index() == 0) {
        begin = look_back.find(heads.total);
        if (is_last && lane_index() == 0) *runs = begin + heads.total;
    }
    return block_first(begin);
}

TILES(unique)(
    const u8 *keys, const u32 *count, u64 capacity, u32 is_given, u8 *out, Word *runs, u64 *workspace)
{
    const Key *const from = (const Key *)keys;
    draw_tile<Count>(
        count, capacity, is_given, workspace, [&] { prefetch_tile(from, capacity); },
        [&](const Tile &tile, const auto &look_back, bool is_last) {
            Rows<Key> rows;
            tile.load(from, rows);
            Heads heads = rank_in_warp(head_mask(from, tile, rows));
            rank_in_tile(heads);
            if (threadIdx.x == 0) look_back.announce(heads.total);
            __syncwarp();
            if constexpr (STAGED) {
                __shared__ Key staged[TILE_ITEMS];
                heads.for_each([&](u32 rank, u32, u32 row, u32 item) { staged[rank] = rows[row].items[item]; });
                const Word begin = find_begin(look_back, heads, is_last, runs);
                put_runs(begin, heads.total, [&](Word to, u32 rank) { ((Key *)out)[to] = staged[rank]; });
            } else {
                const Word begin = find_begin(look_back, heads, is_last, runs);
                heads.for_each([&](u32 rank, u32, u32 row, u32 item) { ((Key *)out)[begin + rank] = rows[row].items[item]; });
            }
        });
}
