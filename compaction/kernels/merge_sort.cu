// merge_sort by `bool before(Item, Item)`. Contract: compaction/src/merge_sort.rs.
//
// One launch sorts tiles in shared memory. Then each launch merges pairs of runs, so that the length of the runs
// doubles.

#include "look_back.cuh"
#include "comparison"
#include "merge.cuh"

// Whether the comparison has exactly a type that is asked for, without conversions.
char has_type(bool (*)(Item, Item));
char has_type(bool (*)(const Item &, const Item &));
u64 has_type(...);
static_assert(sizeof(has_type(&before)) == 1, "before has another type");

struct Before {
    __device__ __forceinline__ bool operator()(const Item &left, const Item &right) const { return before(left, right); }
};

__device__ __forceinline__ u64 item_count(const u32 *count, u64 capacity, u32 is_given, u64 *workspace)
{
    if (is_given) return capacity;
    const u64 said = *(const Word *)count;
    report_overrun(said, capacity, (Control *)workspace);
    return min(said, capacity);
}

// Sorts each tile of `in`, and writes it to `out`.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) merge_sort_tiles(
    const Item *in, const u32 *count, u64 capacity, u32 is_given, Item *out, u64 *workspace)
{
    __shared__ Item tile[TILE_ITEMS];
    const u64 items = item_count(count, capacity, is_given, workspace);
    const u64 first = (u64)blockIdx.x * TILE_ITEMS;
    if (first >= items) return;
    const u32 here = (u32)min(items - first, (u64)TILE_ITEMS);
    for (u32 item = threadIdx.x; item < here; item += BLOCK_THREADS) tile[item] = in[first + item];
    __syncthreads();
    sort_tile(tile, here, Before());
    __syncthreads();
    for (u32 item = threadIdx.x; item < here; item += BLOCK_THREADS) out[first + item] = tile[item];
}

// Merges pairs of runs of `run` items.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) merge_sort_merge(
    const Item *in, const u32 *count, u64 capacity, u32 is_given, u64 run, Item *out, u64 *workspace)
{
    __shared__ Item tile[TILE_ITEMS];
    const u64 items = item_count(count, capacity, is_given, workspace);
    if ((u64)blockIdx.x * TILE_ITEMS >= items) return;
    const auto no_values = [](const auto &, u32, u32, auto) {};
    merge_tile(in, out, MergeTile::of(0, items, blockIdx.x, run), tile, Before(), no_values);
}
