//! A PLY file as a model: one mesh, or one for each of its images.

use std::{
    collections::{BTreeMap, HashMap},
    io::BufRead,
    path::Path,
};

use glam::{DAffine3, Vec2, Vec3, Vec4};

use super::{
    beside::Beside,
    from_top, linear, painted,
    ply::{Element, Face, File, Vertex},
    polygon,
};
use crate::scene::{
    Channel, Encoding, Map, Parameter, Texture,
    geometry::{check_finite, make_room},
    model::{Model, ModelInstance, ModelMaterial, ModelMesh},
    source::shown,
};

/// Reads a file in that folder.
pub(super) fn read(reader: impl BufRead, folder: &Path) -> Result<Model, String> {
    let mut file = File::open(reader)?;
    let mut reading = Reading {
        faces_differ: file.faces_differ,
        images: file.images.len(),
        ..Reading::default()
    };
    file.read(|element| match element {
        Element::Vertex(vertex) => reading.shared.push(vertex),
        Element::Face(face) => reading.face(face),
    })?;
    reading.model(&file.images, &mut Beside::new(folder))
}

/// Vertices; what a file does not give is NaN, and of colours may be missing at the end.
#[derive(Default)]
struct Vertices {
    positions: Vec<Vec3>,
    normals: Vec<Vec3>,
    uvs: Vec<[f32; 2]>,
    colors: Vec<Vec4>,
}

/// Faces that show one image, or none, with vertices of their own.
#[derive(Default)]
struct Part {
    vertices: Vertices,
    triangles: Vec<[u32; 3]>,
    /// By index in the file, and the bits of what the face says of it.
    known: HashMap<(u32, [u32; 5]), u32>,
}

#[derive(Default)]
struct Reading {
    faces_differ: bool,
    /// How many there are.
    images: usize,
    shared: Vertices,
    /// Of the shared vertices.
    triangles: Vec<[u32; 3]>,
    /// By their image; those without come first.
    parts: BTreeMap<Option<usize>, Part>,
    faces: u64,
    /// Of the face that is read: its vertices, and its triangles by its corners.
    corners: Vec<u32>,
    cut: Vec<[usize; 3]>,
}

impl Vertices {
    fn push(&mut self, vertex: &Vertex) -> Result<(), String> {
        check_finite(self.positions.len() + 1, vertex.position)?;
        make_room(&mut self.positions)?;
        self.positions.push(vertex.position.as_vec3());
        make_room(&mut self.normals)?;
        self.normals.push(vertex.normal);
        make_room(&mut self.uvs)?;
        self.uvs.push(from_top(vertex.uv));
        if vertex.color.is_finite() || !self.colors.is_empty() {
            make_room(&mut self.colors)?;
            self.colors.push(linear(vertex.color));
        }
        Ok(())
    }

    /// Adds one of another list's, with what a face says of it.
    fn copy(
        &mut self,
        from: &Vertices,
        vertex: usize,
        uv: Option<Vec2>,
        color: Vec3,
    ) -> Result<u32, String> {
        let number = self.positions.len() as u32;
        make_room(&mut self.positions)?;
        self.positions.push(from.positions[vertex]);
        make_room(&mut self.normals)?;
        self.normals.push(from.normals[vertex]);
        make_room(&mut self.uvs)?;
        self.uvs.push(uv.map_or(from.uvs[vertex], from_top));
        // The vertices' own are finer.
        let own = from.colors.get(vertex).copied();
        if own.is_some() || color.is_finite() {
            make_room(&mut self.colors)?;
            self.colors.push(own.unwrap_or_else(|| linear(color)));
        }
        Ok(number)
    }

    fn mesh(self, triangles: Vec<[u32; 3]>) -> ModelMesh {
        let Vertices {
            positions,
            normals,
            uvs,
            colors,
        } = self;
        let known = |normals: &Vec<Vec3>| normals.iter().any(|normal| !normal.is_nan());
        let laid = |uvs: &Vec<[f32; 2]>| uvs.as_flattened().iter().any(|uv| !uv.is_nan());
        ModelMesh {
            normals: Some(normals).filter(known),
            uvs: Some(uvs).filter(laid),
            colors: Some(colors).filter(|colors| colors.len() == positions.len()),
            positions,
            triangles,
            ..ModelMesh::default()
        }
    }
}

