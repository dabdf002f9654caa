// GGX facets of rough conductors and glass, isotropic or anisotropic. Twin: src/shading/facets.rs.
#include "bsdf_types.cuh"
#include "material.cuh"
#include "microfacet.cuh"

// Only the kernel variant for anisotropic materials contains the code for anisotropic facets.
inline bool has_anisotropic_facets(const Bsdf &bsdf) {
    return (KINDS & ANISOTROPIC) != 0 && (bsdf.flags & ANISOTROPIC_FACETS) != 0;
}

inline f32 facet_density(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 half, f32 cos_eye) {
    if (has_anisotropic_facets(bsdf)) {
        Vec3 eye = in_frame(normal, bsdf.tangent, to_eye), half_here = in_frame(normal, bsdf.tangent, half);
        return anisotropic_density(eye, half_here, bsdf.alpha_along, bsdf.alpha);
    }
    return visible_normal_density(normal, half, cos_eye, bsdf.alpha);
}

inline f32 facet_shadowing(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light, f32 depth) {
    bool correlated = (bsdf.flags & CORRELATED) != 0;
    if (has_anisotropic_facets(bsdf)) {
        Vec3 eye = in_frame(normal, bsdf.tangent, to_eye), light = in_frame(normal, bsdf.tangent, to_light);
        light.z = depth;
        return anisotropic_shadowing(eye, light, bsdf.alpha_along, bsdf.alpha, correlated);
    }
    return shadowing(dot(normal, to_eye), depth, bsdf.alpha, correlated);
}

inline Vec3 sample_facet(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 u, f32 v) {
    if (has_anisotropic_facets(bsdf)) {
        return sample_anisotropic_normal(normal, bsdf.tangent, to_eye, bsdf.alpha_along, bsdf.alpha, u, v);
    }
    return sample_visible_normal(normal, to_eye, bsdf.alpha, u, v);
}
