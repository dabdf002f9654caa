//! A ray in each lane: what `primitive` does with one, for all of them at once, by the same operations in the same order.

use glam::Vec3;
use pulp::Simd;

use super::triangles::hit_triangles;
use crate::{
    path::{NO_PRIMITIVE, Ray, ShadowRay},
    primitive::{shear, turn},
    vectors::{Floats, Lanes, Mask},
};

/// Rays of one axis that are gathered before they are traced: a vector is read only when its lanes have left the processor's
/// store buffer.
const ROOM: usize = 64;

/// As `turn` turns them.
pub(super) const AXES: [[usize; 3]; 4] = [[1, 2, 0], [2, 0, 1], [0, 1, 2], [0, 1, 2]];

/// A ray, or a shadow ray.
pub(super) struct Way {
    pub(super) origin: Vec3,
    pub(super) direction: Vec3,
    pub(super) distance: f32,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl From<Ray> for Way {
    #[inline(always)]
    fn from(ray: Ray) -> Way {
        Way {
            origin: ray.origin,
            direction: ray.direction,
            distance: f32::INFINITY,
            from: ray.from,
            to: NO_PRIMITIVE,
        }
    }
}

impl From<ShadowRay> for Way {
    #[inline(always)]
    fn from(ray: ShadowRay) -> Way {
        Way {
            origin: ray.origin,
            direction: ray.direction,
            distance: ray.distance,
            from: ray.from,
            to: ray.to,
        }
    }
}

/// Rays, in the order that they came in, whose direction's longest axis is the same; vectors turned as it says.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct Bucket {
    origins: [[f32; ROOM]; 3],
    directions: [[f32; ROOM]; 3],
    distances: [f32; ROOM],
    from: [u32; ROOM],
    to: [u32; ROOM],
    places: [usize; ROOM],
    count: usize,
}

impl Bucket {
    pub(super) const EMPTY: Bucket = Bucket {
        origins: [[0.0; ROOM]; 3],
        directions: [[1.0; ROOM]; 3],
        distances: [0.0; ROOM],
        from: [NO_PRIMITIVE; ROOM],
        to: [NO_PRIMITIVE; ROOM],
        places: [0; ROOM],
        count: 0,
    };

    /// Takes a ray in.
    #[inline(always)]
    pub(super) fn push(&mut self, way: &Way, place: usize, axis: u32) {
        let (origin, direction) = (turn(way.origin, axis), turn(way.direction, axis));
        let at = self.count % ROOM;
        self.origins[0][at] = origin.x;
        self.origins[1][at] = origin.y;
        self.origins[2][at] = origin.z;
        self.directions[0][at] = direction.x;
        self.directions[1][at] = direction.y;
        self.directions[2][at] = direction.z;
        self.distances[at] = way.distance;
        self.from[at] = way.from;
        self.to[at] = way.to;
        self.places[at] = place;
        self.count = at + 1;
    }

    /// Has its rays traced, whose longest axis this is.
    #[inline(always)]
    pub(super) fn empty<S: Lanes>(
        &mut self,
        simd: S,
        axis: usize,
        mut trace: impl FnMut(&Block<S>),
    ) {
        for (number, places) in self.places[..self.count].chunks(S::F32_LANES).enumerate() {
            let floats = |row: &[f32; ROOM]| S::as_simd_f32s(row).0[number];
            let words = |row: &[u32; ROOM]| S::as_simd_u32s(row).0[number];
            let [ox, oy, oz] = &self.origins;
            let [dx, dy, dz] = &self.directions;
            let (dx, dy, dz) = (floats(dx), floats(dy), floats(dz));
            let (dx, dy, dz) = (Floats(simd, dx), Floats(simd, dy), Floats(simd, dz));
            trace(&Block {
                simd,
                axis,
                origin: [
                    Floats(simd, floats(ox)),
                    Floats(simd, floats(oy)),
                    Floats(simd, floats(oz)),
                ],
                direction: [dx, dy, dz],
                distance: Floats(simd, floats(&self.distances)),
                shears: [dx / dz, dy / dz, Floats::all(simd, 1.0) / dz],
                from: words(&self.from),
                to: words(&self.to),
                places,
            });
        }
        self.count = 0;
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

/// Has rays traced, some of one axis at once, in any order.
#[inline(always)]
pub(super) fn each<S: Lanes>(
    simd: S,
    places: impl Iterator<Item = usize>,
    way: impl Fn(usize) -> Way,
    mut trace: impl FnMut(&Block<S>),
) {
    let mut buckets = [const { Bucket::EMPTY }; 4];
    for place in places {
        let way = way(place);
        let axis = shear(way.direction).axis;
        let bucket = &mut buckets[axis as usize & 3];
        bucket.push(&way, place, axis);
        if bucket.count == ROOM {
            bucket.empty(
                simd,
                axis as usize,
                #[inline(always)]
                |block: &Block<S>| trace(block),
            );
        }
    }
    for (axis, bucket) in buckets.iter_mut().enumerate() {
        bucket.empty(
            simd,
            axis,
            #[inline(always)]
            |block: &Block<S>| trace(block),
        );
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

type Three<S> = (Floats<S>, Floats<S>, Floats<S>);

#[inline(always)]
fn dot<S: Simd>(a: Three<S>, b: Three<S>) -> Floats<S> {
    a.0 * b.0 + a.1 * b.1 + a.2 * b.2
}
