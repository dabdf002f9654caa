//! The buffers and kernels with which a GPU tests the pixels of a round for convergence.

use std::sync::Arc;

use compaction::{
    cuda::{Compiler, Kernel, clear, overwrite, zeroed},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream},
    select::{Select, Strategy, Workspace},
};

use crate::{
    Error,
    adaptive::{pixel_noise::PixelNoise, pixel_stats::PixelStats},
    stages::{ConvergenceArguments, EstimateArguments, TALLY_LEN, test_convergence_source},
};

/// The buffers and kernels of the stage `test_convergence` on a GPU. The film, not this struct, holds the sample counts
/// of the pixels, and the paths hold the list of pixels.
pub struct CudaAdaptiveState {
    /// The kernel that estimates the noise of the pixels before the test.
    pub(crate) estimate_noise: Kernel<EstimateArguments>,
    /// The kernel that tests the pixels.
    pub(crate) test_convergence: Kernel<ConvergenceArguments>,
    /// The film's fixed-point sums at each pixel's last convergence test, three channels per pixel of the image; 0
    /// before.
    pub(crate) sums_at_test: CudaSlice<u64>,
    /// The noise statistics of each pixel of the image.
    pub(crate) pixel_noise: CudaSlice<PixelNoise>,
    /// The flag of each list entry: 1 if its pixel has not converged, otherwise 0.
    pub(crate) flags: CudaSlice<u8>,
    /// Number of pixels on the list that the next test reads.
    pub(crate) listed: u32,
    /// The buffer into which a test writes the list of the next round: the pixels that have not converged.
    pub(crate) unconverged: CudaSlice<u32>,
    /// The number of pixels that the test has written to `unconverged`, as one entry.
    pub(crate) unconverged_count: CudaSlice<u32>,
    /// Sums over the tested pixels, see [`RoundResult`](crate::adaptive::schedule::RoundResult).
    pub(crate) tally: CudaSlice<u64>,
    /// The compaction of the list. It keeps the order, unlike some strategies for waves, because the order of the list
    /// decides which samples a part of a round contains.
    pub(crate) select: Select,
    /// The scratch buffers of the compaction.
    pub(crate) workspace: Workspace,
}

impl CudaAdaptiveState {
    /// Loads the kernels, and allocates buffers for an image of `pixel_count` pixels and a list of `listed` pixels.
    pub(super) fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        stream: &Arc<CudaStream>,
        pixel_count: usize,
        listed: usize,
    ) -> Result<CudaAdaptiveState, Error> {
        let strategy = Strategy::LookBack;
        let kernels = compiler.load(context, &test_convergence_source())?;
        Ok(CudaAdaptiveState {
            estimate_noise: kernels.kernel("estimate_noise")?,
            test_convergence: kernels.kernel("test_convergence")?,
            sums_at_test: zeroed(stream, 3 * pixel_count)?,
            pixel_noise: zeroed(stream, pixel_count)?,
            flags: zeroed(stream, listed)?,
            listed: listed as u32,
            unconverged: zeroed(stream, listed)?,
            unconverged_count: zeroed(stream, 1)?,
            tally: zeroed(stream, TALLY_LEN)?,
            select: Select::new(compiler, context, strategy)?,
            workspace: Workspace::for_strategy(stream, strategy, listed)?,
        })
    }

    /// Returns whether the buffers were allocated for an image of `pixel_count` pixels and a list of `listed` pixels.
    pub(crate) fn fits(&self, pixel_count: usize, listed: usize) -> bool {
        self.pixel_noise.len() == pixel_count && self.unconverged.len() == listed
    }

    /// Uploads the statistics of all pixels, or clears them if `pixel_stats` is `None`. The next test reads the whole
    /// list that the buffers were allocated for.
    pub(crate) fn set_pixel_stats(
        &mut self,
        stream: &Arc<CudaStream>,
        pixel_stats: Option<&PixelStats>,
    ) -> Result<(), Error> {
        self.listed = self.unconverged.len() as u32;
        if let Some(stats) = pixel_stats {
            overwrite(stream, &stats.sums_at_test, &mut self.sums_at_test)?;
            overwrite(stream, &stats.pixel_noise, &mut self.pixel_noise)?;
            return Ok(());
        }
        clear(stream, &mut self.sums_at_test)?;
        clear(stream, &mut self.pixel_noise)?;
        Ok(())
    }
}
