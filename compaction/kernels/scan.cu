// scan: combines every prefix of a sequence. Contract and source: compaction/src/scan.rs.
//
// Reads items and writes as many: for each, the combination of the items before it and, if `inclusive`, of the item
// itself. ITEM is their type and OPERATOR the monoid. Intermediate results between launches are also ITEMs.

#include "bulk_copy.cuh"
#include "scan_tile.cuh"

// ------------------------------------------------------------------------------------------------------------- look-back

// Loads a block's tile into shared memory: with one bulk copy, started by one thread as soon as it knows the tile, if
// the GPU supports it and the tile is whole.
template <u32 ROWS>
struct TileLoader {
    const ITEM *items;
    Staged<ROWS> &staged;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    Barrier &barrier;

    __device__ __forceinline__ TileLoader(const ITEM *items, Staged<ROWS> &staged) : items(items), staged(staged), barrier(shared_barrier())
    {
        if (threadIdx.x == 0) {
            barrier.set_up(1);
            fence_barriers();
        }
    }
    static __device__ __forceinline__ Barrier &shared_barrier()
    {
        __shared__ Barrier barrier;
        return barrier;
    }
    __device__ __forceinline__ void prefetch(u32 tile, u64 all) const
    {
        const Tile<ROWS> guess(tile, all);
        if (threadIdx.x == 0 && guess.is_whole(items)) bulk_prefetch(items + guess.first, sizeof(staged));
    }
    // The first thread calls it.
    __device__ __forceinline__ void begin(u32 number, u64 all) const
    {
        const Tile<ROWS> tile(number, all);
        if (!tile.is_whole(items)) return;
        barrier.arrive_and_promise(sizeof(staged));
        bulk_copy(staged, items + tile.first, sizeof(staged), barrier);
    }
    __device__ __forceinline__ void await(const Tile<ROWS> &tile) const
    {
        if (tile.is_whole(items))
            barrier.wait(0);
        else
            tile.load(items, staged);
    }
#else
    __device__ __forceinline__ TileLoader(const ITEM *items, Staged<ROWS> &staged) : items(items), staged(staged) {}
    __device__ __forceinline__ void prefetch(u32, u64) const {}
    __device__ __forceinline__ void begin(u32, u64) const {}
    __device__ __forceinline__ void await(const Tile<ROWS> &tile) const { tile.load(items, staged); }
#endif
};

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, staging_blocks(LOOK_BACK_BLOCKS)) scan_look_back(
    const ITEM *items, Input input, ITEM *out, u32 inclusive, u64 *workspace)
{
    __shared__ alignas(128) Staged<LOOK_BACK_ROWS> staged;
    Control *const control = (Control *)workspace;
    Ticket ticket;
    TileLoader<LOOK_BACK_ROWS> loader(items, staged);
    const u64 all = draw_ticket(
        control, ticket,
        [&] {
            const u64 all = input.number<Word>();
            // Most blocks get the ticket equal to their block index, or a nearby one.
            loader.prefetch(blockIdx.x, all);
            return all;
        },
        [&](u32 tile, u64 all) { loader.begin(tile, all); });
    Tile<LOOK_BACK_ROWS> tile(ticket.tile, all);
    if (tile.items > 0) {
        loader.await(tile);
        const Value aggregate = tile.scan(staged);
        Value before = Monoid::identity();
        if (warp_index() == 0) {
            const LookBackOver<Monoid> look_back = {control->states(), ticket};
            before = look_back.exclusive_prefix(aggregate);
        }
        tile.store(staged, out, inclusive, block_first(before));
    }
    input.check<Word>(control);
    retire(control, ticket.epoch);
}

// Records a device count larger than the buffer, for the strategies that do not check it themselves. Runs on one
// thread.
extern "C" __global__ void scan_check_count(Input input, u64 *workspace)
{
    input.check<Word>((Control *)workspace);
}

// ------------------------------------------------------------------------------------- block sums and raking: by levels

using LevelTile = Tile<LEVEL_ROWS>;

// The number of items on a level: all items on level 0, and on each further level the tiles of the level before.
__device__ __forceinline__ u64 level_count(u64 items, u32 level, u32 tile_items)
{
    for (; level > 0; level--) items = items / tile_items + (items % tile_items != 0);
    return items;
}

__device__ __forceinline__ LevelTile level_tile(Input input, u32 level)
{
    return {blockIdx.x, level_count(input.number<Word>(), level, LevelTile::ITEMS)};
}

