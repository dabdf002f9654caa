//! Cases of light sampling, area lights and lamps.

use glam::Vec3;
use raysieve::{
    accel::primitive::{PAIRED, Primitive, SPHERE, TRIANGLE},
    lights::{
        area_light::{
            area_pdf_of_width, light_pdf, one_minus_cos_max, sample_emitter, sample_sphere,
            sample_triangle, sphere_area,
        },
        environment::{Environment, EnvironmentRow, EnvironmentTexel},
        lamp::{DISTANT, Lamp, POINT, SPOT, SUN, sample_lamp, spot_falloff},
        light::{
            EMITTER, ENVIRONMENT, LAMP, Light, LightParams, Lights, choose_light, emitter_area_pdf,
            far_light_contribution, sample_light, sky_light,
        },
        light_sample::{NO_SAMPLE, sample_weight},
        light_tree::{LightPair, NO_LIGHT, PROBABILITY_UNITS},
    },
};

use super::{
    Case,
    environment::{Guide, guide, picture},
    light_tree::tree_and_point,
    twin,
};
use crate::inputs::{Harvest, Inputs};

fn lamp(inputs: &mut Inputs) -> Lamp {
    let direction = inputs.direction();
    Lamp {
        position: inputs.draw(),
        kind: inputs.one_of(&[POINT, SPOT, DISTANT, SUN]),
        direction: inputs.one_of(&[direction, Vec3::Y]),
        chance: inputs.draw(),
        radiance: inputs.draw(),
        cos_inner: inputs.draw(),
        cos_outer: inputs.draw(),
        falloff_1: inputs.draw(),
        falloff_2: inputs.draw(),
        falloff_3: inputs.draw(),
    }
}

/// The data of `Lights` except the scene's primitives and materials.
type Shining = (
    LightParams,
    [Light; 5],
    [LightPair; 2],
    [Lamp; 2],
    Environment,
    [EnvironmentRow; 2],
    [EnvironmentTexel; 8],
    Guide,
);

fn lights_of(inputs: &mut Inputs) -> Shining {
    let (environment, rows, texels) = picture(inputs);
    let guide = guide(&rows, &texels);
    let (pairs, trails, _) = tree_and_point(inputs);
    let lamps = [lamp(inputs), lamp(inputs)];
    let tree_lights = inputs.one_of(&[0, 3]);
    let share = 1 + inputs.draw::<u32>() % (PROBABILITY_UNITS - 1);
    let light_params = LightParams {
        light_count: tree_lights + 1 + inputs.below(2) as u32,
        sun_count: inputs.below(3) as u32,
        tree_lights,
        tree_share: if tree_lights == 0 {
            0
        } else {
            inputs.one_of(&[share, PROBABILITY_UNITS])
        },
        ..inputs.draw()
    };
    let mut cumulative: [f32; 5] = std::array::from_fn(|_| inputs.unit());
    cumulative.sort_by(f32::total_cmp);
    let primitives = inputs.harvest.scene.primitives.len();
    let table = std::array::from_fn(|place| {
        let kind = inputs.one_of(&[EMITTER, LAMP, ENVIRONMENT]);
        let count = if kind == EMITTER { primitives } else { 2 };
        Light {
            index: inputs.below(count) as u32,
            kind,
            cumulative: cumulative[place],
            trail: trails[place % 3],
        }
    });
    (
        light_params,
        table,
        pairs,
        lamps,
        environment,
        rows,
        texels,
        guide,
    )
}

/// C++ code that takes the fields of `Shining` and further arguments, and builds `lights`.
macro_rules! with_shining {
    ($arguments:literal, $body:literal) => {
        concat!(
            "+[](LightParams light_params, calls::Several<Light, 5> table, calls::Several<LightPair, 2> pairs,
                 calls::Several<Lamp, 2> lamps, Environment environment, calls::Several<EnvironmentRow, 2> rows,
                 calls::Several<EnvironmentTexel, 8> texels, calls::Several<u32, 13> guide, ",
            $arguments,
            ") {
                Lights lights = {light_params, (const Primitive *)calls::primitives.data(),
                                 (const Material *)calls::materials.data(), table.items, pairs.items, nullptr,
                                 lamps.items, environment, rows.items, texels.items, guide.items};
                ",
            $body,
            "
            }"
        )
    };
}

