//! denoise: the film as a picture whose noise is smoothed, a preview, on request.
//!
//! Reads: the film's sums, those of an earlier time, how many (pixel, sample) pairs either holds; where pixels get samples
//! until they are good, how many each has and what it was judged by instead. Writes: a picture.
//! How: `confidence`. The picture and its noise become integers, those summed-area tables, and each pixel finds in them
//! the windows that it is the mean of. It depends on these alone: the bits are the same on every backend.

mod earlier;

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use compaction::{
    cuda::{Compiler, In, InOut, Kernel, Launch, Source, Timeline, uninitialised},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView},
    summed_area::{self, SummedArea, Workspace},
};
use glam::Vec3;
use rayon::prelude::*;

pub(crate) use self::earlier::Earlier;
use super::Shown;
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
    film::{mean, samples_of},
    picture::Picture,
};

/// A picture with less noise than the film has, and what it cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    /// It is not what was rendered.
    pub picture: Picture,
    /// Time that the stage took where it ran.
    pub milliseconds: f64,
}

/// Keeps the film, which holds the first `done` pairs, for a later [`denoise`].
pub fn remember(wave: &mut Wave, done: u64) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => {
            let sums = cpu.film.sums.par_iter().map(|sum| sum.load(Relaxed));
            cpu.earlier.keep(done, sums.collect());
            Ok(())
        }
        Wave::Cuda(cuda) => {
            let mut denoiser = match cuda.denoiser.take() {
                Some(denoiser) => denoiser,
                None => cuda.new_denoiser()?,
            };
            let kept = denoiser.remember(&cuda.stream, cuda.film.sums.as_view(), done);
            cuda.denoiser = Some(denoiser);
            kept
        }
    }
}

/// Runs the stage over a film that holds the first `done` pairs, or that counts the samples of each pixel itself, into the
/// memory of a preview that is not needed any more. `false` as long as no earlier film tells its noise; where pixels are
/// judged, two rounds are to be over.
pub fn denoise(wave: &mut Wave, done: u64, preview: &mut Preview) -> Result<bool, Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, done, preview),
        Wave::Cuda(cuda) => on_cuda(cuda, done, preview),
    }
}

fn on_cpu(wave: &CpuWave, done: u64, preview: &mut Preview) -> Result<bool, Error> {
    let begun = Instant::now();
    let pixels = 0..wave.camera.pixel_count();
    let counted = wave.ledger.as_ref().zip(wave.film.taken());
    let (lights, noises): (Vec<Vec3>, Vec<f32>) = if let Some((ledger, taken)) = counted {
        let item = |pixel: u32| {
            let samples = taken[pixel as usize].load(Relaxed);
            let first = 3 * pixel as usize;
            let channel = |index: usize| mean(wave.film.sums[first + index].load(Relaxed), samples);
            let light = Vec3::new(channel(0), channel(1), channel(2));
            let known = &ledger.histories[pixel as usize];
            (light, noise_known(known.variance, samples))
        };
        pixels.into_par_iter().map(item).unzip()
    } else if let Some(earlier) = wave.earlier.before(done) {
        let item = |pixel| item_after(earlier, wave, done, pixel);
        pixels.into_par_iter().map(item).unzip()
    } else {
        return Ok(false);
    };
    smooth(wave, &lights, &noises, &mut preview.picture)?;
    preview.milliseconds = begun.elapsed().as_secs_f64() * 1e3;
    Ok(true)
}

/// A pixel's light and its noise, by what the film held earlier.
fn item_after(
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

/// The picture of these lights, each with its noise.
fn smooth(
    wave: &CpuWave,
    lights: &[Vec3],
    noises: &[f32],
    picture: &mut Picture,
) -> Result<(), Error> {
    let (width, height) = (wave.camera.width as u32, wave.camera.height as u32);
    let mut items = vec![0; TABLES as usize * lights.len()];
    let tables = items.par_chunks_mut(lights.len()).enumerate();
    tables.for_each(|(table, items)| match table as u32 {
        NOISE_TABLE => {
            let noises = items.iter_mut().zip(noises);
            noises.for_each(|(item, &noise)| *item = tabled_noise(noise));
        }
        channel => {
            let lights = items.iter_mut().zip(lights);
            lights.for_each(|(item, light)| *item = tabled_light(light[channel as usize]));
        }
    });
    let mut sums = vec![0; items.len()];
    let rows = TABLES as usize * height as usize;
    summed_area::cpu::table(&items, (width as usize, rows), &mut sums)?;
    let tables = SummedTables {
        width,
        height,
        lights: bytemuck::cast_slice(lights),
        sums: &sums,
    };
    let pixel = |pixel: u32| denoise_pixel(&tables, pixel % width, pixel / width);
    (picture.width, picture.height) = (width, height);
    (0..width * height)
        .into_par_iter()
        .map(pixel)
        .collect_into_vec(&mut picture.pixels);
    Ok(())
}

/// Parameters of the kernel that prepares the summed-area tables: the number of pixels, the pairs and sums of the film,
/// those of its earlier state, the mean radiances, and the items of the tables.
type ItemsArguments = (u32, u64, In<u64>, u64, In<u64>, InOut<f32>, InOut<u64>);
/// Parameters of that kernel in adaptive sampling: the number of pixels, their samples and noise, the sums, the mean
/// radiances, and the items of the tables.
type JudgedItemsArguments = (
    u32,
    In<u32>,
    In<PixelNoise>,
    In<u64>,
    InOut<f32>,
    InOut<u64>,
);
/// Parameters of the kernel that smooths: the width, the mean radiances, the height, the tables, and the image.
type Arguments = (u32, In<f32>, u32, In<u64>, InOut<f32>);

/// Returns the source of the kernels.
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
        .kernel::<JudgedItemsArguments>("denoise_judged_items");
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
    let told = match &wave.rounds {
        Some(rounds) => Told::Judged(wave.film.taken.as_view(), rounds.histories.as_view()),
        None => Told::Earlier(done),
    };
    let denoised = denoiser.denoise(stream, &wave.camera.host, sums, told, preview);
    wave.noticing(denoised)
}

