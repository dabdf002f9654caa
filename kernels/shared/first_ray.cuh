// The camera ray of a path, for generate and megakernel. Its CPU twin is in src/stages/generate.rs.
#include "camera.cuh"
#include "path.cuh"
#include "sampler.cuh"

inline Ray first_ray(const Camera &camera, const Span &span, const u32 *list, u32 path) {
    PixelSample at = pixel_and_sample(span, list, path);
    Sampler numbers = sampler(span.seed, at.pixel, at.sample);
    Pair within = pair(numbers, 0, PAIR_FILM);
    Pair film = film_point(camera, at.pixel % span.width, at.pixel / span.width, within.x, within.y);
    Pair lens = {0.0f, 0.0f};
    if (camera.focus_distance != 0.0f) lens = pair(numbers, 0, PAIR_LENS);
    CameraRay ray = camera_ray(camera, film.x, film.y, lens.x, lens.y);
    return {ray.origin, 0.0f, ray.direction, NO_PRIMITIVE};
}
