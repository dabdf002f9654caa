// scan by look-ahead: the single pass of look-back over the same tiles, for inputs so long that the memory is what
// bounds, on GPUs of compute capability 9.0 and later. Contract and source: compaction/src/scan.rs.
//
// There are as many blocks as run at once, and they stay. Each has a ring of tiles in shared memory, and warps for each
// step of a tile, so that nothing that takes long waits for anything else that does:
//
//   loader     draws a ticket for a free place of the ring, and has the tile brought there
//   reducers   combine a tile's items as soon as it has come, and publish that
//   seeker     finds what comes before a tile, from what is published
//   scanners   write the tile's prefixes, and free its place
//
// From one of its block's tiles to the next, a seeker combines what all tiles in between published ("decoupled
// look-ahead" in NVIDIA's CCCL, 2025). So nobody waits for another block's prefix, and there is no chain of waits
// through the memory, as there is from group to group in look-back. The tree of combinations is the same.
//
// A tile still waits only for tiles that were drawn before it, by blocks that run and whose reducers wait for nothing but
// their items.

#include "bulk.cuh"
#include "scan_tile.cuh"

constexpr u32 LOADER = 2 * BLOCK_WARPS;  // behind as many scanners and reducers
constexpr u32 SEEKER = LOADER + 1;
constexpr u32 AHEAD_THREADS = (SEEKER + 1) * WARP_THREADS;

using RingTile = Tile<LOOK_BACK_ROWS>;

// What is before tiles, for a warp that asks for one after the other, each behind the one before.
class Seeker {
    using TwoGroups = Windows<Monoid, 2 * GROUP_WINDOWS>;

    const u64 *states;
    u32 epoch;
    u32 group = 0;                      // all before it are combined in
    Value before = Monoid::identity();  // this

    // Gives what is before the tile, if that is in the group of these windows, which is the next. Else goes on behind it.
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

    // All before the tile, combined, in every lane.
    __device__ __forceinline__ Value find(u32 tile)
    {
        for (;;) {
            // Two at once: about so far apart are two tiles of a block on a large GPU.
            TwoGroups groups = {states, epoch, group * GROUP_TILES, tile};
            while (groups.read_pending()) {
            }
            __syncwarp();
            Value found;
            if (take_group<0>(groups, tile, found) || take_group<GROUP_WINDOWS>(groups, tile, found)) return found;
        }
    }
};

// A place in the ring. Of each barrier a phase is one tile's.
struct Place {
    Staged<LOOK_BACK_ROWS> staged;
    Value totals[BLOCK_WARPS];  // of the rows of each reducer
    Value before;               // all before the tile
    u32 number;                 // the tile's
    Barrier drawn;              // the number is there
    Barrier loaded;             // the items are there, if the tile is whole
    Barrier folded;             // they are in any case, and the totals
    Barrier found;              // what is before the tile is there
    Barrier freed;              // nobody needs any of it any more

    __device__ __forceinline__ void set_up()
    {
        drawn.set_up(1);
        loaded.set_up(1);
        folded.set_up(BLOCK_WARPS);
        found.set_up(1);
        freed.set_up(BLOCK_WARPS + 1);
    }

    // The totals of the rows before those of a warp, combined.
    __device__ __forceinline__ Value before_warp(u32 warp) const
    {
        Value sum = Monoid::identity();
#pragma unroll
        for (u32 earlier = 0; earlier < BLOCK_WARPS; earlier++)
            if (earlier < warp) sum = Monoid::combine(sum, totals[earlier]);
        return sum;
    }
};
static_assert(RING_PLACES * sizeof(Place) <= RING_BYTES, "Rust gives the ring enough shared memory");

// What the warps of a block work with. Each goes round the ring, until it is told a number that is no tile's.
struct Ring {
    Place *places;
    Control *control;
    u32 epoch;
    const ITEM *items;
    u64 item_count;
    u32 tiles;

