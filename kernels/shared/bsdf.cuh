// BSDFs: evaluation, pdf and sampling of a material at a hit. Twin: src/shading/bsdf.rs.
#include "energy.cuh"
#include "material.cuh"
#include "microfacet.cuh"

// Code for material kinds that a scene does not have is not compiled.
#define HAS(kind) ((KINDS >> (kind) & 1u) != 0)
// The clear coat uses the base's shading normal, except in the kernel variant for coats with normal maps.
#define COAT_NORMAL(bsdf, normal) ((KINDS & COAT_NORMALS) != 0 ? (bsdf).coat_normal : (normal))

struct Bsdf {
    Vec3 color;
    u32 kind;
    Vec3 index;
    Vec3 k;
    f32 eta, alpha;
    u32 flags, table, back;
    f32 lost, lost_ratio, lost_ratio_behind, transmitted_share;
    u32 mirrors;
    Vec3 f0;
    f32 f90;
    Vec3 multiple_scattering, diffuse;
    f32 boundary_f0, boundary_f90;
    f32 glass;
    f32 coat, coat_alpha;
    Vec3 coat_normal;
    f32 coat_transmittance;
    f32 coat_probability, facets_cumulative, diffuse_cumulative;
};

struct BsdfValue {
    Vec3 color;
    f32 scale, pdf;
};

struct BsdfSample {
    Vec3 direction;
    Vec3 weight;
    f32 pdf, eta_scale, side;
};

struct SampledDirection {
    Vec3 direction;
    f32 side;
};

inline BsdfValue no_value() { return {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f}; }

inline f32 share(f32 part, f32 whole) { return whole > 0.0f ? part / whole : 0.0f; }

inline void compensate_conductor(const f32 *tables, Bsdf &bsdf, f32 cos_eye) {
    f32 here = hemispherical(tables, bsdf.table, LOST, bsdf.alpha);
    bsdf.lost = here > 0.0f ? directional(tables, bsdf.table, LOST, bsdf.alpha, cos_eye) : 0.0f;
    bsdf.lost_ratio = share(bsdf.lost, here);
}

inline void compensate_dielectric(const f32 *tables, Bsdf &bsdf, f32 cos_eye, bool front) {
    bsdf.back = front ? 0 : 1;
    f32 here = hemispherical(tables, bsdf.table, bsdf.back, bsdf.alpha);
    f32 there = hemispherical(tables, bsdf.table, 1 - bsdf.back, bsdf.alpha);
    f32 smooth = hemispherical(tables, bsdf.table, THROUGH_FRONT + bsdf.back, bsdf.alpha);
    bsdf.lost = here > 0.0f ? directional(tables, bsdf.table, bsdf.back, bsdf.alpha, cos_eye) : 0.0f;
    bsdf.lost_ratio = share(bsdf.lost, here);
    bsdf.lost_ratio_behind = share(bsdf.lost, there);
    bsdf.transmitted_share = smooth * share(min_f32(here, there), here);
}

inline f32 multiple_scattering_tint(f32 mean, f32 lost) { return mean * mean * (1.0f - lost) / (1.0f - mean * lost); }

inline f32 schlick_albedo(const f32 *tables, u32 table, f32 alpha, f32 cosine, f32 f0, f32 f90) {
    f32 lost = directional(tables, table, LOST, alpha, cosine);
    f32 at_grazing = directional(tables, table, GRAZING, alpha, cosine);
    return f0 * (1.0f - lost - at_grazing) + f90 * at_grazing;
}

