//! Collection of the triangles, spheres, meshes and instances of all objects.

use glam::{DAffine3, DMat3, DVec3, Vec3};
use rayon::prelude::*;

use super::{
    materials::Materials, mesh_use::MeshUse, placement::try_instance, transform::Transform,
};
use crate::{
    error::point_text,
    limits::{MAX_LENGTH, MAX_PRIMITIVES, MIN_LENGTH},
    memory::{reserve_more, reserve_one},
    model::{Model, ModelMesh, check_position, polygon},
    origin::{Parts, typical_box},
    scene::{Instance, Mesh, Sphere, Triangle, has_area},
};

/// The numbers of parts of a model that are left out because they are too small or the file does not have them.
#[derive(Clone, Copy, Default)]
pub(crate) struct LeftOut {
    /// Number of triangles without area.
    pub(crate) triangles: u64,
    /// Number of points, which are spheres, whose radius is below 1e-15 m.
    pub(crate) points: u64,
    /// Number of corners of faces that name a normal or texture coordinate that the file does not have.
    pub(crate) attributes: u64,
}

impl LeftOut {
    /// Returns a warning for each kind of parts of which some are left out, without the name of the model.
    pub(crate) fn notes(self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.triangles > 0 {
            notes.push(format!(
                "{} triangles without area are left out; they are invisible, so nothing is missing",
                self.triangles
            ));
        }
        if self.points > 0 {
            notes.push(format!(
                "{} points with a radius below 1e-15 m are left out; scale the model up",
                self.points
            ));
        }
        if self.attributes > 0 {
            notes.push(format!(
                "normals or texture coordinates of {} corners are left out, which the file does not have",
                self.attributes
            ));
        }
        notes
    }

    /// Returns the problem of a model of which nothing is shown, to be put after its name.
    pub(crate) fn problem(self) -> &'static str {
        match (self.triangles, self.points) {
            (_, 0) => "has no triangle with an area",
            (0, _) => "has no point with a radius of 1e-15 m or more",
            _ => "has no triangle with an area and no point with a radius of 1e-15 m or more",
        }
    }
}

/// The geometry of the objects that were read so far: triangles and spheres in world space, and meshes with the
/// instances that place them there. All methods take positions in the coordinates of the file.
#[derive(Default)]
pub(crate) struct Geometry {
    /// The point that is subtracted from all positions, see [`Scene::origin`](crate::Scene::origin).
    pub(crate) origin: DVec3,
    /// Bounding boxes of the objects, from which an origin can be chosen.
    pub(crate) parts: Parts,
    /// Triangles that are not part of a mesh.
    pub(crate) triangles: Vec<Triangle>,
    /// Spheres, in the order of the file.
    pub(crate) spheres: Vec<Sphere>,
    /// Meshes in their own coordinates, which instances refer to by index.
    pub(crate) meshes: Vec<Mesh>,
    /// Placements of the meshes in world space.
    pub(crate) instances: Vec<Instance>,
}

impl Geometry {
    /// Creates an empty geometry whose positions are relative to `origin`.
    pub(crate) fn around(origin: DVec3) -> Geometry {
        Geometry {
            origin,
            ..Geometry::default()
        }
    }

    /// Returns a position relative to the origin, rounded to `f32`.
    fn relative(&self, position: DVec3) -> Vec3 {
        (position - self.origin).as_vec3()
    }

    /// Returns a transform to coordinates relative to the origin.
    fn relative_place(&self, place: &DAffine3) -> DAffine3 {
        DAffine3 {
            translation: place.translation - self.origin,
            ..*place
        }
    }

    /// Adds a triangle with these vertices, counter-clockwise seen from the front, and returns `true`. A
    /// triangle without area is not added and gives `false`.
    ///
    /// Fails if there are too many primitives or too little memory.
    pub(crate) fn push_triangle(
        &mut self,
        vertices: [DVec3; 3],
        material: u32,
    ) -> Result<bool, String> {
        let triangle = Triangle {
            vertices: vertices.map(|vertex| self.relative(vertex)),
            material,
        };
        if !has_area(&triangle.vertices) {
            return Ok(false);
        }
        self.check_room(1)?;
        reserve_one(&mut self.triangles)?;
        self.triangles.push(triangle);
        Ok(true)
    }