// Scans each tile independently and writes its total.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_tiles(
    const ITEM *items, Input input, u32 level, ITEM *out, u32 inclusive, ITEM *totals)
{
    LevelTile tile = level_tile(input, level);
    if (tile.items == 0) return;
    __shared__ Staged<LEVEL_ROWS> staged;
    tile.load(items, staged);
    const Value total = tile.scan(staged);
    tile.store(staged, out, inclusive, Monoid::identity());
    if (threadIdx.x == 0) totals[blockIdx.x] = Monoid::lower(total);
}

// Combines the prefix of each tile with the prefixes inside it.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_add_before(
    const ITEM *before, Input input, u32 level, ITEM *out)
{
    const LevelTile tile = level_tile(input, level);
    if (tile.items == 0) return;
    const Value value = Monoid::lift(before[blockIdx.x]);
    for (u32 place = threadIdx.x; place < tile.items; place += BLOCK_THREADS) {
        ITEM &prefix = out[tile.first + place];
        prefix = Monoid::lower(Monoid::combine(value, Monoid::lift(prefix)));
    }
}

// Upsweep: writes each tile's total.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_raking_up(
    const ITEM *items, Input input, u32 level, ITEM *totals)
{
    LevelTile tile = level_tile(input, level);
    if (tile.items == 0) return;
    __shared__ Staged<LEVEL_ROWS> staged;
    tile.load(items, staged);
    const Value total = tile.fold(staged);
    if (threadIdx.x == 0) totals[blockIdx.x] = Monoid::lower(total);
}

// Downsweep: scans each tile, starting from its prefix.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_raking_down(
    const ITEM *items, const ITEM *before, Input input, u32 level, ITEM *out,
    u32 inclusive)
{
    LevelTile tile = level_tile(input, level);
    if (tile.items == 0) return;
    const Value value = Monoid::lift(before[blockIdx.x]);
    __shared__ Staged<LEVEL_ROWS> staged;
    tile.load(items, staged);
    tile.scan(staged);
    tile.store(staged, out, inclusive, value);
}

// ------------------------------------------------------------------------------------------------- an item to a thread

__device__ __forceinline__ u64 thread_index() { return (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x; }

// Combines two items; `left` comes before `right` in the sequence.
__device__ __forceinline__ ITEM combined(ITEM left, ITEM right)
{
    return Monoid::lower(Monoid::combine(Monoid::lift(left), Monoid::lift(right)));
}

// Copies the items, shifted by `shift` places. The identity fills the places before them and, up to `padded`, behind
// them.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_lay_out(
    const ITEM *items, Input input, ITEM *to, u32 shift, u64 padded)
{
    const u64 index = thread_index();
    const u64 all = input.number<Word>();
    if (index >= max(all, padded)) return;
    const bool has_item = index >= shift && index - shift < all;
    to[index] = Monoid::lower(has_item ? Monoid::lift(items[index - shift]) : Monoid::identity());
}

// Hillis and Steele: each combination of `distance` items becomes one of twice as many.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_hillis_steele(
    const ITEM *from, Input input, ITEM *to, u64 distance)
{
    const u64 index = thread_index();
    if (index >= input.number<Word>()) return;
    to[index] = index < distance ? from[index] : combined(from[index - distance], from[index]);
}

// The upsweep at a node of Blelloch's tree over `leaves` items, a power of two: `node` is the index of its last leaf,
// and its left child is `stride` before it.
__device__ __forceinline__ void blelloch_up(ITEM *tree, u64 node, u64 stride)
{
    tree[node] = combined(tree[node - stride], tree[node]);
}

// The downsweep at a node: passes its prefix to its left child, and its prefix plus the left child's sum to its right
// child.
__device__ __forceinline__ void blelloch_down(ITEM *tree, u64 leaves, u64 node, u64 stride)
{
    const ITEM before = node == leaves - 1 && 2 * stride == leaves ? Monoid::lower(Monoid::identity()) : tree[node];
    const ITEM left = tree[node - stride];
    tree[node - stride] = before;
    tree[node] = combined(before, left);
}

// One thread per leaf; only those at nodes of this level work.
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

// One thread per node of this level.
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

// Writes the prefixes at the leaves, combined with the items themselves if `inclusive`.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_blelloch_out(
    const ITEM *items, const ITEM *tree, Input input, ITEM *out, u32 inclusive)
{
    const u64 index = thread_index();
    if (index >= input.number<Word>()) return;
    out[index] = inclusive != 0 ? combined(tree[index], items[index]) : tree[index];
}
