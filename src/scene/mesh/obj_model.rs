//! An OBJ file as a model: its faces by material, each with the normals and texture coordinates that they name.

use std::{
    collections::{BTreeSet, HashMap},
    io::BufRead,
    mem::take,
    path::Path,
};

use glam::{DAffine3, Vec2, Vec3, Vec4};

use super::{
    from_top, linear,
    mtl::Libraries,
    obj::{self, Corner, Statement},
    painted, polygon,
};
use crate::scene::{
    geometry::{check_finite, make_room},
    model::{Model, ModelInstance, ModelMaterial, ModelMesh, room},
    source::excerpt,
};

pub(super) fn read(reader: &mut impl BufRead, folder: &Path) -> Result<Model, String> {
    let mut reading = Reading::new(folder);
    obj::read(reader, |statement| reading.take(statement))?;
    reading.finish()
}

/// Missing materials that are told by name.
const MOST_NAMED: usize = 8;

/// How a corner's normal comes about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Normal {
    /// From the triangle.
    Flat,
    /// One of the file's.
    Given(u32),
    /// From all faces of a smoothing group around the vertex.
    Smooth(u32),
}

/// Vertices that differ in any of these are different ones.
type Key = (u32, Option<u32>, Normal);

/// Faces of one material, flat or not.
#[derive(Default)]
struct Part {
    mesh: ModelMesh,
    normals: Vec<Normal>,
    uvs: Vec<Option<Vec2>>,
    /// Index in the file of each vertex.
    sources: Vec<u32>,
    known: HashMap<Key, u32>,
}

struct Reading {
    model: Model,
    positions: Vec<Vec3>,
    /// Of the vertices up to the last that has one; NaN where there is none.
    colors: Vec<Vec3>,
    normals: Vec<Vec3>,
    uvs: Vec<Vec2>,
    /// By material, and whether it is flat; in the file's order.
    parts: Vec<(usize, bool, Part)>,
    part_of: HashMap<(usize, bool), usize>,
    libraries: Libraries,
    /// By name; those that no library had yet are grey until one has.
    materials: HashMap<String, usize>,
    waiting: BTreeSet<String>,
    material: usize,
    smoothing: u32,
    /// Sum of the normals around a vertex, weighted by area, by smoothing group.
    around: HashMap<(u32, u32), Vec3>,
    faces: u64,
    /// Of the face that is read, by its corners.
    triangles: Vec<[usize; 3]>,
}

impl Reading {
    fn new(folder: &Path) -> Self {
        let mut model = Model::default();
        model.materials.push(ModelMaterial::default());
        Reading {
            model,
            positions: Vec::new(),
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
            triangles: Vec::new(),
        }
    }

