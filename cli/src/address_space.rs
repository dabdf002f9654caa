//! A limit of the address space (`ulimit -v`), under which the allocator must not reserve more than it needs.

/// Starts the program again, in the same process, with a single arena of the allocator if the address space is limited.
///
/// By default, the allocator of glibc reserves up to 128 MiB for each thread, so that whether a render fits would depend
/// on the order in which threads start. Without a backtrace, a failed allocation prints less. Does nothing on other
/// systems, or if `MALLOC_ARENA_MAX` is set.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn use_one_arena_if_limited() {
    use std::{env, os::unix::process::CommandExt, process::Command};

    const ARENAS: &str = "MALLOC_ARENA_MAX";
    const BACKTRACE: &str = "RUST_BACKTRACE";
    if env::var_os(ARENAS).is_some() || !is_limited() {
        return;
    }
    let (Ok(program), mut words) = (env::current_exe(), env::args_os()) else {
        return;
    };
    let mut again = Command::new(program);
    if let Some(name) = words.next() {
        again.arg0(name);
    }
    if env::var_os(BACKTRACE).is_none() {
        again.env(BACKTRACE, "0");
    }
    // Returns only if that fails; the program then continues as it is.
    let _ = again.args(words).env(ARENAS, "1").exec();
}

/// Returns whether the address space of this process is limited.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn is_limited() -> bool {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max address space"));
    line.is_some_and(|line| !line.trim_start().starts_with("unlimited"))
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn use_one_arena_if_limited() {}
