//! Waiting with a time limit, because a hanging GPU never reports an error.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{
    CudaEvent, CudaStream, DriverError, result,
    sys::{CUevent_flags, CUresult},
};

use crate::error::{Error, Result};

/// Time for which a wait polls without sleeping, from its start.
const BUSY_POLLING: Duration = Duration::from_millis(1);
/// Ratio of the time waited so far to the next sleep between two polls, which lasts at least [`MIN_SLEEP`] and at most
/// [`MAX_SLEEP`].
const SLEEP_DIVISOR: u32 = 64;
const MIN_SLEEP: Duration = Duration::from_micros(20);
const MAX_SLEEP: Duration = Duration::from_micros(500);
/// The most that the interval between two polls adds to the time waited. In a longer interval, the process was
/// suspended or had no core.
const MAX_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until the stream has finished all its work, for at most `timeout`. Time in which the process is suspended does
/// not count.
///
/// ```no_run
/// use std::time::Duration;
///
/// use compaction::cuda;
///
/// let stream = cuda::open(0)?.default_stream();
/// let zeros = cuda::zeroed::<u32>(&stream, 1 << 20)?;
/// cuda::rest(&stream, Duration::from_secs(30))?;
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Timeout`] after `timeout`, and [`Error::Driver`] for earlier failures on the stream.
pub fn rest(stream: &Arc<CudaStream>, timeout: Duration) -> Result<()> {
    let doing = "wait for a stream";
    let ended = record_event(stream).map_err(Error::driver(doing))?;
    wait_for_event(&ended, doing, timeout)
}

/// Returns whether the stream's GPU still accepts work, without waiting. `false` means that its context has failed. A
/// hanging GPU may accept work as well.
///
/// ```no_run
/// use compaction::cuda;
///
/// assert!(cuda::is_alive(&cuda::open(0)?.default_stream()));
/// # Ok::<(), compaction::Error>(())
/// ```
pub fn is_alive(stream: &Arc<CudaStream>) -> bool {
    record_event(stream).is_ok_and(|event| is_complete(&event).is_ok())
}

/// Returns whether all work before an event has finished, without waiting. Returns an error for earlier failures.
pub(super) fn is_complete(event: &CudaEvent) -> std::result::Result<bool, DriverError> {
    // SAFETY: the event exists.
    match unsafe { result::event::query(event.cu_event()) } {
        Ok(()) => Ok(true),
        Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Enqueues a new event at the end of the stream's work so far.
fn record_event(stream: &Arc<CudaStream>) -> std::result::Result<CudaEvent, DriverError> {
    let event = stream
        .context()
        .new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))?;
    event.record(stream)?;
    Ok(event)
}

/// Waits for an event for at most `timeout`. `doing` names the operation in errors: [`Error::Timeout`], or
/// [`Error::Driver`] for earlier failures.
pub(super) fn wait_for_event(
    event: &CudaEvent,
    doing: &'static str,
    timeout: Duration,
) -> Result<()> {
    let (mut waited, mut wait) = (Duration::ZERO, WaitClock::default());
    while !is_complete(event).map_err(Error::driver(doing))? {
        if waited >= timeout {
            return Err(Error::Timeout {
                doing,
                seconds: timeout.as_secs_f64(),
            });
        }
        if waited < BUSY_POLLING {
            thread::yield_now();
        } else {
            thread::sleep((waited / SLEEP_DIVISOR).clamp(MIN_SLEEP, MAX_SLEEP));
        }
        waited = wait.elapsed();
    }
    Ok(())
}

/// A clock for polling loops. An interval between two polls counts for at most 100 ms, so that suspensions of the
/// process hardly count.
#[derive(Debug)]
pub(super) struct WaitClock {
    waited: Duration,
    asked: Instant,
}

impl Default for WaitClock {
    fn default() -> Self {
        Self {
            waited: Duration::ZERO,
            asked: Instant::now(),
        }
    }
}

impl WaitClock {
    /// Returns the time since the clock was created, without suspensions. Must be called at least every 100 ms.
    pub(super) fn elapsed(&mut self) -> Duration {
        let now = Instant::now();
        self.waited += (now - self.asked).min(MAX_INTERVAL);
        self.asked = now;
        self.waited
    }
}
