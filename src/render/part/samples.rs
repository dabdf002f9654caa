//! Sets of samples: which samples a film contains.

use std::{fmt, ops::Range, str::FromStr};

use crate::film::samples_of;

/// A position in the rendering order: all pixels of sample 0 row by row, then those of sample 1, and so on.
///
/// Its text form is `37` for the position before pixel 0 of sample 37, and `37+1234` for the one before pixel 1234.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SamplePosition {
    /// Number of the sample, from 0 to 2³².
    pub sample: u64,
    /// Row-major index of the pixel in the picture, from the upper left.
    pub pixel: u32,
}

impl SamplePosition {
    /// Sample number after the last one that the sampler supports.
    const END: u64 = 1 << 32;

    /// Returns the number of (pixel, sample) pairs before this position; `None` if the position is invalid for this
    /// pixel count.
    fn pairs(self, pixel_count: u32) -> Option<u64> {
        let pairs = self.sample.checked_mul(pixel_count.into())? + u64::from(self.pixel);
        (self.pixel < pixel_count && pairs <= SamplePosition::END * u64::from(pixel_count))
            .then_some(pairs)
    }

    /// Returns the position before which there are this many (pixel, sample) pairs.
    fn of(pairs: u64, pixel_count: u32) -> SamplePosition {
        SamplePosition {
            sample: pairs / u64::from(pixel_count),
            pixel: (pairs % u64::from(pixel_count)) as u32,
        }
    }
}

impl fmt::Display for SamplePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pixel {
            0 => write!(f, "{}", self.sample),
            pixel => write!(f, "{}+{pixel}", self.sample),
        }
    }
}

impl FromStr for SamplePosition {
    type Err = ();

    fn from_str(text: &str) -> Result<SamplePosition, ()> {
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse::<u64>().ok()).flatten().ok_or(())
        };
        let (sample, pixel) = text.split_once('+').unwrap_or((text, "0"));
        Ok(SamplePosition {
            sample: number(sample)?,
            pixel: u32::try_from(number(pixel)?).map_err(|_| ())?,
        })
    }
}

/// A set of (pixel, sample) pairs of a picture, stored as ranges of the rendering order.
///
/// Its text form is `0..64`, or `0..37+1234` for a render that was stopped in sample 37, or `0..16, 32..64` with a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    /// Number of pixels of the picture.
    pixel_count: u32,
    /// Ranges of pair numbers: sorted, not empty, and with a gap between neighbours.
    ranges: Vec<Range<u64>>,
}

impl Samples {
    /// Creates a set of one range in a picture of `pixel_count` pixels. Returns `None` if it ends before it begins, or
    /// after the last sample, 2³²−1, or if a position names a pixel outside the picture.
    pub fn new(range: Range<SamplePosition>, pixel_count: u32) -> Option<Samples> {
        let pairs = range.start.pairs(pixel_count)?..range.end.pairs(pixel_count)?;
        (pairs.start <= pairs.end).then(|| Samples::of_pairs(pairs, pixel_count))
    }

    /// Creates the set of all pixels of samples 0 to `spp` − 1.
    pub fn first(spp: u32, pixel_count: u32) -> Samples {
        Samples::of_pairs(0..u64::from(spp) * u64::from(pixel_count), pixel_count)
    }

    /// Creates the set of one range of pair numbers; the empty set if the range is empty.
    pub(crate) fn of_pairs(pairs: Range<u64>, pixel_count: u32) -> Samples {
        Samples {
            pixel_count,
            ranges: Some(pairs)
                .filter(|pairs| !pairs.is_empty())
                .into_iter()
                .collect(),
        }
    }

    /// Parses the text form of a set in a picture of `pixel_count` pixels, such as `0..16, 32..64`. The ends of ranges
    /// are exclusive, and their order does not matter. Returns `None` if a range is invalid, see [`Samples::new`], or
    /// two ranges overlap.
    pub fn parse(text: &str, pixel_count: u32) -> Option<Samples> {
        let mut samples = Samples::of_pairs(0..0, pixel_count);
        for range in text.split(", ").filter(|text| !text.is_empty()) {
            let (start, end) = range.split_once("..")?;
            let range = Samples::new(start.parse().ok()?..end.parse().ok()?, pixel_count)?;
            samples.add(&range).ok()?;
        }
        Some(samples)
    }

