//! Tests of `partition`: one test body for both backends, checked against the standard library's stable sort.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/devices.rs"]
mod devices;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/item_types.rs"]
mod item_types;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

mod backends;
mod cuda;
mod huge;

use std::sync::Arc;

use compaction::{
    CountWord,
    cuda::Nvrtc,
    layout::Shared,
    partition::{CLASS_TILE_ITEMS, Classes, Partition, TILE_ITEMS, cpu},
};
use rand::RngExt;

use crate::{
    backends::Backend,
    common::{Share, Tests, add_tests, assert_error, is_short, lengths, times},
    devices::two_gpus,
    item_types::{Bytes7, Halves5, Words3, Words6, Words16},
    random::{MASKS, Mask, Random, assert_equal_bytes, items, seeded},
};

const TILE: usize = TILE_ITEMS as usize;
const CLASS_TILE: usize = CLASS_TILE_ITEMS as usize;

/// Lengths around every limit of an implementation.
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

/// The distribution of the keys.
#[derive(Clone, Copy, Debug)]
enum Keys {
    /// Uniformly random bytes.
    Uniform,
    /// Equal keys.
    Constant(u8),
    /// Runs of equal keys, as neighbouring rays produce them.
    Blocks,
    /// Mostly one key, and a few of all others.
    Skewed,
}

impl Keys {
    fn draw(self, len: usize, random: &mut Random) -> Vec<u8> {
        let mut run = (0, 0);
        (0..len)
            .map(|_| match self {
                Self::Uniform => random.random::<u64>() as u8,
                Self::Constant(key) => key,
                Self::Skewed => {
                    let bits = random.random::<u64>();
                    if bits >> 8 & 15 == 0 { bits as u8 } else { 3 }
                }
                Self::Blocks => {
                    if run.1 == 0 {
                        run = (
                            random.random::<u64>() as u8,
                            1 + random.random_range(0..300),
                        );
                    }
                    run.1 -= 1;
                    run.0
                }
            })
            .collect()
    }
}

fn main() {
    let tests = Tests::new()
        .test("the_cpu_puts_selected_first", || {
            puts_selected_first(&Backend::Cpu);
        })
        .test("the_cpu_writes_words_of_every_width", || {
            writes_words_of_every_width(&Backend::Cpu)
        })
        .test("the_cpu_partitions_into_three", || {
            partitions_into_three(&Backend::Cpu)
        })
        .test("the_cpu_groups_by_class", || groups_by_class(&Backend::Cpu))
        .needs(
            "no second GPU",
            two_gpus(),
            "cuda_refuses_a_workspace_of_another_device",
            cuda::refuses_another_device,
        );
    add_tests!(tests;
        test "" self { the_cpu_partitions_in_random_cases, the_cpu_refuses_invalid_arguments }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        gpu "cuda_" cuda {
            puts_selected_first, groups_by_class, writes_words_of_every_width, partitions_into_three,
            partitions_in_random_cases, takes_views_that_start_anywhere, reads_its_count_from_the_device,
            reuses_a_workspace, runs_on_two_streams_at_once, replays_a_captured_chain,
            survives_epoch_wraparound, refuses_invalid_arguments,
        }
        huge "huge_" huge { around_two_to_the_31, past_two_to_the_32 }
    )
    .run()
}

/// Returns the lengths to test. On the CPU they have at most two million items; longer ones are limits of GPUs.
fn sizes(backend: &Backend<'_>) -> Vec<usize> {
    let max_len = match backend {
        Backend::Cuda(_) => usize::MAX,
        _ => 2 << 20,
    };
    lengths(SIZES.iter().copied().filter(|&len| len <= max_len))
}

fn puts_selected_first(backend: &Backend<'_>) {
    let mut random = seeded(1);
    for (turn, len) in sizes(backend).into_iter().enumerate() {
        for mask in some(MASKS, turn) {
            let flags = mask.flags(len, &mut random);
            partitions_indices::<u32, u32>(backend, &flags);
            partitions_items::<u32, u32>(backend, &flags);
            if len <= 1 << 17 {
                partitions_items::<u8, u32>(backend, &flags);
                partitions_items::<u64, u32>(backend, &flags);
                partitions_items::<Bytes7, u32>(backend, &flags);
                partitions_items::<Halves5, u32>(backend, &flags);
                partitions_items::<Words3, u32>(backend, &flags);
                partitions_items::<Words6, u32>(backend, &flags);
                partitions_items::<Words16, u32>(backend, &flags);
            }
        }
    }
}

