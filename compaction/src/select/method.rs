//! The kernels and launches of each strategy of stream compaction.

use std::{alloc::Layout, sync::Arc};

use cudarc::driver::{CudaStream, CudaView, CudaViewMut};

use super::{BLOCK_THREADS, MAX_SEQUENCES, SECTION_ITEMS, Strategy, TILE_ITEMS};
use crate::{
    CountWord, Result,
    cuda::{self, In, InOut, Kernel, Launch, Module, Source},
    look_back,
};

/// Number of items of a launch from which `look-back` uses the kernel with tiles of twice the length.
const MANY_ITEMS: u32 = 1 << 22;
/// The widest vector that one instruction copies, in bytes.
const WIDEST_VECTOR: usize = 16;
/// Counts that a block of `select_scan_blocks`, `select_scan_sequences` or `select_scan_sums` scans at a time.
const TILE_COUNTS: u32 = 8 * BLOCK_THREADS;
/// Warps per block.
const BLOCK_WARPS: u32 = BLOCK_THREADS / 32;

/// The parameters of the kernels whose names end in `_look_back`, `_atomic` or `_off`: `(items, flags, count, extent,
/// out, selected, workspace)`, with items and output as bytes. [`Extent`] states the range of items of the launch, and
/// whether `count` holds the number of all items.
type Keep<W> = (
    In<u8>,
    In<u8>,
    In<W>,
    Extent,
    InOut<u8>,
    InOut<W>,
    InOut<u64>,
);
/// The parameters of the kernels `select_count_blocks` and `select_count_sequences`: `(flags, count, extent, counts,
/// workspace)`. They write the number of survivors of each block or warp to `counts`. [`Extent`] states the range of
/// items of the launch, and whether `count` holds the number of all items.
type CountGroups<W> = (In<u8>, In<W>, Extent, InOut<u32>, InOut<u64>);
/// The parameters of the kernels `select_scan_blocks` and `select_scan_sums`: `(count, extent, counts, selected,
/// workspace)`. They replace each count in `counts` by the sum of the counts before it. [`Extent`] states the range of
/// items of the launch, and whether `count` holds the number of all items.
type ScanGroups<W> = (In<W>, Extent, InOut<u32>, InOut<W>, InOut<u64>);
/// The parameters of the kernel `select_scan_sequences`: `(extent, sequences, counts, selected, workspace)`. It
/// replaces each of `sequences` counts by the sum of the counts before it. [`Extent`] states the range of items of the
/// launch.
type ScanSequences<W> = (Extent, u32, InOut<u32>, InOut<W>, InOut<u64>);
/// The parameters of the kernels `select_scatter_indices`, `select_scatter_items`, `select_move_indices` and
/// `select_move_items`: `(items, flags, count, extent, begins, out, workspace)`. `begins` holds, for each block or
/// warp, the number of survivors of the launch before it. `workspace` holds the number of survivors of earlier
/// launches. [`Extent`] states the range of items of the launch, and whether `count` holds the number of all items.
type MoveGroups<W> = (In<u8>, In<u8>, In<W>, Extent, In<u32>, InOut<u8>, In<u64>);
/// The parameters of the kernel `select_scan_sections`: `(flags, count, extent, ranks, sums, workspace)`. It writes
/// each item's rank in its section, and each section's number of survivors. [`Extent`] states the range of items of the
/// launch, and whether `count` holds the number of all items.
type ScanSections<W> = (In<u8>, In<W>, Extent, InOut<u32>, InOut<u32>, InOut<u64>);
/// The parameters of the kernels `select_scatter_indices_by_rank` and `select_scatter_items_by_rank`: `(items, flags,
/// count, extent, ranks, sums, out, workspace)`. An output index is the item's rank plus its section's offset in `sums`
/// plus the number of survivors of earlier launches in `workspace`. [`Extent`] states the range of items of the launch,
/// and whether `count` holds the number of all items.
type MoveByRank<W> = (
    In<u8>,
    In<u8>,
    In<W>,
    Extent,
    In<u32>,
    In<u32>,
    InOut<u8>,
    In<u64>,
);
/// The parameters of the kernel `select_find_holes`: `(flags, count, extent, befores, holes, selected, workspace)`. It
/// writes the number of survivors before each tile to `befores`, and the indices of rejected items to `holes`.
/// [`Extent`] states the range of items of the launch, and whether `count` holds the number of all items.
pub(super) type FindHoles<W> = (
    In<u8>,
    In<W>,
    Extent,
    InOut<W>,
    InOut<W>,
    InOut<W>,
    InOut<u64>,
);
/// The parameters of the kernels `select_fill_holes_with_indices` and `select_fill_holes_with_items`: `(items, flags,
/// count, extent, befores, holes, out, selected)`. `select_find_holes` has written the number of survivors before each
/// tile to `befores`, and the indices of rejected items to `holes`. [`Extent`] states the range of items of the launch,
/// and whether `count` holds the number of all items.
type FillHoles<W> = (
    In<u8>,
    In<u8>,
    In<W>,
    Extent,
    In<W>,
    In<W>,
    InOut<u8>,
    In<W>,
);
/// The parameters of the kernel `select_fill_holes_in_place`: `(items, flags, count, extent, befores, holes,
/// selected)`. `befores` and `holes` come from `select_find_holes`. [`Extent`] states the range of items of the launch,
/// and whether `count` holds the number of all items.
pub(super) type FillHolesInPlace<W> = (InOut<u8>, In<u8>, In<W>, Extent, In<W>, In<W>, In<W>);

