//! Every function of the subject that is there twice.

use std::sync::OnceLock;

use glam::Vec3;
use raysieve::{
    bsdf::{
        Bsdf, NO_VALUE, bsdf_of, bsdf_sample, bsdf_value, compensate_glass, compensate_metal,
        glass_value, is_specular, layered_value, metal_reflectance, metal_value, reflected_again,
        reflected_once, resolve_layers, sample_layers, sample_rough, sample_specular, share,
    },
    bvh::{
        BoxRay, Bytes8, Node, PlacedScene, box_ray, first_plane, hit_children, inverse, nearest,
        nearest_placed, occluded, occluded_placed, plane, shift, slack, spacing, step,
    },
    camera::{Camera, aperture_point, camera_ray, film_point, filter_offset},
    energy::{directional, hemispherical, table_place},
    environment::{
        Environment, EnvironmentRow, EnvironmentTexel, environment_at, fraction_between, row_at,
        sample_environment, texel_at, texel_of,
    },
    film::{TOO_BRIGHT, fixed_point, is_exposable, mean, samples_of},
    instance::{
        Instance, NO_INSTANCE, PlacedHit, consistent_normal, enter, leave, leave_normal, lift,
        nearer_placed_hit, on_side, placed_blocks, placed_error, placed_material, placed_surface,
        placed_triangle, start, tangent_at,
    },
    light::{
        DARK, DISTANT, EMITTER, ENVIRONMENT, LAMP, Lamp, Light, Lights, POINT, SPOT, SUN,
        Surroundings, choose_light, cone_height, emitter_share, light_pdf, sample_emitter,
        sample_lamp, sample_light, sample_sphere, sample_triangle, sample_weight, seen_from,
        share_of_width, sky_light, sphere_area, spot_falloff,
    },
    light_tree::{
        Bounded, LightNode, NO_LIGHT, WHOLE, first_width, importance, light_of_number, light_tree,
        width_of_light,
    },
    maps::{
        Imagery, Maps, bent_normal, cut, emission_at, map_at, material_at, part_of, scaled, shining,
    },
    material::{Material, fresnel, power_heuristic, reflect, refract, sample_cosine, transmitted},
    math::{
        arctan2, clamped, cos_small, cross, dot, greater, half_power, lesser, luminance,
        max_component, normalize, offset_point, round_down, sin_cos_turns, sin_small,
        square_to_disk, to_local, to_world,
    },
    microfacet::{fresnel_conductor, sample_facet, schlick, shadowing, smith_root, visible_facets},
    opacity::{
        LIGHT_RAY, PATH_RAY, Veils, coordinates_at, meets, meets_light, met_blocks, nearer_met_hit,
        nearest_veiled, occluded_veiled, opacity_at, veil_key, veil_number,
    },
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay, Span, dealt_pair, pixel_and_sample, rendered_pixel},
    primitive::{
        Primitive, SPHERE, Shear, Surface, TRIANGLE, blocks, difference_of_products, hit_primitive,
        hit_sphere, hit_triangle, largest_coordinate, nearer_hit, point_error, shear,
        sphere_coordinates, sphere_tangent, surface_at, turn,
    },
    sampler::{Sampler, hash, pair, pair_bits, pascal, sampler, scramble, unit},
    texture::{
        BILINEAR, CLAMP, FLOAT, LINEAR_8, LINEAR_16, MIRRORED_REPEAT, NEAREST, REPEAT, SRGB_8,
        SRGB_VALUES, Texel, Texture, between, channel_8, linear_8, linear_16, nearest_texel,
        neighbours, sample_texture, texel, wrapped,
    },
};

use crate::{
    inputs::{Harvest, Inputs},
    words::Words,
};

/// Calls of each function.
const CALLS: usize = 1 << 20;
/// Calls at once.
pub(crate) const ROUND: usize = 1 << 10;

/// Functions without a case of their own, and what stands for one.
const EXCUSED: &[(&str, &str, &str)] = &[
    (
        "bvh",
        "visit",
        "takes a function: nearest and occluded call it",
    ),
    (
        "bvh",
        "visit_placed",
        "takes a function: nearest_placed and occluded_placed call it",
    ),
    (
        "first_ray",
        "first_ray",
        "is in a stage's room in Rust: stages_agree calls it by generate",
    ),
    (
        "shading",
        "emission",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "placed_entry",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "sent",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "connect_light",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "scatter",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "survives_roulette",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "shade_path",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "whole_path",
        "count",
        "is in a stage's room in Rust: stages_agree calls it by megakernel",
    ),
    (
        "whole_path",
        "trace_path",
        "is in a stage's room in Rust: stages_agree calls it by megakernel",
    ),
    (
        "whole_path",
        "trace_paths",
        "is in a stage's room in Rust: stages_agree calls it by megakernel",
    ),
    ("lanes", "first_lane", "asks the grid: the stages call it"),
    ("lanes", "lane_stride", "asks the grid: the stages call it"),
    (
        "lanes",
        "first_lane_apart",
        "asks the grid: the stages call it",
    ),
    ("lanes", "count_in_block", "asks the block: shade calls it"),
];
/// Excused where Rust is compiled for machines that multiply and add at once.
const EXCUSED_WITH_FMA: (&str, &str, &str) = (
    "bvh",
    "hit_children",
    "sees boxes with other roundings: nearest and occluded find the same",
);

/// Headers and functions without a case of their own.
pub(crate) fn excused() -> impl Iterator<Item = (&'static str, &'static str)> {
    let here = cfg!(target_feature = "fma").then_some(&EXCUSED_WITH_FMA);
    let excused = EXCUSED.iter().chain(here);
    excused.map(|&(header, name, _)| (header, name))
}

/// What answers a round of calls in C++: takes the words of the arguments, and how many words the results have.
pub(crate) type Answers<'a> = &'a mut dyn FnMut(&[u32], usize) -> Vec<u32>;

/// Compares a round of calls.
type Check = dyn Fn(&mut Inputs, Answers) -> Result<(), String>;

/// A function that is there twice.
pub(crate) struct Case {
    /// The stem of its files.
    pub(crate) header: &'static str,
    /// Its name in C++.
    pub(crate) name: &'static str,
    /// It, or what calls it, as an expression of C++.
    pub(crate) cpp: &'static str,
    /// Words of its arguments, and of its result.
    pub(crate) words: (usize, usize),
    check: Box<Check>,
}

