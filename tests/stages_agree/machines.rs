//! What runs a stage on given buffers: the CPU, a GPU, and a host's C++ compiler's code of the kernels.

use std::{
    io::{Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    slice::from_ref,
    sync::{Arc, OnceLock, atomic::Ordering::Relaxed},
};

use bytemuck::{Pod, bytes_of, cast_slice, cast_slice_mut};
use compaction::{
    cuda::{download, upload},
    cudarc::driver::{CudaSlice, CudaStream},
    layout::Shared,
    select::Strategy,
    summed_area::cpu::specification,
};
use raysieve::{
    camera::Camera,
    confidence::TABLES,
    film::{Exposed, Film},
    material::{PLAIN_KINDS, RARE_KINDS},
    picture::Picture,
    stages::{Preview, denoise, gather, gather_on_cuda, remember, resolve},
    wave::{CpuWave, CudaWave, Wave, counts},
    world::World,
};

use crate::{
    buffers::{Buffers, Turn, sieved_counts},
    host::{HostCompiler, stage_sources},
};

/// A scene, a camera and a way to sieve, and what they are to be traced with.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) world: Arc<World>,
    pub(crate) camera: Camera,
    pub(crate) max_bounces: u32,
    pub(crate) strategy: Strategy,
}

/// Runs stages one at a time, each on the buffers that it is given.
pub(crate) trait Machine {
    /// What it is called where it differs.
    fn name(&self) -> &'static str;
    /// The buffers after a stage.
    fn run(&mut self, turn: Turn, before: &Buffers) -> Buffers;
    /// All channels of the picture of a film that holds the first `done` pairs.
    fn resolve(&mut self, film: &Buffers, done: u64) -> Vec<f32>;
    /// All channels of the preview of a film that holds the first `done` pairs, after another that held fewer.
    fn denoise(&mut self, first: (&[u64], u64), film: (&[u64], u64)) -> Vec<f32>;
    /// The sum of two films.
    fn gather(&mut self, film: &Exposed, more: &Exposed) -> Exposed;
}

/// A film as the kernel takes it.
fn listed(film: &Exposed) -> Vec<u64> {
    [film.sums.as_slice(), &[film.rejected]].concat()
}

fn exposed(mut list: Vec<u64>) -> Exposed {
    let rejected = list.pop().unwrap();
    Exposed {
        sums: list,
        rejected,
    }
}

/// The CPU backend.
pub(crate) struct Cpu(pub(crate) Wave);

