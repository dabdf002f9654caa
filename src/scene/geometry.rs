//! Where the triangles and spheres of all objects are collected.

use glam::{DAffine3, DMat3, DVec3, Vec3};

use super::{
    Instance, Mesh, Parameter, Sphere, Triangle,
    materials::Materials,
    memory,
    mesh::polygon,
    model::{Model, ModelMesh, check_place},
    places::placed,
    source::MAX_LENGTH,
    transform::Transform,
};

/// Primitive indices leave a bit free.
const MAX_PRIMITIVES: usize = 1 << 31;

/// The primitives so far.
#[derive(Default)]
pub(super) struct Geometry {
    pub(super) triangles: Vec<Triangle>,
    pub(super) spheres: Vec<Sphere>,
    pub(super) meshes: Vec<Mesh>,
    pub(super) instances: Vec<Instance>,
}

impl Geometry {
    /// Adds a triangle, unless it has no area: `false`.
    pub(super) fn push_triangle(
        &mut self,
        vertices: [DVec3; 3],
        material: u32,
    ) -> Result<bool, String> {
        let triangle = Triangle {
            vertices: vertices.map(|vertex| vertex.as_vec3()),
            material,
        };
        if !has_area(&triangle.vertices) {
            return Ok(false);
        }
        self.check_room(1)?;
        make_room(&mut self.triangles)?;
        self.triangles.push(triangle);
        Ok(true)
    }

    pub(super) fn push_sphere(&mut self, sphere: Sphere) -> Result<(), String> {
        self.check_room(1)?;
        make_room(&mut self.spheres)?;
        self.spheres.push(sphere);
        Ok(())
    }

    /// Adds a shape that instances can place: its number.
    pub(super) fn push_mesh(&mut self, mesh: Mesh) -> Result<u32, String> {
        self.check_room(mesh.triangles.len())?;
        self.meshes.push(mesh);
        Ok(self.meshes.len() as u32 - 1)
    }

    pub(super) fn push_instance(&mut self, instance: Instance) -> Result<(), String> {
        self.check_room(1)?;
        make_room(&mut self.instances)?;
        self.instances.push(instance);
        Ok(())
    }

    /// A flat, convex polygon as a fan of triangles from its first corner; how many of them have no area.
    pub(super) fn push_polygon(&mut self, corners: &[DVec3], material: u32) -> Result<u64, String> {
        let [first, rest @ ..] = corners else {
            return Ok(0);
        };
        let mut flat = 0;
        for edge in rest.windows(2) {
            flat += u64::from(!self.push_triangle([*first, edge[0], edge[1]], material)?);
        }
        Ok(flat)
    }

