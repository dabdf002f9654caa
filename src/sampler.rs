//! Random numbers: Owen-scrambled Sobol points. Twin: `kernels/shared/sampler.cuh`.
//!
//! A number is a pure function of (seed, pixel, sample, bounce, dimension). Dimensions come in pairs: each pair is the
//! first two dimensions of the Sobol sequence, a (0, 2)-sequence in base 2, with its sample numbers shuffled and its
//! coordinates scrambled by a hash that acts as nested uniform (Owen) scrambling.
//!
//! Source: B. Burley, Practical Hash-based Owen Scrambling, JCGT 9(4), 2020; the hash is N. Vegdahl's of 2021; the second
//! dimension by the Pascal matrix's butterfly instead of a table.

/// What the random numbers of one sample depend on.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    /// Number of the sample within its pixel.
    pub sample: u32,
    /// Hash of seed and pixel.
    pub key: u32,
}

/// The pair that places a sample on its pixel.
pub const PAIR_FILM: u32 = 0;
/// First pair of a bounce: a point on a light.
pub const PAIR_LIGHT: u32 = 1;
/// Second: the next direction.
pub const PAIR_BSDF: u32 = 2;
/// Third: which light or lobe, and roulette.
pub const PAIR_CHOICE: u32 = 3;
/// The pair that places a sample on the lens: behind those of all bounces.
pub const PAIR_LENS: u32 = 1 << 16;
/// Pairs a bounce.
pub const PAIRS_PER_BOUNCE: u32 = 3;

/// A bijection of 32-bit words without visible structure (constants: C. Wellons, hash-prospector).
#[inline(always)]
pub fn hash(word: u32) -> u32 {
    let mut x = word;
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// The sampler of one sample of one pixel.
#[inline]
pub fn sampler(seed: u32, pixel: u32, sample: u32) -> Sampler {
    Sampler {
        sample,
        key: hash(pixel ^ hash(seed ^ 0x6a09_e667)),
    }
}

/// Owen scrambling of a number whose bits are reversed: each bit is flipped by a hash of the bits below it.
#[inline(always)]
pub fn scramble(reversed: u32, key: u32) -> u32 {
    let mut x = reversed;
    x ^= x.wrapping_mul(0x3d20_adea);
    x = x.wrapping_add(key);
    x = x.wrapping_mul((key >> 16) | 1);
    x ^= x.wrapping_mul(0x0552_6c56);
    x ^ x.wrapping_mul(0x53a2_2864)
}

/// Second Sobol dimension of an index, bits reversed: the index, a polynomial over GF(2) in z, at 1 + z.
#[inline(always)]
pub fn pascal(index: u32) -> u32 {
    let mut x = index;
    x ^= (x >> 16) & 0x0000_ffff;
    x ^= (x >> 8) & 0x00ff_00ff;
    x ^= (x >> 4) & 0x0f0f_0f0f;
    x ^= (x >> 2) & 0x3333_3333;
    x ^ ((x >> 1) & 0x5555_5555)
}

/// 32 random bits as a number in [0, 1).
#[inline]
pub fn unit(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// Two numbers of 32 bits.
#[inline(always)]
pub fn pair_bits(sampler: Sampler, bounce: u32, pair: u32) -> (u32, u32) {
    let dimension = bounce.wrapping_mul(PAIRS_PER_BOUNCE).wrapping_add(pair);
    let key = hash(sampler.key ^ dimension.wrapping_mul(0x9e37_79b9));
    let index = scramble(sampler.sample.reverse_bits(), key).reverse_bits();
    let first = scramble(index, hash(key ^ 0xbb67_ae85));
    let second = scramble(pascal(index), hash(key ^ 0x3c6e_f372));
    (first.reverse_bits(), second.reverse_bits())
}

/// Two numbers in [0, 1), multiples of 2⁻²⁴.
#[inline(always)]
pub fn pair(sampler: Sampler, bounce: u32, pair: u32) -> (f32, f32) {
    let (first, second) = pair_bits(sampler, bounce, pair);
    (unit(first), unit(second))
}
