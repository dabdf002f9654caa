// Facets of rough conductors and glass: GGX or Beckmann's, isotropic or anisotropic. Twin: src/shading/facets.rs.
#include "beckmann.cuh"
#include "bsdf_types.cuh"
#include "material.cuh"
#include "microfacet.cuh"

// Only the kernel variant for anisotropic materials contains the code for anisotropic facets.
inline bool has_anisotropic_facets(const Bsdf &bsdf) {
    return (KINDS & ANISOTROPIC) != 0 && (bsdf.flags & ANISOTROPIC_FACETS) != 0;
}

// Like the code for anisotropic facets, that for Beckmann's is in this kernel variant only.
inline bool has_beckmann_facets(const Bsdf &bsdf) {
    return (KINDS & ANISOTROPIC) != 0 && (bsdf.flags & BECKMANN_FACETS) != 0;
}

// Facets of one roughness have no tangent, and any will do.
inline Vec3 facet_frame(const Bsdf &bsdf, Vec3 normal, Vec3 direction) {
    return has_anisotropic_facets(bsdf) ? in_frame(normal, bsdf.tangent, direction) : to_local(normal, direction);
}

inline f32 facet_density(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 half, f32 cos_eye) {
    if (has_beckmann_facets(bsdf)) {
        Vec3 eye = facet_frame(bsdf, normal, to_eye), half_here = facet_frame(bsdf, normal, half);
        return beckmann_density(eye, half_here, bsdf.alpha_along, bsdf.alpha);
    }
    if (has_anisotropic_facets(bsdf)) {
        Vec3 eye = in_frame(normal, bsdf.tangent, to_eye), half_here = in_frame(normal, bsdf.tangent, half);
        return anisotropic_density(eye, half_here, bsdf.alpha_along, bsdf.alpha);
    }
    return visible_normal_density(normal, half, cos_eye, bsdf.alpha);
}

inline f32 facet_shadowing(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light, f32 depth) {
    bool correlated = (bsdf.flags & CORRELATED) != 0;
    if (has_beckmann_facets(bsdf)) {
        Vec3 eye = facet_frame(bsdf, normal, to_eye), light = facet_frame(bsdf, normal, to_light);
        light.z = depth;
        return beckmann_shadowing(eye, light, bsdf.alpha_along, bsdf.alpha, correlated);
    }
    if (has_anisotropic_facets(bsdf)) {
        Vec3 eye = in_frame(normal, bsdf.tangent, to_eye), light = in_frame(normal, bsdf.tangent, to_light);
        light.z = depth;
        return anisotropic_shadowing(eye, light, bsdf.alpha_along, bsdf.alpha, correlated);
    }
    return shadowing(dot(normal, to_eye), depth, bsdf.alpha, correlated);
}

inline Vec3 sample_facet(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 u, f32 v) {
    if (has_beckmann_facets(bsdf)) {
        Vec3 eye = facet_frame(bsdf, normal, to_eye);
        Vec3 half = sample_beckmann_normal(eye, bsdf.alpha_along, bsdf.alpha, u, v);
        if (!has_anisotropic_facets(bsdf)) return normalize(local_to_world(normal, half));
        return normalize(bsdf.tangent * half.x + cross(normal, bsdf.tangent) * half.y + normal * half.z);
    }
    if (has_anisotropic_facets(bsdf)) {
        return sample_anisotropic_normal(normal, bsdf.tangent, to_eye, bsdf.alpha_along, bsdf.alpha, u, v);
    }
    return sample_visible_normal(normal, to_eye, bsdf.alpha, u, v);
}
