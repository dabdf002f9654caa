//! Triangles and spheres, and where a ray hits them. Twin: `kernels/shared/primitive.cuh`.

use compaction::shared;
use glam::Vec3;

use crate::{
    math::{INV_PI, arctan2, cross, dot, greater, normalize},
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
};

/// `Primitive::kind` of a triangle: vertices `a`, `b`, `c`, counter-clockwise seen from the front.
pub const TRIANGLE: u32 = 0;
/// `Primitive::kind` of a sphere: centre `a`, radius `b.x`.
pub const SPHERE: u32 = 1;
/// `Primitive::kind` of an instance, whose number among those is its `material`: it fills at most the box from `a` to `b`.
pub const INSTANCE: u32 = 2;

shared! {
    /// A surface that a ray can hit.
    #[repr(align(16))]
    pub struct Primitive {
        /// World space, metres.
        pub a: Vec3,
        /// Index of its material.
        pub material: u32,
        /// See the kinds.
        pub b: Vec3,
        /// `TRIANGLE` or `SPHERE`.
        pub kind: u32,
        /// See the kinds.
        pub c: Vec3,
        /// Number in the scene, whatever the tree's order: of two hits at one distance, the lower number is taken.
        pub number: u32,
    }
}

/// A ray made ready for triangles: axes turned so that `z` is the direction's longest, and sheared along it.
#[derive(Clone, Copy, Debug)]
pub struct Shear {
    /// The direction's longest axis, 0..=2; the other two follow it in turn.
    pub axis: u32,
    /// Shear of the first axis after it.
    pub x: f32,
    /// Shear of the second.
    pub y: f32,
    /// Scale of the longest.
    pub z: f32,
}

/// What a ray hit looks like there.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    /// World space, metres; computed on the surface, not along the ray.
    pub point: Vec3,
    /// The front's, of length 1, of the surface as rays meet it.
    pub normal: Vec3,
    /// How far the point may be off the surface, metres.
    pub error: f32,
    /// From the point to where rays on the eye's side start, metres: not 0 where the triangle stands for a curved surface
    /// that bulges out of it.
    pub lift: Vec3,
    /// The normal that the light sees: interpolated between vertices where they have one, of length 1, and on `normal`'s
    /// side.
    pub shading: Vec3,
    /// The normal that a clear coat is shaded by, alike.
    pub coat: Vec3,
    /// Along growing `u`: of length 1, and at a right angle to `shading`.
    pub tangent: Vec3,
    /// The direction of falling `v`, an image's up, is `cross(shading, tangent)` times this: 1 or −1.
    pub handedness: f32,
    /// Texture coordinate, from an image's left to its right.
    pub u: f32,
    /// Texture coordinate, from an image's top to its bottom.
    pub v: f32,
    /// A second coordinate, as `u`; equal to it where there is but one.
    pub second_u: f32,
    /// As `v`.
    pub second_v: f32,
    /// Index of the material.
    pub material: u32,
}

/// The vector with its axes turned so that `axis` comes last.
#[inline(always)]
pub fn turn(v: Vec3, axis: u32) -> Vec3 {
    match axis {
        0 => Vec3::new(v.y, v.z, v.x),
        1 => Vec3::new(v.z, v.x, v.y),
        _ => v,
    }
}

/// Prepares a direction for `hit_triangle`.
#[inline(always)]
pub fn shear(direction: Vec3) -> Shear {
    let (x, y, z) = (direction.x.abs(), direction.y.abs(), direction.z.abs());
    let axis = if x > y {
        if x > z { 0 } else { 2 }
    } else if y > z {
        1
    } else {
        2
    };
    let d = turn(direction, axis);
    Shear {
        axis,
        x: d.x / d.z,
        y: d.y / d.z,
        z: 1.0 / d.z,
    }
}

