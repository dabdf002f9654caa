//! Tests of Mitsuba's principled BSDFs and pbrt's diffuse transmission.

use glam::Vec3;
use raysieve_scene::{Masking, Metal, Parameter, Principled, Surface, Texels};

use super::{assert_noted, load, mitsuba::scene, pbrt};

/// Returns the material and the warnings of a ball with a BSDF of this type.
fn ball(plugin: &str, parameters: &str) -> (Surface, Vec<String>) {
    let text = format!(
        "<scene version=\"3.0.0\"><emitter type=\"constant\"/><shape type=\"sphere\"><bsdf type=\"{plugin}\">{parameters}</bsdf></shape></scene>"
    );
    let scene = load(&[("scene.xml", &text)]).unwrap();
    (scene.materials[0], scene.notes)
}

/// Writes numbers as parameters.
fn numbers(values: &[(&str, f32)]) -> String {
    let write = |(name, value): &(&str, f32)| format!("<float name=\"{name}\" value=\"{value}\"/>");
    values.iter().map(write).collect()
}

/// Returns the material of a principled BSDF that stays one.
fn layered(plugin: &str, parameters: &str) -> Principled {
    match ball(plugin, parameters).0 {
        Surface::Principled(principled) => principled,
        surface => panic!("{surface:?}"),
    }
}

#[test]
fn principled_metal_is_a_rough_conductor() {
    let color = "<rgb name=\"base_color\" value=\"0.9, 0.6, 0.3\"/>";
    let metal = |values: &[(&str, f32)]| {
        let (surface, notes) = ball("principled", &format!("{color}{}", numbers(values)));
        assert!(notes.iter().all(|note| !note.contains("principled")));
        let Surface::RoughConductor {
            metal, roughness, ..
        } = surface
        else {
            panic!("{surface:?}");
        };
        assert_eq!(metal, Metal::Color(Vec3::new(0.9, 0.6, 0.3)));
        assert_eq!(roughness.masking, Masking::Separable);
        assert!(!roughness.energy_compensation);
        (roughness.alpha, roughness.alpha_v)
    };
    assert_eq!(
        metal(&[("metallic", 1.0), ("roughness", 0.5)]),
        (0.25, None)
    );
    let brushed = [("metallic", 1.0), ("roughness", 0.5), ("anisotropic", 0.8)];
    let (alpha, alpha_v) = metal(&brushed);
    let aspect = (1.0 - 0.9 * 0.8_f32).sqrt();
    assert!((alpha - 0.25 / aspect).abs() < 1e-6);
    assert!((alpha_v.unwrap() - 0.25 * aspect).abs() < 1e-6);
}

#[test]
fn principled_glass_is_a_rough_dielectric() {
    let glass = |color: &str, values: &[(&str, f32)]| {
        let color = format!("<rgb name=\"base_color\" value=\"{color}\"/>");
        ball("principled", &format!("{color}{}", numbers(values)))
    };
    let whole = [("spec_trans", 1.0), ("roughness", 0.5), ("eta", 1.4)];
    let (surface, notes) = glass("1", &whole);
    let Surface::RoughDielectric { ior, roughness, .. } = surface else {
        panic!("{surface:?}");
    };
    assert_eq!((ior, roughness.alpha, roughness.alpha_v), (1.4, 0.25, None));
    assert!(notes.is_empty(), "{notes:?}");
    // Each crossing lets the square root of the color pass.
    let (Surface::Principled(tinted), _) = glass("0.25, 0.64, 1", &whole) else {
        panic!();
    };
    let off = tinted.base_color - Vec3::new(0.5, 0.8, 1.0);
    assert!(off.abs().max_element() < 1e-6 && tinted.transmission == 1.0);
    let brushed = [("spec_trans", 1.0), ("anisotropic", 0.8)];
    let notes = glass("0.5", &brushed).1;
    assert!(
        notes.iter().any(|note| note.contains("`anisotropic`")),
        "{notes:?}"
    );
}

