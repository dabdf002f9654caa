//! SIMD traversal of scenes with instances or partly opaque surfaces. It finds the same hits as
//! [`bvh::nearest_instanced`](crate::accel::bvh::nearest_instanced) and, with opacity tests, as
//! [`shading::opacity`](crate::shading::opacity).
//!
//! One tree covers the triangles, spheres and instances of the scene, and each mesh has a tree in its object space. A
//! ray that enters an instance's box is transformed to object space and traverses the tree of the instance's mesh.

mod beam;

use std::collections::HashMap;

use glam::Vec3;
use pulp::x86::{V3, V4};

use super::{
    block::RayParts,
    instance_entry::InstanceEntry,
    prepared::{Prepared, PreparedRays},
    ray::WideRay,
    split::Nodes,
    tree::{INSTANCE_LEAF, OTHERS, Order, PACKET, Packet, Visit, WideTree, first_lane},
};
use crate::{
    accel::{
        arrays::PATHS,
        bvh::{INSTANCED_SLACK, InstancedScene},
        instance::{Instance, InstanceHit, NO_INSTANCE, OpacityTest, is_nearer},
        primitive::Primitive,
        vectors::{Lanes, SimdLevel},
    },
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
};

/// A ray, the instances that it leaves and goes to, and the key of its opacity tests.
#[derive(Clone, Copy, Debug)]
pub struct InstancedRay<R> {
    /// The ray in world space, a [`Ray`] or [`ShadowRay`].
    pub ray: R,
    /// Index of the instance that the ray leaves, or `NO_INSTANCE`.
    pub from: u32,
    /// Index of the instance that a shadow ray goes to, or `NO_INSTANCE`.
    pub to: u32,
    /// Hash of the ray, from which the random numbers of its opacity tests are computed.
    pub key: u32,
}

/// A scene with instances, prepared for SIMD traversal.
pub struct SimdInstancedScene(Form);

/// The trees of the scene, for 8 or 16 lanes.
enum Form {
    Eight(V3, InstancedTrees<V3>),
    Sixteen(V4, InstancedTrees<V4>),
}

/// Runs `$body`, compiled for the vector instructions of a [`Form`], with its instructions and trees.
macro_rules! with_vectors {
    ($form:expr, $simd:ident, $trees:ident => $body:block) => {
        match $form {
            Form::Eight($simd, $trees) => $simd.vectorize(
                #[inline(always)]
                || $body,
            ),
            Form::Sixteen($simd, $trees) => $simd.vectorize(
                #[inline(always)]
                || $body,
            ),
        }
    };
}

impl<S: Lanes> InstancedTrees<S> {
    /// Returns the memory of the trees in bytes.
    fn bytes(&self) -> usize {
        let meshes = self.meshes.iter().map(WideTree::bytes);
        self.scene.bytes() + meshes.sum::<usize>() + size_of_val(&self.entries[..])
    }
}

