//! The search for the smallest or the largest item on a GPU.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{Extreme, Item, NAMES, Workspace, gpu::launch, kernel_source::of_items};
use crate::{
    Count, CountWord, Result,
    arguments::{Call, InputParams, ItemCount, check_room},
    cuda::{Compiler, Flat, In, InOut, IntoView, IntoViewMut, Kernel, Source, kernel_params},
};

kernel_params! {
    /// The parameters of the kernel `reduce_arg`.
    struct ArgParams<'a, T: Item, W: CountWord> {
        items: In<T>,
        input: Flat<InputParams<'static>>,
        index: InOut<W>,
        value: InOut<T>,
        workspace: InOut<u64>,
    }
}

/// A search on a GPU for the smallest or the largest item and its index. CUB: `DeviceReduce::ArgMin` and `ArgMax`.
///
/// Items have type `T`. Counts and the index have type `W`: `u32`, or `u64` for 2³² or more items. A call is one
/// launch, like that of [`Reduce`](super::Reduce).
///
/// ```no_run
/// use compaction::{Count, cuda, reduce::{ArgReduce, Extreme, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let nearest = ArgReduce::<f32>::new(&cuda::Compiler::new(), &context, Extreme::Min)?;
/// let mut workspace = Workspace::with_capacity(&stream, 3)?;
///
/// let distances = cuda::upload(&stream, &[0.5, 0.25, 0.75])?;
/// let (mut index, mut distance) = (cuda::zeroed(&stream, 1)?, cuda::zeroed(&stream, 1)?);
/// nearest.items(&stream, &distances, Count::All, &mut index, &mut distance, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &index)?, [1]);
/// assert_eq!(cuda::download(&stream, &distance)?, [0.25]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("ArgMin", "ArgMax", "min_element", "max_element", "argmin", "argmax"))]
#[derive(Debug)]
pub struct ArgReduce<T: Item, W: CountWord = u32> {
    extreme: Extreme,
    kernel: Kernel<ArgParams<'static, T, W>>,
}

impl<T: Item, W: CountWord> ArgReduce<T, W> {
    /// Compiles the kernel for `T`, `extreme` and counts of type `W`, or loads it if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, reduce::{ArgReduce, Extreme}};
    ///
    /// let last = ArgReduce::<i32, u64>::new(&cuda::Compiler::new(), &cuda::open(0)?, Extreme::Max)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>, extreme: Extreme) -> Result<Self> {
        let module = compiler.load(context, &source::<T, W>(extreme))?;
        Ok(Self {
            extreme,
            kernel: module.kernel("reduce_arg")?,
        })
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::reduce::{ArgReduce, Extreme};
    ///
    /// assert_eq!(ArgReduce::<f32>::sources(Extreme::Max)[0].path(), "compaction/kernels/reduce_arg.cu");
    /// ```
    pub fn sources(extreme: Extreme) -> Vec<Source> {
        vec![source::<T, W>(extreme)]
    }

    /// Returns whether the search is for the smallest or the largest item.
    ///
    /// ```no_run
    /// # use compaction::{cuda, reduce::{ArgReduce, Extreme}};
    /// let largest = ArgReduce::<u32>::new(&cuda::Compiler::new(), &cuda::open(0)?, Extreme::Max)?;
    /// assert_eq!(largest.extreme(), Extreme::Max);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn extreme(&self) -> Extreme {
        self.extreme
    }

    /// Enqueues a search that writes the item's index to `index[0]` and the item to `value[0]`. Of equal items, the
    /// first one counts.
    ///
    /// NaNs are ignored. Without other items, the index is the largest number of its type, and the value is the
    /// identity of [`Operator::Min`](super::Operator::Min) or [`Operator::Max`](super::Operator::Max). A device count
    /// larger than `items` is clamped, and [`Workspace::check`] reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, reduce::{ArgReduce, Extreme, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let largest = ArgReduce::<u32>::new(&cuda::Compiler::new(), &context, Extreme::Max)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let items = cuda::upload(&stream, &[3_u32, 1, 3])?;
    /// let (mut index, mut value) = (cuda::zeroed(&stream, 1)?, cuda::zeroed(&stream, 1)?);
    /// largest.items(&stream, &items, Count::All, &mut index, &mut value, &mut workspace)?;
    /// assert_eq!((cuda::download(&stream, &index)?, cuda::download(&stream, &value)?), (vec![0], vec![3]));
    /// largest.items(&stream, &items, Count::Given(0), &mut index, &mut value, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &index)?, [u32::MAX]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Reduce::items`](super::Reduce::items). Both outputs need room for one number.
    pub fn items<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        index: impl IntoViewMut<'a, W>,
        value: impl IntoViewMut<'a, T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let items = &items.into_view();
        let (index, value) = (&mut index.into_view_mut(), &mut value.into_view_mut());
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.kernel.context(),
            buffers: &[("items", &items), ("index", &index), ("output", &value)],
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy_count)?;
        check_room("the index that reduce writes", index.len(), 1)?;
        check_room(NAMES.output, value.len(), 1)?;
        workspace.check_capacity(item_count.capacity)?;
        let launch = launch(&item_count, size_of::<T>());
        let args = ArgParams {
            items: items.slice(..),
            input: item_count.params(),
            index: index.slice_mut(..),
            value: value.slice_mut(..),
            workspace: workspace.states.words.as_view_mut(),
        };
        self.kernel.launch(stream, launch, args)
    }
}

fn source<T: Item, W: CountWord>(extreme: Extreme) -> Source {
    let text = include_str!("../../kernels/reduce_arg.cu");
    let source = Source::new("compaction/kernels/reduce_arg.cu", text)
        .kernel::<ArgParams<'static, T, W>>("reduce_arg");
    of_items::<T, W>(source).define("OPERATOR", extreme.operator().cuda_name())
}
