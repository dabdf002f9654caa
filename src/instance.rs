//! Meshes in places: a ray on its way into one, and what a hit there looks like in the world. Twin:
//! `kernels/shared/instance.cuh`.
//!
//! What a mesh is of lies in coordinates of its own. A place is the affine map into the world, in `f32`: `axes` times a
//! point, plus `position`. A ray goes the other way by the inverse, rounded to `f32` too, and its direction keeps the
//! length that it gets: distances stay the world's. Rays start at `origin - position`, whose rounding is small near the
//! instance wherever in the world it stands.
//!
//! Where a mesh has normals, a point that is lit is lifted from its flat triangle towards the curved surface that they
//! stand for (Hanika 2021, Hacking the Shadow Terminator): rays along that surface pass over the neighbours.

use compaction::shared;
use glam::Vec3;

use crate::{
    math::{cross, dot, greater, normalize, offset_point},
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
    primitive::{Primitive, Shear, Surface, hit_primitive, largest_coordinate},
};

/// "No instance": where a ray is that is at none.
pub const NO_INSTANCE: u32 = u32::MAX;
/// "No material": of an instance, that its mesh has its own.
pub const NO_MATERIAL: u32 = u32::MAX;

/// `Instance::holds`: its mesh has normals.
pub const NORMALS: u32 = 1;
/// `Instance::holds`: its mesh has texture coordinates.
pub const COORDINATES: u32 = 2;
/// `Instance::holds`: its mesh has tangents.
pub const TANGENTS: u32 = 4;
/// `Instance::holds`: its axes are left-handed.
pub const LEFT_HANDED: u32 = 8;
/// `Instance::holds`: its mesh has two texture coordinates. Behind each vertex stands one of which the second are read.
pub const SECOND_COORDINATES: u32 = 16;

shared! {
    /// A mesh in a place.
    #[repr(align(16))]
    pub struct Instance {
        /// First row of the inverse of `axes`.
        pub inverse_x: Vec3,
        /// Root of the mesh's tree among the nodes.
        pub root: u32,
        /// Second row.
        pub inverse_y: Vec3,
        /// The largest coordinate of the mesh.
        pub extent: f32,
        /// Third row.
        pub inverse_z: Vec3,
        /// Material instead of the mesh's own, or `NO_MATERIAL`.
        pub material: u32,
        /// Where the mesh's origin is, metres.
        pub position: Vec3,
        /// What the mesh has: a sum of the constants.
        pub holds: u32,
        /// Where the mesh's x axis goes.
        pub axis_x: Vec3,
        /// What is added to a triangle's position among the primitives, for its place among the corners.
        pub corners: u32,
        /// Where its y axis goes.
        pub axis_y: Vec3,
        /// How far a point may be off the surface for `position` alone, metres.
        pub error: f32,
        /// Where its z axis goes.
        pub axis_z: Vec3,
        /// And how far for each unit of the mesh's coordinates there.
        pub spread: f32,
    }
}

shared! {
    /// The vertices of a mesh's triangle.
    #[repr(align(16))]
    pub struct Corners {
        /// Of the first.
        pub a: u32,
        /// Of the second.
        pub b: u32,
        /// Of the third.
        pub c: u32,
        /// Of its tangents: see `Surface::handedness`.
        pub handedness: f32,
    }
}

shared! {
    /// What a mesh has at a vertex besides a position.
    #[repr(align(16))]
    pub struct MeshVertex {
        /// In the mesh's coordinates, of length 1.
        pub normal: Vec3,
        /// Texture coordinate.
        pub u: f32,
        /// In the mesh's coordinates, along growing `u`.
        pub tangent: Vec3,
        /// Texture coordinate.
        pub v: f32,
    }
}

/// Where a ray hit, and of which instance.
#[derive(Clone, Copy, Debug)]
pub struct PlacedHit {
    /// The primitive's position is that of the mesh's triangle.
    pub hit: Hit,
    /// Number of the instance, or `NO_INSTANCE`.
    pub instance: u32,
}

/// A vector of the world in the mesh's coordinates.
#[inline]
pub fn enter(placed: &Instance, v: Vec3) -> Vec3 {
    Vec3::new(
        dot(placed.inverse_x, v),
        dot(placed.inverse_y, v),
        dot(placed.inverse_z, v),
    )
}

/// A vector of the mesh in the world.
#[inline]
pub fn leave(placed: &Instance, v: Vec3) -> Vec3 {
    placed.axis_x * v.x + placed.axis_y * v.y + placed.axis_z * v.z
}

/// What stands at a right angle to a surface of the mesh, in the world; on its outside, mirrored or not.
#[inline]
pub fn leave_normal(placed: &Instance, normal: Vec3) -> Vec3 {
    placed.inverse_x * normal.x + placed.inverse_y * normal.y + placed.inverse_z * normal.z
}

