// Arithmetic of the per-item code. Twin: src/math.rs.
#include "words.cuh"

struct Vec3 {
    f32 x, y, z;
};

struct Pair {
    f32 x, y;
};

inline Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec3 operator*(Vec3 a, Vec3 b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
inline Vec3 operator*(Vec3 v, f32 s) { return {v.x * s, v.y * s, v.z * s}; }
inline Vec3 operator-(Vec3 v) { return {-v.x, -v.y, -v.z}; }

inline f32 min_f32(f32 a, f32 b) { return a < b ? a : b; }
inline f32 max_f32(f32 a, f32 b) { return a > b ? a : b; }

// Floats from 2^23 on are whole numbers.
inline f32 round_down(f32 value) {
    bool small = fabsf(value) < 8388608.0f;
    if (!small) return value;
    f32 toward_zero = (f32)(i32)value;
    return toward_zero > value ? toward_zero - 1.0f : toward_zero;
}

inline f32 dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

inline Vec3 cross(Vec3 a, Vec3 b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

inline Vec3 normalize(Vec3 v) { return v * (1.0f / sqrtf(dot(v, v))); }

inline bool any_nonzero(Vec3 v) { return v.x != 0.0f || v.y != 0.0f || v.z != 0.0f; }

inline f32 max_component(Vec3 v) { return max_f32(v.x, max_f32(v.y, v.z)); }

inline Vec3 clamped(Vec3 light, f32 max) {
    f32 largest = max_component(light);
    return largest > max ? light * (max / largest) : light;
}

inline f32 luminance(Vec3 v) { return 0.2126f * v.x + 0.7152f * v.y + 0.0722f * v.z; }

// Taylor series for angles up to an eighth of a turn. Library functions round differently on the CPU.
inline f32 sin_small(f32 x) {
    f32 s = x * x;
    return x * (1.0f + s * (-1.0f / 6.0f + s * (1.0f / 120.0f + s * (-1.0f / 5040.0f + s * (1.0f / 362880.0f)))));
}

inline f32 cos_small(f32 x) {
    f32 s = x * x;
    return 1.0f +
           s * (-0.5f +
                s * (1.0f / 24.0f + s * (-1.0f / 720.0f + s * (1.0f / 40320.0f + s * (-1.0f / 3628800.0f)))));
}

// Reduces the angle to the nearest quarter turn, whose sine and cosine are 0 or 1.
inline Pair sin_cos_turns(f32 turns) {
    f32 quarters = 4.0f * min_f32(max_f32(turns, 0.0f), 1.0f);
    u32 nearest = (u32)(quarters + 0.5f);
    f32 angle = (quarters - (f32)nearest) * (0.5f * PI);
    f32 sine = sin_small(angle), cosine = cos_small(angle);
    switch (nearest & 3u) {
        case 0: return {sine, cosine};
        case 1: return {cosine, -sine};
        case 2: return {-sine, -cosine};
        default: return {-cosine, sine};
    }
}

// Reduces the ratio to at most the tangent of a sixteenth of a turn, evaluates a polynomial there, and undoes the
// reductions in reverse order: by an eighth of a turn, by the diagonal, by the axes.
inline f32 arctan2(f32 y, f32 x) {
    f32 across = fabsf(y), along = fabsf(x);
    bool steep = across > along;
    f32 small = steep ? along : across;
    f32 large = steep ? across : along;
    if (large == 0.0f) return 0.0f;
    f32 ratio = small / large;
    bool turned = ratio > 0.41421357f;
    f32 t = turned ? (ratio - 1.0f) / (ratio + 1.0f) : ratio;
    f32 s = t * t;
    f32 q = -0.33332956f + s * (0.19977926f + s * (-0.1387985f + s * 0.08060309f));
    f32 small_angle = t + t * (s * q);
    f32 first = turned ? PI / 4.0f + small_angle : small_angle;
    f32 second = steep ? PI / 2.0f - first : first;
    f32 third = x < 0.0f ? PI - second : second;
    return y < 0.0f ? -third : third;
}

// 2^-x: the whole part of x becomes the exponent, and a polynomial approximates 2^t for the rest t in [-0.5, 0.5].
inline f32 half_power(f32 x) {
    bool finite = x < 126.0f;
    if (!finite) return 0.0f;
    f32 power = max_f32(x, 0.0f);
    u32 nearest = (u32)(power + 0.5f);
    f32 t = (f32)nearest - power;
    f32 near_1 =
        1.0f +
        t * (0.6931472f +
             t * (0.2402265f +
                  t * (0.05550411f +
                       t * (0.009618129f + t * (0.0013333558f + t * (0.0001540353f + t * 0.000015252734f))))));
    return near_1 * bits_to_float((127 - nearest) << 23);
}

// Splits x into an exponent and a mantissa between the roots of 0.5 and 2, whose logarithm is a series in (m - 1) / (m
// + 1).
inline f32 log_base_2(f32 x) {
    constexpr u32 HALF_ROOT = 0x3f3504f3u;
    u32 bits = float_to_bits(max_f32(x, 1.17549435e-38f)) + (0x3f800000u - HALF_ROOT);
    f32 exponent = (f32)(bits >> 23) - 127.0f;
    f32 mantissa = bits_to_float((bits & 0x007fffffu) + HALF_ROOT);
    f32 t = (mantissa - 1.0f) / (mantissa + 1.0f);
    f32 s = t * t;
    return exponent + t * (2.8853901f + s * (0.9617967f + s * (0.577078f + s * (0.4121986f + s * 0.3205989f))));
}

inline f32 power_of_2(f32 x) { return x < 0.0f ? half_power(-x) : 1.0f / half_power(x); }

// The tangent frame of Duff and others, "Building an Orthonormal Basis, Revisited" (2017). It has no branch, and is
// continuous except where z changes its sign.
inline Vec3 local_to_world(Vec3 normal, Vec3 local) {
    f32 sign = normal.z >= 0.0f ? 1.0f : -1.0f;
    f32 a = -1.0f / (sign + normal.z);
    f32 b = normal.x * normal.y * a;
    Vec3 tangent = {1.0f + sign * normal.x * normal.x * a, sign * b, -sign * normal.x};
    Vec3 bitangent = {b, sign + normal.y * normal.y * a, -normal.y};
    return tangent * local.x + bitangent * local.y + normal * local.z;
}

inline Vec3 to_local(Vec3 normal, Vec3 v) {
    f32 sign = normal.z >= 0.0f ? 1.0f : -1.0f;
    f32 a = -1.0f / (sign + normal.z);
    f32 b = normal.x * normal.y * a;
    Vec3 tangent = {1.0f + sign * normal.x * normal.x * a, sign * b, -sign * normal.x};
    Vec3 bitangent = {b, sign + normal.y * normal.y * a, -normal.y};
    return {dot(tangent, v), dot(bitangent, v), dot(normal, v)};
}

// Concentric map of Shirley and Chiu: squares around the center become circles, so that areas and neighborhoods stay.
inline Pair square_to_disk(f32 u, f32 v) {
    f32 x = 2.0f * u - 1.0f;
    f32 y = 2.0f * v - 1.0f;
    if (x == 0.0f && y == 0.0f) return {0.0f, 0.0f};
    if (x * x > y * y) {
        f32 angle = PI / 4.0f * (y / x);
        return {x * cos_small(angle), x * sin_small(angle)};
    }
    f32 angle = PI / 4.0f * (x / y);
    return {y * sin_small(angle), y * cos_small(angle)};
}

inline Vec3 offset_point(Vec3 point, Vec3 normal, f32 error) { return point + normal * error; }
