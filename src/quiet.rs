//! Panics in the code of others that are errors here: caught, and without a word on stderr.

use std::{
    any::Any,
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

thread_local! {
    /// Whether a panic on this thread is caught by who tells of it.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// What `work` makes, or the message of its panic, in one line. Panics of other threads are told as ever.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, String> {
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

/// A panic's message, in one line.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
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

    use super::quietly;

    #[test]
    fn only_panics_that_are_errors_are_not_told() {
        static TOLD: AtomicU32 = AtomicU32::new(0);
        panic::set_hook(Box::new(|_| {
            TOLD.fetch_add(1, SeqCst);
        }));
        assert_eq!(quietly(|| 7), Ok(7));
        let two_lines = || -> u32 { panic!("two\nlines") };
        assert_eq!(quietly(two_lines), Err("two lines".to_owned()));
        assert_eq!(TOLD.load(SeqCst), 0);
        let elsewhere = || thread::spawn(|| panic!("elsewhere")).join().is_err();
        assert_eq!(quietly(elsewhere), Ok(true));
        assert_eq!(TOLD.load(SeqCst), 1);
        assert!(panic::catch_unwind(|| panic!("later")).is_err());
        assert_eq!(TOLD.load(SeqCst), 2);
    }
}