crate::shared! {
    /// The range of items of one launch, and whether the host or the word `count` in device memory gives the number of
    /// all items. `kernels/extent.cuh` documents the fields.
    pub(crate) struct Extent {
        pub(crate) capacity: u64,
        pub(crate) first: u64,
        pub(crate) room: u64,
        pub(crate) items: u32,
        pub(crate) number: u32,
        pub(crate) is_given: u32,
        pub(crate) unused: u32,
    }
}

impl Extent {
    /// Yields the ranges of the launches of a call on up to `capacity` items, each of at most `portion` items. Without
    /// items there is one empty range. `is_given` is whether there are exactly `capacity` items, and `room` the length of
    /// the output in items.
    pub(super) fn all(
        (capacity, is_given): (usize, bool),
        portion: u32,
        room: usize,
    ) -> impl Iterator<Item = Self> + Clone {
        let portions = capacity.div_ceil(portion as usize).max(1);
        (0..portions).map(move |number| {
            let first = number * portion as usize;
            Self {
                capacity: capacity as u64,
                first: first as u64,
                room: room.min(capacity) as u64,
                items: (capacity - first).min(portion as usize) as u32,
                number: number as u32,
                is_given: u32::from(is_given),
                unused: 0,
            }
        })
    }

    /// Returns a launch with one block for every `items` items. There is at least one block, because it writes the
    /// count of selected items.
    pub(super) fn blocks(self, items: u32) -> Launch {
        Launch::blocks(self.items.div_ceil(items).max(1), BLOCK_THREADS)
    }
}

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
            .kernel::<Keep<W>>("select_indices_look_back")
            .kernel::<Keep<W>>("select_items_look_back")
            .kernel::<Keep<W>>("select_many_indices_look_back")
            .kernel::<Keep<W>>("select_many_items_look_back"),
        Strategy::Atomic | Strategy::Off => with_constants::<W>(file!("select_append.cu"), layout)
            .kernel::<Keep<W>>("select_indices_atomic")
            .kernel::<Keep<W>>("select_items_atomic")
            .kernel::<Keep<W>>("select_indices_off")
            .kernel::<Keep<W>>("select_items_off"),
        Strategy::CountScanScatter => {
            with_constants::<W>(file!("select_count_scan_scatter.cu"), layout)
                .kernel::<CountGroups<W>>("select_count_blocks")
                .kernel::<ScanGroups<W>>("select_scan_blocks")
                .kernel::<MoveGroups<W>>("select_scatter_indices")
                .kernel::<MoveGroups<W>>("select_scatter_items")
        }
        Strategy::Sequences => with_constants::<W>(file!("select_sequences.cu"), layout)
            .kernel::<CountGroups<W>>("select_count_sequences")
            .kernel::<ScanSequences<W>>("select_scan_sequences")
            .kernel::<MoveGroups<W>>("select_move_indices")
            .kernel::<MoveGroups<W>>("select_move_items"),
        Strategy::ScanScatter => with_constants::<W>(file!("select_scan_scatter.cu"), layout)
            .kernel::<ScanSections<W>>("select_scan_sections")
            .kernel::<ScanGroups<W>>("select_scan_sums")
            .kernel::<MoveByRank<W>>("select_scatter_indices_by_rank")
            .kernel::<MoveByRank<W>>("select_scatter_items_by_rank"),
        Strategy::HoleFilling => with_constants::<W>(file!("select_hole_filling.cu"), layout)
            .kernel::<FindHoles<W>>("select_find_holes")
            .kernel::<FillHoles<W>>("select_fill_holes_with_indices")
            .kernel::<FillHoles<W>>("select_fill_holes_with_items")
            .kernel::<FillHolesInPlace<W>>("select_fill_holes_in_place"),
    }
}

