//! Waits that have an end: a GPU that hangs never says so.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaEvent, CudaStream, sys::CUevent_flags};

use crate::error::{Error, Result};

/// So long an event is asked again at once: what takes longer does not feel a nap.
const AWAKE: Duration = Duration::from_millis(1);
/// A nap is this part of what has been waited, within bounds.
const NAPS: u32 = 64;
const SHORTEST_NAP: Duration = Duration::from_micros(20);
const LONGEST_NAP: Duration = Duration::from_micros(500);
/// More than this between two questions was no waiting: the process was suspended, or had no core.
const LONGEST_STEP: Duration = Duration::from_millis(100);

/// Waits until the stream has done all that it was given, for so long at most. Time in which the process is suspended does
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
/// [`Error::Hangs`] if it takes longer; [`Error::Driver`] for what failed on the stream before.
pub fn rest(stream: &Arc<CudaStream>, patience: Duration) -> Result<()> {
    let doing = "wait for a stream";
    let ended = mark(stream).map_err(Error::driver(doing))?;
    complete(&ended, doing, patience)
}

/// Whether the stream's GPU takes work. Waits for nothing; one that hangs may take some, too.
///
/// ```no_run
/// use compaction::cuda;
///
/// assert!(cuda::is_alive(&cuda::open(0)?.default_stream()));
/// # Ok::<(), compaction::Error>(())
/// ```
pub fn is_alive(stream: &Arc<CudaStream>) -> bool {
    mark(stream).is_ok_and(|event| event.try_is_complete().is_ok())
}

fn mark(stream: &Arc<CudaStream>) -> std::result::Result<CudaEvent, cudarc::driver::DriverError> {
    let event = stream
        .context()
        .new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))?;
    event.record(stream)?;
    Ok(event)
}

/// Waits for an event, for so long at most.
pub(super) fn complete(event: &CudaEvent, doing: &'static str, patience: Duration) -> Result<()> {
    let (mut waited, mut wait) = (Duration::ZERO, Wait::default());
    while !event.try_is_complete().map_err(Error::driver(doing))? {
        if waited >= patience {
            return Err(Error::Hangs {
                doing,
                seconds: patience.as_secs_f64(),
            });
        }
        if waited < AWAKE {
            thread::yield_now();
        } else {
            thread::sleep((waited / NAPS).clamp(SHORTEST_NAP, LONGEST_NAP));
        }
        waited = wait.so_far();
    }
    Ok(())
}

/// How long somebody has been waiting who asks again and again.
#[derive(Debug)]
pub(super) struct Wait {
    waited: Duration,
    asked: Instant,
}

impl Default for Wait {
    fn default() -> Self {
        Self {
            waited: Duration::ZERO,
            asked: Instant::now(),
        }
    }
}

impl Wait {
    /// Since it began, without the time in which the process was suspended.
    pub(super) fn so_far(&mut self) -> Duration {
        let now = Instant::now();
        self.waited += (now - self.asked).min(LONGEST_STEP);
        self.asked = now;
        self.waited
    }
}