impl SimdInstancedScene {
    /// Returns the memory of the scene in this form, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match &self.0 {
            Form::Eight(_, trees) => trees.bytes(),
            Form::Sixteen(_, trees) => trees.bytes(),
        }
    }

    /// Prepares a scene. Returns `None` if a child node comes before its parent or does not exist.
    pub fn new(vectors: SimdLevel, scene: &InstancedScene<'_>) -> Option<SimdInstancedScene> {
        Some(SimdInstancedScene(match vectors {
            SimdLevel::Eight(simd) => Form::Eight(simd, InstancedTrees::new(scene)?),
            SimdLevel::Sixteen(simd) => Form::Sixteen(simd, InstancedTrees::new(scene)?),
        }))
    }

    /// Finds the nearest hit of each ray, of those hits that pass the opacity test.
    ///
    /// Calls `report` with the number that came with each ray, and its hit. A ray without a hit is reported with
    /// `NO_PRIMITIVE`.
    pub fn each_nearest<T: OpacityTest>(
        &self,
        scene: &InstancedScene<'_>,
        opacity: &T,
        rays: impl Iterator<Item = (usize, InstancedRay<Ray>)>,
        report: impl FnMut(usize, InstanceHit),
    ) {
        with_vectors!(&self.0, simd, trees => {
            let mut stacks = trees.stacks();
            each_prepared(
                scene.extent,
                rays,
                &mut (&mut stacks, report, BEAM_BUDGET),
                #[inline(always)]
                |(stacks, report, budget), rays| {
                    let mut first = 0;
                    while *budget > 0
                        && let Some(group) = rays.get(first..first + trees.lanes())
                    {
                        match trees.nearest_of_beam(*simd, scene, opacity, group, stacks) {
                            Some(hits) => {
                                for (lane, (index, _)) in group.iter().enumerate() {
                                    report(*index, hits.get(lane));
                                }
                                rays.drain(first..first + trees.lanes());
                                *budget = BEAM_BUDGET.min(*budget + 1);
                            }
                            None => {
                                first += trees.lanes();
                                *budget -= 1;
                            }
                        }
                    }
                },
                #[inline(always)]
                |(stacks, report, _), index, ray, prepared| {
                    let hit = trees.nearest(*simd, scene, opacity, (ray, prepared), stacks);
                    report(index, hit);
                },
            );
        });
    }

    /// Finds whether each shadow ray is blocked by a hit that passes the opacity test. The surface that the ray goes to
    /// never blocks it; the caller tests its opacity.
    ///
    /// Calls `report` with the number that came with each ray, and `true` if it is blocked.
    pub fn each_occluded<T: OpacityTest>(
        &self,
        scene: &InstancedScene<'_>,
        opacity: &T,
        rays: impl Iterator<Item = (usize, InstancedRay<ShadowRay>)>,
        mut report: impl FnMut(usize, bool),
    ) {
        with_vectors!(&self.0, simd, trees => {
            let mut stacks = trees.stacks();
            each_prepared(
                scene.extent,
                rays,
                &mut (),
                |_, _| {},
                #[inline(always)]
                |_, index, ray, prepared| {
                    let blocked =
                        trees.occluded(*simd, opacity, (ray, prepared), &mut stacks);
                    report(index, blocked);
                },
            );
        });
    }
}

/// Initial and maximum budget of failed attempts to trace beams. A failure costs one, and a success returns one. At 0,
/// the rest of the call traces single rays.
const BEAM_BUDGET: u32 = 8;

/// Calls `trace` with the number that came with each ray, the ray, and the ray prepared for the tree of a scene with
/// this largest absolute coordinate.
///
/// Before that, `trace_beams` is called with some of the rays at a time, and removes those that it has traced. Both
/// functions get `context`.
#[inline(always)]
fn each_prepared<R: Copy + Into<RayParts>, C>(
    extent: f32,
    mut rays: impl Iterator<Item = (usize, InstancedRay<R>)>,
    context: &mut C,
    mut trace_beams: impl FnMut(&mut C, &mut Vec<(usize, InstancedRay<R>)>),
    mut trace: impl FnMut(&mut C, usize, &InstancedRay<R>, &Prepared),
) {
    let mut taken = Vec::with_capacity(PATHS);
    let mut prepared = PreparedRays::EMPTY;
    loop {
        taken.clear();
        taken.extend(rays.by_ref().take(PATHS));
        if taken.is_empty() {
            return;
        }
        trace_beams(context, &mut taken);
        if taken.is_empty() {
            continue;
        }
        for (at, (_, ray)) in taken.iter().enumerate() {
            let parts: RayParts = ray.ray.into();
            prepared.set(at, parts.origin, parts.direction);
        }
        prepared.prepare(extent, INSTANCED_SLACK);
        for (at, (index, ray)) in taken.iter().enumerate() {
            trace(context, *index, ray, &prepared.get(at));
        }
    }
}

/// The tree of a scene and those of its meshes.
struct InstancedTrees<S: Lanes> {
    /// The tree over triangles, spheres and instances, in world space.
    scene: WideTree<S>,
    /// The trees of the meshes, each in its object space.
    meshes: Vec<WideTree<S>>,
    /// The data that a ray needs to enter each instance, by index of the instance.
    entries: Vec<InstanceEntry>,
}

