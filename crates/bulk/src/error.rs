//! Why a transfer ends without its file.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a transfer ended without its file. Each text says what would help.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A text is not a ticket.
    #[error("{0:?} is not a ticket; narrows recv prints one, like 192.0.2.7:4433/3f…a9")]
    Ticket(
        /// The text up to the key, which is nobody's business.
        String,
    ),
    /// A text is not the name of a host.
    #[error("{0:?} is not a host; try lab.example.org or 192.0.2.7, without a port")]
    Host(String),
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// No socket, or nothing can be sent from it.
    #[error("{address}: {error}")]
    Socket {
        /// Its address, as it was given.
        address: String,
        /// Why not.
        error: io::Error,
    },
    /// Somebody else answers at the receiver's address.
    #[error(
        "the certificate at {address} has the fingerprint {found}, and the ticket says {expected}: \
         this is not the receiver that printed the ticket; nothing was sent"
    )]
    Fingerprint {
        /// Where.
        address: SocketAddr,
        /// The fingerprint of the certificate that was shown.
        found: String,
        /// The ticket's.
        expected: String,
    },
    /// The other side will not go on.
    #[error("the receiver says: {0}")]
    Refused(String),
    /// The file is not what it was when the transfer began.
    #[error("{}: changed while it was sent; send it again when nothing writes to it", .0.display())]
    Changed(PathBuf),
    /// The receiver does not answer.
    #[error(
        "{address} took nothing for {} s: {why}; is narrows recv running there? Sent again, the \
         file goes on where it stopped", tried.as_secs()
    )]
    Silent {
        /// The receiver's address, as the ticket has it.
        address: String,
        /// How long it was tried.
        tried: Duration,
        /// How the last attempt ended.
        why: String,
    },
    /// Stopped by whoever watched.
    #[error("stopped; what has arrived is kept")]
    Stopped,
    /// Keys or certificates cannot be made or used.
    #[error("TLS: {0}")]
    Tls(String),
}

impl Error {
    /// What a sender with a wrong ticket is told.
    pub(crate) const WRONG_SECRET: &'static str = "the ticket's secret is not this receiver's";

    /// For errors of the file at `path`.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Self::File { path: path.to_owned(), error }
    }
}

/// How a turn of a connection fails.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The connection has ended, and another one may do better.
    Lost(String),
    /// The sender has ended it, because its file has changed.
    Changed,
    /// Another connection would not help.
    Failed(Error),
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
