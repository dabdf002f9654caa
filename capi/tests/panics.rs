//! A panic in the library becomes a status and a message, and does not reach the caller.

use std::ffi::CStr;

use compaction_capi::{Status, compaction_last_error, status::guard};

#[test]
fn a_panic_becomes_a_status_and_a_message() {
    let index = std::hint::black_box(3);
    let status = guard(|| {
        let items = [1, 2, 3];
        assert_eq!(items[index], 4);
        Ok(())
    });
    assert_eq!(status, Status::CompactionPanic);
    // SAFETY: the text is valid until the next failure on this thread.
    let message = unsafe { CStr::from_ptr(compaction_last_error()) };
    let message = message.to_str().unwrap();
    assert!(
        message.starts_with("panic: index out of bounds") && !message.contains('\n'),
        "{message}"
    );
    // The library still works.
    assert_eq!(guard(|| Ok(())), Status::CompactionSuccess);
}
