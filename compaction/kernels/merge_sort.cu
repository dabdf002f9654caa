// merge_sort by `bool before(Item, Item)`. Contract: compaction/src/merge_sort.rs.
//
// A segment of items is divided into buckets, and each bucket is a segment of the next level. After the last level,
// buckets are sorted in shared memory. A level takes four launches: merge_sort_splitters picks the splitters between the
// buckets of each segment from a sample, merge_sort_count finds each item's bucket and counts those of each chunk, merge_sort_scan
// turns the counts into positions, and merge_sort_move moves the items there in order.
//
// An item goes before the first splitter that does not belong before it. If some splitters are equal, items that are
// equal to them are divided by their positions. So buckets have similar sizes for any input, and the division is stable.

#include "digit.cuh"
#include "item_count.cuh"
#include "comparison"
#include "merge.cuh"

// Whether the comparison has exactly a type that is asked for, without conversions.
char has_type(bool (*)(Item, Item));
char has_type(bool (*)(const Item &, Item));
char has_type(bool (*)(Item, const Item &));
char has_type(bool (*)(const Item &, const Item &));
u64 has_type(...);
static_assert(sizeof(has_type(&before)) == 1, "before has another type");

struct Before {
    __device__ __forceinline__ bool operator()(const Item &left, const Item &right) const { return before(left, right); }
};

constexpr u32 MAX_BUCKETS = 1 << BUCKET_BITS;  // of a segment
// Resident blocks per multiprocessor to compile for. Older GPUs hold 1024 threads.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr u32 COUNT_BLOCKS = 3, MOVE_BLOCKS = 2, SORT_BLOCKS = 4;
#else
constexpr u32 COUNT_BLOCKS = 3, MOVE_BLOCKS = 3, SORT_BLOCKS = 5;
#endif
constexpr u32 AT_ONCE = 8;  // number of items for which a thread finds the bucket at a time
constexpr u32 MOVE_TILE = BLOCK_THREADS * MOVE_ITEMS;

// A division of segments into buckets. A segment is counted and moved in chunks. Chunk c of segment s has the slot
// first_slot(s) + c, and a segment may have one slot more than chunks.
struct SortLevel {
    u64 segments;
    u32 buckets;      // largest number of buckets of a segment
    u32 chunk_tiles;  // number of tiles of MOVE_TILE items in a chunk
    u64 is_first;     // nonzero: there is one segment, which has all items
};

// The scratch memory of a level.
struct SortTables {
    u64 *begins;       // where each segment begins, and where the last one ends
    u64 *next_begins;  // the same for the buckets
    u64 *counts;       // for each segment, bucket and slot: number of items, and then the position of the first one
    u8 *splitters;     // of type Item: the first item of each bucket but the first, for each segment
    u64 *positions;    // of the splitters, within their segments
    u16 *buckets;      // the bucket of each item within its segment
};

struct SortSegment {
    u64 begin, end;
    u64 number;
    u64 first_slot;
    u64 slots;
    u32 buckets;

    __device__ __forceinline__ u64 items() const { return end - begin; }

    // The index of a bucket's count in a slot of this segment.
    __device__ __forceinline__ u64 count_at(const SortLevel &level, u32 bucket, u64 slot) const
    {
        return first_slot * level.buckets + bucket * slots + slot - first_slot;
    }
};

struct SortSegments {
    SortLevel level;
    const u64 *begins;
    u64 items;

    __device__ __forceinline__ u64 begin(u64 segment) const
    {
        return level.is_first ? (segment == 0 ? 0 : items) : begins[segment];
    }
    __device__ __forceinline__ u64 chunk_items() const { return (u64)level.chunk_tiles * MOVE_TILE; }
    __device__ __forceinline__ u64 first_slot(u64 segment) const { return segment + begin(segment) / chunk_items(); }

