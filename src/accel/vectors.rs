//! SIMD vectors chosen at run time: 16 lanes with AVX-512, or 8 with AVX2 and FMA, by the crate `pulp`.
//!
//! The environment variable `RAYSIEVE_VECTORS` (16, 8 or 1) limits the number of lanes, so that the code for other
//! processors can be tested.

use std::{env, sync::OnceLock};

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

/// Transposes rows of `Q` times 4 floats, one per entry of the columns: stores number `j` of each row's quadruple `i` in
/// `columns[i][j]`. The number of rows is a multiple of [`MAX_LANES`].
#[inline(always)]
pub(crate) fn transpose<'a, const N: usize, const Q: usize>(
    columns: &mut [[[f32; N]; 4]; Q],
    row: impl Fn(usize) -> &'a [[f32; 4]; Q],
) {
    const { assert!(N.is_multiple_of(MAX_LANES)) };
    match SimdLevel::best() {
        Some(SimdLevel::Sixteen(simd)) => transpose_by(simd, columns, row),
        Some(SimdLevel::Eight(simd)) => transpose_by(simd, columns, row),
        None => {
            for index in 0..N {
                for (columns, numbers) in columns.iter_mut().zip(row(index)) {
                    for (column, &number) in columns.iter_mut().zip(numbers) {
                        column[index] = number;
                    }
                }
            }
        }
    }
}

/// Transposes rows of quadruples with vectors of this kind; see [`transpose`].
#[inline(always)]
fn transpose_by<'a, S: Lanes, const N: usize, const Q: usize>(
    simd: S,
    columns: &mut [[[f32; N]; 4]; Q],
    row: impl Fn(usize) -> &'a [[f32; 4]; Q],
) {
    for first in (0..N).step_by(S::F32_LANES) {
        for (quadruple, columns) in columns.iter_mut().enumerate() {
            let vectors = simd.columns(
                #[inline(always)]
                |lane| row(first + lane)[quadruple],
            );
            for (column, vector) in columns.iter_mut().zip(&vectors) {
                let lanes: &[f32] = bytemuck::cast_slice(std::slice::from_ref(vector));
                column[first..first + S::F32_LANES].copy_from_slice(lanes);
            }
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

    /// Transposes rows of 4 floats, one per lane: vector `i` of the result holds number `i` of each lane's row.
    fn columns(self, row: impl Fn(usize) -> [f32; 4]) -> [Self::f32s; 4];
}

impl Lanes for V3 {
    #[inline(always)]
    fn bits(self, mask: Self::m32s) -> u32 {
        self.avx._mm256_movemask_ps(bytemuck::cast(mask)) as u32
    }

    /// Transposes 8 rows: vector `i` of the result holds number `i` of each row. Works by halves, from vectors of rows
    /// `i` and `i + 4`.
    #[inline(always)]
    fn columns(self, row: impl Fn(usize) -> [f32; 4]) -> [Self::f32s; 4] {
        let avx = self.avx;
        let mut rows = [avx._mm256_setzero_ps(); 4];
        for (at, rows) in rows.iter_mut().enumerate() {
            let first = avx._mm256_castps128_ps256(bytemuck::cast(row(at)));
            *rows = avx._mm256_insertf128_ps::<1>(first, bytemuck::cast(row(at + 4)));
        }
        let [a, b, c, d] = rows;
        let (low, high) = (avx._mm256_unpacklo_ps(a, b), avx._mm256_unpackhi_ps(a, b));
        let (next_low, next_high) = (avx._mm256_unpacklo_ps(c, d), avx._mm256_unpackhi_ps(c, d));
        [
            bytemuck::cast(avx._mm256_shuffle_ps::<0x44>(low, next_low)),
            bytemuck::cast(avx._mm256_shuffle_ps::<0xee>(low, next_low)),
            bytemuck::cast(avx._mm256_shuffle_ps::<0x44>(high, next_high)),
            bytemuck::cast(avx._mm256_shuffle_ps::<0xee>(high, next_high)),
        ]
    }
}

impl Lanes for V4 {
    #[inline(always)]
    fn bits(self, mask: Self::m32s) -> u32 {
        u32::from(mask.0)
    }

    /// Transposes 16 rows: vector `i` of the result holds number `i` of each row. Works by quarters, from vectors of
    /// rows `i`, `i + 4`, `i + 8` and `i + 12`.
    #[inline(always)]
    fn columns(self, row: impl Fn(usize) -> [f32; 4]) -> [Self::f32s; 4] {
        let avx = self.avx512f;
        let mut rows = [avx._mm512_setzero_ps(); 4];
        for (at, rows) in rows.iter_mut().enumerate() {
            let first = avx._mm512_castps128_ps512(bytemuck::cast(row(at)));
            let two = avx._mm512_insertf32x4::<1>(first, bytemuck::cast(row(at + 4)));
            let three = avx._mm512_insertf32x4::<2>(two, bytemuck::cast(row(at + 8)));
            *rows = avx._mm512_insertf32x4::<3>(three, bytemuck::cast(row(at + 12)));
        }
        let [a, b, c, d] = rows;
        let (low, high) = (avx._mm512_unpacklo_ps(a, b), avx._mm512_unpackhi_ps(a, b));
        let (next_low, next_high) = (avx._mm512_unpacklo_ps(c, d), avx._mm512_unpackhi_ps(c, d));
        [
            bytemuck::cast(avx._mm512_shuffle_ps::<0x44>(low, next_low)),
            bytemuck::cast(avx._mm512_shuffle_ps::<0xee>(low, next_low)),
            bytemuck::cast(avx._mm512_shuffle_ps::<0x44>(high, next_high)),
            bytemuck::cast(avx._mm512_shuffle_ps::<0xee>(high, next_high)),
        ]
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
