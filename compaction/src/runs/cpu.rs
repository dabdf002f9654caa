//! Runs of equal adjacent keys on the CPU.

use std::{marker::PhantomData, ops::Range};

use super::{
    Item, LENGTHS, Operator, PairNames, REDUCE_BY_KEY, SCAN_BY_KEY, UNIQUE, UNIQUE_BY_KEY,
    cpu_chunks::{Output, heads, is_head, ranges},
};
use crate::{
    CountWord, Movable, Result,
    arguments::{check_room, check_words},
    chained_scan::chained_scan,
    fold::{Fold, Known, With},
    monoid::{Monoid, with_monoid},
    tiles::{
        rows, tile_items,
        tree::{Prefixes, Segment, Segmented, TileSums, combine_tile},
    },
};

/// Items per chunk that a thread processes at a time, where the result does not depend on it.
const CHUNK_ITEMS: usize = 1 << 15;

impl PairNames {
    /// Checks that there are as many values as keys, and that both outputs have room for as many.
    fn check_pairs<K, V>(
        &self,
        (keys, values): (&[K], &[V]),
        (keys_out, values_out): (&[K], &[V]),
    ) -> Result<()> {
        self.check_values(keys.len(), values.len())?;
        let room = keys_out.len().min(values_out.len());
        check_room(self.keys.output, room, keys.len())
    }
}

/// Writes the first item of each run of equal items to `out`, and returns the number of runs.
///
/// Items are equal if their bytes are equal. Entries of `out` behind the result keep their values.
///
/// ```
/// use compaction::runs::cpu;
///
/// let mut out = [0; 6];
/// assert_eq!(cpu::unique(&[3, 3, 1, 4, 4, 3], &mut out)?, 4);
/// assert_eq!(out[..4], [3, 1, 4, 3]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `items`.
pub fn unique<K: Movable + Send + Sync>(items: &[K], out: &mut [K]) -> Result<usize> {
    check_room(UNIQUE.output, out.len(), items.len())?;
    let len = out.len();
    let mut rest = Output(out);
    chained_scan(
        ranges(items.len(), CHUNK_ITEMS),
        &mut rest,
        |range| heads(items, range.clone()).count(),
        |rest, count| rest.take(count),
        |range, out| {
            for (to, at) in out.iter_mut().zip(heads(items, range)) {
                *to = items[at];
            }
        },
    );
    Ok(len - rest.0.len())
}

/// Writes the first key of each run of equal keys to `keys_out`, and its value to `values_out`. Returns the number of
/// runs. Otherwise like [`unique`].
///
/// ```
/// use compaction::runs::cpu;
///
/// let (mut keys, mut values) = ([0; 4], [0.0; 4]);
/// let runs = cpu::unique_by_key(&[3, 3, 1, 1], &[0.5, 1.5, 2.5, 3.5], &mut keys, &mut values)?;
/// assert_eq!((&keys[..runs], &values[..runs]), (&[3, 1][..], &[0.5, 2.5][..]));
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if an output is shorter than `keys`, and
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many values as keys.
pub fn unique_by_key<K: Movable + Send + Sync, V: Movable + Send + Sync>(
    keys: &[K],
    values: &[V],
    keys_out: &mut [K],
    values_out: &mut [V],
) -> Result<usize> {
    UNIQUE_BY_KEY.check_pairs((keys, values), (keys_out, values_out))?;
    let len = keys_out.len();
    let mut rest = (Output(keys_out), Output(values_out));
    chained_scan(
        ranges(keys.len(), CHUNK_ITEMS),
        &mut rest,
        |range| heads(keys, range.clone()).count(),
        |(keys, values), count| (keys.take(count), values.take(count)),
        |range, (keys_out, values_out)| {
            let out = keys_out.iter_mut().zip(values_out);
            for ((key, value), at) in out.zip(heads(keys, range)) {
                (*key, *value) = (keys[at], values[at]);
            }
        },
    );
    Ok(len - rest.0.0.len())
}

