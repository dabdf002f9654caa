//! The parameters of the kernels of stream compaction.

use super::BLOCK_THREADS;
use crate::{
    CountWord,
    arguments::ItemCount,
    cuda::{In, InOut, Launch, kernel_params},
};

kernel_params! {
    /// The parameters of the kernels whose names end in `_look_back`, `_atomic` or `_off`, with items and output as
    /// bytes. `count` is the number of all items, if the [`Extent`] does not state it.
    pub(super) struct Keep<'a, W: CountWord> {
        items: In<u8>,
        flags: In<u8>,
        count: In<W>,
        extent: Extent,
        out: InOut<u8>,
        selected: InOut<W>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernels `select_count_blocks` and `select_count_sequences`, which write the number of
    /// survivors of each block or warp to `counts`.
    pub(super) struct CountGroups<'a, W: CountWord> {
        flags: In<u8>,
        count: In<W>,
        extent: Extent,
        counts: InOut<u32>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernels `select_scan_blocks` and `select_scan_sums`, which replace each count in `counts`
    /// by the sum of the counts before it.
    pub(super) struct ScanGroups<'a, W: CountWord> {
        count: In<W>,
        extent: Extent,
        counts: InOut<u32>,
        selected: InOut<W>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `select_scan_sequences`, which replaces each of `sequences` counts by the sum of
    /// the counts before it.
    pub(super) struct ScanSequences<'a, W: CountWord> {
        extent: Extent,
        sequences: u32,
        counts: InOut<u32>,
        selected: InOut<W>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernels `select_scatter_indices`, `select_scatter_items`, `select_move_indices` and
    /// `select_move_items`. `begins` holds, for each block or warp, the number of survivors of the launch before it,
    /// and `workspace` the number of survivors of earlier launches.
    pub(super) struct MoveGroups<'a, W: CountWord> {
        items: In<u8>,
        flags: In<u8>,
        count: In<W>,
        extent: Extent,
        begins: In<u32>,
        out: InOut<u8>,
        workspace: In<u64>,
    }

    /// The parameters of the kernel `select_scan_sections`, which writes each item's rank in its section, and each
    /// section's number of survivors.
    pub(super) struct ScanSections<'a, W: CountWord> {
        flags: In<u8>,
        count: In<W>,
        extent: Extent,
        ranks: InOut<u32>,
        sums: InOut<u32>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernels `select_scatter_indices_by_rank` and `select_scatter_items_by_rank`. An output
    /// index is the item's rank plus its section's offset in `sums` plus the number of survivors of earlier launches in
    /// `workspace`.
    pub(super) struct MoveByRank<'a, W: CountWord> {
        items: In<u8>,
        flags: In<u8>,
        count: In<W>,
        extent: Extent,
        ranks: In<u32>,
        sums: In<u32>,
        out: InOut<u8>,
        workspace: In<u64>,
    }

    /// The parameters of the kernel `select_find_holes`, which writes the number of survivors before each tile to
    /// `befores`, and the indices of rejected items to `holes`.
    pub(super) struct FindHoles<'a, W: CountWord> {
        flags: In<u8>,
        count: In<W>,
        extent: Extent,
        befores: InOut<W>,
        holes: InOut<W>,
        selected: InOut<W>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernels `select_fill_holes_with_indices` and `select_fill_holes_with_items`.
    /// `select_find_holes` has written `befores` and `holes`.
    pub(super) struct FillHoles<'a, W: CountWord> {
        items: In<u8>,
        flags: In<u8>,
        count: In<W>,
        extent: Extent,
        befores: In<W>,
        holes: In<W>,
        out: InOut<u8>,
        selected: In<W>,
    }

    /// The parameters of the kernel `select_fill_holes_in_place`. `select_find_holes` has written `befores` and
    /// `holes`.
    pub(super) struct FillHolesInPlace<'a, W: CountWord> {
        items: InOut<u8>,
        flags: In<u8>,
        count: In<W>,
        extent: Extent,
        befores: In<W>,
        holes: In<W>,
        selected: In<W>,
    }
}

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
    /// Yields the ranges of the launches of a call, each of at most `portion` items. Without items there is one empty
    /// range. `room` is the length of the output in items.
    pub(super) fn all(
        item_count: &ItemCount<'_>,
        portion: u32,
        room: usize,
    ) -> impl Iterator<Item = Self> + Clone + use<> {
        let (capacity, is_given) = (item_count.capacity, item_count.is_given());
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
