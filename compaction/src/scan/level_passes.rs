//! Block sums and raking: tiles, whose totals are the items of the next level.

use std::sync::Arc;

use cudarc::driver::{CudaStream, CudaView, CudaViewMut};

use super::{
    BLOCK_THREADS,
    passes::{Call, Counted},
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

/// A level of a call.
struct Level<'a> {
    stream: &'a Arc<CudaStream>,
    counted: &'a Counted<'a>,
    /// How many below it.
    number: u32,
    /// Its tiles, and those of the levels above it.
    tiles: &'a [usize],
}

impl<'a> Level<'a> {
    fn first<T>(call: &Call<'a, T>, counted: &'a Counted<'a>, levels: &'a [usize]) -> Self {
        Self {
            stream: call.stream,
            counted,
            number: 0,
            tiles: &levels[1..],
        }
    }

    fn above(&self) -> Self {
        Self {
            number: self.number + 1,
            tiles: &self.tiles[1..],
            ..*self
        }
    }

    fn is_top(&self) -> bool {
        self.tiles.len() == 1
    }

    fn launch(&self) -> Launch {
        Launch::blocks(self.tiles[0] as u32, BLOCK_THREADS)
    }
}

/// Each level scans its tiles and, once the level above is done, adds what comes before each.
#[derive(Debug)]
pub(super) struct BlockSums<T: Item> {
    tiles: Kernel<Tiles<T>>,
    add_before: Kernel<AddBefore<T>>,
}

impl<T: Item> BlockSums<T> {
    pub(super) fn declare(source: Source) -> Source {
        source
            .kernel::<Tiles<T>>("scan_tiles")
            .kernel::<AddBefore<T>>("scan_add_before")
    }

    pub(super) fn new(module: &Module) -> Result<Self> {
        Ok(Self {
            tiles: module.kernel("scan_tiles")?,
            add_before: module.kernel("scan_add_before")?,
        })
    }

    pub(super) fn launch(
        &self,
        call: &Call<'_, T>,
        counted: &Counted<'_>,
        out: &mut CudaViewMut<'_, T>,
        scratch: &mut CudaViewMut<'_, T>,
    ) -> Result<()> {
        let levels = levels::<T>(call.capacity);
        let level = Level::first(call, counted, &levels);
        self.launch_level(&level, &call.items, out, call.inclusive, scratch)
    }

    fn launch_level(
        &self,
        level: &Level<'_>,
        items: &CudaView<'_, T>,
        out: &mut CudaViewMut<'_, T>,
        inclusive: bool,
        scratch: &mut CudaViewMut<'_, T>,
    ) -> Result<()> {
        let (mut totals, mut rest) = scratch.split_at_mut(level.tiles[0]);
        let (mut before, mut above) = rest.split_at_mut(level.tiles[0]);
        scan_tiles(&self.tiles, level, items, out, inclusive, &mut totals)?;
        if level.is_top() {
            return Ok(());
        }
        let prefixes = &mut before;
        self.launch_level(
            &level.above(),
            &totals.as_view(),
            prefixes,
            false,
            &mut above,
        )?;
        let (count, is_counted, capacity) = level.counted.args();
        let (before, out) = (before.as_view(), out.slice_mut(..));
        let args = (before, count, is_counted, capacity, level.number, out);
        self.add_before.launch(level.stream, level.launch(), args)
    }
}

/// Each level sums its tiles and, once the level above is done, scans each behind what comes before it.
#[derive(Debug)]
pub(super) struct Raking<T: Item> {
    up: Kernel<Up<T>>,
    /// The last level has one tile, and nothing comes before it.
    top: Kernel<Tiles<T>>,
    down: Kernel<Down<T>>,
}

impl<T: Item> Raking<T> {
    pub(super) fn declare(source: Source) -> Source {
        source
            .kernel::<Up<T>>("scan_raking_up")
            .kernel::<Down<T>>("scan_raking_down")
    }

    pub(super) fn new(module: &Module) -> Result<Self> {
        Ok(Self {
            up: module.kernel("scan_raking_up")?,
            top: module.kernel("scan_tiles")?,
            down: module.kernel("scan_raking_down")?,
        })
    }

    pub(super) fn launch(
        &self,
        call: &Call<'_, T>,
        counted: &Counted<'_>,
        out: &mut CudaViewMut<'_, T>,
        scratch: &mut CudaViewMut<'_, T>,
    ) -> Result<()> {
        let levels = levels::<T>(call.capacity);
        let level = Level::first(call, counted, &levels);
        self.launch_level(&level, &call.items, out, call.inclusive, scratch)
    }

    fn launch_level(
        &self,
        level: &Level<'_>,
        items: &CudaView<'_, T>,
        out: &mut CudaViewMut<'_, T>,
        inclusive: bool,
        scratch: &mut CudaViewMut<'_, T>,
    ) -> Result<()> {
        let (mut totals, mut rest) = scratch.split_at_mut(level.tiles[0]);
        let (mut before, mut above) = rest.split_at_mut(level.tiles[0]);
        if level.is_top() {
            return scan_tiles(&self.top, level, items, out, inclusive, &mut totals);
        }
        let (count, is_counted, capacity) = level.counted.args();
        let (items, out) = (items.slice(..), out.slice_mut(..));
        let up = (
            items.slice(..),
            count,
            is_counted,
            capacity,
            level.number,
            totals.slice_mut(..),
        );
        self.up.launch(level.stream, level.launch(), up)?;
        let prefixes = &mut before;
        self.launch_level(
            &level.above(),
            &totals.as_view(),
            prefixes,
            false,
            &mut above,
        )?;
        let (count, is_counted, capacity) = level.counted.args();
        let down = (
            items,
            before.as_view(),
            count,
            is_counted,
            capacity,
            level.number,
            out,
            u32::from(inclusive),
        );
        self.down.launch(level.stream, level.launch(), down)
    }
}

/// Scans each tile by itself, and leaves its total.
fn scan_tiles<T: Item>(
    kernel: &Kernel<Tiles<T>>,
    level: &Level<'_>,
    items: &CudaView<'_, T>,
    out: &mut CudaViewMut<'_, T>,
    inclusive: bool,
    totals: &mut CudaViewMut<'_, T>,
) -> Result<()> {
    let (count, is_counted, capacity) = level.counted.args();
    let args = (
        items.slice(..),
        count,
        is_counted,
        capacity,
        level.number,
        out.slice_mut(..),
        u32::from(inclusive),
        totals.slice_mut(..),
    );
    kernel.launch(level.stream, level.launch(), args)
}
