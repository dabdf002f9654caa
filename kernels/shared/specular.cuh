// Delta distributions: mirrors, smooth conductors and smooth dielectrics. Twin: src/shading/specular.rs.
#include "conductor.cuh"

inline bool is_specular(const Bsdf &bsdf) {
    return bsdf.kind == MIRROR || bsdf.kind == DIELECTRIC || bsdf.kind == CONDUCTOR;
}

inline BsdfSample sample_specular(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 choice) {
    f32 eta = bsdf.eta;
    f32 cos_in = dot(normal, to_eye);
    Fresnel split = bsdf.kind == DIELECTRIC ? fresnel(cos_in, eta) : Fresnel{1.0f, 0.0f};
    bool thin = (bsdf.flags & THIN) != 0;
    if (thin) split.reflected = 2.0f * split.reflected / (1.0f + split.reflected);
    if (choice < split.reflected) {
        Vec3 weight = HAS(CONDUCTOR) && bsdf.kind == CONDUCTOR ? metal_reflectance(bsdf, cos_in)
                      : bsdf.kind == DIELECTRIC                ? bsdf.index
                                                               : bsdf.color;
        return {reflect(-to_eye, normal), weight, 0.0f, 1.0f, 1.0f};
    }
    if (thin) return {-to_eye, bsdf.color, 0.0f, 1.0f, -1.0f};
    Vec3 direction = refract(-to_eye, normal, eta, cos_in, split.cos_out);
    return {direction, bsdf.color * (eta * eta), 0.0f, 1.0f / (eta * eta), -1.0f};
}
