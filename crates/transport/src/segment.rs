//! What travels between endpoints.

use crate::etcp::coding::Symbol;
use narrows_signal::{Ecn, EtcpAck, QuicAck, Reply, Request, SackBlocks};
use narrows_units::Time;

/// Whether a segment carries data or an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One packet of data.
    Data,
    /// An acknowledgement.
    Ack,
}

/// The fields of a segment that depend on its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Header {
    /// TCP data, QUIC data, or a datagram.
    Data(DataHeader),
    /// A TCP acknowledgement.
    Ack(AckHeader),
    /// Asks for a TCP connection (SYN), and perhaps routers for their room.
    Syn(Request),
    /// Accepts a TCP connection (SYN and ACK), and says what routers replied.
    SynAck(Reply),
    /// E-TCP data.
    EtcpData {
        /// Label of this packet, used by congestion control only; 32 bits that wrap around.
        cc_seq: u32,
        /// True if the data may have been sent before.
        retransmission: bool,
        /// How the payload is checked.
        payload: Payload,
    },
    /// E-TCP data as a symbol of an erasure code.
    EtcpSymbol {
        /// Label of this packet, used by congestion control only; 32 bits that wrap around.
        cc_seq: u32,
        /// What it carries.
        symbol: Symbol,
        /// How the payload is checked.
        payload: Payload,
    },
    /// An E-TCP acknowledgement.
    EtcpAck(EtcpAck),
    /// A QUIC acknowledgement.
    QuicAck(QuicAck),
    /// Asks for a QUIC connection (an Initial packet).
    QuicInitial,
    /// Accepts a QUIC connection (an Initial packet with the handshake's answer).
    QuicAccept,
    /// A datagram of an endpoint that is not ours; its bytes are kept beside the segment.
    Hosted {
        /// Where its bytes are kept.
        place: u32,
        /// Whether queues may mark it, and whether one has.
        ecn: Ecn,
        /// True on the way back, from the far end to the near one.
        back: bool,
    },
}

/// How a receiver learns whether a payload was damaged on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// By a checksum over everything: a damaged packet is a lost one.
    #[default]
    WithHeader,
    /// By a checksum of its own, so that the header of a damaged packet still counts.
    Apart,
    /// It has been damaged; the header has not.
    Damaged,
}

impl Header {
    /// A SYN that asks nothing of routers.
    pub const SYN: Self = Self::Syn(Request::Nothing);
    /// The answer to it.
    pub const SYN_ACK: Self = Self::SynAck(Reply::Nothing);
}

/// The header fields of data over TCP or QUIC, apart from its number; by default nothing is set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DataHeader {
    /// True if the data may have been sent before.
    pub retransmission: bool,
    /// Whether queues may mark the packet, and whether one has.
    pub ecn: Ecn,
    /// The sender has reduced its window in response to a mark (CWR; RFC 3168 §6.1.2).
    pub reduced: bool,
    /// Nothing more may follow for now: it ends a burst, or what the application has written (PSH;
    /// RFC 9293, §3.9.1.2). Only TCP says so.
    pub pushes: bool,
    /// Bytes of the packets that leave right behind it, of what its sender hands over as one.
    pub behind: u32,
    /// What the packet asks of routers.
    pub request: Request,
    /// Over QUIC, whose packets have numbers of their own, the number of the data that it carries,
    /// in packets from 0 (the stream's offset); 32 bits that wrap around.
    pub quic: Option<u32>,
}

/// The header fields of a TCP acknowledgement, apart from its number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckHeader {
    /// The blocks that arrived above the acknowledged number.
    pub sack: SackBlocks,
    /// True if the first block is the packet that this answers, which had arrived before (RFC
    /// 2883).
    pub duplicate: bool,
    /// Packets that have arrived with a mark so far, modulo 2¹⁶: what RFC 9768's field of three
    /// bits and its option say together (§3.2.2, §3.2.3), as if the option were on each
    /// acknowledgement.
    pub marked: u16,
    /// A mark has arrived and the sender has not responded to it yet (ECE; RFC 3168 §6.1.3).
    pub ece: bool,
    /// What routers replied.
    pub reply: Reply,
}

impl AckHeader {
    /// One that says nothing.
    pub const NOTHING: Self = Self {
        sack: SackBlocks::NONE,
        duplicate: false,
        marked: 0,
        ece: false,
        reply: Reply::Nothing,
    };
}

