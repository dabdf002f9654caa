//! What can render on this machine.

use std::{fs, thread};

use compaction::cuda;

/// A line for the CPU, and one for each CUDA device or the reason why there is none.
pub fn list() -> String {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut lines = format!("cpu     {}, {threads} threads\n", processor());
    match cuda::devices() {
        Ok(devices) => {
            for device in devices {
                let (major, minor) = device.compute_capability;
                let gibibytes = device.memory_bytes as f64 / f64::from(1 << 30);
                lines += &format!(
                    "cuda:{:<3}{}, {gibibytes:.1} GiB, compute capability {major}.{minor}\n",
                    device.ordinal, device.name
                );
            }
        }
        Err(reason) => lines += &format!("cuda    {reason}\n"),
    }
    lines
}

/// The processor's name, where the system tells.
pub(crate) fn processor() -> String {
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = told
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "CPU".to_owned(), |(_, name)| name.trim().to_owned())
}
