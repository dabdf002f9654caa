//! Summed-area tables on a GPU.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    BLOCK_THREADS, LANE_BYTES, SINGLE_PASS_BLOCKS, Strategy, WARP_ROWS, Workspace, check_lengths,
    check_size, squares, tiles,
};
use crate::{
    Result,
    arguments::{Call, check_workspace},
    cuda::{Compiler, In, InOut, IntoView, IntoViewMut, Kernel, Launch, Source, kernel_params},
    look_back,
    monoid::Item,
};

kernel_params! {
    /// The parameters of the kernel `summed_area_single_pass`, with the size in items.
    struct SinglePass<'a, T: Item> {
        items: In<T>,
        width: u32,
        height: u32,
        out: InOut<T>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernels `summed_area_rows` and `summed_area_transpose`, with the size of the input in
    /// items.
    struct Pass<'a, T: Item> {
        items: In<T>,
        width: u32,
        height: u32,
        out: InOut<T>,
    }
}

/// Returns the kernel file with all strategies, for items of type `T`.
fn source<T: Item>() -> Source {
    let source = Source::new(
        "compaction/kernels/summed_area.cu",
        include_str!("../../kernels/summed_area.cu"),
    )
    .define("ITEM", T::NAME)
    .constant("BLOCK_THREADS", BLOCK_THREADS)
    .constant("LANE_BYTES", LANE_BYTES)
    .constant("WARP_ROWS", WARP_ROWS)
    .constant("SINGLE_PASS_BLOCKS", SINGLE_PASS_BLOCKS)
    .kernel::<SinglePass<'static, T>>("summed_area_single_pass")
    .kernel::<Pass<'static, T>>("summed_area_rows")
    .kernel::<Pass<'static, T>>("summed_area_transpose");
    look_back::declare(source)
}

/// Summed-area tables on a GPU, with one strategy, for items of type `T`.
///
/// A call enqueues its kernels on the caller's stream and returns: one launch by [`Strategy::SinglePass`], four by
/// [`Strategy::ScanTranspose`]. It allocates nothing and does not wait, so it can be captured into a CUDA graph.
/// Buffers are views that may start at any item of a larger buffer; tables whose rows are aligned to 16 bytes are
/// processed faster.
///
/// ```no_run
/// use compaction::{cuda, summed_area::{Strategy, SummedArea, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let summed_area = SummedArea::<u32>::new(&cuda::Compiler::new(), &context, Strategy::SinglePass)?;
/// let mut workspace = Workspace::with_capacity(&stream, (3, 2))?;
///
/// let items = cuda::upload(&stream, &[1, 2, 3,
///                                     4, 5, 6])?;
/// let mut out = cuda::zeroed(&stream, 6)?;
/// summed_area.table(&stream, &items, (3, 2), &mut out, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [1, 3, 6,
///                                             5, 12, 21]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("integral_image"))]
#[derive(Debug)]
pub struct SummedArea<T: Item> {
    strategy: Strategy,
    single_pass: Kernel<SinglePass<'static, T>>,
    rows: Kernel<Pass<'static, T>>,
    transpose: Kernel<Pass<'static, T>>,
}

