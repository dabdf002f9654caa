//! A thread that works on the newest of the requests that it gets, and keeps its newest result.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use super::{lock, spawn};

/// Handle of a thread that turns requests of type `R` into results of type `T`. Dropping it ends the thread after the
/// current step of its work.
pub(super) struct NewestRequestThread<R, T> {
    shared: Arc<SharedState<R, T>>,
}

/// The work on a request, as its thread sees it.
pub(super) struct Work<R, T> {
    shared: Arc<SharedState<R, T>>,
    /// The number `State::requests` when the thread took the request.
    number: u64,
}

/// The state that the handle and the thread share. The condition variable tells the thread that there is a new request
/// or that the handle was dropped.
struct SharedState<R, T> {
    state: Mutex<State<R, T>>,
    changed: Condvar,
}

/// The newest request and the newest result.
struct State<R, T> {
    /// Newest request, also while the thread works on it and afterwards; `None` if nothing is requested.
    request: Option<R>,
    /// Number of requests so far, including those of `None`. The thread compares it with [`Work::number`] to detect
    /// that its work is outdated.
    requests: u64,
    /// Newest result, perhaps of an earlier request; `None` before the first.
    result: Option<T>,
    /// Whether the handle has been dropped. The thread then ends without taking another request.
    closed: bool,
}

impl<R: Clone + Send + 'static, T: Clone + Send + 'static> NewestRequestThread<R, T> {
    /// Starts a thread of this name, which calls `work` for the newest request. Requests that were replaced before the
    /// thread took them are skipped. `work` stores its results with [`Work::put_if`], and is not interrupted by a newer
    /// request; it can check [`Work::is_outdated`].
    pub(super) fn start(
        name: &str,
        mut work: impl FnMut(&R, &Work<R, T>) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(SharedState {
            state: Mutex::new(State {
                request: None,
                requests: 0,
                result: None,
                closed: false,
            }),
            changed: Condvar::new(),
        });
        let mut current = Work {
            shared: shared.clone(),
            number: 0,
        };
        spawn(name, move || {
            while let Some(request) = current.next() {
                work(&request, &current);
            }
        })?;
        Ok(Self { shared })
    }

    /// Replaces the newest request; `None` requests nothing. The result stays until the next one. The thread begins
    /// with the request once its work on the previous one has ended.
    pub(super) fn request(&self, request: Option<R>) {
        let mut state = lock(&self.shared.state);
        state.request = request;
        state.requests += 1;
        self.shared.changed.notify_one();
    }

    /// Returns whether something is requested and the newest request fulfils `test`, also after the work on it has
    /// ended.
    pub(super) fn has_requested(&self, test: impl FnOnce(&R) -> bool) -> bool {
        lock(&self.shared.state).request.as_ref().is_some_and(test)
    }

    /// Returns the newest result, perhaps of an earlier request; `None` before the first.
    pub(super) fn result(&self) -> Option<T> {
        lock(&self.shared.state).result.clone()
    }

    /// Drops the newest result, so that [`Self::result`] returns `None` until the next one. Does not cancel the
    /// request: work in progress may still store a result.
    pub(super) fn forget_result(&self) {
        lock(&self.shared.state).result = None;
    }
}

impl<R, T> Drop for NewestRequestThread<R, T> {
    fn drop(&mut self) {
        lock(&self.shared.state).closed = true;
        self.shared.changed.notify_one();
    }
}

impl<R: Clone, T> Work<R, T> {
    /// Waits until the newest request is one that the thread has not taken yet, and returns a copy of it. Older
    /// requests are skipped. Goes on waiting while nothing is requested; returns `None` if the handle was dropped.
    fn next(&mut self) -> Option<R> {
        let idle = |state: &mut State<R, T>| {
            !state.closed && (state.request.is_none() || state.requests == self.number)
        };
        let state = lock(&self.shared.state);
        let state = self.shared.changed.wait_while(state, idle);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        self.number = state.requests;
        state.request.clone().filter(|_| !state.closed)
    }

    /// Stores a result if the newest request fulfils `test`. Returns whether it was stored.
    pub(super) fn put_if(&self, result: T, test: impl FnOnce(&R) -> bool) -> bool {
        let mut state = lock(&self.shared.state);
        let is_wanted = state.request.as_ref().is_some_and(test);
        if is_wanted {
            state.result = Some(result);
        }
        is_wanted
    }

    /// Returns whether there is a newer request, or the handle was dropped.
    pub(super) fn is_outdated(&self) -> bool {
        let state = lock(&self.shared.state);
        state.closed || state.requests != self.number
    }

    /// Waits for this time, or until the handle is dropped or, if `is_urgent`, the work is outdated.
    pub(super) fn wait(&self, time: Duration, is_urgent: bool) {
        let state = lock(&self.shared.state);
        let goes_on =
            |state: &mut State<R, T>| !(state.closed || is_urgent && state.requests != self.number);
        let waited = self.shared.changed.wait_timeout_while(state, time, goes_on);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
