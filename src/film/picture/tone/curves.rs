//! The tone curves, as published.
//!
//! Logarithms and powers come from tables computed with `libm`, so that every machine gives the same bytes.

use std::sync::LazyLock;

use glam::{Mat3, Vec3};

/// Creates a matrix from its rows.
const fn matrix(rows: [[f32; 3]; 3]) -> Mat3 {
    let [[a, b, c], [d, e, f], [g, h, i]] = rows;
    Mat3::from_cols_array(&[a, d, g, b, e, h, c, f, i])
}

/// Matrix that moves each primary towards white before the sigmoid.
const AGX_INSET: Mat3 = matrix([
    [0.842_479_06, 0.078_433_6, 0.079_223_745],
    [0.042_328_24, 0.878_468_64, 0.079_166_13],
    [0.042_375_655, 0.078_433_6, 0.879_143],
]);
/// Inverse of the inset, applied after the sigmoid.
const AGX_OUTSET: Mat3 = matrix([
    [1.196_879, -0.098_020_88, -0.099_029_74],
    [-0.052_896_85, 1.151_903_1, -0.098_961_18],
    [-0.052_971_635, -0.098_043_45, 1.151_073_7],
]);
/// Range of the curve in stops below and above middle grey.
const AGX_STOPS: (f64, f64) = (10.0, 6.5);
/// Linear value of middle grey.
const MIDDLE_GREY: f64 = 0.18;

/// Evaluates the AgX sigmoid by Jed Smith at the logarithm of a light, which is 0 and 1 at the ends of `AGX_STOPS`. Its
/// slope is 2 where middle grey maps to 0.5, its toe power 3 and its shoulder power 3.25. It is scaled so that 0 and 1
/// map to themselves.
pub(super) fn agx_sigmoid(x: f64) -> f64 {
    let (slope, pivot) = (2.0, (AGX_STOPS.0 / (AGX_STOPS.0 + AGX_STOPS.1), 0.5));
    let (power, room) = if x < pivot.0 {
        (3.0, (pivot.0, pivot.1))
    } else {
        (3.25, (1.0 - pivot.0, 1.0 - pivot.1))
    };
    let raised = |base: f64| libm::pow(base, power);
    let scale = (raised(slope * room.0 / room.1) - 1.0) / raised(room.0);
    let from_pivot = x - pivot.0;
    pivot.1 + slope * from_pivot / libm::pow(1.0 + scale * raised(from_pivot.abs()), 1.0 / power)
}

/// Applies the AgX curve to linear sRGB. Returns linear light, 0..=1 per channel.
pub(super) fn agx(light: Vec3) -> Vec3 {
    let signal = (AGX_INSET * light).to_array().map(agx_channel);
    // The result is the signal of a display with gamma 2.2.
    let signal = AGX_OUTSET * Vec3::from_array(signal);
    Vec3::from_array(signal.to_array().map(gamma_2_2))
}

/// Range of the sigmoid's table, as exponents of two.
const AGX_EXPONENTS: (i32, i32) = (-13, 5);
/// Binary logarithm of the number of table entries per power of two.
const AGX_STEP_BITS: u32 = 8;

/// Evaluates the sigmoid by table lookup with linear interpolation; the index is the exponent and top mantissa bits.
fn agx_channel(light: f32) -> f32 {
    static TABLE: LazyLock<Vec<f32>> = LazyLock::new(|| {
        let table_start = table_start().to_bits() >> AGX_SHIFT;
        let steps = ((AGX_EXPONENTS.1 - AGX_EXPONENTS.0) as u32) << AGX_STEP_BITS;
        let sigmoid = |step: u32| {
            let light = f64::from(f32::from_bits((table_start + step) << AGX_SHIFT));
            let stops = libm::log2(light / MIDDLE_GREY) + AGX_STOPS.0;
            agx_sigmoid((stops / (AGX_STOPS.0 + AGX_STOPS.1)).clamp(0.0, 1.0)) as f32
        };
        (0..=steps).map(sigmoid).collect()
    });
    let table = &*TABLE;
    if light < table_start() {
        return 0.0;
    }
    let place = ((light.to_bits() - table_start().to_bits()) >> AGX_SHIFT) as usize;
    let (Some(&low), Some(&high)) = (table.get(place), table.get(place + 1)) else {
        return 1.0;
    };
    let begins = f32::from_bits(light.to_bits() >> AGX_SHIFT << AGX_SHIFT);
    let ends = f32::from_bits(((light.to_bits() >> AGX_SHIFT) + 1) << AGX_SHIFT);
    low + (high - low) * ((light - begins) / (ends - begins))
}

