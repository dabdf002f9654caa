//! The samples of a render: which are to be rendered and which are done, starting again, and continuing from a part.

use std::time::Duration;

use super::Renderer;
use crate::{
    Error,
    backend::Pixels,
    camera::Camera,
    device::camera_bodies::camera_in,
    light_shares,
    render::part::{Part, PartHeader, Samples},
    scene::{self, limits::check_sides},
};

impl Renderer {
    /// Clears the film and begins again with the first sample.
    pub fn restart(&mut self) -> Result<(), Error> {
        let (width, height) = self.size;
        self.done = self.range.start;
        self.elapsed = Duration::ZERO;
        self.stats.size = [width, height];
        self.stats.crop = self.region;
        self.stats.clear();
        let was_adaptive = self.reset_rounds();
        self.forget_safe_copy();
        let camera = match &self.lit_for {
            Some((scene, _)) => camera_in(scene, &self.view, width, height),
            None => Camera::new(&self.view, width, height),
        };
        let lit_scene = self
            .lit_for
            .as_mut()
            .filter(|(_, before)| *before != camera);
        let lit_scene = lit_scene.map(|(scene, before)| {
            *before = camera;
            light_shares::for_camera(scene, &camera, self.max_bounces)
        });
        let begun = self
            .backend
            .set_camera(camera, lit_scene.as_ref(), self.range.start);
        self.record_counts(begun)?;
        self.begin_adaptive(was_adaptive)
    }

    /// Selects the samples to render, clears the film and begins again.
    ///
    /// # Errors
    /// The film cannot hold so many samples, they are not one contiguous range, or with adaptive sampling not the first
    /// ones: see [`Renderer::set_noise`].
    pub fn set_samples(&mut self, samples: &Samples) -> Result<(), Error> {
        let [range] = samples.ranges() else {
            return Err(Error::Setting {
                setting: format!("samples {samples}"),
                problem: "one stretch of samples is rendered at a time; render each by itself"
                    .to_owned(),
            });
        };
        self.check_range(self.goal.is_some() || self.region.is_some(), range)?;
        let on_film = (range.end - range.start).div_ceil(self.pixel_count().into());
        let on_film = u32::try_from(on_film).unwrap_or(u32::MAX);
        self.scene.check_samples(on_film.max(1))?;
        self.pixels = Pixels::all(self.size);
        self.range = range.clone();
        self.restart()
    }

    /// Raises the number of samples per pixel to `samples`, and continues the film, also that of a region or of
    /// adaptive sampling.
    ///
    /// # Errors
    /// [`Error::Setting`] if the render does not begin with the first sample, or has as many samples already, or if the
    /// film cannot hold so many. The
    /// renderer is then unchanged.
    pub fn extend_to(&mut self, samples: u32) -> Result<(), Error> {
        let pixel_count = u64::from(self.pixel_count());
        let end = u64::from(samples) * pixel_count;
        let refused = |problem: &str| Error::Setting {
            setting: format!("samples {}", self.samples()),
            problem: problem.to_owned(),
        };
        if self.range.start != 0 || self.pixels != Pixels::all(self.size) {
            return Err(refused(
                "only a render from the first sample on can get more",
            ));
        }
        if end <= self.range.end {
            return Err(refused("a render can get more samples, but not fewer"));
        }
        self.scene.check_samples(samples)?;
        // A render with the new number copies the film at each power of two, and so at this one.
        let film_samples = self.done / pixel_count;
        let is_copied = self.done.is_multiple_of(pixel_count) && film_samples.is_power_of_two();
        if self.keeps_earlier && is_copied && self.rounds.is_none() {
            self.finish_waves()?;
            self.keep_film_copy();
        }
        self.raise_limit(samples)?;
        self.range.end = end;
        Ok(())
    }

    /// Selects one range of samples and some pixels, and begins again. The film is then incomplete and must not be used
    /// as a part.
    pub(crate) fn set_pixels(&mut self, samples: &Samples, pixels: Pixels) -> Result<(), Error> {
        self.set_samples(samples)?;
        let all = u64::from(self.pixel_count());
        let chosen: Vec<u32> = pixels.list().collect();
        let place = |pairs: u64| {
            let before = chosen.partition_point(|&pixel| u64::from(pixel) < pairs % all);
            pairs / all * chosen.len() as u64 + before as u64
        };
        self.range = place(self.range.start)..place(self.range.end);
        self.pixels = pixels;
        self.restart()
    }

