//! Reads OBJ files: as a model with one mesh per material, or as bare geometry for a `Mesh` object.
//!
//! `statements` parses the lines of an OBJ file, and `mtl` its material libraries.

mod mtl;
mod statements;
mod texture_options;

use std::{
    collections::{BTreeSet, HashMap},
    io::BufRead,
    iter,
    mem::take,
    path::Path,
};

use glam::{DAffine3, Vec2, Vec3, Vec4};

use self::{
    mtl::Libraries,
    statements::{Attribute, FaceCorner, NotShown, Statement},
};
use crate::{
    builder::geometry::{self, MeshBuilder, check_finite},
    color::linear_color,
    error::excerpt,
    files::foreign::{FREE_FORMS, LINES, POINT_CLOUD},
    memory::{reserve_one, vec_with_capacity},
    model::{
        Model, ModelInstance, ModelMaterial, ModelMesh, flip_v, polygon,
        vertex_colors::vertex_color_material,
    },
    origin::Positions,
};

/// Reads an OBJ file as a model. `folder` is the folder of the file, where its MTL files and images are looked up.
///
/// Fails with a one-line message, without the file's name, if the file or an MTL file is invalid, or there are no
/// faces. Missing MTL files and images are only warnings.
pub(crate) fn read(reader: &mut impl BufRead, folder: &Path) -> Result<Model, String> {
    let mut builder = ObjBuilder::new(folder);
    statements::read(reader, |statement| builder.take(statement))?;
    builder.finish()
}

/// Reads the meshes of an OBJ file without its materials and smoothing groups: one of the faces with normals, and one
/// of the others.
///
/// Fails with a one-line message, without the file's name, if the file is invalid or has no faces.
pub(crate) fn read_geometry(reader: &mut impl BufRead) -> Result<Model, String> {
    let mut builder = ObjBuilder::new(Path::new(""));
    statements::read(reader, |statement| match statement {
        Statement::Material(_) | Statement::Libraries(_) | Statement::Smoothing(_) => Ok(()),
        statement => builder.take(statement),
    })?;
    builder.finish()
}

/// Reads the vertices and faces of an OBJ file into `mesh`. Normals and texture coordinates are passed only if
/// `mesh.attributes` is set. Fails with a one-line message, without the file's name.
pub(crate) fn read_mesh(reader: &mut impl BufRead, mesh: &mut MeshBuilder) -> Result<(), String> {
    let (mut normals, mut uvs) = (Vec::new(), Vec::new());
    let mut face: Vec<(i64, geometry::Corner)> = Vec::new();
    statements::read(reader, |statement| match statement {
        Statement::Vertex(position, _) => mesh.push_vertex(position),
        Statement::Normal(normal) if mesh.attributes => {
            reserve_one(&mut normals)?;
            normals.push(normal);
            Ok(())
        }
        Statement::Uv(uv) if mesh.attributes => {
            reserve_one(&mut uvs)?;
            uvs.push(flip_v(uv));
            Ok(())
        }
        Statement::Face(corners) => {
            face.clear();
            for corner in corners {
                let mut at = geometry::Corner::BARE;
                if mesh.attributes {
                    let (normal, uv) = (
                        corner.normal_index(normals.len()),
                        corner.uv_index(uvs.len()),
                    );
                    if let Some(number) = normal.index() {
                        at.normal = normals[number];
                    }
                    if let Some(number) = uv.index() {
                        at.uv = uvs[number];
                    }
                    let is_missing = normal == Attribute::Missing || uv == Attribute::Missing;
                    mesh.left_out.attributes += u64::from(is_missing);
                }
                face.push((corner.vertex as i64, at));
            }
            mesh.push_face(face.iter().copied())
        }
        Statement::FaceOfNothing => mesh.push_face(iter::empty()),
        _ => Ok(()),
    })
}

/// Maximum number of missing materials that a warning lists by name; further ones are not mentioned.
const MAX_LISTED: usize = 8;

