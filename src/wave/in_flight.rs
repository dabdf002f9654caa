//! A wave that is enqueued on a GPU: where its report will be, and what it is launched by.

use std::{sync::Arc, time::Duration};

use compaction::{
    cuda::{Graph, Readback},
    cudarc::driver::CudaContext,
};

use super::{Stage, clock, counts};
use crate::Error;

/// What a graph can launch again: waves that differ in none of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Paths of the wave.
    pub(super) paths: u32,
    /// Whether hits are ordered by the kind of material.
    pub(super) orders: bool,
    /// Bounces that are launched for many paths: see [`Reach`](super::bounce_estimate::Reach).
    pub(super) busy_bounces: u32,
}

/// A wave that is enqueued, or room for one.
pub(super) struct InFlight {
    pub(super) stamps: Readback<u64>,
    pub(super) counts: Readback<u32>,
    /// Of the wave.
    pub(super) shape: Shape,
    /// Whether there was one of as many paths before, in the same order.
    pub(super) repeats: bool,
    /// What is known of waves of so many paths: of those that leave hits as they come, and of those that order them.
    known: [Known; 2],
}

/// What a wave reports: its counts, and the milliseconds of its stages.
type Told = (Vec<u32>, Vec<(Stage, f64)>);

#[derive(Default)]
struct Known {
    /// Whether there was one.
    ran: bool,
    /// What was recorded, and the busy bounces of that.
    graph: Option<(u32, Graph)>,
}

impl InFlight {
    pub(super) fn new(context: &Arc<CudaContext>, max_bounces: u32) -> Result<InFlight, Error> {
        Ok(InFlight {
            stamps: Readback::new(context, clock::len(max_bounces))?,
            counts: Readback::new(context, counts::len(max_bounces))?,
            shape: Shape::default(),
            repeats: false,
            known: Default::default(),
        })
    }

    /// Waits for the wave's report, for so long at most.
    pub(super) fn arrived(&self, timeout: Duration, max_bounces: u32) -> Result<Told, Error> {
        let counts = self.counts.wait_for(timeout)?.to_vec();
        let stamps = self.stamps.wait_for(timeout)?;
        Ok((counts, clock::times(stamps, max_bounces)))
    }

    /// Begins a wave. Graphs of waves of another size are of no more use.
    pub(super) fn begin(&mut self, shape: Shape) {
        if shape.paths != self.shape.paths {
            self.forget();
        }
        self.shape = shape;
        let known = self.known();
        self.repeats = std::mem::replace(&mut known.ran, true);
    }

    /// What was recorded of such waves.
    pub(super) fn graph(&mut self) -> Option<&mut Graph> {
        let busy_bounces = self.shape.busy_bounces;
        let recorded = self.known().graph.as_mut();
        recorded
            .filter(|(recorded, _)| *recorded == busy_bounces)
            .map(|(_, graph)| graph)
    }

    /// Whether something was recorded of such waves.
    pub(super) fn is_graph(&self) -> bool {
        let known = &self.known[usize::from(self.shape.orders)];
        let recorded = known.graph.as_ref();
        recorded.is_some_and(|&(recorded, _)| recorded == self.shape.busy_bounces)
    }

    /// Keeps what was recorded of this one.
    pub(super) fn keep(&mut self, graph: Option<Graph>) {
        let busy_bounces = self.shape.busy_bounces;
        self.known().graph = graph.map(|graph| (busy_bounces, graph));
    }

    /// Forgets all waves: kernels or buffers are others now.
    pub(super) fn forget(&mut self) {
        self.known = Default::default();
    }

    /// Forgets those that order hits.
    pub(super) fn forget_ordered(&mut self) {
        self.known[usize::from(true)] = Known::default();
    }

    fn known(&mut self) -> &mut Known {
        &mut self.known[usize::from(self.shape.orders)]
    }
}
