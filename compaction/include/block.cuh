// Functions of a warp, a block and all blocks for kernels of your own: scans, folds, ranks and prefixes. This header
// and the prelude are stable; those in compaction/kernels are not. Guide: compaction/src/look_back.rs.
//
// The kernel file defines BLOCK_THREADS, a multiple of 32, and is launched with one-dimensional blocks of this many
// threads. `__launch_bounds__(BLOCK_THREADS)` of the kernel gives its threads the registers that such a block leaves
// them. All threads of a block call each function together; those of a warp call each function `warp_…` together.
//
// A Monoid is Sum<T>, Min<T> or Max<T> for u32, i32, u64, i64, f32 or f64, or a struct of this form:
//
//     struct Product {
//         using Value = f32;  // a number, or a struct of 4-byte words
//         static __device__ f32 identity() { return 1.0f; }
//         static __device__ f32 combine(f32 left, f32 right) { return left * right; }
//     };
//
// `combine` is associative, and need not be commutative. Combining a value with the identity returns the value.
#pragma once

// Other headers, whose names do not get in the way of yours.
namespace compaction_internal {

#include "../kernels/ordered_look_back.cuh"

// A number type's operation on the numbers themselves. Beneath, floats may be combined as integers.
template <class Operation>
struct OfNumbers {
    using Value = decltype(Operation::lower(Operation::identity()));

    static __device__ __forceinline__ Value identity() { return Operation::lower(Operation::identity()); }
    static __device__ __forceinline__ Value combine(Value left, Value right)
    {
        return Operation::lower(Operation::combine(Operation::lift(left), Operation::lift(right)));
    }
};

}  // namespace compaction_internal

// Sum of numbers. Integers wrap around.
template <class T>
struct Sum : compaction_internal::OfNumbers<compaction_internal::Sum<T>> {};

// Minimum of numbers. NaNs are ignored, and -0 is less than +0.
template <class T>
struct Min : compaction_internal::OfNumbers<compaction_internal::Min<T>> {};

// Maximum of numbers. NaNs are ignored, and +0 is greater than -0.
template <class T>
struct Max : compaction_internal::OfNumbers<compaction_internal::Max<T>> {};

// What a thread learns about the values of its block.
template <class Value>
struct BlockFold {
    Value before;  // combined values of all earlier threads
    Value total;   // combined values of all threads
};

namespace compaction_internal {

// The operation that a monoid stands for, on values to which items are lifted. A monoid of the kernel's author combines
// the items themselves, and may depend on their order.
template <class Monoid>
struct Lifted {
    using Value = typename Monoid::Value;
    static constexpr bool EXACT = false, COMMUTATIVE = false;

    static __device__ __forceinline__ Value identity() { return Monoid::identity(); }
    static __device__ __forceinline__ Value lift(const Value &item) { return item; }
    static __device__ __forceinline__ Value lower(const Value &value) { return value; }
    static __device__ __forceinline__ Value combine(const Value &left, const Value &right)
    {
        return Monoid::combine(left, right);
    }
};

template <class Operation>
struct LiftedNumbers : Operation {
    static constexpr bool COMMUTATIVE = true;
};
template <class T>
struct Lifted<::Sum<T>> : LiftedNumbers<Sum<T>> {};
template <class T>
struct Lifted<::Min<T>> : LiftedNumbers<Min<T>> {};
template <class T>
struct Lifted<::Max<T>> : LiftedNumbers<Max<T>> {};

template <class Fold>
__device__ __forceinline__ typename Fold::Value scan_lanes(typename Fold::Value value)
{
#pragma unroll
    for (u32 distance = 1; distance < WARP_THREADS; distance *= 2) {
        const typename Fold::Value below = shuffle_up(value, distance);
        if (lane_index() >= distance) value = Fold::combine(below, value);
    }
    return value;
}

template <class Fold>
__device__ __forceinline__ typename Fold::Value fold_lanes(const typename Fold::Value &value)
{
    if constexpr (Fold::COMMUTATIVE)
        return warp_fold<Fold>(value);
    else
        return warp_fold_in_order<Fold>(value);
}

// Returns the combined totals of all tiles before the ticket's. One warp calls it.
template <class Fold>
__device__ __forceinline__ typename Fold::Value look_back(
    u64 *states, const Ticket &ticket, const typename Fold::Value &total)
{
    if constexpr (Fold::COMMUTATIVE) {
        return LookBackOver<Fold>{states, ticket}.exclusive_prefix(total);
    } else {
        const OrderedLookBack<Fold> prefixes = {states, ticket};
        if (lane_index() == 0) prefixes.announce(total);
        __syncwarp();
        return prefixes.find(total);
    }
}

}  // namespace compaction_internal

