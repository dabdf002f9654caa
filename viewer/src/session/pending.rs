//! What threads ask of another thread, merged until that thread takes it.

use std::{
    mem,
    sync::{Condvar, Mutex, PoisonError},
    time::Instant,
};

use super::lock;

/// Requests or events that are pending, as fields of `T`. Any thread may change them, and one thread takes all at once.
#[derive(Default)]
pub(crate) struct Pending<T> {
    state: Mutex<PendingState<T>>,
    /// Tells the taking thread that there is a change.
    changed: Condvar,
}

#[derive(Default)]
struct PendingState<T> {
    pending: T,
    /// Whether `pending` was changed since it was last taken.
    has_changed: bool,
}

impl<T: Default> Pending<T> {
    /// Changes what is pending, and wakes the thread that takes it.
    pub(crate) fn change(&self, change: impl FnOnce(&mut T)) {
        let mut state = lock(&self.state);
        change(&mut state.pending);
        state.has_changed = true;
        self.changed.notify_one();
    }

    /// Waits for a change, but no longer than `until` if it is given. Takes what is pending, which is the default if
    /// `until` has passed without a change.
    pub(crate) fn take(&self, until: Option<Instant>) -> T {
        let state = lock(&self.state);
        let is_idle = |state: &mut PendingState<T>| !state.has_changed;
        let mut state = match until {
            Some(until) => {
                let time = until.saturating_duration_since(Instant::now());
                let waited = self.changed.wait_timeout_while(state, time, is_idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.changed.wait_while(state, is_idle);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        mem::take(&mut *state).pending
    }

    /// Returns whether there was a change since the last call of [`take`](Self::take).
    pub(super) fn has_changed(&self) -> bool {
        lock(&self.state).has_changed
    }

    /// Calls `read` with what is pending, without taking it.
    pub(super) fn peek<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&lock(&self.state).pending)
    }
}
