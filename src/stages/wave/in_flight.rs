//! Waves in flight: those whose work is enqueued on a GPU, and whose report the host has not read. Contains the buffers
//! that receive the reports, and the CUDA graphs that launch the waves.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use compaction::{
    cuda::{Graph, Readback},
    cudarc::driver::{CudaContext, CudaStream, CudaView},
};

use super::{Stage, clock, counts, wave_size::MAX_IN_FLIGHT};
use crate::Error;

/// The properties of a wave that determine its kernel launches. Waves of equal shape can be launched by the same CUDA
/// graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Number of paths of the wave.
    pub(super) paths: u32,
    /// Whether the wave sorts its hits by kind of material.
    pub(super) sorts_hits: bool,
    /// Number of bounces, from bounce 0 on, that are launched with large grids. It is estimated by
    /// [`BounceEstimate`](super::bounce_estimate::BounceEstimate).
    pub(super) busy_bounces: u32,
}

/// The host buffers and CUDA graphs of a wave in flight. After the wave they are reused for another one.
struct InFlight {
    /// Start times of the wave's stages, see [`clock`].
    stamps: Readback<u64>,
    /// Numbers of rays of the wave, see [`counts`].
    counts: Readback<u32>,
    shape: Shape,
    /// Whether a previous wave with these buffers had the same number of paths and the same `sorts_hits`. Then its
    /// kernels are loaded, and its launches can be recorded.
    repeats: bool,
    /// Graphs of waves of `shape.paths` paths: of those that do not sort their hits at index 0, of those that do at 1.
    graphs: [WaveGraph; 2],
}

/// The counts of a wave, and each run of a stage with its time in milliseconds.
pub(super) type CountsAndTimes = (Vec<u32>, Vec<(Stage, f64)>);

/// The CUDA graph of waves with one number of paths, which all sort their hits or all do not.
#[derive(Default)]
struct WaveGraph {
    /// Whether such a wave has begun since the graphs were dropped.
    has_run: bool,
    /// The graph, with the number of busy bounces of the wave that it was recorded from; `None` before that.
    graph: Option<(u32, Graph)>,
}

impl InFlight {
    /// Allocates the buffers for a wave of paths that scatter up to `max_bounces` times.
    fn new(context: &Arc<CudaContext>, max_bounces: u32) -> Result<InFlight, Error> {
        Ok(InFlight {
            stamps: Readback::new(context, clock::len(max_bounces))?,
            counts: Readback::new(context, counts::len(max_bounces))?,
            shape: Shape::default(),
            repeats: false,
            graphs: Default::default(),
        })
    }

    /// Begins a wave with these buffers. Drops the graphs if its number of paths differs from that of the previous
    /// wave.
    fn begin(&mut self, shape: Shape) {
        if shape.paths != self.shape.paths {
            self.graphs = Default::default();
        }
        self.shape = shape;
        let wave_graph = self.wave_graph();
        self.repeats = std::mem::replace(&mut wave_graph.has_run, true);
    }

    /// Returns the graph that launches the wave, or `None` if none of its shape was recorded.
    fn graph(&mut self) -> Option<&mut Graph> {
        let busy_bounces = self.shape.busy_bounces;
        let recorded = self.wave_graph().graph.as_mut();
        recorded
            .filter(|(recorded, _)| *recorded == busy_bounces)
            .map(|(_, graph)| graph)
    }

    /// Returns the entry of `graphs` for the wave.
    fn wave_graph(&mut self) -> &mut WaveGraph {
        &mut self.graphs[usize::from(self.shape.sorts_hits)]
    }
}

/// The waves in flight on a GPU, in the order in which they were enqueued.
pub(super) struct WavesInFlight {
    /// The waves in flight, the oldest first.
    enqueued: VecDeque<InFlight>,
    /// Buffers that no wave uses.
    idle: Vec<InFlight>,
    /// Whether graphs are recorded; `false` once recording has failed.
    records: bool,
}

impl WavesInFlight {
    /// Allocates the buffers for reports of waves whose paths scatter up to `max_bounces` times.
    pub(super) fn new(
        context: &Arc<CudaContext>,
        max_bounces: u32,
    ) -> Result<WavesInFlight, Error> {
        let idle = (0..MAX_IN_FLIGHT).map(|_| InFlight::new(context, max_bounces));
        Ok(WavesInFlight {
            enqueued: VecDeque::new(),
            idle: idle.collect::<Result<_, Error>>()?,
            records: true,
        })
    }

