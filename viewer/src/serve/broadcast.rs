//! Connects the session with its viewers: passes their requests to the session, and encodes the newest picture and
//! statistics once for all of them.
//!
//! Results are sent over watch channels that keep only the newest value, so slow viewers cause no queues.

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
    encode,
    messages::{Materials, Path, Status, ViewerRequest},
    notifier::Notifier,
};
use crate::{
    overlay,
    session::{DisplayFrame, InspectedPath, Motion, Session, State, Viewpoint, lock},
};
use raysieve::{
    inspect::debug_view::{DebugImage, DebugView, Legend},
    picture::tone::Tone,
    render::{
        output::{DisplayImage, Look},
        stats::Stats,
    },
};
use raysieve_scene::Scene;

/// The session together with the channels over which its viewers receive pictures and messages.
pub(super) struct Broadcaster {
    session: Mutex<Session>,
    /// Newest frame; `None` before the first.
    frame: Mutex<Option<DisplayFrame>>,
    /// Number of messages so far, and the text of the last one.
    message: Mutex<(u64, String)>,
    notifier: Arc<Notifier>,
    /// Encoded picture (see `encode`); empty if there is none.
    pictures: watch::Sender<Bytes>,
    /// Status as JSON; empty before the first picture.
    statuses: watch::Sender<Utf8Bytes>,
    /// Displayed path as JSON; empty before the first.
    paths: watch::Sender<Utf8Bytes>,
    /// List of materials as JSON; empty before the first.
    materials: watch::Sender<Utf8Bytes>,
    /// Number of connected viewers.
    viewers: watch::Sender<usize>,
    stop: watch::Sender<bool>,
    /// Locked while a saved picture is encoded, so that only one is encoded at a time.
    pub(super) saving: tokio::sync::Mutex<()>,
}

/// Minimum interval between status messages that only new frames cause, so that people can read them. Changes are
/// reported at once.
const STATUS_INTERVAL: Duration = Duration::from_millis(200);

/// Time without change after which the picture of a complete or paused render is sent again losslessly.
const SETTLE_TIME: Duration = Duration::from_millis(250);

impl Broadcaster {
    pub(super) fn new(
        session: Session,
        notifier: Arc<Notifier>,
        stop: watch::Sender<bool>,
    ) -> Self {
        Self {
            session: Mutex::new(session),
            frame: Mutex::new(None),
            message: Mutex::default(),
            notifier,
            pictures: watch::Sender::default(),
            statuses: watch::Sender::default(),
            paths: watch::Sender::default(),
            materials: watch::Sender::default(),
            viewers: watch::Sender::new(0),
            stop,
            saving: tokio::sync::Mutex::default(),
        }
    }

