//! The segmented reduction on a GPU.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};

use super::{CHUNK_ITEMS, ITEMS, Item, NAMES, Operator, Workspace, check_length};
use crate::policies::segmented_reduce::{
    BLOCK_THREADS, ENOUGH_WARPS, MAX_WARP_SLOTS, MIN_WARP_SLOTS,
};
use crate::{
    Count, CountWord, Result,
    arguments::{Call, InputParams, ItemCount, check_room},
    cuda::{
        self, Compiler, Flat, In, InOut, IntoView, IntoViewMut, Kernel, Launch, Module, Source,
        kernel_params,
    },
    custom::CustomOperator,
    layout::Shared,
    look_back,
    monoid::operator_header,
    scratch::{Operation, Sizes},
    select::check_item,
};

kernel_params! {
    /// The parameters of the kernel `segmented_reduce_by_offsets`. `input` is the number of segments.
    struct ByOffsets<'a, T: Shared, W: CountWord, V: Shared> {
        items: In<T>,
        item_count: u64,
        offsets: In<W>,
        input: Flat<InputParams<'static>>,
        warp_slots: u32,
        out: InOut<V>,
        scratch: InOut<u64>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `segmented_reduce_of_length`. `input` is the number of segments.
    struct OfLength<'a, T: Shared, V: Shared> {
        items: In<T>,
        length: u64,
        input: Flat<InputParams<'static>>,
        warp_slots: u32,
        out: InOut<V>,
        scratch: InOut<u64>,
        workspace: InOut<u64>,
    }
}

/// The operation of a [`Workspace`] of this module.
#[doc(hidden)]
#[derive(Debug)]
pub struct Reduction<V>(PhantomData<V>);

impl<V: 'static> Operation for Reduction<V> {
    const NAME: &'static str = "segmented_reduce";
    const UNITS: &'static str = ITEMS;

    /// Returns room for one partial value, as words of 8 bytes, and one counter of 4 bytes per half of a chunk.
    fn sizes(items: usize) -> Sizes {
        let halves = items / (CHUNK_ITEMS / 2) + 2;
        Sizes {
            zeroed_words: halves.div_ceil(2),
            bytes: halves.saturating_mul(size_of::<V>().next_multiple_of(8)),
        }
    }
}

/// Returns the kernel file without its operator.
fn source<T: Shared, W: CountWord, V: Shared>() -> Source {
    let text = include_str!("../../kernels/segmented_reduce.cu");
    let source = Source::new("compaction/kernels/segmented_reduce.cu", text)
        .define("Word", W::NAME)
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .constant("CHUNK", CHUNK_ITEMS as u32)
        .kernel::<ByOffsets<'static, T, W, V>>("segmented_reduce_by_offsets")
        .kernel::<OfLength<'static, T, V>>("segmented_reduce_of_length");
    look_back::declare(source)
}

fn custom_source<T: Shared, W: CountWord, V: Shared>(
    operator: &CustomOperator<V>,
) -> Result<Source> {
    const { check_item::<V>() };
    const { check_item::<T>() };
    operator.declare::<T>(source::<T, W, V>())
}

/// A segmented reduction on a GPU by one operator, which may be one of your own. CUB: `DeviceSegmentedReduce`.
///
/// Items have type `T`, and results type `V`, which only an operator of your own can change. Offsets and counts have
/// type `W`: `u32`, or `u64` for 2³² or more items.
///
/// Each method enqueues one launch on the caller's stream and returns. It allocates nothing and does not wait, so it
/// can be captured into a CUDA graph. Buffers are views that may start at any item of a larger buffer.
///
/// ```no_run
/// use compaction::{Count, cuda, segmented_reduce::{Operator, SegmentedReduce, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let reduce = SegmentedReduce::<f32>::new(&cuda::Compiler::new(), &context, Operator::Sum)?;
/// let mut workspace = Workspace::with_capacity(&stream, 6)?;
///
/// let items = cuda::upload(&stream, &[1e8_f32, 1e8, 1.0, 2.0, 3.0, 0.5])?;
/// let offsets = cuda::upload(&stream, &[0_u32, 2, 5, 6])?;
/// let mut sums = cuda::zeroed(&stream, 3)?;
/// reduce.by_offsets(&stream, &items, &offsets, Count::All, &mut sums, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &sums)?, [2e8, 6.0, 0.5]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceSegmentedReduce", "reduceat"))]
#[derive(Debug)]
pub struct SegmentedReduce<T: Shared, W: CountWord = u32, V: Shared = T> {
    multiprocessors: u32,
    by_offsets: Kernel<ByOffsets<'static, T, W, V>>,
    of_length: Kernel<OfLength<'static, T, V>>,
}

