//! Times `scan` and `summed_area` on a GPU, next to a copy of the same bytes.
//!
//! `cargo run --release -p compaction --example scan_speed -- [LOG2_ITEMS]...`
//!
//! Each row is the median of the times between two events around a call, after a warm-up. The calls alternate between
//! buffers that together exceed the GPU's cache. The copy copies the items to the output.

use std::{error::Error, sync::Arc};

use compaction::{
    Count,
    cuda::{self, Compiler, Timeline},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream},
    scan::{self, Item, Operator, Scan},
    summed_area::{self, SummedArea},
};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Number of calls that are not timed.
const WARM_UP: usize = 10;
/// Number of calls that are timed.
const RUNS: usize = 51;
/// Total size in bytes of the buffers that calls alternate between: several times the L2 cache of any GPU.
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
    let sizes = if sizes.is_empty() {
        (16..=28).step_by(4).collect()
    } else {
        sizes
    };
    println!(
        "{:26} {:>10} {:>9} {:>9} {:>8}",
        "exclusive sum", "items", "µs", "copy µs", "of copy"
    );
    for &log2_items in &sizes {
        for &strategy in scan::Strategy::ALL {
            scans::<u32>(&context, strategy, 1 << log2_items)?;
        }
        for strategy in [scan::Strategy::Raking, scan::Strategy::LookBack] {
            scans::<f32>(&context, strategy, 1 << log2_items)?;
            scans::<u64>(&context, strategy, 1 << log2_items)?;
            scans::<f64>(&context, strategy, 1 << log2_items)?;
        }
    }
    println!(
        "{:26} {:>10} {:>9} {:>9} {:>8}",
        "summed-area table", "side", "µs", "copy µs", "of copy"
    );
    for side in [1 << 10, 1 << 12, 1 << 14] {
        for &strategy in summed_area::Strategy::ALL {
            tables::<f32>(&context, strategy, side)?;
            tables::<u64>(&context, strategy, side)?;
        }
    }
    Ok(())
}

fn scans<T: Item>(
    context: &Arc<CudaContext>,
    strategy: scan::Strategy,
    items: usize,
) -> Result<()> {
    let mut bench = Bench::<T>::new(context, items)?;
    let scan = Scan::<T>::new(&Compiler::new(), context, Operator::Sum, strategy)?;
    let mut workspace = scan::Workspace::for_strategy(&bench.stream, strategy, items)?;
    let us = bench.time(|stream, items, out| {
        let (items, mut out) = (items.as_view(), out.as_view_mut());
        Ok(scan.exclusive(stream, &items, Count::All, &mut out, &mut workspace)?)
    })?;
    bench.print(&format!("{} {strategy}", T::NAME), items, us)
}

fn tables<T: Item>(
    context: &Arc<CudaContext>,
    strategy: summed_area::Strategy,
    side: u32,
) -> Result<()> {
    let items = side as usize * side as usize;
    let mut bench = Bench::<T>::new(context, items)?;
    let summed_area = SummedArea::<T>::new(&Compiler::new(), context, strategy)?;
    let mut workspace =
        summed_area::Workspace::for_strategy(&bench.stream, strategy, (side, side))?;
    let us = bench.time(|stream, items, out| {
        let (items, mut out) = (items.as_view(), out.as_view_mut());
        Ok(summed_area.table(stream, &items, (side, side), &mut out, &mut workspace)?)
    })?;
    bench.print(&format!("{} {strategy}", T::NAME), side as usize, us)
}

/// The buffers of the calls.
struct Bench<T> {
    stream: Arc<CudaStream>,
    timeline: Timeline,
    /// Pairs of input and output buffers.
    sets: Vec<(CudaSlice<T>, CudaSlice<T>)>,
    runs: usize,
}

impl<T: Item> Bench<T> {
    fn new(context: &Arc<CudaContext>, items: usize) -> Result<Self> {
        let stream = context.new_stream()?;
        let bytes = items * size_of::<T>();
        let mut numbers = vec![T::zeroed(); items.min(1 << 20)];
        // Small numbers whose bits are nonzero also as floats.
        let words: &mut [u8] = bytemuck::cast_slice_mut(&mut numbers);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        words.fill_with(|| random.random_range(0..64));
        let set = |_| -> Result<_> {
            let mut items = cuda::zeroed::<T>(&stream, items)?;
            for first in (0..items.len()).step_by(numbers.len()) {
                stream.memcpy_htod(&numbers, &mut items.slice_mut(first..first + numbers.len()))?;
            }
            let out = cuda::zeroed::<T>(&stream, items.len())?;
            Ok((items, out))
        };
        Ok(Self {
            timeline: Timeline::new(context, 2 * RUNS)?,
            sets: (0..(ROUND_BYTES / bytes).clamp(2, 64))
                .map(set)
                .collect::<Result<_>>()?,
            runs: if bytes < 256 << 20 { RUNS } else { 15 },
            stream,
        })
    }

    /// Returns the median time of a call in microseconds.
    fn time(
        &mut self,
        mut call: impl FnMut(&Arc<CudaStream>, &mut CudaSlice<T>, &mut CudaSlice<T>) -> Result<()>,
    ) -> Result<f32> {
        let sets = self.sets.len();
        self.timeline.restart();
        for run in 0..WARM_UP + self.runs {
            let (items, out) = &mut self.sets[run % sets];
            if run >= WARM_UP {
                self.timeline.mark(&self.stream)?;
            }
            call(&self.stream, items, out)?;
            if run >= WARM_UP {
                self.timeline.mark(&self.stream)?;
            }
        }
        let times = self.timeline.milliseconds()?;
        let mut times: Vec<f32> = times.into_iter().step_by(2).collect();
        times.sort_by(f32::total_cmp);
        Ok(1000.0 * times[times.len() / 2])
    }

    fn print(&mut self, what: &str, items: usize, us: f32) -> Result<()> {
        let copy_us = self.time(|stream, items, out| Ok(stream.memcpy_dtod(items, out)?))?;
        let share = 100.0 * copy_us / us;
        println!("{what:26} {items:>10} {us:>9.1} {copy_us:>9.1} {share:>7.0} %");
        Ok(())
    }
}