/// What `nearer_hit` does, where there are instances: `at` has the primitive's position, its instance and the ray's origin
/// there. Of hits at one distance what is no instance comes first, then they do by their numbers.
#[inline]
pub fn nearer_placed_hit(
    primitives: &[Primitive],
    (position, instance, origin): (u32, u32, Vec3),
    ray: &Ray,
    from: u32,
    shear: &Shear,
    best: &mut PlacedHit,
) {
    let primitive = &primitives[position as usize];
    let leaves = position == ray.from && instance == from;
    let (distance, u, v) = hit_primitive(primitive, origin, ray.direction, shear, leaves);
    let ahead = distance > 0.0 && distance <= best.hit.distance;
    if !ahead {
        return;
    }
    let tie = distance == best.hit.distance && best.hit.primitive != NO_PRIMITIVE;
    if tie {
        let (ours, others) = (instance.wrapping_add(1), best.instance.wrapping_add(1));
        let other = &primitives[best.hit.primitive as usize];
        if ours > others || (ours == others && primitive.number > other.number) {
            return;
        }
    }
    *best = PlacedHit {
        hit: Hit {
            distance,
            primitive: position,
            u,
            v,
        },
        instance,
    };
}

/// What `blocks` does, where there are instances: see `nearer_placed_hit`; `from` and `to` are the instances that the ray
/// leaves and goes to.
#[inline]
pub fn placed_blocks(
    primitives: &[Primitive],
    (position, instance, origin): (u32, u32, Vec3),
    ray: &ShadowRay,
    (from, to): (u32, u32),
    shear: &Shear,
) -> bool {
    if position == ray.to && instance == to {
        return false;
    }
    let leaves = position == ray.from && instance == from;
    let primitive = &primitives[position as usize];
    let (distance, _, _) = hit_primitive(primitive, origin, ray.direction, shear, leaves);
    distance > 0.0 && distance < ray.distance
}

/// How far a point that is computed on a triangle of the mesh may be off it, metres.
#[inline]
pub fn placed_error(placed: &Instance, triangle: &Primitive) -> f32 {
    let reach = greater(
        largest_coordinate(triangle.a),
        greater(
            largest_coordinate(triangle.b),
            largest_coordinate(triangle.c),
        ),
    );
    placed.error + reach * placed.spread
}

/// Index of the triangle's material there.
#[inline]
pub fn placed_material(placed: &Instance, triangle: &Primitive) -> u32 {
    if placed.material == NO_MATERIAL {
        triangle.material
    } else {
        placed.material
    }
}

/// A triangle of the mesh as a triangle of the world.
#[inline]
pub fn placed_triangle(placed: &Instance, triangle: &Primitive) -> Primitive {
    let b = leave(placed, triangle.b) + placed.position;
    let c = leave(placed, triangle.c) + placed.position;
    let mirrored = placed.holds & LEFT_HANDED != 0;
    Primitive {
        a: leave(placed, triangle.a) + placed.position,
        b: if mirrored { c } else { b },
        c: if mirrored { b } else { c },
        material: placed_material(placed, triangle),
        kind: triangle.kind,
        number: triangle.number,
    }
}

/// The direction of `smooth`, or of its opposite, on the side of `normal`; `normal` where it has none.
#[inline]
pub fn on_side(smooth: Vec3, normal: Vec3) -> Vec3 {
    let towards = dot(smooth, normal);
    let length2 = dot(smooth, smooth);
    let has_one = towards != 0.0 && length2 > 0.0 && length2 <= f32::MAX;
    if !has_one {
        return normal;
    }
    smooth * ((if towards < 0.0 { -1.0 } else { 1.0 }) / length2.sqrt())
}

/// The normal to shade by, so bent that a mirror there would reflect the eye's direction over the surface and not into it
/// (Keller et al. 2017, The Iray Light Transport Simulation and Rendering System). Both normals are on the eye's side.
#[inline]
pub fn consistent_normal(shading: Vec3, normal: Vec3, to_eye: Vec3) -> Vec3 {
    let reflected = shading * (2.0 * dot(shading, to_eye)) - to_eye;
    let height = dot(reflected, normal);
    let least = 0.01 * dot(normal, to_eye);
    if height >= least {
        return shading;
    }
    normalize(normalize(reflected + normal * (least - height)) + to_eye)
}

/// How far a point below the plane through a vertex with that normal is lifted along it.
#[inline]
pub fn lift(from_vertex: Vec3, normal: Vec3) -> Vec3 {
    let height = dot(from_vertex, normal);
    normal * if height < 0.0 { -height } else { 0.0 }
}

