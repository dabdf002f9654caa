//! The merge sort on a GPU.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};

use super::{
    NAMES, Workspace,
    kernel_source::{
        BLOCK_THREADS, Buckets, Kernels, LARGE_BLOCKS, Large, Move, OfLevel, Plan, SCAN_ITEMS,
        Scan, SortTables, first_splitter_blocks, scratch_bytes, source,
    },
};
use crate::{
    Count, CountWord, Error, Result,
    arguments::{Call, ItemCount, check_room, check_workspace},
    cuda::{self, Compiler, IntoView, IntoViewMut, Launch, Source, in_quotes},
    layout::Shared,
};

/// A comparison in CUDA C++: source text that defines `bool before(Item, Item)`, where `Item` is the CUDA name of the
/// item type. Parameters may also be `const Item &`.
///
/// The function says whether its first argument belongs before the second one. It is a strict weak order, like `<`. If
/// the items are structs, the text also defines the struct, whose layout is checked against Rust.
///
/// ```
/// use compaction::merge_sort::Comparison;
///
/// let by_last_digit = Comparison::new("digit.cuh", "bool before(u32 a, u32 b) { return a % 10 < b % 10; }");
/// assert_eq!(by_last_digit.path(), "digit.cuh");
/// ```
#[doc(alias("compare_op"))]
#[derive(Clone, Debug)]
pub struct Comparison {
    path: String,
    text: String,
}

impl Comparison {
    /// Creates a comparison from its source text. `path` names it in error messages.
    ///
    /// ```
    /// use compaction::merge_sort::Comparison;
    ///
    /// let falling = Comparison::new("falling.cuh", "bool before(f32 a, f32 b) { return a > b; }");
    /// ```
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }

    /// Returns the path that names the comparison in error messages.
    ///
    /// ```
    /// # use compaction::merge_sort::Comparison;
    /// let rising = Comparison::new("rising.cuh", "bool before(i64 a, i64 b) { return a < b; }");
    /// assert_eq!(rising.path(), "rising.cuh");
    /// ```
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// A merge sort on a GPU by one [`Comparison`], for items of type `T`. CUB: `DeviceMergeSort`.
///
/// Items have up to 128 bytes. Counts have type `W`: `u32`, or `u64` for 2³² or more items.
///
/// A call enqueues its kernels on the caller's stream and returns: two launches that sort buckets, and four for each
/// level of them. It allocates nothing and does not wait, so it can be captured into a CUDA graph. Buffers are views
/// that may start at any item of a larger buffer. The input is not changed.
///
/// ```no_run
/// use compaction::{Count, cuda, merge_sort::{Comparison, MergeSort, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let by_last_digit = Comparison::new("digit.cuh", "bool before(u32 a, u32 b) { return a % 10 < b % 10; }");
/// let sort = MergeSort::<u32>::new(&cuda::Compiler::new(), &context, &by_last_digit)?;
/// let mut workspace = Workspace::with_capacity(&stream, 5)?;
///
/// let items = cuda::upload(&stream, &[31_u32, 42, 61, 20, 52])?;
/// let mut out = cuda::zeroed(&stream, 5)?;
/// sort.items(&stream, &items, Count::All, &mut out, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [20, 31, 61, 42, 52]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceMergeSort", "StableSortKeys", "stable_sort"))]
#[derive(Debug)]
pub struct MergeSort<T: Shared, W: CountWord = u32> {
    kernels: Kernels<T>,
    word: PhantomData<fn(W)>,
}

