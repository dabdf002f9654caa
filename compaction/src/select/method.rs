//! The kernels of each strategy, and their launches.

use std::sync::Arc;

use cudarc::driver::{CudaStream, CudaView, CudaViewMut};

use super::{BLOCK_THREADS, MOST_SEQUENCES, SECTION_ITEMS, TILE_ITEMS, check_item};
use crate::{
    Result, Strategy,
    cuda::{In, InOut, Kernel, Launch, Module, Source},
    layout::Shared,
    look_back,
};

/// From this many items on, a block takes a tile of twice the length.
const MANY_ITEMS: u32 = 1 << 22;
/// Bytes that a thread copies at once at most.
const WIDEST_VECTOR: usize = 16;
/// Counts that a block scans.
const TILE_COUNTS: u32 = 8 * BLOCK_THREADS;

/// `(items, flags, count, capacity, is_given, out, selected, workspace)`, items and what goes out in bytes
type Keep = (
    In<u8>,
    In<u8>,
    In<u32>,
    u32,
    u32,
    InOut<u8>,
    InOut<u32>,
    InOut<u64>,
);
/// `(flags, count, capacity, is_given, counts, workspace)`
type CountGroups = (In<u8>, In<u32>, u32, u32, InOut<u32>, InOut<u64>);
/// `(count, capacity, is_given, counts, selected, workspace)`
type ScanGroups = (In<u32>, u32, u32, InOut<u32>, InOut<u32>, InOut<u64>);
/// `(sequences, counts, selected, workspace)`
type ScanSequences = (u32, InOut<u32>, InOut<u32>, InOut<u64>);
/// `(items, flags, count, capacity, is_given, begins, out)`
type MoveGroups = (In<u8>, In<u8>, In<u32>, u32, u32, In<u32>, InOut<u8>);
/// `(flags, count, capacity, is_given, ranks, sums, workspace)`
type ScanSections = (
    In<u8>,
    In<u32>,
    u32,
    u32,
    InOut<u32>,
    InOut<u32>,
    InOut<u64>,
);
/// `(items, flags, count, capacity, is_given, ranks, sums, out)`
type MoveByRank = (
    In<u8>,
    In<u8>,
    In<u32>,
    u32,
    u32,
    In<u32>,
    In<u32>,
    InOut<u8>,
);
/// `(flags, count, capacity, is_given, befores, holes, selected, workspace)`
pub(super) type FindHoles = (
    In<u8>,
    In<u32>,
    u32,
    u32,
    InOut<u32>,
    InOut<u32>,
    InOut<u32>,
    InOut<u64>,
);
/// `(items, flags, count, capacity, is_given, befores, holes, out, selected)`
type FillHoles = (
    In<u8>,
    In<u8>,
    In<u32>,
    u32,
    u32,
    In<u32>,
    In<u32>,
    InOut<u8>,
    In<u32>,
);
/// `(items, flags, count, capacity, is_given, befores, holes, selected)`
pub(super) type FillHolesInPlace = (
    InOut<u8>,
    In<u8>,
    In<u32>,
    u32,
    u32,
    In<u32>,
    In<u32>,
    In<u32>,
);

/// What is selected.
#[derive(Clone, Copy)]
pub(super) enum What {
    Indices,
    Items,
}

impl What {
    fn name(self, indices: &'static str, items: &'static str) -> &'static str {
        match self {
            Self::Indices => indices,
            Self::Items => items,
        }
    }
}

macro_rules! file {
    ($name:literal) => {
        Source::new(
            concat!("compaction/kernels/", $name),
            include_str!(concat!("../../kernels/", $name)),
        )
    };
}

/// A kernel file with what all of them take, for items of `T`'s size and alignment.
pub(super) fn with_constants<T: Shared>(source: Source) -> Source {
    const { check_item::<T>() };
    let source = source.constant("BLOCK_THREADS", BLOCK_THREADS);
    look_back::declare(item_constants::<T>(source))
}

/// What kernels that copy items have to know of them.
pub(crate) fn item_constants<T>(source: Source) -> Source {
    source
        .constant("ITEM_BYTES", size_of::<T>() as u32)
        .constant("ITEM_ALIGN", align_of::<T>().min(WIDEST_VECTOR) as u32)
}

