//! A part as an EXR.

use std::{
    fs::{File, Metadata},
    io::{self, BufReader, BufWriter, Read, Seek},
    path::Path,
};

use exr::{
    block::reader::Reader,
    image::{
        AnyChannels, Encoding, Image,
        read::{image::ReadLayers, layers::ReadChannels, specific_channels::ReadSpecificChannel},
        write::WritableImage,
    },
    math::Vec2,
    meta::{
        attribute::{AttributeValue, Text},
        header::{Header, LayerAttributes},
    },
};
use glam::Vec3;
use xxhash_rust::xxh3::Xxh3;

use super::{
    Claim, Identity, Part, Samples,
    channels::{CHANNELS, LEDGER_CHANNELS, Pixel, film_channels, layer_channels, ledger_channels},
};
use crate::{
    Error,
    film::Exposed,
    history::History,
    layers::{Layer, Layers},
    ledger::Ledger,
    output::replace,
    picture::Picture,
    rounds::Goal,
    scene::memory,
    stats::Stats,
};

/// How tightly a part is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Compressed without loss, for what is to be kept.
    Small,
    /// As it is, for what will soon be written again.
    Fast,
}

/// What is in a part's file, without a word on whether it fits together.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What it says of itself.
    pub claim: Claim,
    /// The film's integers.
    pub exposed: Exposed,
    /// What anyone sees who opens it.
    pub picture: Picture,
    /// What is known of its pixels, if they get samples until they are good.
    pub ledger: Option<Ledger>,
}

impl Found {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`Error::File`] if there is no part, [`Error::Damaged`] if it cannot be understood.
    pub fn read(path: &Path) -> Result<Found, Error> {
        let reader = open(path)?;
        let claim = claim(path, &reader)?;
        let (width, height) = claim.identity.size;
        let bytes = BYTES_PER_PIXEL + claim.identity.goal.map_or(0, |_| MORE_BYTES_PER_PIXEL);
        memory::check(u64::from(width) * u64::from(height) * bytes)
            .map_err(|problem| refused(path, problem))?;
        content(path, reader, claim)
    }
}

/// Of the film's three 64-bit sums and the picture's three floats.
const BYTES_PER_PIXEL: u64 = 3 * 8 + 3 * 4;
/// Of a ledger.
const MORE_BYTES_PER_PIXEL: u64 = 4 + 3 * 8 + 3 * 4;

/// As the attributes stand in a file and in its checksum.
const ATTRIBUTES: [&str; 8] = [
    "scene",
    "scene_hash",
    "seed",
    "max_bounces",
    "samples",
    "sample_range",
    "film_hash",
    "statistics",
];
const CHECKSUM: &str = "checksum";

/// Writes the part, whole or not at all, if `may` says so at the last moment: see [`replace`].
pub(super) fn write(
    part: &Part,
    path: &Path,
    packing: Packing,
    layers: &Layers,
    may: impl FnOnce() -> io::Result<()>,
) -> Result<Metadata, Error> {
    let encode = |file: &mut BufWriter<&mut File>| {
        let (width, height) = part.claim.identity.size;
        let encoding = match packing {
            Packing::Small => Encoding::SMALL_LOSSLESS,
            Packing::Fast => Encoding::UNCOMPRESSED,
        };
        let attributes = attributes(&part.claim)?;
        let channels = film_channels(part)
            .chain(ledger_channels(part))
            .chain(layer_channels(part, layers));
        let image = Image::from_layer(exr::image::Layer::new(
            (width as usize, height as usize),
            attributes,
            encoding,
            AnyChannels::sort(channels.collect()),
        ));
        image.write().to_buffered(file).map_err(io_error)
    };
    replace(path, encode, may)
}

fn attributes(claim: &Claim) -> io::Result<LayerAttributes> {
    let texts = [
        claim.stats.scene.clone(),
        claim.identity.scene_hash.clone(),
        claim.identity.seed.to_string(),
        claim.identity.max_bounces.to_string(),
        claim.stats.spp.to_string(),
        claim.samples.to_string(),
        claim.stats.film_hash.clone(),
        serde_json::to_string(&claim.stats)?,
    ];
    let text = |text: &str| Text::from_slice_unchecked(text.as_bytes());
    let mut other: Vec<(Text, AttributeValue)> = Vec::new();
    let checksum = checksum(&claim.identity.software, &texts);
    let named = ATTRIBUTES
        .iter()
        .zip(&texts)
        .chain([(&CHECKSUM, &checksum)]);
    for (name, value) in named {
        other.push((text(name), AttributeValue::Text(text(value))));
    }
    Ok(LayerAttributes {
        software_name: Some(text(&claim.identity.software)),
        other: other.into_iter().collect(),
        ..LayerAttributes::default()
    })
}

fn checksum(software: &str, texts: &[String; ATTRIBUTES.len()]) -> String {
    let mut hash = Xxh3::new();
    let named = ATTRIBUTES.into_iter().zip(texts.iter().map(String::as_str));
    for (name, text) in [("software", software)].into_iter().chain(named) {
        hash.update(format!("{name}={text}\n").as_bytes());
    }
    format!("{:032x}", hash.digest128())
}

