//! Look-back's kernel for long inputs.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, sys::CUdevice_attribute};

use super::{AHEAD_FROM_TILES, AHEAD_THREADS, LANE_BYTES, Operator, RING_BYTES, passes::LookBack};
use crate::{
    CountWord, Error, Result,
    cuda::{Compiler, Kernel, Launch, Params, Source, is_on},
    monoid::Item,
};

/// The oldest compute capability that has what it needs.
const OLDEST_MAJOR: i32 = 9;

pub(super) fn declare<T: Item>(source: Source) -> Source {
    source.kernel::<LookBack<T>>("scan_look_ahead")
}

/// As many blocks as the GPU has multiprocessors, which stay.
#[derive(Debug)]
pub(super) struct LookAhead<T: Item> {
    kernel: Kernel<LookBack<T>>,
    blocks: u32,
    /// How many tiles make it the faster kernel.
    pub(super) from_tiles: usize,
}

impl<T: Item> LookAhead<T> {
    /// `None` where the GPU lacks what the kernel needs, or where nothing can compile it.
    pub(super) fn new<W: CountWord>(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        operator: Operator,
    ) -> Result<Option<Self>> {
        let attribute = |which| {
            let doing = "ask a GPU what it is";
            context.attribute(which).map_err(Error::driver(doing))
        };
        let major = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        if major < OLDEST_MAJOR {
            return Ok(None);
        }
        let module = match compiler.load(context, &super::look_ahead_source::<T, W>(operator)) {
            Err(Error::NoCompiler { .. }) => return Ok(None),
            module => module?,
        };
        let kernel = module.kernel("scan_look_ahead")?;
        match kernel.allow_shared_bytes(RING_BYTES) {
            Err(Error::SharedMemory { .. }) => return Ok(None),
            allowed => allowed?,
        }
        let blocks = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        Ok(Some(Self {
            kernel,
            blocks: blocks.max(1) as u32,
            from_tiles: AHEAD_FROM_TILES,
        }))
    }

    /// Whether it is the faster one for items in so many tiles.
    pub(super) fn suits(&self, items: &CudaView<'_, T>, tiles: usize) -> bool {
        tiles >= self.from_tiles && is_on(items, LANE_BYTES)
    }

    pub(super) fn launch(
        &self,
        stream: &Arc<CudaStream>,
        args: <LookBack<T> as Params>::Args<'_>,
    ) -> Result<()> {
        let launch = Launch::blocks(self.blocks, AHEAD_THREADS).shared_bytes(RING_BYTES);
        self.kernel.launch(stream, launch, args)
    }
}
