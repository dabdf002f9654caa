//! `select_columns`: keeps what is flagged of several columns at once.
//!
//! ```text
//! flags        0  1  1  0  0  1       one byte an item; not zero: selected
//! origins      a  b  c  d  e  f       16 bytes an item, say
//! pixels       0  1  2  3  4  5       4 bytes an item
//!
//! origins   →  b  c  f
//! pixels    →  1  2  5
//! count     →  3
//! ```
//!
//! The state of many paths is a struct of arrays: a column for each field, of its own type. [`cpu::columns`] moves up to
//! eight columns on the CPU and [`SelectColumns`] on a GPU, in one pass over one flag array. Where an item goes is found
//! out once for all columns, and a column is read only where its item is kept. Both give the same, bit for bit, in the
//! order of the items.
//!
//! On a GPU it is one launch, and the pass is that of [`select`](crate::select). Bytes that move for n items of s bytes
//! in all columns of which k are kept: n + 2sk, if the kept lie together. A GPU reads memory by sectors of 32 bytes, so a
//! column of items of 16 bytes costs less than one of 4 where the kept are scattered: fields that move together go into
//! one column.
//!
//! Its cache may fetch more than it is asked for: an H200 takes two sectors at once. A program whose reads are mostly
//! scattered may ask for one, for all that its context does; streams are as fast as before (`BENCHMARKS.md`):
//!
//! ```no_run
//! use compaction::cudarc::driver::sys::CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
//!
//! let context = compaction::cuda::open(0)?;
//! let _ = context.set_limit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 32); // A hint, which a GPU may not know.
//! # Ok::<(), compaction::Error>(())
//! ```

pub mod cpu;

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut};

use crate::{
    Count, CountWord, Error, Result,
    counted::{
        Counted, Names, check_len, check_range, check_room, check_workspace, count_words, is_wide,
        names, read_count, room_for_count,
    },
    cuda::{self, Compiler, In, InOut, Kernel, Launch, Source},
    layout::Shared,
    look_back::{self, States},
    select::check_item,
};

/// Threads of a block.
const BLOCK_THREADS: u32 = 256;
/// Items of a block on CUDA: the flags of a thread are one load of 16 bytes.
///
/// ```
/// assert_eq!(compaction::select_columns::TILE_ITEMS, 4096);
/// ```
pub const TILE_ITEMS: u32 = 16 * BLOCK_THREADS;
/// Bytes that a thread holds at once on their way.
const HELD_BYTES: u32 = 128;
/// Items that one launch takes of an input that 32 bits do not count: whole tiles.
const PORTION_ITEMS: usize = 1 << 31;

/// Columns that one call moves, at most.
///
/// ```
/// use compaction::select_columns::{MOST_COLUMNS, SelectColumns};
///
/// assert!(SelectColumns::sources(&[4; MOST_COLUMNS]).is_ok());
/// assert!(SelectColumns::sources(&[4; MOST_COLUMNS + 1]).is_err());
/// ```
pub const MOST_COLUMNS: usize = 8;
/// Bytes of the widest item.
const MOST_BYTES: usize = 64;

const NAMES: Names = names!("select_columns", "flags");

/// The names of the constants for the columns' bytes.
const BYTES: [&str; MOST_COLUMNS] = [
    "BYTES_0", "BYTES_1", "BYTES_2", "BYTES_3", "BYTES_4", "BYTES_5", "BYTES_6", "BYTES_7",
];

crate::shared! {
    /// A launch's part of an input that 32 bits do not count.
    struct ColumnsPortion {
        first: u64,
        capacity: u64,
        number: u32,
        items: u32,
        is_given: u32,
        count_words: u32,
    }
}

/// The parameters of a kernel: eight columns to read in bytes, some, eight to write, others.
macro_rules! columns_params {
    ($($between:ty),+; $($behind:ty),+) => {
        (
            In<u8>, In<u8>, In<u8>, In<u8>, In<u8>, In<u8>, In<u8>, In<u8>, $($between,)+
            InOut<u8>, InOut<u8>, InOut<u8>, InOut<u8>, InOut<u8>, InOut<u8>, InOut<u8>, InOut<u8>, $($behind),+
        )
    };
}