/// Traversal stacks, reused by all rays.
struct Stacks {
    /// The stack for the tree of the scene.
    scene: Vec<u64>,
    /// The stack for the trees of meshes.
    mesh: Vec<u64>,
}

/// A ray in world space or in the object space of an instance.
struct LocalRay<S: Lanes> {
    /// The ray in all lanes.
    wide: WideRay<S>,
    /// Origin of the ray in the space of `instance`.
    origin: Vec3,
    /// Index of the instance, or `NO_INSTANCE` in world space.
    instance: u32,
}

/// Primitives that a ray reaches.
enum Leaf<'a, S: Lanes> {
    /// A packet of triangles.
    Triangles(&'a Packet<S>),
    /// The sphere at this index among the primitives.
    Sphere(u32),
}

impl<S: Lanes> InstancedTrees<S> {
    /// Builds the trees. The nodes must hold the scene's tree first, then the trees of the meshes one after another.
    /// Returns `None` if a child node comes before its parent or does not exist.
    fn new(scene: &InstancedScene<'_>) -> Option<InstancedTrees<S>> {
        let mut roots: Vec<u32> = scene.instances.iter().map(|each| each.root).collect();
        roots.sort_unstable();
        roots.dedup();
        let trees: HashMap<u32, u32> = roots.iter().copied().zip(0..).collect();
        let ends = roots.iter().skip(1).copied();
        let ends = ends.chain([scene.nodes.len() as u32]);
        let meshes = roots.iter().zip(ends).map(|(&root, end)| {
            let nodes = &scene.nodes[root as usize..end as usize];
            let instances = &[];
            let nodes = Nodes {
                nodes,
                root,
                instances,
            };
            WideTree::new(nodes, scene.primitives, 0.0)
        });
        let meshes = meshes.collect::<Option<Vec<_>>>()?;
        let top_count = roots
            .first()
            .map_or(scene.nodes.len(), |&root| root as usize);
        let top_primitives = match scene.nodes.get(top_count) {
            Some(mesh) => &scene.primitives[..mesh.primitive_base as usize],
            None => scene.primitives,
        };
        let mut instances = vec![0; scene.instances.len()];
        for (position, primitive) in (0..).zip(top_primitives) {
            if primitive.is_instance() {
                instances[primitive.material as usize] = position;
            }
        }
        let top = Nodes {
            nodes: &scene.nodes[..top_count],
            root: 0,
            instances: &instances,
        };
        let entry = |(index, instance): (u32, &Instance)| {
            InstanceEntry::new(index, instance, trees[&instance.root])
        };
        Some(InstancedTrees {
            scene: WideTree::new(top, scene.primitives, scene.extent)?,
            meshes,
            entries: (0..).zip(scene.instances).map(entry).collect(),
        })
    }

    /// Returns the number of lanes, and of the rays of a beam.
    #[inline(always)]
    fn lanes(&self) -> usize {
        S::F32_LANES
    }

    /// Allocates traversal stacks that are high enough for every tree.
    fn stacks(&self) -> Stacks {
        let deepest = self.meshes.iter().map(|mesh| mesh.stack_height).max();
        Stacks {
            scene: vec![0; self.scene.stack_height + 1],
            mesh: vec![0; deepest.unwrap_or(0) + 1],
        }
    }

    /// Returns the nearest hit of a ray, of those hits that pass the opacity test.
    #[inline(always)]
    fn nearest<T: OpacityTest>(
        &self,
        simd: S,
        scene: &InstancedScene<'_>,
        opacity: &T,
        (traced, prepared): (&InstancedRay<Ray>, &Prepared),
        stacks: &mut Stacks,
    ) -> InstanceHit {
        let InstancedRay { ray, from, key, .. } = traced;
        let mut best = InstanceHit::none_within(f32::MAX);
        self.visit(
            simd,
            (ray.origin, ray.direction, prepared),
            (ray.from_primitive, *from),
            (f32::MAX, Order::NearestFirst, stacks),
            #[inline(always)]
            |local, leaf| {
                match leaf {
                    Leaf::Triangles(packet) => {
                        nearer_triangles(
                            scene.primitives,
                            opacity,
                            local,
                            packet,
                            (ray, *key),
                            &mut best,
                        );
                    }
                    Leaf::Sphere(position) => {
                        let at = (position, local.instance, local.origin);
                        opacity.nearer_hit(at, ray, *from, &local.wide.shear, *key, &mut best);
                    }
                }
                best.hit.distance
            },
        );
        best
    }

