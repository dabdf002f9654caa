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
// A group of lanes whose samples belong to one pixel adds their sum, so that atomic operations do not wait for each other.
inline void add_samples(const DeviceFilm &film, bool exists, u32 pixel, Vec3 sample, bool counted) {
    bool valid = exists && is_valid_sample(sample);
    bool together = is_same_in_group(pixel);
    bool leads = together ? threadIdx.x % GROUP_LANES == 0 : exists;
    u64 count = exists, x = 0, y = 0, z = 0;
    if (exists && !valid) atomicAdd(film.rejected, 1ull);
    if (valid) {
        x = fixed_point(sample.x);
        y = fixed_point(sample.y);
        z = fixed_point(sample.z);
    }
    u64 all_x = sum_over_group(x), all_y = sum_over_group(y), all_z = sum_over_group(z);
    u64 all = counted ? sum_over_group(count) : 0;
    if (!leads) return;
    if (counted) atomicAdd(film.sample_counts + pixel, (u32)(together ? all : count));
    if (together) {
        add_sums(film, pixel, all_x, all_y, all_z);
    } else if (valid) {
        add_sums(film, pixel, x, y, z);
    }
}
