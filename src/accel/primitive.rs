//! Primitives: triangles and spheres, their intersection with rays, and the surface at a hit. Twin:
//! `kernels/shared/primitive.cuh`.

use compaction::shared;
use glam::Vec3;

use crate::{
    math::{INV_PI, arctan2, cross, dot, max_f32, normalize},
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
};

/// `Primitive::kind_bits`: a triangle with vertices `a`, `b`, `c`, counter-clockwise seen from the front.
pub const TRIANGLE: u32 = 0;
/// `Primitive::kind_bits`: a sphere with center `a` and radius `b.x`.
pub const SPHERE: u32 = 1;
/// `Primitive::kind_bits`: an instance, whose index is in `material`, with the world-space bounding box from `a` to `b`.
pub const INSTANCE: u32 = 2;
/// Bit of `Primitive::kind_bits` of a triangle: the next primitive of the tree is a triangle whose first two vertices
/// are `a` and `c` of this one. Kernels test both at once. The bit has no meaning in primitives outside a tree.
pub const PAIRED: u32 = 4;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![TRIANGLE, SPHERE, PAIRED];

shared! {
    /// A triangle, a sphere or an instance, over which a BVH is built. Instances become nodes, and the others are in
    /// leaves.
    #[repr(align(16))]
    pub struct Primitive {
        /// First vertex, center or minimum corner, see the kinds. World space, or object space in a mesh; metres.
        pub a: Vec3,
        /// Index of the material; of an instance, the index of that instance.
        pub material: u32,
        /// Second vertex, radius (in x) or maximum corner, see the kinds.
        pub b: Vec3,
        /// Kind of the primitive: [`TRIANGLE`], [`SPHERE`] or [`INSTANCE`]. For a triangle, possibly with the bit
        /// [`PAIRED`].
        pub kind_bits: u32,
        /// Third vertex of a triangle.
        pub c: Vec3,
        /// Number in the scene or mesh, independent of the BVH's order. Of two hits at the same distance the lower
        /// number wins.
        pub number: u32,
    }
}

impl Primitive {
    /// Returns whether this is a sphere.
    #[inline(always)]
    pub fn is_sphere(&self) -> bool {
        self.kind_bits == SPHERE
    }

    /// Returns whether this is an instance.
    #[inline(always)]
    pub fn is_instance(&self) -> bool {
        self.kind_bits == INSTANCE
    }

    /// Returns whether this is a triangle.
    #[inline(always)]
    pub fn is_triangle(&self) -> bool {
        self.kind_bits & !PAIRED == TRIANGLE
    }

    /// Returns whether this triangle with the vertices `a`, `b`, `c` and another one with `a`, `c`, `d` form a
    /// quadrilateral `a`, `b`, `c`, `d`. Vertices are compared by their bits.
    pub(crate) fn forms_pair_with(&self, other: &Primitive) -> bool {
        let bits = |vertex: Vec3| vertex.to_array().map(f32::to_bits);
        self.is_triangle()
            && other.is_triangle()
            && bits(self.a) == bits(other.a)
            && bits(self.c) == bits(other.b)
    }
}

/// Ray-dependent shear of the watertight ray–triangle test: it maps the ray's direction to the z axis.
#[derive(Clone, Copy, Debug)]
pub struct Shear {
    /// Axis of the direction's largest component, 0..=2, which becomes z; the other two follow it in cyclic order.
    pub axis: u32,
    /// Shear factor of the first axis after `axis`: the direction's component there over that on `axis`.
    pub x: f32,
    /// Shear factor of the second axis after `axis`: the direction's component there over that on `axis`.
    pub y: f32,
    /// Scale factor on `axis`: the reciprocal of the direction's component there.
    pub z: f32,
}

/// Geometry and material index of the surface at a hit, in world space. Normals are those of the front side and are not
/// flipped towards the ray.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    /// Position in world space, metres, computed on the surface rather than along the ray.
    pub point: Vec3,
    /// Geometric normal of the front side, of length 1.
    pub normal: Vec3,
    /// Bound of the distance between `point` and the true surface, metres.
    pub error: f32,
    /// Offset in metres from `point` to the origin of rays on the eye's side. It is not 0 where a flat triangle
    /// approximates a curved surface bulging above it (shadow terminator).
    pub lift: Vec3,
    /// Shading normal, interpolated from vertex normals if there are any; of length 1 and on the side of `normal`.
    pub shading: Vec3,
    /// Shading normal of a clear coat, of length 1 and on the side of `normal`.
    pub coat: Vec3,
    /// Direction of increasing `u`, of length 1 and perpendicular to `shading`.
    pub tangent: Vec3,
    /// 1 or −1: `cross(shading, tangent)` times it is the direction of decreasing `v`, up in an image.
    pub handedness: f32,
    /// First texture coordinate, from an image's left to its right.
    pub u: f32,
    /// First texture coordinate, from an image's top to its bottom.
    pub v: f32,
    /// Second texture coordinate, in the direction of `u`; equal to `u` if there is only one set.
    pub second_u: f32,
    /// Second texture coordinate, in the direction of `v`; equal to `v` if there is only one set.
    pub second_v: f32,
    /// Index of the material.
    pub material: u32,
}

