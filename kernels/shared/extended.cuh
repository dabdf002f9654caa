// Extended materials: layered materials with sheen, anisotropic facets, a thin film, diffuse transmission or dispersion.
// Twin: src/shading/extended.rs.
#include "layered.cuh"
#include "sheen.cuh"
#include "thin_film.cuh"

inline Vec3 anisotropy_direction(const Material &material, Vec3 normal, Vec3 tangent, f32 handedness) {
    Vec3 upwards = cross(normal, tangent) * handedness;
    return tangent * material.anisotropy_cosine + upwards * material.anisotropy_sine;
}

inline f32 along_tangent(Vec3 local) {
    f32 across2 = local.x * local.x + local.y * local.y;
    return across2 > 0.0f ? local.x * local.x / across2 : 0.5f;
}

inline f32 facet_energy(const f32 *tables, const Bsdf &bsdf, u32 function, f32 along2, f32 cosine) {
    if (bsdf.alpha_along == bsdf.alpha) return directional(tables, bsdf.mirrors, function, bsdf.alpha, cosine);
    return anisotropic_directional(tables, bsdf.anisotropic_table, function, bsdf.alpha_along, bsdf.alpha, along2, cosine);
}

inline f32 mean_facet_energy(const f32 *tables, const Bsdf &bsdf, u32 function) {
    if (bsdf.alpha_along == bsdf.alpha) return hemispherical(tables, bsdf.mirrors, function, bsdf.alpha);
    return anisotropic_mean(tables, bsdf.anisotropic_table, function, bsdf.alpha_along, bsdf.alpha);
}

// A film dims the base by the largest channel of its reflectance, so that the base keeps its hue, as in glTF.
inline f32 base_transmittance(const Bsdf &bsdf, f32 cosine, f32 lost, f32 at_grazing) {
    f32 reflected = bsdf.boundary_f0 * (1.0f - lost - at_grazing) + bsdf.boundary_f90 * at_grazing;
    if (bsdf.film <= 0.0f) return 1.0f - reflected;
    Vec3 film = film_reflectance(cosine, bsdf.film_ior, bsdf.film_thickness, bsdf.index);
    f32 filmed = max_component(film) * (1.0f - lost);
    return 1.0f - (reflected + (filmed - reflected) * bsdf.film);
}

// The nodes and weights are those of Gaussian quadrature over cosines weighted by the cosine.
inline f32 mean_base_transmittance(const f32 *tables, const Bsdf &bsdf) {
    f32 sum = 0.0f;
#pragma unroll 1
    for (u32 number = 0; number < 3; number++) {
        f32 cosine = number == 0 ? 0.21234054f : number == 1 ? 0.59053313f : 0.91141204f;
        f32 weight = number == 0 ? 0.13965396f : number == 1 ? 0.45848221f : 0.40186383f;
        f32 lost = facet_energy(tables, bsdf, LOST, 0.5f, cosine);
        f32 at_grazing = facet_energy(tables, bsdf, GRAZING, 0.5f, cosine);
        sum = sum + weight * base_transmittance(bsdf, cosine, lost, at_grazing);
    }
    return sum;
}

inline Vec3 facet_reflectance(const Bsdf &bsdf, f32 cosine, f32 grazing) {
    Vec3 at_horizon = {bsdf.f90, bsdf.f90, bsdf.f90};
    Vec3 plain = bsdf.f0 + (at_horizon - bsdf.f0) * grazing;
    if (bsdf.film <= 0.0f) return plain;
    f32 ior = bsdf.film_ior, thickness = bsdf.film_thickness;
    Vec3 metal = film_reflectance(cosine, ior, thickness, bsdf.color) * bsdf.metallic;
    f32 even = max_f32(1.0f - bsdf.metallic - bsdf.glass, 0.0f);
    Vec3 filmed = metal + film_reflectance(cosine, ior, thickness, bsdf.index) * even;
    return plain + (filmed - plain) * bsdf.film;
}

