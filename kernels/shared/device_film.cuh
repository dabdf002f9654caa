// The film as kernels receive it. Twin: src/device/device_film.rs.
#include "film.cuh"
#include "path.cuh"
#include "words.cuh"

struct DeviceFilm {
    u64 *sums;           // three channels per pixel, in fixed point
    u64 *rejected;       // one number
    u32 *sample_counts;  // samples of each pixel, if `counted`
};

// Adds a sample per lane to the pixel of `place`, or counts the sample as rejected. Counts the samples of pixels if
// `counted`. All lanes of the warp call it; those without a sample pass `exists` false and the place of another one.
// If the samples of each group of `group_lanes` lanes, a power of two, belong to one pixel, one lane per group adds their
// sum, because atomic operations on one pixel wait for each other. If not, groups get smaller.
inline void add_sample_per_lane(const DeviceFilm &film, u32 group_lanes, bool exists, PixelSample place, Vec3 sample, bool counted) {
    u32 pixel = place.pixel, bits = rounding_bits(pixel, place.sample);
    while (group_lanes > 1 && !are_groups_uniform(pixel, group_lanes)) group_lanes /= 2;
    bool valid = exists && is_valid_sample(sample);
    if (exists && !valid) atomicAdd(film.rejected, 1ull);
    // An invalid sample adds zeros.
    u64 x = sum_over_group(valid ? rounded_sample(sample.x, bits) : 0, group_lanes);
    u64 y = sum_over_group(valid ? rounded_sample(sample.y, bits) : 0, group_lanes);
    u64 z = sum_over_group(valid ? rounded_sample(sample.z, bits) : 0, group_lanes);
    u64 count = sum_over_group(exists ? 1 : 0, group_lanes);
    if (threadIdx.x % group_lanes != 0 || count == 0) return;
    if (counted) atomicAdd(film.sample_counts + pixel, (u32)count);
    u64 *sums = film.sums + 3ull * pixel;
    atomicAdd(sums, x);
    atomicAdd(sums + 1, y);
    atomicAdd(sums + 2, z);
}

// Returns the number of adjacent lanes whose paths are samples of one pixel, in most warps.
inline u32 lanes_per_pixel(const Span &span) {
    u32 samples_together = 1u << span.log2_samples_together;
    return samples_together < WARP_LANES ? samples_together : WARP_LANES;
}
