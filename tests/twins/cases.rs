//! Every function of the subject that is there twice.

mod bsdf;
mod bvh;
mod camera;
mod confidence;
mod energy;
mod environment;
mod film;
mod history;
mod instance;
mod light;
mod light_tree;
mod maps;
mod material;
mod math;
mod microfacet;
mod opacity;
mod path;
mod primitive;
mod sampler;
mod texture;
mod words;

use crate::{inputs::Inputs, words::Words};

/// Calls of each function.
const CALLS: usize = 1 << 20;

/// Calls at once.
pub(crate) const ROUND: usize = 1 << 10;

/// Functions without a case of their own, and what stands for one.
const EXCUSED: &[(&str, &str, &str)] = &[
    (
        "bvh",
        "visit",
        "takes a function: nearest and occluded call it",
    ),
    (
        "bvh",
        "visit_placed",
        "takes a function: nearest_placed and occluded_placed call it",
    ),
    (
        "first_ray",
        "first_ray",
        "is in a stage's room in Rust: stages_agree calls it by generate",
    ),
    (
        "shading",
        "emission",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "placed_entry",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "sent",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "connect_light",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "scatter",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "survives_roulette",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "shading",
        "shade_path",
        "is in a stage's room in Rust: stages_agree calls it by shade",
    ),
    (
        "whole_path",
        "count",
        "is in a stage's room in Rust: stages_agree calls it by megakernel",
    ),
    (
        "whole_path",
        "trace_path",
        "is in a stage's room in Rust: stages_agree calls it by megakernel",
    ),
    (
        "whole_path",
        "trace_paths",
        "is in a stage's room in Rust: stages_agree calls it by megakernel",
    ),
    (
        "confidence",
        "light_at",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "confidence",
        "corner",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "confidence",
        "sum_in",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "confidence",
        "estimate_in",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "confidence",
        "stands_out",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "confidence",
        "widest",
        "reads tables: stages_agree calls it by denoise",
    ),
    (
        "confidence",
        "smoothed",
        "reads tables: stages_agree calls it by denoise",
    ),
    ("lanes", "first_lane", "asks the grid: the stages call it"),
    ("lanes", "lane_stride", "asks the grid: the stages call it"),
    (
        "lanes",
        "first_lane_apart",
        "asks the grid: the stages call it",
    ),
    ("lanes", "count_in_block", "asks the block: shade calls it"),
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

/// Excused where Rust is compiled for machines that multiply and add at once.
const EXCUSED_WITH_FMA: (&str, &str, &str) = (
    "bvh",
    "hit_children",
    "sees boxes with other roundings: nearest and occluded find the same",
);

/// Headers and functions without a case of their own.
pub(crate) fn excused() -> impl Iterator<Item = (&'static str, &'static str)> {
    let here = cfg!(target_feature = "fma").then_some(&EXCUSED_WITH_FMA);
    let excused = EXCUSED.iter().chain(here);
    excused.map(|&(header, name, _)| (header, name))
}

/// What answers a round of calls in C++: takes the words of the arguments, and how many words the results have.
pub(crate) type Answers<'a> = &'a mut dyn FnMut(&[u32], usize) -> Vec<u32>;

/// Compares a round of calls.
type Check = dyn Fn(&mut Inputs, Answers) -> Result<(), String>;

/// A function that is there twice.
pub(crate) struct Case {
    /// The stem of its files.
    pub(crate) header: &'static str,
    /// Its name in C++.
    pub(crate) name: &'static str,
    /// It, or what calls it, as an expression of C++.
    pub(crate) cpp: &'static str,
    /// Words of its arguments, and of its result.
    pub(crate) words: (usize, usize),
    check: Box<Check>,
}

impl Case {
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

    /// Compares all calls; `Err` names the first that differs.
    pub(crate) fn check(&self, seed: u64, answers: Answers) -> Result<(), String> {
        let mut inputs = Inputs::new(seed);
        (0..CALLS / ROUND).try_for_each(|_| (self.check)(&mut inputs, answers))
    }
}

/// A function of these arguments: drawn by their types, or as said.
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

/// All of them, by header and in its order.
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
        microfacet::cases(),
        energy::cases(),
        bsdf::cases(),
        environment::cases(),
        light_tree::cases(),
        light::cases(),
        film::cases(),
        history::cases(),
        confidence::cases(),
        texture::cases(),
        maps::cases(),
        opacity::cases(),
    ]
    .into_iter()
    .flatten()
    .filter(|case| !excused().any(|excused| excused == (case.header, case.name)))
    .collect()
}
