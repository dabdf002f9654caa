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

mod classes;
pub mod cpu;
mod workspace;

use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use crate::{
    Result,
    counting::{Counted, Names, check_room},
    cuda::{self, Compiler, In, InOut, Kernel, Launch, Source},
    layout::Shared,
    look_back,
    select::Count,
};

pub use classes::{CLASS_TILE_ITEMS, Classes};
pub use workspace::Workspace;
use workspace::{BLOCKS_PER_MULTIPROCESSOR, two_way_chunks};

/// Threads of a block.
const BLOCK_THREADS: u32 = 256;
/// Items that a block moves at a time on CUDA.
pub const TILE_ITEMS: u32 = 16 * BLOCK_THREADS;

/// The words of 4 bytes in the widest item.
const MOST_WORDS: usize = 16;

/// Refuses, when the program is compiled, items that the kernels do not take.
const fn check_item<T>() {
    let size = size_of::<T>();
    assert!(
        size >= 4 && size <= 4 * MOST_WORDS && size.is_multiple_of(4),
        "an item has 4 to 64 bytes, a multiple of 4"
    );
}

const NAMES: Names = Names {
    room: "partition",
    input: "the flags of partition",
    count: "the count that partition reads",
};

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
/// `(items, flags, count, capacity, is_given, out, selected, workspace)`, items in words
type Items = (
    In<u32>,
    In<u8>,
    In<u32>,
    u32,
    u32,
    InOut<u32>,
    InOut<u32>,
    InOut<u64>,
);

/// The kernels for indices and for items of `T`'s size. `u32` stands for every `T` of 4 bytes, and is all that indices
/// need.
pub fn source<T: Shared>() -> Source {
    const { check_item::<T>() };
    let source = Source::new(
        "compaction/kernels/partition.cu",
        include_str!("../kernels/partition.cu"),
    )
    .constant("BLOCK_THREADS", BLOCK_THREADS)
    .constant("ITEM_WORDS", (size_of::<T>() / 4) as u32)
    .constant("BLOCKS_PER_MULTIPROCESSOR", BLOCKS_PER_MULTIPROCESSOR);
    look_back::declare(source)
        .kernel::<Indices>("partition_indices")
        .kernel::<Items>("partition_items")
}

/// The partition in two on a GPU.
///
/// Its methods put one launch onto the caller's stream and return. They allocate nothing, wait for nothing, and read no
/// count back, so that they can be captured into a graph, and the graph be replayed. Buffers are borrowed views, which
/// may start anywhere in a larger buffer.
///
/// ```no_run
/// use compaction::{cuda, partition::{Partition, Workspace}, select::Count};
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
/// assert_eq!(cuda::download(&stream, &selected)?, [3]);
/// assert_eq!(cuda::download(&stream, &out)?, [1, 2, 5, 0, 3, 4]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Partition {
    compiler: Compiler,
    context: Arc<CudaContext>,
    multiprocessors: u32,
    indices: Kernel<Indices>,
    /// By the words of an item, less one. Filled when first needed.
    items: [OnceLock<Kernel<Items>>; MOST_WORDS],
}

