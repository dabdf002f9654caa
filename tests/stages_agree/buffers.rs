//! All buffers that stages read and write, in host memory, and the search for their first difference.

use std::fmt::Debug;

use bytemuck::bytes_of;
use compaction::layout::Shared;
use raysieve::{
    Error,
    accel::instance::NO_INSTANCE,
    path::{Hit, NO_PRIMITIVE, PathRadiance, Ray, SCATTERED, ShadowRay, Span, Throughput},
    stages::wave::{Wave, counts},
    wavefront::Step,
};

use crate::{common::Random, packed::PackedShadowRays};

/// Returns the name of the stage that a step runs.
pub(crate) fn stage_name(step: Step) -> &'static str {
    match step {
        Step::Generate => "generate",
        Step::Intersect(_) => "intersect",
        Step::Scatter(_) => "scatter",
        Step::Compact(..) => "compact",
        Step::SortHits(_) => "sort_hits",
        Step::Shade(_) => "shade",
        Step::Shadow(_) => "shadow",
        Step::Accumulate => "accumulate",
    }
}

/// Runs a step on a wave. The step `Generate` also begins the wave.
pub(crate) fn run(step: Step, wave: &mut Wave, span: Span) -> Result<(), Error> {
    if step == Step::Generate {
        wave.begin(span)?;
    }
    step.run(wave)
}

/// The buffers of a wave, and the film. See `CpuWave` for the fields.
#[derive(Clone)]
pub(crate) struct Buffers {
    pub(crate) span: Span,
    pub(crate) rays: Vec<Ray>,
    pub(crate) throughputs: Vec<Throughput>,
    pub(crate) radiances: Vec<PathRadiance>,
    pub(crate) hits: Vec<Hit>,
    /// Empty for a scene without instances.
    pub(crate) instances: Vec<u32>,
    pub(crate) shadow_rays: Vec<ShadowRay>,
    /// `shadow_rays` in the form that kernels read and write. Empty while no kernel runs.
    pub(crate) packed: PackedShadowRays,
    /// Empty for a scene without instances.
    pub(crate) light_instances: Vec<u32>,
    pub(crate) queue: Vec<u32>,
    pub(crate) flags: Vec<u8>,
    pub(crate) counts: Vec<u32>,
    pub(crate) sums: Vec<u64>,
    pub(crate) rejected: Vec<u64>,
}

impl Buffers {
    /// Creates empty buffers for a wave, and a black film.
    pub(crate) fn new(span: Span, max_bounces: u32, has_instances: bool) -> Buffers {
        let paths = span.path_count as usize;
        let instance_count = if has_instances { paths } else { 0 };
        Buffers {
            span,
            rays: vec![Ray::default(); paths],
            throughputs: vec![Throughput::default(); paths],
            radiances: vec![PathRadiance::default(); paths],
            hits: vec![Hit::default(); paths],
            instances: vec![NO_INSTANCE; instance_count],
            light_instances: vec![NO_INSTANCE; instance_count],
            shadow_rays: vec![ShadowRay::default(); paths],
            packed: PackedShadowRays::default(),
            queue: vec![0; paths],
            flags: vec![0; paths],
            counts: vec![0; counts::len(max_bounces)],
            sums: vec![0; 3 * (span.pixel_count + span.skipped_pixels) as usize],
            rejected: vec![0],
        }
    }

    /// Clears what a compaction left beyond the queue's end, and sorts the queue if the strategy does not keep its
    /// order.
    pub(crate) fn cut_queue(&mut self, step: Step, keeps_order: bool) {
        let Step::Compact(bounce, keep) = step else {
            return;
        };
        let (_, after) = keep.counts(bounce);
        let (live, rest) = self.queue.split_at_mut(self.counts[after] as usize);
        rest.fill(u32::MAX);
        if !keeps_order {
            live.sort_unstable();
        }
    }

