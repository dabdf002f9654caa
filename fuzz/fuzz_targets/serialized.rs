//! Fuzzes the reader of Mitsuba's meshes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("serialized", bytes));
