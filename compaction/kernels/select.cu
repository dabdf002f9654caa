// select by look-back: keeps the flagged items, or their indices. Contract and source: compaction/src/select.rs.
//
// Reads one byte per item (nonzero: selected) and, for `items`, the selected items; writes them and their number. A
// block loads the flags of a tile in whole lines, gathers the indices of the survivors in shared memory in order, and
// writes the results in whole lines.

#include "selected_tile.cuh"

// Few items: short tiles, to use many multiprocessors, and several look-back windows, because all tiles start together.
constexpr u32 FEW_ROWS = 1, FEW_WINDOWS = 2;
// Many items: long tiles, for fewer tickets and look-backs.
constexpr u32 MANY_ROWS = 2, MANY_WINDOWS = 1;

template <u32 ROWS, u32 WINDOWS, class Keep>
__device__ __forceinline__ void look_back(
    const u8 *flags, const Word *count, const Extent &extent, Word *selected, u64 *workspace, Keep keep)
{
    constexpr u32 ITEMS = ROWS * TILE_ITEMS;
    Control *const control = (Control *)workspace;
    const auto meanwhile = [&] {
        prefetch_tile<ITEMS>(flags, extent.items);
        return extent.item_count(count, control);
    };
    const PortionTally so_far = {extent, control, selected};
    in_order<WINDOWS, ITEMS>(control, so_far, meanwhile, [&](u32 index, u32 items, auto &order) {
        keep(tile_at(index, items, ITEMS), order);
    });
}

SELECT(select_indices_look_back)(SELECT_PARAMS)
{
    const Word first = extent.begin();
    look_back<FEW_ROWS, FEW_WINDOWS>(
        flags + first, count, extent, selected, workspace,
        [&](Tile tile, auto &order) { keep_indices<FEW_ROWS>(flags + first, tile, extent, (Word *)out, order); });
}

SELECT(select_many_indices_look_back)(SELECT_PARAMS)
{
    const Word first = extent.begin();
    look_back<MANY_ROWS, MANY_WINDOWS>(
        flags + first, count, extent, selected, workspace,
        [&](Tile tile, auto &order) { keep_indices<MANY_ROWS>(flags + first, tile, extent, (Word *)out, order); });
}

SELECT_WIDE(select_items_look_back)(SELECT_PARAMS)
{
    const u64 first = extent.begin();
    look_back<FEW_ROWS, FEW_WINDOWS>(
        flags + first, count, extent, selected, workspace, [&](Tile tile, auto &order) {
            keep_items<FEW_ROWS>(items + first * ITEM_BYTES, flags + first, tile, extent, out, order);
        });
}

SELECT(select_many_items_look_back)(SELECT_PARAMS)
{
    const u64 first = extent.begin();
    look_back<MANY_ROWS, MANY_WINDOWS>(
        flags + first, count, extent, selected, workspace, [&](Tile tile, auto &order) {
            keep_items<MANY_ROWS>(items + first * ITEM_BYTES, flags + first, tile, extent, out, order);
        });
}
