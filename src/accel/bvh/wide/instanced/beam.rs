//! Beams in scenes with instances or partly opaque surfaces: coherent rays that traverse the trees together. They find
//! the same hits as single rays.

use super::{InstancedRay, InstancedTrees, Stacks};
use crate::{
    accel::{
        bvh::{
            INSTANCED_SLACK, InstancedScene,
            wide::{
                beam::{Beam, is_beam},
                block::RayBlock,
                instance_entry::InstanceEntry,
                tree::{
                    INSTANCE_LEAF, OTHERS, Order, PACKET, Packet, Visit, first_lane, numbers,
                    numbers_mut,
                },
            },
        },
        instance::{InstanceHit, NO_INSTANCE, OpacityTest, is_nearer},
        primitive::{Primitive, shear},
        vectors::{Lanes, MAX_LANES, Mask, SimdF32},
    },
    path::{Hit, NO_PRIMITIVE, Ray},
};

/// Indices of the rays of a block.
const INDICES: [usize; MAX_LANES] = {
    let mut indices = [0; MAX_LANES];
    let mut lane = 0;
    while lane < MAX_LANES {
        indices[lane] = lane;
        lane += 1;
    }
    indices
};

/// Maximum number of instances that a beam enters. A beam that meets more is wide compared to them, and each of its rays
/// would enter few.
const MAX_ENTERED: u32 = 4;

/// The rays of a beam, with the primitives and the opacity test of the scene.
struct BeamRays<'a, T> {
    primitives: &'a [Primitive],
    opacity: &'a T,
    /// The rays, one per lane. Each comes with a number that only the caller knows.
    rays: &'a [(usize, InstancedRay<Ray>)],
}

/// The nearest hit of each ray of a beam so far, of those hits that pass the opacity test.
pub(super) struct InstancedBeamHits<S: Lanes> {
    /// Distances in metres, `f32::MAX` without a hit.
    distance: SimdF32<S>,
    /// Indices of the primitives, or `NO_PRIMITIVE`.
    primitive: S::u32s,
    /// Indices of the instances, or `NO_INSTANCE`.
    instance: S::u32s,
    /// Barycentric weights of the second vertex.
    u: SimdF32<S>,
    /// Barycentric weights of the third vertex.
    v: SimdF32<S>,
}

impl<S: Lanes> InstancedTrees<S> {
    /// Traces the rays together as a beam, and returns the nearest hit of each among the hits that pass the opacity test.
    ///
    /// Returns `None` if they must be traced singly: if their number is not that of the lanes, if one leaves a primitive,
    /// or if they form no beam in world space. It also does so if they differ in longest axis or signs in an instance, or
    /// enter more than [`MAX_ENTERED`] instances.
    #[inline(always)]
    pub(super) fn nearest_of_beam<T: OpacityTest>(
        &self,
        simd: S,
        scene: &InstancedScene<'_>,
        opacity: &T,
        rays: &[(usize, InstancedRay<Ray>)],
        stacks: &mut Stacks,
    ) -> Option<InstancedBeamHits<S>> {
        let leaves = |(_, ray): &(usize, InstancedRay<Ray>)| ray.ray.from_primitive != NO_PRIMITIVE;
        if rays.len() != S::F32_LANES || rays.iter().any(leaves) {
            return None;
        }
        let indices = &INDICES[..S::F32_LANES];
        let mut copies = [Ray::default(); MAX_LANES];
        for (copy, (_, ray)) in copies.iter_mut().zip(rays) {
            *copy = ray.ray;
        }
        if !is_beam(indices, |index| copies[index].into(), scene.extent) {
            return None;
        }
        let axis = shear(copies[0].direction).axis as usize;
        let block = RayBlock::new(simd, axis, &copies, indices);
        let beam = Beam::new(&block, scene.extent, INSTANCED_SLACK);
        let beam_rays = BeamRays {
            primitives: scene.primitives,
            opacity,
            rays,
        };
        let mut best = InstancedBeamHits::none(simd);
        let (mut stays_beam, mut entered) = (true, 0);
        let mut visit = Visit::new(&mut stacks.scene, f32::MAX, Order::NearestFirst);
        while self.scene.step(
            &mut visit,
            &beam,
            #[inline(always)]
            |child| {
                if child & OTHERS == 0 {
                    let packet = self.scene.packet(child);
                    best.take_triangles(&beam_rays, &block, &beam, packet, NO_INSTANCE);
                } else if child & INSTANCE_LEAF == 0 {
                    best.take_spheres(&beam_rays, &block, self.scene.packet(child));
                } else {
                    let entry =
                        &self.entries[(child & !(PACKET | OTHERS | INSTANCE_LEAF)) as usize];
                    entered += 1;
                    let local = in_instance(&block, entry).filter(|_| entered <= MAX_ENTERED);
                    let Some(block) = local else {
                        stays_beam = false;
                        return -1.0;
                    };
                    let beam = Beam::new(&block, entry.extent, 1.0);
                    let mesh = &self.meshes[entry.mesh as usize];
                    let furthest = best.furthest();
                    let mut visit = Visit::new(&mut stacks.mesh, furthest, Order::NearestFirst);
                    while mesh.step(
                        &mut visit,
                        &beam,
                        #[inline(always)]
                        |child| {
                            let packet = mesh.packet(child);
                            best.take_triangles(&beam_rays, &block, &beam, packet, entry.instance);
                            best.furthest()
                        },
                    ) {}
                }
                best.furthest()
            },
        ) {}
        stays_beam.then_some(best)
    }
}

