//! A picture that would be empty or black says why before the render.

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
    let thin =
        r#"Quad(corner: (-1, 0, -1), edge_u: (2, 0, 0), edge_v: (0, 0, 2), material: "clay")"#;
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
            Some("their materials have an opacity of 0; raise it"),
        ),
        (
            "origin: (0, 0, 5), target: (0, 0, 0), fov: 40",
            thin,
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

/// Returns what a renderer says about a scene with these fields, besides size and samples.
fn said_of(fields: &str) -> Option<String> {
    let scene: Scene = scene(&format!("(size: (64, 48), spp: 1, {fields})"));
    let renderer = Renderer::new(&scene, &on_cpu()).unwrap();
    renderer.empty_view().map(str::to_owned)
}

/// A view of a ball with a radius of 1 m that stands on the ground.
const BALL: &str = r#"
    camera: (origin: (0, 2, 6), target: (0, 1, 0), fov: 40),
    materials: {
        "clay": Diffuse(albedo: (0.5, 0.5, 0.5)),
        "coal": Diffuse(albedo: (0, 0, 0)),
        "lamp": Emissive(radiance: (3, 3, 3)),
    },
"#;
const GROUND: &str = r#"Quad(corner: (-9, 0, 9), edge_u: (18, 0, 0), edge_v: (0, 0, -18), material: "clay"),
    Sphere(center: (0, 1, 0), radius: 1, material: "clay"),"#;

#[test]
fn a_black_picture_names_its_cause() {
    let dark = format!("{BALL} objects: [{GROUND}],");
    let coal = dark.replace(r#"material: "clay""#, r#"material: "coal""#);
    let inside = dark.replace("origin: (0, 2, 6)", "origin: (0, 1.2, 0.1)");
    let hidden = r#"lights: [Point(position: (0, 5, 0), intensity: (9, 9, 9))], objects: [
        Box(center: (0, 5, 0), half_size: (0.5, 0.5, 0.5), material: "clay"),"#;
    let hidden = dark.replace("objects: [", hidden);
    for (fields, expected) in [
        (
            dark.clone(),
            "nothing in the scene emits light; give it a light",
        ),
        (
            format!(
                "sky: (0, 0, 0), lights: [Point(position: (0, 5, 0), intensity: (0, 0, 0))], {dark}"
            ),
            "nothing in the scene emits light; give it a light",
        ),
        (
            format!("sky: (1e-10, 1e-10, 1e-10), {dark}"),
            "its light is too dim for the film: the largest radiance of 17472 paths is 1.0e-10, and the film stores \
             multiples of 2.3e-10; make the lights 1e10 times as bright",
        ),
        (
            format!("sky: (1e-6, 1e-6, 1e-6), {dark}"),
            "its light is dim: the largest radiance of 17472 paths is 1.0e-6; raise the exposure by 19 stops",
        ),
        (
            format!("sky: (1, 1, 1), exposure: -20, {dark}"),
            "its light is dim: the largest radiance of 17472 paths is 1.0e0; raise the exposure by 19 stops",
        ),
        (
            format!(
                "lights: [Point(position: (0, 5, 0), intensity: (9, 9, 9))], max_bounces: 0, {dark}"
            ),
            "with `max_bounces` 0, it shows only surfaces that emit light",
        ),
        (
            format!("lights: [Point(position: (0, 5, 0), intensity: (9, 9, 9))], {coal}"),
            "the surfaces in view absorb all light, because they are black",
        ),
        (
            format!("sky: (1, 1, 1), {inside}"),
            "the camera is inside a closed body of the material `clay`, where no path finds light",
        ),
        (
            hidden,
            "none of 17472 paths from the camera finds a light: the lights are hidden",
        ),
    ] {
        let said = said_of(&fields).unwrap_or_default();
        let cause = said.strip_prefix("the picture is black: ");
        assert!(
            cause.is_some_and(|cause| cause.starts_with(expected)),
            "{fields}: {said}"
        );
        assert_eq!(said.lines().count(), 1);
    }
}

#[test]
fn a_closed_room_without_light_is_named() {
    // Six quads that face inwards.
    let wall = |corner: &str, u: &str, v: &str| {
        format!(r#"Quad(corner: {corner}, edge_u: {u}, edge_v: {v}, material: "clay"),"#)
    };
    let walls = [
        wall("(-5, -5, -5)", "(10, 0, 0)", "(0, 10, 0)"),
        wall("(-5, -5, 5)", "(0, 10, 0)", "(10, 0, 0)"),
        wall("(-5, -5, -5)", "(0, 10, 0)", "(0, 0, 10)"),
        wall("(5, -5, -5)", "(0, 0, 10)", "(0, 10, 0)"),
        wall("(-5, -5, -5)", "(0, 0, 10)", "(10, 0, 0)"),
        wall("(-5, 5, -5)", "(10, 0, 0)", "(0, 0, 10)"),
    ]
    .concat();
    let camera = "camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 40),";
    let clay = r#"materials: {"clay": Diffuse(albedo: (0.5, 0.5, 0.5))},"#;
    let said = said_of(&format!(
        "sky: (1, 1, 1), {camera} {clay} objects: [{walls}],"
    ));
    let said = said.unwrap_or_default();
    let expected = "the picture is black: the camera is in a closed space, with walls up to ";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_picture_with_a_little_light_says_nothing() {
    let dark = format!("{BALL} objects: [{GROUND}],");
    let far_lamp = r#"objects: [Sphere(center: (2, 2.5, -6), radius: 0.1, material: "lamp"),"#;
    let silhouette = dark.replace(r#"material: "clay""#, r#"material: "coal""#);
    for fields in [
        format!("sky: (1, 1, 1), {dark}"),
        // Dim light that the exposure shows.
        format!("sky: (1e-6, 1e-6, 1e-6), exposure: 20, {dark}"),
        // A night with one lamp far away, which lights nothing but itself.
        silhouette.replace("objects: [", far_lamp),
        // Black objects before a bright background.
        format!("background: (1, 1, 1), {silhouette}"),
    ] {
        assert_eq!(said_of(&fields), None, "{fields}");
    }
}

#[test]
fn a_stray_corner_is_named_with_a_view_of_the_rest() {
    let objects = r#"Sphere(center: (0, 0, 0), radius: 1, material: "clay"),
        Sphere(center: (0, 2, 0), radius: 1, material: "clay"),
        Sphere(center: (3e6, 0, 0), radius: 1, material: "clay")"#;
    let said_from = |camera: &str| {
        let scene: Scene = scene(&format!(
            r#"(
                size: (640, 480), spp: 1, sky: (1, 1, 1), camera: ({camera}),
                materials: {{"clay": Diffuse(albedo: (0.5, 0.5, 0.5))}}, objects: [{objects}],
            )"#
        ));
        let renderer = Renderer::new(&scene, &on_cpu()).unwrap();
        renderer.empty_view().map(str::to_owned)
    };
    for (camera, expected) in [
        (
            "origin: (0, 0, 500), target: (0, 0, 0), fov: 40",
            "the objects around (1, 1, 0) are tiny in the picture: ",
        ),
        (
            "origin: (0, 0, 9), target: (0, 0, 0), width: 400",
            "the objects around (1, 1, 0) are tiny in the picture: ",
        ),
        (
            "origin: (0, 0, 1e6), target: (2e6, 0, 0), fov: 1",
            "the camera sees no object: ",
        ),
    ] {
        let before = said_from(camera).unwrap_or_default();
        assert!(before.starts_with(expected), "{camera}: {before}");
        let stray = "is far from all others, and perhaps a mistake; without it, the objects lie between (-1, -1, -1) and \
                     (1, 3, 1), in view from `";
        let (_, view) = before
            .split_once(stray)
            .unwrap_or_else(|| panic!("{before}"));
        let (_, fov) = camera.rsplit_once(", ").unwrap();
        let fov = match fov.starts_with("fov") {
            true => format!(", {fov}"),
            false => String::new(),
        };
        let view = format!("{}{fov}", view.trim_end_matches('`'));
        assert_eq!(said_from(&view), None, "{view}");
    }
}