/// Where rays start on one side of a surface, 1 the eye's or −1 the other, and whether that is off its flat triangle: then
/// the ray may meet the triangle from above.
#[inline]
pub fn start(surface: &Surface, side: f32) -> (Vec3, bool) {
    let lift = surface.lift;
    let lifted = side > 0.0 && (lift.x != 0.0 || lift.y != 0.0 || lift.z != 0.0);
    let point = if lifted {
        surface.point + lift
    } else {
        surface.point
    };
    (
        offset_point(point, surface.normal * side, surface.error),
        lifted,
    )
}

/// The part of `tangent` at a right angle to `normal`, of length 1; some such direction where there is none.
#[inline]
pub fn tangent_at(tangent: Vec3, normal: Vec3) -> Vec3 {
    let across = tangent - normal * dot(normal, tangent);
    let length2 = dot(across, across);
    if length2 > 1e-30 && length2 <= f32::MAX {
        return across * (1.0 / length2.sqrt());
    }
    let axis = if normal.x.abs() > 0.5 {
        Vec3::new(0.0, 1.0, 0.0)
    } else {
        Vec3::new(1.0, 0.0, 0.0)
    };
    normalize(cross(normal, axis))
}

/// The surface at a hit of a triangle of the mesh.
#[inline]
pub fn placed_surface(
    placed: &Instance,
    corners: &[Corners],
    vertices: &[MeshVertex],
    triangle: &Primitive,
    ray: &Ray,
    hit: &Hit,
) -> Surface {
    let ab = triangle.b - triangle.a;
    let ac = triangle.c - triangle.a;
    let inside = triangle.a + ab * hit.u + ac * hit.v;
    let outside = normalize(cross(ab, ac));
    let normal = normalize(leave_normal(placed, outside));
    let mut surface = Surface {
        point: leave(placed, inside) + placed.position,
        normal,
        error: placed_error(placed, triangle),
        lift: Vec3::ZERO,
        shading: normal,
        coat: normal,
        tangent: ab,
        handedness: 1.0,
        u: hit.u,
        v: 1.0 - hit.v,
        second_u: hit.u,
        second_v: 1.0 - hit.v,
        material: placed_material(placed, triangle),
    };
    if placed.holds & (NORMALS | COORDINATES) != 0 {
        let at = corners[hit.primitive.wrapping_add(placed.corners) as usize];
        let a = &vertices[at.a as usize];
        let b = &vertices[at.b as usize];
        let c = &vertices[at.c as usize];
        let first = 1.0 - hit.u - hit.v;
        if placed.holds & NORMALS != 0 {
            let smooth = a.normal * first + b.normal * hit.u + c.normal * hit.v;
            surface.shading = on_side(leave_normal(placed, smooth), normal);
            // Normals on the eye's side, whichever side they were written for.
            let faces = dot(smooth, outside) * dot(normal, ray.direction) < 0.0;
            let side = if faces { 1.0 } else { -1.0 };
            let raised = lift(inside - triangle.a, a.normal * side) * first
                + lift(inside - triangle.b, b.normal * side) * hit.u
                + lift(inside - triangle.c, c.normal * side) * hit.v;
            surface.lift = leave(placed, raised);
        }
        if placed.holds & COORDINATES != 0 {
            surface.u = a.u * first + b.u * hit.u + c.u * hit.v;
            surface.v = a.v * first + b.v * hit.u + c.v * hit.v;
            surface.second_u = surface.u;
            surface.second_v = surface.v;
            if placed.holds & SECOND_COORDINATES != 0 {
                let a = &vertices[at.a as usize + 1];
                let b = &vertices[at.b as usize + 1];
                let c = &vertices[at.c as usize + 1];
                surface.second_u = a.u * first + b.u * hit.u + c.u * hit.v;
                surface.second_v = a.v * first + b.v * hit.u + c.v * hit.v;
            }
            if placed.holds & TANGENTS != 0 {
                surface.tangent = a.tangent * first + b.tangent * hit.u + c.tangent * hit.v;
                surface.handedness = at.handedness;
            } else {
                let (u_ab, v_ab) = (b.u - a.u, b.v - a.v);
                let (u_ac, v_ac) = (c.u - a.u, c.v - a.v);
                let turned = u_ab * v_ac - u_ac * v_ab > 0.0;
                let along = ab * v_ac - ac * v_ab;
                surface.tangent = if turned { along } else { -along };
                surface.handedness = if turned { -1.0 } else { 1.0 };
            }
        }
    }
    surface.coat = surface.shading;
    surface.tangent = tangent_at(leave(placed, surface.tangent), surface.shading);
    if placed.holds & LEFT_HANDED != 0 {
        surface.handedness = -surface.handedness;
    }
    surface
}
