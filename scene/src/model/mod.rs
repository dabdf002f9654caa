//! A model as its file describes it: meshes, instances, materials, cameras and lights. All model readers produce it.
//!
//! The submodules transform a model after reading: they merge meshes, flatten instances, compute tangents and convert
//! vertex colors.

mod back_to_back;
pub(crate) mod clipping;
pub(crate) mod flat_instances;
mod merge_meshes;
pub(crate) mod polygon;
pub(crate) mod strokes;
mod tangents;
pub(crate) mod vertex_colors;

use std::mem::take;

use glam::{DAffine3, DVec3, Vec2, Vec3, Vec4};

use crate::{
    error::point_text,
    image::texture_library::TextureLibrary,
    limits::MAX_LENGTH,
    memory::{self, vec_with_capacity},
    origin::{Parts, typical_box},
    scene::{Light, MaterialTextures, Medium, Mesh, SpotFalloff, Surface},
};

/// Largest number of different notes about a file. A damaged one could cause millions.
const MAX_NOTES: usize = 256;
/// Warning about a spot light without a cone.
pub(crate) const DARK_SPOT: &str =
    "a spot light has an angle of 0, so that it gives no light; choose a larger angle";

/// The contents of a glTF, OBJ or PLY file.
#[derive(Default)]
pub(crate) struct Model {
    /// Meshes that instances refer to by index.
    pub(crate) meshes: Vec<ModelMesh>,
    /// Instances of the meshes. A mesh without an instance is not shown.
    pub(crate) instances: Vec<ModelInstance>,
    /// Spheres that show points, in model coordinates.
    pub(crate) spheres: Vec<ModelSphere>,
    /// Materials that instances and spheres refer to by index. They may include unused ones.
    pub(crate) materials: Vec<ModelMaterial>,
    /// Textures and images that `materials` refer to.
    pub(crate) library: TextureLibrary,
    /// Camera that shows the model: the chosen one, or else the first in the scene of the file that can be used. `None`
    /// if there is none.
    pub(crate) camera: Option<ModelCamera>,
    /// All cameras in the scene of the file that can be used, with their names, which may be empty.
    pub(crate) cameras: Vec<(String, ModelCamera)>,
    /// Lights of the file; empty for OBJ and PLY.
    pub(crate) lights: Vec<ModelLight>,
    /// Time in seconds of the last keyframe of the animations that play, above 0; `None` if nothing can play.
    pub(crate) animation_seconds: Option<f64>,
    /// The animations that can play, each as the option that chooses it.
    pub(crate) animations: Vec<String>,
    /// Time in seconds of the last keyframe of each of `animations`, above 0.
    pub(crate) animation_lengths: Vec<f64>,
    /// Whether two of `animations` change the same property of a node.
    pub(crate) animations_overlap: bool,
    /// Index in `animations` of the animation that plays; `None` if all play.
    pub(crate) chosen_animation: Option<usize>,
    /// Warnings for the user, one line each, without the file's name.
    pub(crate) notes: Vec<String>,
    /// Warnings with the number of objects that they affect so far; [`Model::finish_notes`] moves them to `notes`.
    counted: Vec<CountedNote>,
}

