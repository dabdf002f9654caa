//! `select`: one body over all strategies and backends, against three naive lines.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

mod backends;
mod cases;
mod cuda;
mod huge;
mod portions;
mod predicate;
mod sizes;

use std::sync::Arc;

use compaction::{
    CountWord, Error,
    cuda::Nvrtc,
    layout::Shared,
    select::{self, Predicate, Select, SelectIf, Strategy},
};

use crate::{
    backends::{Backend, word},
    cases::{LARGE, MASKS, SIZES},
    common::{Tests, is_short, lengths},
    random::{Mask, Random},
};

macro_rules! records {
    ($($name:ident: $words:literal),+) => {
        compaction::shared! {$(
            /// An item of as many words.
            pub struct $name {
                /// Any bits.
                pub words: [u32; $words],
            }
        )+}
    };
}
records!(Three: 3, Five: 5, Eight: 8, Sixteen: 16);

fn main() {
    Tests::new()
        .test(
            "strategies_are_known_by_their_names",
            strategies_are_known_by_their_names,
        )
        .test("the_specification_keeps_order", || {
            keeps_what_is_flagged(&Backend::Specification)
        })
        .test("the_cpu_keeps_what_is_flagged", || {
            keeps_what_is_flagged(&Backend::Cpu)
        })
        .test(
            "the_cpu_keeps_items_of_many_sizes",
            sizes::the_cpu_keeps_items_of_many_sizes,
        )
        .test("the_cpu_keeps_many_items", || {
            keeps_many_items(&Backend::Cpu)
        })
        .test("the_cpu_keeps_in_place", || keeps_in_place(&Backend::Cpu))
        .test(
            "the_cpu_keeps_what_is_flagged_in_random_cases",
            random_cases_on_the_cpu,
        )
        .test(
            "the_cpu_refuses_lengths_that_do_not_fit",
            the_cpu_refuses_lengths_that_do_not_fit,
        )
        .nvrtc(
            "kernels_compile_with_few_spills",
            kernels_compile_with_few_spills,
        )
        .test(
            "a_predicate_without_keep_says_so",
            predicate::without_keep_says_so,
        )
        .nvrtc("a_predicate_has_any_path", predicate::has_any_path)
        .nvrtc(
            "a_predicate_that_does_not_compile_shows_its_line",
            predicate::shows_its_line,
        )
        .gpu("cuda_keeps_in_place", cuda::keeps_in_place)
        .gpu(
            "cuda_keeps_what_is_flagged_in_random_cases",
            cuda::random_cases,
        )
        .gpu("cuda_works_in_portions", portions::keeps_what_is_flagged)
        .gpu(
            "cuda_reads_its_count_in_portions",
            portions::reads_its_count,
        )
        .gpu(
            "cuda_keeps_what_a_predicate_keeps",
            predicate::keeps_what_it_keeps,
        )
        .gpu(
            "cuda_reports_a_count_that_is_too_large",
            cuda::reports_a_count_that_is_too_large,
        )
        .gpu(
            "cuda_works_on_two_streams_at_once",
            cuda::works_on_two_streams_at_once,
        )
        .huge("huge_cuda_2_to_the_31", huge::around_two_to_the_31)
        .huge("huge_cuda_2_to_the_32", huge::around_two_to_the_32)
        .huge("huge_cuda_bytes", huge::bytes_beyond_two_to_the_32)
        .gpu("cuda_keeps_what_is_flagged", cuda::keeps_what_is_flagged)
        .gpu(
            "cuda_keeps_items_of_every_size",
            sizes::cuda_keeps_items_of_every_size,
        )
        .gpu("cuda_keeps_many_items", cuda::keeps_many_items)
        .gpu(
            "cuda_takes_views_that_start_anywhere",
            cuda::takes_views_that_start_anywhere,
        )
        .gpu(
            "cuda_reads_its_count_from_the_device",
            cuda::reads_its_count_from_the_device,
        )
        .gpu(
            "cuda_uses_a_workspace_over_and_over",
            cuda::uses_a_workspace_over_and_over,
        )
        .gpu(
            "cuda_replays_a_captured_chain",
            cuda::replays_a_captured_chain,
        )
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

fn strategies_are_known_by_their_names() {
    for &strategy in Strategy::ALL {
        assert_eq!(strategy.to_string().parse(), Ok(strategy));
    }
    assert_eq!(Strategy::default(), Strategy::ALL[0]);
    let error = "sieve".parse::<Strategy>().unwrap_err().to_string();
    assert!(error.contains("\"sieve\""), "{error}");
    for strategy in Strategy::ALL {
        assert!(error.contains(strategy.name()), "{error}");
    }
}

/// Indices and items of one word, at every size, under every mask.
fn keeps_what_is_flagged(backend: &Backend<'_>) {
    let mut random = Random(1);
    for len in lengths(SIZES.iter().copied()) {
        for &mask in MASKS {
            let flags = mask.flags(len, &mut random);
            selects_indices::<u32>(backend, &flags, mask);
            selects_items::<u32>(backend, &flags, mask);
        }
    }
}

fn keeps_many_items(backend: &Backend<'_>) {
    if is_short() {
        return;
    }
    let flags = Mask::Random(50).flags(LARGE, &mut Random(3));
    selects_indices::<u32>(backend, &flags, Mask::Random(50));
    selects_indices::<u64>(backend, &flags, Mask::Random(50));
    selects_items::<u32>(backend, &flags, Mask::Random(50));
}

/// Items of one word and of many, at every size.
fn keeps_in_place(backend: &Backend<'_>) {
    let mut random = Random(11);
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

fn selects_in_place<T: Shared + Send + Sync>(backend: &Backend<'_>, flags: &[u8], mask: Mask) {
    for &strategy in cases::IN_PLACE {
        selects_in_place_by::<T>(strategy, flags, mask, |items| {
            backend.in_place(strategy, items, flags)
        });
    }
}

fn selects_in_place_by<T: Shared>(
    strategy: Strategy,
    flags: &[u8],
    mask: Mask,
    in_place: impl FnOnce(&mut [T]) -> usize,
) {
    let items = random::items::<T>(flags.len());
    let case = format!("{} {} in place, {mask:?}, {strategy}", flags.len(), T::NAME);
    let mut out = items.clone();
    let count = in_place(&mut out);
    // Behind the result stands what it may.
    let guard: T = bytemuck::pod_read_unaligned(&vec![0xa5; size_of::<T>()]);
    if strategy != Strategy::Off {
        out[count..].fill(guard);
    }
    cases::check(strategy, &items, flags, (&out, count), guard, &case);
}

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

fn selects_items<T: Shared + Send + Sync>(backend: &Backend<'_>, flags: &[u8], mask: Mask) {
    for &strategy in backend.strategies() {
        selects_items_by::<T>(strategy, flags, mask, |items, out| {
            backend.items(strategy, items, flags, out)
        });
    }
}

fn selects_items_by<T: Shared>(
    strategy: Strategy,
    flags: &[u8],
    mask: Mask,
    select: impl FnOnce(&[T], &mut [T]) -> usize,
) {
    let items = random::items::<T>(flags.len());
    let case = format!("{} {}, {mask:?}, {strategy}", flags.len(), T::NAME);
    let guard = bytemuck::pod_read_unaligned(&vec![0xa5; size_of::<T>()]);
    let mut out = vec![guard; flags.len()];
    let count = select(&items, &mut out);
    cases::check(strategy, &items, flags, (&out, count), guard, &case);
}

fn random_cases_on_the_cpu() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let magnitude = random.below(18);
        let len = random.below(2 << magnitude);
        let mask = match random.below(3) {
            0 => Mask::Blocks,
            _ => Mask::Random(random.below(101)),
        };
        let flags = mask.flags(len, &mut random);
        match random.below(4) {
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
        let error = indices(strategy, &[0; 4], &mut out).unwrap_err();
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
        let error = items(strategy, &[1_u32; 3], &[1; 2], &mut out).unwrap_err();
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
        assert_eq!(out, [7; 3]);
    }
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>) {
    // Items copied by words, vectors, and whatever they lie on.
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
    spills::compile_with_few_spills(&[75, 80, 86, 90, 120], nvrtc, &sources);
}
