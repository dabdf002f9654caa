// select by sequences: three launches, one run of items per warp. Contract and source: compaction/src/select.rs.
//
// The items are cut into as many runs as there are warps. A warp counts the survivors of its run by vector loads, and
// the counts become the runs' offsets. Then the warp reads its run again, ranks the survivors of each row by shuffles,
// and writes them from shared memory in whole lines.

#include "scan_counts.cuh"
#include "tile.cuh"
#include "value.cuh"

struct Sequence {
    u32 index;
    u64 first, end;  // its range of items
};

// The run of this warp: whole rows, equally many for all warps but the last ones.
__device__ __forceinline__ Sequence this_sequence(u32 items)
{
    const u32 sequences = gridDim.x * BLOCK_WARPS, index = blockIdx.x * BLOCK_WARPS + warp_index();
    const u32 rows = items / ROW_ITEMS + (items % ROW_ITEMS != 0);
    const u64 length = (u64)(rows / sequences + (rows % sequences != 0)) * ROW_ITEMS;
    return {index, min(index * length, (u64)items), min((index + 1) * length, (u64)items)};
}

// The flags of this lane in the row that begins at `row`, as a mask.
__device__ __forceinline__ u32 row_mask(const u8 *flags, u64 row, u64 end)
{
    const u64 first = row + lane_index() * LANE_ITEMS;
    return first < end ? load_mask(flags + first, (u32)min((u64)LANE_ITEMS, end - first)) : 0;
}

KERNEL(select_count_sequences)(
    const u8 *flags, const Word *count, Extent extent, u32 *counts, u64 *workspace)
{
    const Sequence sequence = this_sequence(extent.item_count(count, (Control *)workspace));
    u32 kept = 0;
    for (u64 row = sequence.first; row < sequence.end; row += ROW_ITEMS)
        kept += __popc(row_mask(flags + extent.begin(), row, sequence.end));
    kept = warp_sum(kept);
    if (lane_index() == 0) counts[sequence.index] = kept;
}

KERNEL(select_scan_sequences)(Extent extent, u32 sequences, u32 *counts, Word *selected, u64 *workspace)
{
    scan_counts(extent, counts, selected, workspace, [&] { return sequences; });
}

template <class Value>
__device__ __forceinline__ void move_sequence(
    const u8 *flags, const Word *count, Extent extent, const u32 *begins, const u64 *workspace, Value value)
{
    __shared__ u16 places[BLOCK_WARPS][ROW_ITEMS];
    u16 *const kept = places[warp_index()];
    const Sequence sequence = this_sequence(extent.item_count(count));
    Word begin = PortionTally::before(extent, (const Control *)workspace) + begins[sequence.index];
    for (u64 row = sequence.first; row < sequence.end; row += ROW_ITEMS) {
        const u32 mask = row_mask(flags + extent.begin(), row, sequence.end);
        const u32 inclusive = warp_inclusive_sum(__popc(mask));
        const u32 survivors = warp_last(inclusive);
        for_each_bit<true>(mask, inclusive - __popc(mask), [&](u32 rank, u32 item) {
            kept[rank] = (u16)(lane_index() * LANE_ITEMS + item);
        });
        __syncwarp();
        const u32 written = extent.room_for(begin, survivors);
        for (u32 rank = lane_index(); rank < written; rank += WARP_THREADS)
            value.put(begin + rank, extent.begin() + (u32)row + kept[rank]);
        __syncwarp();
        begin += survivors;
    }
}

KERNEL(select_move_indices)(
    const u8 *, const u8 *flags, const Word *count, Extent extent, const u32 *begins, u8 *out,
    const u64 *workspace)
{
    move_sequence(flags, count, extent, begins, workspace, Indices{out});
}

KERNEL(select_move_items)(
    const u8 *items, const u8 *flags, const Word *count, Extent extent, const u32 *begins, u8 *out,
    const u64 *workspace)
{
    move_sequence(flags, count, extent, begins, workspace, Items{items, out});
}