impl<T: Item> SummedArea<T> {
    /// Compiles the kernels for `T`, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, summed_area::{Strategy, SummedArea}};
    ///
    /// let made = SummedArea::<f64>::new(&cuda::Compiler::new(), &cuda::open(0)?, Strategy::default())?;
    /// assert_eq!(made.strategy(), Strategy::SinglePass);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        strategy: Strategy,
    ) -> Result<Self> {
        let module = compiler.load(context, &source::<T>())?;
        Ok(Self {
            strategy,
            single_pass: module.kernel("summed_area_single_pass")?,
            rows: module.kernel("summed_area_rows")?,
            transpose: module.kernel("summed_area_transpose")?,
        })
    }

    /// Returns the kernel files of all strategies, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::summed_area::SummedArea;
    ///
    /// assert_eq!(SummedArea::<f32>::sources()[0].path(), "compaction/kernels/summed_area.cu");
    /// ```
    pub fn sources() -> Vec<Source> {
        vec![source::<T>()]
    }

    /// Returns the strategy that was passed to [`new`](Self::new).
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Compiler}, summed_area::{Strategy, SummedArea, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let tables = SummedArea::<f32>::new(&Compiler::new(), &context, Strategy::ScanTranspose)?;
    /// assert_eq!(tables.strategy(), Strategy::ScanTranspose);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Enqueues the computation of a table: writes to `out`, for each entry, the sum of the rectangle of items from the
    /// first item to that entry, inclusive.
    ///
    /// The size is (width, height) in items, and tables are stored row by row. Entries of `out` behind the table keep
    /// their values.
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Compiler}, summed_area::{Strategy, SummedArea, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let tables = SummedArea::<u32>::new(&Compiler::new(), &context, Strategy::SinglePass)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, (3, 3))?;
    /// let ones = cuda::upload(&stream, &[1; 9])?;
    /// let mut out = cuda::zeroed(&stream, 9)?;
    /// tables.table(&stream, &ones, (3, 3), &mut out, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [1, 2, 3,
    ///                                             2, 4, 6,
    ///                                             3, 6, 9]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are width times height items;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for a short `out`;
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); [`Error::OutOfRange`](crate::Error::OutOfRange)
    /// for more than 2³¹ - 1 rows, columns or tiles; and the errors of [`Kernel::launch`].
    pub fn table<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        (width, height): (u32, u32),
        out: impl IntoViewMut<'a, T>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let items = &items.into_view();
        let out = &mut out.into_view_mut();
        let call = Call {
            operation: "summed_area",
            stream,
            context: self.rows.context(),
            buffers: &[("items", &items), ("output", &out)],
            count: None,
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let len = items.len();
        check_lengths(len, (width as usize, height as usize), out.len())?;
        if len == 0 {
            return Ok(());
        }
        check_size::<T>(width, height)?;
        let (room, need) = workspace.room_and_need(self.strategy, (width, height));
        let unit = match self.strategy {
            Strategy::SinglePass => "tiles",
            Strategy::ScanTranspose => "items",
        };
        let what = || format!("the {unit} of summed_area by {}", self.strategy);
        check_workspace(what, room, need)?;
        let mut out = out.slice_mut(..len);
        match self.strategy {
            Strategy::SinglePass => {
                let launch = Launch::blocks(tiles::<T>(width, height) as u32, BLOCK_THREADS);
                let args = SinglePass {
                    items: items.slice(..),
                    width,
                    height,
                    out,
                    workspace: workspace.states.words.as_view_mut(),
                };
                self.single_pass.launch(stream, launch, args)
            }
            Strategy::ScanTranspose => {
                let mut scratch = workspace.scratch.as_view_mut();
                let mut scratch = scratch.slice_mut(..len);
                self.scan_rows(stream, items, (width, height), &mut scratch)?;
                self.transpose(stream, &scratch.as_view(), (width, height), &mut out)?;
                self.scan_rows(stream, &out.as_view(), (height, width), &mut scratch)?;
                self.transpose(stream, &scratch.as_view(), (height, width), &mut out)
            }
        }
    }

    /// Enqueues a launch that writes the inclusive prefix sums of each row to `out`.
    fn scan_rows(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        (width, height): (u32, u32),
        out: &mut CudaViewMut<'_, T>,
    ) -> Result<()> {
        let args = Pass {
            items: items.slice(..),
            width,
            height,
            out: out.slice_mut(..),
        };
        let launch = Launch::blocks(height, BLOCK_THREADS);
        self.rows.launch(stream, launch, args)
    }

    /// Enqueues a launch that writes the transposed table to `out`. The size is that of the input.
    fn transpose(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        (width, height): (u32, u32),
        out: &mut CudaViewMut<'_, T>,
    ) -> Result<()> {
        let args = Pass {
            items: items.slice(..),
            width,
            height,
            out: out.slice_mut(..),
        };
        let launch = Launch::blocks(squares(width, height) as u32, BLOCK_THREADS);
        self.transpose.launch(stream, launch, args)
    }
}
