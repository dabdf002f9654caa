//! The way from a kernel's source to its launch: the border to Rust, compiling, the four layers, launching.

mod border;
#[path = "../common/mod.rs"]
mod common;
mod crossing;
#[path = "../common/devices.rs"]
mod devices;
mod launch;
mod layers;
mod machine;
mod parcels;

use common::Tests;
use compaction::cuda::{self, Nvrtc};

fn main() {
    match std::env::var(machine::ASK).as_deref() {
        Ok("nvrtc") => println!("{:?}", Nvrtc::find().map(|nvrtc| nvrtc.path().to_owned())),
        Ok(_) => println!("{:?}", cuda::devices().map_err(|error| error.to_string())),
        Err(_) => run_tests(),
    }
}

fn run_tests() {
    Tests::new()
        .test(
            "a_missing_header_is_named_with_the_line_that_asks_for_it",
            border::missing_header,
        )
        .test(
            "a_header_is_taken_once_and_lines_count_on_after_it",
            border::header_once,
        )
        .test(
            "headers_are_found_beside_above_and_in_this_crate",
            border::header_places,
        )
        .test("headers_that_include_each_other_end", border::header_circle)
        .test("a_machine_without_a_driver_says_so", machine::no_driver)
        .test(
            "an_old_driver_and_one_without_a_gpu_say_so",
            machine::poor_drivers,
        )
        .test(
            "a_broken_or_forbidden_nvrtc_is_an_error_that_names_it",
            machine::broken_nvrtc,
        )
        .test("a_damaged_archive_is_refused", layers::damaged_archive)
        .test(
            "without_nvrtc_the_message_says_how_to_install_it",
            layers::no_compiler,
        )
        .needs(
            "no C++ compiler",
            border::host_compiler(),
            "the_prelude_is_host_code_too",
            border::host_prelude,
        )
        .nvrtc(
            "nvrtc_is_found_in_toolkits_and_python_environments",
            machine::nvrtc_places,
        )
        .nvrtc("equal_layouts_compile", border::equal_layouts)
        .nvrtc(
            "a_drifted_field_does_not_compile_and_is_named",
            border::drifted_fields,
        )
        .nvrtc(
            "a_drifted_signature_does_not_compile_and_is_named",
            border::drifted_signatures,
        )
        .nvrtc("an_error_stands_at_its_file_and_line", border::error_lines)
        .nvrtc("machine_code_reports_registers_and_spills", layers::usage)
        .nvrtc("kernels_round_like_rust", layers::no_contraction)
        .nvrtc(
            "the_target_is_the_gpu_or_the_newest_below_it",
            layers::targets,
        )
        .nvrtc("a_compiled_kernel_is_cached", layers::cache_round_trip)
        .nvrtc(
            "a_damaged_cache_entry_is_compiled_again",
            layers::damaged_entry,
        )
        .nvrtc(
            "a_folder_that_cannot_be_written_costs_nothing_but_time",
            layers::unwritable_cache,
        )
        .nvrtc(
            "an_archive_serves_machines_without_nvrtc",
            layers::archive_serves,
        )
        .nvrtc(
            "an_archive_is_stale_as_soon_as_a_source_changes",
            layers::archive_stale,
        )
        .nvrtc(
            "an_archive_has_the_same_bytes_every_time",
            layers::archive_reproducible,
        )
        .gpu(
            "every_field_of_a_struct_arrives_and_returns",
            launch::round_trip,
        )
        .gpu("a_launch_over_nothing_is_nothing", launch::launch_nothing)
        .gpu(
            "a_kernel_is_given_only_as_declared",
            launch::undeclared_kernel,
        )
        .gpu(
            "a_buffer_of_another_stream_is_refused",
            launch::foreign_stream,
        )
        .gpu("what_ships_runs_here", launch::shipped_runs)
        .gpu("a_timeline_has_a_time_between_marks", launch::timeline)
        .gpu("a_mailbox_gives_what_was_posted_last", launch::mailbox)
        .gpu("what_crosses_within_a_gpu_arrives", crossing::within)
        .needs(
            "no two GPUs",
            devices::two_gpus(),
            "what_crosses_to_another_gpu_arrives",
            crossing::between,
        )
        .gpu("a_captured_launch_repeats", launch::capture)
        .gpu("a_recording_ends_by_a_panic_too", launch::panicking_record)
        .gpu(
            "too_large_a_buffer_says_how_much_is_free",
            launch::out_of_memory,
        )
        .gpu("empty_buffers_are_buffers", launch::empty_buffers)
        .gpu(
            "bytes_are_read_as_another_type_only_whole_and_aligned",
            launch::reinterpreted,
        )
        .gpu(
            "a_device_that_is_not_there_is_named",
            launch::no_such_device,
        )
        .gpu(
            "registers_and_occupancy_are_those_of_the_kernel",
            launch::occupancy,
        )
        .gpu(
            "a_kernel_can_have_more_shared_memory_than_48_kb",
            launch::shared_memory,
        )
        .run()
}
