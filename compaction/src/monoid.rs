//! What scans combine, and how. Twin: `kernels/monoid.cuh`.

use crate::{layout::Shared, names::known_by_name};

/// How items are combined: an associative operation, and its identity, which is what is before the first item.
///
/// ```
/// use compaction::scan::Operator;
///
/// assert_eq!("max".parse(), Ok(Operator::Max));
/// assert_eq!(Operator::ALL.len(), 3);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Adds, from 0 on. Integers wrap around.
    #[default]
    Sum,
    /// The least. Its identity is the type's greatest value, an infinity for floating point. There -0 is less than 0,
    /// and what is no number is passed over.
    Min,
    /// The greatest. Its identity is the type's least value, an infinity for floating point. There 0 is greater than
    /// -0, and what is no number is passed over.
    Max,
}

impl Operator {
    /// All operators.
    pub const ALL: &[Self] = &[Self::Sum, Self::Min, Self::Max];

    /// Its name, as it is written and read.
    ///
    /// ```
    /// assert_eq!(compaction::scan::Operator::Min.name(), "min");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    /// Its name in CUDA.
    pub(crate) fn cuda_name(self) -> &'static str {
        match self {
            Self::Sum => "Sum",
            Self::Min => "Min",
            Self::Max => "Max",
        }
    }
}

known_by_name!(Operator, "operator");

/// A number that can be scanned: `u32`, `i32`, `u64`, `f32`, `f64`.
///
/// ```
/// use compaction::scan::{Item, Operator, cpu};
///
/// fn running_maximum<T: Item>(items: &mut [T]) {
///     cpu::inclusive_in_place(Operator::Max, items);
/// }
/// let mut levels = [0.5, 2.0, 1.0];
/// running_maximum(&mut levels);
/// assert_eq!(levels, [0.5, 2.0, 2.0]);
/// ```
///
/// Not for implementation elsewhere.
///
/// ```
/// use compaction::scan::{Item, Operator, cpu};
///
/// fn total<T: Item>(items: &[T]) -> compaction::Result<Option<T>> {
///     let mut sums = items.to_vec();
///     cpu::inclusive(Operator::Sum, items, &mut sums)?;
///     Ok(sums.last().copied())
/// }
/// assert_eq!(total(&[0.5, 0.25, 8.0])?, Some(8.75));
/// # Ok::<(), compaction::Error>(())
/// ```
pub trait Item: Shared + Send + Sync + PartialEq + Operators {}

/// An operation on items by way of values, to which they are lifted and from which they are lowered.
pub trait Monoid<T>: Send + Sync {
    /// What is combined.
    type Value: Copy + Send + Sync;
    /// Leaves every value as it is.
    const IDENTITY: Self::Value;
    /// Whether values combine to the same bits in every order.
    const EXACT: bool;

    /// A value of an item.
    fn lift(item: T) -> Self::Value;
    /// The item of a value.
    fn lower(value: Self::Value) -> T;
    /// `right` comes behind `left`.
    fn combine(left: Self::Value, right: Self::Value) -> Self::Value;
}

mod sealed {
    use super::Monoid;

    pub trait Operators: Sized {
        type Sum: Monoid<Self>;
        type Min: Monoid<Self>;
        type Max: Monoid<Self>;
    }
}
pub(crate) use sealed::Operators;

/// Runs `$body` with `$monoid` for an operator on `$item`.
macro_rules! with_monoid {
    ($operator:expr, $item:ty, $monoid:ident => $body:expr) => {
        match $operator {
            $crate::monoid::Operator::Sum => {
                type $monoid<T> = <T as $crate::monoid::Operators>::Sum;
                $body
            }
            $crate::monoid::Operator::Min => {
                type $monoid<T> = <T as $crate::monoid::Operators>::Min;
                $body
            }
            $crate::monoid::Operator::Max => {
                type $monoid<T> = <T as $crate::monoid::Operators>::Max;
                $body
            }
        }
    };
}
pub(crate) use with_monoid;

pub struct Sum;
pub struct Min;
pub struct Max;

macro_rules! integers {
    ($($item:ident),+) => {$(
        impl Monoid<$item> for Sum {
            type Value = $item;
            const IDENTITY: $item = 0;
            const EXACT: bool = true;

            #[inline]
            fn lift(item: $item) -> $item {
                item
            }
            #[inline]
            fn lower(value: $item) -> $item {
                value
            }
            #[inline]
            fn combine(left: $item, right: $item) -> $item {
                left.wrapping_add(right)
            }
        }
        order!($item, $item, $item::MIN, $item::MAX, |item, _| item, |key| key);
    )+};
}

macro_rules! floats {
    ($($item:ident $key:ident $unsigned:ident),+) => {$(
        impl Monoid<$item> for Sum {
            type Value = $item;
            const IDENTITY: $item = 0.0;
            const EXACT: bool = false;

            /// -0 becomes 0: without it, 0 leaves every value as it is.
            #[inline]
            fn lift(item: $item) -> $item {
                0.0 + item
            }
            #[inline]
            fn lower(value: $item) -> $item {
                value
            }
            #[inline]
            fn combine(left: $item, right: $item) -> $item {
                left + right
            }
        }
        order!(
            $item,
            $key,
            !($item::INFINITY.to_bits() as $key),
            $item::INFINITY.to_bits() as $key,
            |item: $item, no_number| if item.is_nan() { no_number } else { turned!(item.to_bits() as $key, $key) },
            |key: $key| $item::from_bits(turned!(key, $key) as $unsigned)
        );
    )+};
}

/// Negative numbers are in the opposite order of their bits.
macro_rules! turned {
    ($bits:expr, $key:ident) => {
        if $bits < 0 { $bits ^ $key::MAX } else { $bits }
    };
}

/// The least and the greatest in an order of all items as integers.
macro_rules! order {
    ($item:ident, $key:ident, $lowest:expr, $highest:expr, $lift:expr, $lower:expr) => {
        order!(Min, $item, $key, $highest, min, $lift, $lower);
        order!(Max, $item, $key, $lowest, max, $lift, $lower);

        impl Operators for $item {
            type Sum = Sum;
            type Min = Min;
            type Max = Max;
        }
        impl Item for $item {}
    };
    ($monoid:ident, $item:ident, $key:ident, $identity:expr, $choose:ident, $lift:expr, $lower:expr) => {
        impl Monoid<$item> for $monoid {
            type Value = $key;
            const IDENTITY: $key = $identity;
            const EXACT: bool = true;

            #[inline]
            fn lift(item: $item) -> $key {
                $lift(item, <Self as Monoid<$item>>::IDENTITY)
            }
            #[inline]
            fn lower(value: $key) -> $item {
                $lower(value)
            }
            #[inline]
            fn combine(left: $key, right: $key) -> $key {
                left.$choose(right)
            }
        }
    };
}

integers!(u32, i32, u64);
floats!(f32 i32 u32, f64 i64 u64);
