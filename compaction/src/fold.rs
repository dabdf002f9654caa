//! Associative operations as values, for folds and scans on the CPU.

use std::marker::PhantomData;

use crate::monoid::{Item, Monoid};

/// An associative operation with an identity over values, to which items are converted.
pub(crate) trait Fold<T>: Sync {
    /// The type in which values are combined.
    type Value: Copy + Send + Sync;
    /// Whether neither the grouping nor the order of combinations affects the bits of the result.
    const EXACT: bool;
    /// Whether the operands of a combination can be exchanged.
    const COMMUTATIVE: bool;

    /// Returns the value that changes no other value.
    fn identity(&self) -> Self::Value;
    /// Converts an item to a value. `index` counts from the first item.
    fn lift(&self, item: T, index: usize) -> Self::Value;
    /// Combines two adjacent values; `left` comes first in the sequence.
    fn combine(&self, left: Self::Value, right: Self::Value) -> Self::Value;
}

/// A [`Monoid`] as a [`Fold`].
pub(crate) struct Known<M>(pub(crate) PhantomData<M>);

impl<T: Item, M: Monoid<T>> Fold<T> for Known<M> {
    type Value = M::Value;
    const EXACT: bool = M::EXACT;
    const COMMUTATIVE: bool = true;

    fn identity(&self) -> M::Value {
        M::IDENTITY
    }
    fn lift(&self, item: T, _: usize) -> M::Value {
        M::lift(item)
    }
    fn combine(&self, left: M::Value, right: M::Value) -> M::Value {
        M::combine(left, right)
    }
}

/// An operation given by functions, as a [`Fold`] of items of type `I`.
pub(crate) struct With<A, L, C> {
    identity: A,
    lift: L,
    combine: C,
}

impl<A, L, C> With<A, L, C> {
    pub(crate) fn new(identity: A, lift: L, combine: C) -> Self {
        Self {
            identity,
            lift,
            combine,
        }
    }
}

impl<I, A, L, C> Fold<I> for With<A, L, C>
where
    A: Copy + Send + Sync,
    L: Fn(I) -> A + Sync,
    C: Fn(A, A) -> A + Sync,
{
    type Value = A;
    const EXACT: bool = false;
    const COMMUTATIVE: bool = false;

    fn identity(&self) -> A {
        self.identity
    }
    fn lift(&self, item: I, _: usize) -> A {
        (self.lift)(item)
    }
    fn combine(&self, left: A, right: A) -> A {
        (self.combine)(left, right)
    }
}

/// Combines values pairwise, as in a perfect binary tree whose last leaves are the identity. `leaves` is a power of two
/// and at least the number of values.
pub(crate) fn fold_pairwise<T, F: Fold<T>>(
    fold: &F,
    values: &mut Vec<F::Value>,
    mut leaves: usize,
) -> F::Value {
    while leaves > 1 {
        leaves /= 2;
        if values.len() % 2 == 1 {
            values.push(fold.identity());
        }
        for pair in 0..values.len() / 2 {
            values[pair] = fold.combine(values[2 * pair], values[2 * pair + 1]);
        }
        values.truncate(values.len() / 2);
    }
    values.first().copied().unwrap_or_else(|| fold.identity())
}
