// select: keeps what is flagged. Contract and source: compaction/src/select.rs.
//
// Reads one byte an item (not zero: keep) and, for `items`, the survivors; writes the survivors and their number. A
// block takes a tile and reads its flags in whole lines; the places of the survivors are gathered in shared memory in
// order, and from there the results leave in whole lines as well.

#include "kept.cuh"

// Few items: short tiles, for many multiprocessors, and a look far back, for all tiles start at once.
constexpr u32 FEW_ROWS = 1, FEW_WINDOWS = 2;
// Many items: long tiles, for fewer tickets and looks.
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
    const SoFar so_far = {extent, control, selected};
    in_order<WINDOWS, ITEMS>(control, so_far, meanwhile, [&](u32 index, u32 items, auto &order) {
        keep(tile_at(index, items, ITEMS), order);
    });
}

SELECT(select_indices_look_back)(SELECT_PARAMS)
{
    const Word first = extent.begin();
    look_back<FEW_ROWS, FEW_WINDOWS>(
        flags + first, count, extent, selected, workspace,
        [&](Tile tile, auto &order) { keep_indices<FEW_ROWS>(flags + first, tile, first, (Word *)out, order); });
}

SELECT(select_many_indices_look_back)(SELECT_PARAMS)
{
    const Word first = extent.begin();
    look_back<MANY_ROWS, MANY_WINDOWS>(
        flags + first, count, extent, selected, workspace,
        [&](Tile tile, auto &order) { keep_indices<MANY_ROWS>(flags + first, tile, first, (Word *)out, order); });
}

SELECT_WIDE(select_items_look_back)(SELECT_PARAMS)
{
    const u64 first = extent.begin();
    look_back<FEW_ROWS, FEW_WINDOWS>(
        flags + first, count, extent, selected, workspace, [&](Tile tile, auto &order) {
            keep_items<FEW_ROWS>(items + first * ITEM_BYTES, flags + first, tile, out, order);
        });
}

SELECT(select_many_items_look_back)(SELECT_PARAMS)
{
    const u64 first = extent.begin();
    look_back<MANY_ROWS, MANY_WINDOWS>(
        flags + first, count, extent, selected, workspace, [&](Tile tile, auto &order) {
            keep_items<MANY_ROWS>(items + first * ITEM_BYTES, flags + first, tile, out, order);
        });
}
