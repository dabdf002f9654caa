//! The film: sums of samples in fixed point, and the `picture` that it becomes. Twin: `kernels/shared/film.cuh`.
//!
//! Integer addition is associative, so the film's bits do not depend on the order in which samples are added. Samples are
//! rounded up or down at random, with the right mean, so that light far below one unit of the film is not lost.

pub mod picture;

use std::sync::{
    Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use glam::Vec3;
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use crate::{
    sampler::{hash, unit},
    scene::memory::{self, MemoryError},
};

/// Scale of the film's fixed-point sums: a radiance of 1 is 2³² units.
pub const SCALE: f32 = 4_294_967_296.0;
pub use crate::scene::limits::SAMPLE_LIMIT;
/// Real numbers that kernels use under the same names.
pub(crate) const NUMBERS: &[(&str, f32)] = named![SCALE, SAMPLE_LIMIT];

/// Returns whether the film accepts a sample: every channel is at least 0 and below [`SAMPLE_LIMIT`], and none is NaN.
#[inline]
pub fn is_valid_sample(sample: Vec3) -> bool {
    let good = |value: f32| (0.0..SAMPLE_LIMIT).contains(&value);
    good(sample.x) && good(sample.y) && good(sample.z)
}

/// Converts one channel of an accepted sample to fixed point. `SCALE` is a power of two, so only bits below one unit
/// are lost.
#[inline]
pub fn fixed_point(value: f32) -> u64 {
    (value * SCALE) as u64
}

/// Returns the bits that decide how a sample of a pixel is rounded, see [`rounded_sample`]. Those of successive samples
/// are multiples of the golden ratio, so that their errors cancel.
#[inline]
pub fn rounding_bits(pixel: u32, sample: u32) -> u32 {
    hash(pixel).wrapping_add(sample.wrapping_mul(0x9e37_79b9))
}

/// Converts one channel of an accepted sample to fixed point like [`fixed_point`], and adds one unit with the lost
/// fraction as its probability.
#[inline]
pub fn rounded_sample(value: f32, rounding_bits: u32) -> u64 {
    let whole = fixed_point(value);
    // Exact: a value of 2^24 units or more has no fraction.
    let fraction = value * SCALE - whole as f32;
    whole + u64::from(fraction > unit(rounding_bits))
}

/// Returns the mean radiance of one channel of a pixel, from its fixed-point sum and number of samples; 0 without
/// samples.
#[inline]
pub fn mean(sum: u64, samples: u32) -> f32 {
    if samples == 0 {
        return 0.0;
    }
    (sum as f64 / (f64::from(SCALE) * f64::from(samples))) as f32
}

/// Returns the number of samples that a pixel has after the first `done` (pixel, sample) pairs, in the order of
/// [`Span`](crate::path::Span): all pixels get one sample before any gets the next.
#[inline]
pub fn samples_of(pixel: u32, pixel_count: u32, done: u64) -> u32 {
    let (full, rest) = (done / u64::from(pixel_count), done % u64::from(pixel_count));
    full as u32 + u32::from(u64::from(pixel) < rest)
}

/// A copy of a film: its sums and the number of rejected samples.
#[derive(Clone, Debug, PartialEq)]
pub struct FilmSums {
    /// Fixed-point sums, three channels per pixel, in row-major order from the top. Unsigned, because the film rejects
    /// negative samples.
    pub sums: Vec<u64>,
    /// Number of samples that the film rejected, see [`is_valid_sample`].
    pub rejected: u64,
}

/// A film in host memory, shared by the threads that add samples to it. The default has no pixels.
#[derive(Default)]
pub struct Film {
    /// Fixed-point sums, three channels per pixel, in row-major order from the top.
    pub sums: Vec<AtomicU64>,
    /// Number of samples that the film rejected, see [`is_valid_sample`].
    pub rejected: AtomicU64,
    /// Number of samples of each pixel; set only in adaptive renders.
    sample_counts: OnceLock<Vec<AtomicU32>>,
    /// Locks of the pixels, see [`Film::lock_of`]. A thread that adds samples holds the lock of their pixels. It can then
    /// load and store sums separately, which is faster than to add atomically.
    locks: Vec<Mutex<()>>,
}

/// Number of locks of a film.
const LOCKS: usize = 1 << 10;
/// Number of consecutive pixels that share a lock: a row of eight tiles. Threads trace neighbouring tiles at the same
/// time, and would wait for one another if a lock covered more.
const PIXELS_PER_LOCK: usize = 64;

impl Film {
    /// Memory of a film's sums in bytes per pixel.
    pub const BYTES_PER_PIXEL: u64 = 3 * 8;

    /// Creates a black film without samples.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn new(pixel_count: u32) -> Result<Film, MemoryError> {
        let mut film = Film::default();
        film.clear(pixel_count)?;
        Ok(film)
    }

    /// Makes the film black, without samples and with this number of pixels. It then does not count the samples of each
    /// pixel. Needs more memory only if the film grows, and returns what it no longer needs.
    ///
    /// # Errors
    /// See [`Film::new`]. The film is then unchanged.
    pub(crate) fn clear(&mut self, pixel_count: u32) -> Result<(), MemoryError> {
        self.locks.resize_with(LOCKS, Mutex::default);
        let channels = 3 * pixel_count as usize;
        memory::reserve(&mut self.sums, channels)?;
        self.sums.truncate(channels);
        self.sums.iter_mut().for_each(|sum| *sum.get_mut() = 0);
        self.sums.resize_with(channels, AtomicU64::default);
        self.sums.shrink_to_fit();
        self.rejected = AtomicU64::new(0);
        self.sample_counts = OnceLock::new();
        Ok(())
    }

    /// Copies these sums to the film, which then has their number of pixels and does not count the samples of each
    /// pixel.
    ///
    /// # Errors
    /// See [`Film::new`]. The film is then unchanged.
    pub(crate) fn set(&mut self, film_sums: &FilmSums) -> Result<(), MemoryError> {
        self.clear((film_sums.sums.len() / 3) as u32)?;
        let sums = self.sums.iter_mut().zip(&film_sums.sums);
        sums.for_each(|(sum, &value)| *sum.get_mut() = value);
        self.rejected = AtomicU64::new(film_sums.rejected);
        Ok(())
    }

    /// Starts to count the samples of each pixel, from these initial counts. Does nothing if the film already counts.
    pub(crate) fn count_from(&self, sample_counts: impl Iterator<Item = u32>) {
        self.sample_counts
            .get_or_init(|| sample_counts.map(AtomicU32::new).collect());
    }

    /// Returns the number of samples of each pixel, or `None` if they are not counted.
    pub(crate) fn sample_counts(&self) -> Option<&[AtomicU32]> {
        self.sample_counts.get().map(Vec::as_slice)
    }

    /// Adds one sample to a pixel, see [`Film::add_samples`].
    pub fn add_sample(&self, pixel: u32, number: u32, sample: Vec3) {
        self.add_samples([(pixel, number, sample)].into_iter());
    }

    /// Adds samples, given by the row-major indices of their pixels and their numbers within the pixel. Samples that the
    /// film rejects are only counted. If the film counts the samples of each pixel, rejected ones are included.
    ///
    /// Other threads may add samples at the same time. The iterator must not add samples to the same film, because the
    /// lock of a pixel can be held while it runs.
    pub fn add_samples(&self, samples: impl Iterator<Item = (u32, u32, Vec3)>) {
        let sample_counts = self.sample_counts();
        let mut held: Option<(usize, MutexGuard<()>)> = None;
        for (pixel, number, sample) in samples {
            let needed = Film::lock_of(pixel);
            if held.as_ref().is_none_or(|&(lock, _)| lock != needed) {
                // A thread never waits for one lock while it holds another.
                drop(held.take());
                let lock = self.locks[needed].lock();
                held = Some((needed, lock.unwrap_or_else(PoisonError::into_inner)));
            }
            if let Some(sample_counts) = sample_counts {
                let count = &sample_counts[pixel as usize];
                count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
            }
            if !is_valid_sample(sample) {
                self.rejected.fetch_add(1, Relaxed);
                continue;
            }
            let first = 3 * pixel as usize;
            let bits = rounding_bits(pixel, number);
            for (sum, value) in self.sums[first..first + 3].iter().zip(sample.to_array()) {
                let new = sum.load(Relaxed).wrapping_add(rounded_sample(value, bits));
                sum.store(new, Relaxed);
            }
        }
    }

    /// Returns the index of the lock that a thread holds while it adds a sample to this pixel.
    fn lock_of(pixel: u32) -> usize {
        pixel as usize / PIXELS_PER_LOCK % LOCKS
    }

    /// Returns a copy of the sums and the number of rejected samples.
    ///
    /// # Errors
    /// See [`Film::new`].
    pub fn film_sums(&self) -> Result<FilmSums, MemoryError> {
        let mut sums = Vec::new();
        memory::reserve(&mut sums, self.sums.len())?;
        let loaded = self.sums.par_iter().map(|sum| sum.load(Relaxed));
        loaded.collect_into_vec(&mut sums);
        Ok(FilmSums {
            sums,
            rejected: self.rejected.load(Relaxed),
        })
    }

    /// Converts the film to its sums and the number of rejected samples. The standard library reuses the memory,
    /// because both kinds of sums have the same size and alignment.
    pub fn into_sums(self) -> FilmSums {
        FilmSums {
            sums: self.sums.into_iter().map(AtomicU64::into_inner).collect(),
            rejected: self.rejected.into_inner(),
        }
    }
}

/// Returns the hash of a film's size and sums as 32 hexadecimal digits (XXH3, 128 bits).
pub fn film_hash(width: u32, height: u32, sums: &[u64]) -> String {
    let mut hash = Xxh3::new();
    hash.update(&width.to_le_bytes());
    hash.update(&height.to_le_bytes());
    for chunk in sums.chunks(1 << 12) {
        let bytes: Vec<u8> = chunk.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        hash.update(&bytes);
    }
    format!("{:032x}", hash.digest128())
}