impl<T: Item, W: CountWord> SegmentedReduce<T, W, T> {
    /// Compiles the kernels for `T`, `operator` and offsets of type `W`, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, segmented_reduce::{Operator, SegmentedReduce}};
    ///
    /// let reduce = SegmentedReduce::<u32>::new(&cuda::Compiler::new(), &cuda::open(0)?, Operator::Max)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        operator: Operator,
    ) -> Result<Self> {
        let source = operator_header::<T>(source::<T, W, T>(), operator);
        Self::of_module(context, &compiler.load(context, &source)?)
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::segmented_reduce::{Operator, SegmentedReduce};
    ///
    /// let sources = SegmentedReduce::<f32>::sources(Operator::Sum);
    /// assert_eq!(sources[0].path(), "compaction/kernels/segmented_reduce.cu");
    /// ```
    pub fn sources(operator: Operator) -> Vec<Source> {
        vec![operator_header::<T>(source::<T, W, T>(), operator)]
    }
}

impl<T: Shared, W: CountWord, V: Shared> SegmentedReduce<T, W, V> {
    /// Compiles the kernels with an operator in CUDA C++, or loads them if compiled earlier. It must be associative and
    /// need not be commutative. Items and values have 1 to 64 bytes.
    ///
    /// ```no_run
    /// use compaction::{Count, cuda, custom::CustomOperator, segmented_reduce::{SegmentedReduce, Workspace}};
    ///
    /// let context = cuda::open(0)?;
    /// let stream = context.default_stream();
    /// let text = "u32 lift(u8 bit) { return 1u << bit; } u32 combine(u32 left, u32 right) { return left | right; }";
    /// let any = CustomOperator::new("any.cuh", text, 0_u32);
    /// let reduce = SegmentedReduce::<u8, u32, u32>::with_operator(&cuda::Compiler::new(), &context, &any)?;
    /// let mut workspace = Workspace::with_capacity(&stream, 4)?;
    ///
    /// let bits = cuda::upload(&stream, &[0_u8, 3, 3, 1])?;
    /// let offsets = cuda::upload(&stream, &[0_u32, 2, 4])?;
    /// let mut sets = cuda::zeroed(&stream, 2)?;
    /// reduce.by_offsets(&stream, &bits, &offsets, Count::All, &mut sets, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &sets)?, [0b1001, 0b1010]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`CustomReduce::new`](crate::custom::CustomReduce::new).
    pub fn with_operator(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        operator: &CustomOperator<V>,
    ) -> Result<Self> {
        let module = compiler.load(context, &custom_source::<T, W, V>(operator)?);
        Self::of_module(context, &operator.loaded::<T>(module)?)
    }

