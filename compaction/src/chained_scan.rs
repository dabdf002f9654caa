//! A parallel chained scan on the CPU that reads each chunk of a sequence from memory only once.

use std::{
    hint,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::parallel;

/// Number of polls after which a waiting thread yields its core, because the thread that it waits for may need one.
const SPINS: u32 = 2000;

/// Processes chunks in parallel, with one sequential step per chunk, in a single pass over memory.
///
/// `fold` summarises a chunk, in parallel with other chunks. `take` then updates `state` with the summary, for one
/// chunk at a time and in chunk order. Finally `work` processes the chunk with the result of `take`, again in parallel,
/// while the chunk is still in the thread's cache.
///
/// Threads take chunks in order, so a thread only waits for chunks that other threads are already folding.
pub(crate) fn chained_scan<C: Send, F, P, S: Send>(
    chunks: impl Iterator<Item = C> + Send,
    state: &mut S,
    fold: impl Fn(&C) -> F + Sync,
    take: impl Fn(&mut S, F) -> P + Sync,
    work: impl Fn(C, P) + Sync,
) {
    let chunks = Mutex::new(chunks.enumerate());
    let state = Mutex::new(state);
    let turn = AtomicUsize::new(0);
    let next = || chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
    parallel::once_per_thread(&|| {
        while let Some((number, chunk)) = next() {
            let folded = fold(&chunk);
            let mut spins = 0;
            while turn.load(Ordering::Acquire) != number {
                spins += 1;
                if spins < SPINS {
                    hint::spin_loop();
                } else {
                    thread::yield_now();
                }
            }
            let taken = take(
                &mut **state.lock().unwrap_or_else(PoisonError::into_inner),
                folded,
            );
            turn.store(number + 1, Ordering::Release);
            work(chunk, taken);
        }
    });
}
