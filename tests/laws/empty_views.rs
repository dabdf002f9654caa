//! A camera that sees no object says why before the render.

use raysieve::{render::renderer::Renderer, scene::Scene};

use crate::common::{on_cpu, scene};

/// Returns what a renderer says about the view of a unit sphere around the origin from `camera`.
fn said(camera: &str, objects: &str) -> Option<String> {
    let scene: Scene = scene(&format!(
        r#"(
            size: (64, 48), spp: 1, sky: (1, 1, 1), camera: ({camera}),
            materials: {{
                "clay": Diffuse(albedo: (0.5, 0.5, 0.5)),
                "air": Diffuse(albedo: (0.5, 0.5, 0.5), opacity: 0),
            }},
            objects: [{objects}],
        )"#
    ));
    let renderer = Renderer::new(&scene, &on_cpu()).unwrap();
    renderer.empty_view().map(str::to_owned)
}

#[test]
fn an_empty_view_names_its_cause() {
    let sphere = r#"Sphere(center: (0, 0, 0), radius: 1, material: "clay")"#;
    let air = r#"Sphere(center: (0, 0, 0), radius: 1, material: "air")"#;
    let far = r#"Sphere(center: (0, 0, 0), radius: 1, material: "clay"),
                 Sphere(center: (0, 2, 0), radius: 1, material: "clay"),
                 Sphere(center: (3e6, 0, 0), radius: 1, material: "clay")"#;
    for (camera, objects, expected) in [
        (
            "origin: (0, 0, 5), target: (0, 0, 0), fov: 40",
            sphere,
            None,
        ),
        (
            "origin: (0, 0, 0), target: (0, 0, 1), fov: 40",
            sphere,
            None,
        ),
        (
            "origin: (0, 0, 5), target: (0, 0, 0), width: 4",
            sphere,
            None,
        ),
        (
            "origin: (0, 0, 5), target: (0, 0, 9), fov: 40",
            sphere,
            Some("they are behind it, around (0, 0, 0); point the camera's `target` there"),
        ),
        (
            "origin: (0, 0, 5), target: (9, 0, 4), fov: 40",
            sphere,
            Some("they are beside the view"),
        ),
        (
            "origin: (0, 9, 5), target: (0, 9, 0), width: 4",
            sphere,
            Some("they are beside the view"),
        ),
        (
            "origin: (0, 0, 1e5), target: (0, 0.3, 0), fov: 40",
            sphere,
            Some("they are smaller than a pixel at 100000 m, around (0, 0, 0)"),
        ),
        (
            "origin: (0, 0, 5), target: (0, 0, 0), fov: 40",
            air,
            Some("are transparent or too thin"),
        ),
        (
            "origin: (0, 0, 2e5), target: (1000, 2000, 0), fov: 40",
            far,
            Some("is far from all others, and perhaps a mistake"),
        ),
    ] {
        let said = said(camera, objects);
        match expected {
            None => assert_eq!(said, None, "{camera}"),
            Some(expected) => {
                let said = said.unwrap_or_default();
                assert!(
                    said.starts_with("the camera sees no object: "),
                    "{camera}: {said}"
                );
                assert!(said.contains(expected), "{camera}: {said}");
                assert_eq!(said.lines().count(), 1);
            }
        }
    }
}
