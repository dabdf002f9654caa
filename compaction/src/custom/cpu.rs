//! Reductions and scans by closures on the CPU.

use crate::{
    Result,
    arguments::check_room,
    chained_scan::chained_scan,
    fold::{Fold, With},
    reduce::tree,
    tiles::{
        tile_items,
        tree::{Prefixes, Segmented, combine_tile},
    },
};

/// Returns the combination of all items; without items, the identity.
///
/// `lift` converts an item to a value, and `combine` combines two values, of which the left one comes first. It must be
/// associative, and combining a value with `identity` must return the value. The bits are those of
/// [`CustomReduce`](super::CustomReduce) on any GPU, for any number of threads.
///
/// ```
/// use compaction::custom::cpu;
///
/// let product = cpu::reduce(1_u64, u64::from, |left, right| left * right, &[2_u8, 3, 7]);
/// assert_eq!(product, 42);
/// ```
pub fn reduce<T, V>(
    identity: V,
    lift: impl Fn(T) -> V + Sync,
    combine: impl Fn(V, V) -> V + Sync,
    items: &[T],
) -> V
where
    T: Copy + Send + Sync,
    V: Copy + Send + Sync,
{
    let with = With::new(identity, lift, combine);
    tree::reduce(&with, items)
}

/// Writes to `out`, for each item, the combination of `initial` and of all items before it. Returns the combination of
/// `initial` and of all items.
///
/// `identity`, `lift` and `combine` are those of [`reduce`]. Entries of `out` behind the result keep their values. The
/// bits are those of [`CustomScan`](super::CustomScan) on any GPU.
///
/// ```
/// use compaction::custom::cpu;
///
/// let mut offsets = [0_u32; 4];
/// let total = cpu::exclusive(0, u32::from, |left, right| left + right, 100, &[1_u8, 0, 1, 1], &mut offsets)?;
/// assert_eq!((offsets, total), ([100, 101, 101, 102], 103));
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `items`.
pub fn exclusive<T, V>(
    identity: V,
    lift: impl Fn(T) -> V + Sync,
    combine: impl Fn(V, V) -> V + Sync,
    initial: V,
    items: &[T],
    out: &mut [V],
) -> Result<V>
where
    T: Copy + Send + Sync,
    V: Copy + Send + Sync,
{
    let with = With::new(identity, lift, combine);
    scan(&with, initial, items, (out, false))
}

/// Writes to `out`, for each item, the combination of `initial` and of all items up to and including it. Returns the
/// combination of `initial` and of all items. Otherwise like [`exclusive`].
///
/// ```
/// use compaction::custom::cpu;
///
/// let compose = |(a, b): (f32, f32), (c, d)| (a * c, b * c + d);
/// let mut out = [(0.0, 0.0); 3];
/// let identity = (1.0, 0.0);
/// cpu::inclusive(identity, |item| item, compose, identity, &[(1.0, 2.0), (3.0, 0.0), (1.0, 1.0)], &mut out)?;
/// assert_eq!(out, [(1.0, 2.0), (3.0, 6.0), (3.0, 7.0)]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `items`.
pub fn inclusive<T, V>(
    identity: V,
    lift: impl Fn(T) -> V + Sync,
    combine: impl Fn(V, V) -> V + Sync,
    initial: V,
    items: &[T],
    out: &mut [V],
) -> Result<V>
where
    T: Copy + Send + Sync,
    V: Copy + Send + Sync,
{
    let with = With::new(identity, lift, combine);
    scan(&with, initial, items, (out, true))
}

/// Scans `items`, and returns the combination of all.
fn scan<T: Copy + Send + Sync, F: Fold<T>>(
    fold: &F,
    initial: F::Value,
    items: &[T],
    (out, inclusive): (&mut [F::Value], bool),
) -> Result<F::Value> {
    check_room("the output of custom_scan", out.len(), items.len())?;
    let rows = super::rows(size_of::<T>(), size_of::<F::Value>());
    let tile = tile_items(rows);
    let segmented = Segmented(fold);
    let none = segmented.identity();
    let mut state = (Prefixes::new(none), fold.identity());
    chained_scan(
        items.chunks(tile).zip(out.chunks_mut(tile)),
        &mut state,
        |(items, _)| combine_tile(fold, items.iter().map(|&item| (item, false)), rows),
        |(prefixes, all), tile| {
            let before = prefixes.add(fold, tile.total).sum;
            *all = fold.combine(before, tile.total.sum);
            (tile.before, before)
        },
        |(items, out), (quads, before)| {
            for ((items, out), quad) in items.chunks(4).zip(out.chunks_mut(4)).zip(quads) {
                let mut sum = quad.sum;
                for (&item, out) in items.iter().zip(out) {
                    let with_item = fold.combine(sum, fold.lift(item, 0));
                    let own = if inclusive { with_item } else { sum };
                    *out = fold.combine(initial, fold.combine(before, own));
                    sum = with_item;
                }
            }
        },
    );
    Ok(fold.combine(initial, state.1))
}
