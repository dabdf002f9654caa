// generate: creates the camera rays of a wave. Stage: src/stages/generate.rs.
#include "shared/clock.cuh"
#include "shared/first_ray.cuh"
#include "shared/path_buffers.cuh"

extern "C" __global__ void generate(PathBuffers paths, const Camera *camera, u32 *counts,
                                    u32 count_slots, u64 *stamps, u32 stamp_count) {
    u32 path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path < count_slots) counts[path] = path == 0 ? paths.span->path_count : 0;
    if (path < stamp_count) stamps[path] = path == 0 ? device_time() : 0;
    if (path >= paths.span->path_count) return;
    paths.rays[path] = first_ray(*camera, *paths.span, paths.list, path);
    paths.throughputs[path] = {{1.0f, 1.0f, 1.0f}, 1.0f};
    paths.radiances[path] = {{0.0f, 0.0f, 0.0f}, camera->bodies << 1};
    paths.queue[path] = path;
}
