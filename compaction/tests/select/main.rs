//! Tests of `select`: one test body for all strategies and backends, checked against a naive filter.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

mod backends;
mod bools;
mod cases;
mod cuda;
mod huge;
mod portions;
mod predicate;
mod short;
mod sizes;

use std::sync::Arc;

use bytemuck::{cast_slice, cast_slice_mut};
use compaction::{
    CountWord,
    cuda::Nvrtc,
    layout::Shared,
    select::{self, Predicate, Select, SelectIf, Strategy},
};
use rand::RngExt;

use crate::{
    backends::{Backend, word},
    cases::{LARGE, SIZES},
    common::{Share, Tests, add_tests, assert_error, assert_names_are_parsed, is_short, lengths},
    random::{MASKS, Mask, seeded},
};

macro_rules! records {
    ($($name:ident: $words:literal),+) => {
        compaction::shared! {$(
            /// An item of this many 4-byte words.
            pub struct $name {
                /// Arbitrary bits.
                pub words: [u32; $words],
            }
        )+}
    };
}
records!(Three: 3, Five: 5, Eight: 8, Sixteen: 16);

fn main() {
    let tests = Tests::new()
        .test("the_specification_keeps_order", || {
            keeps_flagged_items(&Backend::Specification)
        })
        .test("the_cpu_keeps_flagged_items", || {
            keeps_flagged_items(&Backend::Cpu)
        })
        .test("the_cpu_keeps_many_items", || {
            keeps_many_items(&Backend::Cpu)
        })
        .test("the_cpu_keeps_in_place", || keeps_in_place(&Backend::Cpu));
    add_tests!(tests;
        test "" self {
            names_are_parsed, the_cpu_keeps_flagged_items_in_random_cases,
            the_cpu_refuses_lengths_that_do_not_fit,
        }
        test "" short { the_cpu_fills_a_short_output }
        test "" bools { the_cpu_keeps_bools }
        test "" sizes { the_cpu_keeps_items_of_many_sizes }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        test "" predicate { a_predicate_without_keep_is_refused }
        nvrtc "" predicate {
            a_predicate_has_any_path, a_predicate_that_does_not_compile_shows_its_line,
            a_predicate_of_another_type_is_refused, a_predicate_includes_headers_of_cuda,
        }
        gpu "cuda_" cuda {
            keeps_in_place, keeps_flagged_items_in_random_cases, reports_a_count_that_is_too_large,
            works_on_two_streams_at_once, keeps_flagged_items, keeps_many_items,
            takes_views_that_start_anywhere, reads_its_count_from_the_device, reuses_a_workspace,
            replays_a_captured_chain, survives_epoch_wraparound, refuses_invalid_arguments,
            takes_flags_of_bool_and_items_of_any_plain_type,
        }
        gpu "cuda_" portions { works_in_portions, reads_its_count_in_portions }
        gpu "cuda_" short { fills_a_short_output }
        gpu "cuda_" bools { keeps_bools, moves_bools, a_byte_that_is_no_bool_is_not_downloaded }
        gpu "cuda_" predicate { keeps_items_that_satisfy_a_predicate, a_threshold_changes_without_compiling }
        huge "huge_" huge { around_two_to_the_31, around_two_to_the_32, bytes_beyond_two_to_the_32 }
        gpu "cuda_" sizes { keeps_items_of_every_size }
    )
    .run()
}

fn names_are_parsed() {
    assert_names_are_parsed(Strategy::ALL);
    assert_eq!(Strategy::default(), Strategy::ALL[0]);
}

/// Selects indices and items of 4 bytes, for every length and mask.
fn keeps_flagged_items(backend: &Backend<'_>) {
    let mut random = seeded(1);
    let sizes = SIZES.iter().copied();
    for len in lengths(sizes.filter(|&len| len <= max_len(backend))) {
        for &mask in MASKS {
            let flags = mask.flags(len, &mut random);
            selects_indices::<u32>(backend, &flags, mask);
            selects_items::<u32>(backend, &flags, mask);
        }
    }
}