/// The arguments for them.
macro_rules! columns_args {
    ($eight:expr; $($between:expr),+; $($behind:expr),+ $(,)?) => {{
        let ([a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p]) = $eight;
        (a, b, c, d, e, f, g, h, $($between,)+ i, j, k, l, m, n, o, p, $($behind),+)
    }};
}

/// Between the columns `(flags, count, capacity, is_given)`, behind them `(selected, workspace)`
type Columns = columns_params!(In<u8>, In<u32>, u32, u32; InOut<u32>, InOut<u64>);
/// Between the columns `(flags, count, portion)`, behind them `(kept, selected, workspace)`
type PortionOfColumns =
    columns_params!(In<u8>, In<u32>, ColumnsPortion; InOut<u32>, InOut<u32>, InOut<u64>);

/// What a launch reads of each column, and where it writes.
type Eight<'a> = (
    [CudaView<'a, u8>; MOST_COLUMNS],
    [CudaViewMut<'a, u8>; MOST_COLUMNS],
);

/// Refuses a number of columns that no call takes.
fn check_columns(columns: usize) -> Result<()> {
    check_range("the columns of select_columns", columns, 1, MOST_COLUMNS)
}

/// A column on the device: where it is read and where what is kept of it is written.
///
/// ```no_run
/// use compaction::{cuda, select_columns::Column};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let pixels = cuda::upload(&stream, &[7_u32, 8, 9])?;
/// let mut kept = cuda::zeroed::<u32>(&stream, 2)?;
/// let mut kept = kept.as_view_mut();
/// let column = Column::new(pixels.slice(1..), &mut kept)?;
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Column<'a> {
    bytes: usize,
    len: usize,
    room: usize,
    items: CudaView<'a, u8>,
    out: CudaViewMut<'a, u8>,
}

impl<'a> Column<'a> {
    /// A column of items of 1 to 64 bytes; another size does not compile.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, select_columns::{Column, SelectColumns, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let seeds = cuda::upload(&stream, &[70_u64, 80, 90])?;
    /// let mut out = cuda::zeroed::<u64>(&stream, 3)?;
    /// let mut out = out.as_view_mut();
    /// let column = Column::new(seeds.as_view(), &mut out)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Reinterpret`] for items of whole words that do not lie on 4 bytes.
    pub fn new<T: Shared>(items: CudaView<'a, T>, out: &'a mut CudaViewMut<'_, T>) -> Result<Self> {
        const { check_item::<T>() };
        if size_of::<T>().is_multiple_of(4) {
            cuda::reinterpret::<T, u32>(items.slice(..))?;
            cuda::reinterpret_mut::<T, u32>(out)?;
        }
        Ok(Self {
            bytes: size_of::<T>(),
            len: items.len(),
            room: out.len(),
            items: cuda::reinterpret(items)?,
            out: cuda::reinterpret_mut(out)?,
        })
    }

    /// The part from the item `first` on, of `items` items, and the whole output.
    fn portion(&mut self, first: usize, items: usize) -> (CudaView<'_, u8>, CudaViewMut<'_, u8>) {
        let part = first * self.bytes..(first + items) * self.bytes;
        (self.items.slice(part), self.out.slice_mut(..))
    }
}

/// What [`SelectColumns`] needs of device memory besides its arguments: 8 bytes for 4,096 items.
///
/// It is made once and then used over and over, by operations on one stream, one after the other. No call has to clear
/// it. The bytes that it takes never shrink as the capacity grows.
///
/// ```no_run
/// use compaction::{cuda, select_columns::Workspace};
///
/// let context = cuda::open(0)?;
/// let workspace = Workspace::with_capacity(&context.default_stream(), 5_000_000_000)?;
/// assert_eq!(workspace.capacity(), 5_000_000_000);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    states: States,
    /// How many items each portion of a long input keeps.
    kept: CudaSlice<u32>,
    /// Stands for a count that no kernel reads, because it is given.
    unread: CudaSlice<u64>,
    /// Stands for the columns that a call does not have; never read or written.
    absent: [CudaSlice<u8>; 2],
    capacity: usize,
}

