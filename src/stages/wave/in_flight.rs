//! Waves in flight on a GPU: the buffers that receive their reports, and the CUDA graphs that launch them.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use compaction::{
    cuda::{Graph, Readback},
    cudarc::driver::{CudaContext, CudaStream, CudaView},
};

use super::{Stage, clock, counts, wave_size::MAX_IN_FLIGHT};
use crate::Error;

/// The properties of a wave on which its launches depend. Waves of equal shape can share a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Number of paths of the wave.
    pub(super) paths: u32,
    /// Whether hits are sorted by kind of material.
    pub(super) sorts_hits: bool,
    /// Number of bounces that are launched for many paths, from a [`BounceEstimate`](super::bounce_estimate::BounceEstimate).
    pub(super) busy_bounces: u32,
}

/// A wave in flight, or a place for one.
struct InFlight {
    stamps: Readback<u64>,
    counts: Readback<u32>,
    shape: Shape,
    /// Whether an earlier wave in this place had the same number of paths and sorted its hits likewise.
    repeats: bool,
    /// Earlier waves of this number of paths: those that did not sort their hits, and those that did.
    earlier: [EarlierWaves; 2],
}

/// The counts of a wave, and each stage with its time in milliseconds.
pub(super) type CountsAndTimes = (Vec<u32>, Vec<(Stage, f64)>);

#[derive(Default)]
struct EarlierWaves {
    /// Whether there was such a wave.
    any: bool,
    /// The graph recorded from one, with its number of busy bounces.
    graph: Option<(u32, Graph)>,
}

impl InFlight {
    fn new(context: &Arc<CudaContext>, max_bounces: u32) -> Result<InFlight, Error> {
        Ok(InFlight {
            stamps: Readback::new(context, clock::len(max_bounces))?,
            counts: Readback::new(context, counts::len(max_bounces))?,
            shape: Shape::default(),
            repeats: false,
            earlier: Default::default(),
        })
    }

    /// Begins a wave in this place. Drops the graphs if the number of paths differs from the wave before.
    fn begin(&mut self, shape: Shape) {
        if shape.paths != self.shape.paths {
            self.earlier = Default::default();
        }
        self.shape = shape;
        let earlier = self.earlier();
        self.repeats = std::mem::replace(&mut earlier.any, true);
    }

    /// Returns the graph for the wave, if one was recorded.
    fn graph(&mut self) -> Option<&mut Graph> {
        let busy_bounces = self.shape.busy_bounces;
        let recorded = self.earlier().graph.as_mut();
        recorded
            .filter(|(recorded, _)| *recorded == busy_bounces)
            .map(|(_, graph)| graph)
    }

    fn earlier(&mut self) -> &mut EarlierWaves {
        &mut self.earlier[usize::from(self.shape.sorts_hits)]
    }
}

/// The waves in flight on a GPU, in the order in which they were enqueued.
pub(super) struct WavesInFlight {
    enqueued: VecDeque<InFlight>,
    idle: Vec<InFlight>,
    /// Whether graphs are recorded; `false` once recording has failed.
    records: bool,
}

impl WavesInFlight {
    /// Allocates the buffers for reports of waves with up to `max_bounces` bounces.
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

    /// Adds a wave that begins. If no place is free, it takes that of the oldest wave, whose report is lost.
    pub(super) fn begin(&mut self, shape: Shape) {
        let place = self.idle.pop().or_else(|| self.enqueued.pop_front());
        self.enqueued.extend(place.map(|mut place| {
            place.begin(shape);
            place
        }));
    }

    /// Returns the number of waves in flight.
    pub(super) fn count(&self) -> usize {
        self.enqueued.len()
    }

    /// Returns the number of paths of all waves in flight.
    pub(super) fn paths(&self) -> f64 {
        self.enqueued
            .iter()
            .map(|wave| f64::from(wave.shape.paths))
            .sum()
    }

    /// Returns whether the wave that began last may be launched as a graph: an earlier one was like it, and has loaded
    /// all kernels.
    pub(super) fn repeats(&self) -> bool {
        self.records && self.enqueued.back().is_some_and(|wave| wave.repeats)
    }

    /// Returns the graph for the wave that began last, if one was recorded.
    pub(super) fn graph(&mut self) -> Option<&mut Graph> {
        self.enqueued.back_mut()?.graph()
    }

    /// Returns whether the wave that began last has a graph.
    pub(super) fn has_graph(&self) -> bool {
        self.enqueued.back().is_some_and(|wave| {
            let recorded = &wave.earlier[usize::from(wave.shape.sorts_hits)].graph;
            let busy_bounces = recorded.as_ref().map(|&(busy_bounces, _)| busy_bounces);
            busy_bounces == Some(wave.shape.busy_bounces)
        })
    }

    /// Stores the graph recorded from the wave that began last. `None` means that recording failed, and ends it.
    pub(super) fn keep_graph(&mut self, graph: Option<Graph>) {
        self.records = graph.is_some();
        if let Some(wave) = self.enqueued.back_mut() {
            let busy_bounces = wave.shape.busy_bounces;
            wave.earlier().graph = graph.map(|graph| (busy_bounces, graph));
        }
    }

    /// Drops all graphs, because kernels or buffers change.
    pub(super) fn drop_graphs(&mut self) {
        for wave in self.idle.iter_mut().chain(&mut self.enqueued) {
            wave.earlier = Default::default();
        }
    }

    /// Drops the graphs of waves that sort their hits.
    pub(super) fn drop_sorting_graphs(&mut self) {
        for wave in self.idle.iter_mut().chain(&mut self.enqueued) {
            wave.earlier[usize::from(true)] = EarlierWaves::default();
        }
    }

    /// Enqueues copies of the counts and times of the wave that began last to the host.
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

    /// Waits for the counts and times of the oldest wave; `None` if no wave is in flight. The wave stays in flight.
    ///
    /// # Errors
    /// If the copies fail, or do not arrive within the time that `timeout` returns for the number of paths.
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

    /// Removes the oldest wave. Returns its shape, and whether an earlier wave was like it.
    pub(super) fn remove_oldest(&mut self) -> Option<(Shape, bool)> {
        let wave = self.enqueued.pop_front()?;
        let ended = (wave.shape, wave.repeats);
        self.idle.push(wave);
        Some(ended)
    }
}