/// Returns the maximum length of a test case. Longer cases test limits of GPUs.
fn max_len(backend: &Backend<'_>) -> usize {
    match backend {
        Backend::Cuda(_) => LARGE,
        Backend::Specification | Backend::Cpu => 2 << 20,
    }
}

fn keeps_many_items(backend: &Backend<'_>) {
    if is_short() {
        return;
    }
    let flags = Mask::Random(50).flags(max_len(backend), &mut seeded(3));
    selects_indices::<u32>(backend, &flags, Mask::Random(50));
    selects_indices::<u64>(backend, &flags, Mask::Random(50));
    selects_items::<u32>(backend, &flags, Mask::Random(50));
}

/// Selects in place items of one and of many words, for every length.
fn keeps_in_place(backend: &Backend<'_>) {
    let mut random = seeded(11);
    let few = SIZES.iter().copied().filter(|&len| len <= 1 << 20);
    for len in lengths(few) {
        for mask in [Mask::All, Mask::None, Mask::Random(50), Mask::Blocks] {
            let flags = mask.flags(len, &mut random);
            selects_in_place::<u32>(backend, &flags, mask);
            if len <= 1 << 16 {
                selects_in_place::<Three>(backend, &flags, mask);
                selects_in_place::<Eight>(backend, &flags, mask);
                selects_in_place::<Sixteen>(backend, &flags, mask);
            }
        }
    }
}

/// Selects in place with all strategies that support it.
fn selects_in_place<T: Shared + Send + Sync>(backend: &Backend<'_>, flags: &[u8], mask: Mask) {
    for &strategy in cases::IN_PLACE {
        selects_in_place_by(item::<T>(), strategy, flags, mask, &mut |items| {
            backend.in_place::<T>(strategy, items, flags)
        });
    }
}

