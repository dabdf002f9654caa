//! Results of a render: the picture, the statistics, and the film with its identity as a part.

use super::Renderer;
use crate::{
    Error,
    adaptive::pixel_stats::PixelStats,
    film::picture::Picture,
    film::{FilmSums, film_hash},
    render::{
        part::{Identity, Part, PartHeader, SOFTWARE},
        stats::Stats,
    },
    scene::scene_hash,
};

impl Renderer {
    /// Returns the film as a picture: the mean of the samples so far.
    pub fn picture(&mut self) -> Result<Picture, Error> {
        let mut picture = Picture::default();
        self.picture_into(&mut picture)?;
        Ok(picture)
    }

    /// Writes the film's picture into `picture`, whose memory is reused because allocating new pages takes longer than
    /// the GPU's work.
    pub fn picture_into(&mut self, picture: &mut Picture) -> Result<(), Error> {
        self.finish_waves()?;
        // The `resolve` stage supports only films that begin at a first pixel.
        if self.rounds.is_some() || self.range.start.is_multiple_of(self.pixel_count().into()) {
            // With adaptive sampling this number is not used.
            let done = self.done.saturating_sub(self.range.start);
            let resolved = self.backend.resolve(done, picture);
            self.record_counts(resolved)
        } else {
            let part = self.part()?;
            picture.fill(self.size, |pixel| part.pixel(pixel).into())
        }
    }

    /// Returns the counts and times so far, with an empty `film_hash`: see [`Renderer::finish`].
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        let samples = self.samples_done();
        stats.spp = samples.min_samples();
        stats.sample_range = samples.to_string();
        let sort_hits_states = self.backend.sort_hits_states();
        stats.set_sort_hits_states(
            sort_hits_states
                .into_iter()
                .map(|(device, (orders, gain))| {
                    (self.backend.devices[device].as_str(), orders, gain)
                }),
        );
        stats.noise = self.noise_stats();
        let (memory, waves) = self.backend.memory_and_waves();
        (stats.memory, stats.waves) = (Some(memory), Some(waves));
        stats.settle(self.elapsed.as_secs_f64());
        stats
    }

    /// Waits for the running waves, and returns the complete statistics, including the film's hash and the number of
    /// rejected samples.
    pub fn finish(&mut self) -> Result<Stats, Error> {
        Ok(self.part()?.header.stats)
    }

    /// Waits for the running waves, and returns a copy of the film with its identity and statistics.
    pub fn part(&mut self) -> Result<Part, Error> {
        let film = self.film_sums()?;
        let pixel_stats = self.pixel_stats()?;
        Ok(self.part_with(film, pixel_stats))
    }

    /// Ends the render: waits for the running waves, and returns the film with its identity and statistics. On the CPU
    /// this needs no memory for a copy of the film, unlike [`Renderer::part`].
    pub fn into_part(mut self) -> Result<Part, Error> {
        // First, because the film counts the samples of each pixel.
        let pixel_stats = self.pixel_stats()?;
        let film = match self.safe_copies.film() {
            Some(film) => film,
            None => {
                let film = self.backend.take_film_sums();
                self.record_counts(film)?
            }
        };
        self.stats.rejected_samples = film.rejected;
        Ok(self.part_with(film, pixel_stats))
    }

    /// Returns a film and the statistics of its pixels, which must be those of this render, as a part.
    fn part_with(&self, film: FilmSums, pixel_stats: Option<PixelStats>) -> Part {
        let mut stats = Stats {
            film_hash: film_hash(self.size.0, self.size.1, &film.sums),
            ..self.stats()
        };
        if let (Some(noise), Some(pixel_stats)) = (&mut stats.noise, &pixel_stats) {
            noise.pixel_stats_hash = pixel_stats.hash();
        }
        let header = PartHeader {
            identity: self.identity(),
            samples: self.samples_done(),
            stats,
        };
        Part {
            header,
            film,
            pixel_stats,
        }
    }

    /// Waits for the running waves, and returns a copy of the film's sums.
    pub(crate) fn film_sums(&mut self) -> Result<FilmSums, Error> {
        self.finish_waves()?;
        if let Some(film) = self.safe_copies.film() {
            return Ok(film);
        }
        let film = self.backend.film_sums();
        let film = self.record_counts(film)?;
        self.stats.rejected_samples = film.rejected;
        Ok(film)
    }

    /// Returns the identity of the render: everything besides the samples that determines the film's bits.
    pub fn identity(&self) -> Identity {
        Identity {
            scene_hash: scene_hash(self.surfaces_hash, &self.view),
            size: self.size,
            seed: self.seed,
            max_bounces: self.max_bounces,
            roulette: self.stats.roulette,
            clamp_indirect: self.stats.clamp_indirect,
            goal: self.goal,
            crop: self.region,
            software: SOFTWARE.to_owned(),
        }
    }
}
