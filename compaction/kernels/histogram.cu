// histogram. Contract: compaction/src/histogram.rs.
//
// Each block counts in shared memory and adds its counts to the totals. There are three kinds of counters:
// - `shared`: words of 32 bits, with several replicas of each bin, side by side. Lanes use different replicas, hence
//   different banks, so that few bins are no bottleneck.
// - `packed`: two bins per word, for many bins. A counter that wraps around adds 65,536 to the total.
// - `global`: the totals themselves, for so many bins or so few items that the counts of a block do not pay.
//
// The totals are `out`, which histogram_clear has cleared. For few bins, each block writes its counts to a row of a
// table instead, and the last block to finish adds the rows: atomics of all blocks to few words would take longer.

#include "count_items.cuh"
#include "look_back.cuh"

constexpr u32 PACKED_BITS = 16;
constexpr u32 PACKED_MAX = (1u << PACKED_BITS) - 1;

// The bins and where their totals are.
struct Bins {
    u32 bins;
    u32 log_replicas;   // of the counters in shared memory
    u32 has_rows;       // nonzero: each block writes a row of the table
    u32 sampled_bounds; // nonzero: every 2^log_stride-th bound is copied to shared memory, behind this many words
    u32 log_stride;
};

// The counters of the block.
__device__ __forceinline__ u32 *counters_of_block()
{
    // The type aligns it for bounds and sums of 8 bytes.
    extern __shared__ u64 dynamic[];
    return (u32 *)dynamic;
}

// -------------------------------------------------------------------------------------------------- from items to bins
// The functions return a number of `bins` or more for an item of no bin.

// Returns the upper half of the product.
__device__ __forceinline__ u64 multiply_high(u64 left, u64 right)
{
    const u64 low = (left & 0xffffffff) * (right & 0xffffffff);
    const u64 middle = (left >> 32) * (right & 0xffffffff) + (low >> 32);
    const u64 other = (left & 0xffffffff) * (right >> 32) + (middle & 0xffffffff);
    return (left >> 32) * (right >> 32) + (middle >> 32) + (other >> 32);
}

// Bins of equal width. Twin: Sample::even_bin in src/histogram/sample.rs.
struct EvenBins {
    Level lower, upper;
    Scale scale;  // floats: bins per unit; integers: 2^64 / (upper - lower), rounded down
    u32 shift;    // integers: below 32 if the width of a bin is 2^shift
    u32 bins;

    __device__ __forceinline__ u32 of(ITEM item) const
    {
        const Level level = (Level)item;
        if (!(level >= lower && level < upper)) return bins;
        if constexpr (IS_FLOAT<ITEM>) {
            return min((u32)((level - lower) * scale), bins - 1);
        } else {
            const u32 above = (u32)(level - lower);
            if (shift < 32) return above >> shift;
            const u64 scaled = (u64)above * bins, width = (u64)(upper - lower);
            const u64 bin = multiply_high(scaled, scale);  // exact, or less by one
            return (u32)(scaled - bin * width >= width ? bin + 1 : bin);
        }
    }
};

// Returns the number of ascending bounds that are not above a level.
__device__ __forceinline__ u32 bounds_not_above(const Level *bounds, u32 count, Level level)
{
    u32 known = 0;
    while (count > 0) {
        const u32 half = count / 2;
        const bool is_not_above = bounds[known + half] <= level;
        known = is_not_above ? known + half + 1 : known;
        count = is_not_above ? count - half - 1 : half;
    }
    return known;
}

// Bins between consecutive bounds. Some bounds are also in shared memory, which most steps of a search then read.
struct BoundedBins {
    const Level *bounds;
    const Level *samples;  // every 2^log_stride-th bound
    u32 log_stride;
    u32 bins;

    __device__ __forceinline__ u32 of(ITEM item) const
    {
        const Level level = (Level)item;
        const u32 samples_before = bounds_not_above(samples, (bins >> log_stride) + 1, level);
        if (samples_before == 0) return bins;
        if (log_stride == 0) return samples_before - 1;
        const u32 first = (samples_before - 1) << log_stride;
        return first + bounds_not_above(bounds + first, min(1u << log_stride, bins + 1 - first), level) - 1;
    }
};

