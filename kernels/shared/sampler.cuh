// Quasi-random numbers: Owen-scrambled Sobol points. Twin: src/sampler.rs.
#include "math.cuh"

struct Sampler {
    u32 sample;
    u32 key;
};

// Mixes the bits of a word by multiplications and shifts; a bijection.
inline u32 hash(u32 word) {
    u32 x = word;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

inline Sampler sampler(u32 seed, u32 pixel, u32 sample) { return {sample, hash(pixel ^ hash(seed ^ 0x6a09e667u))}; }

// Owen scrambling of a number whose bits are reversed: a bit is flipped or not by a hash of the bits above it, which
// are below it in reversed order, so that multiplications and additions carry to the right bits.
inline u32 scramble(u32 reversed, u32 key) {
    u32 x = reversed;
    x ^= x * 0x3d20adeau;
    x += key;
    x *= (key >> 16) | 1u;
    x ^= x * 0x05526c56u;
    return x ^ (x * 0x53a22864u);
}

// Multiplies the bits of an index by Pascal's triangle modulo 2, the generator matrix of the second Sobol dimension.
// The index and the result have reversed bits.
inline u32 pascal(u32 index) {
    u32 x = index;
    x ^= (x >> 16) & 0x0000ffffu;
    x ^= (x >> 8) & 0x00ff00ffu;
    x ^= (x >> 4) & 0x0f0f0f0fu;
    x ^= (x >> 2) & 0x33333333u;
    return x ^ ((x >> 1) & 0x55555555u);
}

// 24 bits are as many as a float in [0, 1) keeps.
inline f32 unit(u32 bits) { return (f32)(bits >> 8) * (1.0f / 16777216.0f); }

struct PairBits {
    u32 x, y;
};

// Every pair of dimensions uses the first two Sobol dimensions, with the order of its points and both coordinates
// scrambled by keys of its own (padding).
inline PairBits pair_bits(Sampler sampler, u32 bounce, u32 pair) {
    u32 dimension = bounce * PAIRS_PER_BOUNCE + pair;
    u32 key = hash(sampler.key ^ (dimension * 0x9e3779b9u));
    u32 index = reverse_bits(scramble(reverse_bits(sampler.sample), key));
    u32 first = scramble(index, hash(key ^ 0xbb67ae85u));
    u32 second = scramble(pascal(index), hash(key ^ 0x3c6ef372u));
    return {reverse_bits(first), reverse_bits(second)};
}

inline Pair pair(Sampler sampler, u32 bounce, u32 pair) {
    PairBits bits = pair_bits(sampler, bounce, pair);
    return {unit(bits.x), unit(bits.y)};
}
