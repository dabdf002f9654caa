//! The inputs of the select tests, and the expected results.

use bytemuck::bytes_of;
use compaction::{
    layout::Shared,
    select::{Strategy, TILE_ITEMS},
};

const TILE: usize = TILE_ITEMS as usize;

/// Lengths around every limit of an implementation.
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

/// A length with more tiles than any GPU runs at once.
pub(crate) const LARGE: usize = (1 << 24) + 3;

/// The strategies with an in-place variant on a GPU.
pub(crate) const IN_PLACE: &[Strategy] =
    &[Strategy::LookBack, Strategy::HoleFilling, Strategy::Off];

/// Checks a strategy's output. `out` was filled with `guard` items before the call, one per flag.
pub(crate) fn check<T: Shared>(
    strategy: Strategy,
    items: &[T],
    flags: &[u8],
    (out, count): (&[T], usize),
    guard: T,
    case: &str,
) {
    let (items, out) = (Items::of(items), Items::of(out));
    check_bytes(strategy, items, flags, (out, count), bytes_of(&guard), case);
}

/// Checks the output like [`check`], with items as bytes.
pub(crate) fn check_bytes(
    strategy: Strategy,
    items: Items<'_>,
    flags: &[u8],
    (out, count): (Items<'_>, usize),
    guard: &[u8],
    case: &str,
) {
    let kept: Vec<&[u8]> = items.flagged(flags).collect();
    assert_eq!(count, kept.len(), "{case}: the count");
    match strategy {
        Strategy::HoleFilling => {
            // The last survivor fills the first hole.
            let mut from_the_back = kept.iter().rev();
            for (at, &flag) in flags.iter().enumerate().take(count) {
                let expected = match flag {
                    0 => from_the_back.next().unwrap(),
                    _ => items.at(at),
                };
                assert!(out.at(at) == expected, "{case}: item {at} is wrong");
            }
        }
        Strategy::Off => {
            let dropped = vec![u8::MAX; items.size];
            for (at, &flag) in flags.iter().enumerate() {
                let expected = if flag != 0 { items.at(at) } else { &dropped };
                assert!(out.at(at) == expected, "{case}: item {at} is wrong");
            }
            return;
        }
        Strategy::Atomic => check_runs(&kept, out, flags.len(), case),
        _ => {
            let wrong = kept
                .iter()
                .zip(0..)
                .find(|(item, at)| out.at(*at) != **item);
            assert!(
                wrong.is_none(),
                "{case}: item {:?} is wrong",
                wrong.unzip().1
            );
        }
    }
    let touched = (count..flags.len()).find(|&at| out.at(at) != guard);
    assert!(
        touched.is_none(),
        "{case}: item {touched:?} behind the result is overwritten"
    );
}

/// A view of items as bytes, so that the checks are compiled only once.
#[derive(Clone, Copy)]
pub(crate) struct Items<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) size: usize,
}

impl<'a> Items<'a> {
    fn of<T: Shared>(items: &'a [T]) -> Self {
        Self {
            bytes: bytemuck::cast_slice(items),
            size: size_of::<T>(),
        }
    }

    fn at(self, index: usize) -> &'a [u8] {
        &self.bytes[index * self.size..][..self.size]
    }

    fn flagged(self, flags: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let flagged = self.bytes.chunks(self.size).zip(flags);
        flagged
            .filter(|(_, flag)| **flag != 0)
            .map(|(item, _)| item)
    }
}

/// Returns the index that an item of [`items`](crate::random::items) contains.
fn index(item: &[u8]) -> u32 {
    let mut word = [0; 4];
    let known_bytes = item.len().min(word.len());
    word[..known_bytes].copy_from_slice(&item[..known_bytes]);
    u32::from_le_bytes(word)
}

/// Checks that the output consists of the selected items, in runs of whole tiles in any order.
fn check_runs(kept: &[&[u8]], out: Items<'_>, len: usize, case: &str) {
    let got: Vec<&[u8]> = (0..kept.len()).map(|at| out.at(at)).collect();
    let mut sorted = [kept.to_vec(), got.clone()];
    for items in &mut sorted {
        items.sort_unstable_by(|left, right| (index(left), left).cmp(&(index(right), right)));
    }
    assert!(
        sorted[0] == sorted[1],
        "{case}: the output contains other items than those selected"
    );
    if out.size < size_of::<u32>() {
        return; // such items do not contain their whole index
    }
    let tiles = got.chunk_by(|left, right| {
        index(left) / TILE_ITEMS == index(right) / TILE_ITEMS && index(left) < index(right)
    });
    assert!(
        tiles.count() <= len.div_ceil(TILE),
        "{case}: a tile is split or out of order"
    );
}
