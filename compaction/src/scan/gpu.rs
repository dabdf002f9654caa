//! Scans on a GPU.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    Item, MAX_ITEMS, NAMES, Operator, Strategy, Workspace,
    call::ScanCall,
    look_ahead,
    passes::{self, Passes, ScanMethod},
};
use crate::{
    Count, CountWord, Result,
    arguments::{Call, ItemCount, check_range, check_room, check_workspace},
    cuda::{self, Compiler, IntoView, IntoViewMut, Source},
};

/// A scan (prefix sum) on a GPU with one operator and one strategy. CUB: `DeviceScan`.
///
/// Items have type `T`. Counts have type `W`: `u32`, or `u64` for 2³² or more items.
///
/// Each method enqueues its kernels on the caller's stream and returns: one launch by [`Strategy::LookBack`], several
/// by the other strategies. A call allocates nothing and does not wait, so it can be captured into a CUDA graph.
/// Buffers are views that may start at any item of a larger buffer; views aligned to 16 bytes are processed faster.
///
/// ```no_run
/// use compaction::{Count, cuda, scan::{Operator, Scan, Strategy, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
/// let mut workspace = Workspace::with_capacity(&stream, 5)?;
///
/// let items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
/// let mut out = cuda::zeroed(&stream, 5)?;
/// scan.exclusive(&stream, &items, Count::All, &mut out, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [0, 3, 4, 8, 9]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias(
    "DeviceScan",
    "ExclusiveSum",
    "InclusiveSum",
    "exclusive_scan",
    "inclusive_scan",
    "prefix_sum",
    "cumsum"
))]
#[derive(Debug)]
pub struct Scan<T: Item, W: CountWord = u32> {
    operator: Operator,
    strategy: Strategy,
    passes: Passes<T>,
    word: PhantomData<fn(W)>,
}

