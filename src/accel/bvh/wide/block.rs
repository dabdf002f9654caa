//! The operations of `primitive` with one ray per lane, in the same order.

use std::mem::offset_of;

use glam::Vec3;

use super::{
    spheres::{Three, hit_spheres},
    triangles::{PairHit, hit_pair, hit_triangles},
};
use crate::{
    accel::{
        primitive::shear,
        vectors::{Lanes, MAX_LANES, Mask, SimdF32},
    },
    path::{NO_PRIMITIVE, Ray, ShadowRay},
};

/// Permutations of axes by [`turn`](crate::accel::primitive::turn), indexed by the axis that becomes z.
pub(super) const AXES: [[usize; 3]; 4] = [[1, 2, 0], [2, 0, 1], [0, 1, 2], [0, 1, 2]];

/// The common part of rays and shadow rays.
pub(super) struct RayParts {
    /// Origin in world space, metres.
    pub(super) origin: Vec3,
    /// Direction of length 1.
    pub(super) direction: Vec3,
    /// Index of the primitive that the ray leaves, or `NO_PRIMITIVE`.
    pub(super) from_primitive: u32,
}

impl From<Ray> for RayParts {
    #[inline(always)]
    fn from(ray: Ray) -> RayParts {
        RayParts {
            origin: ray.origin,
            direction: ray.direction,
            from_primitive: ray.from_primitive,
        }
    }
}

impl From<ShadowRay> for RayParts {
    #[inline(always)]
    fn from(ray: ShadowRay) -> RayParts {
        RayParts {
            origin: ray.origin,
            direction: ray.direction,
            from_primitive: ray.from_primitive,
        }
    }
}

/// A ray or shadow ray as it lies in memory.
pub(super) trait RayRecord: Copy {
    /// Returns the first 32 bytes: origin and a number, direction and the bits of the index of the primitive that it
    /// leaves.
    fn row(&self) -> [[f32; 4]; 2];

    /// Returns per lane the maximum distance and the index of the primitive that the ray goes to.
    ///
    /// `column` holds the fourth number of each lane's row; `ray` returns the ray of a lane.
    fn ends<S: Lanes>(
        simd: S,
        column: S::f32s,
        ray: impl Fn(usize) -> Self,
    ) -> (SimdF32<S>, S::u32s);
}

const _: () = assert!(offset_of!(Ray, origin) == 0 && offset_of!(ShadowRay, origin) == 0);
const _: () =
    assert!(offset_of!(ShadowRay, distance) == 12 && offset_of!(ShadowRay, to_primitive) == 44);
const _: () = assert!(offset_of!(Ray, direction) == 16 && offset_of!(ShadowRay, direction) == 16);
const _: () =
    assert!(offset_of!(Ray, from_primitive) == 28 && offset_of!(ShadowRay, from_primitive) == 28);

impl RayRecord for Ray {
    #[inline(always)]
    fn row(&self) -> [[f32; 4]; 2] {
        bytemuck::cast(*self)
    }

    #[inline(always)]
    fn ends<S: Lanes>(simd: S, _: S::f32s, _: impl Fn(usize) -> Ray) -> (SimdF32<S>, S::u32s) {
        let nowhere = simd.splat_u32s(NO_PRIMITIVE);
        (SimdF32::all(simd, f32::INFINITY), nowhere)
    }
}

impl RayRecord for ShadowRay {
    #[inline(always)]
    fn row(&self) -> [[f32; 4]; 2] {
        let [first, second, _]: [[f32; 4]; 3] = bytemuck::cast(*self);
        [first, second]
    }

    #[inline(always)]
    fn ends<S: Lanes>(
        simd: S,
        column: S::f32s,
        ray: impl Fn(usize) -> ShadowRay,
    ) -> (SimdF32<S>, S::u32s) {
        let [.., to] = simd.columns(
            #[inline(always)]
            |lane| {
                let [.., last]: [[f32; 4]; 3] = bytemuck::cast(ray(lane));
                last
            },
        );
        (SimdF32(simd, column), simd.transmute_u32s_f32s(to))
    }
}

/// A block of up to one ray per lane, whose directions all have the same longest axis.
pub(super) struct RayBlock<'a, S: Lanes> {
    /// The vector instructions.
    pub(super) simd: S,
    /// Longest axis of the directions, 0..=2, which becomes z in permuted vectors.
    axis: usize,
    /// Permuted origins.
    pub(super) origin: [SimdF32<S>; 3],
    /// Permuted directions.
    pub(super) direction: [SimdF32<S>; 3],
    /// Maximum distances: to the light for shadow rays, otherwise infinite.
    pub(super) distance: SimdF32<S>,
    /// The numbers `x`, `y` and `z` of each ray's shear.
    shears: [SimdF32<S>; 3],
    /// Index of the primitive that each ray leaves.
    from: S::u32s,
    /// Index of the primitive that each ray goes to, or `NO_PRIMITIVE`.
    to: S::u32s,
    /// Indices of the rays in the first lanes; the other lanes repeat the last one.
    pub(super) ray_indices: &'a [usize],
}

