//! Tests of directions and textures for which Mitsuba 3.9.1 gives the expected values.

use glam::Vec3;
use raysieve_scene::{Light, Parameter, Texels};

use super::mitsuba::{BALL, scene};

/// Mitsuba's sun stands with north at -x and east at -y.
#[test]
fn the_sun_of_a_date_stands_where_mitsuba_has_it() {
    let cases = [
        (48.0, 8, 6, [-0.164913, -0.907335, 0.386713]),
        (48.0, 14, 6, [0.408172, 0.136022, 0.902714]),
        (48.0, 17, 12, [0.662805, 0.746262, 0.0615018]),
        (-33.0, 14, 6, [-0.827778, 0.13602, 0.544318]),
        (-33.0, 17, 12, [0.0428999, 0.746281, 0.664247]),
    ];
    for (latitude, hour, month, expected) in cases {
        let numbers = [
            ("year", 2020.0),
            ("month", f64::from(month)),
            ("day", 21.0),
            ("hour", f64::from(hour)),
            ("latitude", latitude),
            ("longitude", 9.0),
            ("timezone", 2.0),
        ];
        let values: String = numbers
            .iter()
            .map(|(name, value)| format!("<float name=\"{name}\" value=\"{value}\"/>"))
            .collect();
        let scene = scene(&format!("<emitter type=\"sun\">{values}</emitter>{BALL}")).unwrap();
        let [Light::Directional { direction, .. }] = scene.lights[..] else {
            panic!("{:?}", scene.lights);
        };
        let away = direction.normalize() + Vec3::from_array(expected);
        assert!(away.length() < 2e-3, "{direction} instead of {expected:?}");
    }
}

/// Mitsuba's cylinder has u = 0 in the first direction of the frame by T. Duff et al. of its axis.
#[test]
fn the_texture_of_a_cylinder_begins_where_mitsuba_begins_it() {
    let cases = [
        ([0, 0, 1], [1.0, 0.0, 0.0]),
        ([0, 0, -1], [1.0, 0.0, 0.0]),
        ([1, 0, 0], [0.0, 0.0, -1.0]),
        ([0, 1, 0], [1.0, 0.0, 0.0]),
        ([1, 1, 1], [0.789, -0.211, -0.577]),
        ([-1, 2, -3], [0.961, 0.078, -0.267]),
    ];
    for ([x, y, z], expected) in cases {
        let axis = format!("<point name=\"p1\" x=\"{x}\" y=\"{y}\" z=\"{z}\"/>");
        let texture =
            "<bsdf type=\"diffuse\"><texture name=\"reflectance\" type=\"checkerboard\"/></bsdf>";
        let scene = scene(&format!("<shape type=\"cylinder\">{axis}{texture}</shape>")).unwrap();
        let (mesh, instance) = (&scene.meshes[0], &scene.instances[0]);
        let [right, up, along] = instance.axes;
        let axis = Vec3::new(x as f32, y as f32, z as f32).normalize();
        let mut found = 0;
        for (position, _) in mesh
            .positions
            .iter()
            .zip(&mesh.uvs)
            .filter(|(_, uv)| uv[0] == 0.0)
        {
            let at = instance.position + right * position.x + up * position.y + along * position.z;
            let away = at - axis * at.dot(axis) - Vec3::from_array(expected);
            assert!(away.length() < 2e-3, "{at} for {axis}");
            found += 1;
        }
        assert!(found > 0);
    }
}

/// `eval_1` of Mitsuba's checkerboard has the colors of `eval` exchanged.
#[test]
fn a_checkerboard_that_is_a_number_has_its_colors_exchanged() {
    let texture = |name: &str| {
        format!(
            "<texture name=\"{name}\" type=\"checkerboard\" id=\"{name}\"><float name=\"color0\" value=\"0.75\"/>\
             <float name=\"color1\" value=\"0.25\"/></texture>"
        )
    };
    let first = |bsdf: &str, parameter: Parameter| {
        let scene = scene(&format!("<shape type=\"rectangle\">{bsdf}</shape>")).unwrap();
        let map = scene.maps[&scene.meshes[0].materials[0]].textures[&parameter];
        let image = scene.textures[map.texture as usize].image;
        let Texels::Floats(texels) = &scene.images[image as usize].texels else {
            panic!("a checkerboard has floats");
        };
        texels[0][0]
    };
    let color = format!("<bsdf type=\"diffuse\">{}</bsdf>", texture("reflectance"));
    assert_eq!(first(&color, Parameter::Color), 0.75);
    let opacity = format!(
        "<bsdf type=\"mask\">{}<bsdf type=\"diffuse\"/></bsdf>",
        texture("opacity")
    );
    assert_eq!(first(&opacity, Parameter::Opacity), 0.25);
    let alpha = format!("<bsdf type=\"roughconductor\">{}</bsdf>", texture("alpha"));
    assert_eq!(first(&alpha, Parameter::Roughness), 0.25);
}
