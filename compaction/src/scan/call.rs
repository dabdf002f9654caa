//! The checked arguments of a scan call, as passed to its launches.

use std::sync::Arc;

use cudarc::driver::{CudaStream, CudaView, CudaViewMut};

use crate::{
    arguments::{Input, ItemCount},
    cuda::{In, InOut, kernel_params},
    monoid::Item,
};

/// The checked inputs of a scan call.
pub(super) struct ScanCall<'a, T> {
    pub(super) stream: &'a Arc<CudaStream>,
    pub(super) items: CudaView<'a, T>,
    pub(super) item_count: ItemCount<'a>,
    pub(super) inclusive: bool,
}

/// The inputs, the output and the scratch memory of a scan call.
pub(super) struct Work<'a, T> {
    pub(super) call: &'a ScanCall<'a, T>,
    pub(super) out: CudaViewMut<'a, T>,
    /// Device memory of the workspace for intermediate items between launches.
    pub(super) scratch: CudaViewMut<'a, T>,
}

kernel_params! {
    /// The parameters of the kernels `scan_look_back` and `scan_look_ahead`. `inclusive` is 0 or 1.
    pub(super) struct LookBack<'a, T: Item> {
        items: In<T>,
        input: Input<'static>,
        out: InOut<T>,
        inclusive: u32,
        workspace: InOut<u64>,
    }
}
