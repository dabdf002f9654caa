//! Tests of the tone curves, which map linear light to 8-bit display values.

use glam::Vec3;
use raysieve::film::picture::{
    Picture,
    tone::{Tone, apply, to_srgb8},
};

/// Returns the 8-bit code of each value, asserting that all three channels agree.
fn codes(values: &[f32], exposure_stops: f32) -> Vec<u8> {
    let pixels = values.iter().map(|&value| Vec3::splat(value)).collect();
    let picture = Picture {
        width: values.len() as u32,
        height: 1,
        pixels,
    };
    let rgba = to_srgb8(&picture, exposure_stops, Tone::Srgb);
    assert_eq!(rgba.len(), 4 * values.len());
    let (pixels, _) = rgba.as_chunks::<4>();
    let code = |&[red, green, blue, alpha]: &[u8; 4]| {
        assert_eq!((green, blue, alpha), (red, red, 255));
        red
    };
    pixels.iter().map(code).collect()
}

/// Returns the sRGB encoding (IEC 61966-2-1) of a linear value, scaled to 0..=255 and not rounded.
fn curve(linear: f64) -> f64 {
    255.0
        * if linear <= 0.0031308 {
            12.92 * linear
        } else {
            1.055 * linear.powf(1.0 / 2.4) - 0.055
        }
}

#[test]
fn every_value_maps_to_the_nearest_srgb_code() {
    // All exponents of visible values, with a prime step through the mantissas.
    let values: Vec<f32> = (1e-5_f32.to_bits()..=1.0_f32.to_bits())
        .step_by(211)
        .map(f32::from_bits)
        .collect();
    for (&value, code) in values.iter().zip(codes(&values, 0.0)) {
        let distance = (curve(f64::from(value)) - f64::from(code)).abs();
        assert!(
            distance < 0.500_01,
            "{value:e} shows as {code}, {distance} away"
        );
    }
}

#[test]
fn every_code_is_reached_from_its_own_value() {
    let linear = |code: u32| {
        let encoded = f64::from(code) / 255.0;
        if encoded <= 0.04045 {
            encoded / 12.92
        } else {
            ((encoded + 0.055) / 1.055).powf(2.4)
        }
    };
    let values: Vec<f32> = (0..=255).map(|code| linear(code) as f32).collect();
    assert_eq!(codes(&values, 0.0), (0..=255).collect::<Vec<u8>>());
}

#[test]
fn srgb_is_monotonic() {
    let values: Vec<f32> = (0..1.0_f32.to_bits())
        .step_by(1009)
        .map(f32::from_bits)
        .collect();
    assert!(codes(&values, 0.0).is_sorted());
}

#[test]
fn values_outside_the_display_range_are_clipped() {
    assert_eq!(
        codes(&[-1.0, -0.0, 0.0, 1e-30, 1.0, 1.5, f32::MAX], 0.0),
        [0, 0, 0, 0, 255, 255, 255]
    );
    assert_eq!(codes(&[f32::MAX, f32::MIN], 20.0), [255, 0]);
}

#[test]
fn a_stop_doubles_the_light() {
    let values: Vec<f32> = (0..1000).map(|step| step as f32 / 2000.0).collect();
    let doubled: Vec<f32> = values.iter().map(|value| 2.0 * value).collect();
    assert_eq!(codes(&values, 1.0), codes(&doubled, 0.0));
    assert_eq!(codes(&doubled, -1.0), codes(&values, 0.0));
}

#[test]
fn values_that_are_not_finite_show_as_magenta() {
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let pixels = vec![Vec3::new(0.5, wrong, 0.5), Vec3::splat(0.5)];
        let rgba = to_srgb8(
            &Picture {
                width: 2,
                height: 1,
                pixels,
            },
            0.0,
            Tone::Srgb,
        );
        assert_eq!(rgba, [255, 0, 255, 255, 188, 188, 188, 255]);
    }
}

/// Returns grey levels from 2⁻²⁰ upwards, eight per stop.
fn greys() -> Vec<f32> {
    (0..256)
        .map(|step| (step as f32 / 8.0 - 20.0).exp2())
        .collect()
}

