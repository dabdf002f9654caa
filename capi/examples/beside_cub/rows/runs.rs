//! Unique items, run lengths, and sums by key, with runs of 8 items.

use compaction::{
    Count,
    runs::{Operator, ReduceByKey, RunLengths, ScanByKey, Unique, UniqueByKey, Workspace},
};

use crate::{
    Result,
    bench::{Bench, Work, read, write},
    inputs,
};

/// Items of each run.
const RUN_ITEMS: usize = 8;

pub(crate) fn rows(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let (keys, values) = pairs(log2_items);
    let keys: &[u8] = bytemuck::cast_slice(&keys);
    unique(bench, log2_items, keys)?;
    run_lengths(bench, log2_items, keys)?;
    let pairs = [keys, bytemuck::cast_slice(&values)];
    unique_by_key(bench, log2_items, &pairs)?;
    let sums = ReduceByKey::new(&bench.compiler, &bench.context, Operator::Sum)?;
    let row = ("sums of u32 by u32", "reduce_by_key_u32");
    reduce_by_key(bench, log2_items, &pairs, row, &sums)?;
    let scan = ScanByKey::new(&bench.compiler, &bench.context, Operator::Sum)?;
    let row = ("exclusive sum of u32 by u32", "scan_by_key_u32");
    scan_by_key(bench, log2_items, &pairs, row, &scan)
}

/// Returns keys in runs, and as many values.
pub(super) fn pairs(log2_items: u32) -> (Vec<u32>, Vec<u32>) {
    let items = 1 << log2_items;
    let keys = (0..items).map(|item| (item / RUN_ITEMS) as u32).collect();
    (keys, inputs::random(items, 1 << 10))
}

fn unique(bench: &mut Bench, log2_items: u32, keys: &[u8]) -> Result<()> {
    let items = 1 << log2_items;
    let unique = Unique::<u32>::new(&bench.compiler, &bench.context)?;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "unique u32",
        log2_items,
        inputs: &[keys],
        outputs: &[4 * items, 4],
        bytes: 4 * (items + items / RUN_ITEMS),
        peer: Some("unique_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let [out, runs] = outputs else {
            unreachable!("the row has two outputs")
        };
        let (keys, out, runs) = (read::<u32>(&inputs[0])?, write(out)?, write(runs)?);
        Ok(unique.items(stream, keys, Count::All, out, runs, &mut workspace)?)
    })
}

fn run_lengths(bench: &mut Bench, log2_items: u32, keys: &[u8]) -> Result<()> {
    let items = 1 << log2_items;
    let encode = RunLengths::<u32>::new(&bench.compiler, &bench.context)?;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "run lengths of u32",
        log2_items,
        inputs: &[keys],
        outputs: &[4 * items, 4 * items, 4],
        bytes: 4 * (items + 2 * items / RUN_ITEMS),
        peer: Some("run_lengths_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let [out, lengths, runs] = outputs else {
            unreachable!("the row has three outputs")
        };
        let (out, lengths, runs) = (write(out)?, write(lengths)?, write(runs)?);
        let keys = read::<u32>(&inputs[0])?;
        Ok(encode.items(stream, keys, Count::All, out, lengths, runs, &mut workspace)?)
    })
}

fn unique_by_key(bench: &mut Bench, log2_items: u32, pairs: &[&[u8]]) -> Result<()> {
    let items = 1 << log2_items;
    let unique = UniqueByKey::<u32, u32>::new(&bench.compiler, &bench.context)?;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "unique u32 with u32",
        log2_items,
        inputs: pairs,
        outputs: &[4 * items, 4 * items, 4],
        // A sector of 32 bytes contains a value that is kept.
        bytes: 4 * (2 * items + 2 * items / RUN_ITEMS),
        peer: Some("unique_by_key_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let [out, values_out, runs] = outputs else {
            unreachable!("the row has three outputs")
        };
        let (keys, values) = (read::<u32>(&inputs[0])?, read::<u32>(&inputs[1])?);
        let (out, values_out, runs) = (write(out)?, write(values_out)?, write(runs)?);
        Ok(unique.pairs(
            stream,
            keys,
            values,
            Count::All,
            out,
            values_out,
            runs,
            &mut workspace,
        )?)
    })
}

/// Times a sum of the values of each run.
pub(super) fn reduce_by_key(
    bench: &mut Bench,
    log2_items: u32,
    pairs: &[&[u8]],
    (name, peer): (&str, &str),
    sums: &ReduceByKey<u32, u32>,
) -> Result<()> {
    let items = 1 << log2_items;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name,
        log2_items,
        inputs: pairs,
        outputs: &[4 * items, 4 * items, 4],
        bytes: 4 * (2 * items + 2 * items / RUN_ITEMS),
        peer: Some(peer),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let [out, values_out, runs] = outputs else {
            unreachable!("the row has three outputs")
        };
        let (keys, values) = (read::<u32>(&inputs[0])?, read::<u32>(&inputs[1])?);
        let (out, values_out, runs) = (write(out)?, write(values_out)?, write(runs)?);
        Ok(sums.pairs(
            stream,
            keys,
            values,
            Count::All,
            out,
            values_out,
            runs,
            &mut workspace,
        )?)
    })
}

/// Times an exclusive sum of the values of each run.
pub(super) fn scan_by_key(
    bench: &mut Bench,
    log2_items: u32,
    pairs: &[&[u8]],
    (name, peer): (&str, &str),
    scan: &ScanByKey<u32, u32>,
) -> Result<()> {
    let items = 1 << log2_items;
    let mut workspace = Workspace::with_capacity(&bench.stream, items)?;
    let work = Work {
        name,
        log2_items,
        inputs: pairs,
        outputs: &[4 * items],
        bytes: 12 * items,
        peer: Some(peer),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (keys, values) = (read::<u32>(&inputs[0])?, read::<u32>(&inputs[1])?);
        let out = write(&mut outputs[0])?;
        Ok(scan.exclusive(stream, keys, values, Count::All, out, &mut workspace)?)
    })
}