impl Cpu {
    pub(crate) fn new(setting: &Setting, paths: u32) -> Cpu {
        let film = Arc::new(Film::new(setting.camera.pixel_count()));
        Cpu(Wave::Cpu(Box::new(CpuWave::new(
            setting.world.clone(),
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

    fn run(&mut self, turn: Turn, before: &Buffers) -> Buffers {
        self.load(before);
        turn.run(&mut self.0, before.span).unwrap();
        let wave = self.wave();
        let exposed = wave.film.exposed();
        Buffers {
            span: wave.span,
            rays: wave.rays.clone(),
            throughputs: wave.throughputs.clone(),
            radiances: wave.radiances.clone(),
            hits: wave.hits.clone(),
            instances: wave.instances.clone(),
            light_instances: wave.light_instances.clone(),
            shadow_rays: wave.shadow_rays.clone(),
            queue: wave.queue.clone(),
            flags: wave.flags.clone(),
            counts: wave.counts.clone(),
            sums: exposed.sums,
            rejected: vec![exposed.rejected],
        }
    }

    fn resolve(&mut self, film: &Buffers, done: u64) -> Vec<f32> {
        self.load(film);
        channels(&mut self.0, done)
    }

    fn denoise(&mut self, first: (&[u64], u64), film: (&[u64], u64)) -> Vec<f32> {
        denoised(&mut self.0, first, film)
    }

    fn gather(&mut self, film: &Exposed, more: &Exposed) -> Exposed {
        let mut sum = film.clone();
        gather(&mut sum, more);
        sum
    }
}

fn channels(wave: &mut Wave, done: u64) -> Vec<f32> {
    let mut picture = Picture::default();
    resolve(wave, done, &mut picture).unwrap();
    listed_channels(&picture)
}

pub(crate) fn listed_channels(picture: &Picture) -> Vec<f32> {
    let channels = picture.pixels.iter().flat_map(|pixel| pixel.to_array());
    channels.collect()
}

fn denoised(wave: &mut Wave, first: (&[u64], u64), film: (&[u64], u64)) -> Vec<f32> {
    let camera = match wave {
        Wave::Cpu(wave) => wave.camera,
        Wave::Cuda(wave) => wave.camera,
    };
    // Forgets what it was given before.
    let black = Arc::new(Film::new(camera.pixel_count()));
    wave.set_camera(camera, &black).unwrap();
    let mut preview = Preview::default();
    assert!(!denoise(wave, film.1, &mut preview).unwrap());
    put(wave, first.0);
    remember(wave, first.1).unwrap();
    put(wave, film.0);
    assert!(denoise(wave, film.1, &mut preview).unwrap());
    listed_channels(&preview.picture)
}

/// These sums onto its film.
pub(crate) fn put(wave: &mut Wave, sums: &[u64]) {
    match wave {
        Wave::Cpu(wave) => {
            for (sum, &value) in wave.film.sums.iter().zip(sums) {
                sum.store(value, Relaxed);
            }
        }
        Wave::Cuda(wave) => wave.sums = upload(&wave.stream, sums).unwrap(),
    }
}

/// The CUDA backend.
pub(crate) struct Cuda(pub(crate) Wave);

impl Cuda {
    pub(crate) fn new(setting: &Setting, paths: u32) -> Cuda {
        let (world, camera) = (&setting.world, setting.camera);
        let wave = CudaWave::new(
            0,
            world,
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

    fn load(&mut self, from: &Buffers) {
        let wave = self.wave();
        let stream = wave.stream.clone();
        wave.begin(from.span).unwrap();
        wave.rays = upload(&stream, &from.rays).unwrap();
        wave.throughputs = upload(&stream, &from.throughputs).unwrap();
        wave.radiances = upload(&stream, &from.radiances).unwrap();
        wave.hits = upload(&stream, &from.hits).unwrap();
        wave.instances = upload(&stream, &from.instances).unwrap();
        wave.light_instances = upload(&stream, &from.light_instances).unwrap();
        wave.shadow_rays = upload(&stream, &from.shadow_rays).unwrap();
        wave.queue = upload(&stream, &from.queue).unwrap();
        wave.flags = upload(&stream, &from.flags).unwrap();
        wave.counts = upload(&stream, &from.counts).unwrap();
        wave.sums = upload(&stream, &from.sums).unwrap();
        wave.rejected = upload(&stream, &from.rejected).unwrap();
    }
}

impl Machine for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn run(&mut self, turn: Turn, before: &Buffers) -> Buffers {
        fn get<T: Shared>(stream: &Arc<CudaStream>, buffer: &CudaSlice<T>) -> Vec<T> {
            download(stream, buffer).unwrap()
        }
        self.load(before);
        turn.run(&mut self.0, before.span).unwrap();
        let wave = self.wave();
        let stream = &wave.stream;
        Buffers {
            span: wave.span,
            rays: get(stream, &wave.rays),
            throughputs: get(stream, &wave.throughputs),
            radiances: get(stream, &wave.radiances),
            hits: get(stream, &wave.hits),
            instances: get(stream, &wave.instances),
            light_instances: get(stream, &wave.light_instances),
            shadow_rays: get(stream, &wave.shadow_rays),
            queue: get(stream, &wave.queue),
            flags: get(stream, &wave.flags),
            counts: get(stream, &wave.counts),
            sums: get(stream, &wave.sums),
            rejected: get(stream, &wave.rejected),
        }
    }

    fn resolve(&mut self, film: &Buffers, done: u64) -> Vec<f32> {
        self.load(film);
        channels(&mut self.0, done)
    }

    fn denoise(&mut self, first: (&[u64], u64), film: (&[u64], u64)) -> Vec<f32> {
        denoised(&mut self.0, first, film)
    }

    fn gather(&mut self, film: &Exposed, more: &Exposed) -> Exposed {
        let wave = self.wave();
        let stream = &wave.stream;
        let (mut film, more) = (
            upload(stream, &listed(film)).unwrap(),
            upload(stream, &listed(more)).unwrap(),
        );
        gather_on_cuda(&wave.kernels, stream, film.as_view_mut(), more.as_view()).unwrap();
        exposed(download(stream, &film).unwrap())
    }
}

/// The kernels by a host's C++ compiler, in a process of their own. Its grids are of some blocks of one thread.
pub(crate) struct Host {
    setting: Setting,
    child: Child,
}

/// What stands where pixels are not listed.
const NO_LIST: [u32; 1] = [0];
/// Blocks of a grid over a queue: some that divide nothing.
const BLOCKS: u32 = 7;

/// What a kernel takes.
pub(crate) enum Argument<'a> {
    In(&'a [u8]),
    InOut(&'a mut [u8]),
}

pub(crate) fn value<T: Pod>(of: &T) -> Argument<'_> {
    Argument::In(bytes_of(of))
}

pub(crate) fn list<T: Pod>(of: &[T]) -> Argument<'_> {
    Argument::In(cast_slice(of))
}

pub(crate) fn list_mut<T: Pod>(of: &mut [T]) -> Argument<'_> {
    Argument::InOut(cast_slice_mut(of))
}

/// The kernels, by their numbers in that program: the name of the first one in each one's file, and its own.
fn kernels() -> &'static [(&'static str, &'static str)] {
    static KERNELS: OnceLock<Vec<(&str, &str)>> = OnceLock::new();
    KERNELS.get_or_init(|| {
        let mut kernels = Vec::new();
        for source in stage_sources() {
            let first = source.kernel_names().next().unwrap();
            kernels.extend(source.kernel_names().map(|name| (first, name)));
        }
        kernels
    })
}

impl Host {
    pub(crate) fn new(compiler: &HostCompiler, setting: &Setting) -> Host {
        let cases: String = kernels()
            .iter()
            .enumerate()
            .map(|(number, (file, kernel))| {
                format!("            case {number}: stages::launch({file}::{kernel}, request[1]); break;\n")
            })
            .collect();
        let main = format!(
            "int main() {{
    unsigned request[2];
    while (fread(request, sizeof request, 1, stdin) == 1) {{
        switch (request[0]) {{
{cases}        }}
    }}
}}
"
        );
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        let program = PROGRAM.get_or_init(|| compiler.build(include_str!("stages.hpp"), &main));
        let child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Host {
            setting: setting.clone(),
            child,
        }
    }

    pub(crate) fn launch(&mut self, kernel: &str, blocks: u32, arguments: &mut [Argument]) {
        let number = kernels()
            .iter()
            .position(|&(_, known)| known == kernel)
            .unwrap();
        let stdin = self.child.stdin.as_mut().unwrap();
        let mut send = |bytes: &[u8]| stdin.write_all(bytes).unwrap();
        send(bytes_of(&[number as u32, blocks]));
        for argument in &*arguments {
            let bytes: &[u8] = match argument {
                Argument::In(bytes) => bytes,
                Argument::InOut(bytes) => bytes,
            };
            send(bytes_of(&(bytes.len() as u32)));
            send(bytes);
        }
        stdin.flush().unwrap();
        let stdout = self.child.stdout.as_mut().unwrap();
        for argument in arguments {
            if let Argument::InOut(bytes) = argument {
                stdout.read_exact(bytes).unwrap();
            }
        }
    }

    /// The picture of what the tables are made of.
    pub(crate) fn smooth(&mut self, lights: &[f32], items: &[u64]) -> Vec<f32> {
        let camera = self.setting.camera;
        let (width, height) = (camera.width as u32, camera.height as u32);
        let tables = specification(items, width as usize);
        let mut channels = vec![f32::NAN; lights.len()];
        let mut arguments = [
            value(&width),
            value(&height),
            list(lights),
            list(&tables),
            list_mut(&mut channels),
        ];
        self.launch("denoise", width * height, &mut arguments);
        channels
    }

    /// The kernel of a scene without instances, or that of one with some.
    fn variant(&self, plain: &'static str, placed: &'static str) -> &'static str {
        if self.setting.world.is_plain() {
            plain
        } else {
            placed
        }
    }

