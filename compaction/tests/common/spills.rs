//! Checks of the compiler's report on kernels.

use std::env;

use compaction::cuda::{Nvrtc, Source, Target};

use crate::common::Share;

/// Maximum number of spilled bytes per thread. Avoiding so few would take registers and thus resident blocks.
const MAX_BYTES: u32 = 16;
/// Maximum number of spilled bytes per thread on GPUs newer than those on which the kernels were timed.
const MAX_BYTES_UNTIMED: u32 = 192;
/// Environment variable with which each kernel file is compiled for every capability, and not for one.
const EVERY_TARGET: &str = "EVERY_TARGET";
/// Compute capability (times ten) from which on the kernels were not timed.
const FIRST_UNTIMED: u32 = 100;

/// Asserts that kernels compile without warnings and spill at most [`MAX_BYTES`], each file for one of the capabilities
/// in turn, or for all of them with [`EVERY_TARGET`]. This process compiles its share of them.
#[allow(dead_code, reason = "kernels of some test programs spill more")]
pub(crate) fn compile_with_few_spills(
    capabilities: &[u32],
    nvrtc: &Nvrtc,
    share: Share,
    sources: &[Source],
) {
    compile_with_spills_up_to(MAX_BYTES, capabilities, nvrtc, share, sources);
}

/// Asserts the same with at most `max_bytes`.
pub(crate) fn compile_with_spills_up_to(
    max_bytes: u32,
    capabilities: &[u32],
    nvrtc: &Nvrtc,
    share: Share,
    sources: &[Source],
) {
    let every = env::var_os(EVERY_TARGET).is_some();
    for (number, source) in share.of(sources.iter().enumerate()) {
        let turn = number % capabilities.len();
        let chosen = if every {
            capabilities
        } else {
            &capabilities[turn..=turn]
        };
        for &capability in chosen {
            let Some(target) = nvrtc.target(capability) else {
                continue;
            };
            let compiled = nvrtc
                .compile(source, target)
                .unwrap_or_else(|error| panic!("{error}"));
            assert!(
                !compiled.log.contains("warning"),
                "{} for {target}: {}",
                source.path(),
                compiled.log
            );
            if let Target::Ptx(_) = target {
                continue;
            }
            let usage = compiled.usage();
            assert!(!usage.is_empty(), "no compiler report: {}", compiled.log);
            let max_bytes = match capability {
                FIRST_UNTIMED.. => MAX_BYTES_UNTIMED,
                _ => max_bytes,
            };
            for kernel in usage {
                let spilled = kernel.spill_store_bytes.max(kernel.spill_load_bytes);
                assert!(spilled <= max_bytes, "{kernel:?} for {target}");
            }
        }
    }
}
