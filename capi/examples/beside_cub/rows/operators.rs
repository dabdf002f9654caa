//! Sums by an operator in CUDA C++, beside the built-in sum, and beside CUB with a functor of its user's.

use compaction::{
    Count,
    custom::{CustomOperator, CustomReduce, CustomScan, Workspace},
    runs::{Operator, ReduceByKey, ScanByKey},
    segmented_reduce::SegmentedReduce,
};

use super::{reduce, runs, scan, segments};
use crate::{
    Result,
    bench::{Bench, Work, read, write},
    inputs,
};

pub(crate) fn rows(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let text = "u32 combine(u32 left, u32 right) { return left + right; }";
    let own = CustomOperator::new("add.cuh", text, 0_u32).exact();
    let (compiler, context) = (bench.compiler.clone(), bench.context.clone());

    let row = ("reduction, built-in sum", "own_reduce_u32");
    reduce::reduce::<u32>(bench, log2_items, row, Operator::Sum, |number| number)?;
    let own_reduce = CustomReduce::new(&compiler, &context, &own)?;
    reduce_by(bench, log2_items, &own_reduce)?;

    let row = ("exclusive scan, built-in sum", "own_scan_u32");
    scan::sum::<u32>(bench, log2_items, row, |number| number)?;
    let own_scan = CustomScan::new(&compiler, &context, &own)?;
    scan_by(bench, log2_items, &own_scan)?;

    let (keys, values) = runs::pairs(log2_items);
    let pairs = [bytemuck::cast_slice(&keys), bytemuck::cast_slice(&values)];
    for (name, sums) in [
        (
            "reduction by key, built-in sum",
            ReduceByKey::new(&compiler, &context, Operator::Sum)?,
        ),
        (
            "reduction by key, own sum",
            ReduceByKey::with_operator(&compiler, &context, &own)?,
        ),
    ] {
        runs::reduce_by_key(
            bench,
            log2_items,
            &pairs,
            (name, "own_reduce_by_key_u32"),
            &sums,
        )?;
    }
    for (name, scan) in [
        (
            "scan by key, built-in sum",
            ScanByKey::new(&compiler, &context, Operator::Sum)?,
        ),
        (
            "scan by key, own sum",
            ScanByKey::with_operator(&compiler, &context, &own)?,
        ),
    ] {
        runs::scan_by_key(
            bench,
            log2_items,
            &pairs,
            (name, "own_scan_by_key_u32"),
            &scan,
        )?;
    }
    for (name, sums) in [
        (
            "segments, built-in sum",
            SegmentedReduce::new(&compiler, &context, Operator::Sum)?,
        ),
        (
            "segments, own sum",
            SegmentedReduce::with_operator(&compiler, &context, &own)?,
        ),
    ] {
        segments::sums(bench, log2_items, (name, "own_segmented_reduce_u32"), &sums)?;
    }
    Ok(())
}

fn reduce_by(bench: &mut Bench, log2_items: u32, sum: &CustomReduce<u32>) -> Result<()> {
    let items = 1 << log2_items;
    let numbers = inputs::random(items, 1 << 20);
    let mut workspace = Workspace::<u32>::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "reduction, own sum",
        log2_items,
        inputs: &[bytemuck::cast_slice(&numbers)],
        outputs: &[4],
        bytes: 4 * items,
        peer: Some("own_reduce_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, out) = (read::<u32>(&inputs[0])?, write::<u32>(&mut outputs[0])?);
        Ok(sum.items(stream, items, Count::All, out, &mut workspace)?)
    })
}

fn scan_by(bench: &mut Bench, log2_items: u32, sum: &CustomScan<u32>) -> Result<()> {
    let items = 1 << log2_items;
    let numbers = inputs::random(items, 64);
    let mut workspace = Workspace::<u32>::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "exclusive scan, own sum",
        log2_items,
        inputs: &[bytemuck::cast_slice(&numbers)],
        outputs: &[4 * items],
        bytes: 8 * items,
        peer: Some("own_scan_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, out) = (read::<u32>(&inputs[0])?, write::<u32>(&mut outputs[0])?);
        Ok(sum.exclusive(stream, items, Count::All, out, &mut workspace)?)
    })
}
