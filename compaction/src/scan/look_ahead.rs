//! The kernel `scan_look_ahead`, with which `look-back` scans long inputs in persistent blocks.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, sys::CUdevice_attribute};

use super::{
    LANE_BYTES, LOOK_AHEAD_MIN_TILES, LOOK_AHEAD_THREADS, Operator, RING_BYTES, RING_TILES,
    call::LookBack, kernel_source::of_items,
};
use crate::{
    CountWord, Error, Result,
    cuda::{Compiler, Kernel, Launch, Source, is_aligned},
    monoid::Item,
};

/// The lowest major compute capability that supports the bulk copies of `scan_look_ahead`.
const OLDEST_MAJOR: i32 = 9;

/// Returns the kernel file of `scan_look_ahead`, with which [`Strategy::LookBack`] scans long inputs. The file compiles
/// only for compute capability 9.0 or later.
pub(super) fn source<T: Item, W: CountWord>(operator: Operator) -> Source {
    let path = "compaction/kernels/scan_look_ahead.cu";
    let text = include_str!("../../kernels/scan_look_ahead.cu");
    let source = of_items::<T, W>(Source::new(path, text), operator)
        .constant("RING_TILES", RING_TILES)
        .constant("RING_BYTES", RING_BYTES);
    source.kernel::<LookBack<'static, T>>("scan_look_ahead")
}

/// The loaded kernel `scan_look_ahead` for long inputs aligned to 16 bytes, launched with one persistent block per
/// multiprocessor.
#[derive(Debug)]
pub(super) struct LookAhead<T: Item> {
    kernel: Kernel<LookBack<'static, T>>,
    blocks: u32,
    /// Number of tiles from which an input aligned to 16 bytes uses this kernel instead of `scan_look_back`.
    pub(super) from_tiles: usize,
}

impl<T: Item> LookAhead<T> {
    /// Loads the kernel. Returns `None` if the GPU does not support it, or if neither compiled code nor NVRTC is
    /// available.
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
        let module = match compiler.load(context, &source::<T, W>(operator)) {
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
            from_tiles: LOOK_AHEAD_MIN_TILES,
        }))
    }

    /// Returns whether to use this kernel for `items`, which fill `tiles` tiles: the input is long and aligned to 16
    /// bytes.
    pub(super) fn suits(&self, items: &CudaView<'_, T>, tiles: usize) -> bool {
        tiles >= self.from_tiles && is_aligned(items, LANE_BYTES)
    }

    pub(super) fn launch(&self, stream: &Arc<CudaStream>, args: LookBack<'_, T>) -> Result<()> {
        let launch = Launch::blocks(self.blocks, LOOK_AHEAD_THREADS).shared_bytes(RING_BYTES);
        self.kernel.launch(stream, launch, args)
    }
}
