// Bit operations on 32-bit words, by device intrinsics or for a host compiler.

#ifdef __CUDACC__
// Number of lanes of a warp. A host compiler runs threads one after another, so that each is a warp of its own.
constexpr u32 WARP_LANES = 32;
inline f32 bits_to_float(u32 bits) { return __uint_as_float(bits); }
inline u32 float_to_bits(f32 value) { return __float_as_uint(value); }
inline u32 reverse_bits(u32 word) { return __brev(word); }
inline u32 leading_zeros(u32 word) { return __clz(word); }
inline u32 trailing_zeros(u32 word) { return __ffs(word) - 1; }
inline u32 count_ones(u32 word) { return __popc(word); }
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
