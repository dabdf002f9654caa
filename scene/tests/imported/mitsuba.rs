//! Tests of Mitsuba scenes.

use glam::Vec3;
use raysieve_scene::{
    GlassTint, Light, LoadOptions, Metal, Parameter, PixelFilter, Projection, Scene, Surface,
    Texels,
};

use super::{assert_not_noted, assert_noted, example, load, load_with};

/// Loads a scene with these members.
pub(super) fn scene(members: &str) -> Result<Scene, String> {
    load(&[(
        "scene.xml",
        &format!("<scene version=\"3.0.0\">{members}</scene>"),
    )])
}

/// Returns the material of a sphere with this BSDF.
pub(super) fn surface(bsdf: &str) -> Surface {
    scene(&format!("<shape type=\"sphere\">{bsdf}</shape>"))
        .unwrap()
        .materials[0]
}

/// Asserts that a scene is refused with an error that contains a text.
pub(super) fn refused(members: &str, text: &str) {
    let error = scene(members).unwrap_err();
    assert!(error.contains(text), "{error}");
}

pub(super) const BALL: &str = "<shape type=\"sphere\"/>";

#[test]
fn each_element_is_read_or_reported() {
    let scene = example("everything.xml");
    assert_eq!((scene.size, scene.spp, scene.max_bounces), ((32, 16), 4, 4));
    assert_eq!(scene.roulette, 7);
    for note in [
        "media of type",
        "the BSDF `hair`",
        "1 shape of type `sdfgrid`",
        "the filter `tent`",
        "bump maps",
        "camera 1 of its cameras 1 \"front\", 2 \"top\"",
    ] {
        assert_noted(&scene, note);
    }
    assert!(scene.camera.lens.is_some());
    assert!(scene.instances.len() > 4 && scene.lights.len() >= 4);
}

#[test]
fn a_camera_is_chosen_by_its_id() {
    let sensors = "<sensor type=\"perspective\" id=\"a\"/><sensor type=\"orthographic\" id=\"b\"/>";
    let text = format!("<scene>{sensors}{BALL}</scene>");
    let options = LoadOptions {
        camera: Some("b".to_owned()),
        ..LoadOptions::default()
    };
    let chosen = load_with(&[("scene.xml", &text)], &options).unwrap();
    assert_eq!(
        chosen.camera.projection,
        Projection::Orthographic { width: 2.0 }
    );
    let options = LoadOptions {
        time: Some(1.0),
        ..LoadOptions::default()
    };
    let error = load_with(&[("scene.xml", &text)], &options).unwrap_err();
    assert!(error.contains("has no time to choose"), "{error}");
}

/// The reference images show that a crop has the rays of the whole image.
#[test]
fn a_crop_and_a_principal_point_offset_shift_the_view() {
    let camera = |sensor: &str, crop: &str| {
        let integer =
            |name: &str, value: u32| format!("<integer name=\"{name}\" value=\"{value}\"/>");
        let size = integer("width", 200) + &integer("height", 100);
        let film = format!("<film type=\"hdrfilm\">{size}{crop}</film>");
        let scene = scene(&format!("<sensor {sensor}{film}</sensor>{BALL}")).unwrap();
        assert_not_noted(&scene, "crop");
        (scene.size, scene.camera)
    };
    let offset = "type=\"perspective\"><float name=\"principal_point_offset_x\" value=\"0.25\"/>\
                  <float name=\"principal_point_offset_y\" value=\"-0.5\"/>";
    let (size, whole) = camera(offset, "");
    assert_eq!((size, whole.shift), ((200, 100), [0.25, 0.5]));
    // The crop of 50 by 40 pixels begins in column 150 and row 10.
    let crop = "<integer name=\"crop_offset_x\" value=\"150\"/><integer name=\"crop_offset_y\" value=\"10\"/>\
                <integer name=\"crop_width\" value=\"50\"/><integer name=\"crop_height\" value=\"40\"/>";
    let (size, part) = camera("type=\"orthographic\">", crop);
    assert_eq!((size, part.shift), ((50, 40), [1.5, 0.5]));
    assert_eq!(part.projection, Projection::Orthographic { width: 0.5 });
    let (_, part) = camera(offset, crop);
    assert_eq!(part.shift, [2.5, 1.75]);
}

