//! Fuzzes the reader of Radiance HDR images.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("hdr", bytes));
