//! The stage `denoise`: converts the film to a denoised image, on request.
//!
//! Reads: the film's sums, and what its noise is estimated from: a snapshot of the film at a lower sample count, or the
//! sample counts and variances of an adaptive render. Writes: an image.
//! Method: radiance and variance are converted to integers and summed into summed-area tables. Each pixel becomes a
//! weighted mean over windows that [`adaptive_window`] selects from them. All backends compute the same bits.

mod film_snapshots;

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use compaction::{
    cuda::{self, Compiler, In, InOut, Kernel, Launch, Source, Timeline, uninitialised},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView},
    summed_area::{self, SummedArea, Workspace},
};
use glam::Vec3;
use rayon::prelude::*;

pub(crate) use self::film_snapshots::FilmSnapshots;
use super::ImageReadback;
use super::wave::{CpuWave, CudaWave, Wave};
use crate::{
    Error,
    adaptive::{
        adaptive_window::{
            self, NOISE_TABLE, SummedTables, TABLES, denoise_pixel, noise_known, noise_of,
            tabled_light, tabled_noise,
        },
        pixel_noise::PixelNoise,
    },
    camera::Camera,
    device::kernels::{BLOCK_THREADS, stage, with},
    film::picture::Picture,
    film::{mean, samples_of},
    scene::memory,
};

/// A denoised image of a film, and the time that the stage took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    /// The denoised image. It is biased: its expected value is not that of the film.
    pub picture: Picture,
    /// Duration of the stage in milliseconds: GPU time without the copy to the host, or wall-clock time on the CPU.
    pub milliseconds: f64,
}

/// Copies the wave's film, which holds the first `done` (pixel, sample) pairs, for the noise estimate of later calls of
/// [`denoise`]. The last two copies are kept.
///
/// # Errors
/// On a GPU, if its memory does not suffice, or if loading the kernels fails.
pub fn snapshot_film(wave: &mut Wave, done: u64) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => {
            let size = cpu.camera.size();
            let copy = cpu.film.film_sums().map_err(Error::memory(size))?;
            cpu.film_snapshots.add(done, copy.sums);
            Ok(())
        }
        Wave::Cuda(cuda) => {
            let mut denoiser = match cuda.denoiser.take() {
                Some(denoiser) => denoiser,
                None => cuda.new_denoiser()?,
            };
            let copied = denoiser.snapshot_film(&cuda.stream, cuda.film.sums.as_view(), done);
            cuda.denoiser = Some(denoiser);
            copied
        }
    }
}

/// Writes the denoised image of the wave's film into `preview`, whose buffers are reused. Waits for the result.
///
/// `done` is the number of (pixel, sample) pairs on the film. Returns `false`, and leaves `preview` unchanged, if no
/// copy of [`snapshot_film`] has fewer pairs. Adaptive renders ignore `done` and need no copy, but before the end of
/// the second round their noise counts as 0, and nothing is denoised.
///
/// # Errors
/// On a GPU, if a kernel or an allocation fails, or if the image does not arrive before the wave's timeout.
pub fn denoise(wave: &mut Wave, done: u64, preview: &mut Preview) -> Result<bool, Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, done, preview),
        Wave::Cuda(cuda) => on_cuda(cuda, done, preview),
    }
}

fn on_cpu(wave: &CpuWave, done: u64, preview: &mut Preview) -> Result<bool, Error> {
    let begun = Instant::now();
    let size = wave.camera.size();
    let adaptive = wave.pixel_stats.as_ref().zip(wave.film.sample_counts());
    let (lights, variances) = if let Some((stats, counts)) = adaptive {
        let light_and_variance = |pixel: u32| {
            let samples = counts[pixel as usize].load(Relaxed);
            let first = 3 * pixel as usize;
            let channel = |index: usize| mean(wave.film.sums[first + index].load(Relaxed), samples);
            let light = Vec3::new(channel(0), channel(1), channel(2));
            let sample_variance = stats.pixel_noise[pixel as usize].variance;
            (light, noise_known(sample_variance, samples))
        };
        estimates(size, light_and_variance)?
    } else if let Some(snapshot) = wave.film_snapshots.before(done) {
        let light_and_variance = |pixel| compare_with_snapshot(snapshot, wave, done, pixel);
        estimates(size, light_and_variance)?
    } else {
        return Ok(false);
    };
    smooth(wave, &lights, &variances, &mut preview.picture)?;
    preview.milliseconds = begun.elapsed().as_secs_f64() * 1e3;
    Ok(true)
}

