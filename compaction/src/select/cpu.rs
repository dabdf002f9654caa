//! The operations of [`select`](crate::select) on the CPU.

use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use rayon::prelude::*;

use super::{NAMES, Strategy, TILE_ITEMS, check_item, check_items};
use crate::{
    CountWord, Result,
    counted::{check_room, check_words},
    in_turn::in_turn,
};

/// Fewer items than this are not worth the threads: they take some 50 µs on one.
const PARALLEL_FROM: usize = 1 << 16;

/// Items that one thread takes at a time: their flags fit into its first cache.
const CHUNK_ITEMS: usize = 2 * TILE_ITEMS as usize;

/// Items that one thread takes at a time where the threads take turns, which they should not have to wait for.
const IN_TURN_ITEMS: usize = 8 * TILE_ITEMS as usize;

/// The definition: the items whose flag is not zero, in order.
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

/// Writes the indices of the flags that are not zero, and returns how many there are.
///
/// `out` has room for as many indices as there are flags; what lies behind the result is left as it was. Reads the
/// flags twice, from the cache the second time; up to 65,535 items it stays on the calling thread and allocates
/// nothing. Order and determinism are the [`Strategy`]'s. With [`Strategy::Off`] every entry is written, and the count
/// is the number of selected ones all the same.
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
/// [`Error::Uncountable`](crate::Error::Uncountable) for more flags than the indices' words count,
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort).
pub fn indices<W: CountWord>(strategy: Strategy, flags: &[u8], out: &mut [W]) -> Result<usize> {
    check_words::<W>(NAMES.input, flags.len())?;
    check_room(NAMES.output, out.len(), flags.len())?;
    Ok(keep(strategy, flags, &IndicesFrom(0), out))
}

/// Writes the items whose flag is not zero, and returns how many there are.
///
/// As [`indices`]; dropped items are not read but by [`Strategy::Off`]. `T` is plain data of 1 to 64 bytes; another size
/// does not compile.
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
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort), and
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if there are not as many items as flags.
pub fn items<T: Pod + Send + Sync>(
    strategy: Strategy,
    items: &[T],
    flags: &[u8],
    out: &mut [T],
) -> Result<usize> {
    const { check_item::<T>() };
    check_items(flags.len(), items.len())?;
    check_room(NAMES.output, out.len(), flags.len())?;
    Ok(keep(strategy, flags, &ItemsOf(items), out))
}

/// What is kept, by its index.
trait Values<T>: Sync {
    fn at(&self, index: usize) -> T;

    /// Writes those at `places`, from 0 to 7, behind `first`.
    fn write_eight(&self, first: usize, places: &[u32; 8], out: &mut [T; 8]);
}

/// Its index itself, and as much.
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

/// Does the work.
fn keep<T: Pod + Send>(
    strategy: Strategy,
    flags: &[u8],
    values: &impl Values<T>,
    out: &mut [T],
) -> usize {
    let parallel = flags.len() >= PARALLEL_FROM;
    match strategy {
        Strategy::Off if parallel => blank(flags, values, out),
        Strategy::Off => blank_run(flags, 0, values, out),
        Strategy::HoleFilling if parallel => fill_holes_by_chunks(flags, values, out),
        Strategy::HoleFilling => fill_holes(flags, values, out),
        _ if !parallel => keep_run(flags, 0, values, &mut out[..count(flags)]),
        Strategy::Atomic => append(flags, values, out),
        // The methods of a GPU differ in how they find what two passes over chunks find here.
        Strategy::LookBack
        | Strategy::CountScanScatter
        | Strategy::Sequences
        | Strategy::ScanScatter => keep_in_order(flags, values, out),
    }
}

/// Moves the items whose flag is not zero to the front, and returns how many there are. What lies behind them then is
/// any of the items.
///
/// [`Strategy::HoleFilling`] moves no more items than go, [`Strategy::Off`] blanks those that go; all others keep the
/// order. In parallel, but for moving the runs together, which one thread does.
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
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if there are not as many items as flags.
pub fn in_place<T: Pod + Send + Sync>(
    strategy: Strategy,
    items: &mut [T],
    flags: &[u8],
) -> Result<usize> {
    const { check_item::<T>() };
    check_items(flags.len(), items.len())?;
    let kept = match strategy {
        Strategy::Off => {
            for (item, _) in items.iter_mut().zip(flags).filter(|(_, flag)| **flag == 0) {
                *item = dropped();
            }
            count(flags)
        }
        Strategy::HoleFilling => fill_in_place(items, flags),
        _ => close_up(items, flags),
    };
    Ok(kept)
}

