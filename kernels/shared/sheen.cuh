// Sheen: the reflection of cloth fibres that stand on a surface. Twin: src/shading/sheen.rs.
#include "bsdf_types.cuh"
#include "dielectric.cuh"
#include "energy.cuh"
#include "math.cuh"

// The Charlie distribution of fibre directions (Estevez and Kulla 2017), as in KHR_materials_sheen.
inline f32 charlie_density(f32 sin2_half, f32 alpha) {
    f32 exponent = 1.0f / alpha;
    return (2.0f + exponent) * power_of_2(0.5f * exponent * log_base_2(sin2_half)) * (0.5f * INV_PI);
}

// A fit of the logarithm of Smith's lambda, for cosines up to 0.5; `charlie_lambda` mirrors it.
inline f32 charlie_fit(f32 cosine, f32 alpha) {
    f32 smooth = (1.0f - alpha) * (1.0f - alpha);
    f32 a = 21.5473f + (25.3245f - 21.5473f) * smooth;
    f32 b = 3.82987f + (3.32435f - 3.82987f) * smooth;
    f32 c = 0.19823f + (0.16801f - 0.19823f) * smooth;
    f32 d = -1.97760f + (-1.27393f + 1.97760f) * smooth;
    f32 e = -4.32054f + (-4.85967f + 4.32054f) * smooth;
    return a / (1.0f + b * power_of_2(c * log_base_2(cosine))) + d * cosine + e;
}

inline f32 charlie_lambda(f32 cosine, f32 alpha) {
    f32 logarithm = cosine < 0.5f ? charlie_fit(cosine, alpha)
                                  : 2.0f * charlie_fit(0.5f, alpha) - charlie_fit(1.0f - cosine, alpha);
    return power_of_2(1.44269504f * logarithm);
}

inline f32 sheen_value(f32 cos_eye, f32 cos_light, f32 sin2_half, f32 alpha) {
    f32 masked = 1.0f + charlie_lambda(cos_eye, alpha) + charlie_lambda(cos_light, alpha);
    return charlie_density(sin2_half, alpha) / (4.0f * cos_eye * masked);
}

// The formula reflects more light than arrives at some grazing angles.
inline f32 sheen_scale(const f32 *tables, const Bsdf &bsdf, f32 cosine) {
    f32 reflected = directional(tables, bsdf.sheen_table, SHEEN_RAW, bsdf.sheen_alpha, cosine);
    return 1.0f / max_f32(reflected, 1.0f);
}

inline f32 sheen_transmittance(const f32 *tables, const Bsdf &bsdf, f32 cosine) {
    f32 reflected = directional(tables, bsdf.sheen_table, SHEEN_BOUNDED, bsdf.sheen_alpha, cosine);
    return 1.0f - bsdf.sheen_strength * min_f32(reflected, 1.0f);
}

// Like `coat_factor`, with fibres in place of the coat.
inline f32 sheen_factor(const f32 *tables, const Bsdf &bsdf, f32 cosine, f32 transmittance) {
    f32 reflected = below_coat(tables, bsdf.sheen_table, alpha_below_coat(bsdf), bsdf.sheen_alpha, cosine);
    f32 passed = 1.0f - bsdf.sheen_strength * reflected;
    return share(transmittance, sqrtf(max_f32(passed, 0.0f)));
}

// The transmittance towards the eye over its mean for light that leaves the diffuse base. Boundary and fibres both
// transmit less at grazing angles, so that the mean of the product is not that of means.
inline f32 sheen_over_base(const f32 *tables, const Bsdf &bsdf, f32 mean_entered) {
    f32 alpha = alpha_below_coat(bsdf);
    f32 mean = hemispherical(tables, bsdf.sheen_table, SHEEN_BOUNDED, bsdf.sheen_alpha);
    f32 both = bsdf.boundary_f0 * mean_below_coat(tables, bsdf.sheen_table, 0, alpha, bsdf.sheen_alpha) +
               bsdf.boundary_f90 * mean_below_coat(tables, bsdf.sheen_table, 1, alpha, bsdf.sheen_alpha);
    f32 reflected = bsdf.sheen_strength * (mean - both);
    return share(bsdf.sheen_transmittance, 1.0f - share(reflected, mean_entered));
}
