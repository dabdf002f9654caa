// radix_sort, onesweep: contract and source in compaction/src/radix_sort.rs.
//
// One kernel counts all digits of all keys; then a launch for each digit, from the lowest on, orders the keys by it. A
// block of that takes a tile, counts its keys by the digit and says how many they are, ranks them, looks back over the
// counts of the tiles before its own, one thread a bin, and writes the keys of each bin together, and then their values.
//
// More keys than a portion has are ordered by a launch for each portion, which leaves where the next one's begin.

#include "digit.cuh"
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
__device__ __forceinline__ void scan_bins(u64 *counts, u64 *starts)
{
    __shared__ u64 warp_sums[MOST_PASSES][BINS / WARP_THREADS];
    static_assert(BLOCK_THREADS >= BINS, "a thread for every bin");
    const u32 bin = threadIdx.x;
    u64 before[MOST_PASSES];
    if (bin < BINS) {
#pragma unroll
        for (u32 pass = 0; pass < MOST_PASSES; pass++) {
            const u64 keys = atomicExch(&counts[pass * BINS + bin], 0ull);
            const u64 inclusive = warp_inclusive<Sum<u64>>(keys);
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
    const u8 *key_bytes, const u32 *count, u64 capacity, u32 is_given, u32 begin, u32 end, u64 *counts, u64 *starts,
    u32 *finished, u64 *workspace)
{
    __shared__ u32 histograms[MOST_PASSES][BINS];
    __shared__ bool is_last;
    const Key *keys = (const Key *)key_bytes;
    const u64 items = key_count(count, capacity, is_given, (Control *)workspace);
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
        if (all[bin] != 0) atomicAdd(&counts[bin], (u64)all[bin]);

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

// Where in the output an item goes. Wider ones need registers that fewer than 2^32 items can do without.
using Place = decltype(unsigned_of<WIDE ? 8 : 4>());

struct Shared {
    union {
        struct {
            u32 counters[BLOCK_WARPS][BINS];
            u32 masks[BLOCK_WARPS][BINS];
        } warps;
        Key keys[TILE_ITEMS];
        Value values[HAS_VALUES ? TILE_ITEMS : 1];
    };
    Place shift[BINS];  // from the place of a key in its tile ordered by digit to its place in the output
};

// A tile's place in the input.
struct Span {
    u64 first;
    u32 items;

    __device__ __forceinline__ bool is_full() const { return items == TILE_ITEMS; }
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

// Reads an item just here: the compiler moves other reads of what never changes to where there is no register to spare.
__device__ __forceinline__ u32 load_here(const u32 *item)
{
    u32 value;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(item)) : "memory");
    return value;
}
__device__ __forceinline__ u64 load_here(const u64 *item)
{
    u64 value;
    asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(item)) : "memory");
    return value;
}

// This thread's items of the tile, and `absent` where it has none.
template <class Item, class Load>
__device__ __forceinline__ void load_tile(
    const Item *__restrict__ in, Span tile, Item (&held)[ITEMS_PER_THREAD], Item absent, Load load)
{
    const u32 place = warp_first_place<ITEMS_PER_THREAD>() + lane_index();
    const Item *mine = in + tile.first + place;
    if (tile.is_full()) {
#pragma unroll
        for (u32 item = 0; item < ITEMS_PER_THREAD; item++) held[item] = load(mine + item * WARP_THREADS);
    } else {
#pragma unroll
        for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
            held[item] = place + item * WARP_THREADS < tile.items ? load(mine + item * WARP_THREADS) : absent;
    }
}

// Numbers of a few bits for this thread's items, several in a register: registers are scarce.
template <u32 BITS>
struct Packed {
    static constexpr u32 EACH = 32 / BITS;
    u32 words[(ITEMS_PER_THREAD + EACH - 1) / EACH];

    __device__ __forceinline__ void set(u32 item, u32 number)
    {
        u32 &word = words[item / EACH];
        word = item % EACH == 0 ? number : word | number << item % EACH * BITS;
    }
    __device__ __forceinline__ u32 at(u32 item) const { return words[item / EACH] >> item % EACH * BITS & ((1u << BITS) - 1); }
};
using Ranks = Packed<16>;
using Digits = Packed<DIGIT_BITS>;
static_assert(TILE_ITEMS <= 1 << 16, "a place in the tile has 16 bits");

// Calls write(item, rank) for each item of the tile that this thread writes.
template <class Write>
__device__ __forceinline__ void for_each_rank(Span tile, Write write)
{
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) {
        const u32 rank = threadIdx.x + item * BLOCK_THREADS;
        if (tile.is_full() || rank < tile.items) write(item, rank);
    }
}

