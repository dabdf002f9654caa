//! Parallel loops over the parts of a problem. They compile rayon's code once and not for every item type.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Calls `body` with the number of each part and the part, in parallel, and returns the results in order.
pub(crate) fn map<P: Send, R: Send>(
    parts: impl IntoIterator<Item = P>,
    body: impl Fn(usize, P) -> R + Sync,
) -> Vec<R> {
    let parts = parts.into_iter().map(|part| Mutex::new((Some(part), None)));
    let parts: Vec<_> = parts.collect();
    for_each_number(parts.len(), &|number| {
        let mut locked = parts[number].lock().unwrap_or_else(PoisonError::into_inner);
        let (part, result) = &mut *locked;
        *result = part.take().map(|part| body(number, part));
    });
    let done = parts
        .into_iter()
        .filter_map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner).1);
    done.collect()
}

/// Calls `body` with the number of each part and the part, in parallel.
pub(crate) fn for_each<P: Send>(
    parts: impl IntoIterator<Item = P>,
    body: impl Fn(usize, P) + Sync,
) {
    map(parts, body);
}

/// Calls `body` as often as rayon has threads, in parallel as far as threads are free.
pub(crate) fn once_per_thread(body: &(dyn Fn() + Sync)) {
    let threads = 0..rayon::current_num_threads();
    threads.into_par_iter().with_max_len(1).for_each(|_| body());
}

fn for_each_number(len: usize, body: &(dyn Fn(usize) + Sync)) {
    (0..len).into_par_iter().for_each(body);
}