/// Transforms the rays of a block from world space to the object space of an instance. Returns `None` if they do not
/// agree there in longest axis and signs, and so form no beam.
#[inline(always)]
fn in_instance<'a, S: Lanes>(
    block: &RayBlock<'a, S>,
    entry: &InstanceEntry,
) -> Option<RayBlock<'a, S>> {
    let [x, y, z] = block.permuted_back(&block.origin);
    let origin = entry.to_object_by_lane([
        x - block.all(entry.position.x),
        y - block.all(entry.position.y),
        z - block.all(entry.position.z),
    ]);
    let direction = entry.to_object_by_lane(block.permuted_back(&block.direction));
    RayBlock::from_vectors(block.simd, origin, direction, block.ray_indices)
}

impl<S: Lanes> InstancedBeamHits<S> {
    /// Returns "no hit yet" of all rays.
    #[inline(always)]
    fn none(simd: S) -> InstancedBeamHits<S> {
        let zeros = SimdF32::all(simd, 0.0);
        InstancedBeamHits {
            distance: SimdF32::all(simd, f32::MAX),
            primitive: simd.splat_u32s(NO_PRIMITIVE),
            instance: simd.splat_u32s(NO_INSTANCE),
            u: zeros,
            v: zeros,
        }
    }

    /// Returns the hit of the ray in a lane.
    #[inline(always)]
    pub(super) fn get(&self, lane: usize) -> InstanceHit {
        InstanceHit {
            hit: Hit {
                distance: self.distance.lanes()[lane],
                primitive: numbers(&self.primitive)[lane],
                u: self.u.lanes()[lane],
                v: self.v.lanes()[lane],
            },
            instance: numbers(&self.instance)[lane],
        }
    }

    /// Replaces the hit of the ray in a lane.
    #[inline(always)]
    fn set(&mut self, lane: usize, found: &InstanceHit) {
        self.distance.lanes_mut()[lane] = found.hit.distance;
        numbers_mut(&mut self.primitive)[lane] = found.hit.primitive;
        self.u.lanes_mut()[lane] = found.hit.u;
        self.v.lanes_mut()[lane] = found.hit.v;
        numbers_mut(&mut self.instance)[lane] = found.instance;
    }

    /// Returns the largest distance of all rays.
    #[inline(always)]
    fn furthest(&self) -> f32 {
        self.distance.0.reduce_max_f32s(self.distance.1)
    }

