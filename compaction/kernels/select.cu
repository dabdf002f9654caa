// select: keeps what is flagged. Contract and source: compaction/src/select.rs.
//
// Reads one byte an item (not zero: keep) and, for `items`, the items; writes the survivors and their number.
// A block takes a tile. A warp of it takes rows of four items a lane, so that flags and items are read in whole lines;
// the survivors are ranked, gathered in shared memory by their ranks, and leave it in whole lines as well.

#include "look_back.cuh"

constexpr u32 LANE_ITEMS = 4;  // in a row: one word of flags
constexpr u32 ROWS = ITEMS_PER_THREAD / LANE_ITEMS;
constexpr u32 ROW_ITEMS = LANE_ITEMS * WARP_THREADS;
constexpr u32 TILE_ITEMS = BLOCK_THREADS * ITEMS_PER_THREAD;
constexpr u32 ITEM_BYTES = ITEM_WORDS * sizeof(u32);
constexpr u32 ALL_ONES = 0xffffffff;
static_assert(ITEMS_PER_THREAD % 16 == 0, "the counts of four rows are added up in one word");
static_assert(TILE_ITEMS <= 1 << 16, "an item's place in its tile is held in 16 bits");

__device__ __forceinline__ bool is_aligned(const void *address, u32 bytes) { return (u64)address % bytes == 0; }

// ------------------------------------------------------------------------------------------------ tiles and their rows

struct Tile {
    u32 first;  // index of its first item
    u32 items;  // how many it has; 0 beyond the end
};

__device__ __forceinline__ u32 tile_count(u32 items) { return items / TILE_ITEMS + (items % TILE_ITEMS != 0); }

__device__ __forceinline__ Tile tile_at(u32 index, u32 items)
{
    if (index >= tile_count(items)) return {0, 0};
    const u32 first = index * TILE_ITEMS;
    return {first, min(TILE_ITEMS, items - first)};
}

// The place in the tile of this thread's first item; that of its first item in a row is ROW_ITEMS more with each row.
__device__ __forceinline__ u32 first_place() { return warp_index() * ROWS * ROW_ITEMS + lane_index() * LANE_ITEMS; }

// How many items the tile has from this thread's first one on.
__device__ __forceinline__ u32 items_left(Tile tile)
{
    return first_place() < tile.items ? tile.items - first_place() : 0;
}

// How many of this thread's four items of a row the tile has.
__device__ __forceinline__ u32 present(u32 left, u32 row)
{
    return left > row * ROW_ITEMS ? min(LANE_ITEMS, left - row * ROW_ITEMS) : 0;
}

// ------------------------------------------------------------------------------------------------------ flags to ranks

__device__ __forceinline__ u32 load_flags_bytewise(const u8 *flags, u32 count)
{
    u32 word = 0;
#pragma unroll
    for (u32 item = 0; item < LANE_ITEMS; item++)
        if (item < count) word |= (u32)flags[item] << 8 * item;
    return word;
}

// This thread's flags, a row's four in a word; 0 where the tile has none. Reads nothing beyond the tile.
__device__ __forceinline__ void load_flags(const u8 *__restrict__ flags, Tile tile, u32 (&words)[ROWS])
{
    const u32 left = items_left(tile);
    flags += (u64)tile.first + first_place();
    const bool aligned = is_aligned(flags, LANE_ITEMS);
    if (aligned) {
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            words[row] = 0;
            if (present(left, row) == LANE_ITEMS) words[row] = *(const u32 *)(flags + row * ROW_ITEMS);
        }
        // At most one thread has a word that the tile does not fill.
        if (tile.items % LANE_ITEMS == 0) return;
    }
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        const u32 count = present(left, row);
        if (!aligned || count % LANE_ITEMS != 0) words[row] = load_flags_bytewise(flags + row * ROW_ITEMS, count);
    }
}

// 1 in each byte that is not zero, else 0.
__device__ __forceinline__ u32 marks_of(u32 flags)
{
    return (((flags & 0x7f7f7f7f) + 0x7f7f7f7f) | flags) >> 7 & 0x01010101;
}

// Turns flags into marks, and ranks the tile's survivors: ranks[row] is where the first of this thread's in that row
// goes. Returns their number. Holds one barrier.
__device__ __forceinline__ u32 rank_survivors(u32 (&marks)[ROWS], u32 (&ranks)[ROWS])
{
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) marks[row] = marks_of(marks[row]);

    u32 warp_survivors = 0;
#pragma unroll
    for (u32 four_rows = 0; four_rows < ROWS; four_rows += 4) {
        // A row has at most 128 survivors, so four rows are added up at once, a byte each.
        u32 counts = 0;
#pragma unroll
        for (u32 row = 0; row < 4; row++) counts |= __popc(marks[four_rows + row]) << 8 * row;
        const u32 inclusive = warp_inclusive_sum(counts);
        const u32 exclusive = inclusive - counts;
        const u32 totals = warp_last(inclusive);
#pragma unroll
        for (u32 row = 0; row < 4; row++) {
            ranks[four_rows + row] = warp_survivors + (exclusive >> 8 * row & 0xff);
            warp_survivors += totals >> 8 * row & 0xff;
        }
    }
    const BlockSum sum = block_sum_of_warps(warp_survivors);
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) ranks[row] += sum.before;
    return sum.total;
}

