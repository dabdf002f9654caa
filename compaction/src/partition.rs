//! `partition`: puts what is selected first and what is rejected behind it, or every class behind the one before it.
//!
//! ```text
//! flags      0  1  1  0  0  1       one byte an item; not zero: selected
//! items      a  b  c  d  e  f
//!
//! items   →  b  c  f  a  d  e       all of them, both parts in their order
//! count   →  3                      where the rejected begin
//!
//! keys       2  0  1  0  2  0       one byte an item: its class
//! indices →  1  3  5  2  0  4       ordered by class, each class in its order
//! starts  →  0  3  4  6             where each class begins, and where the last ends
//! ```
//!
//! On the CPU, [`cpu`] writes into slices. On a GPU, a [`Partition`] goes by flags and [`Classes`] by keys, on a stream;
//! the counts stay in device memory, where the next operation reads them. Both give the same, bit for bit, and the same
//! in every run.
//!
//! Where the rejected begin, and where each class does, is known only when all are counted. One launch does both, count
//! and move: flags and keys are read twice, the second time from the GPU's cache if they fit there, and the items once.
//! Bytes that move for n items of s bytes: 2n + 4n for indices, 2n + 2sn for items. By keys it is a multisplit
//! (S. Ashkiani, A. Davidson, U. Meyer and J. D. Owens, "GPU Multisplit", PPoPP 2016).
//!
//! ```text
//! block 0   count its chunk ─┐                ┌─ wait for all counts ─ move its chunk
//! block 1   count its chunk ─┤ device memory ─┤
//! block 2   count its chunk ─┘                └─ ...
//! ```
//!
//! A block that waits has counted before, so all counts come whatever else runs, and none of them waits for another: a
//! single pass with look-back, as [`select`](crate::select) is, would have to know where the rejected begin before it
//! has seen the end. With words of 64 bits for counts or indices, and so for 2³² items and more, it is two launches, one
//! to count and one to move.
//!
//! To choose: [`Partition`] if both parts go on, [`select`](crate::select) if one does (it reads the flags once);
//! [`Classes`] for materials, say; [`radix_sort`](crate::radix_sort) for keys of more than a byte.

mod classes;
pub mod cpu;
mod workspace;

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use crate::{
    Count, CountWord, Result,
    counted::{
        Counted, Names, check_len, check_room, check_words, check_workspace, count_words, is_wide,
        names, room_for_count,
    },
    cuda::{self, Compiler, In, InOut, Kernel, Launch, Module, Source},
    layout::Shared,
    look_back,
    select::{Compiled, check_item, item_constants},
};

pub use classes::{CLASS_TILE_ITEMS, Classes};
pub use workspace::Workspace;
use workspace::{BLOCKS_PER_MULTIPROCESSOR, portions, two_way_chunks};

/// Threads of a block.
const BLOCK_THREADS: u32 = 256;
/// Items that a block moves at a time on CUDA.
///
/// ```
/// assert_eq!(compaction::partition::TILE_ITEMS, 4096);
/// ```
pub const TILE_ITEMS: u32 = 16 * BLOCK_THREADS;

const NAMES: Names = names!("partition", "flags");

/// `(flags, count, capacity, is_given, out, selected, workspace)`
type Indices = (
    In<u8>,
    In<u32>,
    u32,
    u32,
    InOut<u32>,
    InOut<u32>,
    InOut<u64>,
);
/// `(items, flags, count, capacity, is_given, out, selected, workspace)`, items in bytes
type Items = (
    In<u8>,
    In<u8>,
    In<u32>,
    u32,
    u32,
    InOut<u8>,
    InOut<u32>,
    InOut<u64>,
);
/// `(flags or keys, count, count_words, capacity, is_given, counts, workspace)`
type CountPortions = (In<u8>, In<u32>, u32, u64, u32, InOut<u32>, InOut<u64>);
/// `(flags or keys, count, count_words, capacity, is_given, counts, out, selected or starts, workspace)`, indices in bytes
type MoveIndices = (
    In<u8>,
    In<u32>,
    u32,
    u64,
    u32,
    In<u32>,
    InOut<u8>,
    InOut<u32>,
    InOut<u64>,
);
/// As [`MoveIndices`], behind the items in bytes.
type MoveItems = (
    In<u8>,
    In<u8>,
    In<u32>,
    u32,
    u64,
    u32,
    In<u32>,
    InOut<u8>,
    InOut<u32>,
    InOut<u64>,
);

