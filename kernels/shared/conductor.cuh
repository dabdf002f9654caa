// Conductors: Fresnel reflectance, and evaluation of rough conductors with compensation of multiple scattering. Twin:
// src/shading/conductor.rs.
#include "bsdf_types.cuh"
#include "energy.cuh"
#include "facets.cuh"
#include "material.cuh"
#include "microfacet.cuh"

inline void compensate_conductor(const f32 *tables, Bsdf &bsdf, const Material &material, f32 cos_eye) {
    f32 here = hemispherical(tables, bsdf.table, LOST, bsdf.alpha);
    bsdf.lost = here > 0.0f ? directional(tables, bsdf.table, LOST, bsdf.alpha, cos_eye) : 0.0f;
    bsdf.lost_ratio = share(bsdf.lost, here);
    Vec3 white = {1.0f, 1.0f, 1.0f};
    bool by_color = (bsdf.flags & SCHLICK) != 0;
    bsdf.f0 = by_color ? bsdf.color + (white - bsdf.color) * (1.0f / 21.0f) : material.sheen * bsdf.color;
}

inline f32 multiple_scattering_tint(f32 mean, f32 lost) { return mean * mean * (1.0f - lost) / (1.0f - mean * lost); }

inline Vec3 metal_reflectance(const Bsdf &bsdf, f32 cosine) {
    if ((bsdf.flags & SCHLICK) != 0) {
        Vec3 white = {1.0f, 1.0f, 1.0f};
        return bsdf.color + (white - bsdf.color) * schlick(cosine);
    }
    return bsdf.color * Vec3{fresnel_conductor(cosine, bsdf.index.x, bsdf.k.x),
                             fresnel_conductor(cosine, bsdf.index.y, bsdf.k.y),
                             fresnel_conductor(cosine, bsdf.index.z, bsdf.k.z)};
}

inline BsdfValue metal_value(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
    f32 cos_eye = dot(normal, to_eye), cos_light = dot(normal, to_light);
    if (cos_eye <= 0.0f || cos_light <= 0.0f) return no_value();
    Vec3 half = normalize(to_eye + to_light);
    f32 seen = 0.25f * facet_density(bsdf, normal, to_eye, half, cos_eye);
    f32 lit = facet_shadowing(bsdf, normal, to_eye, to_light, cos_light);
    Vec3 once = metal_reflectance(bsdf, dot(to_eye, half)) * (seen * lit);
    if (bsdf.lost_ratio <= 0.0f) return {once, 1.0f, seen};
    f32 spread = cos_light * INV_PI;
    f32 again = bsdf.lost_ratio * directional(tables, bsdf.table, LOST, bsdf.alpha, cos_light) * spread;
    f32 mean_lost = bsdf.lost / bsdf.lost_ratio;
    Vec3 tint = {multiple_scattering_tint(bsdf.f0.x, mean_lost), multiple_scattering_tint(bsdf.f0.y, mean_lost),
                 multiple_scattering_tint(bsdf.f0.z, mean_lost)};
    return {once + tint * again, 1.0f, (1.0f - bsdf.lost) * seen + bsdf.lost * spread};
}
