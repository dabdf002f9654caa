//! Machines that run a stage on given buffers: the CPU, a GPU, and kernels compiled for the host.

mod arguments;
mod backends;

use std::{
    io::Write,
    path::PathBuf,
    process::{Child, Command, Stdio},
    slice::from_ref,
    sync::{Arc, OnceLock},
};

use bytemuck::bytes_of;
use compaction::{select::Strategy, summed_area::cpu::specification};
use raysieve::{
    adaptive::adaptive_window::TABLES,
    camera::Camera,
    device::render_scene::RenderScene,
    film::FilmSums,
    shading::material::{EXTENDED_KINDS, PLAIN_KINDS, RARE_KINDS},
    stages::wave::counts,
    wavefront::Step,
};

use self::arguments::{NO_LIST, film_argument, paths_argument, scene_argument};
pub(crate) use self::{
    arguments::{Argument, list, list_mut, value},
    backends::{Cpu, Cuda, listed_channels, put},
};
use crate::{
    buffers::Buffers,
    host::{HostCompiler, stage_sources},
    packed::PackedShadowRays,
};

/// A scene with a camera and a compaction strategy.
#[derive(Clone)]
pub(crate) struct Setting {
    /// Name of the scene, for messages.
    pub(crate) name: String,
    pub(crate) scene: Arc<RenderScene>,
    pub(crate) camera: Camera,
    pub(crate) max_bounces: u32,
    pub(crate) strategy: Strategy,
}

