// radix_sort by onesweep. Contract and source: compaction/src/radix_sort.rs.
//
// One launch counts all digits of all keys; then one launch per digit, lowest first, sorts the keys by it. In these
// launches, a block takes a tile, counts its keys by digit and publishes the counts. It ranks the keys and looks back over
// the counts of earlier tiles, with one thread per bin. Then it writes the keys of each bin together, followed by their
// values.
//
// Inputs with more keys than a portion are sorted by one launch per portion, which writes where the next portion's bins
// start.

#include "digit.cuh"
#include "radix_sort.cuh"

constexpr u32 BINS = 1 << DIGIT_BITS;
constexpr u32 MAX_PASSES = sizeof(Key) * 8 / DIGIT_BITS;
constexpr u32 TILE_ITEMS = BLOCK_THREADS * ITEMS_PER_THREAD;

struct Digit {
    u32 shift;
    u32 mask;

    __device__ __forceinline__ u32 of(Key key) const { return (u32)(ordered(key) >> shift) & mask; }
};

// The digit that begins at bit `begin`, and ends before bit `end` at the latest.
__device__ __forceinline__ Digit digit_at(u32 begin, u32 end)
{
    return {begin, (1u << min(DIGIT_BITS, end - begin)) - 1};
}

// ---------------------------------------------------------------------------------------------- where each bin starts

// Turns the counts of all passes into the output positions of their bins' first keys, and clears them for the next
// call.
__device__ __forceinline__ void scan_bins(u64 *counts, u64 *starts)
{
    __shared__ u64 warp_sums[MAX_PASSES][BINS / WARP_THREADS];
    static_assert(BLOCK_THREADS >= BINS, "a thread for every bin");
    const u32 bin = threadIdx.x;
    u64 before[MAX_PASSES];
    if (bin < BINS) {
#pragma unroll
        for (u32 pass = 0; pass < MAX_PASSES; pass++) {
            const u64 keys = atomicExch(&counts[pass * BINS + bin], 0ull);
            const u64 inclusive = warp_inclusive<Sum<u64>>(keys);
            before[pass] = inclusive - keys;
            if (lane_index() == WARP_THREADS - 1) warp_sums[pass][warp_index()] = inclusive;
        }
    }
    __syncthreads();
    if (bin >= BINS) return;
#pragma unroll
    for (u32 pass = 0; pass < MAX_PASSES; pass++) {
        for (u32 warp = 0; warp < warp_index(); warp++) before[pass] += warp_sums[pass][warp];
        starts[pass * BINS + bin] = before[pass];
    }
}

// Counts the digits of all passes over the bits from `begin` to `end`. `counts` are zero before and after the launch.
// The last block to finish writes the start of each bin of each pass to `starts`.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) radix_sort_count(
    const u8 *key_bytes, Input input, u32 begin, u32 end, u64 *counts, u64 *starts, u32 *finished, u64 *workspace)
{
    __shared__ u32 histograms[MAX_PASSES][BINS];
    __shared__ bool is_last;
    const Key *keys = (const Key *)key_bytes;
    const u64 items = input.number<Word>((Control *)workspace);
    u32 *all = &histograms[0][0];
    for (u32 bin = threadIdx.x; bin < MAX_PASSES * BINS; bin += BLOCK_THREADS) all[bin] = 0;
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
            for (u32 pass = 0; pass < MAX_PASSES; pass++) {
                const u32 shift = begin + pass * DIGIT_BITS;
                if (shift < end) atomicAdd(&histograms[pass][digit_at(shift, end).of(batch[key])], 1u);
            }
        }
    }
    __syncthreads();
    for (u32 bin = threadIdx.x; bin < MAX_PASSES * BINS; bin += BLOCK_THREADS)
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

// The type of output positions. 64-bit ones need registers that inputs of fewer than 2^32 items can do without.
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
    Place shift[BINS];  // from a key's index in its tile sorted by digit to its output position
};

// The range of input items of a tile.
struct Span {
    u64 first;
    u32 items;

    __device__ __forceinline__ bool is_full() const { return items == TILE_ITEMS; }
};

