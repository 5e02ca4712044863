//! What happened, packet by packet, in the formats that other tools read: links as pcapng
//! ([`PacketTrace`], for Wireshark), a flow's recovery as qlog ([`RecoveryLog`], for what QUIC
//! engineers use).

mod headers;
mod packet_trace;
mod recovery_log;

pub use headers::FlowHeaders;
pub use packet_trace::{PacketTrace, TracedLink};
pub use recovery_log::RecoveryLog;
