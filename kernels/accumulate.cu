// accumulate: adds the samples of a wave to the film. Stage: src/stages/accumulate.rs.
#include "shared/clock.cuh"
#include "shared/device_film.cuh"
#include "shared/path_buffers.cuh"

extern "C" __global__ void accumulate(PathBuffers paths, DeviceFilm film, u64 *began) {
    stamp(began);
    u32 path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= paths.span->path_count) return;
    u32 pixel = pixel_and_sample(*paths.span, paths.list, path).pixel;
    add_sample(film, pixel, paths.radiances[path].rgb, paths.span->listed != 0);
}