/// Writes the key of each run of equal items to `keys_out`, and the run's length to `lengths`. Returns the number of
/// runs. Otherwise like [`unique`].
///
/// ```
/// use compaction::runs::cpu;
///
/// let (mut keys, mut lengths) = ([0; 5], [0_u32; 5]);
/// assert_eq!(cpu::run_lengths(&[7, 7, 7, 5, 7], &mut keys, &mut lengths)?, 3);
/// assert_eq!((&keys[..3], &lengths[..3]), (&[7, 5, 7][..], &[3, 1, 1][..]));
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if an output is shorter than `items`, and
/// [`Error::Uncountable`](crate::Error::Uncountable) if their number does not fit in `W`.
pub fn run_lengths<K: Movable + Send + Sync, W: CountWord>(
    items: &[K],
    keys_out: &mut [K],
    lengths: &mut [W],
) -> Result<usize> {
    check_words::<W>(LENGTHS.input, items.len())?;
    check_room(
        LENGTHS.output,
        keys_out.len().min(lengths.len()),
        items.len(),
    )?;
    let len = keys_out.len();
    // The outputs, and the index of the last head so far.
    let mut rest = (Output(keys_out), Output(lengths), None);
    chained_scan(
        ranges(items.len(), CHUNK_ITEMS),
        &mut rest,
        |range| {
            let mut heads = heads(items, range.clone());
            let first = heads.next();
            let (more, last) = heads.fold((0, first), |(count, _), at| (count + 1, Some(at)));
            (usize::from(first.is_some()) + more, last)
        },
        |(keys, lengths, last), (count, own_last)| {
            // Each head ends the run before it, except for the first head of all.
            let ended = count - usize::from(last.is_none() && count > 0);
            let before = *last;
            *last = own_last.or(before);
            (keys.take(count), lengths.take(ended), before)
        },
        |range, (keys_out, lengths, mut before)| {
            let mut lengths = lengths.iter_mut();
            for (key, at) in keys_out.iter_mut().zip(heads(items, range)) {
                *key = items[at];
                if let Some(before) = before.replace(at)
                    && let Some(length) = lengths.next()
                {
                    *length = W::of_len(at - before);
                }
            }
        },
    );
    let (keys, mut lengths, last) = rest;
    if let Some(last) = last {
        lengths.take(1)[0] = W::of_len(items.len() - last);
    }
    Ok(len - keys.0.len())
}

/// Combines the values of each run of equal keys. Writes the key of each run to `keys_out`, and the combined values to
/// `values_out`. Returns the number of runs. Otherwise like [`unique_by_key`].
///
/// The bits of floating-point sums are those of [`ReduceByKey`](super::ReduceByKey) on any GPU, for any number of
/// threads.
///
/// ```
/// use compaction::runs::{Operator, cpu};
///
/// let (mut keys, mut sums) = ([0_u8; 4], [0.0; 4]);
/// let runs = cpu::reduce_by_key(Operator::Sum, b"aabc", &[0.5, 1.0, 2.0, 4.0], &mut keys, &mut sums)?;
/// assert_eq!(keys[..runs], *b"abc");
/// assert_eq!(sums[..runs], [1.5, 2.0, 4.0]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`unique_by_key`].
pub fn reduce_by_key<K: Movable + Send + Sync, V: Item>(
    operator: Operator,
    keys: &[K],
    values: &[V],
    keys_out: &mut [K],
    values_out: &mut [V],
) -> Result<usize> {
    REDUCE_BY_KEY.check_pairs((keys, values), (keys_out, values_out))?;
    Ok(with_monoid!(operator, V, M => {
        let by_key = ByKey { fold: &Known::<M<V>>(PhantomData), keys, values };
        by_key.reduce(keys_out, values_out, M::<V>::lower)
    }))
}

