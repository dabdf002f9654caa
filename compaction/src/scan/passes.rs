//! The kernels and launches of each scan strategy.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaViewMut};

use super::{
    BLOCK_THREADS, LEVEL_ROWS, Operator, Strategy,
    call::{LookBack, ScanCall, Work},
    item_passes::{Blelloch, HillisSteele},
    kernel_source::of_items,
    level_passes::Levels,
    look_ahead::LookAhead,
    look_back_blocks, look_back_tile_items,
};
use crate::{
    CountWord, Result,
    arguments::Input,
    cuda::{Buffer, Compiler, InOut, Kernel, Launch, Source, kernel_params},
    monoid::Item,
};

kernel_params! {
    /// The parameters of the kernel `scan_check_count`, which records a device count that is too large.
    struct CheckCount<'a> {
        input: Input<'static>,
        workspace: InOut<u64>,
    }
}

/// Returns the kernel file with all strategies, for items of type `T` combined by `operator` and counted by `W`.
pub(super) fn source<T: Item, W: CountWord>(operator: Operator) -> Source {
    let text = include_str!("../../kernels/scan.cu");
    let source = of_items::<T, W>(Source::new("compaction/kernels/scan.cu", text), operator)
        .constant("LEVEL_ROWS", LEVEL_ROWS)
        .constant("LOOK_BACK_BLOCKS", look_back_blocks::<T>());
    declare::<T>(source)
}

/// Declares the kernels of all strategies in the source of `scan.cu`.
fn declare<T: Item>(source: Source) -> Source {
    let source = source
        .kernel::<LookBack<'static, T>>("scan_look_back")
        .kernel::<CheckCount<'static>>("scan_check_count");
    let source = Levels::<T>::declare(source);
    let source = HillisSteele::<T>::declare(source);
    Blelloch::<T>::declare(source)
}

/// The loaded kernels of one scan strategy.
#[derive(Debug)]
pub(super) struct Passes<T: Item> {
    pub(super) method: ScanMethod<T>,
    check_count: Kernel<CheckCount<'static>>,
}

/// The kernels of a strategy, with those of `look-back` for short and, if supported, for long inputs.
#[derive(Debug)]
pub(super) enum ScanMethod<T: Item> {
    HillisSteele(HillisSteele<T>),
    Blelloch(Blelloch<T>),
    Levels(Levels<T>),
    LookBack(Kernel<LookBack<'static, T>>, Option<LookAhead<T>>),
}

impl<T: Item> Passes<T> {
    pub(super) fn new<W: CountWord>(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        operator: Operator,
        strategy: Strategy,
    ) -> Result<Self> {
        let module = &compiler.load(context, &source::<T, W>(operator))?;
        let method = match strategy {
            Strategy::HillisSteele => ScanMethod::HillisSteele(HillisSteele::new(module)?),
            Strategy::Blelloch => ScanMethod::Blelloch(Blelloch::new(module)?),
            Strategy::BlellochCompact => ScanMethod::Blelloch(Blelloch::compact(module)?),
            Strategy::BlockSums => ScanMethod::Levels(Levels::block_sums(module)?),
            Strategy::Raking => ScanMethod::Levels(Levels::raking(module)?),
            Strategy::LookBack => ScanMethod::LookBack(
                module.kernel("scan_look_back")?,
                LookAhead::new::<W>(compiler, context, operator)?,
            ),
        };
        Ok(Self {
            method,
            check_count: module.kernel("scan_check_count")?,
        })
    }

    /// Returns the context that the kernels were loaded in.
    pub(super) fn context(&self) -> &Arc<CudaContext> {
        self.check_count.context()
    }

    /// Enqueues all launches of a call on its stream.
    pub(super) fn launch(
        &self,
        call: &ScanCall<'_, T>,
        out: &mut CudaViewMut<'_, T>,
        scratch: &mut Buffer<T>,
        states: &mut Buffer<u64>,
    ) -> Result<()> {
        let is_empty = call.item_count.capacity == 0;
        let checks_itself = matches!(self.method, ScanMethod::LookBack(..)) && !is_empty;
        if !call.item_count.is_given() && !checks_itself {
            let args = CheckCount {
                input: call.item_count.input(),
                workspace: states.as_view_mut(),
            };
            self.check_count
                .launch(call.stream, Launch::blocks(1, 1), args)?;
        }
        if is_empty {
            return Ok(());
        }
        let mut work = Work {
            call,
            out: out.slice_mut(..),
            scratch: scratch.as_view_mut(),
        };
        match &self.method {
            ScanMethod::HillisSteele(passes) => passes.launch(&mut work),
            ScanMethod::Blelloch(passes) => passes.launch(&mut work),
            ScanMethod::Levels(passes) => passes.launch(&mut work),
            ScanMethod::LookBack(kernel, look_ahead) => {
                let tiles = call
                    .item_count
                    .capacity
                    .div_ceil(look_back_tile_items::<T>() as usize);
                let args = LookBack {
                    items: call.items.slice(..),
                    input: call.item_count.input(),
                    out: work.out.slice_mut(..),
                    inclusive: call.inclusive.into(),
                    workspace: states.as_view_mut(),
                };
                match look_ahead {
                    Some(look_ahead) if look_ahead.suits(&call.items, tiles) => {
                        look_ahead.launch(call.stream, args)
                    }
                    _ => {
                        let launch = Launch::blocks(tiles as u32, BLOCK_THREADS);
                        kernel.launch(call.stream, launch, args)
                    }
                }
            }
        }
    }
}
