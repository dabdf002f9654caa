//! The radix sort on a GPU: checks the arguments and calls the strategy.

use std::{
    marker::PhantomData,
    ops::Range,
    sync::{Arc, OnceLock},
};

use bytemuck::Pod;
use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    Key, NAMES, Order, Strategy, Workspace,
    call::{SortBuffers, SortCall, Views},
    check_bits, check_values,
    kernel_source::SortTypes,
    key_bits,
    onesweep::{self, Onesweep},
    split::{self, SplitKernels},
    workspace::Parts,
};
use crate::{
    Count, CountWord, Result,
    arguments::{Call, ItemCount, Operands, check_room, check_workspace},
    cuda::{self, Compiler, IntoView, IntoViewMut, NamedCall, Source},
};

/// A radix sort on a GPU of keys, key-value pairs, or keys with their indices. CUB: `DeviceRadixSort`.
///
/// Keys have type `K`. Counts have type `W`: they are `u32`, or `u64` for 2³² or more keys. The kernels for `u64` use a
/// few more registers.
///
/// Each method enqueues its kernels on the caller's stream and returns. `onesweep` takes one launch that counts, and
/// one for each pass and about 2²⁸ keys. `split` takes one launch for each bit and 2³¹ keys. A call allocates nothing,
/// does not wait and reads no count back, so it can be captured into a CUDA graph. The input is not changed. Buffers
/// are views that may start anywhere in a larger buffer.
///
/// ```no_run
/// use compaction::{Count, cuda, radix_sort::{Order, RadixSort, Strategy, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let sort = RadixSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Onesweep)?;
/// let mut workspace = Workspace::<u32>::with_capacity(&stream, 5)?;
///
/// let keys = cuda::upload(&stream, &[31_u32, 41, 59, 26, 53])?;
/// let mut out = cuda::zeroed::<u32>(&stream, 5)?;
/// sort.keys(&stream, &keys, Count::All, &mut out, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [26, 31, 41, 53, 59]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceRadixSort", "SortKeys", "SortPairs", "sort_by_key", "argsort"))]
#[derive(Debug)]
pub struct RadixSort<K, W = u32> {
    order: Order,
    strategy: Strategy,
    pub(super) bits: Range<u32>,
    compiler: Compiler,
    context: Arc<CudaContext>,
    /// The kernels for keys alone, for values of 4 bytes and for values of 8 bytes, each compiled when first needed.
    kernels: [OnceLock<Kernels>; 3],
    /// The kernels for indices of 4 bytes and for indices of 8 bytes as values, each compiled when first needed.
    index_kernels: [OnceLock<Kernels>; 2],
    types: PhantomData<fn(K, W)>,
}

/// The loaded kernels of one strategy, for one value size.
#[derive(Debug)]
pub(super) enum Kernels {
    Onesweep(Onesweep),
    Split(SplitKernels),
}