/// The name and the size in bytes of an item type.
type ItemType = (&'static str, usize);

fn item<T: Shared>() -> ItemType {
    (T::NAME, size_of::<T>())
}

/// Returns a buffer of at least this many bytes, aligned for every item type.
fn aligned(bytes: usize) -> Vec<u64> {
    vec![0; bytes.div_ceil(size_of::<u64>())]
}

/// Value of bytes that a call must not write.
const GUARD: u8 = 0xa5;

/// Selects in place by a call of `in_place`, which takes items as bytes and returns the count, and checks the result.
fn selects_in_place_by(
    (name, size): ItemType,
    strategy: Strategy,
    flags: &[u8],
    mask: Mask,
    in_place: &mut dyn FnMut(&mut [u8]) -> usize,
) {
    let len = flags.len() * size;
    let mut items = aligned(len);
    random::fill(&mut cast_slice_mut(&mut items)[..len], size);
    let case = format!("{} {name} in place, {mask:?}, {strategy}", flags.len());
    let mut out = items.clone();
    let (items, out) = (
        &cast_slice(&items)[..len],
        &mut cast_slice_mut(&mut out)[..len],
    );
    let count = in_place(out);
    // The contents behind the result are unspecified.
    if strategy != Strategy::Off {
        out[count * size..].fill(GUARD);
    }
    check(size, strategy, flags, items, (out, count), &case);
}

/// Selects indices with all strategies and checks the results.
fn selects_indices<W: CountWord>(backend: &Backend<'_>, flags: &[u8], mask: Mask) {
    let all: Vec<W> = (0..flags.len()).map(word).collect();
    for &strategy in backend.strategies() {
        let case = format!(
            "{} indices of {} {mask:?}, {strategy}",
            W::NAME,
            flags.len()
        );
        let guard = word(0xdead_beef);
        let mut out = vec![guard; flags.len()];
        let count = backend.indices(strategy, flags, &mut out);
        cases::check(strategy, &all, flags, (&out, count), guard, &case);
    }
}

/// Selects items with all strategies and checks the results.
fn selects_items<T: Shared + Send + Sync>(backend: &Backend<'_>, flags: &[u8], mask: Mask) {
    for &strategy in backend.strategies() {
        selects_items_by(item::<T>(), strategy, flags, mask, &mut |items, out| {
            backend.items::<T>(strategy, items, flags, out)
        });
    }
}

/// Selects items by a call of `select`, which takes items and output as bytes and returns the count, and checks the
/// result.
fn selects_items_by(
    (name, size): ItemType,
    strategy: Strategy,
    flags: &[u8],
    mask: Mask,
    select: &mut dyn FnMut(&[u8], &mut [u8]) -> usize,
) {
    let len = flags.len() * size;
    let (mut items, mut out) = (aligned(len), aligned(len));
    let (items, out) = (
        &mut cast_slice_mut(&mut items)[..len],
        &mut cast_slice_mut(&mut out)[..len],
    );
    random::fill(items, size);
    out.fill(GUARD);
    let case = format!("{} {name}, {mask:?}, {strategy}", flags.len());
    let count = select(items, out);
    check(size, strategy, flags, items, (out, count), &case);
}

/// Checks the output of a selection of items of `size` bytes. `out` was filled with [`GUARD`].
fn check(
    size: usize,
    strategy: Strategy,
    flags: &[u8],
    items: &[u8],
    (out, count): (&[u8], usize),
    case: &str,
) {
    let [items, out] = [items, out].map(|bytes| cases::Items { bytes, size });
    cases::check_bytes(
        strategy,
        items,
        flags,
        (out, count),
        &vec![GUARD; size],
        case,
    );
}

fn the_cpu_keeps_flagged_items_in_random_cases() {
    for seed in 0..300 {
        let mut random = seeded(seed);
        let magnitude = random.random_range(0..18);
        let len = random.random_range(0..2 << magnitude);
        let mask = match random.random_range(0..3) {
            0 => Mask::Blocks,
            _ => Mask::Random(random.random_range(0..101)),
        };
        let flags = mask.flags(len, &mut random);
        match random.random_range(0..4) {
            0 => selects_indices::<u64>(&Backend::Cpu, &flags, mask),
            1 => selects_items::<f32>(&Backend::Cpu, &flags, mask),
            2 => selects_items::<Five>(&Backend::Cpu, &flags, mask),
            _ => selects_items::<u64>(&Backend::Cpu, &flags, mask),
        }
    }
}

fn the_cpu_refuses_lengths_that_do_not_fit() {
    use select::cpu::{indices, items};
    for &strategy in Strategy::ALL {
        let mut out = [7_u32; 3];
        if strategy == Strategy::Off {
            assert_error(
                indices(strategy, &[0; 4], &mut out),
                "room for 3 items where up to 4 may",
            );
        }
        assert_error(
            items(strategy, &[1_u32; 3], &[1; 2], &mut out),
            "3 instead of 2",
        );
        assert_eq!(out, [7; 3]);
    }
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    // Items copied by words, by vectors, and by bytes.
    let even = Predicate::new("even.cuh", "bool keep(u32 item) { return item % 2 == 0; }");
    let first = Predicate::new("first.cuh", predicate::FIRST_OF_EIGHT);
    let mut sources = [
        Select::sources::<u32, u32>(Strategy::LookBack),
        Select::sources::<Sixteen, u32>(Strategy::LookBack),
        Select::sources::<u8, u32>(Strategy::LookBack),
        Select::sources::<u32, u32>(Strategy::Off),
        Select::sources::<Sixteen, u32>(Strategy::Off),
        Select::sources::<u8, u32>(Strategy::Off),
        SelectIf::<u32>::sources(&even).unwrap(),
        SelectIf::<Eight>::sources(&first).unwrap(),
    ]
    .concat();
    for &strategy in Strategy::ALL {
        // It shares a file with `Off`, which need not be compiled twice.
        if strategy != Strategy::Atomic {
            sources.extend(Select::sources::<Three, u32>(strategy));
            sources.extend(Select::sources::<sizes::Bytes64, u64>(strategy));
        }
    }
    sources.extend(Select::sources_in_place::<Three, u32>(Strategy::LookBack).unwrap());
    sources.extend(Select::sources_in_place::<sizes::Bytes64, u64>(Strategy::LookBack).unwrap());
    spills::compile_with_few_spills(&[75, 80, 90, 120], nvrtc, share, &sources);
}
