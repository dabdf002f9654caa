// generate: the camera rays of a wave. Room: src/stages/generate.rs.
#include "shared/clock.cuh"
#include "shared/first_ray.cuh"

extern "C" __global__ void generate(const Span *span, const u32 *list, const Camera *camera, Ray *rays,
                                    Throughput *throughputs, Rgb *radiances, u32 *queue, u32 *counts, u32 count_slots,
                                    u64 *stamps, u32 stamp_count) {
    u32 path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path < count_slots) counts[path] = path == 0 ? span->path_count : 0;
    if (path < stamp_count) stamps[path] = path == 0 ? device_time() : 0;
    if (path >= span->path_count) return;
    rays[path] = first_ray(*camera, *span, list, path);
    throughputs[path] = {{1.0f, 1.0f, 1.0f}, 1.0f};
    radiances[path] = {{0.0f, 0.0f, 0.0f}, 0};
    queue[path] = path;
}
