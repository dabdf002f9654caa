//! Parts of a render: films of some of its samples. Parts add up to the film of a single render, bit for bit.
//!
//! A part is stored as an EXR that contains the picture and, without rounding, the film's integers. Every EXR that the
//! program writes is a part; a complete render is a part with all samples.
//!
//! | channel | type | what |
//! |---|---|---|
//! | `R`, `G`, `B` | float | mean radiance in linear sRGB |
//! | `film.high.R`, `.G`, `.B` | uint | upper half of the film's 64-bit sum |
//! | `film.low.R`, `.G`, `.B` | uint | lower half of the film's 64-bit sum |
//!
//! A render with adaptive sampling, or of a crop, stores additional channels, see [`PixelStats`], from which it can
//! continue:
//!
//! | channel | type | what |
//! |---|---|---|
//! | `film.taken` | uint | number of samples of the pixel |
//! | `film.round.high.R`, `film.round.low.R`, and so on | uint | increase of the film's sums since the last convergence test |
//! | `film.variance`, `film.error`, `film.good` | float, float, uint | see [`PixelNoise`](crate::adaptive::pixel_noise::PixelNoise) |
//!
//! On request, a part contains [`Aovs`] in channels of their own; see [`Aov`](crate::inspect::aovs::Aov). They are not
//! part of the film, and merging omits them. If the background of the scene is transparent, a part contains `A`, which
//! all parts of a render have in common, and which merging keeps.
//!
//! | attribute, a text | what |
//! |---|---|
//! | `software` | program and version; another version may take other samples |
//! | `scene` | path of the scene, as it was given |
//! | `scene_hash` | see [`Scene::hash`](crate::scene::Scene::hash) |
//! | `seed`, `max_bounces` | settings of the render |
//! | `samples` | number of samples that every pixel has |
//! | `sample_range` | range of those samples, see [`Samples`] |
//! | `film_hash` | hash of the film's integers |
//! | `statistics` | counts and times as `--stats` writes them, JSON |
//! | `checksum` | XXH3 of all the attributes above in this order, as `name=value` lines |
//!
//! ```no_run
//! use raysieve::{
//!     render::{part::{Packing, Part, SamplePosition, Samples}, renderer::{Renderer, Settings}},
//!     scene::Scene,
//! };
//!
//! let scene = Scene::load("scenes/cornell.ron".as_ref())?;
//! let pixel_count = scene.size.0 * scene.size.1;
//! let before = |sample| SamplePosition { sample, pixel: 0 };
//! let mut renderer = Renderer::new(&scene, &Settings::default())?;
//! let mut parts = Vec::new();
//! for range in [before(0)..before(32), before(32)..before(64)] {
//!     renderer.set_samples(&Samples::new(range, pixel_count).expect("a range of samples"))?;
//!     while renderer.advance()? {}
//!     parts.push(renderer.part()?);
//! }
//! let mut whole = parts.remove(0);
//! whole.add(&parts[0]).expect("parts of one render");
//! whole.write("cornell.exr".as_ref(), Packing::Small)?;
//! # Ok::<(), raysieve::Error>(())
//! ```

mod channels;
mod file;
mod samples;
mod verify;

use std::{
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use rayon::prelude::*;

pub use file::{Packing, PartFile, alpha_of, aovs_of};
pub use samples::{SamplePosition, Samples};
pub use verify::{Difference, Portion};

use crate::{
    Error,
    adaptive::{pixel_stats::PixelStats, schedule::ConvergenceGoal},
    film::picture::Picture,
    film::{FilmSums, film_hash, mean},
    inspect::aovs::Aovs,
    render::{region::Region, stats::Stats},
    stages::gather,
};

/// Name and version of the program, as recorded in files.
pub const SOFTWARE: &str = concat!("raysieve ", env!("CARGO_PKG_VERSION"));

/// Identifies the render that a film belongs to; only films of equal identity can be added.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Hash of the scene in hexadecimal; see [`Scene::hash`](crate::scene::Scene::hash).
    pub scene_hash: String,
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// Seed of the random numbers.
    pub seed: u32,
    /// Maximum number of scatterings per path.
    pub max_bounces: u32,
    /// First scattering event at which Russian roulette may end a path; 0 if never.
    pub roulette: u32,
    /// Limit to which the radiance of indirect light is clamped per sample; `None` without clamping.
    pub clamp_indirect: Option<f32>,
    /// Error target of adaptive sampling; `None` without it, if every pixel gets the same samples.
    pub goal: Option<ConvergenceGoal>,
    /// The part of the picture that is rendered; `None` for all of it. Other pixels are black.
    pub crop: Option<Region>,
    /// Program and version that took the samples; see [`SOFTWARE`].
    pub software: String,
}

