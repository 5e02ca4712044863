//! Traces, packet by packet, in formats that other tools read: links as pcapng ([`PacketTrace`],
//! for Wireshark), and a flow's recovery as qlog ([`RecoveryLog`], for the tools of QUIC
//! engineers).

mod headers;
mod packet_trace;
mod qlog;
mod recovery_log;

pub use headers::{Carries, FlowHeaders};
pub use packet_trace::{PacketTrace, Side, TracedLink};
pub use recovery_log::RecoveryLog;
