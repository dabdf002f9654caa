//! Tests of texture lookup: formats, filtering and wrapping.

use glam::Vec3;
use raysieve::shading::texture::{
    BILINEAR, CLAMP, FLOAT, LINEAR_8, LINEAR_16, MIRRORED_REPEAT, NEAREST, REPEAT, SRGB_8,
    SRGB_VALUES, Texel, Texture, sample_texture, srgb_values,
};

use crate::common::Random;

const WRAPS: [u32; 3] = [REPEAT, MIRRORED_REPEAT, CLAMP];

/// Returns texel data (after the sRGB table) and a float texture whose channels all have these values.
fn grey(numbers: &[f32], width: u32) -> (Vec<u32>, Texture) {
    let mut texels: Vec<u32> = srgb_values().map(f32::to_bits).into();
    for number in numbers {
        texels.extend([number.to_bits(); 4]);
    }
    let texture = Texture {
        start: SRGB_VALUES,
        width,
        height: numbers.len() as u32 / width,
        format: FLOAT,
        u_by_u: 1.0,
        v_by_v: 1.0,
        ..Texture::default()
    };
    (texels, texture)
}

#[test]
fn every_format_decodes_to_its_values() {
    let mut texels: Vec<u32> = srgb_values().map(f32::to_bits).into();
    texels.extend([0xff80_0100, 0xffff_0001, 0x8000_7fff]);
    let at = |format, start| {
        let texture = Texture {
            start,
            width: 1,
            height: 1,
            format,
            filter: NEAREST,
            ..Texture::default()
        };
        sample_texture(&texels, &texture, 0.3, 0.6)
    };
    // 1/255 is on the linear segment, 128/255 on the curve: 0.21586 by the standard's table.
    let encoded = at(SRGB_8, 256);
    assert_eq!(encoded.rgb.x, 0.0);
    assert!((encoded.rgb.y - 1.0 / 255.0 / 12.92).abs() < 1e-9);
    assert!((encoded.rgb.z - 0.215_860_5).abs() < 1e-6);
    assert_eq!(encoded.alpha, 1.0);
    let linear = at(LINEAR_8, 256);
    assert_eq!(linear.rgb.x, 0.0);
    assert!((linear.rgb - Vec3::new(0.0, 1.0, 128.0) / 255.0).length() < 1e-7);
    assert_eq!(linear.alpha, 1.0);
    let wide = at(LINEAR_16, 257);
    let expected = Vec3::new(1.0, 65535.0, 32767.0) / 65535.0;
    assert!((wide.rgb - expected).length() < 1e-7 && wide.rgb.y == 1.0);
    assert!((wide.alpha - 32768.0 / 65535.0).abs() < 1e-7);
    assert_eq!((srgb_values()[0], srgb_values()[255]), (0.0, 1.0));
    assert!(srgb_values().is_sorted());
}

#[test]
fn the_centre_of_a_texel_has_the_texels_value() {
    let numbers: Vec<f32> = (0..15).map(|number| (number * 7 % 15) as f32).collect();
    let (texels, texture) = grey(&numbers, 5);
    for filter in [BILINEAR, NEAREST] {
        for wrap in WRAPS {
            let texture = Texture {
                filter,
                wrap_u: wrap,
                wrap_v: wrap,
                ..texture
            };
            for (number, at) in numbers.iter().zip(0..) {
                let (x, y) = ((at % 5) as f32, (at / 5) as f32);
                let (u, v) = ((x + 0.5) / 5.0, (y + 0.5) / 3.0);
                let found = sample_texture(&texels, &texture, u, v).rgb.x;
                assert!((found - number).abs() < 2e-5, "{x} {y}: {found} {number}");
            }
        }
    }
}

#[test]
fn bilinear_lookup_interpolates_and_is_continuous_over_seams() {
    let numbers = [0.0, 8.0, 2.0, 6.0];
    let (texels, texture) = grey(&numbers, 4);
    let value = |wrap, u: f32| {
        let texture = Texture {
            wrap_u: wrap,
            wrap_v: wrap,
            ..texture
        };
        sample_texture(&texels, &texture, u, 0.5).rgb.x
    };
    // Midway between two texel centers, and on the seam between the last and the first texel.
    assert_eq!(value(REPEAT, 0.25), 4.0);
    assert_eq!(value(REPEAT, 0.5), 5.0);
    for (wrap, on_seam) in [(REPEAT, 3.0), (MIRRORED_REPEAT, 0.0), (CLAMP, 0.0)] {
        assert_eq!(value(wrap, 0.0), on_seam);
        let (below, above) = (value(wrap, -1e-6), value(wrap, 1e-6));
        assert!((below - above).abs() < 1e-3, "{below} {above}");
    }
    let mut random = Random::new(3);
    for _ in 0..10_000 {
        let u = random.unit();
        assert_eq!(value(CLAMP, -u), 0.0);
        assert_eq!(value(CLAMP, 1.0 + u), 6.0);
        let near = |a: f32, b: f32| (a - b).abs() < 1e-4;
        assert!(near(value(REPEAT, u + 3.0), value(REPEAT, u)));
        assert!(near(value(REPEAT, u - 4.0), value(REPEAT, u)));
        assert!(near(value(MIRRORED_REPEAT, -u), value(MIRRORED_REPEAT, u)));
        assert!(near(
            value(MIRRORED_REPEAT, 2.0 - u),
            value(MIRRORED_REPEAT, u)
        ));
        assert!(near(value(MIRRORED_REPEAT, u), value(CLAMP, u)));
        // The value lies between those of the two neighbouring texels.
        let place = u * 4.0 - 0.5;
        let about =
            [place.floor(), place.floor() + 1.0].map(|at| numbers[at.clamp(0.0, 3.0) as usize]);
        let found = value(CLAMP, u);
        assert!(about[0].min(about[1]) <= found && found <= about[0].max(about[1]));
    }
}

#[test]
fn a_texture_of_one_color_has_that_color_everywhere() {
    let (texels, texture) = grey(&[0.3; 12], 4);
    let mut random = Random::new(4);
    for _ in 0..10_000 {
        let texture = Texture {
            u_by_u: 20.0 * random.signed(),
            u_by_v: 20.0 * random.signed(),
            u_at_zero: 1e6 * random.signed(),
            wrap_u: WRAPS[(random.word() % 3) as usize],
            wrap_v: WRAPS[(random.word() % 3) as usize],
            ..texture
        };
        let (u, v) = (random.signed(), random.signed());
        let expected = Texel {
            rgb: Vec3::splat(0.3),
            alpha: 0.3,
        };
        assert_eq!(sample_texture(&texels, &texture, u, v), expected);
    }
}

#[test]
fn coordinates_that_are_not_finite_stay_within_the_image() {
    let (texels, texture) = grey(&[1.0, 2.0], 2);
    for u in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e38, -1e38] {
        for wrap in WRAPS {
            for filter in [BILINEAR, NEAREST] {
                let texture = Texture {
                    wrap_u: wrap,
                    wrap_v: wrap,
                    filter,
                    ..texture
                };
                let found = sample_texture(&texels, &texture, u, u).rgb.x;
                assert!((1.0..=2.0).contains(&found), "{u}: {found}");
            }
        }
    }
}
