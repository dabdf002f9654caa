// segmented_sort. Contract: compaction/src/segmented_sort.rs.
//
// segmented_sort_short: a warp sorts up to 32 segments of at most SHORT items each in registers, by bitonic networks,
// and lists the chunks of longer ones. segmented_sort_tiles sorts the listed chunks in shared memory, and each launch
// of segmented_sort_merge merges pairs of runs. A segment with many chunks alternates between `out` and the scratch
// memory, and begins where it ends in `out`.

#include "radix_sort.cuh"
#include "segments.cuh"
#include "merge.cuh"

constexpr u32 HELD = 8;  // items that a lane sorts
constexpr u32 SHORT = HELD * WARP_THREADS;

// A chunk of up to TILE_ITEMS items of a segment.
struct Chunk {
    u64 begin, end;  // of the segment
    u64 number;      // of the chunk within its segment

    __device__ __forceinline__ u32 rounds() const { return merge_rounds((end - begin + TILE_ITEMS - 1) / TILE_ITEMS); }
};

// The chunks of longer segments, in any order.
struct ChunkList {
    u64 *control;  // the number of chunks, and the number of blocks that have finished the last launch
    Chunk *chunks;
    u64 capacity;

    __device__ __forceinline__ u64 count() const { return min(*control, capacity); }
};

// -------------------------------------------------------------------------------------------------- keys as one number

// The key that `ordered` maps to this number.
__device__ __forceinline__ Key unordered(Key key)
{
    if (DESCENDING) key = (Key)~key;
    if constexpr (KEY_KIND == SIGNED) key ^= SIGN;
    if constexpr (KEY_KIND == FLOAT) key ^= key & SIGN ? SIGN : ALL_BITS;
    return key;
}

// A wide key with the index of its value, which makes all keys different.
struct WideEntry {
    u64 key;
    u32 index;

    __device__ __forceinline__ bool operator<(const WideEntry &other) const
    {
        return key < other.key || (key == other.key && index < other.index);
    }
};

// An entry is an ordered key, and with values also an index below 2^16 in the low bits.
constexpr u32 INDEX_BITS = 16;

template <u32 BYTES, bool INDEXED>
constexpr auto entry_of()
{
    if constexpr (!INDEXED)
        return unsigned_of<BYTES < 4 ? 4 : BYTES>();
    else if constexpr (BYTES == 8)
        return WideEntry{};
    else
        return unsigned_of<BYTES == 4 ? 8 : 4>();
}
using Entry = decltype(entry_of<KEY_BYTES, HAS_VALUES>());

template <class Entry>
__device__ __forceinline__ Entry entry_as(Key key, u32 index)
{
    if constexpr (same_type<Entry, WideEntry>)
        return Entry{ordered(key), index};
    else if constexpr (HAS_VALUES)
        return (Entry)ordered(key) << INDEX_BITS | index;
    else
        return ordered(key);
}
__device__ __forceinline__ Entry entry(Key key, u32 index) { return entry_as<Entry>(key, index); }

// An entry behind all others.
__device__ __forceinline__ Entry last_entry()
{
    Entry last;
    memset(&last, 0xff, sizeof(Entry));
    return last;
}
template <class Entry>
__device__ __forceinline__ Key key_of(const Entry &entry)
{
    if constexpr (same_type<Entry, WideEntry>)
        return unordered((Key)entry.key);
    else
        return unordered((Key)(HAS_VALUES ? entry >> INDEX_BITS : entry));
}
template <class Entry>
__device__ __forceinline__ u32 index_of(const Entry &entry)
{
    if constexpr (same_type<Entry, WideEntry>)
        return entry.index;
    else
        return (u32)entry & ((1u << INDEX_BITS) - 1);
}
template <class Entry>
__device__ __forceinline__ Entry of_lane_xor(const Entry &entry, u32 lanes)
{
    if constexpr (same_type<Entry, WideEntry>)
        return Entry{__shfl_xor_sync(ALL_LANES, entry.key, lanes), __shfl_xor_sync(ALL_LANES, entry.index, lanes)};
    else
        return __shfl_xor_sync(ALL_LANES, entry, lanes);
}