/// What tells a film's noise.
pub(crate) enum Told<'a> {
    /// What it held earlier; now it holds the first so many pairs.
    Earlier(u64),
    /// What its pixels were judged by, of which each has so many samples.
    Judged(CudaView<'a, u32>, CudaView<'a, PixelNoise>),
}

/// The stage on a GPU: its kernels, the films that it remembers, and its memory.
pub struct Denoiser {
    items: Kernel<ItemsArguments>,
    judged_items: Kernel<JudgedItemsArguments>,
    denoise: Kernel<Arguments>,
    summed_area: SummedArea<u64>,
    earlier: Earlier<CudaSlice<u64>>,
    room: Option<Room>,
    timeline: Timeline,
}

/// What the stage needs of memory for pictures of one size.
struct Room {
    size: (u32, u32),
    lights: CudaSlice<f32>,
    items: CudaSlice<u64>,
    sums: CudaSlice<u64>,
    workspace: Workspace<u64>,
    shown: Option<Shown>,
}

impl Room {
    fn new(stream: &Arc<CudaStream>, size: (u32, u32)) -> Result<Room, Error> {
        let (width, height) = size;
        let pixels = width as usize * height as usize;
        let items = TABLES as usize * pixels;
        Ok(Room {
            size,
            lights: uninitialised(stream, 3 * pixels)?,
            items: uninitialised(stream, items)?,
            sums: uninitialised(stream, items)?,
            workspace: Workspace::with_capacity(stream, (width, TABLES * height))?,
            shown: None,
        })
    }
}

impl Denoiser {
    /// Loads its kernels, compiled on this machine or shipped with the program.
    pub(crate) fn new(compiler: &Compiler, context: &Arc<CudaContext>) -> Result<Denoiser, Error> {
        let module = compiler.load(context, &source())?;
        Ok(Denoiser {
            items: module.kernel("denoise_items")?,
            judged_items: module.kernel("denoise_judged_items")?,
            denoise: module.kernel("denoise")?,
            summed_area: SummedArea::new(compiler, context, summed_area::Strategy::default())?,
            earlier: Earlier::default(),
            room: None,
            timeline: Timeline::new(context, 2)?,
        })
    }

    /// Keeps these sums, of the first `done` pairs.
    pub(crate) fn remember(
        &mut self,
        stream: &Arc<CudaStream>,
        sums: CudaView<'_, u64>,
        done: u64,
    ) -> Result<(), Error> {
        let mut kept = uninitialised(stream, sums.len())?;
        stream
            .memcpy_dtod(&sums, &mut kept)
            .map_err(compaction::Error::driver("keep a film"))?;
        self.earlier.keep(done, kept);
        Ok(())
    }

    /// Forgets all films.
    pub(crate) fn forget(&mut self) {
        self.earlier.forget();
    }

    /// Runs the stage over the sums of a film that is looked at through this camera. Waits for so long at most for what the
    /// stream has to do.
    pub(crate) fn denoise(
        &mut self,
        (stream, timeout): (&Arc<CudaStream>, Duration),
        camera: &Camera,
        sums: CudaView<'_, u64>,
        told: Told<'_>,
        preview: &mut Preview,
    ) -> Result<bool, Error> {
        let earlier = match told {
            Told::Earlier(done) => self.earlier.before(done),
            Told::Judged(..) => None,
        };
        let size @ (width, height) = (camera.width as u32, camera.height as u32);
        let room = match self.room.take().filter(|room| room.size == size) {
            Some(room) => room,
            None => Room::new(stream, size)?,
        };
        // Kept, too, where nothing comes: what is dropped is waited for.
        let room = self.room.insert(room);
        self.timeline.restart();
        self.timeline.mark(stream)?;
        let pixel_count = width * height;
        let over_pixels = Launch::covering(pixel_count, BLOCK_THREADS);
        let (items, lights) = (room.items.as_view_mut(), room.lights.as_view_mut());
        match (told, earlier) {
            (Told::Judged(taken, histories), _) => {
                let arguments = (pixel_count, taken, histories, sums, lights, items);
                self.judged_items.launch(stream, over_pixels, arguments)?;
            }
            (Told::Earlier(done), Some((first_done, first_sums))) => {
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
            (Told::Earlier(_), None) => return Ok(false),
        }
        self.summed_area.table(
            stream,
            &room.items.as_view(),
            (width, TABLES * height),
            &mut room.sums.as_view_mut(),
            &mut room.workspace,
        )?;
        let (lights, tables) = (room.lights.as_view(), room.sums.as_view());
        let (denoise, timeline) = (&self.denoise, &mut self.timeline);
        let (shown, picture) = (&mut room.shown, &mut preview.picture);
        Shown::deliver(shown, (stream, timeout), size, picture, |channels| {
            let arguments = (width, lights, height, tables, channels);
            denoise.launch(stream, over_pixels, arguments)?;
            timeline.mark(stream)
        })?;
        let times = self.timeline.milliseconds()?;
        preview.milliseconds = times.into_iter().map(f64::from).sum();
        Ok(true)
    }
}
