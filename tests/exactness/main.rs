//! Exactness: the film's bits depend only on the scene, its size, its seed and its samples.

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
mod regions;
mod adaptive_on_gpus;
mod sort_tuner;

use harness::Tests;
use raysieve::render::stats::{BounceStats, Stats};

fn main() {
    Tests::new()
        .test(
            "the_film_is_identical_for_any_threads_strategy_and_wave_size",
            cpu::the_film_is_identical_for_any_threads_strategy_and_wave_size,
        )
        .test(
            "the_megakernel_gives_the_film_of_the_stages",
            cpu::the_megakernel_gives_the_film_of_the_stages,
        )
        .test(
            "all_combinations_of_settings_give_one_film",
            matrix::all_combinations_of_settings_give_one_film,
        )
        .test(
            "the_film_is_identical_for_any_steps",
            cpu::the_film_is_identical_for_any_steps,
        )
        .test(
            "a_restart_leaves_nothing_of_the_previous_render",
            cpu::a_restart_leaves_nothing_of_the_previous_render,
        )
        .test(
            "adaptive_films_are_identical_for_any_threads_strategy_and_wave_size",
            adaptive::adaptive_films_are_identical_for_any_threads_strategy_and_wave_size,
        )
        .test(
            "adaptive_renders_resume_within_a_round",
            adaptive::adaptive_renders_resume_within_a_round,
        )
        .test(
            "adaptive_renders_continue_with_a_higher_sample_limit",
            adaptive::adaptive_renders_continue_with_a_higher_sample_limit,
        )
        .test(
            "adaptive_previews_are_identical_every_time",
            previews::adaptive_previews_are_identical_every_time,
        )
        .test(
            "a_region_has_the_film_of_the_whole_image",
            regions::a_region_has_the_film_of_the_whole_image,
        )
        .test(
            "a_region_continues_from_its_checkpoint",
            regions::a_region_continues_from_its_checkpoint,
        )
        .test(
            "different_images_have_different_hashes",
            cpu::different_images_have_different_hashes,
        )
        .test(
            "sorting_hits_does_not_change_the_film",
            cpu::sorting_hits_does_not_change_the_film,
        )
        .test(
            "sort_tuning_keeps_the_faster_setting",
            sort_tuner::sort_tuning_keeps_the_faster_setting,
        )
        .test(
            "sort_tuning_waits_until_waves_are_steady",
            sort_tuner::sort_tuning_waits_until_waves_are_steady,
        )
        .test(
            "sort_tuning_gives_up_if_wave_sizes_keep_changing",
            sort_tuner::sort_tuning_gives_up_if_wave_sizes_keep_changing,
        )
        .test(
            "sort_tuning_measures_nothing_that_cannot_pay",
            sort_tuner::sort_tuning_measures_nothing_that_cannot_pay,
        )
        .test(
            "every_pixel_sample_is_assigned_once",
            cpu::every_pixel_sample_is_assigned_once,
        )
        .test(
            "empty_and_oversized_waves_are_refused",
            cpu::empty_and_oversized_waves_are_refused,
        )
        .gpu(
            "every_scene_has_the_cpus_film_on_cuda",
            cuda::every_scene_has_the_cpus_film_on_cuda,
        )
        .gpu(
            "another_camera_has_the_cpus_film_on_cuda",
            cuda::another_camera_has_the_cpus_film_on_cuda,
        )
        .gpu(
            "every_wave_size_has_the_cpus_film_on_cuda",
            cuda::every_wave_size_has_the_cpus_film_on_cuda,
        )
        .gpu(
            "a_large_image_has_the_cpus_film_on_cuda",
            cuda::a_large_image_has_the_cpus_film_on_cuda,
        )
        .gpu(
            "adaptive_films_match_the_cpus_on_cuda",
            adaptive::adaptive_films_match_the_cpus_on_cuda,
        )
        .gpu(
            "a_region_has_the_cpus_film_on_cuda",
            regions::a_region_has_the_cpus_film_on_cuda,
        )
        .gpu(
            "a_region_continues_from_its_checkpoint_on_cuda",
            regions::a_region_continues_from_its_checkpoint_on_cuda,
        )
        .gpu(
            "previews_match_the_cpus_on_cuda",
            previews::previews_match_the_cpus_on_cuda,
        )
        .gpu(
            "adaptive_previews_match_the_cpus_on_cuda",
            previews::adaptive_previews_match_the_cpus_on_cuda,
        )
        .gpu(
            "all_combinations_of_settings_give_one_film_on_cuda",
            matrix::all_combinations_of_settings_give_one_film_on_cuda,
        )
        .gpu(
            "the_film_is_identical_for_any_steps_on_cuda",
            cuda::the_film_is_identical_for_any_steps_on_cuda,
        )
        .gpu(
            cuda::WITHOUT_NVRTC,
            cuda::shipped_kernels_render_without_nvrtc,
        )
        .gpu(
            "sorting_hits_does_not_change_the_film_on_cuda",
            cuda::sorting_hits_does_not_change_the_film_on_cuda,
        )
        .gpu(
            "a_render_with_sort_tuning_has_the_cpus_film",
            sort_tuner::a_render_with_sort_tuning_has_the_cpus_film,
        )
        .gpu(
            "waves_of_one_size_replay_a_graph",
            cuda::waves_of_one_size_replay_a_graph,
        )
        .gpu(
            "growing_waves_give_the_cpus_film",
            cuda::growing_waves_give_the_cpus_film,
        )
        .gpu(
            "stage_times_are_within_the_render_time",
            cuda::stage_times_are_within_the_render_time,
        )
        .gpu(
            "recording_a_synchronisation_into_a_graph_fails",
            cuda::recording_a_synchronisation_into_a_graph_fails,
        )
        .needs(
            "no GPU",
            gpus::gpu_count(),
            gpus::ONLY_FAILS,
            gpus::a_part_remains_when_the_only_gpu_fails,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "several_gpus_have_the_cpus_film",
            gpus::several_gpus_have_the_cpus_film,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "previews_of_several_gpus_match_the_cpus",
            previews::previews_of_several_gpus_match_the_cpus,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "parts_of_several_gpus_are_exact_at_any_time",
            gpus::parts_of_several_gpus_are_exact_at_any_time,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "several_gpus_are_named_in_messages",
            gpus::several_gpus_are_named_in_messages,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            gpus::UNEVEN,
            gpus::faster_gpus_get_more_work,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            gpus::FAILING,
            gpus::gpus_that_fail_are_left_out,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            gpus::ALL_FAIL,
            gpus::parts_remain_when_all_gpus_fail,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "several_gpus_give_the_cpus_adaptive_film",
            adaptive_on_gpus::several_gpus_give_the_cpus_adaptive_film,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "a_region_has_the_cpus_film_on_several_gpus",
            regions::a_region_has_the_cpus_film_on_several_gpus,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            "a_region_continues_from_its_checkpoint_on_several_gpus",
            regions::a_region_continues_from_its_checkpoint_on_several_gpus,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            adaptive_on_gpus::FAILING,
            adaptive_on_gpus::adaptive_renders_leave_out_gpus_that_fail,
        )
        .needs(
            "no two GPUs",
            gpus::several(),
            adaptive_on_gpus::ALL_FAIL,
            adaptive_on_gpus::adaptive_renders_can_continue_when_all_gpus_fail,
        )
        .run()
}

/// Returns the counts of the statistics, without the times.
fn counts(stats: &Stats) -> Vec<[u64; 7]> {
    let row = |row: &BounceStats| {
        [
            row.rays,
            row.hits,
            row.scattered,
            row.misses,
            row.ended,
            row.survivors,
            row.shadow_rays,
        ]
    };
    stats.bounces.iter().map(row).collect()
}

/// Asserts equal film hashes and equal counts per bounce.
fn assert_equal(got: &Stats, expected: &Stats, case: &str) {
    assert_eq!(
        got.film_hash, expected.film_hash,
        "{}, {case}: the film differs",
        expected.scene
    );
    assert_eq!(
        counts(got),
        counts(expected),
        "{}, {case}: the counts differ",
        expected.scene
    );
    assert_eq!(got.rejected_samples, 0, "{}, {case}", expected.scene);
}
