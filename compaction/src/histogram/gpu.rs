//! The histogram on a GPU.

use std::{ops::Range, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    BOUNDS, BinKey, NAMES, Sample, Workspace, check_bins,
    kernel_source::{
        Bins, Bounds, CELL_TABLE_BYTES, CELLS, Celled, Clear, ENTRY_BYTES, EVEN, Even, GROUP, Keys,
        MOST_PACKED, MakeCells, OF_BOUNDS, OF_KEYS, THREADS, source,
    },
};
use crate::policies::histogram::{
    BLOCKS_PER_MULTIPROCESSOR, MOST_TOTALS, REPLICATED_BYTES, SAMPLE_BYTES, THREAD_BYTES,
};
use crate::{
    Count, CountWord, Error, Result,
    arguments::{Call, ItemCount, check_range, check_room},
    cuda::{Compiler, IntoView, IntoViewMut, Kernel, Launch, Module, NamedCall, Params, Source},
    scratch::{Operation, Sizes},
    totals,
};

/// Bytes of shared memory that every GPU offers a block without a permission.
const SHARED_BYTES: u32 = 48 << 10;

/// The operation of a [`Workspace`] of this module.
#[doc(hidden)]
#[derive(Debug)]
pub struct Counting;

impl Operation for Counting {
    const NAME: &'static str = "histogram";
    const UNITS: &'static str = NAMES.input;

    /// The totals of few bins; cells, their table, and a copy of the bounds of many bins.
    fn sizes(_: usize) -> Sizes {
        Sizes {
            zeroed_words: totals::words(MOST_TOTALS),
            bytes: CELL_TABLE_BYTES as usize + 8 * (MOST_PACKED + GROUP),
        }
    }
}

impl Workspace {
    /// Creates a workspace for histograms of any type, with any number of bins and items.
    ///
    /// ```no_run
    /// use compaction::{cuda, histogram::Workspace};
    ///
    /// let workspace = Workspace::new(&cuda::open(0)?.default_stream())?;
    /// assert!(workspace.bytes() < 2 << 20);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`].
    pub fn new(stream: &Arc<CudaStream>) -> Result<Self> {
        Self::with_capacity(stream, usize::MAX)
    }
}

/// The kernels of one way to find bins, one for each kind of [`Counters`].
type Kernels<P> = [Kernel<P>; 3];

/// Loads the kernels of these names. `packed_bytes` is the size of the packed counters, if they are used.
fn load<P: Params>(
    module: &Module,
    [global, shared, packed]: [&'static str; 3],
    packed_bytes: Option<u32>,
) -> Result<Kernels<P>> {
    let packed = module.kernel(packed)?;
    if let Some(bytes) = packed_bytes {
        packed.allow_shared_bytes(bytes)?;
    }
    Ok([module.kernel(global)?, module.kernel(shared)?, packed])
}

/// The kind of counters that a launch uses. `kernels/histogram.cu` describes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counters {
    Global,
    Shared,
    Packed,
}

/// A histogram on a GPU with a fixed number of bins. CUB: `DeviceHistogram`.
///
/// Items have type `T`. Counts, also those of the bins, have type `W`: `u32`, or `u64` for 2³² or more items.
///
/// Each method enqueues its kernels on the caller's stream and returns: one launch for up to 1024 bins, and two for
/// more. It allocates nothing and does not wait, so it can be captured into a CUDA graph. Buffers are views that may
/// start at any item of a larger buffer.
///
/// ```no_run
/// use compaction::{Count, cuda, histogram::{Histogram, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let histogram = Histogram::<f32>::new(&cuda::Compiler::new(), &context, 4)?;
/// let mut workspace = Workspace::new(&stream)?;
///
/// let items = cuda::upload(&stream, &[2.5_f32, 0.1, 3.9, 1.0, 1.7, 9.0])?;
/// let mut counts = cuda::zeroed::<u32>(&stream, 4)?;
/// histogram.even(&stream, &items, Count::All, 0.0..4.0, &mut counts, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &counts)?, [1, 2, 1, 1]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceHistogram", "HistogramEven", "HistogramRange", "bincount"))]
#[derive(Debug)]
pub struct Histogram<T: Sample, W: CountWord = u32> {
    bins: usize,
    multiprocessors: u32,
    /// Whether the GPU has enough shared memory for packed counters.
    can_pack: bool,
    clear: Kernel<Clear<'static, W>>,
    make_cells: Kernel<MakeCells<'static, T, W>>,
    celled: Kernel<Celled<'static, T, W>>,
    even: Kernels<Even<'static, T, W>>,
    bounds: Kernels<Bounds<'static, T, W>>,
    keys: Kernels<Keys<'static, T, W>>,
}