/// A warning about several objects of one kind.
struct CountedNote {
    /// Text of the warning, in which `{}` stands for the number of objects and their name.
    text: String,
    /// Singular and plural of the objects' name.
    names: [&'static str; 2],
    /// Number of objects.
    count: u64,
}

/// An indexed triangle mesh. Every position is finite, every index is valid, and each vertex attribute that is present
/// has one entry per vertex.
#[derive(Default)]
pub(crate) struct ModelMesh {
    /// Position in the coordinates of the file or shape of the mesh's own 0. The transforms of instances include it.
    pub(crate) origin: DVec3,
    /// Vertex positions in mesh coordinates.
    pub(crate) positions: Vec<Vec3>,
    /// Unit normal of each vertex; `None` for flat shading.
    pub(crate) normals: Option<Vec<Vec3>>,
    /// Texture coordinates of each vertex; (0, 0) is the upper left corner of an image. `None` if there are none.
    pub(crate) uvs: Option<Vec<[f32; 2]>>,
    /// Second set of texture coordinates of each vertex, for textures that select it; `None` if there is none.
    pub(crate) second_uvs: Option<Vec<[f32; 2]>>,
    /// Tangent of each vertex: a unit vector in the direction of growing u, and the sign of the bitangent, 1 or -1.
    /// `None` if there are none.
    pub(crate) tangents: Option<Vec<[f32; 4]>>,
    /// Color of each vertex, or `None`. Linear sRGB multiplies the material's color, and alpha multiplies its
    /// opacity.
    pub(crate) colors: Option<Vec<Vec4>>,
    /// Vertex indices of each triangle, counter-clockwise seen from the front.
    pub(crate) triangles: Vec<[u32; 3]>,
    /// Material index, in the model, of each triangle of a mesh that was merged from several or has vertex colors and
    /// textures. Otherwise empty, and the instance gives the material.
    pub(crate) triangle_materials: Vec<u32>,
    /// Minimum and maximum corner of the bounding box, in mesh coordinates. [`Model::push_mesh`] computes it.
    pub(crate) bounds: (Vec3, Vec3),
    /// Index of this mesh among the scene's meshes, once its vertices have moved there; `None` before.
    pub(crate) number: Option<u32>,
    /// Index of the texture, in the model's library, that holds the vertex colors; `None` until it is made.
    pub(crate) color_texture: Option<u32>,
    /// Materials that were multiplied by the vertex colors: pairs of the original's index and the index of the
    /// multiplied copy, in the model.
    pub(crate) colored_materials: Vec<(usize, usize)>,
    /// Copies of this mesh with turned tangents: pairs of the bits of the angle in degrees, and the index of the copy in
    /// the model.
    pub(crate) turned: Vec<(u32, usize)>,
}

/// An instance of a mesh in the model, with a transform and a material.
#[derive(Clone, Copy)]
pub(crate) struct ModelInstance {
    /// Index into [`Model::meshes`].
    pub(crate) mesh: usize,
    /// Index into [`Model::materials`]; ignored for a mesh with `triangle_materials`.
    pub(crate) material: usize,
    /// Transform from mesh to model coordinates. It is finite, and invertible after [`Model::bake_flat_instances`].
    pub(crate) transform: DAffine3,
}

/// A sphere of the model that shows a point. Its front is its outside. It stays round under any transform.
#[derive(Clone, Copy)]
pub(crate) struct ModelSphere {
    /// Centre in model coordinates.
    pub(crate) center: DVec3,
    /// Radius in model coordinates, above 0.
    pub(crate) radius: f32,
    /// Index into [`Model::materials`], of a material without textures.
    pub(crate) material: usize,
}

/// A material of a model, with its textures.
#[derive(Clone, Debug)]
pub(crate) struct ModelMaterial {
    /// Name in the file; empty if the material has none.
    pub(crate) name: String,
    /// Type and parameters of the material, without textures.
    pub(crate) surface: Surface,
    /// Textures by parameter, as indices into the textures of [`Model::library`], with opacity, cutoff and normal map
    /// scales.
    pub(crate) maps: MaterialTextures,
    /// Medium inside the body behind the surface; `None` if there is none.
    pub(crate) medium: Option<Medium>,
    /// Whether the alpha of vertex colors multiplies the opacity; otherwise that alpha is ignored.
    pub(crate) alpha_tested: bool,
    /// Angle in degrees by which the tangents of a mesh with this material are turned about its normals, from `u` upwards
    /// to `v` upwards in the image.
    pub(crate) tangent_turn: f32,
}

impl Default for ModelMaterial {
    /// Returns the material of a surface to which the file assigns none: diffuse, light grey.
    fn default() -> Self {
        Surface::Diffuse {
            albedo: Vec3::splat(0.8),
            one_sided: false,
        }
        .into()
    }
}

impl From<Surface> for ModelMaterial {
    /// Makes an opaque material of this surface, without a name and without textures.
    fn from(surface: Surface) -> Self {
        ModelMaterial {
            name: String::new(),
            surface,
            maps: MaterialTextures::default(),
            medium: None,
            alpha_tested: false,
            tangent_turn: 0.0,
        }
    }
}

/// A pinhole or orthographic camera that looks along -z of its own coordinates, with y up.
#[derive(Clone, Copy)]
pub(crate) struct ModelCamera {
    /// Transform from camera to model coordinates.
    pub(crate) transform: DAffine3,
    /// Projection, with the extent of the view.
    pub(crate) view: ModelView,
    /// Width of the image divided by its height; `None` if the file leaves it open.
    pub(crate) aspect_ratio: Option<f64>,
}

/// The projection of a model's camera, with the extent of the view.
#[derive(Clone, Copy)]
pub(crate) enum ModelView {
    /// Perspective projection. `yfov` is the vertical angle of view in radians, between 0 and π.
    Perspective { yfov: f64 },
    /// Orthographic projection. `half_height` is half the height of the view in metres, above 0.
    Orthographic { half_height: f64 },
}

/// A light without a size, at the origin of its own coordinates. A spot or directional light shines along -z, and a
/// point light in all directions.
#[derive(Clone, Copy)]
pub(crate) struct ModelLight {
    /// Transform from light to model coordinates.
    pub(crate) transform: DAffine3,
    /// Radiant intensity (W/sr) of a point or spot light, irradiance (W/m²) of a directional light; linear sRGB, 0 or
    /// more.
    pub(crate) strength: Vec3,
    /// Type of the light.
    pub(crate) kind: LightKind,
}

/// The type of a model's light.
#[derive(Clone, Copy)]
pub(crate) enum LightKind {
    /// A point light, which emits equally in all directions.
    Point,
    /// A spot light, which emits within a cone. Angles are measured from its axis in radians, 0..=π/2.
    Spot {
        /// Angle up to which the light has its full intensity; at most `outer`.
        inner: f64,
        /// Angle at which the light ends.
        outer: f64,
    },
    /// A directional light, which emits parallel rays from infinitely far away.
    Directional,
}

impl ModelLight {
    /// Converts the light to a light of a scene around `origin`, for a model with the transform `place`. Fails if the
    /// light is further than 1e8 m from 0 along an axis.
    pub(crate) fn scene_light(&self, place: &DAffine3, origin: DVec3) -> Result<Light, String> {
        let transform = *place * self.transform;
        check_position(transform.translation, "a light")?;
        let at = transform.translation - origin;
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
                falloff: SpotFalloff::Squared,
            },
            LightKind::Directional => Light::Directional {
                direction,
                irradiance: self.strength,
                angle_degrees: 0.0,
            },
        })
    }
}

