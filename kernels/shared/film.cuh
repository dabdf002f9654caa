// The film: sums of samples in fixed point. Twin: src/film/mod.rs.
#include "math.cuh"
#include "sampler.cuh"

// A NaN fails every comparison.
inline bool is_valid_sample(Vec3 sample) {
    return sample.x >= 0.0f && sample.x < SAMPLE_LIMIT && sample.y >= 0.0f && sample.y < SAMPLE_LIMIT &&
           sample.z >= 0.0f && sample.z < SAMPLE_LIMIT;
}

inline u64 fixed_point(f32 value) { return (u64)(value * SCALE); }

// Multiples of the golden ratio: the errors of successive samples cancel.
inline u32 rounding_bits(u32 pixel, u32 sample) { return hash(pixel) + sample * 0x9e3779b9u; }

// Adds one unit with the lost fraction as its probability.
inline u64 rounded_sample(f32 value, u32 rounding_bits) {
    u64 whole = fixed_point(value);
    // Exact: a value of 2^24 units or more has no fraction.
    f32 fraction = value * SCALE - (f32)whole;
    return whole + (fraction > unit(rounding_bits) ? 1 : 0);
}

inline f32 mean(u64 sum, u32 samples) {
    if (samples == 0) return 0.0f;
    return (f32)((f64)sum / ((f64)SCALE * (f64)samples));
}

// Pixels take turns: all have one sample before any has two.
inline u32 samples_of(u32 pixel, u32 pixel_count, u64 done) {
    u64 full = done / pixel_count, rest = done % pixel_count;
    return (u32)full + (pixel < rest ? 1 : 0);
}
