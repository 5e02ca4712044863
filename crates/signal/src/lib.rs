//! What senders, receivers and routers say to each other.

mod ecn;
mod etcp;
mod sack;
pub mod serial;

pub use ecn::Ecn;
pub use etcp::EtcpAck;
pub use sack::{Range, SackBlocks};
