//! Bulk transfer: a file, or a directory of files, to another machine over UDP, as QUIC by noq-
//! proto, with any law that [`StackLaw`] knows, and with packets spaced by a send loop of our own.
//!
//! The receiver shows a [`Ticket`]: its address, the fingerprint of its certificate, and a secret.
//! The sender goes on only if the certificate has that fingerprint; the receiver takes a file only
//! from a sender that proves that it knows the secret. What has arrived is kept when a connection
//! ends, and the next attempt goes on from there; a file gets its name only after its BLAKE3 hash
//! has been found right.
//!
//! ```no_run
//! use narrows_bulk::{Identity, Receiver, Sending, send};
//! use std::{ops::ControlFlow, path::Path, time::Duration};
//!
//! let mut receiver = Receiver::listen("in".as_ref(), "0.0.0.0:4433", Identity::fresh()?)?;
//! let ticket = receiver.ticket("192.0.2.7")?;
//! std::thread::spawn(move || receiver.receive(&mut |_| ControlFlow::Continue(())));
//! let sending = Sending {
//!     file: Path::new("measurements.parquet"),
//!     to: &ticket,
//!     law: narrows_bulk::StackLaw::parse("etcp:p0=0.01").expect("a law"),
//!     patience: Duration::from_secs(60),
//! };
//! let sent = send(&sending, &mut |_| ControlFlow::Continue(()))?;
//! println!("{} bytes, {} packets lost", sent.size, sent.lost);
//! # Ok::<(), narrows_bulk::Error>(())
//! ```

#![expect(clippy::disallowed_types, reason = "a transfer lives in the system's time")]

mod error;
mod identity;
mod line;
mod message;
mod partial;
mod receive;
mod send;
mod socket;
mod source;
mod ticket;
mod tls;
mod tree;
mod watch;

pub use error::Error;
pub use identity::Identity;
pub use narrows_adapters::StackLaw;
pub use receive::{Received, Receiver};
pub use send::{Sending, Sent, send};
pub use ticket::Ticket;
pub use watch::{Event, Watch};
