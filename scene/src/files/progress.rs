//! Reports which large file is being read and how far, so that a program can show it to a waiting user.

use std::{
    cell::RefCell,
    fs::File,
    io::{self, Read},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// The progress of loading a scene, shared between the thread that loads and one that displays it.
#[derive(Clone, Debug, Default)]
pub struct LoadProgress {
    state: Arc<Mutex<State>>,
}

/// The file that is being read.
#[derive(Debug, Default)]
struct State {
    /// Name of the file, without its folder; empty before the first file.
    name: String,
    /// Number of bytes that were read.
    done: u64,
    /// Size of the file in bytes.
    bytes: u64,
}

thread_local! {
    /// The place to which this thread reports its progress; `None` outside of [`LoadProgress::watch`].
    static WATCHER: RefCell<Option<LoadProgress>> = const { RefCell::new(None) };
}

impl LoadProgress {
    /// Calls `load` and returns its result. Until it returns or panics, OBJ and PLY files that this thread reads are
    /// reported.
    ///
    /// Calls must not be nested: the inner one would end the reports to the outer one.
    pub fn watch<T>(&self, load: impl FnOnce() -> T) -> T {
        /// Ends the reports when it is dropped, also if `load` panics.
        struct EndOfReports;
        impl Drop for EndOfReports {
            fn drop(&mut self) {
                WATCHER.set(None);
            }
        }
        WATCHER.set(Some(self.clone()));
        let _end = EndOfReports;
        load()
    }

    /// Returns the name of the OBJ or PLY file that was opened last, without its folder, and the fraction of it that
    /// was read, 0 to 1. Returns `None` before the first such file.
    pub fn file(&self) -> Option<(String, f64)> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (!state.name.is_empty()).then(|| {
            let fraction = state.done as f64 / state.bytes.max(1) as f64;
            (state.name.clone(), fraction.min(1.0))
        })
    }

    /// Changes the state.
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A file that reports how much of it was read.
pub(crate) struct WatchedFile {
    file: File,
    /// Size in bytes when it was opened.
    pub(crate) bytes: u64,
    watcher: Option<LoadProgress>,
}

impl WatchedFile {
    /// Reports that this file is now read, to the [`LoadProgress`] of this thread if there is one.
    pub(crate) fn new(path: &Path, file: File) -> WatchedFile {
        let bytes = file.metadata().map_or(0, |data| data.len());
        let watcher = WATCHER.with_borrow(Clone::clone);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(watcher) = &watcher {
            watcher.change(|state| {
                *state = State {
                    name: name.into_owned(),
                    done: 0,
                    bytes,
                }
            });
        }
        WatchedFile {
            file,
            bytes,
            watcher,
        }
    }
}

impl Read for WatchedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        if let Some(watcher) = &self.watcher {
            watcher.change(|state| state.done += count as u64);
        }
        Ok(count)
    }
}