/// Number of groups of rays by longest axis and sign, rounded up to a power of two. Rays of a group tend to hit the
/// same triangles.
const RAY_GROUPS: usize = 8;

/// Groups the rays at these indices by longest axis and sign, and calls `trace` with blocks of a group, in any order.
#[inline(always)]
pub(super) fn each<S: Lanes, R: RayRecord + Into<RayParts>>(
    simd: S,
    rays: &[R],
    ray_indices: impl Iterator<Item = usize>,
    mut trace: impl FnMut(&RayBlock<S>),
) {
    let mut waiting = [([0; MAX_LANES], 0); RAY_GROUPS];
    for index in ray_indices {
        let RayParts { direction, .. } = rays[index].into();
        let axis = shear(direction).axis as usize % 3;
        // Sign bits instead of indexing by axis, which would be a badly predicted branch.
        let [x, y, z] = [
            direction.x.to_bits() >> 31,
            direction.y.to_bits() >> 31,
            direction.z.to_bits() >> 31,
        ];
        let back = (x | y << 1 | z << 2) >> axis & 1;
        let (waiting, count) = &mut waiting[2 * axis + back as usize];
        waiting[*count % MAX_LANES] = index;
        *count += 1;
        if *count == S::F32_LANES {
            trace(&RayBlock::new(simd, axis, rays, &waiting[..S::F32_LANES]));
            *count = 0;
        }
    }
    for (way, (waiting, count)) in waiting.iter().enumerate() {
        if *count > 0 {
            trace(&RayBlock::new(simd, way / 2, rays, &waiting[..*count]));
        }
    }
}

impl<'a, S: Lanes> RayBlock<'a, S> {
    /// Loads the rays at `ray_indices` into a block: at least one, at most one per lane, all with this longest axis.
    #[inline(always)]
    pub(super) fn new<R: RayRecord>(
        simd: S,
        axis: usize,
        rays: &[R],
        ray_indices: &'a [usize],
    ) -> RayBlock<'a, S> {
        let [ox, oy, oz, column] = simd.columns(
            #[inline(always)]
            |lane| in_lane(rays, ray_indices, lane).row()[0],
        );
        let [x, y, z, from] = simd.columns(
            #[inline(always)]
            |lane| in_lane(rays, ray_indices, lane).row()[1],
        );
        let direction = permuted_vectors(simd, axis, [x, y, z]);
        let [dx, dy, dz] = direction;
        let (distance, to) = R::ends(
            simd,
            column,
            #[inline(always)]
            |lane| in_lane(rays, ray_indices, lane),
        );
        RayBlock {
            simd,
            axis,
            origin: permuted_vectors(simd, axis, [ox, oy, oz]),
            direction,
            distance,
            shears: [dx / dz, dy / dz, SimdF32::all(simd, 1.0) / dz],
            from: simd.transmute_u32s_f32s(from),
            to,
            ray_indices,
        }
    }
}

impl<'a, S: Lanes> RayBlock<'a, S> {
    /// Creates a block of one ray per lane with these origins and directions, which need not have length 1. The rays
    /// leave no primitive and go to none. Returns `None` unless all directions agree in longest axis and signs.
    #[inline(always)]
    pub(super) fn from_vectors(
        simd: S,
        origin: Three<S>,
        direction: Three<S>,
        ray_indices: &'a [usize],
    ) -> Option<RayBlock<'a, S>> {
        let zero = SimdF32::all(simd, 0.0);
        let [x, y, z] = direction;
        for along in [x, y, z] {
            let downwards = along.below(zero).bits();
            if downwards != 0 && downwards != S::ALL {
                return None;
            }
        }
        // Chooses the axis as `shear` does, including ties.
        let (x, y, z) = (x.max(-x), y.max(-y), z.max(-z));
        let x_first = (y.below(x) & z.below(x)).bits();
        let y_first = (!y.below(x) & z.below(y)).bits();
        let axis = match (x_first, y_first) {
            (0, 0) => 2,
            (0, all) if all == S::ALL => 1,
            (all, 0) if all == S::ALL => 0,
            _ => return None,
        };
        let [ox, oy, oz] = origin;
        let [dx, dy, dz] = direction;
        let permuted = permuted_vectors(simd, axis, [dx.1, dy.1, dz.1]);
        let [dx, dy, dz] = permuted;
        let nowhere = simd.splat_u32s(NO_PRIMITIVE);
        Some(RayBlock {
            simd,
            axis,
            origin: permuted_vectors(simd, axis, [ox.1, oy.1, oz.1]),
            direction: permuted,
            distance: SimdF32::all(simd, f32::INFINITY),
            shears: [dx / dz, dy / dz, SimdF32::all(simd, 1.0) / dz],
            from: nowhere,
            to: nowhere,
            ray_indices,
        })
    }
}

