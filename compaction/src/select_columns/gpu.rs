//! Stream compaction of several columns on a GPU.

use std::sync::Arc;

use bytemuck::Pod;
use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    BATCH_BYTES, BLOCK_THREADS, MAX_BYTES, MAX_COLUMNS, NAMES, PORTION_ITEMS, TILE_ITEMS,
    Workspace, check_columns,
};
use crate::{
    Count, CountWord, Error, Result,
    arguments::{
        Call, Input, ItemCount, check_len, check_range, check_workspace, is_wide, room_for_count,
    },
    cuda::{
        self, Buffer, Compiler, Flat, In, InOut, IntoView, IntoViewMut, Kernel, Launch, Source,
        kernel_params,
    },
    look_back,
    select::check_item,
};

/// Names of the constants in the kernel file that hold the item size of each column in bytes. The constant of an absent
/// column is 0.
const BYTES: [&str; MAX_COLUMNS] = [
    "BYTES_0", "BYTES_1", "BYTES_2", "BYTES_3", "BYTES_4", "BYTES_5", "BYTES_6", "BYTES_7",
];

crate::shared! {
    /// The range of items of one launch of a call that counts by `u64`. `kernels/select_columns.cu` documents the
    /// fields.
    struct ColumnsPortion {
        first: u64,
        room: u64,
        number: u32,
        items: u32,
    }
}

kernel_params! {
    /// The parameters of the kernel `select_columns`, with the columns as bytes. `room` is the length of the outputs in
    /// items.
    struct AllColumns<'a> {
        from: Flat<[In<u8>; MAX_COLUMNS]>,
        flags: In<u8>,
        input: Input<'static>,
        room: u32,
        to: Flat<[InOut<u8>; MAX_COLUMNS]>,
        selected: InOut<u32>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `select_columns_portion`, with the columns as bytes.
    struct PortionOfColumns<'a> {
        from: Flat<[In<u8>; MAX_COLUMNS]>,
        flags: In<u8>,
        input: Input<'static>,
        portion: ColumnsPortion,
        to: Flat<[InOut<u8>; MAX_COLUMNS]>,
        kept: InOut<u32>,
        selected: InOut<u32>,
        workspace: InOut<u64>,
    }
}

