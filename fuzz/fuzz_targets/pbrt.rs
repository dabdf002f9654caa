//! Fuzzes the reader of pbrt scenes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("pbrt", bytes));
