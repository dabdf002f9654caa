// CUDA's keywords, types and intrinsics for a host compiler, prepended to every kernel file.
#pragma once

#include <math.h>
#include <string.h>
#include <time.h>

#include <initializer_list>
#include <type_traits>
#include <utility>

#include "machine.hpp"

#define __CUDACC__ 12
#define __device__
#define __host__
#ifndef __global__
#define __global__
#endif
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
// nvcc accepts `alignas` anywhere before a type, g++ only as an attribute.
#define alignas(bytes) __attribute__((aligned(bytes)))
#define __align__(bytes) alignas(bytes)
#define __constant__ static
// Shared memory is thread-local, because a block runs on one thread of the host.
#define __shared__ static thread_local

#define threadIdx (emulated_place()->thread)
#define blockIdx (emulated_place()->block)
#define blockDim (emulated_place()->block_size)
#define gridDim (emulated_place()->grid_size)

// ------------------------------------------------------------------------------------------------------------- vectors

struct alignas(8) uint2 {
    unsigned x, y;
};
struct uint3 {
    unsigned x, y, z;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

// -------------------------------------------------------------------------------------------------------------- blocks

[[noreturn]] inline void __trap() { emulated_fail("trap"); }
inline void __syncthreads() { emulated_barrier(0); }
inline int __syncthreads_count(int predicate) { return (int)emulated_barrier(predicate != 0); }
inline int __syncthreads_or(int predicate) { return emulated_barrier(predicate != 0) != 0; }
inline int __syncthreads_and(int predicate) { return emulated_barrier(predicate == 0) == 0; }

// --------------------------------------------------------------------------------------------------------------- warps

namespace emulated {

inline unsigned lane()
{
    const Place *place = emulated_place();
    const Three &at = place->thread, &size = place->block_size;
    return ((at.z * size.y + at.y) * size.x + at.x) % 32;
}

template <class T>
inline uint64_t bits_of(T value)
{
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>, "CUDA's warp functions take numbers, not structs");
    static_assert(sizeof value <= 8, "a word that takes at most 64 bits");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T>
inline T shuffle(unsigned mask, T value, unsigned from)
{
    memcpy(&value, &emulated_meet(SHUFFLE, mask, bits_of(value))[from], sizeof value);
    return value;
}

}  // namespace emulated

inline void __syncwarp(unsigned mask = ~0u) { emulated_meet(emulated::SYNC, mask, 0); }

template <class T>
inline T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
    return emulated::shuffle(mask, value, (emulated::lane() & ~(width - 1)) | (from & (width - 1)));
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32)
{
    const unsigned lane = emulated::lane();
    return emulated::shuffle(mask, value, lane % width >= distance ? lane - distance : lane);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32)
{
    const unsigned lane = emulated::lane();
    return emulated::shuffle(mask, value, lane % width + distance < (unsigned)width ? lane + distance : lane);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lanes)
{
    return emulated::shuffle(mask, value, (emulated::lane() ^ lanes) % 32);
}

inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    const uint64_t *values = emulated_meet(emulated::BALLOT, mask, predicate != 0);
    unsigned ballot = 0;
    for (unsigned lane = 0; lane < 32; lane++) ballot |= (mask >> lane & 1 & (unsigned)(values[lane] == 1)) << lane;
    return ballot;
}

inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value)
{
    const uint64_t bits = emulated::bits_of(value), *values = emulated_meet(emulated::MATCH, mask, bits);
    unsigned equal = 0;
    for (unsigned lane = 0; lane < 32; lane++) equal |= (mask >> lane & 1 & (unsigned)(values[lane] == bits)) << lane;
    return equal;
}

// --------------------------------------------------------------------------------------------------------------- words

inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline int __popc(unsigned word) { return __builtin_popcount(word); }
inline int __popcll(unsigned long long word) { return __builtin_popcountll(word); }
inline int __ffs(int word) { return __builtin_ffs(word); }
inline int __ffsll(long long word) { return __builtin_ffsll(word); }
inline int __clz(int word) { return word == 0 ? 32 : __builtin_clz(word); }
inline int __clzll(long long word) { return word == 0 ? 64 : __builtin_clzll(word); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }

inline unsigned __brev(unsigned word)
{
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 32; bit++) reversed |= (word >> bit & 1) << (31 - bit);
    return reversed;
}

inline int __vimax3_s32_relu(int a, int b, int c)
{
    int largest = a > b ? a : b;
    largest = largest > c ? largest : c;
    return largest > 0 ? largest : 0;
}
inline int __vimin3_s32(int a, int b, int c)
{
    int smallest = a < b ? a : b;
    return smallest < c ? smallest : c;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    const unsigned long long both = (unsigned long long)high << 32 | low;
    return (unsigned)(both << (shift & 31) >> 32);
}

inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector)
{
    const uint64_t bytes = (uint64_t)high << 32 | low;
    unsigned chosen = 0;
    for (unsigned byte = 0; byte < 4; byte++)
        chosen |= (unsigned)(bytes >> 8 * (selector >> 4 * byte & 7) & 255) << 8 * byte;
    return chosen;
}

inline float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
inline unsigned __float_as_uint(float value) { return __builtin_bit_cast(unsigned, value); }
inline float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
inline int __float_as_int(float value) { return __builtin_bit_cast(int, value); }

template <class A, class B>
constexpr auto min(A a, B b) -> decltype(a + b)
{
    return b < a ? b : a;
}

template <class A, class B>
constexpr auto max(A a, B b) -> decltype(a + b)
{
    return a < b ? b : a;
}

// -------------------------------------------------------------------------------------------------------------- memory

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __nanosleep(unsigned) { emulated_poll(); }

template <class T>
inline T __ldg(const T *place)
{
    return *place;
}

// The type `T`, which is not deduced from an argument of this type, so that the argument is converted to it.
template <class T>
struct EmulatedSame {
    using Type = T;
};

template <class T>
inline T atomicAdd(T *place, typename EmulatedSame<T>::Type value)
{
    return __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST);
}

template <class T>
inline T atomicSub(T *place, typename EmulatedSame<T>::Type value)
{
    return __atomic_fetch_sub(place, value, __ATOMIC_SEQ_CST);
}

template <class T>
inline T atomicOr(T *place, typename EmulatedSame<T>::Type value)
{
    return __atomic_fetch_or(place, value, __ATOMIC_SEQ_CST);
}

template <class T>
inline T atomicAnd(T *place, typename EmulatedSame<T>::Type value)
{
    return __atomic_fetch_and(place, value, __ATOMIC_SEQ_CST);
}

template <class T>
inline T atomicXor(T *place, typename EmulatedSame<T>::Type value)
{
    return __atomic_fetch_xor(place, value, __ATOMIC_SEQ_CST);
}

template <class T>
inline T atomicExch(T *place, typename EmulatedSame<T>::Type value)
{
    return __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST);
}

