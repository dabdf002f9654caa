//! Times `partition`, `select_columns` and `radix_sort` on a GPU, next to a copy of the same bytes.
//!
//! `cargo run --release -p compaction --example order_speed -- [sectors] [partition] [classes] [select_columns] [radix_sort]`
//!
//! With `sectors`, the GPU's L2 cache is asked to fetch single sectors of 32 bytes.
//!
//! Each row is the median of the times between two events around a call, after a warm-up. The calls alternate between
//! inputs that together exceed the GPU's cache. A copy reads and writes half of the bytes that the call must move.

use std::{error::Error, sync::Arc};

use compaction::{
    Count,
    cuda::{self, Compiler, Timeline},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, sys::CUlimit},
    layout::Shared,
    partition::{self, Classes, Partition},
    radix_sort::{self, Order, RadixSort, Strategy},
    select_columns::{self, Column, SelectColumns},
};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

compaction::shared! {
    /// A quarter of a path's state.
    struct Quarter {
        words: [u32; 4],
    }
}

/// Total size in bytes of the buffers that calls alternate between: several times the L2 cache of any GPU.
const ROUND_BYTES: usize = 256 << 20;

fn main() -> Result<()> {
    let mut operations: Vec<String> = std::env::args().skip(1).collect();
    let sectors = operations
        .iter()
        .position(|operation| operation == "sectors");
    let context = match cuda::open(0) {
        Ok(context) => context,
        Err(error) => {
            println!("skipped: {error}");
            return Ok(());
        }
    };
    if let Some(argument) = sectors {
        operations.remove(argument);
        context.set_limit(CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 32)?;
    }
    println!("{}", cuda::devices()?[0].name);
    let wanted = |operation: &str| {
        operations.is_empty() || operations.iter().any(|wanted| wanted == operation)
    };
    println!(
        "{:24} {:>5} {:>10} {:>9} {:>7} {:>9} {:>8}",
        "call", "items", "µs", "Gitems/s", "GB/s", "copy µs", "of copy"
    );
    let bench = Bench::new(&context)?;
    if wanted("partition") {
        for log2_items in [20, 22, 24] {
            bench.partition(log2_items)?;
        }
    }
    if wanted("classes") {
        for log2_items in [20, 22, 24, 26] {
            for classes in [16, 256] {
                bench.classes(log2_items, classes)?;
            }
        }
    }
    if wanted("select_columns") {
        for log2_items in [20, 22, 24] {
            for percent in [10, 30] {
                bench.select_columns(log2_items, percent)?;
            }
        }
    }
    if wanted("radix_sort") {
        for log2_items in [20, 24, 28] {
            for strategy in [Strategy::Onesweep, Strategy::Split] {
                bench.radix_sort(log2_items, strategy)?;
            }
        }
    }
    Ok(())
}

/// A GPU with a stream and a compiler.
struct Bench {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    compiler: Compiler,
}

impl Bench {
    fn new(context: &Arc<CudaContext>) -> Result<Self> {
        Ok(Self {
            context: context.clone(),
            stream: context.new_stream()?,
            compiler: Compiler::new(),
        })
    }

    /// Returns enough copies of the items to exceed the cache.
    fn rounds<T: Shared>(&self, items: &[T]) -> Result<Vec<CudaSlice<T>>> {
        let rounds = (ROUND_BYTES / size_of_val(items)).clamp(2, 32);
        let upload = |_| Ok(cuda::upload(&self.stream, items)?);
        (0..rounds).map(upload).collect()
    }

