// The second launch of every three-launch strategy: replaces each count by the sum of all counts before it in the
// portion.
#pragma once

#include "extent.cuh"

constexpr u32 LANE_COUNTS = 8;
constexpr u32 TILE_COUNTS = BLOCK_THREADS * LANE_COUNTS;

// A tally that counts the portion's own selected items.
struct CountsTally {
    PortionTally so_far;
    __device__ __forceinline__ u32 before() const { return 0; }
    __device__ __forceinline__ void set(u32 sum) const { so_far.set(so_far.before() + sum); }
};

// `group_count` returns the number of counts. Their sum, plus the number selected by earlier portions, is written to
// *selected.
template <class GroupCount>
__device__ __forceinline__ void scan_counts(
    const Extent &extent, u32 *counts, Word *selected, u64 *workspace, GroupCount group_count)
{
    Control *const control = (Control *)workspace;
    const CountsTally tally = {{extent, control, selected}};
    in_order<1, TILE_COUNTS>(
        control, tally, group_count, [&](u32 tile, u32 groups, auto &order) {
            const u32 first = tile * TILE_COUNTS + threadIdx.x * LANE_COUNTS;
            u32 values[LANE_COUNTS], sum = 0;
#pragma unroll
            for (u32 each = 0; each < LANE_COUNTS; each++) {
                values[each] = first + each < groups ? counts[first + each] : 0;
                sum += values[each];
            }
            const u32 inclusive = warp_inclusive_sum(sum);
            const BlockSum block = block_sum_of_warps(warp_last(inclusive));
            order.announce(block.total);
            u32 before = order.begin(block.total) + block.before + inclusive - sum;
#pragma unroll
            for (u32 each = 0; each < LANE_COUNTS; each++) {
                if (first + each < groups) counts[first + each] = before;
                before += values[each];
            }
        });
}
