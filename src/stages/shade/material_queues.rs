//! Queues in which the paths of a wave wait to be shaded together with others that hit the same material.

use super::arrays::{PATHS, U32Array};

/// Number of queues. Materials share them if there are more.
const QUEUES: usize = 256;

/// Paths that hit triangles of one material, either all in instances or all outside.
#[derive(Clone, Default)]
pub(super) struct MaterialQueue {
    /// Index of the material.
    pub(super) material: u32,
    /// Whether the triangles belong to instances.
    pub(super) is_instanced: bool,
    /// Number of paths.
    pub(super) count: usize,
    /// Indices of the paths' queue entries.
    pub(super) queue_indices: U32Array,
    /// Indices of the paths in the wave.
    pub(super) path_indices: U32Array,
}

impl MaterialQueue {
    /// Returns the index of each path's queue entry and of the path.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&u32, &u32)> {
        self.queue_indices
            .iter()
            .zip(&self.path_indices)
            .take(self.count)
    }
}

/// The queues of all materials.
pub(super) struct MaterialQueues {
    queues: Vec<MaterialQueue>,
}

impl MaterialQueues {
    /// Creates queues for a scene with this number of materials.
    pub(super) fn new(materials: usize) -> MaterialQueues {
        MaterialQueues {
            queues: vec![MaterialQueue::default(); QUEUES.min(2 * materials)],
        }
    }

    /// Adds a path, given by the index of its queue entry and its own index. Calls `shade` with a queue that has to be
    /// emptied: that of another material in the path's place, or the path's own when it is full.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        (material, is_instanced): (u32, bool),
        queue_index: usize,
        path: usize,
        mut shade: impl FnMut(&MaterialQueue),
    ) {
        let place = (2 * material + u32::from(is_instanced)) as usize % self.queues.len();
        let queue = &mut self.queues[place];
        if (queue.material, queue.is_instanced) != (material, is_instanced) {
            if queue.count > 0 {
                shade(queue);
                queue.count = 0;
            }
            (queue.material, queue.is_instanced) = (material, is_instanced);
        }
        queue.queue_indices[queue.count] = queue_index as u32;
        queue.path_indices[queue.count] = path as u32;
        queue.count += 1;
        if queue.count == PATHS {
            shade(queue);
            queue.count = 0;
        }
    }

    /// Calls `shade` with each queue that has paths, and empties it.
    pub(super) fn empty(&mut self, mut shade: impl FnMut(&MaterialQueue)) {
        for queue in &mut self.queues {
            if queue.count > 0 {
                shade(queue);
                queue.count = 0;
            }
        }
    }
}
