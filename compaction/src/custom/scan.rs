//! Scans by user-defined operators on a GPU.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{CustomOperator, Workspace, rows};
use crate::{
    Count, CountWord, Result,
    arguments::{ArgumentNames, Call, Input, ItemCount, argument_names, check_room, is_wide},
    cuda::{
        self, Compiler, In, InOut, IntoView, IntoViewMut, Kernel, Launch, Source, kernel_params,
    },
    layout::Shared,
    select::check_item,
    tiles::{self, BLOCK_THREADS, tile_items},
};

const NAMES: ArgumentNames = argument_names!("custom_scan", "items");

kernel_params! {
    /// The parameters of the kernel `custom_scan`. `inclusive` and `has_total` are 0 or 1.
    struct ScanParams<'a, V: Shared, T: Shared> {
        items: In<T>,
        input: Input<'static>,
        initial: V,
        out: InOut<V>,
        inclusive: u32,
        total: InOut<u8>,
        has_total: u32,
        workspace: InOut<u64>,
    }
}

/// A scan on a GPU by a user-defined operator. CUB: `DeviceScan::ExclusiveScan` and its relatives.
///
/// Values have type `V`, of 1 to 64 bytes, and items have type `T`. Counts have type `W`: `u32`, or `u64` for 2³² or
/// more items. A call is one launch by decoupled look-back. It allocates nothing and does not wait, so it can be
/// captured into a CUDA graph.
///
/// ```no_run
/// use compaction::{Count, cuda, custom::{CustomOperator, CustomScan, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let text = "u32 lift(u8 flag) { return flag; } u32 combine(u32 left, u32 right) { return left + right; }";
/// let count = CustomOperator::new("count.cuh", text, 0_u32).exact();
/// let scan = CustomScan::<u32, u8>::new(&cuda::Compiler::new(), &context, &count)?;
/// let mut workspace = Workspace::with_capacity(&stream, 4)?;
///
/// let flags = cuda::upload(&stream, &[1, 0, 1, 1])?;
/// let (mut offsets, mut total) = (cuda::zeroed(&stream, 4)?, cuda::zeroed(&stream, 1)?);
/// scan.exclusive_with_total(&stream, &flags, Count::All, &mut offsets, &mut total, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &offsets)?, [0, 1, 1, 2]);
/// assert_eq!(cuda::download(&stream, &total)?, [3]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias(
    "DeviceScan::ExclusiveScan",
    "DeviceScan::InclusiveScan",
    "transform_exclusive_scan"
))]
#[derive(Debug)]
pub struct CustomScan<V: Shared, T: Shared = V, W: CountWord = u32> {
    initial: V,
    kernel: Kernel<ScanParams<'static, V, T>>,
    word: PhantomData<fn(W)>,
}

/// The outputs of a scan, and whether the prefixes include the items themselves.
struct Outputs<'a, V> {
    out: CudaViewMut<'a, V>,
    total: Option<CudaViewMut<'a, V>>,
    inclusive: bool,
}

