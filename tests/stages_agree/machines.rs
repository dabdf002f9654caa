//! Machines that run a stage on given buffers: the CPU, a GPU, and a host compiler's build of the kernels.

use std::{
    io::{Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    slice::from_ref,
    sync::{Arc, OnceLock, atomic::Ordering::Relaxed},
};

use bytemuck::{Pod, bytes_of, cast_slice, cast_slice_mut};
use compaction::{
    cuda::{Param, download, upload},
    cudarc::driver::{CudaSlice, CudaStream},
    layout::Shared,
    select::Strategy,
    summed_area::cpu::specification,
};
use raysieve::{
    adaptive::adaptive_window::TABLES,
    camera::Camera,
    device::{
        device_film::DeviceFilm, device_scene::DeviceScene, path_buffers::PathBuffers,
        render_scene::RenderScene,
    },
    film::{Film, FilmSums},
    lights::light::LightParams,
    picture::Picture,
    shading::material::{PLAIN_KINDS, RARE_KINDS},
    stages::wave::{CpuWave, CudaWave, Wave, counts},
    stages::{Preview, denoise, gather, gather_on_cuda, remember, resolve},
    wavefront::Step,
};

use crate::{
    buffers::{Buffers, run},
    host::{HostCompiler, stage_sources},
};

/// A scene with a camera and a compaction strategy.
#[derive(Clone)]
pub(crate) struct Setting {
    /// Name of the scene, for messages.
    pub(crate) name: String,
    pub(crate) world: Arc<RenderScene>,
    pub(crate) camera: Camera,
    pub(crate) max_bounces: u32,
    pub(crate) strategy: Strategy,
}

/// A machine that runs single stages, each on given buffers.
pub(crate) trait Machine {
    /// Returns its name in messages.
    fn name(&self) -> &'static str;
    /// Returns the buffers after a stage.
    fn run(&mut self, step: Step, before: &Buffers) -> Buffers;
    /// Returns all channels of the image of a film that holds the first `done` pairs.
    fn resolve(&mut self, film: &Buffers, done: u64) -> Vec<f32>;
    /// Returns all channels of the denoised image of a film. Each tuple holds a film's sums and its number of pairs,
    /// first those of an earlier state.
    fn denoise(&mut self, first: (&[u64], u64), film: (&[u64], u64)) -> Vec<f32>;
    /// Returns the sum of two films.
    fn gather(&mut self, film: &FilmSums, more: &FilmSums) -> FilmSums;
}

/// Returns a film in the format of the kernel: the sums, then the number of rejected samples.
fn listed(film: &FilmSums) -> Vec<u64> {
    [film.sums.as_slice(), &[film.rejected]].concat()
}

/// Returns the film of a list from the kernel.
fn exposed(mut list: Vec<u64>) -> FilmSums {
    let rejected = list.pop().unwrap();
    FilmSums {
        sums: list,
        rejected,
    }
}

/// The CPU backend.
pub(crate) struct Cpu(pub(crate) Wave);

impl Cpu {
    /// Creates a wave for this many paths.
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

    /// Uploads buffers to the wave.
    fn load(&mut self, from: &Buffers) {
        let wave = self.wave();
        let stream = wave.stream.clone();
        wave.begin(from.span).unwrap();
        wave.paths.rays = upload(&stream, &from.rays).unwrap();
        wave.paths.throughputs = upload(&stream, &from.throughputs).unwrap();
        wave.paths.radiances = upload(&stream, &from.radiances).unwrap();
        wave.paths.hits = upload(&stream, &from.hits).unwrap();
        wave.paths.instances = upload(&stream, &from.instances).unwrap();
        wave.paths.light_instances = upload(&stream, &from.light_instances).unwrap();
        wave.paths.shadow_rays = upload(&stream, &from.shadow_rays).unwrap();
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
        self.load(before);
        run(step, &mut self.0, before.span).unwrap();
        let wave = self.wave();
        let stream = &wave.stream;
        Buffers {
            span: wave.span,
            rays: get(stream, &wave.paths.rays),
            throughputs: get(stream, &wave.paths.throughputs),
            radiances: get(stream, &wave.paths.radiances),
            hits: get(stream, &wave.paths.hits),
            instances: get(stream, &wave.paths.instances),
            light_instances: get(stream, &wave.paths.light_instances),
            shadow_rays: get(stream, &wave.paths.shadow_rays),
            queue: get(stream, &wave.paths.queue),
            flags: get(stream, &wave.paths.flags),
            counts: get(stream, &wave.counts),
            sums: get(stream, &wave.film.sums),
            rejected: get(stream, &wave.film.rejected),
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

/// The kernels, compiled by a host's C++ compiler, in a child process. Blocks have one thread.
pub(crate) struct Host {
    setting: Setting,
    child: Child,
}

/// Stands for the list of pixels where there is none.
const NO_LIST: [u32; 1] = [0];
/// Number of blocks of a grid over a queue; a prime, so that grids do not divide their queues evenly.
const BLOCKS: u32 = 7;

/// An argument of a kernel, as bytes.
pub(crate) enum Argument<'a> {
    In(&'a [u8]),
    InOut(&'a mut [u8]),
    /// A struct: its bytes, with zeros for pointers, and each pointer field's offset and target.
    Struct(Vec<u8>, Vec<(usize, Argument<'a>)>),
}

impl Argument<'_> {
    /// Returns the bytes to send, and the pointer fields of a struct.
    fn parts(&self) -> (&[u8], &[(usize, Argument<'_>)]) {
        match self {
            Argument::In(bytes) => (bytes, &[]),
            Argument::InOut(bytes) => (&**bytes, &[]),
            Argument::Struct(bytes, fields) => (bytes.as_slice(), fields.as_slice()),
        }
    }

    /// Reads back what the kernel may have written.
    fn receive(&mut self, from: &mut impl Read) {
        match self {
            Argument::In(_) => {}
            Argument::InOut(bytes) => from.read_exact(bytes).unwrap(),
            Argument::Struct(_, fields) => {
                fields.iter_mut().for_each(|(_, field)| field.receive(from));
            }
        }
    }
}

/// Passes a value.
pub(crate) fn value<T: Pod>(of: &T) -> Argument<'_> {
    Argument::In(bytes_of(of))
}

/// Passes a list that the kernel reads.
pub(crate) fn list<T: Pod>(of: &[T]) -> Argument<'_> {
    Argument::In(cast_slice(of))
}

/// Passes a list that the kernel reads and writes.
pub(crate) fn list_mut<T: Pod>(of: &mut [T]) -> Argument<'_> {
    Argument::InOut(cast_slice_mut(of))
}

/// Passes the struct `P` with all its fields, by name: a list for each pointer, or a value.
fn structure<'a, P: Param>(
    arguments: impl IntoIterator<Item = (&'static str, Argument<'a>)>,
) -> Argument<'a> {
    let mut bytes = vec![0; size_of::<P::Raw>()];
    let mut fields = P::fields();
    let mut pointers = Vec::new();
    for (name, argument) in arguments {
        let place = fields.iter().position(|field| field.name == name);
        let field = fields.remove(place.unwrap_or_else(|| panic!("no field {name}")));
        let is_const = field.cuda_type.starts_with("const ");
        match argument {
            Argument::In(value) if !field.cuda_type.ends_with('*') => {
                bytes[field.offset..][..value.len()].copy_from_slice(value);
            }
            Argument::Struct(..) => panic!("{name}: a struct in a struct"),
            pointer => {
                assert_eq!(is_const, matches!(pointer, Argument::In(_)), "{name}");
                pointers.push((field.offset, pointer));
            }
        }
    }
    assert!(fields.is_empty(), "no argument for {fields:?}");
    Argument::Struct(bytes, pointers)
}

/// Passes a scene with these parameters of its lights.
fn scene_argument<'a>(world: &'a RenderScene, params: &'a LightParams) -> Argument<'a> {
    structure::<DeviceScene>([
        ("nodes", list(&world.nodes)),
        ("primitives", list(&world.primitives)),
        ("instances", list(&world.instances)),
        ("corners", list(&world.corners)),
        ("vertices", list(&world.vertices)),
        ("materials", list(&world.materials)),
        ("maps", list(&world.maps)),
        ("textures", list(&world.textures)),
        ("texels", list(&world.texels)),
        ("energy", list(&world.energy)),
        ("lights", list(&world.lights)),
        ("light_nodes", list(&world.light_nodes)),
        ("light_places", list(&world.light_places)),
        ("lamps", list(&world.lamps)),
        ("environment_rows", list(&world.environment_rows)),
        ("environment_texels", list(&world.environment_texels)),
        ("light_params", value(params)),
        ("environment", value(&world.environment)),
    ])
}

/// Passes the paths of a wave.
fn paths_argument(buffers: &mut Buffers) -> Argument<'_> {
    structure::<PathBuffers>([
        ("span", list(from_ref(&buffers.span))),
        ("list", list(&NO_LIST)),
        ("queue", list_mut(&mut buffers.queue)),
        ("compacted", list_mut::<u32>(&mut [])),
        ("flags", list_mut(&mut buffers.flags)),
        ("rays", list_mut(&mut buffers.rays)),
        ("throughputs", list_mut(&mut buffers.throughputs)),
        ("radiances", list_mut(&mut buffers.radiances)),
        ("hits", list_mut(&mut buffers.hits)),
        ("instances", list_mut(&mut buffers.instances)),
        ("shadow_rays", list_mut(&mut buffers.shadow_rays)),
        ("light_instances", list_mut(&mut buffers.light_instances)),
    ])
}

/// Passes a film that may count the samples of each pixel.
fn film_argument<'a>(
    sums: &'a mut [u64],
    rejected: &'a mut [u64],
    taken: &'a mut [u32],
) -> Argument<'a> {
    structure::<DeviceFilm>([
        ("sums", list_mut(sums)),
        ("rejected", list_mut(rejected)),
        ("taken", list_mut(taken)),
    ])
}

