// generate: the camera rays of a wave. Room: src/stages/generate.rs.
#include "shared/camera.cuh"
#include "shared/path.cuh"
#include "shared/sampler.cuh"

inline Ray first_ray(const Camera &camera, const Span &span, u32 path) {
    PixelSample at = pixel_and_sample(span, path);
    Sampler numbers = sampler(span.seed, at.pixel, at.sample);
    Pair within = pair(numbers, 0, PAIR_FILM);
    Pair film = film_point(camera, at.pixel % span.width, at.pixel / span.width, within.x, within.y);
    Pair lens = {0.0f, 0.0f};
    if (camera.focus_distance != 0.0f) lens = pair(numbers, 0, PAIR_LENS);
    CameraRay ray = camera_ray(camera, film.x, film.y, lens.x, lens.y);
    return {ray.origin, 0.0f, ray.direction, NO_PRIMITIVE};
}

extern "C" __global__ void generate(Span span, Camera camera, Ray *rays, Throughput *throughputs, Rgb *radiances, u32 *queue,
                                    u32 *counts, u32 count_slots) {
    u32 path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path < count_slots) counts[path] = path == 0 ? span.path_count : 0;
    if (path >= span.path_count) return;
    rays[path] = first_ray(camera, span, path);
    throughputs[path] = {{1.0f, 1.0f, 1.0f}, 1.0f};
    radiances[path] = {{0.0f, 0.0f, 0.0f}, 0};
    queue[path] = path;
}
