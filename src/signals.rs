//! Ctrl-C and its like.

use std::{
    mem, process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use raysieve::Error;

use crate::Ending;

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

/// Whether somebody wants the program to end: by SIGINT, SIGTERM or SIGHUP. A second one ends the process at once.
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
        let mut is_second = false;
        ctrlc::set_handler(move || {
            if mem::replace(&mut is_second, true) {
                process::exit(Ending::Interrupted as i32);
            }
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