/// a b − c d, to the last bit of an `f32`: the sign above all.
#[inline]
pub fn difference_of_products(a: f32, b: f32, c: f32, d: f32) -> f32 {
    (f64::from(a) * f64::from(b) - f64::from(c) * f64::from(d)) as f32
}

/// Distance and the weights of `b` and `c` where the ray meets the triangle's plane within the triangle, or a negative
/// distance. Rays through a shared edge hit at least one of its triangles (Woop, Benthin & Wald 2013).
#[inline]
pub fn hit_triangle(triangle: &Primitive, origin: Vec3, shear: &Shear) -> (f32, f32, f32) {
    let a = turn(triangle.a - origin, shear.axis);
    let b = turn(triangle.b - origin, shear.axis);
    let c = turn(triangle.c - origin, shear.axis);
    let (ax, ay) = (a.x - shear.x * a.z, a.y - shear.y * a.z);
    let (bx, by) = (b.x - shear.x * b.z, b.y - shear.y * b.z);
    let (cx, cy) = (c.x - shear.x * c.z, c.y - shear.y * c.z);
    let mut u = cx * by - cy * bx;
    let mut v = ax * cy - ay * cx;
    let mut w = bx * ay - by * ax;
    // Two products of one rounding: on the edge, or anywhere beside a triangle that is small and far.
    if u == 0.0 || v == 0.0 || w == 0.0 {
        u = difference_of_products(cx, by, cy, bx);
        v = difference_of_products(ax, cy, ay, cx);
        w = difference_of_products(bx, ay, by, ax);
    }
    let outside = (u < 0.0 || v < 0.0 || w < 0.0) && (u > 0.0 || v > 0.0 || w > 0.0);
    let determinant = u + v + w;
    if outside || determinant == 0.0 {
        return (-1.0, 0.0, 0.0);
    }
    let inverse = 1.0 / determinant;
    let distance = (u * a.z + v * b.z + w * c.z) * shear.z * inverse;
    (distance, v * inverse, w * inverse)
}

/// Distance to the nearer intersection with the sphere in front of the ray, or a negative one (Haines et al. 2019,
/// Precision Improvements for Ray/Sphere Intersection). A ray that `leaves` the sphere meets it again only from within,
/// at the far side. `direction` is of length 1.
#[inline]
pub fn hit_sphere(sphere: &Primitive, origin: Vec3, direction: Vec3, leaves: bool) -> f32 {
    let radius = sphere.b.x;
    let to_origin = origin - sphere.a;
    let along = -dot(to_origin, direction);
    let across = to_origin + direction * along;
    let discriminant = radius * radius - dot(across, across);
    if discriminant < 0.0 {
        return -1.0;
    }
    let root = discriminant.sqrt();
    let far = if along < 0.0 {
        along - root
    } else {
        along + root
    };
    if leaves {
        return far;
    }
    let near = (dot(to_origin, to_origin) - radius * radius) / far;
    let (first, second) = if near < far { (near, far) } else { (far, near) };
    if first > 0.0 { first } else { second }
}

/// Distance and weights as of `hit_triangle`, whatever the primitive is.
#[inline]
pub fn hit_primitive(
    primitive: &Primitive,
    origin: Vec3,
    direction: Vec3,
    shear: &Shear,
    leaves: bool,
) -> (f32, f32, f32) {
    if primitive.kind == SPHERE {
        return (hit_sphere(primitive, origin, direction, leaves), 0.0, 0.0);
    }
    // A ray that leaves a plane does not come back to it.
    if leaves {
        (-1.0, 0.0, 0.0)
    } else {
        hit_triangle(primitive, origin, shear)
    }
}

