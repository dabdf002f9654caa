//! Measurement of calls in turns.

use std::sync::Arc;

use compaction::{
    Error,
    cuda::{self, Compiler, Timeline},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr},
    layout::Shared,
};

use crate::{Result, peer::Peer};

/// Number of turns that are not timed.
const WARM_UP: usize = 3;
/// Total size in bytes of the buffers that calls alternate between: several times the L2 cache of any GPU.
const ROUND_BYTES: usize = 512 << 20;
/// Size in bytes of a copy that keeps the GPU busy while the host enqueues the turns, and the number of such copies, which
/// take several milliseconds together.
const HOLD_BYTES: usize = 64 << 20;
const HOLDS: usize = 128;
/// Largest number of items whose results are compared.
const COMPARED_ITEMS: usize = 1 << 24;

/// A GPU with a stream, a compiler and the calls of CUB.
pub(crate) struct Bench {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) compiler: Compiler,
    peer: Option<Peer>,
    timeline: Timeline,
    hold: (CudaSlice<u8>, CudaSlice<u8>),
}

/// An operation with its input, which makes one line of a table.
pub(crate) struct Work<'a> {
    /// The name of the operation in the table.
    pub(crate) name: &'a str,
    pub(crate) log2_items: u32,
    /// The contents of the input buffers.
    pub(crate) inputs: &'a [&'a [u8]],
    /// The sizes of the output buffers in bytes.
    pub(crate) outputs: &'a [usize],
    /// Bytes that must be read and written, for the copy beside it.
    pub(crate) bytes: usize,
    /// CUB's function in the group's file, if it has one. It takes the inputs and then its own outputs.
    pub(crate) peer: Option<&'a str>,
    /// Whether both libraries give the same bits. Sums of floats differ in their last bits.
    pub(crate) is_exact: bool,
}

/// The buffers of a call.
struct Set {
    inputs: Vec<CudaSlice<u8>>,
    outputs: Vec<CudaSlice<u8>>,
    peer_outputs: Vec<CudaSlice<u8>>,
}

impl Set {
    fn new(stream: &Arc<CudaStream>, work: &Work<'_>) -> Result<Self> {
        let outputs = || {
            work.outputs
                .iter()
                .map(|&bytes| cuda::zeroed(stream, bytes))
                .collect::<compaction::Result<_>>()
        };
        Ok(Self {
            inputs: work
                .inputs
                .iter()
                .map(|bytes| cuda::upload(stream, bytes))
                .collect::<compaction::Result<_>>()?,
            outputs: outputs()?,
            peer_outputs: outputs()?,
        })
    }

    fn for_peer(&self, stream: &Arc<CudaStream>) -> Vec<u64> {
        let buffers = self.inputs.iter().chain(&self.peer_outputs);
        buffers.map(|buffer| buffer.device_ptr(stream).0).collect()
    }