impl Case {
    fn new<A: Words + 'static, R: Words + 'static>(
        (header, name, cpp): (&'static str, &'static str, &'static str),
        draw: fn(&mut Inputs) -> A,
        rust: fn(A) -> R,
    ) -> Case {
        let check = move |inputs: &mut Inputs, answers: Answers| {
            let arguments: Vec<A> = (0..ROUND).map(|_| draw(inputs)).collect();
            let mut words = Vec::with_capacity(ROUND * A::COUNT);
            arguments.iter().for_each(|item| item.put(&mut words));
            let answered = answers(&words, ROUND * R::COUNT);
            let (mut rest, mut ours, mut theirs) = (&answered[..], Vec::new(), Vec::new());
            for arguments in arguments {
                let (in_rust, in_cpp) = (rust(arguments), R::take(&mut rest));
                ours.clear();
                theirs.clear();
                in_rust.put(&mut ours);
                in_cpp.put(&mut theirs);
                if ours != theirs {
                    return Err(format!(
                        "{header}::{name} of {arguments:?}: Rust {in_rust:?}, C++ {in_cpp:?}"
                    ));
                }
            }
            Ok(())
        };
        Case {
            header,
            name,
            cpp,
            words: (A::COUNT, R::COUNT),
            check: Box::new(check),
        }
    }

    /// Compares all calls; `Err` names the first that differs.
    pub(crate) fn check(&self, seed: u64, answers: Answers) -> Result<(), String> {
        let mut inputs = Inputs::new(seed);
        (0..CALLS / ROUND).try_for_each(|_| (self.check)(&mut inputs, answers))
    }
}

/// A function of these arguments: drawn by their types, or as said.
macro_rules! twin {
    ($header:literal, $name:literal, |$($argument:ident : $kind:ty),*| $body:expr) => {
        twin!(
            ($header, $name, $name),
            |_inputs| ($(_inputs.draw::<$kind>(),)*),
            |$($argument : $kind),*| $body
        )
    };
    (($header:literal, $name:literal, $cpp:expr), $draw:expr, |$($argument:ident : $kind:ty),*| $body:expr) => {
        Case::new::<($($kind,)*), _>(
            ($header, $name, $cpp),
            $draw,
            |($($argument,)*)| $body,
        )
    };
}

/// All of them, by header and in its order.
pub(crate) fn cases() -> Vec<Case> {
    [
        words(),
        math(),
        sampler_cases(),
        camera(),
        path(),
        primitive(),
        instance(),
        bvh(),
        material(),
        microfacet(),
        energy(),
        bsdf(),
        environment(),
        tree(),
        light(),
        film(),
        texture(),
        maps(),
        opacity(),
    ]
    .into_iter()
    .flatten()
    .filter(|case| !excused().any(|excused| excused == (case.header, case.name)))
    .collect()
}

fn words() -> Vec<Case> {
    vec![
        twin!("words", "bits_to_float", |bits: u32| f32::from_bits(bits)),
        // All NaNs are one here.
        twin!(
            ("words", "float_to_bits", "float_to_bits"),
            |inputs| loop {
                let value: f32 = inputs.draw();
                if !value.is_nan() {
                    break (value,);
                }
            },
            |value: f32| value.to_bits()
        ),
        twin!("words", "reverse_bits", |word: u32| word.reverse_bits()),
        twin!("words", "leading_zeros", |word: u32| word.leading_zeros()),
        // Never asked for of 0.
        twin!(
            ("words", "trailing_zeros", "trailing_zeros"),
            |inputs| (inputs.draw::<u32>().max(1),),
            |word: u32| word.trailing_zeros()
        ),
        twin!("words", "count_ones", |word: u32| word.count_ones()),
        twin!("words", "multiply_add", |a: f32, b: f32, c: f32| a * b + c),
        twin!(
            ("words", "one_and_byte", "one_and_byte"),
            |inputs| (inputs.draw(), inputs.below(4) as u32),
            |word: u32, place: u32| {
                1.0 + f32::from(word.to_le_bytes()[place as usize]) / 32_768.0
            }
        ),
        twin!("words", "largest_or_zero", |a: f32, b: f32, c: f32| {
            greater(greater(greater(a, b), c), 0.0)
        }),
        twin!("words", "smallest", |a: f32, b: f32, c: f32| {
            lesser(lesser(a, b), c)
        }),
    ]
}

fn math() -> Vec<Case> {
    vec![
        twin!("math", "operator+", |a: Vec3, b: Vec3| a + b),
        twin!(
            (
                "math",
                "operator-",
                "static_cast<Vec3 (*)(Vec3, Vec3)>(operator-)"
            ),
            |inputs| (inputs.draw(), inputs.draw()),
            |a: Vec3, b: Vec3| a - b
        ),
        twin!(
            (
                "math",
                "operator*",
                "static_cast<Vec3 (*)(Vec3, Vec3)>(operator*)"
            ),
            |inputs| (inputs.draw(), inputs.draw()),
            |a: Vec3, b: Vec3| a * b
        ),
        twin!(
            (
                "math",
                "operator*",
                "static_cast<Vec3 (*)(Vec3, f32)>(operator*)"
            ),
            |inputs| (inputs.draw(), inputs.draw()),
            |v: Vec3, s: f32| v * s
        ),
        twin!(
            (
                "math",
                "operator-",
                "static_cast<Vec3 (*)(Vec3)>(operator-)"
            ),
            |inputs| (inputs.draw(),),
            |v: Vec3| -v
        ),
        twin!("math", "lesser", |a: f32, b: f32| lesser(a, b)),
        twin!("math", "greater", |a: f32, b: f32| greater(a, b)),
        twin!("math", "round_down", |value: f32| round_down(value)),
        twin!("math", "dot", |a: Vec3, b: Vec3| dot(a, b)),
        twin!("math", "cross", |a: Vec3, b: Vec3| cross(a, b)),
        twin!("math", "normalize", |v: Vec3| normalize(v)),
        twin!("math", "max_component", |v: Vec3| max_component(v)),
        twin!("math", "clamped", |light: Vec3, most: f32| clamped(
            light, most
        )),
        twin!("math", "luminance", |v: Vec3| luminance(v)),
        twin!("math", "sin_small", |x: f32| sin_small(x)),
        twin!("math", "cos_small", |x: f32| cos_small(x)),
        twin!("math", "sin_cos_turns", |turns: f32| sin_cos_turns(turns)),
        twin!("math", "arctan2", |y: f32, x: f32| arctan2(y, x)),
        twin!("math", "half_power", |x: f32| half_power(x)),
        twin!("math", "to_world", |normal: Vec3, local: Vec3| to_world(
            normal, local
        )),
        twin!("math", "to_local", |normal: Vec3, v: Vec3| to_local(
            normal, v
        )),
        twin!("math", "square_to_disk", |u: f32, v: f32| square_to_disk(
            u, v
        )),
        twin!(
            "math",
            "offset_point",
            |point: Vec3, normal: Vec3, error: f32| offset_point(point, normal, error)
        ),
    ]
}

fn sampler_cases() -> Vec<Case> {
    vec![
        twin!("sampler", "hash", |word: u32| hash(word)),
        twin!(
            "sampler",
            "sampler",
            |seed: u32, pixel: u32, sample: u32| { sampler(seed, pixel, sample) }
        ),
        twin!("sampler", "scramble", |reversed: u32, key: u32| scramble(
            reversed, key
        )),
        twin!("sampler", "pascal", |index: u32| pascal(index)),
        twin!("sampler", "unit", |bits: u32| unit(bits)),
        twin!(
            "sampler",
            "pair_bits",
            |numbers: Sampler, bounce: u32, of: u32| pair_bits(numbers, bounce, of)
        ),
        twin!(
            "sampler",
            "pair",
            |numbers: Sampler, bounce: u32, of: u32| pair(numbers, bounce, of)
        ),
    ]
}

fn camera() -> Vec<Case> {
    vec![
        twin!("camera", "filter_offset", |camera: Camera, number: f32| {
            filter_offset(&camera, number)
        }),
        twin!(
            "camera",
            "film_point",
            |camera: Camera, column: u32, row: u32, u: f32, v: f32| film_point(
                &camera, column, row, u, v
            )
        ),
        twin!(
            "camera",
            "aperture_point",
            |camera: Camera, u: f32, v: f32| { aperture_point(&camera, u, v) }
        ),
        twin!(
            "camera",
            "camera_ray",
            |camera: Camera, x: f32, y: f32, u: f32, v: f32| camera_ray(&camera, x, y, u, v)
        ),
    ]
}

/// Pictures have at most 2³⁰ pixels.
fn span(inputs: &mut Inputs) -> Span {
    let pixel_count = 1 + (inputs.draw::<u32>() >> 3);
    let skipped = inputs.draw::<u32>() >> 3;
    Span {
        pixel_count,
        first_pixel: inputs.draw::<u32>() % pixel_count,
        skipped_pixels: inputs.one_of(&[0, 1, skipped]),
        pick: inputs.draw(),
        ..Span::default()
    }
}

/// A wave of some rows or samples, and one of its paths.
fn tiled(inputs: &mut Inputs) -> (Span, u32) {
    let width = 1 + inputs.draw::<u32>() % 64;
    let width = inputs.one_of(&[width, 8 * width]);
    let pixel_count = width * (1 + inputs.draw::<u32>() % 64);
    let path_count = 1 + inputs.draw::<u32>() % (10 * pixel_count);
    let most_together = (path_count / pixel_count).checked_ilog2().unwrap_or(0);
    let span = Span {
        width,
        pixel_count,
        first_pixel: inputs.draw::<u32>() % pixel_count,
        path_count,
        tiled: inputs.one_of(&[0, 1, 1]),
        together: inputs.draw::<u32>() % (1 + most_together),
        ..Span::default()
    };
    (span, inputs.draw::<u32>() % path_count)
}

fn path() -> Vec<Case> {
    vec![
        twin!(
            ("path", "rendered_pixel", "rendered_pixel"),
            |inputs| {
                let span = span(inputs);
                (span, inputs.draw::<u32>() % span.pixel_count)
            },
            |span: Span, number: u32| rendered_pixel(&span, number)
        ),
        twin!(
            ("path", "dealt_pair", "dealt_pair"),
            tiled,
            |span: Span, path: u32| dealt_pair(&span, path)
        ),
        twin!(
            ("path", "pixel_and_sample", "pixel_and_sample"),
            |inputs| {
                let (span, path) = if inputs.one_of(&[true, false]) {
                    tiled(inputs)
                } else {
                    let span = span(inputs);
                    let path = inputs.draw::<u32>().min(u32::MAX - span.first_pixel);
                    (span, path)
                };
                // Sample numbers end at 2³² − 1.
                let most = u32::MAX - (span.first_pixel + path) / span.pixel_count;
                let first_sample = inputs.draw::<u32>().min(most);
                (
                    Span {
                        first_sample,
                        ..span
                    },
                    path,
                )
            },
            |span: Span, path: u32| pixel_and_sample(&span, path)
        ),
    ]
}

fn primitive() -> Vec<Case> {
    vec![
        twin!(
            ("primitive", "turn", "turn"),
            |inputs| (inputs.draw(), inputs.one_of(&[0, 1, 2])),
            |v: Vec3, axis: u32| turn(v, axis)
        ),
        twin!("primitive", "shear", |direction: Vec3| shear(direction)),
        twin!(
            "primitive",
            "difference_of_products",
            |a: f32, b: f32, c: f32, d: f32| difference_of_products(a, b, c, d)
        ),
        twin!(
            ("primitive", "hit_triangle", "hit_triangle"),
            |inputs| {
                let (primitive, origin, direction) = inputs.met();
                (primitive, origin, shear(direction))
            },
            |triangle: Primitive, origin: Vec3, shear: Shear| hit_triangle(
                &triangle, origin, &shear
            )
        ),
        twin!(
            ("primitive", "hit_sphere", "hit_sphere"),
            |inputs| {
                let (primitive, origin, direction) = inputs.met();
                (primitive, origin, direction, inputs.draw())
            },
            |sphere: Primitive, origin: Vec3, direction: Vec3, leaves: bool| hit_sphere(
                &sphere, origin, direction, leaves
            )
        ),
        twin!(
            ("primitive", "hit_primitive", "hit_primitive"),
            |inputs| {
                let (primitive, origin, direction) = inputs.met();
                (
                    primitive,
                    origin,
                    direction,
                    shear(direction),
                    inputs.draw(),
                )
            },
            |primitive: Primitive, origin: Vec3, direction: Vec3, shear: Shear, leaves: bool| {
                hit_primitive(&primitive, origin, direction, &shear, leaves)
            }
        ),
        nearer_hit_case(),
        blocks_case(),
        twin!("primitive", "largest_coordinate", |v: Vec3| {
            largest_coordinate(v)
        }),
        twin!("primitive", "point_error", |primitive: Primitive| {
            point_error(&primitive)
        }),
        twin!("primitive", "sphere_coordinates", |normal: Vec3| {
            sphere_coordinates(normal)
        }),
        twin!("primitive", "sphere_tangent", |normal: Vec3| {
            sphere_tangent(normal)
        }),
        twin!(
            ("primitive", "surface_at", "surface_at"),
            |inputs| {
                let (ray, hit) = inputs.one_of(&inputs.harvest.hits);
                let primitive = inputs.harvest.world.primitives[hit.primitive as usize];
                match inputs.below(4) {
                    0 => (inputs.draw(), ray, hit),
                    1 => (primitive, inputs.draw(), inputs.draw()),
                    _ => (primitive, ray, hit),
                }
            },
            |primitive: Primitive, ray: Ray, hit: Hit| surface_at(&primitive, &ray, &hit)
        ),
    ]
}

fn nearer_hit_case() -> Case {
    twin!(
        (
            "primitive",
            "nearer_hit",
            "+[](calls::Several<Primitive, 3> several, u32 position, Ray ray, Shear shear, Hit best) {
                nearer_hit(several.items, position, ray, shear, best);
                return best;
            }"
        ),
        |inputs| {
            let (several, origin, direction) = inputs.several();
            let from = inputs.position_or_none();
            let ray = Ray {
                origin,
                direction,
                from,
                ..Ray::default()
            };
            let best = match inputs.below(3) {
                0 => inputs.draw(),
                1 => nothing(),
                // Where the first is met: as near as its copy.
                _ => {
                    let mut best = nothing();
                    nearer_hit(&several, 0, &ray, &shear(direction), &mut best);
                    best
                }
            };
            let best = Hit {
                primitive: inputs.position_or_none(),
                ..best
            };
            let position = inputs.one_of(&[0, 1, 1, 2]);
            (several, position, ray, shear(direction), best)
        },
        |several: [Primitive; 3], position: u32, ray: Ray, shear: Shear, best: Hit| {
            let mut best = best;
            nearer_hit(&several, position, &ray, &shear, &mut best);
            best
        }
    )
}

