//! Merge sort by a comparison.

use compaction::{
    Count,
    merge_sort::{Comparison, MergeSort, Workspace},
};

use crate::{
    Result,
    bench::{Bench, Work, read, write},
    inputs,
};

pub(crate) fn rows(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let keys = inputs::random(items, u32::MAX);
    let less = Comparison::new(
        "less.cuh",
        "bool before(u32 left, u32 right) { return left < right; }",
    );
    let sort = MergeSort::<u32>::new(&bench.compiler, &bench.context, &less)?;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "u32 by <",
        log2_items,
        inputs: &[bytemuck::cast_slice(&keys)],
        outputs: &[4 * items],
        bytes: 8 * items,
        peer: Some("merge_sort_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (keys, out) = (read::<u32>(&inputs[0])?, write::<u32>(&mut outputs[0])?);
        Ok(sort.items(stream, keys, Count::All, out, &mut workspace)?)
    })
}
