//! Stream compaction of several columns on the CPU.

use bytemuck::Pod;

use super::{MAX_BYTES, check_columns};
use crate::{
    Result,
    arguments::{check_len, check_range},
    parallel,
    select::{self, check_item},
};

/// Number of items per chunk that a thread processes at a time.
const CHUNK_ITEMS: usize = 1 << 13;

/// A column: a slice of its items, and a slice that receives its selected items.
///
/// ```
/// use compaction::select_columns::cpu::{Column, columns};
///
/// let mut kept = [0_u16; 3];
/// columns(&[0, 1, 1], &mut [Column::new(&[7_u16, 8, 9], &mut kept)])?;
/// assert_eq!(kept, [8, 9, 0]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Column<'a> {
    bytes: usize,
    items: &'a [u8],
    out: &'a mut [u8],
}

impl<'a> Column<'a> {
    /// Creates a column from its items and its output. An item has 1 to 64 bytes; another size does not compile.
    /// [`columns`] checks the lengths.
    ///
    /// ```
    /// use compaction::select_columns::cpu::{Column, columns};
    ///
    /// let mut out = [0.0; 3];
    /// columns(&[1, 0, 1], &mut [Column::new(&[0.5_f32, 1.5, 2.5], &mut out)])?;
    /// assert_eq!(out, [0.5, 2.5, 0.0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn new<T: Pod>(items: &'a [T], out: &'a mut [T]) -> Self {
        const { check_item::<T>() };
        Self {
            bytes: size_of::<T>(),
            items: bytemuck::cast_slice(items),
            out: bytemuck::cast_slice_mut(out),
        }
    }

    /// Creates a column of items of `bytes` bytes, 1 to 64, from all its bytes.
    ///
    /// ```
    /// use compaction::select_columns::cpu::{Column, columns};
    ///
    /// let mut out = [0; 6];
    /// columns(&[0, 1], &mut [Column::of_bytes(3, b"abcdef", &mut out)?])?;
    /// assert_eq!(out[..3], *b"def");
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for another size, and
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if the bytes of the items are not a multiple of `bytes`.
    pub fn of_bytes(bytes: usize, items: &'a [u8], out: &'a mut [u8]) -> Result<Self> {
        check_range("the bytes of a column's item", bytes, 1, MAX_BYTES)?;
        let whole = items.len() / bytes * bytes;
        check_len("the bytes of a column", items.len(), whole)?;
        Ok(Self { bytes, items, out })
    }
}

/// Defines the operation: returns, for each column, the items whose flag is nonzero, in order, until the column's items
/// or the flags end.
///
/// ```
/// use compaction::select_columns::cpu::specification;
///
/// let columns = specification(&[&["a", "b", "c"], &["x", "y", "z"]], &[1, 0, 7]);
/// assert_eq!(columns, [["a", "c"], ["x", "z"]]);
/// ```
pub fn specification<T: Copy>(columns: &[&[T]], flags: &[u8]) -> Vec<Vec<T>> {
    let kept = |column: &&[T]| select::cpu::specification(column.iter().copied(), flags).collect();
    columns.iter().map(kept).collect()
}

/// Writes the items of each column whose flag is nonzero to the column's output, in order, and returns the number of
/// nonzero flags.
///
/// If an output is shorter than the result, all outputs receive as many items as the shortest one has room for, and the
/// full number is returned. Entries behind the result keep their values. Rejected items are not read.
///
/// ```
/// use compaction::select_columns::cpu::{Column, columns};
///
/// let (mut pixels, mut seeds) = ([0_u32; 3], [0_u64; 3]);
/// let kept = columns(
///     &[1, 0, 7],
///     &mut [Column::new(&[7, 8, 9], &mut pixels), Column::new(&[70, 80, 90], &mut seeds)],
/// )?;
/// assert_eq!((kept, pixels, seeds), (2, [7, 9, 0], [70, 90, 0]));
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) unless there are 1 to 8 columns, and
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if a column has not as many items as there are flags.
pub fn columns(flags: &[u8], columns: &mut [Column<'_>]) -> Result<usize> {
    let shortest = check(flags, columns)?;
    let chunks = flags.chunks(CHUNK_ITEMS);
    let counts = parallel::map(chunks.clone(), |_, flags| select::cpu::count(flags));

    // Every chunk gets its part of each output.
    let mut parts: Vec<Vec<Part<'_>>> = counts.iter().map(|_| Vec::new()).collect();
    for column in columns {
        let items = column.items.chunks(CHUNK_ITEMS * column.bytes);
        let mut rest = &mut column.out[..shortest * column.bytes];
        for ((parts, items), &count) in parts.iter_mut().zip(items).zip(&counts) {
            let (out, behind) = rest.split_at_mut(rest.len().min(count * column.bytes));
            rest = behind;
            parts.push(Part {
                bytes: column.bytes,
                items,
                out,
            });
        }
    }
    parallel::for_each(chunks.zip(parts), |_, (flags, parts)| {
        let mut places = [0_u16; CHUNK_ITEMS];
        let places = places_of(flags, &mut places);
        parts.into_iter().for_each(|part| part.keep(places));
    });
    Ok(counts.iter().sum())
}

/// The part of a column that belongs to one chunk: its input items and its part of the output, as bytes.
struct Part<'a> {
    bytes: usize,
    items: &'a [u8],
    out: &'a mut [u8],
}

impl Part<'_> {
    /// Copies the items at `places`, which are indices within the chunk, to the output.
    fn keep(self, places: &[u16]) {
        for (out, &place) in self.out.chunks_exact_mut(self.bytes).zip(places) {
            out.copy_from_slice(&self.items[usize::from(place) * self.bytes..][..self.bytes]);
        }
    }
}

/// Writes the indices of the nonzero flags within a chunk to `places` and returns them. There is no branch, which
/// random flags would mispredict half the time.
fn places_of<'a>(flags: &[u8], places: &'a mut [u16; CHUNK_ITEMS]) -> &'a [u16] {
    let mut kept = 0;
    for (place, &flag) in (0..).zip(flags) {
        places[kept] = place;
        kept += usize::from(flag != 0);
    }
    &places[..kept]
}

/// Checks the number of columns and the lengths of their inputs. Returns the length of the shortest output.
fn check(flags: &[u8], columns: &[Column<'_>]) -> Result<usize> {
    check_columns(columns.len())?;
    for column in columns {
        let items = column.items.len() / column.bytes;
        check_len("a column of select_columns", items, flags.len())?;
    }
    let rooms = columns.iter().map(|column| column.out.len() / column.bytes);
    Ok(rooms.min().unwrap_or(0))
}
