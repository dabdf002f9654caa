// select by hole filling: two launches. Contract and source: compaction/src/select.rs.
//
// Of k survivors, those among the first k items stay in place, and the others fill the holes between them. The first
// launch ranks all items in a single pass and lists the holes. The second moves the survivor of rank k - 1 - i into the
// i-th hole, so that the last survivor fills the first hole. No thread has to search for its partner.

#include "extent.cuh"
#include "tile.cuh"
#include "value.cuh"

// Lists the indices of the rejected items by their rank, as far as they may be holes: there are as many holes as
// survivors that fill them, at most half the items. Writes the number of survivors before each tile to `befores`.
#if __CUDA_ARCH__ < 800
constexpr u32 MIN_BLOCKS = 2;
#else
constexpr u32 MIN_BLOCKS = 3;
#endif
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, MIN_BLOCKS) select_find_holes(
    const u8 *flags, const Word *count, Extent extent, Word *befores, Word *holes, Word *selected, u64 *workspace)
{
    __shared__ u16 places[TILE_ITEMS];
    Control *const control = (Control *)workspace;
    const auto meanwhile = [&] {
        prefetch_tile<TILE_ITEMS>(flags + extent.begin(), extent.items);
        return extent.item_count(count, control);
    };
    const PortionTally so_far = {extent, control, selected};
    in_order<1, TILE_ITEMS>(control, so_far, meanwhile, [&](u32 index, u32 items, auto &order) {
        const Tile tile = tile_at(index, items, TILE_ITEMS);
        auto found = find_survivors<1>(flags + extent.begin(), tile);
        order.announce(found.total);

        const u32 place = min(row_place<1>(0), tile.items), present = min(LANE_ITEMS, tile.items - place);
        found.masks[0] = ~found.masks[0] & ((1u << present) - 1);
        found.ranks[0] = place - found.ranks[0];
        gather_places(found, places);

        const Word before = order.begin(found.total), first = extent.begin() + tile.first;
        if (threadIdx.x == 0) befores[first / TILE_ITEMS] = before;
        const Word holes_before = first - before, most = extent.total(count) / 2;
        for (u32 each = threadIdx.x; each < tile.items - found.total; each += BLOCK_THREADS)
            if (holes_before + each < most) holes[holes_before + each] = first + places[each];
    });
}

// Moves the survivors behind the result into its holes. Out of place, also copies the other survivors.
template <bool IN_PLACE, class Value>
__device__ __forceinline__ void fill_holes(
    const u8 *flags, const Word *count, const Extent &extent, const Word *befores, const Word *holes,
    const Word *selected, Value value)
{
    __shared__ u16 places[TILE_ITEMS];
    const Tile tile = tile_at(blockIdx.x, extent.item_count(count), TILE_ITEMS);
    const Word first = extent.begin() + tile.first, kept = *selected;
    if (tile.items == 0 || (IN_PLACE && first + tile.items <= kept)) return;
    const auto found = find_survivors<1>(flags + extent.begin(), tile);
    gather_places(found, places);
    __syncthreads();
    const Word before = befores[first / TILE_ITEMS];
    for (u32 rank = threadIdx.x; rank < found.total; rank += BLOCK_THREADS) {
        const Word from = first + places[rank];
        if (from >= kept)
            value.put(holes[kept - 1 - (before + rank)], from);
        else if (!IN_PLACE)
            value.put(from, from);
    }
}

KERNEL(select_fill_holes_with_indices)(
    const u8 *, const u8 *flags, const Word *count, Extent extent, const Word *befores, const Word *holes, u8 *out,
    const Word *selected)
{
    fill_holes<false>(flags, count, extent, befores, holes, selected, within(extent, Indices{out}));
}

KERNEL(select_fill_holes_with_items)(
    const u8 *items, const u8 *flags, const Word *count, Extent extent, const Word *befores, const Word *holes, u8 *out,
    const Word *selected)
{
    fill_holes<false>(flags, count, extent, befores, holes, selected, within(extent, Items{items, out}));
}

KERNEL(select_fill_holes_in_place)(
    u8 *items, const u8 *flags, const Word *count, Extent extent, const Word *befores, const Word *holes,
    const Word *selected)
{
    fill_holes<true>(flags, count, extent, befores, holes, selected, Items{items, items});
}
