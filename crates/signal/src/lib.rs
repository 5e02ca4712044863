//! What senders, receivers and routers say to each other.
//!
//! ```
//! use narrows_signal::Range;
//!
//! let lost = Range { start: 3, end: 5 };
//! assert!(lost.contains(4) && !lost.contains(5));
//! ```

mod ecn;
mod etcp;
mod quic;
mod request;
mod sack;
pub mod serial;

pub use ecn::Ecn;
pub use etcp::EtcpAck;
pub use quic::{AckRanges, QuicAck};
pub use request::{AdvertisedWindow, CongestionHeader, Reply, Request};
pub use sack::{Range, SackBlocks};
