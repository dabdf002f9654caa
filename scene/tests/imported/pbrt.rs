//! Tests of pbrt scenes.

use glam::Vec3;
use raysieve_scene::{
    Light, LoadOptions, Masking, Parameter, PixelFilter, Projection, Scene, Surface, Texels,
};

use super::{assert_not_noted, assert_noted, example, load, load_with};

/// Loads a scene with these directives after `WorldBegin`.
pub(super) fn world(directives: &str) -> Result<Scene, String> {
    load(&[("scene.pbrt", &format!("WorldBegin\n{directives}"))])
}

/// Returns the material of a sphere after these directives.
pub(super) fn surface(directives: &str) -> Surface {
    world(&format!("{directives}\nShape \"sphere\""))
        .unwrap()
        .materials[0]
}

/// Asserts that a file is refused with an error that contains a text.
fn refused(file: &str, text: &str) {
    let error = load(&[("scene.pbrt", file)]).unwrap_err();
    assert!(error.contains(text), "{error}");
}

#[test]
fn each_directive_is_read_or_reported() {
    let scene = example("everything.pbrt");
    assert_eq!((scene.size, scene.spp, scene.max_bounces), ((32, 16), 4, 5));
    assert_eq!(scene.exposure_stops, 1.0);
    for note in [
        "media of type",
        "curves by tubes",
        "the filter `mitchell`",
        "subsurface scattering",
        "bump maps",
    ] {
        assert_noted(&scene, note);
    }
    let triangles = scene.meshes.iter().map(|mesh| mesh.triangles.len());
    assert!(triangles.sum::<usize>() > 10_000 && scene.camera.lens.is_some());
}

#[test]
fn a_scene_without_settings_has_those_of_pbrt() {
    let scene = load(&[(
        "scene.pbrt",
        "Camera \"perspective\" WorldBegin Shape \"sphere\"",
    )])
    .unwrap();
    assert_eq!(
        (scene.size, scene.spp, scene.max_bounces),
        ((1280, 720), 16, 5)
    );
    let Projection::Perspective { fov_degrees } = scene.camera.projection else {
        panic!();
    };
    // 90 degrees along the shorter side.
    let expected = 2.0 * (1280.0_f32 / 720.0).atan().to_degrees();
    assert!((fov_degrees - expected).abs() < 1e-3);
    let expected = PixelFilter::Gaussian {
        radius: 1.5,
        sigma: 0.5,
    };
    assert_eq!(scene.camera.filter, expected);
}

#[test]
fn left_handed_coordinates_are_mirrored() {
    let ball = "LookAt 0 0 5 0 0 0 0 1 0\nCamera \"perspective\"\nWorldBegin\nTranslate 2 0 0 Shape \"sphere\"";
    let scene = load(&[("scene.pbrt", ball)]).unwrap();
    assert_eq!(scene.spheres[0].center, Vec3::new(-2.0, 0.0, 0.0));
    let scene = load(&[("scene.pbrt", &format!("Scale -1 1 1\n{ball}"))]).unwrap();
    assert_eq!(scene.spheres[0].center, Vec3::new(2.0, 0.0, 0.0));
}

#[test]
fn roughness_becomes_alpha() {
    let roughness =
        |parameters: &str| match surface(&format!("Material \"conductor\" {parameters}")) {
            Surface::RoughConductor { roughness, .. } => roughness,
            surface => panic!("{surface:?}"),
        };
    let remapped = roughness("\"float roughness\" 0.25");
    assert_eq!(
        (remapped.alpha, remapped.masking),
        (0.5, Masking::HeightCorrelated)
    );
    assert!(!remapped.energy_compensation);
    assert_eq!(
        roughness("\"float roughness\" 0.25 \"bool remaproughness\" false").alpha,
        0.25
    );
    assert!(matches!(
        surface("Material \"conductor\""),
        Surface::Conductor { .. }
    ));
    assert!(matches!(
        surface("Material \"dielectric\""),
        Surface::Dielectric { .. }
    ));
}