    fn agrees(&self, stream: &Arc<CudaStream>) -> Result<bool> {
        for (ours, theirs) in self.outputs.iter().zip(&self.peer_outputs) {
            if cuda::download(stream, ours)? != cuda::download(stream, theirs)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Bench {
    pub(crate) fn new(context: &Arc<CudaContext>, peer: Option<Peer>) -> Result<Self> {
        let stream = context.new_stream()?;
        Ok(Self {
            context: context.clone(),
            compiler: Compiler::new(),
            peer,
            timeline: Timeline::new(context, 0)?,
            hold: (
                cuda::zeroed(&stream, HOLD_BYTES)?,
                cuda::zeroed(&stream, HOLD_BYTES)?,
            ),
            stream,
        })
    }

    pub(crate) fn print_head(&self, title: &str) {
        println!("\n### {title}\n");
        println!(
            "| work | items | CUB, µs | `compaction`, µs | speed relative to CUB | of the copy rate |"
        );
        println!("|---|---|---|---|---|---|");
    }

    /// Times a call, CUB's and a copy in turns on sets of buffers that `set` makes, and prints a line. A row that needs
    /// more memory than the GPU has is skipped with a message.
    pub(crate) fn row(
        &mut self,
        work: &Work<'_>,
        call: impl FnMut(&Arc<CudaStream>, &[CudaSlice<u8>], &mut [CudaViewMut<'_, u8>]) -> Result<()>,
    ) -> Result<()> {
        match self.measure(work, call) {
            Err(error) if error.downcast_ref().is_some_and(is_out_of_memory) => {
                println!(
                    "| {} | {} | skipped: {error} |",
                    work.name,
                    power(work.log2_items)
                );
                Ok(())
            }
            measured => measured,
        }
    }

    fn measure(
        &mut self,
        work: &Work<'_>,
        mut call: impl FnMut(
            &Arc<CudaStream>,
            &[CudaSlice<u8>],
            &mut [CudaViewMut<'_, u8>],
        ) -> Result<()>,
    ) -> Result<()> {
        let items = 1_usize << work.log2_items;
        let stream = self.stream.clone();
        let sets = (ROUND_BYTES / work.bytes).clamp(2, 24);
        let mut sets: Vec<Set> = (0..sets)
            .map(|_| Set::new(&stream, work))
            .collect::<Result<_>>()?;
        let peer = match (&self.peer, work.peer) {
            (Some(peer), Some(function)) => {
                let buffers = sets.iter().map(|set| set.for_peer(&stream)).collect();
                Some(peer.call(function, &stream, buffers, items as u64)?)
            }
            _ => None,
        };
        let from = cuda::zeroed::<u32>(&stream, work.bytes / 8)?;
        let mut to = cuda::zeroed::<u32>(&stream, work.bytes / 8)?;
        let turns = if work.bytes < 256 << 20 { 51 } else { 15 };
        self.timeline.restart();
        for turn in 0..WARM_UP + turns {
            if turn == WARM_UP {
                // Otherwise the shortest calls would end before the host has enqueued the next one.
                for _ in 0..HOLDS {
                    stream.memcpy_dtod(&self.hold.0, &mut self.hold.1)?;
                }
                self.timeline.restart();
            }
            // CUB reads other buffers than the call before it, which left its inputs in the cache.
            let (set, peer_set) = (turn % sets.len(), (turn + sets.len() / 2) % sets.len());
            self.timeline.mark(&stream)?;
            let buffers = &mut sets[set];
            let mut outputs: Vec<_> = buffers
                .outputs
                .iter_mut()
                .map(|out| out.as_view_mut())
                .collect();
            call(&stream, &buffers.inputs, &mut outputs)?;
            // Both calls follow a copy, whose output the cache still has to write to memory.
            self.timeline.mark(&stream)?;
            stream.memcpy_dtod(&from, &mut to)?;
            self.timeline.mark(&stream)?;
            if let Some(peer) = &peer {
                peer.enqueue(peer_set)?;
            }
            self.timeline.mark(&stream)?;
            stream.memcpy_dtod(&from, &mut to)?;
        }
        self.timeline.mark(&stream)?;
        let times = self.timeline.milliseconds()?;
        let median = |first: usize| {
            let mut times: Vec<f32> = times.iter().copied().skip(first).step_by(4).collect();
            times.sort_by(f32::total_cmp);
            1000.0 * times[times.len() / 2]
        };
        let (ours, copy) = (median(0), median(1));
        let (theirs, relative) = match &peer {
            Some(_) => (
                format!("{:.1}", median(2)),
                format!("{:.2} ×", median(2) / ours),
            ),
            None => ("—".to_owned(), "—".to_owned()),
        };
        println!(
            "| {} | {} | {theirs} | {ours:.1} | {relative} | {:.0} % |",
            work.name,
            power(work.log2_items),
            100.0 * copy / ours,
        );
        if peer.is_some() && work.is_exact && items <= COMPARED_ITEMS && !sets[0].agrees(&stream)? {
            return Err(format!("{}: the results differ from those of CUB", work.name).into());
        }
        Ok(())
    }
}

/// Returns a buffer as items that a call reads.
pub(crate) fn read<T: Shared>(buffer: &CudaSlice<u8>) -> compaction::Result<CudaView<'_, T>> {
    cuda::reinterpret(buffer.as_view())
}

/// Returns a view of a buffer as items that a call writes.
pub(crate) fn write<'a, T: Shared>(
    buffer: &'a mut CudaViewMut<'_, u8>,
) -> compaction::Result<CudaViewMut<'a, T>> {
    cuda::reinterpret_mut(buffer)
}

fn is_out_of_memory(error: &Error) -> bool {
    matches!(error, Error::OutOfMemory { .. })
}

/// Returns `2²⁰` for 20.
fn power(exponent: u32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |letter: char| digits[letter.to_digit(10).unwrap_or(0) as usize];
    format!(
        "2{}",
        exponent.to_string().chars().map(digit).collect::<String>()
    )
}