    __device__ __forceinline__ SortSegment at(u64 number) const
    {
        const u64 here = begin(number), end = begin(number + 1), length = end - here;
        const u64 slot = number + here / chunk_items();
        const u64 wanted = length <= TILE_ITEMS ? 1 : (length + BUCKET_ITEMS - 1) / BUCKET_ITEMS;
        return {here, end, number, slot, number + 1 + end / chunk_items() - slot, (u32)min(wanted, (u64)level.buckets)};
    }

    // Returns the segment of a slot, in every lane. All lanes call it.
    __device__ __forceinline__ u64 of_slot(u64 slot) const
    {
        u64 low = 0, high = level.segments;
        while (high - low > 1) {
            const u64 step = (high - low + WARP_THREADS - 1) / WARP_THREADS, probe = low + lane_index() * step;
            const bool begins_before = lane_index() == 0 || (probe < high && first_slot(probe) <= slot);
            low += (WARP_THREADS - 1 - __clz(__ballot_sync(ALL_LANES, begins_before))) * step;
            high = min(high, low + step);
        }
        return low;
    }
};

// ----------------------------------------------------------------------------------------------------------- splitters

// An item of a sample, with its number.
struct SortSample {
    Item item;
    u32 number;
};

// The position of a sample in its segment: a place that looks random within an even share of the segment.
__device__ __forceinline__ u64 sample_position(u64 items, u32 number)
{
    const u64 first = number * items / TILE_ITEMS, end = (number + 1) * items / TILE_ITEMS;
    u32 hash = number * 0x9e3779b1u;
    hash = (hash ^ hash >> 15) * 0x85ebca6bu;
    return first + ((hash ^ hash >> 13) * (end - first) >> 32);
}

// Writes a splitter if `rank`, the rank of a sample, is that of one.
__device__ __forceinline__ void pick(
    const SortLevel &level, const SortTables &tables, const SortSegment &segment, u32 rank, const Item &item, u32 number)
{
    // The smallest splitter whose rank (splitter + 1) * TILE_ITEMS / buckets is not below.
    const u32 splitter = (rank * segment.buckets + TILE_ITEMS - 1) / TILE_ITEMS - 1;
    if (rank == 0 || splitter + 1 >= segment.buckets || (splitter + 1) * TILE_ITEMS / segment.buckets != rank) return;
    const u64 to = segment.number * level.buckets + splitter;
    ((Item *)tables.splitters)[to] = item;
    tables.positions[to] = sample_position(segment.items(), number);
}

// Picks the splitters of a segment. A block takes one segment.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) merge_sort_splitters(
    const Item *in, Input input, SortLevel level, SortTables tables, u64 *workspace)
{
    __shared__ SortSample samples[TILE_ITEMS];
    const SortSegments segments = {level, tables.begins, input.number<Word>((Control *)workspace)};
    const SortSegment segment = segments.at(blockIdx.x);
    if (segment.buckets == 1) return;
    for (u32 sample = threadIdx.x; sample < TILE_ITEMS; sample += BLOCK_THREADS)
        samples[sample] = {in[segment.begin + sample_position(segment.items(), sample)], sample};
    __syncthreads();
    sort_tile(
        samples, TILE_ITEMS, [](const SortSample &left, const SortSample &right) { return before(left.item, right.item); });
    __syncthreads();
    for (u32 rank = threadIdx.x; rank < TILE_ITEMS; rank += BLOCK_THREADS)
        pick(level, tables, segment, rank, samples[rank].item, samples[rank].number);
}

constexpr u32 RANKED = BLOCK_THREADS / RANK_LANES;

