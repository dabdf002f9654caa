//! The histogram on a GPU.

use std::{ops::Range, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut, DeviceSlice};

use super::{BOUNDS, BinKey, NAMES, Sample, Workspace, check_bins};
use crate::{
    Count, CountWord, Error, Result,
    arguments::{Call, ItemCount, check_range, check_room},
    cuda::{
        self, Compiler, In, InOut, IntoView, IntoViewMut, Kernel, Launch, Module, Params, Source,
    },
    look_back,
    scratch::{Operation, Sizes},
};

/// Threads per block.
const THREADS: u32 = 512;
/// The largest number of blocks per multiprocessor, which then has as many threads as the registers allow.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 3;
/// Bytes of items per thread for which a grid gets another block.
const THREAD_BYTES: usize = 64;
/// Bytes of the counters of a block up to which bins have several counters.
const REPLICATED_BYTES: u32 = 32 << 10;
/// Bytes of shared memory that every GPU offers a block without a permission.
const SHARED_BYTES: u32 = 48 << 10;
/// Bytes of shared memory for a sample of the bounds.
const SAMPLE_BYTES: u32 = 32 << 10;
/// Number of bins up to which each block writes a row of counts, so that a call is one launch.
const ROW_BINS: usize = 1024;
/// The largest number of rows, and hence of blocks that write rows.
const MAX_ROWS: u32 = 448;

crate::shared! {
    /// The bins of a histogram and their counters. `Bins` in `kernels/histogram.cu` documents the fields.
    pub(crate) struct Bins {
        bins: u32,
        log_replicas: u32,
        has_rows: u32,
        sampled_bounds: u32,
        log_stride: u32,
    }
}

/// The parameters of the kernels of `even`: `(items, count, capacity, is_given, lower, upper, scale, shift, bins, out,
/// rows, workspace)`.
type Even<T, W> = (
    In<T>,
    In<u32>,
    u64,
    u32,
    <T as Sample>::Level,
    <T as Sample>::Level,
    <T as Sample>::Scale,
    u32,
    Bins,
    InOut<W>,
    InOut<u32>,
    InOut<u64>,
);
/// The parameters of the kernels of `bounds`: `(items, count, capacity, is_given, bounds, bins, out, rows,
/// workspace)`.
type Bounds<T, W> = (
    In<T>,
    In<u32>,
    u64,
    u32,
    In<<T as Sample>::Level>,
    Bins,
    InOut<W>,
    InOut<u32>,
    InOut<u64>,
);
/// The parameters of the kernels of `keys`: `(items, count, capacity, is_given, least, bins, out, rows, workspace)`.
/// `least` is the key of the first bin.
type Keys<T, W> = (
    In<T>,
    In<u32>,
    u64,
    u32,
    u32,
    Bins,
    InOut<W>,
    InOut<u32>,
    InOut<u64>,
);
/// The parameters of the kernel `histogram_clear`: `(out, bins)`.
type Clear<W> = (InOut<W>, u32);

/// The operation of a [`Workspace`] of this module.
#[doc(hidden)]
#[derive(Debug)]
pub struct Counting;

impl Operation for Counting {
    const NAME: &'static str = "histogram";
    const UNITS: &'static str = NAMES.input;