    /// Returns the ranges of pair numbers, in order.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Returns each range as a set of its own.
    pub fn each(&self) -> impl Iterator<Item = Samples> {
        let ranges = self.ranges.iter().cloned();
        ranges.map(|pairs| Samples::of_pairs(pairs, self.pixel_count))
    }

    /// Returns the number of (pixel, sample) pairs.
    pub fn len(&self) -> u64 {
        self.ranges
            .iter()
            .map(|range| range.end - range.start)
            .sum()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns how many samples of this pixel the set contains.
    pub fn of_pixel(&self, pixel: u32) -> u32 {
        let before = |pairs| samples_of(pixel, self.pixel_count, pairs);
        self.ranges.iter().fold(0, |count: u32, range| {
            count.wrapping_add(before(range.end).wrapping_sub(before(range.start)))
        })
    }

    /// Returns the minimum sample count over all pixels.
    pub fn min_samples(&self) -> u32 {
        self.counts().min().unwrap_or(0)
    }

    /// Returns the maximum sample count over all pixels.
    pub fn max_samples(&self) -> u32 {
        self.counts().max().unwrap_or(0)
    }

    /// Returns all sample counts that occur, possibly repeated. The count changes only at pixels where a range begins
    /// or ends.
    fn counts(&self) -> impl Iterator<Item = u32> {
        let ends = self
            .ranges
            .iter()
            .flat_map(|range| [range.start, range.end]);
        let changes = ends.map(|pairs| SamplePosition::of(pairs, self.pixel_count).pixel);
        changes.chain([0]).map(|pixel| self.of_pixel(pixel))
    }

    /// Returns the pairs that are in both sets.
    pub fn overlap(&self, other: &Samples) -> Samples {
        let mut both = Samples::of_pairs(0..0, self.pixel_count);
        for a in &self.ranges {
            for b in &other.ranges {
                let shared = a.start.max(b.start)..a.end.min(b.end);
                both.ranges
                    .extend(Some(shared).filter(|shared| !shared.is_empty()));
            }
        }
        both
    }

    /// Returns the pairs that are not in `other`.
    pub fn without(&self, other: &Samples) -> Samples {
        let mut left = Samples::of_pairs(0..0, self.pixel_count);
        for own in &self.ranges {
            let mut start = own.start;
            for taken in &other.ranges {
                left.ranges
                    .extend(Some(start..taken.start.min(own.end)).filter(|free| !free.is_empty()));
                start = start.max(taken.end);
            }
            left.ranges
                .extend(Some(start..own.end).filter(|free| !free.is_empty()));
        }
        left
    }

    /// Returns the pairs between the first and the last that are missing.
    pub fn gaps(&self) -> Samples {
        let between = |pair: &[Range<u64>]| pair[0].end..pair[1].start;
        Samples {
            pixel_count: self.pixel_count,
            ranges: self.ranges.windows(2).map(between).collect(),
        }
    }

    /// Adds the pairs of another set.
    ///
    /// # Errors
    /// The pairs that are in both sets, if there are any; this set is then unchanged.
    pub fn add(&mut self, other: &Samples) -> Result<(), Samples> {
        let overlap = self.overlap(other);
        if !overlap.is_empty() {
            return Err(overlap);
        }
        self.ranges.extend_from_slice(&other.ranges);
        self.ranges.sort_by_key(|range| range.start);
        self.ranges.dedup_by(|next, last| {
            let touch = last.end == next.start;
            if touch {
                last.end = next.end;
            }
            touch
        });
        Ok(())
    }
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.ranges.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let place = |pairs| SamplePosition::of(pairs, self.pixel_count);
            write!(f, "{comma}{}..{}", place(range.start), place(range.end))?;
        }
        Ok(())
    }
}
