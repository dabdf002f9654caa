//! The inputs of the scan tests, and the expected results.

use std::fmt::Debug;

use compaction::scan::{Item, Operator};
use rand::RngExt;

use crate::random::Random;

/// Items of 4 bytes in a tile of 32 KiB. Items of 8 bytes, and tiles of block sums, have half as many.
const TILE: usize = 8192;

/// Lengths around every limit of an implementation, and those of CUB's tests.
pub(crate) const SIZES: &[usize] = &[
    0,              // nothing
    1,              // no step, no tree
    2,              //
    3,              //
    10,             // of CUB's tests
    31,             // a warp
    33,             //
    127,            // a row of a warp, of 4-byte items
    128,            //
    129,            //
    511,            // a warp's share of a tile
    513,            //
    1337,           // of CUB's tests
    TILE / 4 - 1,   // a tile of block sums, of 8-byte items
    TILE / 4 + 1,   //
    3000,           // of CUB's tests
    3968,           //
    TILE / 2 - 1,   // a tile of block sums, and one of 8-byte items
    TILE / 2,       //
    TILE / 2 + 1,   //
    TILE - 1,       // a tile
    TILE,           //
    TILE + 1,       //
    10_000,         // of CUB's tests
    (1 << 16) - 1,  // where the CPU begins to use threads, and a power of two
    1 << 16,        //
    (1 << 16) + 1,  //
    140 * TILE + 5, // more tiles than one look back reads at once
    (1 << 20) + 3,  // a whole segment of the CPU's, and many blocks on every multiprocessor
];

/// A length with a third level of tile totals, and more tiles than any GPU runs at once.
pub(crate) const LARGE: usize = (1 << 24) + 3;

/// The distribution of the items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Data {
    /// Equal items.
    Constant,
    /// Arbitrary bits for integers; for floats, small whole numbers whose sums are exact.
    Random,
    /// Arbitrary bits for integers; for floats, any numbers with infinities, both zeros and NaNs.
    AnyBits,
}

/// An item type with a naive definition of each operator.
pub(crate) trait Number: Item + Debug {
    const FLOAT: bool;
    const LOWEST: Self;
    const HIGHEST: Self;
    const ZERO: Self;
    /// A NaN, if the type has one.
    #[allow(dead_code, reason = "the tests of reductions use it")]
    const NOT_A_NUMBER: Option<Self>;

    fn whole(number: usize) -> Self;
    fn random(data: Data, random: &mut Random) -> Self;
    fn add(self, other: Self) -> Self;
    fn below(self, other: Self) -> bool;
    /// Returns whether the item is NaN.
    fn is_not_a_number(self) -> bool;
}

macro_rules! integers {
    ($($number:ident),+) => {$(
        impl Number for $number {
            const FLOAT: bool = false;
            const LOWEST: Self = $number::MIN;
            const HIGHEST: Self = $number::MAX;
            const ZERO: Self = 0;
            const NOT_A_NUMBER: Option<Self> = None;

            fn whole(number: usize) -> Self {
                number as $number
            }
            fn random(_: Data, random: &mut Random) -> Self {
                random.random::<u64>() as $number
            }
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn below(self, other: Self) -> bool {
                self < other
            }
            fn is_not_a_number(self) -> bool {
                false
            }
        }
    )+};
}
integers!(u32, i32, u64, i64);

macro_rules! floats {
    ($($number:ident $bits:ident),+) => {$(
        impl Number for $number {
            const FLOAT: bool = true;
            const LOWEST: Self = $number::NEG_INFINITY;
            const HIGHEST: Self = $number::INFINITY;
            const ZERO: Self = 0.0;
            const NOT_A_NUMBER: Option<Self> = Some($number::NAN);

            fn whole(number: usize) -> Self {
                number as $number
            }
            fn random(data: Data, random: &mut Random) -> Self {
                let special = [0.0, -0.0, $number::NAN, $number::INFINITY, $number::NEG_INFINITY];
                match (data, random.random_range(0..4)) {
                    (Data::AnyBits, 0) => special[random.random_range(0..5)],
                    (Data::AnyBits, _) => $number::from_bits(random.random::<u64>() as $bits),
                    _ => random.random_range(0..7) as $number - 3.0,
                }
            }
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn below(self, other: Self) -> bool {
                self < other || self == other && self.is_sign_negative() && !other.is_sign_negative()
            }
            fn is_not_a_number(self) -> bool {
                self.is_nan()
            }
        }
    )+};
}
floats!(f32 u32, f64 u64);

/// Returns `len` items of this distribution.
pub(crate) fn items<T: Number>(len: usize, data: Data, random: &mut Random) -> Vec<T> {
    let first = T::random(data, random);
    let mut item = || match data {
        Data::Constant => first,
        Data::Random | Data::AnyBits => T::random(data, random),
    };
    (0..len).map(|_| item()).collect()
}

/// Computes the scan naively, one item after the other.
pub(crate) fn naive<T: Number>(operator: Operator, items: &[T], inclusive: bool) -> Vec<T> {
    let mut before = match operator {
        Operator::Sum => T::ZERO,
        Operator::Min => T::HIGHEST,
        Operator::Max => T::LOWEST,
    };
    let mut prefixes = Vec::with_capacity(items.len());
    for &item in items {
        let exclusive = before;
        before = match operator {
            Operator::Sum => before.add(item),
            _ if item.is_not_a_number() => before,
            Operator::Min => {
                if item.below(before) {
                    item
                } else {
                    before
                }
            }
            Operator::Max => {
                if before.below(item) {
                    item
                } else {
                    before
                }
            }
        };
        prefixes.push(if inclusive { before } else { exclusive });
    }
    prefixes
}

/// Asserts equal bits, except for NaN payloads.
pub(crate) fn same<T: Number>(left: T, right: T) -> bool {
    bytemuck::bytes_of(&left) == bytemuck::bytes_of(&right)
        || left.is_not_a_number() && right.is_not_a_number()
}

/// Asserts that all items are the same by [`same`].
pub(crate) fn assert_same<T: Number>(got: &[T], expected: &[T], case: &str) {
    assert_eq!(got.len(), expected.len(), "{case}");
    let wrong = got
        .iter()
        .zip(expected)
        .position(|(&got, &expected)| !same(got, expected));
    if let Some(at) = wrong {
        panic!(
            "{case}: prefix {at} is {:?}, not {:?}",
            got[at], expected[at]
        );
    }
}
