//! The kernels and launches that the partitions by flags and by keys have in common.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use crate::{
    Result,
    arguments::{Input, ItemCount},
    cuda::{self, In, InOut, Kernel, Launch, Module, NamedCall, kernel_params},
};

kernel_params! {
    /// The parameters of the kernels `partition_indices` and `partition_classes`. `keys` are flags or keys, and
    /// `selected` receives the number of selected items or the starts of the classes.
    pub(super) struct Indices<'a> {
        keys: In<u8>,
        input: Input<'static>,
        out: InOut<u32>,
        selected: InOut<u32>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernels `partition_count` and `partition_count_classes`. `keys` are flags or keys.
    pub(super) struct CountPortions<'a> {
        keys: In<u8>,
        input: Input<'static>,
        counts: InOut<u32>,
        workspace: InOut<u64>,
    }

    /// The parameters of `partition_move_indices`, `partition_move_classes` and their variants for wide indices, which
    /// are passed as bytes. Otherwise like [`Indices`].
    pub(super) struct MoveIndices<'a> {
        keys: In<u8>,
        input: Input<'static>,
        counts: In<u32>,
        out: InOut<u8>,
        selected: InOut<u32>,
        workspace: InOut<u64>,
    }
}

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
    pub(super) _named: NamedCall,
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
    indices: Kernel<Indices<'static>>,
    count: Kernel<CountPortions<'static>>,
    /// The kernels that write indices in the second of two launches: of 4 bytes, then of 8 bytes.
    move_indices: [Kernel<MoveIndices<'static>>; 2],
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
            let args = Indices {
                keys: call.keys,
                input: call.item_count.input(),
                out: cuda::reinterpret_mut(&mut out)?,
                selected: call.selected,
                workspace: call.words,
            };
            return self.indices.launch(stream, one(capacity), args);
        }
        self.count(stream, &mut call, two)?;
        let args = MoveIndices {
            keys: call.keys,
            input: call.item_count.input(),
            counts: call.counts.as_view(),
            out,
            selected: call.selected,
            workspace: call.words,
        };
        self.move_indices[usize::from(wide)].launch(stream, two, args)
    }

    /// Enqueues the first of two launches, in which each block counts its selected items, or its keys of each class.
    pub(super) fn count(
        &self,
        stream: &Arc<CudaStream>,
        call: &mut PartitionCall<'_>,
        launch: Launch,
    ) -> Result<()> {
        let args = CountPortions {
            keys: call.keys.slice(..),
            input: call.item_count.input(),
            counts: call.counts.slice_mut(..),
            workspace: call.words.slice_mut(..),
        };
        self.count.launch(stream, launch, args)
    }
}