#[test]
fn roughness_has_directions_and_textures() {
    let rough = |plugin: &str, alphas: &str| {
        let bsdf = format!(
            "<bsdf type=\"{plugin}\"><string name=\"distribution\" value=\"ggx\"/>{alphas}</bsdf>"
        );
        let scene = scene(&format!("<shape type=\"rectangle\">{bsdf}</shape>")).unwrap();
        let roughness = match scene.materials[0] {
            Surface::RoughConductor { roughness, .. }
            | Surface::RoughDielectric { roughness, .. } => roughness,
            surface => panic!("{surface:?}"),
        };
        let parameters = scene.maps.get(&0).map(|maps| {
            let textured = maps.textures.keys();
            textured.copied().collect::<Vec<_>>()
        });
        assert_not_noted(&scene, "rough");
        (
            roughness.alpha,
            roughness.alpha_v,
            parameters.unwrap_or_default(),
        )
    };
    let number = |name: &str, value: f32| format!("<float name=\"{name}\" value=\"{value}\"/>");
    let texture = |name: &str| format!("<texture type=\"checkerboard\" name=\"{name}\"/>");
    for plugin in ["roughconductor", "roughdielectric"] {
        let alphas = number("alpha_u", 0.2) + &number("alpha_v", 0.4);
        assert_eq!(rough(plugin, &alphas), (0.2, Some(0.4), vec![]));
        let alphas = number("alpha_u", 0.3) + &number("alpha_v", 0.3);
        assert_eq!(rough(plugin, &alphas), (0.3, None, vec![]));
        let alphas = texture("alpha");
        assert_eq!(
            rough(plugin, &alphas),
            (1.0, None, vec![Parameter::Roughness])
        );
        let alphas = texture("alpha_u") + &number("alpha_v", 0.5);
        assert_eq!(
            rough(plugin, &alphas),
            (1.0, Some(0.5), vec![Parameter::Roughness])
        );
    }
}

/// The meshes of curved shapes deviate from them by less than half a pixel in images of up to 3000 pixels.
#[test]
fn tessellated_shapes_are_close_to_the_true_ones() {
    let mesh = |kind: &str| {
        let scene = scene(&format!("<shape type=\"{kind}\"/>")).unwrap();
        let mesh = scene.meshes.first().cloned();
        let corners: Vec<[Vec3; 3]> = match mesh {
            Some(mesh) => {
                let corners = mesh.triangles.iter();
                let position = |vertex: u32| mesh.positions[vertex as usize];
                corners.map(|corners| corners.map(position)).collect()
            }
            None => {
                let triangles = scene.triangles.iter();
                triangles.map(|triangle| triangle.vertices).collect()
            }
        };
        assert!(corners.len() >= 128, "{kind}");
        corners
    };
    let off = |point: Vec3| (point.truncate().length() - 1.0).abs();
    for [a, b, c] in mesh("cylinder") {
        for point in [a, b, c, (a + b) / 2.0, (b + c) / 2.0, (c + a) / 2.0] {
            assert!(off(point) < 1.0 / 3000.0, "{point}");
        }
    }
    let disk = mesh("disk");
    let mut area = 0.0;
    for corners in disk {
        let [a, b, c] = corners;
        area += f64::from((b - a).cross(c - a).length()) / 2.0;
        let rim = corners.into_iter().filter(|point| point.length() > 0.5);
        let rim: Vec<Vec3> = rim.collect();
        assert_eq!(rim.len(), 2);
        for point in [rim[0], rim[1], (rim[0] + rim[1]) / 2.0] {
            assert!(off(point) < 1.0 / 3000.0, "{point}");
        }
    }
    assert!((area - std::f64::consts::PI).abs() < 1e-5, "{area}");
}

