// Rough glass: evaluation with compensation of multiple scattering, and sampling of GGX facets. Twin:
// src/shading/dielectric.rs.
#include "bsdf_types.cuh"
#include "energy.cuh"
#include "facets.cuh"
#include "material.cuh"
#include "microfacet.cuh"
#include "sampler.cuh"
#include "thin_film.cuh"

// Only the kernel variant for coated glass contains the code for light that meets a coat from inside.
inline bool meets_coat_from_inside(const Bsdf &bsdf) {
    return (KINDS & COATED_GLASS) != 0 && (bsdf.flags & THIN) == 0 && bsdf.coat > 0.0f && bsdf.coat_probability <= 0.0f;
}

// The energy that single scattering loses is split between both sides as a smooth boundary would split it. Reciprocity
// bounds the transmitted part by the smaller mean of both sides.
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

// What the coat outside reflects of light that leaves the glass counts as reflected by the facet.
inline f32 coated_part(const Bsdf &bsdf, f32 reflected, f32 cos_out) {
    if (!meets_coat_from_inside(bsdf)) return reflected;
    f32 coat = bsdf.coat * (0.04f + 0.96f * schlick(cos_out));
    return reflected + (1.0f - reflected) * coat;
}

inline Vec3 filmed_glass(const Bsdf &bsdf, f32 cos_in, const Fresnel &split) {
    Vec3 plain = {split.reflected, split.reflected, split.reflected};
    if (split.reflected >= 1.0f) return plain;
    f32 outside = bsdf.back == 1 ? split.cos_out : cos_in;
    f32 amplitude = (1.0f - bsdf.eta) / (1.0f + bsdf.eta);
    f32 base = amplitude * amplitude;
    Vec3 film = film_reflectance(outside, bsdf.film_ior, bsdf.film_thickness, {base, base, base});
    return plain + (film - plain) * bsdf.film;
}

inline f32 reflected_part(const Bsdf &bsdf, f32 cos_in, const Fresnel &split) {
    if (HAS(EXTENDED) && bsdf.film > 0.0f) {
        Vec3 film = filmed_glass(bsdf, cos_in, split);
        f32 mean = (film.x + film.y + film.z) * (1.0f / 3.0f);
        return coated_part(bsdf, mean, split.cos_out);
    }
    return coated_part(bsdf, split.reflected, split.cos_out);
}

inline f32 coat_transmittance(const f32 *tables, const Bsdf &bsdf, f32 cosine) {
    f32 lost = directional(tables, bsdf.mirrors, LOST, bsdf.coat_alpha, cosine);
    f32 at_grazing = directional(tables, bsdf.mirrors, GRAZING, bsdf.coat_alpha, cosine);
    return 1.0f - bsdf.coat * (0.04f * (1.0f - lost - at_grazing) + at_grazing);
}

inline f32 mean_coat_transmittance(const f32 *tables, const Bsdf &bsdf) {
    f32 lost = hemispherical(tables, bsdf.mirrors, LOST, bsdf.coat_alpha);
    f32 at_grazing = hemispherical(tables, bsdf.mirrors, GRAZING, bsdf.coat_alpha);
    return 1.0f - bsdf.coat * (0.04f * (1.0f - lost - at_grazing) + at_grazing);
}

inline f32 alpha_below_coat(const Bsdf &bsdf) {
    bool anisotropic = HAS(EXTENDED) && bsdf.kind == EXTENDED && bsdf.alpha_along > bsdf.alpha;
    return anisotropic ? 0.5f * (bsdf.alpha_along + bsdf.alpha) : bsdf.alpha;
}

// The product of the factors of both directions dims facets below the coat. It is reciprocal, and its mean over the
// lobe of a direction is the transmittance there.
inline f32 coat_factor(const f32 *tables, const Bsdf &bsdf, f32 cosine, f32 transmittance) {
    f32 reflected = below_coat(tables, bsdf.mirrors, alpha_below_coat(bsdf), bsdf.coat_alpha, cosine);
    return share(transmittance, sqrtf(max_f32(1.0f - bsdf.coat * reflected, 0.0f)));
}

inline f32 mean_coat_above_glass(const f32 *tables, const Bsdf &bsdf) {
    return 1.0f - bsdf.coat * mean_below_coat(tables, bsdf.table, 0, bsdf.alpha, bsdf.coat_alpha);
}

inline f32 part_below_coat(const f32 *tables, const Bsdf &bsdf, f32 cos_eye, f32 cos_light, f32 cos_eye_half,
                           f32 reflected) {
    f32 cos_out = fresnel(cos_eye_half, bsdf.eta).cos_out;
    f32 through = share(1.0f - reflected, 1.0f - bsdf.coat * (0.04f + 0.96f * schlick(cos_out)));
    if (cos_light < 0.0f) return through * coat_transmittance(tables, bsdf, -cos_light);
    f32 factors = below_coat(tables, bsdf.table, bsdf.alpha, bsdf.coat_alpha, cos_eye) *
                  below_coat(tables, bsdf.table, bsdf.alpha, bsdf.coat_alpha, cos_light);
    f32 back = 1.0f - coat_transmittance(tables, bsdf, cos_out);
    return 1.0f - through * (1.0f - back * factors);
}

// `once` is the BSDF times the cosine for light that one facet scatters, and `pdf` that of sampling it this way.
struct GlassFacets {
    f32 once, pdf;
};