#[test]
fn principled_metal_and_glass_have_textures_of_their_roughness() {
    for (parameter, anisotropic) in [("metallic", 0.0), ("spec_trans", 0.0), ("metallic", 0.5)] {
        let values = numbers(&[(parameter, 1.0), ("anisotropic", anisotropic)]);
        let text = format!(
            "<scene version=\"3.0.0\"><emitter type=\"constant\"/><shape type=\"rectangle\"><bsdf type=\"principled\">{values}\
             <rgb name=\"base_color\" value=\"1\"/><texture type=\"checkerboard\" name=\"roughness\">\
             <float name=\"color0\" value=\"0.4\"/><float name=\"color1\" value=\"0.6\"/></texture></bsdf></shape></scene>"
        );
        let scene = load(&[("scene.xml", &text)]).unwrap();
        assert!(scene.notes.is_empty(), "{:?}", scene.notes);
        let (Surface::RoughConductor { roughness, .. }
        | Surface::RoughDielectric { roughness, .. }) = scene.materials[0]
        else {
            panic!("{:?}", scene.materials);
        };
        let aspect = (1.0 - 0.9 * anisotropic).sqrt();
        let map = scene.maps[&0].textures[&Parameter::Roughness];
        let image = &scene.images[scene.textures[map.texture as usize].image as usize];
        let Texels::Floats(texels) = &image.texels else {
            panic!("{image:?}");
        };
        // A checkerboard that is a number has its colors exchanged.
        let alpha = roughness.alpha * texels[0][0];
        assert!((alpha - 0.36 / aspect).abs() < 1e-6, "{alpha}");
    }
}

#[test]
fn the_tint_of_the_reflection_of_principled_glass_is_reported() {
    let color = "<rgb name=\"base_color\" value=\"0.6, 0.3, 0.2\"/>";
    for (plugin, transmission, is_reported) in [
        ("principled", 1.0, true),
        ("principledthin", 0.5, true),
        ("principled", 0.0, false),
    ] {
        let values = numbers(&[("spec_trans", transmission), ("spec_tint", 1.0)]);
        let notes = ball(plugin, &format!("{color}{values}")).1;
        let found = notes.iter().any(|note| note.contains("`spec_tint`"));
        assert_eq!(found, is_reported, "{notes:?}");
    }
}

/// The parts have the colors of glass and of opaque plastic, and a single material would have one color for both.
#[test]
fn principled_that_transmits_a_part_is_a_blend_of_glass_and_plastic() {
    let parts = |transmission: &str| {
        let text = format!(
            "<scene version=\"3.0.0\"><emitter type=\"constant\"/><shape type=\"rectangle\"><bsdf type=\"principled\">\
             <rgb name=\"base_color\" value=\"0.25\"/>{transmission}</bsdf></shape></scene>"
        );
        let scene = load(&[("scene.xml", &text)]).unwrap();
        let material = match scene.triangles.first() {
            Some(triangle) => triangle.material,
            None => scene.meshes[0].materials[0],
        };
        let Surface::Blend {
            first,
            second,
            weight,
            ..
        } = scene.materials[material as usize]
        else {
            panic!("{:?}", scene.materials);
        };
        let [opaque, glass] = [first, second].map(|part| scene.materials[part as usize]);
        let (Surface::Principled(opaque), Surface::Principled(glass)) = (opaque, glass) else {
            panic!("{:?}", scene.materials);
        };
        assert!(opaque.transmission == 0.0 && opaque.one_sided && opaque.base_color.x < 0.35);
        assert_eq!(
            (glass.transmission, glass.base_color),
            (1.0, Vec3::splat(0.5))
        );
        let maps = scene.maps.get(&material).cloned().unwrap_or_default();
        (weight, maps.textures.contains_key(&Parameter::BlendWeight))
    };
    let number = numbers(&[("spec_trans", 0.3)]);
    assert_eq!(parts(&number), (0.3, false));
    let texture = "<texture name=\"spec_trans\" type=\"checkerboard\"/>";
    assert_eq!(parts(texture), (1.0, true));
}

/// Fresnel's reflection of similar indices is low at all but very grazing angles, and 0 for equal ones.
#[test]
fn principled_plastic_with_a_low_index_reflects_little_at_grazing_angles() {
    let plastic = |eta: f32| layered("principled", &numbers(&[("eta", eta)]));
    assert!(plastic(1.0).specular < 1e-6);
    let low = plastic(1.2);
    assert!((0.6..0.9).contains(&low.specular), "{}", low.specular);
    // The reflectance at normal incidence is that of the index.
    let at_normal = low.specular * low.specular_color;
    assert!((at_normal - Vec3::ONE).abs().max_element() < 1e-6);
    for eta in [1.5, 2.0] {
        let other = plastic(eta);
        assert_eq!((other.specular, other.specular_color), (1.0, Vec3::ONE));
    }
}

