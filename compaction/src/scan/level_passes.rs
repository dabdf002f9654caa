//! The launches of `block-sums` and `raking`, level by level: each level's tile totals are the items of the next level.

use cudarc::driver::{CudaView, CudaViewMut};

use super::{
    BLOCK_THREADS,
    call::{ScanCall, Work},
    workspace::levels,
};
use crate::{
    Result,
    arguments::Input,
    cuda::{In, InOut, Kernel, Launch, Module, Source, kernel_params},
    monoid::Item,
};

kernel_params! {
    /// The parameters of the kernel `scan_tiles`, which derives the number of items of level `level` from that of the
    /// input.
    struct Tiles<'a, T: Item> {
        items: In<T>,
        input: Input<'static>,
        level: u32,
        out: InOut<T>,
        inclusive: u32,
        totals: InOut<T>,
    }

    /// The parameters of the kernel `scan_add_before`. `before[i]` is the prefix of tile i.
    struct AddBefore<'a, T: Item> {
        before: In<T>,
        input: Input<'static>,
        level: u32,
        out: InOut<T>,
    }

    /// The parameters of the kernel `scan_raking_up`.
    struct Up<'a, T: Item> {
        items: In<T>,
        input: Input<'static>,
        level: u32,
        totals: InOut<T>,
    }

    /// The parameters of the kernel `scan_raking_down`. `before[i]` is the prefix of tile i.
    struct Down<'a, T: Item> {
        items: In<T>,
        before: In<T>,
        input: Input<'static>,
        level: u32,
        out: InOut<T>,
        inclusive: u32,
    }
}

/// The kernels of `block-sums` or `raking`, which process tiles independently and then, recursively, the totals of the
/// tiles.
#[derive(Debug)]
pub(super) struct Levels<T: Item> {
    /// Scans each tile independently and writes its total.
    tiles: Kernel<Tiles<'static, T>>,
    sweeps: Sweeps<T>,
}

/// The kernels that `block-sums` or `raking` run on a level, before and after the level above it.
#[derive(Debug)]
enum Sweeps<T: Item> {
    /// Before: `scan_tiles` scans each tile. After: `add_before` adds to each tile the total of the tiles before it.
    BlockSums {
        add_before: Kernel<AddBefore<'static, T>>,
    },
    /// Before: `up` sums each tile. After: `down` scans each tile, starting from the total of the tiles before it.
    Raking {
        up: Kernel<Up<'static, T>>,
        down: Kernel<Down<'static, T>>,
    },
}

/// The input and output of one level of a scan by `block-sums` or `raking`.
struct Level<'a, T> {
    call: &'a ScanCall<'a, T>,
    /// Number of the level. Level 0 scans the input items, and each further level the tile totals of the level before
    /// it.
    number: u32,
    /// The number of tiles of this level, followed by the number of tiles of each level above it. The last number is 1.
    tiles: &'a [usize],
    items: CudaView<'a, T>,
    out: CudaViewMut<'a, T>,
    inclusive: bool,
}

impl<T: Item> Levels<T> {
    pub(super) fn declare(source: Source) -> Source {
        source
            .kernel::<Tiles<'static, T>>("scan_tiles")
            .kernel::<AddBefore<'static, T>>("scan_add_before")
            .kernel::<Up<'static, T>>("scan_raking_up")
            .kernel::<Down<'static, T>>("scan_raking_down")
    }

    pub(super) fn block_sums(module: &Module) -> Result<Self> {
        let add_before = module.kernel("scan_add_before")?;
        Self::with(module, Sweeps::BlockSums { add_before })
    }

    pub(super) fn raking(module: &Module) -> Result<Self> {
        let up = module.kernel("scan_raking_up")?;
        let down = module.kernel("scan_raking_down")?;
        Self::with(module, Sweeps::Raking { up, down })
    }

    fn with(module: &Module, sweeps: Sweeps<T>) -> Result<Self> {
        let tiles = module.kernel("scan_tiles")?;
        Ok(Self { tiles, sweeps })
    }

    pub(super) fn launch(&self, work: &mut Work<'_, T>) -> Result<()> {
        let levels = levels::<T>(work.call.item_count.capacity);
        let level = Level {
            call: work.call,
            number: 0,
            tiles: &levels[1..],
            items: work.call.items.slice(..),
            out: work.out.slice_mut(..),
            inclusive: work.call.inclusive,
        };
        self.launch_level(level, &mut work.scratch)
    }

    /// Enqueues the launches of a level and of all levels above it.
    fn launch_level(
        &self,
        mut level: Level<'_, T>,
        scratch: &mut CudaViewMut<'_, T>,
    ) -> Result<()> {
        let tiles = level.tiles[0];
        let (mut totals, mut rest) = scratch.split_at_mut(tiles);
        let (mut before, mut scratch) = rest.split_at_mut(tiles);
        self.before(&mut level, &mut totals)?;
        if level.is_top() {
            return Ok(());
        }
        let above = Level {
            number: level.number + 1,
            tiles: &level.tiles[1..],
            items: totals.as_view(),
            out: before.slice_mut(..),
            inclusive: false,
            ..level
        };
        self.launch_level(above, &mut scratch)?;
        self.after(&mut level, &before.as_view())
    }

    /// Enqueues the launch on a level that comes before the level above it and writes the tile totals.
    fn before(&self, level: &mut Level<'_, T>, totals: &mut CudaViewMut<'_, T>) -> Result<()> {
        let input = level.call.item_count.input();
        let (items, totals) = (level.items.slice(..), totals.slice_mut(..));
        let (number, launch) = (level.number, level.blocks());
        match &self.sweeps {
            // Nothing comes before the only tile of the last level.
            Sweeps::Raking { up, .. } if !level.is_top() => {
                let args = Up {
                    items,
                    input,
                    level: number,
                    totals,
                };
                up.launch(level.call.stream, launch, args)
            }
            _ => {
                let args = Tiles {
                    items,
                    input,
                    level: number,
                    out: level.out.slice_mut(..),
                    inclusive: level.inclusive.into(),
                    totals,
                };
                self.tiles.launch(level.call.stream, launch, args)
            }
        }
    }

    /// Enqueues the launch on a level that comes after the level above it. `before` holds the prefix of each tile.
    fn after(&self, level: &mut Level<'_, T>, before: &CudaView<'_, T>) -> Result<()> {
        let input = level.call.item_count.input();
        let (number, launch) = (level.number, level.blocks());
        let (before, out) = (before.slice(..), level.out.slice_mut(..));
        match &self.sweeps {
            Sweeps::BlockSums { add_before } => {
                let args = AddBefore {
                    before,
                    input,
                    level: number,
                    out,
                };
                add_before.launch(level.call.stream, launch, args)
            }
            Sweeps::Raking { down, .. } => {
                let args = Down {
                    items: level.items.slice(..),
                    before,
                    input,
                    level: number,
                    out,
                    inclusive: level.inclusive.into(),
                };
                down.launch(level.call.stream, launch, args)
            }
        }
    }
}

impl<T> Level<'_, T> {
    /// Returns whether this level has only one tile.
    fn is_top(&self) -> bool {
        self.tiles.len() == 1
    }

    /// Returns a launch with one block per tile.
    fn blocks(&self) -> Launch {
        Launch::blocks(self.tiles[0] as u32, BLOCK_THREADS)
    }
}
