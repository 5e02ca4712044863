//! What travels between endpoints.

use narrows_signal::{Ecn, EtcpAck, SackBlocks};
use narrows_units::Time;

/// Whether a segment carries data or acknowledges some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One packet of data.
    Data,
    /// An acknowledgement.
    Ack,
}

/// What a segment says besides its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// TCP's data, or a datagram.
    Data {
        /// Sent before, perhaps.
        retransmission: bool,
        /// What queues may do to it, and have done.
        ecn: Ecn,
    },
    /// TCP's acknowledgement.
    Ack {
        /// What arrived above the number.
        sack: SackBlocks,
        /// Packets that have arrived with a mark so far, modulo 2¹⁶ (RFC 9768's counter, with more bits).
        marked: u16,
    },
    /// E-TCP's data.
    EtcpData {
        /// Label of this packet, for congestion control only; 32 bits that wrap around.
        cc_seq: u32,
        /// Sent before, perhaps.
        retransmission: bool,
    },
    /// E-TCP's acknowledgement.
    EtcpAck(EtcpAck),
}

/// One packet on the wire: plain data, less than a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Data: its sequence number, in packets from 0. Acknowledgement: the next number expected.
    pub number: u64,
    /// When it left its endpoint (RFC 7323's TSval).
    pub stamp: Time,
    /// Acknowledgement: the stamp of the data that it answers (RFC 7323's TSecr).
    pub echo: Time,
    /// Size on the wire, headers included.
    pub bytes: u32,
    /// The rest.
    pub header: Header,
}

impl Segment {
    /// Data that leaves at `stamp`.
    pub const fn data(number: u64, stamp: Time, bytes: u32, header: Header) -> Self {
        Self { number, stamp, echo: Time::ZERO, bytes, header }
    }

    /// Data or acknowledgement.
    pub const fn kind(&self) -> Kind {
        match self.header {
            Header::Data { .. } | Header::EtcpData { .. } => Kind::Data,
            Header::Ack { .. } | Header::EtcpAck(_) => Kind::Ack,
        }
    }

    /// TCP's selective acknowledgements; none in anything else.
    pub fn sack(&self) -> SackBlocks {
        if let Header::Ack { sack, .. } = self.header { sack } else { SackBlocks::default() }
    }

    /// The congestion bits; only TCP's data is ever capable.
    pub const fn ecn(&self) -> Ecn {
        if let Header::Data { ecn, .. } = self.header { ecn } else { Ecn::NotCapable }
    }

    /// A queue that met congestion marks it, where it can.
    pub const fn mark(&mut self) {
        if let Header::Data { ecn, .. } = &mut self.header {
            *ecn = ecn.mark();
        }
    }

    /// True for data that has been sent before, perhaps.
    pub const fn is_retransmission(&self) -> bool {
        matches!(self.header, Header::Data { retransmission: true, .. } | Header::EtcpData { retransmission: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_leaves_room_in_a_cache_line() {
        assert_eq!(size_of::<Segment>(), 56);
    }
}