// Picks the splitters of the first level. A block ranks RANKED samples among all, each by RANK_LANES lanes.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) merge_sort_first_splitters(
    const Item *in, Input input, SortLevel level, SortTables tables, u64 *workspace)
{
    __shared__ Item samples[TILE_ITEMS];
    const SortSegments segments = {level, tables.begins, input.number<Word>((Control *)workspace)};
    const SortSegment segment = segments.at(0);
    if (segment.buckets == 1) return;
    for (u32 sample = threadIdx.x; sample < TILE_ITEMS; sample += BLOCK_THREADS)
        samples[sample] = in[sample_position(segment.items(), sample)];
    __syncthreads();
    const u32 number = blockIdx.x * RANKED + threadIdx.x / RANK_LANES;
    const Item mine = samples[number];
    u32 rank = 0;
#pragma unroll 4
    for (u32 other = threadIdx.x % RANK_LANES; other < number; other += RANK_LANES) rank += !before(mine, samples[other]);
#pragma unroll 4
    for (u32 other = number + 1 + threadIdx.x % RANK_LANES; other < TILE_ITEMS; other += RANK_LANES)
        rank += before(samples[other], mine);
#pragma unroll
    for (u32 distance = 1; distance < RANK_LANES; distance *= 2) rank += __shfl_xor_sync(ALL_LANES, rank, distance);
    if (threadIdx.x % RANK_LANES == 0) pick(level, tables, segment, rank, mine, number);
}

// The splitters of a segment in shared memory, as a binary tree in the order of its levels, so that lanes on the same
// level read different banks.
struct SplitterTree {
    Item nodes[MAX_BUCKETS];
    u32 has_equal;  // whether some splitters are equal

    // Loads the splitters. All threads of the block call it, and need a barrier before and after it. The nodes behind the
    // last splitter are copies of it.
    __device__ __forceinline__ void load(const SortLevel &level, const SortTables &tables, const SortSegment &segment)
    {
        const u32 splitters = segment.buckets - 1, size = tree_size(segment.buckets);
        const u64 from = segment.number * level.buckets;
        for (u32 splitter = threadIdx.x; splitter + 1 < size; splitter += BLOCK_THREADS) {
            const u64 source = from + min(splitter, splitters - 1);
            const Item *items = (const Item *)tables.splitters + source;
            nodes[node_of(splitter, size)] = *items;
            if (splitter + 1 < splitters && !before(items[0], items[1])) has_equal = true;
        }
    }

    // Computes the buckets of items. `positions` are those of the splitters, and `first` is that of the first item in the
    // segment. The other items of a thread follow at a distance of WARP_THREADS.
    template <u32 ITEMS>
    __device__ __forceinline__ void find(
        const Item (&items)[ITEMS], u32 segment_buckets, const u64 *positions, u64 first, u32 (&buckets)[ITEMS]) const
    {
        const u32 size = tree_size(segment_buckets), last_bucket = segment_buckets - 1;
        // A few items at a time, because registers are scarce.
#pragma unroll
        for (u32 group = 0; group < ITEMS; group += AT_ONCE) {
#pragma unroll
            for (u32 item = group; item < ITEMS && item < group + AT_ONCE; item++) buckets[item] = 1;
            for (u32 nodes_above = 1; nodes_above < size; nodes_above *= 2) {
#pragma unroll
                for (u32 item = group; item < ITEMS && item < group + AT_ONCE; item++) {
                    const Item &node = nodes[buckets[item]];
                    bool is_behind = before(node, items[item]);
                    if (has_equal && !is_behind && !before(items[item], node)) {
                        const u32 splitter = (2 * buckets[item] + 1) * (size / nodes_above / 2) - size - 1;
                        const i64 ahead = (i64)(positions[min(splitter, last_bucket - 1)] - first);
                        is_behind = ahead <= item * WARP_THREADS;
                    }
                    buckets[item] = 2 * buckets[item] + is_behind;
                }
            }
#pragma unroll
            for (u32 item = group; item < ITEMS && item < group + AT_ONCE; item++)
                buckets[item] = min(buckets[item] - size, last_bucket);
        }
    }

  private:
    // The number of leaves: the smallest power of two that is not below the number of buckets.
    static __device__ __forceinline__ u32 tree_size(u32 buckets) { return buckets <= 1 ? 1 : 1u << (32 - __clz(buckets - 1)); }

    // The node of a splitter in a tree of as many leaves.
    static __device__ __forceinline__ u32 node_of(u32 splitter, u32 size)
    {
        return (splitter + 1 + size) >> __ffs(splitter + 1);
    }
};