    /// Adds a sphere. Fails if there are too many primitives or too little memory.
    pub(crate) fn push_sphere(
        &mut self,
        center: DVec3,
        radius: f32,
        material: u32,
    ) -> Result<(), String> {
        let arm = f64::from(radius);
        self.parts.push(center - arm, center + arm, 1);
        self.check_room(1)?;
        reserve_one(&mut self.spheres)?;
        self.spheres.push(Sphere {
            center: self.relative(center),
            radius,
            material,
        });
        Ok(())
    }

    /// Adds a mesh and returns its index. It is visible only through instances. Fails if there are too many primitives.
    pub(crate) fn push_mesh(&mut self, mesh: Mesh) -> Result<u32, String> {
        self.check_room(mesh.triangles.len())?;
        self.meshes.push(mesh);
        Ok(self.meshes.len() as u32 - 1)
    }

    /// Adds an instance of the mesh with index `mesh` and the transform `place`. `material` replaces the mesh's own;
    /// `None` keeps it. Returns `false` if the transform is not invertible, see [`try_instance`].
    ///
    /// Fails if there are too many primitives or too little memory.
    pub(crate) fn push_instance(
        &mut self,
        mesh: u32,
        place: &DAffine3,
        material: Option<u32>,
    ) -> Result<bool, String> {
        let Some(instance) = try_instance(mesh, &self.relative_place(place), material) else {
            return Ok(false);
        };
        self.check_room(1)?;
        reserve_one(&mut self.instances)?;
        self.instances.push(instance);
        Ok(true)
    }

    /// Adds a flat, convex polygon as a fan of triangles from its first corner. Returns the number of triangles that
    /// were left out because they have no area. Fails if there are too many primitives or too little memory.
    pub(crate) fn push_polygon(&mut self, corners: &[DVec3], material: u32) -> Result<u64, String> {
        let [first, rest @ ..] = corners else {
            return Ok(0);
        };
        let mut flat = 0;
        for edge in rest.windows(2) {
            flat += u64::from(!self.push_triangle([*first, edge[0], edge[1]], material)?);
        }
        Ok(flat)
    }

    /// Adds parallelograms as one mesh with an instance. Each gets texture coordinates that show a whole image, with
    /// the lower left corner at the first corner and the lower right one at the second.
    ///
    /// Returns the number of triangles that were left out because they have no area. Fails if there are too many
    /// primitives.
    pub(crate) fn push_textured_parallelograms(
        &mut self,
        parallelograms: &[[DVec3; 4]],
        material: u32,
    ) -> Result<u64, String> {
        let mut mesh = Mesh {
            materials: vec![material],
            ..Mesh::default()
        };
        for corners in parallelograms {
            let first = mesh.positions.len() as u32;
            let corners = corners.map(|corner| self.relative(corner));
            for [a, b, c] in [[0, 1, 2], [0, 2, 3]] {
                if has_area(&[corners[a], corners[b], corners[c]]) {
                    let corner = |number| first + number as u32;
                    mesh.triangles.push([corner(a), corner(b), corner(c)]);
                }
            }
            mesh.positions.extend(corners);
            mesh.uvs
                .extend([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]);
        }
        let flat = 2 * parallelograms.len() - mesh.triangles.len();
        self.check_room(1 + mesh.triangles.len())?;
        self.instances.push(Instance {
            mesh: self.meshes.len() as u32,
            axes: [Vec3::X, Vec3::Y, Vec3::Z],
            position: Vec3::ZERO,
            material: None,
        });
        self.meshes.push(mesh);
        Ok(flat as u64)
    }