    // Calls `step` for each place and the parity of its phase, over and over, until it returns false.
    template <class Step>
    __device__ __forceinline__ void go_round(Step step) const
    {
        for (u32 parity = 0;; parity ^= 1)
            for (u32 place = 0; place < RING_PLACES; place++)
                if (!step(places[place], parity)) return;
    }

    // One thread calls it.
    __device__ __forceinline__ void load() const
    {
        go_round([&](Place &place, u32 parity) {
            place.freed.wait(parity ^ 1);
            const u32 number = (u32)atomicAdd(&control->ticket, 1ull);
            place.number = number;
            place.drawn.arrive();
            const RingTile tile(number, item_count);
            if (tile.is_whole(items)) {
                place.loaded.arrive_and_promise(sizeof(place.staged));
                bulk_copy(place.staged, items + tile.first, sizeof(place.staged), place.loaded);
            } else {
                place.loaded.arrive();
            }
            // Each block draws one number that is no tile's. Nobody draws after the last of them.
            if (number == tiles + gridDim.x - 1 && epoch != LAST_EPOCH)
                store_relaxed(&control->ticket, (u64)(epoch + 1) << 32);
            return number < tiles;
        });
    }

    __device__ __forceinline__ void reduce(u32 reducer) const
    {
        go_round([&](Place &place, u32 parity) {
            place.loaded.wait(parity);
            const u32 number = place.number;
            if (number < tiles) {
                const RingTile tile(number, item_count);
                if (!tile.is_whole(items)) tile.load(items, place.staged);
                const Value total = tile.fold_warp(place.staged);
                if (lane_index() == 0) place.totals[reducer] = total;
            }
            __syncwarp();
            if (lane_index() == 0) place.folded.arrive();
            if (number < tiles && reducer == 0) {
                place.folded.wait(parity);
                if (lane_index() == 0) {
                    const LookBackOver<Monoid> look_back = {control->states(), {epoch, number}};
                    look_back.publish(AGGREGATE, place.before_warp(BLOCK_WARPS));
                    place.freed.arrive();
                }
            }
            return number < tiles;
        });
    }

    __device__ __forceinline__ void seek() const
    {
        Seeker seeker(control->states(), epoch);
        go_round([&](Place &place, u32 parity) {
            place.drawn.wait(parity);
            const u32 number = place.number;
            if (number >= tiles) return false;
            const Value before = seeker.find(number);
            if (lane_index() == 0) {
                place.before = before;
                place.found.arrive();
            }
            return true;
        });
    }

    __device__ __forceinline__ void scan(u32 scanner, ITEM *out, u32 inclusive) const
    {
        go_round([&](Place &place, u32 parity) {
            place.folded.wait(parity);
            const u32 number = place.number;
            if (number >= tiles) return false;
            RingTile tile(number, item_count);
            tile.scan_warp(place.staged, place.before_warp(scanner));
            place.found.wait(parity);
            tile.store(place.staged, out, inclusive, place.before);
            __syncwarp();
            if (lane_index() == 0) place.freed.arrive();
            return true;
        });
    }
};

extern "C" __global__ void __launch_bounds__(AHEAD_THREADS, 1) scan_look_ahead(
    const ITEM *items, const u32 *count, u32 counted, u64 capacity, ITEM *out, u32 inclusive, u64 *workspace)
{
    extern __shared__ Vector dynamic[];
    Control *const control = (Control *)workspace;
    const u64 all = item_count(count, counted, capacity);
    const u32 tiles = (u32)(all / RingTile::ITEMS + (all % RingTile::ITEMS != 0));
    // The epoch stays until all blocks have drawn their last ticket.
    const Ring ring = {(Place *)dynamic, control, (u32)(load_relaxed(&control->ticket) >> 32), items, all, tiles};
    if (threadIdx.x == 0) {
        for (u32 place = 0; place < RING_PLACES; place++) ring.places[place].set_up();
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
    check_count(count, counted, capacity, control);
    retire(control, ring.epoch);
}