/// The last survivor fills the first hole, until there is none before the last survivor.
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

/// Each chunk closes its own gaps, and then the chunks close up.
fn close_up<T: Copy + Send>(items: &mut [T], flags: &[u8]) -> usize {
    let chunks = items
        .par_chunks_mut(CHUNK_ITEMS)
        .zip(flags.par_chunks(CHUNK_ITEMS));
    let counts: Vec<usize> = chunks
        .map(|(items, flags)| {
            let mut kept = 0;
            for at in 0..items.len() {
                items[kept] = items[at];
                kept += usize::from(flags[at] != 0);
            }
            kept
        })
        .collect();
    let mut end = 0;
    for (chunk, count) in counts.into_iter().enumerate() {
        let first = chunk * CHUNK_ITEMS;
        items.copy_within(first..first + count, end);
        end += count;
    }
    end
}

/// The survivors among the first places stay where they are; each hole there gets the last survivor that is left.
fn fill_holes<T: Copy>(flags: &[u8], values: &impl Values<T>, out: &mut [T]) -> usize {
    let kept = count(flags);
    let mut survivors = (kept..flags.len()).rev().filter(|&place| flags[place] != 0);
    for (place, out) in out[..kept].iter_mut().enumerate() {
        if flags[place] != 0 {
            *out = values.at(place);
        } else if let Some(last) = survivors.next() {
            *out = values.at(last);
        }
    }
    kept
}

/// As [`fill_holes`], by chunks: the holes before a chunk say which survivors from the back are its own.
fn fill_holes_by_chunks<T: Copy + Send>(
    flags: &[u8],
    values: &impl Values<T>,
    out: &mut [T],
) -> usize {
    let kept = flags.par_chunks(CHUNK_ITEMS).map(count).sum();
    let (front, back) = flags.split_at(kept);
    let chunks = front.par_chunks(CHUNK_ITEMS);
    let holes = chunks.clone().map(|flags| flags.len() - count(flags));
    let holes: Vec<usize> = holes.collect();
    let mut fillers = vec![0_u64; holes.iter().sum()];
    keep_in_order(back, &IndicesFrom(kept), &mut fillers);

    let mut rest = fillers.as_slice();
    let fillers = holes.iter().map(|&holes| {
        let (left, own) = rest.split_at(rest.len() - holes);
        rest = left;
        own
    });
    let fillers: Vec<&[u64]> = fillers.collect();
    let parts = out[..kept].par_chunks_mut(CHUNK_ITEMS).zip(chunks);
    parts
        .zip(fillers)
        .enumerate()
        .for_each(|(chunk, ((out, flags), fillers))| {
            let mut fillers = fillers.iter().rev();
            for (place, (out, &flag)) in (chunk * CHUNK_ITEMS..).zip(out.iter_mut().zip(flags)) {
                if flag != 0 {
                    *out = values.at(place);
                } else if let Some(&filler) = fillers.next() {
                    *out = values.at(filler as usize);
                }
            }
        });
    kept
}

/// The survivors of one run of flags, whose first has the index `first`. Returns their number, for which `out` has just
/// the room.
fn keep_run<T: Copy>(flags: &[u8], first: usize, values: &impl Values<T>, out: &mut [T]) -> usize {
    let mut kept = 0;
    let (eights, rest) = flags.as_chunks::<8>();
    for (number, &eight) in eights.iter().enumerate() {
        let first = first + 8 * number;
        let mask = usize::from(mask(eight));
        let (survivors, places) = (usize::from(SURVIVORS.0[mask]), &SURVIVORS.1[mask]);
        match out[kept..].first_chunk_mut::<8>() {
            // All eight are written, though the next ones overwrite what is none: without a branch, which random flags
            // would mispredict half the time. Large items are worth the branch.
            Some(room) if size_of::<T>() <= 8 => values.write_eight(first, places, room),
            _ => {
                for (out, &place) in out[kept..].iter_mut().zip(&places[..survivors]) {
                    *out = values.at(first + place as usize);
                }
            }
        }
        kept += survivors;
    }
    let first = first + 8 * eights.len();
    for (index, _) in (first..).zip(rest).filter(|(_, flag)| **flag != 0) {
        out[kept] = values.at(index);
        kept += 1;
    }
    kept
}

