// Operations on words, warps and memory by device intrinsics, and their equivalents for a host compiler.

#ifdef __CUDACC__
// Number of lanes of a warp. A host compiler runs threads one after another, so that each is a warp of its own.
constexpr u32 WARP_LANES = 32;
inline f32 bits_to_float(u32 bits) { return __uint_as_float(bits); }
inline u32 float_to_bits(f32 value) { return __float_as_uint(value); }
inline u32 reverse_bits(u32 word) { return __brev(word); }
inline u32 leading_zeros(u32 word) { return __clz(word); }
inline u32 trailing_zeros(u32 word) { return __ffs(word) - 1; }
inline u32 count_ones(u32 word) { return __popc(word); }
inline u32 sum_over_warp(u32 value) {
    u32 sum = value;
#pragma unroll
    for (u32 apart = WARP_LANES / 2; apart != 0; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    return sum;
}
// Returns the sum of a value over a group of `group_lanes` adjacent lanes, a power of two. All lanes of the warp call it.
inline u64 sum_over_group(u64 value, u32 group_lanes) {
    u64 sum = value;
    for (u32 apart = 1; apart < group_lanes; apart *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    return sum;
}
// Returns whether each group of `group_lanes` adjacent lanes, a power of two, passes one value. All lanes of the warp
// call it.
inline bool are_groups_uniform(u32 value, u32 group_lanes) {
    u32 first_lane = threadIdx.x % WARP_LANES / group_lanes * group_lanes;
    return __all_sync(0xffffffffu, value == __shfl_sync(0xffffffffu, value, first_lane));
}
// Requests memory that will be read soon, without waiting for it.
inline void prefetch(const void *at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }
// Returns a copy of constant memory. All of it is requested at once, although some may be needed after a branch only.
template <class T>
inline T read_at_once(const T &from) {
    static_assert(sizeof(T) % 16 == 0 && alignof(T) % 16 == 0, "the loads take 16 bytes each");
    u32 words[sizeof(T) / 4];
#pragma unroll
    for (u32 i = 0; i < sizeof(T) / 4; i += 4) {
        asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words[i]), "=r"(words[i + 1]), "=r"(words[i + 2]), "=r"(words[i + 3])
                     : "l"(reinterpret_cast<const u32 *>(&from) + i));
    }
    T whole;
    memcpy(&whole, words, sizeof(T));
    return whole;
}
// Returns the device's clock in nanoseconds, from an arbitrary start.
inline u64 device_time() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}
#else
constexpr u32 WARP_LANES = 1;
inline f32 bits_to_float(u32 bits) { return __builtin_bit_cast(f32, bits); }
inline u32 float_to_bits(f32 value) { return __builtin_bit_cast(u32, value); }
inline u32 leading_zeros(u32 word) { return word == 0 ? 32 : __builtin_clz(word); }
inline u32 trailing_zeros(u32 word) { return __builtin_ctz(word); }
inline u32 count_ones(u32 word) { return __builtin_popcount(word); }
inline u32 sum_over_warp(u32 value) { return value; }
inline u64 sum_over_group(u64 value, u32 group_lanes) { return value; }
inline bool are_groups_uniform(u32 value, u32 group_lanes) { return true; }
inline void prefetch(const void *at) {}
template <class T>
inline T read_at_once(const T &from) { return from; }
inline u64 device_time() { return 1; }
inline u32 reverse_bits(u32 word) {
    u32 x = word;
    x = (x >> 16) | (x << 16);
    x = ((x >> 8) & 0x00ff00ffu) | ((x & 0x00ff00ffu) << 8);
    x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
    x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
    return ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
}
#endif

// The operations below serve box tests only, which may round in any way. Each takes as few instructions as possible.

// Returns a * b + c, rounded once where that is one instruction.
#if defined(__CUDACC__) && !defined(ROUND_TWICE)
inline f32 multiply_add(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
#else
inline f32 multiply_add(f32 a, f32 b, f32 c) { return a * b + c; }
#endif

// Returns 1 / x, with a relative error of at most 2^-23.
#if defined(__CUDACC__) && !defined(ROUND_TWICE)
inline f32 rough_reciprocal(f32 x) {
    f32 result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}
#else
inline f32 rough_reciprocal(f32 x) { return 1.0f / x; }
#endif

#ifdef __CUDACC__
// Returns 1 + (byte `place` of the word) / 2^15. Moving the byte into a mantissa is cheaper than converting it.
//
// The exponent 0x3f800000 is a sum with blockDim.z, which is 1, so that the compiler keeps it in a register. An
// instruction has room for one constant. That must be the selector, because loading it takes one more instruction per
// byte.
inline f32 one_and_byte(u32 word, u32 place) {
    return __uint_as_float(__byte_perm(word, 0x3f7fffffu + blockDim.z, 0x7604u + (place << 4)));
}
// Returns byte `place` of a word.
inline u32 byte_of(u32 word, u32 place) { return __byte_perm(word, 0, 0x4440 + place); }
// Returns the word, shifted left by the lowest five bits of `by`.
inline u32 shift_left(u32 word, u32 by) { return __funnelshift_l(0, word, by); }
// Adds the bits of `mask` to `bits` if `first` is at most `second` and `third`. The compiler's own way takes one more
// instruction, which selects between the mask and 0.
inline void add_if_in_order(u32 &bits, u32 mask, f32 first, f32 second, f32 third) {
    asm("{.reg .pred p, q; setp.le.f32 p, %1, %2; setp.le.and.f32 q, %1, %3, p; @q or.b32 %0, %0, %4;}"
        : "+r"(bits)
        : "f"(first), "f"(second), "f"(third), "r"(mask));
}
// Returns the maximum of three numbers and 0. As integers, the bits of non-negative floats have the floats' order, and
// negative floats are negative.
inline f32 largest_or_zero(f32 a, f32 b, f32 c) {
    return __int_as_float(__vimax3_s32_relu(__float_as_int(a), __float_as_int(b), __float_as_int(c)));
}
// Returns the minimum of three numbers; if some are negative, any of those.
inline f32 smallest(f32 a, f32 b, f32 c) {
    return __int_as_float(__vimin3_s32(__float_as_int(a), __float_as_int(b), __float_as_int(c)));
}
#else
inline f32 one_and_byte(u32 word, u32 place) {
    return bits_to_float(0x3f800000u | ((word >> (8 * place)) & 255) << 8);
}
inline u32 byte_of(u32 word, u32 place) { return (word >> (8 * place)) & 255; }
inline u32 shift_left(u32 word, u32 by) { return word << (by & 31); }
inline void add_if_in_order(u32 &bits, u32 mask, f32 first, f32 second, f32 third) {
    if (first <= second && first <= third) bits |= mask;
}
inline f32 largest_or_zero(f32 a, f32 b, f32 c) {
    f32 largest = a > b ? a : b;
    largest = largest > c ? largest : c;
    return largest > 0.0f ? largest : 0.0f;
}
inline f32 smallest(f32 a, f32 b, f32 c) {
    f32 smallest = a < b ? a : b;
    return smallest < c ? smallest : c;
}
#endif