/// Returns the results of `light_and_variance` for all pixels, which are passed as row-major indices.
fn estimates(
    size: (u32, u32),
    light_and_variance: impl Fn(u32) -> (Vec3, f32) + Sync,
) -> Result<(Vec<Vec3>, Vec<f32>), Error> {
    let too_large = Error::memory(size);
    let pixel_count = (size.0 * size.1) as usize;
    let mut lights = memory::filled(Vec3::ZERO, pixel_count).map_err(&too_large)?;
    let mut variances = memory::filled(0.0, pixel_count).map_err(&too_large)?;
    let pixels = lights.par_iter_mut().zip(&mut variances).enumerate();
    pixels.for_each(|(pixel, (light, variance))| {
        (*light, *variance) = light_and_variance(pixel as u32);
    });
    Ok((lights, variances))
}

/// Returns a pixel's mean radiance, and the variance of that mean summed over the channels.
///
/// The snapshot is a number of (pixel, sample) pairs with the film's sums at that number. `done` is the current number.
fn compare_with_snapshot(
    (first_done, first_sums): (u64, &Vec<u64>),
    wave: &CpuWave,
    done: u64,
    pixel: u32,
) -> (Vec3, f32) {
    let pixel_count = wave.camera.pixel_count();
    let samples = samples_of(pixel, pixel_count, done);
    let first_samples = samples_of(pixel, pixel_count, first_done);
    let means = [0, 1, 2].map(|channel| {
        let place = 3 * pixel as usize + channel;
        let (sum, first) = (wave.film.sums[place].load(Relaxed), first_sums[place]);
        let rest = mean(sum.wrapping_sub(first), samples.wrapping_sub(first_samples));
        [mean(sum, samples), mean(first, first_samples), rest]
    });
    let of = |part: usize| Vec3::from(means.map(|means| means[part]));
    let noise = noise_of(of(1), of(2), first_samples, samples);
    (of(0), noise)
}

/// Writes the denoised image of the wave's camera into `picture`. `lights` holds the mean radiance of each pixel, and
/// `variances` the variance of that mean.
fn smooth(
    wave: &CpuWave,
    lights: &[Vec3],
    variances: &[f32],
    picture: &mut Picture,
) -> Result<(), Error> {
    let (width, height) = wave.camera.size();
    let too_large = Error::memory((width, height));
    let mut items = memory::filled(0, TABLES as usize * lights.len()).map_err(&too_large)?;
    let tables = items.par_chunks_mut(lights.len()).enumerate();
    tables.for_each(|(table, items)| match table as u32 {
        NOISE_TABLE => {
            let variances = items.iter_mut().zip(variances);
            variances.for_each(|(item, &variance)| *item = tabled_noise(variance));
        }
        channel => {
            let lights = items.iter_mut().zip(lights);
            lights.for_each(|(item, light)| *item = tabled_light(light[channel as usize]));
        }
    });
    let mut sums = memory::filled(0, items.len()).map_err(&too_large)?;
    let rows = TABLES as usize * height as usize;
    summed_area::cpu::table(&items, (width as usize, rows), &mut sums)?;
    let tables = SummedTables {
        width,
        height,
        lights: bytemuck::cast_slice(lights),
        sums: &sums,
    };
    let pixel = |pixel: u32| denoise_pixel(&tables, pixel % width, pixel / width);
    picture.fill((width, height), pixel)
}

/// Parameters of the kernel that prepares the summed-area tables: the number of pixels, the number of (pixel, sample)
/// pairs on the film and its sums, those of a snapshot, the mean radiances to write, and the table entries to write.
type ItemsArguments = (u32, u64, In<u64>, u64, In<u64>, InOut<f32>, InOut<u64>);
/// Parameters of the kernel that prepares the summed-area tables in adaptive renders: the number of pixels, their
/// sample counts and noise, the film's sums, the mean radiances to write, and the table entries to write.
type AdaptiveItemsArguments = (
    u32,
    In<u32>,
    In<PixelNoise>,
    In<u64>,
    InOut<f32>,
    InOut<u64>,
);
/// Parameters of the kernel that smooths: the width, the mean radiances, the height, the summed-area tables, and the
/// image to write.
type Arguments = (u32, In<f32>, u32, In<u64>, InOut<f32>);