// A mixture of what glass and mirrors lose, by the part that the film adds to the reflected light.
inline Vec3 lost_with_film(const Bsdf &bsdf, f32 lost, f32 by_mirrors) {
    f32 difference = by_mirrors - lost;
    Vec3 part = bsdf.film_added * difference;
    return {max_f32(lost + part.x, 0.0f), max_f32(lost + part.y, 0.0f), max_f32(lost + part.z, 0.0f)};
}

inline Pair again_with_film(f32 towards_eye, f32 here, f32 there, f32 transmitted) {
    f32 part = min_f32(transmitted * share(min_f32(here, there), here), 1.0f);
    return {share(towards_eye, here) * (1.0f - part), share(towards_eye, there) * part};
}

inline void resolve_film(Bsdf &bsdf, f32 lost, f32 mean_lost) {
    f32 eta = bsdf.back == 1 ? 1.0f / bsdf.eta : bsdf.eta;
    f32 cosine = 0.6f;
    f32 plain = fresnel(cosine, eta).reflected;
    f32 amplitude = (1.0f - eta) / (1.0f + eta);
    f32 base = amplitude * amplitude;
    Vec3 film = film_reflectance(cosine, bsdf.film_ior, bsdf.film_thickness, {base, base, base});
    bsdf.film_added = (film - Vec3{plain, plain, plain}) * (bsdf.film * share(1.0f, 1.0f - plain));

    f32 plain_here = share(bsdf.lost, bsdf.lost_ratio), plain_there = share(bsdf.lost, bsdf.lost_ratio_behind);
    f32 plain_ratio = share(min_f32(plain_here, plain_there), plain_here);
    Vec3 towards_eye = lost_with_film(bsdf, bsdf.lost, lost);
    Vec3 here = lost_with_film(bsdf, plain_here, mean_lost), there = lost_with_film(bsdf, plain_there, mean_lost);
    f32 transmitted = share(bsdf.transmitted_share, plain_ratio);
    Pair x = again_with_film(towards_eye.x, here.x, there.x, transmitted * (1.0f - bsdf.film_added.x));
    Pair y = again_with_film(towards_eye.y, here.y, there.y, transmitted * (1.0f - bsdf.film_added.y));
    Pair z = again_with_film(towards_eye.z, here.z, there.z, transmitted * (1.0f - bsdf.film_added.z));
    bsdf.film_again = {x.x, y.x, z.x};
    bsdf.film_again_behind = {x.y, y.y, z.y};
    Vec3 behind = bsdf.film_again_behind * there;
    bsdf.transmitted_share = share(behind.x + behind.y + behind.z, towards_eye.x + towards_eye.y + towards_eye.z);
}

