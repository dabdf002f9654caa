//! Radix sort of keys and pairs, and partition into classes beside a sort by one digit.

use compaction::{
    Count, cuda,
    gather::{self, Gather, Scatter},
    partition::{self, Classes},
    radix_sort::{Order, RadixSort, Strategy, Workspace},
    top_k::{self, TopK},
};

use crate::{
    Result,
    bench::{Bench, Work, read, write},
    inputs,
};

pub(crate) fn rows(bench: &mut Bench, log2_items: u32) -> Result<()> {
    keys(bench, log2_items)?;
    pairs(bench, log2_items)?;
    argsort(bench, log2_items)?;
    top_k(bench, log2_items)?;
    gather(bench, log2_items)?;
    classes(bench, log2_items)
}

fn keys(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let keys = inputs::random(items, u32::MAX);
    let sort = RadixSort::<u32>::new(
        &bench.compiler,
        &bench.context,
        Order::Ascending,
        Strategy::Onesweep,
    )?;
    let mut workspace = Workspace::<u32>::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "u32 keys",
        log2_items,
        inputs: &[bytemuck::cast_slice(&keys)],
        outputs: &[4 * items],
        bytes: 8 * items,
        peer: Some("sort_keys_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        Ok(sort.keys(
            stream,
            read(&inputs[0])?,
            Count::All,
            write(&mut outputs[0])?,
            &mut workspace,
        )?)
    })
}

fn pairs(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let (keys, values) = (
        inputs::random(items, u32::MAX),
        inputs::random(items, 1 << 31),
    );
    let sort = RadixSort::<u32>::new(
        &bench.compiler,
        &bench.context,
        Order::Ascending,
        Strategy::Onesweep,
    )?;
    let mut workspace = Workspace::<u32, u32>::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "u32 keys with u32",
        log2_items,
        inputs: &[bytemuck::cast_slice(&keys), bytemuck::cast_slice(&values)],
        outputs: &[4 * items, 4 * items],
        bytes: 16 * items,
        peer: Some("sort_pairs_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (keys, values) = (read::<u32>(&inputs[0])?, read::<u32>(&inputs[1])?);
        let [sorted_keys, sorted_values] = outputs else {
            unreachable!("the row has two outputs")
        };
        let (sorted_keys, sorted_values) = (write(sorted_keys)?, write(sorted_values)?);
        Ok(sort.pairs(
            stream,
            keys,
            values,
            Count::All,
            sorted_keys,
            sorted_values,
            &mut workspace,
        )?)
    })
}

fn argsort(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let keys = inputs::random(items, u32::MAX);
    // CUB reads the indices.
    let indices: Vec<u32> = (0..items as u32).collect();
    let sort = RadixSort::<u32>::new(
        &bench.compiler,
        &bench.context,
        Order::Ascending,
        Strategy::Onesweep,
    )?;
    let mut workspace = Workspace::<u32, u32>::with_capacity(&bench.stream, items)?;
    let work = Work {
        name: "argsort of u32",
        log2_items,
        inputs: &[bytemuck::cast_slice(&keys), bytemuck::cast_slice(&indices)],
        outputs: &[4 * items, 4 * items],
        bytes: 12 * items,
        peer: Some("sort_pairs_u32"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let keys = read::<u32>(&inputs[0])?;
        let [sorted_keys, order] = outputs else {
            unreachable!("the row has two outputs")
        };
        let (sorted_keys, order) = (write(sorted_keys)?, write::<u32>(order)?);
        Ok(sort.argsort(stream, keys, Count::All, sorted_keys, order, &mut workspace)?)
    })
}

/// The largest 100 keys, beside a sort of all pairs.
fn top_k(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let (items, k) = (1 << log2_items, 100);
    let keys = inputs::random(items, u32::MAX);
    let indices: Vec<u32> = (0..items as u32).collect();
    let top = TopK::<u32>::new(&bench.compiler, &bench.context, Order::Descending)?;
    let mut workspace = top_k::Workspace::with_capacity(&bench.stream, items, k)?;
    let work = Work {
        name: "top 100 of u32, beside a sort",
        log2_items,
        inputs: &[bytemuck::cast_slice(&keys), bytemuck::cast_slice(&indices)],
        outputs: &[4 * items, 4 * items],
        bytes: 4 * items,
        peer: Some("sort_pairs_u32"),
        is_exact: false,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let keys = read::<u32>(&inputs[0])?;
        let [best, places] = outputs else {
            unreachable!("the row has two outputs")
        };
        let (best, places) = (write(best)?, write(places)?);
        Ok(top.keys_and_indices(stream, keys, Count::All, k, best, places, &mut workspace)?)
    })
}

/// Indices in blocks of 32 neighbors, as those of sorted records often are.
fn gather(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let random = inputs::random(items, u32::MAX);
    let blocks = inputs::random(items / 32, (items / 32) as u32);
    let indices: Vec<u32> = (0..items as u32)
        .map(|item| 32 * blocks[item as usize / 32] + item % 32)
        .collect();
    let mut workspace = gather::Workspace::new(&bench.stream)?;
    let gather = Gather::<u32>::new(&bench.compiler, &bench.context)?;
    let scatter = Scatter::<u32>::new(&bench.compiler, &bench.context)?;
    let work = Work {
        name: "gather u32",
        log2_items,
        inputs: &[
            bytemuck::cast_slice(&random),
            bytemuck::cast_slice(&indices),
        ],
        outputs: &[4 * items],
        bytes: 12 * items,
        peer: None,
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, indices) = (read::<u32>(&inputs[0])?, read::<u32>(&inputs[1])?);
        let out = write::<u32>(&mut outputs[0])?;
        Ok(gather.items(stream, items, indices, Count::All, out, &mut workspace)?)
    })?;
    let work = Work {
        name: "scatter u32",
        ..work
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, indices) = (read::<u32>(&inputs[0])?, read::<u32>(&inputs[1])?);
        let out = write::<u32>(&mut outputs[0])?;
        Ok(scatter.items(stream, items, indices, Count::All, out, &mut workspace)?)
    })
}

fn classes(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let keys: Vec<u8> = inputs::random(items, 256)
        .into_iter()
        .map(|key| key as u8)
        .collect();
    // CUB sorts pairs of keys and indices, and also writes the keys.
    let indices: Vec<u32> = (0..items as u32).collect();
    let classes = Classes::new(&bench.compiler, &bench.context, 256)?;
    let mut workspace = partition::Workspace::with_capacity(&bench.stream, items)?;
    let mut starts = cuda::zeroed::<u32>(&bench.stream, 257)?;
    let work = Work {
        name: "indices into 256 classes",
        log2_items,
        inputs: &[&keys, bytemuck::cast_slice(&indices)],
        outputs: &[items, 4 * items],
        bytes: 5 * items,
        peer: Some("sort_pairs_u8"),
        // Ours writes no keys.
        is_exact: false,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (out, keys) = (write::<u32>(&mut outputs[1])?, read::<u8>(&inputs[0])?);
        Ok(classes.indices(stream, keys, Count::All, out, &mut starts, &mut workspace)?)
    })
}
