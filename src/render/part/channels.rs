//! The EXR channels of a part: film, picture, noise estimates and AOVs, with their names and values.

use exr::{
    image::{AnyChannel, FlatSamples},
    meta::attribute::{SampleType, Text},
};

use super::Part;
use crate::inspect::aovs::{Aov, Aovs};

/// Channels of every part, in alphabetical order as in the file.
pub(super) const CHANNELS: [(&str, SampleType); 9] = [
    ("B", SampleType::F32),
    ("G", SampleType::F32),
    ("R", SampleType::F32),
    ("film.high.B", SampleType::U32),
    ("film.high.G", SampleType::U32),
    ("film.high.R", SampleType::U32),
    ("film.low.B", SampleType::U32),
    ("film.low.G", SampleType::U32),
    ("film.low.R", SampleType::U32),
];

/// Additional EXR channels of a part with adaptive sampling, in alphabetical order: noise estimates, sample counts and
/// film sums.
pub(super) const PIXEL_STATS_CHANNELS: [(&str, SampleType); 10] = [
    ("film.error", SampleType::F32),
    ("film.good", SampleType::U32),
    ("film.round.high.B", SampleType::U32),
    ("film.round.high.G", SampleType::U32),
    ("film.round.high.R", SampleType::U32),
    ("film.round.low.B", SampleType::U32),
    ("film.round.low.G", SampleType::U32),
    ("film.round.low.R", SampleType::U32),
    ("film.taken", SampleType::U32),
    ("film.variance", SampleType::F32),
];

/// The values of a pixel as read from a file, in the order of [`CHANNELS`] followed by [`PIXEL_STATS_CHANNELS`].
pub(super) type Pixel = (
    f32,
    f32,
    f32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    f32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    f32,
);

/// Returns the channels of a part's picture and film.
pub(super) fn film_channels(part: &Part) -> impl Iterator<Item = AnyChannel<FlatSamples>> {
    let pixel_count = part.header.identity.pixel_count();
    let shown = |channel: usize| {
        let values = (0..pixel_count).map(|pixel| part.pixel(pixel)[channel]);
        FlatSamples::F32(values.collect())
    };
    let half = |channel: usize, shift: u32| half(&part.film.sums, channel, shift);
    // Blue, green, red, in the order of CHANNELS.
    let samples = [
        shown(2),
        shown(1),
        shown(0),
        half(2, 32),
        half(1, 32),
        half(0, 32),
        half(2, 0),
        half(1, 0),
        half(0, 0),
    ];
    named(CHANNELS.iter().zip(samples))
}

/// Returns the upper (`shift` 32) or lower (`shift` 0) half of each pixel's sum in a colour channel.
fn half(sums: &[u64], channel: usize, shift: u32) -> FlatSamples {
    let sums = sums.as_chunks::<3>().0.iter();
    FlatSamples::U32(sums.map(|sums| (sums[channel] >> shift) as u32).collect())
}

/// Returns channels with these names and values.
fn named<'a>(
    channels: impl Iterator<Item = (&'a (&'a str, SampleType), FlatSamples)>,
) -> impl Iterator<Item = AnyChannel<FlatSamples>> {
    channels.map(|((name, _), samples)| {
        AnyChannel::new(Text::from_slice_unchecked(name.as_bytes()), samples)
    })
}

/// Returns the channels of the noise estimates; none without adaptive sampling.
pub(super) fn pixel_stats_channels(part: &Part) -> impl Iterator<Item = AnyChannel<FlatSamples>> {
    part.pixel_stats.iter().flat_map(|pixel_stats| {
        let gained = part.film.sums.iter().zip(&pixel_stats.sums_at_test);
        let gained: Vec<u64> = gained.map(|(sum, mark)| sum.wrapping_sub(*mark)).collect();
        let half = |channel: usize, shift: u32| half(&gained, channel, shift);
        let histories = pixel_stats.histories.iter();
        // In the order of PIXEL_STATS_CHANNELS.
        let samples = [
            FlatSamples::F32(histories.clone().map(|history| history.error).collect()),
            FlatSamples::U32(
                histories
                    .clone()
                    .map(|history| history.converged_rounds)
                    .collect(),
            ),
            half(2, 32),
            half(1, 32),
            half(0, 32),
            half(2, 0),
            half(1, 0),
            half(0, 0),
            FlatSamples::U32(pixel_stats.sample_counts.clone()),
            FlatSamples::F32(histories.map(|history| history.variance).collect()),
        ];
        named(PIXEL_STATS_CHANNELS.iter().zip(samples))
    })
}

/// Returns the EXR channels of the requested AOVs; a missing denoised picture is omitted.
pub(super) fn aov_channels(
    part: &Part,
    aovs: &Aovs,
) -> impl Iterator<Item = AnyChannel<FlatSamples>> {
    let pixel_count = part.header.identity.pixel_count();
    let there = |aov: &&Aov| **aov != Aov::Denoised || aovs.preview().is_some();
    aovs.requested.iter().filter(there).flat_map(move |&aov| {
        let channels = aov.channels().iter().enumerate();
        channels.map(move |(number, name)| {
            let samples = match aov {
                Aov::Samples => {
                    let counts = (0..pixel_count).map(|pixel| part.samples_of(pixel));
                    FlatSamples::U32(counts.collect())
                }
                _ => FlatSamples::F32(aovs.channel(aov, number)),
            };
            AnyChannel::new(Text::from_slice_unchecked(name.as_bytes()), samples)
        })
    })
}
