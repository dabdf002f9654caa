//! Reads and writes parts as EXR files.

use std::{
    cell::Cell,
    fs::{File, Metadata},
    io::{self, BufReader, BufWriter, Read, Seek},
    path::Path,
};

use exr::{
    block::reader::Reader,
    image::{
        Encoding, Image,
        read::{image::ReadLayers, layers::ReadChannels, specific_channels::ReadSpecificChannel},
        write::WritableImage,
    },
    math::Vec2,
    meta::{
        attribute::{AttributeValue, ChannelDescription, Text},
        header::{Header, LayerAttributes},
    },
};
use glam::Vec3;
use xxhash_rust::xxh3::Xxh3;

use super::{
    Identity, Part, PartHeader, Samples,
    channels::{CHANNELS, PIXEL_STATS_CHANNELS, PartChannels, Pixel},
};
use crate::{
    Error,
    adaptive::{pixel_noise::PixelNoise, pixel_stats::PixelStats, schedule::ConvergenceGoal},
    film::FilmSums,
    film::picture::Picture,
    inspect::aovs::{Aov, Aovs},
    render::stats::Stats,
    scene::{
        atomic_file::{TemporaryFile, replace},
        memory,
    },
};

/// Compression of a part's EXR file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Lossless compression, for final results.
    Small,
    /// No compression, for files that will soon be replaced.
    Fast,
}

/// The content of a part's file, before its film and picture have been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct PartFile {
    /// Identity, samples and statistics of the part.
    pub header: PartHeader,
    /// The film's sums of radiance as fixed-point integers.
    pub film: FilmSums,
    /// Picture stored in the file.
    pub picture: Picture,
    /// Noise estimates of the pixels; `None` without adaptive sampling.
    pub pixel_stats: Option<PixelStats>,
}

impl PartFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`Error::File`] if the file is not a part, [`Error::Damaged`] if its content is inconsistent.
    pub fn read(path: &Path) -> Result<PartFile, Error> {
        let reader = open(path)?;
        let header = checked_header(path, &reader)?;
        let (width, height) = header.identity.size;
        let more = match header.identity.has_pixel_stats() {
            true => MORE_BYTES_PER_PIXEL,
            false => 0,
        };
        let bytes = BYTES_PER_PIXEL + more;
        let pixels = u64::from(width) * u64::from(height);
        memory::check(pixels * bytes + u64::from(width) * BAND_BYTES)
            .map_err(|error| refused(path, error.to_string()))?;
        content(path, reader, header)
    }
}

/// Memory in bytes for one pixel of a part: three 64-bit sums of the film and three floats of the picture.
const BYTES_PER_PIXEL: u64 = 3 * 8 + 3 * 4;
/// Memory in bytes per column of the bands of 32 rows that the decoder unpacks: packed, unpacked and sorted.
const BAND_BYTES: u64 = 3 * 32 * 9 * 4;
/// Additional memory in bytes for the noise estimates of one pixel.
const MORE_BYTES_PER_PIXEL: u64 = 4 + 3 * 8 + 3 * 4;

/// Names of the attributes, in the order of the checksum.
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
/// Name of the attribute that contains the checksum of the others.
const CHECKSUM: &str = "checksum";

/// Writes the part to `path` atomically: to a temporary file that is renamed. `may` is called just before the rename,
/// and its failure cancels it.
pub(super) fn write(
    part: &Part,
    path: &Path,
    packing: Packing,
    aovs: &Aovs,
    may: impl FnOnce() -> io::Result<()>,
) -> Result<Metadata, Error> {
    let encode = |file: &mut BufWriter<TemporaryFile>| {
        let (width, height) = part.header.identity.size;
        let encoding = match packing {
            Packing::Small => Encoding::SMALL_LOSSLESS,
            Packing::Fast => Encoding::UNCOMPRESSED,
        };
        let attributes = attributes(&part.header)?;
        let image = Image::from_layer(exr::image::Layer::new(
            (width as usize, height as usize),
            attributes,
            encoding,
            PartChannels::new(part, aovs),
        ));
        let writer = match memory::is_limited() {
            true => image.write().non_parallel(),
            false => image.write(),
        };
        writer.to_buffered(file).map_err(io::Error::other)
    };
    Ok(replace(path, encode, may)?)
}

