// unique_by_key: keeps the first key of each run and its value. Contract and source: compaction/src/runs.rs.

#include "runs.cuh"

// The number of heads.
struct Count : Sum<Word> {
    static constexpr bool EXACT = true;
};

// A value of VALUE_BYTES bytes, aligned to VALUE_ALIGN.
struct Value {
    Vector<VALUE_ALIGN>::type parts[VALUE_BYTES / VALUE_ALIGN];
};

TILES(unique_by_key)(
    const u8 *keys, const u8 *values, const u32 *count, u64 capacity, u32 is_given, u8 *keys_out, u8 *values_out,
    Word *runs, u64 *workspace)
{
    const Key *const from = (const Key *)keys;
    draw_tile<Count>(
        count, capacity, is_given, workspace, [&] { prefetch_tile(from, capacity); },
        [&](const Tile &tile, const auto &look_back, bool is_last) {
            __shared__ u16 places[TILE_ITEMS];
            Rows<Key> rows;
            tile.load(from, rows);
            Heads heads = rank_in_warp(head_mask(from, tile, rows));
            rank_in_tile(heads);
            if (threadIdx.x == 0) look_back.announce(heads.total);
            __syncwarp();
            heads.for_each([&](u32 rank, u32 place, u32, u32) { places[rank] = (u16)place; });
            Word begin = 0;
            if (warp_index() == 0) {
                begin = look_back.find(heads.total);
                if (is_last && lane_index() == 0) *runs = begin + heads.total;
            }
            begin = block_first(begin);
            // The keys are still in the cache.
            for (u32 rank = threadIdx.x; rank < heads.total; rank += BLOCK_THREADS) {
                const u64 place = tile.first + places[rank];
                ((Key *)keys_out)[begin + rank] = from[place];
                ((Value *)values_out)[begin + rank] = ((const Value *)values)[place];
            }
        });
}
