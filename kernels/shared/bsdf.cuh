// BSDFs: evaluation, pdf and sampling of a material at a hit. Twin: src/shading/bsdf.rs.
#include "extended.cuh"
#include "layered.cuh"
#include "specular.cuh"

inline Bsdf bsdf_of(const f32 *tables, const Material &material, f32 cos_eye, f32 cos_coat, f32 along2,
                    bool front) {
    Bsdf bsdf = {};
    bsdf.color = material.color;
    bsdf.kind = material.kind;
    bsdf.index = material.eta;
    bsdf.k = material.k;
    bsdf.eta = front || (material.flags & THIN) != 0 ? 1.0f / material.ior : material.ior;
    bsdf.alpha = material.alpha;
    bsdf.flags = material.flags;
    bsdf.table = material.table;
    bsdf.mirrors = material.mirrors;
    if (has_beckmann_facets(bsdf)) bsdf.alpha_along = material.alpha;
    if (has_anisotropic_facets(bsdf)) {
        bsdf.alpha_along = material.alpha;
        bsdf.alpha = material.alpha_across;
    }
    bool compensated = (bsdf.flags & COMPENSATED) != 0;
    if (HAS(ROUGH_CONDUCTOR) && bsdf.kind == ROUGH_CONDUCTOR && compensated) {
        compensate_conductor(tables, bsdf, material, cos_eye);
    }
    if (HAS(ROUGH_DIELECTRIC) && bsdf.kind == ROUGH_DIELECTRIC && compensated) {
        compensate_dielectric(tables, bsdf, cos_eye, front);
    }
    if (HAS(LAYERED) && bsdf.kind == LAYERED) resolve_layers(tables, bsdf, material, cos_eye, cos_coat, front);
    if (HAS(EXTENDED) && bsdf.kind == EXTENDED) {
        resolve_extended(tables, bsdf, material, cos_eye, cos_coat, along2, front);
    }
    return bsdf;
}

inline BsdfValue bsdf_value(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
    if (bsdf.kind == DIFFUSE) {
        f32 cosine = dot(normal, to_light);
        if (cosine <= 0.0f) return no_value();
        f32 pdf = cosine * INV_PI;
        return {bsdf.color, pdf, pdf};
    }
    if (HAS(ROUGH_CONDUCTOR) && bsdf.kind == ROUGH_CONDUCTOR) return metal_value(tables, bsdf, normal, to_eye, to_light);
    if (HAS(ROUGH_DIELECTRIC) && bsdf.kind == ROUGH_DIELECTRIC) return glass_value(tables, bsdf, normal, to_eye, to_light);
    if (HAS(LAYERED) && bsdf.kind == LAYERED) return layered_value(tables, bsdf, normal, to_eye, to_light);
    if (HAS(EXTENDED) && bsdf.kind == EXTENDED) return extended_value(tables, bsdf, normal, to_eye, to_light);
    return no_value();
}

inline BsdfSample bsdf_sample(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 choice, f32 u, f32 v) {
    if (KINDS == PLAIN_KINDS || bsdf.kind == DIFFUSE) {
        CosineSample next = sample_cosine(normal, u, v);
        Vec3 weight = next.cosine > 0.0f ? bsdf.color : Vec3{0.0f, 0.0f, 0.0f};
        return {next.direction, weight, next.cosine * INV_PI, 1.0f, 1.0f};
    }
    SampledDirection way = HAS(LAYERED) && bsdf.kind == LAYERED
                               ? sample_layers(tables, bsdf, normal, to_eye, choice, u, v)
                           : HAS(EXTENDED) && bsdf.kind == EXTENDED
                               ? sample_extended(tables, bsdf, normal, to_eye, choice, u, v)
                               : sample_rough(tables, bsdf, normal, to_eye, choice, u, v);
    BsdfValue value = bsdf_value(tables, bsdf, normal, to_eye, way.direction);
    bool leaves = dot(normal, way.direction) * way.side > 0.0f && value.pdf > 0.0f;
    Vec3 weight = leaves ? value.color * (value.scale / value.pdf) : Vec3{0.0f, 0.0f, 0.0f};
    bool bends = way.side < 0.0f && (bsdf.flags & THIN) == 0;
    return {way.direction, weight, value.pdf, bends ? 1.0f / (bsdf.eta * bsdf.eta) : 1.0f, way.side};
}
