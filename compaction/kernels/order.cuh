// Where a tile's survivors are put.
//
// An order is told first how many survivors the tile has, and asked later where they begin; what lies between hides the
// time that the answer takes. All threads call both; `begin` holds a barrier.
#pragma once

#include "look_back.cuh"

// Where the number of the selected goes: it is asked for what was selected before this launch, and told the sum.
struct Tally {
    u32 *selected;
    __device__ __forceinline__ u32 before() const { return 0; }
    __device__ __forceinline__ void set(u32 sum) const { *selected = sum; }
};

// In the order of the items. WINDOWS is how far a look goes back at once. With FENCED, whatever the block and those of
// all earlier tiles read before they announced is read before this block writes: for results that overwrite the items.
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
        __syncwarp();  // Without it ptxas puts the store off until all that follows is written to shared memory.
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

// In the order in which the blocks come. The word counts blocks and survivors at once, so that the last block to come
// knows the sum and leaves the word as it was.
template <class AnyTally>
struct AsTheyCome {
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

// How many items there are: as many as the device's count says, at most `capacity`.
__device__ __forceinline__ u32 item_count(const u32 *count, u32 capacity, bool is_given, Control *control)
{
    if (is_given) return capacity;
    const u32 said = *count;
    report_overrun(said, capacity, control);
    return min(said, capacity);
}

// Asks for the items, or flags, of the tile that this block would get if blocks came in order: by the time that a block
// knows its tile they are in the cache, whoever asked for them.
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

// Runs keep(index of a tile, number of items, order) for the tile that this block draws. While the ticket is under way
// it runs `meanwhile`, which gives the number of items.
template <u32 WINDOWS, u32 ITEMS_PER_TILE, bool FENCED = false, class AnyTally, class Meanwhile, class Keep>
__device__ __forceinline__ void in_order(Control *control, AnyTally tally, Meanwhile meanwhile, Keep keep)
{
    Ticket ticket;
    const u32 items = draw_ticket(control, ticket, meanwhile);

    // Without items the first tile is still there, to say that nothing was kept.
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
