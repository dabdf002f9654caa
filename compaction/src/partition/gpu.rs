//! The stable partition in two parts on a GPU.

use std::{alloc::Layout, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    BLOCK_THREADS, NAMES, TILE_ITEMS, Workspace,
    call::{CountPortions, IndexKernels, Indices, MoveIndices, PartitionCall},
    check_items,
    workspace::{BLOCKS_PER_MULTIPROCESSOR, two_launch_blocks, two_way_chunks},
};
use crate::{
    Count, CountWord, Movable, Result,
    arguments::{
        Call, Input, ItemCount, Operands, check_room, check_words, check_workspace, is_wide,
        room_for_count,
    },
    cuda::{
        self, Compiler, In, InOut, IntoView, IntoViewMut, Kernel, Launch, Module, Source,
        kernel_params,
    },
    look_back,
    select::{KernelsByLayout, item_constants, item_layout},
};

kernel_params! {
    /// The parameters of the kernel `partition_items`, with items as bytes.
    struct Items<'a> {
        items: In<u8>,
        flags: In<u8>,
        input: Input<'static>,
        out: InOut<u8>,
        selected: InOut<u32>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `partition_move_items`, with items as bytes.
    struct MoveItems<'a> {
        items: In<u8>,
        flags: In<u8>,
        input: Input<'static>,
        counts: In<u32>,
        out: InOut<u8>,
        selected: InOut<u32>,
        workspace: InOut<u64>,
    }
}

/// Returns the kernel file of [`Partition`], for indices and for items with this size and alignment.
fn source(layout: Layout) -> Source {
    let source = Source::new(
        "compaction/kernels/partition.cu",
        include_str!("../../kernels/partition.cu"),
    )
    .constant("BLOCK_THREADS", BLOCK_THREADS)
    .constant("BLOCKS_PER_MULTIPROCESSOR", BLOCKS_PER_MULTIPROCESSOR);
    look_back::declare(item_constants(source, layout))
        .kernel::<Indices<'static>>("partition_indices")
        .kernel::<Items<'static>>("partition_items")
        .kernel::<CountPortions<'static>>("partition_count")
        .kernel::<MoveIndices<'static>>("partition_move_indices")
        .kernel::<MoveIndices<'static>>("partition_move_wide_indices")
        .kernel::<MoveItems<'static>>("partition_move_items")
}

/// The stable partition in two parts on a GPU, by flags. CUB: `DevicePartition::Flagged`.
///
/// Each method enqueues its kernels on the caller's stream and returns: one launch, or two for counts or indices of
/// `u64`. A call allocates nothing, does not wait and reads no count back, so it can be captured into a CUDA graph.
/// Buffers are views that may start anywhere in a larger buffer: flags at any byte, items at any item.
///
/// ```no_run
/// use compaction::{Count, cuda, partition::{Partition, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let partition = Partition::new(&cuda::Compiler::new(), &context)?;
/// let mut workspace = Workspace::with_capacity(&stream, 6)?;
///
/// let flags = cuda::upload(&stream, &[0_u8, 1, 1, 0, 0, 1])?;
/// let mut out = cuda::zeroed::<u32>(&stream, 6)?;
/// let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
/// partition.indices(&stream, &flags, Count::Given(6), &mut out, &mut selected, &mut workspace)?;
/// assert_eq!(workspace.read(&stream, &selected)?, 3);
/// assert_eq!(cuda::download(&stream, &out)?, [1, 2, 5, 0, 3, 4]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DevicePartition", "stable_partition"))]
#[derive(Debug)]
pub struct Partition {
    compiler: Compiler,
    context: Arc<CudaContext>,
    multiprocessors: u32,
    indices: IndexKernels,
    items: KernelsByLayout,
}

/// The loaded kernels of [`Partition`] that move items of one size and alignment.
#[derive(Debug)]
struct ItemKernels {
    items: Kernel<Items<'static>>,
    move_items: Kernel<MoveItems<'static>>,
}

impl ItemKernels {
    fn of(module: &Module) -> Result<Self> {
        Ok(Self {
            items: module.kernel("partition_items")?,
            move_items: module.kernel("partition_move_items")?,
        })
    }
}

