//! Linear light to eight bits.

use glam::Vec3;
use raysieve::{picture::Picture, tone::to_srgb8};

/// The code of each value, taken through all three channels.
fn codes(values: &[f32], exposure_stops: f32) -> Vec<u8> {
    let pixels = values.iter().map(|&value| Vec3::splat(value)).collect();
    let picture = Picture {
        width: values.len() as u32,
        height: 1,
        pixels,
    };
    let rgba = to_srgb8(&picture, exposure_stops);
    assert_eq!(rgba.len(), 4 * values.len());
    let (pixels, _) = rgba.as_chunks::<4>();
    let code = |&[red, green, blue, alpha]: &[u8; 4]| {
        assert_eq!((green, blue, alpha), (red, red, 255));
        red
    };
    pixels.iter().map(code).collect()
}

/// IEC 61966-2-1, from 0 to 255 and not rounded.
fn curve(linear: f64) -> f64 {
    255.0
        * if linear <= 0.0031308 {
            12.92 * linear
        } else {
            1.055 * linear.powf(1.0 / 2.4) - 0.055
        }
}

#[test]
fn every_value_shows_as_the_nearest_code() {
    // All exponents that show, and a prime step through the mantissas.
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
fn every_code_has_its_light() {
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
fn brighter_never_shows_darker() {
    let values: Vec<f32> = (0..1.0_f32.to_bits())
        .step_by(1009)
        .map(f32::from_bits)
        .collect();
    assert!(codes(&values, 0.0).is_sorted());
}

#[test]
fn light_beyond_the_screen_clips() {
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
fn what_is_not_finite_shows_in_magenta() {
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let pixels = vec![Vec3::new(0.5, wrong, 0.5), Vec3::splat(0.5)];
        let rgba = to_srgb8(
            &Picture {
                width: 2,
                height: 1,
                pixels,
            },
            0.0,
        );
        assert_eq!(rgba, [255, 0, 255, 255, 188, 188, 188, 255]);
    }
}
