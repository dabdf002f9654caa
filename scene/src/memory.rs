//! Allocates memory only as far as it is available, so that a scene that cannot fit gives an error.
//!
//! Otherwise the system might end the process without a message. Imports nothing.

use std::fs;

/// Returns an error if `bytes` exceeds the memory that is available to this process.
///
/// Accepts any size on systems other than Linux, where the available memory is not known.
///
/// # Errors
/// A phrase with the reason, to be put after the object's name: `is too large for memory: ..`.
pub fn check(bytes: u64) -> Result<(), String> {
    match available() {
        Some(available) if bytes > available => {
            let (needed, available) = (gibibytes(bytes), gibibytes(available));
            Err(format!(
                "is too large for memory: needs {needed:.1} GiB, but only {available:.1} GiB are available"
            ))
        }
        _ => Ok(()),
    }
}

/// Returns an empty list with capacity for `items` items. Fails if the memory that is available does not suffice.
pub(crate) fn vec_with_capacity<T>(items: usize) -> Result<Vec<T>, String> {
    check((items as u64).saturating_mul(size_of::<T>() as u64))?;
    let mut list = Vec::new();
    list.try_reserve_exact(items)
        .map_err(|error| format!("is too large for memory: {error}"))?;
    Ok(list)
}

/// Ensures that a list has capacity for one more item. If the list must grow and the available memory does not suffice,
/// it fails, because otherwise the system might end the program.
pub(crate) fn reserve_one<T>(items: &mut Vec<T>) -> Result<(), String> {
    if items.len() == items.capacity() {
        let more = items.len().max(1 << 10);
        let grown = (items.len() + more).saturating_mul(size_of::<T>());
        check(grown as u64)?;
        items
            .try_reserve_exact(more)
            .map_err(|error| format!("is too large for memory: {error}"))?;
    }
    Ok(())
}

/// Converts bytes to gibibytes.
fn gibibytes(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

/// Returns the bytes of memory available to this process: the smaller of what the machine and its container (cgroup)
/// have left. Returns `None` on systems other than Linux.
fn available() -> Option<u64> {
    let machine = entry("/proc/meminfo", "MemAvailable:")?.checked_mul(1024)?;
    Some(container_available().map_or(machine, |container| machine.min(container)))
}

/// Returns the bytes that the memory limit of a container (Linux control group, version 2) leaves. Cached files count
/// as available.
///
/// Returns `None` if there is no limit.
fn container_available() -> Option<u64> {
    let number = |path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let limit = number("/sys/fs/cgroup/memory.max")?;
    let used = number("/sys/fs/cgroup/memory.current")?;
    let cached = entry("/sys/fs/cgroup/memory.stat", "file").unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

/// Returns the first number of the line that begins with the word `name`, in a system file of lines such as
/// `MemAvailable: 123 kB`. Returns `None` if the file or the line is missing.
fn entry(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text
        .lines()
        .find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