    /// Where the counts hold the lanes of the queue.
    fn lanes(&self, buffers: &Buffers, count: usize) -> u32 {
        match self.setting.strategy {
            Strategy::Off => buffers.span.path_count,
            _ => buffers.counts[count],
        }
    }
}

impl Machine for Host {
    fn name(&self) -> &'static str {
        "host"
    }

    fn run(&mut self, turn: Turn, before: &Buffers) -> Buffers {
        let mut after = before.clone();
        match turn {
            Turn::Generate => self.generate(&mut after),
            Turn::Intersect(bounce) => self.intersect(&mut after, bounce),
            Turn::Sieve(bounce, keep) => {
                let (input, output) = sieved_counts(bounce, keep);
                self.sieve(&mut after, input, output);
            }
            Turn::Shade(bounce) => self.shade(&mut after, bounce),
            Turn::Shadow(bounce) => self.shadow(&mut after, bounce),
            Turn::Accumulate => self.accumulate(&mut after),
        }
        after
    }

    fn resolve(&mut self, film: &Buffers, done: u64) -> Vec<f32> {
        let mut channels = vec![f32::NAN; film.sums.len()];
        let pixel_count = film.sums.len() as u32 / 3;
        let mut arguments = [
            value(&pixel_count),
            value(&done),
            list(&film.sums),
            list_mut(&mut channels),
        ];
        self.launch("resolve", film.sums.len() as u32, &mut arguments);
        channels
    }

    fn denoise(
        &mut self,
        (first, first_done): (&[u64], u64),
        (film, done): (&[u64], u64),
    ) -> Vec<f32> {
        let pixel_count = film.len() as u32 / 3;
        let mut lights = vec![f32::NAN; film.len()];
        let mut items = vec![0_u64; (TABLES * pixel_count) as usize];
        let mut arguments = [
            value(&pixel_count),
            value(&done),
            value(&first_done),
            list(film),
            list(first),
            list_mut(&mut lights),
            list_mut(&mut items),
        ];
        self.launch("denoise_items", pixel_count, &mut arguments);
        self.smooth(&lights, &items)
    }

    fn gather(&mut self, film: &Exposed, more: &Exposed) -> Exposed {
        let (mut film, more) = (listed(film), listed(more));
        let count = film.len() as u32;
        let mut arguments = [value(&count), list(&more), list_mut(&mut film)];
        self.launch("gather", count, &mut arguments);
        exposed(film)
    }
}

