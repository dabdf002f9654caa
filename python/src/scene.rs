//! Scenes: loading, building and changing.

use std::path::PathBuf;

use glam::Vec3;
use pyo3::{exceptions::PyValueError, prelude::*};
use raysieve::scene::{self, CameraFrom, EnvironmentFile, SettingOverrides, UpAxis};

use crate::{exception, groups, without_lock};

/// A scene: camera, lights, materials and geometry, with the settings of its render.
#[pyclass(module = "raysieve._raysieve")]
pub(crate) struct Scene {
    pub(crate) inner: scene::Scene,
}

#[pymethods]
impl Scene {
    /// Loads a scene file or a model. `chosen` has the name of a material variant, and the names or numbers of a camera
    /// and of an animation, which is shown at `time` in seconds. `up` is an axis, and `camera_from` has azimuth and
    /// elevation in degrees and the distance in metres. `environment` has a path, a rotation in degrees and a factor.
    /// `None` stands for the file's default. Fails with `RaysieveError` if the file cannot be read or is invalid.
    #[staticmethod]
    #[pyo3(signature = (path, chosen, time, up, camera_from, fov, orthographic, environment))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the wrapper in Python passes each of them once"
    )]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        chosen: [Option<String>; 3],
        time: Option<f64>,
        up: Option<String>,
        camera_from: Option<(f64, f64, Option<f64>)>,
        fov: Option<f32>,
        orthographic: bool,
        environment: Option<(PathBuf, f64, f32)>,
    ) -> PyResult<Scene> {
        let [variant, camera, animation] = chosen;
        let up = match up.as_deref() {
            None => None,
            Some("x") => Some(UpAxis::X),
            Some("y") => Some(UpAxis::Y),
            Some("z") => Some(UpAxis::Z),
            Some(axis) => {
                return Err(PyValueError::new_err(format!(
                    "up {axis:?}: expected x, y or z"
                )));
            }
        };
        let camera_from =
            camera_from.map(
                |(azimuth_degrees, elevation_degrees, distance)| CameraFrom {
                    azimuth_degrees,
                    elevation_degrees,
                    distance,
                },
            );
        let environment = environment.map(|(path, rotate_degrees, scale)| EnvironmentFile {
            path,
            rotate_degrees,
            scale,
        });
        let options = scene::LoadOptions {
            variant,
            camera,
            animation,
            time,
            up,
            camera_from,
            fov_degrees: fov,
            orthographic,
            environment,
            ..scene::LoadOptions::default()
        };
        let inner = without_lock(py, || scene::Scene::load_with(&path, &options))?;
        Ok(Scene { inner })
    }

    /// Reads a scene from the text of a scene file in RON. `path` names the text in errors, and paths in the text are
    /// relative to its folder; the file need not exist. Fails with `RaysieveError` if the text is invalid.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, path: PathBuf) -> PyResult<Scene> {
        let inner = without_lock(py, || scene::Scene::parse(&path, text))?;
        Ok(Scene { inner })
    }

    /// Returns a copy, which shares the memory of the geometry until triangles are added to one of both.
    fn copy(&self) -> Scene {
        Scene {
            inner: self.inner.clone(),
        }
    }

    /// Adds triangles: `positions` are the bytes of three `f32` per vertex in metres, and `triangles` those of three
    /// `u32` indices per triangle. Returns the number of triangles without an area, which are left out.
    ///
    /// Fails with `RaysieveError`, and adds nothing, if no material is named `material` or if an index or a position is
    /// out of range.
    fn add_triangles(
        &mut self,
        positions: &[u8],
        triangles: &[u8],
        material: &str,
    ) -> PyResult<usize> {
        let positions = groups::<f32, 3>(positions, f32::from_ne_bytes);
        let positions: Vec<Vec3> = positions.into_iter().map(Vec3::from_array).collect();
        let triangles = groups(triangles, u32::from_ne_bytes);
        self.inner
            .add_triangles(&positions, &triangles, material)
            .map_err(exception)
    }

    #[getter]
    fn path(&self) -> PathBuf {
        self.inner.path.clone()
    }

    #[getter]
    fn size(&self) -> (u32, u32) {
        self.inner.size
    }

    #[setter]
    fn set_size(&mut self, size: (u32, u32)) -> PyResult<()> {
        self.change(SettingOverrides {
            size: Some(size),
            ..SettingOverrides::default()
        })
    }

    #[getter]
    fn samples(&self) -> u32 {
        self.inner.spp
    }

    #[setter]
    fn set_samples(&mut self, samples: u32) -> PyResult<()> {
        self.change(SettingOverrides {
            spp: Some(samples),
            ..SettingOverrides::default()
        })
    }

    #[getter]
    fn max_bounces(&self) -> u32 {
        self.inner.max_bounces
    }

    #[setter]
    fn set_max_bounces(&mut self, max_bounces: u32) -> PyResult<()> {
        self.change(SettingOverrides {
            max_bounces: Some(max_bounces),
            ..SettingOverrides::default()
        })
    }

    #[getter]
    fn seed(&self) -> u32 {
        self.inner.seed
    }

    #[setter]
    fn set_seed(&mut self, seed: u32) {
        self.inner.seed = seed;
    }

    #[getter]
    fn exposure(&self) -> f32 {
        self.inner.exposure_stops
    }

    #[getter]
    fn tone(&self) -> &'static str {
        self.inner.tone.name()
    }

    #[getter]
    fn materials(&self) -> Vec<String> {
        self.inner.material_names.clone()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.notes.clone()
    }
}

impl Scene {
    /// Changes settings. If one is out of range, changes none and fails with `RaysieveError`.
    fn change(&mut self, changes: SettingOverrides) -> PyResult<()> {
        let mut changed = self.inner.clone();
        changed.apply_overrides(&changes).map_err(exception)?;
        self.inner = changed;
        Ok(())
    }
}
