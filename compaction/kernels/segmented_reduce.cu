// segmented_reduce. Contract: compaction/src/segmented_reduce.rs.
//
// A warp reduces SLOTS chunks: short ones with a thread each, those of up to 64 items several at a time, and longer
// ones one after the other. The values of a segment with several chunks go to `partials`; the warp that adds the last
// of them folds them. So no warp waits for another one.

#include "in_order.cuh"
#include "operator"
#include "segments.cuh"

constexpr u32 WIDER_BYTES = sizeof(Monoid::Item) > sizeof(Monoid::Value) ? sizeof(Monoid::Item) : sizeof(Monoid::Value);

// Returns `most`, or the largest power of two of items or values that take up to `bytes` bytes.
constexpr u32 fitting(u32 most, u32 bytes)
{
    while (most > 1 && most * WIDER_BYTES > bytes) most /= 2;
    return most;
}

constexpr u32 SHORT = fitting(8, 128);  // items that one thread reduces
constexpr u32 MEDIUM = 64;              // items that a warp reduces for several chunks at a time
constexpr u32 TOGETHER = 8;             // chunks that a warp reduces at a time, if their values fit in the registers
constexpr bool HAS_MEDIUM = WIDER_BYTES <= 8;

// Rows of 32 items that a warp loads at a time. A fold in order holds the values of all.
constexpr u32 IN_FLIGHT = fitting(WARP_THREADS, Monoid::COMMUTATIVE ? 128 : 64);
constexpr u32 BATCH = IN_FLIGHT * WARP_THREADS;

// Resident blocks per multiprocessor to compile for, or 0 for a choice of the compiler.
constexpr u32 RESIDENT_BLOCKS = WIDER_BYTES > 16 ? 2 : 0;

// The scratch entries of a segment begin at begin / PARTIAL_STRIDE. A segment of several chunks has at least twice as
// many items per chunk but one, which is enough for its chunks and all levels above.
constexpr u32 PARTIAL_STRIDE = CHUNK / 2;

// The values of chunks, of PARTIAL_WORDS words each. Other blocks write them.
constexpr u32 PARTIAL_WORDS = (sizeof(Monoid::Value) + sizeof(u64) - 1) / sizeof(u64);

__device__ __forceinline__ void store_partial(u64 *partial, const Monoid::Value &value)
{
    u64 words[PARTIAL_WORDS] = {};
    memcpy(words, &value, sizeof value);
#pragma unroll
    for (u32 word = 0; word < PARTIAL_WORDS; word++) partial[word] = words[word];
}

__device__ __forceinline__ Monoid::Value load_partial(const u64 *partial)
{
    u64 words[PARTIAL_WORDS];
#pragma unroll
    for (u32 word = 0; word < PARTIAL_WORDS; word++) words[word] = load_relaxed(partial + word);
    Monoid::Value value;
    memcpy(&value, words, sizeof value);
    return value;
}

// Loads the rows of values from `first` on.
template <class Load>
__device__ __forceinline__ void load_rows(u32 first, u32 items, Load load, Monoid::Value (&rows)[IN_FLIGHT])
{
#pragma unroll
    for (u32 row = 0; row < IN_FLIGHT; row++) {
        const u32 item = first + row * WARP_THREADS + lane_index();
        rows[row] = item < items ? load(item) : Monoid::identity();
    }
}

// Folds `items` values, at most CHUNK, in the order of the contract. All lanes call it.
template <class Load>
__device__ __forceinline__ Monoid::Value fold(u32 items, Load load)
{
    Monoid::Value rows[IN_FLIGHT];
    if constexpr (Monoid::COMMUTATIVE) {
        // Lane l folds the values l, l + 32, ..., and then the lanes are combined in pairs.
        Monoid::Value value = Monoid::identity();
        for (u32 first = 0; first < items; first += BATCH) {
            load_rows(first, items, load, rows);
#pragma unroll
            for (u32 row = 0; row < IN_FLIGHT; row++) value = Monoid::combine(value, rows[row]);
        }
        return warp_fold<Monoid>(value);
    } else {
        // A tree over the batches: lane l holds the value of its level l, if the number of batches has the bit l.
        Monoid::Value levels = Monoid::identity();
        u32 batches = 0;
        for (; batches * BATCH < items; batches++) {
            load_rows(batches * BATCH, items, load, rows);
            Monoid::Value value = warp_fold_rows<Monoid>(rows);
            u32 level = 0;
            for (; batches >> level & 1; level++) value = Monoid::combine(shuffle_from(levels, level), value);
            if (lane_index() == level) levels = value;
        }
        Monoid::Value value = Monoid::identity();
        for (u32 level = 0; batches >> level != 0; level++)
            if (batches >> level & 1) value = Monoid::combine(shuffle_from(levels, level), value);
        return value;
    }
}

