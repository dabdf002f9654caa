// reduce_by_key: the key and the combined values of each run. Contract and source: compaction/src/runs.rs.

#include "monoid.cuh"
#include "operator"
#include "by_key.cuh"

TILES(reduce_by_key)(
    const u8 *keys, const Monoid::Item *values, const u32 *count, u64 capacity, u32 is_given, u8 *keys_out,
    Monoid::Out *values_out, Word *runs, u64 *workspace)
{
    const Key *const from = (const Key *)keys;
    const auto prefetch = [&] {
        prefetch_tile(from, capacity);
        prefetch_tile(values, capacity);
    };
    draw_tile<Segmented>(
        count, capacity, is_given, workspace, prefetch, [&](const Tile &tile, const auto &look_back, bool is_last) {
            __shared__ Key staged_keys[STAGED ? TILE_ITEMS : 1];
            __shared__ Monoid::Value staged_sums[STAGED ? TILE_ITEMS : 1];
            Rows<Key> rows;
            LiftedRows lifted;
            tile.load(from, rows);
            {
                Rows<Monoid::Item> items;
                tile.load(values, items);
                lift_rows(tile, items, lifted);
            }
            Heads heads = rank_in_warp(head_mask(from, tile, rows));
            Before before;
            const Segmented::Value own = combine_tile(lifted, heads, before);
            if (threadIdx.x == 0) look_back.announce(own);
            __syncwarp();

            // Calls put(rank, key, sum) for each head, with the combined values of the run before it.
            const auto for_each_run = [&](auto put) {
#pragma unroll
                for (u32 row = 0; row < ROWS; row++) {
                    Monoid::Value sum = before.sums[row];
                    u32 rank = heads.ranks[row];
#pragma unroll
                    for (u32 item = 0; item < QUAD; item++) {
                        const bool is_head = heads.quad(row) >> item & 1;
                        if (is_head) put(rank++, rows[row].items[item], sum);
                        sum = is_head ? lifted[row][item] : Monoid::combine(sum, lifted[row][item]);
                    }
                }
            };
            if (STAGED) {
                for_each_run([&](u32 rank, const Key &key, const Monoid::Value &sum) {
                    staged_keys[STAGED ? rank : 0] = key;
                    staged_sums[STAGED ? rank : 0] = sum;
                });
            }
            Segmented::Value earlier = {};
            if (warp_index() == 0) {
                earlier = look_back.find(own);
                if (is_last && lane_index() == 0) {
                    const Segmented::Value whole = Segmented::combine(earlier, own);
                    *runs = whole.heads;
                    if (whole.heads > 0) values_out[whole.heads - 1] = Monoid::lower(whole.sum);
                }
            }
            earlier = block_first(earlier);

            const auto put = [&](u32 rank, const Key &key, const Monoid::Value &sum) {
                const Word to = earlier.heads + rank;
                ((Key *)keys_out)[to] = key;
                // Each head ends the run before it.
                if (to > 0) values_out[to - 1] = Monoid::lower(rank == 0 ? Monoid::combine(earlier.sum, sum) : sum);
            };
            if (STAGED)
                for (u32 rank = threadIdx.x; rank < heads.total; rank += BLOCK_THREADS)
                    put(rank, staged_keys[STAGED ? rank : 0], staged_sums[STAGED ? rank : 0]);
            else
                for_each_run(put);
        });
}
