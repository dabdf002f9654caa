//! The launches of `hillis-steele`, `blelloch` and `blelloch-compact`: one thread per item or tree node, and one launch
//! per distance.

use cudarc::driver::CudaView;

use super::{BLOCK_THREADS, passes::Work, workspace::leaves};
use crate::{
    Result,
    arguments::Input,
    cuda::{In, InOut, Kernel, Launch, Module, Source},
    monoid::Item,
};

/// The parameters of the kernel `scan_lay_out`: `(items, input, to, shift, padded)`. It copies the items, shifted by
/// `shift` places, and fills up to `padded` places with the identity.
type LayOut<T> = (In<T>, Input<'static>, InOut<T>, u32, u64);
/// The parameters of the kernel `scan_hillis_steele`: `(from, input, to, distance)`.
type Step<T> = (In<T>, Input<'static>, InOut<T>, u64);
/// The parameters of the kernels `scan_blelloch_up`, `scan_blelloch_down`, `scan_blelloch_compact_up` and
/// `scan_blelloch_compact_down`: `(tree, leaves, stride)`. `stride` is the number of leaves below a child of this
/// level's nodes.
type Tree<T> = (InOut<T>, u64, u64);
/// The parameters of the kernel `scan_blelloch_out`: `(items, tree, input, out, inclusive)`. `inclusive` is 0 or
/// 1.
type Out<T> = (In<T>, In<T>, Input<'static>, InOut<T>, u32);

/// Returns a launch with one thread per item, in blocks of [`BLOCK_THREADS`] threads.
fn covering(items: usize) -> Launch {
    Launch::blocks(items.div_ceil(BLOCK_THREADS as usize) as u32, BLOCK_THREADS)
}

/// The kernels of `hillis-steele`. Each step reads one half of the scratch memory and writes the other; the last step
/// writes the output.
#[derive(Debug)]
pub(super) struct HillisSteele<T: Item> {
    lay_out: Kernel<LayOut<T>>,
    step: Kernel<Step<T>>,
}

impl<T: Item> HillisSteele<T> {
    pub(super) fn declare(source: Source) -> Source {
        source
            .kernel::<LayOut<T>>("scan_lay_out")
            .kernel::<Step<T>>("scan_hillis_steele")
    }

    pub(super) fn new(module: &Module) -> Result<Self> {
        Ok(Self {
            lay_out: module.kernel("scan_lay_out")?,
            step: module.kernel("scan_hillis_steele")?,
        })
    }

    pub(super) fn launch(&self, work: &mut Work<'_, T>) -> Result<()> {
        let Work { call, out, scratch } = work;
        let launch = covering(call.item_count.capacity);
        let (mut from, mut rest) = scratch.split_at_mut(call.item_count.capacity);
        let mut to = rest.slice_mut(..call.item_count.capacity);
        let distances = (0..usize::BITS).map(|step| 1 << step);
        let mut distances = distances
            .take_while(|&distance: &usize| distance < call.item_count.capacity)
            .peekable();

        let first = if distances.peek().is_none() {
            out.slice_mut(..)
        } else {
            from.slice_mut(..)
        };
        // An exclusive scan is the inclusive scan of the items shifted by one place.
        let shift = u32::from(!call.inclusive);
        let items = call.items.slice(..);
        let args = (items, call.item_count.input(), first, shift, 0);
        self.lay_out.launch(call.stream, launch, args)?;
        while let Some(distance) = distances.next() {
            let target = if distances.peek().is_none() {
                out.slice_mut(..)
            } else {
                to.slice_mut(..)
            };
            let input = call.item_count.input();
            let args = (from.as_view(), input, target, distance as u64);
            self.step.launch(call.stream, launch, args)?;
            std::mem::swap(&mut from, &mut to);
        }
        Ok(())
    }
}

/// The kernels of `blelloch` and `blelloch-compact`: an upsweep from the leaves to the root of a tree in one buffer,
/// then a downsweep.
#[derive(Debug)]
pub(super) struct Blelloch<T: Item> {
    lay_out: Kernel<LayOut<T>>,
    up: Kernel<Tree<T>>,
    down: Kernel<Tree<T>>,
    out: Kernel<Out<T>>,
    /// Whether each launch has one thread per tree node of its level (`blelloch-compact`) instead of one per leaf
    /// (`blelloch`).
    compact: bool,
}

impl<T: Item> Blelloch<T> {
    pub(super) fn declare(source: Source) -> Source {
        source
            .kernel::<Tree<T>>("scan_blelloch_up")
            .kernel::<Tree<T>>("scan_blelloch_down")
            .kernel::<Tree<T>>("scan_blelloch_compact_up")
            .kernel::<Tree<T>>("scan_blelloch_compact_down")
            .kernel::<Out<T>>("scan_blelloch_out")
    }

    pub(super) fn new(module: &Module) -> Result<Self> {
        Self::with(module, ["scan_blelloch_up", "scan_blelloch_down"], false)
    }

    pub(super) fn compact(module: &Module) -> Result<Self> {
        let sweeps = ["scan_blelloch_compact_up", "scan_blelloch_compact_down"];
        Self::with(module, sweeps, true)
    }

    fn with(module: &Module, [up, down]: [&'static str; 2], compact: bool) -> Result<Self> {
        Ok(Self {
            lay_out: module.kernel("scan_lay_out")?,
            up: module.kernel(up)?,
            down: module.kernel(down)?,
            out: module.kernel("scan_blelloch_out")?,
            compact,
        })
    }

    pub(super) fn launch(&self, work: &mut Work<'_, T>) -> Result<()> {
        let Work { call, out, scratch } = work;
        let leaves = leaves(call.item_count.capacity);
        let (items, input) = (call.items.slice(..), call.item_count.input());
        let args = (items, input, scratch.slice_mut(..), 0, leaves as u64);
        self.lay_out.launch(call.stream, covering(leaves), args)?;

        let strides = || (0..leaves.trailing_zeros()).map(|level| 1_usize << level);
        let mut sweep = |kernel: &Kernel<Tree<T>>, stride: usize| {
            let threads = if self.compact {
                leaves / (2 * stride)
            } else {
                leaves
            };
            let args = (scratch.slice_mut(..), leaves as u64, stride as u64);
            kernel.launch(call.stream, covering(threads), args)
        };
        strides().try_for_each(|stride| sweep(&self.up, stride))?;
        strides()
            .rev()
            .try_for_each(|stride| sweep(&self.down, stride))?;

        let input = call.item_count.input();
        let (items, tree): (CudaView<'_, T>, _) = (call.items.slice(..), scratch.as_view());
        let inclusive = u32::from(call.inclusive);
        let args = (items, tree, input, out.slice_mut(..), inclusive);
        self.out
            .launch(call.stream, covering(call.item_count.capacity), args)
    }
}