/// Fails if a point in world space is not finite or has a coordinate beyond 1e8 m. The error names it by `what`, such
/// as `a vertex`.
pub(crate) fn check_position(point: DVec3, what: &str) -> Result<(), String> {
    if point.is_finite() && point.abs().max_element() <= MAX_LENGTH {
        return Ok(());
    }
    Err(format!(
        "{what} is at {} after the transform, expected coordinates within 1e8 m of 0",
        point_text(point)
    ))
}

impl Model {
    /// Adds the extents of all meshes and spheres to `parts`. `place` transforms the model.
    pub(crate) fn add_parts(&self, place: &DAffine3, parts: &mut Parts) {
        let extents = self.meshes.iter().map(|mesh| {
            let position = |vertex: usize| mesh.positions[vertex].as_dvec3();
            typical_box(mesh.positions.len(), position)
        });
        let extents: Vec<_> = extents.collect();
        for instance in &self.instances {
            if let Some(extent) = extents[instance.mesh] {
                let faces = self.meshes[instance.mesh].triangles.len();
                parts.push_placed(&(*place * instance.transform), extent, faces);
            }
        }
        for sphere in &self.spheres {
            let arm = DVec3::splat(sphere.radius.into());
            let extent = (sphere.center - arm, sphere.center + arm);
            parts.push_placed(place, extent, 1);
        }
    }

    /// Adds a mesh to the model, computes its bounding box and returns its index.
    pub(crate) fn push_mesh(&mut self, mut mesh: ModelMesh) -> usize {
        mesh.find_bounds();
        self.meshes.push(mesh);
        self.meshes.len() - 1
    }

