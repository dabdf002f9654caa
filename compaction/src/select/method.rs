//! The kernels and launches of each strategy of stream compaction.

use std::{alloc::Layout, sync::Arc};

use cudarc::driver::{CudaStream, CudaView, CudaViewMut};

use super::{
    BLOCK_THREADS, MAX_SEQUENCES, SECTION_ITEMS, Strategy, TILE_ITEMS,
    params::{
        CountGroups, Extent, FillHoles, FillHolesInPlace, FindHoles, Keep, MoveByRank, MoveGroups,
        ScanGroups, ScanSections, ScanSequences,
    },
};
use crate::{
    CountWord, Result,
    arguments::ItemCount,
    cuda::{self, Kernel, Launch, Module, NamedCall, Source},
    look_back,
    policies::select::MANY_ITEMS,
};

/// The widest vector that one instruction copies, in bytes.
const WIDEST_VECTOR: usize = 16;
/// Counts that a block of `select_scan_blocks`, `select_scan_sequences` or `select_scan_sums` scans at a time.
const TILE_COUNTS: u32 = 8 * BLOCK_THREADS;
/// Warps per block.
const BLOCK_WARPS: u32 = BLOCK_THREADS / 32;

/// The kind of output of a selection: indices or items.
#[derive(Clone, Copy)]
pub(super) enum What {
    Indices,
    Items,
}

impl What {
    /// Returns the kernel name for this kind of output.
    fn name(self, indices: &'static str, items: &'static str) -> &'static str {
        match self {
            Self::Indices => indices,
            Self::Items => items,
        }
    }
}

/// Returns the [`Source`] of a kernel file of this crate.
macro_rules! file {
    ($name:literal) => {
        Source::new(
            concat!("compaction/kernels/", $name),
            include_str!(concat!("../../kernels/", $name)),
        )
    };
}

/// Adds to a kernel source the definitions that every kernel file of [`Select`](super::Select) needs.
///
/// They are the macro `Word` for the word type `W`, the block size, the size and alignment of the items, and those of
/// `look_back.cuh`.
pub(super) fn with_constants<W: CountWord>(source: Source, layout: Layout) -> Source {
    let source = source
        .define("Word", W::NAME)
        .constant("BLOCK_THREADS", BLOCK_THREADS);
    look_back::declare(item_constants(source, layout))
}

/// Adds to a kernel source the constants `ITEM_BYTES` and `ITEM_ALIGN`: the size of an item in bytes, and its alignment
/// in bytes or 16 if that is less.
pub(crate) fn item_constants(source: Source, layout: Layout) -> Source {
    source
        .constant("ITEM_BYTES", layout.size() as u32)
        .constant("ITEM_ALIGN", layout.align().min(WIDEST_VECTOR) as u32)
}

