// select by a user-defined predicate `bool keep(Item)`, or `bool keep(Item, Parameters)` if PARAMETRIC. Contract and
// source: compaction/src/select/predicate.rs.

#include "extent.cuh"
#include "striped_tile.cuh"
#include "predicate"

// Whether the predicate has exactly a type that is asked for, without conversions.
#if PARAMETRIC
char has_type(bool (*)(Item, Parameters));
char has_type(bool (*)(const Item &, Parameters));
char has_type(bool (*)(Item, const Parameters &));
char has_type(bool (*)(const Item &, const Parameters &));
#else
char has_type(bool (*)(Item));
char has_type(bool (*)(const Item &));
#endif
u64 has_type(...);
static_assert(sizeof(has_type(&keep)) == 1, "keep has another type");

__device__ __forceinline__ bool is_kept(const Item &item, const Parameters &parameters)
{
#if PARAMETRIC
    return keep(item, parameters);
#else
    return keep(item);
#endif
}

constexpr u32 STRIPES = 16;
constexpr u32 TILE_ITEMS = BLOCK_THREADS * STRIPES;
static_assert(TILE_ITEMS <= 1 << 16, "an index within a tile has 16 bits");
// Narrow items are loaded all together, so that their latencies overlap.
constexpr bool IS_NARROW = sizeof(Item) <= sizeof(u32);
using Mine = Item[IS_NARROW ? STRIPES : 1];

// The number of resident blocks per multiprocessor to compile for: inputs with few items have few blocks.
#if __CUDA_ARCH__ < 900
constexpr u32 FEW_BLOCKS = 2, MANY_BLOCKS = 2;
#elif __CUDA_ARCH__ < 1200
constexpr u32 FEW_BLOCKS = 3, MANY_BLOCKS = IS_NARROW && !IS_LONG ? 4 : 3;
#else
constexpr u32 FEW_BLOCKS = 3, MANY_BLOCKS = 3;
#endif
#define SELECT_IF(blocks) extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, blocks)

// Writes 1 for each item that is kept, and 0 for the others.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_if_flags(
    const Item *items, const Word *count, Extent extent, u8 *flags, Parameters parameters)
{
    const u64 place = (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x;
    if (place < extent.item_count(count))
        flags[extent.begin() + place] = is_kept(items[extent.begin() + place], parameters);
}

// Evaluates the predicate for the items of a tile. `mine` receives this thread's items if they are narrow.
__device__ __forceinline__ Ballots<STRIPES> ask(
    const Item *__restrict__ items, u32 left, Mine &mine, const Parameters &parameters)
{
    const bool is_full = left == TILE_ITEMS;
    if constexpr (IS_NARROW) {
#pragma unroll
        for (u32 stripe = 0; stripe < STRIPES; stripe++) {
            const u64 place = striped<STRIPES>(0, stripe);
            if (is_full || place < left) mine[stripe] = items[place];
        }
    }
    return take_ballots<STRIPES>([&](u32 stripe) {
        const u64 place = striped<STRIPES>(0, stripe);
        return (is_full || place < left) && is_kept(IS_NARROW ? mine[IS_NARROW ? stripe : 0] : items[place], parameters);
    });
}

// Gathers the survivors in shared memory, which has the lowest latency.
template <class Order>
__device__ __forceinline__ void gather_tile(
    const Item *__restrict__ items, u32 left, const Extent &extent, Item *__restrict__ out, const Parameters &parameters,
    Order &order)
{
    __shared__ Item gathered[TILE_ITEMS];
    Mine mine;
    const auto ballots = ask(items, left, mine, parameters);
    order.announce(ballots.total);
    for_each_keeper(ballots, [&](u32 rank, u32 stripe) { gathered[rank] = mine[stripe]; });
    const Word begin = order.begin(ballots.total);
    const u32 written = extent.room_for(begin, ballots.total);
    out += begin;
    for (u32 rank = threadIdx.x; rank < written; rank += BLOCK_THREADS) out[rank] = gathered[rank];
}

// Reads the survivors again after ranking: they are still in the cache, and more blocks are resident.
template <class Order>
__device__ __forceinline__ void keep_tile(
    const Item *__restrict__ items, u32 left, const Extent &extent, Item *__restrict__ out, const Parameters &parameters,
    Order &order)
{
    __shared__ u16 kept[TILE_ITEMS];
    Mine mine;
    const auto ballots = ask(items, left, mine, parameters);
    order.announce(ballots.total);
    for_each_keeper(ballots, [&](u32 rank, u32 stripe) { kept[rank] = (u16)striped<STRIPES>(0, stripe); });
    __syncthreads();

    constexpr u32 BATCH = IS_NARROW ? 8 : sizeof(Item) <= 8 ? 4 : 1;
    Item first_ones[BATCH];
#pragma unroll
    for (u32 each = 0; each < BATCH; each++) {
        const u32 rank = threadIdx.x + each * BLOCK_THREADS;
        if (rank < ballots.total) first_ones[each] = items[kept[rank]];
    }
    const Word begin = order.begin(ballots.total);
    const u32 written = extent.room_for(begin, ballots.total);
    out += begin;
#pragma unroll
    for (u32 each = 0; each < BATCH; each++) {
        const u32 rank = threadIdx.x + each * BLOCK_THREADS;
        if (rank < written) out[rank] = first_ones[each];
    }
    for (u32 rank = threadIdx.x + BATCH * BLOCK_THREADS; rank < written; rank += BLOCK_THREADS)
        out[rank] = items[kept[rank]];
}

template <bool FEW>
__device__ __forceinline__ void select_if(
    const Item *items, const Word *count, const Extent &extent, Item *out, Word *selected, u64 *workspace,
    const Parameters &parameters)
{
    Control *const control = (Control *)workspace;
    const auto meanwhile = [&] {
        prefetch_tile<TILE_ITEMS>(items + extent.begin(), extent.items);
        return extent.item_count(count, control);
    };
    const PortionTally so_far = {extent, control, selected};
    in_order<1, TILE_ITEMS>(control, so_far, meanwhile, [&](u32 index, u32 item_total, auto &order) {
        const u32 first = index * TILE_ITEMS;
        const u32 left = min(TILE_ITEMS, item_total - first);
        const Item *const tile = items + extent.begin() + first;
        if constexpr (FEW && IS_NARROW)
            gather_tile(tile, left, extent, out, parameters, order);
        else
            keep_tile(tile, left, extent, out, parameters, order);
    });
}

SELECT_IF(FEW_BLOCKS) select_if_look_back(
    const Item *items, const Word *count, Extent extent, Item *out, Word *selected, u64 *workspace, Parameters parameters)
{
    select_if<true>(items, count, extent, out, selected, workspace, parameters);
}

SELECT_IF(MANY_BLOCKS) select_if_many_look_back(
    const Item *items, const Word *count, Extent extent, Item *out, Word *selected, u64 *workspace, Parameters parameters)
{
    select_if<false>(items, count, extent, out, selected, workspace, parameters);
}
