//! Measurement of the methods on a GPU.

use std::sync::Arc;

use compaction::{
    Count,
    cuda::{self, Compiler, Timeline},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream},
    scan::{self, Operator, Scan},
    select::{Predicate, Select, SelectIf, Strategy, TILE_ITEMS, Workspace},
};

use crate::{
    Result,
    table::{Case, Row, median},
};

/// Number of calls that are not timed.
const WARM_UP: usize = 5;
/// Total size in bytes of the buffers that calls alternate between: several times the L2 cache of any GPU.
const ROUND_BYTES: usize = 512 << 20;

/// A GPU with the kernels of every method.
pub(crate) struct Gpu {
    name: String,
    context: Arc<CudaContext>,
    scans: Vec<Scan<u32>>,
    selects: Vec<Select>,
    select_if: SelectIf<u32>,
}

impl Gpu {
    pub(crate) fn new() -> Result<Self> {
        let context = cuda::open(0)?;
        let compiler = Compiler::new();
        let scans = scan::Strategy::ALL
            .iter()
            .map(|&strategy| Scan::new(&compiler, &context, Operator::Sum, strategy));
        let selects = Strategy::ALL
            .iter()
            .map(|&strategy| Select::new(&compiler, &context, strategy));
        // The predicate's items serve as flags: an item is odd if its flag is set; see `Buffers`.
        let predicate = Predicate::new("odd.cuh", "bool keep(u32 item) { return item & 1; }");
        Ok(Self {
            name: cuda::devices()?[0].name.replace("NVIDIA ", ""),
            scans: scans.collect::<compaction::Result<_>>()?,
            selects: selects.collect::<compaction::Result<_>>()?,
            select_if: SelectIf::new(&compiler, &context, &predicate)?,
            context,
        })
    }

    /// Times every method.
    pub(crate) fn rows(&mut self, case: &Case) -> Result<Vec<Row>> {
        let mut bench = Bench::new(&self.context, case)?;
        let (items, kept) = (case.items, bench.kept as usize);
        let mut rows = Vec::new();
        let mut push = |work, method, bytes, microseconds, copy_microseconds| {
            rows.push(Row {
                machine: self.name.clone(),
                work,
                method,
                items,
                percent: (work != "scan").then_some(case.percent),
                microseconds,
                copy_microseconds,
                bytes,
            });
        };
        if case.is_first {
            let copy = bench.copy(8 * items)?;
            for scan in &self.scans {
                let name = scan.strategy().name();
                push("scan", name, 8 * items, bench.scan(scan)?, copy);
            }
        }
        let (indices, words, predicate_bytes) =
            (items + 4 * kept, items + 8 * kept, 4 * items + 4 * kept);
        let copies = [
            bench.copy(indices)?,
            bench.copy(words)?,
            bench.copy(predicate_bytes)?,
        ];
        for select in &self.selects {
            let name = select.strategy().name();
            push("indices", name, indices, bench.indices(select)?, copies[0]);
            push("u32", name, words, bench.items(select)?, copies[1]);
        }
        push(
            "u32 if",
            "look-back",
            predicate_bytes,
            bench.items_if(&self.select_if)?,
            copies[2],
        );
        Ok(rows)
    }
}

/// The buffers of one call. An item is odd if its flag is set.
struct Buffers {
    flags: CudaSlice<u8>,
    items: CudaSlice<u32>,
    out: CudaSlice<u32>,
    selected: CudaSlice<u32>,
}

/// The buffers of one input, with what the calls need.
struct Bench {
    stream: Arc<CudaStream>,
    timeline: Timeline,
    workspace: Workspace,
    sets: Vec<Buffers>,
    runs: usize,
    items: u32,
    kept: u32,
    /// The sum of all items but the last one, modulo 2³².
    sum_before_last: u32,
}

