// partition: selected first, rejected behind them. Contract and source: compaction/src/partition.rs.
//
// Reads one byte an item (not zero: selected), twice, and for `items` the items; writes all items and the number of the
// selected.

#include "two_way.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR) partition_indices(
    const u8 *flags, const u32 *count, u32 capacity, u32 is_given, u32 *out, u32 *selected, u64 *workspace)
{
    Control *const control = (Control *)workspace;
    two_way(
        item_count(count, capacity, is_given, control), selected, control,
        [&](Tile tile, u32(&words)[ROWS]) { load_flags(flags, tile, words); },
        [&](Tile tile, const u16 *places, TwoWays ways) {
            const auto index = [&](u32 rank) { return tile.first + places[rank]; };
            write_out(out + ways.selected, ways.survivors, index);
            write_out(out + ways.rejected, tile.items - ways.survivors, [&](u32 rank) {
                return index(ways.survivors + rank);
            });
        });
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 3) partition_items(
    const u32 *items, const u8 *flags, const u32 *count, u32 capacity, u32 is_given, u32 *out, u32 *selected,
    u64 *workspace)
{
    Control *const control = (Control *)workspace;
    two_way(
        item_count(count, capacity, is_given, control), selected, control,
        [&](Tile tile, u32(&words)[ROWS]) { load_flags(flags, tile, words); },
        [&](Tile tile, const u16 *places, TwoWays ways) {
            const u32 rejected = tile.items - ways.survivors;
            copy_kept<ITEM_WORDS>(items, tile.first, places, ways.survivors, out, ways.selected);
            copy_kept<ITEM_WORDS>(items, tile.first, places + ways.survivors, rejected, out, ways.rejected);
        });
}