using compaction_internal::Control;  // Rust checks its layout
using compaction_internal::lane_index;
using compaction_internal::warp_index;

// Combines the values of the lanes up to and including this one.
template <class Monoid>
__device__ __forceinline__ typename Monoid::Value warp_inclusive(const typename Monoid::Value &value)
{
    using Lifted = compaction_internal::Lifted<Monoid>;
    return Lifted::lower(compaction_internal::scan_lanes<Lifted>(Lifted::lift(value)));
}

// Combines the values of all lanes. The result is in every lane.
template <class Monoid>
__device__ __forceinline__ typename Monoid::Value warp_fold(const typename Monoid::Value &value)
{
    using Lifted = compaction_internal::Lifted<Monoid>;
    return Lifted::lower(compaction_internal::fold_lanes<Lifted>(Lifted::lift(value)));
}

// Returns the value of the last lane in every lane.
template <class Value>
__device__ __forceinline__ Value warp_last(const Value &value)
{
    return compaction_internal::shuffle_from(value, compaction_internal::WARP_THREADS - 1);
}

// Scans one value per thread: `before` combines the values of all earlier threads, and `total` those of all threads.
// Contains two barriers. May be called any number of times.
template <class Monoid>
__device__ __forceinline__ BlockFold<typename Monoid::Value> block_scan(const typename Monoid::Value &value)
{
    using Lifted = compaction_internal::Lifted<Monoid>;
    const auto inclusive = compaction_internal::scan_lanes<Lifted>(Lifted::lift(value));
    const auto below = compaction_internal::shuffle_up(inclusive, 1);
    auto fold = compaction_internal::block_fold_of_warps<Lifted>(::warp_last(inclusive));
    if (lane_index() > 0) fold.before = Lifted::combine(fold.before, below);
    __syncthreads();  // the shared memory is free for the next call
    return {Lifted::lower(fold.before), Lifted::lower(fold.total)};
}

// Combines one value per thread, in the order of the threads. Contains two barriers. May be called any number of times.
template <class Monoid>
__device__ __forceinline__ typename Monoid::Value block_fold(const typename Monoid::Value &value)
{
    return block_scan<Monoid>(value).total;
}

// Writes the items of those threads that keep theirs to out[0], out[1], … in the order of the threads, by coalesced
// writes. `ranks` is block_scan<Sum<u32>>(keep). Nothing is written to out[room] and behind. Contains two barriers. May
// be called any number of times.
template <class T>
__device__ __forceinline__ void ranked_scatter(
    const BlockFold<u32> &ranks, bool keep, const T &item, T *out, u32 room = BLOCK_THREADS)
{
    __shared__ T staged[BLOCK_THREADS];
    if (keep) staged[ranks.before] = item;
    __syncthreads();
    if (threadIdx.x < ranks.total && threadIdx.x < room) out[threadIdx.x] = staged[threadIdx.x];
    __syncthreads();
}

// The place of a block in a sequence of tiles, one for each block of the launch. It is drawn, and may differ from
// blockIdx.x: a tile only waits for tiles of blocks that already run.
//
// `states` is the memory of a TileStates in Rust with room for gridDim.x tiles. One launch at a time uses it.
class TileChain {
    Control *control;
    compaction_internal::Ticket ticket;

  public:
    // Draws the tile. Contains one barrier.
    explicit __device__ __forceinline__ TileChain(u64 *states) : control((Control *)states)
    {
        compaction_internal::draw_ticket(control, ticket, [] { return 0; });
    }

    __device__ __forceinline__ u32 tile() const { return ticket.tile; }

    // Whether no tile follows.
    __device__ __forceinline__ bool is_last() const { return ticket.tile == gridDim.x - 1; }

    // Returns the combined totals of all earlier tiles, given this tile's own. The order of combinations depends on the
    // tile alone. Contains one barrier. Call it exactly once, in each block.
    template <class Monoid>
    __device__ __forceinline__ typename Monoid::Value prefix(const typename Monoid::Value &total) const
    {
        using Lifted = compaction_internal::Lifted<Monoid>;
        using Value = typename Lifted::Value;
        __shared__ alignas(sizeof(u64)) Value before;
        // A launch of more blocks than there are states stops here, before it writes behind them.
        if ((ticket.tile + 1ull) * compaction_internal::WideState<Value>::WORDS > control->state_count) __trap();
        if (warp_index() == 0) {
            const Value found =
                compaction_internal::look_back<Lifted>(control->states(), ticket, Lifted::lift(total));
            if (lane_index() == 0) before = found;
        }
        __syncthreads();
        return Lifted::lower(before);
    }

    // Ends the use of the states. Call it once, in each block, after `prefix`.
    __device__ __forceinline__ void finish() const { compaction_internal::retire(control, ticket.epoch); }
};