/// Returns the attributes of a part's file, [`ATTRIBUTES`] and their checksum.
fn attributes(header: &PartHeader) -> io::Result<LayerAttributes> {
    let texts = [
        header.stats.scene.clone(),
        header.identity.scene_hash.clone(),
        header.identity.seed.to_string(),
        header.identity.max_bounces.to_string(),
        header.stats.spp.to_string(),
        header.samples.to_string(),
        header.stats.film_hash.clone(),
        serde_json::to_string(&header.stats)?,
    ];
    let text = |text: &str| Text::from_slice_unchecked(text.as_bytes());
    let mut other: Vec<(Text, AttributeValue)> = Vec::new();
    let checksum = checksum(&header.identity.software, &texts);
    let named = ATTRIBUTES
        .iter()
        .zip(&texts)
        .chain([(&CHECKSUM, &checksum)]);
    for (name, value) in named {
        other.push((text(name), AttributeValue::Text(text(value))));
    }
    Ok(LayerAttributes {
        software_name: Some(text(&header.identity.software)),
        other: other.into_iter().collect(),
        ..LayerAttributes::default()
    })
}

/// Returns the checksum of the program and the texts of [`ATTRIBUTES`], as 32 hexadecimal digits.
fn checksum(software: &str, texts: &[String; ATTRIBUTES.len()]) -> String {
    let mut hash = Xxh3::new();
    let named = ATTRIBUTES.into_iter().zip(texts.iter().map(String::as_str));
    for (name, text) in [("software", software)].into_iter().chain(named) {
        hash.update(format!("{name}={text}\n").as_bytes());
    }
    format!("{:032x}", hash.digest128())
}

/// Reads the identity, samples and statistics of the part at `path`, without its film.
pub(super) fn read_header(path: &Path) -> Result<PartHeader, Error> {
    checked_header(path, &open(path)?)
}

/// Opens an EXR and reads its structure.
///
/// # Errors
/// [`Error::File`] if it is not a readable regular file, [`Error::Damaged`] if it is not a valid EXR.
fn open(path: &Path) -> Result<Reader<BufReader<File>>, Error> {
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => refused(path, "does not exist; check the path".to_owned()),
        _ => refused(path, format!("cannot be read: {error}")),
    };
    // Reading a pipe would block, and a device might be endless.
    if !path.metadata().map_err(cannot)?.is_file() {
        return Err(refused(
            path,
            "is not a regular file; expected an .exr written by raysieve".to_owned(),
        ));
    }
    let file = BufReader::new(File::open(path).map_err(cannot)?);
    exr::block::read(file, false).map_err(|error| unreadable(path, error))
}

/// Returns the error for an EXR at `path` that cannot be read: [`Error::Damaged`] unless the system reported it.
fn unreadable(path: &Path, error: exr::error::Error) -> Error {
    match error {
        exr::error::Error::Io(error) => refused(path, format!("cannot be read: {error}")),
        error => Error::damaged(path, &error.to_string()),
    }
}

/// Returns the error for a file that cannot be read as a part.
fn refused(path: &Path, problem: String) -> Error {
    Error::File {
        file: path.display().to_string(),
        problem,
    }
}

/// Reads the identity, samples and statistics of a part and checks them against the file's structure, so that its film
/// can be read safely.
fn checked_header<R: Read + Seek>(path: &Path, reader: &Reader<R>) -> Result<PartHeader, Error> {
    let text_of = |exr_header: &Header, name: &str| {
        let value = exr_header.own_attributes.other.get(name.as_bytes())?;
        let AttributeValue::Text(text) = value else {
            return None;
        };
        String::from_utf8(text.as_slice().to_vec()).ok()
    };
    let exr_header = match reader.headers() {
        [exr_header] => exr_header,
        _ => return Err(no_part(path)),
    };
    let texts = ATTRIBUTES.map(|name| text_of(exr_header, name));
    let (checksum_found, software) = (
        text_of(exr_header, CHECKSUM),
        exr_header.own_attributes.software_name.as_ref(),
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
            "its attributes do not match their checksum",
        ));
    };
    understood(exr_header, software, &texts)
        .ok_or_else(|| Error::damaged(path, "its attributes do not match its content"))
}

/// Returns the error for an EXR without a film.
fn no_part(path: &Path) -> Error {
    let problem = "contains no film; expected an .exr written by raysieve";
    refused(path, problem.to_owned())
}