/// Tests words of 32 and of 64 bits, for which calls take two launches instead of one.
fn writes_words_of_every_width(backend: &Backend<'_>) {
    let mut random = seeded(3);
    for (turn, len) in sizes(backend).into_iter().enumerate() {
        let masks = [Mask::All, Mask::None, Mask::Random(50), Mask::Blocks];
        for mask in some(&masks, turn) {
            let flags = mask.flags(len, &mut random);
            partitions_indices::<u32, u64>(backend, &flags);
            partitions_indices::<u64, u32>(backend, &flags);
            partitions_indices::<u64, u64>(backend, &flags);
            partitions_items::<u32, u64>(backend, &flags);
            partitions_items::<Bytes7, u64>(backend, &flags);
        }
        for classes in some(&[1, 16, 31, 256], turn) {
            let keys = Keys::Skewed.draw(len, &mut random);
            partitions_classes::<u32, u64>(backend, classes, &keys);
            partitions_classes::<u64, u32>(backend, classes, &keys);
            partitions_classes::<u64, u64>(backend, classes, &keys);
        }
    }
}

/// Tests the cases of CUB's three-way partition tests, in which each part may be empty or hold all items.
fn partitions_into_three(backend: &Backend<'_>) {
    let mut random = seeded(10);
    for _ in 0..10 {
        let len = lengths([random.random_range(0..100_000)])
            .pop()
            .unwrap_or(9999);
        for parts in [&[0, 1, 2][..], &[1, 2], &[0, 2], &[0, 1], &[0], &[1], &[2]] {
            let keys: Vec<u8> = (0..len)
                .map(|_| parts[random.random_range(0..parts.len())])
                .collect();
            partitions_classes::<u32, u32>(backend, 2, &keys);
        }
    }
}

fn groups_by_class(backend: &Backend<'_>) {
    let mut random = seeded(2);
    let all = [
        Keys::Uniform,
        Keys::Constant(2),
        Keys::Constant(255),
        Keys::Blocks,
        Keys::Skewed,
    ];
    for (turn, len) in sizes(backend).into_iter().enumerate() {
        for classes in [1, 2, 3, 16, 31, 32, 100, 255, 256] {
            for keys in some(&all, turn + classes as usize) {
                partitions_classes::<u32, u32>(backend, classes, &keys.draw(len, &mut random));
            }
        }
    }
}

fn the_cpu_partitions_in_random_cases() {
    random_cases(&Backend::Cpu, 200);
}

fn random_cases(backend: &Backend<'_>, cases: usize) {
    for seed in 0..times(cases) as u64 {
        let mut random = seeded(seed);
        let magnitude = random.random_range(0..19);
        let len = lengths([random.random_range(0..2 << magnitude)])
            .pop()
            .unwrap_or(9);
        let flags = Mask::Random(random.random_range(0..101)).flags(len, &mut random);
        match random.random_range(0..7) {
            0 => partitions_indices::<u32, u32>(backend, &flags),
            1 => partitions_indices::<u64, u64>(backend, &flags),
            2 => partitions_items::<Words3, u32>(backend, &flags),
            3 => partitions_items::<f32, u32>(backend, &flags),
            4 => partitions_items::<Halves5, u64>(backend, &flags),
            which => {
                let classes = [1, 7, 40, 256][random.random_range(0..4)];
                let keys = Keys::Uniform.draw(len, &mut random);
                match which {
                    5 => partitions_classes::<u32, u32>(backend, classes, &keys),
                    _ => partitions_classes::<u64, u64>(backend, classes, &keys),
                }
            }
        }
    }
}

/// Returns all elements, or in short tests a single one, which depends on `turn`.
fn some<T: Copy>(all: &[T], turn: usize) -> Vec<T> {
    match is_short() {
        true => vec![all[turn % all.len()]],
        false => all.to_vec(),
    }
}