#[test]
fn roughness_has_directions_and_textures() {
    let scene = world(
        "Texture \"checks\" \"float\" \"checkerboard\" \"float tex1\" 0.25 \"float tex2\" 0.0625\n\
         Material \"conductor\" \"texture uroughness\" \"checks\" \"float vroughness\" 0.04\n\
         Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"integer indices\" [0 1 2]",
    )
    .unwrap();
    let Surface::RoughConductor { roughness, .. } = scene.materials[0] else {
        panic!("{:?}", scene.materials);
    };
    // The alpha is the square root of the roughness, also in the texture.
    assert_eq!((roughness.alpha, roughness.alpha_v), (1.0, Some(0.2)));
    let map = scene.maps[&0].textures[&Parameter::Roughness];
    let image = &scene.images[scene.textures[map.texture as usize].image as usize];
    let Texels::Floats(texels) = &image.texels else {
        panic!("{image:?}");
    };
    assert_eq!([texels[0][0], texels[1][0]], [0.5, 0.25]);
    assert_not_noted(&scene, "rough");
}

#[test]
fn a_mix_keeps_both_materials() {
    let scene = world(
        "MakeNamedMaterial \"a\" \"string type\" \"diffuse\"\n\
         MakeNamedMaterial \"b\" \"string type\" \"conductor\"\n\
         Material \"mix\" \"string materials\" [ \"a\" \"b\" ] \"float amount\" 0.3\n\
         AreaLightSource \"diffuse\" \"rgb L\" [ 1 2 3 ] \"bool twosided\" true\n\
         Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"integer indices\" [0 1 2]",
    )
    .unwrap();
    let used = scene.triangles[0].material as usize;
    let Surface::Blend {
        first,
        second,
        weight,
        both_sides,
        ..
    } = scene.materials[used]
    else {
        panic!("{:?}", scene.materials);
    };
    assert_eq!((weight, both_sides), (0.3, true));
    let parts = [first, second].map(|part| &scene.materials[part as usize]);
    assert!(matches!(
        parts,
        [Surface::Diffuse { .. }, Surface::Conductor { .. }]
    ));
    assert!(
        scene
            .notes
            .iter()
            .all(|note| !note.contains("reflection of area lights"))
    );
}

#[test]
fn a_screen_window_and_a_crop_shift_the_view() {
    let camera = |window: &str, crop: &str| {
        let file = format!(
            "Film \"rgb\" \"integer xresolution\" 200 \"integer yresolution\" 100 {crop}\n\
             Camera \"orthographic\" {window} WorldBegin Shape \"sphere\""
        );
        let scene = load(&[("scene.pbrt", &file)]).unwrap();
        assert!(
            scene
                .notes
                .iter()
                .all(|note| !note.contains("window") && !note.contains("crop"))
        );
        (scene.size, scene.camera.shift, scene.camera.projection)
    };
    let width = |width| Projection::Orthographic { width };
    let window = "\"float screenwindow\" [ -1 3 -0.5 1.5 ]";
    assert_eq!(camera(window, ""), ((200, 100), [0.25, 0.25], width(4.0)));
    let crop = "\"float cropwindow\" [ 0.75 1 0.1 0.5 ]";
    assert_eq!(camera("", crop), ((50, 40), [1.5, 0.5], width(1.0)));
    let pixels = "\"integer pixelbounds\" [ 150 200 10 50 ]";
    assert_eq!(camera("", pixels), camera("", crop));
    refused(
        "Film \"rgb\" \"float cropwindow\" [ 0.5 0.5 0 1 ] Camera \"perspective\" WorldBegin Shape \"sphere\"",
        "the crop has no pixel",
    );
}

