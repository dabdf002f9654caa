//! Exclusive sums by look-back.

use compaction::{
    Count,
    scan::{Item, Operator, Scan, Strategy, Workspace},
};

use crate::{
    Result,
    bench::{Bench, Work, read, write},
    inputs,
};

pub(crate) fn rows(bench: &mut Bench, log2_items: u32) -> Result<()> {
    sum::<u32>(bench, log2_items, ("u32", "exclusive_sum_u32"), |number| {
        number
    })?;
    sum::<f32>(bench, log2_items, ("f32", "exclusive_sum_f32"), |number| {
        number as f32
    })?;
    sum::<u64>(bench, log2_items, ("u64", "exclusive_sum_u64"), u64::from)?;
    sum::<f64>(bench, log2_items, ("f64", "exclusive_sum_f64"), f64::from)
}

/// Times an exclusive sum of numbers below 64.
pub(super) fn sum<T: Item>(
    bench: &mut Bench,
    log2_items: u32,
    (name, peer): (&str, &str),
    number: fn(u32) -> T,
) -> Result<()> {
    let items = 1 << log2_items;
    let numbers: Vec<T> = inputs::random(items, 64).into_iter().map(number).collect();
    let scan = Scan::<T>::new(
        &bench.compiler,
        &bench.context,
        Operator::Sum,
        Strategy::LookBack,
    )?;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name,
        log2_items,
        inputs: &[bytemuck::cast_slice(&numbers)],
        outputs: &[size_of_val(&numbers[..])],
        bytes: 2 * size_of_val(&numbers[..]),
        peer: Some(peer),
        is_exact: T::NAME.starts_with('u'),
    };
    bench.row(&work, |stream, inputs, outputs| {
        Ok(scan.exclusive(
            stream,
            read(&inputs[0])?,
            Count::All,
            write(&mut outputs[0])?,
            &mut workspace,
        )?)
    })
}