/// Cosine below which a face at a position faces the opposite of the others.
const OPPOSED: f32 = -0.95;

/// The source of a corner's shading normal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Normal {
    /// The geometric normal of the triangle, without smoothing.
    Flat,
    /// A normal of the file, given by zero-based index.
    Given(u32),
    /// The area-weighted average of the normals of the adjacent faces in the smoothing group with this number.
    Smooth(u32),
}

/// Identity of a vertex in a mesh: zero-based indices, in the file, of its position and its texture coordinate, and the
/// source of its normal.
type Key = (u32, Option<u32>, Normal);

/// A mesh under construction: the faces of one material that are all flat, or all have normals.
#[derive(Default)]
struct ObjPart {
    mesh: ModelMesh,
    normals: Vec<Normal>,
    /// Texture coordinate of each vertex of `mesh`; `None` for a vertex whose corners name none.
    uvs: Vec<Option<Vec2>>,
    /// Zero-based index in the file of the position that each vertex of `mesh` comes from.
    sources: Vec<u32>,
    /// Index in `mesh` of each vertex created so far, by its identity.
    known: HashMap<Key, u32>,
}

/// The state of the reader: the vertex data of the file so far, and the meshes built from it.
struct ObjBuilder {
    model: Model,
    positions: Positions,
    /// Vertex colors by zero-based position index, sRGB-encoded. NaN for vertices without a color; vertices after the
    /// last colored one have no entry.
    colors: Vec<Vec3>,
    normals: Vec<Vec3>,
    uvs: Vec<Vec2>,
    /// Meshes under construction in the order of first use, each with its material index and whether its faces are
    /// flat.
    parts: Vec<(usize, bool, ObjPart)>,
    /// Index in `parts`, by material index and whether the faces are flat.
    part_of: HashMap<(usize, bool), usize>,
    libraries: Libraries,
    /// Index in the model of each material, by name. A material that no library has defined yet is grey.
    materials: HashMap<String, usize>,
    /// Names of materials that `usemtl` selected but no library has defined yet.
    waiting: BTreeSet<String>,
    /// Index of the material of the faces that follow; 0 is the default material.
    material: usize,
    /// Smoothing group of the faces that follow; 0 means flat.
    smoothing: u32,
    /// The faces around each position, by zero-based position index and smoothing group.
    around: HashMap<(u32, u32), Around>,
    /// Number of faces read so far.
    faces: u64,
    /// Whether the file has lines.
    has_lines: bool,
    /// Whether the file has free-form curves or surfaces.
    has_free_forms: bool,
    /// Triangles of the current face, as corner indices; reused to save allocations.
    triangles: Vec<[usize; 3]>,
    /// Identities of the current face's vertices; reused to save allocations.
    keys: Vec<Key>,
    /// Indices of the current face's vertices in its mesh; reused to save allocations.
    vertices: Vec<u32>,
    /// The vertex that was last used at each position, by zero-based position index; see [`Recent`].
    recent: Vec<Recent>,
}

/// The vertex of a mesh under construction that was last used at a position. Most faces use it again, which saves the
/// search in [`ObjPart::known`].
#[derive(Clone, Copy)]
struct Recent {
    /// Index in [`ObjBuilder::parts`], or `u32::MAX` if the position has not been used.
    part: u32,
    /// Index of the vertex in the mesh.
    vertex: u32,
    /// Identity of the vertex, besides the position.
    uv: Option<u32>,
    normal: Normal,
}

impl Recent {
    /// The entry of a position that has not been used.
    const NONE: Recent = Recent {
        part: u32::MAX,
        vertex: 0,
        uv: None,
        normal: Normal::Flat,
    };
}

/// Sums over the normals of the faces around a position, each as long as twice the area of its face.
#[derive(Clone, Copy, Default)]
struct Around {
    sum: Vec3,
    /// Sum of the normals, each turned to the side of the first one.
    one_sided: Vec3,
    /// Sum of the lengths.
    length: f32,
    /// Sum of the lengths of normals opposed to the others.
    opposed: f32,
}

