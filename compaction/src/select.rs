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
//! any set-up. Bytes that move for n items of s bytes of which k are selected: n + 4k for indices, n + 2sk for items,
//! whose dropped ones are not read where whole sectors of 32 bytes are dropped.
//!
//! The methods that came before it are here as well, to be compared; each takes three launches, the middle one a scan of
//! counts (by look-back):
//!
//! ```text
//! count-scan-scatter   blocks count │ scan of the counts  │ every item: its block's begin + its rank by ballots
//! sequences            warps count  │ scan of the counts  │ every warp compacts its run of items
//! scan-scatter         scan of all flags, by blocks │ of the blocks' sums │ every item: both added
//! ```
//!
//! * D. Spataro, cuStreamComp, 2014.
//! * M. Billeter, O. Olsson and U. Assarsson, "Efficient Stream Compaction on Wide SIMD Many-Core Architectures", High
//!   Performance Graphics 2009.
//! * M. Harris, S. Sengupta and J. D. Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU Gems 3, chapter 39, 2007.
//!
//! [`Strategy::HoleFilling`] gives up the order, and so moves little:
//!
//! ```text
//! flags      1  0  1  1  0  1  1    five survive: two holes among the first five places, two survivors behind
//! items      a  b  c  d  e  f  g
//! items   →  a  g  c  d  f          the last survivor fills the first hole
//! ```
//!
//! What is selected may also be said by a [`Predicate`], a function in CUDA C++, instead of flags; and
//! [`Select::in_place`] moves the survivors to the front of their own buffer.

pub mod cpu;
mod in_place;
mod method;
mod predicate;
pub(crate) mod workspace;

use std::{
    alloc::Layout,
    sync::{Arc, Mutex, PoisonError},
};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut};

use crate::{
    Error, Result, Strategy,
    cuda::{self, Compiler, Source},
    layout::Shared,
};

pub(crate) use method::item_constants;
use method::{Call, Method, What};
pub use predicate::{Predicate, SelectIf};
pub use workspace::Workspace;

/// Threads of a block.
const BLOCK_THREADS: u32 = 512;
/// Items of a block on CUDA: the flags of a thread are one load of 16 bytes. Every strategy but
/// [`Strategy::HoleFilling`] keeps the order within a tile; the CPU's runs are whole tiles.
pub const TILE_ITEMS: u32 = 16 * BLOCK_THREADS;
/// Items of a block of scan-scatter.
const SECTION_ITEMS: u32 = 2 * BLOCK_THREADS;
/// Sequences that the items are cut into at most: as many warps as the largest GPUs of today run at once.
const MOST_SEQUENCES: u32 = 8192;
/// Items of the shortest tiles in place, of the widest items.
const IN_PLACE_LEAST_ITEMS: u32 = BLOCK_THREADS;