#[test]
fn anisotropy_of_other_principled_materials_is_that_of_gltf() {
    let values = [("roughness", 0.4), ("anisotropic", 0.6), ("metallic", 0.5)];
    let principled = layered("principled", &numbers(&values));
    let aspect = (1.0 - 0.9 * 0.6_f32).sqrt();
    let across = principled.roughness.powi(2);
    let along = across + (1.0 - across) * principled.anisotropy.powi(2);
    assert!((across - 0.16 * aspect).abs() < 1e-6, "{across}");
    assert!((along - 0.16 / aspect).abs() < 1e-6, "{along}");
    // The larger alpha is at most 1.
    let rough = [("roughness", 1.0), ("anisotropic", 1.0)];
    let principled = layered("principled", &numbers(&rough));
    assert!((principled.anisotropy - 1.0).abs() < 1e-6);
}

#[test]
fn sheen_adds_as_much_light_to_any_base() {
    let sheen = |color: &str, tint: f32| {
        let values = [("sheen", 1.0), ("sheen_tint", tint)];
        let color = format!("<rgb name=\"base_color\" value=\"{color}\"/>");
        layered("principled", &format!("{color}{}", numbers(&values)))
    };
    for color in [0.0, 0.2, 0.5, 0.8] {
        let cloth = sheen(&color.to_string(), 0.0).sheen_color;
        // What the fibres reflect, less what they keep from the base.
        let gained = cloth - color * cloth.max_element();
        assert!(
            (gained - Vec3::splat(0.129)).abs().max_element() < 1e-5,
            "{gained}"
        );
    }
    let red = sheen("0.5, 0.1, 0.1", 1.0).sheen_color;
    assert!(red.x > 2.0 * red.y && red.y == red.z, "{red}");
    let white = sheen("1", 0.0).sheen_color;
    assert!(white.max_element() <= 1.0 && white.min_element() >= 0.0);
    assert_eq!(layered("principled", "").sheen_color, Vec3::ZERO);
}

#[test]
fn tints_keep_the_luminance_of_white() {
    let color = "<rgb name=\"base_color\" value=\"0.6, 0.3, 0.2\"/>";
    let tint = |strength: f32| {
        let values = numbers(&[("spec_tint", strength)]);
        layered("principled", &format!("{color}{values}")).specular_color
    };
    let (none, half, whole) = (tint(0.0), tint(0.5), tint(1.0));
    let luminance = |color: Vec3| color.dot(Vec3::new(0.2126, 0.7152, 0.0722));
    assert_eq!(none, Vec3::ONE);
    assert!((luminance(whole) - 1.0).abs() < 1e-5 && (whole.x / whole.y - 2.0).abs() < 1e-5);
    assert!((half - (none + whole) / 2.0).abs().max_element() < 1e-6);
}

#[test]
fn a_thin_principled_sheet_transmits_half_of_its_diffuse_transmission() {
    let color = "<rgb name=\"base_color\" value=\"0.6, 0.3, 0.2\"/>";
    let values = numbers(&[("diff_trans", 0.8)]);
    let sheet = layered("principledthin", &format!("{color}{values}"));
    assert_eq!(sheet.diffuse_transmission, 0.4);
    assert_eq!(sheet.diffuse_transmission_color, Vec3::new(0.6, 0.3, 0.2));
    assert!(sheet.thin && !sheet.one_sided);
    // Without specular transmission there is no specular reflection.
    assert_eq!(sheet.specular, 0.0);
}

#[test]
fn diffuse_transmission_keeps_both_colors() {
    let sheet = |parameters: &str| match pbrt::surface(&format!(
        "Material \"diffusetransmission\" {parameters}"
    )) {
        Surface::Principled(principled) => principled,
        surface => panic!("{surface:?}"),
    };
    for (parameters, reflected, transmitted) in [
        ("", [0.25; 3], [0.25; 3]),
        (
            "\"rgb reflectance\" [ 1 0.5 0 ] \"rgb transmittance\" [ 0 0.5 1 ] \"float scale\" 0.8",
            [0.8, 0.4, 0.0],
            [0.0, 0.4, 0.8],
        ),
        (
            "\"rgb reflectance\" [ 0.2 0.3 0.4 ] \"rgb transmittance\" [ 0 0 0 ]",
            [0.2, 0.3, 0.4],
            [0.0; 3],
        ),
        (
            "\"rgb reflectance\" [ 0 0 0 ] \"rgb transmittance\" [ 0.2 0.3 0.4 ]",
            [0.0; 3],
            [0.2, 0.3, 0.4],
        ),
        (
            "\"rgb reflectance\" [ 0 0 0 ] \"rgb transmittance\" [ 0 0 0 ]",
            [0.0; 3],
            [0.0; 3],
        ),
    ] {
        let sheet = sheet(parameters);
        let part = sheet.diffuse_transmission;
        assert!((0.0..=1.0).contains(&part) && sheet.thin && sheet.specular == 0.0);
        let close = |color: Vec3, expected: [f32; 3]| {
            let off = color - Vec3::from_array(expected);
            assert!(off.abs().max_element() < 1e-6, "{parameters}: {color}");
        };
        close(sheet.base_color * (1.0 - part), reflected);
        close(sheet.diffuse_transmission_color * part, transmitted);
    }
}