pub(super) fn lights(shining: &Shining) -> Lights<'_> {
    let (light_params, table, pairs, lamps, environment, rows, texels, guide) = shining;
    let scene = &Harvest::get().scene;
    Lights {
        light_params: *light_params,
        primitives: &scene.primitives,
        materials: &scene.materials,
        table,
        light_pairs: pairs,
        places: &[],
        lamps,
        environment: *environment,
        rows,
        texels,
        guide,
    }
}

/// Returns a light of this kind, its radiance, its pdf per area, a reference point, and two numbers that choose its
/// point.
fn lit(inputs: &mut Inputs, kind: u32) -> (Primitive, Vec3, f32, Vec3, f32, f32) {
    let light = loop {
        let (primitive, _, _) = inputs.met();
        if primitive.kind_bits & !PAIRED == kind {
            break primitive;
        }
    };
    let (u, v) = (inputs.unit(), inputs.unit());
    (light, inputs.draw(), inputs.draw(), inputs.draw(), u, v)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(("light_sample", "no_sample", "no_sample"), |_| (), |()| NO_SAMPLE),
        twin!(
            ("light_sample", "sample_weight", "sample_weight"),
            |inputs| (
                inputs.below(4) as u32,
                1 + inputs.below(2) as u32,
                inputs.draw(),
                inputs.draw()
            ),
            |strategies: u32, own: u32, drawn: f32, other: f32| sample_weight(
                strategies, own, drawn, other
            )
        ),
        twin!(
            (
                "light",
                "choose_light",
                "+[](calls::Several<Light, 8> lights, u32 light_count, f32 u) {
                    return choose_light(lights.items, light_count, u);
                }"
            ),
            |inputs| {
                let mut shares: [f32; 8] = std::array::from_fn(|_| inputs.unit());
                shares.sort_by(f32::total_cmp);
                let lights = shares.map(|cumulative| Light {
                    cumulative,
                    ..Light::default()
                });
                let u = inputs.one_of(&[shares[3], shares[7]]);
                let u = inputs.one_of(&[u, u.next_down(), 0.0, 0.999_999_94]);
                let drawn = inputs.unit();
                let light_count = 1 + inputs.below(8) as u32;
                (lights, light_count, inputs.one_of(&[u, drawn]))
            },
            |lights: [Light; 8], light_count: u32, u: f32| choose_light(&lights, light_count, u)
        ),
        twin!("area_light", "one_minus_cos_max", |radius: f32, distance2: f32| {
            one_minus_cos_max(radius, distance2)
        }),
        twin!("area_light", "sphere_area", |radius: f32| sphere_area(radius)),
        twin!(
            ("area_light", "area_pdf_of_width", "area_pdf_of_width"),
            |inputs| (inputs.draw(), inputs.draw::<u32>() % (PROBABILITY_UNITS + 1)),
            |primitive: Primitive, width: u32| area_pdf_of_width(&primitive, width)
        ),
        twin!(
            (
                "light",
                "emitter_area_pdf",
                "+[](LightParams light_params, calls::Several<Primitive, 3> primitives,
                     calls::Several<Light, 3> table, calls::Several<LightPair, 2> pairs,
                     calls::Several<u32, 3> places, u32 position, Vec3 origin) {
                    Lights lights = {light_params, primitives.items, (const Material *)calls::materials.data(),
                                     table.items, pairs.items, places.items, nullptr, {}, nullptr, nullptr};
                    return emitter_area_pdf(lights, position, origin);
                }"
            ),
            |inputs| {
                let (light_params, ..) = lights_of(inputs);
                let (pairs, trails, point) = tree_and_point(inputs);
                let table = trails.map(|trail| Light {
                    trail,
                    ..Light::default()
                });
                let places = [0, inputs.one_of(&[1, NO_LIGHT]), 2];
                let (primitives, _, _) = inputs.several();
                let position = inputs.below(3) as u32;
                (light_params, primitives, table, pairs, places, position, point)
            },
            |light_params: LightParams,
             primitives: [Primitive; 3],
             table: [Light; 3],
             pairs: [LightPair; 2],
             places: [u32; 3],
             position: u32,
             origin: Vec3| {
                let lights = Lights {
                    light_params,
                    primitives: &primitives,
                    materials: &Harvest::get().scene.materials,
                    table: &table,
                    light_pairs: &pairs,
                    places: &places,
                    lamps: &[],
                    environment: Environment::default(),
                    rows: &[],
                    texels: &[],
                    guide: &[],
                };
                emitter_area_pdf(&lights, position, origin)
            }
        ),
        twin!(
            "area_light",
            "light_pdf",
            |primitive: Primitive, share: f32, origin: Vec3, distance: f32, cosine: f32| {
                light_pdf(&primitive, share, origin, distance, cosine)
            }
        ),
        twin!(
            ("area_light", "sample_triangle", "sample_triangle"),
            |inputs| lit(inputs, TRIANGLE),
            |light: Primitive, radiance: Vec3, share: f32, origin: Vec3, u: f32, v: f32| {
                sample_triangle(&light, radiance, share, origin, u, v)
            }
        ),
        twin!(
            ("area_light", "sample_sphere", "sample_sphere"),
            |inputs| lit(inputs, SPHERE),
            |light: Primitive, radiance: Vec3, share: f32, origin: Vec3, u: f32, v: f32| {
                sample_sphere(&light, radiance, share, origin, u, v)
            }
        ),
        twin!(
            "area_light",
            "sample_emitter",
            |primitive: Primitive, radiance: Vec3, share: f32, origin: Vec3, u: f32, v: f32| {
                sample_emitter(&primitive, radiance, share, origin, u, v)
            }
        ),
        twin!(
            ("lamp", "spot_falloff", "spot_falloff"),
            |inputs| (lamp(inputs), inputs.draw()),
            |lamp: Lamp, cosine: f32| spot_falloff(&lamp, cosine)
        ),
        twin!(
            ("lamp", "sample_lamp", "sample_lamp"),
            |inputs| {
                let (u, v) = (inputs.unit(), inputs.unit());
                (lamp(inputs), inputs.draw(), inputs.draw(), u, v)
            },
            |lamp: Lamp, chance: f32, origin: Vec3, u: f32, v: f32| sample_lamp(
                &lamp, chance, origin, u, v
            )
        ),
        twin!(
            (
                "light",
                "sample_light",
                with_shining!(
                    "Vec3 origin, u32 choice, calls::Several<u32, 2> point",
                    "return sample_light(lights, origin, choice, point.items[0], point.items[1]);"
                )
            ),
            |inputs| {
                let (light_params, table, pairs, lamps, environment, rows, texels, guide) = lights_of(inputs);
                (
                    light_params,
                    table,
                    pairs,
                    lamps,
                    environment,
                    rows,
                    texels,
                    guide,
                    inputs.draw(),
                    inputs.draw(),
                    [inputs.draw::<u32>(), inputs.draw()],
                )
            },
            |light_params: LightParams,
             table: [Light; 5],
             pairs: [LightPair; 2],
             lamps: [Lamp; 2],
             environment: Environment,
             rows: [EnvironmentRow; 2],
             texels: [EnvironmentTexel; 8],
             guide: Guide,
             origin: Vec3,
             choice: u32,
             point: [u32; 2]| {
                let shining = (light_params, table, pairs, lamps, environment, rows, texels, guide);
                sample_light(&lights(&shining), origin, choice, point[0], point[1])
            }
        ),
        twin!(
            "light",
            "far_light_contribution",
            |strategies: u32, radiance: Vec3, light_pdf: f32, ray_pdf: f32, scattered: bool| {
                far_light_contribution(strategies, radiance, light_pdf, ray_pdf, scattered)
            }
        ),
        twin!(
            (
                "light",
                "sky_light",
                with_shining!(
                    "Vec3 direction, f32 ray_pdf, bool scattered",
                    "return sky_light(lights, direction, ray_pdf, scattered);"
                )
            ),
            |inputs| {
                let (light_params, table, pairs, lamps, environment, rows, texels, guide) = lights_of(inputs);
                let drawn = inputs.draw();
                (
                    light_params,
                    table,
                    pairs,
                    lamps,
                    environment,
                    rows,
                    texels,
                    guide,
                    inputs.one_of(&[lamps[0].direction, lamps[1].direction, drawn, drawn]),
                    inputs.draw(),
                    inputs.draw(),
                )
            },
            |light_params: LightParams,
             table: [Light; 5],
             pairs: [LightPair; 2],
             lamps: [Lamp; 2],
             environment: Environment,
             rows: [EnvironmentRow; 2],
             texels: [EnvironmentTexel; 8],
             guide: Guide,
             direction: Vec3,
             ray_pdf: f32,
             scattered: bool| {
                let shining = (light_params, table, pairs, lamps, environment, rows, texels, guide);
                sky_light(&lights(&shining), direction, ray_pdf, scattered)
            }
        ),
    ]
}
