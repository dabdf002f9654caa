//! Arithmetic of the subject. Twin: `kernels/shared/math.cuh`.
//!
//! Only + − × ÷ √, comparisons and conversions, in one written order, so that both machines round alike. `glam` stores
//! the vectors and adds and scales them; whatever sums several products is spelt out here.

use glam::Vec3;

/// π, rounded to `f32`.
pub const PI: f32 = std::f32::consts::PI;
/// 1/π, rounded to `f32`.
pub const INV_PI: f32 = std::f32::consts::FRAC_1_PI;

/// The smaller of two; the second if they do not compare. (`f32::min` leaves the sign of zero open, and CUDA has a `min`.)
#[inline(always)]
pub fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The larger of two; the second if they do not compare.
#[inline(always)]
pub fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The largest whole number that is not above the value; the value itself if it is no number. (`f32::floor` may be a
/// library's.)
#[inline]
pub fn round_down(value: f32) -> f32 {
    // Beyond this all are whole, and most are no `i32`.
    let small = value.abs() < 8_388_608.0;
    if !small {
        return value;
    }
    let toward_zero = value as i32 as f32;
    if toward_zero > value {
        toward_zero - 1.0
    } else {
        toward_zero
    }
}

/// Inner product.
#[inline]
pub fn dot(a: Vec3, b: Vec3) -> f32 {
    a.x * b.x + a.y * b.y + a.z * b.z
}

/// Right-handed vector product.
#[inline]
pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    Vec3::new(
        a.y * b.z - a.z * b.y,
        a.z * b.x - a.x * b.z,
        a.x * b.y - a.y * b.x,
    )
}

/// The vector's direction, of length 1.
#[inline]
pub fn normalize(v: Vec3) -> Vec3 {
    v * (1.0 / dot(v, v).sqrt())
}

/// The largest of the three components.
#[inline]
pub fn max_component(v: Vec3) -> f32 {
    greater(v.x, greater(v.y, v.z))
}

/// Light dimmed until its largest channel is no more than `most`.
#[inline]
pub fn clamped(light: Vec3, most: f32) -> Vec3 {
    let largest = max_component(light);
    if largest > most {
        light * (most / largest)
    } else {
        light
    }
}

/// Relative luminance of linear sRGB (ITU-R BT.709).
#[inline]
pub fn luminance(v: Vec3) -> f32 {
    0.2126 * v.x + 0.7152 * v.y + 0.0722 * v.z
}

/// Sine of an angle of at most π/4, by its series: within 1.13 units in the last place.
#[inline]
pub fn sin_small(x: f32) -> f32 {
    let s = x * x;
    x * (1.0 + s * (-1.0 / 6.0 + s * (1.0 / 120.0 + s * (-1.0 / 5040.0 + s * (1.0 / 362_880.0)))))
}

/// Cosine of an angle of at most π/4, by its series: within 1.13 units in the last place.
#[inline]
pub fn cos_small(x: f32) -> f32 {
    let s = x * x;
    1.0 + s
        * (-0.5
            + s * (1.0 / 24.0
                + s * (-1.0 / 720.0 + s * (1.0 / 40_320.0 + s * (-1.0 / 3_628_800.0)))))
}

/// Sine and cosine of an angle of so many full turns, 0..=1: each within 2.5 units in the last place.
#[inline]
pub fn sin_cos_turns(turns: f32) -> (f32, f32) {
    let quarters = 4.0 * lesser(greater(turns, 0.0), 1.0);
    let nearest = (quarters + 0.5) as u32;
    let angle = (quarters - nearest as f32) * (0.5 * PI);
    let (sine, cosine) = (sin_small(angle), cos_small(angle));
    match nearest & 3 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

/// The angle of the point (x, y) about the origin, −π to π, 0 at the origin itself: within 3 units in the last place.
/// The arctangent of an angle of at most π/8 is a polynomial, fitted for the least relative error; greater ones are turned.
#[inline]
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

/// ½ to the power of a number that is not negative, by a series about the nearest whole one: within 1.5 units in the last
/// place, and 0 from 126 on.
#[inline]
pub fn half_power(x: f32) -> f32 {
    let finite = x < 126.0;
    if !finite {
        return 0.0;
    }
    let power = greater(x, 0.0);
    let nearest = (power + 0.5) as u32;
    let t = nearest as f32 - power;
    let near_1 = 1.0
        + t * (std::f32::consts::LN_2
            + t * (0.240_226_5
                + t * (0.055_504_11
                    + t * (0.009_618_129
                        + t * (0.001_333_355_8 + t * (0.000_154_035_3 + t * 0.000_015_252_734))))));
    near_1 * f32::from_bits((127 - nearest) << 23)
}

/// A local direction (x, y, z) in the frame whose z axis is `normal` (Duff et al. 2017).
#[inline(always)]
pub fn to_world(normal: Vec3, local: Vec3) -> Vec3 {
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

/// A direction in the frame whose z axis is `normal`: what `to_world` takes back.
#[inline]
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

/// The unit square onto the unit disk, areas kept (Shirley & Chiu 1997).
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

/// A point away from a surface, by the length that the point may be off. `normal` is of length 1 and points to the side
/// that a ray leaves on.
#[inline]
pub fn offset_point(point: Vec3, normal: Vec3, error: f32) -> Vec3 {
    point + normal * error
}
