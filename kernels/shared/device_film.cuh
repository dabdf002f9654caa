// The film as kernels receive it. Twin: src/device/device_film.rs.
#include "film.cuh"

struct DeviceFilm {
    u64 *sums;           // three channels per pixel, in fixed point
    u64 *rejected;       // one number
    u32 *sample_counts;  // samples of each pixel, if `counted`
};

// Adds a sample to a pixel, or counts it as rejected, and counts the pixel's samples if `counted`.
inline void add_sample(const DeviceFilm &film, u32 pixel, Vec3 sample, bool counted) {
    if (counted) atomicAdd(film.sample_counts + pixel, 1u);
    if (!is_valid_sample(sample)) {
        atomicAdd(film.rejected, 1ull);
        return;
    }
    u64 *sums = film.sums + 3ull * pixel;
    atomicAdd(sums, fixed_point(sample.x));
    atomicAdd(sums + 1, fixed_point(sample.y));
    atomicAdd(sums + 2, fixed_point(sample.z));
}
