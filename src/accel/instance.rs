//! Instances: transforming rays into a mesh's object space and hits back to world space. Twin:
//! `kernels/shared/instance.cuh`.
//!
//! The object-to-world transform is affine, in `f32`: `axes` times a point plus `position`. Rays are transformed by its
//! inverse, rounded to `f32`. Their direction keeps the length that results, so that distances stay those of world
//! space. Rays start at `origin - position`, whose rounding error is small near the instance.
//!
//! Where a mesh has vertex normals, shading points are lifted from the flat triangle towards the curved surface (Hanika
//! 2021, Hacking the Shadow Terminator).

use compaction::shared;
use glam::Vec3;

use crate::{
    accel::primitive::{Primitive, Shear, Surface, hit_primitive, largest_coordinate},
    math::{cross, dot, max_f32, normalize, offset_point},
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
};

/// "No instance": the ray or primitive belongs to the scene itself.
pub const NO_INSTANCE: u32 = u32::MAX;
/// `Instance::material` of an instance that keeps its mesh's materials.
pub const NO_MATERIAL: u32 = u32::MAX;

/// Bit of `Instance::flags`: the mesh has vertex normals.
pub const NORMALS: u32 = 1;
/// Bit of `Instance::flags`: the mesh has texture coordinates.
pub const COORDINATES: u32 = 2;
/// Bit of `Instance::flags`: the mesh has vertex tangents.
pub const TANGENTS: u32 = 4;
/// Bit of `Instance::flags`: the transform mirrors (negative determinant).
pub const LEFT_HANDED: u32 = 8;
/// Bit of `Instance::flags`: the mesh has two sets of texture coordinates. Every vertex is followed by one that holds
/// the second set.
pub const SECOND_COORDINATES: u32 = 16;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![
    NO_INSTANCE,
    NO_MATERIAL,
    NORMALS,
    COORDINATES,
    TANGENTS,
    SECOND_COORDINATES,
    LEFT_HANDED
];

shared! {
    /// An instance: a mesh with the affine transform that takes it from object space to world space.
    #[repr(align(16))]
    pub struct Instance {
        /// First row of the inverse of the 3×3 matrix `axes` (world to object).
        pub inverse_x: Vec3,
        /// Index of the root of the mesh's BVH among the nodes.
        pub root: u32,
        /// Second row of the inverse of `axes`.
        pub inverse_y: Vec3,
        /// Largest absolute coordinate of the mesh in object space.
        pub extent: f32,
        /// Third row of the inverse of `axes`.
        pub inverse_z: Vec3,
        /// Index of the material that replaces the mesh's own, or [`NO_MATERIAL`].
        pub material: u32,
        /// Translation: the world-space position of the object-space origin, metres.
        pub position: Vec3,
        /// Sum of the bits that apply, such as [`NORMALS`].
        pub flags: u32,
        /// First column of `axes`: the image of the object-space x axis.
        pub axis_x: Vec3,
        /// Wrapping offset from a triangle's index among the primitives to its [`Corners`].
        pub corners: u32,
        /// Second column of `axes`: the image of the object-space y axis.
        pub axis_y: Vec3,
        /// Bound of the rounding error of points on the surface, metres: the part that `position` causes, equal for
        /// all triangles. [`instance_error`] adds the part that depends on the triangle.
        pub error: f32,
        /// Third column of `axes`: the image of the object-space z axis.
        pub axis_z: Vec3,
        /// Error of points on the surface in metres per unit of the triangle's largest object-space coordinate.
        pub error_per_unit: f32,
    }
}

shared! {
    /// Indices of the vertex attributes of a mesh's triangle, into the scene's [`MeshVertex`] buffer.
    #[repr(align(16))]
    pub struct Corners {
        /// Index of the first corner's [`MeshVertex`].
        pub a: u32,
        /// Index of the second corner's [`MeshVertex`].
        pub b: u32,
        /// Index of the third corner's [`MeshVertex`].
        pub c: u32,
        /// Handedness of the triangle's vertex tangents in object space, 1 or −1, see `Surface::handedness`; a
        /// mirroring transform negates it. Used only with the flag [`TANGENTS`].
        pub handedness: f32,
    }
}

shared! {
    /// Attributes of a mesh's vertex besides its position, in object space.
    #[repr(align(16))]
    pub struct MeshVertex {
        /// Normal of length 1; zero if the mesh has none.
        pub normal: Vec3,
        /// Texture coordinate, from an image's left to its right.
        pub u: f32,
        /// Tangent in the direction of increasing `u`; zero if the mesh has none.
        pub tangent: Vec3,
        /// Texture coordinate, from an image's top to its bottom.
        pub v: f32,
    }
}