#[test]
fn a_blend_keeps_both_materials() {
    let blend = |weight: &str, first: &str| {
        scene(&format!(
            "<shape type=\"rectangle\"><bsdf type=\"twosided\"><bsdf type=\"blendbsdf\">{weight}{first}\
             <bsdf type=\"conductor\"/></bsdf></bsdf></shape>"
        ))
        .unwrap()
    };
    let diffuse = "<bsdf type=\"diffuse\"/>";
    let scene = blend("<texture type=\"checkerboard\" name=\"weight\"/>", diffuse);
    let used = scene.meshes[0].materials[0];
    let Surface::Blend {
        first,
        second,
        weight,
        ..
    } = scene.materials[used as usize]
    else {
        panic!("{:?}", scene.materials);
    };
    assert_eq!(weight, 1.0);
    assert!(
        scene.maps[&used]
            .textures
            .contains_key(&Parameter::BlendWeight)
    );
    let one_sided = [first, second].map(|part| match scene.materials[part as usize] {
        Surface::Diffuse { one_sided, .. } | Surface::Mirror { one_sided, .. } => one_sided,
        surface => panic!("{surface:?}"),
    });
    assert_eq!(one_sided, [false; 2]);
    assert_not_noted(&scene, "blend");
    // A part of 0.6 of 1/4 of the surface and the other 3/4 are there: of these, 3/4 divided by 0.9.
    let mask =
        format!("<bsdf type=\"mask\"><float name=\"opacity\" value=\"0.6\"/>{diffuse}</bsdf>");
    let scene = blend("<float name=\"weight\" value=\"0.75\"/>", &mask);
    let used = scene.materials.len() - 1;
    let Surface::Blend { weight, .. } = scene.materials[used] else {
        panic!("{:?}", scene.materials);
    };
    assert!((scene.maps[&(used as u32)].opacity - 0.9).abs() < 1e-6);
    assert!((weight - 0.75 / 0.9).abs() < 1e-6);
}

#[test]
fn a_blend_with_a_null_bsdf_is_a_mask() {
    let blend = |parts: &str| {
        let weight = "<texture type=\"checkerboard\" name=\"weight\"><rgb name=\"color0\" value=\"0.75\"/><rgb name=\"color1\" value=\"0.5\"/></texture>";
        let scene = scene(&format!(
            "<shape type=\"rectangle\"><bsdf type=\"blendbsdf\">{weight}{parts}</bsdf></shape>"
        ))
        .unwrap();
        assert_not_noted(&scene, "blend");
        let material = scene.meshes[0].materials[0];
        assert!(matches!(
            scene.materials[material as usize],
            Surface::Diffuse { .. }
        ));
        let map = scene.maps[&material].textures[&Parameter::Opacity];
        let image = scene.textures[map.texture as usize].image;
        let Texels::Floats(texels) = &scene.images[image as usize].texels else {
            panic!();
        };
        // As a number, the checkerboard has its colors exchanged.
        [texels[0][0], texels[1][0]]
    };
    let (diffuse, null) = ("<bsdf type=\"diffuse\"/>", "<bsdf type=\"null\"/>");
    assert_eq!(blend(&format!("{diffuse}{null}")), [0.5, 0.25]);
    assert_eq!(blend(&format!("{null}{diffuse}")), [0.5, 0.75]);
}

#[test]
fn directional_emitters_keep_the_length_of_their_axis() {
    let irradiance = |parameters: &str| {
        let light = format!("<emitter type=\"directional\">{parameters}</emitter>");
        let scene = scene(&format!("{BALL}{light}")).unwrap();
        let Light::Directional { irradiance, .. } = scene.lights[0] else {
            panic!("{:?}", scene.lights);
        };
        irradiance
    };
    let scaled = "<transform name=\"to_world\"><scale value=\"3\"/></transform>";
    assert_eq!(irradiance(""), Vec3::ONE);
    assert_eq!(irradiance(scaled), Vec3::splat(3.0));
    let direction = "<vector name=\"direction\" x=\"0\" y=\"0\" z=\"-5\"/>";
    assert_eq!(irradiance(direction), Vec3::ONE);
}

#[test]
fn a_stretched_sphere_is_reported_as_an_ellipsoid() {
    let sphere = |x: u32| {
        let stretched = format!("<transform name=\"to_world\"><scale x=\"{x}\"/></transform>");
        scene(&format!("<shape type=\"sphere\">{stretched}</shape>")).unwrap()
    };
    assert_noted(
        &sphere(2),
        "shown as ellipsoids: spheres whose `to_world` scales unevenly",
    );
    assert!(
        sphere(1)
            .notes
            .iter()
            .all(|note| !note.contains("ellipsoids"))
    );
}