/// The kernel file for indices, and for items of `T`'s size and alignment.
fn source<T: Shared>() -> Source {
    const { check_item::<T>() };
    let source = Source::new(
        "compaction/kernels/partition.cu",
        include_str!("../kernels/partition.cu"),
    )
    .constant("BLOCK_THREADS", BLOCK_THREADS)
    .constant("BLOCKS_PER_MULTIPROCESSOR", BLOCKS_PER_MULTIPROCESSOR);
    look_back::declare(item_constants::<T>(source))
        .kernel::<Indices>("partition_indices")
        .kernel::<Items>("partition_items")
        .kernel::<CountPortions>("partition_count")
        .kernel::<MoveIndices>("partition_move_indices")
        .kernel::<MoveIndices>("partition_move_wide_indices")
        .kernel::<MoveItems>("partition_move_items")
}

/// The partition in two on a GPU.
///
/// Its methods put one launch onto the caller's stream and return, two for counts or indices in `u64`. They allocate
/// nothing, wait for nothing, and read no count back, so that they can be captured into a graph, and the graph be
/// replayed. Buffers are borrowed views, which may start anywhere in a larger buffer: flags at any byte, items at any
/// item.
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
/// partition.indices(
///     &stream,
///     &flags.as_view(),
///     Count::Given(6),
///     &mut out.as_view_mut(),
///     &mut selected.as_view_mut(),
///     &mut workspace,
/// )?;
/// assert_eq!(workspace.read(&stream, &selected.as_view())?, 3);
/// assert_eq!(cuda::download(&stream, &out)?, [1, 2, 5, 0, 3, 4]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Partition {
    compiler: Compiler,
    context: Arc<CudaContext>,
    multiprocessors: u32,
    indices: Kernel<Indices>,
    count: Kernel<CountPortions>,
    /// Indices in words of 4 bytes and of 8.
    move_indices: [Kernel<MoveIndices>; 2],
    items: Compiled,
}