    /// Executes a viewer's request.
    ///
    /// # Errors
    /// A message if the request names something that does not exist. The viewer is then disconnected.
    pub(super) fn handle(&self, request: ViewerRequest) -> Result<(), &'static str> {
        let mut session = lock(&self.session);
        let message = match request {
            // Counted per viewer, in `viewer`.
            ViewerRequest::Displayed => return Ok(()),
            ViewerRequest::Act(change) => session.act(change),
            ViewerRequest::Turn(right, down) => session.move_camera(Motion::Turn(right, down)),
            ViewerRequest::Pan(right, down) => session.move_camera(Motion::Pan(right, down)),
            ViewerRequest::Dolly(notches) => session.move_camera(Motion::Dolly(notches)),
            ViewerRequest::Zoom(times) => session.move_camera(Motion::Zoom(times)),
            ViewerRequest::Fly(right, up, ahead) => {
                session.move_camera(Motion::Fly(Vec3::new(right, up, ahead)))
            }
            ViewerRequest::Focus(column, row) => session.focus((column, row), session.size()),
            ViewerRequest::Inspect(column, row) => {
                session.inspect((column, row), session.size());
                None
            }
            ViewerRequest::Strategy(name) => {
                let strategy = name.parse().map_err(|_| "unknown compaction strategy")?;
                session.set_strategy(strategy)
            }
            ViewerRequest::Material(index, numbers) => session.edit_material(index, &numbers)?,
            ViewerRequest::DebugView(name) => session.set_debug_view(name.parse()?),
            ViewerRequest::Tone(name) => {
                let tone = Tone::ALL.into_iter().find(|tone| tone.name() == name);
                session.set_tone(tone.ok_or("unknown tone curve")?)
            }
        };
        drop(session);
        self.notifier.notify(|pending| {
            pending.change = true;
            pending.note = message.or(pending.note.take());
        });
        Ok(())
    }

    /// Returns a receiver of encoded pictures, which yields the current one first.
    pub(super) fn pictures(&self) -> watch::Receiver<Bytes> {
        subscribe(&self.pictures)
    }

    /// Returns a receiver of status messages, which yields the current one first.
    pub(super) fn statuses(&self) -> watch::Receiver<Utf8Bytes> {
        subscribe(&self.statuses)
    }

    /// Returns a receiver of material lists, which yields the current one first.
    pub(super) fn materials(&self) -> watch::Receiver<Utf8Bytes> {
        subscribe(&self.materials)
    }

    /// Returns a receiver of displayed paths, which yields the current one first.
    pub(super) fn paths(&self) -> watch::Receiver<Utf8Bytes> {
        subscribe(&self.paths)
    }

    /// Returns the newest picture for saving, without denoising, and its statistics; `None` before the first picture.
    /// In a debug view whose image is ready, returns that image with its legend instead.
    pub(super) fn displayed_picture(&self) -> Option<(DisplayImage, Stats)> {
        let frame = lock(&self.frame).clone()?;
        let session = lock(&self.session);
        // The saved picture is never denoised.
        let look = Look {
            denoise: false,
            ..session.look()
        };
        let debug_image = session.debug_image(&frame);
        drop(session);
        let mut image = frame.to_image(look, debug_image.as_deref());
        if let Some(debug_image) = debug_image {
            overlay::draw_legend(&mut image, &debug_image.legend);
        }
        Some((image, frame.stats))
    }

    /// Returns the name of the scene's file without extension, to name saved pictures.
    pub(super) fn scene(&self) -> String {
        let session = lock(&self.session);
        let name = session.scene().path.file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Adds a viewer, which is counted until the returned guard is dropped; `None` if there are 64 viewers already.
    pub(super) fn add_viewer(self: &Arc<Self>) -> Option<ViewerGuard> {
        let mut is_admitted = false;
        self.viewers.send_if_modified(|viewers| {
            is_admitted = *viewers < MAX_VIEWERS;
            *viewers += usize::from(is_admitted);
            is_admitted
        });
        self.notifier.notify(|pending| pending.change = true);
        is_admitted.then(|| ViewerGuard(self.clone()))
    }

    /// Waits until there are no viewers.
    pub(super) async fn all_viewers_left(&self) {
        let _ = self
            .viewers
            .subscribe()
            .wait_for(|&viewers| viewers == 0)
            .await;
    }

    /// Waits until the server is stopped.
    pub(super) async fn stopped(&self) {
        let _ = self.stop.subscribe().wait_for(|&stop| stop).await;
    }

    /// Makes the broadcaster's thread end soon; does not wait for it.
    pub(super) fn end(&self) {
        self.notifier.notify(|pending| pending.ended = true);
    }

    /// Returns the session.
    pub(super) fn into_session(self) -> Session {
        self.session
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the broadcaster's thread: handles the session's events, and sends pictures, status messages, paths and
    /// materials. Without viewers it makes no pictures or status messages, but still handles events and keeps the
    /// newest frame.
    ///
    /// Stops the server and returns once the render thread has ended or [`end`](Self::end) is called. A complete render
    /// alone does not end it.
    pub(super) fn run(&self, pool: &ThreadPool) {
        let mut sent = SentState::default();
        loop {
            let pending = self.notifier.wait(sent.next());
            if pending.ended {
                self.stop.send_replace(true);
                return;
            }
            let mut note = pending.note;
            for event in pending.session_events {
                note = lock(&self.session).handle(event).or(note);
                sent.status_due = Some(Instant::now());
            }
            if let Some(note) = note {
                let mut message = lock(&self.message);
                *message = (message.0 + 1, note);
                sent.status_due = Some(Instant::now());
            }
            if let Some(inspected) = pending.inspected {
                self.send_path(Some(&inspected));
                sent.path = Some(inspected.viewpoint.clone());
            }
            let gone = |viewpoint: &mut Viewpoint| !lock(&self.session).is_at(viewpoint);
            if sent.path.take_if(gone).is_some() {
                self.send_path(None);
            }
            self.send_materials(&mut sent);
            let frame = lock(&self.session).take_frame();
            let look = lock(&self.session).look();
            let has_new = frame.is_some();
            if let Some(frame) = frame {
                *lock(&self.frame) = Some(frame.into());
            }
            let viewers = *self.viewers.borrow();
            if viewers == 0 {
                sent = SentState {
                    path: sent.path,
                    listed: sent.listed,
                    ..SentState::default()
                };
                self.pictures.send_replace(Bytes::new());
                continue;
            }
            let Some(frame) = lock(&self.frame).clone() else {
                continue;
            };
            let debug_view = lock(&self.session).debug_view();
            if has_new || pending.debug_image || sent.debug_view != Some(debug_view) {
                let debug_image = lock(&self.session).debug_image(&frame);
                let pointer = |image: &Option<_>| image.as_ref().map(Arc::as_ptr);
                let is_same = pointer(&debug_image) == pointer(&sent.debug_image)
                    && (debug_image.is_some() || !has_new);
                if !is_same || sent.debug_view != Some(debug_view) {
                    sent.look = None;
                }
                (sent.debug_image, sent.debug_view) = (debug_image, Some(debug_view));
            }
            let image = || frame.to_image(look, sent.debug_image.as_deref());
            let stats = frame.stats_in(look, sent.debug_image.is_some());
            if sent.look != Some(look) {
                self.publish(pool.install(|| encode::lossy(&image(), &stats)));
                sent.look = Some(look);
                let is_still = !matches!(frame.state, State::Rendering { .. });
                sent.lossless_due = is_still.then(|| Instant::now() + SETTLE_TIME);
            } else if is_due(sent.lossless_due) {
                self.publish(pool.install(|| encode::lossless(&image(), &stats)));
                sent.lossless_due = None;
            }
            if pending.change
                || pending.debug_image
                || sent.state != Some(mem::discriminant(&frame.state))
            {
                sent.status_due = Some(Instant::now());
            } else if has_new {
                sent.status_due.get_or_insert(
                    sent.last_status
                        .map_or_else(Instant::now, |at| at + STATUS_INTERVAL),
                );
            }
            if is_due(sent.status_due) {
                sent.status_due = None;
                sent.last_status = Some(Instant::now());
                sent.state = Some(mem::discriminant(&frame.state));
                let legend = sent
                    .debug_image
                    .as_ref()
                    .map(|debug_image| &debug_image.legend);
                self.send_status(&frame, look, viewers, legend);
            }
        }
    }

    /// Sends the list of materials if it or the selected material has changed.
    fn send_materials(&self, sent: &mut SentState) {
        let session = lock(&self.session);
        let (scene, chosen) = (session.scene(), session.chosen_material());
        let is_same = |(listed, selected): &(Arc<Scene>, Option<usize>)| {
            Arc::ptr_eq(listed, scene) && *selected == chosen
        };
        if sent.listed.as_ref().is_some_and(is_same) {
            return;
        }
        sent.listed = Some((scene.clone(), chosen));
        let materials = session.listed_materials().collect();
        if let Ok(text) = serde_json::to_string(&Materials { materials, chosen }) {
            self.materials.send_replace(text.into());
        }
    }

    /// Sends an inspected path to all viewers, which display it; `None` hides the displayed path.
    fn send_path(&self, inspected: Option<&InspectedPath>) {
        if let Ok(text) = serde_json::to_string(&Path::of(inspected)) {
            self.paths.send_replace(text.into());
        }
    }

    /// Sends an encoded picture to all viewers, or a message if encoding failed.
    fn publish(&self, encoded: Result<Bytes, String>) {
        match encoded {
            Ok(picture) => drop(self.pictures.send_replace(picture)),
            Err(problem) => self.notifier.notify(|pending| {
                pending.note = Some(format!("cannot encode the picture: {problem}"))
            }),
        }
    }

    /// Sends a status message to all viewers.
    fn send_status(
        &self,
        frame: &DisplayFrame,
        look: Look,
        viewers: usize,
        legend: Option<&Legend>,
    ) {
        let message = lock(&self.message);
        let session = lock(&self.session);
        let status = Status {
            stats: &frame.stats_in(look, legend.is_some()),
            recent: &frame.recent,
            state: frame.state,
            size: session.size(),
            exposure_stops: look.exposure_stops,
            tone: look.tone.name(),
            debug_view: session.debug_view().name(),
            legend,
            flying: session.is_flying(),
            denoise: look.denoise,
            viewers,
            message: (message.0, &message.1),
            scene_error: session.scene_error(),
        };
        if let Ok(text) = serde_json::to_string(&status) {
            self.statuses.send_replace(text.into());
        }
    }

    /// Returns the newest statistics, in the form that `--stats` writes but without the film's hash; `None` before the
    /// first picture.
    pub(super) fn stats(&self) -> Option<Stats> {
        let look = lock(&self.session).look();
        lock(&self.frame)
            .as_ref()
            .map(|frame| frame.stats_in(look, false))
    }
}

/// Returns a receiver that yields the current value first.
fn subscribe<T>(sender: &watch::Sender<T>) -> watch::Receiver<T> {
    let mut receiver = sender.subscribe();
    receiver.mark_changed();
    receiver
}

/// The data last sent to the viewers, and the times at which the broadcaster's thread must send more.
#[derive(Default)]
struct SentState {
    /// Display settings of the last picture sent; `None` if it must be sent again.
    look: Option<Look>,
    /// Debug view of the last picture sent; `None` before the first.
    debug_view: Option<DebugView>,
    debug_image: Option<Arc<DebugImage>>,
    /// Time at which the picture must be sent again losslessly; `None` if it need not.
    lossless_due: Option<Instant>,
    /// Time at which a status message must be sent; `None` if nothing has changed.
    status_due: Option<Instant>,
    last_status: Option<Instant>,
    state: Option<Discriminant<State>>,
    /// Viewpoint of the displayed path; `None` if no path is displayed.
    path: Option<Viewpoint>,
    /// Scene whose materials were listed, and the selected material.
    listed: Option<(Arc<Scene>, Option<usize>)>,
}

impl SentState {
    /// Returns the time at which more must be sent; `None` if that depends on events only.
    fn next(&self) -> Option<Instant> {
        self.lossless_due.into_iter().chain(self.status_due).min()
    }
}

fn is_due(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at <= Instant::now())
}

/// Maximum number of viewers.
const MAX_VIEWERS: usize = 64;

/// A connected viewer, which is counted until this guard is dropped.
pub(super) struct ViewerGuard(Arc<Broadcaster>);

impl Drop for ViewerGuard {
    fn drop(&mut self) {
        self.0.viewers.send_modify(|viewers| *viewers -= 1);
        self.0.notifier.notify(|pending| pending.change = true);
    }
}
