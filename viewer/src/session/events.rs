//! Events that the background threads of a session send to the window or page, and messages to the users.
//!
//! Messages name controls by key and button, because some viewers of a page have no keyboard.

use std::sync::{Arc, Mutex};

use glam::Vec3;

use super::{
    lock,
    path_query::{InspectedPath, PathQuery, PixelInfo},
};
use raysieve::{accel::trees::SceneBvhs, render::renderer::Renderer};
use raysieve_scene::Scene;

/// An event that a background thread of the session sends to the window or page.
pub(crate) enum RenderEvent {
    /// A new frame is available from `Session::take_frame`.
    Frame,
    Message(String),
    /// A problem to display to the users, marked as an error.
    Problem(String),
    /// A traced path that a user requested, to display.
    Path(Box<InspectedPath>),
    Pixel(Box<PixelInfo>),
    /// A new debug image is available from `Session::debug_image`, or new alpha of the picture from `Session::alpha`.
    DebugImage,
    /// An event that the window or page must pass on to `Session::handle_event`.
    Session(SessionEvent),
    /// The render thread has ended: on request, after an error or after a panic. No frames follow. `Session::finish`
    /// then returns the renderer, together with an error that ended the render; after a panic, it fails.
    Ended,
}

/// An event that a background thread of the session reports. The window or page must pass it to
/// [`Session::handle_event`](super::Session::handle_event).
pub(crate) enum SessionEvent {
    /// A scene was loaded or edited and replaces the current one.
    Loaded(Box<Loaded>),
    /// The scene's changed files cannot be loaded, for this reason.
    SceneError(String),
    /// The scene cannot be shown at the requested time, for this reason.
    PoseError(String),
    /// The camera is to focus on this point in world space.
    Focus(Vec3),
    /// All GPUs have failed, and the render continues on the CPU.
    GpusFailed,
    /// A path or pixel is to be traced; the render thread has filled in the number of the sample.
    Query(PathQuery),
}

/// A scene that has been loaded or edited, ready to be displayed.
pub(crate) struct Loaded {
    /// Scene as its file and the command-line overrides define it, without the user's edits.
    pub(super) read: Arc<Scene>,
    /// Scene to display: `read` with the user's edits.
    pub(super) scene: Arc<Scene>,
    /// New renderer and acceleration structures of the scene; `None` if the current renderer can continue, perhaps with
    /// another camera.
    pub(super) renderer: Option<(Box<Renderer>, Arc<SceneBvhs>)>,
    pub(super) reason: LoadReason,
}

/// The reason why a scene was loaded or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadReason {
    /// A file of the current scene has changed on disk.
    Changed,
    /// A user has opened another scene or model file.
    Opened,
    /// A user has edited materials, lights, the sky or the background of the current scene.
    Edited,
    /// The animations of the current scene are shown at another time.
    Posed,
}

/// A sender of events, which all background threads of a session share.
#[derive(Clone)]
pub(super) struct EventSender(Arc<Mutex<dyn Fn(RenderEvent) + Send>>);

impl EventSender {
    /// Creates a sender that passes events to `on_event`, one at a time.
    pub(super) fn new(on_event: impl Fn(RenderEvent) + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(on_event)))
    }

    pub(super) fn send(&self, event: RenderEvent) {
        lock(&self.0)(event);
    }

    /// Sends an event for [`Session::handle_event`](super::Session::handle_event).
    pub(super) fn to_session(&self, event: SessionEvent) {
        self.send(RenderEvent::Session(event));
    }

    pub(super) fn message(&self, message: impl Into<String>) {
        self.send(RenderEvent::Message(message.into()));
    }

    /// Displays a problem to the users, marked as an error.
    pub(super) fn problem(&self, problem: impl Into<String>) {
        self.send(RenderEvent::Problem(problem.into()));
    }
}