impl Workspace {
    /// A workspace for calls on up to `items` items.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, select_columns::{Column, SelectColumns, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let workspace = Workspace::with_capacity(&stream, 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn with_capacity(stream: &Arc<CudaStream>, items: usize) -> Result<Self> {
        let tiles = items.min(u32::MAX as usize).div_ceil(TILE_ITEMS as usize);
        Ok(Self {
            states: States::new(stream, tiles.max(1))?,
            kept: cuda::uninitialised(stream, items.div_ceil(PORTION_ITEMS).max(1))?,
            unread: cuda::zeroed(stream, 1)?,
            absent: [
                cuda::zeroed(stream, 1)?,
                cuda::zeroed(stream, MOST_COLUMNS)?,
            ],
            capacity: items,
        })
    }

    /// Reports what went wrong in selections since the last report, after all that the stream has to do before: this
    /// waits.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select_columns::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// # let mut workspace = Workspace::with_capacity(&stream, 8)?;
    /// workspace.check(&stream)?; // after some calls whose count nobody has to know
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::CountTooLarge`] if a count on the device said more items than there were: as many as there were have
    /// been taken. Else those of [`cuda::download`].
    pub fn check(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.states.check_overrun(stream, "select_columns")
    }

    /// The count that a call left in `selected[0]`, after a [`check`](Self::check): this waits.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, select_columns::{Column, SelectColumns, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let select = SelectColumns::new(&Compiler::new(), &context, &[4, 8])?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// # let flags = cuda::upload(&stream, &[1_u8, 0, 1])?;
    /// # let (pixels, seeds) = (cuda::upload(&stream, &[7_u32, 8, 9])?, cuda::upload(&stream, &[70_u64, 80, 90])?);
    /// # let (mut pixels_out, mut seeds_out) = (cuda::zeroed::<u32>(&stream, 3)?, cuda::zeroed::<u64>(&stream, 3)?);
    /// # let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
    /// select.columns(
    ///     &stream,
    ///     &flags.as_view(),
    ///     Count::All,
    ///     &mut [
    ///         Column::new(pixels.as_view(), &mut pixels_out.as_view_mut())?,
    ///         Column::new(seeds.as_view(), &mut seeds_out.as_view_mut())?,
    ///     ],
    ///     &mut selected.as_view_mut(),
    ///     &mut workspace,
    /// )?;
    /// assert_eq!(workspace.read(&stream, &selected.as_view())?, 2);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`check`](Self::check), and the next read gives what was selected of as many as there were.
    /// [`Error::LengthMismatch`] for an empty view.
    pub fn read<W: CountWord>(
        &mut self,
        stream: &Arc<CudaStream>,
        selected: &CudaView<'_, W>,
    ) -> Result<usize> {
        self.check(stream)?;
        read_count(&NAMES, stream, selected)
    }

    /// Makes it as old as if all but this many of its epochs were used up. For tests of what comes then.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.states.age(stream, epochs_left)
    }

    /// The most items that it can be used for.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, select_columns::{Column, SelectColumns, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// assert_eq!(Workspace::with_capacity(&stream, 1000)?.capacity(), 1000);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The bytes of device memory that it takes.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select_columns::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert!(Workspace::with_capacity(&stream, 1 << 20)?.bytes() < 1 << 12);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        let absent: usize = self.absent.iter().map(CudaSlice::num_bytes).sum();
        let states = self.states.words.num_bytes() + self.kept.num_bytes();
        states + self.unread.num_bytes() + absent
    }
}

/// The kernel file for columns with items of so many bytes.
fn source(bytes: &[usize]) -> Result<Source> {
    check_columns(bytes.len())?;
    for &bytes in bytes {
        check_range("the bytes of a column's item", bytes, 1, MOST_BYTES)?;
    }
    let text = include_str!("../kernels/select_columns.cu");
    let source = Source::new("compaction/kernels/select_columns.cu", text)
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .constant("HELD_BYTES", HELD_BYTES)
        .constant("COLUMNS", bytes.len() as u32);
    let all = bytes.iter().map(|&bytes| bytes as u32);
    let source = BYTES
        .iter()
        .zip(all.chain(std::iter::repeat(0)))
        .fold(source, |source, (name, bytes)| source.constant(name, bytes));
    Ok(look_back::declare(source)
        .shared::<ColumnsPortion>()
        .kernel::<Columns>("select_columns")
        .kernel::<PortionOfColumns>("select_columns_portion"))
}

/// The selection from several columns on a GPU.
///
/// One launch, and for a count in `u64` one for every 2³¹ items; nothing allocated, nothing waited for: it can be
/// captured into a graph, and the graph be replayed.
///
/// ```no_run
/// use compaction::{Count, cuda, select_columns::{Column, SelectColumns, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let select = SelectColumns::new(&cuda::Compiler::new(), &context, &[4, 8])?;
/// let mut workspace = Workspace::with_capacity(&stream, 3)?;
///
/// let flags = cuda::upload(&stream, &[1_u8, 0, 1])?;
/// let (pixels, seeds) = (cuda::upload(&stream, &[7_u32, 8, 9])?, cuda::upload(&stream, &[70_u64, 80, 90])?);
/// let (mut pixels_out, mut seeds_out) = (cuda::zeroed::<u32>(&stream, 3)?, cuda::zeroed::<u64>(&stream, 3)?);
/// let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
/// select.columns(
///     &stream,
///     &flags.as_view(),
///     Count::Given(3),
///     &mut [
///         Column::new(pixels.as_view(), &mut pixels_out.as_view_mut())?,
///         Column::new(seeds.as_view(), &mut seeds_out.as_view_mut())?,
///     ],
///     &mut selected.as_view_mut(),
///     &mut workspace,
/// )?;
/// assert_eq!(workspace.read(&stream, &selected.as_view())?, 2);
/// assert_eq!(cuda::download(&stream, &seeds_out)?, [70, 90, 0]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct SelectColumns {
    bytes: Vec<usize>,
    short: Kernel<Columns>,
    long: Kernel<PortionOfColumns>,
}

