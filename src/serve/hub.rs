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
use rayon::ThreadPool;
use tokio::sync::watch;

use super::{
    bell::{Bell, lock},
    encode,
    messages::{Asked, Status},
};
use crate::{
    live::{Motion, Session, Shown, State},
    output::Look,
    scene::Scene,
    stats::Stats,
    tone::Tone,
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
    viewers: watch::Sender<usize>,
    stop: watch::Sender<bool>,
    scene: String,
    /// To encode a picture that is saved: one at a time is enough.
    pub(super) saving: tokio::sync::Mutex<()>,
}

/// Between two sums of the figures: they are for reading.
const STATUS_INTERVAL: Duration = Duration::from_millis(200);

/// A picture that stood still for so long is sent exactly.
const SETTLE_TIME: Duration = Duration::from_millis(250);

impl Hub {
    pub(super) fn new(
        session: Session,
        scene: &Scene,
        bell: Arc<Bell>,
        stop: watch::Sender<bool>,
    ) -> Self {
        Self {
            session: Mutex::new(session),
            shown: Mutex::new(None),
            said: Mutex::default(),
            bell,
            pictures: watch::Sender::default(),
            statuses: watch::Sender::default(),
            viewers: watch::Sender::new(0),
            stop,
            scene: scene
                .path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
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
            Asked::Strategy(name) => {
                let strategy = name.parse().map_err(|_| "no such strategy")?;
                session.set_strategy(strategy)
            }
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

    /// The newest picture and the look in which it is shown.
    pub(super) fn shown(&self) -> Option<(Shown, Look)> {
        let look = lock(&self.session).look();
        lock(&self.shown).clone().map(|shown| (shown, look))
    }

    /// The scene's name, for a picture's.
    pub(super) fn scene(&self) -> &str {
        &self.scene
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
            if let Some(note) = rung.note {
                let mut said = lock(&self.said);
                *said = (said.0 + 1, note);
                desk.status_due = Some(Instant::now());
            }
            let frame = lock(&self.session).take_frame();
            let look = lock(&self.session).look();
            let has_new = frame.is_some();
            if let Some(frame) = frame {
                *lock(&self.shown) = Some(frame.into());
            }
            let viewers = *self.viewers.borrow();
            if viewers == 0 {
                desk = Desk::default();
                self.pictures.send_replace(Bytes::new());
                continue;
            }
            let Some(shown) = lock(&self.shown).clone() else {
                continue;
            };
            if has_new || desk.look != Some(look) {
                desk.look = Some(look);
                self.publish(pool.install(|| encode::passing(&shown, look)));
                let rests = !matches!(shown.state, State::Rendering { .. });
                desk.exact_due = rests.then(|| Instant::now() + SETTLE_TIME);
            } else if is_due(desk.exact_due) {
                desk.exact_due = None;
                self.publish(pool.install(|| encode::exact(&shown, look)));
            }
            if rung.change || desk.state != Some(mem::discriminant(&shown.state)) {
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
                self.tell(&shown, look, viewers);
            }
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

    fn tell(&self, shown: &Shown, look: Look, viewers: usize) {
        let said = lock(&self.said);
        let status = Status {
            stats: &shown.stats,
            recent: &shown.recent,
            state: shown.state,
            size: lock(&self.session).size(),
            exposure_stops: look.exposure_stops,
            tone: look.tone.name(),
            viewers,
            said: (said.0, &said.1),
        };
        if let Ok(text) = serde_json::to_string(&status) {
            self.statuses.send_replace(text.into());
        }
    }

    /// The newest figures, as `--stats` writes them.
    pub(super) fn stats(&self) -> Option<Stats> {
        lock(&self.shown).as_ref().map(|shown| shown.stats.clone())
    }
}

/// What the developing thread has done, and when it is to do more.
#[derive(Default)]
struct Desk {
    /// In which the last picture went out.
    look: Option<Look>,
    exact_due: Option<Instant>,
    status_due: Option<Instant>,
    summed_up: Option<Instant>,
    state: Option<Discriminant<State>>,
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