/// The kernels for items of one size and alignment.
#[derive(Debug)]
struct ItemKernels {
    items: Kernel<Items>,
    move_items: Kernel<MoveItems>,
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
    /// Compiles, or finds compiled, the kernels for indices and for items like `u32`.
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
    /// What [`Compiler::load`] says.
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>) -> Result<Self> {
        let module = compiler.load(context, &source::<u32>())?;
        let items = Compiled::default();
        items.get::<u32, _>(|| ItemKernels::of(&module))?;
        Ok(Self {
            compiler: compiler.clone(),
            context: context.clone(),
            multiprocessors: cuda::multiprocessors(context)?,
            indices: module.kernel("partition_indices")?,
            count: module.kernel("partition_count")?,
            move_indices: [
                module.kernel("partition_move_indices")?,
                module.kernel("partition_move_wide_indices")?,
            ],
            items,
        })
    }

    /// The kernel files for indices, and for items of `T`'s size and alignment: what an [`Archive`](cuda::Archive) ships.
    /// `u32` stands for every `T` like it, and is all that indices need.
    ///
    /// ```
    /// use compaction::partition::Partition;
    ///
    /// assert!(Partition::sources::<f64>()[0].path().ends_with("partition.cu"));
    /// ```
    pub fn sources<T: Shared>() -> Vec<Source> {
        vec![source::<T>()]
    }

    /// Writes the indices of the flags that are not zero to `out`, those of the others behind them, and how many the
    /// former are to `selected[0]`.
    ///
    /// Stable. `out` has room for as many indices as there may be items; nothing is written behind them. Indices and
    /// counts, also one on the device, are `u32`, in one launch, or `u64`, in two: from 2³² items on they have to be.
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
    /// partition.indices(
    ///     &stream,
    ///     &flags.as_view(),
    ///     Count::All,
    ///     &mut out.as_view_mut(),
    ///     &mut selected.as_view_mut(),
    ///     &mut workspace,
    /// )?;
    /// assert_eq!(cuda::download(&stream, &out)?, [1, 2, 5, 0, 3, 4]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for a given count of more flags than there are;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for a count on the device without a word;
    /// [`Error::Uncountable`](crate::Error::Uncountable) for 2³² flags or more and words of
    /// `u32`; [`Error::OutputTooShort`](crate::Error::OutputTooShort);
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and those of [`Kernel::launch`].
    pub fn indices<I: CountWord, W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        flags: &CudaView<'_, u8>,
        count: Count<'_, W>,
        out: &mut CudaViewMut<'_, I>,
        selected: &mut CudaViewMut<'_, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let call = Self::call::<W>(flags, count, selected, workspace)?;
        check_words::<I>(NAMES.output, call.capacity)?;
        check_room(NAMES.output, out.len(), call.capacity)?;
        match (u32::try_from(call.capacity), is_wide::<I>()) {
            (Ok(capacity), false) if !is_wide::<W>() => {
                let launch = self.launch(capacity);
                let args = (
                    call.flags,
                    call.count,
                    capacity,
                    call.is_given,
                    cuda::reinterpret_mut(out)?,
                    call.selected,
                    call.words,
                );
                self.indices.launch(stream, launch, args)
            }
            (_, wide) => {
                let (mut call, launch) = self.count(stream, call)?;
                let args = (
                    call.flags.slice(..),
                    call.count.slice(..),
                    call.count_words,
                    call.capacity as u64,
                    call.is_given,
                    call.counts.as_view(),
                    cuda::reinterpret_mut(out)?,
                    call.selected.slice_mut(..),
                    call.words.slice_mut(..),
                );
                self.move_indices[usize::from(wide)].launch(stream, launch, args)
            }
        }
    }

    /// Writes the items whose flag is not zero to `out`, the others behind them, and how many the former are to
    /// `selected[0]`.
    ///
    /// As [`indices`](Self::indices), for as many items as flags. `T` has 1 to 64 bytes; another size does not compile.
    /// They are copied by the widest vectors, of up to 16 bytes, that they are made of and on which both buffers lie.
    ///
    /// The kernels for another size or alignment than a `u32`'s are compiled when they are first needed, which takes a
    /// moment and has no place in a graph capture: [`prepare`](Self::prepare) does it ahead.
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
    /// partition.items(
    ///     &stream,
    ///     &items.as_view(),
    ///     &flags.as_view(),
    ///     Count::All,
    ///     &mut out.as_view_mut(),
    ///     &mut selected.as_view_mut(),
    ///     &mut workspace,
    /// )?;
    /// assert_eq!(cuda::download(&stream, &out)?, [1.5, 3.5, 0.5, 2.5]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`indices`](Self::indices) and of [`prepare`](Self::prepare);
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) as well if there are not as many items as flags.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn items<T: Shared, W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        flags: &CudaView<'_, u8>,
        count: Count<'_, W>,
        out: &mut CudaViewMut<'_, T>,
        selected: &mut CudaViewMut<'_, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let kernels = self.item_kernels::<T>()?;
        check_items(flags.len(), items.len())?;
        let call = Self::call::<W>(flags, count, selected, workspace)?;
        check_room(NAMES.output, out.len(), call.capacity)?;
        let items = cuda::reinterpret(items.slice(..))?;
        let out = cuda::reinterpret_mut(out)?;
        match u32::try_from(call.capacity) {
            Ok(capacity) if !is_wide::<W>() => {
                let launch = self.launch(capacity);
                let args = (
                    items,
                    call.flags,
                    call.count,
                    capacity,
                    call.is_given,
                    out,
                    call.selected,
                    call.words,
                );
                kernels.items.launch(stream, launch, args)
            }
            _ => {
                let (mut call, launch) = self.count(stream, call)?;
                let args = (
                    items,
                    call.flags.slice(..),
                    call.count.slice(..),
                    call.count_words,
                    call.capacity as u64,
                    call.is_given,
                    call.counts.as_view(),
                    out,
                    call.selected.slice_mut(..),
                    call.words.slice_mut(..),
                );
                kernels.move_items.launch(stream, launch, args)
            }
        }
    }

    /// Compiles, or finds compiled, what [`items`](Self::items) needs for items like `T`.
    ///
    /// ```no_run
    /// # use compaction::{cuda, partition::Partition};
    /// # let context = cuda::open(0)?;
    /// let partition = Partition::new(&cuda::Compiler::new(), &context)?;
    /// partition.prepare::<f64>()?;
    /// // From here on `items` compiles nothing for items of 8 bytes on 8, and can be captured.
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn prepare<T: Shared>(&self) -> Result<()> {
        self.item_kernels::<T>().map(drop)
    }

    fn item_kernels<T: Shared>(&self) -> Result<Arc<ItemKernels>> {
        self.items.get::<T, _>(|| {
            let module = self.compiler.load(&self.context, &source::<T>())?;
            ItemKernels::of(&module)
        })
    }

    fn call<'a, W: CountWord>(
        flags: &'a CudaView<'_, u8>,
        count: Count<'a, W>,
        selected: &'a mut CudaViewMut<'_, W>,
        workspace: &'a mut Workspace,
    ) -> Result<Call<'a>> {
        let room = workspace.capacity();
        let counted = Counted::new(&NAMES, flags.len(), count, &workspace.unread)?;
        let what = || "the items of partition".to_owned();
        check_workspace(what, room, counted.capacity)?;
        Ok(Call {
            flags: flags.slice(..),
            count: counted.count,
            count_words: count_words::<W>(),
            capacity: counted.capacity,
            is_given: counted.is_given.into(),
            selected: room_for_count(&NAMES, selected)?,
            words: workspace.flags.words.as_view_mut(),
            counts: workspace.flag_counts.as_view_mut(),
        })
    }

    fn launch(&self, capacity: u32) -> Launch {
        Launch::blocks(
            two_way_chunks(capacity, self.multiprocessors),
            BLOCK_THREADS,
        )
    }

    /// The first of two launches. Gives back what the second one needs.
    fn count<'a>(
        &self,
        stream: &Arc<CudaStream>,
        mut call: Call<'a>,
    ) -> Result<(Call<'a>, Launch)> {
        let most = BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors;
        let blocks = portions(call.capacity, TILE_ITEMS, most);
        let launch = Launch::blocks(blocks as u32, BLOCK_THREADS);
        let args = (
            call.flags.slice(..),
            call.count.slice(..),
            call.count_words,
            call.capacity as u64,
            call.is_given,
            call.counts.slice_mut(..),
            call.words.slice_mut(..),
        );
        self.count.launch(stream, launch, args)?;
        Ok((call, launch))
    }
}

/// What the launches of a call are told.
struct Call<'a> {
    flags: CudaView<'a, u8>,
    count: CudaView<'a, u32>,
    count_words: u32,
    capacity: usize,
    is_given: u32,
    selected: CudaViewMut<'a, u32>,
    words: CudaViewMut<'a, u64>,
    counts: CudaViewMut<'a, u32>,
}

/// Refuses items that are not as many as their flags.
fn check_items(flags: usize, items: usize) -> Result<()> {
    check_len("the items of partition", items, flags)
}