    /// Returns the index of the mesh with index `mesh` for an instance of this material: a copy with turned tangents if
    /// [`ModelMaterial::tangent_turn`] is not 0. Fails if memory does not suffice.
    pub(crate) fn with_turned_tangents(
        &mut self,
        mesh: usize,
        material: usize,
    ) -> Result<usize, String> {
        let degrees = self.materials[material].tangent_turn;
        if degrees == 0.0 {
            return Ok(mesh);
        }
        let of = &self.meshes[mesh];
        let known = of
            .turned
            .iter()
            .find(|(bits, _)| *bits == degrees.to_bits());
        if let Some(&(_, turned)) = known {
            return Ok(turned);
        }
        let mut copy = of.copy()?;
        // Anisotropic glass does not use them, and tangents may need more vertices than there are colors.
        copy.colors = None;
        copy.turn_tangents(degrees)?;
        let index = self.push_mesh(copy);
        self.meshes[mesh].turned.push((degrees.to_bits(), index));
        Ok(index)
    }

    /// Adds `count` objects to a warning about objects of one kind. In `text`, `{}` stands for their number and name;
    /// `names` are its singular and plural. A `count` of 0 does nothing.
    pub(crate) fn note_count(&mut self, text: &str, names: [&'static str; 2], count: u64) {
        let known = |note: &&mut CountedNote| note.text == text && note.names == names;
        if let Some(note) = self.counted.iter_mut().find(known) {
            note.count += count;
        } else if count > 0 && self.counted.len() < MAX_NOTES {
            let text = text.to_owned();
            self.counted.push(CountedNote { text, names, count });
        }
    }

    /// Moves the warnings with a number of objects to `notes`. Readers call it when all objects are counted.
    pub(crate) fn finish_notes(&mut self) {
        for CountedNote { text, names, count } in take(&mut self.counted) {
            let name = if count == 1 { names[0] } else { names[1] };
            self.note(text.replacen("{}", &format!("{count} {name}"), 1));
        }
    }

    /// Adds a warning for the user to `notes`, unless an equal one is there.
    pub(crate) fn note(&mut self, note: String) {
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        } else if self.notes.len() == MAX_NOTES {
            self.notes.push("further notes are left out".to_owned());
        }
    }
}

impl ModelMesh {
    /// Sets the bounding box to that of the positions.
    fn find_bounds(&mut self) {
        let empty = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        let around =
            |(low, high): (Vec3, Vec3), &position: &Vec3| (low.min(position), high.max(position));
        self.bounds = self.positions.iter().fold(empty, around);
    }

    /// Returns a transform from mesh coordinates, given that from the coordinates of the file or shape.
    pub(crate) fn placed(&self, transform: DAffine3) -> DAffine3 {
        if self.origin == DVec3::ZERO {
            return transform;
        }
        transform * DAffine3::from_translation(self.origin)
    }

    /// Returns whether the mesh is shaded with the geometric normals of its triangles, because it has no vertex
    /// normals.
    pub(crate) fn is_flat(&self) -> bool {
        self.normals.is_none()
    }

    /// Returns the eight corners of the bounding box, in mesh coordinates.
    pub(crate) fn corners(&self) -> [Vec3; 8] {
        let (low, high) = self.bounds;
        std::array::from_fn(|corner| {
            Vec3::from_array(std::array::from_fn(|axis| {
                [low, high][corner >> axis & 1][axis]
            }))
        })
    }

    /// Removes the triangles for whose three vertex positions `wrong` returns `true`. Returns the number of removed
    /// triangles.
    pub(crate) fn remove_triangles(&mut self, wrong: impl Fn(&[Vec3; 3]) -> bool) -> u64 {
        let before = self.triangles.len();
        let positions = &self.positions;
        let corners = |triangle: &[u32; 3]| triangle.map(|vertex| positions[vertex as usize]);
        let wrong = |triangle: &[u32; 3]| wrong(&corners(triangle));
        if !self.triangle_materials.is_empty() {
            let mut triangles = self.triangles.iter();
            self.triangle_materials
                .retain(|_| triangles.next().is_some_and(|triangle| !wrong(triangle)));
        }
        self.triangles.retain(|triangle| !wrong(triangle));
        (before - self.triangles.len()) as u64
    }

