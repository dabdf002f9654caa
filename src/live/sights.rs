//! False colours of the view that is looked at, measured on a thread of its own: coarse at first, then sample by sample.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use super::{render_thread::Told, study::Study};
use crate::{
    Error,
    scene::Camera,
    sight::{Gauge, MOST_SAMPLES, Sight, Sighting},
};

/// The end of those who look. Dropping it lets the thread end by itself.
pub(super) struct Sights {
    desk: Arc<Desk>,
    is_started: bool,
    tell: Arc<Mutex<dyn Fn(Told) + Send>>,
}

#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    wanted: Option<Wanted>,
    /// How often that has changed.
    changes: u64,
    film_samples: u32,
    seen: Option<Arc<Sighting>>,
    closed: bool,
}

/// What is to be measured.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) study: Arc<Study>,
    pub(super) camera: Camera,
    pub(super) size: (u32, u32),
    pub(super) sight: Sight,
}

/// Between two looks at how many samples are on the film.
const FILM_INTERVAL: Duration = Duration::from_millis(500);

impl Sights {
    /// Nothing is measured yet. `tell` hears `Told::Sight` on the thread, or a note.
    pub(super) fn new(tell: impl Fn(Told) + Send + 'static) -> Self {
        Self {
            desk: Arc::default(),
            is_started: false,
            tell: Arc::new(Mutex::new(tell)),
        }
    }

    /// Measures this from now on, or nothing. What was seen stays until there is something of it.
    pub(super) fn want(&mut self, wanted: Option<Wanted>) -> io::Result<()> {
        if wanted.is_some() && !self.is_started {
            let (desk, tell) = (self.desk.clone(), self.tell.clone());
            let thread = thread::Builder::new().name("sight".to_owned());
            thread.spawn(move || {
                work(&desk, |told| {
                    tell.lock().unwrap_or_else(PoisonError::into_inner)(told);
                });
            })?;
            self.is_started = true;
        }
        let mut state = self.desk.lock();
        let of = |wanted: &Option<Wanted>| wanted.as_ref().map(|wanted| wanted.sight);
        if of(&wanted) != of(&state.wanted) {
            state.seen = None;
        }
        state.wanted = wanted;
        state.changes += 1;
        self.desk.changed.notify_one();
        Ok(())
    }

    /// What is seen of a film with so many samples, if anything is by now.
    pub(super) fn seen(&self, film_samples: u32) -> Option<Arc<Sighting>> {
        let mut state = self.desk.lock();
        state.film_samples = film_samples;
        state.seen.clone()
    }
}

impl Drop for Sights {
    fn drop(&mut self) {
        self.desk.lock().closed = true;
        self.desk.changed.notify_one();
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something to do that is not done; `None` when nobody looks any more.
    fn next(&self, done: u64) -> Option<(Wanted, u64)> {
        let idle =
            |state: &mut State| !state.closed && (state.wanted.is_none() || state.changes == done);
        let state = self.changed.wait_while(self.lock(), idle);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        match &state.wanted {
            Some(wanted) if !state.closed => Some((wanted.clone(), state.changes)),
            _ => None,
        }
    }

    fn is_stale(&self, changes: u64) -> bool {
        let state = self.lock();
        state.closed || state.changes != changes
    }

    /// Waits until that is stale, or for a while.
    fn rest(&self, changes: u64) {
        let still = |state: &mut State| !state.closed && state.changes == changes;
        let rested = self
            .changed
            .wait_timeout_while(self.lock(), FILM_INTERVAL, still);
        drop(rested.unwrap_or_else(PoisonError::into_inner));
    }
}

fn work(desk: &Desk, tell: impl Fn(Told)) {
    let mut done = 0;
    while let Some((wanted, changes)) = desk.next(done) {
        done = changes;
        if let Err(error) = measure(desk, &wanted, changes, &tell) {
            tell(Told::Note(format!(
                "no view of {}: {error}",
                wanted.sight.name()
            )));
        }
    }
}

fn measure(desk: &Desk, wanted: &Wanted, changes: u64, tell: &impl Fn(Told)) -> Result<(), Error> {
    let Wanted {
        study,
        camera,
        size,
        sight,
    } = wanted;
    let mut gauge = Gauge::new(study.world()?, &study.scene, camera, *size, *sight);
    let film_samples = || desk.lock().film_samples;
    let show = |gauge: &Gauge, film_samples| {
        let sighting = Arc::new(gauge.sighting(film_samples));
        let mut state = desk.lock();
        // A view that has moved on shows where it was, until it is measured where it is.
        let is_wanted = |wanted: &Wanted| wanted.sight == *sight;
        if state.wanted.as_ref().is_some_and(is_wanted) {
            state.seen = Some(sighting);
            drop(state);
            tell(Told::Sight);
        }
        film_samples
    };
    let mut shown = 0;
    while gauge.samples() < MOST_SAMPLES {
        if !gauge.advance(&|| desk.is_stale(changes))? {
            return Ok(());
        }
        let samples = gauge.samples();
        // One sample tells nothing of how much they differ.
        let tells = *sight != Sight::Noise || samples > 1;
        if tells && (samples == 0 || samples.is_power_of_two()) {
            shown = show(&gauge, film_samples());
        }
    }
    while sight.follows_film() && !desk.is_stale(changes) {
        desk.rest(changes);
        let samples = film_samples();
        if samples != shown && !desk.is_stale(changes) {
            shown = show(&gauge, samples);
        }
    }
    Ok(())
}
