//! Stream compaction of several columns by one array of flags: plans and calls.

use std::{slice, sync::Arc};

use compaction::{
    CountWord,
    cuda::{Arena, Buffer},
    cudarc::driver::{CudaContext, CudaStream, CudaViewMut},
    select_columns::{self, SelectColumns, cpu},
};

use crate::{
    context::{Context, Gpu},
    memory::{
        Address, CUstream_st, Ranges, borrow, check_pointer, count_of, device, device_count, host,
        host_count, host_mut, to_len, to_word,
    },
    plan::{Extent, Operation, Plan, make_plan},
    status::{Failure, Status, guard},
    types::{Word, with_word},
    workspace::{Scratch, Workspace},
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

/// The operation of a plan of [`compaction_plan_select_columns`]: selections from columns with items of fixed sizes.
struct ColumnsPlan {
    /// The size in bytes of one item of each column, 1 to 64.
    bytes: Vec<usize>,
    word: Word,
    /// The loaded kernels. `None` on the CPU.
    select: Option<SelectColumns>,
}

impl Operation for ColumnsPlan {
    fn name(&self) -> &'static str {
        "select_columns"
    }

    fn scratch_bytes(&self, context: &Arc<CudaContext>, extent: Extent) -> Result<usize, Failure> {
        Ok(select_columns::Workspace::bytes_for(
            context,
            extent.items()?,
        )?)
    }

    fn scratch(&self, arena: &mut Arena, extent: Extent) -> Result<Box<dyn Scratch>, Failure> {
        Ok(Box::new(select_columns::Workspace::in_arena(
            arena,
            extent.items()?,
        )?))
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
    let make = |gpu: Option<&Gpu>| {
        check_pointer("item_bytes", item_bytes)?;
        check_columns(columns as usize)?;
        // SAFETY: not null, and the caller vouches for the length.
        let bytes = unsafe { slice::from_raw_parts(item_bytes, columns as usize) };
        let bytes: Vec<usize> = bytes.iter().map(|&bytes| bytes as usize).collect();
        // Checks the sizes on the CPU too.
        SelectColumns::sources(&bytes)?;
        let load = |gpu: &Gpu| SelectColumns::new(&gpu.compiler, &gpu.context, &bytes);
        Ok(ColumnsPlan {
            word: Word::of_bits(word_bits)?,
            select: gpu.map(load).transpose()?,
            bytes,
        })
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
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

/// The arguments of [`compaction_select_columns`], with as many columns as the plan has. `count` is the address of a
/// word with the number of items, or 0 for all `items`.
struct Call<'a> {
    plan: &'a ColumnsPlan,
    flags: Address,
    items: usize,
    count: Address,
    columns: &'a [Column],
    selected: Address,
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
    guard(|| {
        // SAFETY: the caller's duty.
        let plan = unsafe { borrow("plan", plan) }?;
        check_pointer("columns", columns)?;
        let operation = plan.operation::<ColumnsPlan>("select_columns")?;
        let (got, expected) = (column_count as usize, operation.bytes.len());
        if got != expected {
            return Err(Failure::invalid(format!(
                "columns: {got} instead of the {expected} of the plan"
            )));
        }
        let call = Call {
            plan: operation,
            flags,
            items: to_len(items)?,
            count,
            // SAFETY: not null, and the caller vouches for the length.
            columns: unsafe { slice::from_raw_parts(columns, got) },
            selected,
        };
        // SAFETY: the caller's duty.
        with_word!(operation.word, W => unsafe {
            call.ranges::<W>()?.check_apart()?;
            match plan.stream(stream) {
                Some((_keep, stream)) => call.on_gpu::<W>(workspace, &stream),
                None => call.on_cpu::<W>(),
            }
        })
    })
}

impl Call<'_> {
    /// Returns the ranges of the flags, the counts and the columns. Returns a failure if one exceeds the address space.
    fn ranges<W>(&self) -> Result<Ranges, Failure> {
        let mut ranges = Ranges::default()
            .reads::<u8>("flags", self.flags, self.items)?
            .reads::<W>("count", self.count, usize::from(self.count != 0))?
            .writes::<W>("selected", self.selected, 1)?;
        for (column, &bytes) in self.columns.iter().zip(&self.plan.bytes) {
            let len = self.items.saturating_mul(bytes);
            ranges = ranges
                .reads::<u8>("values", column.values, len)?
                .writes::<u8>("out", column.out, len)?;
        }
        Ok(ranges)
    }

    /// Enqueues the selection on a GPU. Returns a failure if the workspace is null, in use or too small.
    ///
    /// # Safety
    ///
    /// As for [`compaction_select_columns`].
    unsafe fn on_gpu<W: CountWord>(
        &self,
        workspace: *mut Workspace,
        stream: &Arc<CudaStream>,
    ) -> Result<(), Failure> {
        let Some(select) = &self.plan.select else {
            return Err(Failure::invalid("plan: it has no kernels"));
        };
        let mut buffers: Vec<(Buffer<u8>, Buffer<u8>)> = Vec::with_capacity(self.columns.len());
        for (column, &bytes) in self.columns.iter().zip(&self.plan.bytes) {
            let len = self.items.saturating_mul(bytes);
            // SAFETY: the caller's duty.
            buffers.push(unsafe {
                (
                    device::<u8>(stream, "values", column.values, len)?,
                    device::<u8>(stream, "out", column.out, len)?,
                )
            });
        }
        // SAFETY: the caller's duty, for all buffers of the call.
        let (workspace, flags, count, mut selected) = unsafe {
            (
                borrow("workspace", workspace)?,
                device::<u8>(stream, "flags", self.flags, self.items)?,
                device_count::<W>(stream, self.count)?,
                device::<W>(stream, "selected", self.selected, 1)?,
            )
        };
        let mut views: Vec<(_, CudaViewMut<'_, u8>)> = buffers
            .iter_mut()
            .map(|(values, out)| (values.as_view(), out.as_view_mut()))
            .collect();
        let mut columns = Vec::with_capacity(views.len());
        for ((values, out), &bytes) in views.iter_mut().zip(&self.plan.bytes) {
            columns.push(select_columns::Column::of_bytes(
                bytes,
                values.slice(..),
                out,
            )?);
        }
        // SAFETY: the caller's duty.
        unsafe {
            workspace.with(stream, |scratch| {
                select.columns(
                    stream,
                    &flags,
                    count_of(&count),
                    &mut columns,
                    &mut selected,
                    scratch,
                )
            })
        }
    }

    /// Runs the selection on the CPU. Returns a failure if the word at `count` is larger than `items`.
    ///
    /// # Safety
    ///
    /// As for [`compaction_select_columns`].
    unsafe fn on_cpu<W: CountWord>(&self) -> Result<(), Failure> {
        // SAFETY: the caller's duty. No written buffer overlaps another.
        unsafe {
            let items = host_count::<W>(self.count, self.items)?;
            to_word::<W>("items", items)?;
            let flags = host::<u8>("flags", self.flags, items)?;
            let selected = host_mut::<W>("selected", self.selected, 1)?;
            let mut columns = Vec::with_capacity(self.columns.len());
            for (column, &bytes) in self.columns.iter().zip(&self.plan.bytes) {
                let len = items.saturating_mul(bytes);
                let values = host::<u8>("values", column.values, len)?;
                let out = host_mut::<u8>("out", column.out, len)?;
                columns.push(cpu::Column::of_bytes(bytes, values, out)?);
            }
            let kept = cpu::columns(flags, &mut columns)?;
            selected[0] = to_word("items", kept)?;
        }
        Ok(())
    }
}
