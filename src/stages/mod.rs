//! The stages of the loop, one file each: its contract, its CPU implementation, and its launch on CUDA. `wave` holds the
//! buffers that they work on.
//!
//! A stage may import everything about scenes and single paths, and `wave`. A wave in turn owns the loaded kernels and
//! scratch buffers of the stages, which is why both are in one module.

mod accumulate;
mod compact;
mod count;
mod denoise;
mod gather;
mod generate;
mod intersect;
mod megakernel;
mod resolve;
mod shade;
mod shadow;
mod sort_hits;
mod test_convergence;
pub mod wave;

use std::sync::Arc;

use compaction::{
    cuda::{Compiler, Kernel, Module, Source},
    cudarc::driver::CudaContext,
    select::{Select, Strategy},
    summed_area::SummedArea,
};
use rayon::prelude::*;

pub use accumulate::accumulate;
pub use compact::{Compactor, Keep, compact};
pub(crate) use count::{
    Arguments as CountArguments, Reached, count, count_on_cuda, source as count_source,
};
pub use denoise::{Denoiser, Preview, denoise, remember};
pub(crate) use denoise::{Earlier, Told};
pub use gather::{gather, gather_on_cuda};
pub(crate) use generate::first_ray;
pub use generate::generate;
pub use intersect::intersect;
pub use megakernel::{Megakernel, megakernel};
pub(crate) use resolve::{Held, develop};
pub use resolve::{Shown, resolve};
pub(crate) use shade::ended_by_roulette;
pub use shade::shade;
pub use shadow::shadow;
pub use sort_hits::{HitSorter, sort_hits};
pub use test_convergence::test_convergence;
pub(crate) use test_convergence::{
    Arguments as ConvergenceArguments, TALLIED, source as test_convergence_source,
    test_convergence_on_cuda,
};

use crate::{Error, device::kernel_variant::KernelVariant};
use wave::clock;

/// A stage whose time is measured.
///
/// This list is the only one: timers, statistics, tables, the overlay and the page iterate over [`Stage::OF_BOUNCE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Creation of the camera rays.
    Generate,
    /// Nearest hits of the rays.
    Intersect,
    /// Compaction of the queue, and sorting of hits.
    Compact,
    /// Scattering and light sampling.
    Shade,
    /// Occlusion of the shadow rays.
    Shadow,
    /// Addition of the samples to the film.
    Accumulate,
    /// All of these in one kernel.
    Megakernel,
}

impl Stage {
    /// The stages of a bounce in the order in which they run. `Compact` runs twice.
    pub const BOUNCE: [Stage; 5] = [
        Stage::Intersect,
        Stage::Compact,
        Stage::Shade,
        Stage::Shadow,
        Stage::Compact,
    ];

    /// The stages of a bounce without repetition. Statistics have a time for each.
    pub const OF_BOUNCE: [Stage; 4] = [
        Stage::Intersect,
        Stage::Compact,
        Stage::Shade,
        Stage::Shadow,
    ];

    /// Returns the stage's name in statistics, tables and messages.
    pub const fn label(self) -> &'static str {
        match self {
            Stage::Generate => "generate",
            Stage::Intersect => "intersect",
            Stage::Compact => "compact",
            Stage::Shade => "shade",
            Stage::Shadow => "shadow",
            Stage::Accumulate => "accumulate",
            Stage::Megakernel => "megakernel",
        }
    }
}

/// The kernels of the stages on a GPU, in the variants that a scene needs.
pub struct Kernels {
    generate: Kernel<generate::Arguments>,
    intersect: Kernel<intersect::Arguments>,
    intersect_sky: Option<Kernel<intersect::SkyArguments>>,
    shade: Kernel<shade::Arguments>,
    shadow: Option<Kernel<shadow::Arguments>>,
    accumulate: Kernel<accumulate::Arguments>,
    pub(crate) clock_stamp: Kernel<clock::Arguments>,
    gather: Kernel<gather::Arguments>,
    resolve: Kernel<resolve::Arguments>,
    resolve_uneven: Kernel<resolve::UnevenArguments>,
}

impl Kernels {
    /// Loads the kernels, compiled on this machine or shipped with the program.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        scene: KernelVariant,
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
        let shadow = shadow.map(|shadow| shadow.kernel(shadow::name_for(scene)));
        Ok(Kernels {
            generate: generate.kernel("generate")?,
            intersect: intersect.kernel(intersect::name_for(scene))?,
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

/// Loads all files and the present ones of `others` in parallel, because compiling one takes seconds.
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

/// Returns the sources of the kernel variants for a scene.
pub fn sources_for(scene: KernelVariant) -> [Source; 4] {
    [
        intersect::source_for(scene),
        shade::source_for(scene),
        shadow::source_for(scene),
        megakernel::source_for(scene),
    ]
}

/// Returns the sources of all kernels of a render: all variants of the stages, and stream compaction.
pub fn sources() -> Vec<Source> {
    let mut sources = vec![
        generate::source(),
        intersect::sky_source(),
        accumulate::source(),
        gather::source(),
        test_convergence::source(),
        count::source(),
        resolve::source(),
        denoise::source(),
        clock::source(),
    ];
    sources.extend(sort_hits::sources());
    for source in KernelVariant::each().into_iter().flat_map(sources_for) {
        // Several variants share a kernel.
        let same = |other: &Source| other.kernel_names().eq(source.kernel_names());
        if !sources.iter().any(same) {
            sources.push(source);
        }
    }
    sources.extend(Select::sources::<u32, u32>(Strategy::LookBack));
    // This file also holds the kernels of `atomic`.
    sources.extend(Select::sources::<u32, u32>(Strategy::Off));
    sources.extend(SummedArea::<u64>::sources());
    sources
}