#[test]
fn lights_have_the_brightness_of_pbrt() {
    let lights = |directive: &str| world(&format!("{directive} Shape \"sphere\"")).unwrap();
    let point = |directive: &str| match lights(directive).lights[..] {
        [Light::Point { intensity, .. }] => intensity,
        ref lights => panic!("{lights:?}"),
    };
    let grey = point("LightSource \"point\" \"rgb I\" [ 2 2 2 ] \"float scale\" 3");
    assert_eq!(grey, Vec3::splat(6.0));
    let power = point("LightSource \"point\" \"float power\" 12.566371");
    assert!((power - 1.0).abs().max_element() < 1e-5);
    // A black body has luminance 1, whatever its temperature.
    let warm = point("LightSource \"point\" \"blackbody I\" 3000");
    let luminance = warm.dot(Vec3::new(0.2126, 0.7152, 0.0722));
    assert!((luminance - 1.0).abs() < 1e-3 && warm.x > warm.z);
    assert_eq!(
        lights("LightSource \"infinite\" \"rgb L\" [ 1 2 3 ]").sky,
        Vec3::new(1.0, 2.0, 3.0)
    );
    let area = surface("AreaLightSource \"diffuse\" \"rgb L\" [ 1 1 1 ] \"bool twosided\" true");
    assert!(matches!(
        area,
        Surface::Emissive {
            both_sides: true,
            ..
        }
    ));
}

#[test]
fn attributes_restore_the_graphics_state() {
    let scene = world(
        "AttributeBegin Translate 1 0 0 Material \"dielectric\" AttributeEnd Shape \"sphere\"\n\
         TransformBegin Translate 5 0 0 Material \"dielectric\" TransformEnd Shape \"sphere\"",
    )
    .unwrap();
    assert_eq!(scene.spheres[1].center, Vec3::ZERO);
    assert!(matches!(scene.materials[0], Surface::Diffuse { .. }));
    assert!(matches!(scene.materials[1], Surface::Dielectric { .. }));
}

#[test]
fn transforms_of_the_end_of_motion_have_no_effect() {
    let scene = world(
        "Translate 0 1 0 CoordinateSystem \"here\" Translate 0 1 0 ActiveTransform EndTime Translate 0 7 0 Identity \
         Transform [1 0 0 0 0 1 0 0 0 0 1 0 0 9 0 1] CoordSysTransform \"here\" ActiveTransform All Shape \"sphere\"",
    )
    .unwrap();
    assert_eq!(scene.spheres[0].center, Vec3::new(0.0, 2.0, 0.0));
}

#[test]
fn included_files_do_not_include_themselves() {
    let outer = "WorldBegin Include \"parts/ball.pbrt\"";
    let scene = load(&[
        ("scene.pbrt", outer),
        ("parts/ball.pbrt", "Shape \"sphere\""),
    ])
    .unwrap();
    assert_eq!(scene.spheres.len(), 1);
    let error = load(&[
        ("scene.pbrt", outer),
        ("parts/ball.pbrt", "Include \"scene.pbrt\""),
    ])
    .unwrap_err();
    assert!(error.contains("includes itself"), "{error}");
    refused("Include \"../x.pbrt\"", "does not exist");
}