/// Returns the header that these texts of [`ATTRIBUTES`] describe; `None` if they contradict each other or the
/// structure of the EXR.
fn understood(
    exr_header: &Header,
    software: String,
    texts: &[String; ATTRIBUTES.len()],
) -> Option<PartHeader> {
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
    let channels = exr_header.channels.list.iter();
    let found = channels.filter(|channel| aov_of_channel(channel.name.as_slice()).is_none());
    let found = found.map(|channel| (channel.name.as_slice(), channel.sample_type));
    let stats: Stats = serde_json::from_str(statistics).ok()?;
    let goal = stats.noise.as_ref().map(|noise| ConvergenceGoal {
        noise: noise.target,
        brightness_offset: noise.dark,
    });
    if goal.is_some_and(|goal| !goal.is_possible()) {
        return None;
    }
    let mut expected = CHANNELS.to_vec();
    if goal.is_some() || stats.crop.is_some() {
        expected.extend(PIXEL_STATS_CHANNELS);
        // Files store channels in alphabetical order.
        expected.sort_unstable_by_key(|&(name, _)| name);
    }
    let expected = expected.iter().map(|&(name, kind)| (name.as_bytes(), kind));
    let sampled = |channel: &ChannelDescription| channel.sampling == Vec2(1, 1);
    if !found.eq(expected) || !exr_header.channels.list.iter().all(sampled) || exr_header.deep {
        return None;
    }
    let Vec2(width, height) = exr_header.layer_size;
    let size = (u32::try_from(width).ok()?, u32::try_from(height).ok()?);
    crate::scene::limits::check_sides(size).ok()?;
    if stats.crop.is_some_and(|crop| !crop.is_inside(size)) {
        return None;
    }
    let pixel_count = size.0 * size.1;
    let identity = Identity {
        scene_hash: scene_hash.clone(),
        size,
        seed: seed.parse().ok()?,
        max_bounces: max_bounces.parse().ok()?,
        roulette: stats.roulette,
        clamp_indirect: stats.clamp_indirect,
        goal,
        crop: stats.crop,
        software,
    };
    let samples = Samples::parse(sample_range, pixel_count)?;
    let rows = (0..=u64::from(identity.max_bounces)).map(|bounce| bounce as u32);
    // These are shown in one-line error messages.
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
        && stats.spp == samples.min_samples();
    fits.then_some(PartHeader {
        identity,
        samples,
        stats,
    })
}

/// Returns the AOV that an EXR channel belongs to; `None` if it is part of the film or picture.
fn aov_of_channel(channel: &[u8]) -> Option<Aov> {
    let is_of = |aov: &Aov| aov.channels().iter().any(|name| name.as_bytes() == channel);
    Aov::ALL.into_iter().find(is_of)
}

/// Returns the AOVs in the part at `path`, sorted and without duplicates.
///
/// # Errors
/// See [`PartHeader::read`].
pub fn aovs_of(path: &Path) -> Result<Vec<Aov>, Error> {
    let reader = open(path)?;
    checked_header(path, &reader)?;
    let channels = reader
        .headers()
        .iter()
        .flat_map(|exr_header| &exr_header.channels.list);
    let mut aovs: Vec<Aov> = channels
        .filter_map(|channel| aov_of_channel(channel.name.as_slice()))
        .collect();
    aovs.sort();
    aovs.dedup();
    Ok(aovs)
}

