//! Converts panics of third-party code to errors, without their output on stderr.

use std::{
    any::Any,
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

thread_local! {
    /// Whether this thread is inside [`catch_panics`], so that its panics are reported as errors and not printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// A panic that was caught, with its message on one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Panic(pub String);

impl From<Panic> for String {
    fn from(panic: Panic) -> String {
        panic.0
    }
}

/// Calls `work` and returns its result.
///
/// # Errors
/// If `work` panics, which is not printed. Panics of other threads are printed as usual.
pub fn catch_panics<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                hook(panic);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    result.map_err(|panic| Panic(panic_text(&*panic)))
}

/// Returns the message of a caught panic on one line, from the payload that `std::panic::catch_unwind` gives. A payload
/// that is not text gives `for no known reason`.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("for no known reason")
        .lines()
        .collect::<Vec<_>>()
        .join(" ")
}
