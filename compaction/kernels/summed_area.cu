// summed_area: for each entry of a table, the sum of the rectangle from the first entry to it. Contract and source:
// compaction/src/summed_area.rs.
//
// Reads `width` times `height` items, stored row by row, and writes as many.

#include "look_back.cuh"
#include "async_copy.cuh"

using Monoid = Sum<ITEM>;
using Value = Monoid::Value;
using ItemState = State<Value>;

constexpr u32 LANE_ITEMS = LANE_BYTES / sizeof(ITEM);
constexpr u32 ROW_ITEMS = LANE_ITEMS * WARP_THREADS;

struct alignas(LANE_BYTES) Vector {
    ITEM items[LANE_ITEMS];
};

__device__ __forceinline__ bool is_aligned(const void *address) { return (u64)address % sizeof(Vector) == 0; }

// Loads this lane's items of a row; `left` items are present from its first one on, and the others are 0.
__device__ __forceinline__ Vector load_items(const ITEM *from, u32 left)
{
    Vector vector;
#pragma unroll
    for (u32 item = 0; item < LANE_ITEMS; item++) vector.items[item] = item < left ? from[item] : 0;
    return vector;
}

__device__ __forceinline__ void store_items(ITEM *to, u32 left, const Vector &vector)
{
#pragma unroll
    for (u32 item = 0; item < LANE_ITEMS; item++)
        if (item < left) to[item] = vector.items[item];
}

// Adds `left` to each value.
__device__ __forceinline__ void add_to_all(Value left, Value (&values)[LANE_ITEMS])
{
#pragma unroll
    for (u32 item = 0; item < LANE_ITEMS; item++) values[item] = Monoid::combine(left, values[item]);
}

__device__ __forceinline__ void lift(const Vector &vector, Value (&values)[LANE_ITEMS])
{
#pragma unroll
    for (u32 item = 0; item < LANE_ITEMS; item++) values[item] = Monoid::lift(vector.items[item]);
}

__device__ __forceinline__ Vector lowered(const Value (&values)[LANE_ITEMS])
{
    Vector vector;
#pragma unroll
    for (u32 item = 0; item < LANE_ITEMS; item++) vector.items[item] = Monoid::lower(values[item]);
    return vector;
}

// Replaces a warp's items of a row by their prefixes. Returns their sum, in every lane.
__device__ __forceinline__ Value scan_row(Value (&values)[LANE_ITEMS])
{
#pragma unroll
    for (u32 item = 1; item < LANE_ITEMS; item++) values[item] = Monoid::combine(values[item - 1], values[item]);
    const Value inclusive = warp_inclusive<Monoid>(values[LANE_ITEMS - 1]);
    const Value below = __shfl_up_sync(ALL_LANES, inclusive, 1);
    add_to_all(lane_index() == 0 ? Monoid::identity() : below, values);
    return warp_last(inclusive);
}

// ----------------------------------------------------------------------------------------------------------- single-pass
//
//
// A block takes a tile, in row-major order, and looks back twice: to the left for the sums of its rows, and then, with
// the complete rows, up for the sums of its columns. It publishes one state per row and column, so that no other memory
// has to be ordered by them.
//
// The last tile of each GROUP tiles of a line publishes an inclusive prefix, the others only their aggregates. So sums
// are combined by a tree that depends on positions alone, independent of the progress of other blocks.

constexpr u32 TILE_ROWS = BLOCK_WARPS * WARP_ROWS;
constexpr u32 TILE_COLUMNS = ROW_ITEMS;
constexpr u32 GROUP = 16;
static_assert(WARP_THREADS % WARP_ROWS == 0, "the lanes of a warp share its rows evenly");
static_assert(BLOCK_THREADS % TILE_COLUMNS == 0, "the threads of a block share its columns evenly");

// A row or column of tiles along which a block looks back, for this thread's row or column of items.
struct Line {
    u64 *states;   // state of this row or column in the first tile of the line
    u64 stride;    // 8-byte words from one tile of the line to the next
    u32 position;  // index of the block's tile in the line
    u32 epoch;

    __device__ __forceinline__ u64 *at(u32 tile) const { return states + tile * stride; }

