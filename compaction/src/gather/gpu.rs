//! Gather and scatter on a GPU.

use std::{alloc::Layout, marker::PhantomData, sync::Arc};

use bytemuck::Pod;
use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{NAMES, SCATTER_NAMES, SCATTERED, Workspace};
use crate::policies::gather::{BATCH, BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR};
use crate::{
    Count, CountWord, Movable, Result,
    arguments::{ArgumentNames, Call, Input, ItemCount, check_len, check_room},
    cuda::{
        self, Compiler, In, InOut, IntoView, IntoViewMut, Kernel, Launch, Source, kernel_params,
    },
    look_back,
    scratch::{Operation, Sizes},
    select::{item_constants, item_layout},
};

kernel_params! {
    /// The parameters of the kernels `gather` and `scatter`. Indices of `limit` or more are skipped.
    struct CopyParams<'a, I: CountWord> {
        items: In<u8>,
        indices: In<I>,
        input: Input<'static>,
        limit: u64,
        out: InOut<u8>,
        workspace: InOut<u64>,
    }
}

/// The operation of a [`Workspace`] of this module.
#[doc(hidden)]
#[derive(Debug)]
pub struct Copying;

impl Operation for Copying {
    const NAME: &'static str = "gather or scatter";
    const UNITS: &'static str = NAMES.input;

    fn sizes(_: usize) -> Sizes {
        Sizes {
            zeroed_words: 0,
            bytes: 0,
        }
    }
}

impl Workspace {
    /// Creates a workspace for gathers and scatters of any type and length.
    ///
    /// ```no_run
    /// use compaction::{cuda, gather::Workspace};
    ///
    /// let workspace = Workspace::new(&cuda::open(0)?.default_stream())?;
    /// assert!(workspace.bytes() < 1000);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(stream: &Arc<CudaStream>) -> Result<Self> {
        Self::with_capacity(stream, usize::MAX)
    }
}

fn source<I: CountWord>(layout: Layout) -> Source {
    let text = include_str!("../../kernels/gather.cu");
    let source = Source::new("compaction/kernels/gather.cu", text)
        .define("Word", I::NAME)
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .constant("BATCH", BATCH)
        .kernel::<CopyParams<'static, I>>("gather")
        .kernel::<CopyParams<'static, I>>("scatter");
    look_back::declare(item_constants(source, layout))
}

/// The loaded kernel `gather` or `scatter`.
#[derive(Debug)]
struct CopyKernel<T, I: CountWord> {
    kernel: Kernel<CopyParams<'static, I>>,
    multiprocessors: u32,
    item: PhantomData<fn(T)>,
}

impl<T: Movable, I: CountWord> CopyKernel<T, I> {
    fn load(compiler: &Compiler, context: &Arc<CudaContext>, name: &'static str) -> Result<Self> {
        let module = compiler.load(context, &source::<I>(item_layout::<T>()))?;
        Ok(Self {
            kernel: module.kernel(name)?,
            multiprocessors: cuda::multiprocessors(context)?,
            item: PhantomData,
        })
    }