/// Returns the kernel file of a strategy, for indices and for items of a size and alignment.
pub(super) fn source<W: CountWord>(strategy: Strategy, layout: Layout) -> Source {
    match strategy {
        Strategy::LookBack => with_constants::<W>(file!("select.cu"), layout)
            .kernel::<Keep<'static, W>>("select_indices_look_back")
            .kernel::<Keep<'static, W>>("select_items_look_back")
            .kernel::<Keep<'static, W>>("select_many_indices_look_back")
            .kernel::<Keep<'static, W>>("select_many_items_look_back"),
        Strategy::Atomic | Strategy::Off => with_constants::<W>(file!("select_append.cu"), layout)
            .kernel::<Keep<'static, W>>("select_indices_atomic")
            .kernel::<Keep<'static, W>>("select_items_atomic")
            .kernel::<Keep<'static, W>>("select_indices_off")
            .kernel::<Keep<'static, W>>("select_items_off"),
        Strategy::CountScanScatter => {
            with_constants::<W>(file!("select_count_scan_scatter.cu"), layout)
                .kernel::<CountGroups<'static, W>>("select_count_blocks")
                .kernel::<ScanGroups<'static, W>>("select_scan_blocks")
                .kernel::<MoveGroups<'static, W>>("select_scatter_indices")
                .kernel::<MoveGroups<'static, W>>("select_scatter_items")
        }
        Strategy::Sequences => with_constants::<W>(file!("select_sequences.cu"), layout)
            .kernel::<CountGroups<'static, W>>("select_count_sequences")
            .kernel::<ScanSequences<'static, W>>("select_scan_sequences")
            .kernel::<MoveGroups<'static, W>>("select_move_indices")
            .kernel::<MoveGroups<'static, W>>("select_move_items"),
        Strategy::ScanScatter => with_constants::<W>(file!("select_scan_scatter.cu"), layout)
            .kernel::<ScanSections<'static, W>>("select_scan_sections")
            .kernel::<ScanGroups<'static, W>>("select_scan_sums")
            .kernel::<MoveByRank<'static, W>>("select_scatter_indices_by_rank")
            .kernel::<MoveByRank<'static, W>>("select_scatter_items_by_rank"),
        Strategy::HoleFilling => with_constants::<W>(file!("select_hole_filling.cu"), layout)
            .kernel::<FindHoles<'static, W>>("select_find_holes")
            .kernel::<FillHoles<'static, W>>("select_fill_holes_with_indices")
            .kernel::<FillHoles<'static, W>>("select_fill_holes_with_items")
            .kernel::<FillHolesInPlace<'static, W>>("select_fill_holes_in_place"),
    }
}

/// The checked arguments of a [`Select`](super::Select) call, as passed to its launches.
pub(super) struct SelectCall<'a, W: CountWord> {
    pub(super) stream: &'a Arc<CudaStream>,
    pub(super) flags: CudaView<'a, u8>,
    pub(super) item_count: ItemCount<'a>,
    /// The length of the output in items. Survivors that would be written behind it are only counted.
    pub(super) room: usize,
    /// The largest number of items of one launch, called a portion.
    pub(super) portion: u32,
    pub(super) selected: CudaViewMut<'a, W>,
    pub(super) words: CudaViewMut<'a, u64>,
    pub(super) scratch: CudaViewMut<'a, u64>,
    pub(super) _named: NamedCall,
}

