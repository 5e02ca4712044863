//! Stacks that others wrote, as ends of flows in narrows' networks: unpatched, in virtual time.
//!
//! Each has a module behind a feature of its name, with a `pair` of ends for the configuration of
//! your choice, and a [`Stack`] for scenarios (`cc = "quinn:cubic"`).
//! [`stacks`] has all that are built in.
//!
//! ```
//! # #[cfg(feature = "quinn")] {
//! use narrows_hosts::{Transfer, quinn};
//!
//! let (near, far) = quinn::pair(|| quinn::usual("cubic"), &Transfer::endless(7))?;
//! # let _ = (near, far);
//! # }
//! # Ok::<(), String>(())
//! ```
//!
//! # The same run twice
//! What a stack draws from the system makes each run another one. [`deterministic`] says what is to
//! be done, and does what a library can.

#![cfg_attr(
    any(feature = "quinn", feature = "noq"),
    expect(clippy::disallowed_types, reason = "these stacks count in the system's instants")
)]

#[cfg(any(feature = "quinn", feature = "noq", feature = "smoltcp", feature = "s2n"))]
mod application;
#[cfg(any(feature = "quinn", feature = "noq"))]
pub mod clock;
pub mod deterministic;
pub mod named;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(any(feature = "quinn", feature = "noq"))]
mod quic;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(feature = "s2n")]
pub mod s2n;
#[cfg(feature = "smoltcp")]
pub mod smoltcp;
mod streams;

use narrows_scenario::Stack;
use std::sync::Arc;

pub use narrows_scenario::Transfer;

/// Bytes of the far end's flow control, for a connection and for a stream: 16 MB, so that it is the
/// network that limits.
#[cfg(any(feature = "quinn", feature = "noq", feature = "smoltcp", feature = "s2n"))]
pub(crate) const WINDOW: u32 = 16 << 20;

/// Bytes of a packet that any path of QUIC must carry: 1200 of payload (RFC 9000, §14).
#[cfg(any(feature = "quinn", feature = "noq", feature = "s2n"))]
pub(crate) const SMALLEST: u32 = 1200 + narrows_sim::Transmit::UDP_HEADERS;

/// All stacks that are built in.
pub fn stacks() -> Vec<Arc<dyn Stack>> {
    vec![
        #[cfg(feature = "quinn")]
        Arc::new(quinn::stack()),
        #[cfg(feature = "noq")]
        Arc::new(noq::stack()),
        #[cfg(feature = "smoltcp")]
        Arc::new(smoltcp::stack()),
        #[cfg(feature = "s2n")]
        Arc::new(s2n::stack()),
    ]
}
