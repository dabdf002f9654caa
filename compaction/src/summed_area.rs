//! `summed_area`: for each item of a table the sum of the rectangle that ends there.
//!
//! ```text
//! items   1  2  3        table →  1  3  6       the sum over any rectangle takes four look-ups:
//!         4  5  6                 5 12 21       5 + 6 + 8 + 9 = 45 - 6 - 12 + 1 = 28
//!         7  8  9                12 27 45
//! ```
//!
//! (F. C. Crow, "Summed-area tables for texture mapping", SIGGRAPH 1984.) On the CPU, [`cpu::table`] writes into a
//! slice. On a GPU, a [`SummedArea`] does it on a stream. Tables are stored row by row without gaps.
//!
//! Integers are the same everywhere, bit for bit; they wrap around, and sums over rectangles are right all the same.
//! Floating-point sums depend on the order in which they are added: the CPU gives the bits of the definition, and each
//! [`Strategy`] its own, the same in every run, which differ from these by rounding.

pub mod cpu;
mod strategy;
mod workspace;

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use crate::{
    Result,
    counted::{check_len, check_range, check_room, check_workspace},
    cuda::{Compiler, In, InOut, Kernel, Launch, Source},
    look_back,
    monoid::Item,
};

pub use strategy::Strategy;
pub use workspace::Workspace;

/// Threads of a block.
const BLOCK_THREADS: u32 = 256;
/// Threads of a warp, and items of a side of the squares that are transposed.
const WARP_THREADS: u32 = 32;
/// Bytes of a thread's items in a row: one vector.
const LANE_BYTES: u32 = 16;
/// Rows of a warp in a tile of `single-pass`.
const WARP_ROWS: u32 = 8;
/// Rows of a tile of `single-pass`.
const TILE_ROWS: u32 = BLOCK_THREADS / WARP_THREADS * WARP_ROWS;
/// Blocks of `single-pass` that a multiprocessor should hold at once: what is under way hides how long tiles wait.
const SINGLE_PASS_BLOCKS: u32 = 5;

/// Columns of a tile of `single-pass`.
const fn tile_columns<T>() -> u32 {
    WARP_THREADS * LANE_BYTES / size_of::<T>() as u32
}

/// Tiles of a table by `single-pass`.
fn tiles<T>(width: u32, height: u32) -> u64 {
    u64::from(width.div_ceil(tile_columns::<T>())) * u64::from(height.div_ceil(TILE_ROWS))
}

/// Squares of a table that are transposed.
fn squares(width: u32, height: u32) -> u64 {
    u64::from(width.div_ceil(WARP_THREADS)) * u64::from(height.div_ceil(WARP_THREADS))
}

/// Refuses lengths that are not those of a table.
fn check_lengths(items: usize, (width, height): (usize, usize), out: usize) -> Result<()> {
    check_len(
        "the items of summed_area",
        items,
        width.saturating_mul(height),
    )?;
    check_room("the output of summed_area", out, items)
}

/// Refuses a table that no grid covers.
fn check_size<T>(width: u32, height: u32) -> Result<()> {
    const MOST: usize = i32::MAX as usize;
    check_range("the width of summed_area", width as usize, 0, MOST)?;
    check_range("the height of summed_area", height as usize, 0, MOST)?;
    let tiles = tiles::<T>(width, height).max(squares(width, height));
    check_range("the tiles of summed_area", tiles as usize, 0, MOST)
}

/// `(items, width, height, out, workspace)`
type SinglePass<T> = (In<T>, u32, u32, InOut<T>, InOut<u64>);
/// `(items, width, height, out)`
type Pass<T> = (In<T>, u32, u32, InOut<T>);

/// The kernel file of all strategies, for items of type `T`.
fn source<T: Item>() -> Source {
    let source = Source::new(
        "compaction/kernels/summed_area.cu",
        include_str!("../kernels/summed_area.cu"),
    )
    .define("ITEM", T::NAME)
    .constant("BLOCK_THREADS", BLOCK_THREADS)
    .constant("LANE_BYTES", LANE_BYTES)
    .constant("WARP_ROWS", WARP_ROWS)
    .constant("SINGLE_PASS_BLOCKS", SINGLE_PASS_BLOCKS)
    .kernel::<SinglePass<T>>("summed_area_single_pass")
    .kernel::<Pass<T>>("summed_area_rows")
    .kernel::<Pass<T>>("summed_area_transpose");
    look_back::declare(source)
}

