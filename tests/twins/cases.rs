//! Test cases, one for every function that exists in Rust and in CUDA C++.

mod beckmann;
mod bodies;
mod bsdf;
mod bvh;
mod camera;
mod adaptive_window;
mod energy;
mod environment;
mod film;
mod pixel_noise;
mod instance;
mod light;
mod light_tree;
mod material_textures;
mod material;
mod math;
mod medium;
mod microfacet;
mod opacity;
mod opacity_map;
mod path;
mod primitive;
mod sampler;
mod sheen;
mod texture;
mod thin_film;
mod transport;
mod words;

use crate::{inputs::Inputs, words::Words};

/// Number of calls of a function whose arguments have at most [`FEW_WORDS`].
const CALLS_WITH_FEW_WORDS: usize = 1 << 20;

/// Number of calls of a function with more arguments, which take longer to draw and to send.
const CALLS: usize = 1 << 18;

/// Maximum number of words of few arguments: four numbers.
const FEW_WORDS: usize = 4;

/// Number of calls in one batch.
pub(crate) const ROUND: usize = 1 << 10;

/// Functions without a case: header, name and the reason.
const EXCUSED: &[(&str, &str, &str)] = &[
    (
        "device_film",
        "lanes_per_pixel",
        "belongs to a warp: stages_agree calls it by accumulate",
    ),
    (
        "device_film",
        "add_sample_per_lane",
        "belongs to a warp: stages_agree calls it by accumulate",
    ),
    (
        "device_scene",
        "instanced_scene",
        "only selects pointers: stages_agree calls it by intersect",
    ),
    (
        "device_scene",
        "stochastic_opacity",
        "only selects pointers: stages_agree calls it by intersect",
    ),
    (
        "device_scene",
        "lights_of",
        "only selects pointers: stages_agree calls it by shade",
    ),
    (
        "primitive",
        "third_vertex",
        "returns a reference: intersect_at calls it",
    ),
    (
        "primitive",
        "intersect_at",
        "nearer_hit calls it for single primitives, and nearest for two",
    ),
    (
        "primitive",
        "nearer_hit_of_pair",
        "nearer_hit calls it for single primitives, and nearest for two",
    ),
    (
        "bvh",
        "visit",
        "takes a function: nearest and occluded call it",
    ),
    (
        "bvh",
        "visit_instanced",
        "takes a function: nearest_instanced and occluded_instanced call it",
    ),
    (
        "first_ray",
        "first_ray",
        "is in the file of a stage in Rust: stages_agree calls it by generate",
    ),
    (
        "boundaries",
        "meets_front",
        "takes the whole scene: exactness compares the films of scatter and megakernel",
    ),
    (
        "boundaries",
        "material_met",
        "takes the whole scene: exactness compares the films of scatter and megakernel",
    ),
    (
        "boundaries",
        "is_boundary",
        "takes the whole scene: exactness compares the films of scatter and megakernel",
    ),
    (
        "boundaries",
        "bodies_behind",
        "takes the whole scene: exactness compares the films of scatter and megakernel",
    ),
    (
        "boundaries",
        "flight_numbers",
        "belongs to a whole scene: exactness compares the films of scatter and megakernel",
    ),
    (
        "boundaries",
        "cross_boundaries",
        "takes the whole scene: exactness compares the films of scatter and megakernel",
    ),
    (
        "boundaries",
        "arriving_part",
        "takes the whole scene: exactness compares the films of scatter and megakernel",
    ),
    (
        "scattering",
        "*medium_before",
        "takes the whole scene: exactness compares the films of scatter and megakernel",
    ),
    (
        "scattering",
        "fly",
        "takes the whole scene: exactness compares the films of scatter and megakernel",
    ),
    (
        "scattering",
        "connect_scattered",
        "takes the whole scene: exactness compares the films of scatter and megakernel",
    ),
    (
        "scattering",
        "scatter_path",
        "takes the whole scene: exactness compares the films of scatter and megakernel",
    ),
    (
        "shading",
        "render_scene",
        "only selects pointers: stages_agree calls it by shade",
    ),
    (
        "shading",
        "instance_entry",
        "takes the whole scene: stages_agree calls it by shade",
    ),
    (
        "shading",
        "emission",
        "takes the whole scene: stages_agree calls it by shade",
    ),
    (
        "shading",
        "sent",
        "takes the whole scene: stages_agree calls it by shade",
    ),
    (
        "shading",
        "connect_light",
        "takes the whole scene: stages_agree calls it by shade",
    ),
    (
        "shading",
        "scatter",
        "takes the whole scene: stages_agree calls it by shade",
    ),
    (
        "shading",
        "material_here",
        "takes the whole scene: stages_agree calls it by shade",
    ),
    (
        "shading",
        "shade_path",
        "takes the whole scene: stages_agree calls it by shade",
    ),
    (
        "rays",
        "nearest_hit",
        "takes the whole scene: stages_agree calls it by intersect",
    ),
    (
        "rays",
        "escaped_light",
        "takes the whole scene: stages_agree calls it by megakernel",
    ),
    (
        "rays",
        "is_blocked",
        "takes the whole scene: stages_agree calls it by shadow",
    ),
    (
        "path_buffers",
        "path_sampler",
        "takes the paths of a wave: the stages call it",
    ),
    (
        "path_buffers",
        "has_same_bits",
        "compares bits: stages_agree calls it by shade",
    ),
    (
        "path_buffers",
        "store_shadow_ray",
        "takes the paths of a wave: stages_agree calls it by shade",
    ),
    (
        "path_buffers",
        "shadow_origin",
        "takes the paths of a wave: stages_agree calls it by shadow",
    ),
    (
        "adaptive_window",
        "light_at",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "adaptive_window",
        "corner",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "adaptive_window",
        "sum_in",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "adaptive_window",
        "estimate_in",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "adaptive_window",
        "stands_out",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "adaptive_window",
        "widest",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "adaptive_window",
        "denoise_pixel",
        "reads tables: stages_agree calls it by denoise",
    ),
    ("queue", "first_entry", "asks the grid: the stages call it"),
    ("queue", "entry_stride", "asks the grid: the stages call it"),
    (
        "queue",
        "first_entry_apart",
        "asks the grid: the stages call it",
    ),
    (
        "queue",
        "count_in_warp",
        "belongs to a warp: shade calls it",
    ),
    (
        "warp_traversal",
        "warp_entries",
        "asks the grid: intersect and shadow call it",
    ),
    (
        "warp_traversal",
        "has_more",
        "belongs to a warp: intersect and shadow call it",
    ),
    (
        "warp_traversal",
        "take_entry",
        "belongs to a warp: intersect and shadow call it",
    ),
    (
        "warp_traversal",
        "save_ray",
        "belongs to a block: stages_agree calls it by intersect and shadow",
    ),
    (
        "warp_traversal",
        "saved_ray",
        "belongs to a block: stages_agree calls it by intersect and shadow",
    ),
    (
        "warp_traversal",
        "end",
        "belongs to a warp: shadow calls it",
    ),
    (
        "warp_traversal",
        "store_result",
        "takes the whole scene: stages_agree calls it by intersect and shadow",
    ),
    (
        "warp_traversal",
        "fetch_ray",
        "takes the paths of a wave: stages_agree calls it by intersect and shadow",
    ),
    (
        "warp_traversal",
        "visit_node",
        "belongs to a warp: stages_agree calls it by intersect and shadow",
    ),
    (
        "warp_traversal",
        "opacity_without_test",
        "takes the whole scene: stages_agree calls it by intersect and shadow",
    ),
    (
        "warp_traversal",
        "test_primitive",
        "takes the whole scene: stages_agree calls it by intersect and shadow",
    ),
    (
        "warp_traversal",
        "test_opacity",
        "takes the whole scene: stages_agree calls it by intersect and shadow",
    ),
    (
        "warp_traversal",
        "enter_instance",
        "belongs to a warp: stages_agree calls it by intersect and shadow",
    ),
    (
        "warp_traversal",
        "pop",
        "belongs to a warp: stages_agree calls it by intersect and shadow",
    ),
    (
        "warp_traversal",
        "trace_queue",
        "takes the whole scene: stages_agree calls it by intersect and shadow",
    ),
    (
        "words",
        "sum_over_warp",
        "belongs to a warp: count_in_warp calls it",
    ),
    (
        "words",
        "sum_over_group",
        "belongs to a warp: accumulate calls it",
    ),
    (
        "words",
        "are_groups_uniform",
        "belongs to a warp: accumulate calls it",
    ),
    (
        "words",
        "prefetch",
        "returns nothing: stages_agree calls it by shadow",
    ),
    (
        "words",
        "read_at_once",
        "reads memory: stages_agree calls it by intersect and shadow",
    ),
    (
        "words",
        "add_if_in_order",
        "changes its argument: hit_children calls it",
    ),
    (
        "words",
        "device_time",
        "reads the device's clock, as nothing else does",
    ),
    (
        "clock",
        "stamp",
        "reads the device's clock: every stage calls it",
    ),
];