/// Reads what the part says of itself.
pub(super) fn read_claim(path: &Path) -> Result<Claim, Error> {
    claim(path, &open(path)?)
}

fn open(path: &Path) -> Result<Reader<BufReader<File>>, Error> {
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => refused(path, "does not exist; check the path".to_owned()),
        _ => refused(path, format!("cannot be read: {error}")),
    };
    // A pipe would hang, a device might never end.
    if !path.metadata().map_err(cannot)?.is_file() {
        return Err(refused(
            path,
            "is no plain file; expected an .exr that raysieve wrote".to_owned(),
        ));
    }
    let file = BufReader::new(File::open(path).map_err(cannot)?);
    exr::block::read(file, false).map_err(|error| unreadable(path, error))
}

fn unreadable(path: &Path, error: exr::error::Error) -> Error {
    match error {
        exr::error::Error::Io(error) => refused(path, format!("cannot be read: {error}")),
        error => Error::damaged(path, &error.to_string()),
    }
}

fn refused(path: &Path, problem: String) -> Error {
    Error::File {
        file: path.display().to_string(),
        problem,
    }
}

/// Checked so far that nothing in it surprises who goes on with it.
fn claim<R: Read + Seek>(path: &Path, reader: &Reader<R>) -> Result<Claim, Error> {
    let text_of = |header: &Header, name: &str| {
        let value = header.own_attributes.other.get(name.as_bytes())?;
        let AttributeValue::Text(text) = value else {
            return None;
        };
        String::from_utf8(text.as_slice().to_vec()).ok()
    };
    let header = match reader.headers() {
        [header] => header,
        _ => return Err(no_part(path)),
    };
    let texts = ATTRIBUTES.map(|name| text_of(header, name));
    let (checksum_found, software) = (
        text_of(header, CHECKSUM),
        header.own_attributes.software_name.as_ref(),
    );
    if texts.iter().all(Option::is_none) && checksum_found.is_none() {
        return Err(no_part(path));
    }
    let whole = || {
        let software = String::from_utf8(software?.as_slice().to_vec()).ok()?;
        let texts = texts.into_iter().collect::<Option<Vec<String>>>()?;
        let texts: [String; ATTRIBUTES.len()] = texts.try_into().ok()?;
        (checksum(&software, &texts) == checksum_found?).then_some((software, texts))
    };
    let Some((software, texts)) = whole() else {
        return Err(Error::damaged(
            path,
            "what it says of itself does not have its checksum",
        ));
    };
    understood(header, software, &texts).ok_or_else(|| {
        Error::damaged(
            path,
            "what it says of itself and what is in it do not fit together",
        )
    })
}

fn no_part(path: &Path) -> Error {
    let problem = "has no film beside its picture; expected an .exr that raysieve wrote";
    refused(path, problem.to_owned())
}

fn understood(
    header: &Header,
    software: String,
    texts: &[String; ATTRIBUTES.len()],
) -> Option<Claim> {
    let [
        scene,
        scene_hash,
        seed,
        max_bounces,
        spp,
        sample_range,
        film_hash,
        statistics,
    ] = texts;
    let channels = header.channels.list.iter();
    let found = channels.filter(|channel| layer(channel.name.as_slice()).is_none());
    let found = found.map(|channel| (channel.name.as_slice(), channel.sample_type));
    let stats: Stats = serde_json::from_str(statistics).ok()?;
    let goal = stats.noise.as_ref().map(|noise| Goal {
        noise: noise.wanted,
        dark: noise.dark,
    });
    if goal.is_some_and(|goal| !goal.is_possible()) {
        return None;
    }
    let mut expected = CHANNELS.to_vec();
    if goal.is_some() {
        expected.extend(LEDGER_CHANNELS);
        // As a file holds them.
        expected.sort_unstable_by_key(|&(name, _)| name);
    }
    let expected = expected.iter().map(|&(name, kind)| (name.as_bytes(), kind));
    let sampled =
        |channel: &exr::meta::attribute::ChannelDescription| channel.sampling == Vec2(1, 1);
    if !found.eq(expected) || !header.channels.list.iter().all(sampled) || header.deep {
        return None;
    }
    let Vec2(width, height) = header.layer_size;
    let size = (u32::try_from(width).ok()?, u32::try_from(height).ok()?);
    crate::scene::check_sides(size).ok()?;
    let pixel_count = size.0 * size.1;
    let identity = Identity {
        scene_hash: scene_hash.clone(),
        size,
        seed: seed.parse().ok()?,
        max_bounces: max_bounces.parse().ok()?,
        clamp_indirect: stats.clamp_indirect,
        goal,
        software,
    };
    let samples = Samples::parse(sample_range, pixel_count)?;
    let rows = (0..=u64::from(identity.max_bounces)).map(|bounce| bounce as u32);
    // They are shown in errors of one line.
    let names = [&identity.software, scene_hash, film_hash];
    let shown = !names.iter().any(|name| name.contains(char::is_control));
    let fits = shown
        && stats.bounces.iter().map(|row| row.bounce).eq(rows)
        && stats.scene == *scene
        && stats.size == [size.0, size.1]
        && stats.seed == identity.seed
        && stats.film_hash == *film_hash
        && stats.sample_range == *sample_range
        && spp.parse() == Ok(stats.spp)
        && stats.spp == samples.of_every_pixel();
    fits.then_some(Claim {
        identity,
        samples,
        stats,
    })
}

