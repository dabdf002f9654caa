//! Random numbers, masks and items shared by the tests.

use compaction::layout::Shared;
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

/// The generator of the tests. rand promises the same numbers on every platform and in every release.
pub(crate) type Random = Xoshiro256PlusPlus;

/// Creates a generator with a fixed seed, so that failures are reproducible.
pub(crate) fn seeded(seed: u64) -> Random {
    Random::seed_from_u64(seed)
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
                    Self::Random(percent) => random.random_range(0..100) < percent,
                    Self::Blocks => {
                        if run.1 == 0 {
                            run = (!run.0, 1 + random.random_range(0..1000));
                        }
                        run.1 -= 1;
                        run.0
                    }
                };
                let yes = match random.random_range(0..4) {
                    0 => 0x80,
                    1 => 0x01,
                    _ => random.random_range(1..=u8::MAX),
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
        let mut random = seeded(index as u64);
        for (place, word) in item.chunks_mut(size_of::<u32>()).enumerate() {
            let bits: u32 = random.random();
            let value = if place == 0 { index as u32 } else { bits };
            word.copy_from_slice(&value.to_le_bytes()[..word.len()]);
        }
    }
}
