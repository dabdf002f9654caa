//! Tests of `custom`: operators that are not commutative, and items of another type than the values.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/devices.rs"]
mod devices;
#[path = "../common/functions.rs"]
mod functions;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

mod cuda;

use std::sync::Arc;

use compaction::{
    cuda::{Nvrtc, Target},
    custom::{CustomOperator, CustomReduce, CustomScan, cpu},
};

use crate::{
    common::{Share, Tests, add_tests, lengths},
    functions::{Affine, Function, Rounded},
};

/// Returns an operator in CUDA C++ for the number of flags that are not 0.
pub(crate) fn flag_count() -> CustomOperator<u32> {
    let text = "u32 lift(u8 flag) { return flag != 0; }
        u32 combine(u32 left, u32 right) { return left + right; }";
    CustomOperator::new("count.cuh", text, 0).exact()
}

/// Lengths around a vector, a segment, a tile, a group of tiles, and more.
pub(crate) fn sizes() -> Vec<usize> {
    lengths([
        0,
        1,
        2,
        5,
        31,
        129,
        1023,
        1025,
        2047,
        2048,
        2049,
        4097,
        8192,
        8193,
        40_000,
        130 * 4096,
        (1 << 20) + 3,
    ])
}

fn main() {
    let tests = Tests::new();
    add_tests!(tests;
        test "the_cpu_" self { keeps_the_order, refuses_a_short_output }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        nvrtc "" self { functions_of_other_types_do_not_compile }
        gpu "cuda_" cuda {
            combines_functions, gives_the_bits_of_the_cpu, converts_items, reads_its_count_from_the_device,
            replays_captured_calls, names_what_is_missing,
        }
    )
    .run()
}

/// Checks operators that are not commutative against a loop.
fn keeps_the_order() {
    for len in sizes() {
        let functions = Affine::random(len);
        let mut before = Affine { a: 3, b: 7 };
        let initial = before;
        let mut out = vec![Affine::IDENTITY; len];
        let all = cpu::exclusive(
            Affine::IDENTITY,
            |item| item,
            Affine::then,
            initial,
            &functions,
            &mut out,
        );
        for (at, (&prefix, &function)) in out.iter().zip(&functions).enumerate() {
            assert_eq!(prefix, before, "{at} of {len}");
            before = before.then(function);
        }
        assert_eq!(all.unwrap(), before, "{len}");
        let reduced = cpu::reduce(Affine::IDENTITY, |item| item, Affine::then, &functions);
        assert_eq!(initial.then(reduced), before, "{len}");
    }
}

fn refuses_a_short_output() {
    let add = |left: u32, right| left + right;
    let error = cpu::inclusive(0, u32::from, add, 0, &[1_u8; 4], &mut [0; 3]);
    common::assert_error(error, "the output of custom_scan: room for 3 items");
}

/// Operators over `f32` with functions whose types convert, and the function that is expected instead.
pub(crate) const OTHER_TYPES: [(&str, &str); 5] = [
    (
        "u32 combine(f32 a, f32 b) { return a + b; }",
        "f32 combine(f32, f32)",
    ),
    (
        "f32 combine(u32 a, f32 b) { return a + b; }",
        "f32 combine(f32, f32)",
    ),
    (
        "f32 combine(f32 &a, f32 b) { return a + b; }",
        "f32 combine(f32, f32)",
    ),
    (
        "f64 combine(f64 a, f64 b) { return a + b; }",
        "f32 combine(f32, f32)",
    ),
    (
        "f32 lift(u32 n) { return n; } f32 combine(f32 a, f32 b) { return a + b; }",
        "f32 lift(f32)",
    ),
];

/// Checks that neither values nor items convert silently, and that the error says which function is expected.
fn functions_of_other_types_do_not_compile(nvrtc: &Arc<Nvrtc>) {
    let compile = |text: &str| {
        let operator = CustomOperator::new("mine.cuh", text, 0.0_f32);
        let reduce = CustomReduce::<f32>::sources(&operator).unwrap();
        let scan = CustomScan::<f32>::sources(&operator).unwrap();
        [reduce, scan].map(|sources| nvrtc.compile(&sources[0], Target::Cubin(90)))
    };
    for right in [
        "f32 combine(f32 a, const f32 &b) { return a + b; }",
        "float combine(const float &a, float b) { return a + b; }",
        "f32 lift(const f32 &item) { return 2 * item; } f32 combine(f32 a, f32 b) { return a + b; }
         u32 combine(u32 a, u32 b) { return a + b; } f32 lift(u8 flag) { return flag; }",
    ] {
        assert!(compile(right).iter().all(Result::is_ok), "{right}");
    }
    for (wrong, expected) in OTHER_TYPES {
        for compiled in compile(wrong) {
            let error = compiled.unwrap_err().to_string();
            assert!(
                error.contains(&format!("{expected} is expected")),
                "{wrong}: {error}"
            );
        }
    }
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let (affine, rounded, count) = (Affine::operator(), Rounded::operator(), flag_count());
    let sources = [
        CustomReduce::<Affine>::sources(&affine).unwrap(),
        CustomReduce::<Rounded>::sources(&rounded).unwrap(),
        CustomReduce::<u32, u8, u64>::sources(&count).unwrap(),
        CustomScan::<Affine>::sources(&affine).unwrap(),
        CustomScan::<Rounded>::sources(&rounded).unwrap(),
        CustomScan::<u32, u8, u64>::sources(&count).unwrap(),
    ];
    spills::compile_with_few_spills(&[75, 90, 120], nvrtc, share, &sources.concat());
}
