//! Ctrl-C and its like.

use std::{
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use raysieve::Error;

use crate::{Ending, note};

/// Has a write beyond what a file may have (`ulimit -f`) fail as on a full disk: else the system ends the process, with all
/// that it has rendered. Threads have this from the one that starts them, so it comes before any.
pub(crate) fn outlive_file_limits() {
    #[cfg(unix)]
    {
        use nix::sys::signal::{SigSet, Signal};

        let mut signals = SigSet::empty();
        signals.add(Signal::SIGXFSZ);
        // Where that cannot be, it is as it would have been.
        let _ = signals.thread_block();
    }
}

/// One that comes so soon after the first is the same wish: `timeout` and others send it to the process and to its group.
const SAME_WISH: Duration = Duration::from_secs(1);

/// Whether somebody wants the program to end: by SIGINT, SIGTERM or SIGHUP. A second one, later, ends the process at once.
#[derive(Default)]
pub(crate) struct Signals {
    came: Arc<AtomicBool>,
    /// What the first one does.
    then: Arc<Mutex<Option<Act>>>,
}

type Act = Box<dyn Fn() + Send>;

impl Signals {
    /// Listens from now on; once in a process.
    pub(crate) fn watch() -> Result<Signals, Error> {
        let signals = Signals::default();
        let (came, then) = (signals.came.clone(), signals.then.clone());
        let mut first: Option<Instant> = None;
        ctrlc::set_handler(move || {
            if let Some(first) = first {
                if first.elapsed() > SAME_WISH {
                    note("raysieve: ended at once; what was not written yet is lost");
                    process::exit(Ending::Interrupted as i32);
                }
                return;
            }
            first = Some(Instant::now());
            let then = then.lock().unwrap_or_else(PoisonError::into_inner);
            came.store(true, Ordering::Relaxed);
            if let Some(then) = &*then {
                then();
            }
        })
        .map_err(|error| Error::Signals(error.to_string()))?;
        Ok(signals)
    }

    /// Whether one came.
    pub(crate) fn have_come(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }

    /// Turns true at the first.
    pub(crate) fn came(&self) -> &AtomicBool {
        &self.came
    }

    /// Has the first one do this, at once if it has come already.
    pub(crate) fn then(&self, act: impl Fn() + Send + 'static) {
        let mut then = self.then.lock().unwrap_or_else(PoisonError::into_inner);
        if self.came.load(Ordering::Relaxed) {
            act();
        }
        *then = Some(Box::new(act));
    }
}