inline void resolve_layers(const f32 *tables, Bsdf &bsdf, const Material &material, f32 cos_eye, f32 cos_coat,
                           bool front) {
    bool thin = (bsdf.flags & THIN) != 0;
    f32 alpha = bsdf.alpha;
    u32 table = bsdf.mirrors;
    f32 dielectric = 1.0f - material.metallic;
    f32 even = dielectric * (1.0f - material.transmission);
    bsdf.glass = dielectric * material.transmission;
    bsdf.f0 = bsdf.color * material.metallic + material.eta * even;
    bsdf.f90 = material.metallic + material.specular * even;
    bsdf.boundary_f0 = max_component(material.eta);
    bsdf.boundary_f90 = material.specular;

    f32 lost = directional(tables, table, LOST, alpha, cos_eye);
    f32 at_grazing = directional(tables, table, GRAZING, alpha, cos_eye);
    f32 mean_lost = hemispherical(tables, table, LOST, alpha);
    f32 mean_grazing = hemispherical(tables, table, GRAZING, alpha);
    Vec3 white = {1.0f, 1.0f, 1.0f};
    Vec3 mean = bsdf.color + (white - bsdf.color) * (1.0f / 21.0f);
    Vec3 again = {multiple_scattering_tint(mean.x, mean_lost), multiple_scattering_tint(mean.y, mean_lost),
                  multiple_scattering_tint(mean.z, mean_lost)};
    bsdf.multiple_scattering = again * (material.metallic * share(lost, mean_lost));

    f32 entered = 1.0f - (bsdf.boundary_f0 * (1.0f - lost - at_grazing) + bsdf.boundary_f90 * at_grazing);
    f32 mean_entered =
        1.0f - (bsdf.boundary_f0 * (1.0f - mean_lost - mean_grazing) + bsdf.boundary_f90 * mean_grazing);
    Vec3 base = bsdf.color;
    if ((bsdf.flags & SATURATED) != 0) {
        f32 leaves = mean_entered / (material.ior * material.ior);
        base = {base.x * leaves / (1.0f - base.x * (1.0f - leaves)), base.y * leaves / (1.0f - base.y * (1.0f - leaves)),
                base.z * leaves / (1.0f - base.z * (1.0f - leaves))};
    }
    bsdf.diffuse = base * (even * share(entered, mean_entered));

    bool inside = !front && !thin && bsdf.glass > 0.0f;
    bsdf.coat = material.clearcoat;
    bsdf.coat_alpha = material.clearcoat_alpha;
    bsdf.coat_transmittance =
        inside || bsdf.coat <= 0.0f
            ? 1.0f
            : 1.0f - bsdf.coat * schlick_albedo(tables, table, bsdf.coat_alpha, cos_coat, 0.04f, 1.0f);
    if (bsdf.glass > 0.0f && thin) {
        bsdf.table = table;
        bsdf.eta = 1.0f / material.ior;
        f32 amplitude = (1.0f - bsdf.eta) / (1.0f + bsdf.eta);
        bsdf.lost = mean_lost > 0.0f ? lost : 0.0f;
        bsdf.lost_ratio = share(lost, mean_lost);
        bsdf.lost_ratio_behind = bsdf.lost_ratio;
        bsdf.transmitted_share = (1.0f - amplitude * amplitude) * (20.0f / 21.0f);
    } else if (bsdf.glass > 0.0f) {
        compensate_dielectric(tables, bsdf, cos_eye, front);
    }

    f32 facets = max_component(bsdf.f0) * (1.0f - lost - at_grazing) + bsdf.f90 * at_grazing;
    f32 evenly = max_component(bsdf.multiple_scattering) * mean_lost + max_component(bsdf.diffuse) * mean_entered;
    f32 rest = share(bsdf.coat_transmittance, facets + evenly + bsdf.glass);
    bsdf.coat_probability = 1.0f - bsdf.coat_transmittance;
    bsdf.facets_cumulative = bsdf.coat_probability + rest * facets;
    bsdf.diffuse_cumulative = bsdf.facets_cumulative + rest * evenly;
}

inline Bsdf bsdf_of(const f32 *tables, const Material &material, f32 cos_eye, f32 cos_coat, bool front) {
    Bsdf bsdf = {};
    bsdf.color = material.color;
    bsdf.kind = material.kind;
    bsdf.index = material.eta;
    bsdf.k = material.k;
    bsdf.eta = front ? 1.0f / material.ior : material.ior;
    bsdf.alpha = material.alpha;
    bsdf.flags = material.flags;
    bsdf.table = material.table;
    bsdf.mirrors = material.mirrors;
    bool compensated = (bsdf.flags & COMPENSATED) != 0;
    if (HAS(ROUGH_CONDUCTOR) && bsdf.kind == ROUGH_CONDUCTOR && compensated) compensate_conductor(tables, bsdf, cos_eye);
    if (HAS(ROUGH_DIELECTRIC) && bsdf.kind == ROUGH_DIELECTRIC && compensated) {
        compensate_dielectric(tables, bsdf, cos_eye, front);
    }
    if (HAS(LAYERED) && bsdf.kind == LAYERED) resolve_layers(tables, bsdf, material, cos_eye, cos_coat, front);
    return bsdf;
}

