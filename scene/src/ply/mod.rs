//! Reads PLY files: as a model, or as bare geometry for a `Mesh` object.
//!
//! A model has one mesh, or one mesh per image if faces refer to several images. `header` and `file` read the elements
//! of the file.

mod binary;
mod element;
mod file;
mod header;

use std::{
    collections::{BTreeMap, HashMap},
    io::BufRead,
    path::Path,
};

use glam::{DAffine3, Vec2, Vec3};

use self::{
    element::{Element, Face, Vertex},
    file::PlyFile,
};
use crate::{
    builder::geometry::{Corner, MeshBuilder, check_finite},
    color::linear_color,
    files::{display_path, foreign::NO_FACES, relative_paths::RelativePaths},
    memory::{reserve_one, vec_with_capacity},
    model::{
        Model, ModelInstance, ModelMaterial, ModelMesh, flip_v, polygon, strokes::Strokes,
        vertex_colors::vertex_color_material,
    },
    origin::Positions,
    scene::{Channel, Encoding, MaterialTexture, Parameter, Texture},
};

/// Reads a PLY file of `bytes` bytes as a model. `folder` is the folder of the file, where images that its header names
/// are looked up. The vertices of a file without faces become spheres with the diameter `width` in metres; see
/// [`Model::add_strokes`].
///
/// Fails with a one-line message, without the file's name, if the file is invalid or has no vertices. An image that cannot
/// be read is only a warning.
pub(crate) fn read(
    reader: impl BufRead,
    bytes: u64,
    folder: &Path,
    width: Option<f64>,
) -> Result<Model, String> {
    read_file(PlyFile::open(reader)?, bytes, Some(folder), width)
}

/// Reads the meshes of a PLY file of `bytes` bytes in one material, without the images that its header names. They keep the
/// vertex colors of the file, which the material does not show. Fails with a one-line message, without the file's name,
/// if the file is invalid or has no faces.
pub(crate) fn read_geometry(reader: impl BufRead, bytes: u64) -> Result<Model, String> {
    let file = PlyFile::open(reader)?;
    match file.is_point_cloud {
        true => Err("is a point cloud, which has no faces; make a mesh of it".to_owned()),
        false => read_file(file, bytes, None, None),
    }
}

/// Reads the elements of a PLY file; see [`read`] and, without a folder, [`read_geometry`].
fn read_file(
    mut file: PlyFile<impl BufRead>,
    bytes: u64,
    folder: Option<&Path>,
    width: Option<f64>,
) -> Result<Model, String> {
    let (vertices, triangles) = file.expected_counts(bytes);
    let when = |condition: bool, count: usize| if condition { count } else { 0 };
    let mut builder = PlyBuilder {
        has_face_attributes: file.has_face_attributes,
        has_face_uvs: file.has_face_uvs,
        images: file.images.len(),
        shared: Vertices {
            positions: Positions::with_capacity(vertices)?,
            normals: vec_with_capacity(when(file.has_normals, vertices))?,
            uvs: vec_with_capacity(when(file.has_uvs, vertices))?,
            colors: Vec::new(),
            has_normals: file.has_normals,
            has_uvs: file.has_uvs,
        },
        triangles: vec_with_capacity(when(!file.has_face_attributes, triangles))?,
        ..PlyBuilder::default()
    };
    file.read(|element| match element {
        Element::Vertex(vertex) => {
            builder.brightest = builder.brightest.max(vertex.color.max_element());
            builder.shared.push(vertex)
        }
        Element::Face(face) => builder.face(face),
    })?;
    let (mut model, points) = match file.is_point_cloud {
        true => builder.points()?,
        false => {
            let model = match folder {
                Some(folder) => {
                    builder.model(&file.images, Some(&mut RelativePaths::new(folder)))?
                }
                None => builder.model(&[], None)?,
            };
            (model, Vec::new())
        }
    };
    model.add_strokes(points, width)?;
    file.note_unused(&mut model);
    Ok(model)
}