    /// Returns the scene's material index of each triangle, or a single index if all are equal.
    ///
    /// `to_scene` converts the model's material indices in `triangle_materials` to those of the scene. If that list is
    /// empty, the result is `own`, the scene's index of the instance's material.
    pub(crate) fn materials(&self, own: u32, to_scene: impl Fn(usize) -> u32) -> Vec<u32> {
        let mut materials: Vec<u32> = self
            .triangle_materials
            .iter()
            .map(|&material| to_scene(material as usize))
            .collect();
        if materials.iter().all(|&material| material == materials[0]) {
            let only = materials.first().copied().unwrap_or(own);
            materials = vec![only];
        }
        materials
    }

    /// Moves triangles and vertex attributes except colors into a mesh of the scene that has these materials (scene
    /// indices). Afterwards they are empty or `None` here, and all other fields remain.
    pub(crate) fn take(&mut self, materials: Vec<u32>) -> Mesh {
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

    /// Adds the vertex attributes that the mesh's materials need, and drops tangents that they do not need. Fails if
    /// memory does not suffice.
    ///
    /// A `textured` mesh without texture coordinates gets (0, 0) for all vertices. A `normal_mapped` mesh with normals
    /// gets tangents.
    pub(crate) fn add_missing_attributes(
        &mut self,
        textured: bool,
        normal_mapped: bool,
    ) -> Result<(), String> {
        if textured && self.uvs.is_none() {
            let mut uvs = vec_with_capacity(self.positions.len())?;
            uvs.resize(self.positions.len(), [0.0; 2]);
            self.uvs = Some(uvs);
        }
        if !normal_mapped {
            self.tangents = None;
        } else if self.tangents.is_none() && self.normals.is_some() {
            tangents::make(self)?;
        }
        Ok(())
    }

    /// Copies the vertices and triangles of the mesh. Fails if memory does not suffice.
    pub(crate) fn copy(&self) -> Result<ModelMesh, String> {
        memory::check(72 * self.positions.len() as u64 + 12 * self.triangles.len() as u64)?;
        Ok(ModelMesh {
            positions: self.positions.clone(),
            normals: self.normals.clone(),
            uvs: self.uvs.clone(),
            second_uvs: self.second_uvs.clone(),
            tangents: self.tangents.clone(),
            colors: self.colors.clone(),
            triangles: self.triangles.clone(),
            ..ModelMesh::default()
        })
    }

    /// Turns the tangents about the normals by an angle in degrees, from `u` upwards to `v` upwards in the image. Computes
    /// missing normals, and tangents if there are texture coordinates. Fails if memory does not suffice.
    fn turn_tangents(&mut self, degrees: f32) -> Result<(), String> {
        if self.normals.is_none() {
            self.facet()?;
        }
        if self.tangents.is_none() {
            tangents::make(self)?;
        }
        let (sine, cosine) = libm::sincos(f64::from(degrees).to_radians());
        let (sine, cosine) = (sine as f32, cosine as f32);
        let normals = self.normals.iter().flatten();
        for (tangent, normal) in self.tangents.iter_mut().flatten().zip(normals) {
            let [x, y, z, side] = *tangent;
            let along = Vec3::new(x, y, z);
            let turned = along * cosine + normal.cross(along) * (side * sine);
            *tangent = turned.extend(side).to_array();
        }
        Ok(())
    }

    /// Computes tangents for a normal map whose green direction is `cross(normal, tangent)` in world space, whether or
    /// not the image is mirrored on the surface.
    ///
    /// `mirrored` tells whether the transform to world space mirrors the mesh. Does nothing without normals or texture
    /// coordinates. Fails if memory does not suffice.
    pub(crate) fn add_right_handed_tangents(&mut self, mirrored: bool) -> Result<(), String> {
        tangents::make(self)?;
        for tangent in self.tangents.iter_mut().flatten() {
            // A transform that mirrors negates it.
            tangent[3] = if mirrored { -1.0 } else { 1.0 };
        }
        Ok(())
    }

    /// Normalises normals and tangents, and removes attributes with values that are not finite. Returns the names of
    /// the removed attributes for a warning. Tangents are not named, because they can be computed.
    pub(crate) fn normalize_attributes(&mut self) -> Vec<&'static str> {
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
        // A normal without a direction becomes the average of those of the adjacent triangles.
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

/// Converts texture coordinates from v upwards, as in OBJ and PLY, to v downwards from the top row of an image: (u, 1 −
/// v).
pub(crate) fn flip_v(uv: Vec2) -> [f32; 2] {
    [uv.x, 1.0 - uv.y]
}
