// scan_by_key: combines every prefix of each run. Contract and source: compaction/src/runs.rs.

#include "monoid.cuh"
#include "operator"
#include "by_key.cuh"

TILES(scan_by_key)(
    const u8 *keys, const Monoid::Item *values, const u32 *count, u64 capacity, u32 is_given, Monoid::Out initial,
    Monoid::Out *out, u32 inclusive, u64 *workspace)
{
    const Key *const from = (const Key *)keys;
    const auto prefetch = [&] {
        prefetch_tile(from, capacity);
        prefetch_tile(values, capacity);
    };
    draw_tile<Segmented>(
        count, capacity, is_given, workspace, prefetch, [&](const Tile &tile, const auto &look_back, bool) {
            LiftedRows lifted;
            Heads heads;
            {
                Rows<Key> rows;
                Rows<Monoid::Item> items;
                tile.load(from, rows);
                tile.load(values, items);
                heads = rank_in_warp(head_mask(from, tile, rows));
                lift_rows(tile, items, lifted);
            }
            Before before;
            const Segmented::Value own = combine_tile(lifted, heads, before);
            if (threadIdx.x == 0) look_back.announce(own);
            __syncwarp();
            Segmented::Value earlier = {};
            if (warp_index() == 0) earlier = look_back.find(own);
            earlier = block_first(earlier);

            const Monoid::Value start = Monoid::raise(initial);
            const bool whole = tile.items == TILE_ITEMS && (u64)(out + tile.first) % alignof(Quad<Monoid::Out>) == 0;
#pragma unroll
            for (u32 row = 0; row < ROWS; row++) {
                Monoid::Value sum = before.sums[row];
                u32 rank = heads.ranks[row];
                Quad<Monoid::Out> results;
#pragma unroll
                for (u32 item = 0; item < QUAD; item++) {
                    const bool is_head = heads.quad(row) >> item & 1;
                    rank += is_head;
                    const Monoid::Value exclusive = is_head ? Monoid::identity() : sum;
                    sum = is_head ? lifted[row][item] : Monoid::combine(sum, lifted[row][item]);
                    const Monoid::Value own = inclusive ? sum : exclusive;
                    // A run that began in an earlier tile continues.
                    const Monoid::Value in_run = rank == 0 ? Monoid::combine(earlier.sum, own) : own;
                    results.items[item] = Monoid::lower(Monoid::combine(start, in_run));
                }
                Monoid::Out *const to = out + tile.first + Tile::place(row);
                if (whole)
                    *(Quad<Monoid::Out> *)to = results;
                else
#pragma unroll
                    for (u32 item = 0; item < QUAD; item++)
                        if (Tile::place(row) + item < tile.items) to[item] = results.items[item];
            }
        });
}
