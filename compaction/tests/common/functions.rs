//! Items whose operators are associative but not commutative, shared by the tests of user-defined operators.

use compaction::{custom::CustomOperator, layout::Shared};
use rand::RngExt;

use crate::random::seeded;

compaction::shared! {
    /// An affine function x → a x + b of numbers modulo 2³².
    pub(crate) struct Affine {
        pub(crate) a: u32,
        pub(crate) b: u32,
    }

    /// An affine map of `f32`, whose composition rounds, with a sum of weights.
    pub(crate) struct Rounded {
        pub(crate) a: f32,
        pub(crate) b: f32,
        pub(crate) weight: f32,
    }
}

/// Items of a type, their operator in CUDA C++ and the same in Rust.
pub(crate) trait Function: Shared + Send + Sync {
    const IDENTITY: Self;

    fn operator() -> CustomOperator<Self>;
    /// Returns the function that applies `self` first and `right` second.
    fn then(self, right: Self) -> Self;
    fn random(len: usize) -> Vec<Self>;
}

impl Function for Affine {
    const IDENTITY: Self = Self { a: 1, b: 0 };

    fn operator() -> CustomOperator<Self> {
        let text = "struct Affine { u32 a, b; };
            Affine combine(const Affine &left, const Affine &right)
            {
                return {left.a * right.a, left.b * right.a + right.b};
            }";
        CustomOperator::new("affine.cuh", text, Self::IDENTITY).exact()
    }
    fn then(self, right: Self) -> Self {
        Self {
            a: self.a.wrapping_mul(right.a),
            b: self.b.wrapping_mul(right.a).wrapping_add(right.b),
        }
    }
    fn random(len: usize) -> Vec<Self> {
        let mut random = seeded(len as u64);
        let mut function = || Self {
            a: random.random(),
            b: random.random(),
        };
        (0..len).map(|_| function()).collect()
    }
}

impl Function for Rounded {
    const IDENTITY: Self = Self {
        a: 1.0,
        b: 0.0,
        weight: 0.0,
    };

    fn operator() -> CustomOperator<Self> {
        let text = "struct Rounded { f32 a, b, weight; };
            Rounded combine(Rounded left, Rounded right)
            {
                return {left.a * right.a, left.b * right.a + right.b, left.weight + right.weight};
            }";
        CustomOperator::new("rounded.cuh", text, Self::IDENTITY)
    }
    fn then(self, right: Self) -> Self {
        Self {
            a: self.a * right.a,
            b: self.b * right.a + right.b,
            weight: self.weight + right.weight,
        }
    }
    fn random(len: usize) -> Vec<Self> {
        let mut random = seeded(len as u64);
        let mut function = || Self {
            a: random.random_range(0.9..1.1),
            b: random.random(),
            weight: random.random_range(-0.4..0.6),
        };
        (0..len).map(|_| function()).collect()
    }
}
