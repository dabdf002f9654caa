// segmented_sort. Contract: compaction/src/segmented_sort.rs.
//
// segmented_sort_short: a warp sorts up to 16 segments of at most SHORT items each in registers, by bitonic networks,
// and lists the chunks of longer ones. segmented_sort_long sorts the listed chunks in shared memory, and then merges
// pairs of runs in rounds. A segment with several chunks alternates between `out` and the scratch memory, and begins
// where it ends in `out`.

#include "radix_sort.cuh"
#include "segments.cuh"
#include "merge.cuh"

constexpr u32 HELD = 8;  // items that a lane sorts
constexpr u32 SHORT = HELD * WARP_THREADS;

// The input and output of a call, of type Key and Value. Without values, nothing accesses theirs.
struct SortBuffers {
    const u8 *keys;
    const u8 *values;
    u8 *keys_out;
    u8 *values_out;
};

// Room for as many keys and values as the output.
struct ScratchBuffers {
    u8 *keys;
    u8 *values;
};

// The segments of a call.
struct SegmentRange {
    u64 items;          // number of items in the buffer
    u64 length;         // of each segment, or 0 if they are between offsets
    u64 warp_segments;  // number of segments of a warp
};

// Memory for the lists of chunks.
struct ListRoom {
    u64 *chunks;
    u64 several;  // largest number of chunks of segments with several chunks
    u64 single;   // largest number of other chunks
};

// A chunk of up to TILE_ITEMS items of a segment.
struct Chunk {
    u64 begin, end;  // of the segment
    u64 number;      // of the chunk within its segment

    __device__ __forceinline__ u32 rounds() const { return merge_rounds((end - begin + TILE_ITEMS - 1) / TILE_ITEMS); }
};

// The chunks of longer segments, in any order: first a list of those of segments with several chunks, and behind its
// room a list of the others. All words are zero between calls.
struct ChunkLists {
    u64 *words;
    Chunk *chunks;
    ListRoom room;

    enum : u32 {
        SEVERAL,   // number of chunks of segments with several chunks
        SINGLE,    // number of other chunks
        ROUNDS,    // largest number of rounds of merges of a segment
        DRAWN,     // number of tasks that blocks have taken
        FINISHED,  // number of blocks without further tasks
        DONE,      // for each round: number of chunks that are ready for it
        WORDS = DONE + MAX_ROUNDS,
    };
    static_assert(WORDS == LIST_WORDS, "the words of the workspace");

    static __device__ __forceinline__ ChunkLists of(const ListRoom &room, u64 *workspace)
    {
        return {((Control *)workspace)->states(), (Chunk *)room.chunks, room};
    }

    // Decreasing offsets may ask for more chunks than there is room for. These are not listed.
    __device__ __forceinline__ u64 several() const { return min(words[SEVERAL], room.several); }
    __device__ __forceinline__ u64 single() const { return min(words[SINGLE], room.single); }

