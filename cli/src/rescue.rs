//! The last resort for an image, or another file, that cannot be written: another folder, or the memory of this process
//! until there is space.

use std::{env, ffi::OsString, process, thread, time::Duration};

use raysieve::{
    inspect::aovs::Aovs,
    render::{
        output::{self, Look},
        part::Part,
    },
};

use crate::{arguments::Outputs, error::Error, note, signals::Signals};

/// Interval between two attempts to write an image to a full disk.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Tries to keep the render `part` after its image could not be written because of `error`. First tries to save it as
/// an .exr in the folder for temporary files, if `is_whole` tells that the image can be written again from that. If that
/// fails too, waits for space by [`wait_for_space`].
///
/// # Errors
/// [`Error::Rescued`] if the render was saved in the temporary folder. Otherwise those of [`wait_for_space`].
pub(crate) fn keep(
    error: Error,
    part: &Part,
    is_whole: bool,
    outputs: &Outputs,
    layers: &Aovs,
    signals: &Signals,
    write: impl Fn() -> Result<(), Error>,
) -> Result<(), Error> {
    let picture = &outputs.picture;
    let mut name = OsString::from("raysieve-");
    name.push(picture.file_stem().unwrap_or_default());
    name.push(format!("-{}.exr", process::id()));
    let saved = env::temp_dir().join(name);
    let save = || output::write_picture(&saved, part, Look::default(), layers, &|_, _| {});
    if is_whole && save().is_ok() {
        return Err(Error::Rescued {
            error: Box::new(error),
            saved,
            picture: picture.clone(),
        });
    }
    wait_for_space(error, "the render is", signals, write)
}

/// Calls `write` every second until it succeeds or a signal arrives, if `error`, of the first attempt, is a full disk.
/// Says so on standard error. `what` begins the clause about what is kept in memory, such as `the render is`.
///
/// # Errors
/// `error`, if it is not a full disk or a signal has arrived.
pub(crate) fn wait_for_space(
    error: Error,
    what: &str,
    signals: &Signals,
    write: impl Fn() -> Result<(), Error>,
) -> Result<(), Error> {
    if !error.is_full_disk() || signals.were_received() {
        return Err(error);
    }
    note(&format!(
        "{}; {what} kept in memory and written when there is space; Ctrl-C gives it up",
        error.line()
    ));
    while !signals.were_received() {
        thread::sleep(RETRY_INTERVAL);
        if write().is_ok() {
            return Ok(());
        }
    }
    Err(error)
}
