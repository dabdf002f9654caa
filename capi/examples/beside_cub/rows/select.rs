//! Selection of indices, numbers and records, partition in two, and selection of columns.

use compaction::{
    Count,
    partition::{self, Partition},
    select::{Predicate, Select, SelectIf, Strategy, Workspace},
    select_columns::{self, Column, SelectColumns},
};

use crate::{
    Result,
    bench::{Bench, Work, read, write},
    inputs,
};

compaction::shared! {
    /// A quarter of a path's state.
    struct Quarter {
        words: [u32; 4],
    }

    /// A record of 32 bytes.
    struct Record {
        words: [u32; 8],
    }
}

pub(crate) fn rows(bench: &mut Bench, log2_items: u32) -> Result<()> {
    indices(bench, log2_items)?;
    numbers(bench, log2_items)?;
    by_predicate(bench, log2_items)?;
    partition(bench, log2_items)?;
    // At 2²⁸ items, records and columns would be larger than the memory of most GPUs.
    if log2_items <= 24 {
        records(bench, log2_items)?;
        columns(bench, log2_items)?;
    }
    Ok(())
}

fn indices(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let flags = inputs::flags(items, 50);
    let kept = inputs::sum(&flags);
    let select = Select::new(&bench.compiler, &bench.context, Strategy::LookBack)?;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "indices by flags, 50 %",
        log2_items,
        inputs: &[&flags],
        outputs: &[4 * items, 4],
        bytes: items + 4 * kept,
        peer: Some("select_indices"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let [out, count] = outputs else {
            unreachable!("the row has two outputs")
        };
        let (out, count) = (write::<u32>(out)?, write::<u32>(count)?);
        Ok(select.indices(
            stream,
            read::<u8>(&inputs[0])?,
            Count::All,
            out,
            count,
            &mut workspace,
        )?)
    })
}

fn numbers(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let flags = inputs::flags(items, 50);
    let numbers = inputs::random(items, u32::MAX);
    let work = Work {
        name: "u32 by flags, 50 %",
        log2_items,
        inputs: &[bytemuck::cast_slice(&numbers), &flags],
        outputs: &[4 * items, 4],
        bytes: 5 * items + 4 * inputs::sum(&flags),
        peer: Some("select_u32"),
        is_exact: true,
    };
    by_flags::<u32>(bench, &work)
}

fn records(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let flags = inputs::flags(items, 50);
    let records = inputs::random(8 * items, u32::MAX);
    let work = Work {
        name: "records of 32 bytes by flags, 50 %",
        log2_items,
        inputs: &[bytemuck::cast_slice(&records), &flags],
        outputs: &[32 * items, 4],
        bytes: items + 64 * inputs::sum(&flags),
        peer: Some("select_records"),
        is_exact: true,
    };
    by_flags::<Record>(bench, &work)
}

fn by_flags<T: compaction::layout::Shared>(bench: &mut Bench, work: &Work<'_>) -> Result<()> {
    let select = Select::new(&bench.compiler, &bench.context, Strategy::LookBack)?;
    select.prepare::<T, u32>()?;
    let mut workspace = Workspace::with_capacity(&bench.stream, 1 << work.log2_items)?;
    bench.row(work, |stream, inputs, outputs| {
        let [out, count] = outputs else {
            unreachable!("the row has two outputs")
        };
        let (items, flags) = (read::<T>(&inputs[0])?, read::<u8>(&inputs[1])?);
        let (out, count) = (write::<T>(out)?, write::<u32>(count)?);
        Ok(select.items(stream, items, flags, Count::All, out, count, &mut workspace)?)
    })
}

fn by_predicate(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let numbers = inputs::random(items, u32::MAX);
    let kept = numbers.iter().filter(|&number| number % 2 == 1).count();
    let odd = Predicate::new("odd.cuh", "bool keep(u32 number) { return number & 1; }");
    let select = SelectIf::<u32>::new(&bench.compiler, &bench.context, &odd)?;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "u32 by a predicate, 50 %",
        log2_items,
        inputs: &[bytemuck::cast_slice(&numbers)],
        outputs: &[4 * items, 4],
        bytes: 4 * items + 4 * kept,
        peer: Some("select_if_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let [out, count] = outputs else {
            unreachable!("the row has two outputs")
        };
        let (out, count) = (write::<u32>(out)?, write::<u32>(count)?);
        Ok(select.items(
            stream,
            read::<u32>(&inputs[0])?,
            Count::All,
            out,
            count,
            &mut workspace,
        )?)
    })
}

fn partition(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let flags = inputs::flags(items, 50);
    let numbers = inputs::random(items, u32::MAX);
    let partition = Partition::new(&bench.compiler, &bench.context)?;
    let mut workspace = partition::Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "partition of u32 in two, 50 %",
        log2_items,
        inputs: &[bytemuck::cast_slice(&numbers), &flags],
        outputs: &[4 * items, 4],
        bytes: 9 * items,
        peer: Some("partition_u32"),
        // CUB writes the rejected items in reverse order.
        is_exact: false,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let [out, count] = outputs else {
            unreachable!("the row has two outputs")
        };
        let (numbers, flags) = (read::<u32>(&inputs[0])?, read::<u8>(&inputs[1])?);
        let (out, count) = (write::<u32>(out)?, write::<u32>(count)?);
        Ok(partition.items(
            stream,
            numbers,
            flags,
            Count::All,
            out,
            count,
            &mut workspace,
        )?)
    })
}

fn columns(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let flags = inputs::flags(items, 30);
    let column = inputs::random(4 * items, u32::MAX);
    let column: &[u8] = bytemuck::cast_slice(&column);
    let select = SelectColumns::new(&bench.compiler, &bench.context, &[16; 4])?;
    let mut workspace = select_columns::Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "4 columns of 16 bytes, 30 %",
        log2_items,
        inputs: &[column, column, column, column, &flags],
        outputs: &[16 * items, 16 * items, 16 * items, 16 * items, 4],
        bytes: items + 128 * inputs::sum(&flags),
        peer: Some("select_columns"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let [outs @ .., count] = outputs else {
            unreachable!("the row has five outputs")
        };
        let pairs = inputs.iter().zip(outs);
        let mut columns = pairs
            .map(|(input, out)| Column::new(read::<Quarter>(input)?, write::<Quarter>(out)?))
            .collect::<compaction::Result<Vec<_>>>()?;
        let (flags, count) = (read::<u8>(&inputs[4])?, write::<u32>(count)?);
        Ok(select.columns(
            stream,
            flags,
            Count::All,
            &mut columns,
            count,
            &mut workspace,
        )?)
    })
}