impl Identity {
    /// Returns whether parts of this render have statistics of each pixel, because pixels have different numbers of
    /// samples.
    fn has_pixel_stats(&self) -> bool {
        self.goal.is_some() || self.crop.is_some()
    }

    /// Describes the first difference in words, such as "has seed 1, not 2"; `None` if both are equal.
    pub fn difference(&self, other: &Identity) -> Option<String> {
        let ((width, height), (other_width, other_height)) = (self.size, other.size);
        if self.software != other.software {
            Some(format!("is by {}, not {}", self.software, other.software))
        } else if self.size != other.size {
            Some(format!(
                "has {width}x{height} pixels, not {other_width}x{other_height}"
            ))
        } else if self.seed != other.seed {
            Some(format!("has seed {}, not {}", self.seed, other.seed))
        } else if self.max_bounces != other.max_bounces {
            Some(format!(
                "has max_bounces {}, not {}",
                self.max_bounces, other.max_bounces
            ))
        } else if self.roulette != other.roulette {
            Some(format!(
                "has roulette {}, not {}",
                self.roulette, other.roulette
            ))
        } else if self.clamp_indirect != other.clamp_indirect {
            let words =
                |clamp: Option<f32>| clamp.map_or("none".to_owned(), |most| most.to_string());
            Some(format!(
                "has clamp_indirect {}, not {}",
                words(self.clamp_indirect),
                words(other.clamp_indirect)
            ))
        } else if self.crop != other.crop {
            let words = |crop: Option<Region>| {
                crop.map_or("the whole image".to_owned(), |crop| format!("crop {crop}"))
            };
            Some(format!(
                "has {}, not {}",
                words(self.crop),
                words(other.crop)
            ))
        } else if self.goal != other.goal {
            let words = |goal: Option<ConvergenceGoal>| {
                goal.map_or("none".to_owned(), |goal| goal.to_string())
            };
            Some(format!(
                "has noise {}, not {}",
                words(self.goal),
                words(other.goal)
            ))
        } else if self.scene_hash != other.scene_hash {
            Some(format!(
                "shows another scene: scene_hash {}, not {}",
                self.scene_hash, other.scene_hash
            ))
        } else {
            None
        }
    }

    /// Returns the number of pixels of the picture.
    pub(crate) fn pixel_count(&self) -> u32 {
        self.size.0 * self.size.1
    }
}

/// The header of a part: its identity, samples and statistics, but not its film.
#[derive(Clone, Debug, PartialEq)]
pub struct PartHeader {
    /// Identity of the render that the film belongs to.
    pub identity: Identity,
    /// The (pixel, sample) pairs that the film contains.
    pub samples: Samples,
    /// Statistics of those samples, including the hash of the film.
    pub stats: Stats,
}

impl PartHeader {
    /// Reads the identity, samples and statistics of the part at `path`, without its film.
    ///
    /// # Errors
    /// [`Error::File`] if the file is not a part, [`Error::Damaged`] if its content is inconsistent.
    pub fn read(path: &Path) -> Result<PartHeader, Error> {
        file::read_header(path)
    }
}

/// A film with some or all samples of a render, and the header that describes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Identity, samples and statistics of the part.
    pub header: PartHeader,
    /// The film's sums of radiance as fixed-point integers.
    pub film: FilmSums,
    /// Noise estimates of the pixels; `None` without adaptive sampling.
    pub pixel_stats: Option<PixelStats>,
}

impl Part {
    /// Reads the part at `path`, and checks its hashes and its picture.
    ///
    /// # Errors
    /// See [`PartHeader::read`].
    pub fn read(path: &Path) -> Result<Part, Error> {
        PartFile::read(path)?.into_part(path)
    }

