//! The film: sums of samples in fixed point. Twin: `kernels/shared/film.cuh`.
//!
//! Integers add up to the same whatever the order, so the film's bits do not depend on who adds first.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use glam::Vec3;
use xxhash_rust::xxh3::Xxh3;

/// A radiance of 1 on the film.
pub const SCALE: f32 = 4_294_967_296.0;
/// Samples from here on, in any channel, are rejected: the film has room for many more, but not for any number.
pub const TOO_BRIGHT: f32 = 16_777_216.0;

/// Whether a sample can go onto the film: finite, not negative, not too bright.
#[inline]
pub fn is_exposable(sample: Vec3) -> bool {
    let good = |value: f32| (0.0..TOO_BRIGHT).contains(&value);
    good(sample.x) && good(sample.y) && good(sample.z)
}

/// A channel of a sample in the film's units. `SCALE` is a power of two: only bits below the film's last are lost.
#[inline]
pub fn fixed_point(value: f32) -> u64 {
    (value * SCALE) as u64
}

/// Mean of a pixel's channel over its samples; 0 before the first.
#[inline]
pub fn mean(sum: u64, samples: u32) -> f32 {
    if samples == 0 {
        return 0.0;
    }
    (sum as f64 / (f64::from(SCALE) * f64::from(samples))) as f32
}

/// Samples that a pixel has after the first `done` (pixel, sample) pairs.
#[inline]
pub fn samples_of(pixel: u32, pixel_count: u32, done: u64) -> u32 {
    let (full, rest) = (done / u64::from(pixel_count), done % u64::from(pixel_count));
    full as u32 + u32::from(u64::from(pixel) < rest)
}

/// A film's sums, three channels a pixel, and how many samples it rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposed {
    /// Rows from the top.
    pub sums: Vec<u64>,
    /// Samples that were not exposable.
    pub rejected: u64,
}

/// A film in this machine's memory, shared by the threads that expose it.
pub struct Film {
    /// Three channels a pixel, rows from the top.
    pub sums: Vec<AtomicU64>,
    /// Samples that were not exposable.
    pub rejected: AtomicU64,
    /// Samples of each pixel, where pixels get samples until they are good.
    taken: OnceLock<Vec<AtomicU32>>,
}

impl Film {
    /// A black film.
    pub fn new(pixel_count: u32) -> Film {
        let sums = (0..3 * pixel_count as usize)
            .map(|_| AtomicU64::new(0))
            .collect();
        Film {
            sums,
            rejected: AtomicU64::new(0),
            taken: OnceLock::new(),
        }
    }

    /// A film with this on it.
    pub fn of(exposed: &Exposed) -> Film {
        Film {
            sums: exposed
                .sums
                .iter()
                .map(|&sum| AtomicU64::new(sum))
                .collect(),
            rejected: AtomicU64::new(exposed.rejected),
            taken: OnceLock::new(),
        }
    }

    /// Counts the samples of each pixel from now on, each of which has so many; unless it does so already.
    pub(crate) fn count_from(&self, taken: impl Iterator<Item = u32>) {
        self.taken
            .get_or_init(|| taken.map(AtomicU32::new).collect());
    }

    /// Samples of each pixel, where they are counted.
    pub(crate) fn taken(&self) -> Option<&[AtomicU32]> {
        self.taken.get().map(Vec::as_slice)
    }

    /// Adds one sample to its pixel.
    pub fn expose(&self, pixel: u32, sample: Vec3) {
        if let Some(taken) = self.taken() {
            taken[pixel as usize].fetch_add(1, Relaxed);
        }
        if !is_exposable(sample) {
            self.rejected.fetch_add(1, Relaxed);
            return;
        }
        let first = 3 * pixel as usize;
        for (sum, value) in self.sums[first..first + 3].iter().zip(sample.to_array()) {
            sum.fetch_add(fixed_point(value), Relaxed);
        }
    }

    /// What is on it.
    pub fn exposed(&self) -> Exposed {
        let sums = self.sums.iter().map(|sum| sum.load(Relaxed)).collect();
        Exposed {
            sums,
            rejected: self.rejected.load(Relaxed),
        }
    }
}

/// Hash of a film's size and integers, 32 hexadecimal digits (XXH3, 128 bits).
pub fn film_hash(width: u32, height: u32, sums: &[u64]) -> String {
    let mut hash = Xxh3::new();
    hash.update(&width.to_le_bytes());
    hash.update(&height.to_le_bytes());
    for some in sums.chunks(1 << 12) {
        let bytes: Vec<u8> = some.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        hash.update(&bytes);
    }
    format!("{:032x}", hash.digest128())
}
