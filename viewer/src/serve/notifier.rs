//! Wakes the broadcaster's thread. Events that arrive before it has taken the previous ones are merged: at most one of
//! each kind is pending, except that all session events are kept.

use std::sync::Arc;

use crate::session::{
    InspectedPath, Message, Pending, PixelInfo, RenderEvent, SessionEvent, add_problem,
};

/// The pending events of the broadcaster's thread.
pub(super) type Notifier = Pending<PendingEvents>;

/// The events that the broadcaster's thread has not taken yet. Of a new frame, it is only woken.
#[derive(Default)]
pub(super) struct PendingEvents {
    pub(super) debug_image: bool,
    /// Whether a viewer has come, gone, been refused or made a request.
    pub(super) change: bool,
    /// Last message to display that is no problem, in place of earlier ones; `None` if there is none.
    pub(super) note: Option<Message>,
    /// Last problems to display, the newest last.
    pub(super) problems: Vec<Message>,
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
                add_problem(&mut pending.problems, problem, Message::for_keyboard);
            }
            RenderEvent::Pixel(info) => pending.pixel = Some(info),
            RenderEvent::Path(inspected) => pending.inspected = Some(inspected),
            RenderEvent::Session(event) => pending.session_events.push(event),
            RenderEvent::Ended => pending.ended = true,
        });
    }
}
