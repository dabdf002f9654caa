// Stable ranking of a tile's items by a digit of a few bits, in striped arrangement: item i of a lane is at the index
// warp_first_place<ITEMS>() + i * WARP_THREADS + lane_index() of the tile.
//
// A warp finds the lanes with an equal digit, by one vote per bit or by one lane mask per digit in shared memory, and
// counts in counters of its own (S. Ashkiani et al., "GPU Multisplit", PPoPP 2016). Votes load the arithmetic units,
// masks the shared memory.
#pragma once

#include "block.cuh"

__device__ __forceinline__ u32 lanes_below() { return (1u << lane_index()) - 1; }

template <u32 ITEMS>
__device__ __forceinline__ u32 warp_first_place()
{
    return warp_index() * WARP_THREADS * ITEMS;
}

// The lanes with the same digit as this lane.
template <u32 BITS>
__device__ __forceinline__ u32 peers_of(u32 digit)
{
    u32 peers = ALL_LANES;
#pragma unroll
    for (u32 bit = 0; bit < BITS; bit++) {
        // The compiler generates more instructions for `set ? votes : ~votes`.
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

// Computes ranks[i], the number of the warp's items with the same digit before this thread's i-th item. Adds the warp's
// items to its `counters`, one per digit.
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

// Computes the ranks of rank_in_warp for wide digits. Instead of voting on each bit, lanes with an equal digit set
// their bits in a word of `masks`. There is one word per digit, zero before and after.
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

// Computes ranks[i], the index in the tile sorted by digit, with counters that already hold the positions of the warp's
// first items. digit_of(item) returns an item's digit. Items are ranked alternately by votes and by `masks`, one per
// digit and zero before and after, because the two use different units of a multiprocessor.
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
    u32 items;  // number of items of the tile with the digit
    u32 first;  // number of items of the tile with a smaller digit
};

// Turns the counters of all warps into the positions of their first items in the tile sorted by digit. Returns the bin
// of the digit equal to the thread's index, and calls tell(items) with its item count as early as possible. Contains
// two barriers; the caller needs another one before reading the counters.
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