    /// Parallelograms that each show all of an image, upright where their second corner is to the right of their first;
    /// how many of their triangles have no area.
    pub(super) fn push_upright(
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
            let corners = corners.map(|corner| corner.as_vec3());
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

    /// Adds all that a model shows, moved by `transform`, of the materials that `material` gives for its own; how many
    /// triangles have no area. Where that pays, its meshes become meshes that instances place, of which it may be asked
    /// for again.
    pub(super) fn push_model(
        &mut self,
        model: &mut Model,
        transform: &DAffine3,
        material: impl Fn(usize) -> u32,
        materials: &Materials,
    ) -> Result<u64, String> {
        let mut uses = vec![Uses::default(); model.meshes.len()];
        for instance in &model.instances {
            let uses = &mut uses[instance.mesh];
            uses.count += 1;
            let mut parts = model.meshes[instance.mesh].parts.clone();
            parts.dedup();
            parts.push(instance.material as u32);
            parts.sort_unstable();
            parts.dedup();
            for part in parts {
                let material = material(part as usize);
                uses.mapped |= materials.is_textured(material);
                uses.bent |= [Parameter::Normal, Parameter::ClearcoatNormal]
                    .iter()
                    .any(|&parameter| materials.has_map(material, parameter));
            }
        }
        let mut flat = 0;
        for instance in &model.instances {
            let transform = *transform * instance.transform;
            let mesh = &mut model.meshes[instance.mesh];
            let uses = &uses[instance.mesh];
            for corner in mesh.corners() {
                check_place(transform.transform_point3(corner.as_dvec3()), "a vertex")?;
            }
            let own = material(instance.material);
            let gathered = !mesh.parts.is_empty();
            if mesh.number.is_none() && !gathered && uses.pays_flat(mesh, own, materials) {
                flat += self.push_flat(mesh, &transform, own)?;
                continue;
            }
            if mesh.number.is_none() {
                flat += mesh.leave_out(|corners| !has_area(corners));
                if mesh.triangles.is_empty() {
                    continue;
                }
                mesh.settle_coordinates(uses.mapped, uses.bent)?;
            }
            let wanted = mesh.materials(own, &material);
            let (number, other) = match (mesh.number, &wanted[..]) {
                (None, _) => (self.push_mesh(mesh.take(wanted))?, None),
                (Some(number), _) if self.meshes[number as usize].materials == wanted => {
                    (number, None)
                }
                (Some(number), &[only]) => (number, Some(only)),
                // It was stored with a single material in the place of its own.
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
            // What is scaled to nothing is hidden.
            if let Some(instance) = placed(number, &transform, other) {
                self.push_instance(instance)?;
            }
        }
        Ok(flat)
    }

    /// A mesh in one place as flat triangles; how many have no area.
    fn push_flat(
        &mut self,
        mesh: &ModelMesh,
        transform: &DAffine3,
        material: u32,
    ) -> Result<u64, String> {
        let mut flat = 0;
        let mirrors = transform.matrix3.determinant() < 0.0;
        for triangle in &mesh.triangles {
            let [a, b, c] = triangle.map(|vertex| {
                transform.transform_point3(mesh.positions[vertex as usize].as_dvec3())
            });
            let corners = if mirrors { [a, c, b] } else { [a, b, c] };
            flat += u64::from(!self.push_triangle(corners, material)?);
        }
        Ok(flat)
    }

    /// How much stands in the scene.
    pub(super) fn standing(&self) -> usize {
        self.triangles.len() + self.spheres.len() + self.instances.len()
    }

    /// `Err` if so many more primitives have no index.
    pub(super) fn check_room(&self, more: usize) -> Result<(), String> {
        let in_meshes: usize = self.meshes.iter().map(|mesh| mesh.triangles.len()).sum();
        match (in_meshes + self.standing()).checked_add(more) {
            Some(count) if count <= MAX_PRIMITIVES => Ok(()),
            _ => Err(format!(
                "is too large: a scene has at most {MAX_PRIMITIVES} triangles, spheres and instances"
            )),
        }
    }
}

/// How a model's mesh is used.
#[derive(Clone, Copy, Default)]
struct Uses {
    count: u32,
    /// Some material on it has textures.
    mapped: bool,
    /// Some material on it has a normal map.
    bent: bool,
}

impl Uses {
    /// Of triangles whose light is looked for, at most.
    const LAMPS: u64 = 1 << 20;
    /// Of a mesh whose place takes more memory than its triangles do.
    const FEW: usize = 8;

    /// Whether a mesh is better off as flat triangles in the scene: they are traced faster, and lamps are found.
    fn pays_flat(&self, mesh: &ModelMesh, material: u32, materials: &Materials) -> bool {
        if materials.is_textured(material) {
            return false;
        }
        let triangles = mesh.triangles.len();
        let shines = materials.surfaces[material as usize].radiance() != Vec3::ZERO;
        if shines && u64::from(self.count) * triangles as u64 <= Self::LAMPS {
            return true;
        }
        mesh.is_flat() && (self.count == 1 || triangles <= Self::FEW)
    }
}

/// A triangle as the renderer sees it has an area if it can form the normal.
fn has_area(&[a, b, c]: &[Vec3; 3]) -> bool {
    (b - a).cross(c - a).length_squared().is_normal()
}

/// Room for one more item, asking for memory ahead of a growth instead of being killed by it.
pub(super) fn make_room<T>(items: &mut Vec<T>) -> Result<(), String> {
    if items.len() == items.capacity() {
        let more = items.len().max(1 << 10);
        let grown = (items.len() + more).saturating_mul(size_of::<T>());
        memory::check(grown as u64)?;
        items
            .try_reserve_exact(more)
            .map_err(|error| format!("is too large for memory: {error}"))?;
    }
    Ok(())
}

/// `Err` if a vertex is nowhere.
pub(super) fn check_finite(number: usize, position: DVec3) -> Result<(), String> {
    if position.is_finite() {
        Ok(())
    } else {
        Err(format!(
            "vertex {number} is {position}, expected finite numbers"
        ))
    }
}

/// What a file has at a corner of a face besides a position; NaN where it has nothing.
#[derive(Clone, Copy)]
pub(super) struct Corner {
    pub(super) normal: Vec3,
    /// (0, 0) is the upper left of an image.
    pub(super) uv: [f32; 2],
}

impl Corner {
    /// Without anything.
    pub(super) const BARE: Corner = Corner {
        normal: Vec3::NAN,
        uv: [f32::NAN; 2],
    };
}

/// Vertices and faces of one mesh, as its file gives them.
pub(super) struct MeshBuilder<'g> {
    geometry: &'g mut Geometry,
    transform: Transform,
    /// What normals are moved by.
    turn: DMat3,
    material: u32,
    /// Transformed, metres.
    vertices: Vec<DVec3>,
    face: Vec<(DVec3, Corner)>,
    /// Of the face.
    triangles: Vec<[usize; 3]>,
    /// Whether what is at the corners is kept.
    pub(super) attributes: bool,
    /// Of each triangle.
    corners: Vec<[Corner; 3]>,
    faces: u64,
    flat_triangles: u64,
    triangles_before: usize,
}

impl<'g> MeshBuilder<'g> {
    pub(super) fn new(
        geometry: &'g mut Geometry,
        transform: Transform,
        material: u32,
        attributes: bool,
    ) -> Self {
        MeshBuilder {
            triangles_before: geometry.triangles.len(),
            geometry,
            transform,
            turn: transform.affine().matrix3.inverse().transpose(),
            material,
            vertices: Vec::new(),
            face: Vec::new(),
            triangles: Vec::new(),
            attributes,
            corners: Vec::new(),
            faces: 0,
            flat_triangles: 0,
        }
    }