impl SelectColumns {
    /// Compiles, or finds compiled, the kernels for columns with items of so many bytes: 1 to 8 columns, each of 1 to 64
    /// bytes. A path's state, say, of an origin, a direction, and a pixel: `&[12, 12, 4]`.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, select_columns::{Column, SelectColumns, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// // A pixel of 4 bytes, a seed of 8, a position and a direction of 16.
    /// let select = SelectColumns::new(&Compiler::new(), &context, &[4, 8, 16, 16])?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for other columns; what [`Compiler::load`] says.
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>, bytes: &[usize]) -> Result<Self> {
        let module = compiler.load(context, &source(bytes)?)?;
        Ok(Self {
            bytes: bytes.to_vec(),
            short: module.kernel("select_columns")?,
            long: module.kernel("select_columns_portion")?,
        })
    }

    /// The kernel files for columns with items of so many bytes: what an [`Archive`](cuda::Archive) ships.
    ///
    /// ```
    /// use compaction::select_columns::SelectColumns;
    ///
    /// assert!(SelectColumns::sources(&[12, 12, 4])?[0].path().ends_with("select_columns.cu"));
    /// let error = SelectColumns::sources(&[]).unwrap_err().to_string();
    /// assert_eq!(error, "the columns of select_columns: 0, where 1 to 8 are possible");
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for other columns.
    pub fn sources(bytes: &[usize]) -> Result<Vec<Source>> {
        Ok(vec![source(bytes)?])
    }

    /// Writes of each column the items whose flag is not zero to its output, in order, and how many there are to
    /// `selected[0]`. Outputs have room for as many items as there may be, and are left as they were behind the result.
    ///
    /// Counts, also one on the device, are `u32`, in one launch, or `u64`, in a launch for every 2³¹ items: from 2³² items on they have to be.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, select_columns::{Column, SelectColumns, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let select = SelectColumns::new(&Compiler::new(), &context, &[4, 8])?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// # let flags = cuda::upload(&stream, &[1_u8, 0, 1])?;
    /// # let (pixels, seeds) = (cuda::upload(&stream, &[7_u32, 8, 9])?, cuda::upload(&stream, &[70_u64, 80, 90])?);
    /// # let (mut pixels_out, mut seeds_out) = (cuda::zeroed::<u32>(&stream, 3)?, cuda::zeroed::<u64>(&stream, 3)?);
    /// # let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
    /// select.columns(
    ///     &stream,
    ///     &flags.as_view(),
    ///     Count::All,
    ///     &mut [
    ///         Column::new(pixels.as_view(), &mut pixels_out.as_view_mut())?,
    ///         Column::new(seeds.as_view(), &mut seeds_out.as_view_mut())?,
    ///     ],
    ///     &mut selected.as_view_mut(),
    ///     &mut workspace,
    /// )?;
    /// assert_eq!(cuda::download(&stream, &pixels_out)?, [7, 9, 0]);
    /// assert_eq!(cuda::download(&stream, &seeds_out)?, [70, 90, 0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are not as many columns as it was made for, or not of those bytes, if a column
    /// has not as many items as there are flags, or for a count on the device without a word; [`Error::OutOfRange`] for a
    /// given count of more flags than there are; [`Error::Uncountable`] for 2³² flags or more and a count of `u32`; [`Error::OutputTooShort`];
    /// [`Error::WorkspaceTooSmall`]; and those of [`Kernel::launch`].
    pub fn columns<W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        flags: &CudaView<'_, u8>,
        count: Count<'_, W>,
        columns: &mut [Column<'_>],
        selected: &mut CudaViewMut<'_, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let Workspace {
            states,
            kept,
            unread: unread_count,
            absent: [unread, unwritten],
            capacity: room,
        } = workspace;
        let counted = Counted::new(&NAMES, flags.len(), count, unread_count)?;
        let capacity = counted.capacity;
        check_workspace(|| "the items of select_columns".to_owned(), *room, capacity)?;
        self.check(flags.len(), columns, capacity)?;
        let mut selected = room_for_count::<W, u32>(&NAMES, selected)?;

        if let (Ok(items), false) = (u32::try_from(capacity), is_wide::<W>()) {
            let args = columns_args!(
                self.eight(columns, 0, capacity, unread, unwritten)?;
                flags.slice(..), counted.count, items, counted.is_given.into();
                selected.slice_mut(..), states.words.as_view_mut(),
            );
            return self.short.launch(stream, launch(capacity), args);
        }
        for number in 0..capacity.div_ceil(PORTION_ITEMS).max(1) {
            let first = number * PORTION_ITEMS;
            let items = PORTION_ITEMS.min(capacity - first);
            let portion = ColumnsPortion {
                first: first as u64,
                capacity: capacity as u64,
                number: number as u32,
                items: items as u32,
                is_given: counted.is_given.into(),
                count_words: count_words::<W>(),
            };
            let args = columns_args!(
                self.eight(columns, first, items, unread, unwritten)?;
                flags.slice(first..first + items), counted.count.slice(..), portion;
                kept.as_view_mut(), selected.slice_mut(..), states.words.as_view_mut(),
            );
            self.long.launch(stream, launch(items), args)?;
        }
        Ok(())
    }

    /// What a launch reads of each column and where it writes, for as many items from the item `first` on.
    fn eight<'a>(
        &self,
        columns: &'a mut [Column<'_>],
        first: usize,
        items: usize,
        unread: &'a CudaSlice<u8>,
        unwritten: &'a mut CudaSlice<u8>,
    ) -> Result<Eight<'a>> {
        let (mut from, mut to): (Vec<_>, Vec<_>) = columns
            .iter_mut()
            .map(|column| column.portion(first, items))
            .unzip();
        // The kernel has no code for the columns that there are not.
        from.resize_with(MOST_COLUMNS, || unread.as_view());
        let absent = unwritten.as_view_mut().chunks_exact_mut(1);
        to.extend(absent.take(MOST_COLUMNS - self.bytes.len()));
        Ok((all(from)?, all(to)?))
    }

    fn check(&self, flags: usize, columns: &[Column<'_>], capacity: usize) -> Result<()> {
        let (got, expected) = (columns.len(), self.bytes.len());
        check_len("the columns of select_columns", got, expected)?;
        for (column, &bytes) in columns.iter().zip(&self.bytes) {
            check_len("the bytes of a column's item", column.bytes, bytes)?;
            check_len("a column of select_columns", column.len, flags)?;
            check_room("an output of select_columns", column.room, capacity)?;
        }
        Ok(())
    }
}

/// A block for every tile, and one to say that there is none.
fn launch(items: usize) -> Launch {
    let tiles = items.div_ceil(TILE_ITEMS as usize).max(1);
    Launch::blocks(tiles as u32, BLOCK_THREADS)
}

fn all<T>(columns: Vec<T>) -> Result<[T; MOST_COLUMNS]> {
    columns
        .try_into()
        .map_err(|columns: Vec<T>| Error::LengthMismatch {
            what: "the columns of select_columns",
            expected: MOST_COLUMNS,
            got: columns.len(),
        })
}