// ----------------------------------------------------------------------------------------------------- counts and moves

// The chunk of a block.
struct SortChunk {
    SortSegment segment;
    u64 slot;
    u64 first;  // within the segment
    u64 end;

    static __device__ __forceinline__ SortChunk of(const SortSegments &segments, u64 slot)
    {
        const SortSegment segment = segments.at(segments.of_slot(slot));
        const u64 items = segment.items(), first = min((slot - segment.first_slot) * segments.chunk_items(), items);
        return {segment, slot, first, min(first + segments.chunk_items(), items)};
    }

    // Whether the slot belongs to a segment.
    __device__ __forceinline__ bool exists() const { return slot - segment.first_slot < segment.slots; }
};

// Loads this thread's values of a tile of `here` items. The missing ones of an incomplete tile are copies of the last one.
template <class Stored, class Value>
__device__ __forceinline__ void load_tile(const Stored *from, u32 here, Value (&values)[MOVE_ITEMS])
{
    const u32 mine = warp_first_place<MOVE_ITEMS>() + lane_index();
    if (here == MOVE_TILE) {
#pragma unroll
        for (u32 item = 0; item < MOVE_ITEMS; item++) values[item] = from[mine + item * WARP_THREADS];
    } else {
#pragma unroll
        for (u32 item = 0; item < MOVE_ITEMS; item++) values[item] = from[min(mine + item * WARP_THREADS, here - 1)];
    }
}

// Finds the bucket of each item, and counts the items of each chunk by bucket.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, COUNT_BLOCKS) merge_sort_count(
    const Item *in, Input input, SortLevel level, SortTables tables, u64 *workspace)
{
    __shared__ SplitterTree tree;
    __shared__ u32 counts[MAX_BUCKETS];
    const SortSegments segments = {level, tables.begins, input.number<Word>((Control *)workspace)};
    const SortChunk chunk = SortChunk::of(segments, blockIdx.x);
    if (!chunk.exists()) return;
    if (threadIdx.x == 0) tree.has_equal = false;
    for (u32 bucket = threadIdx.x; bucket < MAX_BUCKETS; bucket += BLOCK_THREADS) counts[bucket] = 0;
    __syncthreads();
    tree.load(level, tables, chunk.segment);
    const u64 *positions = tables.positions + chunk.segment.number * level.buckets;
    __syncthreads();
    for (u64 first = chunk.first; first < chunk.end; first += MOVE_TILE) {
        Item items[MOVE_ITEMS];
        u32 buckets[MOVE_ITEMS];
        const u32 here = (u32)min(chunk.end - first, (u64)MOVE_TILE);
        load_tile(in + chunk.segment.begin + first, here, items);
        const u32 mine = warp_first_place<MOVE_ITEMS>() + lane_index();
        tree.find(items, chunk.segment.buckets, positions, first + mine, buckets);
        u16 *const to = tables.buckets + chunk.segment.begin + first;
#pragma unroll
        for (u32 item = 0; item < MOVE_ITEMS; item++) {
            const u32 place = mine + item * WARP_THREADS;
            if (place >= here) break;
            to[place] = (u16)buckets[item];
            atomicAdd(counts + buckets[item], 1u);
        }
    }
    __syncthreads();
    for (u32 bucket = threadIdx.x; bucket < level.buckets; bucket += BLOCK_THREADS)
        tables.counts[chunk.segment.count_at(level, bucket, chunk.slot)] = counts[bucket];
}