    /// Adds the instances and spheres of a model with `transform`. Each instance becomes separate triangles or an
    /// instance of a mesh, whichever is faster.
    ///
    /// `material` converts a material index of the model to one of the scene. Vertices of meshes move from the model
    /// into the scene, and a later call for the same model reuses them.
    ///
    /// Returns the numbers of triangles and spheres that were left out because they are too small. Fails if a mesh or
    /// a sphere extends beyond 1e8 m, if there are too many primitives, or if memory does not suffice.
    pub(crate) fn push_model(
        &mut self,
        model: &mut Model,
        transform: &DAffine3,
        material: impl Fn(usize) -> u32,
        materials: &Materials,
    ) -> Result<LeftOut, String> {
        let mut uses = vec![MeshUse::default(); model.meshes.len()];
        for instance in &model.instances {
            let uses = &mut uses[instance.mesh];
            uses.count += 1;
            let mut parts = model.meshes[instance.mesh].triangle_materials.clone();
            parts.dedup();
            parts.push(instance.material as u32);
            parts.sort_unstable();
            parts.dedup();
            for part in parts {
                let material = material(part as usize);
                uses.textured |= materials.is_textured(material);
                uses.normal_mapped |= materials.needs_tangents(material);
            }
        }
        let mut left_out = LeftOut {
            triangles: 0,
            points: self.push_model_spheres(model, transform, &material)?,
            ..LeftOut::default()
        };
        model.add_parts(transform, &mut self.parts);
        for instance in &model.instances {
            let transform = *transform * instance.transform;
            let mesh = &mut model.meshes[instance.mesh];
            let uses = &uses[instance.mesh];
            for corner in mesh.corners() {
                check_position(transform.transform_point3(corner.as_dvec3()), "a vertex")?;
            }
            let own = material(instance.material);
            let merged = !mesh.triangle_materials.is_empty();
            if mesh.number.is_none()
                && !merged
                && uses.becomes_separate_triangles(mesh, own, materials)
            {
                left_out.triangles += self.push_separate_triangles(mesh, &transform, own)?;
                continue;
            }
            if mesh.number.is_none() {
                left_out.triangles += mesh.remove_triangles(|corners| !has_area(corners));
                if mesh.triangles.is_empty() {
                    continue;
                }
                mesh.add_missing_attributes(uses.textured, uses.normal_mapped)?;
            }
            let wanted = mesh.materials(own, &material);
            let (number, other) = match (mesh.number, &wanted[..]) {
                (None, _) => (self.push_mesh(mesh.take(wanted))?, None),
                (Some(number), _) if self.meshes[number as usize].materials == wanted => {
                    (number, None)
                }
                (Some(number), &[only]) => (number, Some(only)),
                // The stored copy has a single material, but this instance needs one per triangle.
                (Some(number), _) => {
                    let stored = self.meshes[number as usize].clone();
                    let own = Mesh {
                        materials: wanted,
                        ..stored
                    };
                    (self.push_mesh(own)?, None)
                }
            };
            mesh.number = Some(number);
            // An instance whose transform is not invertible is invisible.
            self.push_instance(number, &transform, other)?;
        }
        Ok(left_out)
    }

    /// Adds the spheres of a model with `transform`. Multiplies each radius by the cube root of the change of volume.
    ///
    /// Returns the number of spheres that were left out because their radius is below 1e-15 m. Fails like
    /// [`Geometry::push_model`].
    fn push_model_spheres(
        &mut self,
        model: &Model,
        transform: &DAffine3,
        material: impl Fn(usize) -> u32,
    ) -> Result<u64, String> {
        let scale = libm::cbrt(transform.matrix3.determinant().abs());
        self.check_room(model.spheres.len())?;
        reserve_more(&mut self.spheres, model.spheres.len())?;
        let mut left_out = 0;
        for sphere in &model.spheres {
            let center = transform.transform_point3(sphere.center);
            let radius = f64::from(sphere.radius) * scale;
            check_position(center + center.signum() * radius, "the edge of a point")?;
            if radius < MIN_LENGTH {
                left_out += 1;
                continue;
            }
            self.spheres.push(Sphere {
                center: self.relative(center),
                radius: radius as f32,
                material: material(sphere.material),
            });
        }
        Ok(left_out)
    }

