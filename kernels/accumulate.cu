// accumulate: adds the samples of a wave to the film. Stage: src/stages/accumulate.rs.
#include "shared/clock.cuh"
#include "shared/device_film.cuh"
#include "shared/path_buffers.cuh"

extern "C" __global__ void accumulate(PathBuffers paths, DeviceFilm film, u64 *began) {
    stamp(began);
    u32 path = blockIdx.x * blockDim.x + threadIdx.x;
    // All lanes of a warp add together, so a thread without a path takes the pixel of the last one.
    u32 path_count = paths.span->path_count;
    bool exists = path < path_count;
    if (!exists) path = path_count - 1;
    PixelSample place = pixel_and_sample(*paths.span, paths.list, path);
    Vec3 sample = paths.radiances[path].rgb;
    add_sample_per_lane(film, lanes_per_pixel(*paths.span), exists, place, sample, paths.span->listed != 0);
}
