//! Vectors of the processor that the program runs on: sixteen lanes by AVX-512, or eight by AVX2 and FMA. By the crate
//! `pulp`, which asks the processor when the program runs.
//!
//! Of the environment `RAYSIEVE_VECTORS`, 16, 8 or 1, says how many lanes are taken at most: so that what other processors
//! do can be tried on one that has them all.

use std::{env, sync::OnceLock};

use pulp::{
    Simd,
    x86::{V3, V4},
};

/// What the processor has.
#[derive(Clone, Copy, Debug)]
pub enum Vectors {
    /// AVX2 and FMA.
    Eight(V3),
    /// AVX-512 besides.
    Sixteen(V4),
}

impl Vectors {
    /// The longest that the processor has, and `RAYSIEVE_VECTORS` allows. `None` if there are none.
    pub fn best() -> Option<Vectors> {
        static BEST: OnceLock<Option<Vectors>> = OnceLock::new();
        *BEST.get_or_init(|| {
            let most = env::var("RAYSIEVE_VECTORS").ok();
            match most.as_deref() {
                Some("1") => None,
                Some("8") => Vectors::eight(),
                _ => Vectors::sixteen().or_else(Vectors::eight),
            }
        })
    }

    /// Vectors of eight, if the processor has them.
    pub fn eight() -> Option<Vectors> {
        V3::try_new().map(Vectors::Eight)
    }

    /// Vectors of sixteen, if the processor has them.
    pub fn sixteen() -> Option<Vectors> {
        V4::try_new().map(Vectors::Sixteen)
    }
}

/// Does this with the longest vectors that there are, wherever the compiler makes some of it.
#[inline(always)]
pub(crate) fn by_vectors<T>(work: impl FnOnce() -> T) -> T {
    match Vectors::best() {
        Some(Vectors::Sixteen(simd)) => simd.vectorize(work),
        Some(Vectors::Eight(simd)) => simd.vectorize(work),
        None => work(),
    }
}

/// Vectors whose masks can be had as bits.
pub(crate) trait Lanes: Simd {
    /// A bit for each lane.
    const ALL: u32 = u32::MAX >> (32 - Self::F32_LANES);

    /// A bit for each lane.
    fn bits(self, mask: Self::m32s) -> u32;
}

impl Lanes for V3 {
    #[inline(always)]
    fn bits(self, mask: Self::m32s) -> u32 {
        self.avx._mm256_movemask_ps(bytemuck::cast(mask)) as u32
    }
}

impl Lanes for V4 {
    #[inline(always)]
    fn bits(self, mask: Self::m32s) -> u32 {
        u32::from(mask.0)
    }
}

/// A number in each lane, with the operations of an `f32`.
#[derive(Clone, Copy)]
pub(crate) struct Floats<S: Simd>(pub(crate) S, pub(crate) S::f32s);

/// Yes or no in each lane.
#[derive(Clone, Copy)]
pub(crate) struct Mask<S: Simd>(pub(crate) S, pub(crate) S::m32s);

macro_rules! operation {
    ($($type:ident: $trait:ident $name:ident $by:ident),*) => {$(
        impl<S: Simd> std::ops::$trait for $type<S> {
            type Output = $type<S>;

            #[inline(always)]
            fn $name(self, other: $type<S>) -> $type<S> {
                $type(self.0, self.0.$by(self.1, other.1))
            }
        }
    )*};
}

operation!(
    Floats: Add add add_f32s,
    Floats: Sub sub sub_f32s,
    Floats: Mul mul mul_f32s,
    Floats: Div div div_f32s,
    Mask: BitAnd bitand and_m32s,
    Mask: BitOr bitor or_m32s
);

impl<S: Simd> std::ops::Neg for Floats<S> {
    type Output = Floats<S>;

    #[inline(always)]
    fn neg(self) -> Floats<S> {
        Floats(self.0, self.0.neg_f32s(self.1))
    }
}

impl<S: Simd> std::ops::Not for Mask<S> {
    type Output = Mask<S>;

    #[inline(always)]
    fn not(self) -> Mask<S> {
        Mask(self.0, self.0.not_m32s(self.1))
    }
}

macro_rules! comparison {
    ($($name:ident $by:ident),*) => {$(
        #[inline(always)]
        pub(crate) fn $name(self, other: Floats<S>) -> Mask<S> {
            Mask(self.0, self.0.$by(self.1, other.1))
        }
    )*};
}

impl<S: Simd> Floats<S> {
    comparison!(equals equal_f32s, below less_than_f32s, up_to less_than_or_equal_f32s);

    #[inline(always)]
    pub(crate) fn all(simd: S, x: f32) -> Floats<S> {
        Floats(simd, simd.splat_f32s(x))
    }

    /// The smaller of two; the second if they do not compare.
    #[inline(always)]
    pub(crate) fn lesser(self, other: Floats<S>) -> Floats<S> {
        Floats(self.0, self.0.min_f32s(self.1, other.1))
    }

    /// The larger of two; the second if they do not compare.
    #[inline(always)]
    pub(crate) fn greater(self, other: Floats<S>) -> Floats<S> {
        Floats(self.0, self.0.max_f32s(self.1, other.1))
    }

    #[inline(always)]
    pub(crate) fn times_plus(self, factor: Floats<S>, summand: Floats<S>) -> Floats<S> {
        Floats(self.0, self.0.mul_add_e_f32s(self.1, factor.1, summand.1))
    }

    /// Its own where the mask is, the other's elsewhere.
    #[inline(always)]
    pub(crate) fn where_or(self, mask: Mask<S>, other: Floats<S>) -> Floats<S> {
        Floats(self.0, self.0.select_f32s(mask.1, self.1, other.1))
    }

    #[inline(always)]
    pub(crate) fn sqrt(self) -> Floats<S> {
        Floats(self.0, self.0.sqrt_f32s(self.1))
    }

    #[inline(always)]
    pub(crate) fn lanes(&self) -> &[f32] {
        bytemuck::cast_slice(std::slice::from_ref(&self.1))
    }

    #[inline(always)]
    pub(crate) fn lanes_mut(&mut self) -> &mut [f32] {
        bytemuck::cast_slice_mut(std::slice::from_mut(&mut self.1))
    }
}

impl<S: Lanes> Mask<S> {
    /// A bit for each lane.
    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        self.0.bits(self.1)
    }

    #[inline(always)]
    pub(crate) fn any(self) -> bool {
        self.bits() != 0
    }
}
