//! Random inputs.

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

/// Returns random numbers below a bound, from a fixed seed.
pub(crate) fn random(items: usize, bound: u32) -> Vec<u32> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    (0..items).map(|_| random.random_range(0..bound)).collect()
}

/// Returns flags of which a share in percent is 1.
pub(crate) fn flags(items: usize, percent: u32) -> Vec<u8> {
    random(items, 100)
        .into_iter()
        .map(|number| u8::from(number < percent))
        .collect()
}

/// Returns the number of flags that are 1.
pub(crate) fn sum(flags: &[u8]) -> usize {
    flags.iter().map(|&flag| usize::from(flag)).sum()
}
