//! A part of a render: the film of some of its samples. Parts add up to the film of one go, to the bit.
//!
//! A part is kept in an EXR: the picture as anyone can look at it, and beside it the film's integers, so that nothing is
//! rounded. Every EXR that the program writes is one; a whole render is the part that holds all samples.
//!
//! | channel | type | what |
//! |---|---|---|
//! | `R`, `G`, `B` | float | mean radiance, linear sRGB |
//! | `film.high.R`, `.G`, `.B` | uint | upper half of the film's 64-bit sum |
//! | `film.low.R`, `.G`, `.B` | uint | lower half |
//!
//! A render whose pixels get samples until they are good keeps more beside it, see [`Ledger`], and goes on from it:
//!
//! | channel | type | what |
//! |---|---|---|
//! | `film.taken` | uint | samples of the pixel |
//! | `film.round.high.R`, `film.round.low.R`, and so on | uint | what the film's sums have gained since the pixel was judged last |
//! | `film.variance`, `film.error`, `film.good` | float, float, uint | see [`History`](crate::history::History) |
//!
//! On request there are [`Layers`] too, in channels of their own: see [`Layer`](crate::layers::Layer). They are no part of
//! the film: parts add up without them, and what adds them up leaves them out.
//!
//! | attribute, a text | what |
//! |---|---|
//! | `software` | program and version: another version may take other samples |
//! | `scene` | path of the scene, as it was given |
//! | `scene_hash` | see [`Scene::hash`](crate::scene::Scene::hash) |
//! | `seed`, `max_bounces` | settings of the render |
//! | `samples` | samples that every pixel has |
//! | `sample_range` | which samples those are, see [`Samples`] |
//! | `film_hash` | hash of the film's integers |
//! | `statistics` | counts and times as `--stats` writes them, JSON |
//! | `checksum` | XXH3 of all the attributes above, `name=value` a line, in this order |
//!
//! ```no_run
//! use raysieve::{part::{Packing, Part, Place, Samples}, renderer::{Renderer, Settings}, scene::Scene};
//!
//! let scene = Scene::load("scenes/cornell.ron".as_ref())?;
//! let pixel_count = scene.size.0 * scene.size.1;
//! let before = |sample| Place { sample, pixel: 0 };
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
    path::{Path, PathBuf},
};

use rayon::prelude::*;

pub use file::{Found, Packing, layers_of};
pub use samples::{Place, Samples};
pub use verify::{Difference, Portion};

use crate::{
    Error,
    film::{Exposed, film_hash, mean},
    layers::Layers,
    ledger::Ledger,
    picture::Picture,
    rounds::Goal,
    stages::gather,
    stats::Stats,
};

/// The program and its version, as files name it.
pub const SOFTWARE: &str = concat!("raysieve ", env!("CARGO_PKG_VERSION"));

/// What a film is of: two films of the same add up.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// See [`Scene::hash`](crate::scene::Scene::hash).
    pub scene_hash: String,
    /// Width and height, pixels.
    pub size: (u32, u32),
    /// Of every random number.
    pub seed: u32,
    /// Times that a path may scatter.
    pub max_bounces: u32,
    /// What indirect light is clamped to, if it is.
    pub clamp_indirect: Option<f32>,
    /// When its pixels are good enough, if they get no more samples then.
    pub goal: Option<Goal>,
    /// The program that took the samples, and its version: see [`SOFTWARE`].
    pub software: String,
}

impl Identity {
    /// What tells this one from the other, in words: "has seed 1, not 2". `None` if they are equal.
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
        } else if self.clamp_indirect != other.clamp_indirect {
            let words =
                |clamp: Option<f32>| clamp.map_or("none".to_owned(), |most| most.to_string());
            Some(format!(
                "has clamp_indirect {}, not {}",
                words(self.clamp_indirect),
                words(other.clamp_indirect)
            ))
        } else if self.goal != other.goal {
            let words =
                |goal: Option<Goal>| goal.map_or("none".to_owned(), |goal| goal.to_string());
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

    pub(crate) fn pixel_count(&self) -> u32 {
        self.size.0 * self.size.1
    }
}

/// What a part says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What its film is of.
    pub identity: Identity,
    /// Which samples its film holds.
    pub samples: Samples,
    /// What was counted while they were taken, and the hash of the film.
    pub stats: Stats,
}

impl Claim {
    /// Reads what the part at `path` says of itself, without its film.
    ///
    /// # Errors
    /// [`Error::File`] if there is no part, [`Error::Damaged`] if it is not as it was written.
    pub fn read(path: &Path) -> Result<Claim, Error> {
        file::read_claim(path)
    }
}

/// The film of some samples of a render.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it is of.
    pub claim: Claim,
    /// The film's integers.
    pub exposed: Exposed,
    /// What is known of its pixels, if they get samples until they are good.
    pub ledger: Option<Ledger>,
}

impl Part {
    /// Reads the part at `path`, with all that can be checked of it.
    ///
    /// # Errors
    /// As [`Claim::read`].
    pub fn read(path: &Path) -> Result<Part, Error> {
        Found::read(path)?.into_part(path)
    }