impl<W: CountWord> SelectCall<'_, W> {
    /// Yields the ranges of items of the call's launches.
    pub(super) fn extents(&self) -> impl Iterator<Item = Extent> + Clone + use<W> {
        Extent::all(&self.item_count, self.portion, self.room)
    }

    /// Enqueues a launch that writes the number of survivors of each block or warp to the scratch memory.
    fn count_groups(
        &mut self,
        kernel: &Kernel<CountGroups<'static, W>>,
        extent: Extent,
        launch: Launch,
    ) -> Result<()> {
        let args = CountGroups {
            flags: self.flags.slice(..),
            count: self.item_count.words()?,
            extent,
            counts: cuda::reinterpret_mut(&mut self.scratch)?,
            workspace: self.words.slice_mut(..),
        };
        kernel.launch(self.stream, launch, args)
    }

    /// Enqueues a launch that replaces each count in the scratch memory by the sum of the counts before it. The counts
    /// begin at the 4-byte word `first`, and there is one for every `group_items` items.
    fn scan_groups(
        &mut self,
        kernel: &Kernel<ScanGroups<'static, W>>,
        extent: Extent,
        first: usize,
        group_items: u32,
    ) -> Result<()> {
        let groups = extent.items.div_ceil(group_items);
        let mut scratch = cuda::reinterpret_mut(&mut self.scratch)?;
        let args = ScanGroups {
            count: self.item_count.words()?,
            extent,
            counts: scratch.slice_mut(first..),
            selected: self.selected.slice_mut(..),
            workspace: self.words.slice_mut(..),
        };
        let blocks = groups.div_ceil(TILE_COUNTS).max(1);
        kernel.launch(self.stream, Launch::blocks(blocks, BLOCK_THREADS), args)
    }

    /// Enqueues a launch that writes the survivors. The scratch memory contains, for each block or warp, the number of
    /// survivors of the launch before it.
    fn move_groups(
        &mut self,
        kernel: &Kernel<MoveGroups<'static, W>>,
        (extent, launch): (Extent, Launch),
        items: &CudaView<'_, u8>,
        out: &mut CudaViewMut<'_, u8>,
    ) -> Result<()> {
        let args = MoveGroups {
            items: items.slice(..),
            flags: self.flags.slice(..),
            count: self.item_count.words()?,
            extent,
            begins: cuda::reinterpret(self.scratch.as_view())?,
            out: out.slice_mut(..),
            workspace: self.words.as_view(),
        };
        kernel.launch(self.stream, launch, args)
    }

    /// Enqueues the first launch of `hole-filling` for each portion. Together, the launches write to the scratch memory
    /// the number of survivors before each tile, followed by a list of rejected items.
    ///
    /// The list contains the indices of up to half of all items, in order. If k items survive, it begins with all
    /// holes: the rejected items among the first k.
    pub(super) fn find_holes(&mut self, kernel: &Kernel<FindHoles<'static, W>>) -> Result<()> {
        for extent in self.extents() {
            let tiles = self.tiles();
            let mut scratch = cuda::reinterpret_mut(&mut self.scratch)?;
            let (mut befores, mut holes) = scratch.split_at_mut(tiles);
            let args = FindHoles {
                flags: self.flags.slice(..),
                count: self.item_count.words()?,
                extent,
                befores: befores.slice_mut(..),
                holes: holes.slice_mut(..),
                selected: self.selected.slice_mut(..),
                workspace: self.words.slice_mut(..),
            };
            kernel.launch(self.stream, extent.blocks(TILE_ITEMS), args)?;
        }
        Ok(())
    }

    /// Returns the number of tiles of the whole input, at least 1.
    pub(super) fn tiles(&self) -> usize {
        self.item_count
            .capacity
            .div_ceil(TILE_ITEMS as usize)
            .max(1)
    }
}

/// The loaded kernels of a strategy, for indices or for items of one size and alignment.
#[derive(Debug)]
pub(super) enum Method<W: CountWord> {
    LookBack {
        few: Kernel<Keep<'static, W>>,
        many: Kernel<Keep<'static, W>>,
    },
    CountScanScatter {
        count: Kernel<CountGroups<'static, W>>,
        scan: Kernel<ScanGroups<'static, W>>,
        scatter: Kernel<MoveGroups<'static, W>>,
    },
    Sequences {
        count: Kernel<CountGroups<'static, W>>,
        scan: Kernel<ScanSequences<'static, W>>,
        moving: Kernel<MoveGroups<'static, W>>,
    },
    ScanScatter {
        scan: Kernel<ScanSections<'static, W>>,
        scan_sums: Kernel<ScanGroups<'static, W>>,
        scatter: Kernel<MoveByRank<'static, W>>,
    },
    HoleFilling {
        find: Kernel<FindHoles<'static, W>>,
        fill: Kernel<FillHoles<'static, W>>,
    },
    /// A kernel of `atomic` or `off`: one launch, whose blocks do not wait for each other.
    Single(Kernel<Keep<'static, W>>),
}

impl<W: CountWord> Method<W> {
    /// Looks up the kernels of a strategy for one kind of output.
    pub(super) fn of(module: &Module, strategy: Strategy, what: What) -> Result<Self> {
        Ok(match strategy {
            Strategy::LookBack => Self::LookBack {
                few: module
                    .kernel(what.name("select_indices_look_back", "select_items_look_back"))?,
                many: module.kernel(what.name(
                    "select_many_indices_look_back",
                    "select_many_items_look_back",
                ))?,
            },
            Strategy::CountScanScatter => Self::CountScanScatter {
                count: module.kernel("select_count_blocks")?,
                scan: module.kernel("select_scan_blocks")?,
                scatter: module
                    .kernel(what.name("select_scatter_indices", "select_scatter_items"))?,
            },
            Strategy::Sequences => Self::Sequences {
                count: module.kernel("select_count_sequences")?,
                scan: module.kernel("select_scan_sequences")?,
                moving: module.kernel(what.name("select_move_indices", "select_move_items"))?,
            },
            Strategy::ScanScatter => Self::ScanScatter {
                scan: module.kernel("select_scan_sections")?,
                scan_sums: module.kernel("select_scan_sums")?,
                scatter: module.kernel(what.name(
                    "select_scatter_indices_by_rank",
                    "select_scatter_items_by_rank",
                ))?,
            },
            Strategy::HoleFilling => Self::HoleFilling {
                find: module.kernel("select_find_holes")?,
                fill: module.kernel(what.name(
                    "select_fill_holes_with_indices",
                    "select_fill_holes_with_items",
                ))?,
            },
            Strategy::Atomic => Self::Single(
                module.kernel(what.name("select_indices_atomic", "select_items_atomic"))?,
            ),
            Strategy::Off => {
                Self::Single(module.kernel(what.name("select_indices_off", "select_items_off"))?)
            }
        })
    }

