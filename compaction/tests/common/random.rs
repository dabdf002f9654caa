//! Random numbers, masks and items that tests share.

use compaction::layout::Shared;

/// SplitMix64, seeded, so that a failure can be repeated.
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

#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every test program draws masks of each kind")]
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

impl Mask {
    /// Flags: any byte that is not zero says yes, and 0x80 and 0x01 are the ones that bit tricks forget.
    #[allow(dead_code, reason = "not every test program draws masks")]
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

/// Items of which no two are equal, if they are no shorter than a word: the first word is the index, the others follow
/// from it.
#[allow(dead_code, reason = "not every test program moves items")]
pub(crate) fn items<T: Shared>(len: usize) -> Vec<T> {
    let mut items = vec![T::zeroed(); len];
    fill(bytemuck::cast_slice_mut(&mut items), size_of::<T>());
    items
}

fn fill(items: &mut [u8], size: usize) {
    for (index, item) in items.chunks_mut(size).enumerate() {
        let mut random = Random(index as u64);
        for (place, word) in item.chunks_mut(size_of::<u32>()).enumerate() {
            let bits = random.next() as u32;
            let value = if place == 0 { index as u32 } else { bits };
            word.copy_from_slice(&value.to_le_bytes()[..word.len()]);
        }
    }
}
