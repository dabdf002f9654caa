// top_k: the first k keys in sort order. Contract: compaction/src/top_k.rs.
//
// A radix select finds the last of these keys: each launch of top_k_count counts one digit of 8 bits, from the highest
// on, of the keys that agree with it in the higher digits. top_k_select then keeps the keys before it, and the first
// ones equal to it, in input order. top_k_sort puts few keys in order, and a radix sort puts more.

#include "count_items.cuh"
#include "radix_sort.cuh"

constexpr u32 BINS = 256;
constexpr u32 DIGIT_BITS = 8;
constexpr u32 KEY_BITS = 8 * sizeof(Key);
constexpr u32 LOG_REPLICAS = 5;
constexpr u32 REPLICAS = 1 << LOG_REPLICAS;  // counters of a bin, one for each lane, so that lanes do not collide

// What the launches of a call tell each other. The totals of the bins and then look-back states follow it.
struct Found {
    u64 started;    // blocks of the current launch that have started, zero between launches
    u64 threshold;  // digits of the last key that are known, as a number in sort order
    u64 remaining;  // rank of the last key among the keys that agree in these digits, from 1; 0 if there is none
    u64 unused[5];
};
constexpr u32 FOUND_WORDS = sizeof(Found) / sizeof(u64);

// The keys of a call, and the number of keys to keep.
struct Wanted {
    u64 capacity;  // largest possible number of keys
    u64 keys;      // number of keys to keep, if there are so many
    u32 is_given;  // nonzero: there are exactly `capacity` keys; zero: the device count says how many
    u32 shift;     // top_k_count: the lowest bit of the digit
};

// Counts the digit of a key if it agrees in the higher digits. Not a lambda, because the compiler would call that as a
// function.
struct CountKey {
    u32 *counters;
    Key threshold;
    u32 shift;
    bool is_first;

    template <u32 COUNT>
    __device__ __forceinline__ void operator()(const Key (&keys)[COUNT], bool exist) const
    {
#pragma unroll
        for (u32 each = 0; each < COUNT; each++) {
            const Key number = ordered(keys[each]);
            // Two shifts, because one by all bits is undefined.
            const bool agrees = is_first || ((Key)(number ^ threshold) >> shift >> DIGIT_BITS) == 0;
            // Other keys count as well, in a bin behind the last one: a branch would take longer.
            const u32 bin = exist && agrees ? (u32)(number >> shift) % BINS : BINS;
            atomicAdd(counters + (bin * REPLICAS | lane_index()), 1u);
        }
    }
};

// Finds a digit of the last key.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) top_k_count(
    const u8 *key_bytes, const u32 *count, Wanted wanted, u64 *workspace)
{
    const u32 shift = wanted.shift;
    __shared__ alignas(16) u32 counters[(BINS + 1) * REPLICAS];
    __shared__ u64 totals[BINS];
    static_assert(BLOCK_THREADS >= BINS, "a thread for every bin");
    Control *control = (Control *)workspace;
    Found *found = (Found *)control->states();
    u64 *bins = control->states() + FOUND_WORDS;
    const bool is_first = shift + DIGIT_BITS == KEY_BITS;
    // The ticket is in flight while the keys load.
    u64 ticket = 0;
    if (threadIdx.x == 0) ticket = atomicAdd(&found->started, 1ull);
    const u64 items = key_count(count, wanted.capacity, wanted.is_given, control);
    const u64 threshold = is_first ? 0 : found->threshold, remaining = is_first ? min(wanted.keys, items) : found->remaining;
    const auto clear = [&] {
        clear_counters(counters, BINS * REPLICAS);
        __syncthreads();
    };
    for_each_item((const Key *)key_bytes, items, clear, CountKey{counters, (Key)threshold, shift, is_first});
    __syncthreads();
    add_replicas(counters, BINS, LOG_REPLICAS, [&](u32 bin, u32 sum) { totals[bin] = sum; });
    const bool is_last = block_first(ticket) == gridDim.x - 1;
    if (threadIdx.x < BINS) add_arrival(bins + total_place(threadIdx.x), totals[threadIdx.x]);
    if (!is_last) return;
    // The block that started last waits for the others, which already run.
    if (threadIdx.x < BINS) {
        u64 *bin = bins + total_place(threadIdx.x);
        u64 word;
        do word = load_relaxed(bin);
        while (arrivals(word) < gridDim.x);
        totals[threadIdx.x] = arrived_sum(word);
        *bin = 0;
    }
    __syncthreads();
    if (warp_index() != 0) return;
    // Each lane looks through neighboring bins.
    constexpr u32 LANE_BINS = BINS / WARP_THREADS;
    u64 sum = 0;
#pragma unroll
    for (u32 each = 0; each < LANE_BINS; each++) sum += totals[lane_index() * LANE_BINS + each];
    u64 before = warp_inclusive<Sum<u64>>(sum) - sum;
    if (lane_index() == 0) found->remaining = 0, found->threshold = threshold, found->started = 0;
    __syncwarp();
    if (before >= remaining || before + sum < remaining) return;
    u32 bin = lane_index() * LANE_BINS;
    while (before + totals[bin] < remaining) before += totals[bin++];
    found->threshold = threshold | (u64)bin << shift;
    found->remaining = remaining - before;
}