template <class T>
inline T atomicCAS(T *place, typename EmulatedSame<T>::Type expected, typename EmulatedSame<T>::Type value)
{
    __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

template <class T>
inline T atomicMax(T *place, typename EmulatedSame<T>::Type value)
{
    T old = __atomic_load_n(place, __ATOMIC_SEQ_CST);
    while (old < value && !__atomic_compare_exchange_n(place, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
}

template <class T>
inline T atomicMin(T *place, typename EmulatedSame<T>::Type value)
{
    T old = __atomic_load_n(place, __ATOMIC_SEQ_CST);
    while (value < old && !__atomic_compare_exchange_n(place, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
}

namespace emulated {

// The byte whose address is address 0 of shared memory.
inline thread_local char origin;

#ifdef EMULATED_DYNAMIC_SHARED
alignas(128) inline thread_local char dynamic_shared[EMULATED_DYNAMIC_SHARED];
#endif

template <class T = char>
inline T *shared(unsigned address)
{
    return (T *)(&origin + (int)address);
}

}  // namespace emulated

template <class T>
inline T *__cvta_generic_to_global(T *pointer)
{
    return pointer;
}

inline size_t __cvta_generic_to_shared(const void *pointer)
{
    return (size_t)((const char *)pointer - &emulated::origin);
}

// ----------------------------------------------------------------------------------------------------------------- PTX

// An `asm` statement becomes a call of the function named after its instructions, with its outputs and inputs.

inline void ptx_dp4a_u32_u32(unsigned &result, unsigned left, unsigned right, unsigned sum)
{
    for (unsigned byte = 0; byte < 4; byte++) sum += (left >> 8 * byte & 255) * (right >> 8 * byte & 255);
    result = sum;
}

// A GPU rounds the result less exactly.
inline void ptx_setp_le_f32__setp_le_and_f32__or_b32(unsigned &bits, float first, float second, float third, unsigned mask)
{
    if (first <= second && first <= third)
        bits |= mask;
}

inline void ptx_rcp_approx_ftz_f32(float &result, float x) { result = 1.0f / x; }

// Finds the lanes of a warp whose words agree with this lane's in a bit of the mask.
inline void ptx_and_b32__setp_ne_u32__vote_ballot_sync_b32__not_b32(unsigned &votes, unsigned word, unsigned mask)
{
    const bool is_set = (word & mask) != 0;
    const unsigned set = __ballot_sync(~0u, is_set);
    votes = is_set ? set : ~set;
}

// Lets other threads run, because a thread that reads this way usually polls for a value that another one writes.
template <class T>
inline void ptx_ld_relaxed_gpu_global_u64(T &value, const T *place)
{
    emulated_poll();
    value = __atomic_load_n(place, __ATOMIC_RELAXED);
}

// Loads four words separately. On a GPU, too, such a load is not atomic as a whole.
inline void ptx_ld_relaxed_gpu_global_v4_u32(unsigned &x, unsigned &y, unsigned &z, unsigned &w, const void *place)
{
    emulated_poll();
    const unsigned *words = (const unsigned *)place;
    x = __atomic_load_n(words, __ATOMIC_RELAXED);
    y = __atomic_load_n(words + 1, __ATOMIC_RELAXED);
    z = __atomic_load_n(words + 2, __ATOMIC_RELAXED);
    w = __atomic_load_n(words + 3, __ATOMIC_RELAXED);
}

template <class T>
inline void ptx_st_relaxed_gpu_global_u32(T *place, T value)
{
    __atomic_store_n(place, value, __ATOMIC_RELAXED);
}

template <class T>
inline void ptx_st_relaxed_gpu_global_u64(T *place, T value)
{
    __atomic_store_n(place, value, __ATOMIC_RELAXED);
}

template <class T>
inline void ptx_ld_global_nc_u32(T &value, const T *place)
{
    value = *place;
}

inline void ptx_ld_global_nc_v4_b32(unsigned &x, unsigned &y, unsigned &z, unsigned &w, const unsigned *place)
{
    x = place[0], y = place[1], z = place[2], w = place[3];
}

template <class T>
inline void ptx_ld_global_nc_u64(T &value, const T *place)
{
    value = *place;
}

inline void ptx_mov_u64(unsigned long long &nanoseconds)
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    nanoseconds = now.tv_sec * 1000000000ull + now.tv_nsec;
}
inline void ptx_prefetch_global_L2(const void *) {}
inline void ptx_cp_async_bulk_prefetch_L2_global(const void *, unsigned) {}
inline void ptx_fence_mbarrier_init_release_cluster() {}

inline void ptx_cp_async_cg_shared_global(unsigned to, const void *from)
{
    emulated_copy(emulated::shared(to), from, 16, nullptr);
}

inline void ptx_cp_async_wait_all() { emulated_copied(); }

inline void ptx_mbarrier_init_shared_cta_b64(unsigned barrier, unsigned arrivals)
{
    *emulated::shared<emulated::Barrier>(barrier) = {(unsigned short)arrivals, 0, (unsigned short)arrivals, 0};
}

inline void ptx_mbarrier_arrive_shared_cta_b64(unsigned barrier) { emulated::shared<emulated::Barrier>(barrier)->arrive(0); }

inline void ptx_mbarrier_arrive_expect_tx_shared_cta_b64(unsigned barrier, unsigned bytes)
{
    emulated::shared<emulated::Barrier>(barrier)->arrive((int)bytes);
}

inline void ptx_mbarrier_try_wait_parity_shared_cta_b64__selp_u32(unsigned &complete, unsigned barrier, unsigned parity)
{
    emulated_poll();
    complete = emulated::shared<emulated::Barrier>(barrier)->phase != parity;
}

inline void ptx_cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(
    unsigned to, const void *from, unsigned bytes, unsigned barrier)
{
    if (((uintptr_t)from | bytes | (uintptr_t)emulated::shared(to)) % 16 != 0) emulated_fail("a bulk copy not on 16 bytes");
    emulated_copy(emulated::shared(to), from, bytes, emulated::shared<emulated::Barrier>(barrier));
}

// ------------------------------------------------------------------------------------------------------------- kernels

namespace emulated {

template <auto function>
struct Entry;

template <class... Parameters, void (*function)(Parameters...)>
struct Entry<function> {
    static constexpr size_t sizes[] = {sizeof(Parameters)..., 0};

    static void call(void **arguments) { call(arguments, std::index_sequence_for<Parameters...>()); }

    template <size_t... index>
    static void call(void **arguments, std::index_sequence<index...>)
    {
        function(*(Parameters *)arguments[index]...);
    }

    static constexpr Kernel kernel = {call, sizes};
};

}  // namespace emulated

#define EMULATED_API extern "C" __attribute__((visibility("default")))

// Returns the address of dynamic shared memory to the driver. The call also creates the thread's static variables.
EMULATED_API void *emulated_dynamic_shared(size_t *bytes)
{
    emulated::origin = 0;
#ifdef EMULATED_DYNAMIC_SHARED
    *bytes = EMULATED_DYNAMIC_SHARED;
    return emulated::dynamic_shared;
#else
    *bytes = 0;
    return nullptr;
#endif
}

// ------------------------------------------------------------------------------------- what CUDA's compiler lacks

#undef INFINITY
#undef NAN

namespace nvrtc_std {
using std::forward;
using std::initializer_list;
using std::move;
}  // namespace nvrtc_std
#define std nvrtc_std
