//! Stream compaction of several columns by one array of flags: plans and calls.

use std::{marker::PhantomData, slice};

use compaction::{
    CountWord,
    cudarc::driver::CudaViewMut,
    select_columns::{self, SelectColumns, cpu},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, check_pointer, write_count},
    operation::{Site, TypedOperation, TypedPlan, call},
    plan::{Plan, make_plan},
    status::{Failure, Status, guard},
    types::{Word, with_word},
    workspace::Workspace,
};

/// A column of compaction_select_columns: its items, and the buffer for its selected items.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The address of the input items, which the call only reads.
    pub values: Address,
    /// The address of the output, which must have room for as many items.
    pub out: Address,
}

/// The arguments of [`compaction_select_columns`].
struct ColumnsCall<'a> {
    flags: Address,
    items: u64,
    count: Address,
    columns: &'a [Column],
    selected: Address,
}

/// Selections from columns with items of fixed sizes, with counts of type `W`.
struct Columns<W> {
    /// The size in bytes of one item of each column, 1 to 64.
    bytes: Vec<usize>,
    /// The loaded kernels. `None` on the CPU.
    select: Option<SelectColumns>,
    word: PhantomData<fn(W)>,
}

impl<W: CountWord> TypedOperation for Columns<W> {
    type Scratch = select_columns::Workspace;
    type Call = ColumnsCall<'static>;

    fn scratch_variant(&self) {}

    unsafe fn run(&self, site: Site, call: &ColumnsCall<'_>) -> Result<(), Failure> {
        let (got, expected) = (call.columns.len(), self.bytes.len());
        if got != expected {
            return Err(Failure::invalid(format!(
                "columns: {got} instead of the {expected} of the plan"
            )));
        }
        let mut buffers = Buffers::default();
        let flags = buffers.reads::<u8>("flags", call.flags, call.items)?;
        let count = buffers.count::<W>(call.count, call.items)?;
        let selected = buffers.writes::<W>("selected", call.selected, 1)?;
        let mut columns = Vec::with_capacity(got);
        for (column, &bytes) in call.columns.iter().zip(&self.bytes) {
            let len = call.items.saturating_mul(bytes as u64);
            let values = buffers.reads::<u8>("values", column.values, len)?;
            columns.push((bytes, values, buffers.writes::<u8>("out", column.out, len)?));
        }
        buffers.check_apart()?;
        // SAFETY: the caller's duty. No output overlaps another buffer.
        unsafe {
            site.run(
                &self.select,
                count.max(),
                |select, stream, scratch| {
                    let mut borrowed = Vec::with_capacity(got);
                    for (_, values, out) in &columns {
                        borrowed.push((values.on(stream)?, out.on(stream)?));
                    }
                    let mut views: Vec<(_, CudaViewMut<'_, u8>)> = borrowed
                        .iter_mut()
                        .map(|(values, out)| (values.as_view(), out.as_view_mut()))
                        .collect();
                    let mut of_bytes = Vec::with_capacity(got);
                    for ((values, out), &bytes) in views.iter_mut().zip(&self.bytes) {
                        let values = values.slice(..);
                        of_bytes.push(select_columns::Column::of_bytes(bytes, values, out)?);
                    }
                    Ok(select.columns(
                        stream,
                        &flags.on(stream)?,
                        count.on(stream)?.get(),
                        &mut of_bytes,
                        &mut selected.on(stream)?,
                        scratch,
                    )?)
                },
                || {
                    let items = count.host()?;
                    let mut of_bytes = Vec::with_capacity(got);
                    for (bytes, values, out) in &columns {
                        let values = values.host(items * bytes)?;
                        of_bytes.push(cpu::Column::of_bytes(*bytes, values, out.host()?)?);
                    }
                    let kept = cpu::columns(flags.host(items)?, &mut of_bytes)?;
                    write_count(selected.host()?, kept)
                },
            )
        }
    }
}

/// Plans selections from a struct of arrays: compaction_select_columns.
///
/// There are `columns` columns, 1 to 8, and the items of column c have `item_bytes[c]` bytes, 1 to 64. Counts are
/// unsigned words of `word_bits` bits: 32, for fewer than 2^32 items, or 64. The order of the items is kept.
///
/// The kernels need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library, `item_bytes` must point to `columns` numbers, and `plan` must point to
/// memory for a pointer; null is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_select_columns(
    context: *const Context,
    item_bytes: *const u32,
    columns: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        check_pointer("item_bytes", item_bytes)?;
        check_columns(columns as usize)?;
        // SAFETY: not null, and the caller vouches for the length.
        let bytes = unsafe { slice::from_raw_parts(item_bytes, columns as usize) };
        let bytes: Vec<usize> = bytes.iter().map(|&bytes| bytes as usize).collect();
        // Checks the sizes on the CPU too.
        SelectColumns::sources(&bytes)?;
        let load = |gpu: &Gpu| SelectColumns::new(&gpu.compiler, &gpu.context, &bytes);
        let select = gpu.map(load).transpose()?;
        with_word!(Word::of_bits(word_bits)?, W => {
            let word = PhantomData::<fn(W)>;
            Ok(TypedPlan::new("select_columns", Columns { bytes, select, word }))
        })
    })
}

/// Returns a failure unless there are 1 to 8 columns.
fn check_columns(columns: usize) -> Result<(), Failure> {
    let max = select_columns::MAX_COLUMNS;
    if (1..=max).contains(&columns) {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "columns: {columns}, where 1 to {max} are possible"
    )))
}

/// Selects the items of each column whose flag is nonzero.
///
/// Reads `items` flags of one byte, or as many as the word at the address `count` says, if that is not 0. A word larger
/// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. Writes the
/// selected items of each column to its output, and their number to the word at `selected`. There must be as many
/// columns as in the plan. Items of a multiple of 4 bytes must be aligned to 4 bytes. Memory behind the results keeps
/// its values.
///
/// # Safety
///
/// As for compaction_select_indices. `columns` must point to `column_count` columns; null is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_select_columns(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    flags: Address,
    items: u64,
    count: Address,
    columns: *const Column,
    column_count: u32,
    selected: Address,
) -> Status {
    let pointer = || {
        check_pointer("columns", columns)?;
        check_columns(column_count as usize)
    };
    let status = guard(|| pointer().map_err(|failure: Failure| failure.of_call("select_columns")));
    if status != Status::CompactionSuccess {
        return status;
    }
    let arguments = ColumnsCall {
        flags,
        items,
        count,
        // SAFETY: not null, and the caller vouches for the length.
        columns: unsafe { slice::from_raw_parts(columns, column_count as usize) },
        selected,
    };
    // SAFETY: the caller's duty.
    unsafe { call("select_columns", plan, workspace, stream, arguments) }
}
