//! Signals that end the program early (SIGINT from Ctrl-C, SIGTERM and SIGHUP), and the file size limit.

use std::{
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::error::Error;

use crate::{Ending, note};

/// Makes writes beyond the file size limit (`ulimit -f`) fail with an error instead of killing the process (SIGXFSZ).
///
/// Must be called before the first thread starts, because threads inherit the signal mask.
pub(crate) fn survive_file_size_limit() {
    #[cfg(unix)]
    {
        use nix::sys::signal::{SigSet, Signal};

        let mut signals = SigSet::empty();
        signals.add(Signal::SIGXFSZ);
        // A failure leaves the default behaviour, which is acceptable.
        let _ = signals.thread_block();
    }
}

/// Time after the first signal in which further signals are ignored, because `timeout` and other programs signal both
/// the process and its group.
const REPEAT_WINDOW: Duration = Duration::from_secs(1);

/// The handler for SIGINT, SIGTERM and SIGHUP. The first signal asks the program to end. Signals within
/// [`REPEAT_WINDOW`] after the first are ignored. A later signal ends the process at once, with exit code 130 whichever
/// signal it is.
#[derive(Default)]
pub(crate) struct Signals {
    /// Whether a signal has arrived.
    received: Arc<AtomicBool>,
    /// The function to call at the first signal. `None` until [`Signals::on_first`] sets one.
    on_first: Arc<Mutex<Option<Callback>>>,
}

/// A function to call at the first signal, on the thread of the signal handler. If the signal came before the function
/// was set, [`Signals::on_first`] calls it on its caller's thread.
type Callback = Box<dyn Fn() + Send>;

impl Signals {
    /// Installs the handler for SIGINT, SIGTERM and SIGHUP for the whole process. Can succeed only once per process.
    ///
    /// # Errors
    /// [`Error::Signals`] if a handler is installed already, or if the operating system refuses the handler.
    pub(crate) fn watch() -> Result<Signals, Error> {
        let signals = Signals::default();
        let (received, on_first) = (signals.received.clone(), signals.on_first.clone());
        let mut first: Option<Instant> = None;
        ctrlc::set_handler(move || {
            if let Some(first) = first {
                if first.elapsed() > REPEAT_WINDOW {
                    note("raysieve: exited at once; samples and edits that were not written are lost");
                    process::exit(Ending::Interrupted as i32);
                }
                return;
            }
            first = Some(Instant::now());
            // The lock is held while `received` is set, so that `on_first` either sees the flag or is seen here.
            let on_first = on_first.lock().unwrap_or_else(PoisonError::into_inner);
            received.store(true, Ordering::Relaxed);
            if let Some(callback) = &*on_first {
                callback();
            }
        })
        .map_err(|error| Error::Signals(error.to_string()))?;
        Ok(signals)
    }

    /// Returns whether a signal has been received.
    pub(crate) fn were_received(&self) -> bool {
        self.received.load(Ordering::Relaxed)
    }

    /// Returns a flag that becomes `true` at the first signal.
    pub(crate) fn received(&self) -> &AtomicBool {
        &self.received
    }

    /// Sets the function that the first signal calls. Calls the function at once if a signal has been received already.
    #[cfg(any(feature = "serve", feature = "window"))]
    pub(crate) fn on_first(&self, callback: impl Fn() + Send + 'static) {
        let mut on_first = self.on_first.lock().unwrap_or_else(PoisonError::into_inner);
        if self.received.load(Ordering::Relaxed) {
            callback();
        }
        *on_first = Some(Box::new(callback));
    }
}
