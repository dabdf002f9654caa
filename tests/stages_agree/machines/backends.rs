//! The backends of the renderer as machines: the CPU, and a GPU.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use compaction::{
    cuda::{download, upload},
    cudarc::driver::{CudaSlice, CudaStream},
    layout::Shared,
};
use raysieve::{
    film::picture::Picture,
    film::{Film, FilmSums},
    stages::wave::{CpuWave, CudaWave, Wave},
    stages::{Preview, denoise, gather, gather_on_cuda, resolve, snapshot_film},
    wavefront::Step,
};

use super::{Machine, Setting, film_sums, listed};
use crate::{
    buffers::{Buffers, run},
    packed::PackedShadowRays,
};

/// The CPU backend.
pub(crate) struct Cpu(pub(crate) Wave);

impl Cpu {
    /// Creates a wave for this many paths.
    pub(crate) fn new(setting: &Setting, paths: u32) -> Cpu {
        let film = Arc::new(Film::new(setting.camera.pixel_count()).unwrap());
        Cpu(Wave::Cpu(Box::new(CpuWave::new(
            setting.scene.clone(),
            setting.camera,
            film,
            setting.max_bounces,
            paths,
            setting.strategy,
        ))))
    }

    fn wave(&mut self) -> &mut CpuWave {
        match &mut self.0 {
            Wave::Cpu(wave) => wave,
            Wave::Cuda(_) => unreachable!("made for the CPU"),
        }
    }

    /// Copies buffers to the wave.
    fn load(&mut self, from: &Buffers) {
        let wave = self.wave();
        let from = from.clone();
        wave.begin(from.span);
        wave.rays = from.rays;
        wave.throughputs = from.throughputs;
        wave.radiances = from.radiances;
        wave.hits = from.hits;
        wave.instances = from.instances;
        wave.light_instances = from.light_instances;
        wave.shadow_rays = from.shadow_rays;
        wave.queue = from.queue;
        wave.flags = from.flags;
        wave.counts = from.counts;
        for (sum, value) in wave.film.sums.iter().zip(from.sums) {
            sum.store(value, Relaxed);
        }
        wave.film.rejected.store(from.rejected[0], Relaxed);
    }
}

impl Machine for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn run(&mut self, step: Step, before: &Buffers) -> Buffers {
        self.load(before);
        run(step, &mut self.0, before.span).unwrap();
        let wave = self.wave();
        let film_sums = wave.film.film_sums().unwrap();
        Buffers {
            span: wave.span,
            rays: wave.rays.clone(),
            throughputs: wave.throughputs.clone(),
            radiances: wave.radiances.clone(),
            hits: wave.hits.clone(),
            instances: wave.instances.clone(),
            light_instances: wave.light_instances.clone(),
            shadow_rays: wave.shadow_rays.clone(),
            packed: PackedShadowRays::default(),
            queue: wave.queue.clone(),
            flags: wave.flags.clone(),
            counts: wave.counts.clone(),
            sums: film_sums.sums,
            rejected: vec![film_sums.rejected],
        }
    }

    fn resolve(&mut self, film: &Buffers, done: u64) -> Vec<f32> {
        self.load(film);
        channels(&mut self.0, done)
    }

    fn denoise(&mut self, first: (&[u64], u64), film: (&[u64], u64)) -> Vec<f32> {
        denoised(&mut self.0, first, film)
    }

    fn gather(&mut self, film: &FilmSums, more: &FilmSums) -> FilmSums {
        let mut sum = film.clone();
        gather(&mut sum, more);
        sum
    }
}

/// Returns all channels of the image that a wave resolves.
fn channels(wave: &mut Wave, done: u64) -> Vec<f32> {
    let mut picture = Picture::default();
    resolve(wave, done, &mut picture).unwrap();
    listed_channels(&picture)
}

/// Returns all channels of an image.
pub(crate) fn listed_channels(picture: &Picture) -> Vec<f32> {
    let channels = picture.pixels.iter().flat_map(|pixel| pixel.to_array());
    channels.collect()
}

/// Returns all channels of the denoised image of a film, given an earlier state of it.
fn denoised(wave: &mut Wave, first: (&[u64], u64), film: (&[u64], u64)) -> Vec<f32> {
    let camera = match wave {
        Wave::Cpu(wave) => wave.camera,
        Wave::Cuda(wave) => wave.camera.host,
    };
    // A new camera and film clear the state of earlier calls.
    let black = Arc::new(Film::new(camera.pixel_count()).unwrap());
    wave.set_camera(camera, &black).unwrap();
    let mut preview = Preview::default();
    assert!(!denoise(wave, film.1, &mut preview).unwrap());
    put(wave, first.0);
    snapshot_film(wave, first.1).unwrap();
    put(wave, film.0);
    assert!(denoise(wave, film.1, &mut preview).unwrap());
    listed_channels(&preview.picture)
}

