// select by hole-filling: two launches. Contract and source: compaction/src/select.rs.
//
// Of k survivors, those among the first k items stay where they are; the others fill the holes there. The first
// launch ranks all items in a single pass, and lists the holes. The second moves: the survivor of rank k - 1 - i fills
// the i-th hole, so that the last fills the first. Both know their partner without searching.

#include "order.cuh"
#include "tile.cuh"
#include "value.cuh"

// Lists the dropped items by their rank, as far as they may be holes: there are as many holes as survivors to fill
// them, at most half the items. Leaves the number of survivors before each tile in `befores`.
KERNEL(select_find_holes)(
    const u8 *flags, const u32 *count, u32 capacity, u32 is_given, u32 *befores, u32 *holes, u32 *selected,
    u64 *workspace)
{
    Control *const control = (Control *)workspace;
    const auto meanwhile = [&] { return item_count(count, capacity, is_given, control); };
    in_order<1, TILE_ITEMS>(control, selected, meanwhile, [&](u32 index, u32 items, auto &order) {
        const Tile tile = tile_at(index, items, TILE_ITEMS);
        const auto found = find_survivors<1>(flags, tile);
        order.announce(found.total);
        const u32 before = order.begin(found.total);
        if (threadIdx.x == 0) befores[index] = before;

        const u32 place = row_place<1>(0), present = min(LANE_ITEMS, tile.items - min(place, tile.items));
        const u32 dropped = ~found.masks[0] & ((1u << present) - 1);
        const u32 first = tile.first + place;
        const u32 rank = first - (before + found.ranks[0]);
        for_each_bit<true>(dropped, rank, [&](u32 rank, u32 item) {
            if (rank < items / 2) holes[rank] = first + item;
        });
    });
}

// Moves the survivors from behind the result into its holes. Unless they are in place already, copies the others.
template <bool IN_PLACE, class Value>
__device__ __forceinline__ void fill_holes(
    const u8 *flags, const u32 *count, u32 capacity, u32 is_given, const u32 *befores, const u32 *holes,
    const u32 *selected, Value value)
{
    const u32 items = is_given ? capacity : min(*count, capacity), kept = *selected;
    const Tile tile = tile_at(blockIdx.x, items, TILE_ITEMS);
    if (IN_PLACE && tile.first + tile.items <= kept) return;
    const auto found = find_survivors<1>(flags, tile);
    const u32 first = tile.first + row_place<1>(0);
    for_each_bit<true>(found.masks[0], found.ranks[0], [&](u32 rank, u32 item) {
        const u32 from = first + item;
        if (from >= kept)
            value.put(holes[kept - 1 - (befores[blockIdx.x] + rank)], from);
        else if (!IN_PLACE)
            value.put(from, from);
    });
}

KERNEL(select_fill_holes_with_indices)(
    const u8 *, const u8 *flags, const u32 *count, u32 capacity, u32 is_given, const u32 *befores,
    const u32 *holes, u8 *out, const u32 *selected)
{
    fill_holes<false>(flags, count, capacity, is_given, befores, holes, selected, Indices{out});
}

KERNEL(select_fill_holes_with_items)(
    const u8 *items, const u8 *flags, const u32 *count, u32 capacity, u32 is_given, const u32 *befores,
    const u32 *holes, u8 *out, const u32 *selected)
{
    fill_holes<false>(flags, count, capacity, is_given, befores, holes, selected, Items{items, out});
}

KERNEL(select_fill_holes_in_place)(
    u8 *items, const u8 *flags, const u32 *count, u32 capacity, u32 is_given, const u32 *befores, const u32 *holes,
    const u32 *selected)
{
    fill_holes<true>(flags, count, capacity, is_given, befores, holes, selected, Items{items, items});
}