/// Reads the vertices and faces of a PLY file into `mesh`, which keeps normals and texture coordinates only if
/// `mesh.attributes` is set. Fails with a one-line message, without the file's name.
pub(crate) fn read_mesh(reader: impl BufRead, mesh: &mut MeshBuilder) -> Result<(), String> {
    let mut at: Vec<Corner> = Vec::new();
    let mut file = PlyFile::open(reader)?;
    if file.is_point_cloud {
        return Err(NO_FACES.to_owned());
    }
    file.read(|element| match element {
        Element::Vertex(vertex) => {
            if mesh.attributes {
                reserve_one(&mut at)?;
                at.push(Corner {
                    normal: vertex.normal,
                    uv: flip_v(vertex.uv),
                });
            }
            mesh.push_vertex(vertex.position)
        }
        Element::Face(face) => {
            mesh.push_face(face.corners.iter().enumerate().map(|(corner, &index)| {
                let at = usize::try_from(index).ok().and_then(|index| at.get(index));
                let mut at = at.copied().unwrap_or(Corner::BARE);
                if let Some(&uv) = face.uvs.get(corner) {
                    at.uv = flip_v(uv);
                }
                (index, at)
            }))
        }
    })
}

/// Vertex attributes in lists of equal length, except that `colors` may be shorter. Components that the file does not
/// give are NaN.
#[derive(Default)]
struct Vertices {
    positions: Positions,
    /// Empty unless `has_normals`.
    normals: Vec<Vec3>,
    /// Empty unless `has_uvs`.
    uvs: Vec<[f32; 2]>,
    /// sRGB-encoded, with the white of the file; see [`PlyBuilder::white`].
    colors: Vec<Vec3>,
    /// Whether vertices have normals.
    has_normals: bool,
    /// Whether vertices have texture coordinates.
    has_uvs: bool,
}

/// A mesh under construction: the faces that show one image, or none, with their own copies of the file's vertices.
#[derive(Default)]
struct PlyPart {
    vertices: Vertices,
    triangles: Vec<[u32; 3]>,
    /// Index in `vertices` of each copied vertex. The key is its index in the file, and the bits of the face's texture
    /// coordinate and color.
    known: HashMap<(u32, [u32; 5]), u32>,
}

/// A builder that receives the vertices and faces of a file and makes a model of them.
#[derive(Default)]
struct PlyBuilder {
    /// Whether faces have attributes of their own. If not, `parts` stays empty until the end.
    has_face_attributes: bool,
    /// Number of images that the header names.
    images: usize,
    /// All vertices of the file, in its order, which faces share.
    shared: Vertices,
    /// Triangles as indices into `shared`; empty if faces have attributes of their own.
    triangles: Vec<[u32; 3]>,
    /// Meshes under construction by zero-based image index; the one with `None` has the faces without an image. Until
    /// the end it is empty if `has_face_attributes` is `false`.
    parts: BTreeMap<Option<usize>, PlyPart>,
    /// Number of faces read so far.
    faces: u64,
    /// Number of faces of fewer than three corners, which are left out.
    short_faces: u64,
    /// Whether faces have texture coordinates of their own.
    has_face_uvs: bool,
    /// Largest component of the colors so far.
    brightest: f32,
    /// Zero-based vertex indices of the face that is being added.
    corners: Vec<u32>,
    /// Triangles of the face that is being added, as indices into `corners`.
    face_triangles: Vec<[usize; 3]>,
}

impl Vertices {
    /// Adds a vertex of the file. Fails if its position is not finite or memory does not suffice.
    fn push(&mut self, vertex: &Vertex) -> Result<(), String> {
        check_finite(self.positions.len() + 1, vertex.position)?;
        self.positions.push(vertex.position)?;
        if self.has_normals {
            reserve_one(&mut self.normals)?;
            self.normals.push(vertex.normal);
        }
        if self.has_uvs {
            reserve_one(&mut self.uvs)?;
            self.uvs.push(flip_v(vertex.uv));
        }
        if vertex.color.is_finite() || !self.colors.is_empty() {
            reserve_one(&mut self.colors)?;
            self.colors.push(vertex.color);
        }
        Ok(())
    }

    /// Adds a copy of vertex `vertex` of `from` and returns its index. `uv` replaces its texture coordinates unless it
    /// is `None`; it has v upwards and is stored with v downwards. `color`, a face color, is used if the vertex has
    /// none. A `color` that is not finite means none.
    ///
    /// Fails if memory does not suffice.
    fn copy(
        &mut self,
        from: &Vertices,
        vertex: usize,
        uv: Option<Vec2>,
        color: Vec3,
    ) -> Result<u32, String> {
        let number = self.positions.len() as u32;
        self.positions.copy(&from.positions, vertex)?;
        let own = |uvs: &[[f32; 2]]| uvs.get(vertex).copied().unwrap_or([f32::NAN; 2]);
        if let Some(&normal) = from.normals.get(vertex) {
            reserve_one(&mut self.normals)?;
            self.normals.push(normal);
        }
        reserve_one(&mut self.uvs)?;
        self.uvs.push(uv.map_or(own(&from.uvs), flip_v));
        // Vertex colors are finer than face colors.
        let own = from.colors.get(vertex).copied();
        if own.is_some() || color.is_finite() {
            reserve_one(&mut self.colors)?;
            self.colors.push(own.unwrap_or(color));
        }
        Ok(number)
    }

