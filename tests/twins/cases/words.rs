//! Cases of bit operations.

use raysieve::math::{max_f32, min_f32};

use super::{Case, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("words", "bits_to_float", |bits: u32| f32::from_bits(bits)),
        // The comparison treats all NaNs as equal, so their bits are not tested.
        twin!(
            ("words", "float_to_bits", "float_to_bits"),
            |inputs| loop {
                let value: f32 = inputs.draw();
                if !value.is_nan() {
                    break (value,);
                }
            },
            |value: f32| value.to_bits()
        ),
        twin!("words", "reverse_bits", |word: u32| word.reverse_bits()),
        twin!("words", "leading_zeros", |word: u32| word.leading_zeros()),
        // Undefined for 0.
        twin!(
            ("words", "trailing_zeros", "trailing_zeros"),
            |inputs| (inputs.draw::<u32>().max(1),),
            |word: u32| word.trailing_zeros()
        ),
        twin!("words", "count_ones", |word: u32| word.count_ones()),
        twin!("words", "multiply_add", |a: f32, b: f32, c: f32| a * b + c),
        twin!("words", "rough_reciprocal", |x: f32| 1.0 / x),
        twin!(
            ("words", "one_and_byte", "one_and_byte"),
            |inputs| (inputs.draw(), inputs.below(4) as u32),
            |word: u32, place: u32| {
                1.0 + f32::from(word.to_le_bytes()[place as usize]) / 32_768.0
            }
        ),
        twin!(
            ("words", "byte_of", "byte_of"),
            |inputs| (inputs.draw(), inputs.below(4) as u32),
            |word: u32, place: u32| u32::from(word.to_le_bytes()[place as usize])
        ),
        twin!("words", "shift_left", |word: u32, by: u32| word
            .wrapping_shl(by)),
        twin!("words", "largest_or_zero", |a: f32, b: f32, c: f32| {
            max_f32(max_f32(max_f32(a, b), c), 0.0)
        }),
        twin!("words", "smallest", |a: f32, b: f32, c: f32| {
            min_f32(min_f32(a, b), c)
        }),
    ]
}