    /// Checks the arguments of a call, also by `check` with the number of items to copy, and enqueues its launch.
    /// Indices of `limit` or more are skipped.
    fn launch(
        &self,
        names: &ArgumentNames,
        stream: &Arc<CudaStream>,
        (items, indices, out): (CudaView<'_, T>, CudaView<'_, I>, CudaViewMut<'_, T>),
        (count, limit): (Count<'_, I>, usize),
        check: impl FnOnce(usize) -> Result<()>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let call = Call {
            operation: names.operation,
            stream,
            context: self.kernel.context(),
            buffers: &[("items", &items), ("indices", &indices), ("output", &out)],
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let item_count = ItemCount::new(names, indices.len(), count, &workspace.dummy_count)?;
        let capacity = item_count.capacity;
        check(capacity)?;
        let layout = Layout::new::<T>();
        let parts = capacity.saturating_mul(layout.size() / layout.align().min(16));
        let blocks = parts.div_ceil((BLOCK_THREADS * BATCH) as usize);
        let most = BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors;
        let launch = Launch::blocks(blocks.clamp(1, most as usize) as u32, BLOCK_THREADS);
        let args = CopyParams {
            items: cuda::reinterpret(items)?,
            indices,
            input: item_count.input(),
            limit: limit as u64,
            out: cuda::item_bytes(out),
            workspace: workspace.states.words.as_view_mut(),
        };
        self.kernel.launch(stream, launch, args)
    }
}

/// A gather on a GPU: `out[i] = items[indices[i]]`. Thrust: `gather`.
///
/// Items have type `T`, plain data or `bool`, of 1 to 64 bytes. Indices and counts have type `I`: `u32`, or `u64` for
/// 2³² or more items.
///
/// A call enqueues one launch on the caller's stream and returns. It allocates nothing and does not wait, so it can be
/// captured into a CUDA graph. Buffers are views that may start at any item of a larger buffer.
///
/// ```no_run
/// use compaction::{Count, cuda, gather::{Gather, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let gather = Gather::<u32>::new(&cuda::Compiler::new(), &context)?;
/// let mut workspace = Workspace::new(&stream)?;
///
/// let items = cuda::upload(&stream, &[10_u32, 11, 12, 13])?;
/// let indices = cuda::upload(&stream, &[2_u32, 0, 3, 1])?;
/// let mut out = cuda::zeroed::<u32>(&stream, 4)?;
/// gather.items(&stream, &items, &indices, Count::All, &mut out, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [12, 10, 13, 11]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("take"))]
#[derive(Debug)]
pub struct Gather<T, I: CountWord = u32>(CopyKernel<T, I>);

impl<T: Movable, I: CountWord> Gather<T, I> {
    /// Compiles the kernels for items with the size and alignment of `T`, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, gather::Gather};
    ///
    /// let gather = Gather::<[f32; 3]>::new(&cuda::Compiler::new(), &cuda::open(0)?)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>) -> Result<Self> {
        CopyKernel::load(compiler, context, "gather").map(Self)
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::gather::Gather;
    ///
    /// assert_eq!(Gather::<f32>::sources()[0].path(), "compaction/kernels/gather.cu");
    /// ```
    pub fn sources() -> Vec<Source> {
        vec![source::<I>(item_layout::<T>())]
    }

    /// Enqueues a gather: writes `items[indices[i]]` to `out[i]` for the first `count` indices.
    /// [`Count::All`] means all indices, however many items there are.
    ///
    /// `out` must have room for `count` items, or for as many as `indices` if the count is in device memory. Entries
    /// behind the result, and those whose index is not less than the number of items, keep their values. A device count
    /// larger than `indices` is clamped, and the workspace's `check` reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, gather::{Gather, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let gather = Gather::<[u8; 3]>::new(&cuda::Compiler::new(), &context)?;
    /// let mut workspace = Workspace::new(&stream)?;
    /// let colors = cuda::upload(&stream, &[[1_u8, 2, 3], [4, 5, 6]])?;
    /// let indices = cuda::upload(&stream, &[1_u32, 0])?;
    /// let mut out = cuda::zeroed::<[u8; 3]>(&stream, 2)?;
    /// gather.items(&stream, &colors, &indices, Count::All, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [[4, 5, 6], [1, 2, 3]]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a host count larger than `indices`;
    /// [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more indices of `u32`;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for a short `out`; and the errors of
    /// [`Kernel::launch`](crate::cuda::Kernel::launch).
    pub fn items<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        indices: impl IntoView<'a, I>,
        count: Count<'a, I>,
        out: impl IntoViewMut<'a, T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let items = items.into_view();
        let (limit, out) = (items.len(), out.into_view_mut());
        let room = out.len();
        let check = |capacity| check_room(NAMES.output, room, capacity);
        let buffers = (items, indices.into_view(), out);
        self.0
            .launch(&NAMES, stream, buffers, (count, limit), check, workspace)
    }
}

/// A scatter on a GPU: `out[indices[i]] = items[i]`. Thrust: `scatter`.
///
/// Items have type `T`, plain data of 1 to 64 bytes. Indices and counts have type `I`: `u32`, or `u64` for 2³² or more
/// items.
///
/// A call enqueues one launch on the caller's stream and returns. It allocates nothing and does not wait, so it can be
/// captured into a CUDA graph. Buffers are views that may start at any item of a larger buffer.
///
/// ```no_run
/// use compaction::{Count, cuda, gather::{Scatter, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let scatter = Scatter::<u32>::new(&cuda::Compiler::new(), &context)?;
/// let mut workspace = Workspace::new(&stream)?;
///
/// let items = cuda::upload(&stream, &[10_u32, 11, 12, 13])?;
/// let indices = cuda::upload(&stream, &[2_u32, 0, 3, 1])?;
/// let mut out = cuda::zeroed::<u32>(&stream, 4)?;
/// scatter.items(&stream, &items, &indices, Count::All, &mut out, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [11, 13, 10, 12]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("put"))]
#[derive(Debug)]
pub struct Scatter<T, I: CountWord = u32>(CopyKernel<T, I>);

impl<T: Pod, I: CountWord> Scatter<T, I> {
    /// Compiles the kernels for items with the size and alignment of `T`, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, gather::Scatter};
    ///
    /// let scatter = Scatter::<[f32; 3]>::new(&cuda::Compiler::new(), &cuda::open(0)?)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>) -> Result<Self> {
        CopyKernel::load(compiler, context, "scatter").map(Self)
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::gather::Scatter;
    ///
    /// assert_eq!(Scatter::<f32>::sources()[0].path(), "compaction/kernels/gather.cu");
    /// ```
    pub fn sources() -> Vec<Source> {
        vec![source::<I>(item_layout::<T>())]
    }

    /// Enqueues a scatter: writes `items[i]` to `out[indices[i]]` for the first `count` items. There are as many items
    /// as indices.
    ///
    /// Items whose index is not less than the length of `out` are skipped. Of items with
    /// [equal indices](crate::gather), the entry receives unspecified bytes. A device count larger than `indices` is
    /// clamped, and the workspace's `check` reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, gather::{Scatter, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let scatter = Scatter::<[u8; 3]>::new(&cuda::Compiler::new(), &context)?;
    /// let mut workspace = Workspace::new(&stream)?;
    /// let colors = cuda::upload(&stream, &[[1_u8, 2, 3], [4, 5, 6]])?;
    /// let indices = cuda::upload(&stream, &[1_u32, 0])?;
    /// let mut out = cuda::zeroed::<[u8; 3]>(&stream, 2)?;
    /// scatter.items(&stream, &colors, &indices, Count::All, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [[4, 5, 6], [1, 2, 3]]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a host count larger than `indices`;
    /// [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more indices of `u32`;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many items as indices; and the
    /// errors of [`Kernel::launch`](crate::cuda::Kernel::launch).
    pub fn items<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        indices: impl IntoView<'a, I>,
        count: Count<'a, I>,
        out: impl IntoViewMut<'a, T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let (items, indices) = (items.into_view(), indices.into_view());
        let (lengths, out) = ((items.len(), indices.len()), out.into_view_mut());
        let limit = out.len();
        let check = |_| check_len(SCATTERED, lengths.0, lengths.1);
        let buffers = (items, indices, out);
        let names = &SCATTER_NAMES;
        self.0
            .launch(names, stream, buffers, (count, limit), check, workspace)
    }
}