/// A function without a case if Rust is compiled for processors with fused multiply-add.
const EXCUSED_WITH_FMA: (&str, &str, &str) = (
    "bvh",
    "hit_children",
    "sees boxes with other roundings: nearest and occluded find the same",
);

/// Returns header and name of all functions without a case.
pub(crate) fn excused() -> impl Iterator<Item = (&'static str, &'static str)> {
    let here = cfg!(target_feature = "fma").then_some(&EXCUSED_WITH_FMA);
    let excused = EXCUSED.iter().chain(here);
    excused.map(|&(header, name, _)| (header, name))
}

/// Runs one batch of calls in C++: takes the words of the arguments and the number of words of the results.
pub(crate) type Answers<'a> = &'a mut dyn FnMut(&[u32], usize) -> Vec<u32>;

/// Compares one batch of calls.
type Check = dyn Fn(&mut Inputs, Answers) -> Result<(), String>;

/// A function that exists in Rust and in CUDA C++.
pub(crate) struct Case {
    /// Stem of its files, such as `math`.
    pub(crate) header: &'static str,
    /// Name of the function in C++.
    pub(crate) name: &'static str,
    /// C++ expression of a function object that calls it.
    pub(crate) cpp: &'static str,
    /// Number of words of its arguments, and of its result.
    pub(crate) words: (usize, usize),
    /// Compares one batch of calls.
    check: Box<Check>,
}

