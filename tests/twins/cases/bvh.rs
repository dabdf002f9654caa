//! Cases of BVH traversal.

use glam::Vec3;
use raysieve::{
    accel::bvh::{
        BoxRay, Bytes8, InstancedScene, Node, box_ray, change_octant, first_plane, hit_children,
        inverse, margin, nearest, nearest_instanced, occluded, occluded_instanced, plane, shift,
        slack, spacing,
    },
    path::{NO_PRIMITIVE, Ray, ShadowRay},
};

use super::{Case, twin};
use crate::inputs::{Harvest, Inputs};

/// Returns a node, real or random, with a finite ray and a distance. Rays with NaN may enter any box.
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
    let extent = inputs.harvest.scene.light_params.extent;
    let boxes = box_ray(
        ray.origin,
        inputs.one_of(&[ray.direction, direction]),
        slack(ray.origin, extent),
    );
    (node, boxes, distance)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
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
        twin!("bvh", "first_plane", |corner: f32,
                                     origin: f32,
                                     inverse: f32,
                                     scale: f32| first_plane(
            corner, origin, inverse, scale
        )),
        twin!("bvh", "margin", |scale: f32, slack: f32, inverse: f32| margin(
            scale, slack, inverse
        )),
        twin!(
            ("bvh", "plane", "plane"),
            |inputs| (inputs.draw(), inputs.below(8) as u32, inputs.draw(), inputs.draw()),
            |numbers: Bytes8, child: u32, scale: f32, first: f32| {
                plane(numbers[child as usize], scale, first)
            }
        ),
        twin!(
            ("bvh", "shifts", "shifts"),
            |inputs| (inputs.draw(), inputs.below(8) as u32),
            |meta: u32, octant: u32| {
                let bytes = meta.to_le_bytes();
                u32::from_le_bytes(bytes.map(|meta| shift(u32::from(meta), octant) as u8))
            }
        ),
        twin!(
            (
                "bvh",
                "take_lowest",
                "+[](u32 waiting) {
                    u32 lowest = take_lowest(waiting);
                    return calls::Several<u32, 2>{{lowest, waiting}};
                }"
            ),
            |inputs| (inputs.draw::<u32>() | 1 << inputs.below(32),),
            |waiting: u32| [waiting.trailing_zeros(), waiting & (waiting - 1)]
        ),
        twin!("bvh", "change_octant", |bits: u32, change: u32| change_octant(
            bits, change
        )),
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
            |inputs| (inputs.harvest.scene.light_params.extent, inputs.draw()),
            |extent: f32, ray: Ray| {
                let scene = &Harvest::get().scene;
                nearest(&scene.nodes, &scene.primitives, extent, &ray)
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
            |inputs| (inputs.harvest.scene.light_params.extent, inputs.draw()),
            |extent: f32, ray: ShadowRay| {
                let scene = &Harvest::get().scene;
                occluded(&scene.nodes, &scene.primitives, extent, &ray)
            }
        ),
        twin!(
            (
                "bvh",
                "nearest_instanced",
                "+[](f32 extent, Ray ray, u32 from) {
                    InstancedScene scene = {(const Node *)calls::instanced_nodes.data(), (const Primitive *)calls::instanced_primitives.data(),
                                         (const Instance *)calls::instances.data(), extent};
                    InstanceHit best = nearest_instanced(scene, ray, from);
                    Hit hit = best.hit;
                    return calls::Several<u32, 5>{{float_to_bits(hit.distance), hit.primitive, float_to_bits(hit.u),
                                                   float_to_bits(hit.v), best.instance}};
                }"
            ),
            |inputs| {
                let (ray, from) = inputs.instanced_ray();
                (inputs.harvest.instanced.light_params.extent, ray, from)
            },
            |extent: f32, ray: Ray, from: u32| {
                let scene = Harvest::get().instanced.instanced_scene();
                nearest_instanced(&InstancedScene { extent, ..scene }, &ray, from)
            }
        ),
        twin!(
            (
                "bvh",
                "occluded_instanced",
                "+[](f32 extent, ShadowRay ray, u32 from, u32 to) {
                    InstancedScene scene = {(const Node *)calls::instanced_nodes.data(), (const Primitive *)calls::instanced_primitives.data(),
                                         (const Instance *)calls::instances.data(), extent};
                    return occluded_instanced(scene, ray, from, to);
                }"
            ),
            |inputs| {
                let (ray, from) = inputs.instanced_ray();
                let (_, _, position) = inputs.instanced();
                let to = inputs.below(inputs.harvest.instanced.instances.len()) as u32;
                let ray = ShadowRay {
                    origin: ray.origin,
                    direction: ray.direction,
                    distance: inputs.draw(),
                    from_primitive: ray.from_primitive,
                    to_primitive: inputs.one_of(&[NO_PRIMITIVE, position]),
                    ..ShadowRay::default()
                };
                (inputs.harvest.instanced.light_params.extent, ray, from, to)
            },
            |extent: f32, ray: ShadowRay, from: u32, to: u32| {
                let scene = Harvest::get().instanced.instanced_scene();
                occluded_instanced(&InstancedScene { extent, ..scene }, &ray, from, to)
            }
        ),
    ]
}