#[test]
fn diffuse_transmission_has_textures() {
    let scene = pbrt::world(
        "Texture \"leaf\" \"spectrum\" \"checkerboard\" \"rgb tex1\" [ 0.2 0.5 0.1 ] \"rgb tex2\" [ 0.3 0.6 0.1 ]\n\
         Material \"diffusetransmission\" \"texture reflectance\" \"leaf\" \"texture transmittance\" \"leaf\"\n\
         Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"integer indices\" [0 1 2]",
    )
    .unwrap();
    let Surface::Principled(sheet) = scene.materials[0] else {
        panic!();
    };
    assert_eq!(sheet.diffuse_transmission, 0.5);
    assert_eq!(sheet.base_color, Vec3::splat(2.0));
    let textures = &scene.maps[&0].textures;
    assert!(textures.contains_key(&Parameter::Color));
    assert!(textures.contains_key(&Parameter::DiffuseTransmissionColor));
    assert!(scene.notes.iter().all(|note| !note.contains("diffuse")));
    let both = pbrt::world("Material \"subsurface\" Shape \"sphere\"").unwrap();
    assert_noted(&both, "subsurface");
}

#[test]
fn the_base_of_principled_plastic_is_raised_by_what_the_layers_take() {
    let color = |plugin: &str, value: &str, values: &[(&str, f32)]| {
        let color = format!("<rgb name=\"base_color\" value=\"{value}\"/>");
        layered(plugin, &format!("{color}{}", numbers(values))).base_color
    };
    for roughness in [0.0, 0.4, 1.0] {
        let grey = color("principled", "0.5", &[("roughness", roughness)]);
        assert!(grey.x == grey.y && grey.x > 0.51 && grey.x < 0.57, "{grey}");
        let coated = [("roughness", roughness), ("clearcoat", 1.0)];
        assert!(color("principled", "0.5", &coated).x > grey.x);
        for extreme in ["0", "1"] {
            let color = color("principled", extreme, &[("roughness", roughness)]);
            assert!(color.min_element() >= 0.0 && color.max_element() <= 1.0);
        }
    }
    // Other materials keep their color.
    assert_eq!(color("principledthin", "0.5", &[]), Vec3::splat(0.5));
}

/// Its light is the sum of that of both materials.
#[test]
fn a_half_metallic_principled_is_a_blend_with_a_metal() {
    let of = |metallic: &str| {
        let bsdf = format!("<bsdf type=\"principled\">{metallic}</bsdf>");
        scene(&format!("<shape type=\"sphere\">{bsdf}</shape>")).unwrap()
    };
    let half = of("<float name=\"metallic\" value=\"0.5\"/>");
    let (first, second) = half
        .materials
        .iter()
        .find_map(|surface| match *surface {
            Surface::Blend {
                first,
                second,
                weight: 0.5,
                ..
            } => Some((first as usize, second as usize)),
            _ => None,
        })
        .unwrap();
    assert!(matches!(half.materials[first], Surface::Principled(base) if base.metallic == 0.0));
    assert!(matches!(
        half.materials[second],
        Surface::RoughConductor { .. }
    ));
    let textured = of("<texture type=\"checkerboard\" name=\"metallic\"/>");
    assert!(matches!(textured.materials[..], [Surface::Principled(_)]));
}

#[test]
fn a_texture_of_principled_plastic_is_raised_too() {
    let text = "<scene version=\"3.0.0\"><emitter type=\"constant\"/><shape type=\"rectangle\"><bsdf type=\"principled\">\
        <texture type=\"checkerboard\" name=\"base_color\"><rgb name=\"color0\" value=\"0.2\"/><rgb name=\"color1\" value=\"0.6\"/>\
        </texture></bsdf></shape></scene>";
    let scene = load(&[("scene.xml", text)]).unwrap();
    let map = scene.maps[&0].textures[&Parameter::Color];
    let image = &scene.images[scene.textures[map.texture as usize].image as usize];
    let Texels::Floats(texels) = &image.texels else {
        panic!("{image:?}");
    };
    let (dark, bright) = (texels[0][0], texels[1][0]);
    assert!(
        dark > 0.21 && dark < 0.23 && (bright / dark - 3.0).abs() < 1e-3,
        "{dark} {bright}"
    );
}
