//! Fuzzes the reader of MTL files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("mtl", bytes));
