//! A texture: PNG, JPEG, WebP, Basis in KTX2, or any other that is told apart by its first bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("image", bytes));
