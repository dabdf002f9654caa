//! Waits until the program and its display have nothing to do, as Linux reports it. A thread that waits for the processor
//! is not idle, so a busy machine delays the wait, but does not end it early.

use std::{fs, path::Path, thread, time::Duration};

use super::{Desktop, eventually};

/// Time in which no thread may run: longer than the interval between redraws and the time until a changed file is read.
const REST: Duration = Duration::from_millis(150);

impl Desktop {
    /// Waits until the program has done and drawn all that follows from the input so far, except what it has scheduled
    /// for a later time, such as the end of a message. Never returns while samples are added.
    pub(crate) fn until_idle(&self) {
        self.settle();
        eventually("the program is idle", || {
            let before = self.switches()?;
            thread::sleep(REST);
            (self.switches()? == before).then_some(())
        });
    }

    /// Returns how often the threads of the program and its display have begun to wait; `None` if one of them does not
    /// wait, or if the program waits for another one, such as a dialog.
    fn switches(&self) -> Option<Vec<String>> {
        let mut switches = Vec::new();
        for process in [&self.program, &self.xvfb] {
            let tasks = format!("/proc/{}/task", process.id());
            for task in fs::read_dir(tasks).ok()? {
                switches.extend(switches_of(&task.ok()?.path())?);
            }
        }
        Some(switches)
    }
}

/// Returns the numbers of context switches of a thread, given its folder in `/proc`; `None` if it does not wait, or if a
/// process that it has started runs.
fn switches_of(task: &Path) -> Option<Vec<String>> {
    // Linux can be built without this list.
    let children = fs::read_to_string(task.join("children")).unwrap_or_default();
    let status = fs::read_to_string(task.join("status")).ok()?;
    let is_waiting = status.lines().any(|line| line.starts_with("State:\tS"));
    let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
    (is_waiting && children.is_empty()).then(|| switches.map(str::to_owned).collect())
}
