//! Renderers, which keep their trees while camera, materials and lights change.

use std::{path::PathBuf, time::Duration};

use pyo3::{exceptions::PyValueError, prelude::*, types::PyByteArray};
use raysieve::{
    film::picture::tone,
    inspect::aovs::Aov,
    render::{
        checkpoint::Checkpoint,
        region::Region,
        renderer::{self, BackendChoice, Settings},
    },
    scene,
};

use crate::{
    editing::camera_from,
    film::{Film, POINT_LAYERS},
    floats, parse,
    scene::Scene,
    tone_named, without_lock,
};

/// Minimum time from one checkpoint to the next.
const CHECKPOINT_INTERVAL: Duration = Duration::from_mins(1);

/// A renderer of a scene on its backend, with the film and the progress.
#[pyclass(module = "raysieve._raysieve")]
pub(crate) struct Renderer {
    inner: renderer::Renderer,
    scene: scene::Scene,
    /// The file to which the film is saved during the render, if there is one.
    checkpoint: Option<Checkpoint>,
}

#[pymethods]
impl Renderer {
    /// Creates a renderer of the scene as it is now. `threads` is the number of threads on the CPU; `None` stands for
    /// all hardware threads. Fails with `ValueError` for an unknown backend or strategy and a wrong scene, and with
    /// `RaysieveError` if the backend cannot be used.
    #[new]
    fn new(
        py: Python<'_>,
        scene: &Scene,
        backend: &str,
        strategy: &str,
        threads: Option<usize>,
    ) -> PyResult<Renderer> {
        let settings = Settings {
            backend: parse::<BackendChoice>("backend", backend)?,
            strategy: parse("strategy", strategy)?,
            threads,
            ..Settings::default()
        };
        let scene = scene.inner.clone();
        let inner = without_lock(py, || renderer::Renderer::new(&scene, &settings))?;
        Ok(Renderer {
            inner,
            scene,
            checkpoint: None,
        })
    }

    /// Continues with a changed scene. Its trees are built again only if its geometry has changed.
    fn set_scene(&mut self, py: Python<'_>, scene: &Scene) -> PyResult<()> {
        let scene = scene.inner.clone();
        without_lock(py, || self.inner.set_scene(&scene))?;
        self.scene = scene;
        Ok(())
    }

    /// Sets the camera, given as JSON, and begins again. Fails with `ValueError` for a wrong camera.
    fn set_camera(&mut self, py: Python<'_>, camera: &str) -> PyResult<()> {
        let camera = camera_from(camera)?;
        without_lock(py, || self.inner.set_camera(camera))
    }

    /// Checks the names of layers, clears the film, and keeps what they need. Then `advance` renders `samples` samples
    /// per pixel, or fewer where the relative error `noise` is reached. `region` is (x, y, width, height). Continues
    /// from the file `checkpoint`, if it exists. Returns the samples per pixel that it has.
    #[pyo3(signature = (samples, layers, noise, region, checkpoint))]
    fn begin(
        &mut self,
        py: Python<'_>,
        samples: u32,
        layers: Vec<String>,
        noise: Option<f32>,
        region: Option<(u32, u32, u32, u32)>,
        checkpoint: Option<PathBuf>,
    ) -> PyResult<u32> {
        for layer in &layers {
            aov(layer)?;
        }
        let region = region.map(|(x, y, width, height)| Region {
            x,
            y,
            width,
            height,
        });
        self.checkpoint = None;
        without_lock(py, || {
            self.inner.set_noise(None)?;
            self.inner.set_region(None)?;
            self.inner.restart()?;
            if layers.iter().any(|layer| layer == "denoised") {
                self.inner.keep_for_previews();
            }
            self.inner.stop_at(samples)?;
            if noise.is_some() {
                self.inner.set_noise(noise)?;
            }
            if region.is_some() {
                self.inner.set_region(region)?;
            }
            if let Some(path) = checkpoint {
                let (file, _) = Checkpoint::begin(&path, CHECKPOINT_INTERVAL, &mut self.inner)?;
                self.checkpoint = Some(file);
            }
            Ok::<_, raysieve::Error>(self.inner.samples_done().min_samples())
        })
    }

