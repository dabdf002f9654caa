// radix_sort, onesweep: contract and source in compaction/src/radix_sort.rs.
//
// One kernel counts all digits of all keys; then a launch for each digit, from the lowest on, orders the keys by it. A
// block of that takes a tile, ranks its keys by the digit, looks back over the counts of the tiles before its own, one
// thread a bin, and writes the keys of each bin together.

#include "digit.cuh"
#include "look_back.cuh"
#include "radix_sort.cuh"

constexpr u32 BINS = 1 << DIGIT_BITS;
constexpr u32 MOST_PASSES = sizeof(Key) * 8 / DIGIT_BITS;
constexpr u32 TILE_ITEMS = BLOCK_THREADS * ITEMS_PER_THREAD;

struct Digit {
    u32 shift;
    u32 mask;

    __device__ __forceinline__ u32 of(Key key) const { return (u32)(ordered(key) >> shift) & mask; }
};

// The pass that orders by the bits from `begin` on.
__device__ __forceinline__ Digit digit_at(u32 begin, u32 end)
{
    return {begin, (1u << min(DIGIT_BITS, end - begin)) - 1};
}

// ---------------------------------------------------------------------------------------------- where each bin starts

// Turns the counts of all passes into the places of their bins' first keys, and clears them for the next call.
__device__ __forceinline__ void scan_bins(u32 *counts, u32 *starts)
{
    __shared__ u32 warp_sums[MOST_PASSES][BINS / WARP_THREADS];
    static_assert(BLOCK_THREADS >= BINS, "a thread for every bin");
    const u32 bin = threadIdx.x;
    u32 before[MOST_PASSES];
    if (bin < BINS) {
#pragma unroll
        for (u32 pass = 0; pass < MOST_PASSES; pass++) {
            const u32 keys = atomicExch(&counts[pass * BINS + bin], 0u);
            const u32 inclusive = warp_inclusive_sum(keys);
            before[pass] = inclusive - keys;
            if (lane_index() == WARP_THREADS - 1) warp_sums[pass][warp_index()] = inclusive;
        }
    }
    __syncthreads();
    if (bin >= BINS) return;
#pragma unroll
    for (u32 pass = 0; pass < MOST_PASSES; pass++) {
        for (u32 warp = 0; warp < warp_index(); warp++) before[pass] += warp_sums[pass][warp];
        starts[pass * BINS + bin] = before[pass];
    }
}

// Counts the digits of all passes over the bits from `begin` to `end`. `counts` are zero before and after; the block that
// finishes last leaves in `starts` where each bin of each pass begins.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) radix_sort_count(
    const u32 *words, const u32 *count, u32 capacity, u32 begin, u32 end, u32 *counts, u32 *starts, u32 *finished)
{
    __shared__ u32 histograms[MOST_PASSES][BINS];
    __shared__ bool is_last;
    const Key *keys = (const Key *)words;
    const u32 items = min(*count, capacity);
    u32 *all = &histograms[0][0];
    for (u32 bin = threadIdx.x; bin < MOST_PASSES * BINS; bin += BLOCK_THREADS) all[bin] = 0;
    __syncthreads();

    const u64 stride = (u64)gridDim.x * BLOCK_THREADS;
    constexpr u32 BATCH = COUNT_BATCH;
    for (u64 first = (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x; first < items; first += BATCH * stride) {
        Key batch[BATCH];
#pragma unroll
        for (u32 key = 0; key < BATCH; key++)
            if (first + key * stride < items) batch[key] = keys[first + key * stride];
#pragma unroll
        for (u32 key = 0; key < BATCH; key++) {
            if (first + key * stride >= items) break;
#pragma unroll
            for (u32 pass = 0; pass < MOST_PASSES; pass++) {
                const u32 shift = begin + pass * DIGIT_BITS;
                if (shift < end) atomicAdd(&histograms[pass][digit_at(shift, end).of(batch[key])], 1u);
            }
        }
    }
    __syncthreads();
    for (u32 bin = threadIdx.x; bin < MOST_PASSES * BINS; bin += BLOCK_THREADS)
        if (all[bin] != 0) atomicAdd(&counts[bin], all[bin]);

    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(finished, 1u) == gridDim.x - 1;
        __threadfence();
        if (is_last) *finished = 0;
    }
    __syncthreads();
    if (is_last) scan_bins(counts, starts);
}

// ------------------------------------------------------------------------------------------------------------ a sweep

struct Shared {
    union {
        struct {
            u32 counters[BLOCK_WARPS][BINS];
            u32 masks[BLOCK_WARPS][BINS];
        } warps;
        Key keys[TILE_ITEMS];
        u32 values[TILE_ITEMS];
    };
    u32 shift[BINS];  // from the place of a key in its tile ordered by digit to its place in the output
};

// How many keys of the thread's bin are in the tiles before this one. Windows of states are read at once, for the tiles
// that run together have all been begun at about the same time.
__device__ __forceinline__ u32 look_back_in_bin(LookBack bin)
{
    u32 before = 0;
    for (u32 nearest = 1;; nearest += WINDOW) {
        LookBack::TileState states[WINDOW];
#pragma unroll
        for (u32 tile = 0; tile < WINDOW; tile++) states[tile] = bin.state((nearest + tile) * BINS);
#pragma unroll
        for (u32 tile = 0; tile < WINDOW; tile++) {
            while (bin.status(states[tile]) == PENDING) states[tile] = bin.state((nearest + tile) * BINS);
            before += states[tile].value();
            if (bin.status(states[tile]) == INCLUSIVE) return before;
        }
    }
}

