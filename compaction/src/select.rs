//! `select`: keeps what is flagged.
//!
//! ```text
//! flags      0  1  1  0  0  1       one byte an item; not zero: selected
//! items      a  b  c  d  e  f
//!
//! indices →  1  2  5                where the flags are set
//! items   →  b  c  f                the items there
//! count   →  3
//! ```
//!
//! On the CPU, [`cpu::indices`] and [`cpu::items`] write into slices. On a GPU, a [`Select`] does it on a stream, and
//! leaves the count in device memory, where the next operation reads it: [`Count::Device`]. Both give the same, bit for
//! bit, wherever the [`Strategy`] keeps the order.
//!
//! The default, [`Strategy::LookBack`], is a single pass over the flags (D. Merrill and M. Garland, "Single-pass
//! Parallel Prefix Scan with Decoupled Look-back", NVIDIA technical report NVR-2016-002, 2016), in one launch without
//! any set-up. Bytes that move for n items of s bytes of which k are selected: n + 4k for indices; n + 4n + 4k for
//! items of 4 bytes, which are read together with their flags; n + 2sk for wider ones, whose dead are never read.

pub mod cpu;
mod workspace;

use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use crate::{
    Error, Result, Strategy,
    cuda::{self, Compiler, In, InOut, Kernel, Launch, Source},
    layout::Shared,
    look_back,
};

pub use workspace::Workspace;

/// Threads of a block.
const BLOCK_THREADS: u32 = 256;
/// Items of a thread: four words of flags, whose four counts are added up in one word.
const ITEMS_PER_THREAD: u32 = 16;
/// Items of a block on CUDA. Every strategy keeps the order within a tile; the CPU's runs are whole tiles.
pub const TILE_ITEMS: u32 = BLOCK_THREADS * ITEMS_PER_THREAD;

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

/// Refuses lengths that do not fit together: `needed` items may be written.
fn check_lengths(flags: usize, items: usize, out: usize, needed: usize) -> Result<()> {
    if flags > u32::MAX as usize {
        return Err(Error::TooLong {
            what: "the flags of select",
            len: flags,
            max: u32::MAX as usize,
        });
    }
    if items != flags {
        return Err(Error::LengthMismatch {
            what: "the items of select",
            expected: flags,
            got: items,
        });
    }
    if out < needed {
        return Err(Error::OutputTooShort {
            what: "the output of select",
            needed,
            got: out,
        });
    }
    Ok(())
}

/// How many items there are.
#[derive(Debug)]
pub enum Count<'a> {
    /// As many as there are, and may be 2³² or more where an operation takes so many.
    All,
    /// As many as the host says.
    Given(u32),
    /// As many as a word of device memory says when the GPU gets there, at most as many as there are flags.
    Device(CudaView<'a, u32>),
}

/// `(flags, count, capacity, out, selected, workspace)`
type Indices = (In<u8>, In<u32>, u32, InOut<u32>, InOut<u32>, InOut<u64>);
/// `(items, flags, count, capacity, out, selected, workspace)`, items in words
type Items = (
    In<u32>,
    In<u8>,
    In<u32>,
    u32,
    InOut<u32>,
    InOut<u32>,
    InOut<u64>,
);

/// The names of a strategy's kernels: for indices, for items.
fn kernels(strategy: Strategy) -> (&'static str, &'static str) {
    match strategy {
        Strategy::LookBack => ("select_indices_look_back", "select_items_look_back"),
        Strategy::Atomic => ("select_indices_atomic", "select_items_atomic"),
        Strategy::Off => ("select_indices_off", "select_items_off"),
    }
}

/// The kernel file of all strategies, for indices and items of `T`'s size: what a [`Select`] compiles, and what an
/// [`Archive`](cuda::Archive) ships. `u32` stands for every `T` of 4 bytes, and is all that indices need.
pub fn source<T: Shared>() -> Source {
    const { check_item::<T>() };
    let source = Source::new(
        "compaction/kernels/select.cu",
        include_str!("../kernels/select.cu"),
    )
    .constant("BLOCK_THREADS", BLOCK_THREADS)
    .constant("ITEMS_PER_THREAD", ITEMS_PER_THREAD)
    .constant("ITEM_WORDS", (size_of::<T>() / 4) as u32);
    let source = look_back::declare(source);
    Strategy::ALL.iter().fold(source, |source, &strategy| {
        let (indices, items) = kernels(strategy);
        source.kernel::<Indices>(indices).kernel::<Items>(items)
    })
}

/// The selection on a GPU, by one strategy.
///
/// Its methods put one launch onto the caller's stream and return. They allocate nothing, wait for nothing, and read no
/// count back, so that they can be captured into a graph, and the graph be replayed. Buffers are borrowed views, which
/// may start anywhere in a larger buffer: flags at any byte, items at any item. Buffers that start at 16 bytes are read
/// faster.
///
/// ```no_run
/// use compaction::{Strategy, cuda, select::{Count, Select, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let select = Select::new(&cuda::Compiler::new(), &context, Strategy::LookBack)?;
/// let mut workspace = Workspace::with_capacity(&stream, 6)?;
///
/// let flags = cuda::upload(&stream, &[0_u8, 1, 1, 0, 0, 1])?;
/// let mut out = cuda::zeroed::<u32>(&stream, 6)?;
/// let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
/// select.indices(
///     &stream,
///     &flags.as_view(),
///     Count::Given(6),
///     &mut out.as_view_mut(),
///     &mut selected.as_view_mut(),
///     &mut workspace,
/// )?;
/// assert_eq!(cuda::download(&stream, &selected)?, [3]);
/// assert_eq!(cuda::download(&stream, &out)?[..3], [1, 2, 5]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Select {
    strategy: Strategy,
    compiler: Compiler,
    context: Arc<CudaContext>,
    indices: Kernel<Indices>,
    /// By the words of an item, less one. Filled when first needed.
    items: [OnceLock<Kernel<Items>>; MOST_WORDS],
}

