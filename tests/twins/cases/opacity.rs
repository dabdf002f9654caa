//! Cases of stochastic opacity.

use std::sync::OnceLock;

use glam::Vec3;
use raysieve::{
    accel::{
        bvh::{InstancedScene, nearest_instanced},
        instance::{InstanceHit, NO_INSTANCE, to_object},
        primitive::{Shear, shear},
    },
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
    sampler::Sampler,
    shading::opacity::{
        PATH_RAY, SHADOW_RAY, StochasticOpacity, alpha_tested_blocks, coordinates_at, is_beyond,
        light_passes_opacity, nearer_alpha_tested_hit, nearer_hit_beyond, nearest_alpha_tested,
        nearest_beyond, occluded_alpha_tested, opacity_at, opacity_hash, opacity_random,
        passes_opacity,
    },
};

use super::{Case, twin};
use crate::inputs::{Harvest, Inputs};

macro_rules! with_veils {
    ($arguments:literal, $body:literal) => {
        concat!(
            "+[](f32 extent, ",
            $arguments,
            ") {
                InstancedScene scene = {(const Node *)calls::instanced_nodes.data(), (const Primitive *)calls::instanced_primitives.data(),
                                     (const Instance *)calls::instances.data(), extent};
                TextureAtlas atlas = {(const MaterialTextures *)calls::maps.data(), (const Texture *)calls::textures.data(),
                                   calls::texels.data()};
                StochasticOpacity opacity = {scene, (const Corners *)calls::corners.data(), (const MeshVertex *)calls::vertices.data(),
                               (const Material *)calls::instanced_materials.data(), atlas, calls::opacity_maps.data(), true};
                auto words = [](const InstanceHit &found) {
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

/// Returns what the C++ code of `with_veils` reads.
fn opacity(extent: f32) -> StochasticOpacity<'static> {
    let opacity = Harvest::get().instanced.stochastic_opacity().unwrap();
    StochasticOpacity {
        scene: InstancedScene {
            extent,
            ..opacity.scene
        },
        from_camera: true,
        ..opacity
    }
}

/// Returns the scene's extent, a ray, the instance that it leaves, and a surface on its way, opaque there or not.
fn crossed(inputs: &mut Inputs) -> (f32, Ray, u32, InstanceHit) {
    static CROSSED: OnceLock<Vec<(Ray, u32, InstanceHit)>> = OnceLock::new();
    let extent = inputs.harvest.instanced.light_params.extent;
    let crossed = CROSSED.get_or_init(|| {
        let mut inputs = Inputs::new(12);
        let rays = std::iter::repeat_with(|| {
            let (ray, from) = inputs.instanced_ray();
            (
                ray,
                from,
                nearest_instanced(&opacity(extent).scene, &ray, from),
            )
        });
        let hits = rays.filter(|(_, _, found)| found.hit.primitive != NO_PRIMITIVE);
        hits.take(1 << 16).collect()
    });
    let (ray, from, found) = crossed[inputs.below(crossed.len())];
    (extent, ray, from, found)
}

/// Returns a hit behind which a ray looks for further ones: none, `found`, or another one at the same or another
/// distance.
fn after(inputs: &mut Inputs, found: &InstanceHit) -> InstanceHit {
    let (_, _, _, other) = crossed(inputs);
    let beside = Hit {
        distance: found.hit.distance,
        ..other.hit
    };
    let earlier = Hit {
        distance: found.hit.distance * 0.5,
        ..other.hit
    };
    let (hit, instance) = inputs.one_of(&[
        (InstanceHit::none_within(0.0).hit, NO_INSTANCE),
        (found.hit, found.instance),
        (beside, other.instance),
        (earlier, other.instance),
    ]);
    InstanceHit { hit, instance }
}

/// Returns the scene's extent, a shadow ray on such a way, and the instances that it leaves and goes to, if any.
fn dimmed(inputs: &mut Inputs) -> (f32, ShadowRay, u32, u32) {
    let (extent, ray, from, found) = crossed(inputs);
    let distance: f32 = inputs.draw();
    let shadow_ray = ShadowRay {
        origin: ray.origin,
        direction: ray.direction,
        distance: inputs.one_of(&[distance, found.hit.distance, 3.0, f32::MAX]),
        from_primitive: ray.from_primitive,
        ..ShadowRay::default()
    };
    // The ray goes to the first surface on its way, to another one, or far away.
    let (_, _, _, other) = crossed(inputs);
    let (to, instance) = inputs.one_of(&[
        (found.hit.primitive, found.instance),
        (other.hit.primitive, other.instance),
        (NO_PRIMITIVE, NO_INSTANCE),
    ]);
    (
        extent,
        ShadowRay {
            to_primitive: to,
            ..shadow_ray
        },
        from,
        instance,
    )
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            ("opacity", "opacity_hash", "opacity_hash"),
            |inputs| (inputs.draw(), inputs.draw(), inputs.one_of(&[PATH_RAY, SHADOW_RAY])),
            |sampler: Sampler, bounce: u32, ray: u32| opacity_hash(sampler, bounce, ray)
        ),
        twin!("opacity", "opacity_random", |key: u32,
                                         number: u32,
                                         instance: u32| {
            opacity_random(key, number, instance)
        }),
        twin!(
            (
                "opacity",
                "coordinates_at",
                with_veils!("Ray ray, Hit hit, u32 instance, u32 second", "return coordinates_at(opacity, ray, {hit, instance}, second);")
            ),
            |inputs| {
                let (extent, ray, _, found) = crossed(inputs);
                (extent, ray, found.hit, found.instance, inputs.below(2) as u32)
            },
            |extent: f32, ray: Ray, hit: Hit, instance: u32, second: u32| {
                coordinates_at(&opacity(extent), &ray, &InstanceHit { hit, instance }, second)
            }
        ),
        twin!(
            (
                "opacity",
                "opacity_at",
                with_veils!("Ray ray, Hit hit, u32 instance", "return opacity_at(opacity, ray, {hit, instance});")
            ),
            |inputs| {
                let (extent, ray, _, found) = crossed(inputs);
                (extent, ray, found.hit, found.instance)
            },
            |extent: f32, ray: Ray, hit: Hit, instance: u32| {
                opacity_at(&opacity(extent), &ray, &InstanceHit { hit, instance })
            }
        ),
        twin!(
            (
                "opacity",
                "passes_opacity",
                with_veils!("Ray ray, Hit hit, u32 instance, u32 key", "return passes_opacity(opacity, ray, {hit, instance}, key);")
            ),
            |inputs| {
                let (extent, ray, _, found) = crossed(inputs);
                (extent, ray, found.hit, found.instance, inputs.draw())
            },
            |extent: f32, ray: Ray, hit: Hit, instance: u32, key: u32| {
                passes_opacity(&opacity(extent), &ray, &InstanceHit { hit, instance }, key)
            }
        ),
        twin!(
            (
                "opacity",
                "nearer_alpha_tested_hit",
                with_veils!(
                    "Ray ray, u32 from, u32 position, u32 instance, Vec3 local, Shear sheared, u32 key, Hit hit, u32 best_instance",
                    "InstanceHit best = {hit, best_instance};
                     nearer_alpha_tested_hit(opacity, position, instance, local, ray, from, sheared, key, best);
                     return words(best);"
                )
            ),
            |inputs| {
                let (extent, ray, from, found) = crossed(inputs);
                let instances = &inputs.harvest.instanced.instances;
                let (local, inward) = match instances.get(found.instance as usize) {
                    Some(instanced) => (
                        to_object(instanced, ray.origin - instanced.position),
                        to_object(instanced, ray.direction),
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
                let mut best = InstanceHit {
                    hit,
                    instance: best_instance,
                };
                let at = (position, instance, local);
                nearer_alpha_tested_hit(&opacity(extent), at, &ray, from, &sheared, key, &mut best);
                best
            }
        ),
        twin!(
            (
                "opacity",
                "alpha_tested_blocks",
                with_veils!(
                    "ShadowRay ray, u32 from, u32 to, u32 position, u32 instance, Vec3 local, Shear sheared, u32 key",
                    "return alpha_tested_blocks(opacity, position, instance, local, ray, from, to, sheared, key);"
                )
            ),
            |inputs| {
                let (extent, ray, from, to) = dimmed(inputs);
                let scene = opacity(extent).scene;
                let along = Ray {
                    origin: ray.origin,
                    direction: ray.direction,
                    from_primitive: ray.from_primitive,
                    ..Ray::default()
                };
                let found = nearest_instanced(&scene, &along, from);
                let (local, inward) = match scene.instances.get(found.instance as usize) {
                    Some(instanced) => (
                        to_object(instanced, ray.origin - instanced.position),
                        to_object(instanced, ray.direction),
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
                alpha_tested_blocks(&opacity(extent), at, &ray, (from, to), &sheared, key)
            }
        ),
        twin!(
            (
                "opacity",
                "nearest_alpha_tested",
                with_veils!("Ray ray, u32 from, u32 key", "return words(nearest_alpha_tested(opacity, ray, from, key));")
            ),
            |inputs| {
                let (ray, from) = inputs.instanced_ray();
                let extent = inputs.harvest.instanced.light_params.extent;
                (extent, ray, from, inputs.draw())
            },
            |extent: f32, ray: Ray, from: u32, key: u32| {
                nearest_alpha_tested(&opacity(extent), &ray, from, key)
            }
        ),
        twin!(
            (
                "opacity",
                "is_beyond",
                with_veils!(
                    "Hit hit, u32 instance, Hit after, u32 after_instance",
                    "return is_beyond(scene.primitives, {hit, instance}, {after, after_instance});"
                )
            ),
            |inputs| {
                let (extent, _, _, found) = crossed(inputs);
                let after = after(inputs, &found);
                (extent, found.hit, found.instance, after.hit, after.instance)
            },
            |extent: f32, hit: Hit, instance: u32, after: Hit, after_instance: u32| {
                let (found, after) = (
                    InstanceHit { hit, instance },
                    InstanceHit {
                        hit: after,
                        instance: after_instance,
                    },
                );
                is_beyond(opacity(extent).scene.primitives, &found, &after)
            }
        ),
        twin!(
            (
                "opacity",
                "nearer_hit_beyond",
                with_veils!(
                    "Ray ray, u32 from, u32 position, u32 instance, Vec3 local, Shear sheared, u32 key, Hit after, u32 after_instance",
                    "InstanceHit best = {{MAX_F32, NO_PRIMITIVE, 0.0f, 0.0f}, NO_INSTANCE};
                     nearer_hit_beyond(opacity, position, instance, local, ray, from, sheared, key, {after, after_instance}, best);
                     return words(best);"
                )
            ),
            |inputs| {
                let (extent, ray, from, found) = crossed(inputs);
                let instances = &inputs.harvest.instanced.instances;
                let (local, inward) = match instances.get(found.instance as usize) {
                    Some(instanced) => (
                        to_object(instanced, ray.origin - instanced.position),
                        to_object(instanced, ray.direction),
                    ),
                    None => (ray.origin, ray.direction),
                };
                let (position, key) = (found.hit.primitive, inputs.draw());
                let after = after(inputs, &found);
                let sheared = shear(inward);
                (extent, ray, from, position, found.instance, local, sheared, key, after.hit, after.instance)
            },
            |extent: f32,
             ray: Ray,
             from: u32,
             position: u32,
             instance: u32,
             local: Vec3,
             sheared: Shear,
             key: u32,
             after: Hit,
             after_instance: u32| {
                let mut best = InstanceHit::none_within(f32::MAX);
                let after = InstanceHit {
                    hit: after,
                    instance: after_instance,
                };
                let (opacity, at) = (opacity(extent), (position, instance, local));
                nearer_hit_beyond(&opacity, at, &ray, from, &sheared, key, &after, &mut best);
                best
            }
        ),
        twin!(
            (
                "opacity",
                "nearest_beyond",
                with_veils!(
                    "Ray ray, u32 from, u32 key, Hit after, u32 after_instance, f32 distance, u32 to_primitive, u32 to",
                    "return words(nearest_beyond(opacity, ray, from, key, {after, after_instance}, distance, to_primitive, to));"
                )
            ),
            |inputs| {
                let (extent, ray, from, found) = crossed(inputs);
                let after = after(inputs, &found);
                let distance: f32 = inputs.draw();
                let distance = inputs.one_of(&[f32::MAX, distance, found.hit.distance]);
                let (_, _, _, other) = crossed(inputs);
                let to = inputs.one_of(&[
                    (NO_PRIMITIVE, NO_INSTANCE),
                    (found.hit.primitive, found.instance),
                    (other.hit.primitive, other.instance),
                ]);
                (extent, ray, from, inputs.draw(), after.hit, after.instance, distance, to.0, to.1)
            },
            |extent: f32,
             ray: Ray,
             from: u32,
             key: u32,
             after: Hit,
             after_instance: u32,
             distance: f32,
             to_primitive: u32,
             to: u32| {
                let after = InstanceHit {
                    hit: after,
                    instance: after_instance,
                };
                let to = (to_primitive, to);
                nearest_beyond(&opacity(extent), &ray, from, key, &after, distance, to)
            }
        ),
        twin!(
            (
                "opacity",
                "light_passes_opacity",
                with_veils!("ShadowRay ray, u32 to, u32 key", "return light_passes_opacity(opacity, ray, to, key);")
            ),
            |inputs| {
                let (extent, ray, _, to) = dimmed(inputs);
                (extent, ray, to, inputs.draw())
            },
            |extent: f32, ray: ShadowRay, to: u32, key: u32| {
                light_passes_opacity(&opacity(extent), &ray, to, key)
            }
        ),
        twin!(
            (
                "opacity",
                "occluded_alpha_tested",
                with_veils!("ShadowRay ray, u32 from, u32 to, u32 key", "return occluded_alpha_tested(opacity, ray, from, to, key);")
            ),
            |inputs| {
                let (extent, ray, from, to) = dimmed(inputs);
                (extent, ray, from, to, inputs.draw())
            },
            |extent: f32, ray: ShadowRay, from: u32, to: u32, key: u32| {
                occluded_alpha_tested(&opacity(extent), &ray, from, to, key)
            }
        ),
    ]
}