    fn take(&mut self, statement: Statement) -> Result<(), String> {
        match statement {
            Statement::Vertex(position, color) => {
                check_finite(self.positions.len() + 1, position)?;
                if let Some(color) = color {
                    // Those before it may have none.
                    while self.colors.len() < self.positions.len() {
                        make_room(&mut self.colors)?;
                        self.colors.push(Vec3::NAN);
                    }
                    make_room(&mut self.colors)?;
                    self.colors.push(color);
                }
                make_room(&mut self.positions)?;
                self.positions.push(position.as_vec3());
            }
            Statement::Normal(normal) => {
                make_room(&mut self.normals)?;
                self.normals.push(normal);
            }
            Statement::Uv(uv) => {
                make_room(&mut self.uvs)?;
                self.uvs.push(uv);
            }
            Statement::Face(corners) => self.face(corners)?,
            Statement::Smoothing(group) => self.smoothing = group,
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

    fn face(&mut self, corners: &[Corner]) -> Result<(), String> {
        self.faces += 1;
        if corners.len() < 3 {
            return Err(format!(
                "face {} has {} corners, expected 3 or more",
                self.faces,
                corners.len()
            ));
        }
        let mut keys: Vec<Key> = Vec::with_capacity(corners.len());
        for corner in corners {
            let normal = match corner.normal_number(self.normals.len())? {
                Some(number) => Normal::Given(number as u32),
                None if self.smoothing != 0 => Normal::Smooth(self.smoothing),
                None => Normal::Flat,
            };
            let uv = corner.uv_number(self.uvs.len())?;
            let uv = uv.map(|number| number as u32);
            keys.push((corner.vertex as u32, uv, normal));
        }
        // A face is flat as a whole.
        let flat = keys.iter().any(|key| key.2 == Normal::Flat);
        if flat {
            keys.iter_mut().for_each(|key| key.2 = Normal::Flat);
        }
        let places = keys.iter();
        let places = places.map(|key| self.positions[key.0 as usize].as_dvec3());
        polygon::triangles(places, &mut self.triangles);
        for &triangle in &self.triangles {
            let [a, b, c] = triangle.map(|corner| self.positions[keys[corner].0 as usize]);
            let normal = (b - a).cross(c - a);
            for corner in triangle {
                if let (vertex, _, Normal::Smooth(group)) = keys[corner] {
                    *self.around.entry((vertex, group)).or_default() += normal;
                }
            }
        }
        let place = *self
            .part_of
            .entry((self.material, flat))
            .or_insert_with(|| {
                self.parts.push((self.material, flat, Part::default()));
                self.parts.len() - 1
            });
        let part = &mut self.parts[place].2;
        let mut vertices = Vec::with_capacity(keys.len());
        for key in keys {
            let uv = key.1.map(|uv| self.uvs[uv as usize]);
            vertices.push(part.vertex(key, self.positions[key.0 as usize], uv)?);
        }
        for triangle in &self.triangles {
            make_room(&mut part.mesh.triangles)?;
            let triangle = triangle.map(|corner| vertices[corner]);
            part.mesh.triangles.push(triangle);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Model, String> {
        if self.faces == 0 {
            return Err("has no faces, expected at least one triangle".to_owned());
        }
        let missing: BTreeSet<usize> = self
            .waiting
            .iter()
            .map(|name| self.materials[name])
            .collect();
        if !missing.is_empty() {
            let names = self.waiting.iter().take(MOST_NAMED);
            let names: Vec<String> = names.map(|name| excerpt(name)).collect();
            self.model.note(format!(
                "shown grey: faces of the materials {}, which no library has",
                names.join(", ")
            ));
        }
        for (material, flat, part) in take(&mut self.parts) {
            let mut mesh = part.mesh;
            if part.uvs.iter().any(Option::is_some) {
                let from_top = |uv: &Option<Vec2>| uv.map_or([0.0; 2], from_top);
                mesh.uvs = Some(part.uvs.iter().map(from_top).collect());
            }
            if !flat {
                let normal = |(&normal, &vertex): (&Normal, &u32)| match normal {
                    Normal::Given(index) => self.normals[index as usize],
                    Normal::Smooth(group) => self
                        .around
                        .get(&(vertex, group))
                        .copied()
                        .unwrap_or_default(),
                    Normal::Flat => Vec3::ZERO,
                };
                mesh.normals = Some(part.normals.iter().zip(&part.sources).map(normal).collect());
            }
            mesh.colors = self.colors_of(&part.sources)?;
            for left_out in mesh.settle() {
                self.model
                    .note(format!("not used: {left_out} that are not finite"));
            }
            let mut material = material;
            // Without a material the surface has but its colours.
            let unknown = material == 0 || missing.contains(&material);
            if mesh.colors.is_some() && unknown {
                material = self.model.materials.len();
                self.model.materials.push(painted());
            }
            let mesh = self.model.push_mesh(mesh);
            let material = self.model.tinted(mesh, material)?;
            self.model.instances.push(ModelInstance {
                mesh,
                material,
                transform: DAffine3::IDENTITY,
            });
        }
        Ok(self.model)
    }
}

impl Reading {
    /// The colours of so many vertices of a mesh, if each has one.
    fn colors_of(&self, sources: &[u32]) -> Result<Option<Vec<Vec4>>, String> {
        let color = |&vertex: &u32| self.colors.get(vertex as usize).copied();
        if !sources
            .iter()
            .all(|vertex| color(vertex).is_some_and(|color| color.is_finite()))
        {
            return Ok(None);
        }
        let mut colors = room(sources.len())?;
        colors.extend(sources.iter().filter_map(color).map(linear));
        Ok(Some(colors))
    }
}

impl Part {
    fn vertex(&mut self, key: Key, position: Vec3, uv: Option<Vec2>) -> Result<u32, String> {
        if let Some(&vertex) = self.known.get(&key) {
            return Ok(vertex);
        }
        let vertex = self.mesh.positions.len() as u32;
        make_room(&mut self.mesh.positions)?;
        self.mesh.positions.push(position);
        make_room(&mut self.normals)?;
        self.normals.push(key.2);
        make_room(&mut self.uvs)?;
        self.uvs.push(uv);
        make_room(&mut self.sources)?;
        self.sources.push(key.0);
        self.known
            .try_reserve(1)
            .map_err(|error| format!("is too large for memory: {error}"))?;
        self.known.insert(key, vertex);
        Ok(vertex)
    }
}
