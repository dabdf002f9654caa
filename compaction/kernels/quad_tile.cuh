// Tiles of items in quads, and the look-back of the tile that a block draws. Twin: src/tiles.rs.
//
// Each warp has ROWS rows of a tile, and in each row every lane has a quad: four consecutive items.
#pragma once

#include "ordered_look_back.cuh"
#include "portions.cuh"

constexpr u32 QUAD = 4;
constexpr u32 ROW_ITEMS = QUAD * WARP_THREADS;
constexpr u32 TILE_ITEMS = BLOCK_WARPS * ROWS * ROW_ITEMS;
static_assert(ROWS * QUAD <= 32, "a lane's items have a bit each");
static_assert(TILE_ITEMS <= 1 << 16, "an index within a tile has 16 bits");

// The largest power of two, up to 16, that divides the size of a quad of items of this size.
constexpr u32 quad_align(u32 bytes) { return (QUAD * bytes & -(QUAD * bytes)) < 16 ? QUAD * bytes & -(QUAD * bytes) : 16; }

template <class T>
struct alignas(quad_align(sizeof(T))) Quad {
    T items[QUAD];
};

template <class T>
using Rows = Quad<T>[ROWS];

// The items of a tile of `all` items.
struct Tile {
    u64 first;  // index of its first item
    u32 items;  // number of items

    __device__ __forceinline__ Tile(u32 tile, u64 all)
        : first((u64)tile * TILE_ITEMS), items(first < all ? (u32)min((u64)TILE_ITEMS, all - first) : 0)
    {
    }

    // The index within the tile of the first item of this lane in a row.
    static __device__ __forceinline__ u32 place(u32 row)
    {
        return (warp_index() * ROWS + row) * ROW_ITEMS + lane_index() * QUAD;
    }

    // Reads nothing outside the tile.
    template <class T>
    __device__ __forceinline__ void load(const T *__restrict__ from, Rows<T> &rows) const
    {
        from += first;
        if (items == TILE_ITEMS && (u64)from % alignof(Quad<T>) == 0) {
#pragma unroll
            for (u32 row = 0; row < ROWS; row++) rows[row] = *(const Quad<T> *)(from + place(row));
            return;
        }
#pragma unroll
        for (u32 row = 0; row < ROWS; row++) {
#pragma unroll
            for (u32 item = 0; item < QUAD; item++) {
                memset(&rows[row].items[item], 0, sizeof(T));
                if (place(row) + item < items) rows[row].items[item] = from[place(row) + item];
            }
        }
    }
};

// Prefetches into L2 the items of the tile that this block would get if blocks ran in order.
template <class T>
__device__ __forceinline__ void prefetch_tile(const T *items, u64 capacity)
{
    constexpr u32 LINE_BYTES = 128;
    const u64 first = (u64)blockIdx.x * TILE_ITEMS;
    if (first >= capacity) return;
    const u64 bytes = min((u64)TILE_ITEMS, capacity - first) * sizeof(T);
    for (u64 byte = threadIdx.x * LINE_BYTES; byte < bytes; byte += BLOCK_THREADS * LINE_BYTES)
        asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)(items + first) + byte));
}

// Runs body(tile, look-back over the monoid, whether it is the last tile) for the tile that this block draws. Without
// items there is still one tile, which writes the count 0. `prefetch` runs while the ticket is in flight.
template <class AnyMonoid, class Prefetch, class Body>
__device__ __forceinline__ void draw_tile(
    const u32 *count, u64 capacity, u32 is_given, u64 *workspace, Prefetch prefetch, Body body)
{
    Control *const control = (Control *)workspace;
    Ticket ticket;
    const u64 all = draw_ticket(control, ticket, [&] {
        prefetch();
        return long_item_count(count, sizeof(Word) / sizeof(u32), capacity, is_given, control);
    });
    const u64 tiles = max((u64)1, all / TILE_ITEMS + (all % TILE_ITEMS != 0));
    if (ticket.tile < tiles) {
        const OrderedLookBack<AnyMonoid> look_back = {control->states(), ticket};
        body(Tile(ticket.tile, all), look_back, ticket.tile == tiles - 1);
    }
    retire(control, ticket.epoch);
}

// The number of resident blocks per multiprocessor to compile for. On older GPUs, one more would cause spills.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr u32 MIN_TILE_BLOCKS = RESIDENT_BLOCKS < 3 ? RESIDENT_BLOCKS : 3;
#else
constexpr u32 MIN_TILE_BLOCKS = RESIDENT_BLOCKS;
#endif
#define TILES(name) extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, MIN_TILE_BLOCKS) name