/// A hit together with the instance that was hit.
#[derive(Clone, Copy, Debug)]
pub struct InstanceHit {
    /// The hit; its primitive is the mesh's triangle, and its distance is that in world space.
    pub hit: Hit,
    /// Index of the instance that was hit, or [`NO_INSTANCE`] for a primitive of the scene itself.
    pub instance: u32,
}

impl InstanceHit {
    /// Returns "no hit yet" of a ray, for a search within `distance`.
    #[inline(always)]
    pub fn none_within(distance: f32) -> InstanceHit {
        InstanceHit {
            hit: Hit {
                distance,
                primitive: NO_PRIMITIVE,
                u: 0.0,
                v: 0.0,
            },
            instance: NO_INSTANCE,
        }
    }
}

/// Transforms a vector from world space to the instance's object space.
#[inline]
pub fn to_object(instance: &Instance, v: Vec3) -> Vec3 {
    Vec3::new(
        dot(instance.inverse_x, v),
        dot(instance.inverse_y, v),
        dot(instance.inverse_z, v),
    )
}

/// Transforms a vector from the instance's object space to world space.
#[inline(always)]
pub fn to_world(instance: &Instance, v: Vec3) -> Vec3 {
    instance.axis_x * v.x + instance.axis_y * v.y + instance.axis_z * v.z
}

/// Transforms a normal from object space to world space by the inverse transpose. The result is not normalised and
/// stays on the outside, also if the transform mirrors.
#[inline(always)]
pub fn normal_to_world(instance: &Instance, normal: Vec3) -> Vec3 {
    instance.inverse_x * normal.x + instance.inverse_y * normal.y + instance.inverse_z * normal.z
}

/// Replaces `best` by the ray's hit with one primitive of the scene or of an instance if that is nearer.
///
/// The tuple holds the primitive's index, its instance and the ray's origin in that instance's object space. Ties go to
/// primitives outside instances, then to the lower instance index, then to the lower primitive number. `from` is the
/// instance that the ray leaves.
#[inline]
pub fn nearer_instance_hit(
    primitives: &[Primitive],
    (position, instance, origin): (u32, u32, Vec3),
    ray: &Ray,
    from: u32,
    shear: &Shear,
    best: &mut InstanceHit,
) {
    let primitive = &primitives[position as usize];
    let leaves = position == ray.from_primitive && instance == from;
    let (distance, u, v) = hit_primitive(primitive, origin, ray.direction, shear, leaves);
    let found = InstanceHit {
        hit: Hit {
            distance,
            primitive: position,
            u,
            v,
        },
        instance,
    };
    if distance > 0.0 && is_nearer(primitives, &found, best) {
        *best = found;
    }
}

/// Returns whether a hit in front of the ray replaces `best`: it is nearer, wins a tie by the rules of
/// [`nearer_instance_hit`], or has the same distance while `best` has no primitive.
#[inline(always)]
pub(crate) fn is_nearer(primitives: &[Primitive], found: &InstanceHit, best: &InstanceHit) -> bool {
    if found.hit.distance != best.hit.distance || best.hit.primitive == NO_PRIMITIVE {
        return found.hit.distance <= best.hit.distance;
    }
    let number = |hit: &InstanceHit| primitives[hit.hit.primitive as usize].number;
    let rank = |hit: &InstanceHit| (hit.instance.wrapping_add(1), number(hit));
    rank(found) <= rank(best)
}

/// A test of the opacity of surfaces, which decides which intersections of a ray count.
pub trait OpacityTest {
    /// Whether some intersections may fail the test.
    const IS_NEEDED: bool;

    /// Returns whether a ray's intersection with a surface counts. `key` is the hash on which all opacity tests of the
    /// ray depend.
    fn accepts(&self, ray: &Ray, found: &InstanceHit, key: u32) -> bool;

    /// Replaces `best` by the ray's hit with one primitive if that counts and is nearer, by the rules of
    /// [`nearer_instance_hit`], whose tuple and `from` it takes.
    fn nearer_hit(
        &self,
        at: (u32, u32, Vec3),
        ray: &Ray,
        from: u32,
        shear: &Shear,
        key: u32,
        best: &mut InstanceHit,
    );
}

/// The opacity test of a scene whose surfaces are all opaque. It holds the scene's primitives.
pub struct Opaque<'a>(pub &'a [Primitive]);