/// The inputs and outputs of the eight columns that a kernel takes, as bytes. Absent columns are dummies.
type Eight<'a> = (
    [CudaView<'a, u8>; MAX_COLUMNS],
    [CudaViewMut<'a, u8>; MAX_COLUMNS],
);

/// A column in device memory: a view of its items, and a view of the buffer for its selected items.
///
/// ```no_run
/// use compaction::{cuda, select_columns::Column};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let pixels = cuda::upload(&stream, &[7_u32, 8, 9])?;
/// let mut kept = cuda::zeroed::<u32>(&stream, 2)?;
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
    /// Creates a column from its items and its output. An item has 1 to 64 bytes; another size does not compile.
    /// [`SelectColumns::columns`] checks the lengths.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, select_columns::{Column, SelectColumns, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let seeds = cuda::upload(&stream, &[70_u64, 80, 90])?;
    /// let mut out = cuda::zeroed::<u64>(&stream, 3)?;
    /// let column = Column::new(&seeds, &mut out)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Reinterpret`] if the item size is a multiple of 4 bytes, but one of the buffers is not aligned
    /// to 4 bytes.
    pub fn new<T: Pod>(items: impl IntoView<'a, T>, out: impl IntoViewMut<'a, T>) -> Result<Self> {
        const { check_item::<T>() };
        let (items, mut out) = (items.into_view(), out.into_view_mut());
        if size_of::<T>().is_multiple_of(4) {
            cuda::reinterpret::<T, u32>(items.slice(..))?;
            cuda::reinterpret_mut::<T, u32>(&mut out)?;
        }
        Ok(Self {
            bytes: size_of::<T>(),
            len: items.len(),
            room: out.len(),
            items: cuda::reinterpret(items)?,
            out: cuda::reinterpret_into(out)?,
        })
    }

    /// Creates a column of items of `bytes` bytes, 1 to 64, from views of all its bytes. Otherwise like
    /// [`new`](Self::new).
    ///
    /// ```no_run
    /// # use compaction::{cuda, select_columns::Column};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let items = cuda::upload(&stream, b"abcdef")?;
    /// let mut out = cuda::zeroed::<u8>(&stream, 6)?;
    /// let column = Column::of_bytes(3, &items, &mut out)?; // two items
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`] for another size; [`Error::LengthMismatch`] if the bytes of the items are not a
    /// multiple of `bytes`; and [`Error::Reinterpret`] if the item size is a multiple of 4 bytes, but one of the
    /// buffers is not aligned to 4 bytes.
    pub fn of_bytes(
        bytes: usize,
        items: impl IntoView<'a, u8>,
        out: impl IntoViewMut<'a, u8>,
    ) -> Result<Self> {
        let (items, mut out) = (items.into_view(), out.into_view_mut());
        check_range("the bytes of a column's item", bytes, 1, MAX_BYTES)?;
        let len = items.len() / bytes;
        check_len("the bytes of a column", items.len(), len * bytes)?;
        let room = out.len() / bytes;
        if bytes.is_multiple_of(4) {
            cuda::reinterpret::<u8, u32>(items.slice(..))?;
            cuda::reinterpret_mut::<u8, u32>(&mut out.slice_mut(..room * bytes))?;
        }
        Ok(Self {
            bytes,
            len,
            room,
            items,
            out,
        })
    }

    /// Returns the input items `first..first + items` and the whole output, as bytes.
    fn portion(&mut self, first: usize, items: usize) -> (CudaView<'_, u8>, CudaViewMut<'_, u8>) {
        let part = first * self.bytes..(first + items) * self.bytes;
        (self.items.slice(part), self.out.slice_mut(..))
    }
}

/// Returns the kernel source for columns whose items have the sizes `bytes`. Returns [`Error::OutOfRange`] unless there
/// are 1 to 8 columns with items of 1 to 64 bytes.
fn source(bytes: &[usize]) -> Result<Source> {
    check_columns(bytes.len())?;
    for &bytes in bytes {
        check_range("the bytes of a column's item", bytes, 1, MAX_BYTES)?;
    }
    let text = include_str!("../../kernels/select_columns.cu");
    let source = Source::new("compaction/kernels/select_columns.cu", text)
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .constant("BATCH_BYTES", BATCH_BYTES)
        .constant("COLUMNS", bytes.len() as u32);
    let all = bytes.iter().map(|&bytes| bytes as u32);
    let source = BYTES
        .iter()
        .zip(all.chain(std::iter::repeat(0)))
        .fold(source, |source, (name, bytes)| source.constant(name, bytes));
    Ok(look_back::declare(source)
        .shared::<ColumnsPortion>()
        .kernel::<AllColumns<'static>>("select_columns")
        .kernel::<PortionOfColumns<'static>>("select_columns_portion"))
}

/// Stream compaction of several columns on a GPU by one array of flags. Thrust: `copy_if` over a `zip_iterator`.
///
/// A call takes one launch, or one for every 2³¹ items if it counts by `u64`. It allocates nothing and does not wait,
/// so it can be captured into a CUDA graph.
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
///     &flags,
///     Count::Given(3),
///     &mut [
///         Column::new(&pixels, &mut pixels_out)?,
///         Column::new(&seeds, &mut seeds_out)?,
///     ],
///     &mut selected,
///     &mut workspace,
/// )?;
/// assert_eq!(workspace.read(&stream, &selected)?, 2);
/// assert_eq!(cuda::download(&stream, &seeds_out)?, [70, 90, 0]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceSelect", "zip_iterator"))]
#[derive(Debug)]
pub struct SelectColumns {
    bytes: Vec<usize>,
    short: Kernel<AllColumns<'static>>,
    long: Kernel<PortionOfColumns<'static>>,
}

impl SelectColumns {
    /// Compiles the kernels for columns whose items have the sizes `bytes`, or loads them if compiled earlier.
    ///
    /// There are 1 to 8 columns with items of 1 to 64 bytes. An example is a path with an origin, a direction and a
    /// pixel: `&[12, 12, 4]`.
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
    /// Returns [`Error::OutOfRange`] for other numbers or sizes, and the errors of [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>, bytes: &[usize]) -> Result<Self> {
        let module = compiler.load(context, &source(bytes)?)?;
        Ok(Self {
            bytes: bytes.to_vec(),
            short: module.kernel("select_columns")?,
            long: module.kernel("select_columns_portion")?,
        })
    }

    /// Returns the kernel files for columns whose items have the sizes `bytes`, for an [`Archive`](cuda::Archive).
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
    /// Returns [`Error::OutOfRange`] unless there are 1 to 8 columns with items of 1 to 64 bytes.
    pub fn sources(bytes: &[usize]) -> Result<Vec<Source>> {
        Ok(vec![source(bytes)?])
    }

    /// Enqueues a selection that writes the items of each column whose flag is nonzero to the column's output, in
    /// order, and their number to `selected[0]`.
    ///
    /// If an output is shorter than the result, all outputs receive as many items as the shortest one has room for, and
    /// `selected[0]` is the full count. Entries behind the result keep their values. A device count larger than `flags`
    /// is clamped, and [`Workspace::check`] reports it.
    ///
    /// Counts are `u32`, in one launch, or `u64`, in one launch for every 2³¹ items. 2³² or more items need `u64`.
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
    ///     &flags,
    ///     Count::All,
    ///     &mut [
    ///         Column::new(&pixels, &mut pixels_out)?,
    ///         Column::new(&seeds, &mut seeds_out)?,
    ///     ],
    ///     &mut selected,
    ///     &mut workspace,
    /// )?;
    /// assert_eq!(cuda::download(&stream, &pixels_out)?, [7, 9, 0]);
    /// assert_eq!(cuda::download(&stream, &seeds_out)?, [70, 90, 0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// * [`Error::LengthMismatch`] if the columns differ in number or item size from those of [`new`](Self::new), if a
    ///   column has not as many items as there are flags, or for an empty view of a device count
    /// * [`Error::OutOfRange`] for a host count larger than `flags`
    /// * [`Error::Uncountable`] for 2³² or more flags with counts of `u32`
    /// * [`Error::OutputTooShort`] for an empty `selected`
    /// * [`Error::WorkspaceTooSmall`] for a workspace of too few items
    /// * the errors of [`Kernel::launch`]
    pub fn columns<'a, W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        flags: impl IntoView<'a, u8>,
        count: Count<'a, W>,
        columns: &mut [Column<'_>],
        selected: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let flags = &flags.into_view();
        let selected = &mut selected.into_view_mut();
        let mut buffers: Vec<(&str, &dyn cuda::Operand)> = vec![("flags", &flags)];
        for column in &*columns {
            buffers.push(("column", &column.items));
            buffers.push(("output", &column.out));
        }
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.short.context(),
            buffers: &buffers,
            count: count.operand(),
            written: Some(&selected),
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let Workspace {
            states,
            kept,
            dummy_count,
            absent: [dummy_input, dummy_output],
            capacity: room,
        } = workspace;
        let item_count = ItemCount::new(&NAMES, flags.len(), count, dummy_count)?;
        let capacity = item_count.capacity;
        check_workspace(|| "the items of select_columns".to_owned(), *room, capacity)?;
        let shortest = self.check(flags.len(), columns)?.min(capacity);
        let mut selected = room_for_count::<W, u32>(&NAMES, selected)?;

        if u32::try_from(capacity).is_ok() && !is_wide::<W>() {
            let (from, to) = self.eight(columns, 0, capacity, dummy_input, dummy_output)?;
            let args = AllColumns {
                from,
                flags: flags.slice(..),
                input: item_count.input(),
                room: shortest as u32,
                to,
                selected,
                workspace: states.words.as_view_mut(),
            };
            return self.short.launch(stream, launch(capacity), args);
        }
        for number in 0..capacity.div_ceil(PORTION_ITEMS).max(1) {
            let first = number * PORTION_ITEMS;
            let items = PORTION_ITEMS.min(capacity - first);
            let portion = ColumnsPortion {
                first: first as u64,
                room: shortest as u64,
                number: number as u32,
                items: items as u32,
            };
            let (from, to) = self.eight(columns, first, items, dummy_input, dummy_output)?;
            let args = PortionOfColumns {
                from,
                flags: flags.slice(first..first + items),
                input: item_count.input(),
                portion,
                to,
                kept: kept.as_view_mut(),
                selected: selected.slice_mut(..),
                workspace: states.words.as_view_mut(),
            };
            self.long.launch(stream, launch(items), args)?;
        }
        Ok(())
    }

    /// Returns the inputs and outputs of all columns for the items `first..first + items`. The kernels take eight
    /// columns, so dummies replace absent ones. The caller has checked that there are at most eight.
    fn eight<'a>(
        &self,
        columns: &'a mut [Column<'_>],
        first: usize,
        items: usize,
        dummy_input: &'a Buffer<u8>,
        dummy_output: &'a mut Buffer<u8>,
    ) -> Result<Eight<'a>> {
        let (mut from, mut to): (Vec<_>, Vec<_>) = columns
            .iter_mut()
            .map(|column| column.portion(first, items))
            .unzip();
        // The kernel contains no code for absent columns.
        from.resize_with(MAX_COLUMNS, || dummy_input.as_view());
        let absent = cuda::single_items(dummy_output.as_view_mut());
        to.extend(absent.take(MAX_COLUMNS - self.bytes.len()));
        Ok((all(from)?, all(to)?))
    }

    /// Checks the number of columns, their item sizes and the lengths of their inputs. Returns the length of the
    /// shortest output.
    fn check(&self, flags: usize, columns: &[Column<'_>]) -> Result<usize> {
        let (got, expected) = (columns.len(), self.bytes.len());
        check_len("the columns of select_columns", got, expected)?;
        for (column, &bytes) in columns.iter().zip(&self.bytes) {
            check_len("the bytes of a column's item", column.bytes, bytes)?;
            check_len("a column of select_columns", column.len, flags)?;
        }
        let rooms = columns.iter().map(|column| column.room);
        Ok(rooms.min().unwrap_or(0))
    }
}

/// Returns a launch with one block per tile. There is at least one block, because it writes the count of selected
/// items.
fn launch(items: usize) -> Launch {
    let tiles = items.div_ceil(TILE_ITEMS as usize).max(1);
    Launch::blocks(tiles as u32, BLOCK_THREADS)
}

/// Converts eight columns to an array.
fn all<T>(columns: Vec<T>) -> Result<[T; MAX_COLUMNS]> {
    columns
        .try_into()
        .map_err(|columns: Vec<T>| Error::LengthMismatch {
            what: "the columns of select_columns",
            expected: MAX_COLUMNS,
            got: columns.len(),
        })
}
