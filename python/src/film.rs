//! The results of a render: a copy of the film, with the requested layers.

use std::{borrow::Cow, path::PathBuf};

use pyo3::{exceptions::PyValueError, prelude::*, types::PyByteArray, types::PyDict};
use raysieve::{
    film::picture::{Picture, tone, transparency::to_rgba8},
    inspect::aovs::{Aov, Aovs},
    inspect::surface_map::SurfacePoint,
    render::{
        output::{self, Look},
        part::Part,
        region::Region,
    },
    scene,
};

use crate::{floats, tone_named, without_lock};

/// Names of the layers of what the camera sees at the center of a pixel.
pub(crate) const POINT_LAYERS: [&str; 6] = [
    "depth", "position", "uv", "instance", "material", "triangle",
];

/// A copy of a film with its layers.
#[pyclass(module = "raysieve._raysieve", frozen)]
pub(crate) struct Film {
    pub(crate) part: Part,
    pub(crate) picture: Picture,
    pub(crate) aovs: Aovs,
    /// Number of samples of each pixel, if they are requested.
    pub(crate) sample_counts: Option<Vec<u32>>,
    /// What the camera sees at the center of each pixel; empty unless a layer of it is requested.
    pub(crate) points: Vec<Option<SurfacePoint>>,
    /// Names of the requested layers, in the order of the request.
    pub(crate) layers: Vec<String>,
    pub(crate) scene: scene::Scene,
}

#[pymethods]
impl Film {
    /// Returns the (width, height) of the film in pixels.
    #[getter]
    fn size(&self) -> (u32, u32) {
        (self.picture.width, self.picture.height)
    }

    /// Returns the radiance in linear sRGB in W·sr⁻¹·m⁻²: three `f32` per pixel, rows from the top.
    fn film<'py>(&self, py: Python<'py>) -> Bound<'py, PyByteArray> {
        let pixels = self.picture.pixels.iter();
        floats(py, pixels.flat_map(|pixel| pixel.to_array()))
    }

    /// Returns an image: three or, with `alpha`, four `u8` per pixel in sRGB, after an exposure in stops and a tone
    /// curve. If one is `None`, it is that of the scene. Fails with `ValueError` for an unknown tone curve.
    fn image<'py>(
        &self,
        py: Python<'py>,
        exposure: Option<f32>,
        tone: Option<&str>,
        alpha: bool,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let tone = tone.map_or(Ok(self.scene.tone), tone_named)?;
        let exposure = exposure.unwrap_or(self.scene.exposure_stops);
        let shown = py.detach(|| match alpha {
            true => to_rgba8(&self.picture, self.aovs.alpha(), exposure, tone),
            false => {
                let rgba = tone::to_srgb8(&self.picture, exposure, tone);
                let (pixels, _) = rgba.as_chunks::<4>();
                pixels.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect()
            }
        });
        Ok(PyByteArray::new(py, &shown))
    }

    /// Returns the requested layers by name, each with whether its numbers are whole: one to three `f32` or one `i32`
    /// per pixel, rows from the top. Omits the denoised image while its noise is unknown, such as with fewer than two
    /// samples per pixel.
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let pixel_count = self.picture.width * self.picture.height;
        let result = PyDict::new(py);
        for name in &self.layers {
            let numbers = match name.as_str() {
                "instance" | "material" | "triangle" => {
                    let values = self.points.iter().map(|point| {
                        let point = point.as_ref()?;
                        match name.as_str() {
                            "instance" => point.instance,
                            "material" => Some(point.material),
                            _ => point.triangle,
                        }
                    });
                    let whole = values.map(|value| value.map_or(-1, |value| value as i32));
                    let bytes: Vec<u8> = whole.flat_map(i32::to_ne_bytes).collect();
                    (true, PyByteArray::new(py, &bytes))
                }
                "position" | "uv" | "depth" => (false, self.point_layer(py, name)),
                "samples" => {
                    let counts = self.sample_counts.iter().flatten();
                    (false, floats(py, counts.map(|&count| count as f32)))
                }
                _ => {
                    let layer: Aov = crate::parse("layer", name)?;
                    if layer == Aov::Denoised && self.aovs.preview().is_none() {
                        continue;
                    }
                    let channels = 0..layer.channels().len();
                    let pixel = |pixel| {
                        let value = |number| self.aovs.value(layer, number, pixel);
                        channels.clone().map(value).collect::<Vec<f32>>()
                    };
                    (false, floats(py, (0..pixel_count).flat_map(pixel)))
                }
            };
            result.set_item(name, numbers)?;
        }
        Ok(result)
    }

    /// Returns the statistics as JSON, including the film's hash.
    fn stats(&self) -> PyResult<String> {
        serde_json::to_string(&self.part.header.stats)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Writes the film to `path`: as a PNG with the scene's exposure and tone curve, or as an EXR with the requested
    /// layers. The extension selects the format. Fails with `RaysieveError` for another extension or a file of the
    /// scene.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let look = Look {
            exposure_stops: self.scene.exposure_stops,
            tone: self.scene.tone,
            ..Look::default()
        };
        without_lock(py, || {
            output::check_apart(&path, &self.scene)?;
            match self.crop() {
                Some(crop) => output::write_region(&path, &self.part, crop, look, &self.aovs),
                None => output::write_picture(&path, &self.part, look, &self.aovs, &|_, _| {}),
            }
        })
    }

    /// Returns the (x, y, width, height) of the region that was rendered; `None` for the whole image.
    #[getter]
    fn region(&self) -> Option<(u32, u32, u32, u32)> {
        self.crop()
            .map(|crop| (crop.x, crop.y, crop.width, crop.height))
    }

    /// Returns the image as the bytes of a PNG, with the look of the scene.
    fn png(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let look = Look {
            exposure_stops: self.scene.exposure_stops,
            tone: self.scene.tone,
            ..Look::default()
        };
        let mut bytes = Vec::new();
        let stats = &self.part.header.stats;
        let encoded = py.detach(|| {
            let (picture, alpha) = self.shown();
            output::encode_picture_as_png(&mut bytes, &picture, alpha.as_deref(), stats, look)
        });
        encoded.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(bytes)
    }
}

