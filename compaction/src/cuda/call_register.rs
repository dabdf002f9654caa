//! Detection of driver calls that do not return.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::timeout::WaitClock;
use crate::error::{Error, Result};

/// A register of the driver calls that are in progress. Clones share one register.
///
/// A thread whose call hangs cannot report it. A [`HangDetector`] on another thread finds the call in this register.
///
/// ```no_run
/// use std::{thread, time::Duration};
///
/// use compaction::cuda::{self, CallRegister, HangDetector};
///
/// let watch = CallRegister::default();
/// let mut watcher = HangDetector::new(&watch);
/// let opening = thread::spawn(move || watch.over("open the GPU", Duration::ZERO, || cuda::open(0)));
/// while !opening.is_finished() {
///     watcher.look(Duration::from_secs(30))?; // An error means that the call hangs: do not wait for its thread.
///     thread::sleep(Duration::from_millis(10));
/// }
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallRegister(Arc<Mutex<Calls>>);

#[derive(Debug, Default)]
struct Calls {
    /// The number of calls registered so far, which numbers the next call.
    begun: u64,
    /// The calls in progress, oldest first.
    in_progress: Vec<Call>,
}

/// A registered call: its number, the operation for error messages, and the minimum time that it is allowed.
#[derive(Clone, Copy, Debug)]
struct Call {
    number: u64,
    doing: &'static str,
    min_time: Duration,
}

impl CallRegister {
    /// Runs `call` and registers it as in progress until it returns or panics.
    ///
    /// `doing` names the call in errors. A [`HangDetector`] allows the call at least `min_time`, even if the detector's
    /// own time limit is shorter.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use compaction::cuda::{CallRegister, HangDetector};
    ///
    /// let watch = CallRegister::default();
    /// assert_eq!(watch.over("add", Duration::ZERO, || 1 + 2), 3);
    ///
    /// let panic = std::panic::AssertUnwindSafe(|| watch.over("panic", Duration::ZERO, || panic!()));
    /// assert!(std::panic::catch_unwind(panic).is_err());
    /// assert!(HangDetector::new(&watch).look(Duration::ZERO).is_ok());
    /// ```
    pub fn over<T>(&self, doing: &'static str, min_time: Duration, call: impl FnOnce() -> T) -> T {
        let mut calls = self.calls();
        let number = calls.begun;
        calls.begun += 1;
        calls.in_progress.push(Call {
            number,
            doing,
            min_time,
        });
        drop(calls);
        let _registration = Registration {
            register: self,
            number,
        };
        call()
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a call from a register when it is dropped, which a panic of the call does too.
struct Registration<'a> {
    register: &'a CallRegister,
    number: u64,
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let mut calls = self.register.calls();
        calls.in_progress.retain(|call| call.number != self.number);
    }
}

/// Detects a call of a [`CallRegister`] that takes too long. The owner calls [`look`](Self::look) repeatedly, on
/// another thread than the calls.
///
/// ```
/// use std::time::Duration;
///
/// use compaction::cuda::{CallRegister, HangDetector};
///
/// let watch = CallRegister::default();
/// let mut watcher = HangDetector::new(&watch);
/// assert!(watcher.look(Duration::ZERO).is_ok());
/// watch.over("wait", Duration::ZERO, || {
///     let hangs = watcher.look(Duration::ZERO).unwrap_err();
///     assert_eq!(hangs.to_string(), "wait: nothing for 0 s: the GPU hangs");
/// });
/// ```
#[derive(Debug)]
pub struct HangDetector {
    watch: CallRegister,
    /// The number of the oldest call at the last look, and the time since a look first found it to be the oldest.
    /// `None` if no call was in progress.
    seen: Option<(u64, WaitClock)>,
}

impl HangDetector {
    /// Creates a detector for the calls of `watch`. The time of a call counts from the first look that finds it to be
    /// the oldest.
    ///
    /// ```
    /// use compaction::cuda::{CallRegister, HangDetector};
    ///
    /// let watcher = HangDetector::new(&CallRegister::default());
    /// ```
    pub fn new(watch: &CallRegister) -> Self {
        let watch = watch.clone();
        Self { watch, seen: None }
    }

    /// Checks that the oldest call in progress has not lasted for `timeout`, or for the call's own minimum time if that
    /// is longer. Does not wait.
    ///
    /// Time in which the process is suspended does not count, provided that this method is called at least ten times a
    /// second.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use compaction::cuda::{CallRegister, HangDetector};
    ///
    /// let mut watcher = HangDetector::new(&CallRegister::default());
    /// assert!(watcher.look(Duration::from_secs(1)).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Timeout`] if the oldest call has been the oldest for at least that time.
    pub fn look(&mut self, timeout: Duration) -> Result<()> {
        let Some(oldest) = self.watch.calls().in_progress.first().copied() else {
            self.seen = None;
            return Ok(());
        };
        let (number, mut wait) = self.seen.take().unwrap_or_default();
        if number != oldest.number {
            wait = WaitClock::default();
        }
        let timeout = timeout.max(oldest.min_time);
        let is_over = wait.elapsed() >= timeout;
        self.seen = Some((oldest.number, wait));
        if is_over {
            return Err(Error::Timeout {
                doing: oldest.doing,
                seconds: timeout.as_secs_f64(),
            });
        }
        Ok(())
    }
}
