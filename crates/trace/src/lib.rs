//! Traces, packet by packet, in formats that other tools read: links as pcapng ([`PacketTrace`],
//! for Wireshark), and a flow's recovery as qlog ([`RecoveryLog`], for the tools of QUIC
//! engineers).
//!
//! ```
//! use narrows_trace::{PacketTrace, Side};
//! use narrows_units::Time;
//!
//! let trace = PacketTrace::new(Vec::new(), Side::Arrivals, Vec::new(), Vec::new())?;
//! let file = trace.finish(Time::ZERO)?;
//! assert_eq!(file[..4], [0x0a, 0x0d, 0x0d, 0x0a], "a pcapng file without a packet");
//! # Ok::<(), std::io::Error>(())
//! ```

mod headers;
mod packet_trace;
mod qlog;
mod recovery_log;

pub use headers::{Carries, FlowHeaders};
pub use packet_trace::{PacketTrace, Side, TracedLink};
pub use recovery_log::RecoveryLog;
