//! Fuzzes the reader of PLY files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("ply", bytes));
