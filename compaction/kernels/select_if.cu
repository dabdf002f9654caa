// select by a predicate of the user's: `bool keep(Item)`. Contract and source: compaction/src/select/predicate.rs.

#include "order.cuh"
#include "stripes.cuh"
#include "predicate"

constexpr u32 STRIPES = 16;
constexpr u32 TILE_ITEMS = BLOCK_THREADS * STRIPES;
static_assert(TILE_ITEMS <= 1 << 16, "an item's place in its tile is held in 16 bits");

// Writes 1 for each item that is kept, else 0.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_if_flags(
    const Item *items, const u32 *count, u32 capacity, u32 is_given, u8 *flags)
{
    const u32 item_total = is_given ? capacity : min(*count, capacity);
    const u64 item = (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x;
    if (item < item_total) flags[item] = keep(items[item]);
}

// The survivors of a tile are read again once they are ranked: the cache has them still.
template <class Order>
__device__ __forceinline__ void keep_tile(
    const Item *__restrict__ items, u32 left, Item *__restrict__ out, Order &order)
{
    __shared__ u16 kept[TILE_ITEMS];
    // Narrow items are asked for together, so that a thread waits for its reads together.
    constexpr bool IS_NARROW = sizeof(Item) <= sizeof(u32);
    Item mine[IS_NARROW ? STRIPES : 1];
    const bool is_full = left == TILE_ITEMS;
    if constexpr (IS_NARROW) {
#pragma unroll
        for (u32 stripe = 0; stripe < STRIPES; stripe++) {
            const u64 place = striped<STRIPES>(0, stripe);
            if (is_full || place < left) mine[stripe] = items[place];
        }
    }
    const auto ballots = take_ballots<STRIPES>([&](u32 stripe) {
        const u64 place = striped<STRIPES>(0, stripe);
        return (is_full || place < left) && keep(IS_NARROW ? mine[IS_NARROW ? stripe : 0] : items[place]);
    });
    order.announce(ballots.total);
    for_each_keeper(ballots, [&](u32 rank, u32 stripe) { kept[rank] = (u16)striped<STRIPES>(0, stripe); });
    __syncthreads();

    constexpr u32 BATCH = sizeof(Item) <= 8 ? 4 : 1;
    Item first_ones[BATCH];
#pragma unroll
    for (u32 each = 0; each < BATCH; each++) {
        const u32 rank = threadIdx.x + each * BLOCK_THREADS;
        if (rank < ballots.total) first_ones[each] = items[kept[rank]];
    }
    out += order.begin(ballots.total);
#pragma unroll
    for (u32 each = 0; each < BATCH; each++) {
        const u32 rank = threadIdx.x + each * BLOCK_THREADS;
        if (rank < ballots.total) out[rank] = first_ones[each];
    }
    for (u32 rank = threadIdx.x + BATCH * BLOCK_THREADS; rank < ballots.total; rank += BLOCK_THREADS)
        out[rank] = items[kept[rank]];
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_if_look_back(
    const Item *items, const u32 *count, u32 capacity, u32 is_given, Item *out, u32 *selected, u64 *workspace)
{
    Control *const control = (Control *)workspace;
    const auto meanwhile = [&] {
        prefetch_tile<TILE_ITEMS>(items, capacity);
        return item_count(count, capacity, is_given, control);
    };
    in_order<1, TILE_ITEMS>(control, selected, meanwhile, [&](u32 index, u32 item_total, auto &order) {
        const u32 first = index * TILE_ITEMS;
        const u32 left = min(TILE_ITEMS, item_total - first);
        keep_tile(items + first, left, out, order);
    });
}