fn nothing() -> Hit {
    Hit {
        distance: f32::MAX,
        primitive: NO_PRIMITIVE,
        u: 0.0,
        v: 0.0,
    }
}

fn blocks_case() -> Case {
    twin!(
        (
            "primitive",
            "blocks",
            "+[](calls::Several<Primitive, 3> several, u32 position, ShadowRay ray, Shear shear) {
                return blocks(several.items, position, ray, shear);
            }"
        ),
        |inputs| {
            let (several, origin, direction) = inputs.several();
            let ray = ShadowRay {
                origin,
                direction,
                distance: inputs.draw(),
                from: inputs.position_or_none(),
                to: inputs.position_or_none(),
                ..ShadowRay::default()
            };
            (several, inputs.one_of(&[0, 0, 1, 2]), ray, shear(direction))
        },
        |several: [Primitive; 3], position: u32, ray: ShadowRay, shear: Shear| blocks(
            &several, position, &ray, &shear
        )
    )
}

fn instance() -> Vec<Case> {
    vec![
        twin!(
            ("instance", "enter", "enter"),
            |inputs| (inputs.placed().0, inputs.draw()),
            |placed: Instance, v: Vec3| enter(&placed, v)
        ),
        twin!(
            ("instance", "leave", "leave"),
            |inputs| (inputs.placed().0, inputs.draw()),
            |placed: Instance, v: Vec3| leave(&placed, v)
        ),
        twin!(
            ("instance", "leave_normal", "leave_normal"),
            |inputs| (inputs.placed().0, inputs.draw()),
            |placed: Instance, normal: Vec3| leave_normal(&placed, normal)
        ),
        nearer_placed_hit_case(),
        placed_blocks_case(),
        twin!(
            ("instance", "placed_error", "placed_error"),
            |inputs| {
                let (placed, _, _) = inputs.placed();
                (placed, inputs.draw())
            },
            |placed: Instance, triangle: Primitive| placed_error(&placed, &triangle)
        ),
        twin!(
            ("instance", "placed_material", "placed_material"),
            |inputs| {
                let (placed, triangle, _) = inputs.placed();
                (placed, triangle)
            },
            |placed: Instance, triangle: Primitive| placed_material(&placed, &triangle)
        ),
        twin!(
            ("instance", "placed_triangle", "placed_triangle"),
            |inputs| {
                let (placed, triangle, _) = inputs.placed();
                (placed, triangle)
            },
            |placed: Instance, triangle: Primitive| placed_triangle(&placed, &triangle)
        ),
        twin!("instance", "on_side", |smooth: Vec3, normal: Vec3| on_side(
            smooth, normal
        )),
        twin!(
            "instance",
            "consistent_normal",
            |shading: Vec3, normal: Vec3, to_eye: Vec3| consistent_normal(shading, normal, to_eye)
        ),
        twin!("instance", "lift", |from_vertex: Vec3, normal: Vec3| lift(
            from_vertex,
            normal
        )),
        twin!(
            (
                "instance",
                "start",
                "+[](Surface surface, f32 side) {
                    struct Started {
                        Vec3 origin;
                        u32 lifted;
                    };
                    Start started = start(surface, side);
                    return Started{started.origin, started.lifted};
                }"
            ),
            |inputs| {
                let (ray, hit) = inputs.one_of(&inputs.harvest.hits);
                let primitive = inputs.harvest.world.primitives[hit.primitive as usize];
                let lift = inputs.draw();
                let surface = Surface {
                    lift: inputs.one_of(&[Vec3::ZERO, lift]),
                    ..surface_at(&primitive, &ray, &hit)
                };
                (surface, inputs.one_of(&[1.0, -1.0]))
            },
            |surface: Surface, side: f32| start(&surface, side)
        ),
        twin!("instance", "tangent_at", |tangent: Vec3, normal: Vec3| {
            tangent_at(tangent, normal)
        }),
        twin!(
            (
                "instance",
                "placed_surface",
                "+[](Instance placed, Primitive triangle, Ray ray, Hit hit) {
                    return placed_surface(placed, (const Corners *)calls::corners.data(),
                                          (const MeshVertex *)calls::vertices.data(), triangle, ray, hit);
                }"
            ),
            |inputs| {
                let (placed, triangle, primitive) = inputs.placed();
                let (u, v) = (inputs.unit(), inputs.unit());
                let ray = inputs.draw();
                let hit: Hit = inputs.draw();
                let inside = Hit {
                    u: u.min(1.0 - v),
                    v: v.min(1.0 - u),
                    ..hit
                };
                let hit = inputs.one_of(&[hit, inside, inside]);
                (placed, triangle, ray, Hit { primitive, ..hit })
            },
            |placed: Instance, triangle: Primitive, ray: Ray, hit: Hit| {
                let world = &Harvest::get().placed;
                placed_surface(&placed, &world.corners, &world.vertices, &triangle, &ray, &hit)
            }
        ),
    ]
}

fn nearer_placed_hit_case() -> Case {
    twin!(
        (
            "instance",
            "nearer_placed_hit",
            "+[](calls::Several<Primitive, 3> several, u32 position, u32 instance, Ray ray, u32 from, Shear shear, calls::Several<u32, 5> given) {
                PlacedHit best = {{bits_to_float(given.items[0]), given.items[1], bits_to_float(given.items[2]),
                                   bits_to_float(given.items[3])}, given.items[4]};
                nearer_placed_hit(several.items, position, instance, ray.origin, ray, from, shear, best);
                Hit hit = best.hit;
                return calls::Several<u32, 5>{{float_to_bits(hit.distance), hit.primitive, float_to_bits(hit.u),
                                               float_to_bits(hit.v), best.instance}};
            }"
        ),
        |inputs| {
            let (several, origin, direction) = inputs.several();
            let ray = Ray {
                origin,
                direction,
                from: inputs.position_or_none(),
                ..Ray::default()
            };
            let instances = [NO_INSTANCE, 0, 1];
            let instance = inputs.one_of(&instances);
            let mut best = PlacedHit {
                hit: nothing(),
                instance: inputs.one_of(&instances),
            };
            if inputs.draw() {
                nearer_hit(&several, 0, &ray, &shear(direction), &mut best.hit);
            }
            best.hit.primitive = inputs.position_or_none();
            let position = inputs.one_of(&[0, 1, 1, 2]);
            let from = inputs.one_of(&instances);
            (several, position, instance, ray, from, shear(direction), best)
        },
        |several: [Primitive; 3],
         position: u32,
         instance: u32,
         ray: Ray,
         from: u32,
         shear: Shear,
         best: PlacedHit| {
            let mut best = best;
            let at = (position, instance, ray.origin);
            nearer_placed_hit(&several, at, &ray, from, &shear, &mut best);
            best
        }
    )
}

fn placed_blocks_case() -> Case {
    twin!(
        (
            "instance",
            "placed_blocks",
            "+[](calls::Several<Primitive, 3> several, u32 position, u32 instance, ShadowRay ray, u32 from, u32 to, Shear shear) {
                return placed_blocks(several.items, position, instance, ray.origin, ray, from, to, shear);
            }"
        ),
        |inputs| {
            let (several, origin, direction) = inputs.several();
            let ray = ShadowRay {
                origin,
                direction,
                distance: inputs.draw(),
                from: inputs.position_or_none(),
                to: inputs.position_or_none(),
                ..ShadowRay::default()
            };
            let mut instance = || inputs.one_of(&[NO_INSTANCE, 0, 1]);
            let (at, from, to) = (instance(), instance(), instance());
            let position = inputs.one_of(&[0, 0, 1, 2]);
            (several, position, at, ray, from, to, shear(direction))
        },
        |several: [Primitive; 3],
         position: u32,
         instance: u32,
         ray: ShadowRay,
         from: u32,
         to: u32,
         shear: Shear| {
            let at = (position, instance, ray.origin);
            placed_blocks(&several, at, &ray, (from, to), &shear)
        }
    )
}

/// A node of the scene or drawn, and a ray of finite numbers: boxes may be seen as anything by a ray that is no ray.
fn node_and_ray(inputs: &mut Inputs) -> (Node, BoxRay, f32) {
    let (ray, hit) = inputs.one_of(&inputs.harvest.hits);
    let mut node: Node = inputs.draw();
    if inputs.draw() {
        let exponents = [0, 8, 16].map(|bits| (97 + inputs.below(60) as u32) << bits);
        let mut bytes = || inputs.draw::<Bytes8>();
        node = Node {
            exponents: exponents.iter().sum(),
            meta: bytes(),
            min_x: bytes(),
            max_x: bytes(),
            min_y: bytes(),
            max_y: bytes(),
            min_z: bytes(),
            max_z: bytes(),
            ..node
        };
    }
    let direction = inputs.draw();
    let distance = inputs.one_of(&[f32::MAX, hit.distance, 1e-3]);
    let extent = inputs.harvest.world.surroundings.extent;
    let boxes = box_ray(
        ray.origin,
        inputs.one_of(&[ray.direction, direction]),
        slack(ray.origin, extent),
    );
    (node, boxes, distance)
}