/// The layer that a channel is of, if of any.
fn layer(channel: &[u8]) -> Option<Layer> {
    let is_of = |layer: &Layer| {
        layer
            .channels()
            .iter()
            .any(|name| name.as_bytes() == channel)
    };
    Layer::ALL.into_iter().find(is_of)
}

/// The layers that the part at `path` has beside its picture.
///
/// # Errors
/// As [`Claim::read`].
pub fn layers_of(path: &Path) -> Result<Vec<Layer>, Error> {
    let reader = open(path)?;
    claim(path, &reader)?;
    let channels = reader
        .headers()
        .iter()
        .flat_map(|header| &header.channels.list);
    let mut layers: Vec<Layer> = channels
        .filter_map(|channel| layer(channel.name.as_slice()))
        .collect();
    layers.sort();
    layers.dedup();
    Ok(layers)
}

fn content<R: Read + Seek>(path: &Path, reader: Reader<R>, claim: Claim) -> Result<Found, Error> {
    let (width, height) = claim.identity.size;
    let pixel_count = claim.identity.pixel_count() as usize;
    let names = CHANNELS.map(|(name, _)| name);
    let ledger_names = LEDGER_CHANNELS.map(|(name, _)| name);
    let has_ledger = claim.identity.goal.is_some();
    let create = |_: Vec2<usize>, _: &_| {
        let picture = Picture {
            width,
            height,
            pixels: vec![Vec3::ZERO; pixel_count],
        };
        let ledger = has_ledger.then(|| Ledger::new(width * height));
        (vec![0_u64; 3 * pixel_count], picture, ledger)
    };
    type Content = (Vec<u64>, Picture, Option<Ledger>);
    let set = move |(sums, picture, ledger): &mut Content, at: Vec2<usize>, pixel: Pixel| {
        let (blue, green, red, high_b, high_g, high_r, low_b, low_g, low_r, ..) = pixel;
        let at = at.y() * width as usize + at.x();
        let (Some(shown), Some(sums)) = (
            picture.pixels.get_mut(at),
            sums.as_chunks_mut::<3>().0.get_mut(at),
        ) else {
            return;
        };
        *shown = Vec3::new(red, green, blue);
        let halves = [(high_r, low_r), (high_g, low_g), (high_b, low_b)];
        let whole = |(high, low): (u32, u32)| (u64::from(high) << 32) | u64::from(low);
        *sums = halves.map(whole);
        let Some(ledger) = ledger else { return };
        let (.., error, good, high_b, high_g, high_r, low_b, low_g, low_r, taken, variance) = pixel;
        let gained = [(high_r, low_r), (high_g, low_g), (high_b, low_b)].map(whole);
        let marks = &mut ledger.marks.as_chunks_mut::<3>().0[at];
        for ((mark, sum), gained) in marks.iter_mut().zip(sums).zip(gained) {
            *mark = sum.wrapping_sub(gained);
        }
        ledger.taken[at] = taken;
        ledger.histories[at] = History {
            variance,
            error,
            good,
        };
    };
    let image = exr::image::read::read()
        .no_deep_data()
        .largest_resolution_level()
        .specific_channels()
        .required(names[0])
        .required(names[1])
        .required(names[2])
        .required(names[3])
        .required(names[4])
        .required(names[5])
        .required(names[6])
        .required(names[7])
        .required(names[8])
        .optional(ledger_names[0], 0.0_f32)
        .optional(ledger_names[1], 0_u32)
        .optional(ledger_names[2], 0_u32)
        .optional(ledger_names[3], 0_u32)
        .optional(ledger_names[4], 0_u32)
        .optional(ledger_names[5], 0_u32)
        .optional(ledger_names[6], 0_u32)
        .optional(ledger_names[7], 0_u32)
        .optional(ledger_names[8], 0_u32)
        .optional(ledger_names[9], 0.0_f32)
        .collect_pixels(create, set)
        .first_valid_layer()
        .all_attributes()
        .from_chunks(reader)
        .map_err(|error| unreadable(path, error))?;
    let (sums, picture, ledger) = image.layer_data.channel_data.pixels;
    let rejected = claim.stats.rejected_samples;
    Ok(Found {
        claim,
        exposed: Exposed { sums, rejected },
        picture,
        ledger,
    })
}

fn io_error(error: exr::error::Error) -> io::Error {
    match error {
        exr::error::Error::Io(error) => error,
        error => io::Error::other(error),
    }
}