impl OpacityTest for Opaque<'_> {
    const IS_NEEDED: bool = false;

    #[inline(always)]
    fn accepts(&self, _: &Ray, _: &InstanceHit, _: u32) -> bool {
        true
    }

    #[inline(always)]
    fn nearer_hit(
        &self,
        at: (u32, u32, Vec3),
        ray: &Ray,
        from: u32,
        shear: &Shear,
        _: u32,
        best: &mut InstanceHit,
    ) {
        nearer_instance_hit(self.0, at, ray, from, shear, best);
    }
}

/// Returns whether one primitive of the scene or of an instance blocks a shadow ray.
///
/// The tuples hold the primitive's index, its instance and the ray's origin in object space; and the instances that the
/// ray leaves and goes to.
#[inline]
pub fn instance_blocks(
    primitives: &[Primitive],
    (position, instance, origin): (u32, u32, Vec3),
    ray: &ShadowRay,
    (from, to): (u32, u32),
    shear: &Shear,
) -> bool {
    if position == ray.to_primitive && instance == to {
        return false;
    }
    let leaves = position == ray.from_primitive && instance == from;
    let primitive = &primitives[position as usize];
    let (distance, _, _) = hit_primitive(primitive, origin, ray.direction, shear, leaves);
    distance > 0.0 && distance < ray.distance
}

/// Returns a bound of the error of points computed on an instance's triangle, metres.
#[inline(always)]
pub fn instance_error(instance: &Instance, triangle: &Primitive) -> f32 {
    let reach = max_f32(
        largest_coordinate(triangle.a),
        max_f32(
            largest_coordinate(triangle.b),
            largest_coordinate(triangle.c),
        ),
    );
    instance.error + reach * instance.error_per_unit
}

/// Returns the index of the material of an instance's triangle.
#[inline(always)]
pub fn instance_material(instance: &Instance, triangle: &Primitive) -> u32 {
    if instance.material == NO_MATERIAL {
        triangle.material
    } else {
        instance.material
    }
}

/// Returns an instance's triangle in world space, counter-clockwise from its front also if the transform mirrors.
#[inline]
pub fn instanced_triangle(instance: &Instance, triangle: &Primitive) -> Primitive {
    let b = to_world(instance, triangle.b) + instance.position;
    let c = to_world(instance, triangle.c) + instance.position;
    let mirrored = instance.flags & LEFT_HANDED != 0;
    Primitive {
        a: to_world(instance, triangle.a) + instance.position,
        b: if mirrored { c } else { b },
        c: if mirrored { b } else { c },
        material: instance_material(instance, triangle),
        kind_bits: triangle.kind_bits,
        number: triangle.number,
    }
}

/// Returns `smooth` normalised and flipped to the side of `normal`; `normal` itself if `smooth` has no usable
/// direction.
#[inline(always)]
pub fn on_side(smooth: Vec3, normal: Vec3) -> Vec3 {
    let towards = dot(smooth, normal);
    let length2 = dot(smooth, smooth);
    let has_one = towards != 0.0 && length2 > 0.0 && length2 <= f32::MAX;
    if !has_one {
        return normal;
    }
    smooth * ((if towards < 0.0 { -1.0 } else { 1.0 }) / length2.sqrt())
}

/// Returns the shading normal, bent if necessary so that the mirror direction of `to_eye` stays above the surface.
///
/// Both normals are on the eye's side. (Keller et al. 2017, The Iray Light Transport Simulation and Rendering System.)
#[inline(always)]
pub fn consistent_normal(shading: Vec3, normal: Vec3, to_eye: Vec3) -> Vec3 {
    let reflected = shading * (2.0 * dot(shading, to_eye)) - to_eye;
    let height = dot(reflected, normal);
    let min_height = 0.01 * dot(normal, to_eye);
    if height >= min_height {
        return shading;
    }
    normalize(normalize(reflected + normal * (min_height - height)) + to_eye)
}

/// Returns the offset along a vertex `normal` that lifts a point, given relative to the vertex, onto the plane through
/// the vertex; zero for points above that plane.
#[inline(always)]
pub fn lift(from_vertex: Vec3, normal: Vec3) -> Vec3 {
    let height = dot(from_vertex, normal);
    normal * if height < 0.0 { -height } else { 0.0 }
}

