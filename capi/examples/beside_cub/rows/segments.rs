//! Reductions and sorts of segments.

use compaction::{
    Count,
    segmented_reduce::{Operator, SegmentedReduce, Workspace},
    segmented_sort::{self, Order, SegmentedSort},
};

use crate::{
    Result,
    bench::{Bench, Work, read, write},
    inputs,
};

/// Items of a segment.
const LENGTH: usize = 64;

pub(crate) fn rows(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let reduce = SegmentedReduce::new(&bench.compiler, &bench.context, Operator::Sum)?;
    sums(
        bench,
        log2_items,
        ("sums of u32", "segmented_sum_u32"),
        &reduce,
    )?;
    sorts(bench, log2_items)
}

fn offsets(items: usize) -> Vec<u32> {
    (0..=items / LENGTH)
        .map(|segment| (segment * LENGTH) as u32)
        .collect()
}

/// Times the sums of segments, given by offsets and by their length.
pub(super) fn sums(
    bench: &mut Bench,
    log2_items: u32,
    (name, peer): (&str, &str),
    reduce: &SegmentedReduce<u32>,
) -> Result<()> {
    let items = 1 << log2_items;
    let (random, offsets) = (inputs::random(items, u32::MAX), offsets(items));
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name,
        log2_items,
        inputs: &[
            bytemuck::cast_slice(&random),
            bytemuck::cast_slice(&offsets),
        ],
        outputs: &[4 * items / LENGTH],
        bytes: 4 * items,
        peer: Some(peer),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, offsets) = (read::<u32>(&inputs[0])?, read::<u32>(&inputs[1])?);
        let out = write::<u32>(&mut outputs[0])?;
        Ok(reduce.by_offsets(stream, items, offsets, Count::All, out, &mut workspace)?)
    })?;
    let work = Work {
        name: &format!("{name}, length given"),
        ..work
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, out) = (read::<u32>(&inputs[0])?, write::<u32>(&mut outputs[0])?);
        Ok(reduce.of_length(stream, items, Count::All, LENGTH, out, &mut workspace)?)
    })?;
    // One long segment behind a million short ones.
    let short = (items / 2).min(1 << 20);
    let mut uneven: Vec<u32> = (0..short as u32).map(|segment| segment / 2).collect();
    uneven.push(items as u32);
    let work = Work {
        name: &format!("{name}, one long segment"),
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

fn sorts(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let (keys, offsets) = (inputs::random(items, u32::MAX), offsets(items));
    let values = inputs::random(items, 1 << 31);
    let sort = SegmentedSort::<u32>::new(&bench.compiler, &bench.context, Order::Ascending)?;
    let stream = bench.stream.clone();
    let mut workspace = segmented_sort::Workspace::<u32, u32>::with_capacity(&stream, items)?;
    let work = Work {
        name: "sorts of u32",
        log2_items,
        inputs: &[bytemuck::cast_slice(&keys), bytemuck::cast_slice(&offsets)],
        outputs: &[4 * items],
        bytes: 8 * items,
        peer: Some("segmented_sort_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (keys, offsets) = (read::<u32>(&inputs[0])?, read::<u32>(&inputs[1])?);
        let out = write::<u32>(&mut outputs[0])?;
        Ok(sort.keys_by_offsets(stream, keys, offsets, Count::All, out, &mut workspace)?)
    })?;
    let work = Work {
        name: "sorts of u32, length given",
        ..work
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (keys, out) = (read::<u32>(&inputs[0])?, write::<u32>(&mut outputs[0])?);
        Ok(sort.keys_of_length(stream, keys, Count::All, LENGTH, out, &mut workspace)?)
    })?;
    for (name, length) in [
        ("200 items", 200),
        ("3000 items", 3000),
        ("2^19 items", 1 << 19),
    ] {
        let work = Work {
            name: &format!("sorts of u32, segments of {name}"),
            peer: None,
            ..work
        };
        bench.row(&work, |stream, inputs, outputs| {
            let (keys, out) = (read::<u32>(&inputs[0])?, write::<u32>(&mut outputs[0])?);
            Ok(sort.keys_of_length(stream, keys, Count::All, length, out, &mut workspace)?)
        })?;
    }
    let work = Work {
        name: "sorts of u32 with u32",
        inputs: &[
            bytemuck::cast_slice(&keys),
            bytemuck::cast_slice(&values),
            bytemuck::cast_slice(&offsets),
        ],
        outputs: &[4 * items, 4 * items],
        bytes: 16 * items,
        peer: Some("segmented_sort_pairs_u32"),
        ..work
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (keys, values) = (read::<u32>(&inputs[0])?, read::<u32>(&inputs[1])?);
        let offsets = read::<u32>(&inputs[2])?;
        let [sorted_keys, sorted_values] = outputs else {
            unreachable!("the row has two outputs")
        };
        let (sorted_keys, sorted_values) = (write(sorted_keys)?, write::<u32>(sorted_values)?);
        Ok(sort.pairs_by_offsets(
            stream,
            keys,
            values,
            offsets,
            Count::All,
            sorted_keys,
            sorted_values,
            &mut workspace,
        )?)
    })
}