    /// Writes the part to `path` as an EXR, atomically.
    ///
    /// # Errors
    /// [`Error::Write`] if the file cannot be written.
    pub fn write(&self, path: &Path, packing: Packing) -> Result<(), Error> {
        self.write_with(path, packing, &Aovs::default())
    }

    /// Writes the part to `path` like [`Part::write`], with the requested AOVs, of the same size.
    ///
    /// # Errors
    /// [`Error::Write`] if the file cannot be written.
    pub fn write_with(&self, path: &Path, packing: Packing, aovs: &Aovs) -> Result<(), Error> {
        file::write(self, path, packing, aovs, || Ok(())).map(drop)
    }

    /// Writes the part to `path` like [`Part::write`], but calls `may` before the rename and gives up if that fails.
    /// Returns the metadata of the new file.
    ///
    /// # Errors
    /// [`Error::Write`] if the file cannot be written or `may` fails.
    pub(crate) fn replace(
        &self,
        path: &Path,
        packing: Packing,
        may: impl FnOnce() -> io::Result<()>,
    ) -> Result<fs::Metadata, Error> {
        file::write(self, path, packing, &Aovs::default(), may)
    }

    /// Adds the film of another part, and updates samples and statistics.
    ///
    /// # Errors
    /// The reason, in words, why the parts cannot be added; this part is then unchanged.
    pub fn add(&mut self, other: &Part) -> Result<(), String> {
        let PartHeader {
            identity,
            samples,
            stats,
        } = &mut self.header;
        if let Some(difference) = other.header.identity.difference(identity) {
            return Err(difference);
        }
        if let Some(goal) = identity.goal {
            return Err(format!("has noise {goal}, {STANDS_ALONE}"));
        }
        if let Some(crop) = identity.crop {
            return Err(format!("has crop {crop}, {CROPS_STAND_ALONE}"));
        }
        let (sums, more) = (&self.film.sums, &other.film.sums);
        let fits = |(sum, &more): (&u64, &u64)| sum.checked_add(more).is_some();
        if !sums.par_iter().zip(more).all(fits) {
            return Err("is too bright: the sum overflows the film".to_owned());
        }
        samples
            .add(&other.header.samples)
            .map_err(|both| format!("also contains samples {both}"))?;
        gather(&mut self.film, &other.film);
        let (width, height) = identity.size;
        stats.add_part(&other.header.stats);
        stats.spp = samples.min_samples();
        stats.sample_range = samples.to_string();
        stats.film_hash = film_hash(width, height, &self.film.sums);
        Ok(())
    }

    /// Returns the picture: the mean of each pixel's samples.
    pub fn picture(&self) -> Picture {
        self.picture_rows(0..self.header.identity.size.1)
    }

    /// Returns the number of samples of a pixel on this film.
    pub(crate) fn samples_of(&self, pixel: u32) -> u32 {
        match &self.pixel_stats {
            Some(pixel_stats) => pixel_stats.sample_counts[pixel as usize],
            None => self.header.samples.of_pixel(pixel),
        }
    }

    /// Returns the rows `rows` of the picture as a picture of their own.
    pub(crate) fn picture_rows(&self, rows: Range<u32>) -> Picture {
        let width = self.header.identity.size.0;
        let pixels = rows.start * width..rows.end * width;
        Picture {
            width,
            height: rows.end - rows.start,
            pixels: pixels
                .into_par_iter()
                .map(|pixel| self.pixel(pixel).into())
                .collect(),
        }
    }

    /// Returns the mean radiance of a pixel.
    pub(crate) fn pixel(&self, pixel: u32) -> [f32; 3] {
        let samples = self.samples_of(pixel);
        let first = 3 * pixel as usize;
        [0, 1, 2].map(|channel| mean(self.film.sums[first + channel], samples))
    }
}

/// Returns whether the statistics of a part agree with those of its pixels.
fn match_each_other(stats: &Stats, pixel_stats: &PixelStats) -> bool {
    let taken = || pixel_stats.sample_counts.iter().copied();
    // Outside of a crop, pixels have no samples. Inside, some may have none yet.
    let least = match stats.crop {
        Some(_) if stats.spp > 0 => taken().filter(|&count| count > 0).min(),
        _ => taken().min(),
    };
    match &stats.noise {
        Some(noise) => {
            pixel_stats.hash() == noise.pixel_stats_hash
                && least == Some(stats.spp)
                && taken().max() == Some(noise.max_samples)
        }
        None => least == Some(stats.spp) && taken().map(u64::from).sum::<u64>() == stats.paths,
    }
}

