//! Stream compaction in place on a GPU.

use std::{alloc::Layout, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    BLOCK_THREADS, TILE_ITEMS, check_items,
    gpu::{Select, item_layout},
    method::{self, SelectCall},
    params::{Extent, FillHolesInPlace, FindHoles},
    strategy::Strategy,
    workspace::Workspace,
};
use crate::{
    Count, CountWord, Error, Movable, Result,
    arguments::Operands,
    cuda::{self, Compiler, In, InOut, IntoView, IntoViewMut, Kernel, Source, kernel_params},
};

kernel_params! {
    /// The parameters of the kernels `select_in_place` and `select_blank_in_place`, with items as bytes.
    ///
    /// The first one serves `look-back`, and the second one `off`, which overwrites rejected items with all-one bits.
    pub(super) struct InPlace<'a, W: CountWord> {
        items: InOut<u8>,
        flags: In<u8>,
        count: In<W>,
        extent: Extent,
        selected: InOut<W>,
        workspace: InOut<u64>,
    }
}

/// Returns the items per thread of the kernel `select_in_place`, 1 to 16, so that the survivors of a tile fit in 32 KiB
/// of shared memory.
fn stripes(layout: Layout) -> u32 {
    (64 / layout.size() as u32).clamp(1, 16)
}

/// Returns the kernel file with which a strategy works in place, for items of a size and alignment. Returns
/// [`Error::NotInPlace`] for other strategies.
fn source<W: CountWord>(strategy: Strategy, layout: Layout) -> Result<Source> {
    match strategy {
        Strategy::LookBack | Strategy::Off => {
            let text = include_str!("../../kernels/select_in_place.cu");
            let source = Source::new("compaction/kernels/select_in_place.cu", text);
            Ok(method::with_constants::<W>(source, layout)
                .constant("IN_PLACE_STRIPES", stripes(layout))
                .kernel::<InPlace<'static, W>>("select_in_place")
                .kernel::<InPlace<'static, W>>("select_blank_in_place"))
        }
        Strategy::HoleFilling => Ok(method::source::<W>(strategy, layout)),
        Strategy::Atomic
        | Strategy::CountScanScatter
        | Strategy::Sequences
        | Strategy::ScanScatter => Err(Error::NotInPlace { strategy }),
    }
}

/// The loaded kernels with which a strategy works in place.
#[derive(Debug)]
pub(super) enum InPlaceMethod<W: CountWord> {
    LookBack {
        kernel: Kernel<InPlace<'static, W>>,
        tile_items: u32,
    },
    HoleFilling {
        find: Kernel<FindHoles<'static, W>>,
        fill: Kernel<FillHolesInPlace<'static, W>>,
    },
    Off(Kernel<InPlace<'static, W>>),
}

impl<W: CountWord> InPlaceMethod<W> {
    pub(super) fn load(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        strategy: Strategy,
        layout: Layout,
    ) -> Result<Self> {
        let module = compiler.load(context, &source::<W>(strategy, layout)?)?;
        Ok(match strategy {
            Strategy::Off => Self::Off(module.kernel("select_blank_in_place")?),
            Strategy::HoleFilling => Self::HoleFilling {
                find: module.kernel("select_find_holes")?,
                fill: module.kernel("select_fill_holes_in_place")?,
            },
            _ => Self::LookBack {
                kernel: module.kernel("select_in_place")?,
                tile_items: BLOCK_THREADS * stripes(layout),
            },
        })
    }

    fn launch(&self, mut call: SelectCall<'_, W>, items: &mut CudaViewMut<'_, u8>) -> Result<()> {
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
        call: &mut SelectCall<'_, W>,
        extent: Extent,
        items: &mut CudaViewMut<'_, u8>,
    ) -> Result<()> {
        let (kernel, tile_items) = match self {
            Self::LookBack { kernel, tile_items } => (kernel, *tile_items),
            Self::Off(kernel) => (kernel, BLOCK_THREADS),
            Self::HoleFilling { fill, .. } => {
                let (tiles, scratch) = (call.tiles(), cuda::reinterpret(call.scratch.as_view())?);
                let args = FillHolesInPlace {
                    items: items.slice_mut(..),
                    flags: call.flags.slice(..),
                    count: call.item_count.words()?,
                    extent,
                    befores: scratch.slice(..tiles),
                    holes: scratch.slice(tiles..),
                    selected: call.selected.as_view(),
                };
                return fill.launch(call.stream, extent.blocks(TILE_ITEMS), args);
            }
        };
        let args = InPlace {
            items: items.slice_mut(..),
            flags: call.flags.slice(..),
            count: call.item_count.words()?,
            extent,
            selected: call.selected.slice_mut(..),
            workspace: call.words.slice_mut(..),
        };
        kernel.launch(call.stream, extent.blocks(tile_items), args)
    }
}

impl Select {
    /// Enqueues a selection that moves the items whose flag is nonzero to the front of `items`, and writes their number
    /// to `selected[0]`.
    ///
    /// The items behind them are unspecified items of the input.
    ///
    /// [`Strategy::LookBack`] keeps the order and writes every survivor. [`Strategy::HoleFilling`] moves at most as
    /// many items as are removed. [`Strategy::Off`] overwrites the rejected items with all-one bits. The kernel is
    /// compiled at the first call; [`prepare_in_place`](Self::prepare_in_place) does it in advance.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, select::{Select, Strategy, Workspace}};
    /// # let (context, compiler) = (cuda::open(0)?, cuda::Compiler::new());
    /// # let stream = context.default_stream();
    /// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
    /// let select = Select::new(&compiler, &context, Strategy::HoleFilling)?;
    /// let mut items = cuda::upload(&stream, &[10_u32, 11, 12, 13, 14])?;
    /// let flags = cuda::upload(&stream, &[1_u8, 0, 1, 0, 1])?;
    /// let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
    /// select.in_place(&stream, &mut items, &flags, Count::All, &mut selected, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &items)?[..3], [10, 14, 12]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`items`](Self::items), and [`Error::NotInPlace`] for strategies that do not work in
    /// place.
    pub fn in_place<'a, T: Movable, W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoViewMut<'a, T>,
        flags: impl IntoView<'a, u8>,
        count: Count<'a, W>,
        selected: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let flags = &flags.into_view();
        let (items, selected) = (&mut items.into_view_mut(), &mut selected.into_view_mut());
        self.check_dropped::<T>()?;
        let items = (cuda::item_bytes(items.slice_mut(..)), item_layout::<T>());
        self.bytes_in_place(stream, items, flags, count, selected, workspace)
    }

    /// Enqueues the selection of [`in_place`](Self::in_place), for items given as bytes and a layout.
    fn bytes_in_place<W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        (mut items, layout): (CudaViewMut<'_, u8>, Layout),
        flags: &CudaView<'_, u8>,
        count: Count<'_, W>,
        selected: &mut CudaViewMut<'_, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let method = self.in_place_method::<W>(layout)?;
        check_items(flags.len(), items.len() / layout.size())?;
        let buffers: &Operands<'_> = &[("items", &items), ("flags", &flags)];
        let call = self.call(stream, buffers, flags, count, selected, workspace)?;
        method.launch(call, &mut items)
    }

    /// Compiles the kernels of [`in_place`](Self::in_place) for items with the size and alignment of `T` and counts of
    /// type `W`.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::{Select, Strategy}};
    /// # let select = Select::new(&cuda::Compiler::new(), &cuda::open(0)?, Strategy::LookBack)?;
    /// select.prepare_in_place::<f64, u32>()?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`], and [`Error::NotInPlace`] for strategies that do not work in place.
    pub fn prepare_in_place<T: Movable, W: CountWord>(&self) -> Result<()> {
        self.in_place_method::<W>(item_layout::<T>()).map(drop)
    }

    /// Returns the kernel files of [`in_place`](Self::in_place) for items with the size and alignment of `T` and counts
    /// of type `W`, for an [`Archive`](cuda::Archive).
    ///
    /// ```
    /// use compaction::select::{Select, Strategy};
    ///
    /// let sources = Select::sources_in_place::<f64, u32>(Strategy::LookBack)?;
    /// assert_eq!(sources[0].path(), "compaction/kernels/select_in_place.cu");
    /// assert!(Select::sources_in_place::<f64, u32>(Strategy::Sequences).is_err());
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotInPlace`] for strategies that do not work in place.
    pub fn sources_in_place<T: Movable, W: CountWord>(strategy: Strategy) -> Result<Vec<Source>> {
        Ok(vec![source::<W>(strategy, item_layout::<T>())?])
    }

    fn in_place_method<W: CountWord>(&self, layout: Layout) -> Result<Arc<InPlaceMethod<W>>> {
        self.in_place.get(layout, || {
            InPlaceMethod::load(&self.compiler, &self.context, self.strategy, layout)
        })
    }
}
