//! Where the render and its viewers meet: what they ask for goes to the session, and a thread develops the newest picture
//! and sums up the newest figures, once for all of them.
//!
//! Both leave through channels that keep the latest value alone: nothing piles up, whoever does not take it.

use std::{
    mem::{self, Discriminant},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{body::Bytes, extract::ws::Utf8Bytes};
use glam::Vec3;
use rayon::ThreadPool;
use tokio::sync::watch;

use super::{
    bell::{Bell, lock},
    encode,
    messages::{Asked, Materials, Path, Status},
};
use crate::{
    live::{Inspected, Motion, Session, Shown, State, Vantage},
    output::{Developed, Look},
    scene::Scene,
    sight::{Legend, Sight, Sighting},
    stats::Stats,
    tone::Tone,
    window::overlay,
};

/// One render and all who look at it.
pub(super) struct Hub {
    session: Mutex<Session>,
    /// Before the first picture there is none.
    shown: Mutex<Option<Shown>>,
    said: Mutex<(u64, String)>,
    bell: Arc<Bell>,
    /// Empty while there is none.
    pictures: watch::Sender<Bytes>,
    statuses: watch::Sender<Utf8Bytes>,
    /// Empty before the first.
    paths: watch::Sender<Utf8Bytes>,
    materials: watch::Sender<Utf8Bytes>,
    viewers: watch::Sender<usize>,
    stop: watch::Sender<bool>,
    /// To encode a picture that is saved: one at a time is enough.
    pub(super) saving: tokio::sync::Mutex<()>,
}

/// Between two sums of the figures: they are for reading.
const STATUS_INTERVAL: Duration = Duration::from_millis(200);

/// A picture that stood still for so long is sent exactly.
const SETTLE_TIME: Duration = Duration::from_millis(250);

impl Hub {
    pub(super) fn new(session: Session, bell: Arc<Bell>, stop: watch::Sender<bool>) -> Self {
        Self {
            session: Mutex::new(session),
            shown: Mutex::new(None),
            said: Mutex::default(),
            bell,
            pictures: watch::Sender::default(),
            statuses: watch::Sender::default(),
            paths: watch::Sender::default(),
            materials: watch::Sender::default(),
            viewers: watch::Sender::new(0),
            stop,
            saving: tokio::sync::Mutex::default(),
        }
    }

    /// Does what a page asks for.
    ///
    /// # Errors
    /// When there is no such thing.
    pub(super) fn obey(&self, asked: Asked) -> Result<(), &'static str> {
        let mut session = lock(&self.session);
        let message = match asked {
            // The viewer's own.
            Asked::Shown => return Ok(()),
            Asked::Act(change) => session.act(change),
            Asked::Turn(right, down) => session.move_camera(Motion::Turn(right, down)),
            Asked::Pan(right, down) => session.move_camera(Motion::Pan(right, down)),
            Asked::Dolly(notches) => session.move_camera(Motion::Dolly(notches)),
            Asked::Zoom(times) => session.move_camera(Motion::Zoom(times)),
            Asked::Fly(right, up, ahead) => {
                session.move_camera(Motion::Fly(Vec3::new(right, up, ahead)))
            }
            Asked::Focus(column, row) => session.focus((column, row), session.size()),
            Asked::Inspect(column, row) => {
                session.inspect((column, row), session.size());
                None
            }
            Asked::Strategy(name) => {
                let strategy = name.parse().map_err(|_| "no such strategy")?;
                session.set_strategy(strategy)
            }
            Asked::Material(index, numbers) => session.turn_material(index, &numbers)?,
            Asked::Sight(name) => session.set_sight(name.parse()?),
            Asked::Tone(name) => {
                let tone = Tone::ALL.into_iter().find(|tone| tone.name() == name);
                session.set_tone(tone.ok_or("no such tone curve")?)
            }
        };
        drop(session);
        self.bell.ring(|rung| {
            rung.change = true;
            rung.note = message.or(rung.note.take());
        });
        Ok(())
    }

    pub(super) fn pictures(&self) -> watch::Receiver<Bytes> {
        let mut pictures = self.pictures.subscribe();
        pictures.mark_changed();
        pictures
    }

    pub(super) fn statuses(&self) -> watch::Receiver<Utf8Bytes> {
        let mut statuses = self.statuses.subscribe();
        statuses.mark_changed();
        statuses
    }

    pub(super) fn materials(&self) -> watch::Receiver<Utf8Bytes> {
        let mut materials = self.materials.subscribe();
        materials.mark_changed();
        materials
    }

    pub(super) fn paths(&self) -> watch::Receiver<Utf8Bytes> {
        let mut paths = self.paths.subscribe();
        paths.mark_changed();
        paths
    }

    /// The newest picture as it is shown, its scale of colours on it where it has one, and what it is of.
    pub(super) fn developed(&self) -> Option<(Developed, Stats)> {
        let shown = lock(&self.shown).clone()?;
        let session = lock(&self.session);
        // What is saved is what was rendered.
        let look = Look {
            denoise: false,
            ..session.look()
        };
        let sighting = session.sighting(&shown);
        drop(session);
        let mut developed = shown.developed(look, sighting.as_deref());
        if let Some(sighting) = sighting {
            let (width, height) = developed.size;
            overlay::draw_legend(&mut developed.rgba, width, height, &sighting.legend);
        }
        Some((developed, shown.stats))
    }

    /// The scene's name, for a picture's.
    pub(super) fn scene(&self) -> String {
        let session = lock(&self.session);
        let name = session.scene().path.file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Counts a viewer, as long as what comes back is kept; `None` if there are too many.
    pub(super) fn arrive(self: &Arc<Self>) -> Option<Place> {
        let mut came = false;
        self.viewers.send_if_modified(|viewers| {
            came = *viewers < MOST_VIEWERS;
            *viewers += usize::from(came);
            came
        });
        self.bell.ring(|rung| rung.change = true);
        came.then(|| Place(self.clone()))
    }

    pub(super) async fn nobody_left(&self) {
        let _ = self
            .viewers
            .subscribe()
            .wait_for(|&viewers| viewers == 0)
            .await;
    }

    pub(super) async fn stopped(&self) {
        let _ = self.stop.subscribe().wait_for(|&stop| stop).await;
    }

    /// Ends the developing thread.
    pub(super) fn end(&self) {
        self.bell.ring(|rung| rung.ended = true);
    }

    pub(super) fn into_session(self) -> Session {
        self.session
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Develops pictures for as long as the render goes on. Without a viewer it only keeps the newest.
    pub(super) fn develop(&self, pool: &ThreadPool) {
        let mut desk = Desk::default();
        loop {
            let rung = self.bell.wait(desk.next());
            if rung.ended {
                self.stop.send_replace(true);
                return;
            }
            let mut note = rung.note;
            for news in rung.news {
                note = lock(&self.session).hear(news).or(note);
                desk.status_due = Some(Instant::now());
            }
            if let Some(note) = note {
                let mut said = lock(&self.said);
                *said = (said.0 + 1, note);
                desk.status_due = Some(Instant::now());
            }
            if let Some(inspected) = rung.inspected {
                self.show_path(Some(&inspected));
                desk.path = Some(inspected.vantage.clone());
            }
            let gone = |vantage: &mut Vantage| !lock(&self.session).is_at(vantage);
            if desk.path.take_if(gone).is_some() {
                self.show_path(None);
            }
            self.list_materials(&mut desk);
            let frame = lock(&self.session).take_frame();
            let look = lock(&self.session).look();
            let has_new = frame.is_some();
            if let Some(frame) = frame {
                *lock(&self.shown) = Some(frame.into());
            }
            let viewers = *self.viewers.borrow();
            if viewers == 0 {
                desk = Desk {
                    path: desk.path,
                    listed: desk.listed,
                    ..Desk::default()
                };
                self.pictures.send_replace(Bytes::new());
                continue;
            }
            let Some(shown) = lock(&self.shown).clone() else {
                continue;
            };
            let sight = lock(&self.session).sight();
            if has_new || rung.sight || desk.sight != Some(sight) {
                let sighting = lock(&self.session).sighting(&shown);
                let is_same = match (&sighting, &desk.sighting) {
                    (Some(new), Some(old)) => Arc::ptr_eq(new, old),
                    (None, None) => !has_new,
                    _ => false,
                };
                if !is_same || desk.sight != Some(sight) {
                    desk.look = None;
                }
                (desk.sighting, desk.sight) = (sighting, Some(sight));
            }
            let developed = || shown.developed(look, desk.sighting.as_deref());
            let stats = shown.stats_in(look, desk.sighting.is_some());
            if desk.look != Some(look) {
                self.publish(pool.install(|| encode::passing(&developed(), &stats)));
                desk.look = Some(look);
                let rests = !matches!(shown.state, State::Rendering { .. });
                desk.exact_due = rests.then(|| Instant::now() + SETTLE_TIME);
            } else if is_due(desk.exact_due) {
                self.publish(pool.install(|| encode::exact(&developed(), &stats)));
                desk.exact_due = None;
            }
            if rung.change || rung.sight || desk.state != Some(mem::discriminant(&shown.state)) {
                desk.status_due = Some(Instant::now());
            } else if has_new {
                desk.status_due.get_or_insert(
                    desk.summed_up
                        .map_or_else(Instant::now, |at| at + STATUS_INTERVAL),
                );
            }
            if is_due(desk.status_due) {
                desk.status_due = None;
                desk.summed_up = Some(Instant::now());
                desk.state = Some(mem::discriminant(&shown.state));
                let legend = desk.sighting.as_ref().map(|sighting| &sighting.legend);
                self.tell(&shown, look, viewers, legend);
            }
        }
    }

    /// Lists the materials where they are others than they were, or keys turn another one.
    fn list_materials(&self, desk: &mut Desk) {
        let session = lock(&self.session);
        let (scene, chosen) = (session.scene(), session.chosen_material());
        let is_same = |(listed, turned): &(Arc<Scene>, Option<usize>)| {
            Arc::ptr_eq(listed, scene) && *turned == chosen
        };
        if desk.listed.as_ref().is_some_and(is_same) {
            return;
        }
        desk.listed = Some((scene.clone(), chosen));
        let materials = session.listed_materials().collect();
        if let Ok(text) = serde_json::to_string(&Materials { materials, chosen }) {
            self.materials.send_replace(text.into());
        }
    }

    fn show_path(&self, inspected: Option<&Inspected>) {
        if let Ok(text) = serde_json::to_string(&Path::of(inspected)) {
            self.paths.send_replace(text.into());
        }
    }

    fn publish(&self, encoded: Result<Bytes, String>) {
        match encoded {
            Ok(picture) => drop(self.pictures.send_replace(picture)),
            Err(problem) => self
                .bell
                .ring(|rung| rung.note = Some(format!("no picture: {problem}"))),
        }
    }

    fn tell(&self, shown: &Shown, look: Look, viewers: usize, legend: Option<&Legend>) {
        let said = lock(&self.said);
        let session = lock(&self.session);
        let status = Status {
            stats: &shown.stats_in(look, legend.is_some()),
            recent: &shown.recent,
            state: shown.state,
            size: session.size(),
            exposure_stops: look.exposure_stops,
            tone: look.tone.name(),
            sight: session.sight().name(),
            legend,
            flying: session.is_flying(),
            denoise: look.denoise,
            viewers,
            said: (said.0, &said.1),
            trouble: session.trouble(),
        };
        if let Ok(text) = serde_json::to_string(&status) {
            self.statuses.send_replace(text.into());
        }
    }

    /// The newest figures, as `--stats` writes them.
    pub(super) fn stats(&self) -> Option<Stats> {
        let look = lock(&self.session).look();
        lock(&self.shown)
            .as_ref()
            .map(|shown| shown.stats_in(look, false))
    }
}

/// What the developing thread has done, and when it is to do more.
#[derive(Default)]
struct Desk {
    /// In which the last picture went out.
    look: Option<Look>,
    sight: Option<Sight>,
    sighting: Option<Arc<Sighting>>,
    exact_due: Option<Instant>,
    status_due: Option<Instant>,
    summed_up: Option<Instant>,
    state: Option<Discriminant<State>>,
    /// Of the path that is shown.
    path: Option<Vantage>,
    /// Whose materials are listed, and which one keys turn.
    listed: Option<(Arc<Scene>, Option<usize>)>,
}

impl Desk {
    fn next(&self) -> Option<Instant> {
        self.exact_due.into_iter().chain(self.status_due).min()
    }
}

fn is_due(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at <= Instant::now())
}

/// Each has a picture on its way; a hall full of them is no use of this.
const MOST_VIEWERS: usize = 64;

/// A viewer's, until it is dropped.
pub(super) struct Place(Arc<Hub>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.viewers.send_modify(|viewers| *viewers -= 1);
        self.0.bell.ring(|rung| rung.change = true);
    }
}
