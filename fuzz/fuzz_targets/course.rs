//! The steps of a course of rates.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| narrows_fuzz::course(bytes));
