// Layered materials: a clear coat over a mixture of metal, glass and a diffuse base below a dielectric boundary. Twin:
// src/shading/layered.rs.
#include "conductor.cuh"
#include "dielectric.cuh"

// The clear coat uses the base's shading normal, except in the kernel variant for coats with normal maps.
#define COAT_NORMAL(bsdf, normal) ((KINDS & COAT_NORMALS) != 0 ? (bsdf).coat_normal : (normal))

struct BoundaryEnergy {
    f32 lost, at_grazing, mean_lost, mean_grazing;
};

inline f32 resolve_base(Bsdf &bsdf, const Material &material, const BoundaryEnergy &energy) {
    f32 lost = energy.lost, at_grazing = energy.at_grazing;
    f32 mean_lost = energy.mean_lost, mean_grazing = energy.mean_grazing;
    f32 dielectric = 1.0f - material.metallic;
    f32 even = dielectric * (1.0f - material.transmission);
    bsdf.glass = dielectric * material.transmission;
    bsdf.f0 = bsdf.color * material.metallic + material.eta * even;
    bsdf.f90 = material.metallic + material.specular * even;
    bsdf.boundary_f0 = max_component(material.eta);
    bsdf.boundary_f90 = material.specular;

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
    return mean_entered;
}

inline void choose_lobes(Bsdf &bsdf, const BoundaryEnergy &energy, f32 mean_entered) {
    f32 facets = max_component(bsdf.k) *
                 (max_component(bsdf.f0) * (1.0f - energy.lost - energy.at_grazing) + bsdf.f90 * energy.at_grazing);
    f32 evenly =
        max_component(bsdf.multiple_scattering) * energy.mean_lost + max_component(bsdf.diffuse) * mean_entered;
    f32 rest = share(bsdf.coat_transmittance, facets + evenly + bsdf.glass);
    bsdf.coat_probability = 1.0f - bsdf.coat_transmittance;
    bsdf.facets_cumulative = bsdf.coat_probability + rest * facets;
    bsdf.diffuse_cumulative = bsdf.facets_cumulative + rest * evenly;
}

inline void resolve_coat_and_glass(const f32 *tables, Bsdf &bsdf, const Material &material, f32 lost, f32 mean_lost,
                                   f32 cos_eye, f32 cos_coat, bool front) {
    bool thin = (bsdf.flags & THIN) != 0;
    u32 table = bsdf.mirrors;
    bool inside = !front && !thin && bsdf.glass > 0.0f;
    bsdf.coat = material.clearcoat;
    bsdf.coat_alpha = material.clearcoat_alpha;
    bsdf.coat_transmittance =
        inside || bsdf.coat <= 0.0f
            ? 1.0f
            : coat_transmittance(tables, bsdf, cos_coat);
    bsdf.coat_factor =
        bsdf.coat > 0.0f && !inside ? coat_factor(tables, bsdf, cos_coat, bsdf.coat_transmittance) : 1.0f;
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
        bool inside_coat = (KINDS & COATED_GLASS) != 0 && inside && bsdf.coat > 0.0f;
        if (inside_coat) bsdf.transmitted_share *= mean_coat_above_glass(tables, bsdf);
    }
}

inline bool has_coat_towards_eye(const Bsdf &bsdf) { return bsdf.coat > 0.0f && bsdf.coat_probability > 0.0f; }

inline f32 coat_over_base(const f32 *tables, const Bsdf &bsdf, f32 mean_entered) {
    f32 alpha = alpha_below_coat(bsdf), coat_alpha = bsdf.coat_alpha;
    f32 both = bsdf.boundary_f0 * mean_below_coat(tables, bsdf.mirrors, 0, alpha, coat_alpha) +
               bsdf.boundary_f90 * mean_below_coat(tables, bsdf.mirrors, 1, alpha, coat_alpha);
    f32 reflected = 1.0f - mean_coat_transmittance(tables, bsdf) - bsdf.coat * both;
    return share(bsdf.coat_transmittance, 1.0f - share(reflected, mean_entered));
}

