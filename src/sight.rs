//! What a picture shows of its pixels: their light, or in false colours what else is known of them.
//!
//! False colours are measured beside the film, which they leave alone: by paths of its own samples, from sample 0 on, traced
//! again on the CPU whatever rendered it (`gauge`), and shown by a scale with its numbers (`scale`).

mod gauge;
mod scale;

use std::{str::FromStr, sync::Arc};

use serde::Serialize;

pub use gauge::Gauge;
pub use scale::Legend;

use crate::{Error, scene::Scene, world::World};

/// More than so many samples tell the eye no more.
pub const MOST_SAMPLES: u32 = 32;

/// What a picture shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sight {
    /// The light itself.
    #[default]
    Light,
    /// How often a path scatters until its end, in the mean.
    Bounces,
    /// Rays of a path, those towards lights among them, in the mean.
    Cost,
    /// Relative standard error of the pixel: what its samples deviate from each other by, over the root of how many there
    /// are, over what they are in the mean and a hundredth of the picture's mean.
    ///
    /// As if samples were independent. They are spread evenly (Sobol), and where light is smooth the error is smaller.
    Noise,
    /// Samples of the pixel on the film.
    Samples,
    /// The colour of what the camera sees first.
    Albedo,
    /// Where that faces: red to +x, green to +y, blue to +z, from -1 to 1.
    Normal,
    /// How far that is along the view.
    Depth,
}

impl Sight {
    /// All, in the order of the key.
    pub const ALL: [Sight; 8] = [
        Sight::Light,
        Sight::Bounces,
        Sight::Cost,
        Sight::Noise,
        Sight::Samples,
        Sight::Albedo,
        Sight::Normal,
        Sight::Depth,
    ];

    /// As the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Sight::Light => "light",
            Sight::Bounces => "bounces",
            Sight::Cost => "cost",
            Sight::Noise => "noise",
            Sight::Samples => "samples",
            Sight::Albedo => "albedo",
            Sight::Normal => "normal",
            Sight::Depth => "depth",
        }
    }

    /// Whether it is known once the camera's ray has hit.
    fn is_of_first_hits(self) -> bool {
        matches!(self, Sight::Albedo | Sight::Normal | Sight::Depth)
    }

    /// Whether it changes with the samples that are on the film.
    pub(crate) fn follows_film(self) -> bool {
        matches!(self, Sight::Noise | Sight::Samples)
    }
}

impl FromStr for Sight {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Sight, &'static str> {
        let named = Sight::ALL.into_iter().find(|sight| sight.name() == name);
        named.ok_or("no such view")
    }
}

/// A picture in false colours, and what they mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    /// What it shows.
    pub sight: Sight,
    /// Width and height, pixels.
    pub size: (u32, u32),
    /// Eight bits a channel, opaque, rows from the top.
    pub rgba: Vec<u8>,
    /// What the colours mean.
    pub legend: Legend,
}

impl Sighting {
    /// What a render of the scene shows by that sight, of a film with so many samples of every pixel, or of each.
    /// `None` of the light itself.
    ///
    /// # Errors
    /// As [`World::new`].
    pub fn measure(
        scene: &Scene,
        sight: Sight,
        film_samples: u32,
        counts: &[u32],
    ) -> Result<Option<Sighting>, Error> {
        if sight == Sight::Light {
            return Ok(None);
        }
        if sight == Sight::Samples {
            return Ok(Some(Sighting::of_samples(scene.size, counts)));
        }
        let world = Arc::new(World::new(scene)?);
        let mut gauge = Gauge::new(world, scene, &scene.camera, scene.size, sight);
        while gauge.samples() < MOST_SAMPLES {
            gauge.advance(&|| false)?;
        }
        Ok(Some(gauge.sighting(film_samples)))
    }

    /// How many samples each pixel has that are on a film.
    pub fn of_samples(size: (u32, u32), counts: &[u32]) -> Sighting {
        let counts: Vec<f32> = counts.iter().map(|&count| count as f32).collect();
        let (rgba, legend) = scale::counts(&counts);
        Sighting {
            sight: Sight::Samples,
            size,
            rgba,
            legend,
        }
    }
}
