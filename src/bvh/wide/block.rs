//! A ray in each lane: what `primitive` does with one, for all of them at once, by the same operations in the same order.

use std::mem::offset_of;

use glam::Vec3;
use pulp::Simd;

use super::triangles::hit_triangles;
use crate::{
    path::{NO_PRIMITIVE, Ray, ShadowRay},
    primitive::shear,
    vectors::{Floats, Lanes, MOST_LANES, Mask},
};

/// As `turn` turns them.
pub(super) const AXES: [[usize; 3]; 4] = [[1, 2, 0], [2, 0, 1], [0, 1, 2], [0, 1, 2]];

/// A ray, or a shadow ray.
pub(super) struct Way {
    pub(super) origin: Vec3,
    pub(super) direction: Vec3,
    pub(super) from: u32,
}

impl From<Ray> for Way {
    #[inline(always)]
    fn from(ray: Ray) -> Way {
        Way {
            origin: ray.origin,
            direction: ray.direction,
            from: ray.from,
        }
    }
}

impl From<ShadowRay> for Way {
    #[inline(always)]
    fn from(ray: ShadowRay) -> Way {
        Way {
            origin: ray.origin,
            direction: ray.direction,
            from: ray.from,
        }
    }
}

/// A ray, or a shadow ray, in memory.
pub(super) trait Row: Copy {
    /// The numbers of its origin, one, those of its direction, and the bits of the primitive that it leaves.
    fn row(&self) -> [f32; 8];

    /// Where some of them end: how far away, and at which primitive. `column` has the fourth number of each one's row.
    fn ends<S: Lanes>(
        simd: S,
        column: S::f32s,
        ray: impl Fn(usize) -> Self,
    ) -> (Floats<S>, S::u32s);
}

const _: () = assert!(offset_of!(Ray, origin) == 0 && offset_of!(ShadowRay, origin) == 0);
const _: () = assert!(offset_of!(ShadowRay, distance) == 12 && offset_of!(ShadowRay, to) == 44);
const _: () = assert!(offset_of!(Ray, direction) == 16 && offset_of!(ShadowRay, direction) == 16);
const _: () = assert!(offset_of!(Ray, from) == 28 && offset_of!(ShadowRay, from) == 28);

impl Row for Ray {
    #[inline(always)]
    fn row(&self) -> [f32; 8] {
        bytemuck::cast(*self)
    }

    #[inline(always)]
    fn ends<S: Lanes>(simd: S, _: S::f32s, _: impl Fn(usize) -> Ray) -> (Floats<S>, S::u32s) {
        let nowhere = simd.splat_u32s(NO_PRIMITIVE);
        (Floats::all(simd, f32::INFINITY), nowhere)
    }
}

impl Row for ShadowRay {
    #[inline(always)]
    fn row(&self) -> [f32; 8] {
        let [row @ .., _, _, _, _]: [f32; 12] = bytemuck::cast(*self);
        row
    }

    #[inline(always)]
    fn ends<S: Lanes>(
        simd: S,
        column: S::f32s,
        ray: impl Fn(usize) -> ShadowRay,
    ) -> (Floats<S>, S::u32s) {
        let [.., to] = simd.columns(
            #[inline(always)]
            |lane| {
                let [_, _, _, _, row @ ..]: [f32; 12] = bytemuck::cast(ray(lane));
                row
            },
        );
        (Floats(simd, column), simd.transmute_u32s_f32s(to))
    }
}

/// Rays of one longest axis, one a lane.
pub(super) struct Block<'a, S: Lanes> {
    pub(super) simd: S,
    /// Where x, y and z stand in vectors that are turned.
    axis: usize,
    pub(super) origin: [Floats<S>; 3],
    pub(super) direction: [Floats<S>; 3],
    pub(super) distance: Floats<S>,
    shears: [Floats<S>; 3],
    from: S::u32s,
    to: S::u32s,
    /// Of the lanes that have a ray.
    pub(super) places: &'a [usize],
}

/// Longest axes, there and back: rays that go the other way meet other triangles.
const WAYS: usize = 8;

/// Has rays traced, some that go one way at once, in any order.
#[inline(always)]
pub(super) fn each<S: Lanes, R: Row + Into<Way>>(
    simd: S,
    rays: &[R],
    places: impl Iterator<Item = usize>,
    mut trace: impl FnMut(&Block<S>),
) {
    let mut waiting = [([0; MOST_LANES], 0); WAYS];
    for place in places {
        let Way { direction, .. } = rays[place].into();
        let axis = shear(direction).axis as usize % 3;
        // By bits: what is read at an axis would be a branch, guessed wrongly for many.
        let [x, y, z] = [
            direction.x.to_bits() >> 31,
            direction.y.to_bits() >> 31,
            direction.z.to_bits() >> 31,
        ];
        let back = (x | y << 1 | z << 2) >> axis & 1;
        let (waiting, count) = &mut waiting[2 * axis + back as usize];
        waiting[*count % MOST_LANES] = place;
        *count += 1;
        if *count == S::F32_LANES {
            trace(&Block::new(simd, axis, rays, &waiting[..S::F32_LANES]));
            *count = 0;
        }
    }
    for (way, (waiting, count)) in waiting.iter().enumerate() {
        if *count > 0 {
            trace(&Block::new(simd, way / 2, rays, &waiting[..*count]));
        }
    }
}