    /// Returns whether a shadow ray is blocked by a hit that passes the opacity test.
    #[inline(always)]
    fn occluded<T: OpacityTest>(
        &self,
        simd: S,
        opacity: &T,
        (traced, prepared): (&InstancedRay<ShadowRay>, &Prepared),
        stacks: &mut Stacks,
    ) -> bool {
        let InstancedRay { ray, from, to, key } = traced;
        let along = Ray {
            origin: ray.origin,
            pdf: 0.0,
            direction: ray.direction,
            from_primitive: ray.from_primitive,
        };
        let mut blocked = false;
        self.visit(
            simd,
            (ray.origin, ray.direction, prepared),
            (ray.from_primitive, *from),
            (ray.distance, Order::Any, stacks),
            #[inline(always)]
            |local, leaf| {
                let light = if local.instance == *to {
                    ray.to_primitive
                } else {
                    NO_PRIMITIVE
                };
                blocked = match leaf {
                    Leaf::Triangles(packet) => {
                        let shadow = (&along, ray.distance, light);
                        any_blocks(opacity, local, packet, shadow, *key)
                    }
                    Leaf::Sphere(position) if position == light => false,
                    Leaf::Sphere(position) => {
                        let mut best = InstanceHit::none_within(ray.distance);
                        let at = (position, local.instance, local.origin);
                        opacity.nearer_hit(at, &along, *from, &local.wide.shear, *key, &mut best);
                        best.hit.distance < ray.distance
                    }
                };
                if blocked { -1.0 } else { ray.distance }
            },
        );
        blocked
    }

    /// Traverses the tree of the scene and those of the instances in it, and calls `test` for the triangles and spheres
    /// whose boxes a ray enters before `distance`.
    ///
    /// The ray is given by its origin and direction, and as prepared for the tree of the scene. `left` are the indices of
    /// the primitive and the instance that it leaves. `test` returns the maximum distance from then on, in metres; a
    /// negative one ends the traversal.
    #[inline(always)]
    fn visit(
        &self,
        simd: S,
        (origin, direction, prepared): (Vec3, Vec3, &Prepared),
        left: (u32, u32),
        (distance, order, stacks): (f32, Order, &mut Stacks),
        mut test: impl FnMut(&LocalRay<S>, Leaf<'_, S>) -> f32,
    ) {
        let above = LocalRay::new(simd, prepared, origin, left, NO_INSTANCE);
        let mut visit = Visit::new(&mut stacks.scene, distance, order);
        // The ray in the instance entered last. Outside of the loop it is written in place, which is faster.
        let mut inside: Option<LocalRay<S>> = None;
        let mut distance = distance;
        while self.scene.step(
            &mut visit,
            &above.wide,
            #[inline(always)]
            |child| {
                if child & OTHERS == 0 {
                    distance = test(&above, Leaf::Triangles(self.scene.packet(child)));
                } else if child & INSTANCE_LEAF == 0 {
                    let packet = self.scene.packet(child);
                    for lane in 0..packet.count() {
                        distance = test(&above, Leaf::Sphere(packet.position(lane)));
                        if distance < 0.0 {
                            break;
                        }
                    }
                } else {
                    let entry =
                        &self.entries[(child & !(PACKET | OTHERS | INSTANCE_LEAF)) as usize];
                    if inside
                        .as_ref()
                        .is_none_or(|ray| ray.instance != entry.instance)
                    {
                        let ray = (origin, direction);
                        inside = Some(LocalRay::in_instance(simd, ray, left, entry));
                    }
                    let Some(local) = &inside else {
                        return distance;
                    };
                    let mesh = &self.meshes[entry.mesh as usize];
                    let mut visit = Visit::new(&mut stacks.mesh, distance, order);
                    while mesh.step(
                        &mut visit,
                        &local.wide,
                        #[inline(always)]
                        |child| {
                            distance = test(local, Leaf::Triangles(mesh.packet(child)));
                            distance
                        },
                    ) {}
                }
                distance
            },
        ) {}
    }
}

impl<S: Lanes> LocalRay<S> {
    /// Copies a ray, prepared in the space of `instance` and with its origin there, to all lanes.
    ///
    /// The ray leaves the primitive `from_primitive` of the instance `from`, and does not hit it again.
    #[inline(always)]
    fn new(
        simd: S,
        prepared: &Prepared,
        origin: Vec3,
        (from_primitive, from): (u32, u32),
        instance: u32,
    ) -> LocalRay<S> {
        let leaves = if instance == from {
            from_primitive
        } else {
            NO_PRIMITIVE
        };
        LocalRay {
            wide: WideRay::new(simd, prepared, leaves),
            origin,
            instance,
        }
    }