/// Permutes the axes of a vector cyclically so that `axis` becomes z.
#[inline(always)]
pub fn turn(v: Vec3, axis: u32) -> Vec3 {
    match axis {
        0 => Vec3::new(v.y, v.z, v.x),
        1 => Vec3::new(v.z, v.x, v.y),
        _ => v,
    }
}

/// Returns the shear of a ray direction for [`hit_triangle`].
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

/// Returns a b − c d, computed in `f64` so that its sign is right.
#[inline]
pub fn difference_of_products(a: f32, b: f32, c: f32, d: f32) -> f32 {
    (f64::from(a) * f64::from(b) - f64::from(c) * f64::from(d)) as f32
}

/// Intersects a ray with a triangle (watertight: Woop, Benthin & Wald 2013).
///
/// Returns the distance and the barycentric weights of `b` and `c`; the distance is negative if the ray misses. A ray
/// through a shared edge hits at least one of its triangles.
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
    // The two products round to the same value: the ray is on the edge, or the triangle is small and distant.
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

/// Returns the distance to the nearest intersection with a sphere in front of the ray, negative if there is none.
///
/// If the ray `leaves` the sphere's surface, only the far intersection counts, which is in front if the ray goes
/// inwards. `direction` has length 1. (Haines et al. 2019, Precision Improvements for Ray/Sphere Intersection.)
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

/// Intersects a ray with a triangle or sphere. Returns distance and weights as [`hit_triangle`]; the weights are 0 for
/// a sphere. `leaves` tells whether the ray starts on the primitive.
#[inline]
pub fn hit_primitive(
    primitive: &Primitive,
    origin: Vec3,
    direction: Vec3,
    shear: &Shear,
    leaves: bool,
) -> (f32, f32, f32) {
    if primitive.is_sphere() {
        return (hit_sphere(primitive, origin, direction, leaves), 0.0, 0.0);
    }
    // A ray that starts on a triangle's plane does not hit it again.
    if leaves {
        (-1.0, 0.0, 0.0)
    } else {
        hit_triangle(primitive, origin, shear)
    }
}

/// Replaces `best` by the ray's hit with one primitive if that is nearer, or equally near with a lower number.
///
/// `position` is the primitive's index.
#[inline]
pub fn nearer_hit(
    primitives: &[Primitive],
    position: u32,
    ray: &Ray,
    shear: &Shear,
    best: &mut Hit,
) {
    let primitive = &primitives[position as usize];
    let leaves = position == ray.from_primitive;
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

/// Returns whether one primitive blocks a shadow ray: its hit lies strictly between the origin and the light.
#[inline]
pub fn blocks(primitives: &[Primitive], position: u32, ray: &ShadowRay, shear: &Shear) -> bool {
    if position == ray.to_primitive {
        return false;
    }
    let leaves = position == ray.from_primitive;
    let primitive = &primitives[position as usize];
    let (distance, _, _) = hit_primitive(primitive, ray.origin, ray.direction, shear, leaves);
    distance > 0.0 && distance < ray.distance
}

/// Returns the largest absolute value of the components of `v`.
#[inline(always)]
pub fn largest_coordinate(v: Vec3) -> f32 {
    max_f32(v.x.abs(), max_f32(v.y.abs(), v.z.abs()))
}

/// Returns a bound of the error of points computed on a primitive, in metres: 2⁻²¹ of its largest absolute coordinate.
#[inline(always)]
pub fn point_error(primitive: &Primitive) -> f32 {
    let reach = if primitive.is_sphere() {
        largest_coordinate(primitive.a) + primitive.b.x
    } else {
        max_f32(
            largest_coordinate(primitive.a),
            max_f32(
                largest_coordinate(primitive.b),
                largest_coordinate(primitive.c),
            ),
        )
    };
    reach * (1.0 / 2_097_152.0)
}

/// Returns the texture coordinates (u, v) on a sphere by longitude and latitude. The image's middle faces +z, its top
/// edge is the pole at +y.
#[inline(always)]
pub fn sphere_coordinates(normal: Vec3) -> (f32, f32) {
    let across = (normal.x * normal.x + normal.z * normal.z).sqrt();
    (
        0.5 + arctan2(normal.x, normal.z) * (0.5 * INV_PI),
        arctan2(across, normal.y) * INV_PI,
    )
}

/// Returns the eastward tangent on a sphere whose north pole is +y, of length 1; +x at the poles.
#[inline]
pub fn sphere_tangent(normal: Vec3) -> Vec3 {
    if normal.x == 0.0 && normal.z == 0.0 {
        return Vec3::new(1.0, 0.0, 0.0);
    }
    normalize(Vec3::new(normal.z, 0.0, -normal.x))
}

/// Returns the surface at a hit with a triangle or sphere of the scene.
///
/// Texture coordinates of a triangle without its own: its first vertex is the image's lower left corner, its second the
/// lower right, its third the upper left.
#[inline(always)]
pub fn surface_at(primitive: &Primitive, ray: &Ray, hit: &Hit) -> Surface {
    let error = point_error(primitive);
    if primitive.is_sphere() {
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
