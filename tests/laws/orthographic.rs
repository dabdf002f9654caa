//! Orthographic cameras: size in the image is independent of distance.

use glam::Vec3;

use crate::{
    common::{on_cpu, render, scene},
    expect, measure,
};

/// Returns a sheet of radiance 1, 1.5 m wide and 0.75 m high, in front of black; 64 pixels show 4 m.
fn sheet(z: f64, more: &str) -> raysieve::scene::Scene {
    scene(&format!(
        r#"(
            size: (64, 64), spp: 16, max_bounces: 0,
            camera: (origin: (0, 0, 10), target: (0, 0, 0), width: 4{more}),
            materials: {{ "lamp": Emissive(radiance: (1, 1, 1)) }},
            objects: [
                Quad(corner: (-0.5, 0.25, {z}), edge_u: (1.5, 0, 0), edge_v: (0, 0.75, 0), material: "lamp"),
            ],
        )"#
    ))
}

/// Checks pixels that show all or nothing of the sheet, because its edges lie between pixels.
///
/// A sheet behind the camera plane is invisible.
#[test]
fn size_does_not_depend_on_distance() {
    for z in [9.9, 0.0, -30.0, -4000.0, 10.1] {
        let (picture, _) = render(&sheet(z, ""), &on_cpu());
        for (number, &pixel) in picture.pixels.iter().enumerate() {
            let (column, row) = (number % 64, number / 64);
            let inside = (24..48).contains(&column) && (16..28).contains(&row) && z < 10.0;
            let expected = if inside { Vec3::ONE } else { Vec3::ZERO };
            assert_eq!(pixel, expected, "at {z}: column {column}, row {row}");
        }
    }
}

/// Checks that a sheet seen at an angle has its height reduced by the sine of that angle.
#[test]
fn a_tilted_sheet_is_foreshortened_by_the_sine() {
    let scene = scene(
        r#"(
            size: (32, 24), spp: 256, max_bounces: 0,
            camera: (origin: (3, 7, 5), target: (3, 1, -3), width: 4),
            materials: { "lamp": Emissive(radiance: (1, 1, 1)) },
            objects: [
                Quad(corner: (2, 1, -2), edge_u: (1.7, 0, 0), edge_v: (0, 0, -1.3), material: "lamp"),
            ],
        )"#,
    );
    let sine = 6.0 / 10.0;
    let part = 1.7 * 1.3 * sine / (4.0 * 3.0);
    expect(
        &measure(&scene),
        glam::DVec3::splat(part),
        "a sheet on the ground",
    );
}

/// Checks that a sheet outside the plane of focus spreads by the radius of its circle of confusion.
///
/// That radius is the aperture's times the relative defocus distance. The total light stays the same.
#[test]
fn a_lens_blurs_equally_all_over_the_image() {
    let blurred = |z| {
        render(
            &sheet(z, ", lens: (radius: 0.5, focus_distance: 10)"),
            &on_cpu(),
        )
        .0
    };
    let (sharp, picture) = (blurred(0.0), blurred(-5.0));
    let brightness = |picture: &raysieve::film::picture::Picture, column: usize, row: usize| {
        picture.pixels[row * 64 + column].x
    };
    // The radius is 0.25 m, which is 4 pixels.
    for (column, row) in [(19, 22), (52, 22), (36, 11), (36, 32)] {
        assert_eq!(
            brightness(&picture, column, row),
            0.0,
            "column {column}, row {row}"
        );
    }
    for (column, row) in [(22, 22), (49, 22), (36, 14), (36, 29)] {
        assert!(
            brightness(&picture, column, row) > 0.0,
            "column {column}, row {row}"
        );
        assert_eq!(
            brightness(&sharp, column, row),
            0.0,
            "column {column}, row {row}"
        );
    }
    let sum = |picture: &raysieve::film::picture::Picture| -> f32 {
        picture.pixels.iter().map(|pixel| pixel.x).sum()
    };
    let ratio = sum(&picture) / sum(&sharp);
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
}
