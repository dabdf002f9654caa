// segmented_reduce. Contract: compaction/src/segmented_reduce.rs.
//
// A warp reduces SLOTS chunks: short ones with a thread each, those of up to 64 items several at a time, and longer
// ones one after the other. The values of a segment with several chunks go to `partials`; the warp that adds the last
// of them folds them. So no warp waits for another one.

#include "segments.cuh"

using Monoid = OPERATOR<ITEM>;
using Value = Monoid::Value;

constexpr u32 SHORT = 8;      // items that one thread reduces
constexpr u32 MEDIUM = 64;    // items that a warp reduces for several chunks at a time
constexpr u32 TOGETHER = 8;   // chunks that a warp reduces at a time
constexpr u32 IN_FLIGHT = 128 / sizeof(ITEM);  // rows of 32 items that a warp loads at a time

// The scratch entries of a segment begin at begin / PARTIAL_STRIDE. A segment of several chunks has at least twice as
// many items per chunk but one, which is enough for its chunks and all levels above.
constexpr u32 PARTIAL_STRIDE = CHUNK / 2;

// Folds `items` values, in the order of the contract: lane l folds the values l, l + 32, ..., and then the lanes are
// combined in pairs. All lanes call it.
template <class Load>
__device__ __forceinline__ Value fold(u32 items, Load load)
{
    Value value = Monoid::identity();
    for (u32 first = lane_index(); first - lane_index() < items; first += IN_FLIGHT * WARP_THREADS) {
        Value row[IN_FLIGHT];
#pragma unroll
        for (u32 at = 0; at < IN_FLIGHT; at++) {
            const u32 item = first + at * WARP_THREADS;
            row[at] = item < items ? load(item) : Monoid::identity();
        }
#pragma unroll
        for (u32 at = 0; at < IN_FLIGHT; at++) value = Monoid::combine(value, row[at]);
    }
    return warp_fold<Monoid>(value);
}

// Adds the value of one of several chunks of a segment. The warp that adds the last one writes the result.
__device__ __forceinline__ void join(Value value, const Piece &piece, Value *partials, u32 *counters, ITEM *out)
{
    const u64 base = piece.segment_begin / PARTIAL_STRIDE;
    u64 level_partials = base, level_counters = base;
    u64 index = piece.chunk, parts = piece.chunks;
    for (;;) {
        const u64 group = index / CHUNK, first = group * CHUNK;
        const u32 members = (u32)min(parts - first, (u64)CHUNK);
        u32 is_last = 0;
        if (lane_index() == 0) {
            partials[level_partials + index] = value;
            __threadfence();
            u32 *counter = counters + level_counters + group;
            is_last = atomicAdd(counter, 1u) == members - 1;
            if (is_last) *counter = 0;
            __threadfence();
        }
        if (!__shfl_sync(ALL_LANES, is_last, 0)) return;
        const volatile Value *values = partials + level_partials + first;
        value = fold(members, [&](u32 part) { return (Value)values[part]; });
        const u64 groups = (parts + CHUNK - 1) / CHUNK;
        if (groups == 1) break;
        level_partials += parts;
        level_counters += groups;
        index = group;
        parts = groups;
    }
    if (lane_index() == 0) out[piece.segment] = Monoid::lower(value);
}

// Reduces each lane's chunk of at most SHORT items.
__device__ __forceinline__ void reduce_short(const ITEM *items, const Piece &piece, ITEM *out)
{
    Value values[SHORT];
#pragma unroll
    for (u32 item = 0; item < SHORT; item++)
        values[item] = item < piece.items ? Monoid::lift(items[piece.begin + item]) : Monoid::identity();
#pragma unroll
    for (u32 distance = 1; distance < SHORT; distance *= 2)
#pragma unroll
        for (u32 item = 0; item < SHORT; item += 2 * distance)
            values[item] = Monoid::combine(values[item], values[item + distance]);
    if (piece.exists()) out[piece.segment] = Monoid::lower(values[0]);
}

