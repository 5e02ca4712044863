//! What quinn and noq share, as noq began as a fork of quinn: the null handshake and the end of a
//! connection, written once as macros, and what these are made of.

mod end;
mod handshake;
mod null;
#[cfg(feature = "tls")]
mod tls;
mod train;

pub(crate) use end::quic_end;
pub(crate) use handshake::{Handshake, Step, sign};
pub(crate) use null::null_handshake;
#[cfg(feature = "tls")]
pub(crate) use tls::configs;
pub(crate) use train::Train;

use crate::deterministic::{STEP, mixed};

/// A new file for a log, which is written in large pieces.
#[cfg(feature = "qlog")]
pub(crate) fn log_file(
    path: &std::path::Path,
) -> Result<std::io::BufWriter<std::fs::File>, String> {
    let file = std::fs::File::create(path);
    let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(std::io::BufWriter::with_capacity(1 << 16, file))
}

/// Bytes of the tag of an encrypted packet.
pub(crate) const TAG: usize = 16;

/// Numbers that a seed decides, for connection ids.
#[derive(Clone)]
pub(crate) struct Numbers(u64);

impl Numbers {
    /// Those of `seed`, apart for each `side`.
    pub fn new(seed: u64, side: u64) -> Self {
        Self(mixed(seed) ^ side << 32)
    }

    /// The next eight bytes.
    pub fn next(&mut self) -> [u8; 8] {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0).to_le_bytes()
    }

    /// A seed of 32 bytes.
    pub fn seed(mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        seed.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.next()));
        seed
    }
}