    /// The number of finished blocks, and rows of 32-bit counts.
    fn sizes(_: usize) -> Sizes {
        Sizes {
            zeroed_words: 1,
            bytes: 4 * MAX_ROWS as usize * ROW_BINS,
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

fn source<T: Sample, W: CountWord>() -> Source {
    use crate::layout::Shared;

    let text = include_str!("../../kernels/histogram.cu");
    let mut source = Source::new("compaction/kernels/histogram.cu", text)
        .define("ITEM", T::NAME)
        .define("Level", <T::Level as Shared>::NAME)
        .define("Scale", <T::Scale as Shared>::NAME)
        .define("Word", W::NAME)
        .constant("BLOCK_THREADS", THREADS)
        .kernel::<Clear<W>>("histogram_clear");
    for name in EVEN {
        source = source.kernel::<Even<T, W>>(name);
    }
    for name in OF_BOUNDS {
        source = source.kernel::<Bounds<T, W>>(name);
    }
    for name in OF_KEYS {
        source = source.kernel::<Keys<T, W>>(name);
    }
    look_back::declare(source)
}

const EVEN: [&str; 3] = [
    "histogram_even_global",
    "histogram_even_shared",
    "histogram_even_packed",
];
const OF_BOUNDS: [&str; 3] = [
    "histogram_bounds_global",
    "histogram_bounds_shared",
    "histogram_bounds_packed",
];
const OF_KEYS: [&str; 3] = [
    "histogram_keys_global",
    "histogram_keys_shared",
    "histogram_keys_packed",
];

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
#[derive(Debug)]
pub struct Histogram<T: Sample, W: CountWord = u32> {
    bins: usize,
    multiprocessors: u32,
    /// Whether the GPU has enough shared memory for packed counters.
    can_pack: bool,
    clear: Kernel<Clear<W>>,
    even: Kernels<Even<T, W>>,
    bounds: Kernels<Bounds<T, W>>,
    keys: Kernels<Keys<T, W>>,
}

/// The checked arguments of a call, without those of the bins.
struct HistogramCall<'a, T, W> {
    items: CudaView<'a, T>,
    item_count: ItemCount<'a>,
    out: CudaViewMut<'a, W>,
    rows: CudaViewMut<'a, u32>,
    words: CudaViewMut<'a, u64>,
    counters: Counters,
    bins: Bins,
    launch: Launch,
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
        let load = |packed_bytes| {
            Ok((
                load(&module, EVEN, packed_bytes)?,
                load(&module, OF_BOUNDS, packed_bytes)?,
                load(&module, OF_KEYS, packed_bytes)?,
            ))
        };
        let packed_bytes = (!fits_unpacked(bins)).then(|| packed_bytes(bins) + 8 + SAMPLE_BYTES);
        let (kernels, can_pack) = match load(packed_bytes) {
            Err(Error::SharedMemory { .. }) => (load(None)?, false),
            loaded => (loaded?, true),
        };
        let (even, bounds, keys) = kernels;
        Ok(Self {
            bins,
            multiprocessors: cuda::multiprocessors(context)?,
            can_pack,
            clear: module.kernel("histogram_clear")?,
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
        let args = (
            call.items,
            call.item_count.count,
            call.item_count.capacity as u64,
            call.item_count.is_given.into(),
            even.lower,
            even.upper,
            even.scale,
            even.shift,
            call.bins,
            call.out,
            call.rows,
            call.words,
        );
        let kernel = &self.even[call.counters as usize];
        kernel.launch(stream, call.launch, args)
    }

    /// Enqueues a histogram of the first `count` items. Bin b has the items from `bounds[b]` to below `bounds[b + 1]`.
    /// Otherwise like [`even`](Self::even).
    ///
    /// There is one bound more than bins, and they ascend. If they do not, the counts are unspecified.
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
        let args = (
            call.items,
            call.item_count.count,
            call.item_count.capacity as u64,
            call.item_count.is_given.into(),
            bounds,
            call.bins,
            call.out,
            call.rows,
            call.words,
        );
        let kernel = &self.bounds[call.counters as usize];
        kernel.launch(stream, call.launch, args)
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
        let args = (
            call.items,
            call.item_count.count,
            call.item_count.capacity as u64,
            call.item_count.is_given.into(),
            0,
            call.bins,
            call.out,
            call.rows,
            call.words,
        );
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
        let mut buffers = vec![("items", items.stream()), ("output", out.stream())];
        buffers.extend(bounds.map(|bounds| ("bounds", bounds.stream())));
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.clear.context(),
            buffers: &buffers,
            count: count.home(),
            written: None,
            workspace: workspace.states.home(),
        };
        call.check()?;
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy_count)?;
        check_room(NAMES.output, out.len(), self.bins)?;
        let capacity = item_count.capacity;
        let counters = self.counters(capacity);
        let bins = self.bins as u32;
        let has_rows = self.bins <= ROW_BINS;
        let log_replicas = (REPLICATED_BYTES / (4 * bins)).clamp(1, 32).ilog2();
        let counter_bytes = match counters {
            Counters::Global => 0,
            Counters::Shared => (4 * bins) << log_replicas,
            Counters::Packed => packed_bytes(self.bins),
        };
        // The last block has four sums of 8 bytes per thread. Bounds are aligned to 8 bytes, behind at least one word.
        let row_bytes = if has_rows { 32 * THREADS } else { 0 };
        let least_bytes = if bounds.is_some() { 8 } else { 0 };
        let bounds_at = counter_bytes
            .max(row_bytes)
            .max(least_bytes)
            .next_multiple_of(8);
        let bound_bytes = size_of::<T::Level>() as u32;
        let room = match counters {
            Counters::Packed => SAMPLE_BYTES,
            _ => SAMPLE_BYTES.min(SHARED_BYTES.saturating_sub(bounds_at)),
        };
        let sample_bytes = |log_stride: u32| ((bins >> log_stride) + 1) * bound_bytes;
        let log_stride = (0..u32::BITS)
            .find(|&log_stride| sample_bytes(log_stride) <= room)
            .filter(|_| bounds.is_some());
        let shared_bytes = bounds_at + log_stride.map_or(0, sample_bytes);
        let most_blocks = match counters {
            Counters::Packed => self.multiprocessors,
            _ => (BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors).min(MAX_ROWS),
        };
        let block_bytes = THREAD_BYTES * THREADS as usize;
        let blocks =
            (capacity.saturating_mul(size_of::<T>()) / block_bytes).clamp(1, most_blocks as usize);
        if !has_rows {
            let clear = Launch::covering(bins, THREADS);
            self.clear
                .launch(stream, clear, (out.slice_mut(..), bins))?;
        }
        let Workspace {
            states, scratch, ..
        } = workspace;
        Ok(HistogramCall {
            items,
            item_count,
            out,
            rows: cuda::reinterpret_into(scratch.as_view_mut())?,
            words: states.words.as_view_mut(),
            counters,
            bins: Bins {
                bins,
                log_replicas,
                has_rows: has_rows.into(),
                sampled_bounds: log_stride.map_or(0, |_| bounds_at / 4),
                log_stride: log_stride.unwrap_or(0),
            },
            launch: Launch::blocks(blocks as u32, THREADS).shared_bytes(shared_bytes),
        })
    }

    /// Returns the fastest kind of counters for this many items. With too few items per bin, adding the counters of all
    /// blocks would take longer than counting.
    fn counters(&self, items: usize) -> Counters {
        let is_worth = |blocks: u32| items / blocks as usize >= self.bins / 2;
        if fits_unpacked(self.bins) {
            let blocks = BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors;
            if self.bins <= ROW_BINS || is_worth(blocks) {
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