/// Returns the source of the kernels `denoise`, `denoise_items` and `denoise_adaptive_items`.
pub(super) fn source() -> Source {
    let path = "kernels/denoise.cu";
    let text = include_str!("../../kernels/denoise.cu");
    let constants = [
        ("WINDOWS", adaptive_window::WINDOWS),
        ("NOISE_RADIUS", adaptive_window::NOISE_RADIUS),
        ("FEW_PIXELS", adaptive_window::FEW_PIXELS),
        ("RED_TABLE", adaptive_window::RED_TABLE),
        ("GREEN_TABLE", adaptive_window::GREEN_TABLE),
        ("BLUE_TABLE", adaptive_window::BLUE_TABLE),
        ("NOISE_TABLE", NOISE_TABLE),
    ];
    let numbers = [
        ("TOLERANCE", adaptive_window::TOLERANCE),
        ("SPECK_TOLERANCE", adaptive_window::SPECK_TOLERANCE),
        ("MIN_NOISE", adaptive_window::MIN_NOISE),
        ("MAX_TABLED", adaptive_window::MAX_TABLED),
        ("MAX_NOISE", adaptive_window::MAX_NOISE),
        ("NOISE_SCALE", adaptive_window::NOISE_SCALE),
    ];
    let source = stage::<Arguments>(path, text, "denoise")
        .kernel::<ItemsArguments>("denoise_items")
        .kernel::<AdaptiveItemsArguments>("denoise_adaptive_items");
    with(source, &constants, &numbers)
}

fn on_cuda(wave: &mut CudaWave, done: u64, preview: &mut Preview) -> Result<bool, Error> {
    if wave.denoiser.is_none() && wave.rounds.is_some() {
        wave.denoiser = Some(wave.new_denoiser()?);
    }
    let timeout = wave.timeout();
    let Some(denoiser) = &mut wave.denoiser else {
        return Ok(false);
    };
    let (sums, stream) = (wave.film.sums.as_view(), (&wave.stream, timeout));
    let noise_source = match &wave.rounds {
        Some(rounds) => NoiseSource::PixelStats(
            wave.film.sample_counts.as_view(),
            rounds.pixel_noise.as_view(),
        ),
        None => NoiseSource::Snapshot(done),
    };
    let denoised = denoiser.denoise(stream, &wave.camera.host, sums, noise_source, preview);
    wave.record_timeout(denoised)
}

/// The data from which the noise of a film is estimated.
pub(crate) enum NoiseSource<'a> {
    /// Snapshots of the film that the denoiser holds, and the number of (pixel, sample) pairs on the film now.
    Snapshot(u64),
    /// The statistics of an adaptive render: the sample count and the noise of each pixel.
    PixelStats(CudaView<'a, u32>, CudaView<'a, PixelNoise>),
}

/// The kernels and buffers that denoise films on a GPU.
pub struct Denoiser {
    /// Prepares the summed-area tables by comparing the film with a snapshot.
    items: Kernel<ItemsArguments>,
    /// Prepares the summed-area tables in adaptive renders.
    adaptive_items: Kernel<AdaptiveItemsArguments>,
    /// Smooths the image.
    denoise: Kernel<Arguments>,
    summed_area: SummedArea<u64>,
    film_snapshots: FilmSnapshots<CudaSlice<u64>>,
    /// Buffers for the size of the last image; `None` before the first one.
    buffers: Option<Buffers>,
    timeline: Timeline,
}

/// The buffers that denoising an image of one size needs.
struct Buffers {
    /// Width and height of the image in pixels.
    size: (u32, u32),
    /// Mean radiances, three channels per pixel.
    lights: CudaSlice<f32>,
    /// Entries of the tables in fixed point before they are summed.
    items: CudaSlice<u64>,
    /// The summed-area tables, stacked vertically.
    sums: CudaSlice<u64>,
    workspace: Workspace<u64>,
    image_readback: Option<ImageReadback>,
}

impl Buffers {
    /// Allocates the buffers for images of this width and height.
    fn new(stream: &Arc<CudaStream>, size: (u32, u32)) -> Result<Buffers, Error> {
        let (width, height) = size;
        let pixels = width as usize * height as usize;
        let items = TABLES as usize * pixels;
        Ok(Buffers {
            size,
            lights: uninitialised(stream, 3 * pixels)?,
            items: uninitialised(stream, items)?,
            sums: uninitialised(stream, items)?,
            workspace: Workspace::with_capacity(stream, (width, TABLES * height))?,
            image_readback: None,
        })
    }
}