    /// Transforms a ray from world space to the object space of an instance.
    #[inline(always)]
    fn in_instance(
        simd: S,
        (origin, direction): (Vec3, Vec3),
        left: (u32, u32),
        entry: &InstanceEntry,
    ) -> LocalRay<S> {
        let local = entry.to_object(origin - entry.position);
        let inward = entry.to_object(direction);
        let prepared = Prepared::new(local, inward, entry.extent);
        LocalRay::new(simd, &prepared, local, left, entry.instance)
    }
}

/// Replaces `best` by the nearest hit with a triangle of a packet, if that is nearer and passes the opacity test. The
/// rules are those of `nearer_instance_hit`.
#[inline(always)]
fn nearer_triangles<S: Lanes, T: OpacityTest>(
    primitives: &[Primitive],
    opacity: &T,
    local: &LocalRay<S>,
    packet: &Packet<S>,
    (ray, key): (&Ray, u32),
    best: &mut InstanceHit,
) {
    let Some((mut hit, [distances, us, vs])) = local.wide.hits_within(packet, best.hit.distance)
    else {
        return;
    };
    let (distances, us, vs) = (distances.lanes(), us.lanes(), vs.lanes());
    while hit != 0 {
        let mut lane = first_lane::<S>(hit);
        if T::IS_NEEDED {
            // The nearest first, so that opacity is tested less often.
            let mut others = hit & (hit - 1);
            while others != 0 {
                let other = first_lane::<S>(others);
                others &= others - 1;
                if distances[other] < distances[lane] {
                    lane = other;
                }
            }
        }
        hit &= !(1 << lane);
        let found = InstanceHit {
            hit: Hit {
                distance: distances[lane],
                primitive: packet.position(lane),
                u: us[lane],
                v: vs[lane],
            },
            instance: local.instance,
        };
        if is_nearer(primitives, &found, best) && opacity.accepts(ray, &found, key) {
            *best = found;
        }
    }
}

/// Returns whether a triangle of a packet blocks a shadow ray of this length in metres. The light's own triangle, whose
/// index is `light` or `NO_PRIMITIVE`, never does.
#[inline(always)]
fn any_blocks<S: Lanes, T: OpacityTest>(
    opacity: &T,
    local: &LocalRay<S>,
    packet: &Packet<S>,
    (ray, length, light): (&Ray, f32, u32),
    key: u32,
) -> bool {
    let Some((mut hit, [distances, us, vs])) = local.wide.hits_before(packet, length, light) else {
        return false;
    };
    if !T::IS_NEEDED {
        return hit != 0;
    }
    let (distances, us, vs) = (distances.lanes(), us.lanes(), vs.lanes());
    while hit != 0 {
        let lane = first_lane::<S>(hit);
        hit &= hit - 1;
        let found = InstanceHit {
            hit: Hit {
                distance: distances[lane],
                primitive: packet.position(lane),
                u: us[lane],
                v: vs[lane],
            },
            instance: local.instance,
        };
        if opacity.accepts(ray, &found, key) {
            return true;
        }
    }
    false
}