fn bvh() -> Vec<Case> {
    vec![
        twin!("bvh", "step", |direction: f32, slack: f32| step(
            direction, slack
        )),
        twin!("bvh", "inverse", |direction: Vec3| inverse(direction)),
        twin!("bvh", "slack", |origin: Vec3, extent: f32| slack(
            origin, extent
        )),
        twin!(
            "bvh",
            "box_ray",
            |origin: Vec3, direction: Vec3, slack: f32| box_ray(origin, direction, slack)
        ),
        twin!(
            ("bvh", "spacing", "spacing"),
            |inputs| (inputs.draw(), inputs.one_of(&[0, 1, 2])),
            |exponents: u32, axis: u32| spacing(exponents, axis)
        ),
        twin!(
            ("bvh", "byte", "byte"),
            |inputs| (inputs.draw(), inputs.below(8) as u32),
            |bytes: Bytes8, child: u32| u32::from(bytes[child as usize])
        ),
        twin!("bvh", "first_plane", |corner: f32,
                                     origin: f32,
                                     inverse: f32,
                                     scale: f32,
                                     error: f32| first_plane(
            corner, origin, inverse, scale, error
        )),
        twin!(
            ("bvh", "plane", "plane"),
            |inputs| (inputs.draw(), inputs.below(8) as u32, inputs.draw(), inputs.draw()),
            |numbers: Bytes8, child: u32, scale: f32, first: f32| {
                plane(numbers[child as usize], scale, first)
            }
        ),
        // Four children at once there.
        twin!(
            ("bvh", "shifts", "shifts"),
            |inputs| (inputs.draw(), inputs.below(8) as u32),
            |meta: u32, octant: u32| {
                let bytes = meta.to_le_bytes();
                u32::from_le_bytes(bytes.map(|meta| shift(u32::from(meta), octant) as u8))
            }
        ),
        twin!(
            ("bvh", "hit_children", "hit_children"),
            node_and_ray,
            |node: Node, ray: BoxRay, distance: f32| hit_children(&node, &ray, distance)
        ),
        twin!(
            (
                "bvh",
                "nearest",
                "+[](f32 extent, Ray ray) {
                    return nearest((const Node *)calls::nodes.data(), (const Primitive *)calls::primitives.data(), extent, ray);
                }"
            ),
            |inputs| (inputs.harvest.world.surroundings.extent, inputs.draw()),
            |extent: f32, ray: Ray| {
                let world = &Harvest::get().world;
                nearest(&world.nodes, &world.primitives, extent, &ray)
            }
        ),
        twin!(
            (
                "bvh",
                "occluded",
                "+[](f32 extent, ShadowRay ray) {
                    return occluded((const Node *)calls::nodes.data(), (const Primitive *)calls::primitives.data(), extent, ray);
                }"
            ),
            |inputs| (inputs.harvest.world.surroundings.extent, inputs.draw()),
            |extent: f32, ray: ShadowRay| {
                let world = &Harvest::get().world;
                occluded(&world.nodes, &world.primitives, extent, &ray)
            }
        ),
        twin!(
            (
                "bvh",
                "nearest_placed",
                "+[](f32 extent, Ray ray, u32 from) {
                    PlacedScene scene = {(const Node *)calls::placed_nodes.data(), (const Primitive *)calls::placed_primitives.data(),
                                         (const Instance *)calls::instances.data(), extent};
                    PlacedHit best = nearest_placed(scene, ray, from);
                    Hit hit = best.hit;
                    return calls::Several<u32, 5>{{float_to_bits(hit.distance), hit.primitive, float_to_bits(hit.u),
                                                   float_to_bits(hit.v), best.instance}};
                }"
            ),
            |inputs| {
                let (ray, from) = inputs.placed_ray();
                (inputs.harvest.placed.surroundings.extent, ray, from)
            },
            |extent: f32, ray: Ray, from: u32| {
                let scene = Harvest::get().placed.placed_scene();
                nearest_placed(&PlacedScene { extent, ..scene }, &ray, from)
            }
        ),
        twin!(
            (
                "bvh",
                "occluded_placed",
                "+[](f32 extent, ShadowRay ray, u32 from, u32 to) {
                    PlacedScene scene = {(const Node *)calls::placed_nodes.data(), (const Primitive *)calls::placed_primitives.data(),
                                         (const Instance *)calls::instances.data(), extent};
                    return occluded_placed(scene, ray, from, to);
                }"
            ),
            |inputs| {
                let (ray, from) = inputs.placed_ray();
                let (_, _, position) = inputs.placed();
                let to = inputs.below(inputs.harvest.placed.instances.len()) as u32;
                let ray = ShadowRay {
                    origin: ray.origin,
                    direction: ray.direction,
                    distance: inputs.draw(),
                    from: ray.from,
                    to: inputs.one_of(&[NO_PRIMITIVE, position]),
                    ..ShadowRay::default()
                };
                (inputs.harvest.placed.surroundings.extent, ray, from, to)
            },
            |extent: f32, ray: ShadowRay, from: u32, to: u32| {
                let scene = Harvest::get().placed.placed_scene();
                occluded_placed(&PlacedScene { extent, ..scene }, &ray, from, to)
            }
        ),
    ]
}

fn material() -> Vec<Case> {
    vec![
        twin!("material", "reflect", |direction: Vec3, normal: Vec3| {
            reflect(direction, normal)
        }),
        twin!(
            "material",
            "refract",
            |direction: Vec3, normal: Vec3, eta: f32, cos_in: f32, cos_out: f32| refract(
                direction, normal, eta, cos_in, cos_out
            )
        ),
        twin!("material", "fresnel", |cos_in: f32, eta: f32| fresnel(
            cos_in, eta
        )),
        twin!(
            "material",
            "sample_cosine",
            |normal: Vec3, u: f32, v: f32| sample_cosine(normal, u, v)
        ),
        twin!(
            ("material", "transmitted", "transmitted"),
            |inputs| {
                let material = Material {
                    absorption: inputs.draw(),
                    ..inputs.draw()
                };
                (material, inputs.draw())
            },
            |material: Material, distance: f32| transmitted(&material, distance)
        ),
        twin!("material", "power_heuristic", |drawn: f32, other: f32| {
            power_heuristic(drawn, other)
        }),
    ]
}

fn microfacet() -> Vec<Case> {
    vec![
        twin!("microfacet", "smith_root", |cosine: f32, alpha: f32| {
            smith_root(cosine, alpha)
        }),
        twin!(
            "microfacet",
            "visible_facets",
            |normal: Vec3, half: Vec3, cos_eye: f32, alpha: f32| visible_facets(
                normal, half, cos_eye, alpha
            )
        ),
        twin!(
            "microfacet",
            "shadowing",
            |cos_eye: f32, cos_light: f32, alpha: f32, correlated: bool| shadowing(
                cos_eye, cos_light, alpha, correlated
            )
        ),
        twin!(
            "microfacet",
            "sample_facet",
            |normal: Vec3, to_eye: Vec3, alpha: f32, u: f32, v: f32| sample_facet(
                normal, to_eye, alpha, u, v
            )
        ),
        twin!(
            "microfacet",
            "fresnel_conductor",
            |cosine: f32, eta: f32, k: f32| fresnel_conductor(cosine, eta, k)
        ),
        twin!("microfacet", "schlick", |cosine: f32| schlick(cosine)),
    ]
}

/// Where one of the scene's tables begins.
fn table(inputs: &mut Inputs) -> u32 {
    inputs.one_of(&inputs.harvest.world.materials).table
}

fn energy() -> Vec<Case> {
    vec![
        twin!(
            ("energy", "table_place", "table_place"),
            |inputs| (inputs.draw(), inputs.one_of(&[2, 32, 1000])),
            |root: f32, count: u32| table_place(root, count)
        ),
        twin!(
            (
                "energy",
                "directional",
                "+[](u32 table, u32 function, f32 alpha, f32 cosine) {
                    return directional((const f32 *)calls::energy.data(), table, function, alpha, cosine);
                }"
            ),
            |inputs| {
                let (table, function) = (table(inputs), inputs.below(2) as u32);
                (table, function, inputs.draw(), inputs.draw())
            },
            |table: u32, function: u32, alpha: f32, cosine: f32| {
                directional(tables(), table, function, alpha, cosine)
            }
        ),
        twin!(
            (
                "energy",
                "hemispherical",
                "+[](u32 table, u32 mean, f32 alpha) {
                    return hemispherical((const f32 *)calls::energy.data(), table, mean, alpha);
                }"
            ),
            |inputs| (table(inputs), inputs.below(4) as u32, inputs.draw()),
            |table: u32, mean: u32, alpha: f32| hemispherical(tables(), table, mean, alpha)
        ),
    ]
}

fn tables() -> &'static [f32] {
    &Harvest::get().world.energy
}

/// A normal and a direction to the eye, mostly on the normal's side.
fn facing(inputs: &mut Inputs) -> (Vec3, Vec3) {
    let (normal, to_eye): (Vec3, Vec3) = (inputs.draw(), inputs.draw());
    let behind = dot(normal, to_eye) < 0.0 && inputs.below(8) > 0;
    (normal, if behind { -to_eye } else { to_eye })
}

/// A material as it was hit, with a normal and a direction to the eye.
fn seen(inputs: &mut Inputs) -> (Bsdf, Vec3, Vec3) {
    let material: Material = inputs.draw();
    let (normal, to_eye) = facing(inputs);
    // A coat's normal is mostly that of the layers below, or about it.
    let coat_normal = match inputs.below(4) {
        0 => inputs.draw(),
        1 => normalize(normal + inputs.direction() * 0.3),
        _ => normal,
    };
    let (cos_eye, cos_coat) = (dot(normal, to_eye), dot(coat_normal, to_eye));
    let bsdf = Bsdf {
        coat_normal,
        ..bsdf_of(tables(), &material, cos_eye, cos_coat, inputs.draw())
    };
    (bsdf, normal, to_eye)
}

/// The same, with a direction to a light.
fn lit_surface(inputs: &mut Inputs) -> (Bsdf, Vec3, Vec3, Vec3) {
    let (bsdf, normal, to_eye) = seen(inputs);
    let to_light = match inputs.below(4) {
        0 => inputs.draw(),
        // About where light is reflected to.
        1 => normalize(reflect(-to_eye, normal) + inputs.direction() * 0.01),
        _ => inputs.direction(),
    };
    (bsdf, normal, to_eye, to_light)
}

/// The same, with numbers to sample with.
fn sampled_surface(inputs: &mut Inputs) -> (Bsdf, Vec3, Vec3, f32, f32, f32) {
    let (bsdf, normal, to_eye) = seen(inputs);
    let (choice, u, v) = (inputs.unit(), inputs.unit(), inputs.unit());
    (bsdf, normal, to_eye, choice, u, v)
}

