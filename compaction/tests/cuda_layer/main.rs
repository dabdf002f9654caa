//! Tests of `compaction::cuda`: shared types, compilation and its layers, launches, copies.

mod layout;
#[path = "../common/mod.rs"]
mod common;
mod peer_copy;
#[path = "../common/devices.rs"]
mod devices;
mod launch;
mod graphs;
mod layers;
mod machine;
mod own_kernels;
mod parcels;
mod streams;

use common::{Tests, add_tests};
use compaction::cuda::{self, Nvrtc};

fn main() {
    match std::env::var(machine::QUESTION).as_deref() {
        Ok("nvrtc") => println!("{:?}", Nvrtc::find().map(|nvrtc| nvrtc.path().to_owned())),
        Ok("nvrtc for 7.0") => {
            println!(
                "{:?}",
                Nvrtc::find_for(70).map(|nvrtc| nvrtc.path().to_owned())
            );
        }
        Ok(_) => println!("{:?}", cuda::devices().map_err(|error| error.to_string())),
        Err(_) => run_tests(),
    }
}

fn run_tests() {
    let tests = Tests::new()
        .needs(
            "no C++ compiler",
            layout::host_compiler(),
            "the_prelude_compiles_for_the_host",
            layout::the_prelude_compiles_for_the_host,
        )
        .needs(
            "no two GPUs",
            devices::two_gpus(),
            "a_peer_copy_to_another_gpu_arrives",
            peer_copy::between,
        );
    add_tests!(tests;
        test "" layout {
            a_missing_header_is_named_with_the_including_line,
            a_header_is_expanded_once_and_line_numbers_continue,
            headers_are_found_beside_above_and_in_this_crate, headers_that_include_each_other_end,
        }
        test "" machine {
            a_missing_driver_is_reported, old_drivers_and_missing_gpus_are_reported,
            a_broken_or_forbidden_nvrtc_is_an_error_that_names_it,
            the_next_nvrtc_is_used_if_the_first_does_not_know_the_gpu, old_gpus_are_refused_in_one_line,
        }
        test "" layers { a_damaged_archive_is_refused, without_nvrtc_the_message_says_how_to_install_it }
        nvrtc "" machine { nvrtc_is_found_in_toolkits_and_python_environments }
        nvrtc "" layout {
            equal_layouts_compile, a_drifted_field_does_not_compile_and_is_named,
            a_drifted_signature_does_not_compile_and_is_named, compile_errors_show_file_and_line,
        }
        nvrtc "" layers {
            machine_code_reports_registers_and_spills, kernels_round_like_rust,
            the_target_is_the_gpu_or_the_newest_below_it, a_compiled_kernel_is_cached,
            the_cache_drops_what_was_not_used_for_longest,
            a_damaged_cache_entry_is_compiled_again, an_unwritable_cache_folder_is_no_error,
            an_archive_serves_machines_without_nvrtc, an_archive_is_stale_as_soon_as_a_source_changes,
            an_archive_has_the_same_bytes_every_time,
        }
        gpu "" launch {
            every_field_of_a_struct_survives_a_round_trip, a_launch_of_zero_blocks_does_nothing,
            a_kernel_loads_only_with_its_declared_types, shipped_kernels_run_on_this_gpu,
            a_timeline_has_a_time_between_marks, a_readback_returns_the_last_post,
            a_captured_launch_repeats, a_panic_ends_the_recording,
            out_of_memory_errors_report_free_memory, empty_buffers_are_valid,
            reinterpret_needs_whole_aligned_items, a_missing_device_is_named,
            registers_and_occupancy_are_those_of_the_kernel, a_kernel_can_have_more_shared_memory_than_48_kb,
        }
        nvrtc "" own_kernels { collective_functions_compile, texts_that_cuda_lacks_do_not_compile }
        gpu "" own_kernels {
            collective_functions_combine_numbers, collective_functions_keep_the_order,
            a_tile_chain_gives_the_same_bits_in_every_run, blocks_of_another_size_are_refused,
            ranked_scatter_writes_in_order_and_into_a_short_output,
        }
        gpu "" streams {
            calls_are_ordered_after_those_of_the_home_of_a_buffer, operations_accept_buffers_of_other_streams,
            copies_of_cudarc_are_ordered_with_calls, a_copy_is_ordered_recorded_and_as_long_as_its_source,
            a_captured_call_refuses_buffers_of_other_streams,
        }
        gpu "" graphs {
            a_graph_needs_all_its_buffers_at_each_launch, a_graph_keeps_its_kernels_and_marks,
            work_of_others_cannot_be_recorded, a_graph_is_given_the_workspace_of_any_operation,
            a_graph_names_the_buffers_of_own_kernels,
        }
        gpu "" peer_copy { a_peer_copy_within_a_gpu_arrives }
    )
    .run()
}