inline bool is_specular(const Bsdf &bsdf) {
    return bsdf.kind == MIRROR || bsdf.kind == DIELECTRIC || bsdf.kind == CONDUCTOR;
}

inline Vec3 metal_reflectance(const Bsdf &bsdf, f32 cosine) {
    if ((bsdf.flags & SCHLICK) != 0) {
        Vec3 white = {1.0f, 1.0f, 1.0f};
        return bsdf.color + (white - bsdf.color) * schlick(cosine);
    }
    return {fresnel_conductor(cosine, bsdf.index.x, bsdf.k.x), fresnel_conductor(cosine, bsdf.index.y, bsdf.k.y),
            fresnel_conductor(cosine, bsdf.index.z, bsdf.k.z)};
}

inline BsdfValue metal_value(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
    f32 cos_eye = dot(normal, to_eye), cos_light = dot(normal, to_light);
    if (cos_eye <= 0.0f || cos_light <= 0.0f) return no_value();
    Vec3 half = normalize(to_eye + to_light);
    f32 seen = 0.25f * visible_normal_density(normal, half, cos_eye, bsdf.alpha);
    f32 lit = shadowing(cos_eye, cos_light, bsdf.alpha, (bsdf.flags & CORRELATED) != 0);
    Vec3 once = metal_reflectance(bsdf, dot(to_eye, half)) * (seen * lit);
    if (bsdf.lost_ratio <= 0.0f) return {once, 1.0f, seen};
    f32 spread = cos_light * INV_PI;
    f32 again = bsdf.lost_ratio * directional(tables, bsdf.table, LOST, bsdf.alpha, cos_light) * spread;
    f32 mean_lost = bsdf.lost / bsdf.lost_ratio;
    Vec3 white = {1.0f, 1.0f, 1.0f};
    Vec3 mean = (bsdf.flags & SCHLICK) != 0 ? bsdf.color + (white - bsdf.color) * (1.0f / 21.0f) : bsdf.color;
    Vec3 tint = {multiple_scattering_tint(mean.x, mean_lost), multiple_scattering_tint(mean.y, mean_lost),
                 multiple_scattering_tint(mean.z, mean_lost)};
    return {once + tint * again, 1.0f, (1.0f - bsdf.lost) * seen + bsdf.lost * spread};
}

inline BsdfValue glass_value(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
    f32 cos_eye = dot(normal, to_eye), cos_light = dot(normal, to_light);
    if (cos_eye <= 0.0f || cos_light == 0.0f) return no_value();
    bool reflects = cos_light > 0.0f;
    bool bends = !reflects && (bsdf.flags & THIN) == 0;
    f32 depth = reflects ? cos_light : -cos_light;
    f32 squeezed = bends ? bsdf.eta * bsdf.eta : 1.0f;
    if (!(reflects || bends)) to_light = to_light + normal * (2.0f * depth);
    Vec3 apart = bends ? to_eye * bsdf.eta + to_light : to_eye + to_light;
    f32 length2 = dot(apart, apart);
    f32 upward = dot(normal, apart) < 0.0f ? -1.0f : 1.0f;
    Vec3 half = apart * (upward / sqrtf(length2));
    f32 eye_half = dot(to_eye, half), light_half = dot(to_light, half);
    f32 seen = 0.0f;
    if (eye_half > 0.0f && (light_half < 0.0f) == bends) {
        f32 reflected = fresnel(eye_half, bsdf.eta).reflected;
        f32 facets = visible_normal_density(normal, half, cos_eye, bsdf.alpha);
        f32 part = reflects ? reflected : 1.0f - reflected;
        seen = bends ? facets * part * (eye_half * -light_half / length2) : 0.25f * facets * part;
    }
    f32 lit = shadowing(cos_eye, depth, bsdf.alpha, (bsdf.flags & CORRELATED) != 0);
    f32 once = seen * lit;
    if (bsdf.lost_ratio <= 0.0f) return {bsdf.color, squeezed * once, seen};
    u32 function = bends ? 1 - bsdf.back : bsdf.back;
    f32 lost = reflects ? bsdf.lost_ratio : bsdf.lost_ratio_behind;
    f32 part = reflects ? 1.0f - bsdf.transmitted_share : bsdf.transmitted_share;
    f32 spread = part * depth * INV_PI;
    f32 again = lost * directional(tables, bsdf.table, function, bsdf.alpha, depth) * spread;
    return {bsdf.color, squeezed * (once + again), (1.0f - bsdf.lost) * seen + bsdf.lost * spread};
}