impl Bench {
    fn new(context: &Arc<CudaContext>, case: &Case) -> Result<Self> {
        let stream = context.default_stream();
        let flags = case.flags();
        let len = case.items;
        let items: Vec<u32> = flags
            .iter()
            .zip(0..)
            .map(|(&flag, index)| index << 1 | u32::from(flag))
            .collect();
        // A copy of half of the bytes that a call moves needs up to 9/8 of the words.
        let room = len + len.div_ceil(8);
        let set = || -> Result<Buffers> {
            let mut padded = cuda::zeroed::<u32>(&stream, room)?;
            stream.memcpy_htod(&items, &mut padded.slice_mut(..len))?;
            Ok(Buffers {
                flags: cuda::upload(&stream, &flags)?,
                items: padded,
                out: cuda::zeroed(&stream, room)?,
                selected: cuda::zeroed(&stream, 1)?,
            })
        };
        // Every set is called at least once.
        let runs = if len > 1 << 25 { 21 } else { 51 };
        let sets = (ROUND_BYTES / (10 * len)).clamp(2, WARM_UP + runs);
        Ok(Self {
            sets: (0..sets).map(|_| set()).collect::<Result<_>>()?,
            timeline: Timeline::new(context, 2 * runs)?,
            // The strategy that needs the most memory from one tile on.
            workspace: Workspace::for_strategy(
                &stream,
                Strategy::ScanScatter,
                len.max(TILE_ITEMS as usize),
            )?,
            runs,
            items: len as u32,
            sum_before_last: items[..len - 1].iter().copied().fold(0, u32::wrapping_add),
            kept: flags.iter().map(|&flag| u32::from(flag)).sum(),
            stream,
        })
    }

    fn scan(&mut self, scan: &Scan<u32>) -> Result<f64> {
        let len = self.items as usize;
        let mut workspace = scan::Workspace::for_strategy(&self.stream, scan.strategy(), len)?;
        let time = self.time(|stream, set, _| {
            let (items, mut out) = (set.items.slice(..len), set.out.slice_mut(..len));
            Ok(scan.exclusive(stream, &items, Count::All, &mut out, &mut workspace)?)
        })?;
        let last = cuda::download(&self.stream, &self.sets[0].out.slice(len - 1..len))?[0];
        if last != self.sum_before_last {
            return Err(format!("the last prefix is {last}, not {}", self.sum_before_last).into());
        }
        Ok(time)
    }

    fn indices(&mut self, select: &Select) -> Result<f64> {
        let count = self.items;
        let time = self.time(|stream, set, workspace| {
            Ok(select.indices(
                stream,
                &set.flags,
                Count::Given(count),
                &mut set.out,
                &mut set.selected,
                workspace,
            )?)
        })?;
        self.check(time)
    }

    fn items(&mut self, select: &Select) -> Result<f64> {
        let count = self.items;
        let time = self.time(|stream, set, workspace| {
            Ok(select.items(
                stream,
                set.items.slice(..count as usize),
                &set.flags,
                Count::Given(count),
                &mut set.out,
                &mut set.selected,
                workspace,
            )?)
        })?;
        self.check(time)
    }

    fn items_if(&mut self, select: &SelectIf<u32>) -> Result<f64> {
        let count = self.items;
        let time = self.time(|stream, set, workspace| {
            Ok(select.items(
                stream,
                set.items.slice(..count as usize),
                Count::Given(count),
                &mut set.out,
                &mut set.selected,
                workspace,
            )?)
        })?;
        self.check(time)
    }

    fn copy(&mut self, bytes: usize) -> Result<f64> {
        let words = bytes / 8;
        self.time(|stream, set, _| {
            Ok(stream.memcpy_dtod(&set.items.slice(..words), &mut set.out.slice_mut(..words))?)
        })
    }

    /// Returns the median time of a call in microseconds.
    fn time(
        &mut self,
        mut call: impl FnMut(&Arc<CudaStream>, &mut Buffers, &mut Workspace) -> Result<()>,
    ) -> Result<f64> {
        let sets = self.sets.len();
        self.timeline.restart();
        for run in 0..WARM_UP + self.runs {
            let set = &mut self.sets[run % sets];
            if run >= WARM_UP {
                self.timeline.mark(&self.stream)?;
            }
            call(&self.stream, set, &mut self.workspace)?;
            if run >= WARM_UP {
                self.timeline.mark(&self.stream)?;
            }
        }
        let times = self.timeline.milliseconds()?.into_iter().step_by(2);
        Ok(1000.0 * median(times.map(f64::from).collect()))
    }

    /// Returns the time, after checking that the calls computed the right result.
    fn check(&mut self, time: f64) -> Result<f64> {
        for set in &mut self.sets {
            let selected = cuda::download(&self.stream, &set.selected)?[0];
            self.stream.memset_zeros(&mut set.selected)?;
            if selected != self.kept {
                return Err(format!("selected {selected} of {}", self.kept).into());
            }
        }
        Ok(time)
    }
}