constexpr u32 TILE_ITEMS = BLOCK_THREADS * ITEMS_PER_THREAD;

// Writes the keys before the last one, and behind them those equal to it, with their indices, both in input order.
// `kept` receives their number.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) top_k_select(
    const u8 *key_bytes, const u32 *count, Wanted wanted, u8 *keys_out, u32 *indices_out, u32 *kept, u64 *workspace)
{
    using Counts = LookBackOver<Sum<u64>>;  // of keys before the last one, and of equal keys in the upper half
    Control *control = (Control *)workspace;
    const Found *found = (const Found *)control->states();
    Ticket ticket;
    const u64 items = draw_ticket(control, ticket, [&] { return key_count(count, wanted.capacity, wanted.is_given, control); });
    const u64 threshold = found->threshold, remaining = found->remaining, ahead = min(wanted.keys, items) - remaining;
    const u64 first = (u64)ticket.tile * TILE_ITEMS;
    const u32 here = first < items ? (u32)min(items - first, (u64)TILE_ITEMS) : 0;
    const u32 warp_first = warp_index() * WARP_THREADS * ITEMS_PER_THREAD + lane_index();
    const Key *keys = (const Key *)key_bytes + first + warp_first;
    Key held[ITEMS_PER_THREAD];
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
        held[item] = warp_first + item * WARP_THREADS < here ? keys[item * WARP_THREADS] : LAST_KEY;
    // One bit for each of this thread's keys.
    u32 earlier = 0, equal = 0;
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) {
        const u64 number = ordered(held[item]);
        const bool exists = warp_first + item * WARP_THREADS < here;
        earlier |= (u32)(exists && number < threshold) << item;
        equal |= (u32)(exists && number == threshold) << item;
    }
    const u64 warp_counts = warp_fold<Sum<u64>>((u64)__popc(equal) << 32 | __popc(earlier));
    const auto sums = block_fold_of_warps<Sum<u64>>(warp_counts);
    u64 before = 0;
    if (warp_index() == 0) {
        const Counts counts = {control->states() + FOUND_WORDS + total_place(BINS), ticket};
        if (lane_index() == 0) counts.publish(ticket.tile == 0 ? INCLUSIVE : AGGREGATE, sums.total);
        __syncwarp();
        before = counts.walk();
        if (lane_index() == 0 && ticket.tile != 0) counts.publish(INCLUSIVE, before + sums.total);
        if (lane_index() == 0 && ticket.tile == 0) *kept = (u32)min(wanted.keys, items);
    }
    before = block_first(before) + sums.before;
    if (warp_counts != 0) {
        u32 earlier_place = (u32)before, equal_place = (u32)(before >> 32);
#pragma unroll
        for (u32 item = 0; item < ITEMS_PER_THREAD; item++) {
            const u32 all_earlier = __ballot_sync(ALL_LANES, earlier >> item & 1);
            const u32 all_equal = __ballot_sync(ALL_LANES, equal >> item & 1);
            const u32 below = (1u << lane_index()) - 1;
            u64 place = ~0ull;
            if (earlier >> item & 1) place = earlier_place + __popc(all_earlier & below);
            const u32 rank = equal_place + __popc(all_equal & below);
            if ((equal >> item & 1) && rank < remaining) place = ahead + rank;
            if (place != ~0ull) {
                ((Key *)keys_out)[place] = held[item];
                indices_out[place] = (u32)(first + warp_first + item * WARP_THREADS);
            }
            earlier_place += __popc(all_earlier);
            equal_place += __popc(all_equal);
        }
    }
    retire(control, ticket.epoch);
}

// Sorts the kept keys, at most one for each thread of the only block: a key's place is the number of keys before it.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) top_k_sort(
    const u8 *kept_keys, const u32 *kept_indices, const u32 *kept, u8 *keys_out, u32 *indices_out)
{
    __shared__ Key numbers[BLOCK_THREADS];
    const u32 count = *kept, own = threadIdx.x;
    const Key key = own < count ? ((const Key *)kept_keys)[own] : (Key)0, number = ordered(key);
    if (own < count) numbers[own] = number;
    __syncthreads();
    if (own >= count) return;
    u32 place = 0;
#pragma unroll 8
    for (u32 other = 0; other < count; other++) {
        const Key theirs = numbers[other];
        place += theirs < number || (theirs == number && other < own);
    }
    ((Key *)keys_out)[place] = key;
    indices_out[place] = kept_indices[own];
}