// The item is the number of its bin, counted from `least`.
struct KeyBins {
    u32 least;

    __device__ __forceinline__ u32 of(ITEM item) const { return (u32)item - least; }
};

// ------------------------------------------------------------------------------------------------------------ counters

struct GlobalCounters {
    Word *totals;

    __device__ __forceinline__ void set_up(u32) const {}
    __device__ __forceinline__ void flush(u32, u32 *) const {}

    // Counts the lanes' items. All lanes call it.
    __device__ __forceinline__ void count(u32 bin, bool counts) const
    {
        const u32 wanted = counts ? bin : ~0u;
        if (__all_sync(ALL_LANES, wanted == __shfl_sync(ALL_LANES, wanted, 0))) {
            if (counts && lane_index() == 0) atomicAdd(totals + bin, (Word)WARP_THREADS);
        } else if (counts) {
            atomicAdd(totals + bin, (Word)1);
        }
    }
};

struct SharedCounters {
    Word *totals;
    u32 log_replicas;

    __device__ __forceinline__ void set_up(u32 bins) const
    {
        for (u32 counter = threadIdx.x; counter < bins << log_replicas; counter += BLOCK_THREADS) counters_of_block()[counter] = 0;
    }
    __device__ __forceinline__ void count(u32 bin, bool counts) const
    {
        const u32 replica = lane_index() & ((1u << log_replicas) - 1);
        if (counts) atomicAdd(counters_of_block() + ((bin << log_replicas) | replica), 1u);
    }
    // Adds the counters to the totals, or writes them to a row if there is one.
    __device__ __forceinline__ void flush(u32 bins, u32 *row) const
    {
        const u32 counters = bins << log_replicas;
        for (u32 first = warp_index() * WARP_THREADS; first < counters; first += BLOCK_THREADS) {
            const u32 counter = first + lane_index();
            u32 sum = counter < counters ? counters_of_block()[counter] : 0;
            for (u32 distance = 1; distance >> log_replicas == 0; distance *= 2)
                sum += __shfl_xor_sync(ALL_LANES, sum, distance);
            if (counter >= counters || (counter & ((1u << log_replicas) - 1)) != 0) continue;
            const u32 bin = counter >> log_replicas;
            if (row != nullptr)
                row[bin] = sum;
            else if (sum != 0)
                atomicAdd(totals + bin, (Word)sum);
        }
    }
};

struct PackedCounters {
    Word *totals;

    __device__ __forceinline__ void set_up(u32 bins) const
    {
        for (u32 word = threadIdx.x; word < (bins + 1) / 2; word += BLOCK_THREADS) counters_of_block()[word] = 0;
    }
    __device__ __forceinline__ void count(u32 bin, bool counts) const
    {
        if (!counts) return;
        u32 *word = counters_of_block() + bin / 2;
        if (bin % 2 == 1) {
            if (atomicAdd(word, 1u << PACKED_BITS) >> PACKED_BITS == PACKED_MAX) wrapped(bin, 1);
            return;
        }
        const u32 before = atomicAdd(word, 1u);
        if ((before & PACKED_MAX) != PACKED_MAX) return;
        // The carry has reached the counter above. It is taken back, and either step may have wrapped that one around.
        wrapped(bin, 1);
        if (before >> PACKED_BITS == PACKED_MAX) wrapped(bin + 1, 1);
        if (atomicAdd(word, 0u - (1u << PACKED_BITS)) >> PACKED_BITS == 0) wrapped(bin + 1, -1);
    }
    __device__ __forceinline__ void flush(u32 bins, u32 *) const
    {
        for (u32 word = threadIdx.x; word < (bins + 1) / 2; word += BLOCK_THREADS) {
            const u32 pair = counters_of_block()[word], low = pair & PACKED_MAX, high = pair >> PACKED_BITS;
            if (low != 0) atomicAdd(totals + 2 * word, (Word)low);
            if (high != 0) atomicAdd(totals + 2 * word + 1, (Word)high);
        }
    }