/// Mitsuba multiplies the reflectance of conductors by a color, whatever the angle.
#[test]
fn conductors_keep_the_color_of_what_they_reflect() {
    let tint = "<rgb name=\"specular_reflectance\" value=\"0.5,0.25,1\"/>";
    let of =
        |plugin: &str, rest: &str| surface(&format!("<bsdf type=\"{plugin}\">{tint}{rest}</bsdf>"));
    let color = Vec3::new(0.5, 0.25, 1.0);
    let aluminium = "<string name=\"material\" value=\"Al\"/>";
    for (plugin, rest, is_metal) in [
        ("roughconductor", aluminium, true),
        ("roughconductor", "", false),
        ("conductor", aluminium, true),
    ] {
        let (Surface::RoughConductor { metal, .. } | Surface::Conductor { metal, .. }) =
            of(plugin, rest)
        else {
            panic!("{plugin} {rest}")
        };
        let Metal::Index { eta, k, tint } = metal else {
            panic!("{metal:?}")
        };
        assert_eq!(tint, color, "{plugin} {rest}");
        // A metal without a material reflects everything.
        assert_eq!((eta, k) != (Vec3::ZERO, Vec3::ONE), is_metal);
    }
    let mirror = of("conductor", "");
    assert!(matches!(mirror, Surface::Mirror { reflectance, .. } if reflectance == color));
}

#[test]
fn plastic_keeps_the_color_of_what_it_reflects() {
    let tint = "<rgb name=\"specular_reflectance\" value=\"0.5,0.25,1\"/>";
    for plugin in ["plastic", "roughplastic"] {
        match surface(&format!("<bsdf type=\"{plugin}\">{tint}</bsdf>")) {
            Surface::CoatedDiffuse {
                reflection_tint, ..
            } => assert_eq!(reflection_tint, Vec3::new(0.5, 0.25, 1.0)),
            surface => panic!("{surface:?}"),
        }
    }
}

#[test]
fn the_angle_of_view_follows_its_axis() {
    let fov = |parameters: &str| {
        let sensor = format!(
            "<sensor type=\"perspective\">{parameters}<film type=\"hdrfilm\"><integer name=\"width\" value=\"200\"/>\
             <integer name=\"height\" value=\"100\"/></film></sensor>{BALL}"
        );
        match scene(&sensor).unwrap().camera.projection {
            Projection::Perspective { fov_degrees } => fov_degrees,
            Projection::Orthographic { .. } => panic!(),
        }
    };
    let angle = |axis: &str| {
        fov(&format!(
            "<float name=\"fov\" value=\"60\"/><string name=\"fov_axis\" value=\"{axis}\"/>"
        ))
    };
    let wide = 2.0 * (2.0 * 30.0_f32.to_radians().tan()).atan().to_degrees();
    for (axis, expected) in [
        ("x", 60.0),
        ("larger", 60.0),
        ("y", wide),
        ("smaller", wide),
    ] {
        assert!((angle(axis) - expected).abs() < 1e-3, "{axis}");
    }
    // Half the width of a film with a diagonal of 43.27 mm, divided by 50 mm.
    let expected = 2.0
        * (43.266_617_f32 / 100.0 / 1.25_f32.sqrt())
            .atan()
            .to_degrees();
    assert!((fov("") - expected).abs() < 1e-3);
}

#[test]
fn a_film_has_a_gaussian_filter_without_another_one() {
    let scene = scene(&format!("<sensor type=\"perspective\"/>{BALL}")).unwrap();
    let expected = PixelFilter::Gaussian {
        radius: 2.0,
        sigma: 0.5,
    };
    assert_eq!(scene.camera.filter, expected);
}

#[test]
fn an_image_is_mirrored_by_mirroring_the_scene() {
    let scene = scene(
        "<sensor type=\"perspective\"><transform name=\"to_world\"><scale x=\"-1\"/></transform></sensor>\
         <shape type=\"sphere\"><point name=\"center\" x=\"2\" y=\"3\" z=\"4\"/></shape>",
    )
    .unwrap();
    assert_eq!(scene.spheres[0].center, Vec3::new(-2.0, 3.0, 4.0));
    assert_eq!(scene.camera.target.z.signum(), 1.0);
}

#[test]
fn materials_have_the_parameters_of_their_bsdf() {
    let grey = Surface::Diffuse {
        albedo: Vec3::splat(0.5),
        one_sided: true,
    };
    assert_eq!(surface(""), grey);
    assert_eq!(surface("<bsdf type=\"diffuse\"/>"), grey);
    let Surface::Diffuse { one_sided, .. } =
        surface("<bsdf type=\"twosided\"><bsdf type=\"diffuse\"/></bsdf>")
    else {
        panic!();
    };
    assert!(!one_sided);
    let Surface::Dielectric { ior, .. } = surface(
        "<bsdf type=\"dielectric\"><string name=\"int_ior\" value=\"water\"/><string name=\"ext_ior\" value=\"diamond\"/></bsdf>",
    ) else {
        panic!();
    };
    assert!((ior - 1.333 / 2.419).abs() < 1e-5);
    assert_eq!(
        surface("<bsdf type=\"conductor\"/>"),
        Surface::Mirror {
            reflectance: Vec3::ONE,
            one_sided: true
        }
    );
    // An area light without a BSDF reflects nothing.
    let Surface::Emissive {
        albedo, radiance, ..
    } = surface("<emitter type=\"area\"><rgb name=\"radiance\" value=\"1 2 3\"/></emitter>")
    else {
        panic!();
    };
    assert_eq!((albedo, radiance), (Vec3::ZERO, Vec3::new(1.0, 2.0, 3.0)));
}

