//! The kernels of histograms: their parameters and definitions.

use super::Sample;
pub(super) use crate::policies::histogram::{CELLS, MOST_PACKED, THREADS};
use crate::{
    CountWord,
    cuda::{In, InOut, Source, kernel_params},
    layout::Shared,
    look_back, totals,
};

/// Bounds that a thread loads at once, `GROUP` in the kernel file.
pub(super) const GROUP: usize = 4;
/// Alignment of the table of cells in the workspace.
pub(super) const CELL_ALIGN: u32 = 64;
/// Bytes of the entries of the table, and of the whole table with a header. Aligned bounds follow it.
pub(super) const ENTRY_BYTES: u32 = 2 * CELLS + CELL_ALIGN;
pub(super) const CELL_TABLE_BYTES: u32 = CELL_ALIGN + ENTRY_BYTES;

crate::shared! {
    /// The number of items of a histogram, its bins, and their counters. `Bins` in `kernels/histogram.cu` documents the
    /// fields.
    pub(crate) struct Bins {
        pub(super) capacity: u64,
        pub(super) is_given: u32,
        pub(super) bins: u32,
        pub(super) log_replicas: u32,
        pub(super) has_totals: u32,
        pub(super) bounds_at: u32,
        pub(super) log_stride: u32,
    }
}

kernel_params! {
    /// The parameters of the kernels of `even`.
    pub(super) struct Even<'a, T: Sample, W: CountWord> {
        items: In<T>,
        count: In<u32>,
        lower: <T as Sample>::Level,
        upper: <T as Sample>::Level,
        scale: <T as Sample>::Scale,
        shift: u32,
        bins: Bins,
        out: InOut<W>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernels of `bounds`.
    pub(super) struct Bounds<'a, T: Sample, W: CountWord> {
        items: In<T>,
        count: In<u32>,
        bounds: In<<T as Sample>::Level>,
        bins: Bins,
        out: InOut<W>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernels of `keys`.
    pub(super) struct Keys<'a, T: Sample, W: CountWord> {
        items: In<T>,
        count: In<u32>,
        bins: Bins,
        out: InOut<W>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `histogram_cells_packed`.
    pub(super) struct Celled<'a, T: Sample, W: CountWord> {
        items: In<T>,
        count: In<u32>,
        table: In<u8>,
        bins: Bins,
        out: InOut<W>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `histogram_clear`.
    pub(super) struct Clear<'a, W: CountWord> {
        out: InOut<W>,
        bins: u32,
    }

    /// The parameters of the kernel `histogram_cells`.
    pub(super) struct MakeCells<'a, T: Sample, W: CountWord> {
        bounds: In<<T as Sample>::Level>,
        bins: u32,
        out: InOut<W>,
        table: InOut<u8>,
    }
}

pub(super) fn source<T: Sample, W: CountWord>() -> Source {
    let text = include_str!("../../kernels/histogram.cu");
    let mut source = Source::new("compaction/kernels/histogram.cu", text)
        .define("ITEM", T::NAME)
        .define("Level", <T::Level as Shared>::NAME)
        .define("Scale", <T::Scale as Shared>::NAME)
        .define("Word", W::NAME)
        .constant("BLOCK_THREADS", THREADS)
        .constant("CELLS", CELLS)
        .constant("CELL_ALIGN", CELL_ALIGN)
        .constant("CELL_TABLE_BYTES", CELL_TABLE_BYTES)
        .kernel::<Clear<'static, W>>("histogram_clear")
        .kernel::<MakeCells<'static, T, W>>("histogram_cells")
        .kernel::<Celled<'static, T, W>>("histogram_cells_packed");
    for name in EVEN {
        source = source.kernel::<Even<'static, T, W>>(name);
    }
    for name in OF_BOUNDS {
        source = source.kernel::<Bounds<'static, T, W>>(name);
    }
    for name in OF_KEYS {
        source = source.kernel::<Keys<'static, T, W>>(name);
    }
    look_back::declare(totals::declare(source))
}

pub(super) const EVEN: [&str; 3] = [
    "histogram_even_global",
    "histogram_even_shared",
    "histogram_even_packed",
];
pub(super) const OF_BOUNDS: [&str; 3] = [
    "histogram_bounds_global",
    "histogram_bounds_shared",
    "histogram_bounds_packed",
];
pub(super) const OF_KEYS: [&str; 3] = [
    "histogram_keys_global",
    "histogram_keys_shared",
    "histogram_keys_packed",
];