    /// Returns a copy with a special number, such as NaN or infinity, in every eighth path, for tests of a step.
    pub(crate) fn with_special_values(&self, step: Step, random: &mut Random) -> Buffers {
        const NUMBERS: [f32; 12] = [
            0.0,
            -0.0,
            1e-45,
            -1e-40,
            f32::MIN_POSITIVE,
            1e-20,
            3e7,
            -1.0,
            1e38,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ];
        let mut copy = self.clone();
        for path in (0..self.rays.len()).step_by(8) {
            let (ray, shadow_ray) = (&mut copy.rays[path], &mut copy.shadow_rays[path]);
            let (throughput, hit) = (&mut copy.throughputs[path], &mut copy.hits[path]);
            // A ray that was not cast may get a distance, and primitive 0 need not be a light. Kernels use the sign of
            // a distance otherwise.
            if shadow_ray.distance == 0.0 {
                shadow_ray.to_primitive = NO_PRIMITIVE;
            }
            let numbers = [
                &mut ray.origin.x,
                &mut ray.pdf,
                &mut ray.direction.y,
                &mut throughput.rgb.z,
                &mut throughput.eta_scale,
                &mut copy.radiances[path].rgb.x,
                &mut hit.distance,
                &mut hit.u,
                &mut shadow_ray.origin.z,
                &mut shadow_ray.distance,
                &mut shadow_ray.light.y,
            ];
            let chosen = random.word() as usize % numbers.len();
            let number = NUMBERS[random.word() as usize % NUMBERS.len()];
            *numbers.into_iter().nth(chosen).unwrap() = number;
            shadow_ray.distance = shadow_ray.distance.abs();
            // The kernel relies on two facts: only scattering gives a ray a pdf, and sums that start with 0 never
            // become -0.
            let radiance = &mut copy.radiances[path];
            if copy.rays[path].pdf != 0.0 {
                radiance.history |= SCATTERED;
            }
            if radiance.rgb.x == 0.0 {
                radiance.rgb.x = 0.0;
            }
        }
        if step == Step::Intersect(0) {
            // The kernels rely on what is true of every camera ray.
            copy.throughputs.clone_from(&self.throughputs);
            copy.radiances.clone_from(&self.radiances);
        }
        copy
    }

    /// Describes the first difference from another machine's buffers: `path 4711, throughput.rgb.y: cpu 0.25 cuda
    /// 0.2500001`.
    pub(crate) fn difference(&self, other: &Buffers, machine: &str) -> Option<String> {
        let lists = [
            first_difference("path", "ray", &self.rays, &other.rays),
            first_difference("path", "throughput", &self.throughputs, &other.throughputs),
            first_difference("path", "radiance", &self.radiances, &other.radiances),
            first_difference("path", "hit", &self.hits, &other.hits),
            first_difference("path", "instance", &self.instances, &other.instances),
            first_difference(
                "lane",
                "light_instance",
                &self.light_instances,
                &other.light_instances,
            ),
            first_difference("lane", "shadow_ray", &self.shadow_rays, &other.shadow_rays),
            first_difference("lane", "queue", &self.queue, &other.queue),
            first_difference("lane", "flag", &self.flags, &other.flags),
            first_difference("place", "count", &self.counts, &other.counts),
            first_difference("channel", "sum", &self.sums, &other.sums),
            first_difference("film", "rejected", &self.rejected, &other.rejected),
        ];
        let found = lists.into_iter().flatten().next();
        found.map(|(place, cpu, other)| format!("{place}: cpu {cpu} {machine} {other}"))
    }
}

/// Returns the place of the first difference between two lists, and what each has there, as text.
pub(crate) fn first_difference<T: Shared + Debug>(
    unit: &str,
    name: &str,
    ours: &[T],
    theirs: &[T],
) -> Option<(String, String, String)> {
    if ours.len() != theirs.len() {
        let lengths = (ours.len().to_string(), theirs.len().to_string());
        return Some((format!("length of {name}"), lengths.0, lengths.1));
    }
    let pairs = ours.iter().zip(theirs);
    let differing = pairs
        .enumerate()
        .filter(|(_, (a, b))| bytes_of(*a) != bytes_of(*b));
    // All NaNs are equal, because no language specifies their bits.
    differing
        .flat_map(|(index, (a, b))| {
            let parts = parts(name, a).into_iter().zip(parts(name, b));
            parts.map(move |(a, b)| (index, a, b))
        })
        .find(|(_, (_, a), (_, b))| a != b)
        .map(|(index, (field, a), (_, b))| (format!("{unit} {index}, {field}"), a, b))
}

/// Returns all numbers of an item with the names of their fields.
fn parts<T: Shared + Debug>(name: &str, item: &T) -> Vec<(String, String)> {
    if T::FIELDS.is_empty() {
        return vec![(name.to_owned(), format!("{item:?}"))];
    }
    let words: &[u32] = bytemuck::cast_slice(bytes_of(item));
    let number = |word: usize| format!("{:?}", f32::from_bits(words[word]));
    T::FIELDS
        .iter()
        .flat_map(|field| {
            let (word, label) = (field.offset / 4, format!("{name}.{}", field.name));
            match field.rust_type {
                "Vec3" => ["x", "y", "z"]
                    .into_iter()
                    .enumerate()
                    .map(|(axis, letter)| (format!("{label}.{letter}"), number(word + axis)))
                    .collect(),
                "f32" => vec![(label, number(word))],
                "u32" => vec![(label, words[word].to_string())],
                other => panic!("{label} is a {other}, of which nothing is known here"),
            }
        })
        .collect()
}