impl Select {
    /// Compiles, or finds compiled, the kernels for indices and for items of 4 bytes.
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        strategy: Strategy,
    ) -> Result<Self> {
        let module = compiler.load(context, &source::<u32>())?;
        let (indices, words) = kernels(strategy);
        let mut items = [const { OnceLock::new() }; MOST_WORDS];
        items[0] = OnceLock::from(module.kernel(words)?);
        Ok(Self {
            strategy,
            compiler: compiler.clone(),
            context: context.clone(),
            indices: module.kernel(indices)?,
            items,
        })
    }

    /// How it selects.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Writes the indices of the flags that are not zero to `out`, and how many there are to `selected[0]`.
    ///
    /// One pass over the flags, in one launch. Order and determinism are the [`Strategy`]'s; the count is the same for
    /// all. `out` has room for as many indices as there may be items, and is left as it was behind the result.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are fewer flags than a given count says, or no word in a count's view;
    /// [`Error::TooLong`] for 2³² flags or more; [`Error::OutputTooShort`]; [`Error::WorkspaceTooSmall`]; and those
    /// of [`Kernel::launch`].
    pub fn indices(
        &self,
        stream: &Arc<CudaStream>,
        flags: &CudaView<'_, u8>,
        count: Count<'_>,
        out: &mut CudaViewMut<'_, u32>,
        selected: &mut CudaViewMut<'_, u32>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let capacity = capacity(flags.len(), &count)?;
        check_lengths(flags.len(), flags.len(), out.len(), capacity as usize)?;
        let common = Common::new(capacity, count, selected, workspace)?;
        let args = (
            flags.slice(..),
            common.count,
            capacity,
            out.slice_mut(..),
            common.selected,
            common.words,
        );
        self.indices.launch(stream, launch(capacity), args)
    }

    /// Writes the items whose flag is not zero to `out`, and how many there are to `selected[0]`.
    ///
    /// As [`indices`](Self::indices), for as many items as flags. `T` has 4 to 64 bytes, a multiple of 4; another size
    /// does not compile. The kernel for a size other than 4 is compiled when it is first needed, which takes a moment
    /// and has no place in a graph capture: [`prepare`](Self::prepare) does it ahead.
    ///
    /// # Errors
    ///
    /// Those of [`indices`](Self::indices) and of [`prepare`](Self::prepare); [`Error::LengthMismatch`] as well if
    /// there are not as many items as flags; [`Error::Reinterpret`] for items that do not lie on 4 bytes.
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
        let capacity = capacity(flags.len(), &count)?;
        check_lengths(flags.len(), items.len(), out.len(), capacity as usize)?;
        let common = Common::new(capacity, count, selected, workspace)?;
        let args = (
            cuda::reinterpret(items.slice(..))?,
            flags.slice(..),
            common.count,
            capacity,
            cuda::reinterpret_mut(out)?,
            common.selected,
            common.words,
        );
        kernel.launch(stream, launch(capacity), args)
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
        let kernel = module.kernel(kernels(self.strategy).1)?;
        Ok(slot.get_or_init(|| kernel))
    }
}

/// The most items that there may be.
fn capacity(flags: usize, count: &Count<'_>) -> Result<u32> {
    match *count {
        Count::Given(items) if items as usize > flags => Err(Error::LengthMismatch {
            what: "the flags of select",
            expected: items as usize,
            got: flags,
        }),
        Count::Given(items) => Ok(items),
        // A longer view than can be counted is refused with all other lengths.
        Count::All | Count::Device(_) => Ok(u32::try_from(flags).unwrap_or(u32::MAX)),
    }
}

/// A block for every tile that there may be, and one to say that there is none.
fn launch(capacity: u32) -> Launch {
    Launch::blocks(capacity.div_ceil(TILE_ITEMS).max(1), BLOCK_THREADS)
}

/// The arguments that both operations have.
struct Common<'a> {
    count: CudaView<'a, u32>,
    selected: CudaViewMut<'a, u32>,
    words: CudaViewMut<'a, u64>,
}

impl<'a> Common<'a> {
    fn new(
        capacity: u32,
        count: Count<'a>,
        selected: &'a mut CudaViewMut<'_, u32>,
        workspace: &'a mut Workspace,
    ) -> Result<Self> {
        if workspace.capacity() < capacity {
            return Err(Error::WorkspaceTooSmall {
                what: "select",
                needed: capacity as usize,
                got: workspace.capacity() as usize,
            });
        }
        if selected.is_empty() {
            return Err(Error::OutputTooShort {
                what: "the count that select writes",
                needed: 1,
                got: 0,
            });
        }
        let count = match count {
            Count::All | Count::Given(_) => workspace.no_limit.as_view(),
            Count::Device(count) if !count.is_empty() => count,
            Count::Device(_) => {
                return Err(Error::LengthMismatch {
                    what: "the count that select reads",
                    expected: 1,
                    got: 0,
                });
            }
        };
        Ok(Self {
            count,
            selected: selected.slice_mut(..),
            words: workspace.states.words.as_view_mut(),
        })
    }
}
