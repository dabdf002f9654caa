//! Times `select` on a GPU beside a copy of as many bytes.
//!
//! `cargo run --release -p compaction --example select_speed -- [LOG2_ITEMS]...`
//!
//! Each row is the median of the times between two events around a call, after a warm-up. The calls go round over
//! buffers that together do not fit into the GPU's cache. A copy reads and writes half of the bytes that the call has
//! to move.

use std::{error::Error, sync::Arc};

use compaction::{
    Strategy,
    cuda::{self, Compiler, Timeline},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream},
    select::{Count, Select, Workspace},
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const WARM_UP: usize = 20;
const RUNS: usize = 101;
/// Several times the cache of any GPU.
const ROUND_BYTES: usize = 512 << 20;

fn main() -> Result<()> {
    let sizes: Vec<u32> = std::env::args()
        .skip(1)
        .map(|size| size.parse())
        .collect::<std::result::Result<_, _>>()?;
    let context = match cuda::open(0) {
        Ok(context) => context,
        Err(error) => {
            println!("skipped: {error}");
            return Ok(());
        }
    };
    println!("{}", cuda::devices()?[0].name);
    println!(
        "{:8} {:9} {:>5} {:>6} {:>9} {:>7} {:>9} {:>8}",
        "select", "strategy", "items", "keep", "µs", "GB/s", "copy µs", "of copy"
    );
    for log2_items in if sizes.is_empty() {
        (16..=26).step_by(2).collect()
    } else {
        sizes
    } {
        for percent in [10, 50, 90] {
            let mut bench = Bench::new(&context, log2_items, percent)?;
            for strategy in [Strategy::LookBack, Strategy::Atomic] {
                let select = Select::new(&Compiler::new(), &context, strategy)?;
                bench.indices(&select)?;
                bench.items(&select)?;
            }
        }
    }
    Ok(())
}

/// The buffers of one call.
struct Set {
    flags: CudaSlice<u8>,
    items: CudaSlice<u32>,
    out: CudaSlice<u32>,
    selected: CudaSlice<u32>,
}

struct Bench {
    stream: Arc<CudaStream>,
    timeline: Timeline,
    workspace: Workspace,
    sets: Vec<Set>,
    log2_items: u32,
    items: u32,
    percent: u64,
    kept: u32,
}

impl Bench {
    fn new(context: &Arc<CudaContext>, log2_items: u32, percent: u64) -> Result<Self> {
        let stream = context.new_stream()?;
        let items = 1_u32
            .checked_shl(log2_items)
            .ok_or("2^32 items and more do not fit")?;
        let mut state = 1_u64;
        let flags: Vec<u8> = (0..items)
            .map(|_| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                u8::from((state >> 33) % 100 < percent)
            })
            .collect();
        let len = items as usize;
        // A copy of half of all bytes that a call moves has up to 9/8 of the words.
        let room = len + len.div_ceil(8);
        let set = || -> Result<Set> {
            Ok(Set {
                flags: cuda::upload(&stream, &flags)?,
                items: cuda::zeroed(&stream, room)?,
                out: cuda::zeroed(&stream, room)?,
                selected: cuda::zeroed(&stream, 1)?,
            })
        };
        let sets = (ROUND_BYTES / (10 * len)).clamp(2, 64);
        Ok(Self {
            sets: (0..sets).map(|_| set()).collect::<Result<_>>()?,
            timeline: Timeline::new(context, 2 * RUNS)?,
            workspace: Workspace::with_capacity(&stream, items)?,
            stream,
            log2_items,
            items,
            percent,
            kept: flags.iter().map(|&flag| u32::from(flag)).sum(),
        })
    }

    fn indices(&mut self, select: &Select) -> Result<()> {
        let count = self.items;
        let us = self.time(|stream, set, workspace| {
            Ok(select.indices(
                stream,
                &set.flags.as_view(),
                Count::Given(count),
                &mut set.out.as_view_mut(),
                &mut set.selected.as_view_mut(),
                workspace,
            )?)
        })?;
        self.print(
            "indices",
            select.strategy(),
            us,
            self.items as usize + 4 * self.kept as usize,
        )
    }

    fn items(&mut self, select: &Select) -> Result<()> {
        let count = self.items;
        let us = self.time(|stream, set, workspace| {
            Ok(select.items(
                stream,
                &set.items.as_view(),
                &set.flags.as_view(),
                Count::Given(count),
                &mut set.out.as_view_mut(),
                &mut set.selected.as_view_mut(),
                workspace,
            )?)
        })?;
        self.print(
            "u32",
            select.strategy(),
            us,
            5 * self.items as usize + 4 * self.kept as usize,
        )
    }

    /// The median time of a call, in microseconds.
    fn time(
        &mut self,
        mut call: impl FnMut(&Arc<CudaStream>, &mut Set, &mut Workspace) -> Result<()>,
    ) -> Result<f32> {
        let sets = self.sets.len();
        self.timeline.restart();
        for run in 0..WARM_UP + RUNS {
            let set = &mut self.sets[run % sets];
            if run >= WARM_UP {
                self.timeline.mark(&self.stream)?;
            }
            call(&self.stream, set, &mut self.workspace)?;
            if run >= WARM_UP {
                self.timeline.mark(&self.stream)?;
            }
        }
        let mut times: Vec<f32> = self
            .timeline
            .milliseconds()?
            .into_iter()
            .step_by(2)
            .collect();
        times.sort_by(f32::total_cmp);
        Ok(1000.0 * times[times.len() / 2])
    }

    /// Prints a row, after a look whether the calls did what they were timed for.
    fn print(&mut self, what: &str, strategy: Strategy, us: f32, bytes: usize) -> Result<()> {
        for set in &mut self.sets {
            let selected = cuda::download(&self.stream, &set.selected)?[0];
            self.stream.memset_zeros(&mut set.selected)?;
            if selected != self.kept {
                return Err(
                    format!("{what} {strategy} selected {selected} of {}", self.kept).into(),
                );
            }
        }
        let words = bytes / 8;
        let copy_us = self.time(|stream, set, _| {
            Ok(stream.memcpy_dtod(&set.items.slice(..words), &mut set.out.slice_mut(..words))?)
        })?;
        println!(
            "{what:8} {strategy:9}  2^{:<3} {:>4} % {us:>9.1} {:>7.0} {copy_us:>9.1} {:>7.0} %",
            self.log2_items,
            self.percent,
            bytes as f32 / us / 1000.0,
            100.0 * copy_us / us,
        );
        Ok(())
    }
}