inline void resolve_layers(const f32 *tables, Bsdf &bsdf, const Material &material, f32 cos_eye, f32 cos_coat,
                           bool front) {
    f32 alpha = bsdf.alpha;
    u32 table = bsdf.mirrors;
    BoundaryEnergy energy = {
        directional(tables, table, LOST, alpha, cos_eye),
        directional(tables, table, GRAZING, alpha, cos_eye),
        hemispherical(tables, table, LOST, alpha),
        hemispherical(tables, table, GRAZING, alpha),
    };
    f32 mean_entered = resolve_base(bsdf, material, energy);
    resolve_coat_and_glass(tables, bsdf, material, energy.lost, energy.mean_lost, cos_eye, cos_coat, front);
    choose_lobes(bsdf, energy, mean_entered);
    if (has_coat_towards_eye(bsdf)) bsdf.diffuse = bsdf.diffuse * coat_over_base(tables, bsdf, mean_entered);
}

inline BsdfValue coated_value(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light, Vec3 half,
                              f32 grazing, bool reflects, Vec3 color, Vec3 evenly, f32 pdf) {
    bool correlated = (bsdf.flags & CORRELATED) != 0;
    Vec3 over = COAT_NORMAL(bsdf, normal);
    f32 coat_eye = dot(over, to_eye), coat_light = dot(over, to_light);
    f32 outside = max_f32(reflects ? coat_light : -coat_light, 0.0f);
    f32 other = coat_transmittance(tables, bsdf, outside);
    bool twice = reflects || (bsdf.flags & THIN) != 0;
    color = color * (twice ? bsdf.coat_factor * coat_factor(tables, bsdf, outside, other) : 1.0f - bsdf.coat_probability);
    color = color + evenly * other;
    if (!reflects) return {color, 1.0f, pdf};
    if (coat_eye > 0.0f && coat_light > 0.0f) {
        f32 seen = 0.25f * visible_normal_density(over, half, coat_eye, bsdf.coat_alpha);
        f32 lit = shadowing(coat_eye, coat_light, bsdf.coat_alpha, correlated);
        f32 coat = bsdf.coat * (0.04f + 0.96f * grazing) * (seen * lit);
        color = color + Vec3{coat, coat, coat};
        pdf = pdf + bsdf.coat_probability * seen;
    }
    return {color, 1.0f, pdf};
}

inline BsdfValue layered_value(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
    f32 cos_eye = dot(normal, to_eye), cos_light = dot(normal, to_light);
    if (cos_eye <= 0.0f || cos_light == 0.0f) return no_value();
    bool correlated = (bsdf.flags & CORRELATED) != 0;
    bool reflects = cos_light > 0.0f, coated = has_coat_towards_eye(bsdf);
    Vec3 color = {0.0f, 0.0f, 0.0f}, evenly = {0.0f, 0.0f, 0.0f};
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
        Vec3 again = bsdf.multiple_scattering * lost, diffuse = bsdf.diffuse * entered;
        facets = bsdf.k * facets * (seen * lit);
        color = facets + again * spread;
        evenly = diffuse * spread;
        if (!coated) color = facets + (again + diffuse) * spread;
        pdf = (bsdf.facets_cumulative - bsdf.coat_probability) * seen +
              (bsdf.diffuse_cumulative - bsdf.facets_cumulative) * spread;
    }
    if (bsdf.glass > 0.0f) {
        BsdfValue glass = glass_value(tables, bsdf, normal, to_eye, to_light);
        Vec3 tint = reflects ? Vec3{1.0f, 1.0f, 1.0f} : bsdf.color;
        color = color + tint * (bsdf.glass * glass.scale);
        pdf = pdf + (1.0f - bsdf.diffuse_cumulative) * glass.pdf;
    }
    if (coated) {
        return coated_value(tables, bsdf, normal, to_eye, to_light, half, grazing, reflects, color, evenly, pdf);
    }
    return {color, 1.0f, pdf};
}

inline SampledDirection sample_layers(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 choice,
                                      f32 u, f32 v) {
    if (choice >= bsdf.diffuse_cumulative) {
        choice = share(choice - bsdf.diffuse_cumulative, 1.0f - bsdf.diffuse_cumulative);
        return sample_rough(tables, bsdf, normal, to_eye, choice, u, v);
    }
    if (choice >= bsdf.facets_cumulative) return {sample_cosine(normal, u, v).direction, 1.0f};
    bool coat = choice < bsdf.coat_probability;
    f32 alpha = coat ? bsdf.coat_alpha : bsdf.alpha;
    return {reflect(-to_eye, sample_visible_normal(coat ? COAT_NORMAL(bsdf, normal) : normal, to_eye, alpha, u, v)), 1.0f};
}
