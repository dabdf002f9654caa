//! The operators of a scan, as monoids over the item types. Twin: `kernels/monoid.cuh`.

#[cfg(feature = "cuda")]
use crate::cuda::Source;
use crate::{layout::Shared, names::known_by_name};

/// The associative operator that combines items: sum, minimum or maximum.
///
/// The exclusive prefix of the first item is the operator's identity element.
///
/// ```
/// use compaction::scan::Operator;
///
/// assert_eq!("max".parse(), Ok(Operator::Max));
/// assert_eq!(Operator::ALL.len(), 3);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Addition with identity 0. Integers wrap around on overflow.
    #[default]
    Sum,
    /// Minimum. The identity is the largest value of the type, which is +∞ for floats. -0 is less than +0, and NaNs are
    /// ignored.
    Min,
    /// Maximum. The identity is the smallest value of the type, which is -∞ for floats. +0 is greater than -0, and NaNs
    /// are ignored.
    Max,
}

impl Operator {
    /// All operators: sum, minimum, maximum.
    pub const ALL: &[Self] = &[Self::Sum, Self::Min, Self::Max];

    /// Returns the operator's name as parsed and displayed: `sum`, `min` or `max`.
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

    /// Returns the name of the operator's struct in `kernels/monoid.cuh`.
    pub(crate) fn cuda_name(self) -> &'static str {
        match self {
            Self::Sum => "Sum",
            Self::Min => "Min",
            Self::Max => "Max",
        }
    }
}

known_by_name!(Operator, "operator");

/// Adds to a kernel source the header `operator`, which defines the monoid of a known operator over items of type `T`.
#[cfg(feature = "cuda")]
pub(crate) fn operator_header<T: Item>(source: Source, operator: Operator) -> Source {
    let (name, item) = (operator.cuda_name(), T::NAME);
    let text = format!(
        "// Combines items of type Item. Results are of type Out.\n\
         struct Monoid : {name}<{item}> {{\n\
         \x20   using Item = {item};\n\
         \x20   using Out = {item};\n\
         \x20   static constexpr bool COMMUTATIVE = true;\n\
         \x20   static __device__ __forceinline__ Value raise(Out out) {{ return lift(out); }}\n\
         }};\n"
    );
    source.header("operator", text)
}

/// A number type of scans and reductions: `u32`, `i32`, `u64`, `i64`, `f32` or `f64`. Others need a [custom
/// operator](crate::custom).
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
/// The trait is sealed: other crates cannot implement it.
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number type of scans and reductions: these are u32, i32, u64, i64, f32 and f64",
    note = "other types take an operator in CUDA C++: see `compaction::custom`"
)]
pub trait Item: Shared + Send + Sync + PartialEq + Operators {}

/// An associative operation with an identity, over values of the type `Value`. Items of type `T` are converted to
/// values (`lift`), and results back to items (`lower`).
pub trait Monoid<T>: Send + Sync {
    /// The type in which values are combined: the item type, or an integer whose order is that of the floats.
    type Value: Copy + Send + Sync;
    /// The identity element: combining it with a value returns that value.
    const IDENTITY: Self::Value;
    /// Whether the grouping of combinations does not affect the bits of the result. `false` for sums of floats.
    const EXACT: bool;

    /// Converts an item to a value.
    fn lift(item: T) -> Self::Value;
    /// Converts a value to an item.
    fn lower(value: Self::Value) -> T;
    /// Combines two adjacent values; `left` comes first in the sequence.
    fn combine(left: Self::Value, right: Self::Value) -> Self::Value;
}

mod sealed {
    use super::Monoid;

    pub trait Operators: Sized {
        type Sum: Monoid<Self, Value: PartialEq>;
        type Min: Monoid<Self, Value: PartialEq>;
        type Max: Monoid<Self, Value: PartialEq>;
    }
}
pub(crate) use sealed::Operators;

/// Evaluates `$body` with the type `$monoid<T>` bound to the monoid of `$operator` over `T`.
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

            /// Converts -0 to +0, because otherwise adding the identity 0 would change -0.
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

/// Maps the bits of a float to a signed integer of the same order, and back. Negative floats order opposite to their
/// bits.
macro_rules! turned {
    ($bits:expr, $key:ident) => {
        if $bits < 0 { $bits ^ $key::MAX } else { $bits }
    };
}

/// Implements [`Min`], [`Max`], [`Operators`] and [`Item`] for a number type. Minimum and maximum compare items as
/// integers of type `$key`.
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

integers!(u32, i32, u64, i64);
floats!(f32 i32 u32, f64 i64 u64);
