//! What the tests select from, and what must come out.

use std::fmt::Debug;

use compaction::{Strategy, layout::Shared, select::TILE_ITEMS};

/// Random numbers: SplitMix64, seeded, so that a failure can be repeated.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

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

#[derive(Clone, Copy, Debug)]
pub(crate) enum Mask {
    All,
    None,
    Alternating,
    Every11th,
    /// Each item by itself, this many in a hundred.
    Random(usize),
    /// Runs of one kind, 1 to 1000 items long, as neighbouring rays have them.
    Blocks,
}

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

impl Mask {
    /// Flags: any byte that is not zero says yes, and 0x80 and 0x01 are the ones that bit tricks forget.
    pub(crate) fn flags(self, len: usize, random: &mut Random) -> Vec<u8> {
        let mut run = (false, 0);
        (0..len)
            .map(|item| {
                let selected = match self {
                    Self::All => true,
                    Self::None => false,
                    Self::Alternating => item % 2 == 1,
                    Self::Every11th => item % 11 == 0,
                    Self::Random(percent) => random.below(100) < percent,
                    Self::Blocks => {
                        if run.1 == 0 {
                            run = (!run.0, 1 + random.below(1000));
                        }
                        run.1 -= 1;
                        run.0
                    }
                };
                let yes = match random.next() % 4 {
                    0 => 0x80,
                    1 => 0x01,
                    _ => 1 + (random.next() % 255) as u8,
                };
                if selected { yes } else { 0 }
            })
            .collect()
    }
}

/// Items of which no two are equal: the first word is the index, the others follow from it.
pub(crate) fn items<T: Shared>(len: usize) -> Vec<T> {
    let mut items = vec![T::zeroed(); len];
    for (index, item) in items.iter_mut().enumerate() {
        let mut random = Random(index as u64);
        let words: &mut [u32] = bytemuck::cast_slice_mut(bytemuck::bytes_of_mut(item));
        words.fill_with(|| random.next() as u32);
        words[0] = index as u32;
    }
    items
}

fn index<T: Shared>(item: &T) -> u32 {
    bytemuck::cast_slice(bytemuck::bytes_of(item))[0]
}

/// Equal bits, also where a number is none.
fn same<T: Shared>(left: &T, right: &T) -> bool {
    bytemuck::bytes_of(left) == bytemuck::bytes_of(right)
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
    let mut sorted = out.to_vec();
    sorted.sort_by_key(index);
    assert!(
        sorted.len() == kept.len()
            && sorted
                .iter()
                .zip(kept)
                .all(|(left, right)| same(left, right)),
        "{case}: other items than those selected"
    );
    let tiles = out.chunk_by(|left, right| {
        index(left) / TILE_ITEMS == index(right) / TILE_ITEMS && index(left) < index(right)
    });
    assert!(
        tiles.count() <= len.div_ceil(TILE),
        "{case}: a tile is torn or out of order"
    );
}
