// select: keeps what is flagged. Contract and source: compaction/src/select.rs.
//
// Reads one byte an item (not zero: keep) and, for `items`, the items; writes the survivors and their number.
// A block takes a tile. A warp of it takes rows of four items a lane, so that flags and items are read in whole lines;
// the survivors are ranked, gathered in shared memory by their ranks, and leave it in whole lines as well.

#include "tile.cuh"

constexpr u32 ALL_ONES = 0xffffffff;

// ----------------------------------------------------------------------------------- where a tile's survivors are put
//
// An order is told first how many survivors the tile has, and asked later where they begin; what lies between hides the
// time that the answer takes. All threads call both; `begin` holds a barrier.

// In the order in which the blocks come. The word counts blocks and survivors at once, so that the last block to come
// knows the sum and leaves the word as it was.
struct AsTheyCome {
    u64 *appended;
    u32 *selected;
    u32 before;

    __device__ __forceinline__ void announce(u32 survivors)
    {
        if (threadIdx.x != 0) return;
        const u64 word = atomicAdd(appended, 1ull << 32 | survivors);
        before = (u32)word;
        if ((u32)(word >> 32) == gridDim.x - 1) {
            *selected = before + survivors;
            store_relaxed(appended, 0);
        }
    }

    __device__ __forceinline__ u32 begin(u32) const { return block_first(before); }
};

// --------------------------------------------------------------------------------------------------- what a tile gives

template <class Order>
__device__ __forceinline__ void keep_indices(
    const u8 *__restrict__ flags, Tile tile, u32 *__restrict__ out, Order &order)
{
    __shared__ u16 kept[TILE_ITEMS];
    const u32 survivors = find_kept(flags, tile, kept, order);
    const u32 begin = order.begin(survivors);
    write_out(out + begin, survivors, [&](u32 rank) { return tile.first + kept[rank]; });
}

// This thread's items of one word, undefined where the tile has none. Reads nothing beyond the tile.
__device__ __forceinline__ void load_words(const u32 *__restrict__ items, Tile tile, u32 (&words)[ROWS][LANE_ITEMS])
{
    const u32 left = items_left(tile);
    items += (u64)tile.first + first_place();
    const bool aligned = is_aligned(items, sizeof(uint4));
    if (aligned) {
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            uint4 four = {};
            if (present(left, row) == LANE_ITEMS) four = *(const uint4 *)(items + row * ROW_ITEMS);
            words[row][0] = four.x, words[row][1] = four.y, words[row][2] = four.z, words[row][3] = four.w;
        }
        if (tile.items % LANE_ITEMS == 0) return;
    }
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        const u32 count = present(left, row);
#pragma unroll
        for (u32 item = 0; item < LANE_ITEMS; item++)
            if ((!aligned || count % LANE_ITEMS != 0) && item < count) words[row][item] = items[row * ROW_ITEMS + item];
    }
}

// Items of one word travel through shared memory: they are read together with the flags.
template <class Order>
__device__ __forceinline__ void keep_words(
    const u32 *__restrict__ items, const u8 *__restrict__ flags, Tile tile, u32 *__restrict__ out, Order &order)
{
    __shared__ u32 kept[TILE_ITEMS];
    u32 marks[ROWS], ranks[ROWS], words[ROWS][LANE_ITEMS];
    load_flags(flags, tile, marks);
    load_words(items, tile, words);
    const u32 survivors = rank_survivors(marks, ranks);
    order.announce(survivors);
    for_each_survivor(marks, ranks, [&](u32 rank, u32 row, u32 item) { kept[rank] = words[row][item]; });

    const u32 begin = order.begin(survivors);
    write_out(out + begin, survivors, [&](u32 rank) { return kept[rank]; });
}

// Wider items are read once it is known which are kept, so that the others are never loaded.
template <class Order>
__device__ __forceinline__ void keep_records(
    const u32 *__restrict__ items, const u8 *__restrict__ flags, Tile tile, u32 *__restrict__ out, Order &order)
{
    __shared__ u16 kept[TILE_ITEMS];
    const u32 survivors = find_kept(flags, tile, kept, order);
    const u32 begin = order.begin(survivors);
    copy_kept<ITEM_WORDS>(items, tile.first, kept, survivors, out, begin);
}

template <class Order>
__device__ __forceinline__ void keep_items(
    const u32 *__restrict__ items, const u8 *__restrict__ flags, Tile tile, u32 *__restrict__ out, Order &order)
{
    if constexpr (ITEM_WORDS == 1)
        keep_words(items, flags, tile, out, order);
    else
        keep_records(items, flags, tile, out, order);
}

// ------------------------------------------------------------------------------------------------------------- kernels

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_indices_look_back(
    const u8 *flags, const u32 *count, u32 capacity, u32 *out, u32 *selected, u64 *workspace)
{
    in_order(count, capacity, selected, (Control *)workspace, [&](Tile tile, InOrder &order) {
        keep_indices(flags, tile, out, order);
    });
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_items_look_back(
    const u32 *items, const u8 *flags, const u32 *count, u32 capacity, u32 *out, u32 *selected, u64 *workspace)
{
    in_order(count, capacity, selected, (Control *)workspace, [&](Tile tile, InOrder &order) {
        keep_items(items, flags, tile, out, order);
    });
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_indices_atomic(
    const u8 *flags, const u32 *count, u32 capacity, u32 *out, u32 *selected, u64 *workspace)
{
    AsTheyCome order = {&((Control *)workspace)->appended, selected, 0};
    keep_indices(flags, tile_at(blockIdx.x, min(*count, capacity)), out, order);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_items_atomic(
    const u32 *items, const u8 *flags, const u32 *count, u32 capacity, u32 *out, u32 *selected, u64 *workspace)
{
    AsTheyCome order = {&((Control *)workspace)->appended, selected, 0};
    keep_items(items, flags, tile_at(blockIdx.x, min(*count, capacity)), out, order);
}

// Writes every word of the tile, those of dropped items as all ones, and counts the kept items.
template <u32 WORDS, class Word>
__device__ __forceinline__ void blank_dropped(
    const u8 *__restrict__ flags, Tile tile, u32 *__restrict__ out, AsTheyCome order, Word word)
{
    const u64 first = (u64)tile.first * WORDS;
    u32 kept = 0;
    write_out(out + first, tile.items * WORDS, [&](u32 place) {
        const bool keep = flags[tile.first + place / WORDS] != 0;
        kept += keep && place % WORDS == 0;
        return keep ? word(first + place) : ALL_ONES;
    });
    order.announce(block_sum_of_warps(warp_sum(kept)).total);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_indices_off(
    const u8 *flags, const u32 *count, u32 capacity, u32 *out, u32 *selected, u64 *workspace)
{
    const AsTheyCome order = {&((Control *)workspace)->appended, selected, 0};
    const Tile tile = tile_at(blockIdx.x, min(*count, capacity));
    blank_dropped<1>(flags, tile, out, order, [](u64 index) { return (u32)index; });
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_items_off(
    const u32 *items, const u8 *flags, const u32 *count, u32 capacity, u32 *out, u32 *selected, u64 *workspace)
{
    const AsTheyCome order = {&((Control *)workspace)->appended, selected, 0};
    const Tile tile = tile_at(blockIdx.x, min(*count, capacity));
    blank_dropped<ITEM_WORDS>(flags, tile, out, order, [&](u64 word) { return items[word]; });
}
