//! Measurement of the methods on the CPU.

use std::{hint::black_box, time::Instant};

use compaction::{
    scan::{self, Operator},
    select::{Strategy, cpu},
};
use rayon::prelude::*;

use crate::{
    Result,
    table::{Case, Row, median},
};

/// Times the specifications, every strategy of `select`, and the scan, which has a single strategy on the CPU.
pub(crate) fn rows(case: &Case) -> Result<Vec<Row>> {
    let flags = case.flags();
    let items: Vec<u32> = (0..case.items as u32).collect();
    let mut out = vec![0; case.items];
    let kept = flags.iter().filter(|&&flag| flag != 0).count();
    let indices_bytes = case.items + 4 * kept;
    let items_bytes = indices_bytes + 4 * kept;
    let scan_bytes = 8 * case.items;
    let mut rows = Vec::new();
    let mut push = |work, method, bytes, microseconds, copy_microseconds| {
        rows.push(Row {
            machine: "CPU".to_owned(),
            work,
            method,
            items: case.items,
            percent: (work != "scan").then_some(case.percent),
            microseconds,
            copy_microseconds,
            bytes,
        });
    };
    if case.is_first {
        let copy = copy_time(scan_bytes);
        let serial = time(case.items, || {
            let prefixes = scan::cpu::exclusive_specification(Operator::Sum, &items);
            write(prefixes, &mut out)
        });
        push("scan", "specification", scan_bytes, serial, copy);
        let parallel = time(case.items, || {
            scan::cpu::exclusive(Operator::Sum, &items, &mut out)
        });
        push("scan", "all cores", scan_bytes, parallel, copy);
    }
    let copies = [copy_time(indices_bytes), copy_time(items_bytes)];
    let serial = time(case.items, || {
        write(cpu::specification(items.iter().copied(), &flags), &mut out)
    });
    push("u32", "specification", items_bytes, serial, copies[1]);
    for &strategy in Strategy::ALL {
        let name = strategy.name();
        cpu::indices(strategy, &flags, &mut out)?;
        let indices = time(case.items, || cpu::indices(strategy, &flags, &mut out));
        push("indices", name, indices_bytes, indices, copies[0]);
        let words = time(case.items, || {
            cpu::items(strategy, &items, &flags, &mut out)
        });
        push("u32", name, items_bytes, words, copies[1]);
    }
    Ok(rows)
}

fn write(items: impl Iterator<Item = u32>, out: &mut [u32]) -> usize {
    out.iter_mut()
        .zip(items)
        .map(|(out, item)| *out = item)
        .count()
}

/// Returns the time of a parallel copy that moves this many bytes, half of them read and half written.
fn copy_time(bytes: usize) -> f64 {
    const CHUNK_BYTES: usize = 1 << 20;
    let from = vec![1_u8; bytes / 2];
    let mut to = vec![0_u8; bytes / 2];
    time(bytes, || {
        let chunks = to
            .par_chunks_mut(CHUNK_BYTES)
            .zip(from.par_chunks(CHUNK_BYTES));
        chunks.for_each(|(to, from)| to.copy_from_slice(from));
    })
}

/// Returns the median time of a call in microseconds.
fn time<T>(items: usize, mut call: impl FnMut() -> T) -> f64 {
    let runs = ((1 << 24) / items.max(1)).clamp(3, 101);
    black_box(call());
    let times = (0..runs).map(|_| {
        let start = Instant::now();
        black_box(call());
        start.elapsed().as_secs_f64() * 1e6
    });
    median(times.collect())
}
