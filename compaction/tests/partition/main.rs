//! `partition`: one body over both backends, against the standard library's stable sort.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;

mod backends;
mod cuda;

use std::{fmt::Debug, sync::Arc};

use compaction::{
    Error,
    cuda::{Nvrtc, Target},
    layout::Shared,
    partition::{self, CLASS_TILE_ITEMS, Classes, TILE_ITEMS, cpu},
};

use crate::{
    backends::Backend,
    common::Tests,
    random::{Mask, Random, items},
};

compaction::shared! {
    /// An item that is copied by words.
    pub struct Three {
        /// Any bits.
        pub words: [u32; 3],
    }
    /// An item that is copied by pairs of words.
    pub struct Six {
        /// Any bits.
        pub words: [u32; 6],
    }
    /// The widest item.
    pub struct Sixteen {
        /// Any bits.
        pub words: [u32; 16],
    }
}

const TILE: usize = TILE_ITEMS as usize;
const CLASS_TILE: usize = CLASS_TILE_ITEMS as usize;

/// Around every border that an implementation has.
const SIZES: &[usize] = &[
    0,                    // nothing
    1,                    // less than a word of flags
    31,                   // a warp, and one item around it
    33,                   //
    255,                  // what a byte counts
    257,                  //
    511,                  // a warp's share of a tile
    513,                  //
    TILE - 1,             // a tile of flags
    TILE,                 //
    TILE + 1,             //
    CLASS_TILE - 1,       // a tile of keys
    CLASS_TILE + 1,       //
    7 * TILE + 3,         // several tiles
    (1 << 16) - 1,        // where the CPU begins to use threads
    (1 << 16) + 1,        //
    140 * TILE + 5,       // more tiles than there are multiprocessors
    (1 << 20) + 3,        // the last chunk of keys has another length
    (1 << 22) + TILE + 1, // more tiles than there are chunks
];

const MASKS: &[Mask] = &[
    Mask::All,
    Mask::None,
    Mask::Alternating,
    Mask::Every11th,
    Mask::Random(10),
    Mask::Random(50),
    Mask::Random(90),
    Mask::Blocks,
];

/// How many classes, and how the keys are drawn.
#[derive(Clone, Copy, Debug)]
enum Keys {
    /// Any byte.
    Uniform,
    /// One key for all.
    Constant(u8),
    /// Runs of one key, as neighbouring rays have them.
    Blocks,
    /// Mostly one key, few of any other.
    Skewed,
}

impl Keys {
    fn draw(self, len: usize, random: &mut Random) -> Vec<u8> {
        let mut run = (0, 0);
        (0..len)
            .map(|_| match self {
                Self::Uniform => random.next() as u8,
                Self::Constant(key) => key,
                Self::Skewed => {
                    let bits = random.next();
                    if bits >> 8 & 15 == 0 { bits as u8 } else { 3 }
                }
                Self::Blocks => {
                    if run.1 == 0 {
                        run = (random.next() as u8, 1 + random.below(300));
                    }
                    run.1 -= 1;
                    run.0
                }
            })
            .collect()
    }
}

fn main() {
    Tests::new()
        .test("the_cpu_puts_selected_first", || {
            puts_selected_first(&Backend::Cpu);
        })
        .test("the_cpu_orders_classes", || orders_classes(&Backend::Cpu))
        .test(
            "the_cpu_partitions_in_random_cases",
            random_cases_on_the_cpu,
        )
        .test(
            "the_cpu_refuses_what_does_not_fit",
            refuses_what_does_not_fit,
        )
        .nvrtc("kernels_compile_without_spills", compile_without_spills)
        .gpu("cuda_puts_selected_first", cuda::puts_selected_first)
        .gpu("cuda_orders_classes", cuda::orders_classes)
        .gpu("cuda_partitions_in_random_cases", cuda::random_cases)
        .gpu(
            "cuda_takes_views_that_start_anywhere",
            cuda::starts_anywhere,
        )
        .gpu(
            "cuda_reads_its_count_from_the_device",
            cuda::counts_on_the_device,
        )
        .gpu("cuda_uses_a_workspace_over_and_over", cuda::over_and_over)
        .gpu("cuda_runs_on_two_streams_at_once", cuda::two_streams)
        .gpu("cuda_replays_a_captured_chain", cuda::replays)
        .gpu(
            "cuda_survives_its_last_epoch",
            cuda::survives_its_last_epoch,
        )
        .gpu(
            "cuda_refuses_what_does_not_fit",
            cuda::refuses_what_does_not_fit,
        )
        .run()
}

fn puts_selected_first(backend: &Backend<'_>) {
    let mut random = Random(1);
    for &len in SIZES {
        for &mask in MASKS {
            let flags = mask.flags(len, &mut random);
            partitions_indices(backend, &flags);
            partitions_items::<u32>(backend, &flags);
            if len <= 1 << 17 {
                partitions_items::<u64>(backend, &flags);
                partitions_items::<Three>(backend, &flags);
                partitions_items::<Six>(backend, &flags);
                partitions_items::<Sixteen>(backend, &flags);
            }
        }
    }
}

fn orders_classes(backend: &Backend<'_>) {
    let mut random = Random(2);
    for &len in SIZES {
        for classes in [1, 2, 3, 16, 100, 255, 256] {
            for keys in [
                Keys::Uniform,
                Keys::Constant(2),
                Keys::Constant(255),
                Keys::Blocks,
                Keys::Skewed,
            ] {
                partitions_classes(backend, classes, &keys.draw(len, &mut random));
            }
        }
    }
}