impl<V: Shared, T: Shared, W: CountWord> CustomScan<V, T, W> {
    /// Compiles the kernel with the operator, or loads it if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, custom::{CustomOperator, CustomScan}};
    ///
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32).exact();
    /// let scan = CustomScan::<u32>::new(&cuda::Compiler::new(), &cuda::open(0)?, &any)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`CustomReduce::new`](super::CustomReduce::new).
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        operator: &CustomOperator<V>,
    ) -> Result<Self> {
        let module = compiler.load(context, &source::<V, T, W>(operator)?);
        Ok(Self {
            initial: operator.identity(),
            kernel: operator.loaded::<T>(module)?.kernel("custom_scan")?,
            word: PhantomData,
        })
    }

    /// Returns the kernel files with this operator, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::custom::{CustomOperator, CustomScan};
    ///
    /// let sum = CustomOperator::new("sum.cuh", "u32 combine(u32 a, u32 b) { return a + b; }", 0_u32);
    /// let error = CustomScan::<u32, u8>::sources(&sum).unwrap_err();
    /// assert!(error.to_string().starts_with("sum.cuh defines no u32 lift(u8)"));
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoFunction`](crate::Error::NoFunction) if the operator lacks a function.
    pub fn sources(operator: &CustomOperator<V>) -> Result<Vec<Source>> {
        Ok(vec![source::<V, T, W>(operator)?])
    }

    /// Sets the initial value, which comes before the items. By default, it is the operator's identity.
    ///
    /// ```no_run
    /// # use compaction::{cuda, custom::{CustomOperator, CustomScan}};
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32);
    /// let scan = CustomScan::<u32>::new(&cuda::Compiler::new(), &cuda::open(0)?, &any)?.initial(1 << 31);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    #[must_use]
    pub fn initial(mut self, value: V) -> Self {
        self.initial = value;
        self
    }

    /// Enqueues a scan that writes to `out`, for each item, the combination of the initial value and of all items
    /// before it.
    ///
    /// `out` must have room for `count` values, or for as many as `items` if the count is in device memory. Entries
    /// behind the result keep their values. A device count larger than `items` is clamped, and [`Workspace::check`]
    /// reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, custom::{CustomOperator, CustomScan, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32).exact();
    /// let scan = CustomScan::<u32>::new(&cuda::Compiler::new(), &context, &any)?;
    /// let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let (items, mut out) = (cuda::upload(&stream, &[1, 4, 5])?, cuda::zeroed(&stream, 3)?);
    /// scan.exclusive(&stream, &items, Count::All, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [0, 1, 5]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Scan::exclusive`](crate::scan::Scan::exclusive).
    pub fn exclusive<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, V>,
        workspace: &mut Workspace<V, T>,
    ) -> Result<()> {
        let outputs = Outputs {
            out: out.into_view_mut(),
            total: None,
            inclusive: false,
        };
        self.scan(stream, items.into_view(), count, outputs, workspace)
    }

    /// Enqueues a scan like [`exclusive`](Self::exclusive) that also writes the combination of the initial value and of
    /// all items to `total[0]`.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, custom::{CustomOperator, CustomScan, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32).exact();
    /// let scan = CustomScan::<u32>::new(&cuda::Compiler::new(), &context, &any)?;
    /// let mut workspace = Workspace::with_capacity(&stream, 2)?;
    /// let items = cuda::upload(&stream, &[1, 4])?;
    /// let (mut out, mut total) = (cuda::zeroed(&stream, 2)?, cuda::zeroed(&stream, 1)?);
    /// scan.exclusive_with_total(&stream, &items, Count::All, &mut out, &mut total, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &total)?, [5]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`exclusive`](Self::exclusive), and
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for an empty `total`.
    pub fn exclusive_with_total<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, V>,
        total: impl IntoViewMut<'a, V>,
        workspace: &mut Workspace<V, T>,
    ) -> Result<()> {
        let outputs = Outputs {
            out: out.into_view_mut(),
            total: Some(total.into_view_mut()),
            inclusive: false,
        };
        self.scan(stream, items.into_view(), count, outputs, workspace)
    }

    /// Enqueues a scan that writes to `out`, for each item, the combination of the initial value and of all items up to
    /// and including it. Otherwise like [`exclusive`](Self::exclusive).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, custom::{CustomOperator, CustomScan, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32).exact();
    /// let scan = CustomScan::<u32>::new(&cuda::Compiler::new(), &context, &any)?;
    /// let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let (items, mut out) = (cuda::upload(&stream, &[1, 4, 5])?, cuda::zeroed(&stream, 3)?);
    /// scan.inclusive(&stream, &items, Count::All, &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [1, 5, 5]);
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
        out: impl IntoViewMut<'a, V>,
        workspace: &mut Workspace<V, T>,
    ) -> Result<()> {
        let outputs = Outputs {
            out: out.into_view_mut(),
            total: None,
            inclusive: true,
        };
        self.scan(stream, items.into_view(), count, outputs, workspace)
    }

    /// Checks the arguments of a call and enqueues its launch.
    fn scan(
        &self,
        stream: &Arc<CudaStream>,
        items: CudaView<'_, T>,
        count: Count<'_, W>,
        mut outputs: Outputs<'_, V>,
        workspace: &mut Workspace<V, T>,
    ) -> Result<()> {
        let mut buffers: Vec<(&str, &dyn cuda::Operand)> =
            vec![("items", &items), ("output", &outputs.out)];
        if let Some(total) = &outputs.total {
            buffers.push(("total", total));
        }
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.kernel.context(),
            buffers: &buffers,
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy)?;
        check_room(NAMES.output, outputs.out.len(), item_count.capacity)?;
        workspace.check_capacity(NAMES.input, item_count.capacity)?;
        let has_total = outputs.total.is_some();
        let mut no_total = workspace.dummy_total.as_view_mut();
        let total = match &mut outputs.total {
            Some(total) => {
                check_room("the total of custom_scan", total.len(), 1)?;
                cuda::reinterpret_mut(total)?
            }
            None => cuda::reinterpret_mut(&mut no_total)?,
        };
        let tile = tile_items(rows(size_of::<T>(), size_of::<V>()));
        // There is at least one block, because it writes the total.
        let blocks = item_count.capacity.div_ceil(tile).max(1);
        let args = ScanParams {
            items,
            input: item_count.input(),
            initial: self.initial,
            out: outputs.out,
            inclusive: outputs.inclusive.into(),
            total,
            has_total: has_total.into(),
            workspace: workspace.states.words.as_view_mut(),
        };
        let launch = Launch::blocks(blocks as u32, BLOCK_THREADS as u32);
        self.kernel.launch(stream, launch, args)
    }
}

fn source<V: Shared, T: Shared, W: CountWord>(operator: &CustomOperator<V>) -> Result<Source> {
    const { check_item::<V>() };
    const { check_item::<T>() };
    let path = "compaction/kernels/custom_scan.cu";
    let text = include_str!("../../kernels/custom_scan.cu");
    let source = Source::new(path, text).kernel::<ScanParams<'static, V, T>>("custom_scan");
    // As many as the registers permit.
    let resident = match size_of::<V>().max(size_of::<T>()) {
        ..=4 if !is_wide::<W>() => 3,
        ..=8 => 2,
        _ => 1,
    };
    let rows = rows(size_of::<T>(), size_of::<V>());
    operator.declare::<T>(tiles::declare::<W>(source, rows, resident))
}
