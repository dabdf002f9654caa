// CUB's operations as functions of one form, so that capi/examples/beside_cub can load and time them.
#pragma once

#include <cstdint>
#include <cub/cub.cuh>
#include <cuda/functional>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using f32 = float;
using f64 = double;

// Defines a function that enqueues a call of CUB over `n` items, with the addresses of its device buffers in `b`. If
// `temp` is null, it only writes the size of the scratch memory to `bytes`.
#define PEER(name, ...) \
    extern "C" int name(void *temp, size_t &bytes, void *const *b, u64 count, cudaStream_t stream) \
    { \
        const int n = (int)count; \
        return (int)(__VA_ARGS__); \
    }

// The buffer at an index of `b`.
#define AT(type, index) ((type *)b[index])
