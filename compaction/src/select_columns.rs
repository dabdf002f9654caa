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

pub mod cpu;

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut};

use crate::{
    Error, Result,
    counting::{Counted, Names, check_room, read_count},
    cuda::{self, Compiler, In, InOut, Kernel, Launch, Source},
    layout::Shared,
    look_back::{self, States},
    select::Count,
};

/// Threads of a block.
const BLOCK_THREADS: u32 = 128;
/// Items of a block on CUDA: the flags of a thread are one load of 16 bytes.
pub const TILE_ITEMS: u32 = 16 * BLOCK_THREADS;
/// Words that a thread holds at once on their way.
const HELD_WORDS: u32 = 32;

/// Columns that one call moves, at most.
pub const MOST_COLUMNS: usize = 8;
/// Bytes of the widest item.
const MOST_BYTES: usize = 64;

const NAMES: Names = Names {
    room: "select_columns",
    input: "the flags of select_columns",
    count: "the count that select_columns reads",
};

/// The names of the constants for the columns' words.
const WORDS: [&str; MOST_COLUMNS] = [
    "WORDS_0", "WORDS_1", "WORDS_2", "WORDS_3", "WORDS_4", "WORDS_5", "WORDS_6", "WORDS_7",
];

/// Eight columns to read, `(flags, count, capacity, is_given)`, eight to write, `(selected, workspace)`
type Columns = (
    In<u32>,
    In<u32>,
    In<u32>,
    In<u32>,
    In<u32>,
    In<u32>,
    In<u32>,
    In<u32>,
    In<u8>,
    In<u32>,
    u32,
    u32,
    InOut<u32>,
    InOut<u32>,
    InOut<u32>,
    InOut<u32>,
    InOut<u32>,
    InOut<u32>,
    InOut<u32>,
    InOut<u32>,
    InOut<u32>,
    InOut<u64>,
);

/// Refuses, when the program is compiled, items that the kernels do not take.
const fn check_item<T>() {
    let size = size_of::<T>();
    assert!(
        size >= 4 && size <= MOST_BYTES && size.is_multiple_of(4),
        "an item has 4 to 64 bytes, a multiple of 4"
    );
}

/// Refuses a number of columns that no call takes.
fn check_columns(columns: usize) -> Result<()> {
    if columns == 0 {
        return Err(Error::OutputTooShort {
            what: "the columns of select_columns",
            needed: 1,
            got: 0,
        });
    }
    if columns > MOST_COLUMNS {
        return Err(Error::TooLong {
            what: "the columns of select_columns",
            len: columns,
            max: MOST_COLUMNS,
        });
    }
    Ok(())
}

/// A column on the device: where it is read and where what is kept of it is written.
#[derive(Debug)]
pub struct Column<'a> {
    bytes: usize,
    len: usize,
    room: usize,
    items: CudaView<'a, u32>,
    out: CudaViewMut<'a, u32>,
}

impl<'a> Column<'a> {
    /// A column of items of 4 to 64 bytes, a multiple of 4; another size does not compile.
    ///
    /// # Errors
    ///
    /// [`Error::Reinterpret`] for items that do not lie on 4 bytes.
    pub fn new<T: Shared>(items: CudaView<'a, T>, out: &'a mut CudaViewMut<'_, T>) -> Result<Self> {
        const { check_item::<T>() };
        Ok(Self {
            bytes: size_of::<T>(),
            len: items.len(),
            room: out.len(),
            items: cuda::reinterpret(items)?,
            out: cuda::reinterpret_mut(out)?,
        })
    }
}

/// What [`SelectColumns`] needs of device memory besides its arguments: 8 bytes for 2,048 items.
///
/// It is made once and then used over and over, by operations on one stream, one after the other. No call has to clear
/// it. The bytes that it takes never shrink as the capacity grows.
#[derive(Debug)]
pub struct Workspace {
    states: States,
    /// The device's count for calls whose count is given: it limits nothing.
    no_limit: CudaSlice<u32>,
    /// Stands for the columns that a call does not have; never read or written.
    absent: CudaSlice<u32>,
    capacity: u32,
}

impl Workspace {
    /// A workspace for operations on up to `items` items.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn with_capacity(stream: &Arc<CudaStream>, items: u32) -> Result<Self> {
        let tiles = items.div_ceil(TILE_ITEMS).max(1);
        Ok(Self {
            states: States::new(stream, tiles as usize)?,
            no_limit: cuda::upload(stream, &[u32::MAX])?,
            absent: cuda::zeroed(stream, MOST_COLUMNS)?,
            capacity: items,
        })
    }

    /// The count that an operation left in `selected[0]`, after all that its stream has to do before: this waits.
    ///
    /// # Errors
    ///
    /// [`Error::CountTooLarge`] if an operation since the last read was told by the device of more items than there
    /// were: it took as many as there were, and the next read gives what it selected of these.
    /// [`Error::LengthMismatch`] if the view is empty. Else those of [`cuda::download`].
    pub fn read(
        &mut self,
        stream: &Arc<CudaStream>,
        selected: &CudaView<'_, u32>,
    ) -> Result<usize> {
        self.states.check_overrun(stream, "select_columns")?;
        read_count("the count that select_columns writes", stream, selected)
    }

    /// Makes it as old as if all but this many of its epochs were used up. For tests of what comes then.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.states.age(stream, epochs_left)
    }

    /// The most items that it can be used for.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }
}

