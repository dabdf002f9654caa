//! The intersection of `hit_sphere` for a pair of ray and sphere in each lane.

use crate::accel::vectors::{Lanes, Mask, SimdF32};

/// A vector in x, y, z order per lane.
pub(super) type Three<S> = [SimdF32<S>; 3];

/// Intersects each lane's ray with its sphere, as the scalar `hit_sphere`. Returns a mask of hits in front of the
/// origin, and the distances; `None` if the line of no ray in the mask `counts` meets its sphere.
///
/// `to_origin` is the ray's origin relative to the center; `leaves` is set where the ray starts on the sphere.
#[inline(always)]
pub(super) fn hit_spheres<S: Lanes>(
    to_origin: Three<S>,
    direction: Three<S>,
    radius: SimdF32<S>,
    leaves: Mask<S>,
    counts: u32,
) -> Option<(Mask<S>, SimdF32<S>)> {
    let along = -dot(to_origin, direction);
    let [ox, oy, oz] = to_origin;
    let [x, y, z] = direction;
    let across = [ox + x * along, oy + y * along, oz + z * along];
    let (zero, squared) = (SimdF32::all(radius.0, 0.0), radius * radius);
    let discriminant = squared - dot(across, across);
    let misses = discriminant.below(zero);
    // Most lines miss, and the root and the quotient take longer than all else.
    if misses.bits() & counts == counts {
        return None;
    }
    let root = discriminant.sqrt();
    let far = (along - root).where_or(along.below(zero), along + root);
    let near = (dot(to_origin, to_origin) - squared) / far;
    let in_order = near.below(far);
    let first = near.where_or(in_order, far);
    let second = far.where_or(in_order, near);
    let met = first.where_or(zero.below(first), second);
    let distance = far.where_or(leaves, met);
    Some((zero.below(distance) & !misses, distance))
}

/// Returns the dot product per lane.
#[inline(always)]
fn dot<S: Lanes>(a: Three<S>, b: Three<S>) -> SimdF32<S> {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
