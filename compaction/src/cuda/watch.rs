//! Calls of the driver that may never return.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::patience::Wait;
use crate::error::{Error, Result};

/// Knows which calls of the driver are under way. One that never returns tells nobody, so somebody else has to look: by a
/// [`Watcher`], on another thread.
///
/// ```no_run
/// use std::{thread, time::Duration};
///
/// use compaction::cuda::{self, Watch, Watcher};
///
/// let watch = Watch::default();
/// let mut watcher = Watcher::new(&watch);
/// let opening = thread::spawn(move || watch.over("open the GPU", Duration::ZERO, || cuda::open(0)));
/// while !opening.is_finished() {
///     watcher.look(Duration::from_secs(30))?; // or else it hangs, and is not to be waited for
///     thread::sleep(Duration::from_millis(10));
/// }
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Mutex<Calls>>);

#[derive(Debug, Default)]
struct Calls {
    /// How many have begun.
    begun: u64,
    under_way: Vec<Call>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    number: u64,
    doing: &'static str,
    least: Duration,
}

impl Watch {
    /// Makes a call that is under way until it returns, and may take `least` however short somebody's patience is.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use compaction::cuda::Watch;
    ///
    /// let watch = Watch::default();
    /// assert_eq!(watch.over("add", Duration::ZERO, || 1 + 2), 3);
    /// ```
    pub fn over<T>(&self, doing: &'static str, least: Duration, call: impl FnOnce() -> T) -> T {
        let mut calls = self.calls();
        let number = calls.begun;
        calls.begun += 1;
        calls.under_way.push(Call {
            number,
            doing,
            least,
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

/// Looks at a [`Watch`] again and again.
///
/// ```
/// use std::time::Duration;
///
/// use compaction::cuda::{Watch, Watcher};
///
/// let watch = Watch::default();
/// let mut watcher = Watcher::new(&watch);
/// assert!(watcher.look(Duration::ZERO).is_ok());
/// watch.over("wait", Duration::ZERO, || {
///     let hangs = watcher.look(Duration::ZERO).unwrap_err();
///     assert_eq!(hangs.to_string(), "wait: nothing for 0 s: the GPU hangs");
/// });
/// ```
#[derive(Debug)]
pub struct Watcher {
    watch: Watch,
    /// The oldest call that it saw the last time, and for how long.
    seen: Option<(u64, Wait)>,
}

impl Watcher {
    /// Has seen nothing yet.
    ///
    /// ```
    /// use compaction::cuda::{Watch, Watcher};
    ///
    /// let watcher = Watcher::new(&Watch::default());
    /// ```
    pub fn new(watch: &Watch) -> Self {
        let watch = watch.clone();
        Self { watch, seen: None }
    }

    /// Has a look. Time in which the process was suspended does not count, if it looks ten times a second.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use compaction::cuda::{Watch, Watcher};
    ///
    /// let mut watcher = Watcher::new(&Watch::default());
    /// assert!(watcher.look(Duration::from_secs(1)).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Hangs`] if the oldest call has been under way for as long as that, and for what it may take.
    pub fn look(&mut self, patience: Duration) -> Result<()> {
        let Some(oldest) = self.watch.calls().under_way.first().copied() else {
            self.seen = None;
            return Ok(());
        };
        let (number, mut wait) = self.seen.take().unwrap_or_default();
        if number != oldest.number {
            wait = Wait::default();
        }
        let patience = patience.max(oldest.least);
        let is_over = wait.so_far() >= patience;
        self.seen = Some((oldest.number, wait));
        if is_over {
            return Err(Error::Hangs {
                doing: oldest.doing,
                seconds: patience.as_secs_f64(),
            });
        }
        Ok(())
    }
}