impl Around {
    fn add(&mut self, normal: Vec3) {
        let length = normal.length();
        let along = normal.dot(self.one_sided);
        if along < OPPOSED * length * self.one_sided.length() {
            self.opposed += length;
        }
        self.sum += normal;
        self.length += length;
        self.one_sided += if along < 0.0 { -normal } else { normal };
    }

    /// Returns the sum. If the faces are stored twice, once for each side, their sums cancel: then it is the sum of one
    /// side.
    fn normal(self) -> Vec3 {
        match self.opposed > 0.25 * self.length {
            true => self.one_sided,
            false => self.sum,
        }
    }
}

impl ObjBuilder {
    fn new(folder: &Path) -> Self {
        let mut model = Model::default();
        model.materials.push(ModelMaterial::default());
        ObjBuilder {
            model,
            positions: Positions::default(),
            colors: Vec::new(),
            normals: Vec::new(),
            uvs: Vec::new(),
            parts: Vec::new(),
            part_of: HashMap::new(),
            libraries: Libraries::new(folder),
            materials: HashMap::new(),
            waiting: BTreeSet::new(),
            material: 0,
            smoothing: 0,
            around: HashMap::new(),
            faces: 0,
            has_lines: false,
            has_free_forms: false,
            triangles: Vec::new(),
            keys: Vec::new(),
            vertices: Vec::new(),
            recent: Vec::new(),
        }
    }

