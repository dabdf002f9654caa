//! Debug views: false-color images of quantities other than the rendered light.
//!
//! They are computed on the CPU whatever backend renders, and do not change the film. `accumulator` traces the same
//! samples as the film again, from sample 0, and `color_scale` maps the values to colors and a legend.

mod accumulator;
mod color_scale;

use std::{str::FromStr, sync::Arc};

use serde::Serialize;

pub use accumulator::Accumulator;
pub use color_scale::Legend;

use crate::{Error, device::render_scene::RenderScene, scene::Scene};

/// Number of samples per pixel after which a debug view is complete; [`Accumulator`] callers stop there.
pub const MAX_SAMPLES: u32 = 32;

/// A debug view: the quantity that an image displays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DebugView {
    /// No debug view: the rendered image itself.
    #[default]
    Light,
    /// Average number of scatterings per path.
    Bounces,
    /// Average number of rays per path, including shadow rays.
    Cost,
    /// Estimated relative standard error of the film's pixel. It is the samples' standard deviation, divided by the
    /// square root of the film's sample count, and by the mean plus one hundredth of the image's mean.
    ///
    /// Assumes independent samples. Sobol samples are stratified, so the true error is smaller where light is smooth.
    Noise,
    /// Number of samples of the pixel on the film.
    Samples,
    /// Base color of the first hit.
    Albedo,
    /// Shading normal of the first hit: red is x, green is y, blue is z, each mapped from -1..=1.
    Normal,
    /// Distance of the first hit along the viewing direction, in metres.
    Depth,
}

impl DebugView {
    /// All debug views, in the order in which the key `v` of the viewer cycles through them.
    pub const ALL: [DebugView; 8] = [
        DebugView::Light,
        DebugView::Bounces,
        DebugView::Cost,
        DebugView::Noise,
        DebugView::Samples,
        DebugView::Albedo,
        DebugView::Normal,
        DebugView::Depth,
    ];

    /// Returns the name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            DebugView::Light => "light",
            DebugView::Bounces => "bounces",
            DebugView::Cost => "cost",
            DebugView::Noise => "noise",
            DebugView::Samples => "samples",
            DebugView::Albedo => "albedo",
            DebugView::Normal => "normal",
            DebugView::Depth => "depth",
        }
    }

    /// Returns whether the value depends on the first hits of the camera rays alone, as albedo, normal and depth do.
    fn is_of_first_hits(self) -> bool {
        matches!(
            self,
            DebugView::Albedo | DebugView::Normal | DebugView::Depth
        )
    }

    /// Returns whether the image depends on the number of samples on the film.
    pub fn follows_film(self) -> bool {
        matches!(self, DebugView::Noise | DebugView::Samples)
    }
}

impl FromStr for DebugView {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<DebugView, &'static str> {
        let named = DebugView::ALL
            .into_iter()
            .find(|debug_view| debug_view.name() == name);
        named.ok_or("unknown debug view")
    }
}

/// A debug view as an image, with its legend.
#[derive(Clone, Debug, PartialEq)]
pub struct DebugImage {
    /// Debug view that the image displays.
    pub debug_view: DebugView,
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// RGBA with eight bits per channel, rows from the top, not premultiplied by alpha. Debug views are opaque.
    pub rgba: Vec<u8>,
    /// Legend that explains the colors.
    pub legend: Legend,
}

impl DebugImage {
    /// Computes a debug view of the scene. `film_samples` is the film's minimum sample count per pixel, and `counts`
    /// the sample count of each pixel. Returns `None` for [`DebugView::Light`].
    ///
    /// # Errors
    /// See [`RenderScene::new`].
    pub fn compute(
        scene: &Scene,
        debug_view: DebugView,
        film_samples: u32,
        counts: &[u32],
    ) -> Result<Option<DebugImage>, Error> {
        if debug_view == DebugView::Light {
            return Ok(None);
        }
        if debug_view == DebugView::Samples {
            return Ok(Some(DebugImage::of_samples(scene.size, counts)));
        }
        let render_scene = Arc::new(RenderScene::new(scene)?);
        let mut accumulator =
            Accumulator::new(render_scene, scene, &scene.camera, scene.size, debug_view);
        while accumulator.samples() < MAX_SAMPLES {
            accumulator.advance(&|| false)?;
        }
        Ok(Some(accumulator.image(film_samples)))
    }

    /// Creates an image of the number of samples per pixel on a film.
    pub fn of_samples(size: (u32, u32), counts: &[u32]) -> DebugImage {
        let counts: Vec<f32> = counts.iter().map(|&count| count as f32).collect();
        let (rgba, legend) = color_scale::map_sample_counts(&counts);
        DebugImage {
            debug_view: DebugView::Samples,
            size,
            rgba,
            legend,
        }
    }
}
