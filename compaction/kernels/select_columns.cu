// select_columns: keeps the flagged items of several columns. Contract and source: compaction/src/select_columns.rs.
//
// Reads one byte per item (nonzero: selected) and, from each column, the selected items; writes these and their number.
// The loads of a batch from all columns are in flight together, and those of the first batch during look-back.

#include "order.cuh"
#include "item_count.cuh"
#include "portions.cuh"
#include "tile.cuh"
#include "vector.cuh"

constexpr u32 BYTES[] = {BYTES_0, BYTES_1, BYTES_2, BYTES_3, BYTES_4, BYTES_5, BYTES_6, BYTES_7};
constexpr u32 WINDOWS = 1;  // 32-state windows that a look-back reads at once

struct Columns {
    const u8 *from[8];
    u8 *to[8];
};

// The size in bytes of the vectors by which a column is copied: the widest ones into which its items can be divided, or
// those to which its items are always aligned.
constexpr u32 part_bytes(u32 bytes, bool vectors)
{
    const u32 widest = vectors ? WIDEST_VECTOR : 4;
    u32 part = 1;
    while (part < widest && bytes % (2 * part) == 0) part *= 2;
    return vectors || part == 4 ? part : 1;
}

// Vectors of each column that a thread holds at once.
template <bool VECTORS>
constexpr u32 batch()
{
    u32 held = 0;
    for (u32 column = 0; column < COLUMNS; column++) {
        const u32 part = part_bytes(BYTES[column], VECTORS);
        held += part < 4 ? 4 : part;
    }
    return held > BATCH_BYTES ? 1 : BATCH_BYTES / held < 4 ? BATCH_BYTES / held : 4;
}

template <bool VECTORS>
constexpr u32 most_parts()
{
    u32 most = 0;
    for (u32 column = 0; column < COLUMNS; column++) {
        const u32 parts = BYTES[column] / part_bytes(BYTES[column], VECTORS);
        most = parts > most ? parts : most;
    }
    return most;
}

// The vectors of the columns from COLUMN on that a thread holds between loading and storing them.
template <bool VECTORS, u32 COLUMN>
struct Batch {
    static constexpr u32 PART_BYTES = part_bytes(BYTES[COLUMN], VECTORS), PARTS = BYTES[COLUMN] / PART_BYTES;
    using Part = typename Vector<PART_BYTES>::type;
    Part parts[batch<VECTORS>()];
    Batch<VECTORS, COLUMN + 1> rest;

    __device__ __forceinline__ void load(const Columns &columns, u32 first, const u16 *kept, u32 survivors, u32 part)
    {
        const Part *from = (const Part *)columns.from[COLUMN] + (u64)first * PARTS;
#pragma unroll
        for (u32 held = 0; held < batch<VECTORS>(); held++) {
            const u32 at = part + held * BLOCK_THREADS;
            if (at < survivors * PARTS) parts[held] = from[kept[at / PARTS] * PARTS + at % PARTS];
        }
        rest.load(columns, first, kept, survivors, part);
    }

    __device__ __forceinline__ void store(const Columns &columns, u32 begin, u32 survivors, u32 part) const
    {
        Part *to = (Part *)columns.to[COLUMN] + (u64)begin * PARTS;
#pragma unroll
        for (u32 held = 0; held < batch<VECTORS>(); held++) {
            const u32 at = part + held * BLOCK_THREADS;
            if (at < survivors * PARTS) to[at] = parts[held];
        }
        rest.store(columns, begin, survivors, part);
    }
};

template <bool VECTORS>
struct Batch<VECTORS, COLUMNS> {
    __device__ __forceinline__ void load(const Columns &, u32, const u16 *, u32, u32) {}
    __device__ __forceinline__ void store(const Columns &, u32, u32, u32) const {}
};

// Copies the selected items of a tile, as many as there is room for in outputs of `room` items. The first batch is loaded
// while the order finds the output position.
template <bool VECTORS, class Order>
__device__ __forceinline__ void move_kept(
    const Columns &columns, u32 room, u32 first, const u16 *kept, u32 survivors, Order &order)
{
    Batch<VECTORS, 0> held;
    held.load(columns, first, kept, survivors, threadIdx.x);
    const u32 begin = order.begin(survivors);
    survivors = min(survivors, room - min(room, begin));
    held.store(columns, begin, survivors, threadIdx.x);
    constexpr u32 STEP = batch<VECTORS>() * BLOCK_THREADS;
    for (u32 part = threadIdx.x + STEP; part < survivors * most_parts<VECTORS>(); part += STEP) {
        held.load(columns, first, kept, survivors, part);
        held.store(columns, begin, survivors, part);
    }
}