    /// Adds a wave that begins. If all buffers are in use, it takes those of the oldest wave, whose report is lost.
    pub(super) fn begin(&mut self, shape: Shape) {
        let buffers = self.idle.pop().or_else(|| self.enqueued.pop_front());
        self.enqueued.extend(buffers.map(|mut wave| {
            wave.begin(shape);
            wave
        }));
    }

    /// Returns the number of waves in flight.
    pub(super) fn count(&self) -> usize {
        self.enqueued.len()
    }

    /// Returns the number of paths of all waves in flight together.
    pub(super) fn paths(&self) -> f64 {
        self.enqueued
            .iter()
            .map(|wave| f64::from(wave.shape.paths))
            .sum()
    }

    /// Returns whether the wave that began last may be launched as a graph, which is recorded if needed.
    ///
    /// It may if a previous wave with the same buffers had the same number of paths and sorted its hits likewise, so
    /// that all kernels are loaded. It may not after a recording has failed.
    pub(super) fn repeats(&self) -> bool {
        self.records && self.enqueued.back().is_some_and(|wave| wave.repeats)
    }

    /// Returns the graph that launches the wave that began last, or `None` if none of its shape was recorded.
    pub(super) fn graph(&mut self) -> Option<&mut Graph> {
        self.enqueued.back_mut()?.graph()
    }

    /// Returns whether the wave that began last has a graph.
    pub(super) fn has_graph(&self) -> bool {
        self.enqueued.back().is_some_and(|wave| {
            let recorded = &wave.graphs[usize::from(wave.shape.sorts_hits)].graph;
            let busy_bounces = recorded.as_ref().map(|&(busy_bounces, _)| busy_bounces);
            busy_bounces == Some(wave.shape.busy_bounces)
        })
    }

    /// Stores the graph recorded from the wave that began last. `None` means that recording failed; then no more graphs
    /// are recorded.
    pub(super) fn keep_graph(&mut self, graph: Option<Graph>) {
        self.records = graph.is_some();
        if let Some(wave) = self.enqueued.back_mut() {
            let busy_bounces = wave.shape.busy_bounces;
            wave.wave_graph().graph = graph.map(|graph| (busy_bounces, graph));
        }
    }

    /// Drops all graphs. Call it when kernels or buffers change, because graphs contain their addresses.
    pub(super) fn drop_graphs(&mut self) {
        for wave in self.idle.iter_mut().chain(&mut self.enqueued) {
            wave.graphs = Default::default();
        }
    }

    /// Drops the graphs of waves that sort their hits.
    pub(super) fn drop_sorting_graphs(&mut self) {
        for wave in self.idle.iter_mut().chain(&mut self.enqueued) {
            wave.graphs[usize::from(true)] = WaveGraph::default();
        }
    }

    /// Enqueues copies of the counts and times of the wave that began last to the host. Does not wait.
    pub(super) fn post(
        &mut self,
        stream: &Arc<CudaStream>,
        counts: CudaView<'_, u32>,
        stamps: CudaView<'_, u64>,
    ) -> Result<(), Error> {
        if let Some(wave) = self.enqueued.back_mut() {
            wave.counts.post(stream, counts)?;
            wave.stamps.post(stream, stamps)?;
        }
        Ok(())
    }

    /// Waits for the oldest wave and returns its counts and times, or `None` if no wave is in flight. The wave stays in
    /// flight until [`WavesInFlight::remove_oldest`].
    ///
    /// # Errors
    /// If the wave fails, or does not end within the time that `timeout` returns for its number of paths.
    pub(super) fn wait(
        &self,
        timeout: impl FnOnce(f64) -> Duration,
        max_bounces: u32,
    ) -> Result<Option<CountsAndTimes>, Error> {
        let Some(wave) = self.enqueued.front() else {
            return Ok(None);
        };
        let timeout = timeout(f64::from(wave.shape.paths));
        let counts = wave.counts.wait_for(timeout)?.to_vec();
        let stamps = wave.stamps.wait_for(timeout)?;
        Ok(Some((counts, clock::times(stamps, max_bounces))))
    }

    /// Removes the oldest wave, or returns `None` if no wave is in flight. Returns its shape, and whether a previous
    /// wave with the same buffers had the same number of paths and sorted its hits likewise.
    pub(super) fn remove_oldest(&mut self) -> Option<(Shape, bool)> {
        let wave = self.enqueued.pop_front()?;
        let removed = (wave.shape, wave.repeats);
        self.idle.push(wave);
        Some(removed)
    }
}
