//! Fuzzes the reader of OpenEXR images.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("exr", bytes));
