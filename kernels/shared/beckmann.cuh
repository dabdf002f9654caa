// Beckmann's microfacet distribution with Smith masking-shadowing. Twin: src/shading/beckmann.rs.
#include "math.cuh"

inline f32 bell(f32 x) { return half_power(x * x * 1.442695f); }

// A polynomial in 1 / (1 + a x) times the bell: Abramowitz and Stegun, 7.1.26.
inline f32 error_function(f32 x, f32 bell) {
    f32 t = 1.0f / (1.0f + 0.3275911f * fabsf(x));
    f32 sum = -1.453152f + t * 1.0614054f;
    sum = 0.2548296f + t * (-0.28449674f + t * (1.4214137f + t * sum));
    f32 positive = 1.0f - t * sum * bell;
    return x < 0.0f ? -positive : positive;
}

// Two polynomials, one for the tails.
inline f32 inverse_error_function(f32 x) {
    f32 w = -0.6931472f * log_base_2((1.0f - x) * (1.0f + x));
    if (w < 5.0f) {
        w = w - 2.5f;
        f32 p = 3.4327394e-7f + w * 2.8102264e-8f;
        p = -4.3915065e-6f + w * (-3.5233877e-6f + w * p);
        p = -0.001253725f + w * (0.00021858087f + w * p);
        return x * (1.5014094f + w * (0.24664073f + w * (-0.0041776816f + w * p)));
    }
    w = sqrtf(w) - 3.0f;
    f32 p = 0.00010095056f + w * -0.00020021426f;
    p = -0.0036734284f + w * (0.0013493432f + w * p);
    p = -0.0076224613f + w * (0.0057395077f + w * p);
    return x * (2.8329768f + w * (1.001674f + w * (0.0094388705f + w * p)));
}

// Visible area of all facets, which Smith's masking divides the cosine by.
inline f32 beckmann_area(Vec3 direction, f32 alpha_x, f32 alpha_y) {
    f32 x = direction.x * alpha_x, y = direction.y * alpha_y;
    f32 spread = sqrtf(x * x + y * y);
    f32 slope = direction.z / max_f32(spread, 1e-20f);
    f32 near = bell(slope);
    return 0.5f * (direction.z * (1.0f + error_function(slope, near)) + spread * 0.5641896f * near);
}

inline f32 beckmann_density(Vec3 eye, Vec3 half, f32 alpha_x, f32 alpha_y) {
    if (half.z <= 0.0f) return 0.0f;
    f32 x = half.x / alpha_x, y = half.y / alpha_y;
    f32 cos2 = half.z * half.z;
    f32 power = half_power((x * x + y * y) / cos2 * 1.442695f);
    if (power <= 0.0f) return 0.0f;
    f32 area = alpha_x * alpha_y * cos2 * cos2;
    return INV_PI * power / (area * beckmann_area(eye, alpha_x, alpha_y));
}

inline f32 beckmann_shadowing(Vec3 eye, Vec3 light, f32 alpha_x, f32 alpha_y, bool correlated) {
    f32 lit = beckmann_area(light, alpha_x, alpha_y);
    if (!correlated) return min_f32(light.z / lit, 1.0f);
    f32 seen = beckmann_area(eye, alpha_x, alpha_y);
    return min_f32(seen * light.z / (seen * light.z + lit * eye.z - eye.z * light.z), 1.0f);
}

// Newton's method on the integral of the visible area, which has a closed form. An interval that holds the solution is
// halved where a step would leave it.
inline f32 sample_slope(f32 cosine, f32 sine, f32 u) {
    f32 lowest = cosine / max_f32(sine, 1e-20f);
    f32 bell_lowest = bell(lowest);
    f32 area_lowest = 0.5f * cosine * error_function(lowest, bell_lowest);
    f32 edge = 0.5f * 0.5641896f * sine;
    f32 wanted = u * (0.5f * cosine + area_lowest + edge * bell_lowest);
    f32 low = max_f32(-lowest, -4.0f);
    f32 high = 4.0f;
    f32 slope = min_f32(sine, 0.7f);
    for (u32 step = 0; step < BECKMANN_STEPS; step += 1) {
        f32 here = bell(slope);
        f32 sum = 0.5f * cosine * error_function(slope, here) + area_lowest + edge * (bell_lowest - here);
        f32 above = sum - wanted;
        if (above > 0.0f) high = slope;
        else low = slope;
        f32 rise = 0.5641896f * here * (cosine + slope * sine);
        f32 next = slope - above / max_f32(rise, 1e-20f);
        slope = next >= low && next <= high ? next : 0.5f * (low + high);
    }
    return slope;
}

inline Vec3 sample_beckmann_normal(Vec3 eye, f32 alpha_x, f32 alpha_y, f32 u, f32 v) {
    f32 x = eye.x * alpha_x, y = eye.y * alpha_y;
    f32 spread = sqrtf(x * x + y * y);
    f32 length = sqrtf(spread * spread + eye.z * eye.z);
    f32 along = sample_slope(eye.z / length, spread / length, u);
    f32 across = inverse_error_function(2.0f * v - (1.0f - 0.5f / 8388608.0f));
    bool tilted = spread > 0.0f;
    f32 cosine = tilted ? x / spread : 1.0f, sine = tilted ? y / spread : 0.0f;
    Vec3 half = {(along * cosine - across * sine) * alpha_x, (along * sine + across * cosine) * alpha_y, 1.0f};
    return half * (1.0f / sqrtf(dot(half, half)));
}
