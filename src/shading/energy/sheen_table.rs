//! Computation of the energy table of sheen. It needs no twin, because only the host builds tables.

use std::f64::consts::PI;

use crate::shading::material::MIN_SHEEN_ALPHA;

/// Number of quadrature steps over the cosine of the light, and over half a turn.
const STEPS: u32 = 48;

/// Returns the directional albedo of white fibres with roughness `alpha`. It may exceed 1 at grazing angles, because
/// their shadowing is a fit.
pub(super) fn albedo(cosine: f64, alpha: f64) -> f64 {
    let alpha = alpha.max(MIN_SHEEN_ALPHA.into());
    let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
    let masked = 1.0 + lambda(cosine, alpha);
    let exponent = 1.0 / alpha;
    let mut sum = 0.0;
    for step in 0..STEPS {
        // Dense at grazing angles, where the light comes from.
        let root = (f64::from(step) + 0.5) / f64::from(STEPS);
        let cos_light = root * root;
        let sin_light = (1.0 - cos_light * cos_light).sqrt();
        let both_masked = masked + lambda(cos_light, alpha);
        let mut around = 0.0;
        for turn in 0..STEPS {
            let angle = PI * (f64::from(turn) + 0.5) / f64::from(STEPS);
            let between = cosine * cos_light + sine * sin_light * libm::cos(angle);
            let height = cosine + cos_light;
            let cos2_half = height * height / (2.0 + 2.0 * between).max(1e-12);
            let sin2_half = (1.0 - cos2_half).max(0.0);
            around += libm::pow(sin2_half, 0.5 * exponent);
        }
        sum += 2.0 * root * around / both_masked;
    }
    // The integral of the distribution over a full turn.
    let scale = 2.0 * PI / f64::from(STEPS * STEPS);
    sum * scale * (2.0 + exponent) / (2.0 * PI) / (4.0 * cosine)
}

/// Returns [`charlie_lambda`](crate::shading::bsdf::sheen::charlie_lambda) in double precision.
fn lambda(cosine: f64, alpha: f64) -> f64 {
    let logarithm = if cosine < 0.5 {
        fit(cosine, alpha)
    } else {
        2.0 * fit(0.5, alpha) - fit(1.0 - cosine, alpha)
    };
    libm::exp(logarithm)
}

/// Returns [`charlie_fit`](crate::shading::bsdf::sheen::charlie_fit) in double precision.
fn fit(cosine: f64, alpha: f64) -> f64 {
    let smooth = (1.0 - alpha) * (1.0 - alpha);
    let between = |rough: f64, smoothest: f64| rough + (smoothest - rough) * smooth;
    let a = between(21.5473, 25.3245);
    let b = between(3.82987, 3.32435);
    let c = between(0.19823, 0.16801);
    let d = between(-1.97760, -1.27393);
    let e = between(-4.32054, -4.85967);
    a / (1.0 + b * libm::pow(cosine, c)) + d * cosine + e
}