/// Combines the values of each run of equal keys by an operator of your own. Otherwise like [`reduce_by_key`].
///
/// `identity`, `lift` and `combine` are those of [`custom::cpu::reduce`](crate::custom::cpu::reduce). The bits are
/// those of [`ReduceByKey::with_operator`](super::ReduceByKey::with_operator) on any GPU.
///
/// ```
/// use compaction::runs::cpu;
///
/// let (mut keys, mut any) = ([0_u8; 4], [0; 4]);
/// let (lift, or) = (|item| item, |left: u32, right| left | right);
/// let runs = cpu::reduce_by_key_with(0, lift, or, b"aabc", &[1, 4, 2, 0], &mut keys, &mut any)?;
/// assert_eq!(any[..runs], [5, 2, 0]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`unique_by_key`].
pub fn reduce_by_key_with<K: Movable + Send + Sync, V: Copy + Send + Sync>(
    identity: V,
    lift: impl Fn(V) -> V + Sync,
    combine: impl Fn(V, V) -> V + Sync,
    keys: &[K],
    values: &[V],
    keys_out: &mut [K],
    values_out: &mut [V],
) -> Result<usize> {
    REDUCE_BY_KEY.check_pairs((keys, values), (keys_out, values_out))?;
    let with = With::new(identity, lift, combine);
    let by_key = ByKey {
        fold: &with,
        keys,
        values,
    };
    Ok(by_key.reduce(keys_out, values_out, |value| value))
}

/// Writes to `out`, for each item, the combination of `initial` and of all items before it in its run.
///
/// The initial value of a plain scan is the operator's identity, such as 0. The bits of floating-point sums are those
/// of [`ScanByKey`](super::ScanByKey) on any GPU.
///
/// ```
/// use compaction::runs::{Operator, cpu};
///
/// let mut out = [0; 4];
/// cpu::exclusive_scan_by_key(Operator::Sum, 100, b"aaab", &[3, 1, 4, 1], &mut out)?;
/// assert_eq!(out, [100, 103, 104, 100]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`unique_by_key`].
pub fn exclusive_scan_by_key<K: Movable + Send + Sync, V: Item>(
    operator: Operator,
    initial: V,
    keys: &[K],
    values: &[V],
    out: &mut [V],
) -> Result<()> {
    scan_by_key(operator, initial, keys, values, out, false)
}

/// Writes to `out`, for each item, the combination of `initial`, of all items before it in its run, and of the item
/// itself. Otherwise like [`exclusive_scan_by_key`].
///
/// ```
/// use compaction::runs::{Operator, cpu};
///
/// let mut out = [0; 4];
/// cpu::inclusive_scan_by_key(Operator::Max, i32::MIN, b"aaab", &[3, 1, 4, 1], &mut out)?;
/// assert_eq!(out, [3, 3, 4, 1]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`unique_by_key`].
pub fn inclusive_scan_by_key<K: Movable + Send + Sync, V: Item>(
    operator: Operator,
    initial: V,
    keys: &[K],
    values: &[V],
    out: &mut [V],
) -> Result<()> {
    scan_by_key(operator, initial, keys, values, out, true)
}

/// Scans the values of each run by an operator of your own. Otherwise like [`exclusive_scan_by_key`].
///
/// `identity`, `lift` and `combine` are those of [`custom::cpu::reduce`](crate::custom::cpu::reduce). The bits are
/// those of [`ScanByKey::with_operator`](super::ScanByKey::with_operator) on any GPU.
///
/// ```
/// use compaction::runs::cpu;
///
/// let mut products = [0; 4];
/// let (lift, product) = (|item| item, |left: u32, right| left * right);
/// cpu::exclusive_scan_by_key_with(1, lift, product, 1, b"aaab", &[3, 2, 4, 5], &mut products)?;
/// assert_eq!(products, [1, 3, 6, 1]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`unique_by_key`].
pub fn exclusive_scan_by_key_with<K: Movable + Send + Sync, V: Copy + Send + Sync>(
    identity: V,
    lift: impl Fn(V) -> V + Sync,
    combine: impl Fn(V, V) -> V + Sync,
    initial: V,
    keys: &[K],
    values: &[V],
    out: &mut [V],
) -> Result<()> {
    let with = With::new(identity, lift, combine);
    scan_pairs(&with, initial, (keys, values), (out, false), |value| value)
}

