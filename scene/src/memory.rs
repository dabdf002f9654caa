//! Checks and allocates memory, so that what does not fit gives an error.
//!
//! Otherwise the system might end the process without a message.

mod control_groups;

use std::{
    fs,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

pub use control_groups::ControlGroups;

/// Number of bytes from which on each amount is compared with the available memory. Reading that takes as long as
/// allocating it, so that smaller amounts are compared only once in [`MAX_UNCHECKED`] bytes.
const SMALL: u64 = 1 << 16;
/// Largest sum in bytes of small amounts that are not compared with the available memory.
const MAX_UNCHECKED: u64 = 1 << 22;
/// Part in bytes of what a limit of the process leaves that is not available to [`check`]. Allocations that nothing
/// compares take it: those of libraries, of text, and the stacks of single threads.
const RESERVE: u64 = 12 << 20;
/// Address space in bytes that a thread takes: the stack that Rust gives to it, and what the system adds.
const STACK: u64 = (2 << 20) + (1 << 16);

/// Sum in bytes of the small amounts since the available memory was last read for one.
static UNCHECKED: AtomicU64 = AtomicU64::new(0);
/// Part in bytes of what a limit of the process leaves that is kept free besides [`RESERVE`].
static KEPT: AtomicU64 = AtomicU64::new(0);

/// The reason why there is too little memory: a phrase to be put after the object's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// More memory is needed than is available, each in bytes.
    #[error(
        "is too large for memory: needs {}, but only {} are available",
        amount(*needed),
        amount(*available)
    )]
    TooLarge {
        /// Memory that is needed in bytes.
        needed: u64,
        /// Memory that is available in bytes.
        available: u64,
    },
    /// The system refused an allocation of this many bytes.
    #[error("is too large for memory: {} could not be allocated", amount(*.0))]
    NotAllocated(u64),
    /// A limit of the process leaves nothing besides the reserve.
    #[error(
        "is too low: less than {} are left for reading and rendering",
        amount(RESERVE)
    )]
    LimitTooLow,
}

impl From<MemoryError> for String {
    fn from(error: MemoryError) -> String {
        error.to_string()
    }
}

/// Returns an error if `bytes` exceeds the memory that is available to this process.
///
/// Accepts any size on systems other than Linux, where the available memory is not known. Amounts of less than 64 KiB are
/// compared with it only now and then.
///
/// # Errors
/// [`MemoryError::TooLarge`].
pub fn check(bytes: u64) -> Result<(), MemoryError> {
    if bytes < SMALL {
        let sum = UNCHECKED.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if sum < MAX_UNCHECKED {
            return Ok(());
        }
        UNCHECKED.store(0, Ordering::Relaxed);
    }
    compare(bytes, available())
}

/// Returns an error if `bytes` and the memory of `threads` threads that do not run yet exceed the memory that is
/// available to this process. Each thread uses `bytes_per_thread` and a stack, which counts only where addresses are
/// limited.
///
/// # Errors
/// [`MemoryError::TooLarge`].
pub fn check_with_threads(
    bytes: u64,
    threads: usize,
    bytes_per_thread: u64,
) -> Result<(), MemoryError> {
    let bytes = bytes.saturating_add((threads as u64).saturating_mul(bytes_per_thread));
    check(bytes)?;
    let stacks = (threads as u64).saturating_mul(STACK);
    compare(bytes.saturating_add(stacks), process_available())
}

/// Returns the number of threads, 1 to `max`, that a process should use in each of two pools, for reading and for
/// rendering, if a limit of the process leaves little memory. `bytes_per_thread` is the memory that a pair of them uses
/// besides both stacks. Returns `max` without such a limit, and on systems other than Linux.
///
/// The threads take at most a quarter of what the limit leaves, or are a single one. The rest of the quarter is kept free
/// from now on, so that whatever fits under a limit also fits under a higher one, which has more threads.
///
/// # Errors
/// [`MemoryError::LimitTooLow`] if the limit leaves nothing besides the reserve.
pub fn fitting_threads(max: usize, bytes_per_thread: u64) -> Result<usize, MemoryError> {
    let Some(available) = process_available() else {
        return Ok(max);
    };
    if available == 0 {
        return Err(MemoryError::LimitTooLow);
    }
    let each = 2 * STACK + bytes_per_thread;
    let share = (available / 4).min(max as u64 * each);
    let threads = (share / each).max(1);
    KEPT.store(share.saturating_sub(threads * each), Ordering::Relaxed);
    Ok(threads as usize)
}

/// Returns whether a limit of the process, such as that of `ulimit -v`, applies to its memory.
pub fn is_limited() -> bool {
    process_available().is_some()
}

