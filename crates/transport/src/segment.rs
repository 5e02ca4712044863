//! What travels between endpoints.

use narrows_signal::{Ecn, EtcpAck, Reply, Request, SackBlocks};
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Header {
    /// TCP's data, or a datagram.
    Data(DataHeader),
    /// TCP's acknowledgement.
    Ack(AckHeader),
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

/// What TCP's data says besides its number; nothing special by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DataHeader {
    /// Sent before, perhaps.
    pub retransmission: bool,
    /// What queues may do to it, and have done.
    pub ecn: Ecn,
    /// The sender has answered a mark (CWR; RFC 3168 §6.1.2).
    pub reduced: bool,
    /// What it asks of routers.
    pub request: Request,
}

/// What TCP's acknowledgement says besides its number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckHeader {
    /// What arrived above the number.
    pub sack: SackBlocks,
    /// Packets that have arrived with a mark so far, modulo 2¹⁶ (RFC 9768's counter, with more
    /// bits).
    pub marked: u16,
    /// A mark has arrived, and no answer to it (ECE; RFC 3168 §6.1.3).
    pub ece: bool,
    /// What routers said.
    pub reply: Reply,
}

/// One packet on the wire: plain data, a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Data: its sequence number, in packets from 0. Acknowledgement: the next number expected.
    pub number: u64,
    /// When it left its endpoint (RFC 7323's TSval).
    pub stamp: Time,
    /// Acknowledgement: the stamp of the data that it answers (RFC 7323's TSecr).
    pub echoed_stamp: Time,
    /// Size on the wire, headers included.
    pub bytes: u32,
    /// The rest.
    pub header: Header,
}

impl Segment {
    /// Data that leaves at `stamp`.
    pub const fn data(number: u64, stamp: Time, bytes: u32, header: Header) -> Self {
        Self { number, stamp, echoed_stamp: Time::ZERO, bytes, header }
    }

    /// Data or acknowledgement.
    pub const fn kind(&self) -> Kind {
        match self.header {
            Header::Data(_) | Header::EtcpData { .. } => Kind::Data,
            Header::Ack(_) | Header::EtcpAck(_) => Kind::Ack,
        }
    }

    /// TCP's selective acknowledgements; none in anything else.
    pub fn sack(&self) -> SackBlocks {
        if let Header::Ack(ack) = self.header { ack.sack } else { SackBlocks::default() }
    }

    /// The congestion bits; only TCP's data is ever capable.
    pub const fn ecn(&self) -> Ecn {
        if let Header::Data(data) = self.header { data.ecn } else { Ecn::NotCapable }
    }

    /// A queue that met congestion marks it, where it can.
    pub const fn mark(&mut self) {
        if let Header::Data(data) = &mut self.header {
            data.ecn = data.ecn.mark();
        }
    }

    /// What it asks of routers; `None` for what carries no data.
    pub const fn request(&mut self) -> Option<&mut Request> {
        if let Header::Data(data) = &mut self.header { Some(&mut data.request) } else { None }
    }

    /// True for data that has been sent before, perhaps.
    pub const fn is_retransmission(&self) -> bool {
        match self.header {
            Header::Data(data) => data.retransmission,
            Header::EtcpData { retransmission, .. } => retransmission,
            Header::Ack(_) | Header::EtcpAck(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_a_cache_line() {
        assert_eq!(size_of::<Segment>(), 64);
    }
}
