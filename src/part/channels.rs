//! The channels of a part's EXR.

use exr::{
    image::{AnyChannel, FlatSamples},
    meta::attribute::{SampleType, Text},
};

use super::Part;
use crate::layers::{Layer, Layers};

/// In the order of the alphabet, as a file holds them.
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

/// Those that there are besides where pixels get samples until they are good.
pub(super) const LEDGER_CHANNELS: [(&str, SampleType); 10] = [
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

/// As [`CHANNELS`], and as [`LEDGER_CHANNELS`].
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

pub(super) fn film_channels(part: &Part) -> impl Iterator<Item = AnyChannel<FlatSamples>> {
    let pixel_count = part.claim.identity.pixel_count();
    let shown = |channel: usize| {
        let values = (0..pixel_count).map(|pixel| part.pixel(pixel)[channel]);
        FlatSamples::F32(values.collect())
    };
    let half = |channel: usize, shift: u32| half(&part.exposed.sums, channel, shift);
    // Blue, green, red: as CHANNELS.
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

/// A half of each sum of a channel.
fn half(sums: &[u64], channel: usize, shift: u32) -> FlatSamples {
    let sums = sums.as_chunks::<3>().0.iter();
    FlatSamples::U32(sums.map(|sums| (sums[channel] >> shift) as u32).collect())
}

fn named<'a>(
    channels: impl Iterator<Item = (&'a (&'a str, SampleType), FlatSamples)>,
) -> impl Iterator<Item = AnyChannel<FlatSamples>> {
    channels.map(|((name, _), samples)| {
        AnyChannel::new(Text::from_slice_unchecked(name.as_bytes()), samples)
    })
}

pub(super) fn ledger_channels(part: &Part) -> impl Iterator<Item = AnyChannel<FlatSamples>> {
    part.ledger.iter().flat_map(|ledger| {
        let gained = part.exposed.sums.iter().zip(&ledger.marks);
        let gained: Vec<u64> = gained.map(|(sum, mark)| sum.wrapping_sub(*mark)).collect();
        let half = |channel: usize, shift: u32| half(&gained, channel, shift);
        let histories = ledger.histories.iter();
        // As LEDGER_CHANNELS.
        let samples = [
            FlatSamples::F32(histories.clone().map(|history| history.error).collect()),
            FlatSamples::U32(histories.clone().map(|history| history.good).collect()),
            half(2, 32),
            half(1, 32),
            half(0, 32),
            half(2, 0),
            half(1, 0),
            half(0, 0),
            FlatSamples::U32(ledger.taken.clone()),
            FlatSamples::F32(histories.map(|history| history.variance).collect()),
        ];
        named(LEDGER_CHANNELS.iter().zip(samples))
    })
}

pub(super) fn layer_channels(
    part: &Part,
    layers: &Layers,
) -> impl Iterator<Item = AnyChannel<FlatSamples>> {
    let pixel_count = part.claim.identity.pixel_count();
    let there = |layer: &&Layer| **layer != Layer::Denoised || layers.preview().is_some();
    layers.wanted.iter().filter(there).flat_map(move |&layer| {
        let channels = layer.channels().iter().enumerate();
        channels.map(move |(number, name)| {
            let samples = match layer {
                Layer::Samples => {
                    let counts = (0..pixel_count).map(|pixel| part.samples_of(pixel));
                    FlatSamples::U32(counts.collect())
                }
                _ => FlatSamples::F32(layers.channel(layer, number)),
            };
            AnyChannel::new(Text::from_slice_unchecked(name.as_bytes()), samples)
        })
    })
}
