//! Changing a scene: materials and lights from the text of scene files, their values by name, the camera and meshes.

use std::path::Path;

use glam::{Affine3A, DAffine3, DMat4, Mat4, Vec3};
use pyo3::{exceptions::PyKeyError, exceptions::PyTypeError, exceptions::PyValueError, prelude::*};
use raysieve::scene::{
    self, Background, Camera, Environment, Error, FieldKind, FieldValue, Image, NewMesh, Part,
    Surface, Texels, escaped,
};

use crate::{exception, groups, scene::Scene, tone_named};

/// Returns the camera that a text of JSON describes. Fails with `ValueError` if it is wrong.
pub(crate) fn camera_from(json: &str) -> PyResult<Camera> {
    let camera: Camera = serde_json::from_str(json)
        .map_err(|error| PyValueError::new_err(format!("camera: {error}")))?;
    camera.check().map_err(exception)?;
    Ok(camera)
}

/// Reads a part of a scene file with one material and one light. Fails with `ValueError` that names what is wrong.
fn parsed(folder: &Path, materials: &str, lights: &str) -> PyResult<scene::Scene> {
    let text = format!(
        "(camera: (origin: (0, 0, 1), target: (0, 0, 0), fov: 40), materials: {{ \"material\": {materials} }}, \
         lights: [{lights}], objects: [Sphere(center: (0, 0, 0), radius: 1, material: \"material\")])"
    );
    scene::Scene::parse(&folder.join("python.ron"), &text).map_err(|error| match error {
        Error::Scene {
            object, problem, ..
        } => PyValueError::new_err(escaped(&format!("{object}: {problem}"))),
        other => exception(other),
    })
}

/// A material that is valid, where the text of one is needed and does not matter.
const ANY_MATERIAL: &str = "Diffuse(albedo: (1, 1, 1))";

#[pymethods]
impl Scene {
    /// Returns a scene without objects, materials and lights.
    #[staticmethod]
    fn empty() -> Scene {
        Scene {
            inner: scene::Scene::default(),
        }
    }

    /// Adds a material, or replaces the one with this name. `text` is that of a scene file, and paths in it are
    /// relative to `folder`. Fails with `ValueError` if it is wrong.
    fn add_material(&mut self, name: &str, text: &str, folder: std::path::PathBuf) -> PyResult<()> {
        let parsed = parsed(&folder, text, "")?;
        let index = parsed.material_index("material").unwrap_or(0);
        let mut changed = self.inner.clone();
        changed
            .copy_material(name, &parsed, index)
            .ok_or_else(|| PyValueError::new_err("a blend of materials is made by add_blend"))?;
        changed.check_looks().map_err(exception)?;
        changed.files.extend(parsed.files);
        self.inner = changed;
        Ok(())
    }

    /// Adds a blend of two materials, or replaces the material with this name.
    fn add_blend(&mut self, name: &str, first: &str, second: &str, weight: f32) -> PyResult<()> {
        let surface = Surface::Blend {
            first: self.material_named(first)?,
            second: self.material_named(second)?,
            weight,
            by_side: false,
            emission: Vec3::ZERO,
            both_sides: false,
        };
        let mut changed = self.inner.clone();
        changed.add_material(name, surface);
        changed.check_looks().map_err(exception)?;
        self.inner = changed;
        Ok(())
    }

    /// Adds the lights of a text of a scene file. Fails with `ValueError` if it is wrong. Returns the index of the
    /// first.
    fn add_light(&mut self, text: &str, folder: std::path::PathBuf) -> PyResult<usize> {
        let parsed = parsed(&folder, ANY_MATERIAL, text)?;
        let mut changed = self.inner.clone();
        changed.lights.extend(parsed.lights);
        changed.check_looks().map_err(exception)?;
        changed.files.extend(parsed.files);
        let first = self.inner.lights.len();
        self.inner = changed;
        Ok(first)
    }

    /// Removes all lights that are not objects.
    fn clear_lights(&mut self) {
        self.inner.lights.clear();
    }

    /// Returns the number of lights.
    #[getter]
    fn light_count(&self) -> usize {
        self.inner.lights.len()
    }

