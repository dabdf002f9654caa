//! Which samples a film holds.

use std::{fmt, ops::Range, str::FromStr};

use crate::film::samples_of;

/// A place in the order of rendering: all pixels of sample 0 in row order, then of sample 1, and so on.
///
/// As text `37`, before the first pixel of sample 37, or `37+1234`, before its pixel 1234.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// 0 to 2³².
    pub sample: u64,
    /// In row order.
    pub pixel: u32,
}

impl Place {
    /// Behind the last sample that has random numbers.
    const END: u64 = 1 << 32;

    /// The (pixel, sample) pairs before it in a picture of so many pixels. `None` if there is no such place.
    fn pairs(self, pixel_count: u32) -> Option<u64> {
        let pairs = self.sample.checked_mul(pixel_count.into())? + u64::from(self.pixel);
        (self.pixel < pixel_count && pairs <= Place::END * u64::from(pixel_count)).then_some(pairs)
    }

    fn of(pairs: u64, pixel_count: u32) -> Place {
        Place {
            sample: pairs / u64::from(pixel_count),
            pixel: (pairs % u64::from(pixel_count)) as u32,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pixel {
            0 => write!(f, "{}", self.sample),
            pixel => write!(f, "{}+{pixel}", self.sample),
        }
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Place, ()> {
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse::<u64>().ok()).flatten().ok_or(())
        };
        let (sample, pixel) = text.split_once('+').unwrap_or((text, "0"));
        Ok(Place {
            sample: number(sample)?,
            pixel: u32::try_from(number(pixel)?).map_err(|_| ())?,
        })
    }
}

/// A set of (pixel, sample) pairs of a picture, as stretches of the order of rendering.
///
/// As text `0..64`, `0..37+1234` for a render that was cut short in sample 37, `0..16, 32..64` with a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    pixel_count: u32,
    /// In order; each of some length, and with a gap to the next.
    stretches: Vec<Range<u64>>,
}

impl Samples {
    /// One stretch. `None` if it ends before it begins, or beyond the last sample, 2³²−1.
    pub fn new(range: Range<Place>, pixel_count: u32) -> Option<Samples> {
        let pairs = range.start.pairs(pixel_count)?..range.end.pairs(pixel_count)?;
        (pairs.start <= pairs.end).then(|| Samples::of_pairs(pairs, pixel_count))
    }

    /// All pixels of the samples 0 to `spp` − 1.
    pub fn first(spp: u32, pixel_count: u32) -> Samples {
        Samples::of_pairs(0..u64::from(spp) * u64::from(pixel_count), pixel_count)
    }

    pub(crate) fn of_pairs(pairs: Range<u64>, pixel_count: u32) -> Samples {
        Samples {
            pixel_count,
            stretches: Some(pairs)
                .filter(|pairs| !pairs.is_empty())
                .into_iter()
                .collect(),
        }
    }

    /// What [`Samples`] shows as text.
    pub(crate) fn parse(text: &str, pixel_count: u32) -> Option<Samples> {
        let mut samples = Samples::of_pairs(0..0, pixel_count);
        for stretch in text.split(", ").filter(|text| !text.is_empty()) {
            let (start, end) = stretch.split_once("..")?;
            let stretch = Samples::new(start.parse().ok()?..end.parse().ok()?, pixel_count)?;
            samples.add(&stretch).ok()?;
        }
        Some(samples)
    }

    /// In order, as numbers of pairs.
    pub(crate) fn stretches(&self) -> &[Range<u64>] {
        &self.stretches
    }

    /// Its stretches, each by itself.
    pub fn each(&self) -> impl Iterator<Item = Samples> {
        let stretches = self.stretches.iter().cloned();
        stretches.map(|pairs| Samples::of_pairs(pairs, self.pixel_count))
    }

