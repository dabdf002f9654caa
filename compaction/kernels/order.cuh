// The output position of a tile's survivors.
//
// An order is first told how many survivors the tile has (`announce`), and later asked for the index of the first one
// (`begin`). Work in between hides the latency. All threads call both; `begin` contains a barrier.
#pragma once

#include "look_back.cuh"

// Receives the number of selected items. `before` returns the number selected by earlier launches.
struct Tally {
    u32 *selected;
    __device__ __forceinline__ u32 before() const { return 0; }
    __device__ __forceinline__ void set(u32 sum) const { *selected = sum; }
};

// Positions in input order, by look-back. WINDOWS is the number of 32-state windows read at once. With FENCED,
// everything that this block and those of earlier tiles read before `announce` is read before this block writes.
// In-place kernels need that.
template <u32 WINDOWS, bool FENCED, class AnyTally>
struct InOrder {
    LookBack look_back;
    bool is_last_tile;
    AnyTally tally;

    __device__ __forceinline__ void announce(u32 survivors) const
    {
        if (FENCED) {
            __syncthreads();
            __threadfence();
        }
        if (threadIdx.x == 0) look_back.publish(look_back.ticket.tile == 0 ? INCLUSIVE : AGGREGATE, survivors);
        __syncwarp();  // Without it, ptxas delays the store until all following shared memory writes.
    }

    __device__ __forceinline__ auto begin(u32 survivors) const
    {
        decltype(tally.before()) before = 0;
        if (warp_index() == 0) {
            const u32 here = look_back.walk<WINDOWS>();
            if (FENCED) {
                __threadfence();
                __syncwarp();
            }
            if (lane_index() == 0) {
                if (look_back.ticket.tile != 0) look_back.publish(INCLUSIVE, here + survivors);
                before = tally.before() + here;
                if (is_last_tile) tally.set(before + survivors);
            }
        }
        return block_first(before);
    }
};

// Positions in the order in which blocks arrive, by one atomic addition. The word counts blocks and survivors at once,
// so the last block knows the sum and resets the word.
template <class AnyTally>
struct ArrivalOrder {
    u64 *appended;
    AnyTally tally;
    decltype(((AnyTally *)0)->before()) before;

    __device__ __forceinline__ void announce(u32 survivors)
    {
        if (threadIdx.x != 0) return;
        const u64 word = atomicAdd(appended, 1ull << 32 | survivors);
        before = tally.before() + (u32)word;
        if ((u32)(word >> 32) == gridDim.x - 1) {
            tally.set(before + survivors);
            store_relaxed(appended, 0);
        }
    }

    __device__ __forceinline__ auto begin(u32) const { return block_first(before); }
};

// Prefetches into L2 the items, or flags, of the tile that this block would get if blocks ran in order. By the time a
// block knows its tile, the tile is in the cache, whichever block prefetched it.
template <u32 ITEMS_PER_TILE, class Item>
__device__ __forceinline__ void prefetch_tile(const Item *items, u32 capacity)
{
    constexpr u32 LINE_BYTES = 128;
    const u64 first = (u64)blockIdx.x * ITEMS_PER_TILE;
    if (first >= capacity) return;
    const u64 bytes = min((u64)ITEMS_PER_TILE, capacity - first) * sizeof(Item);
    for (u64 byte = threadIdx.x * LINE_BYTES; byte < bytes; byte += BLOCK_THREADS * LINE_BYTES)
        asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)(items + first) + byte));
}

// Runs keep(tile index, number of items, order) for the tile that this block draws. `meanwhile` returns the number of
// items and runs while the ticket is in flight.
template <u32 WINDOWS, u32 ITEMS_PER_TILE, bool FENCED = false, class AnyTally, class Meanwhile, class Keep>
__device__ __forceinline__ void in_order(Control *control, AnyTally tally, Meanwhile meanwhile, Keep keep)
{
    Ticket ticket;
    const u32 items = draw_ticket(control, ticket, meanwhile);

    // Without items there is still one tile, which writes the count 0.
    const u32 tiles = max(1u, items / ITEMS_PER_TILE + (items % ITEMS_PER_TILE != 0));
    if (ticket.tile < tiles) {
        InOrder<WINDOWS, FENCED, AnyTally> order = {{control->states(), ticket}, ticket.tile == tiles - 1, tally};
        keep(ticket.tile, items, order);
    }
    retire(control, ticket.epoch);
}

template <u32 WINDOWS, u32 ITEMS_PER_TILE, bool FENCED = false, class Meanwhile, class Keep>
__device__ __forceinline__ void in_order(Control *control, u32 *selected, Meanwhile meanwhile, Keep keep)
{
    in_order<WINDOWS, ITEMS_PER_TILE, FENCED>(control, Tally{selected}, meanwhile, keep);
}