inline BsdfValue layered_value(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
    f32 cos_eye = dot(normal, to_eye), cos_light = dot(normal, to_light);
    if (cos_eye <= 0.0f || cos_light == 0.0f) return no_value();
    bool correlated = (bsdf.flags & CORRELATED) != 0;
    bool reflects = cos_light > 0.0f;
    Vec3 color = {0.0f, 0.0f, 0.0f};
    f32 pdf = 0.0f;
    Vec3 half = normalize(to_eye + to_light);
    f32 grazing = schlick(dot(to_eye, half));
    if (reflects) {
        f32 seen = 0.25f * visible_normal_density(normal, half, cos_eye, bsdf.alpha);
        f32 lit = shadowing(cos_eye, cos_light, bsdf.alpha, correlated);
        Vec3 at_horizon = {bsdf.f90, bsdf.f90, bsdf.f90};
        Vec3 facets = bsdf.f0 + (at_horizon - bsdf.f0) * grazing;
        f32 lost = directional(tables, bsdf.mirrors, LOST, bsdf.alpha, cos_light);
        f32 at_grazing = directional(tables, bsdf.mirrors, GRAZING, bsdf.alpha, cos_light);
        f32 entered = 1.0f - (bsdf.boundary_f0 * (1.0f - lost - at_grazing) + bsdf.boundary_f90 * at_grazing);
        f32 spread = cos_light * INV_PI;
        color = facets * (seen * lit) + (bsdf.multiple_scattering * lost + bsdf.diffuse * entered) * spread;
        pdf = (bsdf.facets_cumulative - bsdf.coat_probability) * seen +
              (bsdf.diffuse_cumulative - bsdf.facets_cumulative) * spread;
    }
    if (bsdf.glass > 0.0f) {
        BsdfValue glass = glass_value(tables, bsdf, normal, to_eye, to_light);
        Vec3 tint = reflects ? Vec3{1.0f, 1.0f, 1.0f} : bsdf.color;
        color = color + tint * (bsdf.glass * glass.scale);
        pdf = pdf + (1.0f - bsdf.diffuse_cumulative) * glass.pdf;
    }
    if (bsdf.coat > 0.0f) {
        Vec3 over = COAT_NORMAL(bsdf, normal);
        f32 coat_eye = dot(over, to_eye), coat_light = dot(over, to_light);
        f32 outside = max_f32(reflects ? coat_light : -coat_light, 0.0f);
        f32 other = 1.0f - bsdf.coat * schlick_albedo(tables, bsdf.mirrors, bsdf.coat_alpha, outside, 0.04f, 1.0f);
        if (bsdf.coat_probability <= 0.0f) {
            if (!reflects) color = color * other;
        } else if (reflects) {
            color = color * min_f32(bsdf.coat_transmittance, other);
            if (coat_eye > 0.0f && coat_light > 0.0f) {
                f32 seen = 0.25f * visible_normal_density(over, half, coat_eye, bsdf.coat_alpha);
                f32 lit = shadowing(coat_eye, coat_light, bsdf.coat_alpha, correlated);
                f32 coat = bsdf.coat * (0.04f + 0.96f * grazing) * (seen * lit);
                color = color + Vec3{coat, coat, coat};
                pdf = pdf + bsdf.coat_probability * seen;
            }
        } else {
            color = color * ((bsdf.flags & THIN) != 0 ? min_f32(bsdf.coat_transmittance, other) : bsdf.coat_transmittance);
        }
    }
    return {color, 1.0f, pdf};
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
    return no_value();
}

