//! The definitions that the kernel files of runs share.

use std::alloc::Layout;

use cudarc::driver::CudaViewMut;

use super::{Item, Operator, Workspace};
use crate::policies::tiles::MAX_STAGED_BYTES;
use crate::{
    Count, CountWord, Movable, Result,
    arguments::{ArgumentNames, ItemCount, check_room, check_workspace, is_wide},
    cuda::{Launch, Source},
    custom::CustomOperator,
    layout::Shared,
    monoid::operator_header,
    select::{check_item, item_layout},
    tiles::{self, BLOCK_THREADS, rows},
};

/// The widest vector that one instruction copies, in bytes.
const WIDEST_VECTOR: usize = 16;

/// The values that a kernel combines.
pub(super) enum Values {
    /// The kernel combines nothing.
    None,
    /// Numbers, by an operator of this crate.
    Numbers,
    /// Values of the user's, by an operator that may need many registers.
    Custom,
}

/// Adds to a kernel source the definitions that `runs.cuh` needs, for tiles in which each warp has `rows` rows.
/// `item_bytes` is the size of what a thread holds in registers and stages, for each item, including values.
pub(super) fn of_keys<W: CountWord>(
    source: Source,
    keys: Layout,
    (item_bytes, values): (usize, Values),
    rows: usize,
) -> Source {
    // As many as the registers permit.
    let resident = match (rows * item_bytes, values) {
        (33.., _) => 1,
        (_, Values::Custom) => 2,
        (_, Values::Numbers) if is_wide::<W>() => 2,
        (_, Values::Numbers) if item_bytes > 8 => 3,
        _ => 4,
    };
    tiles::declare::<W>(source, rows, resident)
        .constant("KEY_BYTES", keys.size() as u32)
        .constant("KEY_ALIGN", keys.align().min(WIDEST_VECTOR) as u32)
        .constant("STAGED", u32::from(item_bytes <= MAX_STAGED_BYTES))
}

/// Adds to a kernel file for keys of type `K` with values its definitions and a known operator.
pub(super) fn by_known<K: Movable, V: Item, W: CountWord>(
    file: Source,
    operator: Operator,
) -> Source {
    operator_header::<V>(of_pairs::<K, V, W>(file, Values::Numbers), operator)
}

/// Adds to a kernel file for keys of type `K` with values its definitions and an operator of the user's.
pub(super) fn by_custom<K: Movable, V: Shared, W: CountWord>(
    file: Source,
    operator: &CustomOperator<V>,
) -> Result<Source> {
    const { check_item::<V>() };
    operator.declare::<V>(of_pairs::<K, V, W>(file, Values::Custom))
}

fn of_pairs<K: Movable, V: Shared, W: CountWord>(file: Source, values: Values) -> Source {
    let keys = item_layout::<K>();
    let bytes = keys.size() + size_of::<V>();
    of_keys::<W>(file, keys, (bytes, values), rows(bytes))
}

/// The checked item count of a call.
pub(super) struct Checked<'a> {
    pub(super) item_count: ItemCount<'a>,
    /// The header and the tile states of the workspace.
    pub(super) words: CudaViewMut<'a, u64>,
    pub(super) launch: Launch,
}

/// Checks the item count, the room of the outputs and the workspace of a call on `keys` keys, for a kernel whose tiles
/// have `tile_items` items.
pub(super) fn check<'a, K, V, W: CountWord>(
    names: &ArgumentNames,
    keys: usize,
    count: Count<'a, W>,
    room: usize,
    tile_items: usize,
    workspace: &'a mut Workspace<K, V>,
) -> Result<Checked<'a>> {
    let item_count = ItemCount::new(names, keys, count, &workspace.dummy_count)?;
    check_room(names.output, room, item_count.capacity)?;
    let what = || names.input.to_owned();
    check_workspace(what, workspace.capacity, item_count.capacity)?;
    // There is at least one block, because it writes the number of runs.
    let blocks = item_count.capacity.div_ceil(tile_items).max(1);
    Ok(Checked {
        item_count,
        words: workspace.states.words.as_view_mut(),
        launch: Launch::blocks(blocks as u32, BLOCK_THREADS as u32),
    })
}