// Replaces each count by the sum of those before it.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) merge_sort_scan(u64 *counts, u64 entries, u64 *workspace)
{
    Control *const control = (Control *)workspace;
    Ticket ticket;
    draw_ticket(control, ticket, [] { return 0; });
    const u64 first = ((u64)ticket.tile * BLOCK_THREADS + threadIdx.x) * SCAN_ITEMS;
    u64 held[SCAN_ITEMS], sum = 0;
#pragma unroll
    for (u32 item = 0; item < SCAN_ITEMS; item++) {
        held[item] = first + item < entries ? counts[first + item] : 0;
        sum += held[item];
    }
    const u64 inclusive = warp_inclusive<Sum<u64>>(sum);
    const BlockFold<u64> block = block_fold_of_warps<Sum<u64>>(warp_last(inclusive));
    const LookBackOver<Sum<u64>> look_back = {control->states(), ticket};
    u64 earlier = 0;
    if (warp_index() == 0) {
        if (lane_index() == 0) look_back.publish(ticket.tile == 0 ? INCLUSIVE : AGGREGATE, block.total);
        __syncwarp();
        earlier = look_back.walk();
        if (lane_index() == 0 && ticket.tile != 0) look_back.publish(INCLUSIVE, earlier + block.total);
    }
    u64 before_mine = block_first(earlier) + block.before + inclusive - sum;
#pragma unroll
    for (u32 item = 0; item < SCAN_ITEMS; item++) {
        if (first + item < entries) counts[first + item] = before_mine;
        before_mine += held[item];
    }
    retire(control, ticket.epoch);
}

// The shared memory of a tile that is moved.
struct MovedTile {
    u64 begins[MAX_BUCKETS];  // where the chunk's next item of each bucket goes
    u64 shifts[MAX_BUCKETS];  // from an item's index in the tile sorted by bucket to where it goes
    union {
        struct {
            u32 counters[BLOCK_WARPS][MAX_BUCKETS];
            u32 masks[BLOCK_WARPS][MAX_BUCKETS];
        } warps;
        struct {
            alignas(16) u8 items[MOVE_TILE * sizeof(Item)];
            u16 buckets[MOVE_TILE];
        } sorted;
    };
};

// Returns the number of the warp's items of a bucket before this lane's, and adds one item per lane to the counters.
// Votes and masks of lanes load different units of a multiprocessor, so items are ranked by them alternately. The masks
// are zero before and after.
__device__ __forceinline__ u32 rank_in_warp(u32 bucket, bool by_mask, u32 *counters, u32 *masks)
{
    u32 peers;
    if (by_mask) {
        atomicOr(masks + bucket, 1u << lane_index());
        __syncwarp();
        peers = masks[bucket];
    } else {
        peers = peers_of<BUCKET_BITS>(bucket);
    }
    const u32 below = __popc(peers & lanes_below()), before_these = counters[bucket];
    __syncwarp();
    if (below == 0) {
        counters[bucket] = before_these + __popc(peers);
        if (by_mask) masks[bucket] = 0;
    }
    __syncwarp();
    return before_these + below;
}

// Turns the counters of all warps into the indices of their first items in the tile sorted by bucket, and computes the
// shifts. All threads of the block call it, between barriers.
__device__ __forceinline__ void place_buckets(MovedTile &tile, u32 absent, u32 last_bucket)
{
    constexpr u32 EACH = (MAX_BUCKETS + BLOCK_THREADS - 1) / BLOCK_THREADS;
    u32 sums[EACH], sum = 0;
#pragma unroll
    for (u32 each = 0; each < EACH; each++) {
        const u32 bucket = threadIdx.x * EACH + each;
        sums[each] = 0;
        if (bucket < MAX_BUCKETS)
            for (u32 warp = 0; warp < BLOCK_WARPS; warp++) sums[each] += tile.warps.counters[warp][bucket];
        sum += sums[each];
    }
    const u32 inclusive = warp_inclusive_sum(sum);
    u32 place = block_sum_of_warps(warp_last(inclusive)).before + inclusive - sum;
#pragma unroll
    for (u32 each = 0; each < EACH; each++) {
        const u32 bucket = threadIdx.x * EACH + each;
        if (bucket >= MAX_BUCKETS) break;
        tile.shifts[bucket] = tile.begins[bucket] - place;
        tile.begins[bucket] += sums[each] - (bucket == last_bucket ? absent : 0);
        for (u32 warp = 0; warp < BLOCK_WARPS; warp++) {
            const u32 items = tile.warps.counters[warp][bucket];
            tile.warps.counters[warp][bucket] = place;
            place += items;
        }
    }
}