/// Returns the indices below `len`.
fn all<I: CountWord>(len: usize) -> Vec<I> {
    (0..len).map(|index| I::from_len(index).unwrap()).collect()
}

/// Partitions indices and checks the result.
fn partitions_indices<I: CountWord, W: CountWord>(backend: &Backend<'_>, flags: &[u8]) {
    let (out, selected) = backend.indices::<I, W>(flags);
    let case = format!("indices in {}, count in {}", I::NAME, W::NAME);
    check(&case, &all::<I>(flags.len()), flags, (&out, selected));
}

/// Partitions items and checks the result.
fn partitions_items<T: Shared + Send + Sync, W: CountWord>(backend: &Backend<'_>, flags: &[u8]) {
    let items = items::<T>(flags.len());
    let (out, selected) = backend.items::<T, W>(&items, flags);
    check(T::NAME, &items, flags, (&out, selected));
}

/// Compares the result with the specification for two classes.
fn check<T: Shared>(what: &str, items: &[T], flags: &[u8], (out, selected): (&[T], usize)) {
    let case = format!("{what}, {} flags", flags.len());
    assert_eq!(
        selected,
        flags.iter().filter(|&&flag| flag != 0).count(),
        "{case}: the count"
    );
    let flagged = items.iter().zip(flags);
    let expected = cpu::specification(flagged, |(_, flag)| u8::from(**flag == 0));
    assert_equal_bytes(expected.map(|(item, _)| item), out, &case);
}

/// Groups indices by class and checks the result.
fn partitions_classes<I: CountWord, W: CountWord>(
    backend: &Backend<'_>,
    classes: u32,
    keys: &[u8],
) {
    let (out, starts) = backend.classes::<I, W>(classes, keys);
    let case = format!(
        "{} keys, {classes} classes, indices in {}, starts in {}",
        keys.len(),
        I::NAME,
        W::NAME
    );
    check_classes(&case, classes, keys, &out, &starts);
}

/// Compares the result with the specification. Keys without a class come last.
fn check_classes<I: CountWord, W: CountWord>(
    case: &str,
    classes: u32,
    keys: &[u8],
    out: &[I],
    starts: &[W],
) {
    let behind = u8::try_from(classes).unwrap_or(u8::MAX);
    let class_of = |index: &I| keys[index.to_len()].min(behind);
    let expected: Vec<I> = cpu::specification(all::<I>(keys.len()), class_of).collect();
    assert_equal_bytes(&expected, out, case);
    assert_eq!(starts.len(), classes as usize + 1, "{case}: starts");
    for (class, start) in (0..).zip(starts) {
        let smaller = expected.partition_point(|index| u32::from(class_of(index)) < class);
        assert_eq!(
            start.to_len(),
            smaller,
            "{case}: the start of class {class}"
        );
    }
}

fn the_cpu_refuses_invalid_arguments() {
    let mut out = [7_u32; 3];
    assert_error(
        cpu::indices(&[0; 4], &mut out),
        "the output of partition: room for 3 items where up to 4 may be written; make it longer",
    );
    assert_error(
        cpu::items(&[1_u32; 3], &[1; 2], &mut out),
        "the items of partition: 3 instead of 2",
    );
    assert_error(
        cpu::classes(3, &[0; 2], &mut out, &mut [0_u32; 3]),
        "the starts of partition: room for 3 items where up to 4 may be written; make it longer",
    );
    for classes in [0, 257] {
        assert_error(
            cpu::classes(classes, &[0; 2], &mut out, &mut [0_u32; 300]),
            "1 to 256",
        );
        assert_error(Classes::sources(classes), "1 to 256");
    }
    assert_eq!(out, [7; 3]);
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let sources = [
        Partition::sources::<u32>(),
        Partition::sources::<Bytes7>(),
        Partition::sources::<Words16>(),
        Classes::sources(16).unwrap(),
        Classes::sources(256).unwrap(),
    ];
    spills::compile_with_few_spills(&[75, 80, 90, 120], nvrtc, share, &sources.concat());
}