    // The chunk with this number, of those in both lists.
    __device__ __forceinline__ const Chunk &at(u64 number) const
    {
        return chunks[number < several() ? number : number - several() + room.several];
    }
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

// Resident blocks per multiprocessor to compile the sort of short segments for. Older GPUs hold 1024 threads.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr u32 SHORT_BLOCKS = sizeof(Entry) <= 8 ? 4 : 2;
#else
constexpr u32 SHORT_BLOCKS = sizeof(Entry) == 4 ? 5 : sizeof(Entry) == 8 ? 4 : 2;
#endif

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

// Sorts the segments of the lanes from `first` on, one per group of LANES lanes. `items` is 0 for a lane without a
// segment that this function sorts. `staged` is shared memory of the warp for SHORT entries, and one more for each
// lane.
template <u32 LANES>
__device__ __forceinline__ void sort_short(const SortBuffers &buffers, u64 begin, u32 items, u32 first, Entry *staged)
{
    const u32 group = lane_index() / LANES, lane = lane_index() % LANES;
    begin = __shfl_sync(ALL_LANES, begin, first + group);
    items = __shfl_sync(ALL_LANES, items, first + group);
    const Key *keys = (const Key *)buffers.keys + begin;
    Entry entries[HELD];
#pragma unroll
    for (u32 item = 0; item < HELD; item++) {
        const u32 place = item * LANES + lane;
        entries[item] = place < items ? entry(keys[place], place) : last_entry();
    }
    sort_groups<LANES>(entries);
    // One entry of padding for each lane's, so that the lanes use different banks.
    __syncwarp();
#pragma unroll
    for (u32 item = 0; item < HELD; item++) staged[lane_index() * (HELD + 1) + item] = entries[item];
    __syncwarp();
#pragma unroll
    for (u32 item = 0; item < HELD; item++) {
        const u32 at = group * LANES * HELD + item * LANES + lane;
        entries[item] = staged[at + at / HELD];
    }
    // All values are loaded before the first is written, because the compiler cannot know that they are different memory.
    [[maybe_unused]] const Value *values = (const Value *)buffers.values + begin;
    [[maybe_unused]] Value moved[HELD];
    if constexpr (HAS_VALUES) {
#pragma unroll
        for (u32 item = 0; item < HELD; item++)
            if (item * LANES + lane < items) moved[item] = values[index_of(entries[item])];
    }
    Key *keys_out = (Key *)buffers.keys_out + begin;
    [[maybe_unused]] Value *values_out = (Value *)buffers.values_out + begin;
#pragma unroll
    for (u32 item = 0; item < HELD; item++) {
        const u32 place = item * LANES + lane;
        if (place >= items) continue;
        keys_out[place] = key_of(entries[item]);
        if constexpr (HAS_VALUES) values_out[place] = moved[item];
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

// Adds the chunks of a segment to a list. All lanes call it.
__device__ __forceinline__ void list_chunks(const ChunkLists &lists, u64 begin, u64 end)
{
    const u64 chunks = (end - begin + TILE_ITEMS - 1) / TILE_ITEMS;
    const bool is_single = chunks == 1;
    u64 place = 0;
    if (lane_index() == 0) {
        place = atomicAdd(lists.words + (is_single ? ChunkLists::SINGLE : ChunkLists::SEVERAL), chunks);
        if (!is_single) atomicMax(lists.words + ChunkLists::ROUNDS, (u64)merge_rounds(chunks));
    }
    place = __shfl_sync(ALL_LANES, place, 0);
    Chunk *const list = lists.chunks + (is_single ? lists.room.several : 0);
    const u64 capacity = is_single ? lists.room.single : lists.room.several;
    for (u64 chunk = lane_index(); chunk < chunks && place + chunk < capacity; chunk += WARP_THREADS)
        list[place + chunk] = {begin, end, chunk};
}

// Sorts the short segments, and lists the chunks of the longer ones.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, SHORT_BLOCKS) segmented_sort_short(
    SortBuffers buffers, const Word *table, SegmentRange range, Input input, ListRoom room, u64 *workspace)
{
    __shared__ Entry staged[BLOCK_WARPS][SHORT + WARP_THREADS];
    const u64 segments = input.number<Word>((Control *)workspace);
    const EitherSegments offsets = {{table, range.items}, {range.length}};
    const u32 warp_segments = (u32)range.warp_segments;
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
    const ChunkLists lists = ChunkLists::of(room, workspace);
    for (u32 longer = __ballot_sync(ALL_LANES, length > SHORT); longer != 0; longer &= longer - 1) {
        const u32 lane = __ffs(longer) - 1;
        list_chunks(lists, __shfl_sync(ALL_LANES, begin, lane), __shfl_sync(ALL_LANES, end, lane));
    }
}

// ------------------------------------------------------------------------------------------------------- long segments

// Sorts a chunk.
__device__ __forceinline__ void sort_chunk(
    const SortBuffers &buffers, const ScratchBuffers &scratch, const Chunk &chunk, Entry *tile)
{
    static_assert(TILE_ITEMS <= 1u << INDEX_BITS, "an index within a tile");
    const bool is_final = chunk.rounds() % 2 == 0;
    const u64 first = chunk.begin + chunk.number * TILE_ITEMS;
    const u32 items = (u32)min(chunk.end - first, (u64)TILE_ITEMS);
    const Key *keys = (const Key *)buffers.keys + first;
    [[maybe_unused]] const Value *values = (const Value *)buffers.values + first;
    Key *sorted_keys = (Key *)(is_final ? buffers.keys_out : scratch.keys) + first;
    [[maybe_unused]] Value *sorted_values = (Value *)(is_final ? buffers.values_out : scratch.values) + first;
    for (u32 item = threadIdx.x; item < items; item += BLOCK_THREADS) tile[item] = entry(keys[item], item);
    __syncthreads();
    sort_tile(tile, items, [](const Entry &left, const Entry &right) { return left < right; });
    __syncthreads();
    for (u32 item = threadIdx.x; item < items; item += BLOCK_THREADS) {
        sorted_keys[item] = key_of(tile[item]);
        if constexpr (HAS_VALUES) sorted_values[item] = values[index_of(tile[item])];
    }
}

// Merges a chunk's part of the runs of 2^round tiles. `tile` holds keys, and then their places.
__device__ __forceinline__ void merge_chunk(
    const SortBuffers &buffers, const ScratchBuffers &scratch, const Chunk &chunk, u32 round, u64 *tile)
{
    const bool to_out = (chunk.rounds() - round) % 2 == 1;
    const Key *keys = (const Key *)(to_out ? scratch.keys : buffers.keys_out);
    Key *sorted_keys = (Key *)(to_out ? buffers.keys_out : scratch.keys);
    [[maybe_unused]] const Value *values = (const Value *)(to_out ? scratch.values : buffers.values_out);
    const MergeTile work = MergeTile::of(chunk.begin, chunk.end, chunk.number, (u64)TILE_ITEMS << round);
    [[maybe_unused]] Value *out =
        (Value *)(to_out ? buffers.values_out : scratch.values) + work.first + work.diagonal;
    const auto move_values = [&](const u16(&places)[ITEMS_PER_THREAD], u32 first, u32 left, auto source) {
        if constexpr (HAS_VALUES) {
            // The places are written to shared memory, so that consecutive threads write consecutive values.
            u16 *sources = (u16 *)tile;
            __syncthreads();
#pragma unroll
            for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
                if (item < left) sources[first + item] = places[item];
            __syncthreads();
            for (u32 item = threadIdx.x; item < work.outputs; item += BLOCK_THREADS) out[item] = values[source(sources[item])];
        }
    };
    merge_tile(
        keys, sorted_keys, work, (Key *)tile, [](Key left, Key right) { return ordered(left) < ordered(right); },
        move_values);
}

// Sorts the listed chunks, and merges those of each segment.
//
// A task is a chunk in one of the rounds. Blocks take tasks in order of rounds, and begin a round when all chunks of
// the one before are ready. They wait only for tasks that running blocks have taken, so nothing is assumed about how
// many blocks run at once. Without long segments, the launch ends at once.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 3) segmented_sort_long(
    SortBuffers buffers, ScratchBuffers scratch, ListRoom room, u64 *workspace)
{
    constexpr u32 BYTES = TILE_ITEMS * (sizeof(Entry) > sizeof(u16) ? sizeof(Entry) : sizeof(u16));
    __shared__ u64 storage[(BYTES + sizeof(u64) - 1) / sizeof(u64)];
    __shared__ u64 drawn;
    const ChunkLists lists = ChunkLists::of(room, workspace);
    const u64 several = lists.several(), chunks = several + lists.single();
    if (chunks == 0) return;
    const u64 tasks = chunks + several * lists.words[ChunkLists::ROUNDS];
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) drawn = atomicAdd(lists.words + ChunkLists::DRAWN, 1ull);
        __syncthreads();
        const u64 task = drawn;
        if (task >= tasks) break;
        const bool sorts = task < chunks;
        const u32 round = sorts ? 0 : (u32)((task - chunks) / several);  // of the next merge
        const Chunk chunk = lists.at(sorts ? task : (task - chunks) % several);
        if (sorts) {
            sort_chunk(buffers, scratch, chunk, (Entry *)storage);
        } else {
            if (threadIdx.x == 0) {
                while (load_relaxed(lists.words + ChunkLists::DONE + round) < several) {}
                __threadfence();
            }
            __syncthreads();
            if (round < chunk.rounds()) merge_chunk(buffers, scratch, chunk, round, storage);
        }
        const u32 next = sorts ? 0 : round + 1;
        if (task >= several && sorts) continue;
        __syncthreads();
        if (threadIdx.x == 0 && next < MAX_ROUNDS) {
            __threadfence();
            atomicAdd(lists.words + ChunkLists::DONE + next, 1ull);
        }
    }
    // The last block empties the lists.
    __shared__ bool is_last;
    if (threadIdx.x == 0) is_last = atomicAdd(lists.words + ChunkLists::FINISHED, 1ull) == gridDim.x - 1;
    __syncthreads();
    if (is_last)
        for (u32 word = threadIdx.x; word < ChunkLists::WORDS; word += BLOCK_THREADS) lists.words[word] = 0;
}