fn bsdf() -> Vec<Case> {
    vec![
        Case::new(("bsdf", "no_value", "no_value"), |_| (), |()| NO_VALUE),
        twin!("bsdf", "share", |part: f32, whole: f32| share(part, whole)),
        twin!(
            (
                "bsdf",
                "compensate_metal",
                "+[](Bsdf bsdf, f32 cos_eye) {
                    compensate_metal((const f32 *)calls::energy.data(), bsdf, cos_eye);
                    return bsdf;
                }"
            ),
            |inputs| (seen(inputs).0, inputs.draw()),
            |bsdf: Bsdf, cos_eye: f32| {
                let mut bsdf = bsdf;
                compensate_metal(tables(), &mut bsdf, cos_eye);
                bsdf
            }
        ),
        twin!(
            (
                "bsdf",
                "compensate_glass",
                "+[](Bsdf bsdf, f32 cos_eye, bool front) {
                    compensate_glass((const f32 *)calls::energy.data(), bsdf, cos_eye, front);
                    return bsdf;
                }"
            ),
            |inputs| (seen(inputs).0, inputs.draw(), inputs.draw()),
            |bsdf: Bsdf, cos_eye: f32, front: bool| {
                let mut bsdf = bsdf;
                compensate_glass(tables(), &mut bsdf, cos_eye, front);
                bsdf
            }
        ),
        twin!(
            (
                "bsdf",
                "reflected_once",
                "+[](u32 table, f32 alpha, f32 cosine, f32 head_on, f32 grazing) {
                    return reflected_once((const f32 *)calls::energy.data(), table, alpha, cosine, head_on, grazing);
                }"
            ),
            |inputs| (table(inputs), inputs.draw(), inputs.draw(), inputs.draw(), inputs.draw()),
            |table: u32, alpha: f32, cosine: f32, head_on: f32, grazing: f32| reflected_once(
                tables(),
                table,
                alpha,
                cosine,
                head_on,
                grazing
            )
        ),
        twin!(
            (
                "bsdf",
                "resolve_layers",
                "+[](Bsdf bsdf, Material material, f32 cos_eye, f32 cos_coat, bool front) {
                    resolve_layers((const f32 *)calls::energy.data(), bsdf, material, cos_eye, cos_coat, front);
                    return bsdf;
                }"
            ),
            |inputs| {
                let bsdf = seen(inputs).0;
                let (cos_eye, cos_coat) = (inputs.draw(), inputs.draw());
                (bsdf, inputs.draw(), cos_eye, cos_coat, inputs.draw())
            },
            |bsdf: Bsdf, material: Material, cos_eye: f32, cos_coat: f32, front: bool| {
                let mut bsdf = bsdf;
                resolve_layers(tables(), &mut bsdf, &material, cos_eye, cos_coat, front);
                bsdf
            }
        ),
        twin!(
            (
                "bsdf",
                "bsdf_of",
                "+[](Material material, f32 cos_eye, f32 cos_coat, bool front) {
                    return bsdf_of((const f32 *)calls::energy.data(), material, cos_eye, cos_coat, front);
                }"
            ),
            |inputs| (inputs.draw(), inputs.draw(), inputs.draw(), inputs.draw()),
            |material: Material, cos_eye: f32, cos_coat: f32, front: bool| bsdf_of(
                tables(),
                &material,
                cos_eye,
                cos_coat,
                front
            )
        ),
        twin!(
            ("bsdf", "is_specular", "is_specular"),
            |inputs| (seen(inputs).0,),
            |bsdf: Bsdf| is_specular(&bsdf)
        ),
        twin!(
            ("bsdf", "metal_reflectance", "metal_reflectance"),
            |inputs| (seen(inputs).0, inputs.draw()),
            |bsdf: Bsdf, cosine: f32| metal_reflectance(&bsdf, cosine)
        ),
        twin!("bsdf", "reflected_again", |mean: f32, lost: f32| {
            reflected_again(mean, lost)
        }),
        twin!(
            (
                "bsdf",
                "metal_value",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
                    return metal_value((const f32 *)calls::energy.data(), bsdf, normal, to_eye, to_light);
                }"
            ),
            lit_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3| metal_value(
                tables(),
                &bsdf,
                normal,
                to_eye,
                to_light
            )
        ),
        twin!(
            (
                "bsdf",
                "glass_value",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
                    return glass_value((const f32 *)calls::energy.data(), bsdf, normal, to_eye, to_light);
                }"
            ),
            lit_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3| glass_value(
                tables(),
                &bsdf,
                normal,
                to_eye,
                to_light
            )
        ),
        twin!(
            (
                "bsdf",
                "layered_value",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
                    return layered_value((const f32 *)calls::energy.data(), bsdf, normal, to_eye, to_light);
                }"
            ),
            lit_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3| layered_value(
                tables(),
                &bsdf,
                normal,
                to_eye,
                to_light
            )
        ),
        twin!(
            (
                "bsdf",
                "bsdf_value",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
                    return bsdf_value((const f32 *)calls::energy.data(), bsdf, normal, to_eye, to_light);
                }"
            ),
            lit_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3| bsdf_value(
                tables(),
                &bsdf,
                normal,
                to_eye,
                to_light
            )
        ),
        twin!(
            ("bsdf", "sample_specular", "sample_specular"),
            |inputs| {
                let (bsdf, normal, to_eye) = seen(inputs);
                (bsdf, normal, to_eye, inputs.unit())
            },
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, choice: f32| sample_specular(
                &bsdf, normal, to_eye, choice
            )
        ),
        twin!(
            ("bsdf", "sample_rough", "sample_rough"),
            sampled_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, choice: f32, u: f32, v: f32| sample_rough(
                &bsdf, normal, to_eye, choice, u, v
            )
        ),
        twin!(
            ("bsdf", "sample_layers", "sample_layers"),
            sampled_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, choice: f32, u: f32, v: f32| sample_layers(
                &bsdf, normal, to_eye, choice, u, v
            )
        ),
        twin!(
            (
                "bsdf",
                "bsdf_sample",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, f32 choice, f32 u, f32 v) {
                    return bsdf_sample((const f32 *)calls::energy.data(), bsdf, normal, to_eye, choice, u, v);
                }"
            ),
            sampled_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, choice: f32, u: f32, v: f32| bsdf_sample(
                tables(),
                &bsdf,
                normal,
                to_eye,
                choice,
                u,
                v
            )
        ),
    ]
}

/// A picture of 4 texels by 2, some of them black, and its tables.
type Picture = (Environment, [EnvironmentRow; 2], [EnvironmentTexel; 8]);

fn picture(inputs: &mut Inputs) -> Picture {
    let whole = inputs.draw::<u32>();
    let mut sums = |count: usize| {
        let mut sums: [u32; 4] = std::array::from_fn(|_| inputs.draw());
        sums[count - 1] = sums[count - 1].max(1);
        sums[..count].sort_unstable();
        sums
    };
    let (upper, lower, rows) = (sums(4), sums(4), sums(2));
    let cumulative = [upper, lower].concat();
    let texels = std::array::from_fn(|texel| EnvironmentTexel {
        radiance: inputs.draw(),
        cumulative: cumulative[texel],
    });
    let edges = inputs.one_of(&[[1.0, 0.0, -1.0], [1.0, 0.999_999, 0.5]]);
    let rows = std::array::from_fn(|row| EnvironmentRow {
        cumulative: rows[row],
        density: inputs.draw(),
        top: edges[row],
        bottom: edges[row + 1],
    });
    let environment = Environment {
        width: 4,
        height: 2,
        turns: inputs.one_of(&[0.0, 0.25, 0.999_999_94, whole as f32 / 4_294_967_808.0]),
        chance: inputs.draw(),
    };
    (environment, rows, texels)
}

fn environment() -> Vec<Case> {
    vec![
        twin!(
            ("environment", "texel_of", "texel_of"),
            |inputs| (inputs.draw(), 1 + inputs.below(1 << 17) as u32),
            |coordinate: f32, count: u32| texel_of(coordinate, count)
        ),
        twin!(
            (
                "environment",
                "row_at",
                "+[](calls::Several<EnvironmentRow, 2> rows, u32 height, u32 target) {
                    return row_at(rows.items, height, target);
                }"
            ),
            |inputs| {
                let (_, rows, _) = picture(inputs);
                let target = inputs.draw::<u32>() % rows[1].cumulative;
                (rows, 1 + inputs.below(2) as u32, target)
            },
            |rows: [EnvironmentRow; 2], height: u32, target: u32| row_at(&rows, height, target)
        ),
        twin!(
            (
                "environment",
                "texel_at",
                "+[](calls::Several<EnvironmentTexel, 8> texels, u32 start, u32 width, u32 target) {
                    return texel_at(texels.items, start, width, target);
                }"
            ),
            |inputs| {
                let (_, _, texels) = picture(inputs);
                let start = inputs.one_of(&[0, 4]);
                let width = 1 + inputs.below(4) as u32;
                let target = inputs.draw::<u32>() % texels[start as usize + 3].cumulative;
                (texels, start, width, target)
            },
            |texels: [EnvironmentTexel; 8], start: u32, width: u32, target: u32| texel_at(
                &texels, start, width, target
            )
        ),
        twin!(
            ("environment", "fraction_between", "fraction_between"),
            |inputs| {
                let mut places: [u32; 3] = std::array::from_fn(|_| inputs.draw());
                places.sort_unstable();
                let place = u64::from(places[1]) << 32 | u64::from(inputs.draw::<u32>());
                (place, places[0], places[2])
            },
            |place: u64, before: u32, after: u32| fraction_between(place, before, after)
        ),
        twin!(
            (
                "environment",
                "sample_environment",
                "+[](Environment environment, calls::Several<EnvironmentRow, 2> rows,
                     calls::Several<EnvironmentTexel, 8> texels, u32 u, u32 v) {
                    return sample_environment(environment, rows.items, texels.items, u, v);
                }"
            ),
            |inputs| {
                let (environment, rows, texels) = picture(inputs);
                (environment, rows, texels, inputs.draw(), inputs.draw())
            },
            |environment: Environment,
             rows: [EnvironmentRow; 2],
             texels: [EnvironmentTexel; 8],
             u: u32,
             v: u32| sample_environment(&environment, &rows, &texels, u, v)
        ),
        twin!(
            (
                "environment",
                "environment_at",
                "+[](Environment environment, calls::Several<EnvironmentRow, 2> rows,
                     calls::Several<EnvironmentTexel, 8> texels, Vec3 direction) {
                    return environment_at(environment, rows.items, texels.items, direction);
                }"
            ),
            |inputs| {
                let (environment, rows, texels) = picture(inputs);
                (environment, rows, texels, inputs.draw())
            },
            |environment: Environment,
             rows: [EnvironmentRow; 2],
             texels: [EnvironmentTexel; 8],
             direction: Vec3| environment_at(&environment, &rows, &texels, direction)
        ),
    ]
}

fn lamp(inputs: &mut Inputs) -> Lamp {
    let direction = inputs.direction();
    Lamp {
        position: inputs.draw(),
        kind: inputs.one_of(&[POINT, SPOT, DISTANT, SUN]),
        direction: inputs.one_of(&[direction, Vec3::Y]),
        chance: inputs.draw(),
        radiance: inputs.draw(),
        inner: inputs.draw(),
        outer: inputs.draw(),
        ..Lamp::default()
    }
}