/// A machine that runs single stages, each on given buffers.
pub(crate) trait Machine {
    /// Returns the machine's name for messages.
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
fn film_sums(mut list: Vec<u64>) -> FilmSums {
    let rejected = list.pop().unwrap();
    FilmSums {
        sums: list,
        rejected,
    }
}

/// A child process that runs the kernels, compiled by the host's C++ compiler. Blocks have one thread.
pub(crate) struct Host {
    setting: Setting,
    child: Child,
}

/// Number of blocks of a grid over a queue. It is prime, so that queues are not divided evenly.
const BLOCKS: u32 = 7;

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
        let program = PROGRAM
            .get_or_init(|| compiler.build(include_str!("stages.hpp"), stage_sources(), &main));
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
    fn variant(&self, plain: &'static str, instanced: &'static str) -> &'static str {
        if self.setting.scene.is_plain() {
            plain
        } else {
            instanced
        }
    }

    /// Returns the number of queue entries, which is in the count with this index.
    fn queue_length(&self, buffers: &Buffers, count: usize) -> u32 {
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
        after.packed = PackedShadowRays::pack(step, before);
        match step {
            Step::Generate => self.generate(&mut after),
            Step::Intersect(bounce) => self.intersect(&mut after, bounce),
            Step::Compact(bounce, keep) => {
                let (input, output) = keep.counts(bounce);
                self.compact(&mut after, input, output);
            }
            // The waves of these tests do not sort their hits, and have no media.
            Step::SortHits(_) | Step::Scatter(_) => {}
            Step::Shade(bounce) => self.shade(&mut after, bounce),
            Step::Shadow(bounce) => self.shadow(&mut after, bounce),
            Step::Accumulate => self.accumulate(&mut after),
        }
        after.shadow_rays = after.packed.unpack(step, before, &after.rays);
        after.packed = PackedShadowRays::default();
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
        film_sums(film)
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
        let queue_length = self.queue_length(buffers, counts::rays(bounce));
        let scene = self.setting.scene.clone();
        let kernel = if scene.stochastic_opacity().is_some() {
            "intersect_alpha_tested"
        } else {
            self.variant("intersect", "intersect_instanced")
        };
        let mut arguments = [
            scene_argument(&scene, &scene.light_params),
            paths_argument(buffers),
            value(&bounce),
            list(from_ref(&queue_length)),
            list_mut(&mut began),
        ];
        self.launch(kernel, BLOCKS, &mut arguments);
        if scene.light_params.far_lights > 0 {
            let mut arguments = [
                scene_argument(&scene, &scene.light_params),
                paths_argument(buffers),
                value(&bounce),
                list(from_ref(&queue_length)),
            ];
            self.launch("intersect_sky", BLOCKS, &mut arguments);
        }
    }

    /// Compacts the queue by its definition: keeps the flagged entries, in order.
    fn compact(&mut self, buffers: &mut Buffers, before: usize, after: usize) {
        let queue_length = self.queue_length(buffers, before) as usize;
        let flagged = buffers.queue[..queue_length].iter().zip(&buffers.flags);
        let kept: Vec<u32> = flagged
            .filter(|&(_, &flag)| flag != 0)
            .map(|(&path, _)| path)
            .collect();
        buffers.queue[..kept.len()].copy_from_slice(&kept);
        buffers.counts[after] = kept.len() as u32;
    }

    fn shade(&mut self, buffers: &mut Buffers, bounce: u32) {
        let mut began = [0_u64];
        let queue_length = self.queue_length(buffers, counts::hits(bounce));
        let scene = self.setting.scene.clone();
        let scatters = u32::from(bounce < self.setting.max_bounces);
        let mut shadow_rays = [buffers.counts[counts::shadow_rays(bounce)]];
        let mut arguments = [
            scene_argument(&scene, &scene.light_params),
            paths_argument(buffers),
            value(&bounce),
            list(from_ref(&queue_length)),
            value(&scatters),
            list_mut(&mut shadow_rays),
            list_mut(&mut began),
        ];
        let plain = scene.kinds & !PLAIN_KINDS == 0;
        let kernel = if plain {
            self.variant("shade_plain", "shade_plain_instanced")
        } else if scene.kinds & EXTENDED_KINDS != 0 {
            "shade_extended_instanced"
        } else if scene.kinds & RARE_KINDS != 0 {
            "shade_rare_instanced"
        } else {
            self.variant("shade", "shade_instanced")
        };
        self.launch(kernel, BLOCKS, &mut arguments);
        buffers.counts[counts::shadow_rays(bounce)] = shadow_rays[0];
    }

    fn shadow(&mut self, buffers: &mut Buffers, bounce: u32) {
        let mut began = [0_u64];
        let queue_length = self.queue_length(buffers, counts::hits(bounce));
        let scene = self.setting.scene.clone();
        if scene.lights.is_empty() {
            return;
        }
        let kernel = if scene.stochastic_opacity().is_some() {
            "shadow_alpha_tested"
        } else {
            self.variant("shadow", "shadow_instanced")
        };
        let mut arguments = [
            scene_argument(&scene, &scene.light_params),
            paths_argument(buffers),
            value(&bounce),
            list(from_ref(&queue_length)),
            list_mut(&mut began),
        ];
        self.launch(kernel, BLOCKS, &mut arguments);
    }

    /// Traces all paths with the megakernel, which writes only the film and the counts.
    pub(crate) fn megakernel(&mut self, buffers: &mut Buffers) {
        let (mut began, mut sample_counts) = ([0_u64], NO_LIST);
        let (span, camera) = (buffers.span, self.setting.camera);
        let scene = self.setting.scene.clone();
        let count_slots = buffers.counts.len() as u32;
        let max_bounces = self.setting.max_bounces;
        let mut arguments = [
            scene_argument(&scene, &scene.light_params),
            value(&camera),
            value(&span),
            list(&NO_LIST),
            value(&max_bounces),
            film_argument(&mut buffers.sums, &mut buffers.rejected, &mut sample_counts),
            list_mut(&mut buffers.counts),
            value(&count_slots),
            list_mut(&mut began),
        ];
        let kernel = if scene.has_priorities() {
            "megakernel_nested"
        } else if scene.has_boundaries() {
            "megakernel_boundaries"
        } else if !scene.media.is_empty() {
            "megakernel_media"
        } else if scene.kinds & EXTENDED_KINDS != 0 {
            "megakernel_extended"
        } else if scene.stochastic_opacity().is_some() || scene.kinds & RARE_KINDS != 0 {
            "megakernel_alpha_tested"
        } else if scene.kinds & !PLAIN_KINDS == 0 {
            self.variant("megakernel_plain", "megakernel_plain_instanced")
        } else {
            self.variant("megakernel", "megakernel_instanced")
        };
        self.launch(kernel, span.path_count, &mut arguments);
    }

    fn accumulate(&mut self, buffers: &mut Buffers) {
        let (mut began, mut sample_counts) = ([0_u64], NO_LIST);
        let (mut sums, mut rejected) = (buffers.sums.clone(), buffers.rejected.clone());
        let threads = buffers.span.path_count;
        let mut arguments = [
            paths_argument(buffers),
            film_argument(&mut sums, &mut rejected, &mut sample_counts),
            list_mut(&mut began),
        ];
        self.launch("accumulate", threads, &mut arguments);
        (buffers.sums, buffers.rejected) = (sums, rejected);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The process ends at the end of its input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
