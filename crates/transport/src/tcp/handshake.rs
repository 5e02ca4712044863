//! The three-way handshake, as far as a sender of data sees it (RFC 9293 §3.5): it asks, and asks
//! again until it is accepted; its data leaves with the third segment. The connection's first RTT
//! sample is the handshake's (RFC 6298 §2.2; `tcp_synack_rtt_meas` in Linux's
//! net/ipv4/tcp_input.c).

/// Bytes of a SYN and of its answer on the wire: IPv4 and TCP headers, with the options for the
/// segment size, selective acknowledgements, timestamps and the window scale, padded.
pub(super) const BYTES: u32 = 60;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handshake {
    /// It is to be asked for, once there is data; `true` if it has been asked for already.
    Due(bool),
    /// It has been asked for; `true` if more than once.
    Asked(bool),
    /// Data may leave.
    Done,
}

impl Handshake {
    /// A connection that begins with a handshake, or without.
    pub fn new(happens: bool) -> Self {
        if happens { Self::Due(false) } else { Self::Done }
    }
}