/// Returns the kernels by their number in the program: the name of the first kernel in the file, and its own name.
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
    /// Compiles the kernels, if necessary, and starts the child process.
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

    /// Runs a kernel and stores the lists that it writes.
    pub(crate) fn launch(&mut self, kernel: &str, blocks: u32, arguments: &mut [Argument]) {
        let number = kernels()
            .iter()
            .position(|&(_, known)| known == kernel)
            .unwrap();
        let stdin = self.child.stdin.as_mut().unwrap();
        let mut send = |bytes: &[u8]| stdin.write_all(bytes).unwrap();
        send(bytes_of(&[number as u32, blocks]));
        for argument in &*arguments {
            let (bytes, fields) = argument.parts();
            send(bytes_of(&(bytes.len() as u32)));
            send(bytes);
            send(bytes_of(&(fields.len() as u32)));
            for (offset, target) in fields {
                let is_written = matches!(target, Argument::InOut(_));
                let (bytes, _) = target.parts();
                send(bytes_of(&[*offset as u32, u32::from(is_written)]));
                send(bytes_of(&(bytes.len() as u32)));
                send(bytes);
            }
        }
        stdin.flush().unwrap();
        let stdout = self.child.stdout.as_mut().unwrap();
        for argument in arguments {
            argument.receive(stdout);
        }
    }

    /// Returns all channels of the denoised image, given the image and the items of the summed-area tables.
    pub(crate) fn smooth(&mut self, lights: &[f32], items: &[u64]) -> Vec<f32> {
        let camera = self.setting.camera;
        let (width, height) = (camera.width as u32, camera.height as u32);
        let tables = specification(items, width as usize);
        let mut channels = vec![f32::NAN; lights.len()];
        let mut arguments = [
            value(&width),
            list(lights),
            value(&height),
            list(&tables),
            list_mut(&mut channels),
        ];
        self.launch("denoise", width * height, &mut arguments);
        channels
    }

    /// Returns the name of the kernel variant for the scene: without or with instances.
    fn variant(&self, plain: &'static str, placed: &'static str) -> &'static str {
        if self.setting.world.is_plain() {
            plain
        } else {
            placed
        }
    }

    /// Returns the number of queue entries, which is in the count with this index.
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

    fn run(&mut self, step: Step, before: &Buffers) -> Buffers {
        let mut after = before.clone();
        match step {
            Step::Generate => self.generate(&mut after),
            Step::Intersect(bounce) => self.intersect(&mut after, bounce),
            Step::Compact(bounce, keep) => {
                let (input, output) = keep.counts(bounce);
                self.compact(&mut after, input, output);
            }
            // No wave of these tests sorts its hits.
            Step::SortHits(_) => {}
            Step::Shade(bounce) => self.shade(&mut after, bounce),
            Step::Shadow(bounce) => self.shadow(&mut after, bounce),
            Step::Accumulate => self.accumulate(&mut after),
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
            list(film),
            value(&first_done),
            list(first),
            list_mut(&mut lights),
            list_mut(&mut items),
        ];
        self.launch("denoise_items", pixel_count, &mut arguments);
        self.smooth(&lights, &items)
    }

    fn gather(&mut self, film: &FilmSums, more: &FilmSums) -> FilmSums {
        let (mut film, more) = (listed(film), listed(more));
        let count = film.len() as u32;
        let mut arguments = [value(&count), list(&more), list_mut(&mut film)];
        self.launch("gather", count, &mut arguments);
        exposed(film)
    }
}