/// Refuses, when the program is compiled, items that the kernels do not take.
pub(crate) const fn check_item<T>() {
    let size = size_of::<T>();
    assert!(size >= 1 && size <= 64, "an item has 1 to 64 bytes");
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
    /// As many as a word of device memory says when the GPU gets there, at most as many as there are flags: a word that
    /// says more counts as that many, and [`Workspace::read`] reports it.
    Device(CudaView<'a, u32>),
}

/// The kernel file of the default strategy, of `atomic` and of `off`, for indices and items of `T`'s size and alignment:
/// what an [`Archive`](cuda::Archive) ships. `u32` stands for every `T` like it, and is all that indices need.
pub fn source<T: Shared>() -> Source {
    method::source::<T>(Strategy::default())
}

/// All kernel files of a strategy, for indices and items of `T`'s size and alignment, in place and not.
pub fn sources<T: Shared>(strategy: Strategy) -> Vec<Source> {
    let mut sources = vec![method::source::<T>(strategy)];
    if matches!(strategy, Strategy::LookBack | Strategy::Off) {
        sources.push(in_place::source::<T>());
    }
    sources
}

/// What has been compiled, by the layout of the items.
#[derive(Debug)]
pub(crate) struct Compiled<M>(Mutex<Vec<(Layout, Arc<M>)>>);

impl<M> Default for Compiled<M> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<M> Compiled<M> {
    /// What there is for items of `T`'s size and alignment, or what `load` makes when it is first needed.
    pub(crate) fn get<T>(&self, load: impl FnOnce() -> Result<M>) -> Result<Arc<M>> {
        const { check_item::<T>() };
        let layout = Layout::new::<T>();
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().iter().find(|(each, _)| *each == layout).cloned();
        if let Some((_, method)) = found {
            return Ok(method);
        }
        // Meanwhile others may look for theirs. If two make the same, either will do.
        let method = Arc::new(load()?);
        known().push((layout, method.clone()));
        Ok(method)
    }
}

/// The selection on a GPU, by one strategy.
///
/// Its methods put one launch (two or three by the strategies that say so) onto the caller's stream and return. They allocate nothing, wait for nothing, and read no
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
    indices: Method,
    items: Compiled<Method>,
    in_place: Compiled<in_place::Method>,
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
        let module = compiler.load(context, &method::source::<u32>(strategy))?;
        let select = Self {
            strategy,
            compiler: compiler.clone(),
            context: context.clone(),
            indices: Method::of(&module, strategy, What::Indices)?,
            items: Compiled::default(),
            in_place: Compiled::default(),
        };
        select
            .items
            .get::<u32>(|| Method::of(&module, strategy, What::Items))?;
        Ok(select)
    }

    /// How it selects.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Writes the indices of the flags that are not zero to `out`, and how many there are to `selected[0]`.
    ///
    /// By the default one pass over the flags, in one launch. Order and determinism are the [`Strategy`]'s; the count is the same for
    /// all. `out` has room for as many indices as there may be items, and is left as it was behind the result.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are fewer flags than a given count says, or no word in a count's view;
    /// [`Error::TooLong`] for 2³² flags or more; [`Error::OutputTooShort`]; [`Error::WorkspaceTooSmall`]; and those
    /// of [`Kernel::launch`](cuda::Kernel::launch).
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
        let (call, unread) = self.call(stream, flags, capacity, count, selected, workspace)?;
        let unread = cuda::reinterpret(unread)?;
        self.indices
            .launch(call, &unread, &mut cuda::reinterpret_mut(out)?)
    }

    /// Writes the items whose flag is not zero to `out`, and how many there are to `selected[0]`.
    ///
    /// As [`indices`](Self::indices), for as many items as flags. `T` has 1 to 64 bytes; another size does not compile.
    /// They are copied by the widest vectors, of up to 16 bytes, that they are made of and on which both buffers lie.
    ///
    /// The kernel for another size or alignment than a `u32`'s is compiled when it is first needed, which takes a moment
    /// and has no place in a graph capture: [`prepare`](Self::prepare) does it ahead.
    ///
    /// # Errors
    ///
    /// Those of [`indices`](Self::indices) and of [`prepare`](Self::prepare); [`Error::LengthMismatch`] as well if
    /// there are not as many items as flags.
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
        let method = self.items_method::<T>()?;
        let capacity = capacity(flags.len(), &count)?;
        check_lengths(flags.len(), items.len(), out.len(), capacity as usize)?;
        let items = cuda::reinterpret(items.slice(..))?;
        let (call, _) = self.call(stream, flags, capacity, count, selected, workspace)?;
        method.launch(call, &items, &mut cuda::reinterpret_mut(out)?)
    }

    /// Compiles, or finds compiled, what [`items`](Self::items) needs for items of `T`'s size and alignment.
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn prepare<T: Shared>(&self) -> Result<()> {
        self.items_method::<T>().map(drop)
    }

    fn items_method<T: Shared>(&self) -> Result<Arc<Method>> {
        self.items.get::<T>(|| {
            let source = method::source::<T>(self.strategy);
            let module = self.compiler.load(&self.context, &source)?;
            Method::of(&module, self.strategy, What::Items)
        })
    }

    /// What all launches of a call are told, and a view to stand for items that nobody reads.
    fn call<'a>(
        &self,
        stream: &'a Arc<CudaStream>,
        flags: &'a CudaView<'_, u8>,
        capacity: u32,
        count: Count<'a>,
        selected: &'a mut CudaViewMut<'_, u32>,
        workspace: &'a mut Workspace,
    ) -> Result<(Call<'a>, CudaView<'a, u32>)> {
        let is_small = workspace.capacity() < capacity
            || workspace.scratch.len() < workspace::scratch_words(self.strategy, capacity);
        if is_small {
            return Err(Error::WorkspaceTooSmall {
                what: self.strategy.name(),
                needed: capacity as usize,
                got: workspace.capacity_for(self.strategy) as usize,
            });
        }
        let Workspace {
            words,
            scratch,
            unread,
            ..
        } = workspace;
        let unread: &'a CudaSlice<u32> = unread;
        let (count, is_given) = told(count, unread)?;
        let call = Call {
            stream,
            flags: flags.slice(..),
            count,
            is_given,
            capacity,
            selected: room_for_count(selected)?,
            words: words.as_view_mut(),
            scratch: scratch.as_view_mut(),
        };
        Ok((call, unread.as_view()))
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

/// The count as a kernel is told it: where it is, and whether it is given instead.
fn told<'a>(count: Count<'a>, unread: &'a CudaSlice<u32>) -> Result<(CudaView<'a, u32>, u32)> {
    match count {
        Count::All | Count::Given(_) => Ok((unread.as_view(), 1)),
        Count::Device(count) if !count.is_empty() => Ok((count, 0)),
        Count::Device(_) => Err(Error::LengthMismatch {
            what: "the count that select reads",
            expected: 1,
            got: 0,
        }),
    }
}

/// Refuses an empty view for the number of the selected.
fn room_for_count<'a>(selected: &'a mut CudaViewMut<'_, u32>) -> Result<CudaViewMut<'a, u32>> {
    if selected.is_empty() {
        return Err(Error::OutputTooShort {
            what: "the count that select writes",
            needed: 1,
            got: 0,
        });
    }
    Ok(selected.slice_mut(..))
}
