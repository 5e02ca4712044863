//! The text of a trace of opportunities.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        narrows_fuzz::trace(text);
    }
});