    /// Updates the rays with the triangles of a packet, in the space of `instance`, which the block is in.
    #[inline(always)]
    fn take_triangles<T: OpacityTest>(
        &mut self,
        beam_rays: &BeamRays<'_, T>,
        block: &RayBlock<'_, S>,
        beam: &Beam<S>,
        packet: &Packet<S>,
        instance: u32,
    ) {
        let mut waiting = packet.near(beam, self.furthest());
        while waiting != 0 {
            let lane = first_lane::<S>(waiting);
            waiting &= waiting - 1;
            let (a, b, c) = (
                block.corner(&packet.corner(0, lane)),
                block.corner(&packet.corner(1, lane)),
                block.corner(&packet.corner(2, lane)),
            );
            if let Some((hit, found)) = block.hit_triangle([&a, &b, &c]) {
                self.take(beam_rays, (packet.position(lane), instance), hit, found);
            }
        }
    }

    /// Updates the rays in the mask `hit` with a triangle, given by its index and that of its instance, where the hit
    /// is nearer and passes the opacity test. The rules are those of `nearer_instance_hit`.
    #[inline(always)]
    fn take<T: OpacityTest>(
        &mut self,
        beam_rays: &BeamRays<'_, T>,
        (position, instance): (u32, u32),
        hit: Mask<S>,
        [along, hit_u, hit_v]: [SimdF32<S>; 3],
    ) {
        let simd = along.0;
        let near = hit & along.up_to(self.distance);
        let mut one_by_one = near;
        if !T::IS_NEEDED {
            one_by_one = near & along.equals(self.distance);
            let nearer = near & along.below(self.distance);
            self.distance = along.where_or(nearer, self.distance);
            self.u = hit_u.where_or(nearer, self.u);
            self.v = hit_v.where_or(nearer, self.v);
            let position = simd.splat_u32s(position);
            self.primitive = simd.select_u32s(nearer.1, position, self.primitive);
            let instance = simd.splat_u32s(instance);
            self.instance = simd.select_u32s(nearer.1, instance, self.instance);
        }
        let mut lanes = one_by_one.bits();
        while lanes != 0 {
            let lane = first_lane::<S>(lanes);
            lanes &= lanes - 1;
            let found = InstanceHit {
                hit: Hit {
                    distance: along.lanes()[lane],
                    primitive: position,
                    u: hit_u.lanes()[lane],
                    v: hit_v.lanes()[lane],
                },
                instance,
            };
            let (_, InstancedRay { ray, key, .. }) = &beam_rays.rays[lane];
            if is_nearer(beam_rays.primitives, &found, &self.get(lane))
                && beam_rays.opacity.accepts(ray, &found, *key)
            {
                self.set(lane, &found);
            }
        }
    }

    /// Updates the rays with the spheres of a packet, which are not in an instance.
    #[inline(always)]
    fn take_spheres<T: OpacityTest>(
        &mut self,
        beam_rays: &BeamRays<'_, T>,
        block: &RayBlock<'_, S>,
        packet: &Packet<S>,
    ) {
        for place in 0..packet.count() {
            let position = packet.position(place);
            let sphere = &beam_rays.primitives[position as usize];
            let leaves = block.leaves(block.simd.splat_u32s(position));
            let Some((hit, along)) = block.hit_sphere(&sphere.a.to_array(), sphere.b.x, leaves)
            else {
                continue;
            };
            let mut lanes = (hit & along.up_to(self.distance)).bits();
            while lanes != 0 {
                let lane = first_lane::<S>(lanes);
                lanes &= lanes - 1;
                let (_, InstancedRay { ray, from, key, .. }) = &beam_rays.rays[lane];
                let mut best = self.get(lane);
                let at = (position, NO_INSTANCE, ray.origin);
                let shear = shear(ray.direction);
                let opacity = beam_rays.opacity;
                opacity.nearer_hit(at, ray, *from, &shear, *key, &mut best);
                self.set(lane, &best);
            }
        }
    }
}