impl<T: Item, W: CountWord> Scan<T, W> {
    /// Compiles the kernels for `T`, `operator` and counts of type `W`, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, scan::{Operator, Scan, Strategy}};
    ///
    /// let scan = Scan::<f32>::new(&cuda::Compiler::new(), &cuda::open(0)?, Operator::Max, Strategy::Raking)?;
    /// assert_eq!((scan.operator(), scan.strategy()), (Operator::Max, Strategy::Raking));
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
        strategy: Strategy,
    ) -> Result<Self> {
        Ok(Self {
            operator,
            strategy,
            passes: Passes::new::<W>(compiler, context, operator, strategy)?,
            word: PhantomData,
        })
    }

    /// Returns the kernel files that [`new`](Self::new) needs with any strategy, for an
    /// [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::scan::{Operator, Scan};
    ///
    /// assert_eq!(Scan::<f32>::sources(Operator::Max)[0].path(), "compaction/kernels/scan.cu");
    /// ```
    pub fn sources(operator: Operator) -> Vec<Source> {
        vec![passes::source::<T, W>(operator)]
    }

    /// Returns the kernel files by which [`Strategy::LookBack`] scans long inputs on GPUs of compute capability 9.0 or
    /// later.
    ///
    /// They do not compile for older GPUs. [`new`](Self::new) uses them where they are available and works without them
    /// elsewhere.
    ///
    /// ```
    /// use compaction::scan::{Operator, Scan};
    ///
    /// let sources = Scan::<u32>::sources_look_ahead(Operator::Sum);
    /// assert!(sources[0].text()?.contains("scan_look_ahead"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn sources_look_ahead(operator: Operator) -> Vec<Source> {
        vec![look_ahead::source::<T, W>(operator)]
    }

    /// Sets the number of tiles from which [`Strategy::LookBack`] uses `scan_look_ahead`, the kernel for long inputs
    /// aligned to 16 bytes. Does nothing for other strategies, or if that kernel is not available. For tests.
    #[doc(hidden)]
    pub fn look_ahead_from(&mut self, tiles: usize) {
        if let ScanMethod::LookBack(_, Some(look_ahead)) = &mut self.passes.method {
            look_ahead.from_tiles = tiles;
        }
    }

    /// Returns the operator that combines the items.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::<u32>::with_capacity(&stream, 5)?;
    /// assert_eq!(scan.operator(), Operator::Sum);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// Returns the strategy that was passed to [`new`](Self::new).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::<u32>::with_capacity(&stream, 5)?;
    /// assert_eq!(scan.strategy(), Strategy::LookBack);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Enqueues a scan that writes to `out`, for each item, the combination of all items before it. The first result is
    /// the operator's identity.
    ///
    /// `out` must have room for `count` items, or for as many as `items` if the count is in device memory. Entries
    /// behind the result keep their values. A device count larger than `items` is clamped, and [`Workspace::check`]
    /// reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::<u32>::with_capacity(&stream, 5)?;
    /// let items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
    /// let mut out = cuda::zeroed(&stream, 5)?;
    /// scan.exclusive(&stream, &items, Count::All, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [0, 3, 4, 8, 9]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a host count larger than `items`, or for more than
    /// 2³⁸ items; [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more items with counts of `u32`;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for a short `out`;
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and the errors of
    /// [`Kernel::launch`](crate::cuda::Kernel::launch).
    pub fn exclusive<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, T>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let items = &items.into_view();
        let out = &mut out.into_view_mut();
        self.scan(stream, items, count, out, false, workspace)
    }

    /// Enqueues a scan that writes to `out`, for each item, the combination of all items up to and including it.
    /// Otherwise like [`exclusive`](Self::exclusive).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
    /// let items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
    /// let mut out = cuda::zeroed(&stream, 5)?;
    /// // The count is read from device memory; the rest of `out` keeps its values.
    /// let count = cuda::upload(&stream, &[3])?;
    /// let counted = Count::on_device(&count);
    /// scan.inclusive(&stream, &items, counted, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [3, 4, 8, 0, 0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`exclusive`](Self::exclusive).
    pub fn inclusive<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, T>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let items = &items.into_view();
        let out = &mut out.into_view_mut();
        self.scan(stream, items, count, out, true, workspace)
    }

    /// Enqueues a scan that replaces each item by the combination of all items before it. The first result is the
    /// operator's identity. Otherwise like [`exclusive`](Self::exclusive).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
    /// let mut items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
    /// scan.exclusive_in_place(&stream, &mut items, Count::All, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &items)?, [0, 3, 4, 8, 9]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`exclusive`](Self::exclusive).
    pub fn exclusive_in_place<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoViewMut<'a, T>,
        count: Count<'a, W>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let items = &mut items.into_view_mut();
        // Every kernel reads an item before any thread overwrites it.
        let (items, mut out) = cuda::read_and_write(items);
        self.scan(stream, &items, count, &mut out, false, workspace)
    }

    /// Enqueues a scan that replaces each item by the combination of all items up to and including it. Otherwise like
    /// [`exclusive`](Self::exclusive).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Max, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
    /// let mut items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
    /// scan.inclusive_in_place(&stream, &mut items, Count::All, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &items)?, [3, 3, 4, 4, 5]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`exclusive`](Self::exclusive).
    pub fn inclusive_in_place<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoViewMut<'a, T>,
        count: Count<'a, W>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let items = &mut items.into_view_mut();
        let (items, mut out) = cuda::read_and_write(items);
        self.scan(stream, &items, count, &mut out, true, workspace)
    }

    /// Checks the arguments of a call and enqueues its launches.
    fn scan(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        count: Count<'_, W>,
        out: &mut CudaViewMut<'_, T>,
        inclusive: bool,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.passes.context(),
            buffers: &[("items", &items), ("output", &out)],
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let room = workspace.capacity_for(self.strategy);
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy_count)?;
        let capacity = item_count.capacity;
        check_room(NAMES.output, out.len(), capacity)?;
        check_range(NAMES.input, capacity, 0, MAX_ITEMS)?;
        let what = || format!("the items of scan by {}", self.strategy);
        check_workspace(what, room, capacity)?;
        let call = ScanCall {
            stream,
            items: items.slice(..),
            item_count,
            inclusive,
        };
        let (scratch, states) = (&mut workspace.scratch, &mut workspace.states.words);
        self.passes.launch(&call, out, scratch, states)
    }
}
