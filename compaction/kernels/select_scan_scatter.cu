// select by scan-scatter: three launches, a scan of all flags. Contract and source: compaction/src/select.rs.
//
// The first launch scans the flags of each block on a balanced tree in shared memory and writes each item's rank in its
// block. The second scans the sums of the blocks, and the third writes each survivor at the sum of both.

#include "scan_counts.cuh"
#include "value.cuh"

constexpr u32 SECTION_ITEMS = 2 * BLOCK_THREADS;

__device__ __forceinline__ u32 section_count(u32 items)
{
    return items / SECTION_ITEMS + (items % SECTION_ITEMS != 0);
}

// The index of a tree node, with a gap after every 32 words so that strided accesses use different banks.
__device__ __forceinline__ u32 padded(u32 node) { return node + node / 32; }

// Scans the section's values in place, exclusively. Returns their sum.
__device__ __forceinline__ u32 scan_tree(u32 *tree)
{
    u32 stride = 1;
    // Upsweep: each node becomes the sum of its two children.
    for (u32 pairs = BLOCK_THREADS; pairs > 0; pairs /= 2, stride *= 2) {
        __syncthreads();
        if (threadIdx.x < pairs) {
            const u32 left = stride * (2 * threadIdx.x + 1) - 1;
            tree[padded(left + stride)] += tree[padded(left)];
        }
    }
    __syncthreads();
    const u32 sum = tree[padded(SECTION_ITEMS - 1)];
    __syncthreads();
    if (threadIdx.x == 0) tree[padded(SECTION_ITEMS - 1)] = 0;
    // Downsweep: each node passes its prefix to its left child, and its prefix plus the left child's sum to its right
    // child.
    for (u32 pairs = 1; pairs <= BLOCK_THREADS; pairs *= 2) {
        stride /= 2;
        __syncthreads();
        if (threadIdx.x < pairs) {
            const u32 left = stride * (2 * threadIdx.x + 1) - 1;
            const u32 left_sum = tree[padded(left)];
            tree[padded(left)] = tree[padded(left + stride)];
            tree[padded(left + stride)] += left_sum;
        }
    }
    __syncthreads();
    return sum;
}

KERNEL(select_scan_sections)(
    const u8 *flags, const Word *count, Extent extent, u32 *ranks, u32 *sums, u64 *workspace)
{
    __shared__ u32 tree[SECTION_ITEMS + SECTION_ITEMS / 32];
    const u32 items = extent.item_count(count, (Control *)workspace);
    if (blockIdx.x >= section_count(items)) return;
    const u64 section = (u64)blockIdx.x * SECTION_ITEMS;
#pragma unroll
    for (u32 place = threadIdx.x; place < SECTION_ITEMS; place += BLOCK_THREADS)
        tree[padded(place)] = section + place < items && flags[extent.begin() + section + place] != 0;
    const u32 sum = scan_tree(tree);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
#pragma unroll
    for (u32 place = threadIdx.x; place < SECTION_ITEMS; place += BLOCK_THREADS)
        if (section + place < items) ranks[section + place] = tree[padded(place)];
}

KERNEL(select_scan_sums)(const Word *count, Extent extent, u32 *sums, Word *selected, u64 *workspace)
{
    scan_counts(extent, sums, selected, workspace, [&] {
        return section_count(extent.item_count(count, (Control *)workspace));
    });
}

template <class Value>
__device__ __forceinline__ void scatter_by_rank(
    const u8 *flags, const Word *count, Extent extent, const u32 *ranks, const u32 *sums,
    const u64 *workspace, Value value)
{
    const u32 items = extent.item_count(count);
    const u64 item = (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x;
    if (item >= items || flags[extent.begin() + item] == 0) return;
    const Word before = PortionTally::before(extent, (const Control *)workspace);
    value.put(before + sums[item / SECTION_ITEMS] + ranks[item], extent.begin() + (u32)item);
}

KERNEL(select_scatter_indices_by_rank)(
    const u8 *, const u8 *flags, const Word *count, Extent extent, const u32 *ranks, const u32 *sums,
    u8 *out, const u64 *workspace)
{
    scatter_by_rank(flags, count, extent, ranks, sums, workspace, within(extent, Indices{out}));
}

KERNEL(select_scatter_items_by_rank)(
    const u8 *items, const u8 *flags, const Word *count, Extent extent, const u32 *ranks,
    const u32 *sums, u8 *out, const u64 *workspace)
{
    scatter_by_rank(flags, count, extent, ranks, sums, workspace, within(extent, Items{items, out}));
}
