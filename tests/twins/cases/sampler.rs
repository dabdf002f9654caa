//! Cases of the sampler.

use raysieve::sampler::{Sampler, hash, pair, pair_bits, pascal, sampler, scramble, unit};

use super::{Case, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("sampler", "hash", |word: u32| hash(word)),
        twin!(
            "sampler",
            "sampler",
            |seed: u32, pixel: u32, sample: u32| { sampler(seed, pixel, sample) }
        ),
        twin!("sampler", "scramble", |reversed: u32, key: u32| scramble(
            reversed, key
        )),
        twin!("sampler", "pascal", |index: u32| pascal(index)),
        twin!("sampler", "unit", |bits: u32| unit(bits)),
        twin!(
            "sampler",
            "pair_bits",
            |numbers: Sampler, bounce: u32, of: u32| pair_bits(numbers, bounce, of)
        ),
        twin!(
            "sampler",
            "pair",
            |numbers: Sampler, bounce: u32, of: u32| pair(numbers, bounce, of)
        ),
    ]
}