impl<T: Shared, W: CountWord> MergeSort<T, W> {
    /// Compiles the kernels with the comparison, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, merge_sort::{Comparison, MergeSort}};
    ///
    /// let falling = Comparison::new("falling.cuh", "bool before(f32 a, f32 b) { return a > b; }");
    /// let sort = MergeSort::<f32>::new(&cuda::Compiler::new(), &cuda::open(0)?, &falling)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Compile`] with the comparison's path and the compiler's log if it does not compile, and
    /// otherwise the errors of [`Compiler::load`].
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        comparison: &Comparison,
    ) -> Result<Self> {
        let module = compiler
            .load(context, &source::<T, W>(&comparison.path, &comparison.text))
            .map_err(|error| match error {
                Error::Compile { log, .. } => Error::Compile {
                    kernel: format!(
                        "{}, which is to define bool before({}, {}),",
                        in_quotes(&comparison.path),
                        T::NAME,
                        T::NAME
                    ),
                    log,
                },
                other => other,
            })?;
        Ok(Self {
            kernels: Kernels::of(&module)?,
            word: PhantomData,
        })
    }

    /// Returns the kernel files with this comparison, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::merge_sort::{Comparison, MergeSort};
    ///
    /// let rising = Comparison::new("rising.cuh", "bool before(u8 a, u8 b) { return a < b; }");
    /// assert!(MergeSort::<u8>::sources(&rising)[0].text()?.contains("#define Item u8"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn sources(comparison: &Comparison) -> Vec<Source> {
        vec![source::<T, W>(&comparison.path, &comparison.text)]
    }

    /// Enqueues a sort that writes the items to `out`. Items of which neither belongs before the other keep their
    /// order.
    ///
    /// `out` must have room for `count` items, or for as many as `items` if the count is in device memory. Entries
    /// behind the result keep their values. A device count larger than `items` is clamped, and the workspace's `check`
    /// reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, merge_sort::{Comparison, MergeSort, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let falling = Comparison::new("falling.cuh", "bool before(f32 a, f32 b) { return a > b; }");
    /// let sort = MergeSort::<f32>::new(&cuda::Compiler::new(), &context, &falling)?;
    /// let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let items = cuda::upload(&stream, &[0.5_f32, 2.0, 1.0])?;
    /// let mut out = cuda::zeroed(&stream, 3)?;
    /// sort.items(&stream, &items, Count::All, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [2.0, 1.0, 0.5]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`] for a host count larger than `items`; [`Error::Uncountable`] for 2³² or more items
    /// with counts of `u32`; [`Error::LengthMismatch`] for an empty view of a device count; [`Error::OutputTooShort`]
    /// for a short `out`; [`Error::WorkspaceTooSmall`]; and the errors of
    /// [`Kernel::launch`](crate::cuda::Kernel::launch).
    pub fn items<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, T>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let items = items.into_view();
        let mut out = out.into_view_mut();
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.kernels.buckets.context(),
            buffers: &[("items", &items), ("output", &out)],
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let Workspace {
            states,
            scratch,
            dummy_count,
            capacity: room,
            ..
        } = workspace;
        let item_count = ItemCount::new(&NAMES, items.len(), count, dummy_count)?;
        let capacity = item_count.capacity;
        check_workspace(|| NAMES.input.to_owned(), *room, capacity)?;
        check_room(NAMES.output, out.len(), capacity)?;
        let plan = Plan::of::<T>(capacity);
        let mut words = states.words.as_view_mut();
        let mut scratch = scratch.as_view_mut();
        let [copy, counts, begins, next_begins, splitters, positions, _] =
            scratch_bytes::<T>(*room);
        let (mut copy, mut rest) = scratch.split_at_mut(copy);
        let (mut counts, mut rest) = rest.split_at_mut(counts);
        let (mut begins, mut rest) = rest.split_at_mut(begins);
        let (mut next_begins, mut rest) = rest.split_at_mut(next_begins);
        let (mut splitters, mut rest) = rest.split_at_mut(splitters);
        let (mut positions, mut buckets) = rest.split_at_mut(positions);
        // The workspace may be for more items, so that its bytes need not be whole ones of this call.
        let mut copy = copy.slice_mut(..capacity * size_of::<T>());
        let mut copy = cuda::reinterpret_mut::<u8, T>(&mut copy)?;
        let mut tables = SortTables {
            begins: cuda::reinterpret_mut(&mut begins)?,
            next_begins: cuda::reinterpret_mut(&mut next_begins)?,
            counts: cuda::reinterpret_mut(&mut counts)?,
            splitters: splitters.slice_mut(..),
            positions: cuda::reinterpret_mut(&mut positions)?,
            buckets: cuda::reinterpret_mut(&mut buckets)?,
        };
        for number in 0..plan.levels {
            let level = plan.level(number);
            let slots = plan.slots(&level);
            let blocks = |blocks: usize| Launch::blocks(blocks as u32, BLOCK_THREADS);
            // The last level writes to `out`, the one before it to the copy, and so on.
            let to_out = (plan.levels - number) % 2 == 1;
            let from = match (number, to_out) {
                (0, _) => items.slice(..),
                (_, true) => copy.as_view(),
                (_, false) => out.as_view(),
            };
            let args = OfLevel {
                items: from.slice(..),
                input: item_count.input(),
                level,
                tables: tables.borrow(),
                workspace: words.slice_mut(..),
            };
            let (splitters, launch) = match number {
                0 => (&self.kernels.first_splitters, first_splitter_blocks::<T>()),
                _ => (&self.kernels.splitters, level.segments as usize),
            };
            splitters.launch(stream, blocks(launch), args)?;
            let args = OfLevel {
                items: from.slice(..),
                input: item_count.input(),
                level,
                tables: tables.borrow(),
                workspace: words.slice_mut(..),
            };
            self.kernels.count.launch(stream, blocks(slots), args)?;
            let entries = slots * level.buckets as usize;
            let launch = blocks(entries.div_ceil((BLOCK_THREADS * SCAN_ITEMS) as usize));
            let args = Scan {
                counts: tables.counts.slice_mut(..),
                entries: entries as u64,
                workspace: words.slice_mut(..),
            };
            self.kernels.scan.launch(stream, launch, args)?;
            let (from, to) = match (number, to_out) {
                (0, true) => (items.slice(..), out.slice_mut(..)),
                (0, false) => (items.slice(..), copy.slice_mut(..)),
                (_, true) => (copy.as_view(), out.slice_mut(..)),
                (_, false) => (out.as_view(), copy.slice_mut(..)),
            };
            let args = Move {
                items: from,
                input: item_count.input(),
                level,
                tables: tables.borrow(),
                out: to,
                workspace: words.slice_mut(..),
            };
            self.kernels
                .move_items
                .launch(stream, blocks(slots), args)?;
            std::mem::swap(&mut tables.begins, &mut tables.next_begins);
        }
        let buckets = plan.last_buckets();
        let args = Buckets {
            items,
            input: item_count.input(),
            buckets: buckets as u32,
            begins: tables.begins.as_view(),
            large: tables.next_begins.slice_mut(..),
            out: out.slice_mut(..),
            scratch: copy.slice_mut(..),
            workspace: words.slice_mut(..),
        };
        // Two for each bucket, of which the second one is for a large bucket.
        let launch = Launch::blocks((2 * buckets).max(1) as u32, BLOCK_THREADS);
        self.kernels.buckets.launch(stream, launch, args)?;
        if plan.levels == 0 {
            return Ok(());
        }
        let args = Large {
            begins: tables.begins.as_view(),
            large: tables.next_begins.as_view(),
            out,
            scratch: copy,
            workspace: words,
        };
        let launch = Launch::blocks(buckets.min(LARGE_BLOCKS) as u32, BLOCK_THREADS);
        self.kernels.large.launch(stream, launch, args)
    }
}
