// partition into classes: the indices of all keys, sorted by key. Contract and source: compaction/src/partition.rs.
//
// Reads the key of each item, one byte, twice; writes the indices, and the start of each class. Keys that name no class
// belong to an additional last class.
//
// A block counts the keys of its chunk and writes the counts to a table, one row per chunk. Sums over that table
// determine all output positions, so no tile waits for the one before it. A word of the table holds the epoch beside
// the count, so no launch has to clear it, and the word itself tells whether it is valid.
//
// Inputs that need 64-bit counts take two launches: one writes the table, the next one moves.

#include "count_then_move.cuh"
#include "digit.cuh"
#include "item_count.cuh"
#include "portions.cuh"

constexpr u32 CLASS_CODES = 1 << CLASS_BITS;
// Words per row of the table: whole lines of memory.
constexpr u32 BINS = CLASS_CODES < 32 ? 32 : CLASS_CODES;
constexpr u32 TILE_ITEMS = BLOCK_THREADS * ITEMS_PER_THREAD;
constexpr u32 NO_CLASS = CLASS_CODES - 1;
// Votes for this many bits cost more than masks.
constexpr bool BY_MASKS = CLASS_BITS > MAX_VOTES;
// Rows of the table that a warp reads at once, with eight threads of 16 bytes each.
constexpr u32 WARP_ROWS = 4;
constexpr u32 WARP_BINS = 32;
constexpr u32 ROW_WARPS = BINS / WARP_BINS;
constexpr u32 SLICES = BLOCK_WARPS / ROW_WARPS;
static_assert(CLASSES < CLASS_CODES || CLASS_CODES == 256, "there is a digit for keys without a class");
static_assert(TILE_ITEMS <= 1 << 16, "a place in the tile has 16 bits");
static_assert(LAST_EPOCH >> (32 - CHUNK_BITS) == 0, "epoch and count share a word");

// Place is the word type of output positions.
template <class Place>
struct Shared {
    union {
        u32 histograms[4][BINS];
        struct {
            u32 counters[BLOCK_WARPS][BINS];
            u32 masks[BY_MASKS ? BLOCK_WARPS : 1][BINS];
        } warps;
        u32 sorted[TILE_ITEMS];
    };
    Place shift[BINS];  // from an item's index in its tile sorted by class to its output position
    u32 sums[2][SLICES][BINS];
};

__device__ __forceinline__ uint4 load_words(const u32 *words)
{
    uint4 four;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
                 : "l"(__cvta_generic_to_global(words)));
    return four;
}
__device__ __forceinline__ void store_word(u32 *word, u32 value)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(word)), "r"(value));
}

// Loads the classes of this thread's items of the tile that begins at `first`; the additional class behind `end`.
__device__ __forceinline__ void load_classes(
    const u8 *__restrict__ keys, u32 first, u32 end, u32 (&classes)[ITEMS_PER_THREAD])
{
    const u32 place = warp_first_place<ITEMS_PER_THREAD>() + lane_index();
    const u32 left = end - first;
    keys += (u64)first + place;
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) {
        classes[item] = NO_CLASS;
        if (place + item * WARP_THREADS < left) classes[item] = keys[item * WARP_THREADS];
    }
    if constexpr (CLASSES < CLASS_CODES)
#pragma unroll
        for (u32 item = 0; item < ITEMS_PER_THREAD; item++) classes[item] = min(classes[item], CLASSES);
}

// The items of a chunk.
struct Range {
    u32 begin;
    u32 end;
};

// Returns the number of keys in the class equal to the thread's index, if there is such a class.
template <class Place>
__device__ __forceinline__ u32 count_keys(const u8 *__restrict__ keys, Range range, Shared<Place> &shared)
{
    u32 *all = &shared.histograms[0][0];
    for (u32 word = threadIdx.x; word < 4 * BINS; word += BLOCK_THREADS) all[word] = 0;
    __syncthreads();
    u32 *histogram = shared.histograms[warp_index() % 4];
    for (u64 first = range.begin; first < range.end; first += TILE_ITEMS) {
        u32 classes[ITEMS_PER_THREAD];
        load_classes(keys, (u32)first, range.end, classes);
        const u32 left = range.end - (u32)first;
#pragma unroll
        for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
            if (warp_first_place<ITEMS_PER_THREAD>() + item * WARP_THREADS + lane_index() < left)
                atomicAdd(&histogram[classes[item]], 1u);
    }
    __syncthreads();
    u32 items = 0;
    if (threadIdx.x < BINS) {
#pragma unroll
        for (u32 copy = 0; copy < 4; copy++) items += shared.histograms[copy][threadIdx.x];
    }
    return items;
}

__device__ __forceinline__ bool is_there(uint4 words, u32 epoch)
{
    return words.x >> CHUNK_BITS == epoch && words.y >> CHUNK_BITS == epoch && words.z >> CHUNK_BITS == epoch
        && words.w >> CHUNK_BITS == epoch;
}

