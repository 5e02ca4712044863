//! The version of everything that decides what happens in a run: results kept under one version are
//! not taken for those of another.

/// To be raised by hand if results change in a way that no fingerprint shows, as when a default
/// changes: kept runs are found by what was given.
const REVISION: u32 = 10;

/// What happens in the scenarios of the fingerprint test, as `tests/kept_texts` keeps it: the
/// version changes with it even if somebody forgets [`REVISION`]. What tables show of a run is not
/// part of it.
const HISTORIES: &[u8] = include_bytes!("../fingerprints.txt");

/// The engine's version, like `4-5f0c3a9e`.
pub fn engine() -> String {
    let hash = HISTORIES
        .iter()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    format!("{REVISION}-{hash:08x}")
}