    /// Returns the name of the kind of a light.
    fn light_kind(&self, index: usize) -> PyResult<&'static str> {
        let light = self.inner.lights.get(index);
        light
            .map(scene::Light::kind_name)
            .ok_or_else(|| PyKeyError::new_err(format!("there is no light {index}")))
    }

    /// Sets the environment to a map of `width` columns with three `f32` per texel, row by row from the top.
    fn set_environment(&mut self, width: u32, radiances: &[u8], turns: f32) -> PyResult<()> {
        let radiances = groups::<f32, 3>(radiances, f32::from_ne_bytes);
        let radiances = radiances.into_iter().map(Vec3::from_array).collect();
        let mut changed = self.inner.clone();
        changed.set_environment(Environment::new(width, radiances, turns));
        changed.check_looks().map_err(exception)?;
        self.inner = changed;
        Ok(())
    }

    /// Sets an image as the color of a material: four `u8` in sRGB or four linear `f32` per texel, rows from the top.
    fn set_color_image(
        &mut self,
        material: &str,
        size: (u32, u32),
        texels: &[u8],
        are_floats: bool,
    ) -> PyResult<()> {
        let index = self.material_named(material)?;
        let texels = match are_floats {
            true => Texels::Floats(groups(texels, f32::from_ne_bytes)),
            false => Texels::Bytes(texels.as_chunks().0.to_vec()),
        };
        let (width, height) = size;
        let image = Image {
            width,
            height,
            texels,
        };
        let mut changed = self.inner.clone();
        changed.set_color_image(index, image);
        changed.check_looks().map_err(exception)?;
        self.inner = changed;
        Ok(())
    }

    /// Adds a mesh with an instance of it, from arrays of `f32` and `u32`. Lists may be empty. `transform` has 16
    /// numbers, row by row. Returns the index of the mesh.
    #[expect(clippy::too_many_arguments, reason = "they are the lists of a mesh")]
    fn add_mesh(
        &mut self,
        positions: &[u8],
        triangles: &[u8],
        normals: &[u8],
        uvs: &[u8],
        colors: &[u8],
        material: &str,
        transform: [f32; 16],
    ) -> PyResult<u32> {
        let material = self.material_named(material)?;
        let vectors = |bytes: &[u8]| {
            let groups = groups::<f32, 3>(bytes, f32::from_ne_bytes);
            groups.into_iter().map(Vec3::from_array).collect()
        };
        let mesh = NewMesh {
            positions: vectors(positions),
            triangles: groups(triangles, u32::from_ne_bytes),
            normals: vectors(normals),
            uvs: groups(uvs, f32::from_ne_bytes),
            colors: vectors(colors),
            transform: affine(transform),
        };
        self.inner.add_mesh(mesh, material).map_err(exception)
    }

    /// Adds an instance of a mesh. `material` replaces those of the mesh, unless it is `None`. Returns its index.
    fn add_instance(
        &mut self,
        mesh: u32,
        transform: [f32; 16],
        material: Option<&str>,
    ) -> PyResult<usize> {
        let material = material.map(|name| self.material_named(name)).transpose()?;
        if mesh as usize >= self.inner.meshes.len() {
            let count = self.inner.meshes.len();
            let text = format!("mesh {mesh}: there are {count} meshes, counted from 0");
            return Err(PyValueError::new_err(text));
        }
        Ok(self.inner.add_instance(mesh, affine(transform), material))
    }

    /// Adds a sphere, and returns its index.
    fn add_sphere(&mut self, center: [f32; 3], radius: f32, material: &str) -> PyResult<usize> {
        let material = self.material_named(material)?;
        Ok(self
            .inner
            .add_sphere(Vec3::from_array(center), radius, material))
    }

    /// Adds the objects of a model or scene file with their materials, moved by a transform of 16 numbers, row by row.
    fn add_model(
        &mut self,
        py: Python<'_>,
        path: std::path::PathBuf,
        transform: [f64; 16],
    ) -> PyResult<()> {
        let matrix = DMat4::from_cols_array(&transform).transpose();
        let affine = DAffine3::from_mat4(matrix);
        crate::without_lock(py, || self.inner.add_model(&path, affine))
    }

    /// Returns the camera as JSON.
    #[getter]
    fn camera(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner.camera)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Sets the camera, given as JSON. Fails with `ValueError` if it is wrong. It no longer adapts to the image size.
    #[setter]
    fn set_camera(&mut self, camera: &str) -> PyResult<()> {
        self.inner.camera = camera_from(camera)?;
        self.inner.framing = None;
        Ok(())
    }

    /// Sets exposure in stops, -32 to 32.
    #[setter]
    fn set_exposure(&mut self, stops: f32) -> PyResult<()> {
        self.change_looks(|scene| scene.exposure_stops = stops)
    }

    /// Sets the tone curve.
    #[setter]
    fn set_tone(&mut self, name: &str) -> PyResult<()> {
        self.inner.tone = tone_named(name)?;
        Ok(())
    }

    /// Returns the constant radiance from all directions.
    #[getter]
    fn sky(&self) -> [f32; 3] {
        self.inner.sky.to_array()
    }

    /// Sets the constant radiance from all directions.
    #[setter]
    fn set_sky(&mut self, sky: [f32; 3]) -> PyResult<()> {
        self.change_looks(|scene| scene.sky = Vec3::from_array(sky))
    }

    /// Returns the color of the background, or the word `environment` or `transparent`.
    #[getter]
    fn background(&self) -> (Option<[f32; 3]>, &'static str) {
        match self.inner.background {
            Background::Environment => (None, "environment"),
            Background::Color(color) => (Some(color.to_array()), ""),
            Background::Transparent => (None, "transparent"),
        }
    }

    /// Sets the background to a color, or to one of the words of the getter.
    fn set_background(&mut self, color: Option<[f32; 3]>, word: &str) -> PyResult<()> {
        let background = match (color, word) {
            (Some(color), _) => Background::Color(Vec3::from_array(color)),
            (None, "environment") => Background::Environment,
            (None, "transparent") => Background::Transparent,
            _ => {
                let text = format!(
                    "background {word:?}: expected \"environment\", \"transparent\" or a color"
                );
                return Err(PyValueError::new_err(text));
            }
        };
        self.change_looks(|scene| scene.background = background)
    }

    /// Returns the fields of a material (`"material"`) or a light with their values: a number, or three.
    fn fields(&self, kind: &str, index: usize) -> Vec<(&'static str, Vec<f32>)> {
        let fields = self.inner.fields(part(kind, index)).into_iter();
        fields
            .filter_map(|field| match field.value {
                FieldValue::Number(number) => Some((field.name, vec![number])),
                FieldValue::Color(color) => Some((field.name, color.to_array().to_vec())),
                FieldValue::Absorption(_) | FieldValue::Background(_) => None,
            })
            .collect()
    }

    /// Sets a field of a material or a light to a number or three. Fails with `ValueError` for a value out of range,
    /// and with `TypeError` for the wrong number of values.
    fn set_field(
        &mut self,
        kind: &str,
        index: usize,
        name: &str,
        values: Vec<f32>,
    ) -> PyResult<()> {
        let part = part(kind, index);
        let of = self.inner.part_name(part);
        let field = self.inner.field(part, name).ok_or_else(|| {
            PyValueError::new_err(format!("{of}: there is no value {name} that can be set"))
        })?;
        let value = match values[..] {
            [number] => FieldValue::Number(number),
            [r, g, b] => FieldValue::Color(Vec3::new(r, g, b)),
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "{name}: expected 1 or 3 numbers"
                )));
            }
        };
        if !field.kind.accepts(value) {
            let expected = match field.kind {
                FieldKind::Number(_) => "a number",
                _ => "three numbers",
            };
            return Err(PyTypeError::new_err(format!(
                "{of}: {name}: expected {expected}"
            )));
        }
        if field.kind.clamped(value) != value {
            let expected = match field.kind {
                FieldKind::Number(kind) if kind.is_whole => {
                    format!("a whole number from {} to {}", kind.min, kind.max)
                }
                FieldKind::Number(kind) | FieldKind::Channels { number: kind, .. } => {
                    format!("{} to {}", kind.min, kind.max)
                }
                FieldKind::Color { max } => format!("0 to {max} per channel"),
                _ => "0 to below 16777216 per channel".to_owned(),
            };
            let text = format!("{of}: {name} is {values:?}, expected {expected}");
            return Err(PyValueError::new_err(text));
        }
        let changed = self.inner.with_field(part, name, value);
        self.inner = changed.map_err(|error| PyValueError::new_err(format!("{of}: {error}")))?;
        Ok(())
    }
}

impl Scene {
    /// Returns the index of the material with this name. Fails with `ValueError` that lists the names if there is none.
    fn material_named(&self, name: &str) -> PyResult<u32> {
        self.inner.material_index(name).ok_or_else(|| {
            let names = self.inner.material_names.join("\", \"");
            PyValueError::new_err(escaped(&format!(
                "the scene has no material {name:?}; it has \"{names}\""
            )))
        })
    }

    /// Changes something besides the geometry. Changes nothing and fails with `ValueError` if the scene would be wrong.
    fn change_looks(&mut self, change: impl FnOnce(&mut scene::Scene)) -> PyResult<()> {
        let mut changed = self.inner.clone();
        change(&mut changed);
        changed.check_looks().map_err(exception)?;
        self.inner = changed;
        Ok(())
    }
}

/// Returns the part of a scene that a word and an index name.
fn part(kind: &str, index: usize) -> Part {
    match kind {
        "material" => Part::Material(index),
        _ => Part::Light(index),
    }
}

/// Returns the transform of 16 numbers, row by row.
fn affine(rows: [f32; 16]) -> Affine3A {
    Affine3A::from_mat4(Mat4::from_cols_array(&rows).transpose())
}