    /// Writes the part to `path`, an EXR: whole or not at all.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn write(&self, path: &Path, packing: Packing) -> Result<(), Error> {
        self.write_with(path, packing, &Layers::default())
    }

    /// Writes the part to `path` as [`Part::write`] does, with these layers, of a picture of its size, beside it.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn write_with(&self, path: &Path, packing: Packing, layers: &Layers) -> Result<(), Error> {
        file::write(self, path, packing, layers, || Ok(())).map(drop)
    }

    /// Writes the part to `path` as [`Part::write`] does, if `may` says so when only its name is missing; what the new file
    /// is like.
    ///
    /// # Errors
    /// [`Error::Write`], also with what `may` says.
    pub(crate) fn replace(
        &self,
        path: &Path,
        packing: Packing,
        may: impl FnOnce() -> io::Result<()>,
    ) -> Result<fs::Metadata, Error> {
        file::write(self, path, packing, &Layers::default(), may)
    }

    /// Adds the samples of another part.
    ///
    /// # Errors
    /// What keeps them apart, in words; then this part is as it was.
    pub fn add(&mut self, other: &Part) -> Result<(), String> {
        let Claim {
            identity,
            samples,
            stats,
        } = &mut self.claim;
        if let Some(difference) = other.claim.identity.difference(identity) {
            return Err(difference);
        }
        if let Some(goal) = identity.goal {
            return Err(format!("has noise {goal}, {STANDS_ALONE}"));
        }
        let (sums, more) = (&self.exposed.sums, &other.exposed.sums);
        let fits = |(sum, &more): (&u64, &u64)| sum.checked_add(more).is_some();
        if !sums.par_iter().zip(more).all(fits) {
            return Err("is too bright: the film cannot hold the sum".to_owned());
        }
        samples
            .add(&other.claim.samples)
            .map_err(|both| format!("holds samples {both} too"))?;
        gather(&mut self.exposed, &other.exposed);
        let (width, height) = identity.size;
        stats.add_part(&other.claim.stats);
        stats.spp = samples.of_every_pixel();
        stats.sample_range = samples.to_string();
        stats.film_hash = film_hash(width, height, &self.exposed.sums);
        Ok(())
    }

    /// The mean of the samples of every pixel.
    pub fn picture(&self) -> Picture {
        let (width, height) = self.claim.identity.size;
        Picture {
            width,
            height,
            pixels: (0..width * height)
                .into_par_iter()
                .map(|pixel| self.pixel(pixel).into())
                .collect(),
        }
    }

    /// Samples of a pixel.
    fn samples_of(&self, pixel: u32) -> u32 {
        match &self.ledger {
            Some(ledger) => ledger.taken[pixel as usize],
            None => self.claim.samples.of_pixel(pixel),
        }
    }

    /// What a pixel of the picture shows.
    fn pixel(&self, pixel: u32) -> [f32; 3] {
        let samples = self.samples_of(pixel);
        let first = 3 * pixel as usize;
        [0, 1, 2].map(|channel| mean(self.exposed.sums[first + channel], samples))
    }
}

impl Found {
    /// The part, if its picture and its hash are those of its film. `path` is where it was found.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn into_part(self, path: &Path) -> Result<Part, Error> {
        let Found {
            claim,
            exposed,
            picture,
            ledger,
        } = self;
        let (width, height) = claim.identity.size;
        let hash = film_hash(width, height, &exposed.sums);
        if hash != claim.stats.film_hash {
            let problem = format!(
                "its film has film_hash {hash}, not {}",
                claim.stats.film_hash
            );
            return Err(Error::damaged(path, &problem));
        }
        if let (Some(ledger), Some(noise)) = (&ledger, &claim.stats.noise)
            && (ledger.hash() != noise.ledger_hash
                || ledger.taken.iter().min() != Some(&claim.stats.spp)
                || ledger.taken.iter().max() != Some(&noise.most_samples))
        {
            let problem = "what it keeps of its pixels' noise is not what it says";
            return Err(Error::damaged(path, problem));
        }
        let part = Part {
            claim,
            exposed,
            ledger,
        };
        let pixels = picture.pixels.par_iter().zip(0..width * height);
        let altered =
            pixels.find_first(|&(shown, pixel)| bits(shown.to_array()) != bits(part.pixel(pixel)));
        match altered {
            Some((_, pixel)) => {
                let (x, y) = (pixel % width, pixel / width);
                let problem = format!("its pixel x {x}, y {y} does not show what its film holds");
                Err(Error::damaged(path, &problem))
            }
            None => Ok(part),
        }
    }
}

fn bits(color: [f32; 3]) -> [u32; 3] {
    color.map(f32::to_bits)
}

/// Why a film of this kind is no part of another.
const STANDS_ALONE: &str = "and which samples its pixels have hangs on all that they had before: such a film does not add up with another";

/// Whether parts add up, each with its path: of one render, none of their samples twice, and none missing between them
/// unless gaps are allowed.
///
/// # Errors
/// [`Error::File`] that names two of them.
pub fn check_parts(parts: &[(PathBuf, Claim)], allow_gaps: bool) -> Result<(), Error> {
    let refused = |path: &Path, problem| Error::File {
        file: path.display().to_string(),
        problem,
    };
    let [(first, claim), others @ ..] = parts else {
        return Ok(());
    };
    for (path, other) in others {
        if let Some(difference) = other.identity.difference(&claim.identity) {
            let problem = format!(
                "{difference} as {}; merge parts of one render",
                first.display()
            );
            return Err(refused(path, problem));
        }
        if let Some(goal) = claim.identity.goal {
            let problem = format!("has noise {goal}, {STANDS_ALONE}; merge it alone");
            return Err(refused(path, problem));
        }
    }
    let stretches = parts.iter().flat_map(|(path, claim)| {
        let stretches = claim.samples.stretches().iter();
        stretches.map(move |stretch| (path, stretch))
    });
    let mut stretches: Vec<_> = stretches.collect();
    stretches.sort_by_key(|(_, stretch)| stretch.start);
    for pair in stretches.windows(2) {
        let [(before, last), (path, next)] = pair else {
            continue;
        };
        let samples = |pairs| Samples::of_pairs(pairs, claim.identity.pixel_count());
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
