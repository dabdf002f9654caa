// Thin-film interference: the reflectance of a film of a few hundred nanometres on a surface. Twin:
// src/shading/thin_film.rs.
#include "material.cuh"
#include "math.cuh"
#include "microfacet.cuh"

// A cosine of an angle in turns, damped by a Gaussian whose exponent is given to base 2.
inline f32 damped_cosine(f32 turns, f32 damping) {
    f32 cosine = sin_cos_turns(turns - round_down(turns)).y;
    return cosine * half_power(damping);
}

// Fourier transform of the color matching functions at an optical path in micrometers: Gaussians in wavelength become
// damped cosines (Belcour and Barla, 2017). The result is in linear sRGB.
inline Vec3 interference(f32 path) {
    f32 square = path * path;
    f32 x = 0.84659f * damped_cosine(1.681f * path, 0.24649122f * square) +
            0.1538683f * damped_cosine(2.2399f * path, 0.25790507f * square);
    f32 y = 1.0002219f * damped_cosine(1.7953f * path, 0.52994645f * square);
    f32 z = 1.0011225f * damped_cosine(2.2084f * path, 0.37659425f * square);
    return {3.2404542f * x - 1.5371385f * y - 0.4985314f * z, -0.969266f * x + 1.8760108f * y + 0.041556f * z,
            0.0556434f * x - 0.2040259f * y + 1.0572252f * z};
}

// Adds the reflections of all orders: the first two with their interference, the others without. The base is a
// dielectric of the given reflectance.
inline f32 film_channel(f32 front, f32 ior, f32 cos_inside, f32 base, Pair responses) {
    f32 root = sqrtf(min_f32(max_f32(base, 0.0f), 0.9999f));
    f32 base_ior = (1.0f + root) / (1.0f - root);
    f32 amplitude = (base_ior - ior) / (base_ior + ior);
    f32 at_normal = amplitude * amplitude;
    f32 back = at_normal + (1.0f - at_normal) * schlick(cos_inside);
    f32 shift = base_ior < ior ? 1.0f : -1.0f;
    f32 through = 1.0f - front;
    f32 product = min_f32(front * back, 0.9999f);
    f32 between = sqrtf(product);
    f32 repeated = through * through * back / (1.0f - product);
    f32 first = (repeated - through) * between;
    f32 sum = front + repeated + 2.0f * first * (shift * responses.x + between * responses.y);
    return min_f32(max_f32(sum, 0.0f), 1.0f);
}

// Films below 30 nm fade out, by an index that goes to 1.
inline Vec3 film_reflectance(f32 cosine, f32 ior, f32 thickness, Vec3 base) {
    f32 fade = min_f32(thickness * (1.0f / 0.03f), 1.0f);
    ior = 1.0f + (ior - 1.0f) * (fade * fade * (3.0f - 2.0f * fade));
    cosine = min_f32(max_f32(cosine, 0.0f), 1.0f);
    Fresnel split = fresnel(cosine, 1.0f / ior);
    f32 front = split.reflected, cos_inside = split.cos_out;
    f32 path = 2e-3f * ior * thickness * cos_inside;
    Vec3 once = interference(path);
    Vec3 twice = interference(2.0f * path);
    return {film_channel(front, ior, cos_inside, base.x, {once.x, twice.x}),
            film_channel(front, ior, cos_inside, base.y, {once.y, twice.y}),
            film_channel(front, ior, cos_inside, base.z, {once.z, twice.z})};
}