impl Partition {
    /// Compiles the kernels for indices and for items with the size and alignment of `u32`, or loads them if compiled
    /// earlier.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, partition::{Classes, Partition, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let partition = Partition::new(&Compiler::new(), &context)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>) -> Result<Self> {
        let layout = item_layout::<u32>();
        let module = compiler.load(context, &source(layout))?;
        let items = KernelsByLayout::default();
        items.get(layout, || ItemKernels::of(&module))?;
        Ok(Self {
            compiler: compiler.clone(),
            context: context.clone(),
            multiprocessors: cuda::multiprocessors(context)?,
            indices: IndexKernels::of(
                &module,
                [
                    "partition_indices",
                    "partition_count",
                    "partition_move_indices",
                    "partition_move_wide_indices",
                ],
            )?,
            items,
        })
    }

    /// Returns the kernel files for indices, and for items with the size and alignment of `T`, for an
    /// [`Archive`](cuda::Archive).
    ///
    /// A `T` of `u32` serves all types of its size and alignment, and is enough for indices.
    ///
    /// ```
    /// use compaction::partition::Partition;
    ///
    /// assert!(Partition::sources::<f64>()[0].path().ends_with("partition.cu"));
    /// ```
    pub fn sources<T: Movable>() -> Vec<Source> {
        vec![source(item_layout::<T>())]
    }

    /// Enqueues a partition that writes the indices of the nonzero flags to `out`, followed by the indices of the zero
    /// flags. The number of nonzero flags is written to `selected[0]`.
    ///
    /// Both parts keep their order. `out` must have room for `count` items, or for as many as `flags` if the count is
    /// in device memory. Entries behind the result keep their values. A device count larger than `flags` is clamped,
    /// and [`Workspace::check`] reports it.
    ///
    /// A call with `u32` for both indices and counts takes one launch. If either is `u64`, a call takes two. 2³² or
    /// more items need `u64` for both.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, partition::{Classes, Partition, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let partition = Partition::new(&Compiler::new(), &context)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 6)?;
    /// let flags = cuda::upload(&stream, &[0_u8, 1, 1, 0, 0, 1])?;
    /// let mut out = cuda::zeroed::<u32>(&stream, 6)?;
    /// let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
    /// partition.indices(&stream, &flags, Count::All, &mut out, &mut selected, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [1, 2, 5, 0, 3, 4]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a host count larger than `flags`;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more flags with indices or counts of `u32`;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for a short `out` or an empty `selected`;
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and the errors of [`Kernel::launch`].
    pub fn indices<'a, I: CountWord, W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        flags: impl IntoView<'a, u8>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, I>,
        selected: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let flags = &flags.into_view();
        let (out, selected) = (&mut out.into_view_mut(), &mut selected.into_view_mut());
        let buffers: &Operands<'_> = &[("flags", &flags), ("output", &out)];
        let call = self.call::<W>(stream, buffers, flags, count, selected, workspace)?;
        check_words::<I>(NAMES.output, call.item_count.capacity)?;
        check_room(NAMES.output, out.len(), call.item_count.capacity)?;
        let out = (cuda::reinterpret_mut(out)?, is_wide::<I>());
        let two = self.two_launches(call.item_count.capacity);
        self.indices
            .launch(stream, call, out, |capacity| self.one_launch(capacity), two)
    }

    /// Enqueues a partition that writes the items whose flag is nonzero to `out`, followed by the other items. The
    /// number of nonzero flags is written to `selected[0]`. Otherwise like [`indices`](Self::indices).
    ///
    /// There must be as many items as flags. `T` has 1 to 64 bytes; another size does not compile. Items are copied by
    /// the widest vectors of up to 16 bytes that their size and both buffers' alignment permit.
    ///
    /// The kernels for another size or alignment than that of `u32` are compiled at the first call. Call
    /// [`prepare`](Self::prepare) before, for example before a graph capture.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, partition::{Partition, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let partition = Partition::new(&cuda::Compiler::new(), &context)?;
    /// let mut workspace = Workspace::with_capacity(&stream, 4)?;
    ///
    /// let flags = cuda::upload(&stream, &[0_u8, 1, 0, 1])?;
    /// let items = cuda::upload(&stream, &[0.5_f64, 1.5, 2.5, 3.5])?;
    /// let mut out = cuda::zeroed::<f64>(&stream, 4)?;
    /// let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
    /// partition.items(&stream, &items, &flags, Count::All, &mut out, &mut selected, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [1.5, 3.5, 0.5, 2.5]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`indices`](Self::indices) and [`prepare`](Self::prepare), and
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many items as flags.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn items<'a, T: Movable, W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        flags: impl IntoView<'a, u8>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, T>,
        selected: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let (items, flags) = (&items.into_view(), &flags.into_view());
        let (out, selected) = (&mut out.into_view_mut(), &mut selected.into_view_mut());
        let buffers: &Operands<'_> = &[("items", &items), ("flags", &flags), ("output", &out)];
        let call = self.call(stream, buffers, flags, count, selected, workspace)?;
        let items = (cuda::reinterpret(items.slice(..))?, item_layout::<T>());
        self.items_as_bytes(stream, items, call, cuda::item_bytes(out.slice_mut(..)))
    }

    /// Enqueues the partition of [`items`](Self::items), for items given as bytes and a layout.
    fn items_as_bytes(
        &self,
        stream: &Arc<CudaStream>,
        (items, layout): (CudaView<'_, u8>, Layout),
        mut call: PartitionCall<'_>,
        out: CudaViewMut<'_, u8>,
    ) -> Result<()> {
        let kernels = self.item_kernels(layout)?;
        check_items(call.keys.len(), items.len() / layout.size())?;
        check_room(
            NAMES.output,
            out.len() / layout.size(),
            call.item_count.capacity,
        )?;
        if let Some(capacity) = call.capacity_of_one_launch() {
            let args = Items {
                items,
                flags: call.keys,
                input: call.item_count.input(),
                out,
                selected: call.selected,
                workspace: call.words,
            };
            return kernels
                .items
                .launch(stream, self.one_launch(capacity), args);
        }
        let launch = self.two_launches(call.item_count.capacity);
        self.indices.count(stream, &mut call, launch)?;
        let args = MoveItems {
            items,
            flags: call.keys,
            input: call.item_count.input(),
            counts: call.counts.as_view(),
            out,
            selected: call.selected,
            workspace: call.words,
        };
        kernels.move_items.launch(stream, launch, args)
    }

    /// Compiles the kernels of [`items`](Self::items) for the size and alignment of `T`, or loads them if compiled
    /// earlier.
    ///
    /// ```no_run
    /// # use compaction::{cuda, partition::Partition};
    /// # let context = cuda::open(0)?;
    /// let partition = Partition::new(&cuda::Compiler::new(), &context)?;
    /// partition.prepare::<f64>()?;
    /// // `items` now compiles nothing for items of 8 bytes aligned to 8, and can be captured.
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn prepare<T: Movable>(&self) -> Result<()> {
        self.item_kernels(item_layout::<T>()).map(drop)
    }

    fn item_kernels(&self, layout: Layout) -> Result<Arc<ItemKernels>> {
        self.items.get(layout, || {
            let module = self.compiler.load(&self.context, &source(layout))?;
            ItemKernels::of(&module)
        })
    }

    /// Checks the arguments of a call and collects those that its launches need. `buffers` names its buffers besides
    /// the counts.
    fn call<'a, W: CountWord>(
        &self,
        stream: &CudaStream,
        buffers: &Operands<'_>,
        flags: &'a CudaView<'_, u8>,
        count: Count<'a, W>,
        selected: &'a mut CudaViewMut<'_, W>,
        workspace: &'a mut Workspace,
    ) -> Result<PartitionCall<'a>> {
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: &self.context,
            buffers,
            count: count.operand(),
            written: Some(&selected),
            workspace: workspace.flags.home(),
        };
        let named = call.check()?;
        let room = workspace.capacity();
        let item_count = ItemCount::new(&NAMES, flags.len(), count, &workspace.dummy_count)?;
        let what = || "the items of partition".to_owned();
        check_workspace(what, room, item_count.capacity)?;
        Ok(PartitionCall {
            keys: flags.slice(..),
            item_count,
            selected: room_for_count(&NAMES, selected)?,
            words: workspace.flags.words.as_view_mut(),
            counts: workspace.flag_counts.as_view_mut(),
            _named: named,
        })
    }

    fn one_launch(&self, capacity: u32) -> Launch {
        let blocks = two_way_chunks(capacity, self.multiprocessors);
        Launch::blocks(blocks, BLOCK_THREADS)
    }

    fn two_launches(&self, capacity: usize) -> Launch {
        let max_blocks = BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors;
        let blocks = two_launch_blocks(capacity, TILE_ITEMS, max_blocks);
        Launch::blocks(blocks as u32, BLOCK_THREADS)
    }
}