impl PartFile {
    /// Converts the file's content to a part, if its picture and hash match its film. `path` is for error messages.
    ///
    /// # Errors
    /// [`Error::Damaged`] if something does not match.
    pub fn into_part(self, path: &Path) -> Result<Part, Error> {
        let PartFile {
            header,
            film,
            picture,
            pixel_stats,
        } = self;
        let (width, height) = header.identity.size;
        let hash = film_hash(width, height, &film.sums);
        if hash != header.stats.film_hash {
            let problem = format!(
                "its film has film_hash {hash}, not {}",
                header.stats.film_hash
            );
            return Err(Error::damaged(path, &problem));
        }
        if let Some(pixel_stats) = &pixel_stats
            && !match_each_other(&header.stats, pixel_stats)
        {
            let problem = "its noise estimates do not match its statistics";
            return Err(Error::damaged(path, problem));
        }
        let part = Part {
            header,
            film,
            pixel_stats,
        };
        let pixels = picture.pixels.par_iter().zip(0..width * height);
        let altered =
            pixels.find_first(|&(shown, pixel)| bits(shown.to_array()) != bits(part.pixel(pixel)));
        match altered {
            Some((_, pixel)) => {
                let (x, y) = (pixel % width, pixel / width);
                let problem = format!("its picture does not match its film at pixel x {x}, y {y}");
                Err(Error::damaged(path, &problem))
            }
            None => Ok(part),
        }
    }
}

/// Returns the bits of a color, by which equal colors are recognised exactly.
fn bits(color: [f32; 3]) -> [u32; 3] {
    color.map(f32::to_bits)
}

/// Part of error messages. Films of adaptive renders cannot be merged, because the number of a pixel's samples depends
/// on its earlier ones.
const STANDS_ALONE: &str = "and adaptive renders cannot be merged";
/// The same part of messages about a crop, which has no samples outside of it.
const CROPS_STAND_ALONE: &str = "and crops cannot be merged";

/// Checks that parts, each given with its path, can be merged. They must belong to one render and not overlap, and have
/// no gaps between them unless `allow_gaps`.
///
/// # Errors
/// [`Error::File`] that names the parts that do not fit.
pub fn check_parts(parts: &[(PathBuf, PartHeader)], allow_gaps: bool) -> Result<(), Error> {
    let refused = |path: &Path, problem| Error::File {
        file: path.display().to_string(),
        problem,
    };
    let [(first, header), others @ ..] = parts else {
        return Ok(());
    };
    for (path, other) in others {
        if let Some(difference) = other.identity.difference(&header.identity) {
            let problem = format!(
                "{difference} as {}; merge parts of one render",
                first.display()
            );
            return Err(refused(path, problem));
        }
        if let Some(goal) = header.identity.goal {
            let problem = format!("has noise {goal}, {STANDS_ALONE}; leave out the others");
            return Err(refused(path, problem));
        }
        if let Some(crop) = header.identity.crop {
            let problem = format!("has crop {crop}, {CROPS_STAND_ALONE}; leave out the others");
            return Err(refused(path, problem));
        }
    }
    let ranges = parts.iter().flat_map(|(path, header)| {
        let ranges = header.samples.ranges().iter();
        ranges.map(move |range| (path, range))
    });
    let mut ranges: Vec<_> = ranges.collect();
    ranges.sort_by_key(|(_, range)| range.start);
    for pair in ranges.windows(2) {
        let [(before, last), (path, next)] = pair else {
            continue;
        };
        let samples = |pairs| Samples::of_pairs(pairs, header.identity.pixel_count());
        let (before, overlap) = (before.display(), next.start..last.end.min(next.end));
        if !overlap.is_empty() {
            let problem = format!(
                "samples {} are in {before} too; leave out one of the two",
                samples(overlap)
            );
            return Err(refused(path, problem));
        }
        if !allow_gaps && last.end < next.start {
            let missing = samples(last.end..next.start);
            let problem = format!(
                "samples {missing} are missing between {before} and it; render them with --samples {missing}, or merge \
                 with --allow-gaps"
            );
            return Err(refused(path, problem));
        }
    }
    Ok(())
}
