//! Fuzzes the reader of Mitsuba's curves.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raysieve_fuzz::read("curves", bytes));