inline BsdfSample sample_specular(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 choice) {
    f32 eta = bsdf.eta;
    f32 cos_in = dot(normal, to_eye);
    Fresnel split = bsdf.kind == DIELECTRIC ? fresnel(cos_in, eta) : Fresnel{1.0f, 0.0f};
    if (choice < split.reflected) {
        Vec3 weight = HAS(CONDUCTOR) && bsdf.kind == CONDUCTOR ? metal_reflectance(bsdf, cos_in) : bsdf.color;
        return {reflect(-to_eye, normal), weight, 0.0f, 1.0f, 1.0f};
    }
    Vec3 direction = refract(-to_eye, normal, eta, cos_in, split.cos_out);
    return {direction, bsdf.color * (eta * eta), 0.0f, 1.0f / (eta * eta), -1.0f};
}

inline SampledDirection sample_rough(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 choice, f32 u, f32 v) {
    if (choice < bsdf.lost) {
        f32 side = choice < bsdf.lost * bsdf.transmitted_share ? -1.0f : 1.0f;
        return {sample_cosine(normal * side, u, v).direction, side};
    }
    Vec3 facet = sample_visible_normal(normal, to_eye, bsdf.alpha, u, v);
    f32 cos_in = dot(facet, to_eye);
    Vec3 mirrored = reflect(-to_eye, facet);
    if (bsdf.kind != ROUGH_CONDUCTOR) {
        Fresnel split = fresnel(cos_in, bsdf.eta);
        if (choice >= bsdf.lost + (1.0f - bsdf.lost) * split.reflected) {
            if ((bsdf.flags & THIN) != 0) return {mirrored - normal * (2.0f * dot(normal, mirrored)), -1.0f};
            return {refract(-to_eye, facet, bsdf.eta, cos_in, split.cos_out), -1.0f};
        }
    }
    return {mirrored, 1.0f};
}

inline SampledDirection sample_layers(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 choice, f32 u, f32 v) {
    if (choice >= bsdf.diffuse_cumulative) {
        choice = share(choice - bsdf.diffuse_cumulative, 1.0f - bsdf.diffuse_cumulative);
        return sample_rough(bsdf, normal, to_eye, choice, u, v);
    }
    if (choice >= bsdf.facets_cumulative) return {sample_cosine(normal, u, v).direction, 1.0f};
    bool coat = choice < bsdf.coat_probability;
    f32 alpha = coat ? bsdf.coat_alpha : bsdf.alpha;
    return {reflect(-to_eye, sample_visible_normal(coat ? COAT_NORMAL(bsdf, normal) : normal, to_eye, alpha, u, v)), 1.0f};
}

inline BsdfSample bsdf_sample(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 choice, f32 u, f32 v) {
    if (KINDS == PLAIN_KINDS || bsdf.kind == DIFFUSE) {
        CosineSample next = sample_cosine(normal, u, v);
        Vec3 weight = next.cosine > 0.0f ? bsdf.color : Vec3{0.0f, 0.0f, 0.0f};
        return {next.direction, weight, next.cosine * INV_PI, 1.0f, 1.0f};
    }
    SampledDirection way = HAS(LAYERED) && bsdf.kind == LAYERED
                               ? sample_layers(bsdf, normal, to_eye, choice, u, v)
                               : sample_rough(bsdf, normal, to_eye, choice, u, v);
    BsdfValue value = bsdf_value(tables, bsdf, normal, to_eye, way.direction);
    bool leaves = dot(normal, way.direction) * way.side > 0.0f && value.pdf > 0.0f;
    Vec3 weight = leaves ? value.color * (value.scale / value.pdf) : Vec3{0.0f, 0.0f, 0.0f};
    bool bends = way.side < 0.0f && (bsdf.flags & THIN) == 0;
    return {way.direction, weight, value.pdf, bends ? 1.0f / (bsdf.eta * bsdf.eta) : 1.0f, way.side};
}
