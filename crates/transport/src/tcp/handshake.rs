//! The three-way handshake, as far as a sender of data sees it (RFC 9293 §3.5): it asks, and asks
//! again until it is accepted; its data leaves with the third segment. The connection's first RTT
//! sample is the handshake's (RFC 6298 §2.2; FLAG_SYN_ACKED in Linux's `tcp_clean_rtx_queue`).
//!
//! Departure: Linux begins with a window of one packet if it had to ask more than twice.

/// Bytes of a SYN and of its answer on the wire: IPv4 and TCP headers, with the options for the
/// segment size, selective acknowledgements, timestamps and the window scale, padded.
pub(super) const BYTES: u32 = 60;

/// Timeouts that do not double the next one (`tcp_syn_linear_timeouts`, in Linux since 6.5;
/// `tcp_retransmit_timer` in net/ipv4/tcp_timer.c).
pub(super) const LINEAR_TIMEOUTS: u32 = 4;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handshake {
    /// It is to be asked for, once there is data; it has been asked for so many times.
    Due(u32),
    /// It has been asked for so many times.
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
