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
mod scene_kind;
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
pub use megakernel::{Megakernel, megakernel};
pub use partition::{Partitioner, partition};
pub(crate) use resolve::{Held, develop};
pub use resolve::{Shown, resolve};
use scene_kind::MadeFor;
pub use scene_kind::SceneKind;
pub(crate) use shade::ended_by_roulette;
pub use shade::shade;
pub use shadow::shadow;
pub use sieve::{Keep, sieve};

use crate::{Error, wave::clock};

/// The stages' kernels on a GPU, those that a scene needs.
pub struct Kernels {
    generate: Kernel<generate::Arguments>,
    intersect: MadeFor<intersect::Arguments, intersect::VeiledArguments>,
    intersect_sky: Option<Kernel<intersect::SkyArguments>>,
    shade: Kernel<shade::Arguments>,
    shadow: Option<MadeFor<shadow::Arguments, shadow::VeiledArguments>>,
    accumulate: Kernel<accumulate::Arguments>,
    pub(crate) clock_stamp: Kernel<clock::Arguments>,
    gather: Kernel<gather::Arguments>,
    resolve: Kernel<resolve::Arguments>,
    resolve_uneven: Kernel<resolve::UnevenArguments>,
}

impl Kernels {
    /// Loads them, compiled on this machine or shipped with the program.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        scene: SceneKind,
    ) -> Result<Kernels, Error> {
        let (
            [
                generate,
                intersect,
                shade,
                accumulate,
                gather,
                resolve,
                clock,
            ],
            [sky, shadow],
        ) = side_by_side(
            compiler,
            context,
            [
                generate::source(),
                intersect::source_for(scene),
                shade::source_for(scene),
                accumulate::source(),
                gather::source(),
                resolve::source(),
                clock::source(),
            ],
            [
                scene.far_lights.then(intersect::sky_source),
                scene.lights.then(|| shadow::source_for(scene)),
            ],
        )?;
        let sky = sky.map(|sky| sky.kernel("intersect_sky"));
        let shadow = shadow.map(|shadow| MadeFor::of(scene, &shadow, shadow::name_for(scene)));
        Ok(Kernels {
            generate: generate.kernel("generate")?,
            intersect: MadeFor::of(scene, &intersect, intersect::name_for(scene))?,
            intersect_sky: sky.transpose()?,
            shade: shade.kernel(shade::name_for(scene))?,
            shadow: shadow.transpose()?,
            accumulate: accumulate.kernel("accumulate")?,
            gather: gather.kernel("gather")?,
            resolve: resolve.kernel("resolve")?,
            resolve_uneven: resolve.kernel("resolve_uneven")?,
            clock_stamp: clock.kernel("clock_stamp")?,
        })
    }
}

/// Loads files, and those that are wanted of others, all at once: where they have to be compiled, that takes seconds.
fn side_by_side<const COUNT: usize, const OTHERS: usize>(
    compiler: &Compiler,
    context: &Arc<CudaContext>,
    files: [Source; COUNT],
    others: [Option<Source>; OTHERS],
) -> Result<([Module; COUNT], [Option<Module>; OTHERS]), Error> {
    let load = |file: &Source| compiler.load(context, file);
    let (files, others) = rayon::join(
        || files.par_iter().map(load).collect::<Result<Vec<_>, _>>(),
        || {
            let load = |file: &Option<Source>| file.as_ref().map(load).transpose();
            others.par_iter().map(load).collect::<Result<Vec<_>, _>>()
        },
    );
    let one_each = "a module for each file";
    Ok((
        files?
            .try_into()
            .unwrap_or_else(|_| unreachable!("{one_each}")),
        others?
            .try_into()
            .unwrap_or_else(|_| unreachable!("{one_each}")),
    ))
}

/// The files of the kernels that are made for a kind of scene.
pub fn sources_for(scene: SceneKind) -> [Source; 4] {
    [
        intersect::source_for(scene),
        shade::source_for(scene),
        shadow::source_for(scene),
        megakernel::source_for(scene),
    ]
}

/// All kernel files of a render: the stages', for each kind of scene, and the sieve's.
pub fn sources() -> Vec<Source> {
    let mut sources = vec![
        generate::source(),
        intersect::sky_source(),
        accumulate::source(),
        gather::source(),
        judge::source(),
        count::source(),
        resolve::source(),
        denoise::source(),
        clock::source(),
    ];
    sources.extend(partition::sources());
    for source in SceneKind::each().into_iter().flat_map(sources_for) {
        // Kinds of scenes share kernels.
        let same = |other: &Source| other.kernel_names().eq(source.kernel_names());
        if !sources.iter().any(same) {
            sources.push(source);
        }
    }
    sources.extend(Select::sources::<u32, u32>(Strategy::LookBack));
    // With that of `atomic`, which is in the same file.
    sources.extend(Select::sources::<u32, u32>(Strategy::Off));
    sources.extend(SummedArea::<u64>::sources());
    sources
}
