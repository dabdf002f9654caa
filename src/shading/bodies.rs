//! The bodies that a path is inside, such as glass with juice in it: which of them absorbs light on the way to the next
//! surface. Twin: `kernels/shared/bodies.cuh`.
//!
//! A path enters a body where it is transmitted through the front of a surface, and leaves it where it is transmitted
//! through the back. The innermost body is the one that it entered last. So a body inside another one displaces it, as a
//! bubble in glass does, and whatever is inside a body is seen through it. A list of bodies has three places of ten
//! bits, the innermost in the lowest bits; 0 is an empty place. In a fourth body, the path forgets the outermost one.
//!
//! Bodies with priorities may overlap: J. C. Schmidt & B. C. Budge, Simple Nested Dielectrics in Ray Traced Images,
//! Journal of Graphics Tools 7 (2002). A list then has the bodies of higher priority before those of lower priority, so
//! that the first one still fills the space. Surfaces inside a body of higher priority are not there.

use glam::Vec3;

use crate::{
    math::{max_f32, min_f32},
    shading::material::{
        BODY, DIELECTRIC, EXTENDED, LAYERED, Material, PRIORITY_SHIFT, ROUGH_DIELECTRIC, THIN,
        WEAKEST_REFRACTION,
    },
};

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

/// Returns the priority of a material's body among bodies that overlap, 0 to 255.
#[inline(always)]
pub fn priority_of(material: &Material) -> u32 {
    material.flags >> PRIORITY_SHIFT
}

/// Returns the body outside the surface of `body` for a path that is inside `bodies`: the first of the list that is
/// another one; 0 if there is none.
#[inline]
pub fn outside_body(bodies: u32, body: u32) -> u32 {
    for place in 0..BODY_PLACES {
        let other = bodies >> (place * BODY_BITS) & INNERMOST;
        if other != body {
            return other;
        }
    }
    0
}

/// Returns the list of [`bodies_beyond`] in a scene where bodies have priorities.
///
/// The path enters a body behind those of higher priority, and forgets it if they fill the list.
#[inline]
pub fn nested_beyond(
    materials: &[Material],
    bodies: u32,
    body: u32,
    material: &Material,
    front: bool,
) -> u32 {
    if !front || body == 0 || material.flags & THIN != 0 {
        return bodies_beyond(bodies, body, material, front);
    }
    let priority = priority_of(material);
    for place in 0..BODY_PLACES {
        let shift = place * BODY_BITS;
        let other = bodies >> shift & INNERMOST;
        if other == body {
            return bodies;
        }
        if other == 0 || priority_of(&materials[other as usize - 1]) <= priority {
            let before = bodies & ((1 << shift) - 1);
            return ((bodies >> shift << BODY_BITS | body) << shift | before) & BODY_LIST;
        }
    }
    bodies
}

/// Returns the refractive index of glass relative to a body outside it with the index `outside`, 0.1 to 10. That of a
/// layered material differs from 1.
#[inline]
pub fn relative_ior(material: &Material, outside: f32) -> f32 {
    let ior = min_f32(max_f32(material.ior / outside, 0.1), 10.0);
    let is_layered = material.kind == LAYERED || material.kind == EXTENDED;
    if is_layered && ior > 1.0 - WEAKEST_REFRACTION && ior < 1.0 + WEAKEST_REFRACTION {
        1.0 + WEAKEST_REFRACTION
    } else {
        ior
    }
}

/// Returns whether a relative refractive index is so close to 1 that light is neither refracted nor reflected.
#[inline(always)]
pub fn is_matched(ior: f32) -> bool {
    ior > 0.999 && ior < 1.001
}

/// Returns whether light passes a body's surface straight, as if it were not there, on a path that is inside `bodies`.
///
/// It does if a body of higher priority is on both sides, or if clear glass with a priority has the refractive index of
/// the body outside, or of air if there is none.
#[inline]
pub fn is_displaced(materials: &[Material], bodies: u32, body: u32, material: &Material) -> bool {
    if material.flags & BODY == 0 {
        return false;
    }
    let (outside, priority) = (outside_body(bodies, body), priority_of(material));
    let mut outside_ior = 1.0;
    if outside != 0 {
        let outside = &materials[outside as usize - 1];
        if priority_of(outside) > priority {
            return true;
        }
        outside_ior = outside.ior;
    }
    let is_glass = material.kind == DIELECTRIC || material.kind == ROUGH_DIELECTRIC;
    priority > 0
        && is_glass
        && material.color == Vec3::ONE
        && is_matched(relative_ior(material, outside_ior))
}

/// Returns the offset of the energy table, in floats, of glass with a priority for a relative refractive index.
///
/// The glass has a list of the indices for which there are tables, each followed by the bits of the table's offset, and
/// the closest index is chosen.
#[inline]
pub fn nested_table(tables: &[f32], material: &Material, ior: f32) -> u32 {
    let (mut table, mut min_apart) = (material.table, f32::MAX);
    for entry in 0..material.second {
        let at = (material.first + 2 * entry) as usize;
        let difference = tables[at] - ior;
        let apart = max_f32(difference, -difference);
        if apart < min_apart {
            (table, min_apart) = (tables[at + 1].to_bits(), apart);
        }
    }
    table
}

/// Returns a material of a body with a priority as it is at a surface to a body outside with the refractive index
/// `outside`.
#[inline]
pub fn material_in(tables: &[f32], material: &Material, outside: f32) -> Material {
    let ior = relative_ior(material, outside);
    // Facets that do not refract are invisible.
    let is_smooth = material.kind == ROUGH_DIELECTRIC && is_matched(ior);
    Material {
        ior,
        kind: if is_smooth { DIELECTRIC } else { material.kind },
        table: nested_table(tables, material, ior),
        ..*material
    }
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
