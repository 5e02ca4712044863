//! What senders, receivers and routers say to each other on the wire, as plain data.

mod sack;

pub use sack::{Range, SackBlocks};