fn random_cases_on_the_cpu() {
    random_cases(&Backend::Cpu, 200);
}

fn random_cases(backend: &Backend<'_>, cases: u64) {
    for seed in 0..cases {
        let mut random = Random(seed);
        let magnitude = random.below(19);
        let len = random.below(2 << magnitude);
        let flags = Mask::Random(random.below(101)).flags(len, &mut random);
        match random.below(4) {
            0 => partitions_indices(backend, &flags),
            1 => partitions_items::<Three>(backend, &flags),
            2 => partitions_items::<f32>(backend, &flags),
            _ => {
                let classes = [1, 7, 40, 256][random.below(4)];
                partitions_classes(backend, classes, &Keys::Uniform.draw(len, &mut random));
            }
        }
    }
}

fn partitions_indices(backend: &Backend<'_>, flags: &[u8]) {
    let mut out = vec![0; flags.len()];
    let selected = backend.indices(flags, &mut out);
    let all: Vec<u32> = (0..flags.len() as u32).collect();
    check("indices", &all, flags, (&out, selected));
}

fn partitions_items<T: Shared + Debug + Send + Sync>(backend: &Backend<'_>, flags: &[u8]) {
    let items = items::<T>(flags.len());
    let mut out = vec![T::zeroed(); flags.len()];
    let selected = backend.items(&items, flags, &mut out);
    check(T::NAME, &items, flags, (&out, selected));
}

/// Against two filters: selected, then rejected.
fn check<T: Shared>(what: &str, items: &[T], flags: &[u8], (out, selected): (&[T], u32)) {
    let case = format!("{what}, {} flags", flags.len());
    let part = |wanted: bool| {
        let flagged = items.iter().zip(flags);
        flagged.filter(move |(_, flag)| (**flag != 0) == wanted)
    };
    assert_eq!(selected as usize, part(true).count(), "{case}: the count");
    let expected = part(true).chain(part(false)).map(|(item, _)| item);
    let wrong = expected
        .zip(out)
        .position(|(left, right)| bytemuck::bytes_of(left) != bytemuck::bytes_of(right));
    assert!(wrong.is_none(), "{case}: item {wrong:?} is wrong");
}

fn partitions_classes(backend: &Backend<'_>, classes: u32, keys: &[u8]) {
    let case = format!("{} keys, {classes} classes", keys.len());
    let mut out = vec![0; keys.len()];
    let mut starts = vec![0; classes as usize + 1];
    backend.classes(classes, keys, &mut out, &mut starts);
    check_classes(&case, classes, keys, &out, &starts);
}

/// Against the standard library's stable sort.
fn check_classes(case: &str, classes: u32, keys: &[u8], out: &[u32], starts: &[u32]) {
    let class_of = |index: &u32| u32::from(keys[*index as usize]).min(classes);
    let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
    expected.sort_by_key(class_of);
    let wrong = expected
        .iter()
        .zip(out)
        .position(|(left, right)| left != right);
    assert!(wrong.is_none(), "{case}: index {wrong:?} is wrong");
    for (class, &start) in (0..).zip(starts) {
        let smaller = expected.partition_point(|index| class_of(index) < class);
        assert_eq!(
            start as usize, smaller,
            "{case}: the start of class {class}"
        );
    }
}

fn refuses_what_does_not_fit() {
    let mut out = [7_u32; 3];
    let error = cpu::indices(&[0; 4], &mut out).unwrap_err();
    assert!(
        matches!(
            error,
            Error::OutputTooShort {
                needed: 4,
                got: 3,
                ..
            }
        ),
        "{error}"
    );
    let error = cpu::items(&[1_u32; 3], &[1; 2], &mut out).unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthMismatch {
                expected: 2,
                got: 3,
                ..
            }
        ),
        "{error}"
    );
    let error = cpu::classes(3, &[0; 2], &mut out, &mut [0; 3]).unwrap_err();
    assert!(
        matches!(
            error,
            Error::OutputTooShort {
                needed: 4,
                got: 3,
                ..
            }
        ),
        "{error}"
    );
    for classes in [0, 257] {
        let error = cpu::classes(classes, &[0; 2], &mut out, &mut [0; 300]).unwrap_err();
        assert!(error.to_string().contains("1 to 256"), "{error}");
        Classes::source(classes).unwrap_err();
    }
    assert_eq!(out, [7; 3]);
}

/// For every architecture that this NVRTC knows among those supported.
fn compile_without_spills(nvrtc: &Arc<Nvrtc>) {
    let sources = [
        partition::source::<u32>(),
        partition::source::<Three>(),
        partition::source::<Sixteen>(),
        Classes::source(1).unwrap(),
        Classes::source(16).unwrap(),
        Classes::source(256).unwrap(),
    ];
    for capability in [75, 80, 86, 90, 120] {
        for source in &sources {
            let Some(target) = nvrtc.target(capability) else {
                continue;
            };
            let compiled = nvrtc
                .compile(source, target)
                .unwrap_or_else(|error| panic!("{error}"));
            if let Target::Cubin(_) = target {
                for kernel in compiled.usage() {
                    assert_eq!(kernel.spill_store_bytes, 0, "{kernel:?} for {target}");
                    assert_eq!(kernel.spill_load_bytes, 0, "{kernel:?} for {target}");
                }
            }
        }
    }
}
