// scan: every prefix of a sequence, combined. Contract and source: compaction/src/scan.rs.
//
// Reads items and writes as many, each the combination of the items before it and, where `inclusive`, of its own.
// ITEM is their type, OPERATOR how they are combined. What a pass leaves for the next are items as well.

#include "look_back.cuh"
#include "stage.cuh"

using Monoid = OPERATOR<ITEM>;
using Value = Monoid::Value;

constexpr u32 LANE_ITEMS = LANE_BYTES / sizeof(ITEM);  // in a row: one vector
constexpr u32 ROW_ITEMS = LANE_ITEMS * WARP_THREADS;

// How many items there are: as many as the buffer has, or as the device's count says where that counts.
__device__ __forceinline__ u64 item_count(const u32 *count, u32 counted, u64 capacity)
{
    return counted != 0 && *count < capacity ? *count : capacity;
}

// Of as many items, how many there are on a level: on the first all, on each further one the tiles of that before.
__device__ __forceinline__ u64 level_count(u64 items, u32 level, u32 tile_items)
{
    for (; level > 0; level--) items = items / tile_items + (items % tile_items != 0);
    return items;
}

// ----------------------------------------------------------------------------------------------------- a tile's prefixes
//
// A block takes a tile. A warp of it takes rows of one vector a lane, so that memory is read and written in whole lines.
// The tree by which a tile is combined is the same everywhere: a lane's items one by one, the lanes of a row as
// `warp_inclusive` does, rows one by one, warps one by one. Its twin is `src/scan/tree.rs`.

struct alignas(LANE_BYTES) Vector {
    ITEM items[LANE_ITEMS];
};

__device__ __forceinline__ bool is_aligned(const void *address) { return (u64)address % sizeof(Vector) == 0; }

// What a block holds of its tile in shared memory. A thread touches its own vectors alone.
template <u32 ROWS>
using Staged = Vector[ROWS][BLOCK_THREADS];

template <u32 ROWS>
struct Tile {
    static constexpr u32 ITEMS = BLOCK_THREADS * ROWS * LANE_ITEMS;

    u64 first;         // index of its first item
    u32 items;         // how many it has
    Value bases[ROWS]; // once scanned, all that comes before this thread's vector of a row in the tile

    __device__ __forceinline__ Tile(u32 tile, u64 item_count)
        : first((u64)tile * ITEMS), items(first < item_count ? (u32)min((u64)ITEMS, item_count - first) : 0)
    {
    }

    // The place in the tile of this thread's first item in a row.
    __device__ __forceinline__ u32 place(u32 row) const
    {
        return (warp_index() * ROWS + row) * ROW_ITEMS + lane_index() * LANE_ITEMS;
    }

    // Reads nothing beyond the tile, and fills it up with the identity.
    __device__ __forceinline__ void load(const ITEM *from, Staged<ROWS> &staged) const
    {
        from += first;
        const bool whole = items == ITEMS && is_aligned(from);
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            Vector &vector = staged[row][threadIdx.x];
            if (whole) {
                stage(&vector, from + place(row));
            } else {
                for (u32 item = 0; item < LANE_ITEMS; item++) {
                    const u32 at = place(row) + item;
                    vector.items[item] = at < items ? from[at] : Monoid::lower(Monoid::identity());
                }
            }
        }
        await_stage();
    }

    // Returns all items combined. Holds one barrier.
    __device__ __forceinline__ Value scan(const Staged<ROWS> &staged)
    {
        Value warp_value = Monoid::identity();
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            const Value inclusive = warp_inclusive<Monoid>(fold_lane(staged[row][threadIdx.x]));
            const Value below = __shfl_up_sync(ALL_LANES, inclusive, 1);
            bases[row] = Monoid::combine(warp_value, lane_index() == 0 ? Monoid::identity() : below);
            warp_value = Monoid::combine(warp_value, warp_last(inclusive));
        }
        const BlockFold<Value> fold = block_fold_of_warps<Monoid>(warp_value);
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) bases[row] = Monoid::combine(fold.before, bases[row]);
        return fold.total;
    }

    // Returns all items combined, as `scan` does. Holds one barrier.
    __device__ __forceinline__ Value fold(const Staged<ROWS> &staged) const
    {
        Value warp_value = Monoid::identity();
#pragma unroll
        for (u32 row = 0; row < ROWS; row++)
            warp_value = Monoid::combine(warp_value, warp_fold<Monoid>(fold_lane(staged[row][threadIdx.x])));
        return block_fold_of_warps<Monoid>(warp_value).total;
    }

    // Writes a scanned tile behind what comes before it. Writes nothing beyond the tile.
    __device__ __forceinline__ void store(
        const Staged<ROWS> &staged, ITEM *to, u32 inclusive, Value before) const
    {
        to += first;
        const bool whole = items == ITEMS && is_aligned(to);
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
            const Vector vector = prefixes(staged[row][threadIdx.x], bases[row], inclusive, before);
            if (whole) {
                *(Vector *)(to + place(row)) = vector;
            } else {
                for (u32 item = 0; item < LANE_ITEMS; item++)
                    if (place(row) + item < items) to[place(row) + item] = vector.items[item];
            }
        }
    }

  private:
    static __device__ __forceinline__ Value fold_lane(const Vector &vector)
    {
        Value value = Monoid::lift(vector.items[0]);
#pragma unroll
        for (u32 item = 1; item < LANE_ITEMS; item++) value = Monoid::combine(value, Monoid::lift(vector.items[item]));
        return value;
    }

    // The prefixes at a lane's items: `base` comes before them in the tile, and `before` before the tile.
    static __device__ __forceinline__ Vector prefixes(const Vector &vector, Value base, u32 inclusive, Value before)
    {
        Vector result;
        Value lane = Monoid::lift(vector.items[0]), exclusive = base;
#pragma unroll
        for (u32 item = 0; item < LANE_ITEMS; item++) {
            if (item > 0) lane = Monoid::combine(lane, Monoid::lift(vector.items[item]));
            const Value with_item = Monoid::combine(base, lane);
            result.items[item] = Monoid::lower(Monoid::combine(before, inclusive != 0 ? with_item : exclusive));
            exclusive = with_item;
        }
        return result;
    }
};