impl Reading {
    fn face(&mut self, face: &Face) -> Result<(), String> {
        self.faces += 1;
        let faces = self.faces;
        if face.corners.len() < 3 {
            let count = face.corners.len();
            return Err(format!(
                "face {faces} has {count} corners, expected 3 or more"
            ));
        }
        let count = self.shared.positions.len();
        self.corners.clear();
        for &index in &face.corners {
            let vertex = u32::try_from(index).ok();
            let vertex = vertex.filter(|&vertex| (vertex as usize) < count);
            self.corners.push(vertex.ok_or_else(|| {
                format!(
                    "face {faces} names vertex {index} (from 0), but there are {count} vertices"
                )
            })?);
        }
        let places = self.corners.iter();
        let places = places.map(|&vertex| self.shared.positions[vertex as usize].as_dvec3());
        polygon::triangles(places, &mut self.cut);
        if !self.faces_differ {
            for triangle in &self.cut {
                make_room(&mut self.triangles)?;
                let triangle = triangle.map(|corner| self.corners[corner]);
                self.triangles.push(triangle);
            }
            return Ok(());
        }
        let image = usize::try_from(face.image).ok();
        let image = image.filter(|&image| image < self.images);
        let part = self.parts.entry(image).or_default();
        for (corner, vertex) in self.corners.iter_mut().enumerate() {
            let uv = face.uvs.get(corner).copied();
            *vertex = part.vertex(&self.shared, *vertex, uv, face.color)?;
        }
        for triangle in &self.cut {
            make_room(&mut part.triangles)?;
            let triangle = triangle.map(|corner| self.corners[corner]);
            part.triangles.push(triangle);
        }
        Ok(())
    }

    fn model(mut self, images: &[String], beside: &mut Beside) -> Result<Model, String> {
        if !self.faces_differ {
            let whole = Part {
                vertices: self.shared,
                triangles: self.triangles,
                ..Part::default()
            };
            let image = (!images.is_empty()).then_some(0);
            self.parts.insert(image, whole);
        }
        self.parts.retain(|_, part| !part.triangles.is_empty());
        if self.parts.is_empty() {
            return Err("has no faces, expected at least one triangle".to_owned());
        }
        let mut model = Model::default();
        for (image, part) in self.parts {
            let mut mesh = part.vertices.mesh(part.triangles);
            for left_out in mesh.settle() {
                model.note(format!("not used: {left_out} that are not finite"));
            }
            // By coordinates that are not there an image shows nothing.
            let image = image.filter(|_| mesh.uvs.is_some());
            let image = image.and_then(|image| shown_image(&images[image], beside, &mut model));
            let mut material = match mesh.colors.is_some() || image.is_some() {
                true => painted(),
                false => ModelMaterial::default(),
            };
            if let Some(image) = image {
                // It is the colour, with the light that fell on it.
                mesh.colors = None;
                let texture = Texture::new(image, Encoding::Srgb);
                let map = Map {
                    texture: model.library.texture(texture),
                    channel: Channel::Red,
                };
                material.maps.textures.insert(Parameter::Color, map);
            }
            let material_number = model.materials.len();
            model.materials.push(material);
            let mesh = model.push_mesh(mesh);
            let material = model.tinted(mesh, material_number)?;
            model.instances.push(ModelInstance {
                mesh,
                material,
                transform: DAffine3::IDENTITY,
            });
        }
        Ok(model)
    }
}

/// The number of an image in the library. One that cannot be read is left out, and told.
fn shown_image(name: &str, beside: &mut Beside, model: &mut Model) -> Option<u32> {
    let opened = beside.file_or_last(name).and_then(|path| {
        let image = model.library.open(&path);
        image.map_err(|problem| format!("{}: {problem}", shown(&path)))
    });
    opened
        .map_err(|problem| model.note(format!("shown without its image: {problem}")))
        .ok()
}

impl Part {
    /// The number here of one of the file's vertices, as a face shows it.
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