/// The stages, each by what its kernel takes.
impl Host {
    fn generate(&mut self, buffers: &mut Buffers) {
        let (span, camera) = (buffers.span, self.setting.camera);
        let count_slots = buffers.counts.len() as u32;
        let mut stamps = [0_u64];
        let mut arguments = [
            list(from_ref(&span)),
            list(&NO_LIST),
            list(from_ref(&camera)),
            list_mut(&mut buffers.rays),
            list_mut(&mut buffers.throughputs),
            list_mut(&mut buffers.radiances),
            list_mut(&mut buffers.queue),
            list_mut(&mut buffers.counts),
            value(&count_slots),
            list_mut(&mut stamps),
            value(&1_u32),
        ];
        let threads = span.path_count.max(count_slots);
        self.launch("generate", threads, &mut arguments);
    }

    fn intersect(&mut self, buffers: &mut Buffers, bounce: u32) {
        let mut began = [0_u64];
        let lanes = self.lanes(buffers, counts::rays(bounce));
        let world = self.setting.world.clone();
        let surroundings = world.surroundings.after(bounce);
        if world.veils().is_some() {
            let mut arguments = [
                list(&world.nodes),
                list(&world.primitives),
                list(&world.instances),
                list(&world.corners),
                list(&world.vertices),
                list(&world.materials),
                list(&world.maps),
                list(&world.textures),
                list(&world.texels),
                value(&surroundings),
                list(from_ref(&buffers.span)),
                list(&NO_LIST),
                value(&bounce),
                value(&lanes),
                list(&buffers.queue),
                list(&buffers.rays),
                list(&buffers.throughputs),
                list_mut(&mut buffers.radiances),
                list_mut(&mut buffers.hits),
                list_mut(&mut buffers.instances),
                list_mut(&mut buffers.flags),
                list_mut(&mut began),
            ];
            self.launch("intersect_veiled", BLOCKS, &mut arguments);
        } else {
            let mut arguments = [
                list(&world.nodes),
                list(&world.primitives),
                list(&world.instances),
                value(&surroundings),
                value(&lanes),
                list(&buffers.queue),
                list(&buffers.rays),
                list(&buffers.throughputs),
                list_mut(&mut buffers.radiances),
                list_mut(&mut buffers.hits),
                list_mut(&mut buffers.instances),
                list_mut(&mut buffers.flags),
                list_mut(&mut began),
            ];
            self.launch(
                self.variant("intersect", "intersect_placed"),
                BLOCKS,
                &mut arguments,
            );
        }
        if surroundings.far_lights == 0 {
            return;
        }
        let mut arguments = [
            value(&surroundings),
            list(&world.lamps),
            value(&world.environment),
            list(&world.environment_rows),
            list(&world.environment_texels),
            value(&lanes),
            list(&buffers.queue),
            list(&buffers.flags),
            list(&buffers.rays),
            list(&buffers.throughputs),
            list_mut(&mut buffers.radiances),
        ];
        self.launch("intersect_sky", BLOCKS, &mut arguments);
    }