    /// Renders for 0.1 s to half a second, and saves the checkpoint if it is due. Returns whether samples remain.
    fn advance(&mut self, py: Python<'_>) -> PyResult<bool> {
        without_lock(py, || {
            let remain = self.inner.advance()?;
            match &mut self.checkpoint {
                Some(file) if remain && file.is_due() => file.write(&mut self.inner)?,
                _ => {}
            }
            Ok::<_, raysieve::Error>(remain)
        })
    }

    /// Saves the checkpoint, if there is one. Later calls of `advance` save none.
    fn save_checkpoint(&mut self, py: Python<'_>) -> PyResult<()> {
        let checkpoint = self.checkpoint.take();
        without_lock(py, || match checkpoint {
            Some(mut file) => file.write(&mut self.inner),
            None => Ok(()),
        })
    }

    /// Returns the fraction of the samples that is done, 0 to 1.
    #[getter]
    fn progress(&self) -> f64 {
        self.inner.progress()
    }

    /// Returns the minimum number of samples of any pixel.
    #[getter]
    fn samples(&self) -> u32 {
        self.inner.samples_done().min_samples()
    }

    /// Returns the (width, height) of the film in pixels.
    #[getter]
    fn size(&self) -> (u32, u32) {
        self.scene.size
    }

    /// Returns the number of samples per pixel that the scene asks for.
    #[getter]
    fn scene_samples(&self) -> u32 {
        self.scene.spp
    }

    /// Returns the messages for the user since the last call.
    fn take_notes(&mut self) -> Vec<String> {
        self.inner.take_notes()
    }

    /// Returns the film so far, like `Film.film`.
    fn film<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let picture = without_lock(py, || self.inner.picture())?;
        let pixels = picture.pixels.iter();
        Ok(floats(py, pixels.flat_map(|pixel| pixel.to_array())))
    }

    /// Returns the film so far as an image of three `u8` per pixel, like `Film.image`.
    fn image<'py>(
        &mut self,
        py: Python<'py>,
        exposure: Option<f32>,
        tone: Option<&str>,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let tone = tone.map_or(Ok(self.scene.tone), tone_named)?;
        let exposure = exposure.unwrap_or(self.scene.exposure_stops);
        let picture = without_lock(py, || self.inner.picture())?;
        let rgba = tone::to_srgb8(&picture, exposure, tone);
        let (pixels, _) = rgba.as_chunks::<4>();
        let rgb: Vec<u8> = pixels.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect();
        Ok(PyByteArray::new(py, &rgb))
    }

    /// Returns a copy of the film so far with these layers.
    fn result(&mut self, py: Python<'_>, layers: Vec<String>) -> PyResult<Film> {
        let aovs: Vec<Option<Aov>> = layers
            .iter()
            .map(|layer| aov(layer))
            .collect::<PyResult<_>>()?;
        let aovs: Vec<Aov> = aovs.into_iter().flatten().collect();
        without_lock(py, || {
            let has_points = layers
                .iter()
                .any(|layer| POINT_LAYERS.contains(&layer.as_str()));
            let points = match has_points {
                true => self.inner.surface_map()?,
                false => Vec::new(),
            };
            let sample_counts = match aovs.contains(&Aov::Samples) {
                true => Some(self.inner.sample_counts()?),
                false => None,
            };
            Ok::<_, raysieve::Error>(Film {
                aovs: self.inner.aovs(&aovs)?,
                picture: self.inner.picture()?,
                part: self.inner.part()?,
                sample_counts,
                points,
                layers,
                scene: self.inner.scene(),
            })
        })
    }
}

/// Returns the layer of EXR files with this name; `None` for a layer of the centers of pixels. `depth` is both. Fails
/// with a `ValueError` for an unknown name.
fn aov(name: &str) -> PyResult<Option<Aov>> {
    if let Ok(aov) = name.parse() {
        return Ok(Some(aov));
    }
    match POINT_LAYERS.contains(&name) {
        true => Ok(None),
        false => Err(PyValueError::new_err(format!(
            "layers {name:?}: expected any of albedo, normal, samples, denoised, {}",
            POINT_LAYERS.join(", ")
        ))),
    }
}