impl Case {
    /// Creates a case. `draw` returns random arguments, `rust` calls the Rust function.
    fn new<A: Words + 'static, R: Words + 'static>(
        (header, name, cpp): (&'static str, &'static str, &'static str),
        draw: fn(&mut Inputs) -> A,
        rust: fn(A) -> R,
    ) -> Case {
        let check = move |inputs: &mut Inputs, answers: Answers| {
            let arguments: Vec<A> = (0..ROUND).map(|_| draw(inputs)).collect();
            let mut words = Vec::with_capacity(ROUND * A::COUNT);
            arguments.iter().for_each(|item| item.put(&mut words));
            let answered = answers(&words, ROUND * R::COUNT);
            let (mut rest, mut ours, mut theirs) = (&answered[..], Vec::new(), Vec::new());
            for arguments in arguments {
                let (in_rust, in_cpp) = (rust(arguments), R::take(&mut rest));
                ours.clear();
                theirs.clear();
                in_rust.put(&mut ours);
                in_cpp.put(&mut theirs);
                if ours != theirs {
                    return Err(format!(
                        "{header}::{name} of {arguments:?}: Rust {in_rust:?}, C++ {in_cpp:?}"
                    ));
                }
            }
            Ok(())
        };
        Case {
            header,
            name,
            cpp,
            words: (A::COUNT, R::COUNT),
            check: Box::new(check),
        }
    }

    /// Compares all calls. `Err` describes the first that differs.
    pub(crate) fn check(&self, seed: u64, answers: Answers) -> Result<(), String> {
        let mut inputs = Inputs::new(seed);
        let calls = if self.words.0 <= FEW_WORDS {
            CALLS_WITH_FEW_WORDS
        } else {
            CALLS
        };
        (0..calls / ROUND).try_for_each(|_| (self.check)(&mut inputs, answers))
    }
}

/// Creates a case from a closure. Arguments are drawn by their types unless a function that draws them is given.
macro_rules! twin {
    ($header:literal, $name:literal, |$($argument:ident : $kind:ty),*| $body:expr) => {
        twin!(
            ($header, $name, $name),
            |_inputs| ($(_inputs.draw::<$kind>(),)*),
            |$($argument : $kind),*| $body
        )
    };
    (($header:literal, $name:literal, $cpp:expr), $draw:expr, |$($argument:ident : $kind:ty),*| $body:expr) => {
        Case::new::<($($kind,)*), _>(
            ($header, $name, $cpp),
            $draw,
            |($($argument,)*)| $body,
        )
    };
}
use twin;

/// Returns all cases, in the order of the headers and of the functions in them.
pub(crate) fn cases() -> Vec<Case> {
    [
        words::cases(),
        math::cases(),
        sampler::cases(),
        camera::cases(),
        path::cases(),
        primitive::cases(),
        instance::cases(),
        bvh::cases(),
        material::cases(),
        beckmann::cases(),
        microfacet::cases(),
        energy::cases(),
        bodies::cases(),
        medium::cases(),
        bsdf::cases(),
        sheen::cases(),
        thin_film::cases(),
        transport::cases(),
        environment::cases(),
        light_tree::cases(),
        light::cases(),
        film::cases(),
        pixel_noise::cases(),
        adaptive_window::cases(),
        texture::cases(),
        material_textures::cases(),
        opacity_map::cases(),
        opacity::cases(),
    ]
    .into_iter()
    .flatten()
    .filter(|case| !excused().any(|excused| excused == (case.header, case.name)))
    .collect()
}