    pub(super) fn push_vertex(&mut self, position: DVec3) -> Result<(), String> {
        let number = self.vertices.len() + 1;
        check_finite(number, position)?;
        let moved = self.transform.apply(position);
        if !(moved.is_finite() && moved.abs().max_element() <= MAX_LENGTH) {
            return Err(format!(
                "vertex {number} comes to lie at {moved}, expected metres within 1e8 of 0"
            ));
        }
        make_room(&mut self.vertices)?;
        self.vertices.push(moved);
        Ok(())
    }

    /// A polygon by the indices of its corners, from 0, and by what is there.
    pub(super) fn push_face(
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
            return Err(format!(
                "face {number} has {count} corners, expected 3 or more"
            ));
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
                self.flat_triangles += 1;
            } else if self.attributes {
                make_room(&mut self.corners)?;
                self.corners.push(triangle.map(|(_, corner)| Corner {
                    normal: (self.turn * corner.normal.as_dvec3()).normalize().as_vec3(),
                    ..corner
                }));
            }
        }
        Ok(())
    }

    /// How many triangles were left out, if any is left, and what is at the corners of the others.
    pub(super) fn finish(self) -> Result<(u64, Vec<[Corner; 3]>), String> {
        if self.faces == 0 {
            return Err("has no faces, expected at least one triangle".to_owned());
        }
        if self.geometry.triangles.len() == self.triangles_before {
            return Err(
                "has no triangle with an area; check its vertices and the scale".to_owned(),
            );
        }
        Ok((self.flat_triangles, self.corners))
    }
}
