//! Test that panics of readers become errors. It has its own program, because the panic hook is shared by a process.

use std::{
    panic,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
};

use raysieve_scene::catch_panics::{Panic, catch_panics};

#[test]
fn only_panics_of_the_call_are_silent() {
    static REPORTED_PANICS: AtomicU32 = AtomicU32::new(0);
    panic::set_hook(Box::new(|_| {
        REPORTED_PANICS.fetch_add(1, SeqCst);
    }));
    assert_eq!(catch_panics(|| 7), Ok(7));
    let two_lines = || -> u32 { panic!("two\nlines") };
    assert_eq!(catch_panics(two_lines), Err(Panic("two lines".to_owned())));
    assert_eq!(REPORTED_PANICS.load(SeqCst), 0);
    let elsewhere = || thread::spawn(|| panic!("elsewhere")).join().is_err();
    assert_eq!(catch_panics(elsewhere), Ok(true));
    assert_eq!(REPORTED_PANICS.load(SeqCst), 1);
    assert!(panic::catch_unwind(|| panic!("later")).is_err());
    assert_eq!(REPORTED_PANICS.load(SeqCst), 2);
}
