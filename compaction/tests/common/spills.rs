//! Checks of the compiler's report on kernels.

use compaction::cuda::{Nvrtc, Source, Target};

use crate::common::Share;

/// Spilled bytes per thread that are acceptable, because they cost less than the resident blocks that more registers
/// would cost.
const FEW: u32 = 16;
/// Acceptable spilled bytes on GPUs newer than those on which the kernels were timed.
const FEW_ON_LATER: u32 = 192;
const OLDEST_LATER: u32 = 100;

/// Asserts that the kernels compile without warnings and spill at most 16 bytes, for each of the compute capabilities
/// that this NVRTC supports. This process compiles its share of them.
#[allow(dead_code, reason = "kernels of some test programs spill more")]
pub(crate) fn compile_with_few_spills(
    capabilities: &[u32],
    nvrtc: &Nvrtc,
    share: Share,
    sources: &[Source],
) {
    compile_with_spills_up_to(FEW, capabilities, nvrtc, share, sources);
}

/// Asserts that the kernels compile without warnings and spill at most `most` bytes, for each of the supported
/// capabilities.
pub(crate) fn compile_with_spills_up_to(
    most: u32,
    capabilities: &[u32],
    nvrtc: &Nvrtc,
    share: Share,
    sources: &[Source],
) {
    for &capability in capabilities {
        let most = match capability {
            OLDEST_LATER.. => FEW_ON_LATER,
            _ => most,
        };
        let Some(target) = nvrtc.target(capability) else {
            continue;
        };
        for source in share.of(sources) {
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
            assert!(!usage.is_empty(), "no report: {}", compiled.log);
            for kernel in usage {
                let spilled = kernel.spill_store_bytes.max(kernel.spill_load_bytes);
                assert!(spilled <= most, "{kernel:?} for {target}");
            }
        }
    }
}