// Adds the counts of four classes over the rows of the table, waiting until each is written: over the rows before the
// chunk's own, and over all. Each thread reads the rows of its slice.
__device__ __forceinline__ void add_rows(
    const u32 *table, Ticket chunk, u32 slice, u32 bin, u32 (&before)[4], u32 (&total)[4])
{
    constexpr u32 BATCH = 5 * 1024 / BLOCK_THREADS, STEP = SLICES * WARP_ROWS;
    for (u32 row = slice; row < gridDim.x; row += BATCH * STEP) {
        uint4 words[BATCH];
        const auto row_of = [&](u32 part) { return row + (part + chunk.tile) % BATCH * STEP; };
#pragma unroll
        for (u32 part = 0; part < BATCH; part++) {
            // Blocks start with different rows, so that they do not all read the same line at once.
            if (row_of(part) < gridDim.x) words[part] = load_words(&table[row_of(part) * BINS + bin]);
        }
#pragma unroll
        for (u32 part = 0; part < BATCH; part++) {
            const u32 at = row_of(part);
            if (at >= gridDim.x) continue;
            while (!is_there(words[part], chunk.epoch)) words[part] = load_words(&table[at * BINS + bin]);
            const u32 four[] = {words[part].x, words[part].y, words[part].z, words[part].w};
#pragma unroll
            for (u32 word = 0; word < 4; word++) {
                const u32 count = four[word] % (1 << CHUNK_BITS);
                before[word] += at < chunk.tile ? count : 0;
                total[word] += count;
            }
        }
    }
}

// Returns the start of the class equal to the thread's index, given the number of items of each thread's class.
template <class Place>
__device__ __forceinline__ Place first_of_class(Place items)
{
    __shared__ Place warp_sums[BLOCK_WARPS];
    const Place inclusive = warp_inclusive<Sum<Place>>(items);
    if (lane_index() == WARP_THREADS - 1) warp_sums[warp_index()] = inclusive;
    __syncthreads();
    Place first = inclusive - items;
    for (u32 warp = 0; warp < warp_index() && threadIdx.x < BINS; warp++) first += warp_sums[warp];
    return first;
}

// Waits until every chunk is counted. Returns the output position of the chunk's first item of each class, in the
// thread with the class's index. The first chunk writes the starts of the classes.
__device__ __forceinline__ u32 wait_for_table(
    const u32 *table, Ticket chunk, u32 items, u32 *__restrict__ starts, Shared<u32> &shared)
{
    const u32 quad = lane_index() % (WARP_BINS / 4), slice = warp_index() / ROW_WARPS;
    const u32 bin = warp_index() % ROW_WARPS * WARP_BINS + 4 * quad;
    u32 sums[2][4] = {};
    add_rows(table, chunk, slice * WARP_ROWS + lane_index() / (WARP_BINS / 4), bin, sums[0], sums[1]);
#pragma unroll
    for (u32 sum = 0; sum < 2; sum++)
#pragma unroll
        for (u32 word = 0; word < 4; word++) {
            sums[sum][word] += __shfl_xor_sync(ALL_LANES, sums[sum][word], 8);
            sums[sum][word] += __shfl_xor_sync(ALL_LANES, sums[sum][word], 16);
            if (lane_index() < WARP_BINS / 4) shared.sums[sum][slice][bin + word] = sums[sum][word];
        }
    __syncthreads();
    u32 before = 0, total = 0;
    if (threadIdx.x < BINS) {
#pragma unroll
        for (u32 other = 0; other < SLICES; other++) {
            before += shared.sums[0][other][threadIdx.x];
            total += shared.sums[1][other][threadIdx.x];
        }
    }
    const u32 start = first_of_class(total);
    if (chunk.tile == 0) {
        if (threadIdx.x < BINS && threadIdx.x <= CLASSES) starts[threadIdx.x] = start;
        if (threadIdx.x == 0 && CLASSES == CLASS_CODES) starts[CLASSES] = items;
    }
    return start + before;
}

// Sorts a tile by class and writes its indices; `begin` is the index of the first key. `next` is the output position of
// the next item of the class equal to the thread's index. wait() sets it for the first tile, after the ranking.
template <class Index, class Place, class Wait>
__device__ __forceinline__ void move_tile(
    const u8 *__restrict__ keys, Index begin, u32 first, u32 end, Index *__restrict__ out, Place &next,
    Shared<Place> &shared, Wait wait)
{
    u32 classes[ITEMS_PER_THREAD], ranks[ITEMS_PER_THREAD];
    load_classes(keys, first, end, classes);
    u32 *counters = &shared.warps.counters[0][0];
    for (u32 word = threadIdx.x; word < (1 + BY_MASKS) * BLOCK_WARPS * BINS; word += BLOCK_THREADS) counters[word] = 0;
    __syncthreads();
    if constexpr (BY_MASKS)
        rank_in_warp_by_masks(classes, shared.warps.counters[warp_index()], shared.warps.masks[warp_index()], ranks);
    else
        rank_in_warp<CLASS_BITS>(classes, shared.warps.counters[warp_index()], ranks);
    // Rank and class share a word, because registers are scarce.
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) ranks[item] |= classes[item] << 16;
    const Bin bin = place_bins<BINS>(counters, [](u32) {});
    wait();
    if (threadIdx.x < BINS) {
        shared.shift[threadIdx.x] = next - bin.first;
        next += bin.items;
    }
    __syncthreads();
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++)
        ranks[item] += shared.warps.counters[warp_index()][ranks[item] >> 16];
    __syncthreads();
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) {
        const u32 place = warp_first_place<ITEMS_PER_THREAD>() + item * WARP_THREADS + lane_index();
        shared.sorted[ranks[item] % (1 << 16)] = ranks[item] >> 16 << 16 | place;
    }
    __syncthreads();
    // Items behind the end are the last ones of the last class.
    const u32 items = min(TILE_ITEMS, end - first);