// ------------------------------------------------------------------------------------------------------ short segments

__device__ __forceinline__ void order_pair(Entry &low, Entry &high)
{
    const bool swaps = high < low;
    const Entry lower = swaps ? high : low;
    high = swaps ? low : high;
    low = lower;
}

// Replaces each entry by the lower one of a pair, or in the upper lane by the higher one.
__device__ __forceinline__ void keep(Entry &mine, const Entry &other, bool is_upper)
{
    mine = (other < mine) != is_upper ? other : mine;
}

// Sorts the entries of each group of LANES lanes. Lane l of a group receives the entries HELD * l and following.
template <u32 LANES>
__device__ __forceinline__ void sort_groups(Entry (&entries)[HELD])
{
    static_assert(HELD == 8, "the network of a lane");
    // Batcher's odd-even merge sort.
    constexpr u8 PAIRS[19][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {1, 2}, {5, 6},
                                 {0, 4}, {1, 5}, {2, 6}, {3, 7}, {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6}};
#pragma unroll
    for (u32 pair = 0; pair < 19; pair++) order_pair(entries[PAIRS[pair][0]], entries[PAIRS[pair][1]]);
    // Bitonic merges, whose first step compares the sorted halves in opposite directions.
#pragma unroll
    for (u32 lanes = 2; lanes <= LANES; lanes *= 2) {
        Entry others[HELD];
#pragma unroll
        for (u32 item = 0; item < HELD; item++) others[item] = of_lane_xor(entries[HELD - 1 - item], lanes - 1);
#pragma unroll
        for (u32 item = 0; item < HELD; item++) keep(entries[item], others[item], lane_index() & (lanes / 2));
#pragma unroll
        for (u32 distance = lanes / 4; distance > 0; distance /= 2)
#pragma unroll
            for (u32 item = 0; item < HELD; item++)
                keep(entries[item], of_lane_xor(entries[item], distance), lane_index() & distance);
#pragma unroll
        for (u32 distance = HELD / 2; distance > 0; distance /= 2)
#pragma unroll
            for (u32 item = 0; item < HELD; item++)
                if ((item & distance) == 0) order_pair(entries[item], entries[item + distance]);
    }
}

struct Buffers {
    const Key *keys;
    const Value *values;
    Key *keys_out;
    Value *values_out;
};

// Sorts the segments of the lanes from `first` on, one per group of LANES lanes. `items` is 0 for a lane without a
// segment that this function sorts. `staged` is shared memory of the warp for SHORT entries, and one more for each
// lane.
template <u32 LANES>
__device__ __forceinline__ void sort_short(const Buffers &buffers, u64 begin, u32 items, u32 first, Entry *staged)
{
    const u32 group = lane_index() / LANES, lane = lane_index() % LANES;
    begin = __shfl_sync(ALL_LANES, begin, first + group);
    items = __shfl_sync(ALL_LANES, items, first + group);
    Entry entries[HELD];
#pragma unroll
    for (u32 item = 0; item < HELD; item++) {
        const u32 place = item * LANES + lane;
        entries[item] = place < items ? entry(buffers.keys[begin + place], place) : last_entry();
    }
    sort_groups<LANES>(entries);
    // One entry of padding for each lane's, so that the lanes use different banks.
    __syncwarp();
#pragma unroll
    for (u32 item = 0; item < HELD; item++) staged[lane_index() * (HELD + 1) + item] = entries[item];
    __syncwarp();
#pragma unroll
    for (u32 item = 0; item < HELD; item++) {
        const u32 place = item * LANES + lane, at = group * LANES * HELD + place;
        if (place >= items) continue;
        const Entry sorted = staged[at + at / HELD];
        buffers.keys_out[begin + place] = key_of(sorted);
        if constexpr (HAS_VALUES) buffers.values_out[begin + place] = buffers.values[begin + index_of(sorted)];
    }
}

__device__ __forceinline__ u32 warp_max(u32 value)
{
#pragma unroll
    for (u32 distance = 1; distance < WARP_THREADS; distance *= 2) value = max(value, __shfl_xor_sync(ALL_LANES, value, distance));
    return value;
}

