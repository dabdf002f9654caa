//! Stream compaction on the CPU.

use std::sync::{Mutex, PoisonError};

use super::{NAMES, Strategy, TILE_ITEMS, check_item, check_items};
use crate::{
    CountWord, Movable, Result,
    arguments::{check_room, check_words},
    chained_scan::chained_scan,
    movable::all_ones,
    parallel,
};

/// Number of items from which an input is processed in parallel. The calling thread alone takes about 50 µs for fewer
/// items.
const PARALLEL_FROM: usize = 1 << 16;

/// Items per chunk that a thread processes at a time, so few that the flags fit in the L1 cache.
const CHUNK_ITEMS: usize = 2 * TILE_ITEMS as usize;

/// Items per chunk if chunks take their part of the output in order. These chunks are longer, so that threads rarely
/// wait for each other.
const ORDERED_CHUNK_ITEMS: usize = 8 * TILE_ITEMS as usize;

/// Defines the operation: yields the items whose flag is nonzero, in order, until the items or the flags end.
///
/// ```
/// use compaction::select::cpu::specification;
///
/// assert!(specification("sieve".chars(), &[1, 0, 0, 7, 1]).eq("sve".chars()));
/// ```
pub fn specification<'a, T>(
    items: impl IntoIterator<Item = T> + 'a,
    flags: &'a [u8],
) -> impl Iterator<Item = T> + 'a {
    let flagged = items.into_iter().zip(flags);
    flagged
        .filter(|(_, flag)| **flag != 0)
        .map(|(item, _)| item)
}

/// Writes the indices of the nonzero flags to `out`, and returns their number.
///
/// If `out` is shorter than the result, it receives the first indices, and the full number is returned. Entries behind
/// the result keep their values. Inputs of fewer than 65,536 items are processed on the calling thread without
/// allocation. The [`Strategy`] determines the order. [`Strategy::Off`] writes every entry, needs room for them, and
/// still returns the number of nonzero flags.
///
/// ```
/// use compaction::select::{Strategy, cpu};
///
/// let mut out = [0_u32; 4];
/// assert_eq!(cpu::indices(Strategy::LookBack, &[0, 1, 0, 9], &mut out)?, 2);
/// assert_eq!(out, [1, 3, 0, 0]);
/// assert_eq!(cpu::indices(Strategy::Off, &[0, 1, 0, 9], &mut out)?, 2);
/// assert_eq!(out, [u32::MAX, 1, u32::MAX, 3]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Uncountable`](crate::Error::Uncountable) if there are more flags than a word `W` can represent, and
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort) with [`Strategy::Off`] if `out` is shorter than `flags`.
pub fn indices<W: CountWord>(strategy: Strategy, flags: &[u8], out: &mut [W]) -> Result<usize> {
    check_words::<W>(NAMES.input, flags.len())?;
    check_output(strategy, out.len(), flags.len())?;
    keep(strategy, flags, &IndicesFrom(0), out)
}

/// Writes the items whose flag is nonzero to `out`, and returns the number of nonzero flags. Otherwise like
/// [`indices`].
///
/// Rejected items are read only by [`Strategy::Off`]. `T` is plain data of 1 to 64 bytes; another size does not
/// compile.
///
/// ```
/// use compaction::select::{Strategy, cpu};
///
/// let mut out = [0.0; 3];
/// assert_eq!(cpu::items(Strategy::LookBack, &[0.5, 1.5, 2.5_f32], &[1, 0, 1], &mut out)?, 2);
/// assert_eq!(out, [0.5, 2.5, 0.0]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// ```compile_fail
/// # use compaction::select::{Strategy, cpu};
/// cpu::items(Strategy::LookBack, &[[1_u64; 9]; 3], &[1, 0, 1], &mut [[0_u64; 9]; 3]);
/// ```
///
/// # Errors
///
/// With [`Strategy::Off`], returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than
/// `flags`, and [`Error::InvalidItem`](crate::Error::InvalidItem) if all-one bits are not a valid `T`. Returns
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many items as flags.
pub fn items<T: Movable + Send + Sync>(
    strategy: Strategy,
    items: &[T],
    flags: &[u8],
    out: &mut [T],
) -> Result<usize> {
    const { check_item::<T>() };
    check_items(flags.len(), items.len())?;
    check_output(strategy, out.len(), flags.len())?;
    keep(strategy, flags, &ItemsOf(items), out)
}

/// Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if a strategy writes all items and an output that
/// holds `room` items is shorter.
fn check_output(strategy: Strategy, room: usize, items: usize) -> Result<()> {
    match strategy {
        Strategy::Off => check_room(NAMES.output, room, items),
        _ => Ok(()),
    }
}

