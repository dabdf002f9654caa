//! The kernels and launches that the partitions by flags and by keys have in common.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use crate::{
    Result,
    arguments::{Input, ItemCount},
    cuda::{self, In, InOut, Kernel, Launch, Module},
};

/// The parameters of the kernels `partition_indices` and `partition_classes`: `(flags or keys, input, out,
/// selected or starts, workspace)`.
pub(super) type Indices = (In<u8>, Input<'static>, InOut<u32>, InOut<u32>, InOut<u64>);
/// The parameters of the kernels `partition_count` and `partition_count_classes`: `(flags or keys, input, counts,
/// workspace)`.
pub(super) type CountPortions = (In<u8>, Input<'static>, InOut<u32>, InOut<u64>);
/// The parameters of `partition_move_indices`, `partition_move_classes` and their variants for wide indices: `(flags or
/// keys, input, counts, out, selected or starts, workspace)`. Indices are passed as bytes.
pub(super) type MoveIndices = (
    In<u8>,
    Input<'static>,
    In<u32>,
    InOut<u8>,
    InOut<u32>,
    InOut<u64>,
);

/// The validated arguments of a call, as passed to its launches.
pub(super) struct PartitionCall<'a> {
    /// The flags or keys.
    pub(super) keys: CudaView<'a, u8>,
    pub(super) item_count: ItemCount<'a>,
    /// The number of selected items, or the starts of the classes.
    pub(super) selected: CudaViewMut<'a, u32>,
    /// The look-back states of the workspace.
    pub(super) words: CudaViewMut<'a, u64>,
    /// The counts that the first of two launches writes: for each block, its number of selected items, or of keys of
    /// each class.
    pub(super) counts: CudaViewMut<'a, u32>,
}

impl PartitionCall<'_> {
    /// Returns the capacity if its size and that of counts permit a single launch.
    pub(super) fn capacity_of_one_launch(&self) -> Option<u32> {
        let capacity = u32::try_from(self.item_count.capacity).ok();
        capacity.filter(|_| !self.item_count.has_wide_count())
    }
}

/// The loaded kernels that write indices.
#[derive(Debug)]
pub(super) struct IndexKernels {
    indices: Kernel<Indices>,
    count: Kernel<CountPortions>,
    /// The kernels that write indices in the second of two launches: of 4 bytes, then of 8 bytes.
    move_indices: [Kernel<MoveIndices>; 2],
}

impl IndexKernels {
    /// Looks up the kernels by their names: for a single launch, for the first of two, and for the second with indices
    /// of 4 and of 8 bytes.
    pub(super) fn of(module: &Module, names: [&'static str; 4]) -> Result<Self> {
        let [indices, count, narrow, wide] = names;
        Ok(Self {
            indices: module.kernel(indices)?,
            count: module.kernel(count)?,
            move_indices: [module.kernel(narrow)?, module.kernel(wide)?],
        })
    }

    /// Returns the context that the kernels were loaded in.
    pub(super) fn context(&self) -> &Arc<CudaContext> {
        self.indices.context()
    }

    /// Enqueues a partition of indices: in one launch if capacity and counts fit 32 bits and indices have 4 bytes,
    /// otherwise in two. `wide` is whether an index has 8 bytes instead of 4. `one` returns the grid of
    /// a single launch for a capacity, and `two` is that of two launches.
    pub(super) fn launch(
        &self,
        stream: &Arc<CudaStream>,
        mut call: PartitionCall<'_>,
        (mut out, wide): (CudaViewMut<'_, u8>, bool),
        one: impl FnOnce(u32) -> Launch,
        two: Launch,
    ) -> Result<()> {
        if let (Some(capacity), false) = (call.capacity_of_one_launch(), wide) {
            let args = (
                call.keys,
                call.item_count.input(),
                cuda::reinterpret_mut(&mut out)?,
                call.selected,
                call.words,
            );
            return self.indices.launch(stream, one(capacity), args);
        }
        self.count(stream, &mut call, two)?;
        let args = (
            call.keys,
            call.item_count.input(),
            call.counts.as_view(),
            out,
            call.selected,
            call.words,
        );
        self.move_indices[usize::from(wide)].launch(stream, two, args)
    }

    /// Enqueues the first of two launches, in which each block counts its selected items, or its keys of each class.
    pub(super) fn count(
        &self,
        stream: &Arc<CudaStream>,
        call: &mut PartitionCall<'_>,
        launch: Launch,
    ) -> Result<()> {
        let args = (
            call.keys.slice(..),
            call.item_count.input(),
            call.counts.slice_mut(..),
            call.words.slice_mut(..),
        );
        self.count.launch(stream, launch, args)
    }
}