impl<K: Key, W: CountWord> RadixSort<K, W> {
    /// Compiles the kernels for keys without values and counts of type `W`, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy}};
    ///
    /// let compiler = cuda::Compiler::new();
    /// let sort = RadixSort::<f32>::new(&compiler, &cuda::open(0)?, Order::Descending, Strategy::Onesweep)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        order: Order,
        strategy: Strategy,
    ) -> Result<Self> {
        let sort = Self {
            order,
            strategy,
            bits: 0..key_bits::<K>(),
            compiler: compiler.clone(),
            context: context.clone(),
            kernels: [const { OnceLock::new() }; 3],
            index_kernels: [const { OnceLock::new() }; 2],
            types: PhantomData,
        };
        sort.kernels(0)?;
        Ok(sort)
    }

    /// Limits the sort to the bits `bits` of the key, counted from the lowest. Keys that are equal in these bits keep
    /// their order.
    ///
    /// For signed and floating-point keys, these are bits of the number that [`Key::ordered`] returns.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy}};
    ///
    /// let context = cuda::open(0)?;
    /// let sort = RadixSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Onesweep)?;
    /// // For keys below 2¹²: two passes instead of four.
    /// let sort = sort.bits(0..12)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::Error::OutOfRange) for bits that the key does not have, or a range that ends
    /// before it begins.
    pub fn bits(mut self, bits: Range<u32>) -> Result<Self> {
        check_bits::<K>(&bits)?;
        self.bits = bits;
        Ok(self)
    }

    /// Returns the strategy that was passed to [`new`](Self::new).
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy}};
    ///
    /// let context = cuda::open(0)?;
    /// let sort = RadixSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Split)?;
    /// assert_eq!(sort.strategy(), Strategy::Split);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Enqueues a sort that writes the sorted keys to `out`. Equal keys keep their order.
    ///
    /// `out` must have room for `count` keys, or for as many as `keys` if the count is in device memory. Entries behind
    /// the result keep their values. A device count larger than `keys` is clamped, and [`Workspace::check`] reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, radix_sort::{Order, RadixSort, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let sort = RadixSort::<f32>::new(&Compiler::new(), &context, Order::Descending, Strategy::Onesweep)?;
    /// let mut workspace = Workspace::<f32>::with_capacity(&stream, 3)?;
    /// let keys = cuda::upload(&stream, &[0.5_f32, -1.0, 2.0])?;
    /// let mut out = cuda::zeroed::<f32>(&stream, 3)?;
    /// sort.keys(&stream, &keys, Count::All, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [2.0, 0.5, -1.0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::Error::OutOfRange) for a host count larger than `keys`;
    /// [`Uncountable`](crate::Error::Uncountable) for 2³² or more keys with counts of `u32`;
    /// [`LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`OutputTooShort`](crate::Error::OutputTooShort) for a short `out`;
    /// [`WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and the errors of
    /// [`Kernel::launch`](cuda::Kernel::launch).
    pub fn keys<'a, V>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, K>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let keys = &keys.into_view();
        let out = &mut out.into_view_mut();
        let parts = workspace.parts();
        let buffers: &Operands<'_> = &[("keys", &keys), ("output", &out)];
        let (item_count, _named) = self.item_count(stream, buffers, keys, count, &parts)?;
        check_room(NAMES.output, out.len(), item_count.capacity)?;
        let kernels = self.kernels(0)?;
        let [absent, absent_out, absent_scratch] = parts.absent;
        let (absent, mut absent_out) = (absent.as_view(), absent_out.as_view_mut());
        let call = SortCall {
            bits: self.bits.clone(),
            key_bits: key_bits::<K>(),
            item_count,
            keys: SortBuffers::new(keys, out, parts.keys)?,
            values: SortBuffers::new(&absent, &mut absent_out, absent_scratch)?,
        };
        kernels.launch(stream, call, parts.tables)
    }

    /// Enqueues a sort that writes the sorted keys to `keys_out`, and each key's value to the same index of
    /// `values_out`. Otherwise like [`keys`](Self::keys). A value has 4 or 8 bytes; another size does not compile.
    ///
    /// ```no_run
    /// use compaction::{Count, cuda, radix_sort::{Order, RadixSort, Strategy, Workspace}};
    ///
    /// let context = cuda::open(0)?;
    /// let stream = context.default_stream();
    /// let sort = RadixSort::<f32>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Onesweep)?;
    /// let mut workspace = Workspace::<f32, u32>::with_capacity(&stream, 3)?;
    ///
    /// let depths = cuda::upload(&stream, &[2.5_f32, 0.5, 1.5])?;
    /// let objects = cuda::upload(&stream, &[0_u32, 1, 2])?;
    /// let (mut near_to_far, mut order) = (cuda::zeroed(&stream, 3)?, cuda::zeroed(&stream, 3)?);
    /// sort.pairs(&stream, &depths, &objects, Count::All, &mut near_to_far, &mut order, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &order)?, [1, 2, 0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// The kernels are compiled at the first call. Call [`prepare_pairs`](Self::prepare_pairs) before, for example
    /// before a graph capture.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`keys`](Self::keys) and [`prepare_pairs`](Self::prepare_pairs);
    /// [`LengthMismatch`](crate::Error::LengthMismatch) unless there are as many values as keys; and
    /// [`Reinterpret`](crate::Error::Reinterpret) for values that are not aligned to their size.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn pairs<'a, V: Pod>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        values: impl IntoView<'a, V>,
        count: Count<'a, W>,
        keys_out: impl IntoViewMut<'a, K>,
        values_out: impl IntoViewMut<'a, V>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let (keys, values) = (&keys.into_view(), &values.into_view());
        let (keys_out, values_out) = (
            &mut keys_out.into_view_mut(),
            &mut values_out.into_view_mut(),
        );
        const { check_value::<V>() };
        let parts = workspace.parts();
        let buffers: &Operands<'_> = &[
            ("keys", &keys),
            ("values", &values),
            ("keys output", &keys_out),
            ("values output", &values_out),
        ];
        let (item_count, _named) = self.item_count(stream, buffers, keys, count, &parts)?;
        check_values(keys.len(), values.len())?;
        for room in [keys_out.len(), values_out.len()] {
            check_room(NAMES.output, room, item_count.capacity)?;
        }
        check_aligned(values, values_out)?;
        let kernels = self.kernels(size_of::<V>())?;
        let call = SortCall {
            bits: self.bits.clone(),
            key_bits: key_bits::<K>(),
            item_count,
            keys: SortBuffers::new(keys, keys_out, parts.keys)?,
            values: SortBuffers::new(values, values_out, parts.values)?,
        };
        kernels.launch(stream, call, parts.tables)
    }

    /// Compiles the kernels of [`pairs`](Self::pairs) for values of the size of `V`, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy}};
    ///
    /// let context = cuda::open(0)?;
    /// let sort = RadixSort::<u64>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Onesweep)?;
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

    /// Returns the kernel files for keys without values, for an [`Archive`](cuda::Archive).
    ///
    /// ```
    /// use compaction::radix_sort::{Order, RadixSort, Strategy};
    ///
    /// let sources = RadixSort::<f32>::sources(Order::Ascending, Strategy::Onesweep);
    /// assert!(sources[0].text()?.contains("constexpr u32 VALUE_BYTES = 0;"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn sources(order: Order, strategy: Strategy) -> Vec<Source> {
        vec![source(order, strategy, SortTypes::of::<K, W>(0))]
    }

    /// Returns the kernel files of [`pairs`](Self::pairs) for values of the size of `V`, for an
    /// [`Archive`](cuda::Archive).
    ///
    /// ```
    /// use compaction::radix_sort::{Order, RadixSort, Strategy};
    ///
    /// let sources = RadixSort::<f32>::sources_pairs::<u32>(Order::Ascending, Strategy::Onesweep);
    /// assert!(sources[0].text()?.contains("constexpr u32 VALUE_BYTES = 4;"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn sources_pairs<V: Pod>(order: Order, strategy: Strategy) -> Vec<Source> {
        const { check_value::<V>() };
        let types = SortTypes::of::<K, W>(size_of::<V>() as u32);
        vec![source(order, strategy, types)]
    }

    /// Checks the objects of a call, and a count against the keys and the workspace. `buffers` names the buffers.
    pub(super) fn item_count<'a>(
        &self,
        stream: &CudaStream,
        buffers: &Operands<'_>,
        keys: &CudaView<'_, K>,
        count: Count<'a, W>,
        parts: &Parts<'a>,
    ) -> Result<(ItemCount<'a>, NamedCall)> {
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: &self.context,
            buffers,
            count: count.operand(),
            written: None,
            workspace: parts.dummy_count.home(),
        };
        let named = call.check()?;
        let item_count = ItemCount::new(&NAMES, keys.len(), count, parts.dummy_count)?;
        let what = || "the keys of radix_sort".to_owned();
        check_workspace(what, parts.capacity, item_count.capacity)?;
        Ok((item_count, named))
    }

    /// Returns the kernels for values of `value_bytes` bytes, which are compiled at the first use. `value_bytes` is 4,
    /// 8, or 0 for keys alone.
    fn kernels(&self, value_bytes: usize) -> Result<&Kernels> {
        let types = SortTypes::of::<K, W>(value_bytes as u32);
        self.load(&self.kernels[value_bytes / 4], types)
    }

    /// Returns the kernels of an argsort with indices of `index_bytes` bytes, which are compiled at the first use.
    pub(super) fn index_kernels(&self, index_bytes: usize) -> Result<&Kernels> {
        let types = SortTypes::of_indices::<K, W>(index_bytes as u32);
        self.load(&self.index_kernels[index_bytes / 8], types)
    }

    fn load<'a>(&self, slot: &'a OnceLock<Kernels>, types: SortTypes) -> Result<&'a Kernels> {
        if let Some(kernels) = slot.get() {
            return Ok(kernels);
        }
        let (order, strategy) = (self.order, self.strategy);
        let kernels = Kernels::load(&self.compiler, &self.context, order, strategy, types)?;
        Ok(slot.get_or_init(|| kernels))
    }
}