/// The ray's hit with one primitive, if it is nearer than the best so far, or as near and of a lower number.
#[inline]
pub fn nearer_hit(
    primitives: &[Primitive],
    position: u32,
    ray: &Ray,
    shear: &Shear,
    best: &mut Hit,
) {
    let primitive = &primitives[position as usize];
    let leaves = position == ray.from;
    let (distance, u, v) = hit_primitive(primitive, ray.origin, ray.direction, shear, leaves);
    let ahead = distance > 0.0 && distance <= best.distance;
    if !ahead {
        return;
    }
    let tie = distance == best.distance && best.primitive != NO_PRIMITIVE;
    if tie && primitive.number > primitives[best.primitive as usize].number {
        return;
    }
    *best = Hit {
        distance,
        primitive: position,
        u,
        v,
    };
}

/// Whether the primitive is in the shadow ray's way.
#[inline]
pub fn blocks(primitives: &[Primitive], position: u32, ray: &ShadowRay, shear: &Shear) -> bool {
    if position == ray.to {
        return false;
    }
    let leaves = position == ray.from;
    let primitive = &primitives[position as usize];
    let (distance, _, _) = hit_primitive(primitive, ray.origin, ray.direction, shear, leaves);
    distance > 0.0 && distance < ray.distance
}

/// The largest of the three components, whatever their signs.
#[inline(always)]
pub fn largest_coordinate(v: Vec3) -> f32 {
    greater(v.x.abs(), greater(v.y.abs(), v.z.abs()))
}

/// How far a point that is computed on the primitive may be off it, metres: some roundings of its largest coordinate.
#[inline(always)]
pub fn point_error(primitive: &Primitive) -> f32 {
    let reach = if primitive.kind == SPHERE {
        largest_coordinate(primitive.a) + primitive.b.x
    } else {
        greater(
            largest_coordinate(primitive.a),
            greater(
                largest_coordinate(primitive.b),
                largest_coordinate(primitive.c),
            ),
        )
    };
    reach * (1.0 / 2_097_152.0)
}

/// Where an image lies on a sphere that it is wrapped around, by longitude and latitude: its middle faces +z, its top
/// edge is the pole at +y.
#[inline]
pub fn sphere_coordinates(normal: Vec3) -> (f32, f32) {
    let across = (normal.x * normal.x + normal.z * normal.z).sqrt();
    (
        0.5 + arctan2(normal.x, normal.z) * (0.5 * INV_PI),
        arctan2(across, normal.y) * INV_PI,
    )
}

/// East, on a sphere whose north is +y; some direction at its poles.
#[inline]
pub fn sphere_tangent(normal: Vec3) -> Vec3 {
    if normal.x == 0.0 && normal.z == 0.0 {
        return Vec3::new(1.0, 0.0, 0.0);
    }
    normalize(Vec3::new(normal.z, 0.0, -normal.x))
}

/// The surface at a hit. A flat triangle's lower left is its first vertex, its second is to the right of it.
#[inline(always)]
pub fn surface_at(primitive: &Primitive, ray: &Ray, hit: &Hit) -> Surface {
    let error = point_error(primitive);
    if primitive.kind == SPHERE {
        let normal = normalize(ray.origin + ray.direction * hit.distance - primitive.a);
        let (u, v) = sphere_coordinates(normal);
        return Surface {
            point: primitive.a + normal * primitive.b.x,
            normal,
            error,
            lift: Vec3::ZERO,
            shading: normal,
            coat: normal,
            tangent: sphere_tangent(normal),
            handedness: 1.0,
            u,
            v,
            second_u: u,
            second_v: v,
            material: primitive.material,
        };
    }
    let ab = primitive.b - primitive.a;
    let ac = primitive.c - primitive.a;
    let normal = normalize(cross(ab, ac));
    Surface {
        point: primitive.a + ab * hit.u + ac * hit.v,
        normal,
        error,
        lift: Vec3::ZERO,
        shading: normal,
        coat: normal,
        tangent: normalize(ab),
        handedness: 1.0,
        u: hit.u,
        v: 1.0 - hit.v,
        second_u: hit.u,
        second_v: 1.0 - hit.v,
        material: primitive.material,
    }
}
