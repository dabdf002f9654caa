// radix_sort, split: contract and source in compaction/src/radix_sort.rs.
//
// A launch for each bit, from the lowest on, is a stable partition: keys without it first, keys with it behind them. Of a bit
// beyond the key all keys have none.

#include "two_way.cuh"
#include "radix_sort.cuh"

// Moves a tile's items of one type.
template <class Item>
__device__ __forceinline__ void move_ways(
    const Item *__restrict__ in, Item *__restrict__ out, Tile tile, const u16 *places, TwoWays ways)
{
    const auto item = [&](u32 rank) { return in[tile.first + places[rank]]; };
    write_out(out + ways.selected, ways.survivors, item);
    write_out(out + ways.rejected, tile.items - ways.survivors, [&](u32 rank) { return item(ways.survivors + rank); });
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR) radix_sort_split(
    const u32 *keys_in, const u32 *values_in, const u32 *count, u32 capacity, u32 bit, u32 *keys_out, u32 *values_out,
    u32 *zeros, u64 *workspace)
{
    const Key *keys = (const Key *)keys_in;
    two_way(
        min(*count, capacity), zeros, (Control *)workspace,
        [&](Tile tile, u32(&flags)[ROWS]) {
            const u32 left = items_left(tile);
#pragma unroll
            for (u32 row = 0; row < ROWS; row++) {
                const u32 here = present(left, row);
                flags[row] = 0;
#pragma unroll
                for (u32 item = 0; item < WORD_FLAGS; item++) {
                    if (item >= here) break;
                    const Key key = keys[tile.first + first_place() + row * SHORT_ROW_ITEMS + item];
                    const bool zero = bit >= sizeof(Key) * 8 || (ordered(key) >> bit & 1) == 0;
                    flags[row] |= (u32)zero << 8 * item;
                }
            }
        },
        [&](Tile tile, const u16 *places, TwoWays ways) {
            move_ways(keys, (Key *)keys_out, tile, places, ways);
            if constexpr (VALUES) move_ways(values_in, values_out, tile, places, ways);
        });
}