/// Shift from float bits to a table index.
const AGX_SHIFT: u32 = f32::MANTISSA_DIGITS - 1 - AGX_STEP_BITS;

/// Returns the light of the first table entry.
fn table_start() -> f32 {
    libm::exp2f(AGX_EXPONENTS.0 as f32)
}

/// Converts the signal of a display with gamma 2.2 to linear light; clips the signal to 0..=1.
fn gamma_2_2(signal: f32) -> f32 {
    const STEPS: usize = 4096;
    static TABLE: LazyLock<Vec<f32>> = LazyLock::new(|| {
        let light = |step: usize| libm::pow(step as f64 / STEPS as f64, 2.2) as f32;
        (0..=STEPS).map(light).collect()
    });
    let place = signal.clamp(0.0, 1.0) * STEPS as f32;
    let step = (place as usize).min(STEPS - 1);
    let (low, high) = (TABLE[step], TABLE[step + 1]);
    low + (high - low) * (place - step as f32)
}

/// Matrix from linear sRGB to the rendering space of the fit, including the reference transform's desaturation.
const ACES_INPUT: Mat3 = matrix([
    [0.59719, 0.35458, 0.04823],
    [0.07600, 0.90834, 0.01566],
    [0.02840, 0.13383, 0.83777],
]);
/// Matrix from the rendering space to linear sRGB, including the output transform's desaturation.
const ACES_OUTPUT: Mat3 = matrix([
    [1.60475, -0.53108, -0.07367],
    [-0.10208, 1.10813, -0.00605],
    [-0.00327, -0.07276, 1.07602],
]);

/// Applies the ACES fit to linear sRGB. Returns linear light, not clipped to 0..=1.
pub(super) fn aces(light: Vec3) -> Vec3 {
    let v = ACES_INPUT * light;
    let above = v * (v + Vec3::splat(0.0245786)) - Vec3::splat(0.000090537);
    let below = v * (v * 0.983729 + Vec3::splat(0.432951)) + Vec3::splat(0.238081);
    ACES_OUTPUT * (above / below)
}

/// Peak value at which compression begins; the Fresnel reflectance has been subtracted.
const NEUTRAL_KNEE: f32 = 0.8 - NEUTRAL_FRESNEL;
/// Fresnel reflectance that is subtracted from the light.
const NEUTRAL_FRESNEL: f32 = 0.04;
/// Strength of the desaturation of bright colors.
const NEUTRAL_DESATURATION: f32 = 0.15;

/// Applies the Khronos PBR Neutral curve to linear sRGB. Returns linear light.
pub(super) fn neutral(light: Vec3) -> Vec3 {
    let min_channel = light.min_element();
    let offset = if min_channel < 2.0 * NEUTRAL_FRESNEL {
        min_channel - min_channel * min_channel / (4.0 * NEUTRAL_FRESNEL)
    } else {
        NEUTRAL_FRESNEL
    };
    let light = light - Vec3::splat(offset);
    let peak = light.max_element();
    if peak < NEUTRAL_KNEE {
        return light;
    }
    let room = 1.0 - NEUTRAL_KNEE;
    let lowered = 1.0 - room * room / (peak + room - NEUTRAL_KNEE);
    let keeps = 1.0 / (NEUTRAL_DESATURATION * (peak - lowered) + 1.0);
    light * (lowered / peak * keeps) + Vec3::splat(lowered * (1.0 - keeps))
}
