//! The stages of the loop. Each file contains one stage: its contract, its CPU implementation, and its launch on CUDA.
//! The submodule [`wave`] contains the buffers that the stages process, and `map_lookups` serves stages that process
//! several paths at once on the CPU.
//!
//! A stage may import `wave`, and everything about scenes and single paths. A wave in turn owns the loaded kernels and
//! the scratch buffers of the stages, so both are in one module.

mod accumulate;
mod compact;
mod count;
mod denoise;
mod gather;
mod generate;
mod intersect;
mod map_lookups;
mod megakernel;
mod resolve;
mod scatter;
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
    Arguments as CountArguments, RoundProgress, count, count_on_cuda, source as count_source,
};
pub use denoise::{Denoiser, Preview, denoise, snapshot_film};
pub(crate) use denoise::{FilmSnapshots, NoiseSource};
pub use gather::{gather, gather_on_cuda};
pub(crate) use generate::first_ray;
pub use generate::generate;
pub use intersect::intersect;
pub use megakernel::{Megakernel, megakernel};
pub(crate) use megakernel::{megakernel_prepared, trace_path};
pub(crate) use resolve::{FilmSamples, develop};
pub use resolve::{ImageReadback, resolve};
pub(crate) use scatter::{Passage, passage};
pub use scatter::{ScatterQueues, Scatterer, scatter};
pub(crate) use shade::path_end;
pub use shade::shade;
pub use shadow::shadow;
pub use sort_hits::{HitSorter, sort_hits};
pub use test_convergence::test_convergence;
pub(crate) use test_convergence::{
    Arguments as ConvergenceArguments, EstimateArguments, TALLY_LEN,
    source as test_convergence_source, test_convergence_on_cuda,
};

use crate::{Error, device::kernel_variant::KernelVariant};
use wave::clock;

/// A stage whose time is measured.
///
/// Statistics, tables and the overlay iterate over [`Stage::OF_BOUNCE`], and timers over [`Stage::BOUNCE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Creation of the camera rays.
    Generate,
    /// Nearest hits of the rays, and scattering in media. The stages `intersect` and `scatter` share one time.
    Intersect,
    /// Compaction of the queue, and sorting of hits. The stages `compact` and `sort_hits` share one time.
    Compact,
    /// Scattering and light sampling.
    Shade,
    /// Occlusion of the shadow rays.
    Shadow,
    /// Addition of the samples to the film.
    Accumulate,
    /// Whole paths in one kernel, from the camera to the film, without a queue and its compaction; see
    /// [`megakernel()`].
    Megakernel,
}

impl Stage {
    /// The timed stages of a bounce in the order in which they run. `Compact` runs twice: for hits, and for survivors.
    pub const BOUNCE: [Stage; 5] = [
        Stage::Intersect,
        Stage::Compact,
        Stage::Shade,
        Stage::Shadow,
        Stage::Compact,
    ];

    /// The timed stages of a bounce, each once. Statistics have a time for each of them.
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
    /// Adds the light of a sky that is not constant; `None` if the sky is constant.
    intersect_sky: Option<Kernel<intersect::SkyArguments>>,
    shade: Kernel<shade::Arguments>,
    /// Number of threads per block of `shade`.
    shade_threads: u32,
    /// `None` in scenes without lights.
    shadow: Option<Kernel<shadow::Arguments>>,
    accumulate: Kernel<accumulate::Arguments>,
    /// Stores the GPU's time, see [`wave::clock`].
    pub(crate) clock_stamp: Kernel<clock::Arguments>,
    gather: Kernel<gather::Arguments>,
    resolve: Kernel<resolve::Arguments>,
    /// Resolves films that count the samples of each pixel.
    resolve_uneven: Kernel<resolve::UnevenArguments>,
}

impl Kernels {
    /// Loads the kernels for the features of a scene, compiled on this machine or shipped with the program.
    ///
    /// # Errors
    /// If a kernel cannot be loaded, or is neither shipped nor cached for this GPU and cannot be compiled.
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
        ) = load_in_parallel(
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
            shade_threads: shade::block_threads(scene),
            shadow: shadow.transpose()?,
            accumulate: accumulate.kernel("accumulate")?,
            gather: gather.kernel("gather")?,
            resolve: resolve.kernel("resolve")?,
            resolve_uneven: resolve.kernel("resolve_uneven")?,
            clock_stamp: clock.kernel("clock_stamp")?,
        })
    }
}

/// Loads all `files`, and those of `others` that are not `None`, in parallel, because compiling a file takes seconds.
fn load_in_parallel<const COUNT: usize, const OTHERS: usize>(
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

/// Returns the sources of the kernels that are specialised for the features of a scene, in the variants for `scene`.
pub fn sources_for(scene: KernelVariant) -> [Source; 4] {
    [
        intersect::source_for(scene),
        shade::source_for(scene),
        shadow::source_for(scene),
        megakernel::source_for(scene),
    ]
}

/// Returns the sources of all kernels that a render can use, each once: the stages in all variants, and the primitives
/// of `compaction` with the strategies `LookBack` and `Off`.
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
        scatter::source_for(KernelVariant::PLAIN),
        scatter::source_for(KernelVariant {
            boundaries: true,
            ..KernelVariant::PLAIN
        }),
    ];
    sources.extend(sort_hits::sources());
    for source in KernelVariant::each().into_iter().flat_map(sources_for) {
        // Several scene variants use the same kernel.
        let same = |other: &Source| other.kernel_names().eq(source.kernel_names());
        if !sources.iter().any(same) {
            sources.push(source);
        }
    }
    sources.extend(Select::sources::<u32, u32>(Strategy::LookBack));
    // The file of the strategy `off` also contains the kernels of `atomic`.
    sources.extend(Select::sources::<u32, u32>(Strategy::Off));
    sources.extend(SummedArea::<u64>::sources());
    sources
}
