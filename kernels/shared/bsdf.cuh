// What a surface does with light where it was hit. Twin: src/bsdf.rs.
#include "material.cuh"

struct Bsdf {
    Vec3 color;
    u32 kind;
    f32 eta;
};

struct BsdfValue {
    Vec3 color;
    f32 scale, pdf;
};

struct BsdfSample {
    Vec3 direction;
    Vec3 weight;
    f32 pdf, squeeze, side;
};

inline Bsdf bsdf_of(const Material &material, bool front) {
    return {material.color, material.kind, front ? 1.0f / material.ior : material.ior};
}

inline bool is_specular(const Bsdf &bsdf) { return bsdf.kind != DIFFUSE; }

inline BsdfValue bsdf_value(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
    f32 cosine = dot(normal, to_light);
    if (is_specular(bsdf) || cosine <= 0.0f) return {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f};
    f32 pdf = cosine * INV_PI;
    return {bsdf.color, pdf, pdf};
}

inline BsdfSample sample_specular(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 choice) {
    f32 eta = bsdf.eta;
    f32 cos_in = dot(normal, to_eye);
    Fresnel split = bsdf.kind == MIRROR ? Fresnel{1.0f, 0.0f} : fresnel(cos_in, eta);
    if (choice < split.reflected) return {reflect(-to_eye, normal), bsdf.color, 0.0f, 1.0f, 1.0f};
    Vec3 direction = refract(-to_eye, normal, eta, cos_in, split.cos_out);
    return {direction, bsdf.color * (eta * eta), 0.0f, 1.0f / (eta * eta), -1.0f};
}

inline BsdfSample bsdf_sample(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 choice, f32 u, f32 v) {
    if (is_specular(bsdf)) return sample_specular(bsdf, normal, to_eye, choice);
    CosineSample next = sample_cosine(normal, u, v);
    Vec3 weight = next.cosine > 0.0f ? bsdf.color : Vec3{0.0f, 0.0f, 0.0f};
    return {next.direction, weight, next.cosine * INV_PI, 1.0f, 1.0f};
}