    __device__ __forceinline__ bool is_last_of_group() const { return position % GROUP == GROUP - 1; }

    __device__ __forceinline__ void publish(Status status, Value value) const
    {
        ItemState::of(epoch << STATUS_BITS | status, value).store(at(position));
    }

    // The part of the exclusive prefix that this thread reads, as one of SHARE threads. The combined results of these
    // threads are the exclusive prefix.
    template <u32 SHARE>
    __device__ __forceinline__ Value look_back(u32 share) const
    {
        constexpr u32 READS = GROUP / SHARE;
        // From the last tile of the previous group to the tile before the block's own.
        const u32 group_first = position / GROUP * GROUP;
        ItemState read[READS];
#pragma unroll
        for (u32 step = 0; step < READS; step++) {
            const u32 next = group_first + step * SHARE + share;  // index of the tile plus one
            if (next > 0 && next <= position) read[step].load(at(next - 1));
        }
        Value sum = Monoid::identity();
#pragma unroll
        for (u32 step = 0; step < READS; step++) {
            const u32 next = group_first + step * SHARE + share;
            if (next == 0 || next > position) continue;
            while (read[step].status(epoch) == PENDING) read[step].load(at(next - 1));
            sum = Monoid::combine(sum, read[step].value());
        }
        return sum;
    }
};

// A block's tile in shared memory. Each thread only accesses its own vectors.
using Staged = Vector[WARP_ROWS][BLOCK_THREADS];

struct Table {
    u32 width, height;
    u32 tiles_across;
    u32 tile_x, tile_y;

    __device__ __forceinline__ Table(u32 width, u32 height, u32 tile)
        : width(width), height(height), tiles_across(width / TILE_COLUMNS + (width % TILE_COLUMNS != 0)),
          tile_x(tile % tiles_across), tile_y(tile / tiles_across)
    {
    }

    __device__ __forceinline__ u32 column() const { return tile_x * TILE_COLUMNS + lane_index() * LANE_ITEMS; }
    __device__ __forceinline__ u32 first_row() const { return tile_y * TILE_ROWS + warp_index() * WARP_ROWS; }
    __device__ __forceinline__ u64 first_index() const { return (u64)first_row() * width + column(); }

    // The number of items of this lane's vector and behind it in a row; 0 outside the table.
    __device__ __forceinline__ u32 left(u32 row) const
    {
        return first_row() + row < height && column() < width ? width - column() : 0;
    }

    // Whether the block's tile lies completely inside the table, with aligned vectors.
    __device__ __forceinline__ bool is_whole(const ITEM *first) const
    {
        return (tile_x + 1) * TILE_COLUMNS <= width && (tile_y + 1) * TILE_ROWS <= height &&
               width % LANE_ITEMS == 0 && is_aligned(first);
    }

    __device__ __forceinline__ void load(const ITEM *items, Staged &staged) const
    {
        const bool whole = is_whole(items);
        const ITEM *from = items + first_index();
#pragma unroll
        for (u32 row = 0; row < WARP_ROWS; row++, from += width) {
            if (whole)
                stage(&staged[row][threadIdx.x], from);
            else
                staged[row][threadIdx.x] = load_items(from, left(row));
        }
        await_stage();
    }
};

// The row of its warp whose sum this lane keeps.
__device__ __forceinline__ u32 own_row() { return lane_index() % WARP_ROWS; }

// The prefix of this lane's own row before the tile, by looking back to the left. `total` is the sum of that row in the
// tile.
__device__ __forceinline__ Value sum_left(u64 *states, const Table &table, u32 epoch, Value total)
{
    constexpr u32 SHARE = WARP_THREADS / WARP_ROWS;
    const u64 stride = TILE_ROWS * ItemState::WORDS;
    const u64 first = (u64)table.tile_y * table.tiles_across * stride;
    const Line line = {
        states + first + (warp_index() * WARP_ROWS + own_row()) * ItemState::WORDS, stride, table.tile_x, epoch};
    const bool publishes = lane_index() < WARP_ROWS;
    if (publishes && !line.is_last_of_group()) line.publish(AGGREGATE, total);
    __syncwarp();
    Value before = line.look_back<SHARE>(lane_index() / WARP_ROWS);
    __syncwarp();
#pragma unroll
    for (u32 distance = WARP_ROWS; distance < WARP_THREADS; distance *= 2)
        before = Monoid::combine(__shfl_xor_sync(ALL_LANES, before, distance), before);
    if (publishes && line.is_last_of_group()) line.publish(INCLUSIVE, Monoid::combine(before, total));
    return before;
}

