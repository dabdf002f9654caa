//! Selection in place on a GPU.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    BLOCK_THREADS, Count, Select, TILE_ITEMS, capacity, check_lengths,
    method::{self, Call, FillHolesInPlace, FindHoles},
    workspace::Workspace,
};
use crate::{
    Error, Result, Strategy,
    cuda::{self, Compiler, In, InOut, Kernel, Source},
    layout::Shared,
};

/// `(items, flags, count, capacity, is_given, selected, workspace)`, items in bytes
type InPlace = (InOut<u8>, In<u8>, In<u32>, u32, u32, InOut<u32>, InOut<u64>);

/// Items of a thread, so that a tile's survivors fit into 32 KiB of shared memory.
fn stripes<T>() -> u32 {
    (64 / size_of::<T>() as u32).clamp(1, 16)
}

/// The kernel file of the strategies in place that have one of their own, for items of `T`'s size and alignment.
pub(super) fn source<T: Shared>() -> Source {
    method::with_constants::<T>(Source::new(
        "compaction/kernels/select_in_place.cu",
        include_str!("../../kernels/select_in_place.cu"),
    ))
    .constant("IN_PLACE_STRIPES", stripes::<T>())
    .kernel::<InPlace>("select_in_place")
    .kernel::<InPlace>("select_blank_in_place")
}

/// The loaded kernels of a strategy in place.
#[derive(Debug)]
pub(super) enum Method {
    LookBack {
        kernel: Kernel<InPlace>,
        tile_items: u32,
    },
    HoleFilling {
        find: Kernel<FindHoles>,
        fill: Kernel<FillHolesInPlace>,
    },
    Off(Kernel<InPlace>),
}

impl Method {
    pub(super) fn load<T: Shared>(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        strategy: Strategy,
    ) -> Result<Self> {
        Ok(match strategy {
            Strategy::LookBack => Self::LookBack {
                kernel: compiler
                    .load(context, &source::<T>())?
                    .kernel("select_in_place")?,
                tile_items: BLOCK_THREADS * stripes::<T>(),
            },
            Strategy::Off => Self::Off(
                compiler
                    .load(context, &source::<T>())?
                    .kernel("select_blank_in_place")?,
            ),
            Strategy::HoleFilling => {
                let module = compiler.load(context, &method::source::<T>(strategy))?;
                Self::HoleFilling {
                    find: module.kernel("select_find_holes")?,
                    fill: module.kernel("select_fill_holes_in_place")?,
                }
            }
            Strategy::Atomic
            | Strategy::CountScanScatter
            | Strategy::Sequences
            | Strategy::ScanScatter => return Err(Error::NotInPlace { strategy }),
        })
    }

    fn launch(&self, mut call: Call<'_>, items: &mut CudaViewMut<'_, u8>) -> Result<()> {
        let (kernel, tile_items) = match self {
            Self::LookBack { kernel, tile_items } => (kernel, *tile_items),
            Self::Off(kernel) => (kernel, BLOCK_THREADS),
            Self::HoleFilling { find, fill } => {
                call.find_holes(find)?;
                let holes = call.holes();
                let args = (
                    items.slice_mut(..),
                    call.flags.slice(..),
                    call.count.slice(..),
                    call.capacity,
                    call.is_given,
                    call.scratch.slice(..holes),
                    call.scratch.slice(holes..),
                    call.selected.slice(..),
                );
                return fill.launch(call.stream, call.blocks(TILE_ITEMS), args);
            }
        };
        let launch = call.blocks(tile_items);
        let args = (
            items.slice_mut(..),
            call.flags.slice(..),
            call.count.slice(..),
            call.capacity,
            call.is_given,
            call.selected.slice_mut(..),
            call.words.slice_mut(..),
        );
        kernel.launch(call.stream, launch, args)
    }
}

impl Select {
    /// Moves the items whose flag is not zero to the front of `items`, and writes how many there are to `selected[0]`.
    /// What lies behind them then is any of the items.
    ///
    /// [`Strategy::LookBack`] keeps the order and writes every survivor; [`Strategy::HoleFilling`] moves no more items
    /// than go, and reads the flags; [`Strategy::Off`] overwrites what goes by all-one bits. The kernel is compiled when
    /// it is first needed: [`prepare_in_place`](Self::prepare_in_place) does it ahead.
    ///
    /// # Errors
    ///
    /// Those of [`items`](Self::items); [`Error::NotInPlace`] for the other strategies; [`Error::WorkspaceTooSmall`] as
    /// well for a workspace not made by [`Workspace::with_capacity`].
    pub fn in_place<T: Shared>(
        &self,
        stream: &Arc<CudaStream>,
        items: &mut CudaViewMut<'_, T>,
        flags: &CudaView<'_, u8>,
        count: Count<'_>,
        selected: &mut CudaViewMut<'_, u32>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let method = self.in_place_method::<T>()?;
        let capacity = capacity(flags.len(), &count)?;
        check_lengths(flags.len(), items.len(), items.len(), capacity as usize)?;
        if let Method::LookBack { tile_items, .. } = &*method
            && workspace.states() < capacity.div_ceil(*tile_items) as usize
        {
            return Err(Error::WorkspaceTooSmall {
                what: "select in place",
                needed: capacity as usize,
                got: workspace.states() * *tile_items as usize,
            });
        }
        let (call, _) = self.call(stream, flags, capacity, count, selected, workspace)?;
        method.launch(call, &mut cuda::reinterpret_mut(items)?)
    }

    /// Compiles, or finds compiled, what [`in_place`](Self::in_place) needs for items of `T`'s size and alignment.
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says, and [`Error::NotInPlace`].
    pub fn prepare_in_place<T: Shared>(&self) -> Result<()> {
        self.in_place_method::<T>().map(drop)
    }

    fn in_place_method<T: Shared>(&self) -> Result<Arc<Method>> {
        self.in_place
            .get::<T>(|| Method::load::<T>(&self.compiler, &self.context, self.strategy))
    }
}