/// Launches of the stages' kernels.
impl Host {
    fn generate(&mut self, buffers: &mut Buffers) {
        let camera = self.setting.camera;
        let count_slots = buffers.counts.len() as u32;
        let threads = buffers.span.path_count.max(count_slots);
        let (mut stamps, mut counts) = ([0_u64], buffers.counts.clone());
        let mut arguments = [
            paths_argument(buffers),
            list(from_ref(&camera)),
            list_mut(&mut counts),
            value(&count_slots),
            list_mut(&mut stamps),
            value(&1_u32),
        ];
        self.launch("generate", threads, &mut arguments);
        buffers.counts = counts;
    }

    fn intersect(&mut self, buffers: &mut Buffers, bounce: u32) {
        let mut began = [0_u64];
        let lanes = self.lanes(buffers, counts::rays(bounce));
        let world = self.setting.world.clone();
        let kernel = if world.stochastic_opacity().is_some() {
            "intersect_alpha_tested"
        } else {
            self.variant("intersect", "intersect_instanced")
        };
        let mut arguments = [
            scene_argument(&world, &world.surroundings),
            paths_argument(buffers),
            value(&bounce),
            list(from_ref(&lanes)),
            list_mut(&mut began),
        ];
        self.launch(kernel, BLOCKS, &mut arguments);
        if world.surroundings.far_lights > 0 {
            let mut arguments = [
                scene_argument(&world, &world.surroundings),
                paths_argument(buffers),
                value(&bounce),
                list(from_ref(&lanes)),
            ];
            self.launch("intersect_sky", BLOCKS, &mut arguments);
        }
    }

