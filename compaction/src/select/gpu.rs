//! Stream compaction by flags on a GPU.

use std::{
    alloc::Layout,
    any::Any,
    sync::{Arc, Mutex, PoisonError},
};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    NAMES, Strategy, Workspace, check_item, check_items,
    method::{self, Method, SelectCall, What},
};
use crate::{
    Count, CountWord, Movable, Result,
    arguments::{Call, ItemCount, Operands, check_room, check_workspace, room_for_count},
    cuda::{self, Compiler, IntoView, IntoViewMut, Source},
    movable::all_ones,
};

/// Returns the size and alignment of `T`. Fails to compile unless `T` has 1 to 64 bytes, the sizes that the kernels
/// support.
///
/// The functions behind a generic one take this value instead of the type, so that they are compiled once.
pub(crate) const fn item_layout<T>() -> Layout {
    const { check_item::<T>() };
    Layout::new::<T>()
}

/// Kernels that are compiled on demand and kept, identified by the size and alignment of their items and by the Rust
/// type of the struct that holds them.
#[derive(Debug, Default)]
pub(crate) struct KernelsByLayout(Mutex<Vec<(Layout, Arc<dyn Any + Send + Sync>)>>);

impl KernelsByLayout {
    /// Returns the kernels of type `M` for items of a size and alignment. At the first use, `load` compiles them. Its
    /// error is returned but not kept, so that the next call tries again.
    pub(crate) fn get<M: Send + Sync + 'static>(
        &self,
        layout: Layout,
        load: impl FnOnce() -> Result<M>,
    ) -> Result<Arc<M>> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known()
            .iter()
            .filter(|(each, _)| *each == layout)
            .find_map(|(_, method)| method.clone().downcast::<M>().ok());
        if let Some(method) = found {
            return Ok(method);
        }
        // The lock is not held here, so other threads can look up theirs. If two compile the same kernels, either
        // result will do.
        let method = Arc::new(load()?);
        known().push((layout, method.clone()));
        Ok(method)
    }
}

/// Stream compaction by flags on a GPU, with one strategy: keeps flagged items or their indices. CUB:
/// `DeviceSelect::Flagged`.
///
/// Each method enqueues its kernels on the caller's stream and returns: one launch with the default strategy, up to
/// three with others. A call allocates nothing, does not wait and reads no count back, so it can be captured into a
/// CUDA graph. Buffers are views that may start anywhere in a larger buffer: flags at any byte, items at any item.
/// Buffers aligned to 16 bytes are read faster.
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
/// select.indices(&stream, &flags, Count::Given(6), &mut out, &mut selected, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &selected)?, [3]);
/// assert_eq!(cuda::download(&stream, &out)?[..3], [1, 2, 5]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias(
    "DeviceSelect",
    "DeviceSelect::Flagged",
    "copy_if",
    "compress",
    "flatnonzero"
))]
#[derive(Debug)]
pub struct Select {
    pub(super) strategy: Strategy,
    pub(super) compiler: Compiler,
    pub(super) context: Arc<CudaContext>,
    pub(super) indices: KernelsByLayout,
    pub(super) items: KernelsByLayout,
    pub(super) in_place: KernelsByLayout,
}

