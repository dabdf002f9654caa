//! Connects the session with the viewers of the page: passes their requests to the session, and encodes the newest
//! picture and statistics once for all viewers.
//!
//! Results are sent over watch channels that keep only the newest value, so slow viewers cause no queues.

use std::{
    mem::{self, Discriminant},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{body::Bytes, extract::ws::Utf8Bytes};
use rayon::ThreadPool;
use serde::Serialize;
use tokio::sync::watch;

use super::{
    encode,
    messages::{AnimationStatus, Path, PixelDescription, Status, UserMessages, ViewerRequest},
};
use crate::{
    overlay::pixels::{describe, describe_compared},
    session::{
        Alpha, Continuity, DerivedImage, DisplayFrame, EditorState, InspectedPath, Pending,
        PixelInfo, RenderEvent, SceneView, Session, SessionEvent, State, add_problem, lock,
    },
};
use raysieve::{
    film::picture::tone::Tone,
    inspect::debug_view::{DebugImage, DebugView, Legend},
    render::output::Look,
};
use raysieve_scene::Scene;

/// The session, and the channels over which the viewers receive pictures and messages.
pub(super) struct Broadcaster {
    session: Mutex<Session>,
    /// Newest frame; `None` before the first.
    frame: Mutex<Option<DisplayFrame>>,
    messages: Mutex<UserMessages>,
    notifier: Arc<Notifier>,
    /// Newest encoded picture (see `encode`); empty before the first, and while there are no viewers.
    pub(super) pictures: watch::Sender<Bytes>,
    /// Newest status message as JSON; empty before the first.
    pub(super) statuses: watch::Sender<Utf8Bytes>,
    /// Newest path message as JSON; empty before the first.
    pub(super) paths: watch::Sender<Utf8Bytes>,
    /// Newest description of a pixel as JSON; empty before the first.
    pub(super) pixels: watch::Sender<Utf8Bytes>,
    /// Newest state of the editor as JSON; empty before the first.
    pub(super) editors: watch::Sender<Utf8Bytes>,
    viewers: watch::Sender<usize>,
    /// Whether the server has been stopped.
    stop: watch::Sender<bool>,
    /// Locked while a picture is encoded for saving, so that only one is encoded at a time.
    pub(super) saving: tokio::sync::Mutex<()>,
}

/// Minimum interval between status messages that only new frames cause, so that people can read the numbers. Changes of
/// settings are reported at once.
const STATUS_INTERVAL: Duration = Duration::from_millis(200);

/// Time without a new picture after which the picture of a complete or paused render is sent again losslessly.
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
            messages: Mutex::default(),
            notifier,
            pictures: watch::Sender::default(),
            statuses: watch::Sender::default(),
            paths: watch::Sender::default(),
            pixels: watch::Sender::default(),
            editors: watch::Sender::default(),
            viewers: watch::Sender::new(0),
            stop,
            saving: tokio::sync::Mutex::default(),
        }
    }

    /// Executes a viewer's request.
    ///
    /// # Errors
    /// A message if the request names something that does not exist. The caller must then disconnect the viewer.
    pub(super) fn handle_request(&self, request: ViewerRequest) -> Result<(), &'static str> {
        let mut session = self.session();
        match request {
            // Counted per viewer, in `viewer`.
            ViewerRequest::Displayed => return Ok(()),
            ViewerRequest::Act(change) => session.act(change),
            ViewerRequest::Move(motion) => session.move_camera(motion),
            ViewerRequest::Drag(motion, continues) => {
                session.move_on(motion, Continuity::in_drag(continues))
            }
            ViewerRequest::Focus(column, row) => session.focus((column, row)),
            ViewerRequest::Inspect(column, row) => session.inspect((column, row)),
            ViewerRequest::Pixel(column, row) => {
                let (width, height) = session.size;
                if column < width && row < height {
                    session.ask_pixel((column, row));
                }
                return Ok(());
            }
            ViewerRequest::Region(left, top, right, bottom) => {
                session.set_region((left, top), (right, bottom))
            }
            ViewerRequest::Seek(seconds) => session.seek(seconds),
            ViewerRequest::Animation(animation) => session.choose_animation(animation)?,
            ViewerRequest::Strategy(name) => {
                let strategy = name.parse().map_err(|_| "unknown compaction strategy")?;
                session.set_strategy(strategy);
            }
            ViewerRequest::Select(part) => session.select(part)?,
            ViewerRequest::Edit(part, id, value, continues) => {
                let refusal = session.edit(part, &id, value, Continuity::in_drag(continues))?;
                refusal.into_iter().for_each(|refusal| session.say(refusal));
            }
            ViewerRequest::DebugView(name) => session.set_debug_view(name.parse()?),
            ViewerRequest::Tone(name) => {
                let tone = Tone::ALL.into_iter().find(|tone| tone.name() == name);
                session.set_tone(tone.ok_or("unknown tone curve")?);
            }
        }
        drop(session);
        self.notifier.change(|pending| pending.change = true);
        Ok(())
    }

    pub(super) fn session(&self) -> MutexGuard<'_, Session> {
        lock(&self.session)
    }

    /// Returns the newest frame; `None` before the first.
    pub(super) fn frame(&self) -> Option<DisplayFrame> {
        lock(&self.frame).clone()
    }

    /// Counts a further viewer until the returned guard is dropped. Returns `None` if there are `MAX_VIEWERS` viewers
    /// already.
    pub(super) fn add_viewer(self: &Arc<Self>) -> Option<ViewerGuard> {
        let mut is_admitted = false;
        self.viewers.send_if_modified(|viewers| {
            is_admitted = *viewers < MAX_VIEWERS;
            *viewers += usize::from(is_admitted);
            is_admitted
        });
        self.notifier.change(|pending| pending.change = true);
        is_admitted.then(|| ViewerGuard(self.clone()))
    }

    /// Waits until there are no viewers; returns at once if there are none.
    pub(super) async fn all_viewers_left(&self) {
        let _ = self
            .viewers
            .subscribe()
            .wait_for(|&viewers| viewers == 0)
            .await;
    }

    /// Waits until the server is stopped; returns at once if it has been stopped.
    pub(super) async fn stopped(&self) {
        let _ = self.stop.subscribe().wait_for(|&stop| stop).await;
    }

    /// Makes the broadcaster's thread end after its current step; does not wait for it.
    pub(super) fn end(&self) {
        self.notifier.change(|pending| pending.ended = true);
    }

    /// Returns the session, after the broadcaster's thread and all viewers have ended.
    pub(super) fn into_session(self) -> Session {
        self.session
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the broadcaster's thread: handles the session's events, and sends pictures, status messages, paths,
    /// descriptions of pixels, and states of the editor. Without viewers, encodes no pictures and sends no status
    /// messages, but still handles events and keeps the newest frame.
    ///
    /// Stops the server and returns once the render thread has ended or [`end`](Self::end) is called. A complete render
    /// does not end the render thread.
    pub(super) fn run(&self, pool: &ThreadPool) {
        let mut sent = SentState::default();
        loop {
            let autosave_due = self.session().autosave_if_due(Instant::now());
            let due = sent.next_due().into_iter().chain(autosave_due).min();
            let pending = self.notifier.take(due);
            if pending.ended {
                self.stop.send_replace(true);
                return;
            }
            let mut note = pending.note;
            for event in pending.session_events {
                self.session().handle_event(event);
                // The poses of an animation that plays count as new frames.
                let animation = self.session().animation();
                if !animation.is_some_and(|animation| animation.playing) {
                    sent.status_due = Some(Instant::now());
                }
            }
            if let Some(inspected) = pending.inspected {
                let selected = self.session().select_hit(&inspected);
                let message = selected.map(|selected| format!("{selected}: see Edit (l)"));
                note = message.or(note);
                self.send_path(Some(&inspected));
                sent.path = Some(inspected.view.clone());
            }
            if note.is_some() || !pending.problems.is_empty() {
                lock(&self.messages).add(note, pending.problems, Instant::now());
                sent.status_due = Some(Instant::now());
            }
            if let Some(info) = pending.pixel {
                self.send_pixel(&info);
            }
            let gone = |view: &mut SceneView| !self.session().is_at(view);
            if sent.path.take_if(gone).is_some() {
                self.send_path(None);
            }
            self.send_editor(&mut sent);
            let frame = self.session().take_frame();
            let look = self.session().look;
            let has_new = frame.is_some();
            let mut has_new_picture = false;
            if let Some(frame) = frame {
                let last = lock(&self.frame).replace(frame.clone());
                // The frames of a comparison of strategies have the same picture.
                has_new_picture = !last.is_some_and(|last| last.has_same_picture(&frame));
            }
            let viewers = *self.viewers.borrow();
            if viewers == 0 {
                sent = SentState {
                    path: sent.path,
                    editor: sent.editor,
                    ..SentState::default()
                };
                self.pictures.send_replace(Bytes::new());
                continue;
            }
            // Without viewers, an animation stands still.
            self.session().play_on();
            let Some(frame) = self.frame() else {
                // The first frame is followed by a status message.
                sent.status_due = None;
                continue;
            };
            let session = self.session();
            let debug_view = (session.debug_view, session.derived_image());
            drop(session);
            let has_changed = sent.debug_view != Some(debug_view) || sent.look != Some(look);
            if has_new || pending.debug_image || has_changed {
                let session = self.session();
                let (debug_image, alpha) = (session.debug_image(&frame), session.alpha());
                drop(session);
                let pointer = |image: &Option<_>| image.as_ref().map(Arc::as_ptr);
                let is_same = pointer(&debug_image) == pointer(&sent.debug_image)
                    && (debug_image.is_some() || !has_new_picture && alpha == sent.alpha);
                sent.alpha = alpha;
                if !is_same || sent.debug_view != Some(debug_view) {
                    sent.look = None;
                }
                (sent.debug_image, sent.debug_view) = (debug_image, Some(debug_view));
            }
            let image = || frame.to_image(look, sent.debug_image.as_deref(), sent.alpha.as_ref());
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

    /// Sends the state of the editor to all viewers if it has changed since it was last sent.
    fn send_editor(&self, sent: &mut SentState) {
        let editor = self.session().editor();
        if sent.editor.as_ref() == Some(&editor) {
            return;
        }
        send(&self.editors, &editor);
        sent.editor = Some(editor);
    }

    /// Sends an inspected path, which all viewers then display; `None` makes them hide the displayed path.
    fn send_path(&self, inspected: Option<&InspectedPath>) {
        send(&self.paths, &Path { path: inspected });
    }

    /// Sends the description of a pixel to all viewers.
    fn send_pixel(&self, info: &PixelInfo) {
        let compared = self.session().compared.as_ref().cloned();
        let frame = self.frame();
        let Some(frame) = frame else {
            return;
        };
        if let Some(lines) = describe(&frame, info.pixel, Some(info)) {
            let compare = |image: Arc<_>| describe_compared(&image, &frame, info.pixel, Some(info));
            let (pixel, compared) = (info.pixel, compared.and_then(compare));
            let description = PixelDescription {
                pixel,
                lines,
                compared,
            };
            send(&self.pixels, &description);
        }
    }

    /// Sends an encoded picture to all viewers, or a message with the encoder's error.
    fn publish(&self, encoded: Result<Bytes, String>) {
        match encoded {
            Ok(picture) => drop(self.pictures.send_replace(picture)),
            Err(problem) => {
                let problem = format!("cannot encode the picture: {problem}");
                self.session().report_problem(problem);
            }
        }
    }

    /// Sends a status message about this frame to all viewers. `legend` is that of the displayed debug image; `None` if
    /// the picture is displayed.
    fn send_status(
        &self,
        frame: &DisplayFrame,
        look: Look,
        viewers: usize,
        legend: Option<&Legend>,
    ) {
        let mut messages = lock(&self.messages);
        messages.mark_sent(Instant::now());
        let session = self.session();
        let status = Status {
            stats: &frame.stats_in(look, legend.is_some()),
            recent: &frame.recent,
            state: frame.state,
            size: session.size,
            region: (frame.region).map(|at| [at.x, at.y, at.width, at.height]),
            compared: session.compared_labels().into_iter().next(),
            displayed: session.displayed_name(legend.is_some()),
            exposure_stops: look.exposure_stops,
            tone: look.tone.name(),
            debug_view: session.debug_view.name(),
            legend,
            flying: session.flying,
            animation: AnimationStatus::of(&session, frame),
            denoise: look.denoise,
            can_save_scene: Scene::foreign_format(&session.scene.path).is_none(),
            viewers,
            message: messages.note.clone(),
            problems: messages.problems(),
            scene_error: session.scene_error.as_deref(),
        };
        send(&self.statuses, &status);
    }
}

/// Sends a message as JSON to all viewers.
fn send(viewers: &watch::Sender<Utf8Bytes>, message: &impl Serialize) {
    if let Ok(text) = serde_json::to_string(message) {
        viewers.send_replace(text.into());
    }
}

/// The state that the broadcaster's thread has sent to the viewers, and the times at which the thread must send more.
#[derive(Default)]
struct SentState {
    /// Display settings of the last picture sent; `None` if a picture must be sent even with unchanged settings.
    look: Option<Look>,
    /// Debug view and derived image that were selected when the last picture was sent; `None` before the first picture.
    debug_view: Option<(DebugView, Option<DerivedImage>)>,
    /// Debug image that replaced the last picture sent; `None` if the picture itself was sent.
    debug_image: Option<Arc<DebugImage>>,
    /// Alpha with which the last picture was sent over a checkerboard; `None` if it was sent as it is.
    alpha: Option<Alpha>,
    /// Time at which the picture must be sent again losslessly; `None` if that is not required.
    lossless_due: Option<Instant>,
    /// Time at which a status message must be sent; `None` if nothing has changed since the last one.
    status_due: Option<Instant>,
    /// Time of the last status message; `None` before the first.
    last_status: Option<Instant>,
    /// Whether the render was running, paused, comparing strategies or complete in the last status message; `None`
    /// before the first.
    state: Option<Discriminant<State>>,
    /// View of the displayed path; `None` if no path is displayed.
    path: Option<SceneView>,
    /// Last state of the editor that was sent; `None` before the first.
    editor: Option<EditorState>,
}

impl SentState {
    /// Returns the time at which the next lossless picture or status message is due; `None` if neither is scheduled.
    /// Other pictures follow events.
    fn next_due(&self) -> Option<Instant> {
        self.lossless_due.into_iter().chain(self.status_due).min()
    }
}

/// Returns whether this time has come; `false` for `None`.
fn is_due(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at <= Instant::now())
}

/// Maximum number of viewers connected at the same time; further ones are refused.
const MAX_VIEWERS: usize = 64;

/// A guard that counts a connected viewer until it is dropped.
pub(super) struct ViewerGuard(Arc<Broadcaster>);

impl Drop for ViewerGuard {
    fn drop(&mut self) {
        self.0.viewers.send_modify(|viewers| *viewers -= 1);
        self.0.notifier.change(|pending| pending.change = true);
    }
}

/// The pending events of the broadcaster's thread.
pub(super) type Notifier = Pending<PendingEvents>;

/// The events that the broadcaster's thread has not taken yet. Of a new frame, it is only woken.
#[derive(Default)]
pub(super) struct PendingEvents {
    pub(super) debug_image: bool,
    /// Whether a viewer has come, gone, been refused or made a request.
    pub(super) change: bool,
    /// Last message to display that is no problem, in place of earlier ones; `None` if there is none.
    pub(super) note: Option<String>,
    /// Last problems to display, the newest last.
    pub(super) problems: Vec<String>,
    /// Last path that was traced for a viewer, in place of earlier ones; `None` if there is none.
    pub(super) inspected: Option<Box<InspectedPath>>,
    /// Last answer about a pixel, in place of earlier ones; `None` if there is none.
    pub(super) pixel: Option<Box<PixelInfo>>,
    /// Session events in order of arrival. None may be dropped, because a later scene may rely on an earlier renderer.
    pub(super) session_events: Vec<SessionEvent>,
    /// Whether the render thread has ended or the server is ending.
    pub(super) ended: bool,
}

/// Returns a function that adds a render event to the pending events and wakes the broadcaster's thread.
pub(super) fn event_sender(notifier: &Arc<Notifier>) -> impl Fn(RenderEvent) + Send + 'static {
    let notifier = notifier.clone();
    move |event| {
        notifier.change(|pending| match event {
            RenderEvent::Frame => {}
            RenderEvent::DebugImage => pending.debug_image = true,
            RenderEvent::Message(message) => pending.note = Some(message),
            RenderEvent::Problem(problem) => {
                add_problem(&mut pending.problems, problem, |problem| problem);
            }
            RenderEvent::Pixel(info) => pending.pixel = Some(info),
            RenderEvent::Path(inspected) => pending.inspected = Some(inspected),
            RenderEvent::Session(event) => pending.session_events.push(event),
            RenderEvent::Ended => pending.ended = true,
        });
    }
}