/// The values to select from, by index: the indices themselves, or items.
trait Values<T>: Sync {
    /// Returns the value of an index.
    fn at(&self, index: usize) -> T;

    /// Writes to `out[i]` the value at index `first + places[i]`. Each place is 0 to 7.
    fn write_eight(&self, first: usize, places: &[u32; 8], out: &mut [T; 8]);
}

/// The values of a selection of indices: the value of an index is the index plus this offset.
struct IndicesFrom(usize);

impl<W: CountWord> Values<W> for IndicesFrom {
    fn at(&self, index: usize) -> W {
        W::of_len(self.0 + index)
    }
    #[inline]
    fn write_eight(&self, first: usize, places: &[u32; 8], out: &mut [W; 8]) {
        for (out, place) in out.iter_mut().zip(places) {
            *out = self.at(first + *place as usize);
        }
    }
}

/// The values of a selection of items: the value of an index is the item there.
struct ItemsOf<'a, T>(&'a [T]);

impl<T: Copy + Sync> Values<T> for ItemsOf<'_, T> {
    fn at(&self, index: usize) -> T {
        self.0[index]
    }
    #[inline]
    fn write_eight(&self, first: usize, places: &[u32; 8], out: &mut [T; 8]) {
        let items = &self.0[first..][..8];
        for (out, place) in out.iter_mut().zip(places) {
            *out = items[*place as usize & 7];
        }
    }
}

/// Selects with a strategy: writes the values of nonzero flags to `out`, as many as fit, and returns their number. For
/// [`Strategy::Off`], `out` must be at least as long as `flags`.
fn keep<T: Movable + Send + Sync>(
    strategy: Strategy,
    flags: &[u8],
    values: &impl Values<T>,
    out: &mut [T],
) -> Result<usize> {
    let parallel = flags.len() >= PARALLEL_FROM;
    Ok(match strategy {
        Strategy::Off if parallel => blank(flags, values, all_ones()?, out),
        Strategy::Off => blank_run(flags, 0, values, all_ones()?, out),
        Strategy::HoleFilling if parallel => fill_holes_by_chunks(flags, values, out),
        Strategy::HoleFilling => fill_holes(flags, values, out),
        _ if !parallel => {
            let written = count(flags).min(out.len());
            keep_run(flags, 0, values, &mut out[..written])
        }
        Strategy::Atomic => append(flags, values, out),
        // The GPU methods differ in how they find the positions. Here, counting and then compacting each chunk serves
        // for all.
        Strategy::LookBack
        | Strategy::CountScanScatter
        | Strategy::Sequences
        | Strategy::ScanScatter => keep_in_order(flags, values, out),
    })
}

/// Moves the items whose flag is nonzero to the front of `items`, and returns their number. The items behind them are
/// unspecified items of the input.
///
/// [`Strategy::HoleFilling`] moves at most as many items as are removed, on the calling thread. [`Strategy::Off`]
/// leaves the survivors in place and overwrites the others with all-one bits. All other strategies keep the order:
/// threads compact chunks in parallel, and then the calling thread moves the chunks together.
///
/// ```
/// use compaction::select::{Strategy, cpu};
///
/// let mut items = [10, 11, 12, 13, 14, 15, 16];
/// assert_eq!(cpu::in_place(Strategy::HoleFilling, &mut items, &[1, 0, 1, 1, 0, 1, 1])?, 5);
/// assert_eq!(items[..5], [10, 16, 12, 13, 15]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many items as flags, and with
/// [`Strategy::Off`] [`Error::InvalidItem`](crate::Error::InvalidItem) if all-one bits are not a valid `T`.
pub fn in_place<T: Movable + Send + Sync>(
    strategy: Strategy,
    items: &mut [T],
    flags: &[u8],
) -> Result<usize> {
    const { check_item::<T>() };
    check_items(flags.len(), items.len())?;
    let kept = match strategy {
        Strategy::Off => {
            let dropped = all_ones()?;
            for (item, _) in items.iter_mut().zip(flags).filter(|(_, flag)| **flag == 0) {
                *item = dropped;
            }
            count(flags)
        }
        Strategy::HoleFilling => fill_in_place(items, flags),
        _ => close_up(items, flags),
    };
    Ok(kept)
}

/// Compacts items in place by hole filling, with the result of the GPU: the last survivor fills the first hole, again
/// and again, until all survivors are at the front. Returns the number of survivors.
fn fill_in_place<T: Copy>(items: &mut [T], flags: &[u8]) -> usize {
    let (mut front, mut back) = (0, flags.len());
    loop {
        while front < back && flags[front] != 0 {
            front += 1;
        }
        while front < back && flags[back - 1] == 0 {
            back -= 1;
        }
        if front >= back {
            return front;
        }
        back -= 1;
        items[front] = items[back];
        front += 1;
    }
}

