//! Wakes the broadcaster's thread. Events that arrive before it has taken the previous ones are merged: at most one of
//! each kind is pending, except that all session events are kept.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Instant,
};

use crate::session::{
    InspectedPath, Message, PixelInfo, RenderEvent, SessionEvent, add_problem, lock,
};

/// The pending events of the broadcaster's thread, and a condition variable that wakes the thread.
#[derive(Default)]
pub(super) struct Notifier {
    pending: Mutex<PendingEvents>,
    changed: Condvar,
}

/// The events that the broadcaster's thread has not taken yet.
#[derive(Default)]
pub(super) struct PendingEvents {
    /// Whether the session has a new frame.
    pub(super) frame: bool,
    /// Whether the session has a new debug image.
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
pub(super) fn event_sender(
    notifier: &Arc<Notifier>,
) -> impl Fn(RenderEvent) + Clone + Send + 'static {
    let notifier = notifier.clone();
    move |event| {
        notifier.notify(|pending| match event {
            RenderEvent::Frame => pending.frame = true,
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

impl Notifier {
    /// Changes the pending events, and wakes the broadcaster's thread.
    pub(super) fn notify(&self, change: impl FnOnce(&mut PendingEvents)) {
        change(&mut lock(&self.pending));
        self.changed.notify_one();
    }

    /// Waits until an event is pending, but no longer than `until` if it is given. Takes and returns all pending
    /// events; none are set if `until` has passed without an event.
    pub(super) fn wait(&self, until: Option<Instant>) -> PendingEvents {
        let silent = |pending: &mut PendingEvents| {
            let has_messages = pending.note.is_some() || !pending.problems.is_empty();
            let has_answers = pending.inspected.is_some() || pending.pixel.is_some();
            !(pending.frame
                || pending.debug_image
                || pending.change
                || pending.ended
                || has_messages
                || has_answers
                || !pending.session_events.is_empty())
        };
        let pending = lock(&self.pending);
        let mut pending = match until {
            Some(until) => {
                let wait = until.saturating_duration_since(Instant::now());
                self.changed
                    .wait_timeout_while(pending, wait, silent)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => self
                .changed
                .wait_while(pending, silent)
                .unwrap_or_else(PoisonError::into_inner),
        };
        mem::take(&mut *pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_kept_beside_the_messages_that_follow_them() {
        let notifier = Arc::<Notifier>::default();
        let send = event_sender(&notifier);
        send(RenderEvent::message("loading"));
        send(RenderEvent::problem("not saved"));
        send(RenderEvent::problem("no image"));
        send(RenderEvent::message("reloaded"));
        let pending = notifier.wait(None);
        assert_eq!(
            pending.problems,
            ["not saved", "no image"].map(Message::from)
        );
        assert_eq!(pending.note, Some("reloaded".into()));
    }
}
