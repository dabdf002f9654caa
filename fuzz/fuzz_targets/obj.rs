//! An OBJ file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("obj", bytes));