/// Returns the origin of rays that leave a surface, in world space, and whether it is lifted off the flat triangle.
///
/// `side` is 1 for the eye's side, −1 for the other. The origin is the point of the surface, with [`Surface::lift`] on
/// the eye's side, moved along the normal by the error bound. A ray with a lifted origin may hit the triangle itself.
#[inline(always)]
pub fn ray_origin(surface: &Surface, side: f32) -> (Vec3, bool) {
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

/// Returns the component of `tangent` perpendicular to `normal`, of length 1; an arbitrary perpendicular if there is
/// none.
#[inline(always)]
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

/// Returns the surface in world space at a hit with an instance's triangle. `hit` and `triangle` refer to the mesh.
#[inline]
pub fn instance_surface(
    instance: &Instance,
    corners: &[Corners],
    vertices: &[MeshVertex],
    triangle: &Primitive,
    ray: &Ray,
    hit: &Hit,
) -> Surface {
    let mut corner_vertices = [MeshVertex::default(); 3];
    let mut second = [(0.0, 0.0); 3];
    let mut handedness = 1.0;
    if instance.flags & (NORMALS | COORDINATES) != 0 {
        let at = corners[hit.primitive.wrapping_add(instance.corners) as usize];
        let places = [at.a, at.b, at.c].map(|place| place as usize);
        corner_vertices = places.map(|place| vertices[place]);
        handedness = at.handedness;
        if instance.flags & SECOND_COORDINATES != 0 {
            second = places.map(|place| (vertices[place + 1].u, vertices[place + 1].v));
        }
    }
    let mut surface = surface_between(
        instance,
        triangle,
        &corner_vertices,
        handedness,
        ray.direction,
        (hit.u, hit.v),
    );
    if instance.flags & COORDINATES != 0 && instance.flags & SECOND_COORDINATES != 0 {
        let first = 1.0 - hit.u - hit.v;
        let [a, b, c] = second;
        surface.second_u = a.0 * first + b.0 * hit.u + c.0 * hit.v;
        surface.second_v = a.1 * first + b.1 * hit.u + c.1 * hit.v;
    }
    surface
}

/// Returns the surface in world space at a hit with an instance's triangle, between its vertices. The second texture
/// coordinates equal the first.
///
/// `handedness` is that of the triangle's [`Corners`]. The pair holds the barycentric weights of the second and third
/// vertex.
#[inline(always)]
pub(crate) fn surface_between(
    instance: &Instance,
    triangle: &Primitive,
    [a, b, c]: &[MeshVertex; 3],
    handedness: f32,
    ray_direction: Vec3,
    (u, v): (f32, f32),
) -> Surface {
    let ab = triangle.b - triangle.a;
    let ac = triangle.c - triangle.a;
    let inside = triangle.a + ab * u + ac * v;
    let outside = normalize(cross(ab, ac));
    let normal = normalize(normal_to_world(instance, outside));
    let mut surface = Surface {
        point: to_world(instance, inside) + instance.position,
        normal,
        error: instance_error(instance, triangle),
        lift: Vec3::ZERO,
        shading: normal,
        coat: normal,
        tangent: ab,
        handedness: 1.0,
        u,
        v: 1.0 - v,
        second_u: u,
        second_v: 1.0 - v,
        material: instance_material(instance, triangle),
    };
    let first = 1.0 - u - v;
    if instance.flags & NORMALS != 0 {
        let smooth = a.normal * first + b.normal * u + c.normal * v;
        surface.shading = on_side(normal_to_world(instance, smooth), normal);
        // Vertex normals on the eye's side, whichever side the file defined them for.
        let faces = dot(smooth, outside) * dot(normal, ray_direction) < 0.0;
        let side = if faces { 1.0 } else { -1.0 };
        let raised = lift(inside - triangle.a, a.normal * side) * first
            + lift(inside - triangle.b, b.normal * side) * u
            + lift(inside - triangle.c, c.normal * side) * v;
        surface.lift = to_world(instance, raised);
    }
    if instance.flags & COORDINATES != 0 {
        surface.u = a.u * first + b.u * u + c.u * v;
        surface.v = a.v * first + b.v * u + c.v * v;
        surface.second_u = surface.u;
        surface.second_v = surface.v;
        if instance.flags & TANGENTS != 0 {
            surface.tangent = a.tangent * first + b.tangent * u + c.tangent * v;
            surface.handedness = handedness;
        } else {
            let (u_ab, v_ab) = (b.u - a.u, b.v - a.v);
            let (u_ac, v_ac) = (c.u - a.u, c.v - a.v);
            let turned = u_ab * v_ac - u_ac * v_ab > 0.0;
            let along = ab * v_ac - ac * v_ab;
            surface.tangent = if turned { along } else { -along };
            surface.handedness = if turned { -1.0 } else { 1.0 };
        }
    }
    surface.coat = surface.shading;
    surface.tangent = tangent_at(to_world(instance, surface.tangent), surface.shading);
    if instance.flags & LEFT_HANDED != 0 {
        surface.handedness = -surface.handedness;
    }
    surface
}