inline GlassFacets glass_facets(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light,
                                f32 cos_eye, f32 cos_light) {
    bool reflects = cos_light > 0.0f;
    bool bends = !reflects && (bsdf.flags & THIN) == 0;
    f32 depth = reflects ? cos_light : -cos_light;
    if (!(reflects || bends)) to_light = to_light + normal * (2.0f * depth);
    Vec3 apart = bends ? to_eye * bsdf.eta + to_light : to_eye + to_light;
    f32 length2 = dot(apart, apart);
    f32 upward = dot(normal, apart) < 0.0f ? -1.0f : 1.0f;
    Vec3 half = apart * (upward / sqrtf(length2));
    f32 eye_half = dot(to_eye, half), light_half = dot(to_light, half);
    bool inside_coat = meets_coat_from_inside(bsdf);
    f32 seen = 0.0f;
    f32 passed = 1.0f;
    if (eye_half > 0.0f && (light_half < 0.0f) == bends) {
        f32 reflected = reflected_part(bsdf, eye_half, fresnel(eye_half, bsdf.eta));
        f32 facets = facet_density(bsdf, normal, to_eye, half, cos_eye);
        f32 part = reflects ? reflected : 1.0f - reflected;
        if (inside_coat) passed = share(part_below_coat(tables, bsdf, cos_eye, cos_light, eye_half, reflected), part);
        seen = bends ? facets * part * (eye_half * -light_half / length2) : 0.25f * facets * part;
    }
    f32 lit = facet_shadowing(bsdf, normal, to_eye, to_light, depth);
    f32 once = seen * lit;
    f32 pdf = bsdf.lost_ratio > 0.0f ? once : seen;
    if (inside_coat) once *= passed;
    return {once, pdf};
}

inline BsdfValue glass_value(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
    f32 cos_eye = dot(normal, to_eye), cos_light = dot(normal, to_light);
    if (cos_eye <= 0.0f || cos_light == 0.0f) return no_value();
    bool reflects = cos_light > 0.0f;
    bool bends = !reflects && (bsdf.flags & THIN) == 0;
    f32 depth = reflects ? cos_light : -cos_light;
    f32 squeezed = bends ? bsdf.eta * bsdf.eta : 1.0f;
    GlassFacets facets = glass_facets(tables, bsdf, normal, to_eye, to_light, cos_eye, cos_light);
    Vec3 color = reflects ? bsdf.index : bsdf.color;
    if (bsdf.lost_ratio <= 0.0f) return {color, squeezed * facets.once, facets.pdf};
    u32 function = bends ? 1 - bsdf.back : bsdf.back;
    f32 lost = reflects ? bsdf.lost_ratio : bsdf.lost_ratio_behind;
    f32 part = reflects ? 1.0f - bsdf.transmitted_share : bsdf.transmitted_share;
    f32 spread = part * depth * INV_PI;
    f32 again = lost * directional(tables, bsdf.table, function, bsdf.alpha, depth) * spread;
    f32 pdf = facets.pdf + again;
    if (meets_coat_from_inside(bsdf) && !reflects) {
        f32 mean = mean_coat_above_glass(tables, bsdf);
        again *= share(coat_transmittance(tables, bsdf, depth), mean);
    }
    return {color, squeezed * (facets.once + again), pdf};
}

// The direction comes from a hash of the random numbers that have chosen a facet before. Those of facets whose light is
// blocked are not uniform, and their hash is.
inline SampledDirection sample_again(const f32 *tables, const Bsdf &bsdf, Vec3 normal, f32 choice, f32 u, f32 v) {
    f32 side = choice < bsdf.transmitted_share ? -1.0f : 1.0f;
    bool bends = side < 0.0f && (bsdf.flags & THIN) == 0;
    u32 function = bends ? 1 - bsdf.back : bsdf.back;
    u32 key = hash((u32)(v * 16777216.0f) ^ hash((u32)(u * 16777216.0f)));
    f32 place = unit(key) + 0.5f / 16777216.0f;
    f32 cos2 = sample_directional(tables, bsdf.table, function, bsdf.alpha, place);
    Pair turn = sin_cos_turns(unit(hash(key)));
    f32 radius = sqrtf(max_f32(0.0f, 1.0f - cos2));
    Vec3 local = {radius * turn.y, radius * turn.x, sqrtf(cos2)};
    return {normalize(local_to_world(normal * side, local)), side};
}

// The light of a facet of compensated glass leaves with the probability `lit` that other facets do not block it, and
// otherwise goes to the compensating lobe. The weights of samples are then all the same. A path in glass of high index
// meets the surface some hundred times, and a product of varying weights would have a mean that hardly any path has.
inline SampledDirection sample_rough(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 choice, f32 u,
                                     f32 v) {
    bool conducts = bsdf.kind == ROUGH_CONDUCTOR;
    if (conducts && choice < bsdf.lost) return {sample_cosine(normal, u, v).direction, 1.0f};
    Vec3 facet = sample_facet(bsdf, normal, to_eye, u, v);
    Vec3 mirrored = reflect(-to_eye, facet);
    if (conducts) return {mirrored, 1.0f};
    f32 cos_in = dot(facet, to_eye);
    Fresnel split = fresnel(cos_in, bsdf.eta);
    f32 part = reflected_part(bsdf, cos_in, split);
    SampledDirection once = {mirrored, 1.0f};
    f32 rest = share(choice, part);
    if (choice >= part) {
        bool thin = (bsdf.flags & THIN) != 0;
        rest = share(choice - part, 1.0f - part);
        once.side = -1.0f;
        once.direction = thin ? mirrored - normal * (2.0f * dot(normal, mirrored))
                              : refract(-to_eye, facet, bsdf.eta, cos_in, split.cos_out);
    }
    if (bsdf.lost_ratio <= 0.0f) return once;
    f32 depth = dot(normal, once.direction) * once.side;
    f32 lit = depth > 0.0f ? facet_shadowing(bsdf, normal, to_eye, once.direction, depth) : 0.0f;
    if (rest < lit) return once;
    return sample_again(tables, bsdf, normal, share(rest - lit, 1.0f - lit), u, v);
}
