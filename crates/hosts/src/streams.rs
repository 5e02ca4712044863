//! Randomness that a run's seed decides, as the stacks take it: as bytes.

use narrows_units::Stream;

/// The family of these streams.
const STACKS: u64 = 201;

/// Stream number `index` of a flow whose randomness comes from `seed`.
pub(crate) fn stream(seed: u64, index: u64) -> Stream {
    Stream::new(seed, STACKS, index)
}

/// Fills `bytes` with the next numbers of `stream`.
#[cfg(any(feature = "quinn", feature = "noq", getrandom_backend = "custom", test))]
pub(crate) fn fill(stream: &mut Stream, bytes: &mut [u8]) {
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&stream.bits().to_le_bytes()[..chunk.len()]);
    }
}

/// The next bytes of `stream`.
#[cfg(any(feature = "quinn", feature = "noq"))]
pub(crate) fn bytes<const COUNT: usize>(stream: &mut Stream) -> [u8; COUNT] {
    let mut bytes = [0; COUNT];
    fill(stream, &mut bytes);
    bytes
}
