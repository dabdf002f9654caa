//! How much memory is left, so that a scene that cannot fit is refused instead of killed.

use std::fs;

/// `Err` if so many bytes are more than the system says it has left; where it says nothing, all is let through.
pub(crate) fn check(bytes: u64) -> Result<(), String> {
    match available() {
        Some(available) if bytes > available => {
            let (needed, available) = (gibibytes(bytes), gibibytes(available));
            Err(format!(
                "is too large for memory: needs {needed:.1} GiB, {available:.1} GiB are left"
            ))
        }
        _ => Ok(()),
    }
}

fn gibibytes(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

/// The least of what the machine and the container have left (Linux; `None` elsewhere).
fn available() -> Option<u64> {
    let machine = entry("/proc/meminfo", "MemAvailable:")?.checked_mul(1024)?;
    Some(container_available().map_or(machine, |container| machine.min(container)))
}

/// What a control group (version 2) leaves; its cached files count as free.
fn container_available() -> Option<u64> {
    let number = |path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let limit = number("/sys/fs/cgroup/memory.max")?;
    let used = number("/sys/fs/cgroup/memory.current")?;
    let cached = entry("/sys/fs/cgroup/memory.stat", "file").unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

fn entry(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text
        .lines()
        .find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
