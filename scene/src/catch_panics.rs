//! Converts panics of third-party code to errors, without their output on stderr.

use std::{
    any::Any,
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

thread_local! {
    /// Whether panics of this thread are caught and reported as errors, and so not printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work` and returns its result, or the message of its panic in one line. Panics of other threads are printed.
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

/// Returns the message of a caught panic on one line, from the payload that `std::panic::catch_unwind` gives.
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

#[cfg(test)]
mod tests {
    use std::{
        panic,
        sync::atomic::{AtomicU32, Ordering::SeqCst},
        thread,
    };

    use super::catch_panics;

    #[test]
    fn only_panics_of_the_call_are_silent() {
        static TOLD: AtomicU32 = AtomicU32::new(0);
        panic::set_hook(Box::new(|_| {
            TOLD.fetch_add(1, SeqCst);
        }));
        assert_eq!(catch_panics(|| 7), Ok(7));
        let two_lines = || -> u32 { panic!("two\nlines") };
        assert_eq!(catch_panics(two_lines), Err("two lines".to_owned()));
        assert_eq!(TOLD.load(SeqCst), 0);
        let elsewhere = || thread::spawn(|| panic!("elsewhere")).join().is_err();
        assert_eq!(catch_panics(elsewhere), Ok(true));
        assert_eq!(TOLD.load(SeqCst), 1);
        assert!(panic::catch_unwind(|| panic!("later")).is_err());
        assert_eq!(TOLD.load(SeqCst), 2);
    }
}
