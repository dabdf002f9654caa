//! One scene, one image: the film's bits depend on nothing but the scene, its size, its seed and its samples.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../compaction/tests/common/mod.rs"]
mod harness;

mod adaptive;
mod cpu;
mod cuda;
mod gpus;
mod matrix;
mod previews;
mod rounds_of_gpus;
mod trial;

use harness::Tests;
use raysieve::stats::{BounceStats, Stats};

fn main() {
    Tests::new()
        .test(
            "threads_strategies_and_wave_sizes_do_not_matter",
            cpu::settings_do_not_matter,
        )
        .test(
            "whole_paths_have_the_film_of_stages",
            cpu::whole_paths_have_the_film_of_stages,
        )
        .test("all_ways_to_a_film_cross", matrix::holds_on_cpus)
        .test(
            "the_steps_of_a_render_do_not_matter",
            cpu::steps_do_not_matter,
        )
        .test("a_restart_forgets_everything", cpu::restarts_forget)
        .test(
            "to_a_noise_threads_strategies_and_wave_sizes_do_not_matter",
            adaptive::settings_do_not_matter,
        )
        .test("to_a_noise_a_render_resumes_in_a_round", adaptive::resumes)
        .test(
            "to_a_noise_a_render_goes_on_with_more_samples",
            adaptive::more_samples_go_on,
        )
        .test(
            "previews_to_a_noise_have_the_same_bits_every_time",
            previews::to_noise_have_the_same_bits_every_time,
        )
        .test(
            "what_is_another_picture_has_another_hash",
            cpu::hashes_differ,
        )
        .test(
            "a_partition_by_material_does_not_matter",
            cpu::partition_does_not_matter,
        )
        .test("a_trial_keeps_what_is_faster", trial::keeps_what_is_faster)
        .test(
            "a_trial_waits_until_waves_are_steady",
            trial::waits_until_waves_are_steady,
        )
        .test(
            "a_trial_gives_up_where_sizes_change",
            trial::gives_up_where_sizes_change,
        )
        .test(
            "nothing_is_tried_that_cannot_pay",
            trial::tries_nothing_that_cannot_pay,
        )
        .test("every_pair_is_dealt_once", cpu::every_pair_is_dealt_once)
        .test(
            "impossible_waves_are_refused",
            cpu::impossible_waves_are_refused,
        )
        .gpu(
            "every_scene_has_the_cpus_film_on_cuda",
            cuda::every_scene_has_the_cpus_film,
        )
        .gpu(
            "every_wave_size_has_the_cpus_film_on_cuda",
            cuda::every_wave_size_has_the_cpus_film,
        )
        .gpu(
            "a_large_picture_has_the_cpus_film_on_cuda",
            cuda::a_large_picture_has_the_cpus_film,
        )
        .gpu(
            "to_a_noise_the_film_is_the_cpus_on_cuda",
            adaptive::has_the_cpus_film,
        )
        .gpu(
            "previews_are_the_cpus_on_cuda",
            previews::are_the_cpus_on_cuda,
        )
        .gpu(
            "previews_to_a_noise_are_the_cpus_on_cuda",
            previews::to_noise_are_the_cpus_on_cuda,
        )
        .gpu("all_ways_to_a_film_cross_on_cuda", matrix::holds_on_gpus)
        .gpu(
            "the_steps_of_a_render_do_not_matter_on_cuda",
            cuda::steps_do_not_matter,
        )
        .gpu(cuda::DRIVER_ALONE, cuda::renders_with_a_driver_alone)
        .gpu(
            "a_partition_by_material_does_not_matter_on_cuda",
            cuda::partition_does_not_matter,
        )
        .gpu(
            "a_trial_by_the_way_has_the_cpus_film",
            trial::has_the_cpus_film,
        )
        .gpu("a_wave_never_waits", cuda::waves_never_wait)
        .gpu("waves_that_grow_agree", cuda::waves_that_grow_agree)
        .gpu(
            "a_render_takes_as_long_as_its_stages",
            cuda::times_cover_their_stages,
        )
        .gpu(
            "a_wave_that_waited_would_be_found_out",
            cuda::waiting_is_found_out,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "several_gpus_have_the_cpus_film",
            gpus::have_the_cpus_film,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "previews_of_several_gpus_are_the_cpus",
            previews::are_the_cpus_on_several,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "several_gpus_hold_at_any_time",
            gpus::hold_at_any_time,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "several_gpus_are_named_as_they_are",
            gpus::are_named_as_they_are,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            gpus::UNEVEN,
            gpus::faster_ones_do_more,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            gpus::FAILING,
            gpus::that_fail_are_left_out,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            gpus::FALLING,
            gpus::that_fall_together_are_outlived,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "several_gpus_have_the_cpus_rounds",
            rounds_of_gpus::are_the_cpus,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            rounds_of_gpus::FAILING,
            rounds_of_gpus::go_on_without_those_that_fail,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            rounds_of_gpus::FALLING,
            rounds_of_gpus::are_safe_when_all_fall,
        )
        .run()
}

/// What was counted, without the times.
fn counts(stats: &Stats) -> Vec<[u64; 6]> {
    let row = |row: &BounceStats| {
        [
            row.rays,
            row.hits,
            row.misses,
            row.ended,
            row.survivors,
            row.shadow_rays,
        ]
    };
    stats.bounces.iter().map(row).collect()
}

/// The same film from the same paths.
fn assert_equal(got: &Stats, expected: &Stats, case: &str) {
    assert_eq!(
        got.film_hash, expected.film_hash,
        "{}, {case}: another film",
        expected.scene
    );
    assert_eq!(
        counts(got),
        counts(expected),
        "{}, {case}: other counts",
        expected.scene
    );
    assert_eq!(got.rejected_samples, 0, "{}, {case}", expected.scene);
}