inline void resolve_extended(const f32 *tables, Bsdf &bsdf, const Material &material, f32 cos_eye, f32 cos_coat,
                             f32 along2, bool front) {
    bool thin = (bsdf.flags & THIN) != 0;
    bsdf.metallic = material.metallic;
    bsdf.film = material.film;
    bsdf.film_ior = material.film_ior;
    bsdf.film_thickness = material.film_thickness;
    f32 strength = material.anisotropy * material.anisotropy;
    bsdf.alpha_along = bsdf.alpha + (1.0f - bsdf.alpha) * strength;
    bsdf.anisotropic_table = material.anisotropic_table;
    BoundaryEnergy energy = {
        facet_energy(tables, bsdf, LOST, along2, cos_eye),
        facet_energy(tables, bsdf, GRAZING, along2, cos_eye),
        mean_facet_energy(tables, bsdf, LOST),
        mean_facet_energy(tables, bsdf, GRAZING),
    };
    f32 mean_entered = resolve_base(bsdf, material, energy);
    f32 lost = directional(tables, bsdf.mirrors, LOST, bsdf.alpha, cos_eye);
    f32 mean_lost = hemispherical(tables, bsdf.mirrors, LOST, bsdf.alpha);
    resolve_coat_and_glass(tables, bsdf, material, lost, mean_lost, cos_eye, cos_coat, front);

    f32 even = (1.0f - material.metallic) * (1.0f - material.transmission);
    f32 mean_through = mean_entered;
    if (bsdf.film > 0.0f) {
        mean_through = mean_base_transmittance(tables, bsdf);
        Vec3 white = {1.0f, 1.0f, 1.0f};
        Vec3 mean = bsdf.color + (white - bsdf.color) * (1.0f / 21.0f);
        Vec3 film = film_reflectance(0.7f, bsdf.film_ior, bsdf.film_thickness, bsdf.color);
        mean = mean + (film - mean) * bsdf.film;
        Vec3 again = {multiple_scattering_tint(mean.x, energy.mean_lost),
                      multiple_scattering_tint(mean.y, energy.mean_lost),
                      multiple_scattering_tint(mean.z, energy.mean_lost)};
        bsdf.multiple_scattering = again * (material.metallic * share(energy.lost, energy.mean_lost));
    }
    if (bsdf.film > 0.0f && bsdf.glass > 0.0f) resolve_film(bsdf, lost, mean_lost);
    f32 entered = base_transmittance(bsdf, cos_eye, energy.lost, energy.at_grazing);
    f32 through = even * share(entered, mean_through);
    bsdf.diffuse = bsdf.color * (through * (1.0f - material.diffuse_transmission));
    bsdf.behind = material.diffuse_transmission_color * (through * material.diffuse_transmission);

    bool inside = !front && !thin && bsdf.glass > 0.0f;
    bsdf.sheen = inside ? Vec3{0.0f, 0.0f, 0.0f} : material.sheen;
    bsdf.sheen_strength = max_component(material.sheen);
    bsdf.sheen_alpha = material.sheen_alpha;
    bsdf.sheen_table = material.sheen_table;
    bsdf.sheen_transmittance =
        inside || bsdf.sheen_strength <= 0.0f ? 1.0f : sheen_transmittance(tables, bsdf, cos_eye);
    bsdf.sheen_factor = inside || bsdf.sheen_strength <= 0.0f
                            ? 1.0f
                            : sheen_factor(tables, bsdf, cos_eye, bsdf.sheen_transmittance);

    Vec3 filmed = facet_reflectance(bsdf, cos_eye, schlick(cos_eye));
    f32 facets = bsdf.film > 0.0f ? max_component(filmed) * (1.0f - energy.lost)
                                  : max_component(bsdf.f0) * (1.0f - energy.lost - energy.at_grazing) +
                                        bsdf.f90 * energy.at_grazing;
    f32 evenly =
        max_component(bsdf.multiple_scattering) * energy.mean_lost + max_component(bsdf.diffuse) * mean_through;
    f32 behind = max_component(bsdf.behind) * mean_through;
    f32 below = bsdf.sheen_transmittance * (facets + evenly + behind + bsdf.glass);
    f32 sheen = 1.0f - bsdf.sheen_transmittance;
    f32 rest = share(bsdf.coat_transmittance, sheen + below);
    f32 rest_below = rest * bsdf.sheen_transmittance;
    bsdf.coat_probability = 1.0f - bsdf.coat_transmittance;
    bsdf.facets_cumulative = bsdf.coat_probability + rest_below * facets;
    bsdf.diffuse_cumulative = bsdf.facets_cumulative + rest_below * evenly;
    bsdf.behind_cumulative = bsdf.diffuse_cumulative + rest_below * behind;
    bsdf.sheen_cumulative = bsdf.behind_cumulative + rest * sheen;
    if (has_coat_towards_eye(bsdf)) {
        f32 over = bsdf.film > 0.0f ? share(bsdf.coat_transmittance, mean_coat_transmittance(tables, bsdf))
                                    : coat_over_base(tables, bsdf, mean_entered);
        bsdf.diffuse = bsdf.diffuse * over;
        bsdf.behind = bsdf.behind * over;
    }
    if (!inside && bsdf.sheen_strength > 0.0f) {
        f32 over = sheen_over_base(tables, bsdf, mean_through);
        bsdf.diffuse = bsdf.diffuse * over;
        bsdf.behind = bsdf.behind * (thin ? over : bsdf.sheen_transmittance);
    }
}