// The columns of a lane.
struct alignas(LANE_BYTES) Columns {
    Value values[LANE_ITEMS];
};

// Replaces the warps' sums of a column by the exclusive prefixes of the warps. Returns the total.
__device__ __forceinline__ Value scan_warps(Value (&warp_sums)[BLOCK_WARPS][TILE_COLUMNS], u32 column)
{
    Value before = Monoid::identity();
#pragma unroll
    for (u32 warp = 0; warp < BLOCK_WARPS; warp++) {
        const Value sum = warp_sums[warp][column];
        warp_sums[warp][column] = before;
        before = Monoid::combine(before, sum);
    }
    return before;
}

// The prefix of each of this lane's columns above its warp's rows: everything above in the tile and, by looking back
// upwards, above the tile. `sums` are the columns' sums over the warp's rows. All threads call it; it contains two
// barriers.
__device__ __forceinline__ Columns sum_above(u64 *states, const Table &table, u32 epoch, const Columns &sums)
{
    constexpr u32 SHARE = BLOCK_THREADS / TILE_COLUMNS;
    __shared__ alignas(LANE_BYTES) Value warp_sums[BLOCK_WARPS][TILE_COLUMNS];
    __shared__ alignas(LANE_BYTES) Value shares[SHARE][TILE_COLUMNS];
    *(Columns *)&warp_sums[warp_index()][lane_index() * LANE_ITEMS] = sums;
    __syncthreads();

    const u32 column = threadIdx.x % TILE_COLUMNS;
    const u32 share = threadIdx.x / TILE_COLUMNS;
    const u64 tile_words = TILE_COLUMNS * ItemState::WORDS;
    const Line line = {
        states + table.tile_x * tile_words + column * ItemState::WORDS, table.tiles_across * tile_words, table.tile_y,
        epoch};
    Value total = Monoid::identity();
    if (share == 0) {
        total = scan_warps(warp_sums, column);
        if (!line.is_last_of_group()) line.publish(AGGREGATE, total);
    }
    shares[share][column] = line.look_back<SHARE>(share);
    __syncthreads();

    const auto add_shares = [&](u32 column, Value &sum) {
#pragma unroll
        for (u32 share = 0; share < SHARE; share++) sum = Monoid::combine(shares[share][column], sum);
    };
    if (share == 0 && line.is_last_of_group()) {
        add_shares(column, total);
        line.publish(INCLUSIVE, total);
    }
    Columns above = *(const Columns *)&warp_sums[warp_index()][lane_index() * LANE_ITEMS];
#pragma unroll
    for (u32 item = 0; item < LANE_ITEMS; item++) add_shares(lane_index() * LANE_ITEMS + item, above.values[item]);
    return above;
}

// Replaces the tile's rows by their prefixes within the tile. Returns the sum of this lane's own row.
__device__ __forceinline__ Value scan_rows(Staged &staged)
{
    Value total = Monoid::identity();
#pragma unroll
    for (u32 row = 0; row < WARP_ROWS; row++) {
        Value values[LANE_ITEMS];
        lift(staged[row][threadIdx.x], values);
        const Value sum = scan_row(values);
        staged[row][threadIdx.x] = lowered(values);
        if (row == own_row()) total = sum;
    }
    return total;
}

// The sums of this lane's columns over its warp's rows, after adding `before` to this lane's own row.
__device__ __forceinline__ Columns sum_columns(const Staged &staged, Value before)
{
    Columns sums;
#pragma unroll
    for (u32 row = 0; row < WARP_ROWS; row++) {
        Value values[LANE_ITEMS];
        lift(staged[row][threadIdx.x], values);
        add_to_all(__shfl_sync(ALL_LANES, before, row), values);
#pragma unroll
        for (u32 item = 0; item < LANE_ITEMS; item++)
            sums.values[item] = row == 0 ? values[item] : Monoid::combine(sums.values[item], values[item]);
    }
    return sums;
}