    /// Makes a mesh of the vertices and these triangles. It has normals and texture coordinates if at least one vertex
    /// has them, and colors if all vertices have one. `white` is the value that means 1 in a color. Fails if memory does
    /// not suffice.
    fn mesh(self, triangles: Vec<[u32; 3]>, white: f32) -> Result<ModelMesh, String> {
        let Vertices {
            positions,
            normals,
            uvs,
            colors,
            ..
        } = self;
        let (positions, origin) = positions.into_parts()?;
        let known = |normals: &Vec<Vec3>| normals.iter().any(|normal| !normal.is_nan());
        let laid = |uvs: &Vec<[f32; 2]>| uvs.as_flattened().iter().any(|uv| !uv.is_nan());
        let colors = if !colors.is_empty() && colors.len() == positions.len() {
            let mut linear = vec_with_capacity(colors.len())?;
            linear.extend(colors.iter().map(|&color| linear_color(color / white)));
            Some(linear)
        } else {
            None
        };
        Ok(ModelMesh {
            origin,
            normals: Some(normals).filter(known),
            uvs: Some(uvs).filter(laid),
            colors,
            positions,
            triangles,
            ..ModelMesh::default()
        })
    }
}

impl PlyBuilder {
    /// Triangulates a face and adds it to `triangles` or, if faces have attributes of their own, to the part of its
    /// image.
    ///
    /// A face of fewer than three corners is left out. Fails if an index is invalid or memory does not suffice.
    fn face(&mut self, face: &Face) -> Result<(), String> {
        self.faces += 1;
        let faces = self.faces;
        if face.corners.len() < 3 {
            self.short_faces += 1;
            return Ok(());
        }
        let count = self.shared.positions.len();
        let known = 0..count.min(u32::MAX as usize) as i64;
        self.corners.clear();
        for &index in &face.corners {
            if !known.contains(&index) {
                return Err(format!(
                    "face {faces} names vertex {index} (from 0), but there are {count} vertices"
                ));
            }
            self.corners.push(index as u32);
        }
        // Most faces are triangles without attributes of their own.
        if let [a, b, c] = self.corners[..]
            && !self.has_face_attributes
        {
            reserve_one(&mut self.triangles)?;
            self.triangles.push([a, b, c]);
            return Ok(());
        }
        self.shared.positions.settle()?;
        let positions = self.shared.positions.relative();
        let places = self.corners.iter();
        let places = places.map(|&vertex| positions[vertex as usize].as_dvec3());
        polygon::triangles(places, &mut self.face_triangles);
        if !self.has_face_attributes {
            for triangle in &self.face_triangles {
                reserve_one(&mut self.triangles)?;
                let triangle = triangle.map(|corner| self.corners[corner]);
                self.triangles.push(triangle);
            }
            return Ok(());
        }
        self.brightest = self.brightest.max(face.color.max_element());
        let image = usize::try_from(face.image).ok();
        // A face without texture coordinates shows no image.
        let laid = !(self.has_face_uvs && face.uvs.is_empty()) || self.shared.has_uvs;
        let image = image.filter(|&image| image < self.images && laid);
        let part = self.parts.entry(image).or_default();
        for (corner, vertex) in self.corners.iter_mut().enumerate() {
            let uv = face.uvs.get(corner).copied();
            *vertex = part.vertex(&self.shared, *vertex, uv, face.color)?;
        }
        for triangle in &self.face_triangles {
            reserve_one(&mut part.triangles)?;
            let triangle = triangle.map(|corner| self.corners[corner]);
            part.triangles.push(triangle);
        }
        Ok(())
    }

    /// Returns the value that means 1 in a color. Numbers that are not bytes are 0 to 1 in most files, a little brighter in
    /// some, and 0 to 255 or 65535 in others, which shows at the brightest.
    fn white(&self) -> f32 {
        match self.brightest {
            ..16.0 => 1.0,
            16.0..256.0 => 255.0,
            _ => 65535.0,
        }
    }

