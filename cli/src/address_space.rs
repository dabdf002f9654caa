//! A limit of the address space (`ulimit -v`), under which the allocator must not reserve more than it needs.

/// Starts the program again, in the same process, with a thrifty allocator if the address space is limited.
///
/// By default, the allocator of glibc reserves up to 128 MiB for each thread, so that whether a render fits would depend
/// on the order in which threads start. It also keeps large lists that were freed. Without a backtrace, a failed
/// allocation prints less. Does nothing on other systems, or if `MALLOC_ARENA_MAX` is set.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn spare_if_limited() {
    use std::{env, os::unix::process::CommandExt, process::Command};

    use raysieve_scene::memory;

    const ARENAS: &str = "MALLOC_ARENA_MAX";
    /// Size in bytes from which on memory goes back to the system as soon as it is freed.
    const RETURNED: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "131072");
    const BACKTRACE: &str = "RUST_BACKTRACE";
    if env::var_os(ARENAS).is_some() || !memory::is_limited() {
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
    if env::var_os(RETURNED.0).is_none() {
        again.env(RETURNED.0, RETURNED.1);
    }
    // Returns only if that fails; the program then continues as it is.
    let _ = again.args(words).env(ARENAS, "1").exec();
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn spare_if_limited() {}