/// The kernel file of a strategy, for indices and items of `T`'s size and alignment.
pub(super) fn source<T: Shared>(strategy: Strategy) -> Source {
    match strategy {
        Strategy::LookBack | Strategy::Atomic | Strategy::Off => {
            with_constants::<T>(file!("select.cu"))
                .kernel::<Keep>("select_indices_look_back")
                .kernel::<Keep>("select_items_look_back")
                .kernel::<Keep>("select_many_indices_look_back")
                .kernel::<Keep>("select_many_items_look_back")
                .kernel::<Keep>("select_indices_atomic")
                .kernel::<Keep>("select_items_atomic")
                .kernel::<Keep>("select_indices_off")
                .kernel::<Keep>("select_items_off")
        }
        Strategy::CountScanScatter => with_constants::<T>(file!("select_count_scan_scatter.cu"))
            .kernel::<CountGroups>("select_count_blocks")
            .kernel::<ScanGroups>("select_scan_blocks")
            .kernel::<MoveGroups>("select_scatter_indices")
            .kernel::<MoveGroups>("select_scatter_items"),
        Strategy::Sequences => with_constants::<T>(file!("select_sequences.cu"))
            .kernel::<CountGroups>("select_count_sequences")
            .kernel::<ScanSequences>("select_scan_sequences")
            .kernel::<MoveGroups>("select_move_indices")
            .kernel::<MoveGroups>("select_move_items"),
        Strategy::ScanScatter => with_constants::<T>(file!("select_scan_scatter.cu"))
            .kernel::<ScanSections>("select_scan_sections")
            .kernel::<ScanGroups>("select_scan_sums")
            .kernel::<MoveByRank>("select_scatter_indices_by_rank")
            .kernel::<MoveByRank>("select_scatter_items_by_rank"),
        Strategy::HoleFilling => with_constants::<T>(file!("select_hole_filling.cu"))
            .kernel::<FindHoles>("select_find_holes")
            .kernel::<FillHoles>("select_fill_holes_with_indices")
            .kernel::<FillHoles>("select_fill_holes_with_items")
            .kernel::<FillHolesInPlace>("select_fill_holes_in_place"),
    }
}

/// What every launch of a call is told.
pub(super) struct Call<'a> {
    pub(super) stream: &'a Arc<CudaStream>,
    pub(super) flags: CudaView<'a, u8>,
    pub(super) count: CudaView<'a, u32>,
    pub(super) is_given: u32,
    pub(super) capacity: u32,
    pub(super) selected: CudaViewMut<'a, u32>,
    pub(super) words: CudaViewMut<'a, u64>,
    pub(super) scratch: CudaViewMut<'a, u32>,
}

impl Call<'_> {
    /// A block for every so many items that there may be, and one to say that there is none.
    pub(super) fn blocks(&self, items: u32) -> Launch {
        Launch::blocks(self.capacity.div_ceil(items).max(1), BLOCK_THREADS)
    }

    fn count_groups(&mut self, kernel: &Kernel<CountGroups>, launch: Launch) -> Result<()> {
        let args = (
            self.flags.slice(..),
            self.count.slice(..),
            self.capacity,
            self.is_given,
            self.scratch.slice_mut(..),
            self.words.slice_mut(..),
        );
        kernel.launch(self.stream, launch, args)
    }

    /// Scans the counts from the word `first` of the scratch on, one for `group_items` items.
    fn scan_groups(
        &mut self,
        kernel: &Kernel<ScanGroups>,
        first: usize,
        group_items: u32,
    ) -> Result<()> {
        let groups = self.capacity.div_ceil(group_items);
        let args = (
            self.count.slice(..),
            self.capacity,
            self.is_given,
            self.scratch.slice_mut(first..),
            self.selected.slice_mut(..),
            self.words.slice_mut(..),
        );
        let blocks = groups.div_ceil(TILE_COUNTS).max(1);
        kernel.launch(self.stream, Launch::blocks(blocks, BLOCK_THREADS), args)
    }

    fn move_groups(
        &mut self,
        kernel: &Kernel<MoveGroups>,
        launch: Launch,
        items: &CudaView<'_, u8>,
        out: &mut CudaViewMut<'_, u8>,
    ) -> Result<()> {
        let args = (
            items.slice(..),
            self.flags.slice(..),
            self.count.slice(..),
            self.capacity,
            self.is_given,
            self.scratch.slice(..),
            out.slice_mut(..),
        );
        kernel.launch(self.stream, launch, args)
    }

    /// Where the holes begin in the scratch, behind the tiles' counts.
    pub(super) fn holes(&self) -> usize {
        self.capacity.div_ceil(TILE_ITEMS) as usize
    }

    pub(super) fn find_holes(&mut self, kernel: &Kernel<FindHoles>) -> Result<()> {
        let launch = self.blocks(TILE_ITEMS);
        let holes = self.holes();
        let (mut befores, mut holes) = self.scratch.split_at_mut(holes);
        let args = (
            self.flags.slice(..),
            self.count.slice(..),
            self.capacity,
            self.is_given,
            befores.slice_mut(..),
            holes.slice_mut(..),
            self.selected.slice_mut(..),
            self.words.slice_mut(..),
        );
        kernel.launch(self.stream, launch, args)
    }
}

/// The loaded kernels of a strategy, for indices or for items of one layout.
#[derive(Debug)]
pub(super) enum Method {
    LookBack {
        few: Kernel<Keep>,
        many: Kernel<Keep>,
    },
    CountScanScatter {
        count: Kernel<CountGroups>,
        scan: Kernel<ScanGroups>,
        scatter: Kernel<MoveGroups>,
    },
    Sequences {
        count: Kernel<CountGroups>,
        scan: Kernel<ScanSequences>,
        moving: Kernel<MoveGroups>,
    },
    ScanScatter {
        scan: Kernel<ScanSections>,
        scan_sums: Kernel<ScanGroups>,
        scatter: Kernel<MoveByRank>,
    },
    HoleFilling {
        find: Kernel<FindHoles>,
        fill: Kernel<FillHoles>,
    },
    /// A kernel whose blocks do not wait for each other.
    Single(Kernel<Keep>),
}

