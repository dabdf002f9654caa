//! The devices of this machine that can render.

use std::{fs, thread};

use compaction::cuda;

/// Lists the CPU and each CUDA device, one per line, or the reason why CUDA is not available.
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

/// Returns the name of the CPU, or `CPU` if the system does not provide it.
pub(crate) fn processor() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "CPU".to_owned(), |(_, name)| name.trim().to_owned())
}