// Adds the value of one of several chunks of a segment. The warp that adds the last one writes the result.
__device__ __forceinline__ void join(
    Monoid::Value value, const Piece &piece, u64 *partials, u32 *counters, Monoid::Out *out)
{
    const u64 base = piece.segment_begin / PARTIAL_STRIDE;
    u64 level_partials = base, level_counters = base;
    u64 index = piece.chunk, parts = piece.chunks;
    for (;;) {
        const u64 group = index / CHUNK, first = group * CHUNK;
        const u32 members = (u32)min(parts - first, (u64)CHUNK);
        u32 is_last = 0;
        if (lane_index() == 0) {
            store_partial(partials + (level_partials + index) * PARTIAL_WORDS, value);
            __threadfence();
            u32 *counter = counters + level_counters + group;
            is_last = atomicAdd(counter, 1u) == members - 1;
            if (is_last) *counter = 0;
            __threadfence();
        }
        if (!__shfl_sync(ALL_LANES, is_last, 0)) return;
        const u64 *values = partials + (level_partials + first) * PARTIAL_WORDS;
        value = fold(members, [&](u32 part) { return load_partial(values + part * PARTIAL_WORDS); });
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
__device__ __forceinline__ void reduce_short(const Monoid::Item *items, const Piece &piece, Monoid::Out *out)
{
    Monoid::Value values[SHORT];
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

// Combines `kept` with what the lane gives whose index differs in the bit `distance`. If the operator is commutative,
// values are numbers, and are shuffled as such so that the compiler keeps them in registers.
template <class Value>
__device__ __forceinline__ Value combine_lanes(const Value &kept, const Value &given, u32 distance)
{
    if constexpr (Monoid::COMMUTATIVE)
        return Monoid::combine(kept, __shfl_xor_sync(ALL_LANES, given, distance));
    else
        return combine_pair<Monoid>(kept, shuffle_xor(given, distance), distance);
}

// Reduces the chunks of TOGETHER lanes, from `first` on, of at most MEDIUM items each. A step that combines lanes in
// pairs also halves the number of chunks whose values a lane holds.
__device__ __forceinline__ void reduce_medium(
    const Monoid::Item *items, const Piece &piece, u32 first, Monoid::Out *out)
{
    static_assert(TOGETHER == 8 && MEDIUM == 2 * WARP_THREADS, "the steps below");
    // A lane combines two items: adjacent ones unless any order is right.
    const u32 low_item = Monoid::COMMUTATIVE ? lane_index() : 2 * lane_index();
    const u32 high_item = low_item + (Monoid::COMMUTATIVE ? WARP_THREADS : 1);
    Monoid::Item low[TOGETHER], high[TOGETHER];
    u32 lengths[TOGETHER];
#pragma unroll
    for (u32 chunk = 0; chunk < TOGETHER; chunk++) {
        const Monoid::Item *its = items + __shfl_sync(ALL_LANES, piece.begin, first + chunk);
        lengths[chunk] = __shfl_sync(ALL_LANES, piece.items, first + chunk);
        if (low_item < lengths[chunk]) low[chunk] = its[low_item];
        if (high_item < lengths[chunk]) high[chunk] = its[high_item];
    }
    Monoid::Value values[TOGETHER];
#pragma unroll
    for (u32 chunk = 0; chunk < TOGETHER; chunk++) {
        values[chunk] = low_item < lengths[chunk] ? Monoid::lift(low[chunk]) : Monoid::identity();
        if (high_item < lengths[chunk]) values[chunk] = Monoid::combine(values[chunk], Monoid::lift(high[chunk]));
    }
#pragma unroll
    for (u32 distance = 1, held = TOGETHER / 2; held != 0; distance *= 2, held /= 2) {
        const bool is_upper = lane_index() & distance;
#pragma unroll
        for (u32 chunk = 0; chunk < held; chunk++) {
            const Monoid::Value kept = is_upper ? values[chunk + held] : values[chunk];
            const Monoid::Value given = is_upper ? values[chunk] : values[chunk + held];
            values[chunk] = combine_lanes(kept, given, distance);
        }
    }
    Monoid::Value value = values[0];
#pragma unroll
    for (u32 distance = TOGETHER; distance < WARP_THREADS; distance *= 2)
        value = combine_lanes(value, value, distance);
    const u32 lane = lane_index();
    const u32 chunk = first + ((lane & 1) << 2 | (lane & 2) | (lane & 4) >> 2);
    const u64 segment = __shfl_sync(ALL_LANES, piece.segment, chunk);
    const u32 exists = __shfl_sync(ALL_LANES, (u32)piece.exists(), chunk);
    if (lane < TOGETHER && exists) out[segment] = Monoid::lower(value);
}

template <class Offsets>
__device__ __forceinline__ void reduce(
    const Monoid::Item *__restrict__ items, const Slots<CHUNK, Offsets> &slots, u32 warp_slots,
    Monoid::Out *__restrict__ out, u64 *scratch, u64 *workspace)
{
    Control *control = (Control *)workspace;
    const u64 first = ((u64)blockIdx.x * BLOCK_WARPS + warp_index()) * warp_slots;
    if (slots.segments == 0 || first >= slots.first_of(slots.segments)) return;
    Piece piece = slots.piece_at(first);
    if (lane_index() >= warp_slots) piece.chunks = 0, piece.items = 0;
    if (__any_sync(ALL_LANES, piece.items > (HAS_MEDIUM ? MEDIUM : SHORT) || piece.chunks > 1)) {
        for (u32 lane = 0; lane < warp_slots; lane++) {
            const Piece its = piece.of_lane(lane);
            if (!its.exists()) continue;
            const Monoid::Item *chunk = items + its.begin;
            const Monoid::Value value = fold(its.items, [&](u32 item) { return Monoid::lift(chunk[item]); });
            if (its.chunks > 1)
                join(value, its, scratch, (u32 *)control->states(), out);
            else if (lane_index() == 0)
                out[its.segment] = Monoid::lower(value);
        }
        return;
    }
    if constexpr (HAS_MEDIUM) {
        if (__any_sync(ALL_LANES, piece.items > SHORT)) {
            for (u32 lane = 0; lane < warp_slots; lane += TOGETHER) reduce_medium(items, piece, lane, out);
            return;
        }
    }
    reduce_short(items, piece, out);
}

// Reduces segments between consecutive entries of `offsets`.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, RESIDENT_BLOCKS) segmented_reduce_by_offsets(
    const Monoid::Item *items, u64 item_count, const Word *offsets, const u32 *count, u64 capacity, u32 is_given,
    u32 warp_slots, Monoid::Out *out, u64 *scratch, u64 *workspace)
{
    const u64 segments = segment_count(count, capacity, is_given, (Control *)workspace);
    reduce(items, Slots<CHUNK, OffsetTable>{{offsets, item_count}, segments}, warp_slots, out, scratch, workspace);
}

// Reduces segments of `length` items each.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, RESIDENT_BLOCKS) segmented_reduce_of_length(
    const Monoid::Item *items, u64 length, const u32 *count, u64 capacity, u32 is_given, u32 warp_slots,
    Monoid::Out *out, u64 *scratch, u64 *workspace)
{
    const u64 segments = segment_count(count, capacity, is_given, (Control *)workspace);
    reduce(items, Slots<CHUNK, EqualLengths>{{length}, segments}, warp_slots, out, scratch, workspace);
}