#[test]
fn errors_name_the_line_the_cause_and_the_remedy() {
    for (file, text) in [
        ("", "has no shape that can be shown"),
        (
            "WorldBegin\nShape",
            "line 2: Shape: expected a type in quotes",
        ),
        ("\n\nSphere 1", "line 3: Sphere: is no directive of pbrt-v4"),
        (
            "WorldEnd",
            "line 1: WorldEnd: is a directive of pbrt-v3 or older; convert the scene with `pbrt --upgrade OLD.pbrt > NEW.pbrt`",
        ),
        (
            "Film \"image\" \"integer xresolution\" 64",
            "line 1: Film: its film `image` is of pbrt-v3 or older; convert",
        ),
        ("AttributeEnd", "there is no AttributeBegin before it"),
        ("ObjectEnd", "there is no ObjectBegin before it"),
        ("ObjectInstance \"a\"", "there is no object \"a\""),
        ("Translate 1 2", "expected 3 numbers"),
        ("Translate 1 2 x", "found `x`, expected a number"),
        ("Shape \"sphere", "has no closing quote"),
        (
            "Shape \"sphere\" \"float radius\" [ 1",
            "the list has no closing `]`",
        ),
        (
            "Shape \"sphere\" \"radius\" 1",
            "expected a type and a name",
        ),
        (
            "Shape \"sphere\" \"float radius\" [ 1 \"a\" ]",
            "has numbers and texts",
        ),
        (
            "Shape \"trianglemesh\" \"point3 P\" [ 0 0 0 ] \"integer indices\" [ 0 0 9 ]",
            "found 9, expected the number of one of 1 vertices",
        ),
        (
            "Shape \"plymesh\" \"string filename\" \"a.ply\"",
            "not shown: 1 shape whose file does not exist, such as `a.ply`",
        ),
        (
            "Film \"rgb\" \"integer xresolution\" 0",
            "must be at least 1x1 pixel",
        ),
        ("1 2 3", "is no directive"),
    ] {
        refused(file, text);
    }
    let options = LoadOptions {
        variant: Some("a".to_owned()),
        ..LoadOptions::default()
    };
    let error = load_with(&[("scene.pbrt", "")], &options).unwrap_err();
    assert!(error.contains("has no variant to choose"), "{error}");
}

#[test]
fn states_and_includes_are_limited() {
    refused(
        &"AttributeBegin\n".repeat(5000),
        "more than 4096 states are saved at once",
    );
    let mixes: String = (1..20)
        .map(|number| {
            let inner = number - 1;
            format!(
                "MakeNamedMaterial \"{number}\" \"string type\" \"mix\" \"string materials\" [ \"{inner}\" \"{inner}\" ]\n"
            )
        })
        .collect();
    let file = format!(
        "MakeNamedMaterial \"0\" \"string type\" \"diffuse\"\n{mixes}NamedMaterial \"19\" Shape \"sphere\""
    );
    refused(&file, "materials are mixed more than 8 times");
}

#[test]
fn a_triangle_needs_no_indices() {
    let scene = world("Shape \"trianglemesh\" \"point3 P\" [ 0 0 0 1 0 0 0 1 0 ]").unwrap();
    assert_eq!(scene.triangles.len(), 1);
}

/// Returns the vertices of the curve with these parameters. Asserts that each has the distance from the curve
/// `x = 2 t, y = 2 t (1 - t)` that half of `width` says.
fn curve_vertices(parameters: &str, width: impl Fn(f32) -> f32) -> Vec<Vec3> {
    let scene = world(&format!("Shape \"curve\" {parameters}")).unwrap();
    let mut vertices: Vec<Vec3> = (scene.triangles.iter())
        .flat_map(|triangle| triangle.vertices)
        .collect();
    vertices.extend(scene.meshes.iter().flat_map(|mesh| &mesh.positions));
    for &vertex in &vertices {
        let distance = (0..=2000)
            .map(|step| step as f32 / 2000.0)
            .map(|t| {
                (
                    t,
                    Vec3::new(2.0 * t, 2.0 * t * (1.0 - t), 0.0).distance(vertex),
                )
            })
            .min_by(|(_, near), (_, far)| near.total_cmp(far));
        let (t, distance) = distance.unwrap();
        let expected = width(t) / 2.0;
        assert!(
            (distance - expected).abs() < 2e-3,
            "{vertex} {t}: {distance} {expected}"
        );
    }
    vertices
}

