//! SIMD vectors chosen at run time: 16 lanes with AVX-512, or 8 with AVX2 and FMA, by the crate `pulp`. Imports no
//! other module.
//!
//! The environment variable `RAYSIEVE_VECTORS` (16, 8 or 1) limits the number of lanes, so that the code for other
//! processors can be tested.

use std::{arch::x86_64::__m256, env, sync::OnceLock};

use pulp::{
    Simd,
    x86::{V3, V4},
};

/// Proof that the processor supports a set of vector instructions.
#[derive(Clone, Copy, Debug)]
pub enum SimdLevel {
    /// 8 lanes: AVX2 and FMA.
    Eight(V3),
    /// 16 lanes: AVX-512.
    Sixteen(V4),
}

impl SimdLevel {
    /// Returns the widest supported vectors within the limit of `RAYSIEVE_VECTORS`; `None` if there are none. The
    /// result is cached.
    pub fn best() -> Option<SimdLevel> {
        static BEST: OnceLock<Option<SimdLevel>> = OnceLock::new();
        *BEST.get_or_init(|| {
            let max_level = env::var("RAYSIEVE_VECTORS").ok();
            match max_level.as_deref() {
                Some("1") => None,
                Some("8") => SimdLevel::eight(),
                _ => SimdLevel::sixteen().or_else(SimdLevel::eight),
            }
        })
    }

    /// Returns vectors of 8 lanes if the processor supports them.
    pub fn eight() -> Option<SimdLevel> {
        V3::try_new().map(SimdLevel::Eight)
    }

    /// Returns vectors of 16 lanes if the processor supports them.
    pub fn sixteen() -> Option<SimdLevel> {
        V4::try_new().map(SimdLevel::Sixteen)
    }
}

/// Runs a closure compiled for the widest supported vector instructions, so that the compiler can vectorise it.
#[inline(always)]
pub(crate) fn vectorized<T>(work: impl FnOnce() -> T) -> T {
    match SimdLevel::best() {
        Some(SimdLevel::Sixteen(simd)) => simd.vectorize(work),
        Some(SimdLevel::Eight(simd)) => simd.vectorize(work),
        None => work(),
    }
}

/// Transposes `N` rows of 8 floats, where `N` is a multiple of [`MAX_LANES`]: stores number `i` of each row in
/// `columns[i]`.
#[inline(always)]
pub(crate) fn transpose<const N: usize>(
    columns: &mut [[f32; N]; 8],
    row: impl Fn(usize) -> [f32; 8],
) {
    const { assert!(N.is_multiple_of(MAX_LANES)) };
    match SimdLevel::best() {
        Some(SimdLevel::Sixteen(simd)) => transpose_by(simd, columns, row),
        Some(SimdLevel::Eight(simd)) => transpose_by(simd, columns, row),
        None => {
            for index in 0..N {
                for (column, number) in columns.iter_mut().zip(row(index)) {
                    column[index] = number;
                }
            }
        }
    }
}

/// Transposes rows of 8 floats with vectors of this kind; see [`transpose`].
#[inline(always)]
fn transpose_by<S: Lanes, const N: usize>(
    simd: S,
    columns: &mut [[f32; N]; 8],
    row: impl Fn(usize) -> [f32; 8],
) {
    for first in (0..N).step_by(S::F32_LANES) {
        let vectors = simd.columns(
            #[inline(always)]
            |lane| row(first + lane),
        );
        for (column, vector) in columns.iter_mut().zip(&vectors) {
            let lanes: &[f32] = bytemuck::cast_slice(std::slice::from_ref(vector));
            column[first..first + S::F32_LANES].copy_from_slice(lanes);
        }
    }
}

/// Maximum number of lanes of a vector.
pub(crate) const MAX_LANES: usize = 16;

/// SIMD vectors with masks as bits and loading of transposed rows.
pub(crate) trait Lanes: Simd {
    /// Mask with one bit set for each lane.
    const ALL: u32 = u32::MAX >> (32 - Self::F32_LANES);

    /// Converts a mask to bits, lane 0 lowest.
    fn bits(self, mask: Self::m32s) -> u32;

