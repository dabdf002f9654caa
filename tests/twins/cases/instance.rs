//! Cases of instances.

use glam::Vec3;
use raysieve::{
    accel::{
        instance::{
            Instance, InstanceHit, NO_INSTANCE, consistent_normal, instance_blocks, instance_error,
            instance_material, instance_surface, instanced_triangle, lift, nearer_instance_hit,
            normal_to_world, on_side, ray_origin, tangent_at, to_object, to_world,
        },
        primitive::{Primitive, Shear, Surface, nearer_hit, shear, surface_at},
    },
    path::{Hit, Ray, ShadowRay},
};

use super::{Case, primitive::nothing, twin};
use crate::inputs::Harvest;

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            ("instance", "to_object", "to_object"),
            |inputs| (inputs.instanced().0, inputs.draw()),
            |instanced: Instance, v: Vec3| to_object(&instanced, v)
        ),
        twin!(
            ("instance", "to_world", "to_world"),
            |inputs| (inputs.instanced().0, inputs.draw()),
            |instanced: Instance, v: Vec3| to_world(&instanced, v)
        ),
        twin!(
            ("instance", "normal_to_world", "normal_to_world"),
            |inputs| (inputs.instanced().0, inputs.draw()),
            |instanced: Instance, normal: Vec3| normal_to_world(&instanced, normal)
        ),
        nearer_instance_hit_case(),
        instanced_blocks_case(),
        twin!(
            ("instance", "instance_error", "instance_error"),
            |inputs| {
                let (instanced, _, _) = inputs.instanced();
                (instanced, inputs.draw())
            },
            |instanced: Instance, triangle: Primitive| instance_error(&instanced, &triangle)
        ),
        twin!(
            ("instance", "instance_material", "instance_material"),
            |inputs| {
                let (instanced, triangle, _) = inputs.instanced();
                (instanced, triangle)
            },
            |instanced: Instance, triangle: Primitive| instance_material(&instanced, &triangle)
        ),
        twin!(
            ("instance", "instanced_triangle", "instanced_triangle"),
            |inputs| {
                let (instanced, triangle, _) = inputs.instanced();
                (instanced, triangle)
            },
            |instanced: Instance, triangle: Primitive| instanced_triangle(&instanced, &triangle)
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
                "ray_origin",
                "+[](Surface surface, f32 side) {
                    struct Started {
                        Vec3 origin;
                        u32 lifted;
                    };
                    RayOrigin started = ray_origin(surface, side);
                    return Started{started.origin, started.lifted};
                }"
            ),
            |inputs| {
                let (ray, hit) = inputs.one_of(&inputs.harvest.hits);
                let primitive = inputs.harvest.scene.primitives[hit.primitive as usize];
                let lift = inputs.draw();
                let surface = Surface {
                    lift: inputs.one_of(&[Vec3::ZERO, lift]),
                    ..surface_at(&primitive, &ray, &hit)
                };
                (surface, inputs.one_of(&[1.0, -1.0]))
            },
            |surface: Surface, side: f32| ray_origin(&surface, side)
        ),
        twin!("instance", "tangent_at", |tangent: Vec3, normal: Vec3| {
            tangent_at(tangent, normal)
        }),
        twin!(
            (
                "instance",
                "instance_surface",
                "+[](Instance instanced, Primitive triangle, Ray ray, Hit hit) {
                    return instance_surface(instanced, (const Corners *)calls::corners.data(),
                                          (const MeshVertex *)calls::vertices.data(), triangle, ray, hit);
                }"
            ),
            |inputs| {
                let (instanced, triangle, primitive) = inputs.instanced();
                let (u, v) = (inputs.unit(), inputs.unit());
                let ray = inputs.draw();
                let hit: Hit = inputs.draw();
                let inside = Hit {
                    u: u.min(1.0 - v),
                    v: v.min(1.0 - u),
                    ..hit
                };
                let hit = inputs.one_of(&[hit, inside, inside]);
                (instanced, triangle, ray, Hit { primitive, ..hit })
            },
            |instanced: Instance, triangle: Primitive, ray: Ray, hit: Hit| {
                let scene = &Harvest::get().instanced;
                instance_surface(&instanced, &scene.corners, &scene.vertices, &triangle, &ray, &hit)
            }
        ),
    ]
}

fn nearer_instance_hit_case() -> Case {
    twin!(
        (
            "instance",
            "nearer_instance_hit",
            "+[](calls::Several<Primitive, 3> several, u32 position, u32 instance, Ray ray, u32 from, Shear shear, calls::Several<u32, 5> given) {
                InstanceHit best = {{bits_to_float(given.items[0]), given.items[1], bits_to_float(given.items[2]),
                                   bits_to_float(given.items[3])}, given.items[4]};
                nearer_instance_hit(several.items, position, instance, ray.origin, ray, from, shear, best);
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
                from_primitive: inputs.position_or_none(),
                ..Ray::default()
            };
            let instances = [NO_INSTANCE, 0, 1];
            let instance = inputs.one_of(&instances);
            let mut best = InstanceHit {
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
         best: InstanceHit| {
            let mut best = best;
            let at = (position, instance, ray.origin);
            nearer_instance_hit(&several, at, &ray, from, &shear, &mut best);
            best
        }
    )
}

fn instanced_blocks_case() -> Case {
    twin!(
        (
            "instance",
            "instance_blocks",
            "+[](calls::Several<Primitive, 3> several, u32 position, u32 instance, ShadowRay ray, u32 from, u32 to, Shear shear) {
                return instance_blocks(several.items, position, instance, ray.origin, ray, from, to, shear);
            }"
        ),
        |inputs| {
            let (several, origin, direction) = inputs.several();
            let ray = ShadowRay {
                origin,
                direction,
                distance: inputs.draw(),
                from_primitive: inputs.position_or_none(),
                to_primitive: inputs.position_or_none(),
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
            instance_blocks(&several, at, &ray, (from, to), &shear)
        }
    )
}