    /// Adds a mesh as separate triangles in world space. Returns the number of triangles that were left out because
    /// they have no area. Fails if there are too many primitives or too little memory.
    fn push_separate_triangles(
        &mut self,
        mesh: &ModelMesh,
        transform: &DAffine3,
        material: u32,
    ) -> Result<u64, String> {
        let mirrors = transform.matrix3.determinant() < 0.0;
        let transform = self.relative_place(transform);
        let in_world = |triangle: &[u32; 3]| {
            let [a, b, c] = triangle.map(|vertex| {
                let position = mesh.positions[vertex as usize].as_dvec3();
                transform.transform_point3(position).as_vec3()
            });
            Triangle {
                vertices: if mirrors { [a, c, b] } else { [a, b, c] },
                material,
            }
        };
        let before = self.triangles.len();
        self.check_room(mesh.triangles.len())?;
        reserve_more(&mut self.triangles, mesh.triangles.len())?;
        self.triangles
            .par_extend(mesh.triangles.par_iter().map(in_world));
        let added = &self.triangles[before..];
        let flat = added
            .par_iter()
            .filter(|triangle| !has_area(&triangle.vertices))
            .count();
        if flat > 0 {
            self.triangles
                .retain(|triangle| has_area(&triangle.vertices));
        }
        Ok(flat as u64)
    }

    /// Returns the number of separate triangles, spheres and instances; the triangles of meshes are not counted.
    pub(crate) fn primitive_count(&self) -> usize {
        self.triangles.len() + self.spheres.len() + self.instances.len()
    }

    /// Fails if `more` additional primitives would make more than 2³¹: triangles, spheres and instances together. The
    /// triangles of a mesh count once, whatever the number of its instances.
    pub(crate) fn check_room(&self, more: usize) -> Result<(), String> {
        let in_meshes: usize = self.meshes.iter().map(|mesh| mesh.triangles.len()).sum();
        match (in_meshes + self.primitive_count()).checked_add(more) {
            Some(count) if count <= MAX_PRIMITIVES => Ok(()),
            _ => Err(format!(
                "is too large: a scene has at most {MAX_PRIMITIVES} triangles, spheres and instances"
            )),
        }
    }
}

/// Fails if the position of a vertex is not finite. The message names the vertex by `number`, counted from 1.
pub(crate) fn check_finite(number: usize, position: DVec3) -> Result<(), String> {
    if position.is_finite() {
        Ok(())
    } else {
        Err(format!(
            "vertex {number} is {}, expected finite numbers",
            point_text(position)
        ))
    }
}

/// Normal and texture coordinates at a corner of a face; NaN where the file has none.
#[derive(Clone, Copy)]
pub(crate) struct Corner {
    /// Normal, of any length.
    pub(crate) normal: Vec3,
    /// Texture coordinates; (0, 0) is the upper left corner of an image.
    pub(crate) uv: [f32; 2],
}

impl Corner {
    /// A corner without attributes: all values are NaN.
    pub(crate) const BARE: Corner = Corner {
        normal: Vec3::NAN,
        uv: [f32::NAN; 2],
    };
}

/// Builder that receives the vertices and faces of a `Mesh` object's file and adds them as triangles to the scene.
pub(crate) struct MeshBuilder<'g> {
    geometry: &'g mut Geometry,
    transform: Transform,
    /// Transform for normals: the inverse transpose of the linear part of `transform`.
    normal_transform: DMat3,
    material: u32,
    /// Vertex positions in the coordinates of the scene file, metres.
    vertices: Vec<DVec3>,
    /// Corners of the current face: position as in `vertices`, and attributes.
    face: Vec<(DVec3, Corner)>,
    /// Triangles of the current face, as indices into `face`.
    triangles: Vec<[usize; 3]>,
    /// Whether normals and texture coordinates of the file are kept. If `false`, readers need not pass them.
    pub(crate) attributes: bool,
    /// Attributes at the corners of each added triangle; empty if `attributes` is `false`.
    corners: Vec<[Corner; 3]>,
    /// Number of faces received so far.
    faces: u64,
    /// The numbers of parts of the file that were left out.
    pub(crate) left_out: LeftOut,
    /// Number of triangles that `geometry` had before this mesh.
    triangles_before: usize,
}

