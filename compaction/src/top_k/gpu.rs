//! The top k on a GPU.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{Key, NAMES, Order, Workspace};
use crate::policies::top_k::{
    BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR, ITEMS_PER_THREAD, THREAD_BYTES,
};
use crate::{
    Count, Result,
    arguments::{Call, ItemCount, check_range, check_room},
    cuda::{
        self, Compiler, In, InOut, IntoView, IntoViewMut, Kernel, Launch, Source, kernel_params,
    },
    radix_sort::{RadixSort, SortTypes, Strategy},
    scratch::{Operation, Sizes},
    totals,
};

/// Keys of a tile of `top_k_select`.
const TILE_ITEMS: usize = (BLOCK_THREADS * ITEMS_PER_THREAD) as usize;
/// Bits of a digit.
const DIGIT_BITS: u32 = 8;
/// Number of values of a digit.
const BINS: usize = 1 << DIGIT_BITS;
/// Number of words that the launches of a call pass on, `Found` in the kernel file.
const FOUND_WORDS: usize = 8;

crate::shared! {
    /// The keys of a call, and the number of keys to keep. `Wanted` in `kernels/top_k.cu` documents the fields.
    pub(crate) struct Wanted {
        capacity: u64,
        keys: u64,
        is_given: u32,
        shift: u32,
    }
}

kernel_params! {
    /// The parameters of the kernel `top_k_count`.
    struct CountDigit<'a> {
        keys: In<u8>,
        count: In<u32>,
        wanted: Wanted,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `top_k_select`.
    struct SelectKeys<'a> {
        keys: In<u8>,
        count: In<u32>,
        wanted: Wanted,
        keys_out: InOut<u8>,
        indices_out: InOut<u32>,
        kept: InOut<u32>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `top_k_sort`.
    struct SortKept<'a> {
        kept_keys: In<u8>,
        kept_indices: In<u32>,
        kept: In<u32>,
        keys_out: InOut<u8>,
        indices_out: InOut<u32>,
    }
}

/// The operation of the part of a [`Workspace`] by which keys are selected.
#[derive(Debug)]
pub(super) struct Selecting;

impl Operation for Selecting {
    const NAME: &'static str = "top_k";
    const UNITS: &'static str = NAMES.input;

    /// What launches pass on, the totals of the bins, and two words of look-back state per tile.
    fn sizes(items: usize) -> Sizes {
        Sizes {
            zeroed_words: FOUND_WORDS + totals::words(BINS) + 2 * items.div_ceil(TILE_ITEMS).max(1),
            bytes: 0,
        }
    }
}

fn source<K: Key>(order: Order) -> Source {
    let text = include_str!("../../kernels/top_k.cu");
    let source = Source::new("compaction/kernels/top_k.cu", text)
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .constant("ITEMS_PER_THREAD", ITEMS_PER_THREAD)
        .kernel::<CountDigit<'static>>("top_k_count")
        .kernel::<SelectKeys<'static>>("top_k_select")
        .kernel::<SortKept<'static>>("top_k_sort");
    SortTypes::of::<K, u32>(0).declare(totals::declare(source), order)
}

/// The first k keys in a sort order, with their indices, on a GPU. CUB: `DeviceTopK`.
///
/// Keys have type `K`. With [`Order::Descending`], they are the k largest, and with [`Order::Ascending`] the k
/// smallest. An input has fewer than 2³² keys.
///
/// A call enqueues its kernels on the caller's stream and returns: for keys of 4 bytes, five launches that select, and
/// one that sorts, or five of a radix sort for k > 512. It allocates nothing and does not wait, so it can be captured
/// into a CUDA graph. Buffers are views that may start at any item of a larger buffer.
///
/// ```no_run
/// use compaction::{Count, cuda, top_k::{Order, TopK, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let top = TopK::<f32>::new(&cuda::Compiler::new(), &context, Order::Descending)?;
/// let mut workspace = Workspace::with_capacity(&stream, 4, 2)?;
///
/// let scores = cuda::upload(&stream, &[0.25_f32, 3.0, -1.0, 3.0])?;
/// let (mut best, mut places) = (cuda::zeroed(&stream, 2)?, cuda::zeroed(&stream, 2)?);
/// top.keys_and_indices(&stream, &scores, Count::All, 2, &mut best, &mut places, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &best)?, [3.0, 3.0]);
/// assert_eq!(cuda::download(&stream, &places)?, [1, 3]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceTopK", "topk", "argpartition"))]
#[derive(Debug)]
pub struct TopK<K> {
    multiprocessors: u32,
    count: Kernel<CountDigit<'static>>,
    select: Kernel<SelectKeys<'static>>,
    sort_few: Kernel<SortKept<'static>>,
    sort: RadixSort<K>,
}