// Segments of equal length, or if that is 0, between consecutive entries of a table. One kernel for both compiles in
// half the time of two.
struct EitherSegments {
    OffsetTable table;
    EqualLengths equal;

    __device__ __forceinline__ u64 begin(u64 segment) const
    {
        return equal.length != 0 ? equal.begin(segment) : table.begin(segment);
    }
};

__device__ __forceinline__ void sort_segments(
    const Buffers &buffers, const EitherSegments &offsets, u64 segments, u32 warp_segments, const ChunkList &list)
{
    __shared__ Entry staged[BLOCK_WARPS][SHORT + WARP_THREADS];
    const u64 first = ((u64)blockIdx.x * BLOCK_WARPS + warp_index()) * warp_segments;
    if (first >= segments) return;
    const u64 segment = first + lane_index();
    const bool has_segment = lane_index() < warp_segments && segment < segments;
    const u64 begin = has_segment ? offsets.begin(segment) : 0;
    const u64 end = has_segment ? offsets.begin(segment + 1) : 0;
    const u64 length = end > begin ? end - begin : 0;
    const u32 items = length <= SHORT ? (u32)length : 0;
    Entry *mine = staged[warp_index()];
    if (warp_max(items) <= HELD) {
        sort_short<1>(buffers, begin, items, 0, mine);
    } else {
        for (u32 lane = 0; lane < warp_segments; lane += 4) {
            u32 longest = __shfl_sync(ALL_LANES, items, lane + lane_index() % 4);
            longest = warp_max(longest);
            if (longest <= HELD * 8) {
                sort_short<8>(buffers, begin, items, lane, mine);
            } else {
                for (u32 each = lane; each < lane + 4; each++) {
                    if (__shfl_sync(ALL_LANES, items, each) <= HELD * 16)
                        sort_short<16>(buffers, begin, lane_index() == each ? items : 0, each, mine);
                    else
                        sort_short<32>(buffers, begin, items, each, mine);
                }
            }
        }
    }
    for (u32 longer = __ballot_sync(ALL_LANES, length > SHORT); longer != 0; longer &= longer - 1) {
        const u32 lane = __ffs(longer) - 1;
        const u64 its_begin = __shfl_sync(ALL_LANES, begin, lane), its_end = __shfl_sync(ALL_LANES, end, lane);
        const u64 chunks = (its_end - its_begin + TILE_ITEMS - 1) / TILE_ITEMS;
        u64 place = 0;
        if (lane_index() == 0) place = atomicAdd(list.control, chunks);
        place = __shfl_sync(ALL_LANES, place, 0);
        for (u64 chunk = lane_index(); chunk < chunks; chunk += WARP_THREADS)
            if (place + chunk < list.capacity) list.chunks[place + chunk] = {its_begin, its_end, chunk};
    }
}

// Sorts the short segments, and lists the chunks of the longer ones.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) segmented_sort_short(
    const u8 *keys, const u8 *values, u64 item_count, const Word *offsets, u64 length, const u32 *count, u64 capacity,
    u32 is_given, u32 warp_segments, u8 *keys_out, u8 *values_out, u64 *list, u64 list_capacity, u64 *workspace)
{
    Control *control = (Control *)workspace;
    const u64 segments = segment_count(count, capacity, is_given, control);
    const Buffers buffers = {(const Key *)keys, (const Value *)values, (Key *)keys_out, (Value *)values_out};
    const ChunkList chunks = {control->states(), (Chunk *)list, list_capacity};
    sort_segments(buffers, EitherSegments{{offsets, item_count}, {length}}, segments, warp_segments, chunks);
}

// ------------------------------------------------------------------------------------------------------- long segments

// Empties the list in the last launch of a call, once all blocks have read it.
__device__ __forceinline__ void finish(const ChunkList &chunks, u32 is_last)
{
    if (!is_last) return;
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(chunks.control + 1, 1ull) == gridDim.x - 1) chunks.control[0] = chunks.control[1] = 0;
}