/// A light as the tree sees it: of a surface, a point or a sphere, near or far.
fn bounded(inputs: &mut Inputs) -> Bounded {
    let middle = inputs.one_of(&inputs.harvest.hits).0.origin.as_dvec3();
    let low =
        middle + inputs.direction().as_dvec3() * f64::from(2f32.powi(inputs.below(8) as i32 - 4));
    let reach = inputs.one_of(&[0.0, 1e-3, 0.1, 1.0]) * f64::from(inputs.unit());
    let side = inputs.one_of(&[
        glam::DVec3::ONE,
        glam::DVec3::X,
        glam::DVec3::new(1.0, 0.0, 1.0),
    ]);
    Bounded {
        low,
        high: low + side * reach,
        axis: inputs.direction().as_dvec3().normalize(),
        angle: inputs.one_of(&[0.0, 0.3, 2.0, std::f64::consts::PI]),
        intensity: f64::from(inputs.unit()) + 1e-6,
    }
}

/// A tree over three lights, their trails, and a point.
fn tree_and_point(inputs: &mut Inputs) -> ([LightNode; 5], [u32; 3], Vec3) {
    let lights: [Bounded; 3] = std::array::from_fn(|_| bounded(inputs));
    let (mut nodes, trails) = light_tree(&lights);
    let drawn = inputs.draw();
    let middle = ((lights[0].low + lights[0].high) / 2.0).as_vec3();
    let near = inputs.one_of(&inputs.harvest.hits).0.origin;
    let point = inputs.one_of(&[drawn, middle, near, near, near, near]);
    if inputs.below(8) == 0 {
        let node = inputs.below(5);
        nodes[node].intensity = inputs.draw::<f32>().abs();
        nodes[node].spread = inputs.draw();
    }
    (nodes.try_into().unwrap(), trails.try_into().unwrap(), point)
}

fn tree() -> Vec<Case> {
    vec![
        twin!(
            ("light_tree", "importance", "importance"),
            |inputs| {
                let (nodes, _, point) = tree_and_point(inputs);
                (inputs.one_of(&nodes), point)
            },
            |node: LightNode, point: Vec3| importance(&node, point)
        ),
        // Of importances that are not all 0.
        twin!(
            ("light_tree", "first_width", "first_width"),
            |inputs| {
                let mut number = || inputs.draw::<f32>().abs().min(1e30);
                let (first, second) = (number(), number().max(1e-30));
                let (first, second) = inputs.one_of(&[(first, second), (second, first)]);
                (first, second, inputs.draw::<u32>() % (WHOLE + 1))
            },
            |first: f32, second: f32, width: u32| first_width(first, second, width)
        ),
        twin!(
            (
                "light_tree",
                "light_of_number",
                "+[](calls::Several<LightNode, 5> nodes, Vec3 point, u32 place, u32 width) {
                    return light_of_number(nodes.items, point, place, width);
                }"
            ),
            |inputs| {
                let (nodes, _, point) = tree_and_point(inputs);
                let width = 1 + inputs.draw::<u32>() % WHOLE;
                (nodes, point, inputs.draw::<u32>() % width, width)
            },
            |nodes: [LightNode; 5], point: Vec3, place: u32, width: u32| light_of_number(
                &nodes, point, place, width
            )
        ),
        twin!(
            (
                "light_tree",
                "width_of_light",
                "+[](calls::Several<LightNode, 5> nodes, Vec3 point, u32 trail, u32 width) {
                    return width_of_light(nodes.items, point, trail, width);
                }"
            ),
            |inputs| {
                let (nodes, trails, point) = tree_and_point(inputs);
                let width = 1 + inputs.draw::<u32>() % WHOLE;
                (nodes, point, inputs.one_of(&trails), width)
            },
            |nodes: [LightNode; 5], point: Vec3, trail: u32, width: u32| width_of_light(
                &nodes, point, trail, width
            )
        ),
    ]
}

/// All that `Lights` holds but for the scene's surfaces.
type Shining = (
    Surroundings,
    [Light; 5],
    [LightNode; 5],
    [Lamp; 2],
    Environment,
    [EnvironmentRow; 2],
    [EnvironmentTexel; 8],
);

fn lights_of(inputs: &mut Inputs) -> Shining {
    let (environment, rows, texels) = picture(inputs);
    let (nodes, trails, _) = tree_and_point(inputs);
    let lamps = [lamp(inputs), lamp(inputs)];
    let tree_lights = inputs.one_of(&[0, 3]);
    let share = 1 + inputs.draw::<u32>() % (WHOLE - 1);
    let surroundings = Surroundings {
        light_count: tree_lights + 1 + inputs.below(2) as u32,
        sun_count: inputs.below(3) as u32,
        tree_lights,
        tree_share: if tree_lights == 0 {
            0
        } else {
            inputs.one_of(&[share, WHOLE])
        },
        ..inputs.draw()
    };
    let mut cumulative: [f32; 5] = std::array::from_fn(|_| inputs.unit());
    cumulative.sort_by(f32::total_cmp);
    let primitives = inputs.harvest.world.primitives.len();
    let table = std::array::from_fn(|place| {
        let kind = inputs.one_of(&[EMITTER, LAMP, ENVIRONMENT]);
        let count = if kind == EMITTER { primitives } else { 2 };
        Light {
            of: inputs.below(count) as u32,
            kind,
            cumulative: cumulative[place],
            trail: trails[place % 3],
        }
    });
    (surroundings, table, nodes, lamps, environment, rows, texels)
}

/// Of C++: the arguments that are `Shining`, and `lights` made of them.
macro_rules! with_shining {
    ($arguments:literal, $body:literal) => {
        concat!(
            "+[](Surroundings surroundings, calls::Several<Light, 5> table, calls::Several<LightNode, 5> nodes,
                 calls::Several<Lamp, 2> lamps, Environment environment, calls::Several<EnvironmentRow, 2> rows,
                 calls::Several<EnvironmentTexel, 8> texels, ",
            $arguments,
            ") {
                Lights lights = {surroundings, (const Primitive *)calls::primitives.data(),
                                 (const Material *)calls::materials.data(), table.items, nodes.items, nullptr,
                                 lamps.items, environment, rows.items, texels.items};
                ",
            $body,
            "
            }"
        )
    };
}

fn lights(shining: &Shining) -> Lights<'_> {
    let (surroundings, table, nodes, lamps, environment, rows, texels) = shining;
    let world = &Harvest::get().world;
    Lights {
        surroundings: *surroundings,
        primitives: &world.primitives,
        materials: &world.materials,
        table,
        nodes,
        places: &[],
        lamps,
        environment: *environment,
        rows,
        texels,
    }
}

/// A primitive of this kind as a light, its radiance, its share, and a point with a place on it.
fn lit(inputs: &mut Inputs, kind: u32) -> (Primitive, Vec3, f32, Vec3, f32, f32) {
    let light = loop {
        let (primitive, _, _) = inputs.met();
        if primitive.kind == kind {
            break primitive;
        }
    };
    let (u, v) = (inputs.unit(), inputs.unit());
    (light, inputs.draw(), inputs.draw(), inputs.draw(), u, v)
}

fn light() -> Vec<Case> {
    vec![
        Case::new(("light", "dark", "dark"), |_| (), |()| DARK),
        twin!(
            ("light", "sample_weight", "sample_weight"),
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
        twin!("light", "cone_height", |radius: f32, distance2: f32| {
            cone_height(radius, distance2)
        }),
        twin!("light", "sphere_area", |radius: f32| sphere_area(radius)),
        twin!(
            ("light", "share_of_width", "share_of_width"),
            |inputs| (inputs.draw(), inputs.draw::<u32>() % (WHOLE + 1)),
            |primitive: Primitive, width: u32| share_of_width(&primitive, width)
        ),
        twin!(
            (
                "light",
                "emitter_share",
                "+[](Surroundings surroundings, calls::Several<Primitive, 3> primitives,
                     calls::Several<Light, 3> table, calls::Several<LightNode, 5> nodes,
                     calls::Several<u32, 3> places, u32 position, Vec3 origin) {
                    Lights lights = {surroundings, primitives.items, (const Material *)calls::materials.data(),
                                     table.items, nodes.items, places.items, nullptr, {}, nullptr, nullptr};
                    return emitter_share(lights, position, origin);
                }"
            ),
            |inputs| {
                let (surroundings, ..) = lights_of(inputs);
                let (nodes, trails, point) = tree_and_point(inputs);
                let table = trails.map(|trail| Light {
                    trail,
                    ..Light::default()
                });
                let places = [0, inputs.one_of(&[1, NO_LIGHT]), 2];
                let (primitives, _, _) = inputs.several();
                let position = inputs.below(3) as u32;
                (surroundings, primitives, table, nodes, places, position, point)
            },
            |surroundings: Surroundings,
             primitives: [Primitive; 3],
             table: [Light; 3],
             nodes: [LightNode; 5],
             places: [u32; 3],
             position: u32,
             origin: Vec3| {
                let lights = Lights {
                    surroundings,
                    primitives: &primitives,
                    materials: &Harvest::get().world.materials,
                    table: &table,
                    nodes: &nodes,
                    places: &places,
                    lamps: &[],
                    environment: Environment::default(),
                    rows: &[],
                    texels: &[],
                };
                emitter_share(&lights, position, origin)
            }
        ),
        twin!(
            "light",
            "light_pdf",
            |primitive: Primitive, share: f32, origin: Vec3, distance: f32, cosine: f32| {
                light_pdf(&primitive, share, origin, distance, cosine)
            }
        ),
        twin!(
            ("light", "sample_triangle", "sample_triangle"),
            |inputs| lit(inputs, TRIANGLE),
            |light: Primitive, radiance: Vec3, share: f32, origin: Vec3, u: f32, v: f32| {
                sample_triangle(&light, radiance, share, origin, u, v)
            }
        ),
        twin!(
            ("light", "sample_sphere", "sample_sphere"),
            |inputs| lit(inputs, SPHERE),
            |light: Primitive, radiance: Vec3, share: f32, origin: Vec3, u: f32, v: f32| {
                sample_sphere(&light, radiance, share, origin, u, v)
            }
        ),
        twin!(
            "light",
            "sample_emitter",
            |primitive: Primitive, radiance: Vec3, share: f32, origin: Vec3, u: f32, v: f32| {
                sample_emitter(&primitive, radiance, share, origin, u, v)
            }
        ),
        twin!(
            ("light", "spot_falloff", "spot_falloff"),
            |inputs| (lamp(inputs), inputs.draw()),
            |lamp: Lamp, cosine: f32| spot_falloff(&lamp, cosine)
        ),
        twin!(
            ("light", "sample_lamp", "sample_lamp"),
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
                    "Vec3 origin, u32 choice, u32 u, u32 v",
                    "return sample_light(lights, origin, choice, u, v);"
                )
            ),
            |inputs| {
                let (surroundings, table, nodes, lamps, environment, rows, texels) = lights_of(inputs);
                (
                    surroundings,
                    table,
                    nodes,
                    lamps,
                    environment,
                    rows,
                    texels,
                    inputs.draw(),
                    inputs.draw(),
                    inputs.draw(),
                    inputs.draw(),
                )
            },
            |surroundings: Surroundings,
             table: [Light; 5],
             nodes: [LightNode; 5],
             lamps: [Lamp; 2],
             environment: Environment,
             rows: [EnvironmentRow; 2],
             texels: [EnvironmentTexel; 8],
             origin: Vec3,
             choice: u32,
             u: u32,
             v: u32| {
                let shining = (surroundings, table, nodes, lamps, environment, rows, texels);
                sample_light(&lights(&shining), origin, choice, u, v)
            }
        ),
        twin!(
            "light",
            "seen_from",
            |strategies: u32, radiance: Vec3, light_pdf: f32, ray_pdf: f32, scattered: bool| {
                seen_from(strategies, radiance, light_pdf, ray_pdf, scattered)
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
                let (surroundings, table, nodes, lamps, environment, rows, texels) = lights_of(inputs);
                let drawn = inputs.draw();
                (
                    surroundings,
                    table,
                    nodes,
                    lamps,
                    environment,
                    rows,
                    texels,
                    inputs.one_of(&[lamps[0].direction, lamps[1].direction, drawn, drawn]),
                    inputs.draw(),
                    inputs.draw(),
                )
            },
            |surroundings: Surroundings,
             table: [Light; 5],
             nodes: [LightNode; 5],
             lamps: [Lamp; 2],
             environment: Environment,
             rows: [EnvironmentRow; 2],
             texels: [EnvironmentTexel; 8],
             direction: Vec3,
             ray_pdf: f32,
             scattered: bool| {
                let shining = (surroundings, table, nodes, lamps, environment, rows, texels);
                sky_light(&lights(&shining), direction, ray_pdf, scattered)
            }
        ),
    ]
}