impl<K: Key> TopK<K> {
    /// Compiles the kernels for keys of type `K`, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, top_k::{Order, TopK}};
    ///
    /// let smallest = TopK::<u64>::new(&cuda::Compiler::new(), &cuda::open(0)?, Order::Ascending)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>, order: Order) -> Result<Self> {
        let module = compiler.load(context, &source::<K>(order))?;
        let sort = RadixSort::new(compiler, context, order, Strategy::Onesweep)?;
        sort.prepare_pairs::<u32>()?;
        Ok(Self {
            multiprocessors: cuda::multiprocessors(context)?,
            count: module.kernel("top_k_count")?,
            select: module.kernel("top_k_select")?,
            sort_few: module.kernel("top_k_sort")?,
            sort,
        })
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::top_k::{Order, TopK};
    ///
    /// assert_eq!(TopK::<f32>::sources(Order::Descending)[0].path(), "compaction/kernels/top_k.cu");
    /// ```
    pub fn sources(order: Order) -> Vec<Source> {
        let mut sources = vec![source::<K>(order)];
        sources.extend(RadixSort::<K>::sources(order, Strategy::Onesweep));
        sources.extend(RadixSort::<K>::sources_pairs::<u32>(
            order,
            Strategy::Onesweep,
        ));
        sources
    }

    /// Enqueues a selection of the first `k` keys in sort order: writes the sorted keys to `keys_out`, and the index of
    /// each to `indices_out`, or all keys if there are fewer than `k`. Of equal keys, those with the smallest indices
    /// come first.
    ///
    /// Both outputs must have room for `k` keys, or for as many as `keys` if those are fewer. Entries behind the result
    /// keep their values. A device count larger than `keys` is clamped, and [`Workspace::check`] reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, top_k::{Order, TopK, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let nearest = TopK::<f32>::new(&cuda::Compiler::new(), &context, Order::Ascending)?;
    /// let mut workspace = Workspace::with_capacity(&stream, 3, 1)?;
    /// let distances = cuda::upload(&stream, &[2.5_f32, 0.5, 1.5])?;
    /// let (mut least, mut place) = (cuda::zeroed(&stream, 1)?, cuda::zeroed(&stream, 1)?);
    /// nearest.keys_and_indices(&stream, &distances, Count::All, 1, &mut least, &mut place, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &place)?, [1]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a host count larger than `keys`, or a `k` that is
    /// too large for the workspace; [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more keys;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for a short output;
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and the errors of
    /// [`Kernel::launch`](crate::cuda::Kernel::launch).
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn keys_and_indices<'a>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        count: Count<'a>,
        k: usize,
        keys_out: impl IntoViewMut<'a, K>,
        indices_out: impl IntoViewMut<'a, u32>,
        workspace: &mut Workspace<K>,
    ) -> Result<()> {
        let keys = keys.into_view();
        let (keys_out, indices_out) = (keys_out.into_view_mut(), indices_out.into_view_mut());
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.select.context(),
            buffers: &[
                ("keys", &keys),
                ("keys output", &keys_out),
                ("indices output", &indices_out),
            ],
            count: count.operand(),
            written: None,
            workspace: workspace.select.states.home(),
        };
        let _named = call.check()?;
        check_range("the k of top_k", k, 0, workspace.max_k)?;
        let select = &mut workspace.select;
        let item_count = ItemCount::new(&NAMES, keys.len(), count, &select.dummy_count)?;
        let capacity = item_count.capacity;
        select.check_capacity(capacity)?;
        let found = k.min(capacity);
        for room in [keys_out.len(), indices_out.len()] {
            check_room(NAMES.output, room, found)?;
        }
        let keys = cuda::reinterpret::<K, u8>(keys)?;
        let block_bytes = THREAD_BYTES * BLOCK_THREADS as usize;
        let most_blocks = BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors;
        let blocks = (capacity * size_of::<K>() / block_bytes).clamp(1, most_blocks as usize);
        let words = &mut select.states.words;
        let wanted = Wanted {
            capacity: capacity as u64,
            keys: found as u64,
            is_given: item_count.is_given().into(),
            shift: 0,
        };
        for shift in (0..8 * size_of::<K>() as u32)
            .step_by(DIGIT_BITS as usize)
            .rev()
        {
            let args = CountDigit {
                keys: keys.slice(..),
                count: item_count.words()?,
                wanted: Wanted { shift, ..wanted },
                workspace: words.as_view_mut(),
            };
            let launch = Launch::blocks(blocks as u32, BLOCK_THREADS);
            self.count.launch(stream, launch, args)?;
        }
        let args = SelectKeys {
            keys,
            count: item_count.words()?,
            wanted,
            keys_out: workspace.keys.as_view_mut(),
            indices_out: workspace.indices.as_view_mut(),
            kept: workspace.kept.as_view_mut(),
            workspace: words.as_view_mut(),
        };
        let tiles = capacity.div_ceil(TILE_ITEMS).max(1);
        let launch = Launch::blocks(tiles as u32, BLOCK_THREADS);
        self.select.launch(stream, launch, args)?;
        if found <= BLOCK_THREADS as usize {
            let args = SortKept {
                kept_keys: workspace.keys.as_view(),
                kept_indices: workspace.indices.as_view(),
                kept: workspace.kept.as_view(),
                keys_out: cuda::reinterpret_into(keys_out)?,
                indices_out,
            };
            let launch = Launch::blocks(1, BLOCK_THREADS);
            return self.sort_few.launch(stream, launch, args);
        }
        let kept_keys = cuda::reinterpret::<u8, K>(workspace.keys.as_view())?;
        self.sort.pairs(
            stream,
            kept_keys.slice(..found),
            workspace.indices.as_view().slice(..found),
            Count::Device(workspace.kept.as_view()),
            keys_out,
            indices_out,
            &mut workspace.sort,
        )
    }
}
