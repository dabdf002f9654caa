// Collective functions for kernels of your own: scans, folds and ranks of a block, and prefixes over all blocks in one
// launch. Guide: compaction/src/look_back.rs.
//
// The kernel file defines BLOCK_THREADS, a multiple of 32, and is launched with blocks of this many threads. All threads
// of a block call each function together. A Monoid is Sum<T>, Min<T> or Max<T> of monoid.cuh for u32, i32, u64, f32 or
// f64, or a struct of the same form. Beside these functions, `lane_index`, `warp_index`, `warp_inclusive`, `warp_fold` and
// `warp_last` of warp.cuh are stable.
#pragma once

#include "look_back.cuh"

// Scans one value per thread: `before` combines the values of all earlier threads, and `total` those of all threads.
// Contains two barriers. May be called any number of times.
template <class Monoid>
__device__ __forceinline__ BlockFold<typename Monoid::Value> block_scan(typename Monoid::Value value)
{
    using Value = typename Monoid::Value;
    const Value inclusive = warp_inclusive<Monoid>(value);
    const Value below = __shfl_up_sync(ALL_LANES, inclusive, 1);
    BlockFold<Value> scan = block_fold_of_warps<Monoid>(warp_last(inclusive));
    if (lane_index() > 0) scan.before = Monoid::combine(scan.before, below);
    __syncthreads();  // the shared memory is free for the next call
    return scan;
}

// Combines one value per thread, in the order of the threads. Contains two barriers. May be called any number of times.
template <class Monoid>
__device__ __forceinline__ typename Monoid::Value block_fold(typename Monoid::Value value)
{
    return block_scan<Monoid>(value).total;
}

// Writes the items of those threads that keep theirs to out[0], out[1], … in the order of the threads, by coalesced
// writes. `ranks` is block_scan<Sum<u32>>(keep). Contains two barriers. May be called any number of times.
template <class Item>
__device__ __forceinline__ void ranked_scatter(BlockFold<u32> ranks, bool keep, const Item &item, Item *out)
{
    __shared__ Item staged[BLOCK_THREADS];
    if (keep) staged[ranks.before] = item;
    __syncthreads();
    if (threadIdx.x < ranks.total) out[threadIdx.x] = staged[threadIdx.x];
    __syncthreads();
}

// The place of a block in a sequence of tiles, one for each block of the launch. It is drawn, and may differ from
// blockIdx.x: a tile only waits for tiles of blocks that already run.
//
// `states` is the memory of a TileStates in Rust with room for gridDim.x tiles. One launch at a time uses it.
class TileChain {
    Control *control;
    Ticket ticket;

  public:
    // Draws the tile. Contains one barrier.
    explicit __device__ __forceinline__ TileChain(u64 *states) : control((Control *)states)
    {
        draw_ticket(control, ticket, [] { return 0; });
    }

    __device__ __forceinline__ u32 tile() const { return ticket.tile; }

    // Whether no tile follows.
    __device__ __forceinline__ bool is_last() const { return ticket.tile == gridDim.x - 1; }

    // Returns the combined totals of all earlier tiles, given this tile's own. The order of combinations depends on the
    // tile alone. Contains one barrier. Call it exactly once, in each block.
    template <class Monoid>
    __device__ __forceinline__ typename Monoid::Value prefix(typename Monoid::Value total) const
    {
        using Value = typename Monoid::Value;
        __shared__ alignas(sizeof(u64)) Value before;
        // A launch of more blocks than there are states stops here, before it writes behind them.
        if ((ticket.tile + 1ull) * State<Value>::WORDS > control->state_count) __trap();
        if (warp_index() == 0) {
            const Value found = LookBackOver<Monoid>{control->states(), ticket}.exclusive_prefix(total);
            if (lane_index() == 0) before = found;
        }
        __syncthreads();
        return before;
    }

    // Ends the use of the states. Call it once, in each block, after `prefix`.
    __device__ __forceinline__ void finish() const { retire(control, ticket.epoch); }
};
