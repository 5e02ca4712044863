//! Acknowledgements with SACK blocks, true or not.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    narrows_fuzz::sack(bytes);
});