  private:
    // Above the last bin of an odd number there is a counter without a total. It holds only carries that are not yet
    // taken back, so it never wraps around.
    __device__ __forceinline__ void wrapped(u32 bin, i32 times) const
    {
        atomicAdd(totals + bin, (Word)((i64)times << PACKED_BITS));
    }
};

// ---------------------------------------------------------------------------------------------------------- the kernels

// Counts an item. Not a lambda, because the compiler would call that as a function.
template <class Map, class Counters>
struct CountItem {
    const Map &map;
    const Counters &counters;
    u32 bins;

    __device__ __forceinline__ void operator()(ITEM item, bool exists) const
    {
        const u32 bin = map.of(item);
        counters.count(bin, exists && bin < bins);
    }
};

template <class Map, class Counters>
__device__ __forceinline__ void histogram(
    const ITEM *items, const u32 *count, u64 capacity, u32 is_given, const Map &map, const Counters &counters,
    const Bins &bins, Word *out, u32 *rows, u64 *workspace)
{
    Control *control = (Control *)workspace;
    u64 item_count = capacity;
    if (!is_given) {
        const u64 said = *(const Word *)count;
        report_overrun(said, capacity, control);
        item_count = min(said, capacity);
    }
    counters.set_up(bins.bins);
    __syncthreads();
    for_each_item(items, item_count, CountItem<Map, Counters>{map, counters, bins.bins});
    __syncthreads();
    counters.flush(bins.bins, bins.has_rows ? rows + (u64)blockIdx.x * row_stride(bins.bins) : nullptr);
    if (bins.has_rows && is_last_block(control->states()))
        add_rows(bins.bins, rows, (u64 *)counters_of_block(), [&](u32 bin, u64 sum) { out[bin] = (Word)sum; });
}

// Copies some bounds to shared memory if there is room.
__device__ __forceinline__ BoundedBins bounded(const Level *bounds, const Bins &bins)
{
    if (bins.sampled_bounds == 0) return {bounds, bounds, 0, bins.bins};
    Level *samples = (Level *)(counters_of_block() + bins.sampled_bounds);
    for (u32 sample = threadIdx.x; sample <= bins.bins >> bins.log_stride; sample += BLOCK_THREADS)
        samples[sample] = bounds[sample << bins.log_stride];
    return {bounds, samples, bins.log_stride, bins.bins};
}

// Defines the kernels histogram_MAP_global, _shared and _packed. The parameters of a map are in parentheses.
#define EXPANDED(...) __VA_ARGS__
#define KERNEL_WITH(NAME, PARAMETERS, MAP, COUNTERS)                                                                    \
    extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) NAME(                                                   \
        const ITEM *items, const u32 *count, u64 capacity, u32 is_given, EXPANDED PARAMETERS, Bins bins, Word *out,     \
        u32 *rows, u64 *workspace)                                                                                      \
    {                                                                                                                   \
        histogram(items, count, capacity, is_given, MAP, COUNTERS, bins, out, rows, workspace);                         \
    }
#define KERNELS(MAP_NAME, PARAMETERS, MAP)                                                                              \
    KERNEL_WITH(histogram_##MAP_NAME##_global, PARAMETERS, MAP, GlobalCounters{out})                                    \
    KERNEL_WITH(histogram_##MAP_NAME##_shared, PARAMETERS, MAP, (SharedCounters{out, bins.log_replicas}))               \
    KERNEL_WITH(histogram_##MAP_NAME##_packed, PARAMETERS, MAP, PackedCounters{out})

KERNELS(even, (Level lower, Level upper, Scale scale, u32 shift), (EvenBins{lower, upper, scale, shift, bins.bins}))
KERNELS(bounds, (const Level *bounds), bounded(bounds, bins))
KERNELS(keys, (u32 least), KeyBins{least})

// Clears the totals.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) histogram_clear(Word *out, u32 bins)
{
    const u32 bin = blockIdx.x * BLOCK_THREADS + threadIdx.x;
    if (bin < bins) out[bin] = 0;
}