/// Summed-area tables on a GPU, by one strategy.
///
/// Its method puts its launches onto the caller's stream and returns: one by [`Strategy::SinglePass`], four by
/// [`Strategy::ScanTranspose`]. It allocates nothing and waits for nothing, so that it can be captured into a graph, and
/// the graph be replayed. Buffers are borrowed views, which may start at any item of a larger buffer; tables whose rows
/// start at 16 bytes are read and written faster.
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
/// summed_area.table(&stream, &items.as_view(), (3, 2), &mut out.as_view_mut(), &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [1, 3, 6,
///                                             5, 12, 21]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct SummedArea<T: Item> {
    strategy: Strategy,
    single_pass: Kernel<SinglePass<T>>,
    rows: Kernel<Pass<T>>,
    transpose: Kernel<Pass<T>>,
}

impl<T: Item> SummedArea<T> {
    /// Compiles, or finds compiled, the kernels for `T`.
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
    /// What [`Compiler::load`] says.
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

    /// The kernel files of all strategies: what an [`Archive`](crate::cuda::Archive) ships.
    ///
    /// ```
    /// use compaction::summed_area::SummedArea;
    ///
    /// assert_eq!(SummedArea::<f32>::sources()[0].path(), "compaction/kernels/summed_area.cu");
    /// ```
    pub fn sources() -> Vec<Source> {
        vec![source::<T>()]
    }

    /// How it makes tables.
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

    /// Writes to `out`, for each item of a table, the sum of the rectangle from the first item to it.
    ///
    /// The table has as many rows of as many items as (width, height) says. `out` is left as it was behind the table.
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Compiler}, summed_area::{Strategy, SummedArea, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let tables = SummedArea::<u32>::new(&Compiler::new(), &context, Strategy::SinglePass)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, (3, 3))?;
    /// let ones = cuda::upload(&stream, &[1; 9])?;
    /// let mut out = cuda::zeroed(&stream, 9)?;
    /// tables.table(&stream, &ones.as_view(), (3, 3), &mut out.as_view_mut(), &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [1, 2, 3,
    ///                                             2, 4, 6,
    ///                                             3, 6, 9]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are width times height items; [`Error::OutputTooShort`](crate::Error::OutputTooShort);
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); [`Error::OutOfRange`](crate::Error::OutOfRange) for a table of more than 2³¹ - 1 tiles; and those of
    /// [`Kernel::launch`].
    pub fn table(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        (width, height): (u32, u32),
        out: &mut CudaViewMut<'_, T>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
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
                let words = workspace.states.words.as_view_mut();
                let launch = Launch::blocks(tiles::<T>(width, height) as u32, BLOCK_THREADS);
                let args = (items.slice(..), width, height, out, words);
                self.single_pass.launch(stream, launch, args)
            }
            Strategy::ScanTranspose => {
                let mut scratch = workspace.scratch.slice_mut(..len);
                self.scan_rows(stream, items, (width, height), &mut scratch)?;
                self.transpose(stream, &scratch.as_view(), (width, height), &mut out)?;
                self.scan_rows(stream, &out.as_view(), (height, width), &mut scratch)?;
                self.transpose(stream, &scratch.as_view(), (height, width), &mut out)
            }
        }
    }

    fn scan_rows(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        (width, height): (u32, u32),
        out: &mut CudaViewMut<'_, T>,
    ) -> Result<()> {
        let args = (items.slice(..), width, height, out.slice_mut(..));
        let launch = Launch::blocks(height, BLOCK_THREADS);
        self.rows.launch(stream, launch, args)
    }

    fn transpose(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        (width, height): (u32, u32),
        out: &mut CudaViewMut<'_, T>,
    ) -> Result<()> {
        let args = (items.slice(..), width, height, out.slice_mut(..));
        let launch = Launch::blocks(squares(width, height) as u32, BLOCK_THREADS);
        self.transpose.launch(stream, launch, args)
    }
}
