//! Your stack would be here. Its tests are in `tests/congestion.rs`.
