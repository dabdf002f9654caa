// Adaptive sampling of one pixel: its estimated noise, and the convergence test. Twin: src/adaptive/pixel_noise.rs.
#include "math.cuh"

struct PixelNoise {
    f32 variance;
    f32 error;
    u32 converged_rounds;
};

struct ConvergenceTest {
    f32 noise;
    f32 brightness_offset;
    u32 number;
    u32 before;
    u32 after;
    u32 limit;
    u32 width, height;
};

// Two independent means, of the samples before the round and of those of the round, differ by the noise of both. Their
// squared distance, weighted by the numbers of samples, estimates the variance of one sample, and is averaged over the
// rounds.
inline PixelNoise after_round(PixelNoise pixel, const ConvergenceTest &round, Vec3 earlier, Vec3 added, Vec3 mean) {
    if (round.number == 0) return {0.0f, 1.0f, 0};
    f32 before = (f32)round.before, after = (f32)round.after;
    Vec3 apart = added - earlier;
    f32 found = dot(apart, apart) * (before * (after - before) / after);
    f32 weight = 1.0f / min_f32((f32)round.number, AVERAGED_ROUNDS);
    f32 variance = pixel.variance + (found - pixel.variance) * weight;
    f32 light = mean.x + mean.y + mean.z + round.brightness_offset;
    f32 error = MEAN_ABSOLUTE_DEVIATION * sqrtf(3.0f * variance / after) / light;
    return {variance, error, pixel.converged_rounds};
}

// The errors of the tile and `unseen` allow for rare bright samples that have not come yet.
inline u32 converged_rounds(const PixelNoise &pixel, const ConvergenceTest &round, f32 tile_error) {
    f32 error = max_f32(pixel.error, tile_error);
    f32 unseen = UNSEEN / (f32)round.after;
    f32 caution = 1.0f + CAUTION / (f32)round.number;
    bool meets_goal = sqrtf(error * error + unseen * unseen) * caution <= round.noise;
    return meets_goal && round.number > 0 ? pixel.converged_rounds + 1 : 0;
}

inline bool has_converged(const PixelNoise &pixel) { return pixel.converged_rounds >= CONVERGED_ROUNDS; }

inline u64 error_units(f32 error) { return (u64)(min_f32(error, MAX_ERROR) * ERROR_UNITS); }

// The error falls with the root of the number of samples.
inline u64 samples_to_go(const PixelNoise &pixel, const ConvergenceTest &round, f32 tile_error) {
    f32 before = (f32)round.before, after = (f32)round.after;
    f32 cautious = 1.0f + CAUTION / (2.0f * (f32)round.number);
    f32 times = max_f32(pixel.error, tile_error) * cautious / round.noise;
    f32 wanted = max_f32(after * (times * times), UNSEEN * cautious / round.noise);
    f32 again = pixel.converged_rounds < CONVERGED_ROUNDS ? (f32)(CONVERGED_ROUNDS - pixel.converged_rounds) : 0.0f;
    f32 missing = max_f32(wanted - after, 0.0f) + again * max_f32(after - before, 0.0f);
    return (u64)min_f32(missing, max_f32((f32)round.limit - after, 0.0f));
}