#[test]
fn curves_become_tubes_and_ribbons() {
    let same = [
        // A parabola by its Bézier points of degree 2 and 3, and in two parts.
        "\"integer degree\" 2 \"point3 P\" [ 0 0 0 1 1 0 2 0 0 ]",
        "\"point3 P\" [ 0 0 0 0.6666667 0.6666667 0 1.3333333 0.6666667 0 2 0 0 ]",
        "\"integer degree\" 2 \"point3 P\" [ 0 0 0 0.5 0.5 0 1 0.5 0 1.5 0.5 0 2 0 0 ]",
        // As a B-spline.
        "\"integer degree\" 2 \"string basis\" \"bspline\" \"point3 P\" [ -1 -1 0 1 1 0 3 -1 0 ]",
        "\"string basis\" \"bspline\" \"point3 P\" [ -2 -3.3333333 0 0 0.6666667 0 2 0.6666667 0 4 -3.3333333 0 ]",
    ];
    for (number, points) in same.into_iter().enumerate() {
        let widths = "\"float width0\" 0.2 \"float width1\" 0.1";
        let tube = curve_vertices(&format!("{points} {widths}"), |t| 0.2 - 0.1 * t);
        assert!(tube.len() > 7 * 4, "{number}: {}", tube.len());
        let (low, high) = tube.iter().fold((f32::MAX, f32::MIN), |(low, high), at| {
            (low.min(at.z), high.max(at.z))
        });
        assert!(low < -0.08 && high > 0.08, "{number}: {low} {high}");
    }
    // A ribbon lies across its normal.
    let normals = "\"string type\" \"ribbon\" \"normal N\" [ 0 0 1 0 0 1 ]";
    let ribbon = curve_vertices(
        &format!("{} {normals} \"float width\" 0.2", same[0]),
        |_| 0.2,
    );
    assert!(ribbon.iter().all(|vertex| vertex.z == 0.0));
    // The front of a tube is outside, where light comes from.
    let straight = "Shape \"curve\" \"point3 P\" [ 0 0 0 0 0 1 0 0 2 0 0 3 ] \"float width\" 0.2";
    let scene = world(straight).unwrap();
    let mesh = &scene.meshes[0];
    assert_eq!(mesh.triangles.len(), 12);
    for corners in &mesh.triangles {
        let [a, b, c] = corners.map(|vertex| mesh.positions[vertex as usize]);
        let outside = (a + b + c) * Vec3::new(1.0, 1.0, 0.0);
        assert!((b - a).cross(c - a).dot(outside) > 0.0);
    }
    for (wrong, text) in [
        (
            "[ 0 0 0 1 0 0 ]",
            "found 2 points, which are not those of curves of degree 3",
        ),
        ("[ 0 0 0 1 0 0 2 0 0 3 0 0 4 0 0 ]", "found 5 points"),
        ("[ 0 0 0 1 0 0 2 0 0 1e300 0 0 ]", "is not finite"),
    ] {
        refused(
            &format!("WorldBegin Shape \"curve\" \"point3 P\" {wrong}"),
            text,
        );
    }
    let ribbon =
        "Shape \"curve\" \"string type\" \"ribbon\" \"point3 P\" [ 0 0 0 1 0 0 2 0 0 3 0 0 ]";
    refused(
        &format!("WorldBegin {ribbon}"),
        "found 0 normals, expected 2 for a ribbon",
    );
}

#[test]
fn includes_are_limited_by_their_sizes() {
    let outer = "WorldBegin\n".to_owned() + &"Include \"part.pbrt\"\n".repeat(101);
    let part = "Include \"ball.pbrt\"\n".repeat(101);
    let ball = "Shape \"sphere\"\n";
    let files = [
        ("scene.pbrt", &*outer),
        ("part.pbrt", &*part),
        ("ball.pbrt", ball),
    ];
    assert_eq!(load(&files).unwrap().spheres.len(), 101 * 101);
    let part = part.repeat(4);
    let files = [
        ("scene.pbrt", &*outer),
        ("part.pbrt", &*part),
        ("ball.pbrt", "\n"),
    ];
    let error = load(&files).unwrap_err();
    assert!(
        error.contains("more than 32768 files, or 64 GiB, are included; merge some"),
        "{error}"
    );
}
