//! What an orthographic camera shows is as large as it is, wherever it stands.

use glam::Vec3;

use crate::{
    common::{on_cpu, render, scene},
    expect, measure,
};

/// A sheet of radiance 1 that is 1.5 m wide and 0.75 m high, before black: 64 pixels show 4 m.
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

/// Its edges lie between pixels: from the plane of the camera on each shows all of it or nothing, and behind nothing is seen.
#[test]
fn what_is_far_is_as_large_as_what_is_near() {
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

/// Seen at an angle its height is less by the sine.
#[test]
fn what_is_seen_at_an_angle_is_as_much_shorter() {
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

/// Off the plane of focus a point becomes a disk of the aperture's radius times how far off it is, over the distance of
/// that plane: so much of a sheet's light is within it as without a lens, and so far it reaches.
#[test]
fn a_lens_blurs_the_same_all_over_the_picture() {
    let blurred = |z| {
        render(
            &sheet(z, ", lens: (radius: 0.5, focus_distance: 10)"),
            &on_cpu(),
        )
        .0
    };
    let (sharp, picture) = (blurred(0.0), blurred(-5.0));
    let lit = |picture: &raysieve::picture::Picture, column: usize, row: usize| {
        picture.pixels[row * 64 + column].x
    };
    // 0.25 m, or 4 pixels.
    for (column, row) in [(19, 22), (52, 22), (36, 11), (36, 32)] {
        assert_eq!(
            lit(&picture, column, row),
            0.0,
            "column {column}, row {row}"
        );
    }
    for (column, row) in [(22, 22), (49, 22), (36, 14), (36, 29)] {
        assert!(
            lit(&picture, column, row) > 0.0,
            "column {column}, row {row}"
        );
        assert_eq!(lit(&sharp, column, row), 0.0, "column {column}, row {row}");
    }
    let sum = |picture: &raysieve::picture::Picture| -> f32 {
        picture.pixels.iter().map(|pixel| pixel.x).sum()
    };
    let ratio = sum(&picture) / sum(&sharp);
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
}