/// Replaces the sums of a wave's film.
pub(crate) fn put(wave: &mut Wave, sums: &[u64]) {
    match wave {
        Wave::Cpu(wave) => {
            for (sum, &value) in wave.film.sums.iter().zip(sums) {
                sum.store(value, Relaxed);
            }
        }
        Wave::Cuda(wave) => wave.film.sums = upload(&wave.stream, sums).unwrap(),
    }
}

/// The CUDA backend, on device 0.
pub(crate) struct Cuda(pub(crate) Wave);

impl Cuda {
    /// Creates a wave for this many paths.
    pub(crate) fn new(setting: &Setting, paths: u32) -> Cuda {
        let (scene, camera) = (&setting.scene, setting.camera);
        let wave = CudaWave::new(
            0,
            scene,
            camera,
            setting.max_bounces,
            paths,
            setting.strategy,
        );
        Cuda(Wave::Cuda(Box::new(wave.unwrap())))
    }

    fn wave(&mut self) -> &mut CudaWave {
        match &mut self.0 {
            Wave::Cuda(wave) => wave,
            Wave::Cpu(_) => unreachable!("made for a GPU"),
        }
    }

    /// Uploads buffers to the wave, with the shadow rays for a step.
    fn load(&mut self, step: Step, from: &Buffers) {
        let wave = self.wave();
        let stream = wave.stream.clone();
        wave.begin(from.span).unwrap();
        wave.paths.rays = upload(&stream, &from.rays).unwrap();
        wave.paths.throughputs = upload(&stream, &from.throughputs).unwrap();
        wave.paths.radiances = upload(&stream, &from.radiances).unwrap();
        wave.paths.hits = upload(&stream, &from.hits).unwrap();
        wave.paths.instances = upload(&stream, &from.instances).unwrap();
        wave.paths.light_instances = upload(&stream, &from.light_instances).unwrap();
        let packed = PackedShadowRays::pack(step, from);
        wave.paths.shadow_rays = upload(&stream, &packed.rays).unwrap();
        wave.paths.shadow_origins = upload(&stream, &packed.origins).unwrap();
        wave.paths.queue = upload(&stream, &from.queue).unwrap();
        wave.paths.flags = upload(&stream, &from.flags).unwrap();
        wave.counts = upload(&stream, &from.counts).unwrap();
        wave.film.sums = upload(&stream, &from.sums).unwrap();
        wave.film.rejected = upload(&stream, &from.rejected).unwrap();
    }
}

impl Machine for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn run(&mut self, step: Step, before: &Buffers) -> Buffers {
        fn get<T: Shared>(stream: &Arc<CudaStream>, buffer: &CudaSlice<T>) -> Vec<T> {
            download(stream, buffer).unwrap()
        }
        self.load(step, before);
        run(step, &mut self.0, before.span).unwrap();
        let wave = self.wave();
        let stream = &wave.stream;
        let packed = PackedShadowRays {
            rays: get(stream, &wave.paths.shadow_rays),
            origins: get(stream, &wave.paths.shadow_origins),
        };
        let rays = get(stream, &wave.paths.rays);
        // Compaction swaps the queue with a buffer that may have room for more paths.
        let mut queue = get(stream, &wave.paths.queue);
        queue.truncate(before.queue.len());
        Buffers {
            span: wave.span,
            shadow_rays: packed.unpack(step, before, &rays),
            packed: PackedShadowRays::default(),
            rays,
            throughputs: get(stream, &wave.paths.throughputs),
            radiances: get(stream, &wave.paths.radiances),
            hits: get(stream, &wave.paths.hits),
            instances: get(stream, &wave.paths.instances),
            light_instances: get(stream, &wave.paths.light_instances),
            queue,
            flags: get(stream, &wave.paths.flags),
            counts: get(stream, &wave.counts),
            sums: get(stream, &wave.film.sums),
            rejected: get(stream, &wave.film.rejected),
        }
    }

    fn resolve(&mut self, film: &Buffers, done: u64) -> Vec<f32> {
        self.load(Step::Accumulate, film);
        channels(&mut self.0, done)
    }

    fn denoise(&mut self, first: (&[u64], u64), film: (&[u64], u64)) -> Vec<f32> {
        denoised(&mut self.0, first, film)
    }

    fn gather(&mut self, film: &FilmSums, more: &FilmSums) -> FilmSums {
        let wave = self.wave();
        let stream = &wave.stream;
        let (mut film, more) = (
            upload(stream, &listed(film)).unwrap(),
            upload(stream, &listed(more)).unwrap(),
        );
        gather_on_cuda(&wave.kernels, stream, film.as_view_mut(), more.as_view()).unwrap();
        film_sums(download(stream, &film).unwrap())
    }
}