impl Method {
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

    /// Puts the strategy's launches onto the stream.
    pub(super) fn launch(
        &self,
        mut call: Call<'_>,
        items: &CudaView<'_, u8>,
        out: &mut CudaViewMut<'_, u8>,
    ) -> Result<()> {
        match self {
            Self::LookBack { many, .. } if call.capacity >= MANY_ITEMS => {
                single(many, &mut call, 2 * TILE_ITEMS, items, out)
            }
            Self::LookBack { few: kernel, .. } | Self::Single(kernel) => {
                single(kernel, &mut call, TILE_ITEMS, items, out)
            }
            Self::CountScanScatter {
                count,
                scan,
                scatter,
            } => {
                call.count_groups(count, call.blocks(BLOCK_THREADS))?;
                call.scan_groups(scan, 0, BLOCK_THREADS)?;
                call.move_groups(scatter, call.blocks(BLOCK_THREADS), items, out)
            }
            Self::Sequences {
                count,
                scan,
                moving,
            } => sequences((count, scan, moving), &mut call, items, out),
            Self::ScanScatter {
                scan,
                scan_sums,
                scatter,
            } => scan_scatter((scan, scan_sums, scatter), &mut call, items, out),
            Self::HoleFilling { find, fill } => {
                call.find_holes(find)?;
                fill_holes(fill, &mut call, items, out)
            }
        }
    }
}

fn single(
    kernel: &Kernel<Keep>,
    call: &mut Call<'_>,
    tile_items: u32,
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    let launch = call.blocks(tile_items);
    let args = (
        items.slice(..),
        call.flags.slice(..),
        call.count.slice(..),
        call.capacity,
        call.is_given,
        out.slice_mut(..),
        call.selected.slice_mut(..),
        call.words.slice_mut(..),
    );
    kernel.launch(call.stream, launch, args)
}

fn sequences(
    (count, scan, moving): (
        &Kernel<CountGroups>,
        &Kernel<ScanSequences>,
        &Kernel<MoveGroups>,
    ),
    call: &mut Call<'_>,
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    // No more warps than there are rows of 512 items; a block has 16 warps, and so many rows are a tile.
    let warps = BLOCK_THREADS / 32;
    let blocks = call
        .capacity
        .div_ceil(TILE_ITEMS)
        .clamp(1, MOST_SEQUENCES / warps);
    let launch = Launch::blocks(blocks, BLOCK_THREADS);
    call.count_groups(count, launch)?;
    let sequences = blocks * warps;
    let args = (
        sequences,
        call.scratch.slice_mut(..),
        call.selected.slice_mut(..),
        call.words.slice_mut(..),
    );
    let scanners = Launch::blocks(sequences.div_ceil(TILE_COUNTS), BLOCK_THREADS);
    scan.launch(call.stream, scanners, args)?;
    call.move_groups(moving, launch, items, out)
}

fn scan_scatter(
    (scan, scan_sums, scatter): (
        &Kernel<ScanSections>,
        &Kernel<ScanGroups>,
        &Kernel<MoveByRank>,
    ),
    call: &mut Call<'_>,
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    let sections = call.blocks(SECTION_ITEMS);
    let sums_begin = call.capacity as usize;
    let (mut ranks, mut sums) = call.scratch.split_at_mut(sums_begin);
    let args = (
        call.flags.slice(..),
        call.count.slice(..),
        call.capacity,
        call.is_given,
        ranks.slice_mut(..),
        sums.slice_mut(..),
        call.words.slice_mut(..),
    );
    scan.launch(call.stream, sections, args)?;
    call.scan_groups(scan_sums, sums_begin, SECTION_ITEMS)?;
    let args = (
        items.slice(..),
        call.flags.slice(..),
        call.count.slice(..),
        call.capacity,
        call.is_given,
        call.scratch.slice(..sums_begin),
        call.scratch.slice(sums_begin..),
        out.slice_mut(..),
    );
    scatter.launch(call.stream, call.blocks(BLOCK_THREADS), args)
}

fn fill_holes(
    kernel: &Kernel<FillHoles>,
    call: &mut Call<'_>,
    items: &CudaView<'_, u8>,
    out: &mut CudaViewMut<'_, u8>,
) -> Result<()> {
    let holes = call.holes();
    let args = (
        items.slice(..),
        call.flags.slice(..),
        call.count.slice(..),
        call.capacity,
        call.is_given,
        call.scratch.slice(..holes),
        call.scratch.slice(holes..),
        out.slice_mut(..),
        call.selected.slice(..),
    );
    kernel.launch(call.stream, call.blocks(TILE_ITEMS), args)
}