/// Compacts items in place and in order: compacts the chunks in parallel, and then moves them together on the calling
/// thread. Returns the number of survivors.
fn close_up<T: Copy + Send>(items: &mut [T], flags: &[u8]) -> usize {
    let chunks = items.chunks_mut(CHUNK_ITEMS).zip(flags.chunks(CHUNK_ITEMS));
    let counts = parallel::map(chunks, |_, (items, flags)| {
        let mut kept = 0;
        for at in 0..items.len() {
            items[kept] = items[at];
            kept += usize::from(flags[at] != 0);
        }
        kept
    });
    let mut end = 0;
    for (chunk, count) in counts.into_iter().enumerate() {
        let first = chunk * CHUNK_ITEMS;
        items.copy_within(first..first + count, end);
        end += count;
    }
    end
}

/// Selects by hole filling: writes the survivors to `out`, as many as fit, and returns their number k.
/// Survivors among the first k indices keep their index; each hole between them gets the last survivor that is left.
fn fill_holes<T: Copy>(flags: &[u8], values: &impl Values<T>, out: &mut [T]) -> usize {
    let kept = count(flags);
    let fillers = (kept..flags.len()).rev().filter(|&place| flags[place] != 0);
    fill_run(&flags[..kept], 0, values, out, fillers);
    kept
}

/// Writes the values of consecutive flags to `out`, and the value of the next of the `fillers` where a flag is zero.
/// The first flag has the index `first`.
fn fill_run<T: Copy>(
    flags: &[u8],
    first: usize,
    values: &impl Values<T>,
    out: &mut [T],
    mut fillers: impl Iterator<Item = usize>,
) {
    for (place, (out, &flag)) in (first..).zip(out.iter_mut().zip(flags)) {
        if flag != 0 {
            *out = values.at(place);
        } else if let Some(filler) = fillers.next() {
            *out = values.at(filler);
        }
    }
}

/// Selects like [`fill_holes`], in parallel: the number of holes before a chunk determines which survivors fill its
/// holes.
fn fill_holes_by_chunks<T: Copy + Send>(
    flags: &[u8],
    values: &impl Values<T>,
    out: &mut [T],
) -> usize {
    let kept = parallel_count(flags);
    let (front, back) = flags.split_at(kept);
    let chunks = front.chunks(CHUNK_ITEMS);
    let holes = parallel::map(chunks.clone(), |_, flags| flags.len() - count(flags));
    let mut fillers = vec![0_u64; holes.iter().sum()];
    keep_in_order(back, &IndicesFrom(kept), &mut fillers);

    let mut rest = fillers.as_slice();
    let fillers = holes.iter().map(|&holes| {
        let (left, own) = rest.split_at(rest.len() - holes);
        rest = left;
        own
    });
    let written = kept.min(out.len());
    let parts = out[..written]
        .chunks_mut(CHUNK_ITEMS)
        .zip(chunks)
        .zip(fillers);
    parallel::for_each(parts, |chunk, ((out, flags), fillers)| {
        let fillers = fillers.iter().map(|&filler| filler as usize);
        fill_run(flags, chunk * CHUNK_ITEMS, values, out, fillers.rev());
    });
    kept
}

/// Writes the values of the nonzero flags among consecutive flags to `out`, in order, and returns their number. The
/// first flag has the index `first`. `out` must be exactly as long as the result, or shorter, so that it receives the
/// first values.
fn keep_run<T: Copy>(flags: &[u8], first: usize, values: &impl Values<T>, out: &mut [T]) -> usize {
    let mut kept = 0;
    let (eights, rest) = flags.as_chunks::<8>();
    for (number, &eight) in eights.iter().enumerate() {
        let first = first + 8 * number;
        let mask = usize::from(mask(eight));
        let (survivors, places) = (usize::from(SURVIVORS.0[mask]), &SURVIVORS.1[mask]);
        let room = out.get_mut(kept..).unwrap_or_default();
        match room.first_chunk_mut::<8>() {
            // All eight values are written and the next eight overwrite the superfluous ones. This avoids a branch that
            // random flags would mispredict half the time. For large items, the branch is cheaper.
            Some(eight) if size_of::<T>() <= 8 => values.write_eight(first, places, eight),
            _ => {
                for (out, &place) in room.iter_mut().zip(&places[..survivors]) {
                    *out = values.at(first + place as usize);
                }
            }
        }
        kept += survivors;
    }
    let first = first + 8 * eights.len();
    for (index, _) in (first..).zip(rest).filter(|(_, flag)| **flag != 0) {
        if let Some(out) = out.get_mut(kept) {
            *out = values.at(index);
        }
        kept += 1;
    }
    kept
}

