//! What compilers say of kernels.

use compaction::cuda::{Nvrtc, Source, Target};

/// No kernel needs memory for its registers, on any architecture that this NVRTC knows among those supported.
#[allow(dead_code, reason = "not every test program has kernels for all GPUs")]
pub(crate) fn compile_without_spills(nvrtc: &Nvrtc, sources: &[Source]) {
    compile_without_spills_on(&[75, 80, 86, 90, 120], nvrtc, sources);
}

/// As above, on GPUs of these compute capabilities.
pub(crate) fn compile_without_spills_on(capabilities: &[u32], nvrtc: &Nvrtc, sources: &[Source]) {
    for &capability in capabilities {
        let Some(target) = nvrtc.target(capability) else {
            continue;
        };
        for source in sources {
            let compiled = nvrtc
                .compile(source, target)
                .unwrap_or_else(|error| panic!("{error}"));
            if let Target::Ptx(_) = target {
                continue;
            }
            for kernel in compiled.usage() {
                assert_eq!(kernel.spill_store_bytes, 0, "{kernel:?} for {target}");
                assert_eq!(kernel.spill_load_bytes, 0, "{kernel:?} for {target}");
            }
        }
    }
}
