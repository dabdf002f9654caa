//! Reductions on a GPU.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{
    BLOCK_THREADS, BLOCK_WARPS, Item, MAX_BLOCKS, NAMES, Operator, Workspace,
    kernel_source::of_items, segment_items, tree::Plan,
};
use crate::{
    Count, CountWord, Result,
    arguments::{Call, InputParams, ItemCount, check_room},
    cuda::{
        Compiler, Flat, In, InOut, IntoView, IntoViewMut, Kernel, Launch, Source, kernel_params,
    },
    monoid::operator_header,
};

kernel_params! {
    /// The parameters of the kernel `reduce`.
    struct ReduceParams<'a, T: Item> {
        items: In<T>,
        input: Flat<InputParams<'static>>,
        initial: T,
        out: InOut<T>,
        workspace: InOut<u64>,
    }
}

/// A reduction on a GPU by one operator. CUB: `DeviceReduce::Sum`, `Min` and `Max`.
///
/// Items have type `T`. Counts have type `W`: `u32`, or `u64` for 2³² or more items.
///
/// A call enqueues one launch on the caller's stream and returns. It allocates nothing and does not wait, so it can be
/// captured into a CUDA graph. Buffers are views that may start at any item of a larger buffer; views aligned to 16
/// bytes are read faster.
///
/// ```no_run
/// use compaction::{Count, cuda, reduce::{Operator, Reduce, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let sum = Reduce::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum)?;
/// let mut workspace = Workspace::with_capacity(&stream, 5)?;
///
/// let items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
/// let mut out = cuda::zeroed(&stream, 1)?;
/// sum.items(&stream, &items, Count::All, &mut out, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [14]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceReduce", "DeviceReduce::Sum", "amax", "amin"))]
#[derive(Debug)]
pub struct Reduce<T: Item, W: CountWord = u32> {
    operator: Operator,
    initial: T,
    kernel: Kernel<ReduceParams<'static, T>>,
    word: std::marker::PhantomData<fn(W)>,
}

impl<T: Item, W: CountWord> Reduce<T, W> {
    /// Compiles the kernel for `T`, `operator` and counts of type `W`, or loads it if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, reduce::{Operator, Reduce}};
    ///
    /// let max = Reduce::<f32>::new(&cuda::Compiler::new(), &cuda::open(0)?, Operator::Max)?;
    /// assert_eq!(max.operator(), Operator::Max);
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
        let module = compiler.load(context, &source::<T, W>(operator))?;
        Ok(Self {
            operator,
            initial: super::cpu::items(operator, &[]),
            kernel: module.kernel("reduce")?,
            word: std::marker::PhantomData,
        })
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::reduce::{Operator, Reduce};
    ///
    /// assert_eq!(Reduce::<f32>::sources(Operator::Max)[0].path(), "compaction/kernels/reduce.cu");
    /// ```
    pub fn sources(operator: Operator) -> Vec<Source> {
        vec![source::<T, W>(operator)]
    }

    /// Sets the initial value, which is combined with the items and comes before them. By default, it is the operator's
    /// identity.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, reduce::{Operator, Reduce, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
    /// let sum = Reduce::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum)?.initial(100);
    /// let items = cuda::upload(&stream, &[3, 1, 4])?;
    /// let mut out = cuda::zeroed(&stream, 1)?;
    /// sum.items(&stream, &items, Count::All, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [108]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    #[must_use]
    pub fn initial(mut self, value: T) -> Self {
        self.initial = value;
        self
    }

    /// Returns the operator that combines the items.
    ///
    /// ```no_run
    /// # use compaction::{cuda, reduce::{Operator, Reduce}};
    /// let sum = Reduce::<u32>::new(&cuda::Compiler::new(), &cuda::open(0)?, Operator::Sum)?;
    /// assert_eq!(sum.operator(), Operator::Sum);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// Enqueues a reduction that writes the combination of the initial value and all items to `out[0]`.
    ///
    /// A device count larger than `items` is clamped, and [`Workspace::check`] reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, reduce::{Operator, Reduce, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let max = Reduce::<f32>::new(&cuda::Compiler::new(), &context, Operator::Max)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let items = cuda::upload(&stream, &[0.5, 2.0, 8.0])?;
    /// let count = cuda::upload(&stream, &[2])?;
    /// let mut out = cuda::zeroed(&stream, 1)?;
    /// max.items(&stream, &items, Count::on_device(&count), &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [2.0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a host count larger than `items`;
    /// [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more items with counts of `u32`;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for an empty `out`;
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and the errors of
    /// [`Kernel::launch`](crate::cuda::Kernel::launch).
    pub fn items<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let (items, out) = (&items.into_view(), &mut out.into_view_mut());
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.kernel.context(),
            buffers: &[("items", &items), ("output", &out)],
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy_count)?;
        check_room(NAMES.output, out.len(), 1)?;
        workspace.check_capacity(item_count.capacity)?;
        let launch = launch(&item_count, size_of::<T>());
        let args = ReduceParams {
            items: items.slice(..),
            input: item_count.params(),
            initial: self.initial,
            out: out.slice_mut(..),
            workspace: workspace.states.words.as_view_mut(),
        };
        self.kernel.launch(stream, launch, args)
    }
}

/// Returns a launch with a block for each block of the tree over the items, of `bytes` bytes each.
pub(crate) fn launch(item_count: &ItemCount<'_>, bytes: usize) -> Launch {
    let capacity = item_count.capacity;
    let blocks = if item_count.is_given() {
        Plan::new(capacity, bytes).blocks
    } else {
        // Fewer items may have more blocks, because each warp then has fewer segments.
        let segments = capacity.div_ceil(segment_items(bytes));
        let blocks = segments.div_ceil(BLOCK_WARPS as usize);
        blocks.clamp(1, MAX_BLOCKS as usize)
    };
    Launch::blocks(blocks as u32, BLOCK_THREADS)
}

/// Returns the kernel file, without the definitions that it needs.
pub(crate) fn kernel_file() -> Source {
    let text = include_str!("../../kernels/reduce.cu");
    Source::new("compaction/kernels/reduce.cu", text)
}

fn source<T: Item, W: CountWord>(operator: Operator) -> Source {
    let source = kernel_file().kernel::<ReduceParams<'static, T>>("reduce");
    operator_header::<T>(of_items::<T, W>(source), operator)
}
