//! Reductions and sorts of segments.

use compaction::{
    Count,
    segmented_reduce::{Operator, SegmentedReduce, Workspace},
};

use crate::{
    Result,
    bench::{Bench, Work, read, write},
    inputs,
};

/// Items of a segment.
const LENGTH: usize = 64;

pub(crate) fn rows(bench: &mut Bench, log2_items: u32) -> Result<()> {
    sums(bench, log2_items)
}

fn offsets(items: usize) -> Vec<u32> {
    (0..=items / LENGTH)
        .map(|segment| (segment * LENGTH) as u32)
        .collect()
}

fn sums(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let (random, offsets) = (inputs::random(items, u32::MAX), offsets(items));
    let reduce = SegmentedReduce::<u32>::new(&bench.compiler, &bench.context, Operator::Sum)?;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "sums of u32",
        log2_items,
        inputs: &[
            bytemuck::cast_slice(&random),
            bytemuck::cast_slice(&offsets),
        ],
        outputs: &[4 * items / LENGTH],
        bytes: 4 * items,
        peer: Some("segmented_sum_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, offsets) = (read::<u32>(&inputs[0])?, read::<u32>(&inputs[1])?);
        let out = write::<u32>(&mut outputs[0])?;
        Ok(reduce.by_offsets(stream, items, offsets, Count::All, out, &mut workspace)?)
    })?;
    let work = Work {
        name: "sums of u32, length given",
        ..work
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, out) = (read::<u32>(&inputs[0])?, write::<u32>(&mut outputs[0])?);
        Ok(reduce.of_length(stream, items, LENGTH, Count::All, out, &mut workspace)?)
    })?;
    // One long segment behind a million short ones.
    let short = (items / 2).min(1 << 20);
    let mut uneven: Vec<u32> = (0..short as u32).map(|segment| segment / 2).collect();
    uneven.push(items as u32);
    let work = Work {
        name: "sums of u32, one long segment",
        inputs: &[bytemuck::cast_slice(&random), bytemuck::cast_slice(&uneven)],
        outputs: &[4 * short],
        peer: None,
        ..work
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, offsets) = (read::<u32>(&inputs[0])?, read::<u32>(&inputs[1])?);
        let out = write::<u32>(&mut outputs[0])?;
        Ok(reduce.by_offsets(stream, items, offsets, Count::All, out, &mut workspace)?)
    })
}
