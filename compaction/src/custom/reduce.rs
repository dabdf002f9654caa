//! Reductions by user-defined operators on a GPU.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};

use super::{CustomOperator, Workspace};
use crate::{
    Count, CountWord, Result,
    arguments::{ArgumentNames, Call, InputParams, ItemCount, argument_names, check_room},
    cuda::{Compiler, Flat, In, InOut, IntoView, IntoViewMut, Kernel, Source, kernel_params},
    layout::Shared,
    reduce,
};

const NAMES: ArgumentNames = argument_names!("custom_reduce", "items");

kernel_params! {
    /// The parameters of the kernel `reduce`.
    struct ReduceParams<'a, V: Shared, T: Shared> {
        items: In<T>,
        input: Flat<InputParams<'static>>,
        initial: V,
        out: InOut<V>,
        workspace: InOut<u64>,
    }
}

/// A reduction on a GPU by a user-defined operator. CUB: `DeviceReduce::Reduce` and `TransformReduce`.
///
/// Values have type `V`, of 1 to 64 bytes, and items have type `T`. Counts have type `W`: `u32`, or `u64` for 2³² or
/// more items. A call is one launch, like that of [`Reduce`](crate::reduce::Reduce).
///
/// ```no_run
/// use compaction::{Count, cuda, custom::{CustomOperator, CustomReduce, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let text = "u64 lift(u8 item) { return item; } u64 combine(u64 left, u64 right) { return left * right; }";
/// let product = CustomOperator::new("product.cuh", text, 1_u64);
/// let reduce = CustomReduce::<u64, u8>::new(&cuda::Compiler::new(), &context, &product)?;
/// let mut workspace = Workspace::with_capacity(&stream, 3)?;
///
/// let items = cuda::upload(&stream, &[2, 3, 7])?;
/// let mut out = cuda::zeroed(&stream, 1)?;
/// reduce.items(&stream, &items, Count::All, &mut out, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [42]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias(
    "DeviceReduce::Reduce",
    "TransformReduce",
    "transform_reduce",
    "ReductionKernel"
))]
#[derive(Debug)]
pub struct CustomReduce<V: Shared, T: Shared = V, W: CountWord = u32> {
    initial: V,
    kernel: Kernel<ReduceParams<'static, V, T>>,
    word: PhantomData<fn(W)>,
}

impl<V: Shared, T: Shared, W: CountWord> CustomReduce<V, T, W> {
    /// Compiles the kernel with the operator, or loads it if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, custom::{CustomOperator, CustomReduce}};
    ///
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32);
    /// let reduce = CustomReduce::<u32>::new(&cuda::Compiler::new(), &cuda::open(0)?, &any)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoFunction`](crate::Error::NoFunction) if the operator lacks a function, or has one of
    /// other types;
    /// [`Error::Compile`](crate::Error::Compile) with the operator's path and the compiler's log if it does not compile;
    /// and otherwise the errors of [`Compiler::load`].
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        operator: &CustomOperator<V>,
    ) -> Result<Self> {
        let module = compiler.load(context, &source::<V, T, W>(operator)?);
        Ok(Self {
            initial: operator.identity(),
            kernel: operator.loaded::<T>(module)?.kernel("reduce")?,
            word: PhantomData,
        })
    }

    /// Returns the kernel files with this operator, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::custom::{CustomOperator, CustomReduce};
    ///
    /// let none = CustomOperator::new("none.cuh", "u32 combined;", 0_u32);
    /// let error = CustomReduce::<u32>::sources(&none).unwrap_err();
    /// assert_eq!(error.to_string(), "none.cuh defines no u32 combine(u32, u32): \"u32 combined;\"");
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoFunction`](crate::Error::NoFunction) if the operator lacks a function.
    pub fn sources(operator: &CustomOperator<V>) -> Result<Vec<Source>> {
        Ok(vec![source::<V, T, W>(operator)?])
    }

    /// Sets the initial value, which is combined with the items and comes before them. By default, it is the operator's
    /// identity.
    ///
    /// ```no_run
    /// # use compaction::{cuda, custom::{CustomOperator, CustomReduce}};
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32);
    /// let reduce = CustomReduce::<u32>::new(&cuda::Compiler::new(), &cuda::open(0)?, &any)?.initial(1 << 31);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    #[must_use]
    pub fn initial(mut self, value: V) -> Self {
        self.initial = value;
        self
    }

    /// Enqueues a reduction that writes the combination of the initial value and all items to `out[0]`.
    ///
    /// A device count larger than `items` is clamped, and [`Workspace::check`] reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, custom::{CustomOperator, CustomReduce, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let any = CustomOperator::new("or.cuh", "u32 combine(u32 a, u32 b) { return a | b; }", 0_u32);
    /// let reduce = CustomReduce::<u32>::new(&cuda::Compiler::new(), &context, &any)?;
    /// let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let (items, mut out) = (cuda::upload(&stream, &[1, 4, 5])?, cuda::zeroed(&stream, 1)?);
    /// reduce.items(&stream, &items, Count::Given(2), &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [5]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Reduce::items`](crate::reduce::Reduce::items).
    pub fn items<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, V>,
        workspace: &mut Workspace<V, T>,
    ) -> Result<()> {
        let (items, out) = (items.into_view(), out.into_view_mut());
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.kernel.context(),
            buffers: &[("items", &items), ("output", &out)],
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy)?;
        check_room(NAMES.output, out.len(), 1)?;
        workspace.check_capacity(NAMES.input, item_count.capacity)?;
        let launch = reduce::launch(&item_count, size_of::<T>());
        let args = ReduceParams {
            items,
            input: item_count.params(),
            initial: self.initial,
            out,
            workspace: workspace.states.words.as_view_mut(),
        };
        self.kernel.launch(stream, launch, args)
    }
}

fn source<V: Shared, T: Shared, W: CountWord>(operator: &CustomOperator<V>) -> Result<Source> {
    const { crate::select::check_item::<V>() };
    let source = reduce::kernel_file().kernel::<ReduceParams<'static, V, T>>("reduce");
    operator.declare::<T>(reduce::of_items::<T, W>(source))
}
