// accumulate: adds the samples of a wave to the film. Stage: src/stages/accumulate.rs.
#include "shared/clock.cuh"
#include "shared/device_film.cuh"
#include "shared/path_buffers.cuh"

extern "C" __global__ void accumulate(PathBuffers paths, DeviceFilm film, u64 *began) {
    stamp(began);
    u32 path = blockIdx.x * blockDim.x + threadIdx.x;
    u32 path_count = paths.span->path_count;
    bool exists = path < path_count;
    if (!exists) path = path_count - 1;
    u32 pixel = pixel_and_sample(*paths.span, paths.list, path).pixel;
    u32 samples_together = 1u << paths.span->log2_samples_together;
    u32 lanes = samples_together < WARP_LANES ? samples_together : WARP_LANES;
    add_samples(film, lanes, exists, pixel, paths.radiances[path].rgb, paths.span->listed != 0);
}