    /// Returns the samples to render.
    pub fn samples(&self) -> Samples {
        Samples::of_pairs(self.range.clone(), self.pixel_count())
    }

    /// Returns the samples that are done.
    pub fn samples_done(&self) -> Samples {
        if let Some(rounds) = &self.rounds {
            return Samples::first(rounds.min_samples(), self.pixel_count());
        }
        Samples::of_pairs(self.range.start..self.done, self.pixel_count())
    }

    /// Returns the samples that are not done. The result is meaningless with adaptive sampling.
    pub fn samples_left(&self) -> Samples {
        Samples::of_pairs(self.done..self.range.end, self.pixel_count())
    }

    /// Loads the film of a part that contains the first of the samples to render, and continues after them.
    ///
    /// # Errors
    /// [`Error::Setting`] if the part is of another render. The renderer is then unchanged. If
    /// [all GPUs have failed](Renderer::all_gpus_failed), returns an error, and the film of the part is the safe one.
    pub fn resume(&mut self, part: &Part) -> Result<(), Error> {
        self.check_resume(&part.header)
            .map_err(|problem| Error::Setting {
                setting: format!("part with samples {}", part.header.samples),
                problem,
            })?;
        let PartHeader { samples, stats, .. } = &part.header;
        self.done = samples.ranges().first().map_or(0, |range| range.end);
        self.elapsed = Duration::try_from_secs_f64(stats.seconds).unwrap_or_default();
        self.stats.bounces.clone_from(&stats.bounces);
        self.stats.devices.clone_from(&stats.devices);
        self.stats.wave_times.clone_from(&stats.wave_times);
        if stats.compaction != self.stats.compaction {
            self.stats.begin_strategy();
        }
        self.stats.rejected_samples = stats.rejected_samples;
        let failed = self.backend.gpus.iter().filter(|gpu| !gpu.works());
        failed.for_each(|gpu| self.stats.set_failed(&gpu.name));
        self.copy_resumed(part);
        let begun = self.backend.set_film(&part.film, self.done);
        let begun = self.record_counts(begun);
        // Also after an error, because the safe film of failed GPUs has statistics of its pixels too.
        begun.and(self.resume_rounds(part))?;
        if self.keeps_earlier {
            self.keep_film_copy();
        }
        Ok(())
    }

    /// Checks that the render can continue from a part with this header. The error is the reason why not, as text.
    pub(crate) fn check_resume(&self, header: &PartHeader) -> Result<(), String> {
        if let Some(difference) = header.identity.difference(&self.identity()) {
            return Err(difference);
        }
        if self.goal.is_some() || self.region.is_some() {
            return self.check_rounds(header);
        }
        match header.samples.ranges() {
            [range] if range.start == self.range.start && range.end <= self.range.end => Ok(()),
            _ => Err(format!(
                "holds samples {}, not the first of {}",
                header.samples,
                self.samples()
            )),
        }
    }

    /// Returns the camera of the film.
    pub fn camera(&self) -> scene::Camera {
        self.view
    }

    /// Sets the camera, clears the film and begins again.
    ///
    /// # Errors
    /// Those of [`scene::Camera::check`], with the renderer unchanged. Those of the backend.
    pub fn set_camera(&mut self, camera: scene::Camera) -> Result<(), Error> {
        camera.check()?;
        self.view = camera;
        self.restart()
    }

    /// Sets the picture's size in pixels, selects all samples and pixels of the scene, clears the film and begins
    /// again.
    ///
    /// # Errors
    /// [`Error::Setting`] if the size is 0 or too large, with the renderer unchanged. Those of the backend.
    pub fn set_size(&mut self, width: u32, height: u32) -> Result<(), Error> {
        check_sides((width, height)).map_err(|problem| Error::Setting {
            setting: format!("size {width}x{height}"),
            problem: problem.to_string(),
        })?;
        self.size = (width, height);
        self.region = None;
        self.set_samples(&Samples::first(self.spp, width * height))
    }
}
