//! The launches of `hillis-steele`, `blelloch` and `blelloch-compact`: one thread per item or tree node, and one launch
//! per distance.

use super::{BLOCK_THREADS, call::Work, workspace::leaves};
use crate::{
    Result,
    arguments::Input,
    cuda::{In, InOut, Kernel, Launch, Module, Source, kernel_params},
    monoid::Item,
};

kernel_params! {
    /// The parameters of the kernel `scan_lay_out`, which copies the items, shifted by `shift` places, and fills up to
    /// `padded` places with the identity.
    struct LayOut<'a, T: Item> {
        items: In<T>,
        input: Input<'static>,
        to: InOut<T>,
        shift: u32,
        padded: u64,
    }

    /// The parameters of the kernel `scan_hillis_steele`.
    struct Step<'a, T: Item> {
        from: In<T>,
        input: Input<'static>,
        to: InOut<T>,
        distance: u64,
    }

    /// The parameters of the kernels `scan_blelloch_up`, `scan_blelloch_down`, `scan_blelloch_compact_up` and
    /// `scan_blelloch_compact_down`. `stride` is the number of leaves below a child of this level's nodes.
    struct Tree<'a, T: Item> {
        tree: InOut<T>,
        leaves: u64,
        stride: u64,
    }

    /// The parameters of the kernel `scan_blelloch_out`. `inclusive` is 0 or 1.
    struct Out<'a, T: Item> {
        items: In<T>,
        tree: In<T>,
        input: Input<'static>,
        out: InOut<T>,
        inclusive: u32,
    }
}

/// Returns a launch with one thread per item, in blocks of [`BLOCK_THREADS`] threads.
fn covering(items: usize) -> Launch {
    Launch::blocks(items.div_ceil(BLOCK_THREADS as usize) as u32, BLOCK_THREADS)
}

/// The kernels of `hillis-steele`. Each step reads one half of the scratch memory and writes the other; the last step
/// writes the output.
#[derive(Debug)]
pub(super) struct HillisSteele<T: Item> {
    lay_out: Kernel<LayOut<'static, T>>,
    step: Kernel<Step<'static, T>>,
}

impl<T: Item> HillisSteele<T> {
    pub(super) fn declare(source: Source) -> Source {
        source
            .kernel::<LayOut<'static, T>>("scan_lay_out")
            .kernel::<Step<'static, T>>("scan_hillis_steele")
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
        let args = LayOut {
            items: call.items.slice(..),
            input: call.item_count.input(),
            to: first,
            shift,
            padded: 0,
        };
        self.lay_out.launch(call.stream, launch, args)?;
        while let Some(distance) = distances.next() {
            let target = if distances.peek().is_none() {
                out.slice_mut(..)
            } else {
                to.slice_mut(..)
            };
            let args = Step {
                from: from.as_view(),
                input: call.item_count.input(),
                to: target,
                distance: distance as u64,
            };
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
    lay_out: Kernel<LayOut<'static, T>>,
    up: Kernel<Tree<'static, T>>,
    down: Kernel<Tree<'static, T>>,
    out: Kernel<Out<'static, T>>,
    /// Whether each launch has one thread per tree node of its level (`blelloch-compact`) instead of one per leaf
    /// (`blelloch`).
    compact: bool,
}

impl<T: Item> Blelloch<T> {
    pub(super) fn declare(source: Source) -> Source {
        source
            .kernel::<Tree<'static, T>>("scan_blelloch_up")
            .kernel::<Tree<'static, T>>("scan_blelloch_down")
            .kernel::<Tree<'static, T>>("scan_blelloch_compact_up")
            .kernel::<Tree<'static, T>>("scan_blelloch_compact_down")
            .kernel::<Out<'static, T>>("scan_blelloch_out")
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
        let args = LayOut {
            items: call.items.slice(..),
            input: call.item_count.input(),
            to: scratch.slice_mut(..),
            shift: 0,
            padded: leaves as u64,
        };
        self.lay_out.launch(call.stream, covering(leaves), args)?;

        let strides = || (0..leaves.trailing_zeros()).map(|level| 1_usize << level);
        let mut sweep = |kernel: &Kernel<Tree<'static, T>>, stride: usize| {
            let threads = if self.compact {
                leaves / (2 * stride)
            } else {
                leaves
            };
            let args = Tree {
                tree: scratch.slice_mut(..),
                leaves: leaves as u64,
                stride: stride as u64,
            };
            kernel.launch(call.stream, covering(threads), args)
        };
        strides().try_for_each(|stride| sweep(&self.up, stride))?;
        strides()
            .rev()
            .try_for_each(|stride| sweep(&self.down, stride))?;

        let args = Out {
            items: call.items.slice(..),
            tree: scratch.as_view(),
            input: call.item_count.input(),
            out: out.slice_mut(..),
            inclusive: call.inclusive.into(),
        };
        self.out
            .launch(call.stream, covering(call.item_count.capacity), args)
    }
}