// Reduces the chunks of TOGETHER lanes, from `first` on, of at most MEDIUM items each. A step that combines lanes in
// pairs also halves the number of chunks whose values a lane holds.
__device__ __forceinline__ void reduce_medium(const ITEM *items, const Piece &piece, u32 first, ITEM *out)
{
    static_assert(TOGETHER == 8 && MEDIUM == 2 * WARP_THREADS, "the steps below");
    ITEM low[TOGETHER], high[TOGETHER];
    u32 lengths[TOGETHER];
#pragma unroll
    for (u32 chunk = 0; chunk < TOGETHER; chunk++) {
        const u64 begin = __shfl_sync(ALL_LANES, piece.begin, first + chunk);
        lengths[chunk] = __shfl_sync(ALL_LANES, piece.items, first + chunk);
        const ITEM *mine = items + begin + lane_index();
        if (lane_index() < lengths[chunk]) low[chunk] = mine[0];
        if (lane_index() + WARP_THREADS < lengths[chunk]) high[chunk] = mine[WARP_THREADS];
    }
    Value values[TOGETHER];
#pragma unroll
    for (u32 chunk = 0; chunk < TOGETHER; chunk++) {
        values[chunk] = lane_index() < lengths[chunk] ? Monoid::lift(low[chunk]) : Monoid::identity();
        if (lane_index() + WARP_THREADS < lengths[chunk])
            values[chunk] = Monoid::combine(values[chunk], Monoid::lift(high[chunk]));
    }
#pragma unroll
    for (u32 distance = 1, held = TOGETHER / 2; held != 0; distance *= 2, held /= 2) {
        const bool is_upper = lane_index() & distance;
#pragma unroll
        for (u32 chunk = 0; chunk < held; chunk++) {
            const Value kept = is_upper ? values[chunk + held] : values[chunk];
            const Value given = is_upper ? values[chunk] : values[chunk + held];
            values[chunk] = Monoid::combine(kept, __shfl_xor_sync(ALL_LANES, given, distance));
        }
    }
    Value value = values[0];
#pragma unroll
    for (u32 distance = TOGETHER; distance < WARP_THREADS; distance *= 2)
        value = Monoid::combine(value, __shfl_xor_sync(ALL_LANES, value, distance));
    const u32 lane = lane_index();
    const u32 chunk = first + ((lane & 1) << 2 | (lane & 2) | (lane & 4) >> 2);
    const u64 segment = __shfl_sync(ALL_LANES, piece.segment, chunk);
    const u32 exists = __shfl_sync(ALL_LANES, (u32)piece.exists(), chunk);
    if (lane < TOGETHER && exists) out[segment] = Monoid::lower(value);
}

template <class Offsets>
__device__ __forceinline__ void reduce(
    const ITEM *__restrict__ items, const Slots<CHUNK, Offsets> &slots, u32 warp_slots, ITEM *__restrict__ out,
    u64 *scratch, u64 *workspace)
{
    Control *control = (Control *)workspace;
    const u64 first = ((u64)blockIdx.x * BLOCK_WARPS + warp_index()) * warp_slots;
    if (slots.segments == 0 || first >= slots.first_of(slots.segments)) return;
    Piece piece = slots.piece_at(first);
    if (lane_index() >= warp_slots) piece.chunks = 0, piece.items = 0;
    if (__any_sync(ALL_LANES, piece.items > MEDIUM || piece.chunks > 1)) {
        for (u32 lane = 0; lane < warp_slots; lane++) {
            const Piece its = piece.of_lane(lane);
            if (!its.exists()) continue;
            const ITEM *chunk = items + its.begin;
            const Value value = fold(its.items, [&](u32 item) { return Monoid::lift(chunk[item]); });
            if (its.chunks > 1)
                join(value, its, (Value *)scratch, (u32 *)control->states(), out);
            else if (lane_index() == 0)
                out[its.segment] = Monoid::lower(value);
        }
    } else if (__any_sync(ALL_LANES, piece.items > SHORT)) {
        for (u32 lane = 0; lane < warp_slots; lane += TOGETHER) reduce_medium(items, piece, lane, out);
    } else {
        reduce_short(items, piece, out);
    }
}

// Reduces segments between consecutive entries of `offsets`.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) segmented_reduce_by_offsets(
    const ITEM *items, u64 item_count, const Word *offsets, const u32 *count, u64 capacity, u32 is_given, u32 warp_slots,
    ITEM *out, u64 *scratch, u64 *workspace)
{
    const u64 segments = segment_count(count, capacity, is_given, (Control *)workspace);
    reduce(items, Slots<CHUNK, OffsetTable>{{offsets, item_count}, segments}, warp_slots, out, scratch, workspace);
}

// Reduces segments of `length` items each.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) segmented_reduce_of_length(
    const ITEM *items, u64 length, const u32 *count, u64 capacity, u32 is_given, u32 warp_slots, ITEM *out, u64 *scratch,
    u64 *workspace)
{
    const u64 segments = segment_count(count, capacity, is_given, (Control *)workspace);
    reduce(items, Slots<CHUNK, EqualLengths>{{length}, segments}, warp_slots, out, scratch, workspace);
}
