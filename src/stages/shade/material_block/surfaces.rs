//! Geometry of the surfaces that the paths of a block hit, without their materials.

use std::hint::black_box;

use glam::Vec3;

use crate::{
    accel::{
        arrays::{F32Array, PATHS, U32Array, Vec3Array},
        instance::{
            COORDINATES, Corners, Instance, MeshVertex, NO_MATERIAL, NORMALS, surface_between,
        },
        primitive::{Primitive, Surface, TRIANGLE, surface_at},
    },
    device::render_scene::RenderScene,
    math::dot,
    path::{Hit, Ray},
    stages::wave::CpuWave,
};

/// Attributes of one vertex of each path's triangle, in object space.
#[derive(Default)]
struct VertexArray {
    normals: Vec3Array,
    tangents: Vec3Array,
    u: F32Array,
    v: F32Array,
}

impl VertexArray {
    /// Returns the vertex at this index.
    #[inline(always)]
    fn get(&self, index: usize) -> MeshVertex {
        MeshVertex {
            normal: self.normals.get(index),
            u: self.u[index],
            tangent: self.tangents.get(index),
            v: self.v[index],
        }
    }

    /// Replaces the vertex at this index.
    #[inline(always)]
    fn set(&mut self, index: usize, vertex: &MeshVertex) {
        self.normals.set(index, vertex.normal);
        self.u[index] = vertex.u;
        self.tangents.set(index, vertex.tangent);
        self.v[index] = vertex.v;
    }
}

/// The surface that each path of a block hit, before its textures are applied.
#[derive(Default)]
pub(super) struct Surfaces {
    // The inputs, from `load_triangles` or `load_instanced`.
    /// Barycentric weight of the triangle's second vertex.
    hit_u: F32Array,
    /// Barycentric weight of the triangle's third vertex.
    hit_v: F32Array,
    /// Positions of the triangle's vertices, in metres; in object space for instances.
    corners: [Vec3Array; 3],
    /// Attributes of the vertices, if the mesh has any.
    vertices: [VertexArray; 3],
    /// Handedness of the triangle's tangents, 1 or −1.
    corner_handedness: F32Array,
    /// Rows of the instance's world-to-object matrix, 3 × 3, without the translation.
    inverse: [Vec3Array; 3],
    /// Columns of the instance's object-to-world matrix, 3 × 3, without the translation.
    axes: [Vec3Array; 3],
    /// World-space position of the origin of object space, in metres.
    positions: Vec3Array,
    /// `Instance::flags`, which tell the attributes of its mesh.
    flags: U32Array,
    /// `Instance::error`.
    instance_errors: F32Array,
    /// `Instance::error_per_unit`.
    errors_per_unit: F32Array,

    // The surface, from `compute`: see the fields of `Surface`.
    pub(super) points: Vec3Array,
    /// Geometric normals of the front. `turn_to_eye` turns them to the side that was hit.
    pub(super) normals: Vec3Array,
    pub(super) errors: F32Array,
    pub(super) lifts: Vec3Array,
    /// Shading normals. `turn_to_eye` turns them to the side that was hit.
    pub(super) shading: Vec3Array,
    /// Tangents, if there is a normal map.
    pub(super) tangents: Vec3Array,
    /// Handedness of the tangents, 1 or −1, if there is a normal map.
    pub(super) handedness: F32Array,
    pub(super) u: F32Array,
    pub(super) v: F32Array,
}

impl Surfaces {
    /// Loads hits and triangles of paths that hit triangles outside of instances.
    #[inline(always)]
    pub(super) fn load_triangles(&mut self, wave: &CpuWave, scene: &RenderScene, paths: &[u32]) {
        for (at, &path) in paths.iter().enumerate() {
            self.load_triangle(wave, scene, at, path);
        }
    }

    /// Loads one hit with its triangle.
    #[inline(always)]
    fn load_triangle(&mut self, wave: &CpuWave, scene: &RenderScene, at: usize, path: u32) {
        let hit = &wave.hits[path as usize];
        let primitive = &scene.primitives[hit.primitive as usize];
        self.hit_u[at] = hit.u;
        self.hit_v[at] = hit.v;
        self.corners[0].set(at, primitive.a);
        self.corners[1].set(at, primitive.b);
        self.corners[2].set(at, primitive.c);
    }

    /// Loads hits, triangles and instances of paths that hit triangles of instances.
    #[inline(always)]
    pub(super) fn load_instanced(&mut self, wave: &CpuWave, scene: &RenderScene, paths: &[u32]) {
        let mut corners = [Corners::default(); PATHS];
        for (&path, corners) in paths.iter().zip(&mut corners) {
            let instance = &scene.instances[wave.instances[path as usize] as usize];
            if instance.flags & (NORMALS | COORDINATES) != 0 {
                let primitive = wave.hits[path as usize].primitive;
                *corners = scene.corners[primitive.wrapping_add(instance.corners) as usize];
            }
        }
        // Reads ahead: nothing else delays these reads, so that they overlap.
        let mut sum = 0;
        for corners in &corners[..paths.len()] {
            for vertex in [corners.a, corners.b, corners.c] {
                let vertex = scene.vertices.get(vertex as usize);
                sum ^= vertex.map_or(0, |vertex| vertex.v.to_bits());
            }
        }
        black_box(sum);
        for (at, &path) in paths.iter().enumerate() {
            self.load_triangle(wave, scene, at, path);
            let instance = &scene.instances[wave.instances[path as usize] as usize];
            let columns = [instance.axis_x, instance.axis_y, instance.axis_z];
            let rows = [instance.inverse_x, instance.inverse_y, instance.inverse_z];
            for axis in 0..3 {
                self.axes[axis].set(at, columns[axis]);
                self.inverse[axis].set(at, rows[axis]);
            }
            self.positions.set(at, instance.position);
            self.flags[at] = instance.flags;
            self.instance_errors[at] = instance.error;
            self.errors_per_unit[at] = instance.error_per_unit;
            if instance.flags & (NORMALS | COORDINATES) != 0 {
                let Corners {
                    a,
                    b,
                    c,
                    handedness,
                } = corners[at];
                for (array, vertex) in self.vertices.iter_mut().zip([a, b, c]) {
                    array.set(at, &scene.vertices[vertex as usize]);
                }
                self.corner_handedness[at] = handedness;
            }
        }
    }