// Puts this thread's items at their ranks in shared memory.
template <class Item>
__device__ __forceinline__ void scatter(const Item (&held)[ITEMS_PER_THREAD], const Ranks &ranks, Item *sorted)
{
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) sorted[ranks.at(item)] = held[item];
}

__device__ __forceinline__ void sweep_tile(
    const Key *__restrict__ keys_in, const Value *__restrict__ values_in, Span tile, Digit digit,
    const u64 *__restrict__ starts, u64 *next_starts, Key *__restrict__ keys_out, Value *__restrict__ values_out,
    Control *control, Ticket ticket, Shared &shared)
{
    Key keys[ITEMS_PER_THREAD];
    // What the last tile lacks is ranked behind all of its keys, and never written.
    load_tile(keys_in, tile, keys, LAST_KEY, [](const Key *key) { return *key; });
    const auto digit_of = [&](u32 item) { return digit.of(keys[item]); };
    u32 *counters = shared.warps.counters[warp_index()], *masks = shared.warps.masks[warp_index()];
#pragma unroll
    for (u32 bin = lane_index(); bin < BINS; bin += WARP_THREADS) counters[bin] = 0, masks[bin] = 0;
    __syncwarp();
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) atomicAdd(counters + digit_of(item), 1u);

    const LookBack of_bin = {control->states(), {ticket.epoch, ticket.tile * BINS + threadIdx.x}};
    const u32 absent = threadIdx.x == digit.mask ? TILE_ITEMS - tile.items : 0;
    const Bin bin = place_bins<BINS>(&shared.warps.counters[0][0], [&](u32 keys_of_bin) {
        of_bin.publish(ticket.tile == 0 ? INCLUSIVE : AGGREGATE, keys_of_bin - absent);
    });
    __syncthreads();
    Ranks ranks;
    place_in_warp<DIGIT_BITS, ITEMS_PER_THREAD>(digit_of, counters, masks, ranks);
    __syncthreads();
    scatter(keys, ranks, shared.keys);

    // On their way while the block looks back and writes the keys, whose registers they have.
    Value values[ITEMS_PER_THREAD];
    if constexpr (HAS_VALUES)
        load_tile(values_in, tile, values, (Value)0, [](const Value *value) { return load_here(value); });
    if (threadIdx.x < BINS) {
        u32 before = 0;
        if (ticket.tile != 0) {
            before = look_back_in_bin(of_bin);
            of_bin.publish(INCLUSIVE, before + bin.items - absent);
        }
        const u64 start = starts[threadIdx.x] + before;
        shared.shift[threadIdx.x] = (Place)(start - bin.first);
        if (ticket.tile == PORTION_TILES - 1) next_starts[threadIdx.x] = start + bin.items - absent;
    }
    __syncthreads();
    Digits digits;
    for_each_rank(tile, [&](u32 item, u32 rank) {
        const Key key = shared.keys[rank];
        const u32 number = digit.of(key);
        digits.set(item, number);
        keys_out[shared.shift[number] + rank] = key;
    });
    if constexpr (HAS_VALUES) {
        __syncthreads();
        scatter(values, ranks, shared.values);
        __syncthreads();
        for_each_rank(tile, [&](u32 item, u32 rank) {
            values_out[shared.shift[digits.at(item)] + rank] = shared.values[rank];
        });
    }
}

// Orders the portion of the keys that begins with `portion` by the bits from `begin` on. `starts` are the places of the
// first keys of its bins, and `next_starts` become those of the next portion.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR) radix_sort_onesweep(
    const u8 *keys_in, const u8 *values_in, const u32 *count, u64 capacity, u32 is_given, u64 portion, u32 begin, u32 end,
    const u64 *starts, u64 *next_starts, u8 *keys_out, u8 *values_out, u64 *workspace)
{
    __shared__ Shared shared;
    Control *control = (Control *)workspace;
    Ticket ticket;
    const u64 items = draw_ticket(control, ticket, [&] { return key_count(count, capacity, is_given, control); });
    const u64 first = portion + (u64)ticket.tile * TILE_ITEMS;
    if (first < items)
        sweep_tile(
            (const Key *)keys_in, (const Value *)values_in, {first, (u32)min((u64)TILE_ITEMS, items - first)},
            digit_at(begin, end), starts, next_starts, (Key *)keys_out, (Value *)values_out, control, ticket, shared);
    retire(control, ticket.epoch);
}
