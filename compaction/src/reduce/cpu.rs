//! Reductions on the CPU.

use std::marker::PhantomData;

use super::{Extreme, tree};
use crate::{
    fold::{Fold, Known},
    monoid::{Item, Monoid, Operator, with_monoid},
};

/// Returns the combination of all items; without items, the operator's identity.
///
/// Inputs of 65,536 items or more are processed in parallel. The bits of a floating-point sum are those of
/// [`Reduce`](super::Reduce) on any GPU, for any number of threads.
///
/// ```
/// use compaction::reduce::{Operator, cpu};
///
/// assert_eq!(cpu::items(Operator::Sum, &[3, 1, 4, 1, 5_u32]), 14);
/// assert_eq!(cpu::items(Operator::Max, &[0.5, f32::NAN, 2.0]), 2.0);
/// assert_eq!(cpu::items::<i32>(Operator::Min, &[]), i32::MAX);
/// ```
pub fn items<T: Item>(operator: Operator, items: &[T]) -> T {
    with_monoid!(operator, T, M => M::<T>::lower(tree::reduce(&Known::<M<T>>(PhantomData), items)))
}

/// Returns the index of the smallest or the largest item, and the item. Of equal items, the first one counts. NaNs are
/// ignored; without other items, the result is `None`.
///
/// ```
/// use compaction::reduce::{Extreme, cpu};
///
/// assert_eq!(cpu::arg(Extreme::Min, &[3, 1, 4, 1, 5]), Some((1, 1)));
/// assert_eq!(cpu::arg(Extreme::Max, &[f32::NAN, 0.5, 0.25]), Some((1, 0.5)));
/// assert_eq!(cpu::arg(Extreme::Max, &[f32::NAN]), None);
/// ```
pub fn arg<T: Item>(extreme: Extreme, items: &[T]) -> Option<(usize, T)> {
    with_monoid!(extreme.operator(), T, M => {
        let found = tree::reduce(&Arg::<M<T>>(PhantomData), items);
        found.map(|(index, key)| (index, M::<T>::lower(key)))
    })
}

/// The extreme of two items with its index, for a [`Monoid`] that is a minimum or a maximum.
struct Arg<M>(PhantomData<M>);

impl<T: Item, M: Monoid<T>> Fold<T> for Arg<M>
where
    M::Value: PartialEq,
{
    type Value = Option<(usize, M::Value)>;
    const EXACT: bool = true;
    const COMMUTATIVE: bool = true;

    fn identity(&self) -> Self::Value {
        None
    }
    #[expect(clippy::eq_op, reason = "a NaN differs from itself")]
    fn lift(&self, item: T, index: usize) -> Self::Value {
        (item == item).then(|| (index, M::lift(item)))
    }
    fn combine(&self, left: Self::Value, right: Self::Value) -> Self::Value {
        let (Some((_, key)), Some((_, other))) = (left, right) else {
            return left.or(right);
        };
        let is_right = key != other && M::combine(key, other) == other;
        if is_right { right } else { left }
    }
}
