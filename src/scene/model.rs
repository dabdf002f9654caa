//! A model: meshes, where they stand and what they are made of, as a file gives them.

use std::mem::take;

use glam::{DAffine3, DVec3, Vec3, Vec4};

use super::{Light, Maps, Mesh, Surface, memory, source::MAX_LENGTH, tangents, texture::Library};

/// What a glTF, OBJ or PLY file holds.
#[derive(Default)]
pub(super) struct Model {
    pub(super) meshes: Vec<ModelMesh>,
    pub(super) instances: Vec<ModelInstance>,
    /// At least those that the instances name.
    pub(super) materials: Vec<ModelMaterial>,
    /// What the materials' maps look at.
    pub(super) library: Library,
    /// The first one that has a picture.
    pub(super) camera: Option<ModelCamera>,
    pub(super) lights: Vec<ModelLight>,
    /// What the reader should know though it is no error, a line each.
    pub(super) notes: Vec<String>,
}

/// Triangles that share vertices. Every position is finite, every index leads to one, and what is given for the vertices
/// is given for each.
#[derive(Default)]
pub(super) struct ModelMesh {
    pub(super) positions: Vec<Vec3>,
    /// Of length 1; without them the triangles are flat.
    pub(super) normals: Option<Vec<Vec3>>,
    /// (0, 0) is the upper left of an image.
    pub(super) uvs: Option<Vec<[f32; 2]>>,
    /// A second set of them.
    pub(super) second_uvs: Option<Vec<[f32; 2]>>,
    /// Along growing u, of length 1; the last is the side of the bitangent, 1 or -1.
    pub(super) tangents: Option<Vec<[f32; 4]>>,
    /// Linear sRGB, by which a material's colour is multiplied, and its opacity by the last.
    pub(super) colors: Option<Vec<Vec4>>,
    /// Counter-clockwise from the front.
    pub(super) triangles: Vec<[u32; 3]>,
    /// The material of each triangle, of one that was gathered of several; else none, and instances say it.
    pub(super) parts: Vec<u32>,
    /// Corners of the box around it.
    pub(super) bounds: (Vec3, Vec3),
    /// Its number in the scene, where its vertices went to.
    pub(super) number: Option<u32>,
    /// The texture that its colours became.
    pub(super) own_texture: Option<u32>,
    /// Materials, and what its colours make of them.
    pub(super) tints: Vec<(usize, usize)>,
}

/// A mesh somewhere.
#[derive(Clone, Copy)]
pub(super) struct ModelInstance {
    pub(super) mesh: usize,
    pub(super) material: usize,
    /// Finite; with an inverse, once flat ones are laid where they are.
    pub(super) transform: DAffine3,
}

/// What a surface is made of, and the textures on it.
#[derive(Clone, Debug)]
pub(super) struct ModelMaterial {
    /// Empty if it has none.
    pub(super) name: String,
    pub(super) surface: Surface,
    pub(super) maps: Maps,
    /// Whether the alpha of its colours says what it hides.
    pub(super) veiled: bool,
}

impl Default for ModelMaterial {
    /// What a surface without a material is made of: a light grey.
    fn default() -> Self {
        Surface::Diffuse {
            albedo: Vec3::splat(0.8),
            one_sided: false,
        }
        .into()
    }
}

impl From<Surface> for ModelMaterial {
    /// Without textures.
    fn from(surface: Surface) -> Self {
        ModelMaterial {
            name: String::new(),
            surface,
            maps: Maps::default(),
            veiled: false,
        }
    }
}

/// A camera without a lens that looks along its own -z, y up.
#[derive(Clone, Copy)]
pub(super) struct ModelCamera {
    pub(super) transform: DAffine3,
    pub(super) view: ModelView,
    /// Width over height of its picture.
    pub(super) aspect_ratio: Option<f64>,
}

/// How much a camera sees.
#[derive(Clone, Copy)]
pub(super) enum ModelView {
    /// Vertical angle of view, radians.
    Perspective { yfov: f64 },
    /// Half of what it sees from bottom to top, metres.
    Orthographic { half_height: f64 },
}