    /// Flagged lanes, in order: what every sieve is specified by.
    fn sieve(&mut self, buffers: &mut Buffers, before: usize, after: usize) {
        let lanes = self.lanes(buffers, before) as usize;
        let flagged = buffers.queue[..lanes].iter().zip(&buffers.flags);
        let kept: Vec<u32> = flagged
            .filter(|&(_, &flag)| flag != 0)
            .map(|(&path, _)| path)
            .collect();
        buffers.queue[..kept.len()].copy_from_slice(&kept);
        buffers.counts[after] = kept.len() as u32;
    }

    fn shade(&mut self, buffers: &mut Buffers, bounce: u32) {
        let mut began = [0_u64];
        let lanes = self.lanes(buffers, counts::hits(bounce));
        let world = self.setting.world.clone();
        let scatters = u32::from(bounce < self.setting.max_bounces);
        let shadow_rays = counts::shadow_rays(bounce);
        let mut arguments = [
            list(&world.primitives),
            list(&world.instances),
            list(&world.corners),
            list(&world.vertices),
            list(&world.materials),
            list(&world.maps),
            list(&world.textures),
            list(&world.texels),
            list(&world.energy),
            list(&world.lights),
            list(&world.light_nodes),
            list(&world.light_places),
            value(&world.surroundings),
            list(&world.lamps),
            value(&world.environment),
            list(&world.environment_rows),
            list(&world.environment_texels),
            list(from_ref(&buffers.span)),
            list(&NO_LIST),
            value(&bounce),
            value(&scatters),
            value(&lanes),
            list(&buffers.queue),
            list(&buffers.hits),
            list(&buffers.instances),
            list_mut(&mut buffers.rays),
            list_mut(&mut buffers.throughputs),
            list_mut(&mut buffers.radiances),
            list_mut(&mut buffers.shadow_rays),
            list_mut(&mut buffers.light_instances),
            list_mut(&mut buffers.flags),
            list_mut(&mut buffers.counts[shadow_rays..=shadow_rays]),
            list_mut(&mut began),
        ];
        let plain = world.kinds & !PLAIN_KINDS == 0;
        let kernel = if plain {
            self.variant("shade_plain", "shade_plain_placed")
        } else if world.kinds & RARE_KINDS != 0 {
            "shade_rare_placed"
        } else {
            self.variant("shade", "shade_placed")
        };
        self.launch(kernel, BLOCKS, &mut arguments);
    }