/// The checked arguments of a call, without those of the bins.
struct HistogramCall<'a, T, W> {
    items: CudaView<'a, T>,
    item_count: ItemCount<'a>,
    out: CudaViewMut<'a, W>,
    /// The memory of the cells, if the items are found by cells.
    cells: Option<CudaViewMut<'a, u8>>,
    words: CudaViewMut<'a, u64>,
    counters: Counters,
    bins: Bins,
    launch: Launch,
    _named: NamedCall,
}

impl<T: Sample, W: CountWord> Histogram<T, W> {
    /// Compiles the kernels for `T` and `W`, or loads them if compiled earlier. There can be up to 2²⁴ bins.
    ///
    /// ```no_run
    /// use compaction::{cuda, histogram::Histogram};
    ///
    /// let of_bytes = Histogram::<u8>::new(&cuda::Compiler::new(), &cuda::open(0)?, 256)?;
    /// assert_eq!(of_bytes.bins(), 256);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`] unless there are 1 to 2²⁴ bins, and the errors of [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>, bins: usize) -> Result<Self> {
        check_bins(bins)?;
        let module = compiler.load(context, &source::<T, W>())?;
        let celled = module.kernel("histogram_cells_packed")?;
        let load = |packed_bytes| {
            if let Some(bytes) = packed_bytes {
                celled.allow_shared_bytes(cells_at(bytes) + ENTRY_BYTES)?;
            }
            Ok((
                load(&module, EVEN, packed_bytes)?,
                load(&module, OF_BOUNDS, None)?,
                load(&module, OF_KEYS, packed_bytes)?,
            ))
        };
        let packed_bytes =
            (!fits_unpacked(bins) && bins <= MOST_PACKED).then(|| packed_bytes(bins));
        let (kernels, can_pack) = match load(packed_bytes) {
            Err(Error::SharedMemory { .. }) => (load(None)?, false),
            loaded => (loaded?, packed_bytes.is_some()),
        };
        let (even, bounds, keys) = kernels;
        Ok(Self {
            bins,
            multiprocessors: crate::cuda::multiprocessors(context)?,
            can_pack,
            clear: module.kernel("histogram_clear")?,
            make_cells: module.kernel("histogram_cells")?,
            celled,
            even,
            bounds,
            keys,
        })
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::histogram::Histogram;
    ///
    /// assert_eq!(Histogram::<f32>::sources()[0].path(), "compaction/kernels/histogram.cu");
    /// ```
    pub fn sources() -> Vec<Source> {
        vec![source::<T, W>()]
    }

