//! What senders, receivers and routers say to each other.

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
