// The camera: from a point on the film to a ray. Twin: src/camera/mod.rs.
#include "math.cuh"

struct Camera {
    Vec3 origin;
    f32 width;
    Vec3 forward;
    f32 height;
    Vec3 right;
    u32 blades;
    Vec3 up;
    f32 focus_distance;
    Vec3 lens_right;
    f32 filter_radius;
    Vec3 lens_up;
    u32 parallel;
    f32 corner[2];
    f32 turn[2];
    f32 filter_values[33];
    f32 filter_sums[33];
    u32 bodies;
};

// Inverts the cumulative sums of a symmetric filter that is linear between its values: a binary search for the step,
// and a quadratic equation within it.
inline f32 filter_offset(const Camera &camera, f32 number) {
    f32 place = 2.0f * number - 1.0f;
    f32 sign = place < 0.0f ? -1.0f : 1.0f;
    f32 sum = place < 0.0f ? -place : place;
    u32 step = 0;
    for (u32 stride = FILTER_STEPS / 2; stride > 0; stride /= 2) {
        if (camera.filter_sums[step + stride] <= sum) step += stride;
    }
    f32 before = camera.filter_sums[step], after = camera.filter_sums[step + 1];
    f32 low = camera.filter_values[step], high = camera.filter_values[step + 1];
    f32 share = after > before ? (sum - before) / (after - before) : 0.0f;
    f32 root = sqrtf(low * low + share * (high * high - low * low));
    f32 within = share * (low + high) / (low + root);
    return sign * (((f32)step + within) * (1.0f / (f32)FILTER_STEPS));
}

inline Pair film_point(const Camera &camera, u32 column, u32 row, f32 u, f32 v) {
    if (camera.filter_radius == 0.0f) return {(f32)column + u, (f32)row + v};
    return {(f32)column + 0.5f + camera.filter_radius * filter_offset(camera, u),
            (f32)row + 0.5f + camera.filter_radius * filter_offset(camera, v)};
}

// A polygon of blades is a fan of triangles around its center. `turn` is the rotation from one corner to the next.
inline Pair aperture_point(const Camera &camera, f32 u, f32 v) {
    if (camera.blades == 0) return square_to_disk(u, v);
    f32 cosine = camera.turn[0], sine = camera.turn[1];
    f32 along = u * (f32)camera.blades;
    Pair a = {camera.corner[0], camera.corner[1]};
    Pair b = {cosine * a.x - sine * a.y, sine * a.x + cosine * a.y};
    for (u32 blade = 1; blade < camera.blades; blade++) {
        if (along < 1.0f) break;
        along -= 1.0f;
        a = b;
        b = {cosine * a.x - sine * a.y, sine * a.x + cosine * a.y};
    }
    f32 outwards = sqrtf(v);
    return {outwards * (a.x + along * (b.x - a.x)), outwards * (a.y + along * (b.y - a.y))};
}

struct CameraRay {
    Vec3 origin;
    Vec3 direction;
};

inline CameraRay camera_ray(const Camera &camera, f32 x, f32 y, f32 u, f32 v) {
    Vec3 right = camera.right * (2.0f * x / camera.width - 1.0f);
    Vec3 up = camera.up * (1.0f - 2.0f * y / camera.height);
    bool parallel = camera.parallel == 1;
    Vec3 center = parallel ? camera.origin + right + up : camera.origin;
    Vec3 through = parallel ? camera.forward : camera.forward + right + up;
    if (camera.focus_distance == 0.0f) return {center, normalize(through)};
    Pair at = aperture_point(camera, u, v);
    Vec3 shift = camera.lens_right * at.x + camera.lens_up * at.y;
    return {center + shift, normalize(through * camera.focus_distance - shift)};
}
