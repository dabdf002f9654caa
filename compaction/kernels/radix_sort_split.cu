// radix_sort by split. Contract and source: compaction/src/radix_sort.rs.
//
// One launch per bit, lowest first, is a stable partition: keys with a zero first, keys with a one behind them. For a
// bit beyond the key's width, all keys have a zero.
//
// Inputs with more keys than a portion are moved by one launch per portion; the number of zeros of all bits is then
// counted in advance.

#include "two_way_partition.cuh"
#include "vector.cuh"
#include "radix_sort.cuh"

constexpr u32 KEY_BITS = 8 * sizeof(Key);

__device__ __forceinline__ bool has_zero(Key key, u32 bit) { return bit >= KEY_BITS || (ordered(key) >> bit & 1) == 0; }

// Adds to zeros[bit] the number of keys with a zero there.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR) radix_sort_zeros(
    const u8 *key_bytes, Input input, u64 *zeros, u64 *workspace)
{
    const Key *keys = (const Key *)key_bytes;
    const u64 items = input.number<Word>((Control *)workspace);
    constexpr u32 SUMS = (KEY_BITS + WARP_THREADS - 1) / WARP_THREADS;
    u64 sums[SUMS] = {};  // a lane counts for the bit of its index and, for 64-bit keys, the one 32 higher
    const u64 stride = (u64)gridDim.x * BLOCK_THREADS;
    for (u64 first = (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x - lane_index(); first < items; first += stride) {
        const bool is_there = first + lane_index() < items;
        const Key key = is_there ? keys[first + lane_index()] : (Key)0;
#pragma unroll 8
        for (u32 bit = 0; bit < KEY_BITS; bit++) {
            const u32 votes = __ballot_sync(ALL_LANES, is_there && has_zero(key, bit));
            if (lane_index() == bit % WARP_THREADS) (bit < WARP_THREADS ? sums[0] : sums[SUMS - 1]) += __popc(votes);
        }
    }
#pragma unroll
    for (u32 sum = 0; sum < SUMS; sum++) {
        const u32 bit = sum * WARP_THREADS + lane_index();
        if (bit < KEY_BITS) atomicAdd(&zeros[bit], sums[sum]);
    }
}

// Moves a tile's items of one type.
template <class Item>
__device__ __forceinline__ void move_ways(
    const Item *__restrict__ in, Item *__restrict__ zeros_out, Item *__restrict__ ones_out, Tile tile, const u16 *places,
    u32 zeros)
{
    const auto item = [&](u32 rank) { return in[tile.first + places[rank]]; };
    write_out(zeros_out, zeros, item);
    write_out(ones_out, tile.items - zeros, [&](u32 rank) { return item(zeros + rank); });
}

// The bit of a pass, and the keys of a launch.
struct Split {
    u64 first;   // index of the launch's first key
    u32 number;  // number of the launch within its pass, counted from 0
    u32 bit;
};

// Partitions a portion of the keys by one bit. `zeros` counts all keys by bit, and is read only if there are several
// portions. `portion_zeros` counts each portion; this launch writes its own count.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR) radix_sort_split(
    Moved moved, Input input, Split split, const u64 *zeros, u32 *portion_zeros, u64 *workspace)
{
    Control *control = (Control *)workspace;
    const Key *keys = (const Key *)moved.keys_in + split.first;
    const Value *values = (const Value *)moved.values_in + split.first;
    const u64 items = input.number<Word>(control);
    const u32 here = items > split.first ? (u32)min(items - split.first, (u64)PORTION_ITEMS) : 0;
    u64 zeros_before = 0;
    for (u32 earlier = 0; earlier < split.number; earlier++) zeros_before += portion_zeros[earlier];
    // After all zeros, and the ones of earlier portions.
    const bool is_long = input.capacity > PORTION_ITEMS;
    const u64 ones_begin = is_long ? zeros[split.bit] + split.first - zeros_before : 0;
    two_way(
        here, &portion_zeros[split.number], control,
        [&](Tile tile, u32(&flags)[ROWS]) {
            const u32 left = items_left(tile);
#pragma unroll
            for (u32 row = 0; row < ROWS; row++) {
                const u32 present_here = present(left, row);
                flags[row] = 0;
#pragma unroll
                for (u32 item = 0; item < WORD_FLAGS; item++) {
                    if (item >= present_here) break;
                    const Key key = keys[tile.first + first_place() + row * SHORT_ROW_ITEMS + item];
                    flags[row] |= (u32)has_zero(key, split.bit) << 8 * item;
                }
            }
        },
        [&](Tile tile, const u16 *places, TwoWays ways) {
            const u64 zero = zeros_before + ways.selected;
            const u64 one = is_long ? ones_begin + tile.first - ways.selected : ways.rejected;
            move_ways(keys, (Key *)moved.keys_out + zero, (Key *)moved.keys_out + one, tile, places, ways.survivors);
            if constexpr (HAS_VALUES)
                move_ways(values, (Value *)moved.values_out + zero, (Value *)moved.values_out + one, tile, places, ways.survivors);
        });
}

#ifdef MAKES_INDICES
// Writes the indices of the keys, the values of an argsort.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) radix_sort_indices(
    Input input, u8 *indices, u64 *workspace)
{
    const u64 items = input.number<Word>((Control *)workspace);
    const u64 threads = (u64)gridDim.x * BLOCK_THREADS;
    for (u64 item = (u64)blockIdx.x * BLOCK_THREADS + threadIdx.x; item < items; item += threads)
        ((Value *)indices)[item] = (Value)item;
}
#endif
