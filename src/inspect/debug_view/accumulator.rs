//! Accumulation of a debug view: traces the samples of an image again by the stages of the loop, and sums their values.

use std::sync::Arc;

use compaction::select::Strategy;
use rayon::prelude::*;

use super::{DebugImage, DebugView, color_scale};
use crate::{
    Error,
    accel::instance::NO_INSTANCE,
    adaptive::noise_estimate::BRIGHTNESS_OFFSET,
    camera::Camera,
    device::{camera_bodies::camera_in, render_scene::RenderScene},
    film::is_valid_sample,
    inspect::aovs::first_hit,
    light_shares,
    path::Span,
    scene::{self, Scene},
    stages::wave::{CpuWave, Wave, counts},
    wavefront::{Step, steps},
};

/// A debug view that is computed sample by sample: the sums of its values for each pixel of an image.
pub struct Accumulator {
    render_scene: Arc<RenderScene>,
    camera: Camera,
    size: (u32, u32),
    seed: u32,
    max_bounces: u32,
    debug_view: DebugView,
    /// Sums over the samples of each pixel, and the number of those samples.
    sums: Vec<([f64; 3], u32)>,
    /// Number of the sample that is added next, which is also the number of samples that every pixel has.
    sample: u32,
    /// Number of completed passes over pixels. Sample 0 takes two passes, every other sample one.
    passes: usize,
}

/// Number of paths per wave, so that a wave fits into a core's cache.
const WAVE: usize = 1 << 12;

/// Number of waves between two calls of the cancellation callback.
const BATCH: usize = 16;

/// Pixel spacing of the first pass, which yields a coarse image quickly.
const COARSE: u32 = 4;

impl Accumulator {
    /// Creates an accumulator without samples. `render_scene` must be prepared from `scene`.
    pub fn new(
        render_scene: Arc<RenderScene>,
        scene: &Scene,
        camera: &scene::Camera,
        size: (u32, u32),
        debug_view: DebugView,
    ) -> Accumulator {
        // Prepared before the first pass, because preparing uses all threads and could deadlock within a pass.
        render_scene.prepare_simd();
        let camera = camera_in(&render_scene, camera, size.0, size.1);
        Accumulator {
            render_scene: light_shares::for_camera(&render_scene, &camera, scene.max_bounces),
            camera,
            size,
            seed: scene.seed,
            max_bounces: scene.max_bounces,
            debug_view,
            sums: vec![Default::default(); size.0 as usize * size.1 as usize],
            sample: 0,
            passes: 0,
        }
    }

    /// Returns the number of samples that every pixel has.
    pub fn samples(&self) -> u32 {
        self.sample
    }

    /// Adds one sample to each pixel. The first call covers only a coarse grid of pixels, and the second the others.
    ///
    /// Calls `is_cancelled` repeatedly, except during the first pass. If that returns `true`, this call adds nothing
    /// and returns `false`; otherwise it returns `true`.
    ///
    /// # Errors
    /// Only if memory is short, as everything runs on the CPU.
    pub fn advance(&mut self, is_cancelled: &dyn Fn() -> bool) -> Result<bool, Error> {
        let (width, height) = self.size;
        let is_coarse = |pixel: &u32| {
            let (column, row) = (pixel % width, pixel / width);
            column.is_multiple_of(COARSE) && row.is_multiple_of(COARSE)
        };
        let all = 0..width * height;
        let pixels: Vec<u32> = match (self.sample, self.passes) {
            (0, 0) => all.filter(is_coarse).collect(),
            (0, _) => all.filter(|pixel| !is_coarse(pixel)).collect(),
            _ => all.collect(),
        };
        // The first pass is quick, and completing it gives an image even while the view keeps changing.
        let is_first = self.passes == 0;
        let mut values = Vec::with_capacity(pixels.len());
        for batch in pixels.chunks(BATCH * WAVE) {
            if !is_first && is_cancelled() {
                return Ok(false);
            }
            let traced: Result<Vec<_>, Error> = batch
                .par_chunks(WAVE)
                .map(|pixels| self.trace_samples(pixels))
                .collect();
            values.extend(traced?.into_iter().flatten());
        }
        for (pixel, value) in pixels.into_iter().zip(values) {
            let (sums, samples) = &mut self.sums[pixel as usize];
            for (sum, part) in sums.iter_mut().zip(value) {
                *sum += part;
            }
            *samples += 1;
        }
        self.passes += 1;
        if self.passes > 1 {
            self.sample += 1;
        }
        Ok(true)
    }

    /// Returns the image of the samples so far, with its legend. `film_samples`, the film's sample count per pixel,
    /// scales the noise view.
    pub fn image(&self, film_samples: u32) -> DebugImage {
        let values = self.values(film_samples);
        let (rgba, legend) = match self.debug_view {
            DebugView::Albedo => color_scale::albedo(&values, self.sample),
            DebugView::Normal => color_scale::normal(&values, self.sample),
            _ => {
                let values: Vec<f32> = values.iter().map(|value| value[0]).collect();
                color_scale::map_scalars(self.debug_view, &values, self.sample, film_samples)
            }
        };
        DebugImage {
            debug_view: self.debug_view,
            size: self.size,
            rgba,
            legend,
        }
    }

