// From a point on the film to a ray. Twin: src/camera.rs.
#include "math.cuh"

struct Camera {
    Vec3 origin;
    f32 width;
    Vec3 forward;
    f32 height;
    Vec3 right;
    u32 _pad0;
    Vec3 up;
    u32 _pad1;
};

inline Vec3 camera_direction(const Camera &camera, f32 x, f32 y) {
    Vec3 right = camera.right * (2.0f * x / camera.width - 1.0f);
    Vec3 up = camera.up * (1.0f - 2.0f * y / camera.height);
    return normalize(camera.forward + right + up);
}