/// The checked arguments of a [`Select`](super::Select) call, as passed to its launches.
pub(super) struct SelectCall<'a, W: CountWord> {
    pub(super) stream: &'a Arc<CudaStream>,
    pub(super) flags: CudaView<'a, u8>,
    pub(super) count: CudaView<'a, W>,
    pub(super) is_given: bool,
    pub(super) capacity: usize,
    /// The length of the output in items. Survivors that would be written behind it are only counted.
    pub(super) room: usize,
    /// The largest number of items of one launch, called a portion.
    pub(super) portion: u32,
    pub(super) selected: CudaViewMut<'a, W>,
    pub(super) words: CudaViewMut<'a, u64>,
    pub(super) scratch: CudaViewMut<'a, u64>,
}

impl<W: CountWord> SelectCall<'_, W> {
    /// Yields the ranges of items of the call's launches.
    pub(super) fn extents(&self) -> impl Iterator<Item = Extent> + Clone + use<W> {
        Extent::all((self.capacity, self.is_given), self.portion, self.room)
    }

    /// Enqueues a launch that writes the number of survivors of each block or warp to the scratch memory.
    fn count_groups(
        &mut self,
        kernel: &Kernel<CountGroups<W>>,
        extent: Extent,
        launch: Launch,
    ) -> Result<()> {
        let args = (
            self.flags.slice(..),
            self.count.slice(..),
            extent,
            cuda::reinterpret_mut(&mut self.scratch)?,
            self.words.slice_mut(..),
        );
        kernel.launch(self.stream, launch, args)
    }

    /// Enqueues a launch that replaces each count in the scratch memory by the sum of the counts before it. The counts
    /// begin at the 4-byte word `first`, and there is one for every `group_items` items.
    fn scan_groups(
        &mut self,
        kernel: &Kernel<ScanGroups<W>>,
        extent: Extent,
        first: usize,
        group_items: u32,
    ) -> Result<()> {
        let groups = extent.items.div_ceil(group_items);
        let mut scratch = cuda::reinterpret_mut(&mut self.scratch)?;
        let args = (
            self.count.slice(..),
            extent,
            scratch.slice_mut(first..),
            self.selected.slice_mut(..),
            self.words.slice_mut(..),
        );
        let blocks = groups.div_ceil(TILE_COUNTS).max(1);
        kernel.launch(self.stream, Launch::blocks(blocks, BLOCK_THREADS), args)
    }

    /// Enqueues a launch that writes the survivors. The scratch memory contains, for each block or warp, the number of
    /// survivors of the launch before it.
    fn move_groups(
        &mut self,
        kernel: &Kernel<MoveGroups<W>>,
        (extent, launch): (Extent, Launch),
        items: &CudaView<'_, u8>,
        out: &mut CudaViewMut<'_, u8>,
    ) -> Result<()> {
        let args = (
            items.slice(..),
            self.flags.slice(..),
            self.count.slice(..),
            extent,
            cuda::reinterpret(self.scratch.as_view())?,
            out.slice_mut(..),
            self.words.as_view(),
        );
        kernel.launch(self.stream, launch, args)
    }

    /// Enqueues the first launch of `hole-filling` for each portion. Together, the launches write to the scratch memory
    /// the number of survivors before each tile, followed by a list of rejected items.
    ///
    /// The list contains the indices of up to half of all items, in order. If k items survive, it begins with all
    /// holes: the rejected items among the first k.
    pub(super) fn find_holes(&mut self, kernel: &Kernel<FindHoles<W>>) -> Result<()> {
        for extent in self.extents() {
            let tiles = self.tiles();
            let mut scratch = cuda::reinterpret_mut(&mut self.scratch)?;
            let (mut befores, mut holes) = scratch.split_at_mut(tiles);
            let args = (
                self.flags.slice(..),
                self.count.slice(..),
                extent,
                befores.slice_mut(..),
                holes.slice_mut(..),
                self.selected.slice_mut(..),
                self.words.slice_mut(..),
            );
            kernel.launch(self.stream, extent.blocks(TILE_ITEMS), args)?;
        }
        Ok(())
    }

    /// Returns the number of tiles of the whole input, at least 1.
    pub(super) fn tiles(&self) -> usize {
        self.capacity.div_ceil(TILE_ITEMS as usize).max(1)
    }
}