impl Denoiser {
    /// Loads the kernels, compiled on this machine or shipped with the program. Allocates no buffers.
    pub(crate) fn new(compiler: &Compiler, context: &Arc<CudaContext>) -> Result<Denoiser, Error> {
        let module = compiler.load(context, &source())?;
        Ok(Denoiser {
            items: module.kernel("denoise_items")?,
            adaptive_items: module.kernel("denoise_adaptive_items")?,
            denoise: module.kernel("denoise")?,
            summed_area: SummedArea::new(compiler, context, summed_area::Strategy::default())?,
            film_snapshots: FilmSnapshots::default(),
            buffers: None,
            timeline: Timeline::new(context, 2)?,
        })
    }

    /// Copies the sums of a film, which holds the first `done` (pixel, sample) pairs, within the GPU's memory. The last
    /// two copies are kept.
    pub(crate) fn snapshot_film(
        &mut self,
        stream: &Arc<CudaStream>,
        sums: CudaView<'_, u64>,
        done: u64,
    ) -> Result<(), Error> {
        let mut copy = uninitialised(stream, sums.len())?;
        cuda::copy(stream, &sums, &mut copy)?;
        self.film_snapshots.add(done, copy);
        Ok(())
    }

    /// Drops all copies of films.
    pub(crate) fn forget(&mut self) {
        self.film_snapshots.clear();
    }

    /// Writes the denoised image of a film into `preview`, whose buffers are reused.
    ///
    /// `camera` gives the size of the image, and `sums` holds three channels per pixel. Waits until the stream is done,
    /// at most for `timeout`. Returns `false`, and leaves `preview` unchanged, if no copy of the film has fewer pairs.
    ///
    /// # Errors
    /// If a kernel or an allocation fails, or on a timeout.
    pub(crate) fn denoise(
        &mut self,
        (stream, timeout): (&Arc<CudaStream>, Duration),
        camera: &Camera,
        sums: CudaView<'_, u64>,
        noise_source: NoiseSource<'_>,
        preview: &mut Preview,
    ) -> Result<bool, Error> {
        let snapshot = match noise_source {
            NoiseSource::Snapshot(done) => self.film_snapshots.before(done),
            NoiseSource::PixelStats(..) => None,
        };
        let size @ (width, height) = (camera.width as u32, camera.height as u32);
        let buffers = match self.buffers.take().filter(|last| last.size == size) {
            Some(last) => last,
            None => Buffers::new(stream, size)?,
        };
        // Stored before the wait, because dropping the buffers after a timeout would wait without a limit.
        let buffers = self.buffers.insert(buffers);
        self.timeline.restart();
        self.timeline.mark(stream)?;
        let pixel_count = width * height;
        let over_pixels = Launch::covering(pixel_count, BLOCK_THREADS);
        let (items, lights) = (buffers.items.as_view_mut(), buffers.lights.as_view_mut());
        match (noise_source, snapshot) {
            (NoiseSource::PixelStats(sample_counts, noises), _) => {
                let arguments = (pixel_count, sample_counts, noises, sums, lights, items);
                self.adaptive_items.launch(stream, over_pixels, arguments)?;
            }
            (NoiseSource::Snapshot(done), Some((first_done, first_sums))) => {
                let first_sums = first_sums.as_view();
                let arguments = (
                    pixel_count,
                    done,
                    sums,
                    first_done,
                    first_sums,
                    lights,
                    items,
                );
                self.items.launch(stream, over_pixels, arguments)?;
            }
            (NoiseSource::Snapshot(_), None) => return Ok(false),
        }
        self.summed_area.table(
            stream,
            &buffers.items,
            (width, TABLES * height),
            &mut buffers.sums,
            &mut buffers.workspace,
        )?;
        let (lights, tables) = (buffers.lights.as_view(), buffers.sums.as_view());
        let (denoise, timeline) = (&self.denoise, &mut self.timeline);
        let (readback, picture) = (&mut buffers.image_readback, &mut preview.picture);
        ImageReadback::read_image(readback, (stream, timeout), size, picture, |channels| {
            let arguments = (width, lights, height, tables, channels);
            denoise.launch(stream, over_pixels, arguments)?;
            timeline.mark(stream)
        })?;
        let times = self.timeline.milliseconds()?;
        preview.milliseconds = times.into_iter().map(f64::from).sum();
        Ok(true)
    }
}
