//! The item types of histograms, and the bins of equal width.

use std::fmt::Debug;

use crate::{Error, Result, layout::Shared};

/// A number type whose values a histogram counts: [`u8`], [`u16`], [`u32`], [`i8`], [`i16`], [`i32`], [`f32`] or
/// [`f64`].
///
/// ```
/// use compaction::histogram::{Sample, cpu};
///
/// fn halves<T: Sample>(items: &[T], range: std::ops::Range<T::Level>) -> compaction::Result<[u32; 2]> {
///     let mut counts = [0; 2];
///     cpu::even(items, range, &mut counts)?;
///     Ok(counts)
/// }
/// assert_eq!(halves(&[1_u8, 250, 255], 0..256)?, [1, 2]);
/// assert_eq!(halves(&[0.5_f32, 0.25], 0.0..1.0)?, [1, 1]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// The trait is sealed: other crates cannot implement it.
pub trait Sample: Shared + Send + Sync + sealed::Sealed {
    /// The type of the bounds of bins: the item type for floats, and `i64` for integers, so that the largest item can
    /// lie below a bound.
    type Level: Shared + Send + Sync + PartialOrd + Debug;
    #[doc(hidden)]
    type Scale: Shared + Send + Sync + Debug;

    /// Returns the item as a value that can be compared with bounds.
    ///
    /// ```
    /// use compaction::histogram::Sample;
    ///
    /// assert_eq!(255_u8.level(), 255_i64);
    /// ```
    fn level(self) -> Self::Level;

    /// Returns the scale and shift of `bins` bins of equal width, as the kernels use them.
    #[doc(hidden)]
    fn even_bins(lower: Self::Level, upper: Self::Level, bins: usize) -> Result<EvenBins<Self>>;

    /// Returns the bin of an item, or `None` if it lies in no bin.
    #[doc(hidden)]
    fn even_bin(self, even: &EvenBins<Self>) -> Option<usize>;
}

/// Bins of equal width. Twin: `EvenBins` in `kernels/histogram.cu`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct EvenBins<T: Sample> {
    pub lower: T::Level,
    pub upper: T::Level,
    pub scale: T::Scale,
    pub shift: u32,
    pub bins: usize,
}

/// An item type that can be the number of its bin: [`u8`], [`u16`] or [`u32`].
///
/// ```
/// use compaction::histogram::{BinKey, cpu};
///
/// fn most_frequent<K: BinKey>(keys: &[K]) -> compaction::Result<Option<usize>> {
///     let mut counts = [0_u32; 256];
///     cpu::keys(keys, &mut counts)?;
///     Ok((0..256).max_by_key(|&bin| counts[bin]))
/// }
/// assert_eq!(most_frequent(&[7_u16, 3, 7])?, Some(7));
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// The trait is sealed: other crates cannot implement it.
pub trait BinKey: Sample {
    /// Returns the number of the bin.
    ///
    /// ```
    /// use compaction::histogram::BinKey;
    ///
    /// assert_eq!(7_u8.bin(), 7);
    /// ```
    fn bin(self) -> usize;
}

/// The shift of bins whose width is no power of two.
const NO_SHIFT: u32 = 32;
/// The largest width of a range of integers, so that a position in it has 32 bits.
const MAX_WIDTH: i64 = 1 << 32;

macro_rules! integers {
    ($($integer:ident),+) => {$(
        impl Sample for $integer {
            type Level = i64;
            type Scale = u64;

            #[inline]
            fn level(self) -> i64 {
                self.into()
            }

            fn even_bins(lower: i64, upper: i64, bins: usize) -> Result<EvenBins<Self>> {
                let width = upper.checked_sub(lower).filter(|width| (1..=MAX_WIDTH).contains(width));
                let Some(width) = width else {
                    return Err(range_error(lower, upper, "at most 2^32 wide"));
                };
                let (width, bin_count) = (width as u64, bins as u64);
                let bin_width = width / bin_count;
                let is_power = width.is_multiple_of(bin_count) && bin_width.is_power_of_two();
                let shift = if is_power { bin_width.ilog2() } else { NO_SHIFT };
                Ok(EvenBins { lower, upper, scale: u64::MAX / width, shift, bins })
            }

            #[inline]
            fn even_bin(self, even: &EvenBins<Self>) -> Option<usize> {
                let level = self.level();
                if level < even.lower || level >= even.upper {
                    return None;
                }
                let above = (level - even.lower) as u64;
                if even.shift < NO_SHIFT {
                    return Some((above >> even.shift) as usize);
                }
                let width = (even.upper - even.lower) as u64;
                Some((above * even.bins as u64 / width) as usize)
            }
        }
        impl sealed::Sealed for $integer {}
    )+};
}
integers!(u8, u16, u32, i8, i16, i32);

macro_rules! floats {
    ($($float:ident),+) => {$(
        impl Sample for $float {
            type Level = $float;
            type Scale = $float;

            #[inline]
            fn level(self) -> $float {
                self
            }

            fn even_bins(lower: $float, upper: $float, bins: usize) -> Result<EvenBins<Self>> {
                let width = upper - lower;
                let scale = bins as $float / width;
                if width <= 0.0 || !width.is_finite() || !scale.is_finite() {
                    return Err(range_error(lower, upper, "of a finite width"));
                }
                Ok(EvenBins { lower, upper, scale, shift: NO_SHIFT, bins })
            }

            #[inline]
            fn even_bin(self, even: &EvenBins<Self>) -> Option<usize> {
                let is_inside = self >= even.lower && self < even.upper;
                let bin = ((self - even.lower) * even.scale) as usize;
                is_inside.then_some(bin.min(even.bins - 1))
            }
        }
        impl sealed::Sealed for $float {}
    )+};
}
floats!(f32, f64);

macro_rules! keys {
    ($($key:ident),+) => {$(
        impl BinKey for $key {
            #[inline]
            fn bin(self) -> usize {
                self as usize
            }
        }
    )+};
}
keys!(u8, u16, u32);

fn range_error(lower: impl Debug, upper: impl Debug, wanted: &'static str) -> Error {
    Error::InvalidRange {
        what: "the range of histogram",
        got: format!("{lower:?}..{upper:?}"),
        wanted,
    }
}

mod sealed {
    pub trait Sealed {}
}
