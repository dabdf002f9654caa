// generate: the camera rays of a wave. Room: src/stages/generate.rs.
#include "shared/camera.cuh"
#include "shared/path.cuh"
#include "shared/sampler.cuh"

inline Ray camera_ray(const Camera &camera, const Span &span, u32 path) {
    PixelSample at = pixel_and_sample(span, path);
    Pair within = pair(sampler(span.seed, at.pixel, at.sample), 0, PAIR_FILM);
    f32 x = (f32)(at.pixel % span.width) + within.x;
    f32 y = (f32)(at.pixel / span.width) + within.y;
    return {camera.origin, 0.0f, camera_direction(camera, x, y), NO_PRIMITIVE};
}

extern "C" __global__ void generate(Span span, Camera camera, Ray *rays, Throughput *throughputs, Rgb *radiances, u32 *queue,
                                    u32 *counts, u32 count_slots) {
    u32 path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path < count_slots) counts[path] = path == 0 ? span.path_count : 0;
    if (path >= span.path_count) return;
    rays[path] = camera_ray(camera, span, path);
    throughputs[path] = {{1.0f, 1.0f, 1.0f}, 1.0f};
    radiances[path] = {{0.0f, 0.0f, 0.0f}, 0};
    queue[path] = path;
}