/// Returns the alpha of each pixel of the part at `path`, row by row from the top; `None` if its image is opaque.
/// Values outside 0 to 1 are clamped.
///
/// # Errors
/// See [`PartHeader::read`].
pub fn alpha_of(path: &Path) -> Result<Option<Vec<f32>>, Error> {
    let reader = open(path)?;
    let header = checked_header(path, &reader)?;
    let channels = &reader.headers()[0].channels.list;
    let is_alpha =
        |channel: &ChannelDescription| aov_of_channel(channel.name.as_slice()) == Some(Aov::Alpha);
    if !channels.iter().any(is_alpha) {
        return Ok(None);
    }
    let (size, pixel_count) = (header.identity.size, header.identity.pixel_count());
    let alpha = memory::filled(0.0_f32, pixel_count as usize).map_err(Error::memory(size))?;
    // Created before, because the decoder does not accept an error.
    let alpha = Cell::new(Some(alpha));
    let create = |_: Vec2<usize>, _: &_| alpha.take().unwrap_or_default();
    let set = move |alpha: &mut Vec<f32>, at: Vec2<usize>, (value,): (f32,)| {
        if let Some(place) = alpha.get_mut(at.y() * size.0 as usize + at.x()) {
            // NaN becomes 0.
            *place = value.clamp(0.0, 1.0).max(0.0);
        }
    };
    let reading = exr::image::read::read()
        .no_deep_data()
        .largest_resolution_level()
        .specific_channels()
        .required(Aov::Alpha.channels()[0])
        .collect_pixels(create, set)
        .first_valid_layer()
        .all_attributes();
    // The threads of the decoder would take memory that was not checked.
    let reading = match memory::is_limited() {
        true => reading.non_parallel(),
        false => reading,
    };
    let image = reading
        .from_chunks(reader)
        .map_err(|error| unreadable(path, error))?;
    Ok(Some(image.layer_data.channel_data.pixels))
}

/// Reads the film, the picture and the noise estimates of a part whose header has been checked.
fn content<R: Read + Seek>(
    path: &Path,
    reader: Reader<R>,
    header: PartHeader,
) -> Result<PartFile, Error> {
    let (width, height) = header.identity.size;
    let pixel_count = header.identity.pixel_count() as usize;
    let names = CHANNELS.map(|(name, _)| name);
    let pixel_stats_names = PIXEL_STATS_CHANNELS.map(|(name, _)| name);
    let has_pixel_stats = header.identity.has_pixel_stats();
    let too_large = Error::memory((width, height));
    let picture = Picture {
        width,
        height,
        pixels: memory::filled(Vec3::ZERO, pixel_count).map_err(&too_large)?,
    };
    let sums = memory::filled(0_u64, 3 * pixel_count).map_err(&too_large)?;
    let pixel_stats = has_pixel_stats.then(|| PixelStats::new(width * height));
    // Created before, because the decoder does not accept an error. It takes the content once, for the only layer.
    let content = Cell::new(Some((sums, picture, pixel_stats)));
    let create = |_: Vec2<usize>, _: &_| content.take().unwrap_or_default();
    type Content = (Vec<u64>, Picture, Option<PixelStats>);
    let set = move |(sums, picture, pixel_stats): &mut Content, at: Vec2<usize>, pixel: Pixel| {
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
        let Some(pixel_stats) = pixel_stats else {
            return;
        };
        let (.., error, good, high_b, high_g, high_r, low_b, low_g, low_r, taken, variance) = pixel;
        let gained = [(high_r, low_r), (high_g, low_g), (high_b, low_b)].map(whole);
        let marks = &mut pixel_stats.sums_at_test.as_chunks_mut::<3>().0[at];
        for ((mark, sum), gained) in marks.iter_mut().zip(sums).zip(gained) {
            *mark = sum.wrapping_sub(gained);
        }
        pixel_stats.sample_counts[at] = taken;
        pixel_stats.pixel_noise[at] = PixelNoise {
            variance,
            error,
            converged_rounds: good,
        };
    };
    let reading = exr::image::read::read()
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
        .optional(pixel_stats_names[0], 0.0_f32)
        .optional(pixel_stats_names[1], 0_u32)
        .optional(pixel_stats_names[2], 0_u32)
        .optional(pixel_stats_names[3], 0_u32)
        .optional(pixel_stats_names[4], 0_u32)
        .optional(pixel_stats_names[5], 0_u32)
        .optional(pixel_stats_names[6], 0_u32)
        .optional(pixel_stats_names[7], 0_u32)
        .optional(pixel_stats_names[8], 0_u32)
        .optional(pixel_stats_names[9], 0.0_f32)
        .collect_pixels(create, set)
        .first_valid_layer()
        .all_attributes();
    // The threads of the decoder would take memory that was not checked.
    let reading = match memory::is_limited() {
        true => reading.non_parallel(),
        false => reading,
    };
    let image = reading
        .from_chunks(reader)
        .map_err(|error| unreadable(path, error))?;
    let (sums, picture, pixel_stats) = image.layer_data.channel_data.pixels;
    let rejected = header.stats.rejected_samples;
    Ok(PartFile {
        header,
        film: FilmSums { sums, rejected },
        picture,
        pixel_stats,
    })
}
