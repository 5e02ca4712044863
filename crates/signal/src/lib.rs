//! What senders, receivers and routers say to each other.

mod etcp;
mod sack;
pub mod serial;

pub use etcp::EtcpAck;
pub use sack::{Range, SackBlocks};