fn film() -> Vec<Case> {
    vec![
        twin!("film", "is_exposable", |sample: Vec3| is_exposable(sample)),
        // Of what is exposable.
        twin!(
            ("film", "fixed_point", "fixed_point"),
            |inputs| loop {
                let value: f32 = inputs.draw();
                if (0.0..TOO_BRIGHT).contains(&value) {
                    break (value,);
                }
            },
            |value: f32| fixed_point(value)
        ),
        twin!("film", "mean", |sum: u64, samples: u32| mean(sum, samples)),
        twin!(
            ("film", "samples_of", "samples_of"),
            |inputs| {
                let pixel_count = inputs.draw::<u32>().max(1);
                (
                    inputs.draw::<u32>() % pixel_count,
                    pixel_count,
                    inputs.draw(),
                )
            },
            |pixel: u32, pixel_count: u32, done: u64| samples_of(pixel, pixel_count, done)
        ),
    ]
}

/// Words that are texels of any format, after those that are sRGB's values.
const TEXEL_WORDS: u32 = 512;

/// The same on both sides: too many to be sent with every call.
fn texels() -> &'static [u32] {
    static TEXELS: OnceLock<Vec<u32>> = OnceLock::new();
    TEXELS.get_or_init(|| {
        let word = |at| match hash(at) {
            word if at < SRGB_VALUES => unit(word).to_bits(),
            word => word,
        };
        (0..TEXEL_WORDS).map(word).collect()
    })
}

macro_rules! with_texels {
    ($arguments:literal, $call:literal) => {
        concat!(
            "+[](",
            $arguments,
            ") {
                static u32 texels[512];
                for (u32 at = 0; at < 512 && texels[511] == 0; at++) {
                    texels[at] = at < 256 ? float_to_bits(unit(hash(at))) : hash(at);
                }
                return ",
            $call,
            ";
            }"
        )
    };
}

/// A texture over those texels.
fn drawn_texture(inputs: &mut Inputs) -> Texture {
    Texture {
        start: SRGB_VALUES + inputs.below(16) as u32,
        width: 1 + inputs.below(7) as u32,
        height: 1 + inputs.below(7) as u32,
        format: inputs.one_of(&[SRGB_8, LINEAR_8, LINEAR_16, FLOAT]),
        u_by_u: inputs.draw(),
        u_by_v: inputs.draw(),
        u_at_zero: inputs.draw(),
        wrap_u: inputs.one_of(&[REPEAT, MIRRORED_REPEAT, CLAMP]),
        v_by_u: inputs.draw(),
        v_by_v: inputs.draw(),
        v_at_zero: inputs.draw(),
        wrap_v: inputs.one_of(&[REPEAT, MIRRORED_REPEAT, CLAMP]),
        filter: inputs.one_of(&[BILINEAR, NEAREST]),
        second: inputs.below(2) as u32,
        ..Texture::default()
    }
}

/// A coordinate within an image, how many texels there are along it, and how it goes on.
fn drawn_place(inputs: &mut Inputs) -> (f32, u32, u32) {
    let wrap = inputs.one_of(&[REPEAT, MIRRORED_REPEAT, CLAMP]);
    let size = inputs.one_of(&[1, 2, 3, 7, 1 << 16]);
    // Between two texels too, and a little beside.
    let grid = inputs.below(4 * size as usize) as f32 / (2 * size) as f32 - 0.5;
    let coordinate = inputs.draw();
    let coordinate = inputs.one_of(&[coordinate, grid, grid.next_up(), grid.next_down()]);
    (wrapped(coordinate, wrap), size, wrap)
}

fn texture() -> Vec<Case> {
    vec![
        twin!(
            ("texture", "channel_8", "channel_8"),
            |inputs| (inputs.draw(), inputs.below(4) as u32),
            |word: u32, channel: u32| channel_8(word, channel)
        ),
        twin!("texture", "linear_8", |byte: u32| linear_8(byte)),
        twin!("texture", "linear_16", |half: u32| linear_16(half)),
        twin!("texture", "wrapped", |coordinate: f32, wrap: u32| wrapped(
            coordinate, wrap
        )),
        twin!(
            ("texture", "nearest_texel", "nearest_texel"),
            |inputs| {
                let (inside, size, _) = drawn_place(inputs);
                (inside, size)
            },
            |inside: f32, size: u32| nearest_texel(inside, size)
        ),
        twin!(
            ("texture", "neighbours", "neighbours"),
            drawn_place,
            |inside: f32, size: u32, wrap: u32| neighbours(inside, size, wrap)
        ),
        twin!(
            (
                "texture",
                "texel",
                with_texels!(
                    "Texture texture, u32 x, u32 y",
                    "texel(texels, texture, x, y)"
                )
            ),
            |inputs| {
                let texture = drawn_texture(inputs);
                let x = inputs.below(texture.width as usize) as u32;
                (texture, x, inputs.below(texture.height as usize) as u32)
            },
            |texture: Texture, x: u32, y: u32| texel(texels(), &texture, x, y)
        ),
        twin!("texture", "between", |a: Texel, b: Texel, share: f32| {
            between(a, b, share)
        }),
        twin!(
            (
                "texture",
                "sample_texture",
                with_texels!(
                    "Texture texture, f32 u, f32 v",
                    "sample_texture(texels, texture, u, v)"
                )
            ),
            |inputs| (drawn_texture(inputs), inputs.draw(), inputs.draw()),
            |texture: Texture, u: f32, v: f32| sample_texture(texels(), &texture, u, v)
        ),
    ]
}

/// Textures of a material, each one of two or none.
fn drawn_maps(inputs: &mut Inputs) -> (Maps, [Texture; 2], Material, Surface) {
    let maps = Maps {
        emission: inputs.draw(),
        bend: inputs.draw(),
        of: std::array::from_fn(|_| inputs.below(8) as u32),
        used: inputs.below(1 << 12) as u32,
        opacity: inputs.draw(),
        cutoff: inputs.draw(),
        coat_bend: inputs.draw(),
    };
    let material = Material {
        maps: 0,
        ..inputs.draw()
    };
    let textures = [drawn_texture(inputs), drawn_texture(inputs)];
    (maps, textures, material, inputs.draw())
}

fn maps() -> Vec<Case> {
    vec![
        twin!("maps", "scaled", |color: Vec3, by: Vec3| scaled(color, by)),
        twin!("maps", "shining", |radiance: Vec3, by: Vec3| shining(
            radiance, by
        )),
        twin!(
            (
                "maps",
                "map_at",
                with_texels!(
                    "Texture texture, Surface surface",
                    "map_at({nullptr, &texture, texels}, 3, surface)"
                )
            ),
            |inputs| (drawn_texture(inputs), inputs.draw()),
            |texture: Texture, surface: Surface| {
                let imagery = Imagery {
                    maps: &[],
                    textures: &[texture],
                    texels: texels(),
                };
                map_at(&imagery, 3, &surface)
            }
        ),
        twin!(
            ("maps", "part_of", "part_of"),
            |inputs| (inputs.draw(), inputs.below(4) as u32),
            |value: Texel, channel: u32| part_of(value, channel)
        ),
        twin!(
            ("maps", "cut", "cut"),
            |inputs| (drawn_maps(inputs).0, inputs.draw()),
            |maps: Maps, opacity: f32| cut(&maps, opacity)
        ),
        twin!(
            "maps",
            "bent_normal",
            |surface: Surface, normal: Vec3, value: Vec3, bend: f32| bent_normal(
                &surface, normal, value, bend
            )
        ),
        twin!(
            (
                "maps",
                "material_at",
                with_texels!(
                    "Maps maps, calls::Several<Texture, 2> textures, Material material, Surface surface",
                    "[&] {
                        struct All { Material here; Vec3 shading; Vec3 coat; u32 zero[2]; };
                        Material here = material_at({&maps, textures.items, texels}, material, surface);
                        return All{here, surface.shading, surface.coat, {0, 0}};
                    }()"
                )
            ),
            drawn_maps,
            |maps: Maps, textures: [Texture; 2], material: Material, surface: Surface| {
                let imagery = Imagery {
                    maps: &[maps],
                    textures: &textures,
                    texels: texels(),
                };
                let mut surface = surface;
                let here = material_at(&imagery, &material, &mut surface);
                (here, surface.shading, surface.coat, [0_u32; 2])
            }
        ),
        twin!(
            (
                "maps",
                "emission_at",
                with_texels!(
                    "Maps maps, calls::Several<Texture, 2> textures, Material material, Surface surface",
                    "emission_at({&maps, textures.items, texels}, material, surface)"
                )
            ),
            drawn_maps,
            |maps: Maps, textures: [Texture; 2], material: Material, surface: Surface| {
                let imagery = Imagery {
                    maps: &[maps],
                    textures: &textures,
                    texels: texels(),
                };
                emission_at(&imagery, &material, &surface)
            }
        ),
    ]
}