#[test]
fn srgb_colors_are_decoded_once() {
    let albedo = |color: &str| match surface(&format!("<bsdf type=\"diffuse\">{color}</bsdf>")) {
        Surface::Diffuse { albedo, .. } => albedo,
        _ => panic!(),
    };
    // 128 / 255 in sRGB is 0.2158 in linear light.
    for value in ["#808080", "0.501961", "0.501961, 0.501961, 0.501961"] {
        let color = albedo(&format!("<srgb name=\"reflectance\" value=\"{value}\"/>"));
        assert!((color - 0.215_86).abs().max_element() < 1e-4, "{color}");
    }
}

#[test]
fn spectra_become_linear_srgb_as_in_mitsuba() {
    let albedo = |spectrum: &str| {
        let bsdf = format!(
            "<bsdf type=\"diffuse\"><spectrum name=\"reflectance\" value=\"{spectrum}\"/></bsdf>"
        );
        match surface(&bsdf) {
            Surface::Diffuse { albedo, .. } => albedo,
            _ => panic!(),
        }
    };
    let close = |color: Vec3, expected: [f32; 3]| {
        let expected = Vec3::from_array(expected);
        assert!(
            (color - expected).abs().max_element() < 2e-3,
            "{color} {expected}"
        );
    };
    // The values of Mitsuba 3.9.1 (scalar_rgb).
    close(albedo("400:0.5, 700:0.5"), [0.497_67, 0.499_88, 0.497_45]);
    close(
        albedo("400:0.1, 500:.3, 600:.9, 700:.9"),
        [1.0, 0.551_77, 0.153_9],
    );
    close(albedo("0.25"), [0.25; 3]);
    let sky = |spectrum: &str| {
        let emitter = format!(
            "<emitter type=\"constant\"><spectrum name=\"radiance\" value=\"{spectrum}\"/></emitter>{BALL}"
        );
        scene(&emitter).unwrap().sky
    };
    close(sky("1"), [1.204_79, 0.948_29, 0.908_92]);
    close(
        sky("400:0.1, 500:1, 600:2, 700:3"),
        [2.824, 1.360_26, 0.389_91],
    );
}

#[test]
fn a_missing_image_is_reported() {
    let scene = scene(
        "<shape type=\"sphere\"><bsdf type=\"diffuse\"><texture name=\"reflectance\" type=\"bitmap\">\
         <string name=\"filename\" value=\"a.png\"/></texture></bsdf></shape>",
    )
    .unwrap();
    assert_noted(&scene, "the image `a.png` is left out: does not exist");
}

/// Mitsuba multiplies the light that glass reflects and transmits by colors.
#[test]
fn glass_keeps_the_color_of_what_it_reflects_and_transmits() {
    let transmitted = "<rgb name=\"specular_transmittance\" value=\"0.9,0.5,0.2\"/>";
    let reflected = "<rgb name=\"specular_reflectance\" value=\"0.1,0.7,0.3\"/>";
    let colored = GlassTint {
        reflection: Vec3::new(0.1, 0.7, 0.3),
        transmission: Vec3::new(0.9, 0.5, 0.2),
    };
    for (colors, expected) in [
        (format!("{transmitted}{reflected}"), colored),
        (String::new(), GlassTint::WHITE),
    ] {
        for (plugin, is_thin) in [
            ("dielectric", false),
            ("thindielectric", true),
            ("roughdielectric", false),
        ] {
            let found = surface(&format!("<bsdf type=\"{plugin}\">{colors}</bsdf>"));
            match found {
                Surface::Dielectric { thin, tint, .. } => {
                    assert_eq!((thin, tint), (is_thin, expected));
                }
                Surface::RoughDielectric { tint, .. } => assert_eq!(tint, expected),
                surface => panic!("{surface:?}"),
            }
        }
    }
}
