// custom_scan: combines every prefix by a user-defined operator. Contract and source: compaction/src/custom.rs.

#include "item_count.cuh"
#include "monoid.cuh"
#include "operator"
#include "quad_tile.cuh"

// The items of a tile, as seen by one thread.
struct Scanned {
    Monoid::Value values[ROWS][QUAD];
    Monoid::Value before[ROWS];  // combined items of the tile before this thread's quad of each row
};

// Loads a tile and combines its items. Returns all of them combined. Contains one barrier.
__device__ __forceinline__ Monoid::Value combine_tile(const Tile &tile, const Monoid::Item *items, Scanned &scanned)
{
    {
        Rows<Monoid::Item> rows;
        tile.load(items, rows);
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
#pragma unroll
            for (u32 item = 0; item < QUAD; item++) {
                const bool exists = tile.items == TILE_ITEMS || Tile::place(row) + item < tile.items;
                scanned.values[row][item] = exists ? Monoid::lift(rows[row].items[item]) : Monoid::identity();
            }
        }
    }
    Monoid::Value total = Monoid::identity();  // of the rows so far
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        Monoid::Value sum = scanned.values[row][0];
#pragma unroll
        for (u32 item = 1; item < QUAD; item++) sum = Monoid::combine(sum, scanned.values[row][item]);
#pragma unroll
        for (u32 distance = 1; distance < WARP_THREADS; distance *= 2) {
            const Monoid::Value below = shuffle_up(sum, distance);
            if (lane_index() >= distance) sum = Monoid::combine(below, sum);
        }
        const Monoid::Value below = shuffle_up(sum, 1), last = shuffle_from(sum, WARP_THREADS - 1);
        scanned.before[row] = lane_index() == 0 ? total : Monoid::combine(total, below);
        total = Monoid::combine(total, last);
    }
    const BlockFold<Monoid::Value> fold = block_fold_of_warps<Monoid>(total);
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) scanned.before[row] = Monoid::combine(fold.before, scanned.before[row]);
    return fold.total;
}

// `total` is the address of a Monoid::Out, which is written if `has_total` is not 0.
TILES(custom_scan)(
    const Monoid::Item *items, Input input, Monoid::Out initial, Monoid::Out *out,
    u32 inclusive, u8 *total, u32 has_total, u64 *workspace)
{
    draw_tile<Monoid>(
        input.device_count, input.capacity, input.is_given, workspace, [&] { prefetch_tile(items, input.capacity); },
        [&](const Tile &tile, const auto &look_back, bool is_last) {
            Scanned scanned;
            const Monoid::Value own = combine_tile(tile, items, scanned);
            if (threadIdx.x == 0) look_back.announce(own);
            __syncwarp();
            Monoid::Value earlier = Monoid::identity();
            const Monoid::Value start = Monoid::raise(initial);
            if (warp_index() == 0) {
                earlier = look_back.find(own);
                if (is_last && has_total && lane_index() == 0)
                    *(Monoid::Out *)total =
                        Monoid::lower(Monoid::combine(start, Monoid::combine(earlier, own)));
            }
            earlier = block_first(earlier);

            const bool whole = tile.items == TILE_ITEMS && (u64)(out + tile.first) % alignof(Quad<Monoid::Out>) == 0;
#pragma unroll
            for (u32 row = 0; row < ROWS; row++) {
                Monoid::Value sum = scanned.before[row];
                Quad<Monoid::Out> results;
#pragma unroll
                for (u32 item = 0; item < QUAD; item++) {
                    const Monoid::Value with_item = Monoid::combine(sum, scanned.values[row][item]);
                    const Monoid::Value prefix = Monoid::combine(earlier, inclusive ? with_item : sum);
                    results.items[item] = Monoid::lower(Monoid::combine(start, prefix));
                    sum = with_item;
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
