// accumulate: the wave's samples onto the film. Room: src/stages/accumulate.rs.
#include "shared/clock.cuh"
#include "shared/film.cuh"
#include "shared/path.cuh"

extern "C" __global__ void accumulate(const Span *span, const u32 *list, const Rgb *radiances, u64 *sums, u64 *rejected,
                                      u32 *taken, u64 *began) {
    stamp(began);
    u32 path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= span->path_count) return;
    u32 number = pixel_and_sample(*span, list, path).pixel;
    if (span->listed != 0) atomicAdd(taken + number, 1u);
    Vec3 sample = radiances[path].rgb;
    if (!is_exposable(sample)) {
        atomicAdd(rejected, 1ull);
        return;
    }
    u64 *pixel = sums + 3ull * number;
    atomicAdd(pixel, fixed_point(sample.x));
    atomicAdd(pixel + 1, fixed_point(sample.y));
    atomicAdd(pixel + 2, fixed_point(sample.z));
}
