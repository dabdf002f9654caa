// Ranking a tile's items by a digit of a few bits, stably. A thread holds items of which neighbouring lanes' are
// neighbours: item i of a lane is at the place warp_first_place<ITEMS>() + i * WARP_THREADS + lane_index() of the tile.
//
// A warp finds the lanes whose item has the same digit, by a vote for each bit or by a mask of lanes for each digit, and
// counts them in counters of its own (S. Ashkiani et al., "GPU Multisplit", PPoPP 2016). Votes keep the arithmetic busy,
// masks the shared memory.
#pragma once

#include "block.cuh"

__device__ __forceinline__ u32 lanes_below() { return (1u << lane_index()) - 1; }

template <u32 ITEMS>
__device__ __forceinline__ u32 warp_first_place()
{
    return warp_index() * WARP_THREADS * ITEMS;
}

// The lanes whose digit is this lane's.
template <u32 BITS>
__device__ __forceinline__ u32 peers_of(u32 digit)
{
    u32 peers = ALL_LANES;
#pragma unroll
    for (u32 bit = 0; bit < BITS; bit++) {
        // Of `set ? votes : ~votes` the compiler makes more instructions.
        u32 votes;
        asm("{\n\t"
            ".reg .pred set;\n\t"
            ".reg .b32 bit;\n\t"
            "and.b32 bit, %1, %2;\n\t"
            "setp.ne.u32 set, bit, 0;\n\t"
            "vote.ballot.sync.b32 %0, set, 0xffffffff;\n\t"
            "@!set not.b32 %0, %0;\n\t"
            "}"
            : "=r"(votes)
            : "r"(digit), "r"(1u << bit));
        peers &= votes;
    }
    return peers;
}

// ranks[i]: how many items of the warp have the same digit and come before this thread's i-th. Adds the warp's items to
// its `counters`, one a digit.
template <u32 BITS, u32 ITEMS>
__device__ __forceinline__ void rank_in_warp(const u32 (&digits)[ITEMS], u32 *counters, u32 (&ranks)[ITEMS])
{
#pragma unroll
    for (u32 item = 0; item < ITEMS; item++) {
        const u32 peers = peers_of<BITS>(digits[item]);
        const u32 below = __popc(peers & lanes_below());
        const u32 before = counters[digits[item]];
        __syncwarp();
        if (below == 0) counters[digits[item]] = before + __popc(peers);
        __syncwarp();
        ranks[item] = before + below;
    }
}

// As rank_in_warp, for wide digits: instead of a vote for each bit, lanes with the same digit meet in a word of `masks`,
// one a digit, which are zero before and after.
template <u32 ITEMS>
__device__ __forceinline__ void rank_in_warp_by_masks(
    const u32 (&digits)[ITEMS], u32 *counters, u32 *masks, u32 (&ranks)[ITEMS])
{
#pragma unroll
    for (u32 item = 0; item < ITEMS; item++) {
        u32 *mask = masks + digits[item];
        atomicOr(mask, 1u << lane_index());
        __syncwarp();
        const u32 peers = *mask;
        const u32 below = __popc(peers & lanes_below());
        const u32 before = counters[digits[item]];
        __syncwarp();
        if (below == 0) {
            *mask = 0;
            counters[digits[item]] = before + __popc(peers);
        }
        __syncwarp();
        ranks[item] = before + below;
    }
}

// As rank_in_warp, for counters that hold the places of the warp's first items already: ranks[i] is the place in the tile
// ordered by digit. `digit_of` gives the digit of an item. Every other item is ranked by votes, every other by `masks`,
// one a digit, which are zero before and after: the two keep different parts of a multiprocessor busy.
template <u32 BITS, u32 ITEMS, class DigitOf, class Ranks>
__device__ __forceinline__ void place_in_warp(DigitOf digit_of, u32 *counters, u32 *masks, Ranks &ranks)
{
#pragma unroll
    for (u32 item = 0; item < ITEMS; item++) {
        const u32 digit = digit_of(item);
        const bool by_mask = item % 2 == 1;
        u32 peers;
        if (by_mask) {
            atomicOr(masks + digit, 1u << lane_index());
            __syncwarp();
            peers = masks[digit];
            __syncwarp();
        } else {
            peers = peers_of<BITS>(digit);
        }
        const u32 below = __popc(peers & lanes_below());
        const u32 last = WARP_THREADS - 1 - __clz(peers);
        u32 before = 0;
        if (lane_index() == last) {
            before = atomicAdd(counters + digit, below + 1);
            if (by_mask) masks[digit] = 0;
        }
        before = __shfl_sync(ALL_LANES, before, last);
        if (by_mask) __syncwarp();
        ranks.set(item, before + below);
    }
}

struct Bin {
    u32 items;  // how many of the tile's items have the digit
    u32 first;  // how many have a smaller one
};

// Turns the counters of all warps into the places of their first items, in the tile ordered by digit. Returns what it
// finds for the digit that is the thread's number, and calls tell(items) with a part of it as soon as that is known.
// Holds two barriers; the counters are ready behind another one.
template <u32 BINS, class Tell>
__device__ __forceinline__ Bin place_bins(u32 *counters, Tell tell)
{
    static_assert(BINS <= BLOCK_THREADS, "a thread for every digit");
    __shared__ u32 warp_sums[BLOCK_WARPS];
    const bool has_bin = threadIdx.x < BINS;
    u32 *mine = counters + threadIdx.x;
    Bin bin = {};
    __syncthreads();
    if (has_bin) {
#pragma unroll
        for (u32 warp = 0; warp < BLOCK_WARPS; warp++) bin.items += mine[warp * BINS];
        tell(bin.items);
    }
    const u32 inclusive = warp_inclusive_sum(bin.items);
    if (lane_index() == WARP_THREADS - 1) warp_sums[warp_index()] = inclusive;
    __syncthreads();
    if (has_bin) {
        bin.first = inclusive - bin.items;
        for (u32 warp = 0; warp < warp_index(); warp++) bin.first += warp_sums[warp];
        u32 place = bin.first;
#pragma unroll 8
        for (u32 warp = 0; warp < BLOCK_WARPS; warp++) {
            const u32 items = mine[warp * BINS];
            mine[warp * BINS] = place;
            place += items;
        }
    }
    return bin;
}
