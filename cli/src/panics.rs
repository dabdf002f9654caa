//! Panics: internal errors, and failures of dependencies that cannot report a lack of memory in another way.

use std::{
    env,
    panic::{self, UnwindSafe},
};

use raysieve_scene::{catch_panics::panic_text, error_line};

use crate::note;

/// Runs `work` and returns its result; `None` if it panics. A panic of any thread is one line on standard error, unless
/// `RUST_BACKTRACE` asks for more.
pub(crate) fn reported<T>(work: impl FnOnce() -> T + UnwindSafe) -> Option<T> {
    let backtrace = env::var_os("RUST_BACKTRACE");
    if backtrace.is_none_or(|value| value == "0") {
        panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(|place| format!(" at {place}"));
            let text = panic_text(panic.payload());
            note(&error_line(&format!(
                "raysieve: internal error{}: {text}; allow more memory, or report this to the authors",
                place.unwrap_or_default()
            )));
        }));
    }
    panic::catch_unwind(work).ok()
}