/// The loaded kernels of a strategy, for indices or for items of one size and alignment.
#[derive(Debug)]
pub(super) enum Method<W: CountWord> {
    LookBack {
        few: Kernel<Keep<W>>,
        many: Kernel<Keep<W>>,
    },
    CountScanScatter {
        count: Kernel<CountGroups<W>>,
        scan: Kernel<ScanGroups<W>>,
        scatter: Kernel<MoveGroups<W>>,
    },
    Sequences {
        count: Kernel<CountGroups<W>>,
        scan: Kernel<ScanSequences<W>>,
        moving: Kernel<MoveGroups<W>>,
    },
    ScanScatter {
        scan: Kernel<ScanSections<W>>,
        scan_sums: Kernel<ScanGroups<W>>,
        scatter: Kernel<MoveByRank<W>>,
    },
    HoleFilling {
        find: Kernel<FindHoles<W>>,
        fill: Kernel<FillHoles<W>>,
    },
    /// A kernel of `atomic` or `off`: one launch, whose blocks do not wait for each other.
    Single(Kernel<Keep<W>>),
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
    kernel: &Kernel<Keep<W>>,
    call: &mut SelectCall<'_, W>,
    (extent, tile_items): (Extent, u32),
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    let args = (
        items.slice(..),
        call.flags.slice(..),
        call.count.slice(..),
        extent,
        out.slice_mut(..),
        call.selected.slice_mut(..),
        call.words.slice_mut(..),
    );
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
    (count, scan, moving): Passes<'_, CountGroups<W>, ScanSequences<W>, MoveGroups<W>>,
    call: &mut SelectCall<'_, W>,
    extent: Extent,
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    let sequences = sequence_count(extent.items);
    let launch = Launch::blocks(sequences / BLOCK_WARPS, BLOCK_THREADS);
    call.count_groups(count, extent, launch)?;
    let args = (
        extent,
        sequences,
        cuda::reinterpret_mut(&mut call.scratch)?,
        call.selected.slice_mut(..),
        call.words.slice_mut(..),
    );
    let scanners = Launch::blocks(sequences.div_ceil(TILE_COUNTS), BLOCK_THREADS);
    scan.launch(call.stream, scanners, args)?;
    call.move_groups(moving, (extent, launch), items, out)
}

/// Enqueues the three launches of `scan-scatter` over a range of items: they scan each section, scan the sums of the
/// sections, and write the survivors to `out`.
fn scan_scatter<W: CountWord>(
    (scan, scan_sums, scatter): Passes<'_, ScanSections<W>, ScanGroups<W>, MoveByRank<W>>,
    call: &mut SelectCall<'_, W>,
    extent: Extent,
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    let sums_begin = extent.items as usize;
    let mut scratch = cuda::reinterpret_mut(&mut call.scratch)?;
    let (mut ranks, mut sums) = scratch.split_at_mut(sums_begin);
    let args = (
        call.flags.slice(..),
        call.count.slice(..),
        extent,
        ranks.slice_mut(..),
        sums.slice_mut(..),
        call.words.slice_mut(..),
    );
    scan.launch(call.stream, extent.blocks(SECTION_ITEMS), args)?;
    call.scan_groups(scan_sums, extent, sums_begin, SECTION_ITEMS)?;
    let scratch = cuda::reinterpret(call.scratch.as_view())?;
    let args = (
        items.slice(..),
        call.flags.slice(..),
        call.count.slice(..),
        extent,
        scratch.slice(..sums_begin),
        scratch.slice(sums_begin..),
        out.slice_mut(..),
        call.words.as_view(),
    );
    scatter.launch(call.stream, extent.blocks(BLOCK_THREADS), args)
}

/// Enqueues the second launch of `hole-filling`, which writes the survivors among a range of items to `out`. If k items
/// survive in all, those among the first k keep their indices, and the others fill the holes between them.
fn fill_holes<W: CountWord>(
    kernel: &Kernel<FillHoles<W>>,
    call: &mut SelectCall<'_, W>,
    extent: Extent,
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    let (tiles, scratch) = (call.tiles(), cuda::reinterpret(call.scratch.as_view())?);
    let args = (
        items.slice(..),
        call.flags.slice(..),
        call.count.slice(..),
        extent,
        scratch.slice(..tiles),
        scratch.slice(tiles..),
        out.slice_mut(..),
        call.selected.as_view(),
    );
    kernel.launch(call.stream, extent.blocks(TILE_ITEMS), args)
}
