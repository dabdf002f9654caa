//! Detection of driver calls that never return.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::timeout::WaitClock;
use crate::error::{Error, Result};

/// A register of the driver calls that are in progress.
///
/// A call that hangs cannot report itself. A [`HangDetector`] on another thread detects it from this register. Clones share
/// the register.
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
    /// The number of calls registered so far; the next call gets this number.
    begun: u64,
    under_way: Vec<Call>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    number: u64,
    doing: &'static str,
    min_time: Duration,
}

impl CallRegister {
    /// Runs `call` and registers it as in progress until it returns.
    ///
    /// `doing` names it in errors. `min_time` is the minimum time it is allowed, even if a watcher's `timeout` is
    /// shorter.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use compaction::cuda::CallRegister;
    ///
    /// let watch = CallRegister::default();
    /// assert_eq!(watch.over("add", Duration::ZERO, || 1 + 2), 3);
    /// ```
    pub fn over<T>(&self, doing: &'static str, min_time: Duration, call: impl FnOnce() -> T) -> T {
        let mut calls = self.calls();
        let number = calls.begun;
        calls.begun += 1;
        calls.under_way.push(Call {
            number,
            doing,
            min_time,
        });
        drop(calls);
        let returned = call();
        self.calls().under_way.retain(|call| call.number != number);
        returned
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Detects calls of a [`CallRegister`] that take too long, by looking at it repeatedly.
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
    /// The number of the oldest call seen by the last look, and the time for which it has been the oldest.
    seen: Option<(u64, WaitClock)>,
}

impl HangDetector {
    /// Creates a watcher that measures the age of calls from its first look on.
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

    /// Looks at the oldest call in progress, which must not last longer than `timeout` or the minimum time given for
    /// it.
    ///
    /// Time in which the process is suspended does not count, if the method is called at least ten times a second.
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
    /// Returns [`Error::Timeout`] if this watcher has seen the oldest call for at least that time.
    pub fn look(&mut self, timeout: Duration) -> Result<()> {
        let Some(oldest) = self.watch.calls().under_way.first().copied() else {
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