// ------------------------------------------------------------------------------------------------------------- look-back

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, staging_blocks(LOOK_BACK_BLOCKS)) scan_look_back(
    const ITEM *items, const u32 *count, u32 counted, u64 capacity, ITEM *out, u32 inclusive, u64 *workspace)
{
    __shared__ Staged<LOOK_BACK_ROWS> staged;
    Control *const control = (Control *)workspace;
    Ticket ticket;
    const u64 all = draw_ticket(control, ticket, [&] { return item_count(count, counted, capacity); });
    Tile<LOOK_BACK_ROWS> tile(ticket.tile, all);
    if (tile.items > 0) {
        tile.load(items, staged);
        const Value aggregate = tile.scan(staged);
        Value before = Monoid::identity();
        if (warp_index() == 0) {
            const LookBackOver<Monoid> look_back = {control->states(), ticket};
            before = look_back.exclusive_prefix(aggregate);
        }
        tile.store(staged, out, inclusive, block_first(before));
    }
    retire(control, ticket.epoch);
}

// ------------------------------------------------------------------------------------- block sums and raking: by levels

using LevelTile = Tile<LEVEL_ROWS>;

__device__ __forceinline__ LevelTile level_tile(const u32 *count, u32 counted, u64 capacity, u32 level)
{
    return {blockIdx.x, level_count(item_count(count, counted, capacity), level, LevelTile::ITEMS)};
}

// Scans each tile by itself, and leaves its total.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_tiles(
    const ITEM *items, const u32 *count, u32 counted, u64 capacity, u32 level, ITEM *out, u32 inclusive, ITEM *totals)
{
    LevelTile tile = level_tile(count, counted, capacity, level);
    if (tile.items == 0) return;
    __shared__ Staged<LEVEL_ROWS> staged;
    tile.load(items, staged);
    const Value total = tile.scan(staged);
    tile.store(staged, out, inclusive, Monoid::identity());
    if (threadIdx.x == 0) totals[blockIdx.x] = Monoid::lower(total);
}

// Puts what comes before a tile before each of its prefixes.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_add_before(
    const ITEM *before, const u32 *count, u32 counted, u64 capacity, u32 level, ITEM *out)
{
    const LevelTile tile = level_tile(count, counted, capacity, level);
    if (tile.items == 0) return;
    const Value value = Monoid::lift(before[blockIdx.x]);
    for (u32 place = threadIdx.x; place < tile.items; place += BLOCK_THREADS) {
        ITEM &prefix = out[tile.first + place];
        prefix = Monoid::lower(Monoid::combine(value, Monoid::lift(prefix)));
    }
}