/// Returns the kernel file of a strategy.
pub(super) fn source(order: Order, strategy: Strategy, types: SortTypes) -> Source {
    match strategy {
        Strategy::Onesweep => onesweep::source(order, types),
        Strategy::Split => split::source(order, types),
    }
}

/// Fails to compile unless a value has 4 or 8 bytes.
pub(crate) const fn check_value<V>() {
    assert!(
        size_of::<V>() == 4 || size_of::<V>() == 8,
        "a value has 4 or 8 bytes"
    );
}

impl Kernels {
    fn load(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        order: Order,
        strategy: Strategy,
        types: SortTypes,
    ) -> Result<Self> {
        let module = compiler.load(context, &source(order, strategy, types))?;
        let multiprocessors = cuda::multiprocessors(context)?;
        Ok(match strategy {
            Strategy::Onesweep => Self::Onesweep(Onesweep::of(&module, multiprocessors, types)?),
            Strategy::Split => Self::Split(SplitKernels::of(&module, multiprocessors, types)?),
        })
    }

    pub(super) fn launch(
        &self,
        stream: &Arc<CudaStream>,
        call: SortCall<'_>,
        tables: Views<'_>,
    ) -> Result<()> {
        match self {
            Self::Onesweep(onesweep) => onesweep.launch(stream, call, tables),
            Self::Split(split) => split.launch(stream, call, tables),
        }
    }
}

/// Returns [`Error::Reinterpret`](crate::Error::Reinterpret) unless both buffers are aligned to the size of a value, so
/// that kernels can access whole values.
pub(crate) fn check_aligned<V: Pod>(
    values: &CudaView<'_, V>,
    out: &mut CudaViewMut<'_, V>,
) -> Result<()> {
    if size_of::<V>() == 8 {
        cuda::reinterpret::<V, u64>(values.slice(..))?;
        cuda::reinterpret_mut::<V, u64>(out)?;
    } else {
        cuda::reinterpret::<V, u32>(values.slice(..))?;
        cuda::reinterpret_mut::<V, u32>(out)?;
    }
    Ok(())
}