/// A light without size.
#[derive(Clone, Copy)]
pub(super) struct ModelLight {
    /// It stands at the origin and shines along -z.
    pub(super) transform: DAffine3,
    /// Of a point or spot its intensity, of a directional its irradiance; linear sRGB.
    pub(super) strength: Vec3,
    pub(super) kind: LightKind,
}

/// How a light shines.
#[derive(Clone, Copy)]
pub(super) enum LightKind {
    Point,
    /// Half-angles of the cone in which it is brightest, and of the one that it does not leave; radians.
    Spot {
        inner: f64,
        outer: f64,
    },
    Directional,
}

impl ModelLight {
    /// The light where the model stands. `Err` if that is too far away.
    pub(super) fn placed(&self, place: &DAffine3) -> Result<Light, String> {
        let transform = *place * self.transform;
        let at = transform.translation;
        check_place(at, "a light")?;
        let along = transform.transform_vector3(DVec3::NEG_Z);
        let direction = along.normalize_or(DVec3::NEG_Z).as_vec3();
        Ok(match self.kind {
            LightKind::Point => Light::Point {
                position: at.as_vec3(),
                intensity: self.strength,
            },
            LightKind::Spot { inner, outer } => Light::Spot {
                position: at.as_vec3(),
                direction,
                intensity: self.strength,
                inner_degrees: inner.to_degrees() as f32,
                outer_degrees: (outer.to_degrees() as f32).min(90.0),
            },
            LightKind::Directional => Light::Directional {
                direction,
                irradiance: self.strength,
                angle_degrees: 0.0,
            },
        })
    }
}

/// `Err` if a point of the scene is too far away.
pub(super) fn check_place(point: DVec3, what: &str) -> Result<(), String> {
    if point.is_finite() && point.abs().max_element() <= MAX_LENGTH {
        return Ok(());
    }
    Err(format!(
        "{what} comes to lie at {point}, expected metres within 1e8 of 0"
    ))
}

impl Model {
    /// Adds a mesh, and says which it is.
    pub(super) fn push_mesh(&mut self, mut mesh: ModelMesh) -> usize {
        let nowhere = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        let around =
            |(low, high): (Vec3, Vec3), &position: &Vec3| (low.min(position), high.max(position));
        mesh.bounds = mesh.positions.iter().fold(nowhere, around);
        self.meshes.push(mesh);
        self.meshes.len() - 1
    }

    /// Adds a note, once.
    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// An empty list with room for so many items, if there is memory for them.
pub(super) fn room<T>(items: usize) -> Result<Vec<T>, String> {
    memory::check((items as u64).saturating_mul(size_of::<T>() as u64))?;
    let mut list = Vec::new();
    list.try_reserve_exact(items)
        .map_err(|error| format!("is too large for memory: {error}"))?;
    Ok(list)
}

impl ModelMesh {
    /// Whether its triangles look flat.
    pub(super) fn is_flat(&self) -> bool {
        self.normals.is_none()
    }

    /// The corners of the box around it.
    pub(super) fn corners(&self) -> [Vec3; 8] {
        let (low, high) = self.bounds;
        std::array::from_fn(|corner| {
            Vec3::from_array(std::array::from_fn(|axis| {
                [low, high][corner >> axis & 1][axis]
            }))
        })
    }

    /// Leaves out triangles by their corners; how many.
    pub(super) fn leave_out(&mut self, wrong: impl Fn(&[Vec3; 3]) -> bool) -> u64 {
        let before = self.triangles.len();
        let positions = &self.positions;
        let corners = |triangle: &[u32; 3]| triangle.map(|vertex| positions[vertex as usize]);
        let wrong = |triangle: &[u32; 3]| wrong(&corners(triangle));
        if !self.parts.is_empty() {
            let mut triangles = self.triangles.iter();
            self.parts
                .retain(|_| triangles.next().is_some_and(|triangle| !wrong(triangle)));
        }
        self.triangles.retain(|triangle| !wrong(triangle));
        (before - self.triangles.len()) as u64
    }

