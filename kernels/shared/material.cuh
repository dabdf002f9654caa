// Materials as the stages read them, and the reflection, refraction and MIS functions they share. Twin:
// src/shading/material.rs.
#include "math.cuh"

struct alignas(16) Material {
    Vec3 color;
    u32 kind;
    Vec3 emission;
    f32 ior;
    Vec3 eta;
    f32 alpha;
    Vec3 k;
    u32 flags;
    u32 one_sided;
    u32 table;
    u32 mirrors;
    f32 specular;
    f32 metallic;
    f32 transmission;
    f32 clearcoat;
    f32 clearcoat_alpha;
    u32 maps;
    Vec3 absorption;
};

inline Vec3 reflect(Vec3 direction, Vec3 normal) {
    return normalize(direction - normal * (2.0f * dot(direction, normal)));
}

inline Vec3 refract(Vec3 direction, Vec3 normal, f32 eta, f32 cos_in, f32 cos_out) {
    return normalize(direction * eta + normal * (eta * cos_in - cos_out));
}

struct Fresnel {
    f32 reflected, cos_out;
};

inline Fresnel fresnel(f32 cos_in, f32 eta) {
    f32 sin2_out = eta * eta * max_f32(0.0f, 1.0f - cos_in * cos_in);
    if (sin2_out >= 1.0f) return {1.0f, 0.0f};
    f32 cos_out = sqrtf(1.0f - sin2_out);
    f32 parallel = (cos_in - eta * cos_out) / (cos_in + eta * cos_out);
    f32 perpendicular = (eta * cos_in - cos_out) / (eta * cos_in + cos_out);
    return {0.5f * (parallel * parallel + perpendicular * perpendicular), cos_out};
}

struct CosineSample {
    Vec3 direction;
    f32 cosine;
};

inline CosineSample sample_cosine(Vec3 normal, f32 u, f32 v) {
    Pair disk = square_to_disk(u, v);
    f32 cosine = sqrtf(max_f32(0.0f, 1.0f - disk.x * disk.x - disk.y * disk.y));
    return {normalize(local_to_world(normal, {disk.x, disk.y, cosine})), cosine};
}

inline Vec3 transmitted(const Material &material, f32 distance) {
    return {half_power(material.absorption.x * distance), half_power(material.absorption.y * distance),
            half_power(material.absorption.z * distance)};
}

inline f32 power_heuristic(f32 drawn, f32 other) {
    f32 ratio = other / drawn;
    return 1.0f / (1.0f + ratio * ratio);
}
