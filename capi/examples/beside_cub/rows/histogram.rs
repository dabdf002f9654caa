//! Histograms with bins of equal width and with given bounds.

use compaction::{
    Count,
    histogram::{Histogram, Workspace},
};

use crate::{
    Result,
    bench::{Bench, Work, read, write},
    inputs,
};

pub(crate) fn rows(bench: &mut Bench, log2_items: u32) -> Result<()> {
    bytes(bench, log2_items)?;
    for bins in [256, 65_536] {
        floats(bench, log2_items, bins)?;
    }
    Ok(())
}

fn bytes(bench: &mut Bench, log2_items: u32) -> Result<()> {
    let items = 1 << log2_items;
    let random = inputs::random(items / 4, u32::MAX);
    let histogram = Histogram::<u8>::new(&bench.compiler, &bench.context, 256)?;
    let mut workspace = Workspace::new(&bench.stream)?;
    let work = Work {
        name: "u8, 256 bins",
        log2_items,
        inputs: &[bytemuck::cast_slice(&random)],
        outputs: &[4 * 256],
        bytes: items,
        peer: Some("histogram_u8"),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (keys, out) = (read::<u8>(&inputs[0])?, write::<u32>(&mut outputs[0])?);
        Ok(histogram.keys(stream, keys, Count::All, out, &mut workspace)?)
    })
}

fn floats(bench: &mut Bench, log2_items: u32, bins: usize) -> Result<()> {
    let items = 1 << log2_items;
    let random: Vec<f32> = inputs::random(items, 1 << 24)
        .into_iter()
        .map(|number| number as f32 / (1 << 24) as f32)
        .collect();
    let bounds: Vec<f32> = (0..=bins).map(|bin| bin as f32 / bins as f32).collect();
    let histogram = Histogram::<f32>::new(&bench.compiler, &bench.context, bins)?;
    let mut workspace = Workspace::new(&bench.stream)?;
    let (even, bounded) = (
        format!("histogram_even_{bins}"),
        format!("histogram_bounds_{bins}"),
    );
    let work = Work {
        name: &format!("f32, {bins} even bins"),
        log2_items,
        inputs: &[bytemuck::cast_slice(&random)],
        outputs: &[4 * bins],
        bytes: 4 * items,
        peer: Some(&even),
        is_exact: true,
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, out) = (read::<f32>(&inputs[0])?, write::<u32>(&mut outputs[0])?);
        let range = 0.0..1.0;
        Ok(histogram.even(stream, items, Count::All, range, out, &mut workspace)?)
    })?;
    let work = Work {
        name: &format!("f32, {bins} bins between bounds"),
        inputs: &[bytemuck::cast_slice(&random), bytemuck::cast_slice(&bounds)],
        peer: Some(&bounded),
        ..work
    };
    bench.row(&work, |stream, inputs, outputs| {
        let (items, bounds) = (read::<f32>(&inputs[0])?, read::<f32>(&inputs[1])?);
        let out = write::<u32>(&mut outputs[0])?;
        Ok(histogram.bounds(stream, items, Count::All, bounds, out, &mut workspace)?)
    })
}
