//! Random numbers, masks and items shared by the tests.

use compaction::layout::Shared;

/// The SplitMix64 generator with a fixed seed, so that failures are reproducible.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// Returns a number in `0..bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// The distribution of the selected items.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every test program draws masks of each kind")]
pub(crate) enum Mask {
    All,
    None,
    Alternating,
    Every11th,
    /// Items drawn independently, with this probability in percent.
    Random(usize),
    /// Alternating runs of 1 to 1000 items, as neighbouring rays produce them.
    Blocks,
}

/// Masks of every kind: all, none, regular, sparse, dense and clustered.
#[allow(dead_code, reason = "not every test program draws masks")]
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
    /// Returns flags for the mask, of which any nonzero byte selects. 0x80 and 0x01 occur often, because bit tricks
    /// tend to miss them.
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

/// Asserts that two buffers hold the same bytes, as far as both reach.
#[allow(dead_code, reason = "not every test program moves items")]
pub(crate) fn assert_equal_bytes<'a, T: Shared>(
    expected: impl IntoIterator<Item = &'a T>,
    got: &'a [T],
    case: &str,
) {
    let wrong = expected
        .into_iter()
        .zip(got)
        .position(|(left, right)| bytemuck::bytes_of(left) != bytemuck::bytes_of(right));
    assert!(wrong.is_none(), "{case}: item {wrong:?} is wrong");
}

/// Returns items that all differ, if they have at least 4 bytes. The first 4 bytes are the index, and the others derive
/// from it.
#[allow(dead_code, reason = "not every test program moves items")]
pub(crate) fn items<T: Shared>(len: usize) -> Vec<T> {
    let mut items = vec![T::zeroed(); len];
    fill(bytemuck::cast_slice_mut(&mut items), size_of::<T>());
    items
}

/// Fills a buffer with the bytes of [`items`] of this size.
pub(crate) fn fill(items: &mut [u8], size: usize) {
    for (index, item) in items.chunks_mut(size).enumerate() {
        let mut random = Random(index as u64);
        for (place, word) in item.chunks_mut(size_of::<u32>()).enumerate() {
            let bits = random.next() as u32;
            let value = if place == 0 { index as u32 } else { bits };
            word.copy_from_slice(&value.to_le_bytes()[..word.len()]);
        }
    }
}
