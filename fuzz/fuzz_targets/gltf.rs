//! Fuzzes the reader of glTF files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("gltf", bytes));
