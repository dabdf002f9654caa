// The core of reductions: combines all items in one launch. Contract and source: compaction/src/reduce.rs.
//
// A monoid of a reduction has `lift(item, index)`, whose index counts from the first item, and `append`, which combines
// values of which all items of the left one come before those of the right one. The tree of combinations depends on the
// number of items only. A warp combines its vectors lane by lane if the monoid is COMMUTATIVE, otherwise in segments of
// LANE_ROWS rows of 32 vectors. Twin: src/reduce/tree.rs.
//
//     item ─ vector (one by one) ─ lane (one by one) ─ warp (32 lanes, pairwise)
//                                └ segment (pairwise) ─ warp (one by one)
//          ─ block (8 warps, one by one) ─ all blocks (as in `fold_blocks`)
#pragma once

#include "ordered_look_back.cuh"
#include "portions.cuh"

constexpr u32 SEGMENT_ITEMS = LANE_ROWS * WARP_THREADS * LANE_ITEMS;

struct alignas(LANE_ALIGN) Vector {
    ITEM items[LANE_ITEMS];
};
static_assert(sizeof(Vector) == LANE_ITEMS * sizeof(ITEM), "vectors stand side by side");

// The shape of the tree over `items` items.
struct Plan {
    u64 warp_segments;  // segments of each warp, except the last ones
    u32 blocks;         // at least one

    __device__ __forceinline__ Plan(u64 items)
    {
        const u64 segments = items / SEGMENT_ITEMS + (items % SEGMENT_ITEMS != 0);
        constexpr u64 MAX_WARPS = MAX_BLOCKS * BLOCK_WARPS;
        warp_segments = max((u64)1, (segments + MAX_WARPS - 1) / MAX_WARPS);
        const u64 block_segments = warp_segments * BLOCK_WARPS;
        blocks = (u32)max((u64)1, (segments + block_segments - 1) / block_segments);
    }
};

template <class Monoid>
struct Reduction {
    using Value = typename Monoid::Value;

    const ITEM *items;
    u64 item_count;

    // Combines this warp's segments, in every lane.
    __device__ __forceinline__ Value fold_warp(u64 warp_segments) const
    {
        const u64 warp = (u64)blockIdx.x * BLOCK_WARPS + warp_index();
        const u64 begin = min(item_count, warp * warp_segments * SEGMENT_ITEMS);
        const u64 end = min(item_count, begin + warp_segments * SEGMENT_ITEMS);
        Value value = Monoid::identity();
        u64 at = begin;
        if ((u64)items % alignof(Vector) == 0)
            for (; at + SEGMENT_ITEMS <= end; at += SEGMENT_ITEMS) add_whole_segment(at, value);
        for (; at < end; at += SEGMENT_ITEMS) add_segment(at, end, value);
        return Monoid::COMMUTATIVE ? warp_fold_in_order<Monoid>(value) : value;
    }

  private:
    // Combines a segment with `value`: this lane's items, or the whole segment if the monoid is not COMMUTATIVE.
    __device__ __forceinline__ void add_whole_segment(u64 first, Value &value) const
    {
        first += lane_index() * LANE_ITEMS;
        Vector vectors[LANE_ROWS];
#pragma unroll
        for (u32 row = 0; row < LANE_ROWS; row++)
            vectors[row] = *(const Vector *)(items + first + row * WARP_THREADS * LANE_ITEMS);
        add_vectors(value, [&](u32 row) {
            return fold_vector(vectors[row].items, first + row * WARP_THREADS * LANE_ITEMS, LANE_ITEMS);
        });
    }

    // Reads nothing from `end` on.
    __device__ __forceinline__ void add_segment(u64 first, u64 end, Value &value) const
    {
        first += lane_index() * LANE_ITEMS;
        add_vectors(value, [&](u32 row) {
            const u64 at = first + row * WARP_THREADS * LANE_ITEMS;
            return fold_vector(items + at, at, at < end ? (u32)min((u64)LANE_ITEMS, end - at) : 0);
        });
    }