    /// Returns the value of each pixel, row by row; `film_samples` is the film's sample count per pixel. Scalar values
    /// are in the first component. Depth is NaN where nothing was hit, and noise where no light was found.
    pub fn values(&self, film_samples: u32) -> Vec<[f32; 3]> {
        let of_pixel = |pixel: u32| {
            let own = self.sums[pixel as usize];
            if own.1 > 0 {
                return own;
            }
            let (column, row) = (pixel % self.size.0, pixel / self.size.0);
            let coarse = |place: u32| place - place % COARSE;
            self.sums[(coarse(row) * self.size.0 + coarse(column)) as usize]
        };
        let all = 0..self.size.0 * self.size.1;
        let dark = match self.debug_view {
            DebugView::Noise => {
                let mean = |pixel| {
                    let ([sum, ..], samples) = of_pixel(pixel);
                    sum / f64::from(samples.max(1))
                };
                let sum: f64 = all.clone().into_par_iter().map(mean).sum();
                BRIGHTNESS_OFFSET * sum / f64::from(all.end)
            }
            _ => 0.0,
        };
        let value = |pixel| {
            let (sums, samples) = of_pixel(pixel);
            let samples = f64::from(samples.max(1));
            let value = match self.debug_view {
                DebugView::Noise => {
                    let mean = sums[0] / samples;
                    let variance = (sums[1] / samples - mean * mean).max(0.0);
                    // Unbiased estimate of the variance from a sample.
                    let variance = variance * samples / (samples - 1.0).max(1.0);
                    let error = (variance / f64::from(film_samples.max(1))).sqrt();
                    // Without any light found, the error is unknown.
                    let known = if mean > 0.0 { 1.0 } else { f64::NAN };
                    [known * error / (mean + dark), 0.0, 0.0]
                }
                DebugView::Depth => [sums[0] / sums[1], 0.0, 0.0],
                _ => sums.map(|sum| sum / samples),
            };
            value.map(|part| part as f32)
        };
        all.into_par_iter().map(value).collect()
    }

    /// Traces the next sample of these pixels, and returns for each pixel the values to add to its sums.
    fn trace_samples(&self, pixels: &[u32]) -> Result<Vec<[f64; 3]>, Error> {
        let mut wave = Wave::Cpu(Box::new(CpuWave::new(
            self.render_scene.clone(),
            self.camera,
            // No film is needed.
            Arc::default(),
            self.max_bounces,
            pixels.len() as u32,
            Strategy::default(),
        )));
        wave.begin(Span {
            width: self.size.0,
            pixel_count: self.size.0 * self.size.1,
            first_sample: self.sample,
            path_count: pixels.len() as u32,
            seed: self.seed,
            ..Span::default()
        })?;
        for (pair, &pixel) in cpu_wave(&mut wave).pairs.iter_mut().zip(pixels) {
            *pair = (pixel, self.sample);
        }
        let mut tallies = vec![Tally::default(); pixels.len()];
        for step in steps(self.max_bounces) {
            // The film has no pixels.
            if step == Step::Accumulate {
                break;
            }
            if let Step::Intersect(bounce) = step {
                for &path in live_paths(cpu_wave(&mut wave), counts::rays(bounce)) {
                    tallies[path as usize].rays += 1;
                }
            }
            step.run(&mut wave)?;
            match step {
                Step::Intersect(0) if self.debug_view.is_of_first_hits() => {
                    return Ok(self.first_hits(cpu_wave(&mut wave), pixels.len()));
                }
                Step::Shade(bounce) => {
                    let shaded = cpu_wave(&mut wave);
                    let hits = live_paths(shaded, counts::hits(bounce));
                    for (&path, ray) in hits.iter().zip(&shaded.shadow_rays) {
                        tallies[path as usize].shadow_rays += u32::from(ray.distance > 0.0);
                    }
                }
                _ => {}
            }
        }
        let lights = cpu_wave(&mut wave).radiances.iter();
        let value = |(tally, light): (&Tally, &crate::path::PathRadiance)| match self.debug_view {
            DebugView::Bounces => [f64::from(tally.rays - 1), 0.0, 0.0],
            DebugView::Cost => [f64::from(tally.rays + tally.shadow_rays), 0.0, 0.0],
            _ if is_valid_sample(light.rgb) => {
                let sum = light.rgb.as_dvec3().element_sum();
                [sum, sum * sum, 0.0]
            }
            _ => [0.0; 3],
        };
        Ok(tallies.iter().zip(lights).map(value).collect())
    }

    /// Returns what the view shows for the hits of the first `pixels` camera rays of a wave, which have been
    /// intersected with the scene: albedo or normal, or the depth in metres followed by 1 and 0. Rays that missed give
    /// zeros.
    fn first_hits(&self, wave: &CpuWave, pixels: usize) -> Vec<[f64; 3]> {
        let value = |path: usize| {
            let instance = wave.instances.get(path).copied().unwrap_or(NO_INSTANCE);
            let (ray, hit) = (&wave.rays[path], &wave.hits[path]);
            match first_hit(&self.render_scene, &self.camera, ray, hit, instance) {
                Some(hit) => match self.debug_view {
                    DebugView::Albedo => hit.albedo.as_dvec3().to_array(),
                    DebugView::Normal => hit.normal.as_dvec3().to_array(),
                    _ => [hit.depth, 1.0, 0.0],
                },
                None => [0.0; 3],
            }
        };
        (0..pixels).map(value).collect()
    }
}

/// The numbers of rays of one path.
#[derive(Clone, Copy, Default)]
struct Tally {
    rays: u32,
    shadow_rays: u32,
}

/// Returns the CPU wave that `trace_samples` has created.
fn cpu_wave(wave: &mut Wave) -> &mut CpuWave {
    match wave {
        Wave::Cpu(cpu) => cpu,
        Wave::Cuda(_) => unreachable!("it was made on the CPU"),
    }
}

/// Returns the indices of the live paths at the point of the loop where `wave.counts[count]` paths are live.
fn live_paths(wave: &CpuWave, count: usize) -> &[u32] {
    &wave.queue[..wave.queue_length(count)]
}
