//! A connection's beginning, as far as a sender of data sees it (RFC 9293 §3.5; RFC 9000, §7): it
//! asks, and asks again until it is accepted; only then its data leaves. The connection's first RTT
//! sample is the handshake's (RFC 6298 §2.2; FLAG_SYN_ACKED in Linux's `tcp_clean_rtx_queue`).
//!
//! Departure: Linux begins with a window of one packet if it had to ask more than twice.

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// The request is due once there is data. Holds the number of requests so far.
    Due(u32),
    /// A request is unanswered. Holds the number of requests so far.
    Asked(u32),
    /// Data may leave.
    Done,
}

impl Handshake {
    /// A connection that begins with a handshake, or without.
    pub fn new(happens: bool) -> Self {
        if happens { Self::Due(0) } else { Self::Done }
    }
}