/// For each mask of eight how many survive, and their places. Behind those stands 0.
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

/// A bit for each flag, set where that is not zero.
#[inline]
fn mask(flags: [u8; 8]) -> u8 {
    const LOW: u64 = u64::from_le_bytes([0x7f; 8]);
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let flags = u64::from_le_bytes(flags);
    // The highest bit of a byte says whether any is set: those below carry into it.
    let set = (((flags & LOW) + LOW) | flags) >> 7 & ONES;
    // Byte i times 2 to the 7 (7 - i) comes to bit 49, and bit i of the highest byte gets it; no two meet.
    (set.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// How many flags are not zero.
fn count(flags: &[u8]) -> usize {
    // In runs that a byte can count, the sum is over bytes, many at once.
    let runs = flags.chunks(255);
    runs.map(|run| usize::from(run.iter().map(|&flag| u8::from(flag != 0)).sum::<u8>()))
        .sum()
}

/// A chunk is counted, takes its part of the output when all before it have, and fills it.
fn keep_in_order<T: Copy + Send>(flags: &[u8], values: &impl Values<T>, out: &mut [T]) -> usize {
    let mut rest = (0, out);
    in_turn(
        flags.chunks(IN_TURN_ITEMS).enumerate(),
        &mut rest,
        |(_, flags)| count(flags),
        |(kept, rest), survivors| {
            *kept += survivors;
            take(rest, survivors)
        },
        |(chunk, flags), part| {
            keep_run(flags, chunk * IN_TURN_ITEMS, values, part);
        },
    );
    rest.0
}

/// Chunks take their parts of the output in the order in which they come.
fn append<T: Copy + Send>(flags: &[u8], values: &impl Values<T>, out: &mut [T]) -> usize {
    let rest = Mutex::new(out);
    let chunks = flags.par_chunks(CHUNK_ITEMS).enumerate();
    let kept = chunks.map(|(chunk, flags)| {
        let survivors = count(flags);
        let part = take(
            &mut rest.lock().unwrap_or_else(PoisonError::into_inner),
            survivors,
        );
        keep_run(flags, chunk * CHUNK_ITEMS, values, part)
    });
    kept.sum()
}

/// Takes the first `len` items off a slice.
fn take<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (taken, left) = std::mem::take(rest).split_at_mut(len);
    *rest = left;
    taken
}

/// Writes every value, all ones for what is not selected, and counts the selected.
fn blank<T: Pod + Send>(flags: &[u8], values: &impl Values<T>, out: &mut [T]) -> usize {
    let parts = out[..flags.len()].par_chunks_mut(CHUNK_ITEMS);
    let chunks = flags.par_chunks(CHUNK_ITEMS).zip(parts).enumerate();
    let kept =
        chunks.map(|(chunk, (flags, part))| blank_run(flags, chunk * CHUNK_ITEMS, values, part));
    kept.sum()
}

/// As [`blank`], for one run of flags, whose first has the index `first`.
fn blank_run<T: Pod>(flags: &[u8], first: usize, values: &impl Values<T>, out: &mut [T]) -> usize {
    let dropped = dropped();
    for (index, (out, &flag)) in (first..).zip(out.iter_mut().zip(flags)) {
        // Asked for in any case, so that nothing is left to branch on.
        let item = values.at(index);
        *out = if flag != 0 { item } else { dropped };
    }
    count(flags)
}

/// What stands for a dropped item: all ones.
fn dropped<T: Pod>() -> T {
    let mut dropped = T::zeroed();
    bytemuck::bytes_of_mut(&mut dropped).fill(u8::MAX);
    dropped
}
