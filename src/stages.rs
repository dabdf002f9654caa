//! The stages of the loop, a room each: its contract, its body on the CPU, its launch on CUDA.

mod accumulate;
mod count;
mod denoise;
mod gather;
mod generate;
mod intersect;
mod judge;
mod megakernel;
mod partition;
mod resolve;
mod shade;
mod shadow;
mod sieve;

use std::sync::Arc;

use compaction::{
    cuda::{Compiler, Kernel, Module, Source},
    cudarc::driver::CudaContext,
    select::{Select, Strategy},
    summed_area::SummedArea,
};
use rayon::prelude::*;

pub use accumulate::accumulate;
pub(crate) use count::{
    Arguments as CountArguments, Reached, count, count_on_cuda, source as count_source,
};
pub use denoise::{Denoiser, Preview, denoise, remember};
pub(crate) use denoise::{Earlier, Told};
pub use gather::{gather, gather_on_cuda};
pub(crate) use generate::first_ray;
pub use generate::generate;
pub use intersect::intersect;
pub(crate) use judge::{
    Arguments as JudgeArguments, TALLIED, judge_on_cuda, source as judge_source,
};
pub use judge::{Verdict, judge};
pub use megakernel::{Megakernel, SceneKind, megakernel};
pub use partition::{Partitioner, partition};
pub(crate) use resolve::{Held, develop};
pub use resolve::{Shown, resolve};
pub(crate) use shade::ended_by_roulette;
pub use shade::shade;
pub use shadow::shadow;
pub use sieve::{Keep, sieve};

use crate::{
    Error,
    material::{ALL_KINDS, PLAIN_KINDS, RARE_KINDS},
    wave::clock,
};

/// The stages' kernels on a GPU.
pub struct Kernels {
    generate: Kernel<generate::Arguments>,
    intersect: Kernel<intersect::Arguments>,
    intersect_placed: Kernel<intersect::Arguments>,
    intersect_sky: Kernel<intersect::SkyArguments>,
    intersect_veiled: Option<Kernel<intersect::VeiledArguments>>,
    shade: Kernel<shade::Arguments>,
    shade_placed: Kernel<shade::Arguments>,
    shadow: Kernel<shadow::Arguments>,
    shadow_placed: Kernel<shadow::Arguments>,
    shadow_veiled: Option<Kernel<shadow::VeiledArguments>>,
    accumulate: Kernel<accumulate::Arguments>,
    pub(crate) clock_stamp: Kernel<clock::Arguments>,
    gather: Kernel<gather::Arguments>,
    resolve: Kernel<resolve::Arguments>,
    resolve_uneven: Kernel<resolve::UnevenArguments>,
}

impl Kernels {
    /// Loads them, compiled on this machine or shipped with the program.
    ///
    /// `kinds` are those of the scene's materials; in a `veiled` one surfaces hide only a part of what is behind them.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        kinds: u32,
        veiled: bool,
    ) -> Result<Kernels, Error> {
        let (files, veiled_files) = rayon::join(
            || {
                let files = [
                    generate::source(),
                    intersect::source(),
                    shade::source_for(kinds),
                    shadow::source(),
                    accumulate::source(),
                    gather::source(),
                    resolve::source(),
                    clock::source(),
                ];
                side_by_side(compiler, context, files)
            },
            || {
                let files = || [intersect::veiled_source(), shadow::veiled_source()];
                veiled
                    .then(|| side_by_side(compiler, context, files()))
                    .transpose()
            },
        );
        let [
            generate,
            intersect,
            shade,
            shadow,
            accumulate,
            gather,
            resolve,
            clock,
        ] = files?;
        let (intersect_veiled, shadow_veiled) = match veiled_files? {
            Some([intersect, shadow]) => (
                Some(intersect.kernel("intersect_veiled")?),
                Some(shadow.kernel("shadow_veiled")?),
            ),
            None => (None, None),
        };
        Ok(Kernels {
            generate: generate.kernel("generate")?,
            intersect: intersect.kernel("intersect")?,
            intersect_placed: intersect.kernel("intersect_placed")?,
            intersect_sky: intersect.kernel("intersect_sky")?,
            intersect_veiled,
            shade: shade.kernel("shade")?,
            shade_placed: shade.kernel("shade_placed")?,
            shadow: shadow.kernel("shadow")?,
            shadow_placed: shadow.kernel("shadow_placed")?,
            shadow_veiled,
            accumulate: accumulate.kernel("accumulate")?,
            gather: gather.kernel("gather")?,
            resolve: resolve.kernel("resolve")?,
            resolve_uneven: resolve.kernel("resolve_uneven")?,
            clock_stamp: clock.kernel("clock_stamp")?,
        })
    }
}

/// Loads files, all at once: where they have to be compiled, that takes seconds.
fn side_by_side<const COUNT: usize>(
    compiler: &Compiler,
    context: &Arc<CudaContext>,
    files: [Source; COUNT],
) -> Result<[Module; COUNT], Error> {
    let modules = files
        .par_iter()
        .map(|file| compiler.load(context, file))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(modules
        .try_into()
        .unwrap_or_else(|_| unreachable!("a module for each file")))
}

/// All kernel files of a render: the stages', and the sieve's.
pub fn sources() -> Vec<Source> {
    let mut sources = vec![
        generate::source(),
        intersect::source(),
        intersect::veiled_source(),
        shade::source(ALL_KINDS),
        shade::source(PLAIN_KINDS),
        shade::source(ALL_KINDS | RARE_KINDS),
        shadow::source(),
        shadow::veiled_source(),
        accumulate::source(),
        gather::source(),
        judge::source(),
        count::source(),
        resolve::source(),
        denoise::source(),
        clock::source(),
        megakernel::source(ALL_KINDS),
        megakernel::source(PLAIN_KINDS),
        megakernel::veiled_source(),
        partition::source(),
    ];
    sources.extend(Select::sources::<u32, u32>(Strategy::default()));
    sources.extend(SummedArea::<u64>::sources());
    sources
}