    /// Computes the surfaces from what was loaded. Tangents are computed only if there is a normal map.
    #[inline(always)]
    pub(super) fn compute(
        &mut self,
        ray_directions: &Vec3Array,
        is_instanced: bool,
        has_normal_map: bool,
    ) {
        if is_instanced {
            for at in 0..PATHS {
                let surface = self.instanced_surface(at, ray_directions.get(at));
                self.set(at, &surface);
            }
        } else {
            for at in 0..PATHS {
                let surface = self.triangle_surface(at, ray_directions.get(at));
                self.set(at, &surface);
            }
        }
        if has_normal_map && is_instanced {
            for at in 0..PATHS {
                let surface = self.instanced_surface(at, ray_directions.get(at));
                self.tangents.set(at, surface.tangent);
                self.handedness[at] = surface.handedness;
            }
        } else if has_normal_map {
            for at in 0..PATHS {
                let surface = self.triangle_surface(at, ray_directions.get(at));
                self.tangents.set(at, surface.tangent);
                self.handedness[at] = surface.handedness;
            }
        }
    }

    /// Stores the surface of one path, without its tangent.
    #[inline(always)]
    fn set(&mut self, at: usize, surface: &Surface) {
        self.points.set(at, surface.point);
        self.normals.set(at, surface.normal);
        self.errors[at] = surface.error;
        self.lifts.set(at, surface.lift);
        self.shading.set(at, surface.shading);
        self.u[at] = surface.u;
        self.v[at] = surface.v;
    }

    /// Returns the triangle at this index, without its material and number.
    #[inline(always)]
    fn triangle(&self, at: usize) -> Primitive {
        Primitive {
            a: self.corners[0].get(at),
            b: self.corners[1].get(at),
            c: self.corners[2].get(at),
            kind_bits: TRIANGLE,
            material: 0,
            number: 0,
        }
    }

    /// Returns the surface at this index of a triangle outside of instances.
    #[inline(always)]
    fn triangle_surface(&self, at: usize, direction: Vec3) -> Surface {
        let ray = Ray {
            origin: Vec3::ZERO,
            pdf: 0.0,
            direction,
            from_primitive: 0,
        };
        let hit = Hit {
            distance: 0.0,
            primitive: 0,
            u: self.hit_u[at],
            v: self.hit_v[at],
        };
        surface_at(&self.triangle(at), &ray, &hit)
    }

    /// Returns the surface at this index of a triangle of an instance.
    #[inline(always)]
    fn instanced_surface(&self, at: usize, direction: Vec3) -> Surface {
        let instance = Instance {
            inverse_x: self.inverse[0].get(at),
            root: 0,
            inverse_y: self.inverse[1].get(at),
            extent: 0.0,
            inverse_z: self.inverse[2].get(at),
            material: NO_MATERIAL,
            position: self.positions.get(at),
            flags: self.flags[at],
            axis_x: self.axes[0].get(at),
            corners: 0,
            axis_y: self.axes[1].get(at),
            error: self.instance_errors[at],
            axis_z: self.axes[2].get(at),
            error_per_unit: self.errors_per_unit[at],
        };
        let vertices = [
            self.vertices[0].get(at),
            self.vertices[1].get(at),
            self.vertices[2].get(at),
        ];
        let weights = (self.hit_u[at], self.hit_v[at]);
        let handedness = self.corner_handedness[at];
        surface_between(
            &instance,
            &self.triangle(at),
            &vertices,
            handedness,
            direction,
            weights,
        )
    }

    /// Reverses the tangents of the surfaces that the rays with these directions hit from behind, as those of materials
    /// with [`MIRRORED_RELIEF`](crate::shading::material::MIRRORED_RELIEF). Normal maps must be applied afterwards.
    #[inline(always)]
    pub(super) fn turn_tangents(&mut self, ray_directions: &Vec3Array) {
        for at in 0..PATHS {
            let front = -dot(ray_directions.get(at), self.shading.get(at)) > 0.0;
            let tangent = self.tangents.get(at);
            self.tangents
                .set(at, if front { tangent } else { -tangent });
        }
    }

    /// Returns the surface at this index, as normal maps and the origins of rays need it. The second texture
    /// coordinates, the clear coat's normal and the material are placeholders.
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> Surface {
        Surface {
            point: self.points.get(at),
            normal: self.normals.get(at),
            error: self.errors[at],
            lift: self.lifts.get(at),
            shading: self.shading.get(at),
            coat: Vec3::ZERO,
            tangent: self.tangents.get(at),
            handedness: self.handedness[at],
            u: self.u[at],
            v: self.v[at],
            second_u: self.u[at],
            second_v: self.v[at],
            material: 0,
        }
    }
}