inline Vec3 film_tint(const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
    f32 cos_light = dot(normal, to_light);
    bool reflects = cos_light > 0.0f;
    bool bends = !reflects && (bsdf.flags & THIN) == 0;
    if (!(reflects || bends)) to_light = to_light - normal * (2.0f * cos_light);
    Vec3 apart = bends ? to_eye * bsdf.eta + to_light : to_eye + to_light;
    f32 upward = dot(normal, apart) < 0.0f ? -1.0f : 1.0f;
    Vec3 half = apart * (upward / sqrtf(dot(apart, apart)));
    f32 eye_half = dot(to_eye, half);
    if (eye_half <= 0.0f || (dot(to_light, half) < 0.0f) != bends) return {1.0f, 1.0f, 1.0f};
    Fresnel split = fresnel(eye_half, bsdf.eta);
    Vec3 film = filmed_glass(bsdf, eye_half, split);
    f32 mean = (film.x + film.y + film.z) * (1.0f / 3.0f);
    f32 whole = coated_part(bsdf, mean, split.cos_out);
    f32 x = coated_part(bsdf, film.x, split.cos_out);
    f32 y = coated_part(bsdf, film.y, split.cos_out);
    f32 z = coated_part(bsdf, film.z, split.cos_out);
    if (reflects) return {share(x, whole), share(y, whole), share(z, whole)};
    f32 rest = 1.0f - whole;
    return {share(1.0f - x, rest), share(1.0f - y, rest), share(1.0f - z, rest)};
}

inline BsdfValue filmed_glass_value(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
    f32 cos_eye = dot(normal, to_eye), cos_light = dot(normal, to_light);
    bool reflects = cos_light > 0.0f;
    bool bends = !reflects && (bsdf.flags & THIN) == 0;
    f32 depth = reflects ? cos_light : -cos_light;
    f32 squeezed = bends ? bsdf.eta * bsdf.eta : 1.0f;
    GlassFacets facets = glass_facets(tables, bsdf, normal, to_eye, to_light, cos_eye, cos_light);
    Vec3 color = film_tint(bsdf, normal, to_eye, to_light) * (squeezed * facets.once);
    if (bsdf.lost_ratio <= 0.0f) return {color, 1.0f, facets.pdf};
    Vec3 factor = reflects ? bsdf.film_again : bsdf.film_again_behind;
    u32 function = bends ? 1 - bsdf.back : bsdf.back;
    f32 lost = directional(tables, bsdf.table, function, bsdf.alpha, depth);
    f32 by_mirrors = directional(tables, bsdf.mirrors, LOST, bsdf.alpha, depth);
    f32 spread = depth * INV_PI;
    Vec3 again = factor * lost_with_film(bsdf, lost, by_mirrors) * spread;
    f32 pdf = facets.pdf + (again.x + again.y + again.z) * (1.0f / 3.0f);
    if (meets_coat_from_inside(bsdf) && !reflects) {
        f32 mean = mean_coat_above_glass(tables, bsdf);
        again = again * share(coat_transmittance(tables, bsdf, depth), mean);
    }
    return {color + again * squeezed, 1.0f, pdf};
}

