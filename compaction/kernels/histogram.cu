// histogram. Contract: compaction/src/histogram.rs.
//
// Each block counts in shared memory and adds its counts to the totals. There are three kinds of counters:
// - `shared`: words of 32 bits, with several replicas of each bin, side by side. Lanes use different replicas, hence
//   different banks, so that few bins are no bottleneck.
// - `packed`: two bins per word, for many bins. A counter that wraps around adds 65,536 to the total.
// - `global`: the totals themselves, for so many bins or so few items that the counts of a block do not pay.
//
// The totals are `out`, which histogram_clear or histogram_cells has cleared. For few bins, they are in the workspace,
// and the last block that adds to a total writes it to `out`.

#include "count_items.cuh"
#include "look_back.cuh"

constexpr u32 PACKED_BITS = 16;
constexpr u32 PACKED_MAX = (1u << PACKED_BITS) - 1;

// The number of items, the bins, and where their totals are.
struct Bins {
    u64 capacity;      // largest possible number of items
    u32 is_given;      // nonzero: there are exactly `capacity` items; zero: the device count says how many
    u32 bins;
    u32 log_replicas;  // of the counters in shared memory
    u32 has_totals;    // nonzero: the totals are in the workspace
    u32 bounds_at;     // word of shared memory behind the counters, where bounds or cells are; 0 if they are not there
    u32 log_stride;    // every 2^log_stride-th bound is in shared memory
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
        if constexpr (IS_FLOAT<ITEM>) {
            // Without a branch, which would take longer.
            const u32 bin = min((u32)((level - lower) * scale), bins - 1);
            return level >= lower && level < upper ? bin : bins;
        } else {
            if (!(level >= lower && level < upper)) return bins;
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

// The item is the number of its bin.
struct KeyBins {
    u32 bins;

    __device__ __forceinline__ u32 of(ITEM item) const { return min((u32)item, bins); }
};

// ------------------------------------------------------------------------------------------- many bins between bounds
// The range of the bounds is divided into cells. A bound or item of a lower cell than another one is smaller. So only
// bounds of an item's own cell must be compared, and a table in shared memory tells which ones these are. Cells have
// equal widths, in values or, for floats whose bounds are distributed like the powers of a number, in their bits.

// Bounds that one thread loads at once.
constexpr u32 GROUP = 4;
struct alignas(16) Group {
    Level bounds[GROUP];

    __device__ __forceinline__ u32 not_above(Level level) const
    {
        u32 count = 0;
#pragma unroll
        for (u32 bound = 0; bound < GROUP; bound++) count += bounds[bound] <= level;
        return count;
    }
};

// A bound that is above all items below another bound.
__device__ __forceinline__ Level above_all()
{
    if constexpr (IS_FLOAT<ITEM>)
        return Order<Level>::item(Order<Level>::HIGHEST);
    else
        return (Level)(~0ull >> 1);
}

// An entry of the table is the number of the group with the first bound of the cell. This bit marks a cell whose bounds
// are in many groups.
constexpr u16 IS_CROWDED = 0x8000;
constexpr u32 FEW_GROUPS = 3;

// Returns an integer in the order of the levels, up to wraparound.
template <class T>
__device__ __forceinline__ u64 in_order(T level)
{
    if constexpr (IS_FLOAT<T>) {
        // Adding 0 turns -0, which equals 0, into 0.
        using Bits = typename Order<T>::Unsigned;
        return (Bits)Order<T>::key(level + T(0), 0) ^ ~Order<T>::MAGNITUDE;
    } else {
        return (u64)level;
    }
}

struct Cells {
    Level lower, upper;
    Level scale;    // cells per unit, if `by_value`
    u32 shift;      // cells are 2^shift wide otherwise
    u32 by_value;   // nonzero only for floats

    __device__ __forceinline__ u64 distance(Level level) const { return in_order(level) - in_order(lower); }

    // The cell of a level within the range.
    __device__ __forceinline__ u32 of(Level level) const
    {
        if constexpr (IS_FLOAT<ITEM>) {
            if (by_value) {
                const Level cell = (level - lower) * scale;
                return cell > 0 ? min((u32)cell, CELLS - 1) : 0;  // NaN in an infinite range
            }
        }
        return (u32)min(distance(level) >> shift, (u64)CELLS - 1);
    }

    static __device__ __forceinline__ Cells over(Level lower, Level upper, bool by_value)
    {
        Cells cells = {lower, upper, 0, 0, by_value};
        if constexpr (IS_FLOAT<ITEM>) {
            const Level scale = Level(CELLS) / (upper - lower);
            // Of an infinite range, all levels are in the first cell.
            if (scale <= Order<Level>::item(Order<Level>::HIGHEST - 1) && scale > 0) cells.scale = scale;
        }
        while (cells.distance(upper) >> cells.shift >= CELLS) cells.shift++;
        return cells;
    }
};

// What histogram_cells leaves for the next launch. The groups follow it.
struct CellTable {
    alignas(CELL_ALIGN) Cells cells;
    alignas(CELL_ALIGN) u16 entries[CELLS + CELL_ALIGN / 2];

    __device__ __forceinline__ const Group *groups() const { return (const Group *)(this + 1); }
};
static_assert(sizeof(CellTable) == CELL_TABLE_BYTES, "the groups follow the table");

struct CellBins {
    Cells cells;
    const u16 *table;     // in shared memory
    const Group *groups;  // the bounds, followed by what is above all items
    u32 bins;

    __device__ __forceinline__ u32 of(ITEM item) const
    {
        const Level level = (Level)item;
        if (!(level >= cells.lower && level < cells.upper)) return bins;
        const u32 cell = cells.of(level);
        u32 group = table[cell];
        if (group & IS_CROWDED) {
            group &= ~(u32)IS_CROWDED;
            u32 last = table[cell + 1] & ~(u32)IS_CROWDED;
            while (group < last) {
                const u32 middle = (group + last + 1) / 2;
                if (groups[middle].bounds[0] <= level)
                    group = middle;
                else
                    last = middle - 1;
            }
        }
        // The highest bound is above the item, so that the loop ends.
        for (;; group++) {
            const u32 count = groups[group].not_above(level);
            if (count < GROUP) return group * GROUP + count - 1;
        }
    }
};

// Returns the number of bounds in cells before `cell`.
__device__ __forceinline__ u32 bounds_before(const Level *bounds, u32 count, const Cells &cells, u32 cell)
{
    u32 known = 0;
    while (count > 0) {
        const u32 half = count / 2;
        const bool is_before = cells.of(bounds[known + half]) < cell;
        known = is_before ? known + half + 1 : known;
        count = is_before ? count - half - 1 : half;
    }
    return known;
}

// Returns the cells that separate bounds better. All lanes of a warp call it.
__device__ __forceinline__ Cells best_cells(const Level *bounds, u32 bins)
{
    const Level lower = bounds[0], upper = bounds[bins];
    const Cells by_bits = Cells::over(lower, upper, false);
    if constexpr (!IS_FLOAT<ITEM>) return by_bits;
    const Cells by_value = Cells::over(lower, upper, true);
    const Level sample = bounds[(u64)bins * lane_index() / (WARP_THREADS - 1)];
    // The number of cells between neighboring samples. Many more than the mean are no better.
    const auto score = [&](const Cells &cells) {
        const u32 cell = cells.of(sample), before = __shfl_up_sync(ALL_LANES, cell, 1);
        return warp_sum(lane_index() == 0 ? 0 : min(cell - before, 2 * CELLS / WARP_THREADS));
    };
    return score(by_bits) > score(by_value) ? by_bits : by_value;
}

// ------------------------------------------------------------------------------------------------------------ counters

struct GlobalCounters {
    Word *totals;

    __device__ __forceinline__ void set_up(u32) const {}

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
        for (u32 word = threadIdx.x; word < bins << log_replicas; word += BLOCK_THREADS) counters_of_block()[word] = 0;
    }
    // Items of no bin count as well, in a bin behind the last one: a branch would take longer.
    __device__ __forceinline__ void count(u32 bin, bool) const
    {
        const u32 replica = lane_index() & ((1u << log_replicas) - 1);
        atomicAdd(counters_of_block() + ((bin << log_replicas) | replica), 1u);
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
    __device__ __forceinline__ void flush(u32 bins) const
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

// Counts items. Not a lambda, because the compiler would call that as a function.
template <class Map, class Counters>
struct CountItems {
    const Map &map;
    const Counters &counters;
    u32 bins;

    template <u32 COUNT>
    __device__ __forceinline__ void operator()(const ITEM (&items)[COUNT], bool exist) const
    {
#pragma unroll
        for (u32 each = 0; each < COUNT; each++) {
            const u32 bin = exist ? map.of(items[each]) : bins;
            counters.count(bin, bin < bins);
        }
    }
};

// Adds the counters of the block to the totals.
__device__ __forceinline__ void flush(const GlobalCounters &, const Bins &, Word *, u64 *) {}
__device__ __forceinline__ void flush(const PackedCounters &counters, const Bins &bins, Word *, u64 *)
{
    counters.flush(bins.bins);
}
__device__ __forceinline__ void flush(const SharedCounters &counters, const Bins &bins, Word *out, u64 *totals)
{
    add_replicas(counters_of_block(), bins.bins, bins.log_replicas, [&](u32 bin, u32 sum) {
        if (bins.has_totals) {
            u64 *const total = totals + total_place(bin);
            const u64 before = add_arrival(total, sum);
            if (arrivals(before) != gridDim.x - 1) return;
            out[bin] = (Word)(arrived_sum(before) + sum);
            *total = 0;
        } else if (sum != 0) {
            atomicAdd(out + bin, (Word)sum);
        }
    });
}

template <class Map, class Counters>
__device__ __forceinline__ void histogram(
    const ITEM *items, const u32 *count, const Map &map, const Counters &counters, const Bins &bins, Word *out,
    u64 *workspace)
{
    Control *control = (Control *)workspace;
    u64 item_count = bins.capacity;
    if (!bins.is_given) {
        const u64 said = *(const Word *)count;
        report_overrun(said, bins.capacity, control);
        item_count = min(said, bins.capacity);
    }
    const auto set_up = [&] {
        counters.set_up(bins.bins);
        __syncthreads();
    };
    for_each_item(items, item_count, set_up, CountItems<Map, Counters>{map, counters, bins.bins});
    __syncthreads();
    flush(counters, bins, out, control->states());
}

// Copies some bounds to shared memory if there is room.
__device__ __forceinline__ BoundedBins bounded(const Level *bounds, const Bins &bins)
{
    if (bins.bounds_at == 0) return {bounds, bounds, 0, bins.bins};
    Level *samples = (Level *)(counters_of_block() + bins.bounds_at);
    for (u32 sample = threadIdx.x; sample <= bins.bins >> bins.log_stride; sample += BLOCK_THREADS)
        samples[sample] = bounds[sample << bins.log_stride];
    return {bounds, samples, bins.log_stride, bins.bins};
}

// Copies the table of cells to shared memory.
__device__ __forceinline__ CellBins celled(const CellTable &table, const Bins &bins)
{
    u32 *copy = counters_of_block() + bins.bounds_at;
    for (u32 pair = threadIdx.x; pair < sizeof(table.entries) / 4; pair += BLOCK_THREADS)
        copy[pair] = ((const u32 *)table.entries)[pair];
    return {table.cells, (const u16 *)copy, table.groups(), bins.bins};
}

// Defines the kernels histogram_MAP_global, _shared and _packed. The parameters of a map are in parentheses, each followed by a comma.
#define EXPANDED(...) __VA_ARGS__
#define KERNEL_WITH(NAME, PARAMETERS, MAP, COUNTERS)                                                                    \
    extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) NAME(                                                   \
        const ITEM *items, const u32 *count, EXPANDED PARAMETERS Bins bins, Word *out, u64 *workspace)                  \
    {                                                                                                                   \
        histogram(items, count, MAP, COUNTERS, bins, out, workspace);                                                   \
    }
#define KERNELS(MAP_NAME, PARAMETERS, MAP)                                                                              \
    KERNEL_WITH(histogram_##MAP_NAME##_global, PARAMETERS, MAP, GlobalCounters{out})                                    \
    KERNEL_WITH(histogram_##MAP_NAME##_shared, PARAMETERS, MAP, (SharedCounters{out, bins.log_replicas}))               \
    KERNEL_WITH(histogram_##MAP_NAME##_packed, PARAMETERS, MAP, PackedCounters{out})

KERNELS(even, (Level lower, Level upper, Scale scale, u32 shift, ), (EvenBins{lower, upper, scale, shift, bins.bins}))
KERNELS(bounds, (const Level *bounds, ), bounded(bounds, bins))
KERNELS(keys, (), KeyBins{bins.bins})
KERNEL_WITH(histogram_cells_packed, (const u8 *table, ), celled(*(const CellTable *)table, bins), PackedCounters{out})

// Clears the totals.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) histogram_clear(Word *out, u32 bins)
{
    const u32 bin = blockIdx.x * BLOCK_THREADS + threadIdx.x;
    if (bin < bins) out[bin] = 0;
}

// Clears the totals, chooses cells, makes their table and copies the bounds.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) histogram_cells(
    const Level *bounds, u32 bins, Word *out, u8 *table_bytes)
{
    CellTable *table = (CellTable *)table_bytes;
    const u32 thread = blockIdx.x * BLOCK_THREADS + threadIdx.x, bound_count = bins + 1;
    if (thread < bins) out[thread] = 0;
    if (thread < (bound_count + GROUP - 1) / GROUP * GROUP)
        ((Level *)table->groups())[thread] = thread < bound_count ? bounds[thread] : above_all();
    // Each warp has the entries of all lanes but the last, which shows where the next one begins.
    const u32 cell = thread / WARP_THREADS * (WARP_THREADS - 1) + lane_index();
    if (cell - lane_index() > CELLS) return;
    const Cells cells = best_cells(bounds, bins);
    if (thread == 0) table->cells = cells;
    const u32 group = cell < CELLS ? bounds_before(bounds, bound_count, cells, cell) / GROUP : bins / GROUP;
    const u32 next = __shfl_down_sync(ALL_LANES, group, 1);
    if (cell <= CELLS && lane_index() < WARP_THREADS - 1)
        table->entries[cell] = (u16)(group | (cell < CELLS && next - group > FEW_GROUPS ? IS_CROWDED : 0));
}
