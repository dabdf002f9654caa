//! Scans of the runs of keys on a GPU.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    Item, Operator, SCAN_BY_KEY, Workspace,
    kernel_source::{by_custom, by_known, check},
};
use crate::{
    Count, CountWord, Movable, Result,
    arguments::{Call, InputParams},
    cuda::{self, Compiler, Flat, In, InOut, IntoView, IntoViewMut, Kernel, Source, kernel_params},
    custom::CustomOperator,
    layout::Shared,
    reduce,
    tiles::{rows, tile_items},
};

kernel_params! {
    /// The parameters of the kernel `scan_by_key`, with keys as bytes. `inclusive` is 0 or 1.
    struct ScanParams<'a, V: Shared> {
        keys: In<u8>,
        values: In<V>,
        input: Flat<InputParams<'static>>,
        initial: V,
        out: InOut<V>,
        inclusive: u32,
        workspace: InOut<u64>,
    }
}

/// A scan of the values of each run of equal keys on a GPU, by one operator, which may be one of your own. CUB:
/// `DeviceScan::ExclusiveSumByKey` and its relatives.
///
/// Keys have type `K`, plain data or `bool`, and are equal if their bytes are equal. Values have type `V`. Counts have
/// type `W`: `u32`, or `u64` for 2³² or more items. A call is one launch, like that of [`Unique`](super::Unique).
///
/// ```no_run
/// use compaction::{Count, cuda, runs::{Operator, ScanByKey, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let scan = ScanByKey::<u8, u32>::new(&cuda::Compiler::new(), &context, Operator::Sum)?;
/// let mut workspace = Workspace::with_capacity(&stream, 4)?;
///
/// let (keys, values) = (cuda::upload(&stream, b"aaab")?, cuda::upload(&stream, &[3, 1, 4, 1])?);
/// let mut out = cuda::zeroed(&stream, 4)?;
/// scan.exclusive(&stream, &keys, &values, Count::All, &mut out, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [0, 3, 4, 0]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias(
    "ExclusiveSumByKey",
    "InclusiveSumByKey",
    "exclusive_scan_by_key",
    "inclusive_scan_by_key"
))]
#[derive(Debug)]
pub struct ScanByKey<K: Movable, V: Shared, W: CountWord = u32> {
    operator: Option<Operator>,
    initial: V,
    kernel: Kernel<ScanParams<'static, V>>,
    types: PhantomData<fn(K, W)>,
}

impl<K: Movable, V: Item, W: CountWord> ScanByKey<K, V, W> {
    /// Compiles the kernel for keys of the size and alignment of `K` and for values of type `V`, or loads it if
    /// compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, runs::{Operator, ScanByKey}};
    ///
    /// let scan = ScanByKey::<u64, f64>::new(&cuda::Compiler::new(), &cuda::open(0)?, Operator::Max)?;
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
        let source = by_known::<K, V, W>(file::<V>(), operator);
        Ok(Self {
            operator: Some(operator),
            initial: reduce::cpu::items(operator, &[]),
            kernel: compiler.load(context, &source)?.kernel("scan_by_key")?,
            types: PhantomData,
        })
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](cuda::Archive).
    ///
    /// ```
    /// use compaction::runs::{Operator, ScanByKey};
    ///
    /// let sources = ScanByKey::<u32, f32>::sources(Operator::Sum);
    /// assert_eq!(sources[0].path(), "compaction/kernels/scan_by_key.cu");
    /// ```
    pub fn sources(operator: Operator) -> Vec<Source> {
        vec![by_known::<K, V, W>(file::<V>(), operator)]
    }
}

