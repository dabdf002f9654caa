//! An OpenEXR image, and a part of a render.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("exr", bytes));
