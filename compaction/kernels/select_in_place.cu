// select in place and in order, in a single pass. Contract and source: compaction/src/select.rs.
//
// A tile's survivors are written over items of its own or of earlier tiles. Therefore a block reads all its survivors
// into shared memory before it announces their number, and writes after all earlier tiles have announced theirs.

#include "extent.cuh"
#include "striped_tile.cuh"
#include "value.cuh"

constexpr u32 IN_PLACE_ITEMS = BLOCK_THREADS * IN_PLACE_STRIPES;

// The number of resident blocks per multiprocessor to compile for; ptxas would otherwise make the 64-bit version spill.
constexpr u32 MIN_BLOCKS = !IS_LONG ? 0 : __CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200 ? 2 : 3;
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, MIN_BLOCKS) select_in_place(
    u8 *items, const u8 *flags, const Word *count, Extent extent, Word *selected, u64 *workspace)
{
    __shared__ Part kept[IN_PLACE_ITEMS * ITEM_PARTS];
    Control *const control = (Control *)workspace;
    const auto meanwhile = [&] { return extent.item_count(count, control); };
    const PortionTally so_far = {extent, control, selected};
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

// `off` in place: overwrites the rejected items and counts the selected.
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
    PortionArrivalOrder order = appending(extent, selected, workspace);
    order.announce(kept);
}