impl Select {
    /// Compiles the kernels of a strategy for indices and for items with the size and alignment of `u32`, with counts
    /// of `u32`, or loads them if compiled earlier.
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
    /// Returns the errors of [`Compiler::load`].
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        strategy: Strategy,
    ) -> Result<Self> {
        let select = Self {
            strategy,
            compiler: compiler.clone(),
            context: context.clone(),
            indices: KernelsByLayout::default(),
            items: KernelsByLayout::default(),
            in_place: KernelsByLayout::default(),
        };
        select.prepare::<u32, u32>()?;
        Ok(select)
    }

    /// Returns the kernel files of a strategy for indices and for items with the size and alignment of `T`, with counts
    /// of type `W`. An [`Archive`](cuda::Archive) can ship them.
    ///
    /// A `T` of `u32` serves all types of its size and alignment, and is enough for indices.
    ///
    /// ```
    /// use compaction::select::{Select, Strategy};
    ///
    /// let sources = Select::sources::<f64, u64>(Strategy::Sequences);
    /// assert_eq!(sources[0].path(), "compaction/kernels/select_sequences.cu");
    /// ```
    pub fn sources<T: Movable, W: CountWord>(strategy: Strategy) -> Vec<Source> {
        vec![method::source::<W>(strategy, item_layout::<T>())]
    }

    /// Returns the strategy that was passed to [`new`](Self::new).
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

    /// Enqueues a selection that writes the indices of the nonzero flags to `out`, and their number to `selected[0]`.
    ///
    /// The [`Strategy`] determines the order of the indices; the count is the same for all. Entries of `out` behind the
    /// result keep their values. If `out` is shorter than the result, it receives the first entries, and `selected[0]`
    /// is the full count: the result is `out.slice(..kept.min(out.len()))`. Only [`Strategy::Off`] needs room for all
    /// items. A device count larger than `flags` is clamped, and [`Workspace::check`] reports it.
    ///
    /// Indices and counts are words of 32 or 64 bits. With `u64` there may be 2³² or more flags: see
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
    /// select.indices(&stream, &flags, Count::All, &mut out, &mut selected, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?[..2], [0, 2]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a host count larger than `flags`;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more flags with `u32`;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for an empty `selected`, or with [`Strategy::Off`] for a
    /// short `out`;
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and the errors of
    /// [`Kernel::launch`](cuda::Kernel::launch) and [`prepare`](Self::prepare).
    pub fn indices<'a, W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        flags: impl IntoView<'a, u8>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, W>,
        selected: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let flags = &flags.into_view();
        let (out, selected) = (&mut out.into_view_mut(), &mut selected.into_view_mut());
        let method = self.indices_method::<W>()?;
        let buffers: &Operands<'_> = &[("flags", &flags), ("output", &out)];
        let mut call = self.call(stream, buffers, flags, count, selected, workspace)?;
        self.set_room(&mut call, out.len())?;
        // Kernels for indices read no items.
        let items = call.flags.slice(..0);
        method.launch(call, &items, &mut cuda::reinterpret_mut(out)?)
    }

    /// Enqueues a selection that writes the items whose flag is nonzero to `out`, and their number to `selected[0]`.
    /// Otherwise like [`indices`](Self::indices): `selected[0]` is the full count, also if `out` is shorter.
    ///
    /// There must be as many items as flags. `T` has 1 to 64 bytes; another size does not compile. Items are copied by
    /// the widest vectors of up to 16 bytes that their size and both buffers' alignment permit.
    ///
    /// The kernel for another size or alignment than that of `u32`, or for counts of `u64`, is compiled at the first
    /// call. Call [`prepare`](Self::prepare) before, for example before a graph capture.
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
    /// select.items(&stream, &items, &flags, Count::Given(3), &mut out, &mut selected, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?[..2], *b"ac");
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`indices`](Self::indices) and [`prepare`](Self::prepare);
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many items as flags; and with
    /// [`Strategy::Off`] [`Error::InvalidItem`](crate::Error::InvalidItem) if all-one bits are not a valid `T`.
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
        self.check_dropped::<T>()?;
        let items = (cuda::reinterpret(items.slice(..))?, item_layout::<T>());
        let out = cuda::item_bytes(out.slice_mut(..));
        self.items_as_bytes(stream, items, flags, count, out, selected, workspace)
    }

    /// Enqueues the selection of [`items`](Self::items), for items given as bytes and a layout.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    fn items_as_bytes<W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        (items, layout): (CudaView<'_, u8>, Layout),
        flags: &CudaView<'_, u8>,
        count: Count<'_, W>,
        mut out: CudaViewMut<'_, u8>,
        selected: &mut CudaViewMut<'_, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let method = self.items_method::<W>(layout)?;
        check_items(flags.len(), items.len() / layout.size())?;
        let buffers: &Operands<'_> = &[("items", &items), ("flags", &flags), ("output", &out)];
        let mut call = self.call(stream, buffers, flags, count, selected, workspace)?;
        self.set_room(&mut call, out.len() / layout.size())?;
        method.launch(call, &items, &mut out)
    }

    /// Compiles the kernels of [`indices`](Self::indices), and those of [`items`](Self::items) for the size and
    /// alignment of `T`, with counts of type `W`. Kernels compiled earlier are loaded.
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
    /// Returns the errors of [`Compiler::load`].
    pub fn prepare<T: Movable, W: CountWord>(&self) -> Result<()> {
        self.indices_method::<W>()?;
        self.items_method::<W>(item_layout::<T>()).map(drop)
    }

    fn indices_method<W: CountWord>(&self) -> Result<Arc<Method<W>>> {
        let layout = item_layout::<u32>();
        self.indices
            .get(layout, || self.load(What::Indices, layout))
    }

    fn items_method<W: CountWord>(&self, layout: Layout) -> Result<Arc<Method<W>>> {
        self.items.get(layout, || self.load(What::Items, layout))
    }

    fn load<W: CountWord>(&self, what: What, layout: Layout) -> Result<Method<W>> {
        let source = method::source::<W>(self.strategy, layout);
        let module = self.compiler.load(&self.context, &source)?;
        Method::of(&module, self.strategy, what)
    }

    /// Returns [`Error::InvalidItem`](crate::Error::InvalidItem) if the strategy replaces rejected items by all-one
    /// bits and these are not a valid `T`.
    pub(super) fn check_dropped<T: Movable>(&self) -> Result<()> {
        match self.strategy {
            Strategy::Off => all_ones::<T>().map(drop),
            _ => Ok(()),
        }
    }

    /// Sets the length of the output in items. Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if the
    /// strategy writes all items and the output is shorter.
    fn set_room<W: CountWord>(&self, call: &mut SelectCall<'_, W>, room: usize) -> Result<()> {
        call.room = room;
        match self.strategy {
            Strategy::Off => check_room(NAMES.output, room, call.item_count.capacity),
            _ => Ok(()),
        }
    }

    /// Checks the arguments of a call and collects those that all its launches need. `buffers` names its buffers
    /// besides the counts.
    pub(super) fn call<'a, W: CountWord>(
        &self,
        stream: &'a Arc<CudaStream>,
        buffers: &Operands<'_>,
        flags: &'a CudaView<'_, u8>,
        count: Count<'a, W>,
        selected: &'a mut CudaViewMut<'_, W>,
        workspace: &'a mut Workspace,
    ) -> Result<SelectCall<'a, W>> {
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: &self.context,
            buffers,
            count: count.operand(),
            written: Some(&selected),
            workspace: workspace.states.home(),
        };
        let named = call.check()?;
        let room = workspace.capacity_for::<W>(self.strategy);
        let portion = workspace.portion::<W>();
        let item_count = ItemCount::new(&NAMES, flags.len(), count, &workspace.dummy_count)?;
        let what = || format!("the items of select by {}", self.strategy);
        // Without room for an empty call, there is none for one item either.
        let needed = item_count.capacity.max(usize::from(room.is_none()));
        check_workspace(what, room.unwrap_or(0), needed)?;
        Ok(SelectCall {
            stream,
            flags: flags.slice(..),
            room: item_count.capacity,
            item_count,
            portion,
            selected: room_for_count(&NAMES, selected)?,
            words: workspace.states.words.as_view_mut(),
            scratch: workspace.scratch.as_view_mut(),
            _named: named,
        })
    }
}
