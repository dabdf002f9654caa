// The film: sums of samples in fixed point. Twin: src/film/mod.rs.
#include "math.cuh"

// A NaN fails every comparison.
inline bool is_valid_sample(Vec3 sample) {
    return sample.x >= 0.0f && sample.x < SAMPLE_LIMIT && sample.y >= 0.0f && sample.y < SAMPLE_LIMIT &&
           sample.z >= 0.0f && sample.z < SAMPLE_LIMIT;
}

inline u64 fixed_point(f32 value) { return (u64)(value * SCALE); }

inline f32 mean(u64 sum, u32 samples) {
    if (samples == 0) return 0.0f;
    return (f32)((f64)sum / ((f64)SCALE * (f64)samples));
}

// Pixels take turns: all have one sample before any has two.
inline u32 samples_of(u32 pixel, u32 pixel_count, u64 done) {
    u64 full = done / pixel_count, rest = done % pixel_count;
    return (u32)full + (pixel < rest ? 1 : 0);
}
