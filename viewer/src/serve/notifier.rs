//! Wakes the broadcaster's thread. Events that arrive before it wakes are merged, so at most one of most kinds is
//! pending.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Instant,
};

use crate::session::{InspectedPath, RenderEvent, SessionEvent, lock};

/// Collects pending events, and wakes the broadcaster's thread.
#[derive(Default)]
pub(super) struct Notifier {
    pending: Mutex<PendingEvents>,
    changed: Condvar,
}

/// The events that the broadcaster's thread has not handled yet.
#[derive(Default)]
pub(super) struct PendingEvents {
    /// A new frame is available.
    pub(super) frame: bool,
    /// A new debug image is available.
    pub(super) debug_image: bool,
    /// A viewer has come, gone, been refused or made a request.
    pub(super) change: bool,
    /// The last message to display; earlier ones are dropped.
    pub(super) note: Option<String>,
    pub(super) inspected: Option<Box<InspectedPath>>,
    /// Session events in order of arrival; none may be dropped, because a later scene may rely on an earlier renderer.
    pub(super) session_events: Vec<SessionEvent>,
    /// The render thread has ended, or the server is ending.
    pub(super) ended: bool,
}

/// Returns a function that passes render events to the broadcaster's thread.
pub(super) fn event_sender(
    notifier: &Arc<Notifier>,
) -> impl Fn(RenderEvent) + Clone + Send + 'static {
    let notifier = notifier.clone();
    move |event| {
        notifier.notify(|pending| match event {
            RenderEvent::Frame => pending.frame = true,
            RenderEvent::DebugImage => pending.debug_image = true,
            RenderEvent::Message(note) => pending.note = Some(note),
            RenderEvent::Path(inspected) => pending.inspected = Some(inspected),
            RenderEvent::Session(event) => pending.session_events.push(event),
            RenderEvent::Ended => pending.ended = true,
        });
    }
}

impl Notifier {
    pub(super) fn notify(&self, change: impl FnOnce(&mut PendingEvents)) {
        change(&mut lock(&self.pending));
        self.changed.notify_one();
    }

    /// Waits for an event, but no longer than `until` if it is given, and takes all pending events. There are none if
    /// `until` has passed without an event.
    pub(super) fn wait(&self, until: Option<Instant>) -> PendingEvents {
        let silent = |pending: &mut PendingEvents| {
            let has_messages = pending.note.is_some() || pending.inspected.is_some();
            let has_messages = has_messages || !pending.session_events.is_empty();
            !(pending.frame
                || pending.debug_image
                || pending.change
                || pending.ended
                || has_messages)
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
