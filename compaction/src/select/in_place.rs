//! Selection in place on a GPU.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    BLOCK_THREADS, Count, Select, TILE_ITEMS, check_lengths,
    method::{self, Call, Extent, FillHolesInPlace, FindHoles},
    workspace::Workspace,
};
use crate::{
    Error, Result, Strategy,
    counting::CountWord,
    cuda::{self, Compiler, In, InOut, Kernel, Source},
    layout::Shared,
    look_back::CONTROL_WORDS,
};

/// `(items, flags, count, extent, selected, workspace)`, items in bytes
type InPlace<W> = (InOut<u8>, In<u8>, In<W>, Extent, InOut<W>, InOut<u64>);

/// Items of a thread, so that a tile's survivors fit into 32 KiB of shared memory.
fn stripes<T>() -> u32 {
    (64 / size_of::<T>() as u32).clamp(1, 16)
}

/// The kernel file of the strategies in place that have one of their own, for items of `T`'s size and alignment.
pub(super) fn source<T: Shared, W: CountWord>() -> Source {
    method::with_constants::<T, W>(Source::new(
        "compaction/kernels/select_in_place.cu",
        include_str!("../../kernels/select_in_place.cu"),
    ))
    .constant("IN_PLACE_STRIPES", stripes::<T>())
    .kernel::<InPlace<W>>("select_in_place")
    .kernel::<InPlace<W>>("select_blank_in_place")
}

/// The loaded kernels of a strategy in place.
#[derive(Debug)]
pub(super) enum Method<W: CountWord> {
    LookBack {
        kernel: Kernel<InPlace<W>>,
        tile_items: u32,
    },
    HoleFilling {
        find: Kernel<FindHoles<W>>,
        fill: Kernel<FillHolesInPlace<W>>,
    },
    Off(Kernel<InPlace<W>>),
}

impl<W: CountWord> Method<W> {
    pub(super) fn load<T: Shared>(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        strategy: Strategy,
    ) -> Result<Self> {
        Ok(match strategy {
            Strategy::LookBack => Self::LookBack {
                kernel: compiler
                    .load(context, &source::<T, W>())?
                    .kernel("select_in_place")?,
                tile_items: BLOCK_THREADS * stripes::<T>(),
            },
            Strategy::Off => Self::Off(
                compiler
                    .load(context, &source::<T, W>())?
                    .kernel("select_blank_in_place")?,
            ),
            Strategy::HoleFilling => {
                let module = compiler.load(context, &method::source::<T, W>(strategy))?;
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

    fn launch(&self, mut call: Call<'_, W>, items: &mut CudaViewMut<'_, u8>) -> Result<()> {
        if let Self::HoleFilling { find, .. } = self {
            call.find_holes(find)?;
        }
        for extent in call.extents() {
            self.launch_portion(&mut call, extent, items)?;
        }
        Ok(())
    }

    fn launch_portion(
        &self,
        call: &mut Call<'_, W>,
        extent: Extent,
        items: &mut CudaViewMut<'_, u8>,
    ) -> Result<()> {
        let (kernel, tile_items) = match self {
            Self::LookBack { kernel, tile_items } => (kernel, *tile_items),
            Self::Off(kernel) => (kernel, BLOCK_THREADS),
            Self::HoleFilling { fill, .. } => {
                let (tiles, scratch) = (call.tiles(), cuda::reinterpret(call.scratch.as_view())?);
                let args = (
                    items.slice_mut(..),
                    call.flags.slice(..),
                    call.count.slice(..),
                    extent,
                    scratch.slice(..tiles),
                    scratch.slice(tiles..),
                    call.selected.as_view(),
                );
                return fill.launch(call.stream, extent.blocks(TILE_ITEMS), args);
            }
        };
        let args = (
            items.slice_mut(..),
            call.flags.slice(..),
            call.count.slice(..),
            extent,
            call.selected.slice_mut(..),
            call.words.slice_mut(..),
        );
        kernel.launch(call.stream, extent.blocks(tile_items), args)
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
    /// ```no_run
    /// # use compaction::{Strategy, cuda, select::{Count, Select, Workspace}};
    /// # let (context, compiler) = (cuda::open(0)?, cuda::Compiler::new());
    /// # let stream = context.default_stream();
    /// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
    /// let select = Select::new(&compiler, &context, Strategy::HoleFilling)?;
    /// let mut items = cuda::upload(&stream, &[10_u32, 11, 12, 13, 14])?;
    /// let flags = cuda::upload(&stream, &[1_u8, 0, 1, 0, 1])?;
    /// let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
    /// select.in_place(
    ///     &stream,
    ///     &mut items.as_view_mut(),
    ///     &flags.as_view(),
    ///     Count::All,
    ///     &mut selected.as_view_mut(),
    ///     &mut workspace,
    /// )?;
    /// assert_eq!(cuda::download(&stream, &items)?[..3], [10, 14, 12]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`items`](Self::items); [`Error::NotInPlace`] for the other strategies; [`Error::WorkspaceTooSmall`] as
    /// well for a workspace not made by [`Workspace::with_capacity`].
    pub fn in_place<T: Shared, W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        items: &mut CudaViewMut<'_, T>,
        flags: &CudaView<'_, u8>,
        count: Count<'_, W>,
        selected: &mut CudaViewMut<'_, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let method = self.in_place_method::<T, W>()?;
        let capacity = count.capacity(flags.len())?;
        check_lengths(flags.len(), items.len(), items.len(), capacity)?;
        let call = self.call(stream, flags, capacity, count, selected, workspace)?;
        if let Method::LookBack { tile_items, .. } = &*method {
            let longest = capacity.min(call.portion as usize);
            let states = (call.words.len() - CONTROL_WORDS) * *tile_items as usize;
            if states < longest {
                return Err(Error::WorkspaceTooSmall {
                    what: "select in place",
                    needed: capacity,
                    got: states,
                });
            }
        }
        method.launch(call, &mut cuda::reinterpret_mut(items)?)
    }

    /// Compiles, or finds compiled, what [`in_place`](Self::in_place) needs for items of `T`'s size and alignment, counted
    /// by `W`.
    ///
    /// ```no_run
    /// # use compaction::{Strategy, cuda, select::Select};
    /// # let select = Select::new(&cuda::Compiler::new(), &cuda::open(0)?, Strategy::LookBack)?;
    /// select.prepare_in_place::<f64, u32>()?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says, and [`Error::NotInPlace`].
    pub fn prepare_in_place<T: Shared, W: CountWord>(&self) -> Result<()> {
        self.in_place_method::<T, W>().map(drop)
    }

    fn in_place_method<T: Shared, W: CountWord>(&self) -> Result<Arc<Method<W>>> {
        self.in_place
            .get::<T, _>(|| Method::load::<T>(&self.compiler, &self.context, self.strategy))
    }
}
