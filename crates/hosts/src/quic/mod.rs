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
