//! Quasi-random numbers: Owen-scrambled Sobol points. Twin: `kernels/shared/sampler.cuh`.
//!
//! A number is a pure function of (seed, pixel, sample, bounce, dimension). Dimensions come in pairs. Each pair is the
//! first two dimensions of the Sobol sequence, a (0, 2)-sequence in base 2, with its sample numbers shuffled and its
//! coordinates scrambled by a hash that acts as nested uniform (Owen) scrambling.
//!
//! Source: B. Burley, Practical Hash-based Owen Scrambling, JCGT 9(4), 2020; the hash is N. Vegdahl's of 2021. The
//! second dimension uses the butterfly of the Pascal matrix instead of a table.

/// State of the sampler for one sample of one pixel. It does not change as numbers are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    /// Sample number within its pixel, from 0.
    pub sample: u32,
    /// Hash of the seed and the pixel index.
    pub key: u32,
}

/// Pair of dimensions (of bounce 0) that chooses the sample's position on the film.
pub const PAIR_FILM: u32 = 0;
/// Pair of dimensions, in each bounce, that chooses the point on a light.
pub const PAIR_LIGHT: u32 = 1;
/// Pair of dimensions, in each bounce, that chooses the direction of a BSDF sample.
pub const PAIR_BSDF: u32 = 2;
/// Pair of dimensions, in each bounce, for discrete choices: the first chooses light and BSDF lobe, the second decides
/// Russian roulette.
pub const PAIR_CHOICE: u32 = 3;
/// Pair of dimensions (of bounce 0) that chooses the sample's position on the lens; beyond the pairs of all bounces.
pub const PAIR_LENS: u32 = 1 << 16;
/// Pair of dimensions, in each bounce, whose first chooses a material of a blend; beyond the pairs of all bounces.
pub const PAIR_BLEND: u32 = 1 << 17;
/// Pair of dimensions, in each bounce, of the way through a medium: the first chooses a color channel, the second the
/// distance; beyond the pairs of all bounces.
pub const PAIR_MEDIUM: u32 = 1 << 18;
/// Pair of dimensions of a further way through a medium within one bounce, see [`PAIR_MEDIUM`]; beyond all others.
pub const PAIR_FLIGHT: u32 = 1 << 30;
/// Number of pairs of dimensions that each bounce uses.
pub const PAIRS_PER_BOUNCE: u32 = 3;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![
    PAIR_FILM,
    PAIR_LENS,
    PAIR_BLEND,
    PAIR_MEDIUM,
    PAIR_FLIGHT,
    PAIR_LIGHT,
    PAIR_BSDF,
    PAIR_CHOICE,
    PAIRS_PER_BOUNCE
];

/// Returns a well-mixed, bijective hash of a 32-bit word (constants: C. Wellons, hash-prospector).
#[inline(always)]
pub fn hash(word: u32) -> u32 {
    let mut x = word;
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// Returns the sampler for one sample of one pixel, given by its row-major index.
#[inline(always)]
pub fn sampler(seed: u32, pixel: u32, sample: u32) -> Sampler {
    Sampler {
        sample,
        key: hash(pixel ^ hash(seed ^ 0x6a09_e667)),
    }
}

/// Owen-scrambles a number given with its bits reversed: flips each bit by a hash of the lower bits, which are the more
/// significant ones. The result is still reversed.
#[inline(always)]
pub fn scramble(reversed: u32, key: u32) -> u32 {
    let mut x = reversed;
    x ^= x.wrapping_mul(0x3d20_adea);
    x = x.wrapping_add(key);
    x = x.wrapping_mul((key >> 16) | 1);
    x ^= x.wrapping_mul(0x0552_6c56);
    x ^ x.wrapping_mul(0x53a2_2864)
}

/// Returns the second Sobol dimension of an index, with its bits reversed. The index, taken as a polynomial over GF(2)
/// in z, is evaluated at 1 + z.
#[inline(always)]
pub fn pascal(index: u32) -> u32 {
    let mut x = index;
    x ^= (x >> 16) & 0x0000_ffff;
    x ^= (x >> 8) & 0x00ff_00ff;
    x ^= (x >> 4) & 0x0f0f_0f0f;
    x ^= (x >> 2) & 0x3333_3333;
    x ^ ((x >> 1) & 0x5555_5555)
}

/// Maps 32 random bits to [0, 1), in multiples of 2⁻²⁴.
#[inline(always)]
pub fn unit(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// Returns the two 32-bit numbers of a pair of dimensions, one of the `PAIR_` constants, at a bounce.
#[inline(always)]
pub fn pair_bits(sampler: Sampler, bounce: u32, pair: u32) -> (u32, u32) {
    let dimension = bounce.wrapping_mul(PAIRS_PER_BOUNCE).wrapping_add(pair);
    let key = hash(sampler.key ^ dimension.wrapping_mul(0x9e37_79b9));
    let index = scramble(sampler.sample.reverse_bits(), key).reverse_bits();
    let first = scramble(index, hash(key ^ 0xbb67_ae85));
    let second = scramble(pascal(index), hash(key ^ 0x3c6e_f372));
    (first.reverse_bits(), second.reverse_bits())
}

/// Returns the two numbers of a pair of dimensions at a bounce, in [0, 1), multiples of 2⁻²⁴.
#[inline(always)]
pub fn pair(sampler: Sampler, bounce: u32, pair: u32) -> (f32, f32) {
    let (first, second) = pair_bits(sampler, bounce, pair);
    (unit(first), unit(second))
}