// Calls put(rank, row, item) for each of this thread's survivors; item is 0 to 3.
template <class Put>
__device__ __forceinline__ void for_each_survivor(const u32 (&marks)[ROWS], const u32 (&ranks)[ROWS], Put put)
{
#pragma unroll
    for (u32 row = 0; row < ROWS; row++) {
        u32 rank = ranks[row];
#pragma unroll
        for (u32 item = 0; item < LANE_ITEMS; item++)
            if (marks[row] >> 8 * item & 1) put(rank++, row, item);
    }
}

// ----------------------------------------------------------------------------------- where a tile's survivors are put
//
// An order is told first how many survivors the tile has, and asked later where they begin; what lies between hides the
// time that the answer takes. All threads call both; `begin` holds a barrier.

// In the order of the items.
struct InOrder {
    LookBack look_back;
    bool is_last_tile;
    u32 *selected;

    __device__ __forceinline__ void announce(u32 survivors) const
    {
        if (threadIdx.x == 0) look_back.publish(look_back.ticket.tile == 0 ? INCLUSIVE : AGGREGATE, survivors);
        __syncwarp();  // Without it ptxas puts the store off until all that follows is written to shared memory.
    }

    __device__ __forceinline__ u32 begin(u32 survivors) const
    {
        u32 before = 0;
        if (warp_index() == 0) {
            before = look_back.walk();
            if (lane_index() == 0) {
                if (look_back.ticket.tile != 0) look_back.publish(INCLUSIVE, before + survivors);
                if (is_last_tile) *selected = before + survivors;
            }
        }
        return block_first(before);
    }
};

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

// Writes value(0), value(1), ... to `to`, neighbours by neighbours. The values of a batch are all asked for before the
// first is written, so that a thread waits for its reads together.
template <class Part, class Value>
__device__ __forceinline__ void write_out(Part *to, u32 count, Value value)
{
    constexpr u32 BATCH = 4;
    for (u32 first = threadIdx.x; first < count; first += BATCH * BLOCK_THREADS) {
        Part batch[BATCH];
#pragma unroll
        for (u32 part = 0; part < BATCH; part++)
            if (first + part * BLOCK_THREADS < count) batch[part] = value(first + part * BLOCK_THREADS);
#pragma unroll
        for (u32 part = 0; part < BATCH; part++)
            if (first + part * BLOCK_THREADS < count) to[first + part * BLOCK_THREADS] = batch[part];
    }
}

// Finds the places of the tile's kept items, in order, and announces how many they are, which it returns.
template <class Order>
__device__ __forceinline__ u32 find_kept(
    const u8 *__restrict__ flags, Tile tile, u16 (&kept)[TILE_ITEMS], Order &order)
{
    u32 marks[ROWS], ranks[ROWS];
    load_flags(flags, tile, marks);
    const u32 survivors = rank_survivors(marks, ranks);
    order.announce(survivors);
    for_each_survivor(marks, ranks, [&](u32 rank, u32 row, u32 item) {
        kept[rank] = (u16)(first_place() + row * ROW_ITEMS + item);
    });
    return survivors;
}

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

// Copies the kept items of a tile in parts of one vector each.
template <class Part>
__device__ __forceinline__ void copy_kept(
    const u32 *__restrict__ items, Tile tile, const u16 *kept, u32 survivors, u32 *__restrict__ out, u32 begin)
{
    constexpr u32 PARTS = ITEM_BYTES / sizeof(Part);
    const Part *from = (const Part *)items + (u64)tile.first * PARTS;
    Part *to = (Part *)out + (u64)begin * PARTS;
    write_out(to, survivors * PARTS, [&](u32 part) { return from[kept[part / PARTS] * PARTS + part % PARTS]; });
}

// Wider items are read once it is known which are kept, so that the others are never loaded.
template <class Order>
__device__ __forceinline__ void keep_records(
    const u32 *__restrict__ items, const u8 *__restrict__ flags, Tile tile, u32 *__restrict__ out, Order &order)
{
    __shared__ u16 kept[TILE_ITEMS];
    const u32 survivors = find_kept(flags, tile, kept, order);
    const u32 begin = order.begin(survivors);
    // By the widest vector that items are made of and lie on.
    if constexpr (ITEM_BYTES % sizeof(uint4) == 0)
        if (is_aligned(items, sizeof(uint4)) && is_aligned(out, sizeof(uint4)))
            return copy_kept<uint4>(items, tile, kept, survivors, out, begin);
    if constexpr (ITEM_BYTES % sizeof(uint2) == 0)
        if (is_aligned(items, sizeof(uint2)) && is_aligned(out, sizeof(uint2)))
            return copy_kept<uint2>(items, tile, kept, survivors, out, begin);
    copy_kept<u32>(items, tile, kept, survivors, out, begin);
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

// Runs keep(tile, order) for the tile that this block draws.
template <class Keep>
__device__ __forceinline__ void in_order(const u32 *count, u32 capacity, u32 *selected, Control *control, Keep keep)
{
    Ticket ticket;
    const u32 items = draw_ticket(control, ticket, [&] { return min(*count, capacity); });

    // Without items the first tile is still there, to say that nothing was kept.
    const u32 tiles = max(1u, tile_count(items));
    if (ticket.tile < tiles) {
        InOrder order = {{control->states(), ticket}, ticket.tile == tiles - 1, selected};
        keep(tile_at(ticket.tile, items), order);
    }
    retire(control, ticket.epoch);
}

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
