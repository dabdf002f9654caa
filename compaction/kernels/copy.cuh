// Copying the items at some places of a tile, neighbours to neighbours.
#pragma once

#include "tile.cuh"

// Writes value(0), value(1), ... to `to`, neighbours by neighbours. The values of a batch are all asked for before the
// first is written, so that a thread waits for its reads together.
template <class Part, class Value>
__device__ __forceinline__ void write_out(Part *to, u32 count, Value value)
{
    constexpr u32 BATCH = 4;
    for (u32 first = threadIdx.x; first < count; first += BATCH * BLOCK_THREADS) {
        Part batch[BATCH];
#pragma unroll
        for (u32 part = 0; part < BATCH; part++)
            if (first + part * BLOCK_THREADS < count) batch[part] = value(first + part * BLOCK_THREADS);
#pragma unroll
        for (u32 part = 0; part < BATCH; part++)
            if (first + part * BLOCK_THREADS < count) to[first + part * BLOCK_THREADS] = batch[part];
    }
}

// Copies the items at the places `kept`, of the tile that begins with `first`, in parts of one vector each.
template <u32 WORDS, class Part>
__device__ __forceinline__ void copy_parts(
    const u32 *__restrict__ items, u32 first, const u16 *kept, u32 count, u32 *__restrict__ out, u32 begin)
{
    constexpr u32 PARTS = WORDS * sizeof(u32) / sizeof(Part);
    const Part *from = (const Part *)items + (u64)first * PARTS;
    Part *to = (Part *)out + (u64)begin * PARTS;
    write_out(to, count * PARTS, [&](u32 part) { return from[kept[part / PARTS] * PARTS + part % PARTS]; });
}

// As copy_parts, by the widest vector that items of so many words are made of and lie on.
template <u32 WORDS>
__device__ __forceinline__ void copy_kept(
    const u32 *__restrict__ items, u32 first, const u16 *kept, u32 count, u32 *__restrict__ out, u32 begin)
{
    constexpr u32 BYTES = WORDS * sizeof(u32);
    if constexpr (BYTES % sizeof(uint4) == 0)
        if (is_aligned(items, sizeof(uint4)) && is_aligned(out, sizeof(uint4)))
            return copy_parts<WORDS, uint4>(items, first, kept, count, out, begin);
    if constexpr (BYTES % sizeof(uint2) == 0)
        if (is_aligned(items, sizeof(uint2)) && is_aligned(out, sizeof(uint2)))
            return copy_parts<WORDS, uint2>(items, first, kept, count, out, begin);
    copy_parts<WORDS, u32>(items, first, kept, count, out, begin);
}
