//! Vectors of the processor that the program runs on: sixteen lanes by AVX-512, or eight by AVX2 and FMA. By the crate
//! `pulp`, which asks the processor when the program runs.
//!
//! Of the environment `RAYSIEVE_VECTORS`, 16, 8 or 1, says how many lanes are taken at most: so that what other processors
//! do can be tried on one that has them all.

use std::{arch::x86_64::__m256, env, sync::OnceLock};

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

/// Lanes of the longest vectors.
pub(crate) const MOST_LANES: usize = 16;

/// Vectors whose masks can be had as bits, and that can be filled from rows.
pub(crate) trait Lanes: Simd {
    /// A bit for each lane.
    const ALL: u32 = u32::MAX >> (32 - Self::F32_LANES);

    /// A bit for each lane.
    fn bits(self, mask: Self::m32s) -> u32;

    /// Of a row for each lane the first numbers, the second ones, and so on.
    fn columns(self, row: impl Fn(usize) -> [f32; 8]) -> [Self::f32s; 8];
}

impl Lanes for V3 {
    #[inline(always)]
    fn bits(self, mask: Self::m32s) -> u32 {
        self.avx._mm256_movemask_ps(bytemuck::cast(mask)) as u32
    }

    /// By pairs of rows, of pairs, and of halves.
    #[inline(always)]
    fn columns(self, row: impl Fn(usize) -> [f32; 8]) -> [Self::f32s; 8] {
        let avx = self.avx;
        let [a, b, c, d] = fours(self, [row(0), row(1), row(2), row(3)]);
        let [e, f, g, h] = fours(self, [row(4), row(5), row(6), row(7)]);
        [
            bytemuck::cast(avx._mm256_permute2f128_ps::<0x20>(a, e)),
            bytemuck::cast(avx._mm256_permute2f128_ps::<0x20>(b, f)),
            bytemuck::cast(avx._mm256_permute2f128_ps::<0x20>(c, g)),
            bytemuck::cast(avx._mm256_permute2f128_ps::<0x20>(d, h)),
            bytemuck::cast(avx._mm256_permute2f128_ps::<0x31>(a, e)),
            bytemuck::cast(avx._mm256_permute2f128_ps::<0x31>(b, f)),
            bytemuck::cast(avx._mm256_permute2f128_ps::<0x31>(c, g)),
            bytemuck::cast(avx._mm256_permute2f128_ps::<0x31>(d, h)),
        ]
    }
}

/// What is made of four rows of eight, in either half: their first numbers, their second ones, and so on.
#[inline(always)]
fn fours(simd: V3, [a, b, c, d]: [[f32; 8]; 4]) -> [__m256; 4] {
    let avx = simd.avx;
    let (a, b): (__m256, __m256) = (bytemuck::cast(a), bytemuck::cast(b));
    let (c, d): (__m256, __m256) = (bytemuck::cast(c), bytemuck::cast(d));
    let (low, high) = (avx._mm256_unpacklo_ps(a, b), avx._mm256_unpackhi_ps(a, b));
    let (next_low, next_high) = (avx._mm256_unpacklo_ps(c, d), avx._mm256_unpackhi_ps(c, d));
    [
        avx._mm256_shuffle_ps::<0x44>(low, next_low),
        avx._mm256_shuffle_ps::<0xee>(low, next_low),
        avx._mm256_shuffle_ps::<0x44>(high, next_high),
        avx._mm256_shuffle_ps::<0xee>(high, next_high),
    ]
}

impl Lanes for V4 {
    #[inline(always)]
    fn bits(self, mask: Self::m32s) -> u32 {
        u32::from(mask.0)
    }

    #[inline(always)]
    #[expect(
        clippy::redundant_closure,
        reason = "a closure of one's own is inlined for certain"
    )]
    fn columns(self, row: impl Fn(usize) -> [f32; 8]) -> [Self::f32s; 8] {
        let first = (*self).columns(
            #[inline(always)]
            |lane| row(lane),
        );
        let last = (*self).columns(
            #[inline(always)]
            |lane| row(lane + 8),
        );
        let mut columns = [self.splat_f32s(0.0); 8];
        for (column, (first, last)) in columns.iter_mut().zip(first.into_iter().zip(last)) {
            let wide = self.avx512f._mm512_castps256_ps512(bytemuck::cast(first));
            let both = self
                .avx512dq
                ._mm512_insertf32x8::<1>(wide, bytemuck::cast(last));
            *column = bytemuck::cast(both);
        }
        columns
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