impl<S: Lanes> RayBlock<'_, S> {
    /// Transforms a vertex to the sheared ray space of each lane's ray, as `hit_triangle` does.
    #[inline(always)]
    pub(super) fn corner(&self, vertex: &[f32; 3]) -> [SimdF32<S>; 3] {
        let [first, second, last] = AXES[self.axis & 3];
        let x = self.all(vertex[first]) - self.origin[0];
        let y = self.all(vertex[second]) - self.origin[1];
        let z = self.all(vertex[last]) - self.origin[2];
        [x - self.shears[0] * z, y - self.shears[1] * z, z]
    }

    /// Returns a vector with `x` in all lanes.
    #[inline(always)]
    pub(super) fn all(&self, x: f32) -> SimdF32<S> {
        SimdF32::all(self.simd, x)
    }

    /// Intersects the rays with a triangle given by sheared vertices, see [`hit_triangles`].
    #[inline(always)]
    pub(super) fn hit_triangle(
        &self,
        corners: [&[SimdF32<S>; 3]; 3],
    ) -> Option<(Mask<S>, [SimdF32<S>; 3])> {
        hit_triangles(corners, self.shears[2])
    }

    /// Intersects the rays with two triangles given by sheared vertices, see [`hit_pair`].
    #[inline(always)]
    pub(super) fn hit_pair(&self, corners: [[&[SimdF32<S>; 3]; 3]; 2]) -> PairHit<S> {
        hit_pair(corners, self.shears[2])
    }

    /// Intersects the rays with a sphere, as the scalar `hit_sphere`. Returns a mask of hits and the distances, or `None`
    /// if no ray hits.
    #[inline(always)]
    pub(super) fn hit_sphere(
        &self,
        center: &[f32; 3],
        radius: f32,
        leaves: Mask<S>,
    ) -> Option<(Mask<S>, SimdF32<S>)> {
        let [ox, oy, oz] = self.permuted_back(&self.origin);
        let [cx, cy, cz] = *center;
        let to_origin = [ox - self.all(cx), oy - self.all(cy), oz - self.all(cz)];
        let direction = self.permuted_back(&self.direction);
        hit_spheres(to_origin, direction, self.all(radius), leaves, S::ALL)
    }

    /// Undoes the permutation of axes of a vector.
    #[inline(always)]
    pub(super) fn permuted_back(&self, [a, b, c]: &[SimdF32<S>; 3]) -> Three<S> {
        match self.axis {
            0 => [*c, *a, *b],
            1 => [*b, *c, *a],
            _ => [*a, *b, *c],
        }
    }

    /// Returns a mask of the rays that leave the primitive with the index in their lane.
    #[inline(always)]
    pub(super) fn leaves(&self, positions: S::u32s) -> Mask<S> {
        Mask(self.simd, self.simd.equal_u32s(self.from, positions))
    }

    /// Returns a mask of the rays that go to the primitive with the index in their lane.
    #[inline(always)]
    pub(super) fn goes_to(&self, positions: S::u32s) -> Mask<S> {
        Mask(self.simd, self.simd.equal_u32s(self.to, positions))
    }
}

/// Returns the ray of a lane; lanes beyond the last ray repeat it.
#[inline(always)]
fn in_lane<R: RayRecord>(rays: &[R], ray_indices: &[usize], lane: usize) -> R {
    rays[ray_indices[lane.min(ray_indices.len() - 1)]]
}

/// Permutes each lane's vector so that component `axis` becomes z, as [`turn`](crate::accel::primitive::turn).
#[inline(always)]
fn permuted_vectors<S: Lanes>(simd: S, axis: usize, [x, y, z]: [S::f32s; 3]) -> [SimdF32<S>; 3] {
    let (x, y, z) = (SimdF32(simd, x), SimdF32(simd, y), SimdF32(simd, z));
    match axis {
        0 => [y, z, x],
        1 => [z, x, y],
        _ => [x, y, z],
    }
}