// The number of keys in the thread's bin in all earlier tiles. Several states are read at once, because concurrent
// tiles have all started at about the same time.
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

// Loads an item at this point of the program. The compiler moves ordinary loads of constant memory to places where no
// register is free.
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

// Loads this thread's items of the tile, and `absent` behind the end of the input.
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

// Small numbers for this thread's items, several in a register, because registers are scarce.
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
static_assert(TILE_ITEMS <= 1 << 16, "an index within a tile has 16 bits");

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

// Writes this thread's items to shared memory at their ranks.
template <class Item>
__device__ __forceinline__ void scatter(const Item (&held)[ITEMS_PER_THREAD], const Ranks &ranks, Item *sorted)
{
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) sorted[ranks.at(item)] = held[item];
}

// Sorts a tile. load_values(values) loads this thread's values.
template <class LoadValues>
__device__ __forceinline__ void sweep_tile(
    const Key *__restrict__ keys_in, LoadValues load_values, Span tile, Digit digit, const u64 *__restrict__ starts,
    u64 *next_starts, Key *__restrict__ keys_out, Value *__restrict__ values_out, Control *control, Ticket ticket,
    Shared &shared)
{
    Key keys[ITEMS_PER_THREAD];
    // Missing items of the last tile rank behind all of its keys and are never written.
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

    // In flight while the block looks back and writes the keys, whose registers the values reuse.
    [[maybe_unused]] Value values[ITEMS_PER_THREAD];
    if constexpr (HAS_VALUES) load_values(values);
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

// Sorts the keys from the index `portion` on, as many as a launch sorts, by the digit at bit `begin`. Only bits below
// `end` count. `starts` are the output positions of its bins, and `next_starts` receives those of the next portion.
// load_values(tile, values) loads this thread's values. In a struct, the three numbers would take registers.
template <class LoadValues>
__device__ __forceinline__ void sweep(
    const Moved &moved, LoadValues load_values, const Input &input, u64 portion, u32 begin, u32 end, const u64 *starts,
    u64 *next_starts, u64 *workspace)
{
    __shared__ Shared shared;
    Control *control = (Control *)workspace;
    Ticket ticket;
    const u64 items = draw_ticket(control, ticket, [&] { return input.number<Word>(control); });
    const u64 first = portion + (u64)ticket.tile * TILE_ITEMS;
    if (first < items) {
        const Span tile = {first, (u32)min((u64)TILE_ITEMS, items - first)};
        sweep_tile(
            (const Key *)moved.keys_in, [&](auto &values) { load_values(tile, values); }, tile,
            digit_at(begin, end), starts, next_starts, (Key *)moved.keys_out, (Value *)moved.values_out, control,
            ticket, shared);
    }
    retire(control, ticket.epoch);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR) radix_sort_onesweep(
    Moved moved, Input input, u64 portion, u32 begin, u32 end, const u64 *starts, u64 *next_starts, u64 *workspace)
{
    const u8 *const values_in = moved.values_in;
    const auto load_values = [values_in](Span tile, Value(&values)[ITEMS_PER_THREAD]) {
        const Value *__restrict__ in = (const Value *)values_in;
        load_tile(in, tile, values, (Value)0, [](const Value *value) { return load_here(value); });
    };
    sweep(moved, load_values, input, portion, begin, end, starts, next_starts, workspace);
}

#ifdef MAKES_INDICES
// The first pass of an argsort: the values are the indices of the keys.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR) radix_sort_onesweep_indices(
    Moved moved, Input input, u64 portion, u32 begin, u32 end, const u64 *starts, u64 *next_starts, u64 *workspace)
{
    const auto make_indices = [](Span tile, Value(&values)[ITEMS_PER_THREAD]) {
        const u64 first = tile.first + warp_first_place<ITEMS_PER_THREAD>() + lane_index();
#pragma unroll
        for (u32 item = 0; item < ITEMS_PER_THREAD; item++) values[item] = (Value)(first + item * WARP_THREADS);
    };
    sweep(moved, make_indices, input, portion, begin, end, starts, next_starts, workspace);
}
#endif