// This thread's items of the tile, and `absent` where it has none.
template <class Item>
__device__ __forceinline__ void load_tile(
    const Item *__restrict__ in, u64 first, u32 items, Item (&held)[ITEMS_PER_THREAD], Item absent)
{
    const u32 place = warp_first_place<ITEMS_PER_THREAD>() + lane_index();
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
        held[item] = place + item * WARP_THREADS < items ? in[first + place + item * WARP_THREADS] : absent;
}

// Asks for the tile's lines, so that they are in the cache when they are read.
__device__ __forceinline__ void prefetch_tile(const u32 *__restrict__ in, u64 first, u32 items)
{
    constexpr u32 LINE = 128 / sizeof(u32);
    for (u32 item = threadIdx.x * LINE; item < items; item += BLOCK_THREADS * LINE)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(in + first + item)));
}

// Places in the tile, two in a register: registers are scarce.
struct Ranks {
    u32 pairs[ITEMS_PER_THREAD / 2];

    __device__ __forceinline__ void set(u32 item, u32 rank)
    {
        pairs[item / 2] = item % 2 == 0 ? rank : pairs[item / 2] | rank << 16;
    }
    __device__ __forceinline__ u32 at(u32 item) const { return pairs[item / 2] >> item % 2 * 16 & 0xffff; }
};
static_assert(TILE_ITEMS <= 1 << 16 && ITEMS_PER_THREAD % 2 == 0, "a place has 16 bits");

__device__ __forceinline__ void sweep_tile(
    const Key *__restrict__ keys_in, const u32 *__restrict__ values_in, u64 first, u32 items, Digit digit,
    const u32 *__restrict__ starts, Key *__restrict__ keys_out, u32 *__restrict__ values_out, Control *control,
    Ticket ticket, Shared &shared)
{
    u32 *counters = &shared.warps.counters[0][0];
#pragma unroll
    for (u32 word = threadIdx.x; word < 2 * BLOCK_WARPS * BINS; word += BLOCK_THREADS) counters[word] = 0;
    Key keys[ITEMS_PER_THREAD];
    if constexpr (VALUES) prefetch_tile(values_in, first, items);
    // What the last tile lacks is ranked behind all of its keys, and never written.
    load_tile(keys_in, first, items, keys, LAST_KEY);
    u32 digits[ITEMS_PER_THREAD], warp_ranks[ITEMS_PER_THREAD];
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) digits[item] = digit.of(keys[item]);
    __syncthreads();
    rank_in_warp_by_masks(digits, shared.warps.counters[warp_index()], shared.warps.masks[warp_index()], warp_ranks);

    const LookBack of_bin = {control->states(), {ticket.epoch, ticket.tile * BINS + threadIdx.x}};
    const u32 absent = threadIdx.x == digit.mask ? TILE_ITEMS - items : 0;
    const Bin bin = place_bins<BINS>(counters, [&](u32 keys_of_bin) {
        of_bin.publish(ticket.tile == 0 ? INCLUSIVE : AGGREGATE, keys_of_bin - absent);
    });
    __syncthreads();
    Ranks ranks;
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
        ranks.set(item, warp_ranks[item] + shared.warps.counters[warp_index()][digit.of(keys[item])]);
    __syncthreads();
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) shared.keys[ranks.at(item)] = keys[item];

    if (threadIdx.x < BINS) {
        u32 before = 0;
        if (ticket.tile != 0) {
            before = look_back_in_bin(of_bin);
            of_bin.publish(INCLUSIVE, before + bin.items - absent);
        }
        shared.shift[threadIdx.x] = starts[threadIdx.x] + before - bin.first;
    }
    __syncthreads();
    u32 places[ITEMS_PER_THREAD];
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) {
        const u32 rank = threadIdx.x + item * BLOCK_THREADS;
        if (rank < items) {
            const Key key = shared.keys[rank];
            places[item] = shared.shift[digit.of(key)] + rank;
            keys_out[places[item]] = key;
        }
    }
    if constexpr (VALUES) {
        u32 values[ITEMS_PER_THREAD];
        load_tile(values_in, first, items, values, 0u);
        __syncthreads();
#pragma unroll
        for (u32 item = 0; item < ITEMS_PER_THREAD; item++) shared.values[ranks.at(item)] = values[item];
        __syncthreads();
#pragma unroll
        for (u32 item = 0; item < ITEMS_PER_THREAD; item++) {
            const u32 rank = threadIdx.x + item * BLOCK_THREADS;
            if (rank < items) values_out[places[item]] = shared.values[rank];
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR) radix_sort_onesweep(
    const u32 *keys_in, const u32 *values_in, const u32 *count, u32 capacity, u32 begin, u32 end, const u32 *starts,
    u32 *keys_out, u32 *values_out, u64 *workspace)
{
    __shared__ Shared shared;
    Control *control = (Control *)workspace;
    Ticket ticket;
    const u32 items = draw_ticket(control, ticket, [&] { return min(*count, capacity); });
    const u64 first = (u64)ticket.tile * TILE_ITEMS;
    if (first < items)
        sweep_tile(
            (const Key *)keys_in, values_in, first, (u32)min((u64)TILE_ITEMS, items - first), digit_at(begin, end), starts,
            (Key *)keys_out, values_out, control, ticket, shared);
    retire(control, ticket.epoch);
}
