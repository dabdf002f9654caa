//! What the tests select from, and what must come out.

use std::fmt::Debug;

use bytemuck::bytes_of;
use compaction::{Strategy, layout::Shared, select::TILE_ITEMS};

use crate::random::Mask;

const TILE: usize = TILE_ITEMS as usize;

/// Around every border that an implementation has.
pub(crate) const SIZES: &[usize] = &[
    0,              // nothing
    1,              // less than a word of flags
    31,             // a warp, and one item around it
    32,             //
    33,             //
    127,            //
    129,            //
    255,            // what a byte counts, and a block's threads
    256,            //
    257,            //
    511,            // a row of a warp, and a block's threads
    513,            //
    1025,           // a section of scan-scatter
    TILE - 1,       // a tile
    TILE,           //
    TILE + 1,       //
    2 * TILE - 1,   // a tile of many items
    7 * TILE + 3,   // several tiles, the last with three items
    (1 << 16) - 1,  // where the CPU begins to use threads
    (1 << 16) + 1,  //
    140 * TILE + 5, // more tiles than one look back reads at once
    (1 << 20) + 3,  // many blocks on every multiprocessor
    (1 << 22) + 5,  // where tiles become longer
];

/// One case more tiles than any GPU runs at once.
pub(crate) const LARGE: usize = (1 << 24) + 3;

/// The strategies that work in place on a GPU.
pub(crate) const IN_PLACE: &[Strategy] =
    &[Strategy::LookBack, Strategy::HoleFilling, Strategy::Off];

pub(crate) const MASKS: &[Mask] = &[
    Mask::All,
    Mask::None,
    Mask::Alternating,
    Mask::Every11th,
    Mask::Random(10),
    Mask::Random(50),
    Mask::Random(90),
    Mask::Blocks,
];

/// What an item of [`items`](crate::random::items) says of its index.
fn index<T: Shared>(item: &T) -> u32 {
    let (bytes, mut word) = (bytes_of(item), [0; 4]);
    let said = bytes.len().min(word.len());
    word[..said].copy_from_slice(&bytes[..said]);
    u32::from_le_bytes(word)
}

/// Equal bits, also where a number is none.
fn same<T: Shared>(left: &T, right: &T) -> bool {
    bytes_of(left) == bytes_of(right)
}

/// Checks what a strategy wrote: `out` began as `guard` items, as many as there are flags.
pub(crate) fn check<T: Shared + Debug>(
    strategy: Strategy,
    items: &[T],
    flags: &[u8],
    (out, count): (&[T], u32),
    guard: T,
    case: &str,
) {
    let mut kept = Vec::new();
    for (item, flag) in items.iter().zip(flags) {
        if *flag != 0 {
            kept.push(*item);
        }
    }
    assert_eq!(count as usize, kept.len(), "{case}: the count");
    let count = kept.len();
    match strategy {
        Strategy::HoleFilling => {
            // The last survivor fills the first hole.
            let mut from_the_back = kept.iter().rev();
            for at in 0..count {
                let expected = if flags[at] != 0 {
                    &items[at]
                } else {
                    from_the_back.next().unwrap()
                };
                assert!(
                    same(&out[at], expected),
                    "{case}: item {at} is {:?}",
                    out[at]
                );
            }
        }
        Strategy::Off => {
            let dropped = bytemuck::pod_read_unaligned(&vec![u8::MAX; size_of::<T>()]);
            for (at, (item, flag)) in items.iter().zip(flags).enumerate() {
                let expected = if *flag != 0 { *item } else { dropped };
                assert!(
                    same(&out[at], &expected),
                    "{case}: item {at} is {:?}",
                    out[at]
                );
            }
            return;
        }
        Strategy::Atomic => check_runs(&kept, &out[..kept.len()], items.len(), case),
        _ => {
            let wrong = kept
                .iter()
                .zip(out)
                .position(|(expected, got)| !same(expected, got));
            assert!(
                wrong.is_none(),
                "{case}: item {wrong:?} of the result is wrong"
            );
        }
    }
    let touched = out[kept.len()..]
        .iter()
        .position(|item| !same(item, &guard));
    assert!(
        touched.is_none(),
        "{case}: written {touched:?} items behind the result"
    );
}

/// The kept items, cut into runs of whole tiles that come in any order.
fn check_runs<T: Shared>(kept: &[T], out: &[T], len: usize, case: &str) {
    let sorted = |items: &[T]| {
        let mut items = items.to_vec();
        items.sort_unstable_by(|left, right| {
            let by_index = index(left).cmp(&index(right));
            by_index.then_with(|| bytes_of(left).cmp(bytes_of(right)))
        });
        items
    };
    let (wanted, got) = (sorted(kept), sorted(out));
    assert!(
        wanted.len() == got.len()
            && wanted
                .iter()
                .zip(&got)
                .all(|(left, right)| same(left, right)),
        "{case}: other items than those selected"
    );
    if size_of::<T>() < size_of::<u32>() {
        return; // they do not say which is which
    }
    let tiles = out.chunk_by(|left, right| {
        index(left) / TILE_ITEMS == index(right) / TILE_ITEMS && index(left) < index(right)
    });
    assert!(
        tiles.count() <= len.div_ceil(TILE),
        "{case}: a tile is torn or out of order"
    );
}
