//! A capture, of whatever bytes.
#![no_main]

#[path = "../src/capture.rs"]
mod facts;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    facts::capture(bytes);
});
