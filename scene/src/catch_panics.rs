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

/// Calls `work` and returns its result. If `work` panics, returns the message of the panic on one line as an error, and
/// does not print it. Panics of other threads are printed as usual.
pub fn catch_panics<T>(work: impl FnOnce() -> T) -> Result<T, String> {
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
    result.map_err(|panic| panic_text(&*panic))
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