/// The number of survivors and their places, 0 to 7, for each mask of eight flags. Unused places are 0.
static SURVIVORS: ([u8; 256], [[u32; 8]; 256]) = {
    let mut survivors = [0; 256];
    let mut places = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let mut place = 0;
        while place < 8 {
            if mask >> place & 1 == 1 {
                places[mask][survivors[mask] as usize] = place;
                survivors[mask] += 1;
            }
            place += 1;
        }
        mask += 1;
    }
    (survivors, places)
};

/// Returns a mask in which bit i is set if flag i is nonzero.
#[inline]
fn mask(flags: [u8; 8]) -> u8 {
    const LOW: u64 = u64::from_le_bytes([0x7f; 8]);
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let flags = u64::from_le_bytes(flags);
    // The highest bit of each byte becomes 1 if any bit of the byte is set, because the lower bits carry into it.
    let set = (((flags & LOW) + LOW) | flags) >> 7 & ONES;
    // Multiplying moves the bit of byte i to bit i of the highest byte: byte i times 2 to the power 7 (7 - i) reaches
    // bit 49, and no two bits collide.
    (set.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Returns the number of nonzero flags.
pub(crate) fn count(flags: &[u8]) -> usize {
    // Runs of 255 flags fit in a `u8` sum, which the compiler vectorises.
    let runs = flags.chunks(255);
    runs.map(|run| usize::from(run.iter().map(|&flag| u8::from(flag != 0)).sum::<u8>()))
        .sum()
}

/// Returns the number of nonzero flags, counted in parallel.
fn parallel_count(flags: &[u8]) -> usize {
    let counts = parallel::map(flags.chunks(CHUNK_ITEMS), |_, flags| count(flags));
    counts.iter().sum()
}

/// Selects in order, in parallel: each chunk is counted, takes its part of the output in chunk order, and fills it.
/// Returns the number of survivors.
fn keep_in_order<T: Copy + Send>(flags: &[u8], values: &impl Values<T>, out: &mut [T]) -> usize {
    let mut rest = (0, out);
    chained_scan(
        flags.chunks(ORDERED_CHUNK_ITEMS).enumerate(),
        &mut rest,
        |(_, flags)| count(flags),
        |(kept, rest), survivors| {
            *kept += survivors;
            take(rest, survivors.min(rest.len()))
        },
        |(chunk, flags), part| {
            keep_run(flags, chunk * ORDERED_CHUNK_ITEMS, values, part);
        },
    );
    rest.0
}

/// Selects out of order, in parallel: chunks take their parts of the output in the order in which threads reach them.
/// Returns the number of survivors.
fn append<T: Copy + Send>(flags: &[u8], values: &impl Values<T>, out: &mut [T]) -> usize {
    let rest = Mutex::new(out);
    let kept = parallel::map(flags.chunks(CHUNK_ITEMS), |chunk, flags| {
        let survivors = count(flags);
        let mut rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
        let written = survivors.min(rest.len());
        let part = take(&mut rest, written);
        drop(rest);
        keep_run(flags, chunk * CHUNK_ITEMS, values, part)
    });
    kept.iter().sum()
}

/// Removes the first `len` items from the slice `rest` and returns them. Panics if there are fewer.
pub(crate) fn take<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (taken, left) = std::mem::take(rest).split_at_mut(len);
    *rest = left;
    taken
}

/// Writes the value of every index to `out`, or `dropped` where the flag is zero, in parallel. Returns the number of
/// nonzero flags.
fn blank<T: Copy + Send + Sync>(
    flags: &[u8],
    values: &impl Values<T>,
    dropped: T,
    out: &mut [T],
) -> usize {
    let parts = out[..flags.len()].chunks_mut(CHUNK_ITEMS);
    let chunks = flags.chunks(CHUNK_ITEMS).zip(parts);
    let kept = parallel::map(chunks, |chunk, (flags, part)| {
        blank_run(flags, chunk * CHUNK_ITEMS, values, dropped, part)
    });
    kept.iter().sum()
}

/// Writes the values of consecutive flags to `out`, or `dropped` where the flag is zero. Returns the number of nonzero
/// flags. The first flag has the index `first`.
fn blank_run<T: Copy>(
    flags: &[u8],
    first: usize,
    values: &impl Values<T>,
    dropped: T,
    out: &mut [T],
) -> usize {
    for (index, (out, &flag)) in (first..).zip(out.iter_mut().zip(flags)) {
        // Evaluated in any case, so that no branch is needed.
        let item = values.at(index);
        *out = if flag != 0 { item } else { dropped };
    }
    count(flags)
}
