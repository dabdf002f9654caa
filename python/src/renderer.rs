//! Renders of scenes: their progress and results.

use std::{path::PathBuf, str::FromStr};

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyByteArray, PyDict},
};
use raysieve::{
    film::picture::{Picture, tone},
    inspect::aovs::{Aov, Aovs},
    render::{
        output::{self, Look},
        renderer::{self, BackendChoice, Settings},
    },
    scene::{self, Tone},
};

use crate::{scene::Scene, without_lock};

/// A render of a scene on its backend, with the film and the progress.
#[pyclass(module = "raysieve._raysieve")]
pub(crate) struct Renderer {
    inner: renderer::Renderer,
    scene: scene::Scene,
    /// The requested layers, in the order of the request.
    layers: Vec<Aov>,
}

#[pymethods]
impl Renderer {
    /// Creates a renderer of the scene as it is now. `threads` is the number of threads on the CPU; `None` stands for
    /// all hardware threads. Fails with `ValueError` for an unknown backend, strategy or layer, and with
    /// `RaysieveError` if the backend cannot be used.
    #[new]
    fn new(
        py: Python<'_>,
        scene: &Scene,
        backend: &str,
        strategy: &str,
        threads: Option<usize>,
        layers: Vec<String>,
    ) -> PyResult<Renderer> {
        let settings = Settings {
            backend: parse::<BackendChoice>("backend", backend)?,
            strategy: parse("strategy", strategy)?,
            threads,
            ..Settings::default()
        };
        let layers = layers.iter().map(|name| parse("layer", name));
        let layers: Vec<Aov> = layers.collect::<PyResult<_>>()?;
        let scene = scene.inner.clone();
        let mut inner = without_lock(py, || renderer::Renderer::new(&scene, &settings))?;
        if layers.contains(&Aov::Denoised) {
            inner.keep_for_previews();
        }
        Ok(Renderer {
            inner,
            scene,
            layers,
        })
    }

    /// Renders for 0.1 s to half a second. Returns whether samples remain.
    fn advance(&mut self, py: Python<'_>) -> PyResult<bool> {
        without_lock(py, || self.inner.advance())
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

    /// Returns the messages for the user since the last call.
    fn take_notes(&mut self) -> Vec<String> {
        self.inner.take_notes()
    }

    /// Returns the film so far, radiance in linear sRGB in W·sr⁻¹·m⁻²: three `f32` per pixel, rows from the top.
    fn film<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let picture = without_lock(py, || self.inner.picture())?;
        Ok(floats(
            py,
            picture.pixels.iter().flat_map(|pixel| pixel.to_array()),
        ))
    }

    /// Returns the film so far as an image: three `u8` per pixel in sRGB, after an exposure in stops and a tone curve.
    /// If one is `None`, it is that of the scene. Fails with `ValueError` for an unknown tone curve.
    fn image<'py>(
        &mut self,
        py: Python<'py>,
        exposure: Option<f32>,
        tone: Option<&str>,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let tone = tone.map_or(Ok(self.scene.tone), tone_named)?;
        let exposure = exposure.unwrap_or(self.scene.exposure_stops);
        let picture: Picture = without_lock(py, || self.inner.picture())?;
        let rgba = tone::to_srgb8(&picture, exposure, tone);
        let rgb: Vec<u8> = rgba
            .chunks_exact(4)
            .flat_map(|rgba| &rgba[..3])
            .copied()
            .collect();
        Ok(PyByteArray::new(py, &rgb))
    }

    /// Returns the requested layers by name: one or three `f32` per pixel, rows from the top. Omits the denoised image
    /// while its noise is unknown, such as with fewer than two samples per pixel.
    fn layers<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let aovs = self.trace_aovs(py)?;
        let (width, height) = self.scene.size;
        let result = PyDict::new(py);
        for &layer in &aovs.requested {
            let values = match layer {
                Aov::Samples => {
                    let counts = without_lock(py, || self.inner.sample_counts())?;
                    floats(py, counts.into_iter().map(|count| count as f32))
                }
                Aov::Denoised if aovs.preview().is_none() => continue,
                _ => {
                    let channels = 0..layer.channels().len();
                    let pixel = |pixel| {
                        let value = |number| aovs.value(layer, number, pixel);
                        channels.clone().map(value).collect::<Vec<f32>>()
                    };
                    floats(py, (0..width * height).flat_map(pixel))
                }
            };
            result.set_item(layer.name(), values)?;
        }
        Ok(result)
    }

    /// Returns the statistics as JSON, including the film's hash.
    fn stats(&mut self, py: Python<'_>) -> PyResult<String> {
        let stats = without_lock(py, || self.inner.finish())?;
        serde_json::to_string(&stats).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Writes the film to `path`: as a PNG with the scene's exposure and tone curve, or as an EXR with the requested
    /// layers. The extension selects the format. Fails with `RaysieveError` for another extension or a file of the
    /// scene.
    fn save(&mut self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let aovs = self.trace_aovs(py)?;
        let look = Look {
            exposure_stops: self.scene.exposure_stops,
            tone: self.scene.tone,
            ..Look::default()
        };
        without_lock(py, || {
            output::check_apart(&path, &self.scene)?;
            let part = self.inner.part()?;
            output::write_picture(&path, &part, look, &aovs, &|_, _| {})
        })
    }
}

impl Renderer {
    /// Computes the requested layers, except the sample counts.
    fn trace_aovs(&mut self, py: Python<'_>) -> PyResult<Aovs> {
        without_lock(py, || {
            let mut aovs = Aovs::trace(&self.scene, self.inner.trees(), &self.layers)?;
            if self.layers.contains(&Aov::Denoised) {
                aovs.set_preview(self.inner.preview()?);
            }
            Ok::<_, raysieve::Error>(aovs)
        })
    }
}

/// Parses the value of an argument. Fails with a `ValueError` that names the argument and the value.
fn parse<T: FromStr<Err: ToString>>(argument: &str, value: &str) -> PyResult<T> {
    let wrong = |error: T::Err| {
        PyValueError::new_err(format!("{argument} {value:?}: {}", error.to_string()))
    };
    value.parse().map_err(wrong)
}

/// Returns the tone curve with this name. Fails with a `ValueError` that lists all names if there is none.
fn tone_named(name: &str) -> PyResult<Tone> {
    let named = Tone::ALL.into_iter().find(|tone| tone.name() == name);
    named.ok_or_else(|| {
        let names = Tone::ALL.map(Tone::name).join(", ");
        PyValueError::new_err(format!("tone {name:?}: expected one of {names}"))
    })
}

/// Returns the bytes of numbers, each in the byte order of the machine.
fn floats<'py>(py: Python<'py>, values: impl Iterator<Item = f32>) -> Bound<'py, PyByteArray> {
    let bytes: Vec<u8> = values.flat_map(f32::to_ne_bytes).collect();
    PyByteArray::new(py, &bytes)
}
