//! Fuzzes the reader of texture images of all formats.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("image", bytes));