macro_rules! with_veils {
    ($arguments:literal, $body:literal) => {
        concat!(
            "+[](f32 extent, ",
            $arguments,
            ") {
                PlacedScene scene = {(const Node *)calls::placed_nodes.data(), (const Primitive *)calls::placed_primitives.data(),
                                     (const Instance *)calls::instances.data(), extent};
                Imagery imagery = {(const Maps *)calls::maps.data(), (const Texture *)calls::textures.data(),
                                   calls::texels.data()};
                Veils veils = {scene, (const Corners *)calls::corners.data(), (const MeshVertex *)calls::vertices.data(),
                               (const Material *)calls::placed_materials.data(), imagery};
                auto words = [](const PlacedHit &found) {
                    return calls::Several<u32, 5>{{float_to_bits(found.hit.distance), found.hit.primitive,
                                                   float_to_bits(found.hit.u), float_to_bits(found.hit.v), found.instance}};
                };
                ",
            $body,
            "
            }"
        )
    };
}

/// What `with_veils` reads.
fn veils(extent: f32) -> Veils<'static> {
    let veils = Harvest::get().placed.veils().unwrap();
    Veils {
        scene: PlacedScene {
            extent,
            ..veils.scene
        },
        ..veils
    }
}

/// A ray, the instance that it leaves, and what is in its way there, whether it meets it or not.
fn crossed(inputs: &mut Inputs) -> (f32, Ray, u32, PlacedHit) {
    static CROSSED: OnceLock<Vec<(Ray, u32, PlacedHit)>> = OnceLock::new();
    let extent = inputs.harvest.placed.surroundings.extent;
    let crossed = CROSSED.get_or_init(|| {
        let mut inputs = Inputs::new(12);
        let rays = std::iter::repeat_with(|| {
            let (ray, from) = inputs.placed_ray();
            (ray, from, nearest_placed(&veils(extent).scene, &ray, from))
        });
        let hits = rays.filter(|(_, _, found)| found.hit.primitive != NO_PRIMITIVE);
        hits.take(1 << 16).collect()
    });
    let (ray, from, found) = crossed[inputs.below(crossed.len())];
    (extent, ray, from, found)
}

/// A shadow ray through that, with the instances that it leaves and goes to, if it goes to a surface.
fn dimmed(inputs: &mut Inputs) -> (f32, ShadowRay, u32, u32) {
    let (extent, ray, from, found) = crossed(inputs);
    let distance: f32 = inputs.draw();
    let shadow_ray = ShadowRay {
        origin: ray.origin,
        direction: ray.direction,
        distance: inputs.one_of(&[distance, found.hit.distance, 3.0, f32::MAX]),
        from: ray.from,
        ..ShadowRay::default()
    };
    // To what it crosses first, to what another crosses, or far away.
    let (_, _, _, other) = crossed(inputs);
    let (to, instance) = inputs.one_of(&[
        (found.hit.primitive, found.instance),
        (other.hit.primitive, other.instance),
        (NO_PRIMITIVE, NO_INSTANCE),
    ]);
    (extent, ShadowRay { to, ..shadow_ray }, from, instance)
}

fn opacity() -> Vec<Case> {
    vec![
        twin!(
            ("opacity", "veil_key", "veil_key"),
            |inputs| (inputs.draw(), inputs.draw(), inputs.one_of(&[PATH_RAY, LIGHT_RAY])),
            |sampler: Sampler, bounce: u32, ray: u32| veil_key(sampler, bounce, ray)
        ),
        twin!("opacity", "veil_number", |key: u32,
                                         number: u32,
                                         instance: u32| {
            veil_number(key, number, instance)
        }),
        twin!(
            (
                "opacity",
                "coordinates_at",
                with_veils!("Ray ray, Hit hit, u32 instance, u32 second", "return coordinates_at(veils, ray, {hit, instance}, second);")
            ),
            |inputs| {
                let (extent, ray, _, found) = crossed(inputs);
                (extent, ray, found.hit, found.instance, inputs.below(2) as u32)
            },
            |extent: f32, ray: Ray, hit: Hit, instance: u32, second: u32| {
                coordinates_at(&veils(extent), &ray, &PlacedHit { hit, instance }, second)
            }
        ),
        twin!(
            (
                "opacity",
                "opacity_at",
                with_veils!("Ray ray, Hit hit, u32 instance", "return opacity_at(veils, ray, {hit, instance});")
            ),
            |inputs| {
                let (extent, ray, _, found) = crossed(inputs);
                (extent, ray, found.hit, found.instance)
            },
            |extent: f32, ray: Ray, hit: Hit, instance: u32| {
                opacity_at(&veils(extent), &ray, &PlacedHit { hit, instance })
            }
        ),
        twin!(
            (
                "opacity",
                "meets",
                with_veils!("Ray ray, Hit hit, u32 instance, u32 key", "return meets(veils, ray, {hit, instance}, key);")
            ),
            |inputs| {
                let (extent, ray, _, found) = crossed(inputs);
                (extent, ray, found.hit, found.instance, inputs.draw())
            },
            |extent: f32, ray: Ray, hit: Hit, instance: u32, key: u32| {
                meets(&veils(extent), &ray, &PlacedHit { hit, instance }, key)
            }
        ),
        twin!(
            (
                "opacity",
                "nearer_met_hit",
                with_veils!(
                    "Ray ray, u32 from, u32 position, u32 instance, Vec3 local, Shear sheared, u32 key, Hit hit, u32 best_instance",
                    "PlacedHit best = {hit, best_instance};
                     nearer_met_hit(veils, position, instance, local, ray, from, sheared, key, best);
                     return words(best);"
                )
            ),
            |inputs| {
                let (extent, ray, from, found) = crossed(inputs);
                let instances = &inputs.harvest.placed.instances;
                let (local, inward) = match instances.get(found.instance as usize) {
                    Some(placed) => (
                        enter(placed, ray.origin - placed.position),
                        enter(placed, ray.direction),
                    ),
                    None => (ray.origin, ray.direction),
                };
                let nothing = Hit {
                    distance: f32::MAX,
                    primitive: NO_PRIMITIVE,
                    u: 0.0,
                    v: 0.0,
                };
                let (_, _, _, other) = crossed(inputs);
                let beside = Hit {
                    distance: found.hit.distance,
                    ..other.hit
                };
                let (best, at) = inputs.one_of(&[
                    (nothing, NO_INSTANCE),
                    (found.hit, found.instance),
                    (other.hit, other.instance),
                    (beside, other.instance),
                ]);
                let (position, key) = (found.hit.primitive, inputs.draw());
                (extent, ray, from, position, found.instance, local, shear(inward), key, best, at)
            },
            |extent: f32,
             ray: Ray,
             from: u32,
             position: u32,
             instance: u32,
             local: Vec3,
             sheared: Shear,
             key: u32,
             hit: Hit,
             best_instance: u32| {
                let mut best = PlacedHit {
                    hit,
                    instance: best_instance,
                };
                let at = (position, instance, local);
                nearer_met_hit(&veils(extent), at, &ray, from, &sheared, key, &mut best);
                best
            }
        ),
        twin!(
            (
                "opacity",
                "met_blocks",
                with_veils!(
                    "ShadowRay ray, u32 from, u32 to, u32 position, u32 instance, Vec3 local, Shear sheared, u32 key",
                    "return met_blocks(veils, position, instance, local, ray, from, to, sheared, key);"
                )
            ),
            |inputs| {
                let (extent, ray, from, to) = dimmed(inputs);
                let scene = veils(extent).scene;
                let along = Ray {
                    origin: ray.origin,
                    direction: ray.direction,
                    from: ray.from,
                    ..Ray::default()
                };
                let found = nearest_placed(&scene, &along, from);
                let (local, inward) = match scene.instances.get(found.instance as usize) {
                    Some(placed) => (
                        enter(placed, ray.origin - placed.position),
                        enter(placed, ray.direction),
                    ),
                    None => (ray.origin, ray.direction),
                };
                let (position, key) = (found.hit.primitive, inputs.draw());
                (extent, ray, from, to, position, found.instance, local, shear(inward), key)
            },
            |extent: f32,
             ray: ShadowRay,
             from: u32,
             to: u32,
             position: u32,
             instance: u32,
             local: Vec3,
             sheared: Shear,
             key: u32| {
                let at = (position, instance, local);
                met_blocks(&veils(extent), at, &ray, (from, to), &sheared, key)
            }
        ),
        twin!(
            (
                "opacity",
                "nearest_veiled",
                with_veils!("Ray ray, u32 from, u32 key", "return words(nearest_veiled(veils, ray, from, key));")
            ),
            |inputs| {
                let (ray, from) = inputs.placed_ray();
                let extent = inputs.harvest.placed.surroundings.extent;
                (extent, ray, from, inputs.draw())
            },
            |extent: f32, ray: Ray, from: u32, key: u32| {
                nearest_veiled(&veils(extent), &ray, from, key)
            }
        ),
        twin!(
            (
                "opacity",
                "meets_light",
                with_veils!("ShadowRay ray, u32 to, u32 key", "return meets_light(veils, ray, to, key);")
            ),
            |inputs| {
                let (extent, ray, _, to) = dimmed(inputs);
                (extent, ray, to, inputs.draw())
            },
            |extent: f32, ray: ShadowRay, to: u32, key: u32| {
                meets_light(&veils(extent), &ray, to, key)
            }
        ),
        twin!(
            (
                "opacity",
                "occluded_veiled",
                with_veils!("ShadowRay ray, u32 from, u32 to, u32 key", "return occluded_veiled(veils, ray, from, to, key);")
            ),
            |inputs| {
                let (extent, ray, from, to) = dimmed(inputs);
                (extent, ray, from, to, inputs.draw())
            },
            |extent: f32, ray: ShadowRay, from: u32, to: u32, key: u32| {
                occluded_veiled(&veils(extent), &ray, from, to, key)
            }
        ),
    ]
}