    /// Returns the median time of a call in microseconds.
    fn time(&self, mut call: impl FnMut(usize) -> Result<()>) -> Result<f32> {
        let mut timeline = Timeline::new(&self.context, 0)?;
        for run in 0..5 {
            call(run)?;
        }
        // Estimates from a few calls how many take a tenth of a second.
        timeline.mark(&self.stream)?;
        for run in 0..3 {
            call(run)?;
        }
        timeline.mark(&self.stream)?;
        let each = timeline.milliseconds()?[0] / 3.0;
        let runs = (100.0 / each).clamp(7.0, 101.0) as usize;
        timeline.restart();
        for run in 0..runs {
            timeline.mark(&self.stream)?;
            call(run)?;
            timeline.mark(&self.stream)?;
        }
        let times = timeline.milliseconds()?;
        let mut times: Vec<f32> = times.into_iter().step_by(2).collect();
        times.sort_by(f32::total_cmp);
        Ok(1000.0 * times[times.len() / 2])
    }

    fn print(&self, call: &str, log2_items: u32, us: f32, bytes: usize) -> Result<()> {
        let words = bytes / 8;
        let from = cuda::zeroed::<u32>(&self.stream, words)?;
        let mut to = cuda::zeroed::<u32>(&self.stream, words)?;
        let copy_us = self.time(|_| Ok(self.stream.memcpy_dtod(&from, &mut to)?))?;
        println!(
            "{call:24}  2^{log2_items:<3} {us:>9.1} {:>9.2} {:>7.0} {copy_us:>9.1} {:>7.0} %",
            (1_u64 << log2_items) as f32 / us / 1000.0,
            bytes as f32 / us / 1000.0,
            100.0 * copy_us / us,
        );
        Ok(())
    }