// Whether each column is aligned to the vectors by which it would be copied.
__device__ __forceinline__ bool lie_on_vectors(const Columns &columns)
{
    bool aligned = true;
#pragma unroll
    for (u32 column = 0; column < COLUMNS; column++) {
        const u32 bytes = part_bytes(BYTES[column], true);
        aligned &= is_aligned(columns.from[column], bytes) && is_aligned(columns.to[column], bytes);
    }
    return aligned;
}

template <class Order>
__device__ __forceinline__ void keep_columns(
    const Columns &columns, u32 room, const u8 *flags, Tile tile, Order &order)
{
    __shared__ u16 kept[TILE_ITEMS];
    const auto found = find_survivors<1>(flags, tile);
    order.announce(found.total);
    gather_places(found, kept);
    __syncthreads();
    if (lie_on_vectors(columns))
        move_kept<true>(columns, room, tile.first, kept, found.total, order);
    else
        move_kept<false>(columns, room, tile.first, kept, found.total, order);
}

// `room` is the length of the outputs: items that would be written behind it are counted, but not written.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_columns(
    const u8 *from_0, const u8 *from_1, const u8 *from_2, const u8 *from_3, const u8 *from_4, const u8 *from_5,
    const u8 *from_6, const u8 *from_7, const u8 *flags, Input input, u32 room, u8 *to_0, u8 *to_1,
    u8 *to_2, u8 *to_3, u8 *to_4, u8 *to_5, u8 *to_6, u8 *to_7, u32 *selected, u64 *workspace)
{
    const Columns columns = {
        {from_0, from_1, from_2, from_3, from_4, from_5, from_6, from_7}, {to_0, to_1, to_2, to_3, to_4, to_5, to_6, to_7}};
    Control *const control = (Control *)workspace;
    const auto meanwhile = [&] {
        prefetch_tile<TILE_ITEMS>(flags, (u32)input.capacity);
        return (u32)input.number<u32>(control);
    };
    in_order<WINDOWS, TILE_ITEMS>(control, selected, meanwhile, [&](u32 index, u32 items, auto &order) {
        keep_columns(columns, room, flags, tile_at(index, items, TILE_ITEMS), order);
    });
}

// The range of items of a launch of a call that counts by 64 bits. Columns and flags begin at its first item.
struct ColumnsPortion {
    u64 first;   // index of its first item
    u64 room;    // length of the outputs: items that would be written behind it are counted, but not written
    u32 number;  // number of this portion, counted from 0
    u32 items;   // largest possible number of items of the launch
};

// Writes the number of selected items of each portion to `kept`. Earlier launches have written those of earlier
// portions.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_columns_portion(
    const u8 *from_0, const u8 *from_1, const u8 *from_2, const u8 *from_3, const u8 *from_4, const u8 *from_5,
    const u8 *from_6, const u8 *from_7, const u8 *flags, Input input, ColumnsPortion portion, u8 *to_0, u8 *to_1,
    u8 *to_2, u8 *to_3, u8 *to_4, u8 *to_5, u8 *to_6, u8 *to_7, u32 *kept, u32 *selected, u64 *workspace)
{
    Columns columns = {
        {from_0, from_1, from_2, from_3, from_4, from_5, from_6, from_7}, {to_0, to_1, to_2, to_3, to_4, to_5, to_6, to_7}};
    Control *const control = (Control *)workspace;
    u64 before = 0;
    for (u32 other = 0; other < portion.number; other++) before += kept[other];
    const u32 room = (u32)min(portion.room - min(portion.room, before), (u64)portion.items);
#pragma unroll
    for (u32 column = 0; column < COLUMNS; column++) columns.to[column] += before * BYTES[column];

    const auto meanwhile = [&] {
        const u64 items = input.number(control);
        return (u32)min((u64)portion.items, items - min(items, portion.first));
    };
    u32 *const kept_here = kept + portion.number;
    in_order<WINDOWS, TILE_ITEMS>(control, kept_here, meanwhile, [&](u32 index, u32 items, auto &order) {
        keep_columns(columns, room, flags, tile_at(index, items, TILE_ITEMS), order);
        // This thread has just written that number.
        if (order.is_last_tile && threadIdx.x == 0) write_count(selected, input.count_words, 0, before + *kept_here);
    });
}
