// select by count-scan-scatter: three launches, one item per thread. Contract and source: compaction/src/select.rs.
//
// The first launch counts each block's survivors, the second turns the counts into block offsets, and the third ranks
// the survivors by ballots and writes them. All threads of a block take part in ballots and barriers, also those behind
// the last item.

#include "scan_counts.cuh"
#include "value.cuh"

__device__ __forceinline__ u32 block_count(u32 items) { return items / BLOCK_THREADS + (items % BLOCK_THREADS != 0); }

// Whether this thread's item is one of the launch's `items` and selected.
__device__ __forceinline__ bool is_kept(const u8 *flags, u32 items)
{
    const u64 item = (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x;
    return item < items && flags[item] != 0;
}

KERNEL(select_count_blocks)(
    const u8 *flags, const Word *count, Extent extent, u32 *counts, u64 *workspace)
{
    const u32 items = extent.item_count(count, (Control *)workspace);
    const u32 kept = __syncthreads_count(is_kept(flags + extent.begin(), items));
    if (threadIdx.x == 0 && blockIdx.x < block_count(items)) counts[blockIdx.x] = kept;
}

KERNEL(select_scan_blocks)(
    const Word *count, Extent extent, u32 *counts, Word *selected, u64 *workspace)
{
    scan_counts(extent, counts, selected, workspace, [&] {
        return block_count(extent.item_count(count, (Control *)workspace));
    });
}

template <class Value>
__device__ __forceinline__ void scatter_block(
    const u8 *flags, const Word *count, Extent extent, const u32 *begins, const u64 *workspace, Value value)
{
    const u32 items = extent.item_count(count);
    if (blockIdx.x >= block_count(items)) return;
    const bool keep = is_kept(flags + extent.begin(), items);
    const u32 keepers = __ballot_sync(ALL_LANES, keep);
    const u32 before_lane = __popc(keepers & ((1u << lane_index()) - 1));
    const u32 before_warp = block_sum_of_warps(__popc(keepers)).before;
    const Word before = PortionTally::before(extent, (const Control *)workspace) + begins[blockIdx.x];
    if (keep)
        value.put(before + before_warp + before_lane, extent.begin() + blockIdx.x * BLOCK_THREADS + threadIdx.x);
}

KERNEL(select_scatter_indices)(
    const u8 *, const u8 *flags, const Word *count, Extent extent, const u32 *begins, u8 *out,
    const u64 *workspace)
{
    scatter_block(flags, count, extent, begins, workspace, within(extent, Indices{out}));
}

KERNEL(select_scatter_items)(
    const u8 *items, const u8 *flags, const Word *count, Extent extent, const u32 *begins, u8 *out,
    const u64 *workspace)
{
    scatter_block(flags, count, extent, begins, workspace, within(extent, Items{items, out}));
}
