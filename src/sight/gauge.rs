//! Paths of a picture's samples, traced again by the stages of the loop, and what is counted of them.

use std::sync::Arc;

use compaction::select::Strategy;
use rayon::prelude::*;

use super::{Sight, Sighting, scale};
use crate::{
    Error,
    camera::Camera,
    film::{Film, is_exposable},
    instance::NO_INSTANCE,
    layers::first_seen,
    noise::DARK,
    path::Span,
    scene::{self, Scene},
    stages::{Keep, generate, intersect, shade, shadow, sieve},
    wave::{CpuWave, Wave, counts},
    world::World,
};

/// Measures what a sight shows of each pixel of a picture, sample by sample.
pub struct Gauge {
    world: Arc<World>,
    camera: Camera,
    size: (u32, u32),
    seed: u32,
    max_bounces: u32,
    sight: Sight,
    /// By pixel: what is summed over its samples, and how many are in it.
    sums: Vec<([f64; 3], u32)>,
    /// The sample that is being added, and which of the passes over its pixels comes next.
    sample: u32,
    passes: usize,
}

/// Of a path's wave; a thread's stays in its core's cache.
const WAVE: usize = 1 << 12;

/// Waves that are traced before somebody may say that it is enough.
const BATCH: usize = 16;

/// One pixel of so many squared comes before the others: a coarse picture is there soon.
const COARSE: u32 = 4;

impl Gauge {
    /// Nothing is measured yet. The world is the scene's, and the picture is seen through this camera in this size.
    pub fn new(
        world: Arc<World>,
        scene: &Scene,
        camera: &scene::Camera,
        size: (u32, u32),
        sight: Sight,
    ) -> Gauge {
        // Now: it is made by all threads, and one that waits for them in the middle of a pass might be asked for it again.
        world.wide();
        Gauge {
            world,
            camera: Camera::new(camera, size.0, size.1),
            size,
            seed: scene.seed,
            max_bounces: scene.max_bounces,
            sight,
            sums: vec![Default::default(); size.0 as usize * size.1 as usize],
            sample: 0,
            passes: 0,
        }
    }

    /// Samples that every pixel has.
    pub fn samples(&self) -> u32 {
        self.sample
    }