inline BsdfValue extended_value(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
    f32 cos_eye = dot(normal, to_eye), cos_light = dot(normal, to_light);
    if (cos_eye <= 0.0f || cos_light == 0.0f) return no_value();
    bool reflects = cos_light > 0.0f;
    bool thin = (bsdf.flags & THIN) != 0;
    f32 depth = reflects ? cos_light : -cos_light;
    bool coated = has_coat_towards_eye(bsdf);
    Vec3 half = normalize(to_eye + to_light);
    f32 eye_half = dot(to_eye, half);
    f32 grazing = schlick(eye_half);
    Vec3 eye = in_frame(normal, bsdf.tangent, to_eye);
    Vec3 light = in_frame(normal, bsdf.tangent, to_light);
    f32 along2 = along_tangent(light);
    f32 lost = facet_energy(tables, bsdf, LOST, along2, depth);
    f32 at_grazing = facet_energy(tables, bsdf, GRAZING, along2, depth);
    f32 entered = base_transmittance(bsdf, depth, lost, at_grazing);
    f32 spread = depth * INV_PI;
    Vec3 color = {0.0f, 0.0f, 0.0f}, evenly;
    f32 pdf;
    if (reflects) {
        Vec3 half_here = in_frame(normal, bsdf.tangent, half);
        f32 seen = 0.25f * anisotropic_density(eye, half_here, bsdf.alpha_along, bsdf.alpha);
        f32 lit = anisotropic_shadowing(eye, light, bsdf.alpha_along, bsdf.alpha, true);
        color = facet_reflectance(bsdf, eye_half, grazing) * (seen * lit) +
                bsdf.multiple_scattering * (lost * spread);
        evenly = bsdf.diffuse * (entered * spread);
        pdf = (bsdf.facets_cumulative - bsdf.coat_probability) * seen +
              (bsdf.diffuse_cumulative - bsdf.facets_cumulative) * spread;
    } else {
        f32 squeezed = thin ? 1.0f : bsdf.eta * bsdf.eta;
        evenly = bsdf.behind * (entered * spread * squeezed);
        pdf = (bsdf.behind_cumulative - bsdf.diffuse_cumulative) * spread;
    }
    if (bsdf.glass > 0.0f) {
        bool filmed = bsdf.film > 0.0f;
        BsdfValue glass = filmed ? filmed_glass_value(tables, bsdf, normal, to_eye, to_light)
                                 : glass_value(tables, bsdf, normal, to_eye, to_light);
        Vec3 tint = reflects ? Vec3{1.0f, 1.0f, 1.0f} : bsdf.color;
        color = filmed ? color + tint * glass.color * bsdf.glass : color + tint * (bsdf.glass * glass.scale);
        pdf = pdf + (1.0f - bsdf.sheen_cumulative) * glass.pdf;
    }
    if (bsdf.sheen_strength > 0.0f) {
        bool inside = max_component(bsdf.sheen) <= 0.0f;
        bool light_outside = reflects ? !inside : thin || inside;
        f32 other = light_outside ? sheen_transmittance(tables, bsdf, depth) : 1.0f;
        bool twice = light_outside && !inside;
        f32 passed = twice ? bsdf.sheen_factor * sheen_factor(tables, bsdf, depth, other)
                           : bsdf.sheen_transmittance * other;
        color = color * passed;
        evenly = evenly * other;
        if (reflects && !inside) {
            Vec3 across = cross(normal, half);
            f32 fibres = sheen_value(cos_eye, cos_light, dot(across, across), bsdf.sheen_alpha);
            f32 scale = min_f32(sheen_scale(tables, bsdf, cos_eye), sheen_scale(tables, bsdf, cos_light));
            color = color + bsdf.sheen * (fibres * scale);
            pdf = pdf + (bsdf.sheen_cumulative - bsdf.behind_cumulative) * (0.5f * INV_PI);
        }
    }
    if (coated) {
        return coated_value(tables, bsdf, normal, to_eye, to_light, half, grazing, reflects, color, evenly, pdf);
    }
    return {color + evenly, 1.0f, pdf};
}

inline SampledDirection sample_extended(const f32 *tables, const Bsdf &bsdf, Vec3 normal, Vec3 to_eye, f32 choice,
                                        f32 u, f32 v) {
    if (choice >= bsdf.sheen_cumulative) {
        choice = share(choice - bsdf.sheen_cumulative, 1.0f - bsdf.sheen_cumulative);
        return sample_rough(tables, bsdf, normal, to_eye, choice, u, v);
    }
    if (choice >= bsdf.behind_cumulative) {
        f32 cosine = 1.0f - u;
        f32 radius = sqrtf(max_f32(0.0f, 1.0f - cosine * cosine));
        Pair turn = sin_cos_turns(v);
        return {normalize(local_to_world(normal, {radius * turn.y, radius * turn.x, cosine})), 1.0f};
    }
    if (choice >= bsdf.diffuse_cumulative) return {sample_cosine(-normal, u, v).direction, -1.0f};
    if (choice >= bsdf.facets_cumulative) return {sample_cosine(normal, u, v).direction, 1.0f};
    Vec3 half = choice < bsdf.coat_probability
                    ? sample_visible_normal(COAT_NORMAL(bsdf, normal), to_eye, bsdf.coat_alpha, u, v)
                    : sample_anisotropic_normal(normal, bsdf.tangent, to_eye, bsdf.alpha_along, bsdf.alpha, u, v);
    return {reflect(-to_eye, half), 1.0f};
}