/// Applies a tone curve and clips to the display range.
fn clipped(tone: Tone, light: Vec3) -> Vec3 {
    apply(tone, light).clamp(Vec3::ZERO, Vec3::ONE)
}

#[test]
fn every_tone_curve_keeps_black_black_and_grey_neutral() {
    for tone in Tone::ALL {
        assert_eq!(clipped(tone, Vec3::ZERO), Vec3::ZERO, "{tone:?}");
        for grey in greys() {
            let shown = clipped(tone, Vec3::splat(grey));
            // The rows of the published AgX and ACES matrices sum to 1 within 1.4e-4.
            let difference = shown.max_element() - shown.min_element();
            assert!(difference < 5e-4, "{tone:?} of {grey}: {shown}");
        }
    }
}

#[test]
fn every_tone_curve_is_monotonic_in_grey() {
    for tone in Tone::ALL {
        let mut last = -1.0;
        for grey in greys() {
            let shown = clipped(tone, Vec3::splat(grey)).y;
            assert!(
                shown >= last,
                "{tone:?}: {grey} shows as {shown}, after {last}"
            );
            last = shown;
        }
        assert!(last > 0.99, "{tone:?} does not reach white: {last}");
    }
}

#[test]
fn every_tone_curve_maps_any_light_into_the_display_range() {
    let lights = [
        0.0,
        1e-30,
        1.0,
        1e6,
        1e20,
        f32::MAX,
        -1.0,
        f32::MIN,
        f32::INFINITY,
    ];
    for tone in [Tone::AgX, Tone::Aces, Tone::Neutral] {
        for red in lights {
            for blue in lights {
                let shown = apply(tone, Vec3::new(red, 0.5, blue));
                assert!(shown.is_finite(), "{tone:?} of {red}, {blue}: {shown}");
            }
        }
    }
}

/// Checks the values that the author states: middle grey maps to the signal 0.5 of a gamma 2.2 display, and the ends of
/// the 16.5 stops to 0 and 1.
///
/// Values in between are compared with the widely published sigmoid fit.
#[test]
fn agx_has_its_published_values() {
    let signal = |grey: f64| {
        let shown = apply(Tone::AgX, Vec3::splat(grey as f32));
        f64::from(shown.y).powf(1.0 / 2.2)
    };
    assert!((signal(0.18) - 0.5).abs() < 1e-4, "{}", signal(0.18));
    assert!(signal(0.18 * 2_f64.powf(-10.0)) < 1e-3);
    assert!((signal(0.18 * 2_f64.powf(6.5)) - 1.0).abs() < 1e-4);
    assert_eq!(
        apply(Tone::AgX, Vec3::splat(1000.0)).y,
        apply(Tone::AgX, Vec3::splat(17.0)).y
    );
    for stop in -9..=6 {
        let x = (f64::from(stop) + 10.0) / 16.5;
        let from_pivot: f64 = x - 0.606_060_606_060_606_1;
        let (scale, power) = if from_pivot < 0.0 {
            (59.507875, 3.0)
        } else {
            (69.862_789_135_455_39, 3.25)
        };
        let compressed = (1.0 + scale * from_pivot.abs().powf(power)).powf(-1.0 / power);
        let published = 0.5 + 2.0 * from_pivot * compressed;
        let ours = signal(0.18 * f64::from(stop).exp2());
        assert!(
            (ours - published).abs() < 2e-4,
            "{stop} stops: {ours}, published {published}"
        );
    }
}

/// Checks that a saturated light becomes paler as it becomes brighter, and that its strongest channel stays the same.
#[test]
fn agx_desaturates_bright_colors() {
    let mut last = 1.0;
    for stop in -2..=10 {
        let shown = clipped(Tone::AgX, Vec3::new(1.0, 0.1, 0.02) * (stop as f32).exp2());
        assert!(
            shown.x >= shown.y - 5e-4 && shown.y >= shown.z - 5e-4,
            "{shown}"
        );
        let saturation = 1.0 - shown.min_element() / shown.max_element();
        assert!(saturation <= last + 1e-3, "{stop} stops: {shown}");
        last = saturation;
    }
    assert!(last < 0.35, "{last} is left");
}

