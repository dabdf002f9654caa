// select_columns: keeps what is flagged of several columns. Contract and source: compaction/src/select_columns.rs.
//
// Reads one byte an item (not zero: keep), and of each column the items that are kept; writes these and their number. All
// columns' reads of a batch are under way at once, and those of the first while the block looks back.

#include "order.cuh"
#include "tile.cuh"

constexpr u32 WINDOWS = 4;  // of states: the first blocks all start together, and look far back

constexpr u32 WORDS[] = {WORDS_0, WORDS_1, WORDS_2, WORDS_3, WORDS_4, WORDS_5, WORDS_6, WORDS_7};

struct Columns {
    const u32 *from[8];
    u32 *to[8];
};

template <u32 WORDS>
struct Vector;
template <>
struct Vector<1> {
    using type = u32;
};
template <>
struct Vector<2> {
    using type = uint2;
};
template <>
struct Vector<4> {
    using type = uint4;
};

// The words of the vectors that a column is copied by.
constexpr u32 part_words(u32 words, bool vectors) { return !vectors ? 1 : words % 4 == 0 ? 4 : words % 2 == 0 ? 2 : 1; }

template <bool VECTORS>
constexpr u32 batch()
{
    u32 held = 0;
    for (u32 column = 0; column < COLUMNS; column++) held += part_words(WORDS[column], VECTORS);
    return held > HELD_WORDS ? 1 : HELD_WORDS / held < 4 ? HELD_WORDS / held : 4;
}

template <bool VECTORS>
constexpr u32 most_parts()
{
    u32 most = 0;
    for (u32 column = 0; column < COLUMNS; column++) {
        const u32 parts = WORDS[column] / part_words(WORDS[column], VECTORS);
        most = parts > most ? parts : most;
    }
    return most;
}

// What a thread holds of the columns from COLUMN on, between their reads and their writes.
template <bool VECTORS, u32 COLUMN>
struct Batch {
    static constexpr u32 PARTS = WORDS[COLUMN] / part_words(WORDS[COLUMN], VECTORS);
    using Part = typename Vector<part_words(WORDS[COLUMN], VECTORS)>::type;
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

// Copies the kept items of a tile. The first batch is under way while the order looks for the place.
template <bool VECTORS, class Order>
__device__ __forceinline__ void move_kept(
    const Columns &columns, u32 first, const u16 *kept, u32 survivors, Order &order)
{
    Batch<VECTORS, 0> held;
    held.load(columns, first, kept, survivors, threadIdx.x);
    const u32 begin = order.begin(survivors);
    held.store(columns, begin, survivors, threadIdx.x);
    constexpr u32 STEP = batch<VECTORS>() * BLOCK_THREADS;
    for (u32 part = threadIdx.x + STEP; part < survivors * most_parts<VECTORS>(); part += STEP) {
        held.load(columns, first, kept, survivors, part);
        held.store(columns, begin, survivors, part);
    }
}

// Whether each column lies on the vectors that it would be copied by.
__device__ __forceinline__ bool lie_on_vectors(const Columns &columns)
{
    bool aligned = true;
#pragma unroll
    for (u32 column = 0; column < COLUMNS; column++) {
        const u32 bytes = sizeof(u32) * part_words(WORDS[column], true);
        aligned &= is_aligned(columns.from[column], bytes) && is_aligned(columns.to[column], bytes);
    }
    return aligned;
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) select_columns(
    const u32 *from_0, const u32 *from_1, const u32 *from_2, const u32 *from_3, const u32 *from_4, const u32 *from_5,
    const u32 *from_6, const u32 *from_7, const u8 *flags, const u32 *count, u32 capacity, u32 is_given, u32 *to_0,
    u32 *to_1, u32 *to_2, u32 *to_3, u32 *to_4, u32 *to_5, u32 *to_6, u32 *to_7, u32 *selected, u64 *workspace)
{
    __shared__ u16 kept[TILE_ITEMS];
    const Columns columns = {
        {from_0, from_1, from_2, from_3, from_4, from_5, from_6, from_7}, {to_0, to_1, to_2, to_3, to_4, to_5, to_6, to_7}};
    Control *const control = (Control *)workspace;
    const auto meanwhile = [&] {
        prefetch_tile<TILE_ITEMS>(flags, capacity);
        return item_count(count, capacity, is_given, control);
    };
    in_order<WINDOWS, TILE_ITEMS>(control, selected, meanwhile, [&](u32 index, u32 items, auto &order) {
        const Tile tile = tile_at(index, items, TILE_ITEMS);
        const auto found = find_survivors<1>(flags, tile);
        order.announce(found.total);
        gather_places(found, kept);
        __syncthreads();
        if (lie_on_vectors(columns))
            move_kept<true>(columns, tile.first, kept, found.total, order);
        else
            move_kept<false>(columns, tile.first, kept, found.total, order);
    });
}