    /// Indices into the scene's materials, by triangle, or one for all: `own` unless it has parts, whose materials `of` gives.
    pub(super) fn materials(&self, own: u32, of: impl Fn(usize) -> u32) -> Vec<u32> {
        let mut materials: Vec<u32> = self.parts.iter().map(|&part| of(part as usize)).collect();
        if materials.iter().all(|&material| material == materials[0]) {
            let only = materials.first().copied().unwrap_or(own);
            materials = vec![only];
        }
        materials
    }

    /// Its triangles and vertices, of one material or of one for each triangle, leaving it empty but for its parts.
    pub(super) fn take(&mut self, materials: Vec<u32>) -> Mesh {
        Mesh {
            positions: take(&mut self.positions),
            triangles: take(&mut self.triangles),
            materials,
            normals: self.normals.take().unwrap_or_default(),
            uvs: self.uvs.take().unwrap_or_default(),
            second_uvs: self.second_uvs.take().unwrap_or_default(),
            tangents: self.tangents.take().unwrap_or_default(),
        }
    }

    /// Makes what its materials look at, if it is missing: by textures, and by normal maps among them. Without texture
    /// coordinates all of the surface is where an image begins.
    pub(super) fn settle_coordinates(&mut self, mapped: bool, bent: bool) -> Result<(), String> {
        if mapped && self.uvs.is_none() {
            let mut uvs = room(self.positions.len())?;
            uvs.resize(self.positions.len(), [0.0; 2]);
            self.uvs = Some(uvs);
        }
        if !bent {
            self.tangents = None;
        } else if self.tangents.is_none() && self.normals.is_some() {
            tangents::make(self)?;
        }
        Ok(())
    }

    /// Makes normals and tangents of length 1 and leaves out what cannot be used; returns what that was.
    pub(super) fn settle(&mut self) -> Vec<&'static str> {
        let mut left_out = Vec::new();
        let finite = |normals: &Vec<Vec3>| normals.iter().all(|normal| normal.is_finite());
        if self.normals.take_if(|normals| !finite(normals)).is_some() {
            left_out.push("normals");
        }
        let finite = |uvs: &Vec<[f32; 2]>| uvs.as_flattened().iter().all(|uv| uv.is_finite());
        for uvs in [&mut self.uvs, &mut self.second_uvs] {
            if uvs.take_if(|uvs| !finite(uvs)).is_some() {
                left_out.push("texture coordinates");
            }
        }
        let finite = |colors: &Vec<Vec4>| colors.iter().all(|color| color.is_finite());
        if self.colors.take_if(|colors| !finite(colors)).is_some() {
            left_out.push("colors");
        }
        let along = |&[x, y, z, _]: &[f32; 4]| Vec3::new(x, y, z);
        let usable = |tangent: &[f32; 4]| {
            !tangent[3].is_nan() && along(tangent).length_squared().is_normal()
        };
        self.tangents
            .take_if(|tangents| !tangents.iter().all(usable));
        for tangent in self.tangents.iter_mut().flatten() {
            let side = if tangent[3] < 0.0 { -1.0 } else { 1.0 };
            *tangent = along(tangent).normalize().extend(side).to_array();
        }
        let Some(normals) = &mut self.normals else {
            return left_out;
        };
        // A normal without a direction is that of the triangles around it.
        let lost = |normal: &Vec3| !normal.length_squared().is_normal();
        if normals.iter().any(lost) {
            let mut around = vec![Vec3::ZERO; normals.len()];
            for triangle in &self.triangles {
                let [a, b, c] = triangle.map(|vertex| self.positions[vertex as usize]);
                let normal = (b - a).cross(c - a).normalize_or_zero();
                triangle
                    .iter()
                    .for_each(|&vertex| around[vertex as usize] += normal);
            }
            for (normal, around) in normals.iter_mut().zip(around) {
                if lost(normal) {
                    *normal = around;
                }
            }
        }
        for normal in normals {
            *normal = normal.try_normalize().unwrap_or(Vec3::Y);
        }
        left_out
    }
}
