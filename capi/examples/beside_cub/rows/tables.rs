//! Summed-area tables, for which CUB has no operation.

use compaction::{
    scan::Item,
    summed_area::{Strategy, SummedArea, Workspace},
};

use crate::{
    Result,
    bench::{Bench, Work, read, write},
    inputs,
};

pub(crate) fn rows(bench: &mut Bench, log2_items: u32) -> Result<()> {
    table::<f32>(bench, log2_items, |number| number as f32)?;
    table::<u64>(bench, log2_items, u64::from)
}

fn table<T: Item>(bench: &mut Bench, log2_items: u32, number: fn(u32) -> T) -> Result<()> {
    let numbers: Vec<T> = inputs::random(1 << log2_items, 64)
        .into_iter()
        .map(number)
        .collect();
    let (width, height) = (1 << (log2_items / 2), 1 << log2_items.div_ceil(2));
    let summed_area = SummedArea::<T>::new(&bench.compiler, &bench.context, Strategy::SinglePass)?;
    let mut workspace = Workspace::with_capacity(&bench.stream, (width, height))?;
    let work = Work {
        name: T::NAME,
        log2_items,
        inputs: &[bytemuck::cast_slice(&numbers)],
        outputs: &[size_of_val(&numbers[..])],
        bytes: 2 * size_of_val(&numbers[..]),
        peer: None,
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, out) = (read(&inputs[0])?, write(&mut outputs[0])?);
        Ok(summed_area.table(stream, items, (width, height), out, &mut workspace)?)
    })
}
