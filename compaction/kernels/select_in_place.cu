// select in place, in order: a single pass. Contract and source: compaction/src/select.rs.
//
// A tile's survivors go to where items of earlier tiles stand, or of its own. So a block first reads all its survivors
// into shared memory and only then announces their number; it writes when all earlier tiles have announced theirs.

#include "extent.cuh"
#include "stripes.cuh"
#include "value.cuh"

constexpr u32 IN_PLACE_ITEMS = BLOCK_THREADS * IN_PLACE_STRIPES;

// How many blocks a multiprocessor holds: ptxas would squeeze long counts until they spill.
constexpr u32 LEAST_BLOCKS = !IS_LONG ? 0 : __CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200 ? 2 : 3;
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, LEAST_BLOCKS) select_in_place(
    u8 *items, const u8 *flags, const Word *count, Extent extent, Word *selected, u64 *workspace)
{
    __shared__ Part kept[IN_PLACE_ITEMS * ITEM_PARTS];
    Control *const control = (Control *)workspace;
    const auto meanwhile = [&] { return extent.item_count(count, control); };
    const SoFar so_far = {extent, control, selected};
    in_order<1, IN_PLACE_ITEMS, true>(control, so_far, meanwhile, [&](u32 index, u32 items_here, auto &order) {
        const Word first = extent.begin() + index * IN_PLACE_ITEMS, end = extent.begin() + items_here;
        const auto ballots = take_ballots<IN_PLACE_STRIPES>([&](u32 stripe) {
            const u64 item = striped<IN_PLACE_STRIPES>(first, stripe);
            return item < end && flags[item] != 0;
        });
        for_each_keeper(ballots, [&](u32 rank, u32 stripe) {
            Items{items, (u8 *)kept}.put(rank, (Word)striped<IN_PLACE_STRIPES>(first, stripe));
        });
        order.announce(ballots.total);
        Part *const out = (Part *)items + (u64)order.begin(ballots.total) * ITEM_PARTS;
        for (u32 part = threadIdx.x; part < ballots.total * ITEM_PARTS; part += BLOCK_THREADS) out[part] = kept[part];
    });
}

// `off` in place: blanks what is dropped, and counts what is kept.
KERNEL(select_blank_in_place)(
    u8 *items, const u8 *flags, const Word *count, Extent extent, Word *selected, u64 *workspace)
{
    Control *const control = (Control *)workspace;
    const u64 end = (u64)extent.begin() + extent.item_count(count, control);
    const u64 item = extent.begin() + (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x;
    const bool keep = item < end && flags[item] != 0;
    if (item < end && !keep)
        for (u32 part = 0; part < ITEM_PARTS; part++) ((Part *)items)[item * ITEM_PARTS + part] = all_ones();
    const u32 kept = __syncthreads_count(keep);
    AppendSoFar order = appending(extent, selected, workspace);
    order.announce(kept);
}
