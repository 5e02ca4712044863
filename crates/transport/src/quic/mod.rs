//! QUIC's recovery (RFC 9002), counted in packets instead of bytes: a sender and a [`Receiver`].
//!
//! A packet's number is the number of its transmission, and never used again (RFC 9000, §12.3);
//! which data it carries is another field. Data that is lost leaves again in a packet with a new
//! number.
//!
//! | RFC 9002 | says | here |
//! |---|---|---|
//! | §5 | RTT samples, less what the receiver says that it waited | [`rtt`] |
//! | §6.1 | lost: three packets, or 9/8 of an RTT, before one that was acknowledged | [`sent_packets`] |
//! | §6.2 | after a probe timeout (PTO) one or two packets leave; nothing is lost yet | [`timer`] |
//! | §7.3.2 | one reduction per round trip | [`losses`] |
//! | §7.6 | all packets of a long time lost: the smallest window | [`persistent`] |
//! | §7.7 | 1.25 windows per round trip, bursts of the initial window | `congestion/leaky_bucket.rs` |
//!
//! Departures: one packet number space, since the handshake is a request and its answer; both are
//! as long as RFC 9000, §14.1 has it. Marks are believed without the validation of RFC 9000,
//! §13.4.2. The receiver takes packets older than all the ranges that it remembers, instead of
//! discarding them (RFC 9000, §12.3): the stream knows which data it has. The law decides what a
//! reduction is, and what the smallest window is.

mod bursts;
mod losses;
mod outgoing;
mod persistent;
mod ranges;
mod receiver;
mod rtt;
mod sender;
mod sent_packets;
mod timer;

pub use receiver::{AckPolicy, Receiver};
pub(crate) use sender::Sender;
pub use sender::{QuicSettings, initial_window};

use narrows_units::Duration;

/// Bytes of the packet that asks for a connection and of its answer on the wire: UDP payloads of
/// 1200 bytes (RFC 9000, §14.1), and IPv4 and UDP headers.
pub const INITIAL_BYTES: u32 = 1228;

/// Bytes of the headers of a data packet: IPv4 (20), UDP (8), a short header (1), with a connection
/// ID (8) and a packet number (2), the head of a STREAM frame that is the last in its packet: type
/// (1), stream (1), offset (4), and AEAD's tag (16) (RFC 9000, §17.3.1, §19.8; RFC 9001, §5.3).
pub const HEADERS: u32 = 61;

/// Bytes of an acknowledgement without its ranges: as [`HEADERS`], but the head of an ACK frame:
/// type (1), largest acknowledged (4), delay (2), count (1) (RFC 9000, §19.3).
pub const ACK_BYTES: u32 = 63;

/// Bytes of the headers of IPv4 and UDP.
const IP_AND_UDP: u32 = 28;

/// kGranularity (RFC 9002, §6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);
