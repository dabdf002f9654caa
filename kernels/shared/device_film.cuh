// The film as kernels receive it. Twin: src/device/device_film.rs.
#include "film.cuh"
#include "words.cuh"

struct DeviceFilm {
    u64 *sums;           // three channels per pixel, in fixed point
    u64 *rejected;       // one number
    u32 *sample_counts;  // samples of each pixel, if `counted`
};

// Adds sums of samples to a pixel.
inline void add_sums(const DeviceFilm &film, u32 pixel, u64 x, u64 y, u64 z) {
    u64 *sums = film.sums + 3ull * pixel;
    atomicAdd(sums, x);
    atomicAdd(sums + 1, y);
    atomicAdd(sums + 2, z);
}

// Adds a sample to a pixel, or counts it as rejected, and counts the pixel's samples if `counted`.
inline void add_sample(const DeviceFilm &film, u32 pixel, Vec3 sample, bool counted) {
    if (counted) atomicAdd(film.sample_counts + pixel, 1u);
    if (!is_valid_sample(sample)) {
        atomicAdd(film.rejected, 1ull);
        return;
    }
    add_sums(film, pixel, fixed_point(sample.x), fixed_point(sample.y), fixed_point(sample.z));
}

// Adds a sample per lane, as add_sample does. All lanes of the warp call it; those without a sample pass `exists` false.
// If the samples of each group of `lanes` lanes belong to one pixel, one lane of a group adds their sum. Otherwise atomic
// operations on the same pixel would wait for each other.
inline void add_samples(const DeviceFilm &film, u32 lanes, bool exists, u32 pixel, Vec3 sample, bool counted) {
    bool valid = exists && is_valid_sample(sample);
    if (exists && !valid) atomicAdd(film.rejected, 1ull);
    u64 x = valid ? fixed_point(sample.x) : 0, y = valid ? fixed_point(sample.y) : 0, z = valid ? fixed_point(sample.z) : 0;
    u64 count = exists ? 1 : 0;
    // An invalid sample adds zeros.
    bool adds = exists;
    if (are_groups_uniform(pixel, lanes)) {
        x = sum_over_group(x, lanes);
        y = sum_over_group(y, lanes);
        z = sum_over_group(z, lanes);
        if (counted) count = sum_over_group(count, lanes);
        adds = threadIdx.x % lanes == 0;
    }
    if (!adds) return;
    if (counted) atomicAdd(film.sample_counts + pixel, (u32)count);
    add_sums(film, pixel, x, y, z);
}
