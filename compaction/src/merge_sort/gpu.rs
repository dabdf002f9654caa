//! The merge sort on a GPU.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream, DeviceSlice};

use super::{NAMES, Workspace};
use crate::{
    Count, CountWord, Error, Result,
    arguments::{Call, ItemCount, check_room, check_workspace},
    cuda::{self, Compiler, In, InOut, IntoView, IntoViewMut, Kernel, Launch, Source, in_quotes},
    layout::Shared,
    look_back,
    scratch::{Operation, Sizes},
};

/// Threads per block of both kernels.
const BLOCK_THREADS: u32 = 256;
/// Size of the largest items in bytes, of which a block holds one per thread in shared memory.
const MAX_ITEM_BYTES: usize = 128;
/// The path with which the kernel file includes the text of the comparison.
const INCLUDED: &str = "comparison";

/// The parameters of the kernel `merge_sort_tiles`: `(items, count, capacity, is_given, out, workspace)`.
type Tiles<T> = (In<T>, In<u32>, u64, u32, InOut<T>, InOut<u64>);
/// The parameters of the kernel `merge_sort_merge`: `(items, count, capacity, is_given, run, out, workspace)`. It
/// merges runs of `run` items.
type Merge<T> = (In<T>, In<u32>, u64, u32, u64, InOut<T>, InOut<u64>);

/// Returns the items per thread for items of this size. An odd number avoids bank conflicts.
const fn items_per_thread(bytes: usize) -> u32 {
    match bytes {
        0..=4 => 15,
        5..=8 => 7,
        9..=12 => 5,
        13..=20 => 3,
        _ => 1,
    }
}

/// Returns the items of a tile that a block sorts or merges.
const fn tile_items<T>() -> usize {
    (BLOCK_THREADS * items_per_thread(size_of::<T>())) as usize
}

/// The operation of a [`Workspace`] of this module.
#[doc(hidden)]
#[derive(Debug)]
pub struct Merging<T>(PhantomData<T>);

impl<T: 'static> Operation for Merging<T> {
    const NAME: &'static str = "merge_sort";
    const UNITS: &'static str = NAMES.input;

    fn sizes(items: usize) -> Sizes {
        Sizes {
            zeroed_words: 0,
            bytes: items.saturating_mul(size_of::<T>()),
        }
    }
}

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

fn source<T: Shared, W: CountWord>(comparison: &Comparison) -> Source {
    const {
        assert!(
            size_of::<T>() <= MAX_ITEM_BYTES,
            "an item has at most 128 bytes"
        )
    };
    let text = include_str!("../../kernels/merge_sort.cu");
    let source = Source::new("compaction/kernels/merge_sort.cu", text)
        .header_shown_as(INCLUDED, comparison.path.clone(), comparison.text.clone())
        .define("Item", T::NAME)
        .define("Word", W::NAME)
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .constant("ITEMS_PER_THREAD", items_per_thread(size_of::<T>()))
        .kernel::<Tiles<T>>("merge_sort_tiles")
        .kernel::<Merge<T>>("merge_sort_merge");
    look_back::declare(source)
}

/// A merge sort on a GPU by one [`Comparison`], for items of type `T`. CUB: `DeviceMergeSort`.
///
/// Items have up to 128 bytes. Counts have type `W`: `u32`, or `u64` for 2³² or more items.
///
/// A call enqueues its kernels on the caller's stream and returns: one launch that sorts tiles, and one for each round
/// of merges. It allocates nothing and does not wait, so it can be captured into a CUDA graph. Buffers are views that
/// may start at any item of a larger buffer. The input is not changed.
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
#[derive(Debug)]
pub struct MergeSort<T: Shared, W: CountWord = u32> {
    tiles: Kernel<Tiles<T>>,
    merge: Kernel<Merge<T>>,
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
            .load(context, &source::<T, W>(comparison))
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
            tiles: module.kernel("merge_sort_tiles")?,
            merge: module.kernel("merge_sort_merge")?,
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
        vec![source::<T, W>(comparison)]
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
    /// for a short `out`; [`Error::WorkspaceTooSmall`]; and the errors of [`Kernel::launch`].
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
            context: self.tiles.context(),
            buffers: &[("items", items.stream()), ("output", out.stream())],
            count: count.home(),
            written: None,
            workspace: workspace.states.home(),
        };
        call.check()?;
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
        let tiles = capacity.div_ceil(tile_items::<T>()).max(1);
        let rounds = tiles.next_power_of_two().ilog2();
        let launch = Launch::blocks(tiles as u32, BLOCK_THREADS);
        let mut scratch = scratch.as_view_mut();
        // The workspace may be for more items, so that its bytes need not be whole ones of this call.
        let mut scratch = scratch.slice_mut(..capacity * size_of::<T>());
        let mut scratch = cuda::reinterpret_mut::<u8, T>(&mut scratch)?;
        let target = if rounds.is_multiple_of(2) {
            out.slice_mut(..)
        } else {
            scratch.slice_mut(..)
        };
        let args = (
            items,
            item_count.count.slice(..),
            capacity as u64,
            item_count.is_given.into(),
            target,
            states.words.as_view_mut(),
        );
        self.tiles.launch(stream, launch, args)?;
        for round in 0..rounds {
            let (from, to) = if (rounds - round).is_multiple_of(2) {
                (out.as_view(), scratch.slice_mut(..))
            } else {
                (scratch.as_view(), out.slice_mut(..))
            };
            let args = (
                from,
                item_count.count.slice(..),
                capacity as u64,
                item_count.is_given.into(),
                (tile_items::<T>() as u64) << round,
                to,
                states.words.as_view_mut(),
            );
            self.merge.launch(stream, launch, args)?;
        }
        Ok(())
    }
}
