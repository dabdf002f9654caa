//! Events that the background threads of a session send to the window or page.

use std::sync::{Arc, Mutex};

use super::{
    controller::SessionEvent,
    inspection::{InspectedPath, PixelInfo},
    lock,
    message::Message,
};

/// An event that a background thread of the session sends to the window or page.
pub(crate) enum RenderEvent {
    /// A new frame is available from `Session::take_frame`.
    Frame,
    Message(Message),
    /// A problem to display to the users, marked as an error.
    Problem(Message),
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

impl RenderEvent {
    pub(crate) fn message(message: impl Into<Message>) -> Self {
        Self::Message(message.into())
    }

    pub(crate) fn problem(problem: impl Into<Message>) -> Self {
        Self::Problem(problem.into())
    }
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

    pub(super) fn message(&self, message: impl Into<Message>) {
        self.send(RenderEvent::message(message));
    }

    /// Displays a problem to the users, marked as an error.
    pub(super) fn problem(&self, problem: impl Into<Message>) {
        self.send(RenderEvent::problem(problem));
    }
}
