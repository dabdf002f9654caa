//! Values combined over the runs of their keys, on a GPU.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};

use super::{
    Item, Operator, REDUCE_BY_KEY, Workspace,
    kernel_source::{by_custom, by_known, check},
};
use crate::{
    Count, CountWord, Movable, Result,
    arguments::{Call, InputParams, room_for_count},
    cuda::{self, Compiler, Flat, In, InOut, IntoView, IntoViewMut, Kernel, Source, kernel_params},
    custom::CustomOperator,
    layout::Shared,
    tiles::{rows, tile_items},
};

kernel_params! {
    /// The parameters of the kernel `reduce_by_key`, with keys as bytes.
    struct ByKeyParams<'a, V: Shared, W: CountWord> {
        keys: In<u8>,
        values: In<V>,
        input: Flat<InputParams<'static>>,
        keys_out: InOut<u8>,
        values_out: InOut<V>,
        runs: InOut<W>,
        workspace: InOut<u64>,
    }
}

/// The reduction of the values of each run of equal keys on a GPU, by one operator, which may be one of your own. CUB:
/// `DeviceReduce::ReduceByKey`.
///
/// Keys have type `K`, plain data or `bool`, and are equal if their bytes are equal. Values have type `V`. Counts have
/// type `W`: `u32`, or `u64` for 2³² or more items. A call is one launch, like that of [`Unique`](super::Unique).
///
/// ```no_run
/// use compaction::{Count, cuda, runs::{Operator, ReduceByKey, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let sums = ReduceByKey::<u8, f32>::new(&cuda::Compiler::new(), &context, Operator::Sum)?;
/// let mut workspace = Workspace::with_capacity(&stream, 4)?;
///
/// let keys = cuda::upload(&stream, b"aabc")?;
/// let values = cuda::upload(&stream, &[0.5, 1.0, 2.0, 4.0])?;
/// let (mut keys_out, mut values_out) = (cuda::zeroed(&stream, 4)?, cuda::zeroed(&stream, 4)?);
/// let mut runs = cuda::zeroed(&stream, 1)?;
/// sums.pairs(&stream, &keys, &values, Count::All, &mut keys_out, &mut values_out, &mut runs, &mut workspace)?;
/// let runs = workspace.read(&stream, &runs)?;
/// assert_eq!(cuda::download(&stream, &values_out.slice(..runs))?, [1.5, 2.0, 4.0]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceReduce::ReduceByKey", "reduce_by_key"))]
#[derive(Debug)]
pub struct ReduceByKey<K: Movable, V: Shared, W: CountWord = u32> {
    operator: Option<Operator>,
    kernel: Kernel<ByKeyParams<'static, V, W>>,
    types: PhantomData<fn(K)>,
}

impl<K: Movable, V: Item, W: CountWord> ReduceByKey<K, V, W> {
    /// Compiles the kernel for keys of the size and alignment of `K` and for values of type `V`, or loads it if
    /// compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, runs::{Operator, ReduceByKey}};
    ///
    /// let max = ReduceByKey::<u64, i32>::new(&cuda::Compiler::new(), &cuda::open(0)?, Operator::Max)?;
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
    ) -> Result<Self> {
        let source = by_known::<K, V, W>(file::<V, W>(), operator);
        Ok(Self {
            operator: Some(operator),
            kernel: compiler.load(context, &source)?.kernel("reduce_by_key")?,
            types: PhantomData,
        })
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](cuda::Archive).
    ///
    /// ```
    /// use compaction::runs::{Operator, ReduceByKey};
    ///
    /// let sources = ReduceByKey::<u32, f32>::sources(Operator::Sum);
    /// assert_eq!(sources[0].path(), "compaction/kernels/reduce_by_key.cu");
    /// ```
    pub fn sources(operator: Operator) -> Vec<Source> {
        vec![by_known::<K, V, W>(file::<V, W>(), operator)]
    }
}

