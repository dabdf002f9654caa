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
//! Any number of items is taken. The word of the counts, and of the indices, says how many there may be: `u32` stands for
//! fewer than 2³² and one launch; `u64` for any number, in portions of 2³¹ items. Portions are launches one after the
//! other, of which each leaves in the [`Workspace`] how many were selected so far, so that nobody waits on the host:
//!
//! ```text
//! items      |     portion 0     |     portion 1     | 2  |
//! selected   0 ────────────────→ a ────────────────→ b ─→ c
//! ```
//!
//! What is selected may also be said by a [`Predicate`], a function in CUDA C++, instead of flags; and
//! [`Select::in_place`] moves the survivors to the front of their own buffer.

pub mod cpu;
mod in_place;
mod method;
mod predicate;
mod strategy;
pub(crate) mod workspace;

use std::{
    alloc::Layout,
    any::Any,
    sync::{Arc, Mutex, PoisonError},
};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use crate::{
    Count, CountWord, Result,
    counted::{Counted, Names, check_len, check_room, check_workspace, names, room_for_count},
    cuda::{self, Compiler, Source},
    layout::Shared,
};

pub(crate) use method::item_constants;
use method::{Call, Method, What};
pub use predicate::{Predicate, SelectIf};
pub use strategy::Strategy;
pub use workspace::Workspace;

/// Threads of a block.
const BLOCK_THREADS: u32 = 512;
/// Items of a block on CUDA: the flags of a thread are one load of 16 bytes. Every strategy but
/// [`Strategy::HoleFilling`] keeps the order within a tile; the CPU's runs are whole tiles.
///
/// ```
/// assert_eq!(compaction::select::TILE_ITEMS, 8192);
/// ```
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

const NAMES: Names = names!("select", "flags");

/// Refuses items that are not as many as their flags.
fn check_items(flags: usize, items: usize) -> Result<()> {
    check_len("the items of select", items, flags)
}

/// What has been compiled, by its type and the layout of the items.
#[derive(Debug, Default)]
pub(crate) struct Compiled(Mutex<Vec<(Layout, Arc<dyn Any + Send + Sync>)>>);

