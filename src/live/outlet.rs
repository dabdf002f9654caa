//! Where pictures leave for those who look, and when: to a beat, the first of a new view before it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::render_thread::{Frame, Told};

/// The newest picture that nobody has taken.
pub(super) type Slot = Arc<Mutex<Option<Frame>>>;

/// Tells that the thread ends, also when the renderer panics, so that nobody waits for it.
pub(super) struct Teller<T: Fn(Told)>(pub(super) T);

impl<T: Fn(Told)> Drop for Teller<T> {
    fn drop(&mut self) {
        (self.0)(Told::Ended);
    }
}

/// Where pictures leave for those who look.
pub(super) struct Outlet<T: Fn(Told)> {
    slot: Slot,
    pub(super) teller: Teller<T>,
    beat: Beat,
}

/// When pictures are due. None waits for a wave that the one before it waited for: what is late is caught up with.
pub(super) struct Beat {
    interval: Duration,
    /// The next picture; the first is due at once.
    due: Option<Instant>,
    /// Since when there is a view that has not been shown.
    waiting: Option<Instant>,
}

/// A view that has not one sample everywhere after so long is shown as it is.
const PATIENCE: Duration = Duration::from_millis(300);

/// Making pictures takes one part of so many of the time, at most.
const PICTURE_SHARE: u32 = 5;

impl Beat {
    fn new(interval: Duration) -> Self {
        Self {
            interval,
            due: None,
            waiting: Some(Instant::now()),
        }
    }

    /// A new view waits to be shown.
    pub(super) fn wait(&mut self) {
        self.waiting.get_or_insert_with(Instant::now);
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Whether a picture is due that has so many samples everywhere. That of a new view may come a beat early: the next
    /// one then is as much later.
    pub(super) fn is_due(&self, samples: u32) -> bool {
        let now = Instant::now();
        let Some(due) = self.due else {
            return samples > 0 || self.has_waited(now);
        };
        match self.waiting {
            Some(_) => now + self.interval >= due && (samples > 0 || self.has_waited(now)),
            None => now >= due && samples > 0,
        }
    }

    fn has_waited(&self, now: Instant) -> bool {
        self.waiting.is_some_and(|since| since + PATIENCE <= now)
    }

    /// A picture has been made, from `begun` on.
    fn shown(&mut self, begun: Instant) {
        let earliest = begun + (self.interval / 2).max(begun.elapsed() * PICTURE_SHARE);
        let due = self.due.map_or(begun, |due| due) + self.interval;
        self.due = Some(due.max(earliest));
        self.waiting = None;
    }
}

impl<T: Fn(Told)> Outlet<T> {
    /// Pictures come no faster than one per `interval` for long.
    pub(super) fn new(slot: Slot, tell: T, interval: Duration) -> Self {
        Self {
            slot,
            teller: Teller(tell),
            beat: Beat::new(interval),
        }
    }

    pub(super) fn beat(&self) -> &Beat {
        &self.beat
    }

    /// A new view waits to be shown.
    pub(super) fn wait(&mut self) {
        self.beat.wait();
    }

    /// `begun` is when the making of the frame began.
    pub(super) fn publish(&mut self, frame: Frame, begun: Instant) {
        let unseen = self
            .slot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(frame);
        if unseen.is_none() {
            (self.teller.0)(Told::Frame);
        }
        self.beat.shown(begun);
    }
}