impl<K: Movable, V: Shared, W: CountWord> ReduceByKey<K, V, W> {
    /// Compiles the kernel with an operator in CUDA C++, or loads it if compiled earlier. Values are combined in the
    /// order of the input, and have 1 to 64 bytes.
    ///
    /// ```no_run
    /// use compaction::{cuda, custom::CustomOperator, runs::ReduceByKey};
    ///
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32).exact();
    /// let any = ReduceByKey::<u64, u32>::with_operator(&cuda::Compiler::new(), &cuda::open(0)?, &any)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`CustomReduce::new`](crate::custom::CustomReduce::new).
    pub fn with_operator(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        operator: &CustomOperator<V>,
    ) -> Result<Self> {
        let source = by_custom::<K, V, W>(file::<V, W>(), operator)?;
        let module = operator.loaded::<V>(compiler.load(context, &source))?;
        Ok(Self {
            operator: None,
            kernel: module.kernel("reduce_by_key")?,
            types: PhantomData,
        })
    }

    /// Returns the kernel files that [`with_operator`](Self::with_operator) needs, for an [`Archive`](cuda::Archive).
    ///
    /// ```
    /// use compaction::{custom::CustomOperator, runs::ReduceByKey};
    ///
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32);
    /// let sources = ReduceByKey::<u8, u32>::sources_with_operator(&any)?;
    /// assert!(sources[0].text()?.contains("return a | b;"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoFunction`](crate::Error::NoFunction) if the operator lacks a function.
    pub fn sources_with_operator(operator: &CustomOperator<V>) -> Result<Vec<Source>> {
        Ok(vec![by_custom::<K, V, W>(file::<V, W>(), operator)?])
    }

    /// Returns the operator that combines the values, or `None` for one in CUDA C++.
    ///
    /// ```no_run
    /// # use compaction::{cuda, runs::{Operator, ReduceByKey}};
    /// let sums = ReduceByKey::<u32, f32>::new(&cuda::Compiler::new(), &cuda::open(0)?, Operator::Sum)?;
    /// assert_eq!(sums.operator(), Some(Operator::Sum));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn operator(&self) -> Option<Operator> {
        self.operator
    }

    /// Enqueues a call that writes the key of each run of equal keys to `keys_out`, the combined values of the run to
    /// `values_out`, and the number of runs to `runs[0]`. Both outputs must have room for as many entries as there are
    /// keys. Otherwise like [`UniqueByKey::pairs`](super::UniqueByKey::pairs).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, runs::{Operator, ReduceByKey, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let max = ReduceByKey::<u8, u32>::new(&cuda::Compiler::new(), &context, Operator::Max)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let (keys, values) = (cuda::upload(&stream, b"aab")?, cuda::upload(&stream, &[3_u32, 7, 5])?);
    /// let (mut keys_out, mut values_out) = (cuda::zeroed(&stream, 3)?, cuda::zeroed(&stream, 3)?);
    /// let mut runs = cuda::zeroed(&stream, 1)?;
    /// max.pairs(&stream, &keys, &values, Count::All, &mut keys_out, &mut values_out, &mut runs, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &values_out)?, [7, 5, 0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`UniqueByKey::pairs`](super::UniqueByKey::pairs).
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn pairs<'a>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        values: impl IntoView<'a, V>,
        count: Count<'a, W>,
        keys_out: impl IntoViewMut<'a, K>,
        values_out: impl IntoViewMut<'a, V>,
        runs: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let (keys, values) = (&keys.into_view(), values.into_view());
        let keys_out = &mut keys_out.into_view_mut();
        let values_out = values_out.into_view_mut();
        let runs = &mut runs.into_view_mut();
        let call = Call {
            operation: REDUCE_BY_KEY.keys.operation,
            stream,
            context: self.kernel.context(),
            buffers: &[
                ("keys", &keys),
                ("values", &values),
                ("keys output", &keys_out),
                ("values output", &values_out),
            ],
            count: count.operand(),
            written: Some(&runs),
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        REDUCE_BY_KEY.check_values(keys.len(), values.len())?;
        let names = &REDUCE_BY_KEY.keys;
        let room = keys_out.len().min(values_out.len());
        let tile = tile_items(rows(size_of::<K>() + size_of::<V>()));
        let checked = check(names, keys.len(), count, room, tile, workspace)?;
        let args = ByKeyParams {
            keys: cuda::reinterpret(keys.slice(..))?,
            values,
            input: checked.item_count.params(),
            keys_out: cuda::item_bytes(keys_out.slice_mut(..)),
            values_out,
            runs: room_for_count(names, runs)?,
            workspace: checked.words,
        };
        self.kernel.launch(stream, checked.launch, args)
    }
}

/// Returns the kernel file without its definitions.
fn file<V: Shared, W: CountWord>() -> Source {
    let path = "compaction/kernels/reduce_by_key.cu";
    let text = include_str!("../../kernels/reduce_by_key.cu");
    Source::new(path, text).kernel::<ByKeyParams<'static, V, W>>("reduce_by_key")
}