    /// Adds a sample of each pixel, or of some of them if there is none yet; `false` if `enough` said so before the end of
    /// it, which is asked every now and then but for the first: what was added of it is lost.
    ///
    /// # Errors
    /// None on the CPU but of memory.
    pub fn advance(&mut self, enough: &dyn Fn() -> bool) -> Result<bool, Error> {
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
        // There soon in any case: a view that never rests is seen too.
        let is_first = self.passes == 0;
        let mut readings = Vec::with_capacity(pixels.len());
        for batch in pixels.chunks(BATCH * WAVE) {
            if !is_first && enough() {
                return Ok(false);
            }
            let read: Result<Vec<_>, Error> = batch
                .par_chunks(WAVE)
                .map(|pixels| self.read(pixels))
                .collect();
            readings.extend(read?.into_iter().flatten());
        }
        for (pixel, reading) in pixels.into_iter().zip(readings) {
            let (sums, samples) = &mut self.sums[pixel as usize];
            for (sum, part) in sums.iter_mut().zip(reading) {
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

    /// What is known by now, of a film with so many samples a pixel.
    pub fn sighting(&self, film_samples: u32) -> Sighting {
        let values = self.values(film_samples);
        let (rgba, legend) = match self.sight {
            Sight::Albedo => scale::albedo(&values, self.sample),
            Sight::Normal => scale::normal(&values, self.sample),
            _ => {
                let values: Vec<f32> = values.iter().map(|value| value[0]).collect();
                scale::even(self.sight, &values, self.sample, film_samples)
            }
        };
        Sighting {
            sight: self.sight,
            size: self.size,
            rgba,
            legend,
        }
    }

    /// What the sight shows of each pixel, of a film with so many samples; the first number alone but of colours and
    /// directions. Depth is not a number where nothing was hit,
    /// nor noise where no light was found.
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
        let dark = match self.sight {
            Sight::Noise => {
                let mean = |pixel| {
                    let ([sum, ..], samples) = of_pixel(pixel);
                    sum / f64::from(samples.max(1))
                };
                let sum: f64 = all.clone().into_par_iter().map(mean).sum();
                DARK * sum / f64::from(all.end)
            }
            _ => 0.0,
        };
        let value = |pixel| {
            let (sums, samples) = of_pixel(pixel);
            let samples = f64::from(samples.max(1));
            let value = match self.sight {
                Sight::Noise => {
                    let mean = sums[0] / samples;
                    let variance = (sums[1] / samples - mean * mean).max(0.0);
                    // Of a population of which these are some.
                    let variance = variance * samples / (samples - 1.0).max(1.0);
                    let error = (variance / f64::from(film_samples.max(1))).sqrt();
                    // Where no sample has found light nothing is known.
                    let known = if mean > 0.0 { 1.0 } else { f64::NAN };
                    [known * error / (mean + dark), 0.0, 0.0]
                }
                Sight::Depth => [sums[0] / sums[1], 0.0, 0.0],
                _ => sums.map(|sum| sum / samples),
            };
            value.map(|part| part as f32)
        };
        all.into_par_iter().map(value).collect()
    }

    /// What the next sample of these pixels adds to the sums.
    fn read(&self, pixels: &[u32]) -> Result<Vec<[f64; 3]>, Error> {
        let mut wave = Wave::Cpu(Box::new(CpuWave::new(
            self.world.clone(),
            self.camera,
            // Nothing is accumulated.
            Arc::new(Film::new(0)),
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
        for (pair, &pixel) in paths(&mut wave).pairs.iter_mut().zip(pixels) {
            *pair = (pixel, self.sample);
        }
        generate(&mut wave)?;
        if self.sight.is_of_first_hits() {
            return self.first_hits(&mut wave, pixels.len());
        }
        let mut tallies = vec![Tally::default(); pixels.len()];
        for bounce in 0..=self.max_bounces {
            let wave = &mut wave;
            for &path in queued(paths(wave), counts::rays(bounce)) {
                tallies[path as usize].rays += 1;
            }
            intersect(wave, bounce)?;
            sieve(wave, bounce, Keep::Hits)?;
            shade(wave, bounce)?;
            let shaded = paths(wave);
            let hits = queued(shaded, counts::hits(bounce));
            for (&path, ray) in hits.iter().zip(&shaded.shadow_rays) {
                tallies[path as usize].shadow_rays += u32::from(ray.distance > 0.0);
            }
            shadow(wave, bounce)?;
            sieve(wave, bounce, Keep::Survivors)?;
            if paths(wave).counts[counts::survivors(bounce)] == 0 {
                break;
            }
        }
        let lights = paths(&mut wave).radiances.iter();
        let reading = |(tally, light): (&Tally, &crate::path::Rgb)| match self.sight {
            Sight::Bounces => [f64::from(tally.rays - 1), 0.0, 0.0],
            Sight::Cost => [f64::from(tally.rays + tally.shadow_rays), 0.0, 0.0],
            _ if is_exposable(light.rgb) => {
                let sum = light.rgb.as_dvec3().element_sum();
                [sum, sum * sum, 0.0]
            }
            _ => [0.0; 3],
        };
        Ok(tallies.iter().zip(lights).map(reading).collect())
    }

    /// What the camera's rays of a wave hit.
    fn first_hits(&self, wave: &mut Wave, pixels: usize) -> Result<Vec<[f64; 3]>, Error> {
        intersect(wave, 0)?;
        let wave = paths(wave);
        let reading = |slot: usize| {
            let instance = wave.instances.get(slot).copied().unwrap_or(NO_INSTANCE);
            let (ray, hit) = (&wave.rays[slot], &wave.hits[slot]);
            match first_seen(&self.world, &self.camera, ray, hit, instance) {
                Some(seen) => match self.sight {
                    Sight::Albedo => seen.albedo.as_dvec3().to_array(),
                    Sight::Normal => seen.normal.as_dvec3().to_array(),
                    _ => [seen.depth, 1.0, 0.0],
                },
                None => [0.0; 3],
            }
        };
        Ok((0..pixels).map(reading).collect())
    }
}

/// What is counted of a path.
#[derive(Clone, Copy, Default)]
struct Tally {
    rays: u32,
    shadow_rays: u32,
}

fn paths(wave: &mut Wave) -> &mut CpuWave {
    match wave {
        Wave::Cpu(cpu) => cpu,
        Wave::Cuda(_) => unreachable!("it was made on the CPU"),
    }
}

fn queued(wave: &CpuWave, count: usize) -> &[u32] {
    &wave.queue[..wave.lanes(count)]
}
