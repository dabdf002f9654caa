//! Arithmetic of the per-item code. Twin: `kernels/shared/math.cuh`.
//!
//! It uses only + − × ÷ √, comparisons and conversions, in one fixed order, so that both backends round alike. `glam`
//! stores the vectors, adds and scales them; operations that sum several products are written out here.

use glam::Vec3;

/// π, rounded to `f32`.
pub const PI: f32 = std::f32::consts::PI;
/// 1/π, rounded to `f32`.
pub const INV_PI: f32 = std::f32::consts::FRAC_1_PI;

/// Returns `a` if it is less than `b`, otherwise `b`, also if one of them is NaN. (`f32::min` leaves the sign of zero
/// open, and CUDA has a `min` of its own.)
#[inline(always)]
pub fn min_f32(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Returns `a` if it is greater than `b`, otherwise `b`, also if one of them is NaN.
#[inline(always)]
pub fn max_f32(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Returns `value as u32` for any value below 2²⁵; 0 for larger ones and for NaN.
///
/// The compiler does not vectorise loops with a conversion that saturates. This one only shifts the mantissa.
#[inline(always)]
pub fn truncated(value: f32) -> u32 {
    let bits = value.to_bits();
    // The value is this 24-bit mantissa times 2 to the power of `exponent` − 150. Negative values have an exponent of
    // 256 and more.
    let mantissa = (bits & 0x007f_ffff) | 0x0080_0000;
    let exponent = bits >> 23;
    (mantissa << 1)
        .checked_shr(151_u32.wrapping_sub(exponent))
        .unwrap_or(0)
}

/// Returns the largest integer that is not above the value, or NaN for NaN. (`f32::floor` may call a library.)
#[inline(always)]
pub fn round_down(value: f32) -> f32 {
    // All larger values are integers, and most do not fit an `i32`.
    let small = value.abs() < 8_388_608.0;
    if !small {
        return value;
    }
    let magnitude = truncated(value.abs()) as f32;
    let toward_zero = if value < 0.0 { -magnitude } else { magnitude };
    if toward_zero > value {
        toward_zero - 1.0
    } else {
        toward_zero
    }
}

/// Returns the dot product of two vectors.
#[inline(always)]
pub fn dot(a: Vec3, b: Vec3) -> f32 {
    a.x * b.x + a.y * b.y + a.z * b.z
}

/// Returns the right-handed cross product of two vectors.
#[inline(always)]
pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    Vec3::new(
        a.y * b.z - a.z * b.y,
        a.z * b.x - a.x * b.z,
        a.x * b.y - a.y * b.x,
    )
}

/// Returns the vector scaled to length 1. The components are NaN for the zero vector.
#[inline(always)]
pub fn normalize(v: Vec3) -> Vec3 {
    v * (1.0 / dot(v, v).sqrt())
}

/// Returns the largest of the three components.
#[inline(always)]
pub fn max_component(v: Vec3) -> f32 {
    max_f32(v.x, max_f32(v.y, v.z))
}

/// Scales a radiance down so that its largest channel is at most `max`. Keeps its hue.
#[inline(always)]
pub fn clamped(light: Vec3, max: f32) -> Vec3 {
    let largest = max_component(light);
    if largest > max {
        light * (max / largest)
    } else {
        light
    }
}

/// Returns the relative luminance of a linear sRGB color (ITU-R BT.709 weights).
#[inline]
pub fn luminance(v: Vec3) -> f32 {
    0.2126 * v.x + 0.7152 * v.y + 0.0722 * v.z
}

/// Returns the sine of an angle in radians of magnitude at most π/4, within 1.13 units in the last place (Taylor
/// series).
#[inline(always)]
pub fn sin_small(x: f32) -> f32 {
    let s = x * x;
    x * (1.0 + s * (-1.0 / 6.0 + s * (1.0 / 120.0 + s * (-1.0 / 5040.0 + s * (1.0 / 362_880.0)))))
}

/// Returns the cosine of an angle in radians of magnitude at most π/4, within 1.13 units in the last place (Taylor
/// series).
#[inline(always)]
pub fn cos_small(x: f32) -> f32 {
    let s = x * x;
    1.0 + s
        * (-0.5
            + s * (1.0 / 24.0
                + s * (-1.0 / 720.0 + s * (1.0 / 40_320.0 + s * (-1.0 / 3_628_800.0)))))
}

/// Returns sine and cosine of an angle given in full turns, each within 2.5 units in the last place. `turns` is clamped
/// to 0..=1.
#[inline(always)]
pub fn sin_cos_turns(turns: f32) -> (f32, f32) {
    let quarters = 4.0 * min_f32(max_f32(turns, 0.0), 1.0);
    let nearest = truncated(quarters + 0.5);
    let angle = (quarters - nearest as f32) * (0.5 * PI);
    let (sine, cosine) = (sin_small(angle), cos_small(angle));
    // Selects instead of a `match`, which would keep loops from being vectorised.
    let is_odd = nearest & 1 != 0;
    let (first, second) = if is_odd {
        (cosine, -sine)
    } else {
        (sine, cosine)
    };
    if nearest & 2 != 0 {
        (-first, -second)
    } else {
        (first, second)
    }
}

/// Returns the angle of the point (x, y) about the origin in radians, −π to π, within 3 units in the last place; 0 at
/// the origin.
///
/// The arctangent of ratios up to tan(π/8) is a polynomial fitted for the least relative error; larger ratios are
/// rotated by π/4 first.
#[inline(always)]
pub fn arctan2(y: f32, x: f32) -> f32 {
    let (across, along) = (y.abs(), x.abs());
    let steep = across > along;
    let (small, large) = if steep {
        (along, across)
    } else {
        (across, along)
    };
    if large == 0.0 {
        return 0.0;
    }
    let ratio = small / large;
    let turned = ratio > 0.414_213_57;
    let t = if turned {
        (ratio - 1.0) / (ratio + 1.0)
    } else {
        ratio
    };
    let s = t * t;
    let q = -0.333_329_56 + s * (0.199_779_26 + s * (-0.138_798_5 + s * 0.080_603_09));
    let small_angle = t + t * (s * q);
    let first = if turned {
        PI / 4.0 + small_angle
    } else {
        small_angle
    };
    let second = if steep { PI / 2.0 - first } else { first };
    let third = if x < 0.0 { PI - second } else { second };
    if y < 0.0 { -third } else { third }
}

/// Returns 2⁻ˣ for x ≥ 0, within 1.5 units in the last place; 0 from x = 126 on. Negative x count as 0, and NaN gives
/// 0.
#[inline]
pub fn half_power(x: f32) -> f32 {
    let finite = x < 126.0;
    if !finite {
        return 0.0;
    }
    let power = max_f32(x, 0.0);
    let nearest = truncated(power + 0.5);
    let t = nearest as f32 - power;
    let near_1 = 1.0
        + t * (std::f32::consts::LN_2
            + t * (0.240_226_5
                + t * (0.055_504_11
                    + t * (0.009_618_129
                        + t * (0.001_333_355_8 + t * (0.000_154_035_3 + t * 0.000_015_252_734))))));
    near_1 * f32::from_bits((127 - nearest) << 23)
}

/// Returns the base-2 logarithm of a positive number, within 2e-7 plus 1.5 units in the last place. Numbers below the
/// smallest normal one, and NaN, count as that one.
#[inline]
pub fn log_base_2(x: f32) -> f32 {
    // The bits of √½, from which the mantissa starts.
    const HALF_ROOT: u32 = 0x3f35_04f3;
    let bits = max_f32(x, f32::MIN_POSITIVE).to_bits() + (0x3f80_0000 - HALF_ROOT);
    let exponent = (bits >> 23) as f32 - 127.0;
    let mantissa = f32::from_bits((bits & 0x007f_ffff) + HALF_ROOT);
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let s = t * t;
    exponent
        + t * (2.885_39 + s * (0.961_796_7 + s * (0.577_078 + s * (0.412_198_6 + s * 0.320_598_9))))
}

/// Returns 2ˣ, within 2.5 units in the last place: 0 up to −126, and infinity from 126 on.
#[inline]
pub fn power_of_2(x: f32) -> f32 {
    if x < 0.0 {
        half_power(-x)
    } else {
        1.0 / half_power(x)
    }
}

/// Transforms a direction from the local frame whose z axis is `normal` (of length 1) to world space (Duff et al.
/// 2017).
#[inline(always)]
pub fn local_to_world(normal: Vec3, local: Vec3) -> Vec3 {
    let sign = if normal.z >= 0.0 { 1.0 } else { -1.0 };
    let a = -1.0 / (sign + normal.z);
    let b = normal.x * normal.y * a;
    let tangent = Vec3::new(
        1.0 + sign * normal.x * normal.x * a,
        sign * b,
        -sign * normal.x,
    );
    let bitangent = Vec3::new(b, sign + normal.y * normal.y * a, -normal.y);
    tangent * local.x + bitangent * local.y + normal * local.z
}

/// Transforms a direction from world space to the local frame whose z axis is `normal`; the inverse of
/// [`local_to_world`].
#[inline(always)]
pub fn to_local(normal: Vec3, v: Vec3) -> Vec3 {
    let sign = if normal.z >= 0.0 { 1.0 } else { -1.0 };
    let a = -1.0 / (sign + normal.z);
    let b = normal.x * normal.y * a;
    let tangent = Vec3::new(
        1.0 + sign * normal.x * normal.x * a,
        sign * b,
        -sign * normal.x,
    );
    let bitangent = Vec3::new(b, sign + normal.y * normal.y * a, -normal.y);
    Vec3::new(dot(tangent, v), dot(bitangent, v), dot(normal, v))
}

/// Maps the unit square to the unit disk, preserving areas (concentric map, Shirley & Chiu 1997).
#[inline(always)]
pub fn square_to_disk(u: f32, v: f32) -> (f32, f32) {
    let x = 2.0 * u - 1.0;
    let y = 2.0 * v - 1.0;
    if x == 0.0 && y == 0.0 {
        return (0.0, 0.0);
    }
    if x * x > y * y {
        let angle = PI / 4.0 * (y / x);
        (x * cos_small(angle), x * sin_small(angle))
    } else {
        let angle = PI / 4.0 * (x / y);
        (y * sin_small(angle), y * cos_small(angle))
    }
}

/// Returns a ray's origin: `point` moved along `normal` by `error`, the distance by which the point may miss the
/// surface.
///
/// `normal` has length 1 and points to the side on which the ray leaves.
#[inline(always)]
pub fn offset_point(point: Vec3, normal: Vec3, error: f32) -> Vec3 {
    point + normal * error
}
