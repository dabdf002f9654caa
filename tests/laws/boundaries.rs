//! Media with boundaries that light passes straight, compared with closed-form solutions.

use glam::DVec3;

use crate::{
    common::{file, scene},
    expect, measure,
};

/// Closed bodies of the material "smoke" around the origin.
const BODIES: [(&str, &str); 4] = [
    (
        "sphere",
        r#"Sphere(center: (0.1, 0, 0), radius: 0.9, material: "smoke"),"#,
    ),
    (
        "box",
        r#"Box(center: (0, 0.1, 0), half_size: (0.7, 0.5, 0.6), rotate_y: 30, material: "smoke"),"#,
    ),
    (
        "mesh",
        r#"Mesh(file: PYRAMID, material: "smoke", scale: 0.6),"#,
    ),
    (
        "overlapping",
        r#"Sphere(center: (-0.3, 0, 0), radius: 0.6, material: "smoke"),
           Sphere(center: (0.3, 0.1, 0), radius: 0.6, material: "mist"),
           Sphere(center: (0.2, 0, 0.2), radius: 0.2, material: "smoke"),"#,
    ),
];

/// Checks that nothing is lost or gained under a uniform sky: a body of a medium that absorbs nothing is invisible,
/// seen from outside and from inside, with all strategies of direct light.
#[test]
fn bodies_that_absorb_nothing_are_invisible_under_a_uniform_sky() {
    let pyramid = format!("{:?}", file("tests/meshes/pyramid.obj"));
    for (name, body) in BODIES {
        let body = body.replace("PYRAMID", &pyramid);
        for (origin, strategy) in [
            ("(0.3, 2, 3)", "Both"),
            ("(0.05, 0.06, 0.1)", "Both"),
            ("(0.3, 2, 3)", "Lights"),
        ] {
            let scene = scene(&format!(
                r#"(
                    size: (8, 8), spp: 128, max_bounces: 512, sky: (1, 1, 1), direct_light: {strategy},
                    camera: (origin: {origin}, target: (0, 0, 0), fov: 40),
                    materials: {{
                        "smoke": Boundary(medium: (scattering: (0.5, 2, 5), anisotropy: 0.4)),
                        "mist": Boundary(medium: (scattering: (3, 1, 1), anisotropy: -0.3)),
                    }},
                    objects: [{body}],
                )"#
            ));
            expect(
                &measure(&scene),
                DVec3::ONE,
                &format!("{name} from {origin}, {strategy}"),
            );
        }
    }
}

/// Checks the light of the sky, of a lamp and of a sun behind slabs, seen by the camera and by shadow rays. Boundaries
/// do not count as bounces.
#[test]
fn slabs_dim_light_by_the_beer_lambert_law() {
    let coefficients = [
        (DVec3::ZERO, DVec3::new(0.1, 0.5, 1.5)),
        (DVec3::new(0.4, 0.2, 0.1), DVec3::new(0.1, 0.0, 0.6)),
    ];
    for (scattering, absorption) in coefficients {
        // Two slabs of 0.5 m and a nested one of 0.25 m of twice the extinction.
        let slabs = format!(
            r#"
                "slab": Boundary(medium: (scattering: {scattering:?}, absorption: {absorption:?})),
                "dense": Boundary(medium: (scattering: {:?}, absorption: {:?})),
            "#,
            scattering * 2.0,
            absorption * 2.0
        )
        .replace("DVec3", "");
        let boxes = r#"
            Box(center: (0, 0, 1), half_size: (9, 9, 0.25), rotate_y: 0, material: "slab"),
            Box(center: (0, 0, 2), half_size: (9, 9, 0.25), rotate_y: 0, material: "slab"),
            Box(center: (0, 0, 2), half_size: (9, 9, 0.125), rotate_y: 0, material: "dense"),
        "#;
        let passed = (-(scattering + absorption) * (0.5 + 0.25 + 0.5)).exp();
        let case = |name: &str, bounces: u32, camera: &str, lights: &str, more: &str, expected| {
            let scene = scene(&format!(
                r#"(
                    size: (8, 8), spp: 256, max_bounces: {bounces}, {lights}
                    camera: ({camera}, fov: 0.01),
                    materials: {{
                        {slabs}
                        "lamp": Emissive(radiance: (1, 1, 1)),
                        "white": Diffuse(albedo: (1, 1, 1)),
                    }},
                    objects: [{boxes} {more}],
                )"#
            ));
            expect(&measure(&scene), expected, name);
        };
        let from_above = "origin: (0, 0, 4), target: (0, 0, 0)";
        case("sky", 0, from_above, "sky: (1, 1, 1),", "", passed);
        let lamp =
            r#"Quad(corner: (-1, -1, 0), edge_u: (2, 0, 0), edge_v: (0, 2, 0), material: "lamp"),"#;
        case("lamp", 0, from_above, "", lamp, passed);
        // A white plane of reflectance 1, seen from below the slabs, which a sun lights through them.
        if scattering == DVec3::ZERO {
            let plane = r#"Quad(corner: (-9, -9, 0), edge_u: (18, 0, 0), edge_v: (0, 18, 0), material: "white"),"#;
            let sun = format!(
                "lights: [Directional(direction: (0, 0, -1), irradiance: ({0}, {0}, {0}))],",
                std::f64::consts::PI
            );
            let from_below = "origin: (0, 0.3, 0.5), target: (0, 0.3, 0), up: (0, 1, 0)";
            case("sun", 1, from_below, &sun, plane, passed);
            case(
                "sun from above",
                1,
                from_above,
                &sun,
                plane,
                passed * passed,
            );
        }
    }
}

/// Checks the light of a lamp inside a ball that absorbs, on a plane outside, with each strategy of direct light.
#[test]
fn a_lamp_inside_a_body_lights_the_outside() {
    let absorption = DVec3::new(0.2, 0.5, 1.0);
    for strategy in ["Both", "Lights", "Bsdf"] {
        let scene = scene(&format!(
            r#"(
                size: (8, 8), spp: 512, max_bounces: 1, direct_light: {strategy},
                camera: (origin: (0, 0.5, 0.1), target: (0, 0, 0), up: (0, 1, 0), fov: 0.01),
                materials: {{
                    "ball": Boundary(medium: (scattering: (0, 0, 0), absorption: {absorption:?})),
                    "lamp": Emissive(radiance: (16, 16, 16)),
                    "white": Diffuse(albedo: (1, 1, 1)),
                }},
                objects: [
                    Sphere(center: (0, 2, 0), radius: 1.1, material: "ball"),
                    Sphere(center: (0, 2, 0), radius: 0.5, material: "lamp"),
                    Quad(corner: (-9, 0, 9), edge_u: (18, 0, 0), edge_v: (0, 0, -18), material: "white"),
                ],
            )"#
        ).replace("DVec3", ""));
        // Over the square of the sine of the angle to the ball's center; light is at a distance of twice the sine from
        // it.
        let steps = 10_000;
        let mut expected = DVec3::ZERO;
        for step in 0..steps {
            let square = (f64::from(step) + 0.5) / f64::from(steps) * 0.0625;
            let inside = (1.21 - 4.0 * square).sqrt() - (0.25 - 4.0 * square).sqrt();
            expected += (-absorption * inside).exp() * (16.0 * 0.0625 / f64::from(steps));
        }
        expect(&measure(&scene), expected, strategy);
    }
}