/// The selection from several columns on a GPU.
///
/// One launch, nothing allocated, nothing waited for: it can be captured into a graph, and the graph be replayed.
///
/// ```no_run
/// use compaction::{cuda, select::Count, select_columns::{Column, SelectColumns, Workspace}};
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
/// assert_eq!(cuda::download(&stream, &selected)?, [2]);
/// assert_eq!(cuda::download(&stream, &seeds_out)?, [70, 90, 0]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct SelectColumns {
    bytes: Vec<usize>,
    kernel: Kernel<Columns>,
}

impl SelectColumns {
    /// Compiles, or finds compiled, the kernel for columns with items of so many bytes: 1 to 8 columns, each of 4 to 64
    /// bytes, a multiple of 4.
    ///
    /// # Errors
    ///
    /// [`Error::OutputTooShort`], [`Error::TooLong`] and [`Error::LengthMismatch`] for other columns; what
    /// [`Compiler::load`] says.
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>, bytes: &[usize]) -> Result<Self> {
        let module = compiler.load(context, &Self::source(bytes)?)?;
        Ok(Self {
            bytes: bytes.to_vec(),
            kernel: module.kernel("select_columns")?,
        })
    }

    /// The kernel for columns with items of so many bytes: what an [`Archive`](cuda::Archive) ships.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), without the compiler's.
    pub fn source(bytes: &[usize]) -> Result<Source> {
        check_columns(bytes.len())?;
        if let Some(&got) = bytes
            .iter()
            .find(|&&bytes| bytes == 0 || bytes > MOST_BYTES || !bytes.is_multiple_of(4))
        {
            return Err(Error::LengthMismatch {
                what: "the bytes of a column's item, 4 to 64 in steps of 4",
                expected: got.next_multiple_of(4).clamp(4, MOST_BYTES),
                got,
            });
        }
        let text = include_str!("../kernels/select_columns.cu");
        let source = Source::new("compaction/kernels/select_columns.cu", text)
            .constant("BLOCK_THREADS", BLOCK_THREADS)
            .constant("HELD_WORDS", HELD_WORDS)
            .constant("COLUMNS", bytes.len() as u32);
        let words = bytes.iter().map(|bytes| (bytes / 4) as u32);
        let source = WORDS
            .iter()
            .zip(words.chain(std::iter::repeat(0)))
            .fold(source, |source, (name, words)| source.constant(name, words));
        Ok(look_back::declare(source).kernel::<Columns>("select_columns"))
    }

    /// Writes of each column the items whose flag is not zero to its output, in order, and how many there are to
    /// `selected[0]`. Outputs have room for as many items as there may be, and are left as they were behind the result.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are not as many columns as it was made for, or not of those bytes, if a column
    /// has not as many items as there are flags, if there are fewer flags than a given count says, or no word in a
    /// count's view; [`Error::TooLong`] for 2³² flags or more; [`Error::OutputTooShort`];
    /// [`Error::WorkspaceTooSmall`]; and those of [`Kernel::launch`].
    pub fn columns(
        &self,
        stream: &Arc<CudaStream>,
        flags: &CudaView<'_, u8>,
        count: Count<'_>,
        columns: &mut [Column<'_>],
        selected: &mut CudaViewMut<'_, u32>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let room = workspace.capacity();
        let counted = Counted::new(&NAMES, flags.len(), count, room, &workspace.no_limit)?;
        self.check(flags.len(), columns, counted.capacity as usize)?;
        check_room("the count that select_columns writes", selected.len(), 1)?;

        let (mut from, mut to) = (Vec::new(), Vec::new());
        for column in columns {
            from.push(column.items.slice(..));
            to.push(column.out.slice_mut(..));
        }
        // The kernel has no code for the columns that there are not.
        from.resize_with(MOST_COLUMNS, || workspace.no_limit.slice(..));
        let absent = workspace.absent.as_view_mut().chunks_exact_mut(1);
        to.extend(absent.take(MOST_COLUMNS - self.bytes.len()));
        let [a, b, c, d, e, f, g, h] = eight(from)?;
        let [i, j, k, l, m, n, o, p] = eight(to)?;
        let args = (
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            flags.slice(..),
            counted.count,
            counted.capacity,
            counted.is_given.into(),
            i,
            j,
            k,
            l,
            m,
            n,
            o,
            p,
            selected.slice_mut(..),
            workspace.states.words.as_view_mut(),
        );
        let tiles = counted.capacity.div_ceil(TILE_ITEMS).max(1);
        self.kernel
            .launch(stream, Launch::blocks(tiles, BLOCK_THREADS), args)
    }

    fn check(&self, flags: usize, columns: &[Column<'_>], capacity: usize) -> Result<()> {
        let differs = |what, expected, got| Error::LengthMismatch {
            what,
            expected,
            got,
        };
        if columns.len() != self.bytes.len() {
            return Err(differs(
                "the columns of select_columns",
                self.bytes.len(),
                columns.len(),
            ));
        }
        for (column, &bytes) in columns.iter().zip(&self.bytes) {
            if column.bytes != bytes {
                return Err(differs("the bytes of a column's item", bytes, column.bytes));
            }
            if column.len != flags {
                return Err(differs("a column of select_columns", flags, column.len));
            }
            check_room("an output of select_columns", column.room, capacity)?;
        }
        Ok(())
    }
}

fn eight<T>(columns: Vec<T>) -> Result<[T; MOST_COLUMNS]> {
    columns
        .try_into()
        .map_err(|columns: Vec<T>| Error::LengthMismatch {
            what: "the columns of select_columns",
            expected: MOST_COLUMNS,
            got: columns.len(),
        })
}
