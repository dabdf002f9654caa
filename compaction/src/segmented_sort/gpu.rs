//! The segmented sort on a GPU.

use std::{
    marker::PhantomData,
    sync::{Arc, OnceLock},
};

use bytemuck::Pod;
use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    Key, NAMES, Order, Workspace, check_length, check_values,
    kernel_source::{
        ALIGN, BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR, ENOUGH_WARPS, Kernels, ListRoom, Long,
        MAX_WARP_SEGMENTS, MIN_WARP_SEGMENTS, SHORT, ScratchBuffers, SegmentRange, Short,
        SortBuffers, list_capacities, part_bytes, source, tile_items,
    },
};
use crate::{
    Count, CountWord, Result,
    arguments::{Call, ItemCount, check_room},
    cuda::{self, Compiler, IntoView, IntoViewMut, Launch, Source},
    radix_sort::{check_aligned, check_value},
};

/// The segments of a call.
enum Segments<'a, W> {
    /// Segments lie between consecutive offsets.
    Between(CudaView<'a, W>),
    /// All segments have this length.
    OfLength(usize),
}

/// The values of a call as bytes: input and output.
type Values<'a> = (CudaView<'a, u8>, CudaViewMut<'a, u8>);

/// Checks the values of a call with `keys` keys.
fn values<'a, V: Pod>(
    keys: usize,
    values: impl IntoView<'a, V>,
    values_out: impl IntoViewMut<'a, V>,
) -> Result<Values<'a>> {
    const { check_value::<V>() };
    let values = values.into_view();
    let mut values_out = values_out.into_view_mut();
    check_values(keys, values.len())?;
    check_room(NAMES.output, values_out.len(), keys)?;
    check_aligned(&values, &mut values_out)?;
    Ok((
        cuda::reinterpret(values)?,
        cuda::reinterpret_into(values_out)?,
    ))
}

/// A segmented sort on a GPU in one order. CUB: `DeviceSegmentedSort`.
///
/// Keys have type `K`. Offsets and counts have type `W`: `u32`, or `u64` for 2³² or more keys.
///
/// Each method enqueues its kernels on the caller's stream and returns: one launch if no segment can be longer than 256
/// items, and otherwise two. It allocates nothing and does not wait, so it can be captured into a CUDA graph. Buffers
/// are views that may start at any item of a larger buffer. The input is not changed.
///
/// ```no_run
/// use compaction::{Count, cuda, segmented_sort::{Order, SegmentedSort, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let sort = SegmentedSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending)?;
/// let mut workspace = Workspace::<u32>::with_capacity(&stream, 7)?;
///
/// let keys = cuda::upload(&stream, &[3_u32, 1, 4, 1, 5, 9, 2])?;
/// let offsets = cuda::upload(&stream, &[0_u32, 2, 2, 7])?;
/// let mut out = cuda::zeroed(&stream, 7)?;
/// sort.keys_by_offsets(&stream, &keys, &offsets, Count::All, &mut out, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [1, 3, 1, 2, 4, 5, 9]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceSegmentedSort", "DeviceSegmentedRadixSort"))]
#[derive(Debug)]
pub struct SegmentedSort<K, W: CountWord = u32> {
    order: Order,
    compiler: Compiler,
    context: Arc<CudaContext>,
    multiprocessors: u32,
    /// The kernels for keys alone, for values of 4 bytes and for values of 8 bytes, each compiled when first needed.
    kernels: [OnceLock<Kernels<W>>; 3],
    key: PhantomData<fn(K)>,
}