    /// Enqueues the strategy's launches on the stream, one portion of the items after the other.
    pub(super) fn launch(
        &self,
        mut call: SelectCall<'_, W>,
        items: &CudaView<'_, u8>,
        out: &mut CudaViewMut<'_, u8>,
    ) -> Result<()> {
        if let Self::HoleFilling { find, .. } = self {
            call.find_holes(find)?;
        }
        for extent in call.extents() {
            self.launch_portion(&mut call, extent, items, out)?;
        }
        Ok(())
    }

    fn launch_portion(
        &self,
        call: &mut SelectCall<'_, W>,
        extent: Extent,
        items: &CudaView<'_, u8>,
        out: &mut CudaViewMut<'_, u8>,
    ) -> Result<()> {
        match self {
            Self::LookBack { many, .. } if extent.items >= MANY_ITEMS => {
                single(many, call, (extent, 2 * TILE_ITEMS), items, out)
            }
            Self::LookBack { few: kernel, .. } | Self::Single(kernel) => {
                single(kernel, call, (extent, TILE_ITEMS), items, out)
            }
            Self::CountScanScatter {
                count,
                scan,
                scatter,
            } => {
                let launch = extent.blocks(BLOCK_THREADS);
                call.count_groups(count, extent, launch)?;
                call.scan_groups(scan, extent, 0, BLOCK_THREADS)?;
                call.move_groups(scatter, (extent, launch), items, out)
            }
            Self::Sequences {
                count,
                scan,
                moving,
            } => sequences((count, scan, moving), call, extent, items, out),
            Self::ScanScatter {
                scan,
                scan_sums,
                scatter,
            } => scan_scatter((scan, scan_sums, scatter), call, extent, items, out),
            Self::HoleFilling { fill, .. } => fill_holes(fill, call, extent, items, out),
        }
    }
}

/// Enqueues a launch of one kernel that selects from a range of items.
fn single<W: CountWord>(
    kernel: &Kernel<Keep<'static, W>>,
    call: &mut SelectCall<'_, W>,
    (extent, tile_items): (Extent, u32),
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    let args = Keep {
        items: items.slice(..),
        flags: call.flags.slice(..),
        count: call.item_count.words()?,
        extent,
        out: out.slice_mut(..),
        selected: call.selected.slice_mut(..),
        workspace: call.words.slice_mut(..),
    };
    kernel.launch(call.stream, extent.blocks(tile_items), args)
}

/// The three kernels of a strategy with three launches, in launch order.
type Passes<'a, First, Second, Third> = (&'a Kernel<First>, &'a Kernel<Second>, &'a Kernel<Third>);

