//! Queues in which the paths of a wave wait to be shaded together with others that hit the same material.

use crate::accel::arrays::{PATHS, U32Array};

/// Maximum number of queues. Each material needs two, and materials share queues if there are not enough.
const MAX_QUEUES: usize = 256;

/// Paths that hit triangles of one material, either all in instances or all outside.
#[derive(Clone, Default)]
pub(super) struct MaterialQueue {
    /// Index of the material.
    pub(super) material: u32,
    /// Whether the triangles belong to instances.
    pub(super) is_instanced: bool,
    /// Number of paths, less than [`PATHS`] except while a full queue is shaded.
    pub(super) count: usize,
    /// Indices of the paths in the queue of the wave.
    pub(super) queue_indices: U32Array,
    /// Indices of the paths' state in the wave.
    pub(super) path_indices: U32Array,
}

impl MaterialQueue {
    /// Returns for each path the index of its entry in the queue of the wave, and the index of the path.
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
    /// Creates queues for a scene with this number of materials, at least one.
    pub(super) fn new(materials: usize) -> MaterialQueues {
        MaterialQueues {
            queues: vec![MaterialQueue::default(); MAX_QUEUES.min(2 * materials)],
        }
    }

    /// Adds a path to the queue of its material, given by the index of its entry in the queue of the wave and its own.
    ///
    /// If another material holds the queue, `shade` is called with its paths first. If the added path fills the queue,
    /// `shade` is called with all its paths. Each call empties the queue.
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
    pub(super) fn flush(&mut self, mut shade: impl FnMut(&MaterialQueue)) {
        for queue in &mut self.queues {
            if queue.count > 0 {
                shade(queue);
                queue.count = 0;
            }
        }
    }
}
