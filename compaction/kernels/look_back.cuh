// Prefix sums over tiles in a single pass, by decoupled look-back: Merrill and Garland, "Single-pass Parallel Prefix
// Scan with Decoupled Look-back", NVIDIA technical report NVR-2016-002, 2016.
//
// A block sums its tile, publishes that aggregate, and reads the states of earlier tiles, from the nearest to the
// farthest, until it finds one with an inclusive prefix. Three things differ from the paper:
// - Tiles are assigned by an atomic counter (the ticket), so a tile only waits for tiles whose blocks already run. CUDA
//   does not guarantee the order in which blocks start.
// - A state contains the epoch of its launch, and states of other epochs count as pending. So no launch has to clear
//   them.
// - A warp can read several windows of 32 states at once. On an idle GPU all tiles start together, and look-back is a
//   chain of L2 latencies; on a busy one the prefix is near, and one window is enough.
#pragma once

#include "block.cuh"

// The header of a workspace. The tile states follow it, one word each.
struct Control {
    u64 ticket;       // epoch << 32 | index of the next tile
    u64 finished;     // number of finished blocks, counted in the last epoch only
    u64 state_count;  // number of state words in the workspace
    u64 appended;     // blocks << 32 | survivors while an append runs, else 0
    u64 overrun;      // a device count larger than its buffer, else 0
    u64 overrun_capacity;  // number of items in the buffer at that overrun
    u64 selected[2];  // number selected before a portion of even and of odd number
    u64 unused[8];    // fills a 128-byte line, so that the header shares no line with the states

    __device__ __forceinline__ u64 *states() { return (u64 *)(this + 1); }
};

// Records a device count larger than the buffer, for the workspace's `check`.
__device__ __forceinline__ void report_overrun(u64 said, u64 capacity, Control *control)
{
    if (said <= capacity || blockIdx.x != 0 || threadIdx.x != 0) return;
    control->overrun = said;
    control->overrun_capacity = capacity;
}

// The state of a tile. For a value of 4 bytes it is one word: epoch << 34 | status << 32 | value. A value of 8 bytes
// has two such words, one for each half, and is valid once both have the same epoch and status.
enum Status : u32 {
    PENDING = 0,    // nothing is known yet
    AGGREGATE = 1,  // the value is the sum over the tile
    INCLUSIVE = 2,  // the value is the sum over the tile and all earlier tiles
};
constexpr u32 STATUS_BITS = 2;
static_assert(LAST_EPOCH < (1u << (32 - STATUS_BITS)), "epoch and status share 32 bits");

// A state word holds everything that one tile tells another, so it orders no other memory and relaxed accesses suffice.
// Aligned, of one size and at GPU scope they are morally strong, hence single-copy atomic and coherent (PTX ISA,
// "Memory Consistency Model").
__device__ __forceinline__ u64 load_relaxed(const u64 *word)
{
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(word)));
    return value;
}
__device__ __forceinline__ void store_relaxed(u64 *word, u64 value)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(word)), "l"(value));
}

struct Ticket {
    u32 epoch;
    u32 tile;
};

// Draws the next tile for the block. All threads call it, once per launch; it contains one barrier. `meanwhile` runs
// while the atomic is in flight, and its result is returned. The first thread calls `drawn` with the tile and that
// result, before the other threads know the tile.
//
// The block that draws the last ticket prepares the word for the next launch, because no block draws after it.
template <class Meanwhile, class Drawn>
__device__ __forceinline__ auto draw_ticket(Control *control, Ticket &ticket, Meanwhile meanwhile, Drawn drawn)
{
    __shared__ u64 shared_word;
    u64 word = 0;
    if (threadIdx.x == 0) word = atomicAdd(&control->ticket, 1ull);
    const auto result = meanwhile();
    if (threadIdx.x == 0) {
        shared_word = word;
        drawn((u32)word, result);
    }
    __syncthreads();

    ticket = {(u32)(shared_word >> 32), (u32)shared_word};
    const bool was_last = ticket.tile == gridDim.x - 1;
    if (threadIdx.x == 0 && was_last && ticket.epoch != LAST_EPOCH)
        store_relaxed(&control->ticket, (u64)(ticket.epoch + 1) << 32);
    return result;
}