/// Returns an error as [`check`] does if `bytes` exceeds the available memory. `None` accepts any amount.
fn compare(bytes: u64, available: Option<u64>) -> Result<(), MemoryError> {
    match available {
        Some(available) if bytes > available => Err(MemoryError::TooLarge {
            needed: bytes,
            available,
        }),
        _ => Ok(()),
    }
}

/// Ensures that a list has capacity for `items` items in total, without spare capacity. It does not compare with the
/// available memory: call [`check`] before, with the sum of all lists. The allocation can still fail, if other threads
/// or programs took memory since.
///
/// # Errors
/// [`MemoryError::NotAllocated`]. The list is then unchanged.
pub fn reserve<T>(list: &mut Vec<T>, items: usize) -> Result<(), MemoryError> {
    let more = items.saturating_sub(list.len());
    list.try_reserve_exact(more).map_err(|_| {
        let bytes = (items as u64).saturating_mul(size_of::<T>() as u64);
        MemoryError::NotAllocated(bytes)
    })
}

/// Returns a list of `items` copies of `item`.
///
/// # Errors
/// See [`reserve`].
pub fn filled<T: Clone>(item: T, items: usize) -> Result<Vec<T>, MemoryError> {
    let mut list = Vec::new();
    reserve(&mut list, items)?;
    list.resize(items, item);
    Ok(list)
}

/// Returns an empty list with capacity for `items` items. Fails if the memory that is available does not suffice.
pub(crate) fn vec_with_capacity<T>(items: usize) -> Result<Vec<T>, String> {
    check((items as u64).saturating_mul(size_of::<T>() as u64))?;
    let mut list = Vec::new();
    list.try_reserve_exact(items)
        .map_err(|error| format!("is too large for memory: {error}"))?;
    Ok(list)
}

/// Ensures that a list has capacity for `more` further items. If it must grow, it has at most an eighth of its items as
/// spare capacity. Fails if the memory that is available does not suffice.
pub(crate) fn reserve_more<T>(items: &mut Vec<T>, more: usize) -> Result<(), String> {
    if items.capacity() - items.len() < more {
        // Many small steps would each copy the list.
        let items_then = items.len() + more.max(items.len() / 8);
        check((items_then as u64).saturating_mul(size_of::<T>() as u64))?;
        reserve(items, items_then)?;
    }
    Ok(())
}

/// Ensures that a list has capacity for one more item. Fails if the list must grow and the available memory does not
/// suffice, because otherwise the system might end the program.
#[inline(always)]
pub(crate) fn reserve_one<T>(items: &mut Vec<T>) -> Result<(), String> {
    if items.len() < items.capacity() {
        return Ok(());
    }
    grow(items)
}

/// Doubles the capacity of a full list.
#[cold]
fn grow<T>(items: &mut Vec<T>) -> Result<(), String> {
    let more = items.len().max(4);
    let grown = (items.len() + more).saturating_mul(size_of::<T>());
    check(grown as u64)?;
    items
        .try_reserve_exact(more)
        .map_err(|error| format!("is too large for memory: {error}"))
}

/// Returns a number of bytes as text, in GiB, MiB or KiB: `1.5 GiB`, `23 MiB`.
fn amount(bytes: u64) -> String {
    if bytes < 1 << 20 {
        format!("{} KiB", bytes.div_ceil(1 << 10))
    } else if bytes < 1 << 30 {
        format!("{:.0} MiB", bytes as f64 / (1u64 << 20) as f64)
    } else {
        format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
    }
}

/// Returns the bytes of memory available to this process: the smallest of what the machine, the process's control
/// groups (cgroups) and the limit of the process (`ulimit -v`) have left. Returns `None` on systems other than Linux.
fn available() -> Option<u64> {
    let machine = entry("/proc/meminfo", "MemAvailable:")?.checked_mul(1024)?;
    let limits = [groups_available(), process_available()];
    limits.into_iter().flatten().chain([machine]).min()
}

/// Returns the bytes that the limits of the process's address space and of its data leave, without what is kept free.
/// Returns `None` if there is no limit.
fn process_available() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let left = |name: &str, used: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
        let used = entry("/proc/self/status", used)?.checked_mul(1024)?;
        Some(limit.saturating_sub(used))
    };
    let addresses = left("Max address space", "VmSize:");
    let data = left("Max data size", "VmData:");
    let left = addresses.into_iter().chain(data).min()?;
    Some(left.saturating_sub(RESERVE + KEPT.load(Ordering::Relaxed)))
}

/// Returns the bytes that the memory limits of the process's control groups leave. Returns `None` if there is no limit.
fn groups_available() -> Option<u64> {
    static GROUPS: OnceLock<ControlGroups> = OnceLock::new();
    let groups = GROUPS.get_or_init(|| ControlGroups::of_process("/".as_ref()));
    groups.available()
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