/// One packet on the wire: plain data that fits into a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// For data, its sequence number, in packets from 0; for an acknowledgement, the next number
    /// expected. A symbol that is no packet of the data has the number of the first packet of its
    /// block. QUIC's data has its packet number, and its acknowledgement the largest that it
    /// acknowledges.
    pub number: u64,
    /// When the segment left its endpoint (RFC 7323's TSval).
    pub stamp: Time,
    /// For an acknowledgement, the stamp of the data that it answers (RFC 7323's TSecr). For
    /// QUIC's, when the largest packet that it acknowledges arrived: until `stamp` it has been
    /// delayed (ACK Delay; RFC 9000, §19.3).
    pub echoed_stamp: Time,
    /// Size on the wire, headers included.
    pub bytes: u32,
    /// The fields that depend on the kind of segment.
    pub header: Header,
}

impl Segment {
    /// A data segment that leaves at `stamp`.
    pub const fn data(number: u64, stamp: Time, bytes: u32, header: Header) -> Self {
        Self { number, stamp, echoed_stamp: Time::ZERO, bytes, header }
    }

    /// A request for a connection without bytes, to be written over.
    pub const BLANK: Self = Self::data(0, Time::ZERO, 0, Header::SYN);

    /// What `write` writes, if it returns true.
    pub(crate) fn written(write: impl FnOnce(&mut Self) -> bool) -> Option<Self> {
        let mut segment = Self::BLANK;
        write(&mut segment).then_some(segment)
    }

    /// Whether this is data or an acknowledgement.
    pub const fn kind(&self) -> Kind {
        match self.header {
            Header::Data(_)
            | Header::EtcpData { .. }
            | Header::EtcpSymbol { .. }
            | Header::Syn(_)
            | Header::QuicInitial
            | Header::Hosted { back: false, .. } => Kind::Data,
            Header::Ack(_)
            | Header::EtcpAck(_)
            | Header::SynAck(_)
            | Header::QuicAck(_)
            | Header::QuicAccept
            | Header::Hosted { back: true, .. } => Kind::Ack,
        }
    }

    /// Bytes of the packets that left right behind it, of what its sender handed over as one.
    pub const fn behind(&self) -> u32 {
        if let Header::Data(data) = self.header { data.behind } else { 0 }
    }

    /// Lets it, or what it says of those behind it, be shorter if data with this `number`, which
    /// has so many `bytes` on the wire, are among them.
    #[inline]
    pub fn shorten(&mut self, number: u64, bytes: u32) {
        if self.carries(number) {
            self.bytes = bytes;
        } else if let Header::Data(data) = &mut self.header {
            // In 32 bits, as QUIC's numbers are.
            let own = data.quic.unwrap_or(self.number as u32);
            let ahead = (number as u32).wrapping_sub(own);
            let reach = u64::from(ahead) * u64::from(self.bytes);
            if ahead > 0 && reach <= u64::from(data.behind) {
                data.behind -= self.bytes - bytes;
            }
        }
    }

    /// True if it carries data with this `number`; over QUIC modulo 2³².
    pub const fn carries(&self, number: u64) -> bool {
        match self.header {
            Header::Data(DataHeader { quic: Some(data), .. }) => data == number as u32,
            Header::Data(_) | Header::EtcpData { .. } => self.number == number,
            Header::EtcpSymbol { symbol, .. } => !symbol.is_repair() && self.number == number,
            _ => false,
        }
    }

    /// The blocks of a TCP acknowledgement that have arrived above its number; empty for any other
    /// segment.
    pub fn sack(&self) -> SackBlocks {
        match self.header {
            Header::Ack(ack) if ack.duplicate => ack.sack.without_first(),
            Header::Ack(ack) => ack.sack,
            _ => SackBlocks::NONE,
        }
    }

    /// True unless a TCP acknowledgement reports more than its number, by a block or a duplicate.
    #[inline]
    pub fn reports_nothing(&self) -> bool {
        !matches!(&self.header, Header::Ack(ack) if ack.duplicate || !ack.sack.is_empty())
    }

    /// True of a TCP acknowledgement that says only that everything below its number has arrived.
    #[inline]
    pub fn is_bare(&self) -> bool {
        match &self.header {
            Header::Ack(ack) => {
                ack.sack.is_empty() && !ack.duplicate && ack.reply == Reply::Nothing
            }
            _ => false,
        }
    }