impl<'g> MeshBuilder<'g> {
    /// Creates a builder that applies `transform` to all vertices and gives all triangles one material. `attributes`
    /// says whether normals and texture coordinates are kept.
    pub(crate) fn new(
        geometry: &'g mut Geometry,
        transform: Transform,
        material: u32,
        attributes: bool,
    ) -> Self {
        MeshBuilder {
            triangles_before: geometry.triangles.len(),
            geometry,
            transform,
            normal_transform: transform.affine().matrix3.inverse().transpose(),
            material,
            vertices: Vec::new(),
            face: Vec::new(),
            triangles: Vec::new(),
            attributes,
            corners: Vec::new(),
            faces: 0,
            left_out: LeftOut::default(),
        }
    }

    /// Transforms and stores a vertex of the file. Fails if its position is not finite, is beyond 1e8 m after the
    /// transform, or does not fit into memory.
    pub(crate) fn push_vertex(&mut self, position: DVec3) -> Result<(), String> {
        let number = self.vertices.len() + 1;
        check_finite(number, position)?;
        let moved = self.transform.apply(position);
        if !(moved.is_finite() && moved.abs().max_element() <= MAX_LENGTH) {
            return Err(format!(
                "vertex {number} is at {} after the transform, expected coordinates within 1e8 m of 0",
                point_text(moved)
            ));
        }
        reserve_one(&mut self.vertices)?;
        self.vertices.push(moved);
        Ok(())
    }

    /// Triangulates a polygon and adds its triangles to the scene. Each corner is a zero-based vertex index with its
    /// attributes.
    ///
    /// A face of fewer than three corners has no area. Fails if an index is invalid, there are too many primitives, or too
    /// little memory.
    pub(crate) fn push_face(
        &mut self,
        corners: impl Iterator<Item = (i64, Corner)>,
    ) -> Result<(), String> {
        self.faces += 1;
        let (number, count) = (self.faces, self.vertices.len());
        self.face.clear();
        for (index, corner) in corners {
            let vertex = usize::try_from(index)
                .ok()
                .and_then(|index| self.vertices.get(index));
            let missing = || {
                format!(
                    "face {number} names vertex {index} (from 0), but there are {count} vertices"
                )
            };
            self.face.push((*vertex.ok_or_else(missing)?, corner));
        }
        let count = self.face.len();
        if count < 3 {
            self.left_out.triangles += 1;
            return Ok(());
        }
        if self.transform.mirrors() {
            self.face[1..].reverse();
        }
        let places = self.face.iter().map(|&(vertex, _)| vertex);
        polygon::triangles(places, &mut self.triangles);
        for triangle in &self.triangles {
            let triangle = triangle.map(|corner| self.face[corner]);
            let (geometry, material) = (&mut *self.geometry, self.material);
            if !geometry.push_triangle(triangle.map(|(vertex, _)| vertex), material)? {
                self.left_out.triangles += 1;
            } else if self.attributes {
                reserve_one(&mut self.corners)?;
                self.corners.push(triangle.map(|(_, corner)| {
                    Corner {
                        normal: (self.normal_transform * corner.normal.as_dvec3())
                            .normalize()
                            .as_vec3(),
                        ..corner
                    }
                }));
            }
        }
        Ok(())
    }

    /// Returns the numbers of parts that were left out, and the corner attributes of the added triangles (empty unless `attributes` is set). Fails if no triangle was added.
    pub(crate) fn finish(self) -> Result<(LeftOut, Vec<[Corner; 3]>), String> {
        if self.faces == 0 {
            return Err("has no faces, expected at least one triangle".to_owned());
        }
        let vertices = &self.vertices;
        if let Some((low, high)) = typical_box(vertices.len(), |vertex| vertices[vertex]) {
            let faces = usize::try_from(self.faces).unwrap_or(usize::MAX);
            self.geometry.parts.push(low, high, faces);
        }
        if self.geometry.triangles.len() == self.triangles_before {
            return Err(
                "has no triangle with an area; check its vertices and the scale".to_owned(),
            );
        }
        Ok((self.left_out, self.corners))
    }
}
