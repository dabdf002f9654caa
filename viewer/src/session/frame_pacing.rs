//! Publishes frames and determines when the next is due: at a regular rate, but the first after a change of the view
//! may be early. The view is the scene, camera and picture size; a restart counts as a change too.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use super::{
    DisplayFrame,
    events::{EventSender, RenderEvent},
    lock,
};

/// The newest frame; `None` before the first, and once the frame has been taken.
pub(super) type LatestFrame = Arc<Mutex<Option<DisplayFrame>>>;

/// A publisher of frames to the window or page, with the pacing that determines when the next frame is due. It sends
/// `RenderEvent::Ended` when dropped, so that viewers are notified even after a panic.
pub(super) struct FramePublisher {
    /// Place from which the session takes the newest frame.
    latest: LatestFrame,
    pub(super) events: EventSender,
    pub(super) pacing: FramePacing,
    /// Times at which frames were published in the last second.
    published: VecDeque<Instant>,
}

/// The times at which frames are due. A late frame delays later ones only if they would follow too closely: within half
/// an interval, or within five times the time spent on making the frame.
pub(super) struct FramePacing {
    /// Minimum average interval between frames.
    interval: Duration,
    /// Time at which the next frame is due. `None` before the first frame, which is due once every pixel has a sample
    /// or after `MAX_WAIT`.
    due: Option<Instant>,
    /// Time of the first change of the view since the last published frame; `None` if there was no change. At first the
    /// time of creation.
    waiting: Option<Instant>,
}

/// Time after a change of the view from which a frame may be published even if some pixels have no sample yet.
const MAX_WAIT: Duration = Duration::from_millis(300);

/// Minimum time from the beginning of making a frame until the next is due, as a multiple of the time spent on making
/// the frame.
const PICTURE_SHARE: u32 = 5;

impl FramePacing {
    fn new(interval: Duration) -> Self {
        Self {
            interval,
            due: None,
            waiting: Some(Instant::now()),
        }
    }

    /// Records that the view has changed, so that its first frame may be published early.
    pub(super) fn record_view_change(&mut self) {
        self.waiting.get_or_insert_with(Instant::now);
    }

    /// Returns whether the view has changed since the last published frame; `true` before the first frame.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Returns whether a frame is due. `samples` is the minimum sample count over all pixels. The first frame after a
    /// change of the view may be due up to one interval early; the next frame is then delayed by as much.
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

    /// Returns whether at least `MAX_WAIT` has passed at `now` since the first change of the view after the last
    /// published frame; `false` if there was no change. The creation counts as a change.
    fn has_waited(&self, now: Instant) -> bool {
        self.waiting.is_some_and(|since| since + MAX_WAIT <= now)
    }

    /// Records that a frame whose making began at `begun` has been published, and schedules the next one.
    fn record_published(&mut self, begun: Instant) {
        let earliest = begun + (self.interval / 2).max(begun.elapsed() * PICTURE_SHARE);
        let due = self.due.map_or(begun, |due| due) + self.interval;
        self.due = Some(due.max(earliest));
        self.waiting = None;
    }
}

impl Drop for FramePublisher {
    fn drop(&mut self) {
        self.events.send(RenderEvent::Ended);
    }
}

impl FramePublisher {
    /// Creates a publisher whose pacing allows at most one frame per `interval` on average.
    pub(super) fn new(latest: LatestFrame, events: EventSender, interval: Duration) -> Self {
        Self {
            latest,
            events,
            pacing: FramePacing::new(interval),
            published: VecDeque::new(),
        }
    }

    /// Publishes a frame whose making began at `begun`. Notifies viewers unless the frame replaces one that was not
    /// taken, of which they were notified already.
    pub(super) fn publish(&mut self, mut frame: DisplayFrame, begun: Instant) {
        let now = Instant::now();
        self.published.push_back(now);
        self.published
            .retain(|&at| now - at < Duration::from_secs(1));
        frame.recent.frames_per_second = self.published.len() as u32;
        let unseen = lock(&self.latest).replace(frame);
        if unseen.is_none() {
            self.events.send(RenderEvent::Frame);
        }
        self.pacing.record_published(begun);
    }
}