/// Scans the values of each run by an operator of your own. Otherwise like [`inclusive_scan_by_key`].
///
/// `identity`, `lift` and `combine` are those of [`custom::cpu::reduce`](crate::custom::cpu::reduce). The bits are
/// those of [`ScanByKey::with_operator`](super::ScanByKey::with_operator) on any GPU.
///
/// ```
/// use compaction::runs::cpu;
///
/// let mut products = [0; 4];
/// let (lift, product) = (|item| item, |left: u32, right| left * right);
/// cpu::inclusive_scan_by_key_with(1, lift, product, 1, b"aaab", &[3, 2, 4, 5], &mut products)?;
/// assert_eq!(products, [3, 6, 24, 5]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`unique_by_key`].
pub fn inclusive_scan_by_key_with<K: Movable + Send + Sync, V: Copy + Send + Sync>(
    identity: V,
    lift: impl Fn(V) -> V + Sync,
    combine: impl Fn(V, V) -> V + Sync,
    initial: V,
    keys: &[K],
    values: &[V],
    out: &mut [V],
) -> Result<()> {
    let with = With::new(identity, lift, combine);
    scan_pairs(&with, initial, (keys, values), (out, true), |value| value)
}

fn scan_by_key<K: Movable + Send + Sync, V: Item>(
    operator: Operator,
    initial: V,
    keys: &[K],
    values: &[V],
    out: &mut [V],
    inclusive: bool,
) -> Result<()> {
    with_monoid!(operator, V, M => {
        let (known, initial) = (Known::<M<V>>(PhantomData), M::<V>::lift(initial));
        scan_pairs(&known, initial, (keys, values), (out, inclusive), M::<V>::lower)
    })
}

fn scan_pairs<K: Movable + Send + Sync, V: Copy + Send + Sync, F: Fold<V>>(
    fold: &F,
    initial: F::Value,
    (keys, values): (&[K], &[V]),
    (out, inclusive): (&mut [V], bool),
    lower: impl Fn(F::Value) -> V + Sync,
) -> Result<()> {
    SCAN_BY_KEY.check_values(keys.len(), values.len())?;
    check_room(SCAN_BY_KEY.keys.output, out.len(), keys.len())?;
    ByKey { fold, keys, values }.scan(initial, inclusive, out, lower);
    Ok(())
}

/// Values that are combined over runs of equal keys.
struct ByKey<'a, F, K, V> {
    fold: &'a F,
    keys: &'a [K],
    values: &'a [V],
}