impl Compiled {
    /// What there is for items of `T`'s size and alignment, or what `load` makes when it is first needed.
    pub(crate) fn get<T, M: Send + Sync + 'static>(
        &self,
        load: impl FnOnce() -> Result<M>,
    ) -> Result<Arc<M>> {
        const { check_item::<T>() };
        let layout = Layout::new::<T>();
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known()
            .iter()
            .filter(|(each, _)| *each == layout)
            .find_map(|(_, method)| method.clone().downcast::<M>().ok());
        if let Some(method) = found {
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
/// Its methods put one launch (two or three by the strategies that say so) onto the caller's stream and return. They
/// allocate nothing, wait for nothing, and read no count back, so that they can be captured into a graph, and the graph
/// be replayed. Buffers are borrowed views, which may start anywhere in a larger buffer: flags at any byte, items at any
/// item. Buffers that start at 16 bytes are read faster.
///
/// ```no_run
/// use compaction::{Count, cuda, select::{Select, Strategy, Workspace}};
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
    indices: Compiled,
    items: Compiled,
    in_place: Compiled,
}

impl Select {
    /// Compiles, or finds compiled, the kernels for indices and for items of 4 bytes, counted by `u32`.
    ///
    /// ```no_run
    /// use compaction::{cuda, select::{Select, Strategy}};
    ///
    /// let compiler = cuda::Compiler::new();
    /// let select = Select::new(&compiler, &cuda::open(0)?, Strategy::default())?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        strategy: Strategy,
    ) -> Result<Self> {
        let select = Self {
            strategy,
            compiler: compiler.clone(),
            context: context.clone(),
            indices: Compiled::default(),
            items: Compiled::default(),
            in_place: Compiled::default(),
        };
        select.prepare::<u32, u32>()?;
        Ok(select)
    }

    /// The kernel files for indices, and for items of `T`'s size and alignment, counted by `W`: what an
    /// [`Archive`](cuda::Archive) ships. `u32` stands for every `T` like it, and is all that indices need.
    ///
    /// ```
    /// use compaction::select::{Select, Strategy};
    ///
    /// let sources = Select::sources::<f64, u64>(Strategy::Sequences);
    /// assert_eq!(sources[0].path(), "compaction/kernels/select_sequences.cu");
    /// ```
    pub fn sources<T: Shared, W: CountWord>(strategy: Strategy) -> Vec<Source> {
        vec![method::source::<T, W>(strategy)]
    }

    /// How it selects.
    ///
    /// ```no_run
    /// use compaction::{cuda, select::{Select, Strategy}};
    ///
    /// let select = Select::new(&cuda::Compiler::new(), &cuda::open(0)?, Strategy::Atomic)?;
    /// assert_eq!(select.strategy(), Strategy::Atomic);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Writes the indices of the flags that are not zero to `out`, and how many there are to `selected[0]`.
    ///
    /// By the default one pass over the flags, in one launch. Order and determinism are the [`Strategy`]'s; the count is
    /// the same for all. `out` has room for as many indices as there may be items, and is left as it was behind the
    /// result.
    ///
    /// Indices and counts are words of 32 bits or of 64. With `u64` there may be 2³² flags and more: see
    /// [`select`](crate::select).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, select::{Select, Strategy, Workspace}};
    /// # let (context, compiler) = (cuda::open(0)?, cuda::Compiler::new());
    /// # let stream = context.default_stream();
    /// # let select = Select::new(&compiler, &context, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let flags = cuda::upload(&stream, &[1_u8, 0, 1])?;
    /// let mut out = cuda::zeroed::<u64>(&stream, 3)?;
    /// let mut selected = cuda::zeroed::<u64>(&stream, 1)?;
    /// let (mut to, mut count) = (out.as_view_mut(), selected.as_view_mut());
    /// select.indices(&stream, &flags.as_view(), Count::All, &mut to, &mut count, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?[..2], [0, 2]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for a given count of more flags than there are; [`Error::LengthMismatch`](crate::Error::LengthMismatch) for a count on the
    /// device without a word; [`Error::Uncountable`](crate::Error::Uncountable) for 2³² flags or more and `u32`; [`Error::OutputTooShort`](crate::Error::OutputTooShort); [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall);
    /// and those of [`Kernel::launch`](cuda::Kernel::launch) and of [`prepare`](Self::prepare).
    pub fn indices<W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        flags: &CudaView<'_, u8>,
        count: Count<'_, W>,
        out: &mut CudaViewMut<'_, W>,
        selected: &mut CudaViewMut<'_, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let method = self.indices_method::<W>()?;
        let call = self.call(stream, flags, count, selected, workspace)?;
        check_room(NAMES.output, out.len(), call.capacity)?;
        // Nobody reads items.
        let items = call.flags.slice(..0);
        method.launch(call, &items, &mut cuda::reinterpret_mut(out)?)
    }

    /// Writes the items whose flag is not zero to `out`, and how many there are to `selected[0]`.
    ///
    /// As [`indices`](Self::indices), for as many items as flags. `T` has 1 to 64 bytes; another size does not compile.
    /// They are copied by the widest vectors, of up to 16 bytes, that they are made of and on which both buffers lie.
    ///
    /// The kernel for another size or alignment than a `u32`'s, or other counts than `u32`, is compiled when it is first
    /// needed, which takes a moment and has no place in a graph capture: [`prepare`](Self::prepare) does it ahead.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, select::{Select, Strategy, Workspace}};
    /// # let (context, compiler) = (cuda::open(0)?, cuda::Compiler::new());
    /// # let stream = context.default_stream();
    /// # let select = Select::new(&compiler, &context, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let items = cuda::upload(&stream, b"abc")?;
    /// let flags = cuda::upload(&stream, &[1_u8, 0, 1])?;
    /// let mut out = cuda::zeroed::<u8>(&stream, 3)?;
    /// let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
    /// select.items(
    ///     &stream,
    ///     &items.as_view(),
    ///     &flags.as_view(),
    ///     Count::Given(3),
    ///     &mut out.as_view_mut(),
    ///     &mut selected.as_view_mut(),
    ///     &mut workspace,
    /// )?;
    /// assert_eq!(cuda::download(&stream, &out)?[..2], *b"ac");
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`indices`](Self::indices) and of [`prepare`](Self::prepare); [`Error::LengthMismatch`](crate::Error::LengthMismatch) as well if
    /// there are not as many items as flags.
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
        let method = self.items_method::<T, W>()?;
        check_items(flags.len(), items.len())?;
        let items = cuda::reinterpret(items.slice(..))?;
        let call = self.call(stream, flags, count, selected, workspace)?;
        check_room(NAMES.output, out.len(), call.capacity)?;
        method.launch(call, &items, &mut cuda::reinterpret_mut(out)?)
    }

    /// Compiles, or finds compiled, what [`indices`](Self::indices), and [`items`](Self::items) of `T`'s size and
    /// alignment, need to count by `W`.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::{Select, Strategy}};
    /// # let select = Select::new(&cuda::Compiler::new(), &cuda::open(0)?, Strategy::LookBack)?;
    /// select.prepare::<f64, u32>()?; // before a graph capture that moves items of 8 bytes
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn prepare<T: Shared, W: CountWord>(&self) -> Result<()> {
        self.indices_method::<W>()?;
        self.items_method::<T, W>().map(drop)
    }

    fn indices_method<W: CountWord>(&self) -> Result<Arc<Method<W>>> {
        self.indices
            .get::<u32, _>(|| self.load::<u32, W>(What::Indices))
    }

    fn items_method<T: Shared, W: CountWord>(&self) -> Result<Arc<Method<W>>> {
        self.items.get::<T, _>(|| self.load::<T, W>(What::Items))
    }

    fn load<T: Shared, W: CountWord>(&self, what: What) -> Result<Method<W>> {
        let source = method::source::<T, W>(self.strategy);
        let module = self.compiler.load(&self.context, &source)?;
        Method::of(&module, self.strategy, what)
    }

    /// What all launches of a call are told.
    fn call<'a, W: CountWord>(
        &self,
        stream: &'a Arc<CudaStream>,
        flags: &'a CudaView<'_, u8>,
        count: Count<'a, W>,
        selected: &'a mut CudaViewMut<'_, W>,
        workspace: &'a mut Workspace,
    ) -> Result<Call<'a, W>> {
        let room = workspace.capacity_for(self.strategy);
        let portion = workspace.portion::<W>();
        let counted = Counted::new(&NAMES, flags.len(), count, &workspace.unread)?;
        let what = || format!("the items of select by {}", self.strategy);
        check_workspace(what, room, counted.capacity)?;
        Ok(Call {
            stream,
            flags: flags.slice(..),
            count: cuda::reinterpret(counted.count)?,
            is_given: counted.is_given,
            capacity: counted.capacity,
            portion,
            selected: room_for_count(&NAMES, selected)?,
            words: workspace.states.words.as_view_mut(),
            scratch: workspace.scratch.as_view_mut(),
        })
    }
}
