// scan by look-ahead: the single pass of look-back over the same tiles, for inputs so long that memory bandwidth is the
// limit, on GPUs of compute capability 9.0 and later. Contract and source: compaction/src/scan.rs.
//
// The blocks are persistent: as many as run at once. Each has a ring buffer of tiles in shared memory and specialised
// warps for the steps of a tile, so that long operations do not wait for each other:
//
//     loader     draws a ticket for a free slot of the ring and starts the copy of the tile
//     reducers   combine a tile's items as soon as it has arrived, and publish the aggregate
//     seeker     finds the prefix of a tile from what other blocks published
//     scanners   write the tile's prefixes and free its slot
//
// From one tile of its block to the next, a seeker combines the aggregates of all tiles in between ("decoupled
// look-ahead" in NVIDIA's CCCL, 2025). So no block waits for the prefix of another block, and there is no chain of
// memory latencies from group to group as in look-back. The tree of combinations is the same.
//
// A tile only waits for tiles drawn before it, by running blocks whose reducers wait only for their items.

#include "bulk_copy.cuh"
#include "scan_tile.cuh"

constexpr u32 LOADER = 2 * BLOCK_WARPS;  // after BLOCK_WARPS scanners and BLOCK_WARPS reducers
constexpr u32 SEEKER = LOADER + 1;
constexpr u32 LOOK_AHEAD_THREADS = (SEEKER + 1) * WARP_THREADS;

using RingTile = Tile<LOOK_BACK_ROWS>;

// Finds the prefixes of tiles for a warp that asks for tiles in increasing order.
class Seeker {
    using TwoGroups = Windows<Monoid, 2 * GROUP_WINDOWS>;

    const u64 *states;
    u32 epoch;
    u32 group = 0;                      // the next group; all groups before it are combined in `before`
    Value before = Monoid::identity();

    // Writes to `found` the prefix of `tile` and returns true if the tile is in this group, the next one. Otherwise
    // adds the group.
    template <u32 FIRST_WINDOW>
    __device__ __forceinline__ bool take_group(const TwoGroups &groups, u32 tile, Value &found)
    {
        found = Monoid::combine(before, groups.template fold<FIRST_WINDOW, FIRST_WINDOW + GROUP_WINDOWS>());
        if (tile / GROUP_TILES == group) return true;
        before = found;
        group++;
        return false;
    }

  public:
    __device__ __forceinline__ Seeker(const u64 *states, u32 epoch) : states(states), epoch(epoch) {}

    // Returns the combination of all tiles before `tile`, in every lane.
    __device__ __forceinline__ Value find(u32 tile)
    {
        for (;;) {
            // Two groups at once, which is about the distance between two tiles of a block on a large GPU.
            TwoGroups groups = {states, epoch, group * GROUP_TILES, tile};
            while (groups.read_pending()) {
            }
            __syncwarp();
            Value found;
            if (take_group<0>(groups, tile, found) || take_group<GROUP_WINDOWS>(groups, tile, found)) return found;
        }
    }
};

// A slot of the ring buffer. Each phase of its barriers belongs to one tile.
struct Slot {
    Staged<LOOK_BACK_ROWS> staged;
    Value totals[BLOCK_WARPS];  // combined rows of each reducer
    Value before;               // prefix of the tile
    u32 number;                 // number of the tile
    Barrier drawn;              // `number` is set
    Barrier loaded;             // the items have arrived, if the tile is whole
    Barrier folded;             // the items have arrived in any case, and the totals are set
    Barrier found;              // `before` is set
    Barrier freed;              // no warp needs the slot any more

    __device__ __forceinline__ void set_up()
    {
        drawn.set_up(1);
        loaded.set_up(1);
        folded.set_up(BLOCK_WARPS);
        found.set_up(1);
        freed.set_up(BLOCK_WARPS + 1);
    }

    // The combined totals of the rows before those of a warp.
    __device__ __forceinline__ Value before_warp(u32 warp) const
    {
        Value sum = Monoid::identity();
#pragma unroll
        for (u32 earlier = 0; earlier < BLOCK_WARPS; earlier++)
            if (earlier < warp) sum = Monoid::combine(sum, totals[earlier]);
        return sum;
    }
};
static_assert(RING_TILES * sizeof(Slot) <= RING_BYTES, "Rust gives the ring enough shared memory");

// The state shared by the warps of a block. Each warp loops over the ring until it meets a number that belongs to no
// tile.
struct Ring {
    Slot *slots;
    Control *control;
    u32 epoch;
    const ITEM *items;
    u64 item_count;
    u32 tiles;