template <class Meanwhile>
__device__ __forceinline__ auto draw_ticket(Control *control, Ticket &ticket, Meanwhile meanwhile)
{
    return draw_ticket(control, ticket, meanwhile, [](u32, const auto &) {});
}

// Ends a block's use of the workspace. All threads of each block call it, after their last read of a state.
//
// After the last epoch, epochs start at 1 again, and states of old launches would look like new ones. Therefore the
// last block to get here clears them.
__device__ __forceinline__ void retire(Control *control, u32 epoch)
{
    if (epoch != LAST_EPOCH) return;

    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicAdd(&control->finished, 1ull) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last) return;

    for (u64 tile = threadIdx.x; tile < control->state_count; tile += BLOCK_THREADS) control->states()[tile] = 0;
    if (threadIdx.x == 0) {
        control->finished = 0;
        control->ticket = 1ull << 32;
    }
}

template <class Value>
struct State {
    static constexpr u32 WORDS = sizeof(Value) / sizeof(u32);
    u64 words[WORDS];

    static __device__ __forceinline__ State of(u32 tag, Value value)
    {
        State state;
        const Halves halves = bits_as<Halves>(value);
#pragma unroll
        for (u32 word = 0; word < WORDS; word++) state.words[word] = (u64)tag << 32 | halves.words[word];
        return state;
    }

    __device__ __forceinline__ Status status(u32 epoch) const
    {
        const u32 tag = (u32)(words[0] >> 32);
        const bool whole = tag == (u32)(words[WORDS - 1] >> 32);
        return whole && tag >> STATUS_BITS == epoch ? (Status)(tag % (1u << STATUS_BITS)) : PENDING;
    }

    __device__ __forceinline__ Value value() const
    {
        Halves halves;
#pragma unroll
        for (u32 word = 0; word < WORDS; word++) halves.words[word] = (u32)words[word];
        return bits_as<Value>(halves);
    }

    __device__ __forceinline__ void load(const u64 *from)
    {
#pragma unroll
        for (u32 word = 0; word < WORDS; word++) words[word] = load_relaxed(from + word);
    }

    __device__ __forceinline__ void store(u64 *to) const
    {
#pragma unroll
        for (u32 word = 0; word < WORDS; word++) store_relaxed(to + word, words[word]);
    }

  private:
    struct Halves {
        u32 words[WORDS];
    };
};

// The states of the tiles from `first` to before `end`, at most WINDOWS times 32 of them. Each lane holds one state of
// each window.
template <class Monoid, u32 WINDOWS>
struct Windows {
    using Value = typename Monoid::Value;

    const u64 *states;
    u32 epoch;
    u32 first, end;
    State<Value> read[WINDOWS] = {};  // initially of epoch 0, which no launch has

    // Reads all pending states at once. Returns whether some state of this lane is still pending.
    __device__ __forceinline__ bool read_pending()
    {
        bool pending = false;
#pragma unroll
        for (u32 window = 0; window < WINDOWS; window++)
            if (is_pending(window)) read[window].load(states + (u64)tile(window) * State<Value>::WORDS);
#pragma unroll
        for (u32 window = 0; window < WINDOWS; window++) pending |= is_pending(window);
        return pending;
    }

    // Returns the combined values of the windows FROM to before TO, in every lane. All lanes call it, once nothing is
    // pending.
    template <u32 FROM, u32 TO>
    __device__ __forceinline__ Value fold() const
    {
        Value value = Monoid::identity();
#pragma unroll
        for (u32 window = FROM; window < TO; window++)
            if (tile(window) < end) value = Monoid::combine(value, read[window].value());
        return warp_fold<Monoid>(value);
    }

  private:
    __device__ __forceinline__ u32 tile(u32 window) const { return first + window * WARP_THREADS + lane_index(); }

    __device__ __forceinline__ bool is_pending(u32 window) const
    {
        return tile(window) < end && read[window].status(epoch) == PENDING;
    }
};

// Number of tiles in a group, whose aggregates are combined before the prefix of the group is known. So floating-point
// sums always use the same tree, independent of the progress of other blocks.
constexpr u32 GROUP_WINDOWS = 4;
constexpr u32 GROUP_TILES = GROUP_WINDOWS * WARP_THREADS;

// Prefixes over the tiles before a block's own, combined by a monoid.
template <class Monoid>
struct LookBackOver {
    using Value = typename Monoid::Value;
    using TileState = State<Value>;

