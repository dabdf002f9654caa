//! Block sums and raking: tiles, whose totals are the items of the next level.

use cudarc::driver::{CudaView, CudaViewMut};

use super::{
    BLOCK_THREADS,
    passes::{Call, Work},
    workspace::levels,
};
use crate::{
    Result,
    cuda::{In, InOut, Kernel, Launch, Module, Source},
    monoid::Item,
};

/// `(items, count, counted, capacity, level, out, inclusive, totals)`
type Tiles<T> = (In<T>, In<u32>, u32, u64, u32, InOut<T>, u32, InOut<T>);
/// `(before, count, counted, capacity, level, out)`
type AddBefore<T> = (In<T>, In<u32>, u32, u64, u32, InOut<T>);
/// `(items, count, counted, capacity, level, totals)`
type Up<T> = (In<T>, In<u32>, u32, u64, u32, InOut<T>);
/// `(items, before, count, counted, capacity, level, out, inclusive)`
type Down<T> = (In<T>, In<T>, In<u32>, u32, u64, u32, InOut<T>, u32);

/// What scans tiles by themselves, on each level but the last the totals to be scanned by the next one.
#[derive(Debug)]
pub(super) struct Levels<T: Item> {
    /// Scans each tile by itself, and leaves its total.
    tiles: Kernel<Tiles<T>>,
    sweeps: Sweeps<T>,
}

/// What a level does before and after the one above it.
#[derive(Debug)]
enum Sweeps<T: Item> {
    /// Scans its tiles, and then adds what comes before each.
    BlockSums { add_before: Kernel<AddBefore<T>> },
    /// Sums its tiles up, and then scans each behind what comes before it.
    Raking {
        up: Kernel<Up<T>>,
        down: Kernel<Down<T>>,
    },
}

/// A level of a call.
struct Level<'a, T> {
    call: &'a Call<'a, T>,
    /// How many are below it.
    number: u32,
    /// Its tiles, and those of the levels above it.
    tiles: &'a [usize],
    items: CudaView<'a, T>,
    out: CudaViewMut<'a, T>,
    inclusive: bool,
}

impl<T: Item> Levels<T> {
    pub(super) fn declare(source: Source) -> Source {
        source
            .kernel::<Tiles<T>>("scan_tiles")
            .kernel::<AddBefore<T>>("scan_add_before")
            .kernel::<Up<T>>("scan_raking_up")
            .kernel::<Down<T>>("scan_raking_down")
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
        let levels = levels::<T>(work.call.counted.capacity);
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

    fn before(&self, level: &mut Level<'_, T>, totals: &mut CudaViewMut<'_, T>) -> Result<()> {
        let (count, counted, capacity) = level.call.count_args();
        let (items, totals) = (level.items.slice(..), totals.slice_mut(..));
        let (number, launch) = (level.number, level.blocks());
        match &self.sweeps {
            // Nothing comes before the only tile of the last level.
            Sweeps::Raking { up, .. } if !level.is_top() => {
                let args = (items, count, counted, capacity, number, totals);
                up.launch(level.call.stream, launch, args)
            }
            _ => {
                let (out, inclusive) = (level.out.slice_mut(..), u32::from(level.inclusive));
                let args = (
                    items, count, counted, capacity, number, out, inclusive, totals,
                );
                self.tiles.launch(level.call.stream, launch, args)
            }
        }
    }

    fn after(&self, level: &mut Level<'_, T>, before: &CudaView<'_, T>) -> Result<()> {
        let (count, counted, capacity) = level.call.count_args();
        let (number, launch) = (level.number, level.blocks());
        let (before, out) = (before.slice(..), level.out.slice_mut(..));
        match &self.sweeps {
            Sweeps::BlockSums { add_before } => {
                let args = (before, count, counted, capacity, number, out);
                add_before.launch(level.call.stream, launch, args)
            }
            Sweeps::Raking { down, .. } => {
                let (items, inclusive) = (level.items.slice(..), u32::from(level.inclusive));
                let args = (
                    items, before, count, counted, capacity, number, out, inclusive,
                );
                down.launch(level.call.stream, launch, args)
            }
        }
    }
}

impl<T> Level<'_, T> {
    fn is_top(&self) -> bool {
        self.tiles.len() == 1
    }

    fn blocks(&self) -> Launch {
        Launch::blocks(self.tiles[0] as u32, BLOCK_THREADS)
    }
}
