//! Fuzzes the reader of OBJ files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("obj", bytes));