impl<K: Movable, V: Shared, W: CountWord> ScanByKey<K, V, W> {
    /// Compiles the kernel with an operator in CUDA C++, or loads it if compiled earlier. Values are combined in the
    /// order of the input, and have 1 to 64 bytes.
    ///
    /// ```no_run
    /// use compaction::{cuda, custom::CustomOperator, runs::ScanByKey};
    ///
    /// let product = CustomOperator::new("product.cuh", "f32 combine(f32 a, f32 b) { return a * b; }", 1.0_f32);
    /// let products = ScanByKey::<u64, f32>::with_operator(&cuda::Compiler::new(), &cuda::open(0)?, &product)?;
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
        let source = by_custom::<K, V, W>(file::<V>(), operator)?;
        let module = operator.loaded::<V>(compiler.load(context, &source))?;
        Ok(Self {
            operator: None,
            initial: operator.identity(),
            kernel: module.kernel("scan_by_key")?,
            types: PhantomData,
        })
    }

    /// Returns the kernel files that [`with_operator`](Self::with_operator) needs, for an [`Archive`](cuda::Archive).
    ///
    /// ```
    /// use compaction::{custom::CustomOperator, runs::ScanByKey};
    ///
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32);
    /// let sources = ScanByKey::<u8, u32>::sources_with_operator(&any)?;
    /// assert!(sources[0].text()?.contains("return a | b;"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoFunction`](crate::Error::NoFunction) if the operator lacks a function.
    pub fn sources_with_operator(operator: &CustomOperator<V>) -> Result<Vec<Source>> {
        Ok(vec![by_custom::<K, V, W>(file::<V>(), operator)?])
    }

    /// Returns the operator that combines the values, or `None` for one in CUDA C++.
    ///
    /// ```no_run
    /// # use compaction::{cuda, runs::{Operator, ScanByKey}};
    /// let scan = ScanByKey::<u32, f32>::new(&cuda::Compiler::new(), &cuda::open(0)?, Operator::Sum)?;
    /// assert_eq!(scan.operator(), Some(Operator::Sum));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn operator(&self) -> Option<Operator> {
        self.operator
    }

    /// Sets the initial value of each run, which comes before its values. By default, it is the operator's identity.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, runs::{Operator, ScanByKey, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let scan = ScanByKey::<u8, u32>::new(&cuda::Compiler::new(), &context, Operator::Sum)?.initial(100);
    /// let (keys, values) = (cuda::upload(&stream, b"aab")?, cuda::upload(&stream, &[3, 1, 4])?);
    /// let mut out = cuda::zeroed(&stream, 3)?;
    /// scan.exclusive(&stream, &keys, &values, Count::All, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [100, 103, 100]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    #[must_use]
    pub fn initial(mut self, value: V) -> Self {
        self.initial = value;
        self
    }

    /// Enqueues a scan that writes to `out`, for each item, the combination of the initial value and of all values
    /// before it in its run.
    ///
    /// `out` must have room for `count` values, or for as many as `keys` if the count is in device memory. Entries
    /// behind the result keep their values. A device count larger than `keys` is clamped, and [`Workspace::check`]
    /// reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, runs::{Operator, ScanByKey, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = ScanByKey::<u8, u32>::new(&cuda::Compiler::new(), &context, Operator::Sum)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let (keys, values) = (cuda::upload(&stream, b"aab")?, cuda::upload(&stream, &[3, 1, 4])?);
    /// let mut out = cuda::zeroed(&stream, 3)?;
    /// scan.exclusive(&stream, &keys, &values, Count::Given(2), &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [0, 3, 0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`UniqueByKey::pairs`](super::UniqueByKey::pairs).
    pub fn exclusive<'a>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        values: impl IntoView<'a, V>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, V>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let (keys, values) = (&keys.into_view(), values.into_view());
        self.scan(
            stream,
            keys,
            values,
            count,
            (out.into_view_mut(), false),
            workspace,
        )
    }

    /// Enqueues a scan that writes to `out`, for each item, the combination of the initial value and of all values in
    /// its run up to and including its own. Otherwise like [`exclusive`](Self::exclusive).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, runs::{Operator, ScanByKey, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = ScanByKey::<u8, u32>::new(&cuda::Compiler::new(), &context, Operator::Max)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let (keys, values) = (cuda::upload(&stream, b"aab")?, cuda::upload(&stream, &[3, 1, 4])?);
    /// let mut out = cuda::zeroed(&stream, 3)?;
    /// scan.inclusive(&stream, &keys, &values, Count::All, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [3, 3, 4]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`UniqueByKey::pairs`](super::UniqueByKey::pairs).
    pub fn inclusive<'a>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        values: impl IntoView<'a, V>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, V>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let (keys, values) = (&keys.into_view(), values.into_view());
        self.scan(
            stream,
            keys,
            values,
            count,
            (out.into_view_mut(), true),
            workspace,
        )
    }

    /// Checks the arguments of a call and enqueues its launch.
    fn scan(
        &self,
        stream: &Arc<CudaStream>,
        keys: &CudaView<'_, K>,
        values: CudaView<'_, V>,
        count: Count<'_, W>,
        (out, inclusive): (CudaViewMut<'_, V>, bool),
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let call = Call {
            operation: SCAN_BY_KEY.keys.operation,
            stream,
            context: self.kernel.context(),
            buffers: &[("keys", &keys), ("values", &values), ("output", &out)],
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        SCAN_BY_KEY.check_values(keys.len(), values.len())?;
        let names = &SCAN_BY_KEY.keys;
        let tile = tile_items(rows(size_of::<K>() + size_of::<V>()));
        let checked = check(names, keys.len(), count, out.len(), tile, workspace)?;
        let args = ScanParams {
            keys: cuda::reinterpret(keys.slice(..))?,
            values,
            input: checked.item_count.params(),
            initial: self.initial,
            out,
            inclusive: inclusive.into(),
            workspace: checked.words,
        };
        self.kernel.launch(stream, checked.launch, args)
    }
}

/// Returns the kernel file without its definitions.
fn file<V: Shared>() -> Source {
    let path = "compaction/kernels/scan_by_key.cu";
    let text = include_str!("../../kernels/scan_by_key.cu");
    Source::new(path, text).kernel::<ScanParams<'static, V>>("scan_by_key")
}
