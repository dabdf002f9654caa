//! Summed-area tables on the CPU.

use super::check_lengths;
use crate::{
    Result,
    monoid::{Item, Monoid, Operators},
    parallel,
};

/// Bytes of the rows that all threads process together. They fit in the cache, because they are first summed along the
/// rows and then down the columns.
const SEGMENT_BYTES: usize = 4 << 20;

/// Items that a thread sums along the rows at a time, unless a row is longer.
const CHUNK_ITEMS: usize = 1 << 13;

/// Number of items from which a table is computed in parallel instead of on the calling thread.
const PARALLEL_FROM: usize = 1 << 16;

/// Adds two items in the way of all scans: integers wrap around, and -0 counts as +0.
fn add<T: Item>(left: T, right: T) -> T {
    type Sum<T> = <T as Operators>::Sum;
    Sum::<T>::lower(Sum::<T>::combine(
        Sum::<T>::lift(left),
        Sum::<T>::lift(right),
    ))
}

/// Defines the operation: returns the table in which each row is summed from the left and then added to the row of sums
/// above it.
///
/// `items` are rows of `width` items; an incomplete last row is ignored.
///
/// ```
/// use compaction::summed_area::cpu::specification;
///
/// assert_eq!(specification(&[1, 2, 3,
///                            4, 5, 6_u32], 3), [1, 3, 6,
///                                               5, 12, 21]);
/// ```
pub fn specification<T: Item>(items: &[T], width: usize) -> Vec<T> {
    let mut out: Vec<T> = Vec::with_capacity(items.len());
    for row in items.chunks_exact(width.max(1)) {
        let mut left = T::zeroed();
        for &item in row {
            left = add(left, item);
            let above = out.len().checked_sub(width).map(|above| out[above]);
            out.push(above.map_or(left, |above| add(above, left)));
        }
    }
    out
}

/// Writes to `out`, for each entry of a table, the sum of the rectangle of items from the first item to that entry,
/// inclusive.
///
/// The table has `height` rows of `width` items, stored row by row. Entries of `out` behind the table keep their
/// values. Integers wrap around on overflow. For any number of threads, the bits are those of the sequential
/// [`specification`], except for NaN payloads.
///
/// ```
/// use compaction::summed_area::cpu;
///
/// let mut out = [0.0; 4];
/// cpu::table(&[0.5, 1.0,
///              2.0, 4.0], (2, 2), &mut out)?;
/// assert_eq!(out, [0.5, 1.5,
///                  2.5, 7.5]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are `width` times `height` items, and
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than that.
pub fn table<T: Item>(items: &[T], (width, height): (usize, usize), out: &mut [T]) -> Result<()> {
    check_lengths(items.len(), (width, height), out.len())?;
    let out = &mut out[..items.len()];
    if items.is_empty() {
        return Ok(());
    }
    let threads = match items.len() < PARALLEL_FROM {
        true => 1,
        false => rayon::current_num_threads(),
    };
    let rows = (SEGMENT_BYTES / size_of::<T>() / width).clamp(threads, height.max(threads));
    for first in (0..items.len()).step_by(rows * width) {
        let (done, rest) = out.split_at_mut(first);
        let len = rest.len().min(rows * width);
        let above = &done[done.len().saturating_sub(width)..];
        segment(
            &items[first..][..len],
            width,
            above,
            &mut rest[..len],
            threads,
        );
    }
    Ok(())
}

/// Computes consecutive rows of the table. `above` is the row of the table before them, or empty for the first rows.
///
/// Threads first compute the prefix sums of whole rows, and then add rows downwards in vertical strips.
fn segment<T: Item>(items: &[T], width: usize, above: &[T], out: &mut [T], threads: usize) {
    if threads == 1 {
        sum_rows(items, width, out);
        return add_rows(above, out.chunks_mut(width));
    }
    let chunk = width * (CHUNK_ITEMS / width).max(1);
    let chunks = out.chunks_mut(chunk).zip(items.chunks(chunk));
    parallel::for_each(chunks, |_, (out, items)| sum_rows(items, width, out));

    let strip_width = width.div_ceil(threads);
    let mut strips: Vec<Vec<&mut [T]>> = Vec::new();
    strips.resize_with(width.div_ceil(strip_width), Vec::new);
    for row in out.chunks_mut(width) {
        for (strip, part) in strips.iter_mut().zip(row.chunks_mut(strip_width)) {
            strip.push(part);
        }
    }
    parallel::for_each(strips, |strip, rows| {
        let first = (strip * strip_width).min(above.len());
        let last = (first + strip_width).min(above.len());
        add_rows(&above[first..last], rows.into_iter());
    });
}

/// Writes the inclusive prefix sums of each row of `items` to `out`.
fn sum_rows<T: Item>(items: &[T], width: usize, out: &mut [T]) {
    for (out, items) in out.chunks_mut(width).zip(items.chunks(width)) {
        let mut left = T::zeroed();
        for (out, &item) in out.iter_mut().zip(items) {
            left = add(left, item);
            *out = left;
        }
    }
}

/// Adds to each row the row above it, from top to bottom. `above` is the row above the first one, or empty if there is
/// none.
fn add_rows<'a, T: Item>(above: &[T], mut rows: impl Iterator<Item = &'a mut [T]>) {
    let Some(first) = rows.next() else {
        return;
    };
    for (item, &above) in first.iter_mut().zip(above) {
        *item = add(above, *item);
    }
    rows.fold(first, |above, row| {
        for (item, &above) in row.iter_mut().zip(above.iter()) {
            *item = add(above, *item);
        }
        row
    });
}
