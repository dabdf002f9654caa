// partition: selected items first, rejected items behind them. Contract and source: compaction/src/partition.rs.
//
// Reads one byte per item (nonzero: selected) twice and, for `items`, the items; writes all items and the number of
// selected ones. Inputs counted by 32 bits take one launch; for longer ones, one launch counts and a second one moves.

#include "item_count.cuh"
#include "portions.cuh"
#include "two_way_partition.cuh"
#include "vector.cuh"

// Copies the items at the given indices by the widest vectors, of up to BYTES bytes, that their size and both buffers'
// alignment permit.
template <u32 BYTES = WIDEST_VECTOR>
__device__ __forceinline__ void copy_places(
    const u8 *__restrict__ items, const u16 *places, u32 count, u8 *__restrict__ out)
{
    if constexpr (ITEM_BYTES % BYTES != 0) {
        copy_places<BYTES / 2>(items, places, count, out);
    } else {
        using Part = typename Vector<BYTES>::type;
        constexpr u32 PARTS = ITEM_BYTES / BYTES;
        if (BYTES <= ITEM_ALIGN || (is_aligned(items, BYTES) && is_aligned(out, BYTES)))
            write_out((Part *)out, count * PARTS, [&](u32 part) {
                return ((const Part *)items)[places[part / PARTS] * PARTS + part % PARTS];
            });
        else if constexpr (BYTES > ITEM_ALIGN)
            copy_places<BYTES / 2>(items, places, count, out);
    }
}

// The largest size of items of which a tile passes through shared memory.
constexpr u32 LARGEST_SMALL = 4;

// Writes the indices of a tile's items; `first` is the index of the tile's first item.
template <class Index>
__device__ __forceinline__ void write_indices(
    Tile tile, Index first, const u16 *places, TwoWays ways, Index *selected, Index *rejected)
{
    const auto index = [&](u32 rank) { return first + places[rank]; };
    write_out(selected + ways.selected, ways.survivors, index);
    write_out(rejected + ways.rejected, tile.items - ways.survivors, [&](u32 rank) {
        return index(ways.survivors + rank);
    });
}

__device__ __forceinline__ void write_items(
    Tile tile, const u8 *items, const u16 *places, TwoWays ways, u8 *selected, u8 *rejected)
{
    items += (u64)tile.first * ITEM_BYTES;
    selected += (u64)ways.selected * ITEM_BYTES;
    rejected += (u64)ways.rejected * ITEM_BYTES;
    copy_places(items, places, ways.survivors, selected);
    copy_places(items, places + ways.survivors, tile.items - ways.survivors, rejected);
}

// --------------------------------------------------------------------------------------------------------- one launch

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR) partition_indices(
    const u8 *flags, Input input, u32 *out, u32 *selected, u64 *workspace)
{
    Control *const control = (Control *)workspace;
    two_way(
        (u32)input.number<u32>(control), selected, control,
        [&](Tile tile, u32(&words)[ROWS]) { load_flags(flags, tile, words); },
        [&](Tile tile, const u16 *places, TwoWays ways) { write_indices(tile, tile.first, places, ways, out, out); });
}

// Moves a run of tiles of items of at most 4 bytes through shared memory, so that all reads and writes of device memory
// are coalesced.
template <u32 BYTES, class Load, class WaysOf>
__device__ __forceinline__ void move_small_items(
    const u8 *bytes, u32 begin, u32 end, u32 count, u8 *out, Load load, WaysOf ways_of)
{
    using Item = typename Vector<BYTES>::type;
    struct Fetched {
        Item items[ROWS][WORD_FLAGS];
    };
    __shared__ Item staged[TILE_ITEMS];
    const Item *const items = (const Item *)bytes;
    const bool aligned = is_aligned(items, WORD_FLAGS * BYTES);
    const auto fetch = [&](Tile tile) {
        Fetched fetched;
        const u32 left = items_left(tile);
        const Item *const from = items + tile.first + first_place();
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            const u32 inside = present(left, row);
            if (aligned && inside == WORD_FLAGS) {
                const auto four = *(const typename Vector<WORD_FLAGS * BYTES>::type *)(from + row * SHORT_ROW_ITEMS);
                memcpy(fetched.items[row], &four, sizeof(four));
            } else {
#pragma unroll
                for (u32 item = 0; item < WORD_FLAGS; item++)
                    if (item < inside) fetched.items[row][item] = from[row * SHORT_ROW_ITEMS + item];
            }
        }
        return fetched;
    };
    const auto stage = [&](const Fetched &fetched, Tile tile, const u32(&marks)[ROWS], const u32(&ranks)[ROWS], u32 survivors) {
        place_two_ways(tile, marks, ranks, survivors, [&](u32 to, u32 row, u32 item) {
            staged[to] = fetched.items[row][item];
        });
    };
    move_staged_tiles(begin, end, count, load, fetch, stage, ways_of, [&](Tile tile, TwoWays ways) {
        write_out((Item *)out + ways.selected, ways.survivors, [&](u32 rank) { return staged[rank]; });
        write_out((Item *)out + ways.rejected, tile.items - ways.survivors, [&](u32 rank) {
            return staged[ways.survivors + rank];
        });
    });
}