// Moves the items of each chunk to their buckets.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, MOVE_BLOCKS) merge_sort_move(
    const Item *in, Input input, SortLevel level, SortTables tables, Item *out, u64 *workspace)
{
    __shared__ MovedTile tile;
    const SortSegments segments = {level, tables.begins, input.number<Word>((Control *)workspace)};
    const SortChunk chunk = SortChunk::of(segments, blockIdx.x);
    if (!chunk.exists()) return;
    const SortSegment &segment = chunk.segment;
    const bool is_first_chunk = chunk.slot == segment.first_slot;
    for (u32 bucket = threadIdx.x; bucket < MAX_BUCKETS; bucket += BLOCK_THREADS) {
        const u64 begin = bucket < level.buckets ? tables.counts[segment.count_at(level, bucket, chunk.slot)] : 0;
        tile.begins[bucket] = begin;
        if (is_first_chunk && bucket < level.buckets) tables.next_begins[segment.number * level.buckets + bucket] = begin;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) tables.next_begins[level.segments * level.buckets] = segments.items;
    for (u64 first = chunk.first; first < chunk.end; first += MOVE_TILE) {
        u32 *counters = tile.warps.counters[warp_index()], *masks = tile.warps.masks[warp_index()];
        __syncthreads();
        for (u32 bucket = lane_index(); bucket < MAX_BUCKETS; bucket += WARP_THREADS) counters[bucket] = masks[bucket] = 0;
        __syncwarp();
        u32 buckets[MOVE_ITEMS];
        const u32 here = (u32)min(chunk.end - first, (u64)MOVE_TILE);
        load_tile(tables.buckets + segment.begin + first, here, buckets);
        Item items[MOVE_ITEMS];
        load_tile(in + segment.begin + first, here, items);
        // Missing items rank behind all others.
        const u32 last_bucket = segment.buckets - 1, mine = warp_first_place<MOVE_ITEMS>() + lane_index();
#pragma unroll
        for (u32 item = 0; item < MOVE_ITEMS; item++) {
            if (mine + item * WARP_THREADS >= here) buckets[item] = last_bucket;
            // The rank among the warp's items of the bucket goes to the upper half, because registers are scarce.
            buckets[item] |= rank_in_warp(buckets[item], item % 2 == 1, counters, masks) << 16;
        }
        __syncthreads();
        place_buckets(tile, MOVE_TILE - here, last_bucket);
        __syncthreads();
#pragma unroll
        for (u32 item = 0; item < MOVE_ITEMS; item++) buckets[item] += counters[(u16)buckets[item]] << 16;
        __syncthreads();
        Item *const sorted = (Item *)tile.sorted.items;
#pragma unroll
        for (u32 item = 0; item < MOVE_ITEMS; item++) {
            const u32 rank = buckets[item] >> 16;
            sorted[rank] = items[item];
            tile.sorted.buckets[rank] = (u16)buckets[item];
        }
        __syncthreads();
#pragma unroll 4
        for (u32 rank = threadIdx.x; rank < here; rank += BLOCK_THREADS)
            out[tile.shifts[tile.sorted.buckets[rank]] + rank] = sorted[rank];
    }
}

// ------------------------------------------------------------------------------------------------------------- buckets

// A bucket of more than a tile is sorted by rounds of merges, which alternate between `out` and `scratch` and end in `out`.
struct LargeBucket {
    u64 begin, items;

    __device__ __forceinline__ u64 tiles() const { return (items + TILE_ITEMS - 1) / TILE_ITEMS; }
    __device__ __forceinline__ u32 tile_items(u64 tile) const
    {
        return (u32)min(items - tile * TILE_ITEMS, (u64)TILE_ITEMS);
    }

    // Where its sorted tiles go.
    __device__ __forceinline__ Item *target(Item *out, Item *scratch) const
    {
        return (merge_rounds(tiles()) % 2 == 0 ? out : scratch) + begin;
    }
};

