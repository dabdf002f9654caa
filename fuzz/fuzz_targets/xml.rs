//! Fuzzes the reader of Mitsuba scenes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("xml", bytes));
