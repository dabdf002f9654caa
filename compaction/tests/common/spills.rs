//! What compilers say of kernels.

use compaction::cuda::{Nvrtc, Source, Target};

/// Bytes that a thread may keep in memory for want of registers: so few cost less than the blocks that more registers would
/// keep off a multiprocessor.
const FEW: u32 = 16;
/// As above, on GPUs that came after all that a kernel was timed on.
const FEW_ON_LATER: u32 = 192;
const OLDEST_LATER: u32 = 100;

/// Kernels compile without warnings and need little memory for their registers, on any of these architectures that this NVRTC
/// knows.
#[allow(dead_code, reason = "kernels of some test programs spill more")]
pub(crate) fn compile_with_few_spills(capabilities: &[u32], nvrtc: &Nvrtc, sources: &[Source]) {
    compile_with_spills_up_to(FEW, capabilities, nvrtc, sources);
}

/// As above, up to so many bytes.
pub(crate) fn compile_with_spills_up_to(
    most: u32,
    capabilities: &[u32],
    nvrtc: &Nvrtc,
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
        for source in sources {
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