// Sorts the listed chunks.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) segmented_sort_tiles(
    const u8 *keys_in, const u8 *values_in, u32 is_last, u8 *keys_out, u8 *values_out, u8 *keys_scratch, u8 *values_scratch,
    u64 *list, u64 list_capacity, u64 *workspace)
{
    __shared__ Entry tile[TILE_ITEMS];
    static_assert(TILE_ITEMS <= 1u << INDEX_BITS, "an index within a tile");
    const ChunkList chunks = {((Control *)workspace)->states(), (Chunk *)list, list_capacity};
    const u64 count = chunks.count();
    for (u64 each = blockIdx.x; each < count; each += gridDim.x) {
        const Chunk chunk = chunks.chunks[each];
        const bool is_final = chunk.rounds() % 2 == 0;
        const u64 first = chunk.begin + chunk.number * TILE_ITEMS;
        const u32 items = (u32)min(chunk.end - first, (u64)TILE_ITEMS);
        const Key *keys = (const Key *)keys_in + first;
        const Value *values = (const Value *)values_in + first;
        Key *sorted_keys = (Key *)(is_final ? keys_out : keys_scratch) + first;
        Value *sorted_values = (Value *)(is_final ? values_out : values_scratch) + first;
        __syncthreads();
        for (u32 item = threadIdx.x; item < items; item += BLOCK_THREADS) tile[item] = entry(keys[item], item);
        __syncthreads();
        sort_tile(tile, items, [](const Entry &left, const Entry &right) { return left < right; });
        __syncthreads();
        for (u32 item = threadIdx.x; item < items; item += BLOCK_THREADS) {
            sorted_keys[item] = key_of(tile[item]);
            if constexpr (HAS_VALUES) sorted_values[item] = values[index_of(tile[item])];
        }
    }
    finish(chunks, is_last);
}

// Merges the runs of 2^round tiles of the listed chunks.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) segmented_sort_merge(
    u32 round, u32 is_last, u8 *keys_out, u8 *values_out, u8 *keys_scratch, u8 *values_scratch, u64 *list, u64 list_capacity,
    u64 *workspace)
{
    // Holds keys, and then their places.
    constexpr u32 BYTES = TILE_ITEMS * (sizeof(Key) > sizeof(u16) ? sizeof(Key) : sizeof(u16));
    __shared__ u64 storage[(BYTES + sizeof(u64) - 1) / sizeof(u64)];
    Key *const tile = (Key *)storage;
    const ChunkList chunks = {((Control *)workspace)->states(), (Chunk *)list, list_capacity};
    const u64 count = chunks.count();
    for (u64 each = blockIdx.x; each < count; each += gridDim.x) {
        const Chunk chunk = chunks.chunks[each];
        const u32 rounds = chunk.rounds();
        if (round >= rounds) continue;
        const bool to_out = (rounds - round) % 2 == 1;
        const Key *keys = (const Key *)(to_out ? keys_scratch : keys_out);
        Key *sorted_keys = (Key *)(to_out ? keys_out : keys_scratch);
        const Value *values = (const Value *)(to_out ? values_scratch : values_out);
        Value *sorted_values = (Value *)(to_out ? values_out : values_scratch);
        const MergeTile work = MergeTile::of(chunk.begin, chunk.end, chunk.number, (u64)TILE_ITEMS << round);
        Value *const out = sorted_values + work.first + work.diagonal;
        const auto move_values = [&](const u16(&places)[ITEMS_PER_THREAD], u32 first, u32 left, auto source) {
            if constexpr (HAS_VALUES) {
                // The places are written to shared memory, so that consecutive threads write consecutive values.
                u16 *sources = (u16 *)storage;
                __syncthreads();
#pragma unroll
                for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
                    if (item < left) sources[first + item] = places[item];
                __syncthreads();
                for (u32 item = threadIdx.x; item < work.outputs; item += BLOCK_THREADS)
                    out[item] = values[source(sources[item])];
            }
        };
        merge_tile(
            keys, sorted_keys, work, tile, [](Key left, Key right) { return ordered(left) < ordered(right); }, move_values);
    }
    finish(chunks, is_last);
}