#pragma unroll
    for (u32 item = 0; item < ITEMS_PER_THREAD; item++) {
        const u32 rank = threadIdx.x + item * BLOCK_THREADS;
        if (rank >= items) break;
        const u32 word = shared.sorted[rank];
        out[shared.shift[word >> 16] + rank] = begin + first + word % (1 << 16);
    }
    __syncthreads();
}

// --------------------------------------------------------------------------------------------------------- one launch

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) partition_classes(
    const u8 *keys, Input input, u32 *out, u32 *starts, u64 *workspace)
{
    __shared__ Shared<u32> shared;
    Control *control = (Control *)workspace;
    u32 *table = (u32 *)control->states();
    const u32 items = (u32)input.number<u32>(control);
    const u32 tiles = items / TILE_ITEMS + (items % TILE_ITEMS != 0);
    const u32 chunk_tiles = tiles / gridDim.x + (tiles % gridDim.x != 0);
    const auto range_of = [&](Ticket chunk) {
        const u64 begin = (u64)chunk.tile * chunk_tiles * TILE_ITEMS;
        return Range{(u32)min(begin, (u64)items), (u32)min(begin + (u64)chunk_tiles * TILE_ITEMS, (u64)items)};
    };
    count_then_move(
        control,
        [&](Ticket chunk) {
            const u32 here = count_keys(keys, range_of(chunk), shared);
            if (threadIdx.x < BINS)
                store_word(&table[chunk.tile * BINS + threadIdx.x], chunk.epoch << CHUNK_BITS | here);
        },
        [&](Ticket chunk) {
            const Range range = range_of(chunk);
            u32 next = 0;
            if (items == 0 && chunk.tile == 0) wait_for_table(table, chunk, items, starts, shared);
            for (u64 first = range.begin; first < range.end; first += TILE_ITEMS)
                move_tile(keys, 0u, (u32)first, range.end, out, next, shared, [&] {
                    if (first == range.begin) next = wait_for_table(table, chunk, items, starts, shared);
                });
        });
}

// -------------------------------------------------------------------------------------- one to count, and one to move

// Writes the number of keys of each class in a block's portion to the block's row of the table.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) partition_count_classes(
    const u8 *keys, Input input, u32 *table, u64 *workspace)
{
    __shared__ Shared<u32> shared;
    const u64 items = input.number((Control *)workspace);
    const Portion portion = block_portion(items, TILE_ITEMS);
    const u32 here = count_keys(keys + portion.first, {0, portion.items}, shared);
    if (threadIdx.x < BINS) table[blockIdx.x * BINS + threadIdx.x] = here;
}

#define MOVE_PARAMS                                                                                               \
    const u8 *keys, Input input, const u32 *table, u8 *out,     \
        u32 *starts, u64 *workspace

template <class Index>
__device__ __forceinline__ void move_portion(MOVE_PARAMS)
{
    __shared__ Shared<u64> shared;
    const u64 items = input.number((Control *)workspace);
    const Portion portion = block_portion(items, TILE_ITEMS);
    u64 before = 0, total = 0;
    if (threadIdx.x < BINS) {
#pragma unroll 8
        for (u32 row = 0; row < gridDim.x; row++) {
            const u32 keys_there = table[row * BINS + threadIdx.x];
            before += row < blockIdx.x ? keys_there : 0;
            total += keys_there;
        }
    }
    const u64 start = first_of_class(total);
    if (blockIdx.x == 0) {
        if (threadIdx.x < BINS && threadIdx.x <= CLASSES) write_count(starts, input.count_words, threadIdx.x, start);
        if (threadIdx.x == 0 && CLASSES == CLASS_CODES) write_count(starts, input.count_words, CLASSES, items);
    }
    u64 next = start + before;
    for (u64 first = 0; first < portion.items; first += TILE_ITEMS)
        move_tile(
            keys + portion.first, (Index)portion.first, (u32)first, portion.items, (Index *)out, next, shared, [] {});
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) partition_move_classes(MOVE_PARAMS)
{
    move_portion<u32>(keys, input, table, out, starts, workspace);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) partition_move_wide_classes(MOVE_PARAMS)
{
    move_portion<u64>(keys, input, table, out, starts, workspace);
}