// Sorts a tile of up to TILE_ITEMS items. All threads of the block call it.
__device__ __forceinline__ void sort_items(const Item *from, u32 items, Item *to, Item *tile)
{
    for (u32 item = threadIdx.x; item < items; item += BLOCK_THREADS) tile[item] = from[item];
    __syncthreads();
    sort_tile(tile, items, Before());
    __syncthreads();
    for (u32 item = threadIdx.x; item < items; item += BLOCK_THREADS) to[item] = tile[item];
}

// Number of tiles of a large bucket that merge_sort_buckets sorts. Few buckets have more.
constexpr u32 FIRST_TILES = 2;

// Sorts each bucket of `out`. There is a block for each bucket, and then one for the second tile of each bucket. Buckets
// with more items than a tile are added to the list `large`. Without levels, `in` is one bucket.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, SORT_BLOCKS) merge_sort_buckets(
    const Item *in, Input input, u32 buckets, const u64 *begins, u64 *large, Item *out, Item *scratch, u64 *workspace)
{
    __shared__ Item shared_tile[TILE_ITEMS];
    if (buckets == 0) return sort_items(in, (u32)input.number<Word>((Control *)workspace), out, shared_tile);
    const u32 number = blockIdx.x % buckets, tile = blockIdx.x / buckets;
    const u64 begin = begins[number];
    const LargeBucket bucket = {begin, begins[number + 1] - begin};
    if (tile != 0 && tile >= bucket.tiles()) return;
    Item *const from = out + begin;
    const bool is_large = bucket.items > TILE_ITEMS;
    if (is_large && tile == 0 && threadIdx.x == 0) large[atomicAdd(&((Control *)workspace)->appended, 1ull)] = number;
    Item *const to = is_large ? bucket.target(out, scratch) : from;
    sort_items(from + tile * TILE_ITEMS, bucket.tile_items(tile), to + tile * TILE_ITEMS, shared_tile);
}

// Sorts the tiles of a bucket from FIRST_TILES on, and merges all.
__device__ __forceinline__ void sort_large(const LargeBucket &bucket, Item *out, Item *scratch, Item *tile)
{
    const u64 tiles = bucket.tiles();
    const u32 rounds = merge_rounds(tiles);
    Item *to = bucket.target(out, scratch);
    for (u64 each = FIRST_TILES; each < tiles; each++) {
        const u64 first = each * TILE_ITEMS;
        __syncthreads();
        sort_items(out + bucket.begin + first, bucket.tile_items(each), to + first, tile);
    }
    __syncthreads();
    for (u32 round = 0; round < rounds; round++) {
        const bool to_out = (rounds - round) % 2 == 1;
        Item *const from = (to_out ? scratch : out) + bucket.begin;
        to = (to_out ? out : scratch) + bucket.begin;
        for (u64 each = 0; each < tiles; each++) {
            const MergeTile work = MergeTile::of(0, bucket.items, each, (u64)TILE_ITEMS << round);
            merge_tile(from, to, work, tile, Before(), [](const auto &, u32, u32, auto) {});
        }
        __syncthreads();
    }
}

// Sorts the listed buckets in `out`. A block takes one bucket at a time.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) merge_sort_large(
    const u64 *begins, const u64 *large, Item *out, Item *scratch, u64 *workspace)
{
    __shared__ Item tile[TILE_ITEMS];
    Control *const control = (Control *)workspace;
    const u64 buckets = control->appended;
    if (buckets == 0) return;
    for (u64 each = blockIdx.x; each < buckets; each += gridDim.x) {
        const u64 begin = begins[large[each]];
        sort_large({begin, begins[large[each] + 1] - begin}, out, scratch, tile);
    }
    // The last block empties the list.
    __syncthreads();
    if (threadIdx.x != 0 || atomicAdd(&control->finished, 1ull) != gridDim.x - 1) return;
    control->appended = 0;
    control->finished = 0;
}
