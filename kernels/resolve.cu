// resolve: the film as a picture. Stage: src/stages/resolve.rs.
#include "shared/film.cuh"

extern "C" __global__ void resolve(u32 pixel_count, u64 done, const u64 *sums, f32 *picture) {
    u32 channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= 3 * pixel_count) return;
    picture[channel] = mean(sums[channel], samples_of(channel / 3, pixel_count, done));
}

// Where pixels have different numbers of samples.
extern "C" __global__ void resolve_uneven(u32 pixel_count, const u32 *sample_counts, const u64 *sums, f32 *picture) {
    u32 channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= 3 * pixel_count) return;
    picture[channel] = mean(sums[channel], sample_counts[channel / 3]);
}