impl<K: Movable + Send + Sync, V: Copy + Send + Sync, F: Fold<V>> ByKey<'_, F, K, V> {
    /// Calls `put` for the parts of each tile that `take` takes off the outputs for a number of runs and the number of
    /// all runs before. `put` also gets what all tiles before add. Returns what all tiles add.
    fn each_tile<O: Send, P>(
        &self,
        outputs: O,
        take: impl Fn(&mut O, usize, usize) -> P + Sync,
        put: impl Fn(Range<usize>, &TileSums<F::Value>, P, Segment<F::Value>) + Sync,
    ) -> (O, Segment<F::Value>) {
        let segmented = Segmented(self.fold);
        let none: Segment<F::Value> = segmented.identity();
        let rows = rows(size_of::<K>() + size_of::<V>());
        let mut state = (outputs, Prefixes::new(none), none);
        chained_scan(
            ranges(self.keys.len(), tile_items(rows)),
            &mut state,
            |range| {
                let items = range.clone();
                let items = items.map(|at| (self.values[at], is_head(self.keys, at)));
                combine_tile(self.fold, items, rows)
            },
            |(outputs, prefixes, all), tile| {
                let before = prefixes.add(self.fold, tile.total);
                *all = segmented.combine(before, tile.total);
                let parts = take(outputs, tile.total.heads, before.heads);
                (parts, tile, before)
            },
            |range, (parts, tile, before)| put(range, &tile, parts, before),
        );
        (state.0, state.2)
    }

    /// Combines the values of each run, and returns the number of runs.
    fn reduce(
        &self,
        keys_out: &mut [K],
        values_out: &mut [V],
        lower: impl Fn(F::Value) -> V + Sync,
    ) -> usize {
        let outputs = (Output(keys_out), Output(values_out));
        let (mut outputs, all) = self.each_tile(
            outputs,
            |(keys, values), heads, before| {
                // Each head ends the run before it, except for the first head of all.
                let ended = heads - usize::from(before == 0 && heads > 0);
                (keys.take(heads), values.take(ended))
            },
            |range, tile, (keys_out, values_out), before| {
                let (mut keys_out, mut values_out) = (keys_out.iter_mut(), values_out.iter_mut());
                self.each_item(range, tile, before, |at, is_head, before, in_tile| {
                    if !is_head {
                        return;
                    }
                    if let Some(key) = keys_out.next() {
                        *key = self.keys[at];
                    }
                    if at > 0
                        && let Some(value) = values_out.next()
                    {
                        *value = lower(self.continued(before, in_tile));
                    }
                });
            },
        );
        if all.heads > 0 {
            outputs.1.take(1)[0] = lower(all.sum);
        }
        all.heads
    }

    /// Writes the prefixes of each run.
    fn scan(
        &self,
        initial: F::Value,
        inclusive: bool,
        out: &mut [V],
        lower: impl Fn(F::Value) -> V + Sync,
    ) {
        let tile = tile_items(rows(size_of::<K>() + size_of::<V>()));
        let out = &mut out[..self.keys.len()];
        // Tiles take their part of the output in order.
        let _ = self.each_tile(
            out.chunks_mut(tile),
            |tiles, _, _| tiles.next(),
            |range, tile, out, before| {
                let first = range.start;
                let Some(out) = out else { return };
                self.each_item(range, tile, before, |at, is_head, before, in_tile| {
                    let own = self.fold.lift(self.values[at], 0);
                    let prefix = match (inclusive, is_head) {
                        (false, false) => self.continued(before, in_tile),
                        (false, true) => self.fold.identity(),
                        (true, false) => self.continued(before, self.fold.combine(in_tile, own)),
                        (true, true) => own,
                    };
                    out[at - first] = lower(self.fold.combine(initial, prefix));
                });
            },
        );
    }

    /// Combines the values of a run in a tile with those in earlier tiles, if the run began there.
    fn continued(&self, before: Option<F::Value>, in_tile: F::Value) -> F::Value {
        before.map_or(in_tile, |before| self.fold.combine(before, in_tile))
    }

    /// Calls `visit` for each item of a tile with its index, whether it is a head, and the combined values of the run
    /// before it: those in earlier tiles, unless the run began in this one, and those in this tile.
    fn each_item(
        &self,
        range: Range<usize>,
        tile: &TileSums<F::Value>,
        before: Segment<F::Value>,
        mut visit: impl FnMut(usize, bool, Option<F::Value>, F::Value),
    ) {
        let first = range.start;
        let mut before = Some(before.sum);
        let mut in_tile = self.fold.identity();
        for at in range {
            if (at - first).is_multiple_of(4) {
                in_tile = tile.before[(at - first) / 4].sum;
            }
            let is_head = is_head(self.keys, at);
            visit(at, is_head, before, in_tile);
            let own = self.fold.lift(self.values[at], 0);
            in_tile = if is_head {
                own
            } else {
                self.fold.combine(in_tile, own)
            };
            if is_head {
                before = None;
            }
        }
    }
}
