//! Chapter 5: sums over rectangles.
//!
//! A scan along each row and then along each column gives, at each entry of a table, the sum of everything above and to
//! the left. The sum over *any* rectangle then takes four look-ups, however large it is:
//!
//! ```text
//! ┌───┬──────┐
//! │ A │  B   │       table at the corner of D is A + B + C + D
//! ├───┼──────┤       D = (A+B+C+D) − (A+B) − (A+C) + A
//! │ C │  D   │
//! └───┴──────┘
//! ```
//!
//! ```
//! let mut table = [0; 9];
//! compaction::summed_area::cpu::table(&[1, 2, 3,
//!                                       4, 5, 6,
//!                                       7, 8, 9], (3, 3), &mut table)?;
//! let upto = |x: usize, y: usize| table[3 * y + x];
//! // 5 + 6 + 8 + 9
//! assert_eq!(upto(2, 2) - upto(2, 0) - upto(0, 2) + upto(0, 0), 28);
//! # Ok::<(), compaction::Error>(())
//! ```
//!
//! Blurs of any width, mean and variance over windows, and sampling by brightness use such tables (F. C. Crow,
//! "Summed-Area Tables for Texture Mapping", SIGGRAPH 1984).
//!
//! * **`scan-transpose`** scans the rows, transposes, scans the former columns, and transposes back. Columns could be
//!   scanned directly, but neighbours in a column are far apart in memory; the transpositions turn every access into
//!   whole sectors. Each of the four launches reads and writes the table: 161 µs for 4096² `f32`, which a copy moves in
//!   36 µs.
//! * **`single-pass`** is look-back in two directions: a block that has summed its tile looks left for the sums of its
//!   rows, then up for the sums of its columns, and writes. The table is read and written once: 57 µs, the default.
//!
//! Integers wrap around, and differences are still correct. Sums of floats lose precision as the table grows, because
//! the four look-ups are large and their difference is small: prefer `f64`, or fixed-point integers.
//!
//! Next: [`call`](super::call).