impl<'a, S: Lanes> Block<'a, S> {
    /// Of the rays at these places, at least one and no more than lanes, whose direction's longest axis this is.
    #[inline(always)]
    pub(super) fn new<R: Row>(
        simd: S,
        axis: usize,
        rays: &[R],
        places: &'a [usize],
    ) -> Block<'a, S> {
        let [ox, oy, oz, column, x, y, z, from] = simd.columns(
            #[inline(always)]
            |lane| in_lane(rays, places, lane).row(),
        );
        let direction = turned_vectors(simd, axis, [x, y, z]);
        let [dx, dy, dz] = direction;
        let (distance, to) = R::ends(
            simd,
            column,
            #[inline(always)]
            |lane| in_lane(rays, places, lane),
        );
        Block {
            simd,
            axis,
            origin: turned_vectors(simd, axis, [ox, oy, oz]),
            direction,
            distance,
            shears: [dx / dz, dy / dz, Floats::all(simd, 1.0) / dz],
            from: simd.transmute_u32s_f32s(from),
            to,
            places,
        }
    }
}

impl<S: Lanes> Block<'_, S> {
    /// A corner of a triangle as of `hit_triangle`.
    #[inline(always)]
    pub(super) fn corner(&self, vertex: &[f32; 3]) -> [Floats<S>; 3] {
        let [first, second, last] = AXES[self.axis & 3];
        let x = self.all(vertex[first]) - self.origin[0];
        let y = self.all(vertex[second]) - self.origin[1];
        let z = self.all(vertex[last]) - self.origin[2];
        [x - self.shears[0] * z, y - self.shears[1] * z, z]
    }

    #[inline(always)]
    pub(super) fn all(&self, x: f32) -> Floats<S> {
        Floats::all(self.simd, x)
    }

    /// See [`hit_triangles`].
    #[inline(always)]
    pub(super) fn hit_triangle(
        &self,
        corners: [&[Floats<S>; 3]; 3],
    ) -> Option<(Mask<S>, [Floats<S>; 3])> {
        hit_triangles(corners, self.shears[2])
    }

    /// What `hit_sphere` finds: which rays meet it ahead, and the distances.
    #[inline(always)]
    pub(super) fn hit_sphere(
        &self,
        center: &[f32; 3],
        radius: f32,
        leaves: Mask<S>,
    ) -> (Mask<S>, Floats<S>) {
        let (ox, oy, oz) = self.turned_back(&self.origin);
        let (x, y, z) = self.turned_back(&self.direction);
        let [cx, cy, cz] = *center;
        let to_origin = (ox - self.all(cx), oy - self.all(cy), oz - self.all(cz));
        let along = -dot(to_origin, (x, y, z));
        let across = (
            to_origin.0 + x * along,
            to_origin.1 + y * along,
            to_origin.2 + z * along,
        );
        let (zero, squared) = (self.all(0.0), self.all(radius) * self.all(radius));
        let discriminant = squared - dot(across, across);
        let root = discriminant.sqrt();
        let far = (along - root).where_or(along.below(zero), along + root);
        let near = (dot(to_origin, to_origin) - squared) / far;
        let in_order = near.below(far);
        let first = near.where_or(in_order, far);
        let second = far.where_or(in_order, near);
        let met = first.where_or(zero.below(first), second);
        let distance = far.where_or(leaves, met);
        (zero.below(distance) & !discriminant.below(zero), distance)
    }

    /// What `turn` made of a vector, turned back.
    #[inline(always)]
    pub(super) fn turned_back(&self, [a, b, c]: &[Floats<S>; 3]) -> Three<S> {
        match self.axis {
            0 => (*c, *a, *b),
            1 => (*b, *c, *a),
            _ => (*a, *b, *c),
        }
    }

    /// Which rays leave this primitive.
    #[inline(always)]
    pub(super) fn leaves(&self, position: u32) -> Mask<S> {
        let all = self.simd.splat_u32s(position);
        Mask(self.simd, self.simd.equal_u32s(self.from, all))
    }

    /// Which rays go to this primitive.
    #[inline(always)]
    pub(super) fn goes_to(&self, position: u32) -> Mask<S> {
        let all = self.simd.splat_u32s(position);
        Mask(self.simd, self.simd.equal_u32s(self.to, all))
    }
}

/// The ray of a lane; those that have none get the last one's.
#[inline(always)]
fn in_lane<R: Row>(rays: &[R], places: &[usize], lane: usize) -> R {
    rays[places[lane.min(places.len() - 1)]]
}

/// As `turn` turns a vector.
#[inline(always)]
fn turned_vectors<S: Lanes>(simd: S, axis: usize, [x, y, z]: [S::f32s; 3]) -> [Floats<S>; 3] {
    let (x, y, z) = (Floats(simd, x), Floats(simd, y), Floats(simd, z));
    match axis {
        0 => [y, z, x],
        1 => [z, x, y],
        _ => [x, y, z],
    }
}

type Three<S> = (Floats<S>, Floats<S>, Floats<S>);

#[inline(always)]
fn dot<S: Simd>(a: Three<S>, b: Three<S>) -> Floats<S> {
    a.0 * b.0 + a.1 * b.1 + a.2 * b.2
}