// Writes the tile of the table, from the prefixes within the rows and the prefixes of rows and columns.
__device__ __forceinline__ void store(
    const Staged &staged, const Table &table, Value before, Columns above, ITEM *out)
{
    const bool whole = table.is_whole(out);
    ITEM *to = out + table.first_index();
#pragma unroll
    for (u32 row = 0; row < WARP_ROWS; row++, to += table.width) {
        Value values[LANE_ITEMS];
        lift(staged[row][threadIdx.x], values);
        add_to_all(__shfl_sync(ALL_LANES, before, row), values);
#pragma unroll
        for (u32 item = 0; item < LANE_ITEMS; item++)
            above.values[item] = Monoid::combine(above.values[item], values[item]);
        if (whole)
            *(Vector *)to = lowered(above.values);
        else
            store_items(to, table.left(row), lowered(above.values));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, staging_blocks(SINGLE_PASS_BLOCKS)) summed_area_single_pass(
    const ITEM *items, u32 width, u32 height, ITEM *out, u64 *workspace)
{
    __shared__ Staged staged;
    Control *const control = (Control *)workspace;
    u64 *const row_states = control->states();
    u64 *const column_states = row_states + (u64)gridDim.x * TILE_ROWS * ItemState::WORDS;
    Ticket ticket;
    draw_ticket(control, ticket, [] { return 0; });
    const Table table(width, height, ticket.tile);
    table.load(items, staged);
    const Value before = sum_left(row_states, table, ticket.epoch, scan_rows(staged));
    const Columns above = sum_above(column_states, table, ticket.epoch, sum_columns(staged, before));
    store(staged, table, before, above, out);
    retire(control, ticket.epoch);
}

// -------------------------------------------------------------------------------------------------------- scan-transpose

// Scans each row of a table, one row per block.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) summed_area_rows(
    const ITEM *items, u32 width, u32 height, ITEM *out)
{
    constexpr u32 STEP = BLOCK_WARPS * ROW_ITEMS;
    const u64 row = (u64)blockIdx.x * width;
    Value before = Monoid::identity();
    for (u64 first = 0; first < width; first += STEP) {
        const u64 column = first + threadIdx.x * LANE_ITEMS;
        const u32 left = column < width ? width - (u32)column : 0;
        const ITEM *from = items + row + column;
        ITEM *to = out + row + column;
        Value values[LANE_ITEMS];
        lift(left >= LANE_ITEMS && is_aligned(from) ? *(const Vector *)from : load_items(from, left), values);
        const BlockFold<Value> fold = block_fold_of_warps<Monoid>(scan_row(values));
        add_to_all(Monoid::combine(before, fold.before), values);
        if (left >= LANE_ITEMS && is_aligned(to))
            *(Vector *)to = lowered(values);
        else
            store_items(to, left, lowered(values));
        before = Monoid::combine(before, fold.total);
        __syncthreads();  // The next step reuses what the block shares.
    }
}

// Transposes a table: `out` has `height` columns and `width` rows.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) summed_area_transpose(
    const ITEM *items, u32 width, u32 height, ITEM *out)
{
    __shared__ ITEM square[WARP_THREADS][WARP_THREADS + 1];  // one more column, so that columns use all banks
    const u32 across = width / WARP_THREADS + (width % WARP_THREADS != 0);
    const u32 left = blockIdx.x % across * WARP_THREADS;
    const u32 top = blockIdx.x / across * WARP_THREADS;
    for (u32 line = warp_index(); line < WARP_THREADS; line += BLOCK_WARPS)
        if (top + line < height && left + lane_index() < width)
            square[line][lane_index()] = items[(u64)(top + line) * width + left + lane_index()];
    __syncthreads();
    for (u32 line = warp_index(); line < WARP_THREADS; line += BLOCK_WARPS)
        if (left + line < width && top + lane_index() < height)
            out[(u64)(left + line) * height + top + lane_index()] = square[lane_index()][line];
}