    // Calls `step` for each slot and the parity of its phase, repeatedly, until it returns false.
    template <class Step>
    __device__ __forceinline__ void go_round(Step step) const
    {
        for (u32 parity = 0;; parity ^= 1)
            for (u32 slot = 0; slot < RING_TILES; slot++)
                if (!step(slots[slot], parity)) return;
    }

    // One thread calls it.
    __device__ __forceinline__ void load() const
    {
        go_round([&](Slot &slot, u32 parity) {
            slot.freed.wait(parity ^ 1);
            const u32 number = (u32)atomicAdd(&control->ticket, 1ull);
            slot.number = number;
            slot.drawn.arrive();
            const RingTile tile(number, item_count);
            if (tile.is_whole(items)) {
                slot.loaded.arrive_and_promise(sizeof(slot.staged));
                bulk_copy(slot.staged, items + tile.first, sizeof(slot.staged), slot.loaded);
            } else {
                slot.loaded.arrive();
            }
            // Each block draws exactly one number that belongs to no tile. The last of them is the last ticket.
            if (number == tiles + gridDim.x - 1 && epoch != LAST_EPOCH)
                store_relaxed(&control->ticket, (u64)(epoch + 1) << 32);
            return number < tiles;
        });
    }

    __device__ __forceinline__ void reduce(u32 reducer) const
    {
        go_round([&](Slot &slot, u32 parity) {
            slot.loaded.wait(parity);
            const u32 number = slot.number;
            if (number < tiles) {
                const RingTile tile(number, item_count);
                if (!tile.is_whole(items)) tile.load(items, slot.staged);
                const Value total = tile.fold_warp(slot.staged);
                if (lane_index() == 0) slot.totals[reducer] = total;
            }
            __syncwarp();
            if (lane_index() == 0) slot.folded.arrive();
            if (number < tiles && reducer == 0) {
                slot.folded.wait(parity);
                if (lane_index() == 0) {
                    const LookBackOver<Monoid> look_back = {control->states(), {epoch, number}};
                    look_back.publish(AGGREGATE, slot.before_warp(BLOCK_WARPS));
                    slot.freed.arrive();
                }
            }
            return number < tiles;
        });
    }

    __device__ __forceinline__ void seek() const
    {
        Seeker seeker(control->states(), epoch);
        go_round([&](Slot &slot, u32 parity) {
            slot.drawn.wait(parity);
            const u32 number = slot.number;
            if (number >= tiles) return false;
            const Value before = seeker.find(number);
            if (lane_index() == 0) {
                slot.before = before;
                slot.found.arrive();
            }
            return true;
        });
    }

    __device__ __forceinline__ void scan(u32 scanner, ITEM *out, u32 inclusive) const
    {
        go_round([&](Slot &slot, u32 parity) {
            slot.folded.wait(parity);
            const u32 number = slot.number;
            if (number >= tiles) return false;
            RingTile tile(number, item_count);
            tile.scan_warp(slot.staged, slot.before_warp(scanner));
            slot.found.wait(parity);
            tile.store(slot.staged, out, inclusive, slot.before);
            __syncwarp();
            if (lane_index() == 0) slot.freed.arrive();
            return true;
        });
    }
};

extern "C" __global__ void __launch_bounds__(LOOK_AHEAD_THREADS, 1) scan_look_ahead(
    const ITEM *items, Input input, ITEM *out, u32 inclusive, u64 *workspace)
{
    extern __shared__ Vector dynamic[];
    Control *const control = (Control *)workspace;
    const u64 all = input.number<Word>();
    const u32 tiles = (u32)(all / RingTile::ITEMS + (all % RingTile::ITEMS != 0));
    // The epoch does not change until all blocks have drawn their last ticket.
    const Ring ring = {(Slot *)dynamic, control, (u32)(load_relaxed(&control->ticket) >> 32), items, all, tiles};
    if (threadIdx.x == 0) {
        for (u32 slot = 0; slot < RING_TILES; slot++) ring.slots[slot].set_up();
        fence_barriers();
    }
    __syncthreads();
    const u32 warp = warp_index();
    if (warp < BLOCK_WARPS)
        ring.scan(warp, out, inclusive);
    else if (warp < LOADER)
        ring.reduce(warp - BLOCK_WARPS);
    else if (warp == SEEKER)
        ring.seek();
    else if (lane_index() == 0)
        ring.load();
    __syncwarp();
    input.check<Word>(control);
    retire(control, ring.epoch);
}
