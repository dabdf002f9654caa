//! The argsort on a GPU: a sort whose values are the indices of the keys.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use super::{
    Key, NAMES, Order, RadixSort, Strategy, Workspace,
    call::{SortBuffers, SortCall},
    kernel_source::SortTypes,
    key_bits,
    sort::source,
};
use crate::{
    Count, CountWord, Result,
    arguments::{Operands, check_room, check_words},
    cuda::{IntoView, IntoViewMut, Source},
};

impl<K: Key, W: CountWord> RadixSort<K, W> {
    /// Enqueues an argsort: writes the sorted keys to `keys_out`, and the input index of each of them to `indices_out`.
    ///
    /// Equal keys are in the order of their indices. This is [`pairs`](Self::pairs) with the values 0, 1, 2, …, which
    /// the first pass makes instead of reading. CUB: `DeviceRadixSort::SortPairs` over an array of indices.
    ///
    /// ```no_run
    /// use compaction::{Count, cuda, radix_sort::{Order, RadixSort, Strategy, Workspace}};
    ///
    /// let context = cuda::open(0)?;
    /// let stream = context.default_stream();
    /// let sort = RadixSort::<f32>::new(&cuda::Compiler::new(), &context, Order::Descending, Strategy::Onesweep)?;
    /// let mut workspace = Workspace::<f32, u32>::with_capacity(&stream, 4)?;
    ///
    /// let scores = cuda::upload(&stream, &[0.25_f32, 3.0, -1.0, 3.0])?;
    /// let (mut sorted, mut order) = (cuda::zeroed(&stream, 4)?, cuda::zeroed(&stream, 4)?);
    /// sort.argsort(&stream, &scores, Count::All, &mut sorted, &mut order, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &order)?, [1, 3, 0, 2]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// The kernels are compiled at the first call. Call [`prepare_argsort`](Self::prepare_argsort) before, for example
    /// before a graph capture.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`keys`](Self::keys) and [`prepare_argsort`](Self::prepare_argsort), and
    /// [`Uncountable`](crate::Error::Uncountable) for 2³² or more keys with indices of `u32`.
    pub fn argsort<'a, I: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        count: Count<'a, W>,
        keys_out: impl IntoViewMut<'a, K>,
        indices_out: impl IntoViewMut<'a, I>,
        workspace: &mut Workspace<K, I>,
    ) -> Result<()> {
        let keys = &keys.into_view();
        let keys_out = &mut keys_out.into_view_mut();
        let indices_out = &mut indices_out.into_view_mut();
        let parts = workspace.parts();
        let buffers: &Operands<'_> = &[
            ("keys", &keys),
            ("keys output", &keys_out),
            ("indices output", &indices_out),
        ];
        let (item_count, _named) = self.item_count(stream, buffers, keys, count, &parts)?;
        check_words::<I>(NAMES.input, item_count.capacity)?;
        for room in [keys_out.len(), indices_out.len()] {
            check_room(NAMES.output, room, item_count.capacity)?;
        }
        let kernels = self.index_kernels(size_of::<I>())?;
        let absent = parts.absent[0].as_view();
        let call = SortCall {
            bits: self.bits.clone(),
            key_bits: key_bits::<K>(),
            item_count,
            keys: SortBuffers::new(keys, keys_out, parts.keys)?,
            values: SortBuffers::without_input(&absent, indices_out, parts.values)?,
        };
        kernels.launch(stream, call, parts.tables)
    }

    /// Compiles the kernels of [`argsort`](Self::argsort) for indices of type `I`, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy}};
    ///
    /// let context = cuda::open(0)?;
    /// let sort = RadixSort::<u64>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Onesweep)?;
    /// sort.prepare_argsort::<u32>()?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`](crate::cuda::Compiler::load).
    pub fn prepare_argsort<I: CountWord>(&self) -> Result<()> {
        self.index_kernels(size_of::<I>()).map(drop)
    }

    /// Returns the kernel files of [`argsort`](Self::argsort) for indices of type `I`, for an
    /// [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::radix_sort::{Order, RadixSort, Strategy};
    ///
    /// let sources = RadixSort::<f32>::sources_argsort::<u32>(Order::Ascending, Strategy::Onesweep);
    /// assert!(sources[0].text()?.contains("#define MAKES_INDICES"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn sources_argsort<I: CountWord>(order: Order, strategy: Strategy) -> Vec<Source> {
        let types = SortTypes::of_indices::<K, W>(size_of::<I>() as u32);
        vec![source(order, strategy, types)]
    }
}