    fn flags(log2_items: u32, percent: u64) -> Vec<u8> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let flag = |_| u8::from(random.random_range(0..100) < percent);
        (0..1 << log2_items).map(flag).collect()
    }

    fn partition(&self, log2_items: u32) -> Result<()> {
        let (stream, len) = (&self.stream, 1_usize << log2_items);
        let partition = Partition::new(&self.compiler, &self.context)?;
        let mut workspace = partition::Workspace::with_capacity(stream, len)?;
        let flags = self.rounds(&Self::flags(log2_items, 50))?;
        let items = self.rounds(&vec![7_u32; len])?;
        let mut out = cuda::zeroed::<u32>(stream, len)?;
        let mut selected = cuda::zeroed::<u32>(stream, 1)?;
        let us = self.time(|run| {
            let (flags, count) = (flags[run % flags.len()].as_view(), Count::Given(len as u32));
            let (mut out, mut selected) = (out.as_view_mut(), selected.as_view_mut());
            Ok(partition.indices(
                stream,
                &flags,
                count,
                &mut out,
                &mut selected,
                &mut workspace,
            )?)
        })?;
        self.print("partition indices", log2_items, us, 5 * len)?;
        let us = self.time(|run| {
            let (flags, count) = (flags[run % flags.len()].as_view(), Count::Given(len as u32));
            let items = items[run % items.len()].as_view();
            let (mut out, mut selected) = (out.as_view_mut(), selected.as_view_mut());
            Ok(partition.items(
                stream,
                &items,
                &flags,
                count,
                &mut out,
                &mut selected,
                &mut workspace,
            )?)
        })?;
        self.print("partition u32", log2_items, us, 9 * len)
    }

    fn classes(&self, log2_items: u32, classes: u32) -> Result<()> {
        let (stream, len) = (&self.stream, 1_usize << log2_items);
        let partition = Classes::new(&self.compiler, &self.context, classes)?;
        let mut workspace = partition::Workspace::with_capacity(stream, len)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let key = |_| random.random_range(0..classes) as u8;
        let keys = self.rounds(&(0..len).map(key).collect::<Vec<_>>())?;
        let mut out = cuda::zeroed::<u32>(stream, len)?;
        let mut starts = cuda::zeroed::<u32>(stream, 257)?;
        let us = self.time(|run| {
            let (keys, count) = (keys[run % keys.len()].as_view(), Count::Given(len as u32));
            let (mut out, mut starts) = (out.as_view_mut(), starts.as_view_mut());
            Ok(partition.indices(stream, &keys, count, &mut out, &mut starts, &mut workspace)?)
        })?;
        self.print(
            &format!("partition {classes} classes"),
            log2_items,
            us,
            5 * len,
        )
    }

    fn select_columns(&self, log2_items: u32, percent: u64) -> Result<()> {
        let (stream, len) = (&self.stream, 1_usize << log2_items);
        let select = SelectColumns::new(&self.compiler, &self.context, &[16; 4])?;
        let mut workspace = select_columns::Workspace::with_capacity(stream, len)?;
        let host_flags = Self::flags(log2_items, percent);
        let kept: usize = host_flags.iter().map(|&flag| usize::from(flag)).sum();
        let flags = self.rounds(&host_flags)?;
        let columns = self.rounds(&vec![Quarter { words: [7; 4] }; len])?;
        let columns: Vec<_> = match columns.len() {
            0..8 => (0..8)
                .map(|_| cuda::zeroed::<Quarter>(stream, len))
                .collect::<std::result::Result<_, _>>()?,
            _ => columns,
        };
        let mut outs = Vec::new();
        for _ in 0..4 {
            outs.push(cuda::zeroed::<Quarter>(stream, len)?);
        }
        let mut selected = cuda::zeroed::<u32>(stream, 1)?;
        let us = self.time(|run| {
            let (flags, count) = (flags[run % flags.len()].as_view(), Count::Given(len as u32));
            let mut outs: Vec<_> = outs.iter_mut().map(|out| out.as_view_mut()).collect();
            let inputs = (0..4).map(|column| columns[(4 * run + column) % columns.len()].as_view());
            let pairs = inputs.zip(&mut outs);
            let mut pairs: Vec<Column<'_>> = pairs
                .map(|(input, out)| Column::new(input, out))
                .collect::<std::result::Result<_, _>>()?;
            let mut selected = selected.as_view_mut();
            Ok(select.columns(
                stream,
                &flags,
                count,
                &mut pairs,
                &mut selected,
                &mut workspace,
            )?)
        })?;
        if cuda::download(stream, &selected)?[0] as usize != kept {
            return Err("select_columns lost some".into());
        }
        let call = format!("select_columns 4x16 {percent} %");
        self.print(&call, log2_items, us, len + 128 * kept)
    }

    fn radix_sort(&self, log2_items: u32, strategy: Strategy) -> Result<()> {
        let (stream, len) = (&self.stream, 1_usize << log2_items);
        let sort =
            RadixSort::<u32>::new(&self.compiler, &self.context, Order::Ascending, strategy)?;
        let mut workspace = radix_sort::Workspace::<u32, u32>::with_capacity(stream, len)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let host_keys: Vec<u32> = (0..len).map(|_| random.random()).collect();
        let keys = self.rounds(&host_keys)?;
        let mut out = cuda::zeroed::<u32>(stream, len)?;
        let mut values_out = cuda::zeroed::<u32>(stream, len)?;
        let us = self.time(|run| {
            let (keys, count) = (keys[run % keys.len()].as_view(), Count::Given(len as u32));
            Ok(sort.keys(stream, &keys, count, &mut out, &mut workspace)?)
        })?;
        if !cuda::download(stream, &out)?.is_sorted() {
            return Err(format!("{strategy} did not sort").into());
        }
        let words = if strategy == Strategy::Split { 96 } else { 9 };
        self.print(
            &format!("{strategy} u32 keys"),
            log2_items,
            us,
            4 * words * len,
        )?;
        let us = self.time(|run| {
            let (values, keys) = (
                keys[(run + 1) % keys.len()].as_view(),
                keys[run % keys.len()].as_view(),
            );
            let (mut out, mut values_out, count) = (
                out.as_view_mut(),
                values_out.as_view_mut(),
                Count::Given(len as u32),
            );
            Ok(sort.pairs(
                stream,
                &keys,
                &values,
                count,
                &mut out,
                &mut values_out,
                &mut workspace,
            )?)
        })?;
        let words = if strategy == Strategy::Split { 160 } else { 17 };
        self.print(
            &format!("{strategy} u32 pairs"),
            log2_items,
            us,
            4 * words * len,
        )
    }
}