/// Compares grey values with the curve of the fit alone, because its matrices preserve white to five digits.
#[test]
fn aces_has_its_published_values() {
    for grey in greys() {
        let grey = f64::from(grey);
        let above = grey * (grey + 0.0245786) - 0.000090537;
        let below = grey * (0.983729 * grey + 0.4329510) + 0.238081;
        let (published, shown) = (above / below, apply(Tone::Aces, Vec3::splat(grey as f32)).y);
        assert!(
            (f64::from(shown) - published).abs() < 3e-5,
            "{grey}: {shown}, published {published}"
        );
    }
}

/// Checks that base colors up to 0.76 (0.8 minus the Fresnel reflection of 0.04), lit by white light of 1, keep hue
/// and saturation.
///
/// A black base color, which reflects only that 0.04, is shown at half of it.
#[test]
fn neutral_keeps_base_colors() {
    for base in [
        Vec3::new(0.7, 0.3, 0.2),
        Vec3::new(0.1, 0.5, 0.7),
        Vec3::splat(0.18),
    ] {
        let shown = apply(Tone::Neutral, base + Vec3::splat(0.04));
        assert!((shown - base).abs().max_element() < 1e-6, "{base}: {shown}");
    }
    // Below twice that reflection the curve bends towards black: x² / 0.16 of the smallest channel remains.
    let dark = apply(Tone::Neutral, Vec3::new(0.04, 0.2, 0.3));
    let expected = Vec3::new(0.01, 0.17, 0.27);
    assert!((dark - expected).abs().max_element() < 1e-6, "{dark}");
    // Brighter light approaches white but never reaches 1.
    let peak = |light: f32| apply(Tone::Neutral, Vec3::new(light, light / 2.0, light / 4.0));
    let (knee, bright, brighter) = (peak(0.8), peak(4.0), peak(400.0));
    assert!(knee.x < bright.x && bright.x < brighter.x && brighter.x < 1.0);
    let paleness = |shown: Vec3| shown.z / shown.x;
    assert!(paleness(knee) < paleness(bright) && paleness(bright) < paleness(brighter));
    assert!(paleness(brighter) > 0.9);
    // The specification's compression, 1 - d² / (peak + d - knee) with d = 0.24, and its desaturation.
    let compressed = 1.0 - 0.24_f32.powi(2) / (3.96 + 0.24 - 0.76);
    assert!((bright.x - compressed).abs() < 1e-6, "{bright}");
    let keeps = 1.0 / (0.15 * (3.96 - compressed) + 1.0);
    let expected = 0.96 / 3.96 * compressed * keeps + compressed * (1.0 - keeps);
    assert!(
        (bright.z - expected).abs() < 1e-6,
        "{bright}, expected {expected}"
    );
}

#[test]
fn every_exposure_maps_black_to_black_and_light_to_white_or_black() {
    let values = [0.0, 1e-30, 0.5, 3e38, -1.0];
    for exposure in [128.0, 200.0, f32::MAX, f32::INFINITY] {
        assert_eq!(
            codes(&values, exposure),
            [0, 255, 255, 255, 0],
            "{exposure}"
        );
        assert_eq!(codes(&values, -exposure)[..3], [0; 3], "-{exposure}");
    }
    assert_eq!(codes(&values, f32::NAN), codes(&values, 0.0));
}

#[test]
fn pixels_that_are_not_finite_are_magenta_with_every_tone_curve_and_exposure() {
    let picture = Picture {
        width: 3,
        height: 1,
        pixels: vec![
            Vec3::new(f32::NAN, 0.0, 0.0),
            Vec3::INFINITY,
            Vec3::new(0.0, f32::NEG_INFINITY, 1.0),
        ],
    };
    for tone in Tone::ALL {
        for exposure in [
            0.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            -200.0,
            200.0,
        ] {
            let rgba = to_srgb8(&picture, exposure, tone);
            assert_eq!(rgba, [255, 0, 255, 255].repeat(3), "{tone:?} {exposure}");
        }
    }
}
