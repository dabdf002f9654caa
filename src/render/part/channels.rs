//! The EXR channels of a part: film, picture, noise estimates and AOVs (arbitrary output variables), with their names
//! and values.

use std::ops::Range;

use exr::{
    block::{BlockIndex, UncompressedBlock},
    image::write::channels::{ChannelsWriter, WritableChannels},
    math::RoundingMode,
    meta::{
        attribute::{ChannelDescription, ChannelList, LevelMode, SampleType, Text},
        header::Header,
    },
};

use super::Part;
use crate::{
    adaptive::pixel_stats::PixelStats,
    inspect::aovs::{Aov, Aovs},
};

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

/// The channels of a part's file. Their values are computed line by line while the file is written, so that they take
/// no memory.
pub(super) struct PartChannels<'a> {
    part: &'a Part,
    aovs: &'a Aovs,
    /// Names, types and sources of the values, sorted by name as in the file.
    channels: Vec<(&'static str, SampleType, Source<'a>)>,
}

/// The source of a channel's values. Color channels are numbered 0 red, 1 green, 2 blue.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// The mean radiance of this color channel.
    Shown(usize),
    /// The upper (shift 32) or lower (shift 0) half of the film's sum of this color channel.
    Sum(usize, u32),
    /// The given value of the noise estimates of the pixels.
    Noise(Noise, &'a PixelStats),
    /// The number of samples of a pixel.
    Samples,
    /// A channel of an AOV, by its index in [`Aov::channels`].
    Aov(Aov, usize),
}

/// A value of the noise estimates of an adaptive render: a field of a pixel's
/// [`PixelNoise`](crate::adaptive::pixel_noise::PixelNoise), or a part of the film's last increase.
#[derive(Clone, Copy)]
enum Noise {
    Error,
    ConvergedRounds,
    Variance,
    /// The upper (shift 32) or lower (shift 0) half of the increase of the film's sum of this color channel since the
    /// last convergence test.
    Gained(usize, u32),
}

impl<'a> PartChannels<'a> {
    /// Returns the channels of a part's picture, film and noise estimates, and of the requested AOVs. A missing
    /// denoised picture is omitted.
    pub(super) fn new(part: &'a Part, aovs: &'a Aovs) -> PartChannels<'a> {
        // Blue, green, red, in the order of CHANNELS.
        let film = [
            Source::Shown(2),
            Source::Shown(1),
            Source::Shown(0),
            Source::Sum(2, 32),
            Source::Sum(1, 32),
            Source::Sum(0, 32),
            Source::Sum(2, 0),
            Source::Sum(1, 0),
            Source::Sum(0, 0),
        ];
        let film = CHANNELS.into_iter().zip(film);
        let noise = part.pixel_stats.iter().flat_map(|pixel_stats| {
            let of = |noise| Source::Noise(noise, pixel_stats);
            // In the order of PIXEL_STATS_CHANNELS.
            let noise = [
                of(Noise::Error),
                of(Noise::ConvergedRounds),
                of(Noise::Gained(2, 32)),
                of(Noise::Gained(1, 32)),
                of(Noise::Gained(0, 32)),
                of(Noise::Gained(2, 0)),
                of(Noise::Gained(1, 0)),
                of(Noise::Gained(0, 0)),
                Source::Samples,
                of(Noise::Variance),
            ];
            PIXEL_STATS_CHANNELS.into_iter().zip(noise)
        });
        let there = |aov: &&Aov| **aov != Aov::Denoised || aovs.preview().is_some();
        let aov_channels = aovs.requested.iter().filter(there).flat_map(|&aov| {
            let names = aov.channels().iter().enumerate();
            names.map(move |(number, &name)| match aov {
                Aov::Samples => ((name, SampleType::U32), Source::Samples),
                _ => ((name, SampleType::F32), Source::Aov(aov, number)),
            })
        });
        let channels = film.chain(noise).chain(aov_channels);
        let mut channels: Vec<_> = channels
            .map(|((name, kind), source)| (name, kind, source))
            .collect();
        channels.sort_by_key(|&(name, ..)| name);
        PartChannels {
            part,
            aovs,
            channels,
        }
    }

    /// Writes the values of some pixels, given by their row-major indices, as numbers of 32 bits in the byte order
    /// of the machine, which the encoder expects.
    fn write(&self, source: Source<'_>, pixels: Range<u32>, bytes: &mut [u8]) {
        let part = self.part;
        let half = |sum: u64, shift: u32| (sum >> shift) as u32;
        let place = |pixel: u32, channel: usize| 3 * pixel as usize + channel;
        match source {
            Source::Shown(channel) => {
                put(bytes, pixels, |pixel| part.pixel(pixel)[channel].to_bits())
            }
            Source::Sum(channel, shift) => {
                put(bytes, pixels, |pixel| {
                    half(part.film.sums[place(pixel, channel)], shift)
                });
            }
            Source::Samples => put(bytes, pixels, |pixel| part.samples_of(pixel)),
            Source::Aov(aov, number) => {
                put(bytes, pixels, |pixel| {
                    self.aovs.value(aov, number, pixel).to_bits()
                });
            }
            Source::Noise(noise, pixel_stats) => put(bytes, pixels, |pixel| {
                let pixel_noise = &pixel_stats.pixel_noise[pixel as usize];
                match noise {
                    Noise::Error => pixel_noise.error.to_bits(),
                    Noise::ConvergedRounds => pixel_noise.converged_rounds,
                    Noise::Variance => pixel_noise.variance.to_bits(),
                    Noise::Gained(channel, shift) => {
                        let place = place(pixel, channel);
                        let before = pixel_stats.sums_at_test[place];
                        half(part.film.sums[place].wrapping_sub(before), shift)
                    }
                }
            }),
        }
    }
}

/// Writes `value` of each of these pixels to `bytes`, as four bytes in the byte order of the machine.
fn put(bytes: &mut [u8], pixels: Range<u32>, value: impl Fn(u32) -> u32) {
    let (values, _) = bytes.as_chunks_mut::<4>();
    for (bytes, pixel) in values.iter_mut().zip(pixels) {
        *bytes = value(pixel).to_ne_bytes();
    }
}

impl<'slf, 'a: 'slf> WritableChannels<'slf> for PartChannels<'a> {
    type Writer = &'slf Self;

    fn infer_channel_list(&self) -> ChannelList {
        let channels = self.channels.iter().map(|&(name, kind, _)| {
            let name = Text::from_slice_unchecked(name.as_bytes());
            ChannelDescription::named(name, kind)
        });
        ChannelList::new(channels.collect())
    }

    fn infer_level_modes(&self) -> (LevelMode, RoundingMode) {
        (LevelMode::Singular, RoundingMode::Down)
    }

    fn create_writer(&'slf self, _: &Header) -> &'slf Self {
        self
    }
}

impl ChannelsWriter for &PartChannels<'_> {
    fn extract_uncompressed_block(&self, header: &Header, block: BlockIndex) -> Vec<u8> {
        let width = self.part.header.identity.size.0;
        UncompressedBlock::collect_block_data_from_lines(&header.channels, block, |line| {
            let at = line.location;
            let first = at.position.y() as u32 * width + at.position.x() as u32;
            let (_, _, source) = self.channels[at.channel];
            self.write(source, first..first + at.sample_count as u32, line.value);
        })
    }
}