    u64 *states;
    Ticket ticket;

    // Publishes what this tile adds, for later tiles. One thread calls it.
    __device__ __forceinline__ void publish(Status status, Value value) const
    {
        TileState::of(ticket.epoch << STATUS_BITS | status, value).store(at(ticket.tile));
    }

    // Returns the combined values of all earlier tiles, in every lane, once they are published. One warp calls it.
    template <u32 WINDOWS = 4>
    __device__ __forceinline__ Value walk() const
    {
        Value sum = Monoid::identity();  // of the states that this lane has used
        for (u32 nearest = 1;; nearest += WINDOWS * WARP_THREADS) {
            TileState states_read[WINDOWS];
#pragma unroll
            for (u32 window = 0; window < WINDOWS; window++)
                states_read[window] = state(nearest + window * WARP_THREADS + lane_index());

#pragma unroll
            for (u32 window = 0; window < WINDOWS; window++) {
                TileState read = states_read[window];
                for (;;) {
                    const u32 pending = __ballot_sync(ALL_LANES, status(read) == PENDING);
                    const u32 inclusive = __ballot_sync(ALL_LANES, status(read) == INCLUSIVE);
                    // The lanes up to the nearest inclusive prefix, which is the lowest set bit; all lanes if there is
                    // none.
                    const u32 wanted = inclusive ^ (inclusive - 1);
                    if ((pending & wanted) == 0) {
                        sum = Monoid::combine(wanted >> lane_index() & 1 ? read.value() : Monoid::identity(), sum);
                        if (inclusive != 0) return warp_fold<Monoid>(sum);
                        break;
                    }
                    read = state(nearest + window * WARP_THREADS + lane_index());
                }
            }
        }
    }

    // Publishes the tile's aggregate, looks back, and publishes the prefix if the tile is the last of its group.
    // Returns the prefix before this tile, in every lane. One warp calls it.
    //
    // The tree of combinations depends on the tile's number alone: the last tile of each group publishes its inclusive
    // prefix, and the others only their aggregates. So the result does not depend on the progress of other blocks.
    __device__ __forceinline__ Value exclusive_prefix(Value aggregate) const
    {
        const u32 group_first = ticket.tile / GROUP_TILES * GROUP_TILES;
        const bool is_last = ticket.tile % GROUP_TILES == GROUP_TILES - 1;
        if (lane_index() == 0 && !is_last) publish(AGGREGATE, aggregate);

        Windows<Monoid, GROUP_WINDOWS> group = {states, ticket.epoch, group_first, ticket.tile};
        TileState groups_before = known(Monoid::identity());
        if (group_first > 0) groups_before.load(at(group_first - 1));
        while (group.read_pending() || status(groups_before) == PENDING)
            if (status(groups_before) == PENDING) groups_before.load(at(group_first - 1));
        __syncwarp();
        const Value sum = group.template fold<0, GROUP_WINDOWS>();
        if (is_last) {
            // The tile's own aggregate takes its place in the tree: the last lane of the last window.
            if (lane_index() == WARP_THREADS - 1) group.read[GROUP_WINDOWS - 1] = known(aggregate);
            group.end++;
            const Value whole = group.template fold<0, GROUP_WINDOWS>();
            if (lane_index() == 0) publish(INCLUSIVE, Monoid::combine(groups_before.value(), whole));
        }
        return Monoid::combine(groups_before.value(), sum);
    }

  public:
    __device__ __forceinline__ u64 *at(u32 tile) const { return states + (u64)tile * TileState::WORDS; }

    __device__ __forceinline__ TileState loaded(u32 tile) const
    {
        TileState state;
        state.load(at(tile));
        return state;
    }

    __device__ __forceinline__ TileState known(Value inclusive) const
    {
        return TileState::of(ticket.epoch << STATUS_BITS | INCLUSIVE, inclusive);
    }

    // The state of the tile `distance` before this one. Before the first tile, the prefix is the identity.
    __device__ __forceinline__ TileState state(u32 distance) const
    {
        return distance > ticket.tile ? known(Monoid::identity()) : loaded(ticket.tile - distance);
    }

    __device__ __forceinline__ Status status(const TileState &state) const { return state.status(ticket.epoch); }
};

using LookBack = LookBackOver<Sum<u32>>;