template <u32 BYTES>
__device__ __forceinline__ void move_items(
    const u8 *items, const u8 *flags, u32 count, u8 *out, u32 *selected, Control *control)
{
    const auto load = [&](Tile tile, u32(&words)[ROWS]) { load_flags(flags, tile, words); };
    if constexpr (BYTES <= LARGEST_SMALL && BYTES == ITEM_ALIGN)
        two_way_by(count, selected, control, load, [&](u32 begin, u32 end, u32 all, auto ways_of) {
            move_small_items<BYTES>(items, begin, end, all, out, load, ways_of);
        });
    else
        two_way(count, selected, control, load, [&](Tile tile, const u16 *places, TwoWays ways) {
            write_items(tile, items, places, ways, out, out);
        });
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 3) partition_items(
    const u8 *items, const u8 *flags, Input input, u8 *out, u32 *selected,
    u64 *workspace)
{
    Control *const control = (Control *)workspace;
    move_items<ITEM_BYTES>(items, flags, (u32)input.number<u32>(control), out, selected, control);
}

// -------------------------------------------------------------------------------------- one to count, and one to move

// Counts the selected items of each block's portion.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) partition_count(
    const u8 *flags, Input input, u32 *counts, u64 *workspace)
{
    const u64 items = input.number((Control *)workspace);
    const Portion portion = block_portion(items, TILE_ITEMS);
    flags += portion.first;
    const auto load = [&](Tile tile, u32(&words)[ROWS]) { load_flags(flags, tile, words); };
    const u32 selected = count_tiles(0, tile_count(portion.items, TILE_ITEMS), portion.items, load);
    if (threadIdx.x == 0) counts[blockIdx.x] = selected;
}

// Moves the items of each block's portion. write(portion, selected_from, rejected_from, tile, places, ways) receives
// the output positions of the portion's selected and rejected items; the ways are relative to them.
template <class Write>
__device__ __forceinline__ void move_portion(
    const u8 *flags, Input input, const u32 *counts, u32 *selected,
    u64 *workspace, Write write)
{
    const u64 items = input.number((Control *)workspace);
    const Portion portion = block_portion(items, TILE_ITEMS);
    u64 before = 0, total = 0;
    for (u32 other = threadIdx.x; other < gridDim.x; other += BLOCK_THREADS) {
        before += other < blockIdx.x ? counts[other] : 0;
        total += counts[other];
    }
    before = block_fold_of_warps<Sum<u64>>(warp_fold<Sum<u64>>(before)).total;
    __syncthreads();
    total = block_fold_of_warps<Sum<u64>>(warp_fold<Sum<u64>>(total)).total;
    if (blockIdx.x == 0 && threadIdx.x == 0) write_count(selected, input.count_words, 0, total);

    flags += portion.first;
    const u64 rejected = total + portion.first - before;
    move_tiles(
        0, tile_count(portion.items, TILE_ITEMS), portion.items,
        [&](Tile tile, u32(&words)[ROWS]) { load_flags(flags, tile, words); }, [](Tile) { return TwoWays{}; },
        [&](Tile tile, const u16 *places, TwoWays ways) { write(portion, before, rejected, tile, places, ways); });
}

#define MOVE_PARAMS                                                                                                \
    const u8 *flags, Input input, const u32 *counts, u8 *out,    \
        u32 *selected, u64 *workspace

template <class Index>
__device__ __forceinline__ void move_indices(MOVE_PARAMS)
{
    move_portion(
        flags, input, counts, selected, workspace,
        [&](Portion portion, u64 selected_from, u64 rejected_from, Tile tile, const u16 *places, TwoWays ways) {
            const Index first = (Index)portion.first + tile.first;
            write_indices(tile, first, places, ways, (Index *)out + selected_from, (Index *)out + rejected_from);
        });
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) partition_move_indices(MOVE_PARAMS)
{
    move_indices<u32>(flags, input, counts, out, selected, workspace);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) partition_move_wide_indices(MOVE_PARAMS)
{
    move_indices<u64>(flags, input, counts, out, selected, workspace);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) partition_move_items(const u8 *items, MOVE_PARAMS)
{
    move_portion(
        flags, input, counts, selected, workspace,
        [&](Portion portion, u64 selected_from, u64 rejected_from, Tile tile, const u16 *places, TwoWays ways) {
            write_items(
                tile, items + portion.first * ITEM_BYTES, places, ways, out + selected_from * ITEM_BYTES,
                out + rejected_from * ITEM_BYTES);
        });
}
