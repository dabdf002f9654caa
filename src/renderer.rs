//! A render in progress: the scene on its backend, the film, and how far it has come.

use std::{
    sync::atomic::AtomicU64,
    time::{Duration, Instant},
};

use compaction::Strategy;

pub use crate::backend::{BackendChoice, Settings};
use crate::{
    Error,
    backend::{Backend, Spans},
    camera::Camera,
    film::film_hash,
    picture::Picture,
    scene::{self, Scene},
    stats::Stats,
    wave::Report,
    world::World,
};

/// A scene that is being rendered.
pub struct Renderer {
    backend: Backend,
    view: scene::Camera,
    size: (u32, u32),
    spp: u32,
    seed: u32,
    /// (pixel, sample) pairs that are on the film, or will be when the device gets there.
    done: u64,
    /// Counts and stage times so far.
    stats: Stats,
    elapsed: Duration,
}

impl Renderer {
    /// Puts the scene on the backend. `Err` when there is no such backend, or too little memory.
    pub fn new(scene: &Scene, settings: &Settings) -> Result<Renderer, Error> {
        let (width, height) = scene.size;
        let camera = Camera::new(&scene.camera, width, height);
        let backend = Backend::new(World::new(scene)?, camera, scene.max_bounces, settings)?;
        let stats = Stats {
            scene: scene.path.display().to_string(),
            backend: backend.name,
            device: backend.device.clone(),
            size: [width, height],
            seed: scene.seed,
            compaction: settings.strategy.to_string(),
            bounces: Stats::rows(scene.max_bounces),
            ..Stats::default()
        };
        Ok(Renderer {
            backend,
            view: scene.camera,
            size: scene.size,
            spp: scene.spp,
            seed: scene.seed,
            done: 0,
            stats,
            elapsed: Duration::ZERO,
        })
    }

    /// What it renders on, and why on that.
    pub fn backend_line(&self) -> String {
        match &self.backend.reason {
            Some(reason) => format!("{}: {}", self.backend.device, reason),
            None => self.backend.device.clone(),
        }
    }

    /// Renders for some 50 ms; `false` when all samples are done.
    pub fn advance(&mut self) -> Result<bool, Error> {
        let total = self.total();
        let begun = Instant::now();
        let spans = Spans {
            width: self.size.0,
            pixel_count: self.pixel_count(),
            seed: self.seed,
            wave_size: self.backend.wave_size,
            total,
            next: AtomicU64::new(self.done),
        };
        let reports = self.backend.advance(&spans)?;
        self.done = spans.next.into_inner().min(total);
        self.add(&reports);
        if self.done == total {
            self.land()?;
        }
        self.elapsed += begun.elapsed();
        Ok(self.done < total)
    }

    /// Part of the samples that is done, 0..=1.
    pub fn progress(&self) -> f64 {
        self.done as f64 / self.total() as f64
    }

    /// Begins again from sample 0, with the film black.
    pub fn restart(&mut self) -> Result<(), Error> {
        let (width, height) = self.size;
        // What is under way belongs to the film that goes.
        self.backend.land()?;
        self.backend
            .set_camera(Camera::new(&self.view, width, height))?;
        self.done = 0;
        self.elapsed = Duration::ZERO;
        self.stats.size = [width, height];
        self.stats.clear();
        Ok(())
    }

    /// Looks from elsewhere; begins again.
    pub fn set_camera(&mut self, camera: scene::Camera) -> Result<(), Error> {
        self.view = camera;
        self.restart()
    }

    /// Renders in another size; begins again.
    pub fn set_size(&mut self, width: u32, height: u32) -> Result<(), Error> {
        self.size = (width, height);
        self.restart()
    }

    /// Goes on with another implementation of the sieve: the film stays, since the bits do not change.
    pub fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        self.backend.set_strategy(strategy)?;
        self.stats.compaction = strategy.to_string();
        Ok(())
    }

    /// The film as a picture: the mean of the samples so far.
    pub fn picture(&mut self) -> Result<Picture, Error> {
        self.backend.resolve(self.done)
    }

    /// Counts and times so far, with an empty `film_hash`: see [`Renderer::finish`].
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        stats.spp = (self.done / u64::from(self.pixel_count())) as u32;
        stats.settle(self.elapsed.as_secs_f64());
        stats
    }

    /// Counts and times, with the hash of the film and the number of samples that it rejected. Waits for what is under
    /// way.
    pub fn finish(&mut self) -> Result<Stats, Error> {
        self.land()?;
        let exposed = self.backend.exposed()?;
        self.stats.rejected_samples = exposed.rejected;
        let film_hash = film_hash(self.size.0, self.size.1, &exposed.sums);
        Ok(Stats {
            film_hash,
            ..self.stats()
        })
    }

    fn land(&mut self) -> Result<(), Error> {
        let reports = self.backend.land()?;
        self.add(&reports);
        Ok(())
    }

    fn add(&mut self, reports: &[Report]) {
        for report in reports {
            self.stats.add(report, self.backend.time_share());
        }
    }

    fn pixel_count(&self) -> u32 {
        self.size.0 * self.size.1
    }

    fn total(&self) -> u64 {
        u64::from(self.pixel_count()) * u64::from(self.spp)
    }
}
