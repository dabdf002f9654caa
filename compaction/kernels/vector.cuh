// The vector types by which items are copied.
#pragma once

#include "prelude.cuh"

template <u32 BYTES>
struct Vector;
template <>
struct Vector<1> {
    using type = u8;
};
template <>
struct Vector<2> {
    using type = u16;
};
template <>
struct Vector<4> {
    using type = u32;
};
template <>
struct Vector<8> {
    using type = uint2;
};
template <>
struct Vector<16> {
    using type = uint4;
};
constexpr u32 WIDEST_VECTOR = 16;

// Writes value(0), value(1), ... to `to`, coalesced. All values of a batch are loaded before the first is written, so
// that their latencies overlap.
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
