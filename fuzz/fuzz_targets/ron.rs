//! Fuzzes the reader of RON scenes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("ron", bytes));