    /// The packet that a TCP acknowledgement reports as having arrived more than once (RFC 2883).
    pub fn duplicate(&self) -> Option<u64> {
        match self.header {
            Header::Ack(ack) if ack.duplicate => Some(ack.sack.duplicate(self.number)),
            _ => None,
        }
    }

    /// Reports in a TCP acknowledgement that packet `number` has arrived before (RFC 2883 §4).
    pub fn report_duplicate(&mut self, number: u64) {
        if let Header::Ack(ack) = &mut self.header {
            ack.sack.push_duplicate(self.number, number);
            ack.duplicate = true;
        }
    }

    /// The ECN bits; of ours, only data over TCP or QUIC is ever ECN-capable.
    pub const fn ecn(&self) -> Ecn {
        if let Header::Data(data) = self.header {
            return data.ecn;
        }
        if let Header::Hosted { ecn, .. } = self.header { ecn } else { Ecn::NotCapable }
    }

    /// Marks the segment for congestion, if it is ECN-capable.
    pub const fn mark(&mut self) {
        if let Header::Data(DataHeader { ecn, .. }) | Header::Hosted { ecn, .. } = &mut self.header
        {
            *ecn = ecn.mark();
        }
    }

    /// Takes its ECN bits off: it can no longer be marked, and no mark is left.
    pub const fn clear(&mut self) {
        if let Header::Data(DataHeader { ecn, .. }) | Header::Hosted { ecn, .. } = &mut self.header
        {
            *ecn = Ecn::NotCapable;
        }
    }

    /// If it is an acknowledgement of TCP, lowers the window that it advertises to `bytes`.
    pub fn advertise(&mut self, bytes: u32) {
        if let Header::Ack(ack) = &mut self.header {
            ack.reply.rewrite(bytes.into());
        }
    }

    /// Damages the payload; returns false if nothing is left of the packet then.
    pub const fn damage(&mut self) -> bool {
        match &mut self.header {
            Header::EtcpData { payload, .. } | Header::EtcpSymbol { payload, .. } => {
                let survives = !matches!(payload, Payload::WithHeader);
                if survives {
                    *payload = Payload::Damaged;
                }
                survives
            }
            _ => false,
        }
    }

    /// What the segment asks of routers; `None` unless it carries data over TCP or QUIC, or is a
    /// SYN that asks for something.
    pub const fn request(&mut self) -> Option<&mut Request> {
        match &mut self.header {
            Header::Data(data) => Some(&mut data.request),
            Header::Syn(Request::Nothing) => None,
            Header::Syn(request) => Some(request),
            _ => None,
        }
    }

    /// What an acknowledgement says that routers replied; `None` for any other segment.
    pub const fn reply(&mut self) -> Option<&mut Reply> {
        match &mut self.header {
            Header::Ack(ack) => Some(&mut ack.reply),
            Header::SynAck(reply) => Some(reply),
            _ => None,
        }
    }

    /// True for data that may have been sent before, or that makes up for such data.
    pub const fn is_retransmission(&self) -> bool {
        match self.header {
            Header::Data(data) => data.retransmission,
            Header::EtcpData { retransmission, .. } => retransmission,
            Header::EtcpSymbol { symbol, .. } => symbol.is_repair(),
            _ => false,
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

    /// Packet 8 of TCP, or of QUIC's data, is the last and has 100 bytes; those before it in its
    /// burst have 1000 and say so of what is behind them.
    #[test]
    fn a_short_last_packet_is_told_by_those_before_it_in_its_burst() {
        for quic in [false, true] {
            let shortened = |data: u64, behind| {
                let (number, quic) =
                    if quic { (data + 70, Some(data as u32)) } else { (data, None) };
                let header = Header::Data(DataHeader { behind, quic, ..DataHeader::default() });
                let mut segment = Segment::data(number, Time::ZERO, 1000, header);
                segment.shorten(8, 100);
                (segment.bytes, segment.behind())
            };
            assert_eq!(shortened(8, 0), (100, 0), "the last itself");
            assert_eq!(shortened(7, 1000), (1000, 100));
            assert_eq!(shortened(6, 2000), (1000, 1100));
            assert_eq!(shortened(5, 2000), (1000, 2000), "its burst ends before the last");
            assert_eq!(shortened(9, 1000), (1000, 1000), "it is behind the last");
        }
    }
}
