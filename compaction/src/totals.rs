//! Totals to which all blocks of a launch add. Twin: `kernels/count_items.cuh`.

use crate::cuda::Source;

/// Totals that stand side by side: 32 bytes, the unit of the L2 cache.
const SIDE_BY_SIDE: usize = 4;
/// Words from one such group to the next. They are spread over many lines, so that the whole cache takes part.
const STRIDE: usize = 16;

/// Returns the number of 8-byte words for the totals of `bins` bins.
pub(crate) fn words(bins: usize) -> usize {
    bins.div_ceil(SIDE_BY_SIDE) * STRIDE
}

/// Adds the constants of the totals to a kernel source.
pub(crate) fn declare(source: Source) -> Source {
    source
        .constant("TOTALS_SIDE_BY_SIDE", SIDE_BY_SIDE as u32)
        .constant("TOTAL_STRIDE", STRIDE as u32)
}