impl Partition {
    /// Compiles, or finds compiled, the kernels for indices and for items of 4 bytes.
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>) -> Result<Self> {
        let module = compiler.load(context, &source::<u32>())?;
        let mut items = [const { OnceLock::new() }; MOST_WORDS];
        items[0] = OnceLock::from(module.kernel("partition_items")?);
        Ok(Self {
            compiler: compiler.clone(),
            context: context.clone(),
            multiprocessors: cuda::multiprocessors(context)?,
            indices: module.kernel("partition_indices")?,
            items,
        })
    }

    /// Writes the indices of the flags that are not zero to `out`, those of the others behind them, and how many the
    /// former are to `selected[0]`.
    ///
    /// Stable, in one launch. `out` has room for as many indices as there may be items; nothing is written behind them.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if there are fewer flags than a given count says, or no
    /// word in a count's view; [`Error::TooLong`](crate::Error::TooLong) for 2³² flags or more;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort);
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and those of [`Kernel::launch`].
    pub fn indices(
        &self,
        stream: &Arc<CudaStream>,
        flags: &CudaView<'_, u8>,
        count: Count<'_>,
        out: &mut CudaViewMut<'_, u32>,
        selected: &mut CudaViewMut<'_, u32>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let room = workspace.capacity();
        let counted = Counted::new(&NAMES, flags.len(), count, room, &workspace.no_limit)?;
        check_outputs(out.len(), selected.len(), counted.capacity)?;
        let args = (
            flags.slice(..),
            counted.count,
            counted.capacity,
            counted.is_given.into(),
            out.slice_mut(..),
            selected.slice_mut(..),
            workspace.flags.words.as_view_mut(),
        );
        self.indices
            .launch(stream, self.launch(counted.capacity), args)
    }

    /// Writes the items whose flag is not zero to `out`, the others behind them, and how many the former are to
    /// `selected[0]`.
    ///
    /// As [`indices`](Self::indices), for as many items as flags. `T` has 4 to 64 bytes, a multiple of 4; another size
    /// does not compile. The kernel for a size other than 4 is compiled when it is first needed, which takes a moment
    /// and has no place in a graph capture: [`prepare`](Self::prepare) does it ahead.
    ///
    /// # Errors
    ///
    /// Those of [`indices`](Self::indices) and of [`prepare`](Self::prepare);
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) as well if there are not as many items as flags;
    /// [`Error::Reinterpret`](crate::Error::Reinterpret) for items that do not lie on 4 bytes.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn items<T: Shared>(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        flags: &CudaView<'_, u8>,
        count: Count<'_>,
        out: &mut CudaViewMut<'_, T>,
        selected: &mut CudaViewMut<'_, u32>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let kernel = self.items_kernel::<T>()?;
        let room = workspace.capacity();
        let counted = Counted::new(&NAMES, flags.len(), count, room, &workspace.no_limit)?;
        check_items(flags.len(), items.len())?;
        check_outputs(out.len(), selected.len(), counted.capacity)?;
        let args = (
            cuda::reinterpret(items.slice(..))?,
            flags.slice(..),
            counted.count,
            counted.capacity,
            counted.is_given.into(),
            cuda::reinterpret_mut(out)?,
            selected.slice_mut(..),
            workspace.flags.words.as_view_mut(),
        );
        kernel.launch(stream, self.launch(counted.capacity), args)
    }

    /// Compiles, or finds compiled, what [`items`](Self::items) needs for items of `T`'s size.
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn prepare<T: Shared>(&self) -> Result<()> {
        self.items_kernel::<T>().map(drop)
    }

    fn items_kernel<T: Shared>(&self) -> Result<&Kernel<Items>> {
        const { check_item::<T>() };
        let slot = &self.items[size_of::<T>() / 4 - 1];
        if let Some(kernel) = slot.get() {
            return Ok(kernel);
        }
        let module = self.compiler.load(&self.context, &source::<T>())?;
        let kernel = module.kernel("partition_items")?;
        Ok(slot.get_or_init(|| kernel))
    }

    fn launch(&self, capacity: u32) -> Launch {
        Launch::blocks(
            two_way_chunks(capacity, self.multiprocessors),
            BLOCK_THREADS,
        )
    }
}

/// Refuses items that are not as many as their flags.
fn check_items(flags: usize, items: usize) -> Result<()> {
    if items != flags {
        return Err(crate::Error::LengthMismatch {
            what: "the items of partition",
            expected: flags,
            got: items,
        });
    }
    Ok(())
}

fn check_outputs(out: usize, selected: usize, capacity: u32) -> Result<()> {
    check_room("the output of partition", out, capacity as usize)?;
    check_room("the count that partition writes", selected, 1)
}