impl<K: Key, W: CountWord> SegmentedSort<K, W> {
    /// Compiles the kernels for keys without values, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, segmented_sort::{Order, SegmentedSort}};
    ///
    /// let sort = SegmentedSort::<f32>::new(&cuda::Compiler::new(), &cuda::open(0)?, Order::Descending)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>, order: Order) -> Result<Self> {
        let sort = Self {
            order,
            compiler: compiler.clone(),
            context: context.clone(),
            multiprocessors: cuda::multiprocessors(context)?,
            kernels: [const { OnceLock::new() }; 3],
            key: PhantomData,
        };
        sort.kernels(0)?;
        Ok(sort)
    }

    /// Compiles the kernels for values of the size of `V`, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, segmented_sort::{Order, SegmentedSort}};
    ///
    /// let sort = SegmentedSort::<f32>::new(&cuda::Compiler::new(), &cuda::open(0)?, Order::Ascending)?;
    /// sort.prepare_pairs::<u32>()?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn prepare_pairs<V: Pod>(&self) -> Result<()> {
        const { check_value::<V>() };
        self.kernels(size_of::<V>()).map(drop)
    }

    /// Returns the kernel files for keys without values, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::segmented_sort::{Order, SegmentedSort};
    ///
    /// let sources = SegmentedSort::<f32>::sources(Order::Ascending);
    /// assert_eq!(sources[0].path(), "compaction/kernels/segmented_sort.cu");
    /// ```
    pub fn sources(order: Order) -> Vec<Source> {
        vec![source::<K, W>(order, 0)]
    }

    /// Returns the kernel files for values of the size of `V`, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::segmented_sort::{Order, SegmentedSort};
    ///
    /// let sources = SegmentedSort::<f32>::sources_pairs::<u64>(Order::Ascending);
    /// assert!(sources[0].text()?.contains("constexpr u32 VALUE_BYTES = 8;"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn sources_pairs<V: Pod>(order: Order) -> Vec<Source> {
        const { check_value::<V>() };
        vec![source::<K, W>(order, size_of::<V>())]
    }

    /// Enqueues a sort of the keys of each segment between consecutive offsets: segment s has the keys from
    /// `offsets[s]` to before `offsets[s + 1]`. Entries of `out` outside all segments keep their values.
    ///
    /// `count` is the number of segments, and [`Count::All`] means one less than there are offsets. `out` must have
    /// room for as many keys as `keys`. A device count that is too large is clamped, and the workspace's `check`
    /// reports it.
    ///
    /// No offset may be less than the one before it, or the results of this and later calls with the workspace are
    /// unspecified. Offsets beyond the last key count as the end of the buffer. No other memory is accessed in either
    /// case.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, segmented_sort::{Order, SegmentedSort, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let sort = SegmentedSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending)?;
    /// let mut workspace = Workspace::<u32>::with_capacity(&stream, 4)?;
    /// let keys = cuda::upload(&stream, &[2_u32, 1, 7, 6])?;
    /// let offsets = cuda::upload(&stream, &[0_u32, 2, 4])?;
    /// let mut out = cuda::zeroed(&stream, 4)?;
    /// sort.keys_by_offsets(&stream, &keys, &offsets, Count::All, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [1, 2, 6, 7]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a host count of more segments than there are;
    /// [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more segments with counts of `u32`;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for a short `out`;
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and the errors of
    /// [`Kernel::launch`](crate::cuda::Kernel::launch).
    pub fn keys_by_offsets<'a, V: 'static>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        offsets: impl IntoView<'a, W>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, K>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let keys = (keys.into_view(), out.into_view_mut());
        let segments = Segments::Between(offsets.into_view());
        self.sort(stream, keys, None, 0, (segments, count), workspace)
    }

    /// Enqueues a sort of the keys of each segment of `length` keys. Otherwise like
    /// [`keys_by_offsets`](Self::keys_by_offsets).
    ///
    /// [`Count::All`] means as many whole segments as `keys` has. Keys behind them are ignored.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, segmented_sort::{Order, SegmentedSort, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let sort = SegmentedSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending)?;
    /// let mut workspace = Workspace::<u32>::with_capacity(&stream, 4)?;
    /// let keys = cuda::upload(&stream, &[2_u32, 1, 7, 6])?;
    /// let mut out = cuda::zeroed(&stream, 4)?;
    /// sort.keys_of_length(&stream, &keys, Count::All, 2, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [1, 2, 6, 7]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`keys_by_offsets`](Self::keys_by_offsets), and
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for a length of 0.
    pub fn keys_of_length<'a, V: 'static>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        count: Count<'a, W>,
        length: usize,
        out: impl IntoViewMut<'a, K>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let keys = (keys.into_view(), out.into_view_mut());
        let segments = Segments::OfLength(length);
        self.sort(stream, keys, None, 0, (segments, count), workspace)
    }

    /// Enqueues a sort of each segment that writes the sorted keys to `keys_out`, and each key's value to the same
    /// index of `values_out`. Otherwise like [`keys_by_offsets`](Self::keys_by_offsets). A value has 4 or 8 bytes;
    /// another size does not compile.
    ///
    /// The kernels are compiled at the first call. Call [`prepare_pairs`](Self::prepare_pairs) before, for example
    /// before a graph capture.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, segmented_sort::{Order, SegmentedSort, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let sort = SegmentedSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending)?;
    /// let mut workspace = Workspace::<u32, u32>::with_capacity(&stream, 4)?;
    /// let keys = cuda::upload(&stream, &[2_u32, 1, 7, 6])?;
    /// let offsets = cuda::upload(&stream, &[0_u32, 2, 4])?;
    /// let values = cuda::upload(&stream, &[10_u32, 11, 12, 13])?;
    /// let (mut sorted, mut moved) = (cuda::zeroed(&stream, 4)?, cuda::zeroed(&stream, 4)?);
    /// sort.pairs_by_offsets(
    ///     &stream, &keys, &values, &offsets, Count::All, &mut sorted, &mut moved, &mut workspace,
    /// )?;
    /// assert_eq!(cuda::download(&stream, &moved)?, [11, 10, 13, 12]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`keys_by_offsets`](Self::keys_by_offsets) and [`prepare_pairs`](Self::prepare_pairs);
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many values as keys; and
    /// [`Error::Reinterpret`](crate::Error::Reinterpret) for values that are not aligned to their size.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn pairs_by_offsets<'a, V: Pod>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        values: impl IntoView<'a, V>,
        offsets: impl IntoView<'a, W>,
        count: Count<'a, W>,
        keys_out: impl IntoViewMut<'a, K>,
        values_out: impl IntoViewMut<'a, V>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let keys = (keys.into_view(), keys_out.into_view_mut());
        let values = Some(self::values(keys.0.len(), values, values_out)?);
        let segments = Segments::Between(offsets.into_view());
        self.sort(
            stream,
            keys,
            values,
            size_of::<V>(),
            (segments, count),
            workspace,
        )
    }

    /// Enqueues a sort of each segment of `length` keys that writes the sorted keys to `keys_out`, and each key's value
    /// to the same index of `values_out`. Otherwise like [`pairs_by_offsets`](Self::pairs_by_offsets) and
    /// [`keys_of_length`](Self::keys_of_length).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, segmented_sort::{Order, SegmentedSort, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let sort = SegmentedSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending)?;
    /// let mut workspace = Workspace::<u32, u32>::with_capacity(&stream, 4)?;
    /// let keys = cuda::upload(&stream, &[2_u32, 1, 7, 6])?;
    /// let values = cuda::upload(&stream, &[10_u32, 11, 12, 13])?;
    /// let (mut sorted, mut moved) = (cuda::zeroed(&stream, 4)?, cuda::zeroed(&stream, 4)?);
    /// sort.pairs_of_length(
    ///     &stream, &keys, &values, Count::All, 2, &mut sorted, &mut moved, &mut workspace,
    /// )?;
    /// assert_eq!(cuda::download(&stream, &moved)?, [11, 10, 13, 12]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`pairs_by_offsets`](Self::pairs_by_offsets), and
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for a length of 0.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn pairs_of_length<'a, V: Pod>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        values: impl IntoView<'a, V>,
        count: Count<'a, W>,
        length: usize,
        keys_out: impl IntoViewMut<'a, K>,
        values_out: impl IntoViewMut<'a, V>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let keys = (keys.into_view(), keys_out.into_view_mut());
        let values = Some(self::values(keys.0.len(), values, values_out)?);
        let segments = Segments::OfLength(length);
        self.sort(
            stream,
            keys,
            values,
            size_of::<V>(),
            (segments, count),
            workspace,
        )
    }

    /// Returns the kernels for values of `value_bytes` bytes, which are compiled at the first use. `value_bytes` is 4,
    /// 8, or 0 for keys alone.
    fn kernels(&self, value_bytes: usize) -> Result<&Kernels<W>> {
        let slot = &self.kernels[value_bytes / 4];
        if let Some(kernels) = slot.get() {
            return Ok(kernels);
        }
        let source = source::<K, W>(self.order, value_bytes);
        let module = self.compiler.load(&self.context, &source)?;
        let kernels = Kernels {
            short: module.kernel("segmented_sort_short")?,
            long: module.kernel("segmented_sort_long")?,
        };
        Ok(slot.get_or_init(|| kernels))
    }

    /// Checks the arguments of a call and enqueues its launches. `value_bytes` is the size of a value, or 0 for keys
    /// alone.
    fn sort<V: 'static>(
        &self,
        stream: &Arc<CudaStream>,
        (keys, mut out): (CudaView<'_, K>, CudaViewMut<'_, K>),
        values: Option<Values<'_>>,
        value_bytes: usize,
        (segments, count): (Segments<'_, W>, Count<'_, W>),
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let mut buffers: Vec<(&str, &dyn cuda::Operand)> = vec![("keys", &keys), ("output", &out)];
        if let Some((values, values_out)) = &values {
            buffers.push(("values", values));
            buffers.push(("output", values_out));
        }
        if let Segments::Between(offsets) = &segments {
            buffers.push(("offsets", offsets));
        }
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: &self.context,
            buffers: &buffers,
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let kernels = self.kernels(value_bytes)?;
        let items = keys.len();
        let (segment_count, longest) = match &segments {
            Segments::Between(offsets) => (offsets.len().saturating_sub(1), items),
            Segments::OfLength(length) => {
                check_length(*length)?;
                (items / length, *length)
            }
        };
        workspace.check_capacity(items)?;
        check_room(NAMES.output, out.len(), items)?;
        let Workspace {
            states,
            scratch,
            dummy_count,
            ..
        } = workspace;
        let words = &mut states.words;
        let item_count = ItemCount::new(&NAMES, segment_count, count, dummy_count)?;
        let [list_bytes, key_bytes, values_bytes] = part_bytes::<K>(items, value_bytes);
        let mut scratch = scratch.as_view_mut();
        let (mut lists, mut rest) = scratch.split_at_mut(list_bytes);
        let (keys_scratch, mut rest) = rest.split_at_mut(key_bytes);
        let (values_scratch, mut rest) = rest.split_at_mut(values_bytes.max(ALIGN));
        let [several, single] = list_capacities(items, tile_items(size_of::<K>(), value_bytes));
        let mut room = ListRoom {
            chunks: cuda::reinterpret_mut(&mut lists)?,
            several: several as u64,
            single: single as u64,
        };
        let (values, values_out) = match values {
            Some(values) => values,
            // Dummies that no kernel accesses.
            None => (
                cuda::reinterpret(dummy_count.as_view())?,
                rest.slice_mut(..),
            ),
        };
        let mut buffers = SortBuffers {
            keys: cuda::reinterpret::<K, u8>(keys)?,
            values,
            keys_out: cuda::reinterpret_mut::<K, u8>(&mut out)?,
            values_out,
        };

        let capacity = item_count.capacity;
        let warps = ENOUGH_WARPS * self.multiprocessors as usize;
        let warp_segments = (capacity / warps).clamp(MIN_WARP_SEGMENTS, MAX_WARP_SEGMENTS);
        let warp_segments = warp_segments / MIN_WARP_SEGMENTS * MIN_WARP_SEGMENTS;
        let blocks = capacity.div_ceil(warp_segments * (BLOCK_THREADS / 32) as usize);
        let (offsets, length) = match segments {
            Segments::Between(offsets) => (offsets, 0),
            // No kernel reads the offsets then.
            Segments::OfLength(length) => (cuda::reinterpret(dummy_count.as_view())?, length),
        };
        let range = SegmentRange {
            items: items as u64,
            length: length as u64,
            warp_segments: warp_segments as u64,
        };
        let args = Short {
            buffers: buffers.borrow(),
            offsets,
            range,
            input: item_count.input(),
            room: room.borrow(),
            workspace: words.as_view_mut(),
        };
        let launch = Launch::blocks(blocks.max(1) as u32, BLOCK_THREADS);
        kernels.short.launch(stream, launch, args)?;
        if longest <= SHORT {
            return Ok(());
        }
        let scratch = ScratchBuffers {
            keys: keys_scratch,
            values: values_scratch,
        };
        let blocks = BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors as usize;
        let blocks = blocks.min(several + single);
        let launch = Launch::blocks(blocks as u32, BLOCK_THREADS);
        let args = Long {
            buffers,
            scratch,
            room,
            workspace: words.as_view_mut(),
        };
        kernels.long.launch(stream, launch, args)
    }
}