/// Returns the number of sequences of a launch of the strategy `sequences` over `items` items: one per row of 512
/// items, rounded up to whole blocks of [`BLOCK_WARPS`] sequences. It is at least one block and at most
/// [`MAX_SEQUENCES`].
pub(super) fn sequence_count(items: u32) -> u32 {
    // A tile is as many rows as a block has warps.
    let blocks = items.div_ceil(TILE_ITEMS);
    blocks.clamp(1, MAX_SEQUENCES / BLOCK_WARPS) * BLOCK_WARPS
}

/// Enqueues the three launches of `sequences` over a range of items.
fn sequences<W: CountWord>(
    (count, scan, moving): Passes<
        '_,
        CountGroups<'static, W>,
        ScanSequences<'static, W>,
        MoveGroups<'static, W>,
    >,
    call: &mut SelectCall<'_, W>,
    extent: Extent,
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    let sequences = sequence_count(extent.items);
    let launch = Launch::blocks(sequences / BLOCK_WARPS, BLOCK_THREADS);
    call.count_groups(count, extent, launch)?;
    let args = ScanSequences {
        extent,
        sequences,
        counts: cuda::reinterpret_mut(&mut call.scratch)?,
        selected: call.selected.slice_mut(..),
        workspace: call.words.slice_mut(..),
    };
    let scanners = Launch::blocks(sequences.div_ceil(TILE_COUNTS), BLOCK_THREADS);
    scan.launch(call.stream, scanners, args)?;
    call.move_groups(moving, (extent, launch), items, out)
}

/// Enqueues the three launches of `scan-scatter` over a range of items: they scan each section, scan the sums of the
/// sections, and write the survivors to `out`.
fn scan_scatter<W: CountWord>(
    (scan, scan_sums, scatter): Passes<
        '_,
        ScanSections<'static, W>,
        ScanGroups<'static, W>,
        MoveByRank<'static, W>,
    >,
    call: &mut SelectCall<'_, W>,
    extent: Extent,
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    let sums_begin = extent.items as usize;
    let mut scratch = cuda::reinterpret_mut(&mut call.scratch)?;
    let (mut ranks, mut sums) = scratch.split_at_mut(sums_begin);
    let args = ScanSections {
        flags: call.flags.slice(..),
        count: call.item_count.words()?,
        extent,
        ranks: ranks.slice_mut(..),
        sums: sums.slice_mut(..),
        workspace: call.words.slice_mut(..),
    };
    scan.launch(call.stream, extent.blocks(SECTION_ITEMS), args)?;
    call.scan_groups(scan_sums, extent, sums_begin, SECTION_ITEMS)?;
    let scratch = cuda::reinterpret(call.scratch.as_view())?;
    let args = MoveByRank {
        items: items.slice(..),
        flags: call.flags.slice(..),
        count: call.item_count.words()?,
        extent,
        ranks: scratch.slice(..sums_begin),
        sums: scratch.slice(sums_begin..),
        out: out.slice_mut(..),
        workspace: call.words.as_view(),
    };
    scatter.launch(call.stream, extent.blocks(BLOCK_THREADS), args)
}

/// Enqueues the second launch of `hole-filling`, which writes the survivors among a range of items to `out`. If k items
/// survive in all, those among the first k keep their indices, and the others fill the holes between them.
fn fill_holes<W: CountWord>(
    kernel: &Kernel<FillHoles<'static, W>>,
    call: &mut SelectCall<'_, W>,
    extent: Extent,
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    let (tiles, scratch) = (call.tiles(), cuda::reinterpret(call.scratch.as_view())?);
    let args = FillHoles {
        items: items.slice(..),
        flags: call.flags.slice(..),
        count: call.item_count.words()?,
        extent,
        befores: scratch.slice(..tiles),
        holes: scratch.slice(tiles..),
        out: out.slice_mut(..),
        selected: call.selected.as_view(),
    };
    kernel.launch(call.stream, extent.blocks(TILE_ITEMS), args)
}