// Upsweep: leaves each tile's total alone.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_raking_up(
    const ITEM *items, const u32 *count, u32 counted, u64 capacity, u32 level, ITEM *totals)
{
    LevelTile tile = level_tile(count, counted, capacity, level);
    if (tile.items == 0) return;
    __shared__ Staged<LEVEL_ROWS> staged;
    tile.load(items, staged);
    const Value total = tile.fold(staged);
    if (threadIdx.x == 0) totals[blockIdx.x] = Monoid::lower(total);
}

// Downsweep: scans each tile behind what comes before it.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_raking_down(
    const ITEM *items, const ITEM *before, const u32 *count, u32 counted, u64 capacity, u32 level, ITEM *out,
    u32 inclusive)
{
    LevelTile tile = level_tile(count, counted, capacity, level);
    if (tile.items == 0) return;
    const Value value = Monoid::lift(before[blockIdx.x]);
    __shared__ Staged<LEVEL_ROWS> staged;
    tile.load(items, staged);
    tile.scan(staged);
    tile.store(staged, out, inclusive, value);
}

// ------------------------------------------------------------------------------------------------- an item to a thread

__device__ __forceinline__ u64 thread_index() { return (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x; }

// Combines the item at `right` with that at `left`, which comes before it.
__device__ __forceinline__ ITEM combined(ITEM left, ITEM right)
{
    return Monoid::lower(Monoid::combine(Monoid::lift(left), Monoid::lift(right)));
}

// Copies the items, each to the place `shift` behind its own; the identity comes before them and, up to `padded`,
// behind them.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_lay_out(
    const ITEM *items, const u32 *count, u32 counted, u64 capacity, ITEM *to, u32 shift, u64 padded)
{
    const u64 index = thread_index();
    const u64 all = item_count(count, counted, capacity);
    if (index >= max(all, padded)) return;
    const bool has_item = index >= shift && index - shift < all;
    to[index] = Monoid::lower(has_item ? Monoid::lift(items[index - shift]) : Monoid::identity());
}

// Hillis and Steele: every prefix of `distance` items becomes one of twice as many.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_hillis_steele(
    const ITEM *from, const u32 *count, u32 counted, u64 capacity, ITEM *to, u64 distance)
{
    const u64 index = thread_index();
    if (index >= item_count(count, counted, capacity)) return;
    to[index] = index < distance ? from[index] : combined(from[index - distance], from[index]);
}

// A node of Blelloch's tree over `leaves` items, a power of two: the last of 2 * `stride` leaves.
__device__ __forceinline__ void blelloch_up(ITEM *tree, u64 node, u64 stride)
{
    tree[node] = combined(tree[node - stride], tree[node]);
}

// What comes before the node goes to its left child as it is, and with the left child's sum to its right one.
__device__ __forceinline__ void blelloch_down(ITEM *tree, u64 leaves, u64 node, u64 stride)
{
    const ITEM before = node == leaves - 1 && 2 * stride == leaves ? Monoid::lower(Monoid::identity()) : tree[node];
    const ITEM left = tree[node - stride];
    tree[node - stride] = before;
    tree[node] = combined(before, left);
}

// A thread for each leaf, of which those at the nodes work.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_blelloch_up(ITEM *tree, u64 leaves, u64 stride)
{
    const u64 leaf = thread_index();
    if (leaf < leaves && (leaf + 1) % (2 * stride) == 0) blelloch_up(tree, leaf, stride);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_blelloch_down(ITEM *tree, u64 leaves, u64 stride)
{
    const u64 leaf = thread_index();
    if (leaf < leaves && (leaf + 1) % (2 * stride) == 0) blelloch_down(tree, leaves, leaf, stride);
}

// A thread for each node.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_blelloch_compact_up(
    ITEM *tree, u64 leaves, u64 stride)
{
    const u64 node = (thread_index() + 1) * 2 * stride - 1;
    if (node < leaves) blelloch_up(tree, node, stride);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_blelloch_compact_down(
    ITEM *tree, u64 leaves, u64 stride)
{
    const u64 node = (thread_index() + 1) * 2 * stride - 1;
    if (node < leaves) blelloch_down(tree, leaves, node, stride);
}

// The prefixes from the leaves, with the items themselves where `inclusive`.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_blelloch_out(
    const ITEM *items, const ITEM *tree, const u32 *count, u32 counted, u64 capacity, ITEM *out, u32 inclusive)
{
    const u64 index = thread_index();
    if (index >= item_count(count, counted, capacity)) return;
    out[index] = inclusive != 0 ? combined(tree[index], items[index]) : tree[index];
}