    /// Processes the next statement of the file: stores vertex data, selects a material, reads libraries or adds a
    /// face. Fails if the statement is invalid or memory does not suffice.
    fn take(&mut self, statement: Statement) -> Result<(), String> {
        match statement {
            Statement::Vertex(position, color) => {
                check_finite(self.positions.len() + 1, position)?;
                if let Some(color) = color {
                    // Earlier vertices may have no color.
                    while self.colors.len() < self.positions.len() {
                        reserve_one(&mut self.colors)?;
                        self.colors.push(Vec3::NAN);
                    }
                    reserve_one(&mut self.colors)?;
                    self.colors.push(color);
                }
                self.positions.push(position)?;
                reserve_one(&mut self.recent)?;
                self.recent.push(Recent::NONE);
            }
            Statement::Normal(normal) => {
                reserve_one(&mut self.normals)?;
                self.normals.push(normal);
            }
            Statement::Uv(uv) => {
                reserve_one(&mut self.uvs)?;
                self.uvs.push(uv);
            }
            Statement::Face(corners) => self.face(corners)?,
            Statement::FaceOfNothing => {
                let text = "left out: {} that name vertex 0, which does not exist";
                self.model.note_count(text, ["face", "faces"], 1);
            }
            Statement::Smoothing(group) => self.smoothing = group,
            Statement::NotShown(kind) => {
                self.has_lines |= matches!(kind, NotShown::Line);
                self.has_free_forms |= matches!(kind, NotShown::CurveOrSurface);
                let names = match kind {
                    NotShown::Line => ["line", "lines"],
                    NotShown::Point => ["point statement", "point statements"],
                    NotShown::CurveOrSurface => ["curve or surface", "curves and surfaces"],
                };
                self.model.note_count("not shown: {}", names, 1);
            }
            Statement::Material(name) => self.material = self.material_named(name),
            Statement::Libraries(names) => {
                for (name, material) in self.libraries.read(names, &mut self.model)? {
                    if self.waiting.remove(&name) {
                        self.model.materials[self.materials[&name]] = material;
                    } else {
                        self.materials.insert(name, self.model.materials.len());
                        self.model.materials.push(material);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the index of the material with this name. A name that is new gets a grey material, which a later library
    /// may define.
    fn material_named(&mut self, name: &str) -> usize {
        if let Some(&material) = self.materials.get(name) {
            return material;
        }
        let material = self.model.materials.len();
        self.model.materials.push(ModelMaterial::default());
        self.materials.insert(name.to_owned(), material);
        self.waiting.insert(name.to_owned());
        material
    }

    /// Triangulates a face and adds it to the mesh of the current material. A face of fewer than three corners is left
    /// out, with a warning. Fails if memory does not suffice.
    fn face(&mut self, corners: &[FaceCorner]) -> Result<(), String> {
        if corners.len() < 3 {
            let names = ["face", "faces"];
            let text = "left out: {} of fewer than three corners";
            self.model.note_count(text, names, 1);
            return Ok(());
        }
        self.faces += 1;
        let mut keys = take(&mut self.keys);
        keys.clear();
        let (mut lost_normals, mut lost_uvs) = (0, 0);
        for corner in corners {
            let normal = match corner.normal_index(self.normals.len()) {
                Attribute::At(number) => Normal::Given(number as u32),
                named => {
                    lost_normals += u64::from(named == Attribute::Missing);
                    match self.smoothing {
                        0 => Normal::Flat,
                        group => Normal::Smooth(group),
                    }
                }
            };
            let uv = corner.uv_index(self.uvs.len());
            lost_uvs += u64::from(uv == Attribute::Missing);
            let uv = uv.index().map(|number| number as u32);
            keys.push((corner.vertex as u32, uv, normal));
        }
        for (count, what) in [(lost_normals, "normals"), (lost_uvs, "texture coordinates")] {
            if count > 0 {
                let text = format!("left out: {what} of {{}}, which the file does not have");
                self.model.note_count(&text, ["corner", "corners"], count);
            }
        }
        // One corner without a normal makes the whole face flat.
        let flat = keys.iter().any(|key| key.2 == Normal::Flat);
        if flat {
            keys.iter_mut().for_each(|key| key.2 = Normal::Flat);
        }
        self.positions.settle()?;
        let positions = self.positions.relative();
        let places = keys.iter();
        let places = places.map(|key| positions[key.0 as usize].as_dvec3());
        polygon::triangles(places, &mut self.triangles);
        for &triangle in &self.triangles {
            let [a, b, c] = triangle.map(|corner| positions[keys[corner].0 as usize]);
            let normal = (b - a).cross(c - a);
            for corner in triangle {
                if let (vertex, _, Normal::Smooth(group)) = keys[corner] {
                    self.around.entry((vertex, group)).or_default().add(normal);
                }
            }
        }
        let place = *self
            .part_of
            .entry((self.material, flat))
            .or_insert_with(|| {
                self.parts.push((self.material, flat, ObjPart::default()));
                self.parts.len() - 1
            });
        let part = &mut self.parts[place].2;
        self.vertices.clear();
        for &key in &keys {
            let (position, uv, normal) = key;
            let recent = &mut self.recent[position as usize];
            if (recent.part, recent.uv, recent.normal) != (place as u32, uv, normal) {
                let at = positions[position as usize];
                let coordinate = uv.map(|uv| self.uvs[uv as usize]);
                *recent = Recent {
                    part: place as u32,
                    vertex: part.vertex(key, at, coordinate)?,
                    uv,
                    normal,
                };
            }
            self.vertices.push(recent.vertex);
        }
        for triangle in &self.triangles {
            reserve_one(&mut part.mesh.triangles)?;
            let triangle = triangle.map(|corner| self.vertices[corner]);
            part.mesh.triangles.push(triangle);
        }
        self.keys = keys;
        Ok(())
    }

    /// Returns the finished model. Fails if the file has no faces. A material that no library defines is only a
    /// warning.
    fn finish(mut self) -> Result<Model, String> {
        if self.faces == 0 {
            return Err(match self.positions.len() == 0 {
                true => "has no faces, expected at least one triangle",
                false if self.has_free_forms => FREE_FORMS,
                false if self.has_lines => LINES,
                false => POINT_CLOUD,
            }
            .to_owned());
        }
        let missing: BTreeSet<usize> = self
            .waiting
            .iter()
            .map(|name| self.materials[name])
            .collect();
        if !missing.is_empty() {
            let names = self.waiting.iter().take(MAX_LISTED);
            let names: Vec<String> = names.map(|name| excerpt(name)).collect();
            self.model.note(format!(
                "shown grey: faces of the materials {}, which no library has",
                names.join(", ")
            ));
        }
        let origin = self.positions.settle()?;
        for (material, flat, part) in take(&mut self.parts) {
            let mut mesh = part.mesh;
            mesh.origin = origin;
            if part.uvs.iter().any(Option::is_some) {
                let flip_v = |uv: &Option<Vec2>| uv.map_or([0.0; 2], flip_v);
                mesh.uvs = Some(part.uvs.iter().map(flip_v).collect());
            }
            if !flat {
                let normal = |(&normal, &vertex): (&Normal, &u32)| match normal {
                    Normal::Given(index) => self.normals[index as usize],
                    Normal::Smooth(group) => self
                        .around
                        .get(&(vertex, group))
                        .map_or(Vec3::ZERO, |around| around.normal()),
                    Normal::Flat => Vec3::ZERO,
                };
                mesh.normals = Some(part.normals.iter().zip(&part.sources).map(normal).collect());
            }
            mesh.colors = self.colors_of(&part.sources)?;
            for left_out in mesh.normalize_attributes() {
                let text = format!("not used: {left_out} that are not finite, of {{}}");
                self.model.note_count(&text, ["mesh", "meshes"], 1);
            }
            let mut material = material;
            // Vertex colors replace a material that is unknown.
            let unknown = material == 0 || missing.contains(&material);
            if mesh.colors.is_some() && unknown {
                material = self.model.materials.len();
                self.model.materials.push(vertex_color_material());
            }
            let mesh = self.model.push_mesh(mesh);
            let material = self.model.with_vertex_colors(mesh, material)?;
            self.model.instances.push(ModelInstance {
                mesh,
                material,
                transform: DAffine3::from_translation(origin),
            });
        }
        Ok(self.model)
    }
}

impl ObjBuilder {
    /// Returns the linear colors, with alpha 1, of the vertices with these position indices in the file. Returns `None`
    /// if one of them has no color, and fails if memory does not suffice.
    fn colors_of(&self, sources: &[u32]) -> Result<Option<Vec<Vec4>>, String> {
        let color = |&vertex: &u32| self.colors.get(vertex as usize).copied();
        if !sources
            .iter()
            .all(|vertex| color(vertex).is_some_and(|color| color.is_finite()))
        {
            return Ok(None);
        }
        let mut colors = vec_with_capacity(sources.len())?;
        colors.extend(sources.iter().filter_map(color).map(linear_color));
        Ok(Some(colors))
    }
}

impl ObjPart {
    /// Returns the index of a vertex in the mesh, adding it with this position and texture coordinate if it is new.
    /// Fails if memory does not suffice.
    fn vertex(&mut self, key: Key, position: Vec3, uv: Option<Vec2>) -> Result<u32, String> {
        if let Some(&vertex) = self.known.get(&key) {
            return Ok(vertex);
        }
        let vertex = self.mesh.positions.len() as u32;
        reserve_one(&mut self.mesh.positions)?;
        self.mesh.positions.push(position);
        reserve_one(&mut self.normals)?;
        self.normals.push(key.2);
        reserve_one(&mut self.uvs)?;
        self.uvs.push(uv);
        reserve_one(&mut self.sources)?;
        self.sources.push(key.0);
        self.known
            .try_reserve(1)
            .map_err(|error| format!("is too large for memory: {error}"))?;
        self.known.insert(key, vertex);
        Ok(vertex)
    }
}