    template <class FoldRow>
    static __device__ __forceinline__ void add_vectors(Value &value, FoldRow fold_row)
    {
        Value rows[LANE_ROWS];
#pragma unroll
        for (u32 row = 0; row < LANE_ROWS; row++) {
            rows[row] = fold_row(row);
            if (Monoid::COMMUTATIVE) value = Monoid::append(value, rows[row]);
        }
        if (!Monoid::COMMUTATIVE) value = Monoid::combine(value, warp_fold_rows<Monoid>(rows));
    }

    static __device__ __forceinline__ Value fold_vector(const ITEM *vector, u64 index, u32 count)
    {
        Value value = count > 0 ? Monoid::lift(vector[0], index) : Monoid::identity();
#pragma unroll
        for (u32 item = 1; item < LANE_ITEMS; item++)
            if (item < count) value = Monoid::append(value, Monoid::lift(vector[item], index + item));
        return value;
    }
};

// Combines the results of all blocks in every thread of this block, as soon as they are published: adjacent ones in a
// thread, pairwise in a warp, and one by one over the warps. Contains one barrier.
template <class Monoid>
__device__ __forceinline__ typename Monoid::Value fold_blocks(const u64 *states, u32 epoch, u32 blocks)
{
    using Result = WideState<typename Monoid::Value>;
    constexpr u32 BATCH = Result::WORDS <= 2 ? 8 : Result::WORDS <= 4 ? 4 : 1;  // results that a thread reads at once
    const u32 share = (blocks + BLOCK_THREADS - 1) / BLOCK_THREADS;
    const u32 end = min(blocks, (threadIdx.x + 1) * share);
    typename Monoid::Value value = Monoid::identity();
    for (u32 first = threadIdx.x * share; first < end; first += BATCH) {
        Result results[BATCH];
#pragma unroll
        for (u32 each = 0; each < BATCH; each++)
            if (first + each < end) results[each].load(states + (u64)(first + each) * Result::WORDS);
#pragma unroll
        for (u32 each = 0; each < BATCH; each++) {
            if (first + each >= end) continue;
            while (results[each].status(epoch) == PENDING)
                results[each].load(states + (u64)(first + each) * Result::WORDS);
            value = Monoid::combine(value, results[each].value());
        }
    }
    __syncwarp();
    return block_fold_of_warps<Monoid>(warp_fold_in_order<Monoid>(value)).total;
}

// Combines all items and calls put(result) in one thread of the grid. Each block publishes its result like the state of
// a tile, and the block that started last combines all results: it only waits for blocks that already run.
template <class Monoid, class Put>
__device__ __forceinline__ void reduce_all(
    const ITEM *items, const u32 *count, u64 capacity, u32 is_given, u64 *workspace, Put put)
{
    using Value = typename Monoid::Value;
    using Result = WideState<Value>;
    static_assert(sizeof(Value) <= MAX_VALUE_BYTES, "the workspace has room for a value of each block");
    Control *const control = (Control *)workspace;
    const u64 all = long_item_count(count, sizeof(Word) / sizeof(u32), capacity, is_given, control);
    const Plan plan(all);
    if (blockIdx.x >= plan.blocks) return;

    // The ticket is in flight while the items load.
    u64 word = 0;
    if (threadIdx.x == 0 && plan.blocks > 1) word = atomicAdd(&control->ticket, 1ull);
    const Reduction<Monoid> reduction = {items, all};
    const Value block = block_fold_of_warps<Monoid>(reduction.fold_warp(plan.warp_segments)).total;
    if (plan.blocks == 1) {
        if (threadIdx.x == 0) put(block);
        return;
    }
    if (threadIdx.x == 0)
        Result::of((u32)(word >> 32) << STATUS_BITS | AGGREGATE, block)
            .store(control->states() + (u64)blockIdx.x * Result::WORDS);
    word = block_first(word);
    const u32 epoch = (u32)(word >> 32);
    if ((u32)word != plan.blocks - 1) return;

    const Value total = fold_blocks<Monoid>(control->states(), epoch, plan.blocks);
    // After the last epoch, results of old launches would look like new ones.
    if (epoch == LAST_EPOCH)
        for (u64 state = threadIdx.x; state < control->state_count; state += BLOCK_THREADS) control->states()[state] = 0;
    if (threadIdx.x == 0) {
        put(total);
        control->ticket = (u64)(epoch == LAST_EPOCH ? 1 : epoch + 1) << 32;
    }
}

#define REDUCE(name) extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, REDUCE_BLOCKS) name
