//! The bodies that a path is inside, such as glass with juice in it: which of them absorbs light on the way to the next
//! surface. Twin: `kernels/shared/bodies.cuh`.
//!
//! A path enters a body where it is transmitted through the front of a surface, and leaves it where it is transmitted
//! through the back. The innermost body is the one that it entered last. So a body inside another one displaces it, as a
//! bubble in glass does, and whatever is inside a body is seen through it. A list of bodies has three places of ten
//! bits, the innermost in the lowest bits; 0 is an empty place. In a fourth body, the path forgets the outermost one.

use glam::Vec3;

use crate::shading::material::{Material, THIN};

/// Number of bits of a body in a list of bodies.
pub const BODY_BITS: u32 = 10;
/// Number of places in a list of bodies.
pub const BODY_PLACES: u32 = 3;
/// Bits of the innermost body of a list.
pub const INNERMOST: u32 = (1 << BODY_BITS) - 1;
/// Maximum number of boundaries of media that a ray passes. What lies behind them is black.
pub const MAX_BOUNDARIES: u32 = 1024;
/// Bits of a list of bodies.
const BODY_LIST: u32 = (1 << (BODY_PLACES * BODY_BITS)) - 1;

/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] =
    named![BODY_BITS, BODY_PLACES, INNERMOST, BODY_LIST, MAX_BOUNDARIES];

/// Returns the entry of a list for a body whose surface has the material with this index; 0 if the index is 1023 or
/// more, so that the body is not listed.
#[inline(always)]
pub fn body_of(material: u32) -> u32 {
    if material < INNERMOST {
        material + 1
    } else {
        0
    }
}

/// Returns the list after a path has been transmitted through the surface of a body, whose front or back was hit. Thin
/// surfaces have nothing inside.
#[inline]
pub fn bodies_beyond(bodies: u32, body: u32, material: &Material, front: bool) -> u32 {
    if body == 0 || material.flags & THIN != 0 {
        return bodies;
    }
    if front {
        // Meshes that are not closed would fill the list.
        let is_inside = bodies & INNERMOST == body;
        return if is_inside {
            bodies
        } else {
            (bodies << BODY_BITS | body) & BODY_LIST
        };
    }
    for place in 0..BODY_PLACES {
        let shift = place * BODY_BITS;
        if bodies >> shift & INNERMOST == body {
            let inner = bodies & ((1 << shift) - 1);
            return bodies >> BODY_BITS & !((1 << shift) - 1) | inner;
        }
    }
    bodies
}

/// Returns the absorption coefficient, per metre and to base 2, along a ray that has hit the front or the back of a
/// body's surface. The back is hit from inside, also if the path began there.
#[inline]
pub fn absorption_before(
    materials: &[Material],
    bodies: u32,
    body: u32,
    material: &Material,
    front: bool,
) -> Vec3 {
    let innermost = bodies & INNERMOST;
    if innermost != 0 && innermost != body {
        return materials[innermost as usize - 1].absorption;
    }
    let is_outside = innermost == 0 && front;
    if is_outside || material.flags & THIN != 0 {
        Vec3::ZERO
    } else {
        material.absorption
    }
}

/// Returns the absorption coefficient, per metre and to base 2, along a ray that is transmitted through a surface, whose
/// front or back was hit. `before` is [`absorption_before`], and `bodies` the list of [`bodies_beyond`].
#[inline]
pub fn absorption_beyond(
    materials: &[Material],
    bodies: u32,
    before: Vec3,
    material: &Material,
    front: bool,
) -> Vec3 {
    if material.flags & THIN != 0 {
        before
    } else if front {
        material.absorption
    } else if bodies & INNERMOST != 0 {
        materials[(bodies & INNERMOST) as usize - 1].absorption
    } else {
        Vec3::ZERO
    }
}
