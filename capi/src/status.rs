//! Status codes, the message of the last error, and the border that no panic crosses.

use std::{
    any::Any,
    cell::RefCell,
    ffi::{CString, c_char},
    panic::{AssertUnwindSafe, catch_unwind},
};

use compaction::{Error, UnknownName};

/// The result of a call. `compaction_last_error()` has the details of a failure.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call succeeded.
    CompactionSuccess = 0,
    /// A pointer or an address is null, where it must not be.
    CompactionNullPointer = 1,
    /// An address is not a multiple of the alignment that its items need.
    CompactionMisaligned = 2,
    /// A strategy, a type or an operator has a name that does not exist.
    CompactionUnknownName = 3,
    /// A number, a size or a combination of arguments is not possible.
    CompactionInvalidArgument = 4,
    /// The workspace is for fewer items, or the memory given for it is too small.
    CompactionWorkspaceTooSmall = 5,
    /// The workspace is in use by a call of another thread.
    CompactionBusy = 6,
    /// The word at `count` was larger than the number of items, or of segments, that the call allowed. On a GPU, the
    /// call used that number, and compaction_workspace_check reports it.
    CompactionCountTooLarge = 7,
    /// The GPU has too little free memory.
    CompactionOutOfMemory = 8,
    /// There is no usable driver, no GPU of this number, or no current context.
    CompactionNoDevice = 9,
    /// The kernels are not shipped for these types, and NVRTC is missing or cannot compile them.
    CompactionNoKernel = 10,
    /// A call of the CUDA driver failed.
    CompactionDriver = 11,
    /// The library has a defect: a panic was caught.
    CompactionPanic = 12,
}

/// A failure of a call: its code and its message of one line.
#[derive(Debug)]
pub struct Failure {
    status: Status,
    message: String,
}

impl Failure {
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    /// Returns the failure with a message that begins with the name of the function, given without `compaction_`.
    pub(crate) fn of_call(self, called: &str) -> Self {
        let message = format!("compaction_{called}: {}", self.message);
        Self { message, ..self }
    }

    /// Returns a failure with [`Status::CompactionInvalidArgument`] and a message of one line.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Status::CompactionInvalidArgument, message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match error {
            Error::WorkspaceTooSmall { .. } | Error::MemoryTooSmall { .. } => {
                Status::CompactionWorkspaceTooSmall
            }
            Error::CountTooLarge { .. } => Status::CompactionCountTooLarge,
            Error::Reinterpret { .. } | Error::Misaligned { .. } => Status::CompactionMisaligned,
            Error::OutOfMemory { .. } => Status::CompactionOutOfMemory,
            Error::NoDevice { .. } => Status::CompactionNoDevice,
            Error::NoCompiler { .. } | Error::Compile { .. } => Status::CompactionNoKernel,
            Error::Driver { .. } | Error::Timeout { .. } => Status::CompactionDriver,
            _ => Status::CompactionInvalidArgument,
        };
        Self::new(status, error.to_string())
    }
}

impl From<UnknownName> for Failure {
    fn from(error: UnknownName) -> Self {
        Self::new(Status::CompactionUnknownName, error.to_string())
    }
}

thread_local! {
    /// The message of the last failure on this thread.
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs the body of a C function and returns its status. A failure or a panic becomes the last error of the thread.
pub fn guard(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    // What a panic leaves behind is not used again, except for workspaces, whose scratch memory any call may overwrite.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Status::CompactionSuccess,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::new(Status::CompactionPanic, panic_message(panic.as_ref())),
    };
    let message = CString::new(failure.message.replace('\0', " ")).unwrap_or_default();
    // During the end of a thread there is nowhere to keep the message.
    let _ = LAST_ERROR.try_with(|last| last.replace(message));
    failure.status
}

/// Runs the body of a C function that returns nothing, such as a destructor. A panic is ignored.
pub(crate) fn guard_destruction(body: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(body));
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_default())
}

/// Returns the message of the last call that failed on this thread, or an empty text. A call that succeeds keeps it.
///
/// The text is UTF-8. It is valid until the next call that fails on this thread, and until the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn compaction_last_error() -> *const c_char {
    LAST_ERROR
        .try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}
