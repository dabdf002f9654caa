//! Work on chunks in a single pass over the memory, on all threads: the CPU's look-back.

use std::{
    hint,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use rayon::prelude::*;

/// Looks at the turn before a thread lets others run: its predecessor may be waiting for a core.
const SPINS: u32 = 2000;

/// For each chunk runs `fold`, then in the order of the chunks `take`, and then `work` with what that gave, by which time
/// the chunk is in the cache of its thread.
///
/// Chunks are handed out in order. So one waits only for others that are being folded, and for nobody who waits.
pub(crate) fn in_turn<C: Send, F, P, S: Send>(
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
    let threads = 0..rayon::current_num_threads();
    threads.into_par_iter().with_max_len(1).for_each(|_| {
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

#[cfg(test)]
mod tests {
    use super::in_turn;

    #[test]
    fn chunks_are_taken_in_order_and_each_is_worked_on() {
        let mut numbers: Vec<u32> = (0..100_000).collect();
        let mut taken = Vec::new();
        in_turn(
            numbers.chunks_mut(7),
            &mut taken,
            |chunk| chunk[0],
            |taken: &mut Vec<u32>, first| {
                taken.push(first);
                taken.len() as u32
            },
            |chunk, place| chunk.fill(place),
        );
        assert!(taken.iter().copied().eq((0..100_000).step_by(7)));
        assert!(
            (0..)
                .zip(&numbers)
                .all(|(at, &place): (u32, _)| place == at / 7 + 1)
        );
    }
}