    /// Makes a model without meshes, and points of all vertices. Fails if memory does not suffice.
    fn points(self) -> Result<(Model, Vec<Strokes>), String> {
        let white = self.white();
        let mut vertices = self.shared.mesh(Vec::new(), white)?;
        (vertices.normals, vertices.uvs) = (None, None);
        let mut model = Model::default();
        for left_out in vertices.normalize_attributes() {
            model.note(format!("not used: {left_out} that are not finite"));
        }
        model.materials.push(match vertices.colors.is_some() {
            true => vertex_color_material(),
            false => ModelMaterial::default(),
        });
        let count = vertices.positions.len();
        let mut segments = vec_with_capacity(count)?;
        segments.extend((0..count as u32).map(|point| [point; 2]));
        let points = Strokes {
            vertices,
            segments,
            material: 0,
        };
        Ok((model, vec![points]))
    }

    /// Makes a model of everything received. `images` are the names of its images, which `relative_paths` looks up. If
    /// that is `None`, materials show neither images nor vertex colors.
    /// Fails if there are no faces; an image that cannot be read is only a warning.
    fn model(
        mut self,
        images: &[String],
        mut relative_paths: Option<&mut RelativePaths>,
    ) -> Result<Model, String> {
        let white = self.white();
        if !self.has_face_attributes {
            let whole = PlyPart {
                vertices: self.shared,
                triangles: self.triangles,
                ..PlyPart::default()
            };
            let image = (!images.is_empty()).then_some(0);
            self.parts.insert(image, whole);
        }
        self.parts.retain(|_, part| !part.triangles.is_empty());
        if self.parts.is_empty() {
            return Err("has no faces, expected at least one triangle".to_owned());
        }
        let mut model = Model::default();
        let text = "left out: {} of fewer than three corners";
        model.note_count(text, ["face", "faces"], self.short_faces);
        for (image, part) in self.parts {
            let mut mesh = part.vertices.mesh(part.triangles, white)?;
            for left_out in mesh.normalize_attributes() {
                let text = format!("not used: {left_out} that are not finite, of {{}}");
                model.note_count(&text, ["mesh", "meshes"], 1);
            }
            // An image needs texture coordinates.
            let image = image.filter(|_| mesh.uvs.is_some());
            let image = image.zip(relative_paths.as_deref_mut());
            let image =
                image.and_then(|(image, paths)| shown_image(&images[image], paths, &mut model));
            let mut material = match mesh.colors.is_some() || image.is_some() {
                true => vertex_color_material(),
                false => ModelMaterial::default(),
            };
            if let Some(image) = image {
                // Photogrammetry images already contain the color.
                mesh.colors = None;
                let texture = Texture::new(image, Encoding::Srgb);
                let map = MaterialTexture {
                    texture: model.library.add_texture(texture),
                    channel: Channel::Red,
                };
                material.maps.textures.insert(Parameter::Color, map);
            }
            let material_number = model.materials.len();
            model.materials.push(material);
            let place = mesh.placed(DAffine3::IDENTITY);
            let mesh = model.push_mesh(mesh);
            let material = match relative_paths {
                Some(_) => model.with_vertex_colors(mesh, material_number)?,
                None => material_number,
            };
            model.instances.push(ModelInstance {
                mesh,
                material,
                transform: place,
            });
        }
        Ok(model)
    }
}

/// Opens the image with this file name and returns its index in the model's library. Returns `None`, with a warning in
/// `model`, if it cannot be read.
fn shown_image(name: &str, relative_paths: &mut RelativePaths, model: &mut Model) -> Option<u32> {
    let opened = relative_paths
        .find_by_last_component(name)
        .and_then(|path| {
            let image = model.library.open(&path);
            image.map_err(|problem| format!("{}: {problem}", display_path(&path)))
        });
    opened
        .map_err(|problem| model.note(format!("shown without its image: {problem}")))
        .ok()
}

impl PlyPart {
    /// Returns the index, within this part, of vertex `vertex` of the file with a face's own texture coordinates and
    /// color. A combination that was not used before is added.
    ///
    /// Fails if memory does not suffice.
    fn vertex(
        &mut self,
        shared: &Vertices,
        vertex: u32,
        uv: Option<Vec2>,
        color: Vec3,
    ) -> Result<u32, String> {
        let [u, v] = uv.unwrap_or(Vec2::NAN).to_array();
        let [r, g, b] = color.to_array();
        let key = (vertex, [u, v, r, g, b].map(f32::to_bits));
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let number = self.vertices.copy(shared, vertex as usize, uv, color)?;
        self.known
            .try_reserve(1)
            .map_err(|error| format!("is too large for memory: {error}"))?;
        self.known.insert(key, number);
        Ok(number)
    }
}