    fn shadow(&mut self, buffers: &mut Buffers, bounce: u32) {
        let mut began = [0_u64];
        let lanes = self.lanes(buffers, counts::hits(bounce));
        let world = self.setting.world.clone();
        if world.lights.is_empty() {
            return;
        }
        if world.veils().is_some() {
            let mut arguments = [
                list(&world.nodes),
                list(&world.primitives),
                list(&world.instances),
                list(&world.corners),
                list(&world.vertices),
                list(&world.materials),
                list(&world.maps),
                list(&world.textures),
                list(&world.texels),
                value(&world.surroundings.extent),
                list(from_ref(&buffers.span)),
                list(&NO_LIST),
                value(&bounce),
                value(&lanes),
                list(&buffers.queue),
                list(&buffers.instances),
                list(&buffers.light_instances),
                list(&buffers.shadow_rays),
                list_mut(&mut buffers.radiances),
                list_mut(&mut began),
            ];
            self.launch("shadow_veiled", BLOCKS, &mut arguments);
            return;
        }
        let mut arguments = [
            list(&world.nodes),
            list(&world.primitives),
            list(&world.instances),
            value(&world.surroundings.extent),
            value(&lanes),
            list(&buffers.queue),
            list(&buffers.instances),
            list(&buffers.light_instances),
            list(&buffers.shadow_rays),
            list_mut(&mut buffers.radiances),
            list_mut(&mut began),
        ];
        self.launch(
            self.variant("shadow", "shadow_placed"),
            BLOCKS,
            &mut arguments,
        );
    }

    /// All paths in one go: the film and the counts.
    pub(crate) fn megakernel(&mut self, buffers: &mut Buffers) {
        let (mut began, mut taken) = ([0_u64], NO_LIST);
        let (span, camera) = (buffers.span, self.setting.camera);
        let world = self.setting.world.clone();
        let count_slots = buffers.counts.len() as u32;
        let max_bounces = self.setting.max_bounces;
        let mut arguments = [
            list(&world.nodes),
            list(&world.primitives),
            list(&world.instances),
            list(&world.corners),
            list(&world.vertices),
            list(&world.materials),
            list(&world.maps),
            list(&world.textures),
            list(&world.texels),
            list(&world.energy),
            list(&world.lights),
            list(&world.light_nodes),
            list(&world.light_places),
            value(&world.surroundings),
            list(&world.lamps),
            value(&world.environment),
            list(&world.environment_rows),
            list(&world.environment_texels),
            value(&camera),
            value(&span),
            list(&NO_LIST),
            value(&max_bounces),
            list_mut(&mut buffers.sums),
            list_mut(&mut buffers.rejected),
            list_mut(&mut taken),
            list_mut(&mut buffers.counts),
            value(&count_slots),
            list_mut(&mut began),
        ];
        let kernel = if world.veils().is_some() || world.kinds & RARE_KINDS != 0 {
            "megakernel_veiled"
        } else if world.kinds & !PLAIN_KINDS == 0 {
            self.variant("megakernel_plain", "megakernel_plain_placed")
        } else {
            self.variant("megakernel", "megakernel_placed")
        };
        self.launch(kernel, span.path_count, &mut arguments);
    }

    fn accumulate(&mut self, buffers: &mut Buffers) {
        let (mut began, mut taken) = ([0_u64], NO_LIST);
        let mut arguments = [
            list(from_ref(&buffers.span)),
            list(&NO_LIST),
            list(&buffers.radiances),
            list_mut(&mut buffers.sums),
            list_mut(&mut buffers.rejected),
            list_mut(&mut taken),
            list_mut(&mut began),
        ];
        self.launch("accumulate", buffers.span.path_count, &mut arguments);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It ends when its input does.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
