//! Tests of `segmented_reduce` and `segmented_sort`: the CPU against naive loops, and the GPU against the CPU.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/devices.rs"]
mod devices;
#[path = "../common/functions.rs"]
mod functions;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

mod own_operator;
mod reduce;
mod sort;

use rand::RngExt;

use crate::{
    common::{Tests, add_tests, is_short},
    random::Random,
};

fn main() {
    let tests = Tests::new();
    add_tests!(tests;
        test "reduce_" reduce {
            adds_in_the_documented_order, equals_naive_loops, offsets_beyond_the_items_count_as_their_end_on_the_cpu, refuses_invalid_arguments_on_the_cpu,
        }
        nvrtc_shared "reduce_" reduce { kernels_compile_with_few_spills }
        gpu "cuda_reduce_" reduce {
            equals_the_cpu, reduces_equal_lengths, takes_views_that_start_anywhere,
            reads_its_count_from_the_device, counts_in_64_bits, clamps_invalid_offsets,
            replays_a_captured_call, refuses_invalid_arguments,
        }
        test "own_operator_" own_operator {
            combines_in_the_documented_order, equals_naive_loops, refuses_invalid_arguments_on_the_cpu,
        }
        nvrtc_shared "own_operator_" own_operator { kernels_compile_with_few_spills }
        gpu "cuda_own_operator_" own_operator {
            agrees_with_the_cpu, converts_items, reduces_equal_lengths, reads_its_count_from_the_device,
            names_what_is_missing,
        }
        test "sort_" sort { sorts_each_segment_on_the_cpu, offsets_beyond_the_items_count_as_their_end_on_the_cpu, refuses_invalid_arguments_on_the_cpu }
        nvrtc_shared "sort_" sort { kernels_compile_with_few_spills }
        gpu "cuda_sort_" sort {
            equals_the_cpu, sorts_keys_of_each_size, sorts_equal_lengths, takes_views_that_start_anywhere,
            reads_its_count_from_the_device, clamps_invalid_offsets, replays_a_captured_call,
            refuses_invalid_arguments,
        }
    )
    .run()
}

/// Lengths of segments for one case, with a name.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) lengths: Vec<usize>,
}

impl Case {
    /// Returns the offsets of the segments, of which the first begins at `first`.
    pub(crate) fn offsets(&self, first: usize) -> Vec<u32> {
        let mut end = first as u32;
        let ends = self.lengths.iter().map(|&length| {
            end += length as u32;
            end
        });
        std::iter::once(first as u32).chain(ends).collect()
    }
}

/// Lengths around every limit of an implementation, and very uneven ones.
pub(crate) fn cases(random: &mut Random) -> Vec<Case> {
    let many = if is_short() { 500 } else { 50_000 };
    let long = if is_short() { 40_000 } else { 3_000_000 };
    let mut draw = |max: usize, count: usize| -> Vec<usize> {
        (0..count)
            .map(|_| random.random_range(0..max + 1))
            .collect()
    };
    let mut around_long = draw(1, many);
    around_long.insert(many / 3, long);
    around_long.insert(many / 2, long / 7);
    let limits = [
        0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513,
        1023, 1024, 1025, 2047, 2048, 2049, 0, 0, 0, 4095, 4096, 4097, 8191, 8192, 8193,
    ];
    [
        ("no segment", vec![]),
        ("one empty segment", vec![0]),
        ("empty segments", vec![0; 100]),
        ("one item", vec![1]),
        ("of 64", vec![64; many / 8 + 5]),
        ("up to 8", draw(8, many)),
        ("up to 64", draw(64, many / 4)),
        ("up to 200", draw(200, many / 8)),
        ("limits", limits.to_vec()),
        ("limits backwards", limits.iter().rev().copied().collect()),
        ("long ones among short ones", around_long),
        ("one long", vec![long + 1]),
    ]
    .map(|(name, lengths)| Case { name, lengths })
    .into()
}