    /// In how many pairs of (pixel, sample) it consists.
    pub fn len(&self) -> u64 {
        self.stretches
            .iter()
            .map(|stretch| stretch.end - stretch.start)
            .sum()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// Samples of a pixel.
    pub fn of_pixel(&self, pixel: u32) -> u32 {
        let before = |pairs| samples_of(pixel, self.pixel_count, pairs);
        self.stretches.iter().fold(0, |count: u32, stretch| {
            count.wrapping_add(before(stretch.end).wrapping_sub(before(stretch.start)))
        })
    }

    /// Samples that every pixel has.
    pub fn of_every_pixel(&self) -> u32 {
        self.counts().min().unwrap_or(0)
    }

    /// Samples that some pixel has, and none has more.
    pub fn of_any_pixel(&self) -> u32 {
        self.counts().max().unwrap_or(0)
    }

    /// From one pixel to the next the number of samples changes only where a stretch begins or ends: all that there are.
    fn counts(&self) -> impl Iterator<Item = u32> {
        let ends = self
            .stretches
            .iter()
            .flat_map(|stretch| [stretch.start, stretch.end]);
        let changes = ends.map(|pairs| Place::of(pairs, self.pixel_count).pixel);
        changes.chain([0]).map(|pixel| self.of_pixel(pixel))
    }

    /// What both hold.
    pub fn overlap(&self, other: &Samples) -> Samples {
        let mut both = Samples::of_pairs(0..0, self.pixel_count);
        for a in &self.stretches {
            for b in &other.stretches {
                let shared = a.start.max(b.start)..a.end.min(b.end);
                both.stretches
                    .extend(Some(shared).filter(|shared| !shared.is_empty()));
            }
        }
        both
    }

    /// What `other` does not hold.
    pub fn without(&self, other: &Samples) -> Samples {
        let mut left = Samples::of_pairs(0..0, self.pixel_count);
        for own in &self.stretches {
            let mut start = own.start;
            for taken in &other.stretches {
                left.stretches
                    .extend(Some(start..taken.start.min(own.end)).filter(|free| !free.is_empty()));
                start = start.max(taken.end);
            }
            left.stretches
                .extend(Some(start..own.end).filter(|free| !free.is_empty()));
        }
        left
    }

    /// What is missing between the first and the last.
    pub fn gaps(&self) -> Samples {
        let between = |pair: &[Range<u64>]| pair[0].end..pair[1].start;
        Samples {
            pixel_count: self.pixel_count,
            stretches: self.stretches.windows(2).map(between).collect(),
        }
    }

    /// Takes in what `other` holds.
    ///
    /// # Errors
    /// What both hold, if there is any.
    pub fn add(&mut self, other: &Samples) -> Result<(), Samples> {
        let overlap = self.overlap(other);
        if !overlap.is_empty() {
            return Err(overlap);
        }
        self.stretches.extend_from_slice(&other.stretches);
        self.stretches.sort_by_key(|stretch| stretch.start);
        self.stretches.dedup_by(|next, last| {
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
        for (index, stretch) in self.stretches.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let place = |pairs| Place::of(pairs, self.pixel_count);
            write!(f, "{comma}{}..{}", place(stretch.start), place(stretch.end))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Samples;

    const PIXELS: u32 = 10;

    fn samples(text: &str) -> Samples {
        Samples::parse(text, PIXELS).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn text_is_read_as_it_is_written() {
        for text in [
            "",
            "0..64",
            "0..37+9",
            "3+1..3+2",
            "0..16, 32..64",
            "0..1, 2..3+4, 3+5..4294967296",
        ] {
            assert_eq!(samples(text).to_string(), text);
        }
        for wrong in [
            "1",
            "2..1",
            "0..1, 0..1",
            "0..1+10",
            "0..4294967297",
            "0..4294967296+1",
            "-1..2",
            "+1..2",
            "0..99999999999999999999",
            "0..1,2..3",
        ] {
            assert_eq!(Samples::parse(wrong, PIXELS), None, "{wrong}");
        }
    }

    #[test]
    fn every_pixel_has_the_samples_that_it_was_given() {
        for text in [
            "0..5",
            "2+3..5+3",
            "2+3..5+1",
            "0..1+7, 2+1..2+8, 4+2..4+3",
            "0+8..2, 3..3+2",
        ] {
            let samples = samples(text);
            let mut counts = [0; PIXELS as usize];
            for pair in samples.stretches().iter().flat_map(Clone::clone) {
                counts[(pair % u64::from(PIXELS)) as usize] += 1;
            }
            for (pixel, &count) in (0..).zip(&counts) {
                assert_eq!(samples.of_pixel(pixel), count, "{text}, pixel {pixel}");
            }
            let (fewest, most) = (counts.iter().min(), counts.iter().max());
            assert_eq!(Some(&samples.of_every_pixel()), fewest, "{text}");
            assert_eq!(Some(&samples.of_any_pixel()), most, "{text}");
            assert_eq!(samples.len(), u64::from(counts.iter().sum::<u32>()));
        }
    }

    #[test]
    fn what_another_holds_is_taken_away() {
        for (own, other, left) in [
            ("0..8", "", "0..8"),
            ("0..8", "0..8", ""),
            ("0..8", "2..3, 4+5..6", "0..2, 3..4+5, 6..8"),
            ("2..4, 6..8", "0..3, 7..9", "3..4, 6..7"),
            ("2..4, 6..8", "3..7", "2..3, 7..8"),
            ("2..4", "0..1, 5..6", "2..4"),
            ("", "0..1", ""),
        ] {
            let left_over = samples(own).without(&samples(other));
            assert_eq!(left_over.to_string(), left, "{own} without {other}");
        }
    }

    #[test]
    fn sets_add_up_unless_they_overlap() {
        let mut sum = samples("4..8");
        assert_eq!(sum.add(&samples("0..2")), Ok(()));
        assert_eq!(sum.to_string(), "0..2, 4..8");
        assert_eq!(sum.gaps().to_string(), "2..4");
        assert_eq!(
            sum.add(&samples("1+5..3, 7..9"))
                .map_err(|both| both.to_string()),
            Err("1+5..2, 7..8".to_owned())
        );
        assert_eq!(sum.add(&samples("2..3+1, 3+1..4")), Ok(()));
        assert_eq!(sum, samples("0..8"));
        assert!(sum.gaps().is_empty());
    }
}