    /// Compacts the queue by its definition: keeps the flagged entries, in order.
    fn compact(&mut self, buffers: &mut Buffers, before: usize, after: usize) {
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
        let mut shadow_rays = [buffers.counts[counts::shadow_rays(bounce)]];
        let mut arguments = [
            scene_argument(&world, &world.surroundings),
            paths_argument(buffers),
            value(&bounce),
            list(from_ref(&lanes)),
            value(&scatters),
            list_mut(&mut shadow_rays),
            list_mut(&mut began),
        ];
        let plain = world.kinds & !PLAIN_KINDS == 0;
        let kernel = if plain {
            self.variant("shade_plain", "shade_plain_instanced")
        } else if world.kinds & RARE_KINDS != 0 {
            "shade_rare_instanced"
        } else {
            self.variant("shade", "shade_instanced")
        };
        self.launch(kernel, BLOCKS, &mut arguments);
        buffers.counts[counts::shadow_rays(bounce)] = shadow_rays[0];
    }

    fn shadow(&mut self, buffers: &mut Buffers, bounce: u32) {
        let mut began = [0_u64];
        let lanes = self.lanes(buffers, counts::hits(bounce));
        let world = self.setting.world.clone();
        if world.lights.is_empty() {
            return;
        }
        let kernel = if world.stochastic_opacity().is_some() {
            "shadow_alpha_tested"
        } else {
            self.variant("shadow", "shadow_instanced")
        };
        let mut arguments = [
            scene_argument(&world, &world.surroundings),
            paths_argument(buffers),
            value(&bounce),
            list(from_ref(&lanes)),
            list_mut(&mut began),
        ];
        self.launch(kernel, BLOCKS, &mut arguments);
    }

    /// Traces all paths with the megakernel, which writes only the film and the counts.
    pub(crate) fn megakernel(&mut self, buffers: &mut Buffers) {
        let (mut began, mut taken) = ([0_u64], NO_LIST);
        let (span, camera) = (buffers.span, self.setting.camera);
        let world = self.setting.world.clone();
        let count_slots = buffers.counts.len() as u32;
        let max_bounces = self.setting.max_bounces;
        let mut arguments = [
            scene_argument(&world, &world.surroundings),
            value(&camera),
            value(&span),
            list(&NO_LIST),
            value(&max_bounces),
            film_argument(&mut buffers.sums, &mut buffers.rejected, &mut taken),
            list_mut(&mut buffers.counts),
            value(&count_slots),
            list_mut(&mut began),
        ];
        let kernel = if world.stochastic_opacity().is_some() || world.kinds & RARE_KINDS != 0 {
            "megakernel_alpha_tested"
        } else if world.kinds & !PLAIN_KINDS == 0 {
            self.variant("megakernel_plain", "megakernel_plain_instanced")
        } else {
            self.variant("megakernel", "megakernel_instanced")
        };
        self.launch(kernel, span.path_count, &mut arguments);
    }

    fn accumulate(&mut self, buffers: &mut Buffers) {
        let (mut began, mut taken) = ([0_u64], NO_LIST);
        let (mut sums, mut rejected) = (buffers.sums.clone(), buffers.rejected.clone());
        let threads = buffers.span.path_count;
        let mut arguments = [
            paths_argument(buffers),
            film_argument(&mut sums, &mut rejected, &mut taken),
            list_mut(&mut began),
        ];
        self.launch("accumulate", threads, &mut arguments);
        (buffers.sums, buffers.rejected) = (sums, rejected);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The process ends when its input does.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
