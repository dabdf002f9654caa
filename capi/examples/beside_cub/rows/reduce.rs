//! Sums, maxima, and the index of the smallest number.

use compaction::{
    Count,
    reduce::{ArgReduce, Extreme, Item, Operator, Reduce, Workspace},
};

use crate::{
    Result,
    bench::{Bench, Work, read, write},
    inputs,
};

pub(crate) fn rows(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let (sum, max) = (Operator::Sum, Operator::Max);
    reduce::<u32>(
        bench,
        log2_items,
        ("sum of u32", "reduce_sum_u32"),
        sum,
        |number| number,
    )?;
    reduce::<f32>(
        bench,
        log2_items,
        ("sum of f32", "reduce_sum_f32"),
        sum,
        |number| number as f32,
    )?;
    reduce::<f32>(
        bench,
        log2_items,
        ("max of f32", "reduce_max_f32"),
        max,
        |number| number as f32,
    )?;
    arg_min(bench, log2_items)
}

/// Times a reduction of numbers below 2²⁰.
pub(super) fn reduce<T: Item>(
    bench: &mut Bench,
    log2_items: u32,
    (name, peer): (&str, &str),
    operator: Operator,
    number: fn(u32) -> T,
) -> Result<()> {
    let items = 1 << log2_items;
    let numbers = inputs::random(items, 1 << 20).into_iter();
    let numbers: Vec<T> = numbers.map(number).collect();
    let reduce = Reduce::<T>::new(&bench.compiler, &bench.context, operator)?;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name,
        log2_items,
        inputs: &[bytemuck::cast_slice(&numbers)],
        outputs: &[size_of::<T>()],
        bytes: size_of_val(&numbers[..]),
        peer: Some(peer),
        is_exact: name != "sum of f32",
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, out) = (read::<T>(&inputs[0])?, write::<T>(&mut outputs[0])?);
        Ok(reduce.items(stream, items, Count::All, out, &mut workspace)?)
    })
}

fn arg_min(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let numbers = inputs::random(items, u32::MAX).into_iter();
    let numbers: Vec<f32> = numbers.map(|number| number as f32).collect();
    let arg_min = ArgReduce::<f32>::new(&bench.compiler, &bench.context, Extreme::Min)?;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "arg-min of f32",
        log2_items,
        inputs: &[bytemuck::cast_slice(&numbers)],
        // CUB's index has 8 bytes.
        outputs: &[4, 8],
        bytes: 4 * items,
        peer: Some("arg_min_f32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let [value, index] = outputs else {
            unreachable!("the row has two outputs")
        };
        let (value, index) = (write::<f32>(value)?, write::<u32>(index)?);
        Ok(arg_min.items(
            stream,
            read::<f32>(&inputs[0])?,
            Count::All,
            index,
            value,
            &mut workspace,
        )?)
    })
}