impl Film {
    /// Returns the region that was rendered; `None` for the whole image.
    fn crop(&self) -> Option<Region> {
        self.part.header.identity.crop
    }

    /// Returns the picture and its alpha, if it has one, in the region that was rendered.
    fn shown(&self) -> (Cow<'_, Picture>, Option<Cow<'_, [f32]>>) {
        let alpha = self.aovs.alpha();
        let Some(crop) = self.crop() else {
            return (Cow::Borrowed(&self.picture), alpha.map(Cow::Borrowed));
        };
        let width = self.picture.width;
        let rows = crop.y..crop.y + crop.height;
        let places = rows.flat_map(|y| (crop.x..crop.x + crop.width).map(move |x| y * width + x));
        let places: Vec<usize> = places.map(|place| place as usize).collect();
        let picture = Picture {
            width: crop.width,
            height: crop.height,
            pixels: places.iter().map(|&at| self.picture.pixels[at]).collect(),
        };
        let alpha = alpha.map(|alpha| places.iter().map(|&at| alpha[at]).collect());
        (Cow::Owned(picture), alpha)
    }

    /// Returns a layer of numbers at the center of each pixel. Where nothing is hit, `depth` is infinite, and the
    /// others are NaN.
    fn point_layer<'py>(&self, py: Python<'py>, name: &str) -> Bound<'py, PyByteArray> {
        let mut values = Vec::new();
        for point in &self.points {
            match (name, point) {
                ("depth", point) => {
                    values.push(point.map_or(f32::INFINITY, |point| point.depth));
                }
                ("uv", point) => values.extend(point.map_or([f32::NAN; 2], |point| point.uv)),
                (_, point) => {
                    values.extend(point.map_or([f32::NAN; 3], |at| at.position.to_array()));
                }
            }
        }
        floats(py, values.into_iter())
    }
}
