// The GGX microfacet distribution with Smith masking-shadowing, and Fresnel reflectance of conductors. Twin:
// src/shading/microfacet.rs.
#include "math.cuh"

// The Smith masking function of GGX is 2 cos / (cos + root).
inline f32 smith_root(f32 cosine, f32 alpha) {
    return sqrtf(cosine * cosine + alpha * alpha * max_f32(0.0f, 1.0f - cosine * cosine));
}

// Density of visible normals, which the sampling below has. The cross product gives the sine of small angles without
// cancellation.
inline f32 visible_normal_density(Vec3 normal, Vec3 half, f32 cos_eye, f32 alpha) {
    f32 cos_half = dot(normal, half);
    if (cos_half <= 0.0f) return 0.0f;
    Vec3 across = cross(normal, half);
    f32 spread = alpha * alpha * cos_half * cos_half + dot(across, across);
    f32 ratio = alpha / spread;
    return 2.0f * INV_PI * ratio * ratio / (cos_eye + smith_root(cos_eye, alpha));
}

// Masking and shadowing over masking, because visible normals contain the masking.
inline f32 shadowing(f32 cos_eye, f32 cos_light, f32 alpha, bool correlated) {
    f32 root_light = smith_root(cos_light, alpha);
    if (!correlated) return 2.0f * cos_light / (cos_light + root_light);
    f32 root_eye = smith_root(cos_eye, alpha);
    return cos_light * (cos_eye + root_eye) / (cos_eye * root_light + cos_light * root_eye);
}

// Stretched to a sphere, visible normals are half vectors of a spherical cap (Dupuy and Benyoub, 2023).
inline Vec3 sample_visible_normal(Vec3 normal, Vec3 to_eye, f32 alpha, f32 u, f32 v) {
    Vec3 eye = to_local(normal, to_eye);
    Vec3 stretched = normalize({eye.x * alpha, eye.y * alpha, eye.z});
    Pair disk = square_to_disk(u, v);
    f32 height = 1.0f + stretched.z;
    f32 drop = (disk.x * disk.x + disk.y * disk.y) * height;
    f32 stretch = sqrtf(max_f32(0.0f, height * (2.0f - drop)));
    Vec3 half = {(disk.x * stretch + stretched.x) * alpha, (disk.y * stretch + stretched.y) * alpha,
                 1.0f - drop + stretched.z};
    return normalize(local_to_world(normal, normalize(half)));
}

inline Vec3 in_frame(Vec3 normal, Vec3 tangent, Vec3 direction) {
    return {dot(tangent, direction), dot(cross(normal, tangent), direction), dot(normal, direction)};
}

inline f32 anisotropic_root(Vec3 local, f32 alpha_x, f32 alpha_y) {
    f32 x = local.x * alpha_x, y = local.y * alpha_y;
    return sqrtf(local.z * local.z + x * x + y * y);
}

inline f32 anisotropic_density(Vec3 eye, Vec3 half, f32 alpha_x, f32 alpha_y) {
    if (half.z <= 0.0f) return 0.0f;
    f32 x = half.x / alpha_x, y = half.y / alpha_y;
    f32 spread = x * x + y * y + half.z * half.z;
    f32 area = alpha_x * alpha_y * spread * spread;
    return 2.0f * INV_PI / (area * (eye.z + anisotropic_root(eye, alpha_x, alpha_y)));
}

inline f32 anisotropic_shadowing(Vec3 eye, Vec3 light, f32 alpha_x, f32 alpha_y, bool correlated) {
    f32 root_light = anisotropic_root(light, alpha_x, alpha_y);
    if (!correlated) return 2.0f * light.z / (light.z + root_light);
    f32 root_eye = anisotropic_root(eye, alpha_x, alpha_y);
    return light.z * (eye.z + root_eye) / (eye.z * root_light + light.z * root_eye);
}

inline Vec3 sample_anisotropic_normal(Vec3 normal, Vec3 tangent, Vec3 to_eye, f32 alpha_x, f32 alpha_y, f32 u, f32 v) {
    Vec3 eye = in_frame(normal, tangent, to_eye);
    Vec3 stretched = normalize({eye.x * alpha_x, eye.y * alpha_y, eye.z});
    Pair disk = square_to_disk(u, v);
    f32 height = 1.0f + stretched.z;
    f32 drop = (disk.x * disk.x + disk.y * disk.y) * height;
    f32 stretch = sqrtf(max_f32(0.0f, height * (2.0f - drop)));
    Vec3 half = normalize({(disk.x * stretch + stretched.x) * alpha_x, (disk.y * stretch + stretched.y) * alpha_y,
                           1.0f - drop + stretched.z});
    return normalize(tangent * half.x + cross(normal, tangent) * half.y + normal * half.z);
}

// Mean of both polarizations for a complex refractive index eta + i k.
inline f32 fresnel_conductor(f32 cosine, f32 eta, f32 k) {
    f32 cos2 = cosine * cosine;
    f32 sin2 = max_f32(0.0f, 1.0f - cos2);
    f32 difference = eta * eta - k * k - sin2;
    f32 sum = sqrtf(difference * difference + 4.0f * eta * eta * k * k);
    f32 real = sqrtf(max_f32(0.0f, 0.5f * (sum + difference)));
    f32 s0 = sum + cos2, s1 = 2.0f * real * cosine;
    f32 across = (s0 - s1) / (s0 + s1);
    f32 p0 = cos2 * sum + sin2 * sin2, p1 = s1 * sin2;
    f32 along = across * ((p0 - p1) / (p0 + p1));
    return 0.5f * (across + along);
}

inline f32 schlick(f32 cosine) {
    f32 m = max_f32(0.0f, 1.0f - cosine);
    f32 m2 = m * m;
    return m2 * m2 * m;
}
