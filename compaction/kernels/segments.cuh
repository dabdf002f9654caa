// Segments of a buffer, and their even distribution over warps.
//
// A segment is cut into chunks of CHUNK items from its beginning; the last chunk may be shorter, and an empty segment
// has one empty chunk. Chunks have slots, numbered so that the slots of segment s begin at s + begin(s) / CHUNK. This
// leaves each segment at least one slot per chunk, and a warp finds the segment of a slot by a search in the offsets.
//
// Offsets beyond the buffer count as its end, and a segment that would end before it begins is empty.
#pragma once

#include "look_back.cuh"

// Segments between consecutive entries of a table.
struct OffsetTable {
    const Word *offsets;
    u64 items;

    __device__ __forceinline__ u64 begin(u64 segment) const { return min((u64)offsets[segment], items); }
};

// Segments of equal length, one behind the other.
struct EqualLengths {
    u64 length;

    __device__ __forceinline__ u64 begin(u64 segment) const { return segment * length; }
};

// The chunk in a lane's slot.
struct Piece {
    u64 segment;
    u64 segment_begin;
    u64 begin;
    u64 chunk;   // number of the chunk within its segment
    u64 chunks;  // number of chunks of the segment; 0 if the slot is unused
    u32 items;

    __device__ __forceinline__ bool exists() const { return chunks != 0; }

    // This piece as lane `lane` has it.
    __device__ __forceinline__ Piece of_lane(u32 lane) const
    {
        return {__shfl_sync(ALL_LANES, segment, lane), __shfl_sync(ALL_LANES, segment_begin, lane),
                __shfl_sync(ALL_LANES, begin, lane),   __shfl_sync(ALL_LANES, chunk, lane),
                __shfl_sync(ALL_LANES, chunks, lane),  __shfl_sync(ALL_LANES, items, lane)};
    }
};

// The number of segments: `capacity`, or the device's count (a Word), clamped to `capacity`. A larger count is recorded
// for the workspace's `check`.
__device__ __forceinline__ u64 segment_count(const u32 *count, u64 capacity, u32 is_given, Control *control)
{
    if (is_given) return capacity;
    const u64 said = *(const Word *)count;
    report_overrun(said, capacity, control);
    return min(said, capacity);
}

template <u32 CHUNK, class Offsets>
struct Slots {
    Offsets offsets;
    u64 segments;

    __device__ __forceinline__ u64 first_of(u64 segment) const { return segment + offsets.begin(segment) / CHUNK; }

    // Returns the last segment whose slots begin at `slot` or before, or 0. All lanes call it.
    __device__ __forceinline__ u64 segment_at(u64 slot) const
    {
        u64 low = 0, high = segments;
        while (high - low > 1) {
            const u64 step = (high - low + WARP_THREADS - 1) / WARP_THREADS;
            const u64 probe = low + lane_index() * step;
            const bool begins = lane_index() == 0 || (probe < high && first_of(probe) <= slot);
            const u32 lanes = __ballot_sync(ALL_LANES, begins);
            low += (WARP_THREADS - 1 - __clz(lanes)) * step;
            high = min(high, low + step);
        }
        return low;
    }

    // Returns the chunk in the slot `first` + lane_index(). All lanes call it.
    __device__ __forceinline__ Piece piece_at(u64 first) const
    {
        // A lane holds one of the next 32 segments, which have at least as many slots.
        const u64 segment = segment_at(first) + lane_index();
        const bool exists = segment < segments;
        const u64 begin = exists ? offsets.begin(segment) : 0;
        const u64 end = exists ? offsets.begin(segment + 1) : 0;
        const u64 segment_slot = segment + begin / CHUNK;
        // The lane of the segment that this lane's slot belongs to.
        const u64 slot = first + lane_index();
        u32 lane = 0;
#pragma unroll
        for (u32 distance = WARP_THREADS / 2; distance != 0; distance /= 2) {
            const u64 its_slot = __shfl_sync(ALL_LANES, segment_slot, lane + distance);
            const bool its_exists = __shfl_sync(ALL_LANES, (u32)exists, lane + distance);
            if (its_exists && its_slot <= slot) lane += distance;
        }
        Piece piece;
        piece.segment = __shfl_sync(ALL_LANES, segment, lane);
        piece.segment_begin = __shfl_sync(ALL_LANES, begin, lane);
        const u64 its_end = __shfl_sync(ALL_LANES, end, lane);
        const u64 its_slot = __shfl_sync(ALL_LANES, segment_slot, lane);
        const u64 length = its_end > piece.segment_begin ? its_end - piece.segment_begin : 0;
        piece.chunk = slot - its_slot;
        piece.chunks = length == 0 ? 1 : (length + CHUNK - 1) / CHUNK;
        if (piece.segment >= segments || slot < its_slot || piece.chunk >= piece.chunks) {
            piece.chunk = 0;
            piece.chunks = 0;
        }
        piece.begin = piece.segment_begin + piece.chunk * CHUNK;
        piece.items = piece.chunks == 0 ? 0 : (u32)min(length - piece.chunk * CHUNK, (u64)CHUNK);
        return piece;
    }
};
