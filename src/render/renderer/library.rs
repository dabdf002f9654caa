//! The renderer for programs: another scene on the same trees, rendering to a number of samples, AOVs and files.

use std::{path::Path, sync::Arc, sync::OnceLock, time::Instant};

use super::{MAX_ADVANCE, MAX_BATCH_TIME, MIN_ADVANCE, Renderer};
use crate::{
    Error,
    accel::trees::SceneBvhs,
    inspect::{
        aovs::{Aov, Aovs},
        surface_map::{SurfacePoint, surface_map},
    },
    render::output::{self, Look},
    scene::Scene,
};

impl Renderer {
    /// Returns the scene, with the renderer's present camera and size.
    pub fn scene(&self) -> Scene {
        Scene {
            camera: self.view,
            size: self.size,
            ..self.scene.clone()
        }
    }

    /// Continues with a changed scene, of which no sample is rendered yet. Strategy, target error, region and the
    /// request for previews stay.
    ///
    /// If the scene was cloned from the present one and has the same triangles, spheres, meshes and instances, its
    /// trees are used again: then materials, lights, textures, settings and the camera change quickly. A change of the
    /// camera alone is faster still by [`Renderer::set_camera`]. On GPUs, trees stay in host memory from the first call
    /// on.
    ///
    /// # Errors
    /// Those of [`Renderer::new`]. The renderer is then unchanged.
    ///
    /// ```no_run
    /// use raysieve::{Renderer, Scene, Settings, glam::Vec3, scene::{Light, Surface}};
    ///
    /// let mut scene = Scene::load("scenes/cornell.ron".as_ref())?;
    /// let mut renderer = Renderer::new(&scene, &Settings::default())?;
    /// for red in [0.2, 0.5, 0.8] {
    ///     scene.add_material("white", Surface::diffuse(Vec3::new(red, 0.5, 0.5)));
    ///     renderer.set_scene(&scene)?;
    ///     renderer.render_to(64, |_| {})?;
    ///     renderer.save(format!("red{red}.png"))?;
    /// }
    /// # Ok::<(), raysieve::Error>(())
    /// ```
    pub fn set_scene(&mut self, scene: &Scene) -> Result<(), Error> {
        let trees = match self.trees().filter(|trees| trees.are_of(scene)) {
            Some(trees) => trees,
            None => Arc::new(SceneBvhs::of(scene)?),
        };
        let mut renderer = Renderer::with_trees(trees.clone(), scene, &self.settings())?;
        if self.keeps_earlier {
            renderer.keep_for_previews();
        }
        if self.by_megakernel {
            renderer.set_megakernel()?;
        }
        if let Some(region) = self.region.filter(|region| region.is_inside(scene.size)) {
            renderer.set_region(Some(region))?;
        }
        if self.goal.is_some() {
            renderer.set_goal(self.goal)?;
        }
        renderer.notes.splice(..0, self.take_notes());
        renderer.kept_trees = Some(trees);
        *self = renderer;
        Ok(())
    }

    /// Renders until every pixel has `samples` samples, which may be more or fewer than the scene asks for. `progress`
    /// is called with the fraction that is done, 0 to 1: at the beginning, up to ten times a second, and at the end.
    /// Returns at once if the film has as many samples already.
    ///
    /// With a target error or in a region, `samples` is the maximum for a pixel if it is more than before, and
    /// rendering stops early if all pixels are done.
    ///
    /// # Errors
    /// [`Error::Setting`] if the film cannot hold so many samples, or if the render does not begin with the first
    /// sample. Those of the backend.
    pub fn render_to(&mut self, samples: u32, mut progress: impl FnMut(f64)) -> Result<(), Error> {
        self.stop_at(samples)?;
        loop {
            let done = self.samples_done().min_samples();
            progress((f64::from(done) / f64::from(samples.max(1))).min(1.0));
            if done >= samples {
                return self.finish_waves();
            }
            let slice = (self.elapsed / 8).clamp(MIN_ADVANCE, MAX_ADVANCE);
            let begun = OnceLock::new();
            let enough = |done: u32| {
                let is_first = begun.set(Instant::now()).is_ok();
                done >= samples || !is_first && begun.wait().elapsed() >= slice
            };
            if !self.advance_by(&enough, MAX_BATCH_TIME)? {
                progress(1.0);
                return Ok(());
            }
        }
    }

    /// Sets the number of samples per pixel at which the render is done, as [`Renderer::render_to`] does, for a program
    /// that then calls [`Renderer::advance`]. The film stays, and so does its number of samples if that is larger.
    ///
    /// # Errors
    /// Those of [`Renderer::extend_to`].
    pub fn stop_at(&mut self, samples: u32) -> Result<(), Error> {
        let end = u64::from(samples) * u64::from(self.pixel_count());
        if end > self.range.end {
            self.extend_to(samples)?;
        } else if self.rounds.is_none() && self.range.start == 0 {
            self.range.end = end.max(self.done);
        }
        Ok(())
    }

    /// Returns the surface at the center of each pixel, row by row from the top, for the present camera and size; see
    /// [`surface_map`].
    ///
    /// # Errors
    /// Those of [`surface_map`].
    pub fn surface_map(&self) -> Result<Vec<Option<SurfacePoint>>, Error> {
        surface_map(&self.scene(), self.trees())
    }

    /// Computes AOVs of the picture, and its alpha if the background of the scene is transparent, for the present
    /// camera and size. Includes the denoised picture if it is requested and its noise is known, see
    /// [`Renderer::preview`].
    ///
    /// # Errors
    /// Those of [`Aovs::trace`] and of [`Renderer::preview`].
    pub fn aovs(&mut self, requested: &[Aov]) -> Result<Aovs, Error> {
        let mut aovs = Aovs::trace(&self.scene(), self.trees(), requested)?;
        if requested.contains(&Aov::Denoised) {
            aovs.set_preview(self.preview()?);
        }
        Ok(aovs)
    }

    /// Writes the film so far to a file. A name that ends in `.png` gets a picture with the exposure and the tone curve
    /// of the scene, which has alpha if the background is transparent. One that ends in `.exr` gets linear light in
    /// 32-bit floats, from which the render can be continued, see [`part`](crate::render::part).
    ///
    /// # Errors
    /// [`Error::File`] if the name has another ending, or is that of a file from which the scene was read.
    /// [`Error::Write`] if the file cannot be written. Those of the backend.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let aovs = self.aovs(&[])?;
        self.save_with(path, &aovs)
    }

    /// Writes the film like [`Renderer::save`], in an EXR with AOVs.
    ///
    /// # Errors
    /// Those of [`Renderer::save`].
    pub fn save_with(&mut self, path: impl AsRef<Path>, aovs: &Aovs) -> Result<(), Error> {
        let path = path.as_ref();
        output::check_apart(path, &self.scene)?;
        let look = Look {
            exposure_stops: self.scene.exposure_stops,
            tone: self.scene.tone,
            ..Look::default()
        };
        output::write_picture(path, &self.part()?, look, aovs, &|_, _| {})
    }
}