    /// Transposes rows of 8 floats, one per lane: vector `i` of the result holds number `i` of each lane's row.
    fn columns(self, row: impl Fn(usize) -> [f32; 8]) -> [Self::f32s; 8];
}

impl Lanes for V3 {
    #[inline(always)]
    fn bits(self, mask: Self::m32s) -> u32 {
        self.avx._mm256_movemask_ps(bytemuck::cast(mask)) as u32
    }

    /// Transposes in three steps: pairs of rows, pairs of pairs, halves.
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

/// Transposes four rows of 8 within each half: vector `i` holds numbers `i` and `i + 4` of the four rows.
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

/// A vector of `f32`, with the operators of an `f32` applied per lane.
#[derive(Clone, Copy)]
pub(crate) struct SimdF32<S: Simd>(pub(crate) S, pub(crate) S::f32s);

/// A boolean per lane.
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
    SimdF32: Add add add_f32s,
    SimdF32: Sub sub sub_f32s,
    SimdF32: Mul mul mul_f32s,
    SimdF32: Div div div_f32s,
    Mask: BitAnd bitand and_m32s,
    Mask: BitOr bitor or_m32s
);

impl<S: Simd> std::ops::Neg for SimdF32<S> {
    type Output = SimdF32<S>;

    #[inline(always)]
    fn neg(self) -> SimdF32<S> {
        SimdF32(self.0, self.0.neg_f32s(self.1))
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
        pub(crate) fn $name(self, other: SimdF32<S>) -> Mask<S> {
            Mask(self.0, self.0.$by(self.1, other.1))
        }
    )*};
}

impl<S: Simd> SimdF32<S> {
    comparison!(equals equal_f32s, below less_than_f32s, up_to less_than_or_equal_f32s);

    /// Returns a vector with `x` in all lanes.
    #[inline(always)]
    pub(crate) fn all(simd: S, x: f32) -> SimdF32<S> {
        SimdF32(simd, simd.splat_f32s(x))
    }

    /// Returns the smaller of two numbers per lane, or that of `other` if they do not compare.
    #[inline(always)]
    pub(crate) fn min(self, other: SimdF32<S>) -> SimdF32<S> {
        SimdF32(self.0, self.0.min_f32s(self.1, other.1))
    }

    /// Returns the larger of two numbers per lane, or that of `other` if they do not compare.
    #[inline(always)]
    pub(crate) fn max(self, other: SimdF32<S>) -> SimdF32<S> {
        SimdF32(self.0, self.0.max_f32s(self.1, other.1))
    }

    /// Returns `self * factor + summand` per lane, rounded once if the processor has FMA.
    #[inline(always)]
    pub(crate) fn mul_add(self, factor: SimdF32<S>, summand: SimdF32<S>) -> SimdF32<S> {
        SimdF32(self.0, self.0.mul_add_e_f32s(self.1, factor.1, summand.1))
    }

    /// Selects per lane: its own number where the mask is set, that of `other` elsewhere.
    #[inline(always)]
    pub(crate) fn where_or(self, mask: Mask<S>, other: SimdF32<S>) -> SimdF32<S> {
        SimdF32(self.0, self.0.select_f32s(mask.1, self.1, other.1))
    }

    /// Returns the square root per lane.
    #[inline(always)]
    pub(crate) fn sqrt(self) -> SimdF32<S> {
        SimdF32(self.0, self.0.sqrt_f32s(self.1))
    }

    /// Returns the lanes as a slice.
    #[inline(always)]
    pub(crate) fn lanes(&self) -> &[f32] {
        bytemuck::cast_slice(std::slice::from_ref(&self.1))
    }

    /// Returns the lanes as a mutable slice.
    #[inline(always)]
    pub(crate) fn lanes_mut(&mut self) -> &mut [f32] {
        bytemuck::cast_slice_mut(std::slice::from_mut(&mut self.1))
    }
}

impl<S: Lanes> Mask<S> {
    /// Converts the mask to bits, lane 0 lowest.
    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        self.0.bits(self.1)
    }
}
