//! What is met of what hides a part.

use std::sync::OnceLock;

use glam::Vec3;
use raysieve::{
    bvh::{PlacedScene, nearest_placed},
    instance::{NO_INSTANCE, PlacedHit, enter},
    opacity::{
        LIGHT_RAY, PATH_RAY, Veils, coordinates_at, meets, meets_light, met_blocks, nearer_met_hit,
        nearest_veiled, occluded_veiled, opacity_at, veil_key, veil_number,
    },
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
    primitive::{Shear, shear},
    sampler::Sampler,
};

use super::{Case, twin};
use crate::inputs::{Harvest, Inputs};

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

pub(super) fn cases() -> Vec<Case> {
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
