//! Chapter 5: sums over rectangles.
//!
//! A scan along each row and then along each column gives, at each place of a table, the sum of everything above and to
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
//! Blurs of any width, mean and variance over windows, and sampling from a picture's brightness rest on it (F. C. Crow,
//! "Summed-Area Tables for Texture Mapping", SIGGRAPH 1984).
//!
//! * **`scan-transpose`** scans the rows, transposes, scans what were the columns, and transposes back. Columns could be
//!   scanned as they are, but neighbours in a column lie far apart; the transpositions turn every access into whole
//!   sectors. Four launches, each of which reads and writes the table: 161 µs at 4096² `f32`, which are copied in 36.
//! * **`single-pass`** is look-back in two directions: a block that has summed its tile looks to the left for what its
//!   rows bring along, then up for its columns, and writes. The table is read and written once: 57 µs, the default.
//!
//! Integers wrap around, and differences come out right all the same. Sums of floats lose digits as the table grows,
//! since the four look-ups are large and their difference is small: prefer `f64`, or integers of a fixed scale.
//!
//! Next: [`call`](super::call).
