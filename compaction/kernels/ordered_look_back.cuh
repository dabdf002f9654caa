// Decoupled look-back over values of any type, for operators that need not be commutative. Source: look_back.cuh.
#pragma once

#include "in_order.cuh"
#include "look_back.cuh"

// The state of a tile, of one word for every 4 bytes of the value: epoch << 34 | status << 32 | 4 bytes. It is valid once
// all words have the same epoch and status.
template <class Value>
struct WideState {
    static constexpr u32 WORDS = (sizeof(Value) + sizeof(u32) - 1) / sizeof(u32);
    u64 words[WORDS];

    static __device__ __forceinline__ WideState of(u32 tag, const Value &value)
    {
        u32 bits[WORDS] = {};
        memcpy(bits, &value, sizeof(Value));
        WideState state;
#pragma unroll
        for (u32 word = 0; word < WORDS; word++) state.words[word] = (u64)tag << 32 | bits[word];
        return state;
    }

    __device__ __forceinline__ Status status(u32 epoch) const
    {
        const u32 tag = (u32)(words[0] >> 32);
        bool whole = tag >> STATUS_BITS == epoch;
#pragma unroll
        for (u32 word = 1; word < WORDS; word++) whole &= (u32)(words[word] >> 32) == tag;
        return whole ? (Status)(tag % (1u << STATUS_BITS)) : PENDING;
    }

    __device__ __forceinline__ Value value() const
    {
        u32 bits[WORDS];
#pragma unroll
        for (u32 word = 0; word < WORDS; word++) bits[word] = (u32)words[word];
        Value value;
        memcpy(&value, bits, sizeof(Value));
        return value;
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
};

// The prefix of a block's tile. First `announce` publishes what the tile adds, and later `find` returns what all earlier
// tiles add. Work in between hides the latency.
//
// If the monoid is EXACT, a tile looks back to the nearest inclusive prefix. Otherwise the tree of combinations depends
// on the tile's number alone: windows of 32 tiles are combined pairwise, the 4 windows of a group one by one, and groups
// one by one. Twin: src/runs/tree.rs.
template <class Monoid>
struct OrderedLookBack {
    using Value = typename Monoid::Value;
    using TileState = WideState<Value>;

    u64 *states;
    Ticket ticket;

    // One thread calls it.
    __device__ __forceinline__ void announce(const Value &aggregate) const
    {
        if (Monoid::EXACT)
            publish(ticket.tile == 0 ? INCLUSIVE : AGGREGATE, aggregate);
        else if (!is_last_of_group())
            publish(AGGREGATE, aggregate);
    }

    // One warp calls it. The result is in every lane.
    __device__ __forceinline__ Value find(const Value &aggregate) const
    {
        const Value before = Monoid::EXACT ? walk() : group_prefix(aggregate);
        if (Monoid::EXACT && lane_index() == 0 && ticket.tile > 0)
            publish(INCLUSIVE, Monoid::combine(before, aggregate));
        return before;
    }

  private:
    __device__ __forceinline__ u64 *at(u32 tile) const { return states + (u64)tile * TileState::WORDS; }

    __device__ __forceinline__ bool is_last_of_group() const { return ticket.tile % GROUP_TILES == GROUP_TILES - 1; }

    __device__ __forceinline__ void publish(Status status, const Value &value) const
    {
        TileState::of(ticket.epoch << STATUS_BITS | status, value).store(at(ticket.tile));
    }

    // The state of the tile `distance` before this one. Before the first tile, the prefix is the identity.
    __device__ __forceinline__ TileState state(u32 distance) const
    {
        if (distance > ticket.tile) return TileState::of(ticket.epoch << STATUS_BITS | INCLUSIVE, Monoid::identity());
        TileState state;
        state.load(at(ticket.tile - distance));
        return state;
    }

    __device__ __forceinline__ Value walk() const
    {
        Value sum = Monoid::identity();
        for (u32 nearest = 1;; nearest += WARP_THREADS) {
            // The highest lane holds the nearest tile.
            const u32 distance = nearest + WARP_THREADS - 1 - lane_index();
            for (;;) {
                const TileState read = state(distance);
                const u32 pending = __ballot_sync(ALL_LANES, read.status(ticket.epoch) == PENDING);
                const u32 inclusive = __ballot_sync(ALL_LANES, read.status(ticket.epoch) == INCLUSIVE);
                // The lanes from the nearest inclusive prefix on, which is the highest set bit; all lanes if there is
                // none.
                const u32 first = inclusive == 0 ? 0 : WARP_THREADS - 1 - __clz(inclusive);
                if (pending >> first != 0) continue;
                const Value value = read.value();
                sum = Monoid::combine(
                    first == WARP_THREADS - 1
                        ? shuffle_from(value, first)
                        : warp_fold_in_order<Monoid>(lane_index() >= first ? value : Monoid::identity()),
                    sum);
                if (inclusive != 0) return sum;
                break;
            }
        }
    }

    __device__ __forceinline__ Value group_prefix(const Value &aggregate) const
    {
        // Windows that are read at once: few, if a value takes many registers.
        constexpr u32 BATCH = TileState::WORDS <= 4 ? GROUP_WINDOWS : 1;
        const u32 group_first = ticket.tile / GROUP_TILES * GROUP_TILES;
        TileState groups_before = state(ticket.tile - group_first + 1);
        Value in_group = Monoid::identity();
        for (u32 first = group_first; first < ticket.tile; first += BATCH * WARP_THREADS) {
            TileState read[BATCH];
#pragma unroll
            for (u32 window = 0; window < BATCH; window++) {
                const u32 tile = first + window * WARP_THREADS + lane_index();
                if (tile < ticket.tile) read[window].load(at(tile));
            }
#pragma unroll
            for (u32 window = 0; window < BATCH; window++) {
                const u32 tile = first + window * WARP_THREADS + lane_index();
                if (tile < ticket.tile) await(read[window], tile);
                __syncwarp();
                const Value value = tile < ticket.tile ? read[window].value() : Monoid::identity();
                in_group = Monoid::combine(in_group, warp_fold_in_order<Monoid>(value));
            }
        }
        if (group_first > 0) await(groups_before, group_first - 1);
        const Value before = groups_before.value();
        if (is_last_of_group() && lane_index() == 0)
            publish(INCLUSIVE, Monoid::combine(before, Monoid::combine(in_group, aggregate)));
        return Monoid::combine(before, in_group);
    }

    // Loads the state of a tile again until it is published.
    __device__ __forceinline__ void await(TileState &read, u32 tile) const
    {
        while (read.status(ticket.epoch) == PENDING) read.load(at(tile));
    }
};
