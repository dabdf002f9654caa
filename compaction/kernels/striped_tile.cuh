// Tiles in striped arrangement: a stripe holds one item of every lane of a warp. Neighbouring lanes have neighbouring
// items, whatever their size and alignment, and one ballot ranks a stripe.
#pragma once

#include "block.cuh"

template <u32 STRIPES>
struct Ballots {
    u32 kept;        // one bit per stripe: whether this thread's item is selected
    u32 first_rank;  // number of survivors of the tile before those of this warp
    u32 total;       // number of survivors of the tile
};

// The index of this thread's item of a stripe, in a tile that begins at `first`.
template <u32 STRIPES>
__device__ __forceinline__ u64 striped(u64 first, u32 stripe)
{
    return first + (warp_index() * STRIPES + stripe) * WARP_THREADS + lane_index();
}

// Evaluates keep(stripe) for each of this thread's items. Contains one barrier.
template <u32 STRIPES, class Keep>
__device__ __forceinline__ Ballots<STRIPES> take_ballots(Keep keep)
{
    static_assert(STRIPES <= 32, "a thread's items have a bit each");
    Ballots<STRIPES> ballots;
    ballots.kept = 0;
    u32 survivors = 0;
#pragma unroll
    for (u32 stripe = 0; stripe < STRIPES; stripe++) {
        const bool stays = keep(stripe);
        ballots.kept |= (u32)stays << stripe;
        survivors += __popc(__ballot_sync(ALL_LANES, stays));
    }
    const BlockSum sum = block_sum_of_warps(survivors);
    ballots.first_rank = sum.before;
    ballots.total = sum.total;
    return ballots;
}

// Calls put(rank, stripe) for each of this thread's survivors.
template <u32 STRIPES, class Put>
__device__ __forceinline__ void for_each_keeper(const Ballots<STRIPES> &ballots, Put put)
{
    const u32 lane = 1u << lane_index();
    u32 rank = ballots.first_rank;
#pragma unroll
    for (u32 stripe = 0; stripe < STRIPES; stripe++) {
        // Repeating the ballot is cheaper than keeping its result in a register.
        const u32 keepers = __ballot_sync(ALL_LANES, ballots.kept >> stripe & 1);
        if (keepers & lane) put(rank + __popc(keepers & (lane - 1)), stripe);
        rank += __popc(keepers);
    }
}
