// select with blocks that do not wait for each other. `atomic`: survivors of a tile stay in order, and tiles are
// appended as they arrive. `off`: all items stay in place, and rejected ones are overwritten. Contract and source:
// compaction/src/select.rs.

#include "selected_tile.cuh"

// Writes all parts of the tile's items, PARTS per item, replacing those of rejected items by `blank`, and counts the
// selected.
template <u32 PARTS, class Value, class ValueAt>
__device__ __forceinline__ void blank_dropped(
    const u8 *__restrict__ flags, u64 begin, Tile tile, Value *__restrict__ out, PortionArrivalOrder &order, Value blank,
    ValueAt value)
{
    const u64 first = begin + tile.first;
    u32 kept = 0;
    for (u32 place = threadIdx.x; place < tile.items * PARTS; place += BLOCK_THREADS) {
        const bool keep = flags[first + place / PARTS] != 0;
        kept += keep && place % PARTS == 0;
        out[first * PARTS + place] = keep ? value(first * PARTS + place) : blank;
    }
    order.announce(block_sum_of_warps(warp_sum(kept)).total);
}

// The tile of this block, by block index.
__device__ __forceinline__ Tile own_tile(const Word *count, const Extent &extent, u64 *workspace)
{
    return tile_at(blockIdx.x, extent.item_count(count, (Control *)workspace), TILE_ITEMS);
}

SELECT(select_indices_atomic)(SELECT_PARAMS)
{
    const Tile tile = own_tile(count, extent, workspace);
    PortionArrivalOrder order = appending(extent, selected, workspace);
    const Word first = extent.begin();
    keep_indices<1>(flags + first, tile, extent, (Word *)out, order);
}

SELECT_WIDE(select_items_atomic)(SELECT_PARAMS)
{
    const Tile tile = own_tile(count, extent, workspace);
    PortionArrivalOrder order = appending(extent, selected, workspace);
    const u64 first = extent.begin();
    keep_items<1>(items + first * ITEM_BYTES, flags + first, tile, extent, out, order);
}

SELECT(select_indices_off)(SELECT_PARAMS)
{
    const Tile tile = own_tile(count, extent, workspace);
    PortionArrivalOrder order = appending(extent, selected, workspace);
    blank_dropped<1>(flags, extent.begin(), tile, (Word *)out, order, ~(Word)0, [](u64 index) { return (Word)index; });
}

SELECT(select_items_off)(SELECT_PARAMS)
{
    const Tile tile = own_tile(count, extent, workspace);
    PortionArrivalOrder order = appending(extent, selected, workspace);
    blank_dropped<ITEM_PARTS>(
        flags, extent.begin(), tile, (Part *)out, order, all_ones(),
        [&](u64 part) { return ((const Part *)items)[part]; });
}