    /// Returns the kernel files that [`with_operator`](Self::with_operator) needs, for an
    /// [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::{custom::CustomOperator, segmented_reduce::SegmentedReduce};
    ///
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32);
    /// let sources = SegmentedReduce::<u32>::sources_with_operator(&any)?;
    /// assert!(sources[0].text()?.contains("return a | b;"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoFunction`](crate::Error::NoFunction) if the operator lacks a function.
    pub fn sources_with_operator(operator: &CustomOperator<V>) -> Result<Vec<Source>> {
        Ok(vec![custom_source::<T, W, V>(operator)?])
    }

    fn of_module(context: &Arc<CudaContext>, module: &Module) -> Result<Self> {
        Ok(Self {
            multiprocessors: cuda::multiprocessors(context)?,
            by_offsets: module.kernel("segmented_reduce_by_offsets")?,
            of_length: module.kernel("segmented_reduce_of_length")?,
        })
    }

    /// Enqueues a reduction of the segments between consecutive offsets: segment s has the items from `offsets[s]` to
    /// before `offsets[s + 1]`.
    ///
    /// `count` is the number of segments, and [`Count::All`] means one less than there are offsets. `out` must have
    /// room for as many items. A device count that is too large is clamped, and the workspace's `check` reports it.
    ///
    /// No offset may be less than the one before it, or the results of this and later calls with the workspace are
    /// unspecified. Offsets beyond the last item count as the end of the buffer. No other memory is accessed in either
    /// case.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, segmented_reduce::{Operator, SegmentedReduce, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let reduce = SegmentedReduce::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum)?;
    /// let mut workspace = Workspace::with_capacity(&stream, 6)?;
    /// let items = cuda::upload(&stream, &[3_u32, 1, 4, 1, 5, 9])?;
    /// let offsets = cuda::upload(&stream, &[0_u32, 2, 2, 6])?;
    /// let mut sums = cuda::zeroed(&stream, 3)?;
    /// reduce.by_offsets(&stream, &items, &offsets, Count::All, &mut sums, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &sums)?, [4, 0, 19]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a host count of more segments than there are;
    /// [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more segments with counts of `u32`;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for a short `out`;
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall) for a workspace of fewer items; and the errors of
    /// [`Kernel::launch`](crate::cuda::Kernel::launch).
    pub fn by_offsets<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        offsets: impl IntoView<'a, W>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, V>,
        workspace: &mut Workspace<V>,
    ) -> Result<()> {
        let (items, offsets) = (items.into_view(), offsets.into_view());
        let out = out.into_view_mut();
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.by_offsets.context(),
            buffers: &[("items", &items), ("offsets", &offsets), ("output", &out)],
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let segments = offsets.len().saturating_sub(1);
        workspace.check_capacity(items.len())?;
        let Workspace {
            states,
            scratch,
            dummy_count,
            ..
        } = workspace;
        let item_count = ItemCount::new(&NAMES, segments, count, dummy_count)?;
        check_room(NAMES.output, out.len(), item_count.capacity)?;
        let (launch, warp_slots) = self.launch(item_count.capacity, items.len());
        let args = ByOffsets {
            items: items.slice(..),
            item_count: items.len() as u64,
            offsets,
            input: item_count.params(),
            warp_slots,
            out,
            scratch: cuda::reinterpret_into(scratch.as_view_mut())?,
            workspace: states.words.as_view_mut(),
        };
        self.by_offsets.launch(stream, launch, args)
    }

    /// Enqueues a reduction of segments of `length` items each. Otherwise like [`by_offsets`](Self::by_offsets).
    ///
    /// [`Count::All`] means as many whole segments as `items` has. Items behind them are ignored.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, segmented_reduce::{Operator, SegmentedReduce, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let reduce = SegmentedReduce::<u32>::new(&cuda::Compiler::new(), &context, Operator::Max)?;
    /// let mut workspace = Workspace::with_capacity(&stream, 6)?;
    /// let items = cuda::upload(&stream, &[3_u32, 1, 4, 1, 5, 9])?;
    /// let mut maxima = cuda::zeroed(&stream, 2)?;
    /// reduce.of_length(&stream, &items, Count::All, 3, &mut maxima, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &maxima)?, [4, 9]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`by_offsets`](Self::by_offsets), and
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for a length of 0.
    pub fn of_length<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        length: usize,
        out: impl IntoViewMut<'a, V>,
        workspace: &mut Workspace<V>,
    ) -> Result<()> {
        let (items, out) = (items.into_view(), out.into_view_mut());
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.of_length.context(),
            buffers: &[("items", &items), ("output", &out)],
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        check_length(length)?;
        workspace.check_capacity(items.len())?;
        let Workspace {
            states,
            scratch,
            dummy_count,
            ..
        } = workspace;
        let item_count = ItemCount::new(&NAMES, items.len() / length, count, dummy_count)?;
        check_room(NAMES.output, out.len(), item_count.capacity)?;
        let (launch, warp_slots) = self.launch(item_count.capacity, items.len());
        let args = OfLength {
            items,
            length: length as u64,
            input: item_count.params(),
            warp_slots,
            out,
            scratch: cuda::reinterpret_into(scratch.as_view_mut())?,
            workspace: states.words.as_view_mut(),
        };
        self.of_length.launch(stream, launch, args)
    }

    /// Returns the launch for up to this many segments and items, and the number of slots of a warp.
    fn launch(&self, segments: usize, items: usize) -> (Launch, u32) {
        let slots = segments as u64 + (items / CHUNK_ITEMS) as u64 + 1;
        let warps = ENOUGH_WARPS * u64::from(self.multiprocessors);
        let warp_slots = (slots / warps).clamp(MIN_WARP_SLOTS, MAX_WARP_SLOTS);
        let warp_slots = warp_slots / MIN_WARP_SLOTS * MIN_WARP_SLOTS;
        let block_slots = warp_slots * u64::from(BLOCK_THREADS / 32);
        let blocks = slots.div_ceil(block_slots);
        (
            Launch::blocks(blocks as u32, BLOCK_THREADS),
            warp_slots as u32,
        )
    }
}