    /// Returns the number of bins that was passed to [`new`](Self::new).
    ///
    /// ```no_run
    /// # use compaction::{cuda, histogram::Histogram};
    /// let histogram = Histogram::<f32>::new(&cuda::Compiler::new(), &cuda::open(0)?, 100)?;
    /// assert_eq!(histogram.bins(), 100);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// Enqueues a histogram with bins of equal width in `range`, of the first `count` items. The first entries of `out`
    /// are overwritten by the counts of the bins.
    ///
    /// Bin b of integers begins at `start + b * (end - start) / bins`, rounded up. The bin of a float x is
    /// `(x - start) * scale`, rounded down, where `scale` is `bins / (end - start)`; the last bin has all the rest.
    /// Items outside the range, and NaNs, are not counted.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, histogram::{Histogram, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let histogram = Histogram::<u8>::new(&cuda::Compiler::new(), &context, 4)?;
    /// let mut workspace = Workspace::new(&stream)?;
    /// let items = cuda::upload(&stream, &[0_u8, 63, 64, 255])?;
    /// let mut counts = cuda::zeroed::<u32>(&stream, 4)?;
    /// histogram.even(&stream, &items, Count::All, 0..256, &mut counts, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &counts)?, [2, 1, 0, 1]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::InvalidRange`] for an empty or infinite range, or one of integers that is wider than 2³²;
    /// [`Error::OutOfRange`] for a host count larger than `items`; [`Error::Uncountable`] for 2³² or more items with
    /// counts of `u32`; [`Error::LengthMismatch`] for an empty view of a device count; [`Error::OutputTooShort`] if
    /// `out` has fewer entries than there are bins; and the errors of [`Kernel::launch`].
    pub fn even<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        range: Range<T::Level>,
        out: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let even = T::even_bins(range.start, range.end, self.bins)?;
        let out = out.into_view_mut();
        let call = self.call(stream, items.into_view(), count, out, None, workspace)?;
        let args = Even {
            items: call.items,
            count: call.item_count.words()?,
            lower: even.lower,
            upper: even.upper,
            scale: even.scale,
            shift: even.shift,
            bins: call.bins,
            out: call.out,
            workspace: call.words,
        };
        let kernel = &self.even[call.counters as usize];
        kernel.launch(stream, call.launch, args)
    }

    /// Enqueues a histogram of the first `count` items. Bin b has the items from `bounds[b]` to below `bounds[b + 1]`.
    /// Otherwise like [`even`](Self::even).
    ///
    /// There is one bound more than bins, and none is less than the one before it; otherwise the counts are
    /// unspecified. A bin between equal bounds is empty.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, histogram::{Histogram, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let histogram = Histogram::<u8>::new(&cuda::Compiler::new(), &context, 2)?;
    /// let mut workspace = Workspace::new(&stream)?;
    /// let items = cuda::upload(&stream, &[1_u8, 10, 50, 99, 100])?;
    /// let bounds = cuda::upload(&stream, &[0_i64, 10, 100])?;
    /// let mut counts = cuda::zeroed::<u32>(&stream, 2)?;
    /// histogram.bounds(&stream, &items, Count::All, &bounds, &mut counts, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &counts)?, [1, 3]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`even`](Self::even) without [`Error::InvalidRange`], and [`Error::OutOfRange`] for a
    /// wrong number of bounds.
    pub fn bounds<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        bounds: impl IntoView<'a, T::Level>,
        out: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let bounds = bounds.into_view();
        check_range(BOUNDS, bounds.len(), self.bins + 1, self.bins + 1)?;
        let out = out.into_view_mut();
        let call = self.call(
            stream,
            items.into_view(),
            count,
            out,
            Some(&bounds),
            workspace,
        )?;
        let Some(table) = call.cells else {
            let args = Bounds {
                items: call.items,
                count: call.item_count.words()?,
                bounds,
                bins: call.bins,
                out: call.out,
                workspace: call.words,
            };
            let kernel = &self.bounds[call.counters as usize];
            return kernel.launch(stream, call.launch, args);
        };
        let args = Celled {
            items: call.items,
            count: call.item_count.words()?,
            table: table.as_view(),
            bins: call.bins,
            out: call.out,
            workspace: call.words,
        };
        self.celled.launch(stream, call.launch, args)
    }

    /// Enqueues a histogram of the first `count` keys, each of which is the number of its bin. Otherwise like
    /// [`even`](Self::even). Keys that are not less than the number of bins are not counted.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, histogram::{Histogram, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let histogram = Histogram::<u16>::new(&cuda::Compiler::new(), &context, 4)?;
    /// let mut workspace = Workspace::new(&stream)?;
    /// let keys = cuda::upload(&stream, &[3_u16, 0, 3, 9])?;
    /// let mut counts = cuda::zeroed::<u32>(&stream, 4)?;
    /// histogram.keys(&stream, &keys, Count::All, &mut counts, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &counts)?, [1, 0, 0, 2]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`even`](Self::even) without [`Error::InvalidRange`].
    pub fn keys<'a>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, T>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace,
    ) -> Result<()>
    where
        T: BinKey,
    {
        let out = out.into_view_mut();
        let call = self.call(stream, keys.into_view(), count, out, None, workspace)?;
        let args = Keys {
            items: call.items,
            count: call.item_count.words()?,
            bins: call.bins,
            out: call.out,
            workspace: call.words,
        };
        let kernel = &self.keys[call.counters as usize];
        kernel.launch(stream, call.launch, args)
    }

    /// Checks the arguments of a call, chooses the counters, and clears the totals if they are in `out`.
    fn call<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: CudaView<'a, T>,
        count: Count<'a, W>,
        mut out: CudaViewMut<'a, W>,
        bounds: Option<&CudaView<'_, T::Level>>,
        workspace: &'a mut Workspace,
    ) -> Result<HistogramCall<'a, T, W>> {
        let mut buffers: Vec<(&str, &dyn crate::cuda::Operand)> =
            vec![("items", &items), ("output", &out)];
        if let Some(bounds) = &bounds {
            buffers.push(("bounds", bounds));
        }
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.clear.context(),
            buffers: &buffers,
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let named = call.check()?;
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy_count)?;
        check_room(NAMES.output, out.len(), self.bins)?;
        let capacity = item_count.capacity;
        let counters = self.counters(capacity);
        let bins = self.bins as u32;
        let log_replicas = (REPLICATED_BYTES / (4 * bins)).clamp(1, 32).ilog2();
        let counter_bytes = match counters {
            Counters::Global => 0,
            // One more bin is for items of no bin.
            Counters::Shared => (4 * (bins + 1)) << log_replicas,
            Counters::Packed => packed_bytes(self.bins),
        };
        // Bounds and cells are aligned to 16 bytes, behind at least one word.
        let bounds_at = cells_at(counter_bytes);
        let bound_bytes = size_of::<T::Level>() as u32;
        let has_cells = bounds.is_some() && counters == Counters::Packed;
        let room = SAMPLE_BYTES.min(SHARED_BYTES.saturating_sub(bounds_at));
        let sample_bytes = |log_stride: u32| ((bins >> log_stride) + 1) * bound_bytes;
        let log_stride = (0..u32::BITS)
            .find(|&log_stride| sample_bytes(log_stride) <= room)
            .filter(|_| bounds.is_some() && !has_cells);
        let shared_bytes = match log_stride {
            Some(log_stride) => bounds_at + sample_bytes(log_stride),
            None if has_cells => bounds_at + ENTRY_BYTES,
            None => counter_bytes,
        };
        let most_blocks = match counters {
            Counters::Packed => self.multiprocessors,
            _ => BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors,
        };
        let block_bytes = THREAD_BYTES * THREADS as usize;
        let blocks =
            (capacity.saturating_mul(size_of::<T>()) / block_bytes).clamp(1, most_blocks as usize);
        let Workspace {
            states, scratch, ..
        } = workspace;
        let mut scratch = scratch.as_view_mut();
        let has_totals = self.bins <= MOST_TOTALS;
        match bounds {
            Some(bounds) if has_cells => {
                self.make_cells(stream, bounds, out.slice_mut(..), scratch.slice_mut(..))?;
            }
            _ if has_totals => {}
            _ => {
                let clear = Launch::covering(bins, THREADS);
                let args = Clear {
                    out: out.slice_mut(..),
                    bins,
                };
                self.clear.launch(stream, clear, args)?;
            }
        }
        Ok(HistogramCall {
            items,
            out,
            cells: has_cells.then_some(scratch),
            words: states.words.as_view_mut(),
            counters,
            bins: Bins {
                capacity: capacity as u64,
                is_given: item_count.is_given().into(),
                bins,
                log_replicas,
                has_totals: has_totals.into(),
                bounds_at: if shared_bytes > counter_bytes {
                    bounds_at / 4
                } else {
                    0
                },
                log_stride: log_stride.unwrap_or(0),
            },
            launch: Launch::blocks(blocks as u32, THREADS).shared_bytes(shared_bytes),
            item_count,
            _named: named,
        })
    }

    /// Clears the totals, and divides the range of the bounds into cells.
    fn make_cells(
        &self,
        stream: &Arc<CudaStream>,
        bounds: &CudaView<'_, T::Level>,
        out: CudaViewMut<'_, W>,
        table: CudaViewMut<'_, u8>,
    ) -> Result<()> {
        let args = MakeCells {
            bounds: bounds.slice(..),
            bins: self.bins as u32,
            out,
            table,
        };
        // A warp makes an entry of the table for each lane but one, and there is an entry behind the last cell.
        let entries = (CELLS + 1).div_ceil(31) * 32;
        let threads = entries.max((self.bins + GROUP) as u32);
        self.make_cells
            .launch(stream, Launch::covering(threads, THREADS), args)
    }

    /// Returns the fastest kind of counters for this many items. With too few items per bin, adding the counters of all
    /// blocks would take longer than counting.
    fn counters(&self, items: usize) -> Counters {
        let is_worth = |blocks: u32| items / blocks as usize >= self.bins / 2;
        if fits_unpacked(self.bins) {
            let blocks = BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors;
            if self.bins <= MOST_TOTALS || is_worth(blocks) {
                return Counters::Shared;
            }
        } else if self.can_pack && is_worth(self.multiprocessors) {
            return Counters::Packed;
        }
        Counters::Global
    }
}

/// Returns whether counters of 32 bits fit in the shared memory of any GPU.
fn fits_unpacked(bins: usize) -> bool {
    bins <= SHARED_BYTES as usize / 4
}

/// Returns the size of the packed counters of a block, of 16 bits each.
fn packed_bytes(bins: usize) -> u32 {
    4 * bins.div_ceil(2) as u32
}

/// Returns where bounds or cells are in shared memory, behind counters of this size.
fn cells_at(counter_bytes: u32) -> u32 {
    counter_bytes.max(4).next_multiple_of(16)
}
