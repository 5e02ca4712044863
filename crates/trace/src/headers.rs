//! Segments as real IPv4 and TCP headers, those of QUIC as UDP headers: the rest of its packets is
//! encrypted on a real path.

use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use narrows_signal::Ecn;
use narrows_sim::Crossing;
use narrows_transport::{DataHeader, Header, Kind, Segment};

/// What a flow's headers need in addition to its segments.
#[derive(Clone, Copy, Debug)]
pub struct FlowHeaders {
    /// Bytes of payload in a data packet.
    pub payload: u32,
    /// What carries the payload.
    pub carries: Carries,
    /// Bytes beyond those acknowledged that the receiver lets a TCP sender send, if that can be
    /// less than any window.
    pub window: Option<u32>,
}

/// What carries a flow's payload, apart from QUIC, which its segments tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// TCP, with RFC 7323's timestamps in milliseconds or without.
    Tcp {
        /// Whether segments carry them.
        timestamps: bool,
    },
    /// Nothing: datagrams.
    Datagrams,
    /// A stack that others wrote.
    Hosted,
}

/// Bytes of an IPv4 header without options.
const IP_HEADER: u32 = 20;
/// Bytes of the timestamps in each segment, which the largest segment size leaves room for.
const TIMESTAMPS: u32 = 12;
/// The sequence number of the first data byte, as it would be after a handshake.
const FIRST_BYTE: u32 = 1;
/// The largest window scale (RFC 7323 §2.3), for a receiver whose window is never the limit.
const LARGEST_SCALE: u8 = 14;
const SENDER_PORT: u16 = 40_000;
const RECEIVER_PORT: u16 = 5001;
/// The port of QUIC's receiver: HTTPS, which is what tools take for QUIC.
const QUIC_PORT: u16 = 443;
/// Bytes of a UDP header.
const UDP_HEADER: u32 = 8;

/// Returns the headers of a segment as bytes, and the packet's length on the wire including its
/// payload, which is not written unless it is a hosted datagram's.
pub(crate) fn write(crossing: &Crossing, flow: FlowHeaders) -> (Vec<u8>, u32) {
    let segment = &crossing.segment;
    if let Some(payload) = crossing.payload {
        return hosted(crossing, payload);
    }
    if is_quic(segment) || flow.carries == Carries::Datagrams {
        let length = segment.bytes.saturating_sub(IP_HEADER).max(UDP_HEADER);
        return (
            packet(crossing, IpNumber::UDP, length, &udp(segment, length, flow.carries)),
            IP_HEADER + length,
        );
    }
    let tcp = tcp(segment, flow);
    let is_data = matches!(
        segment.header,
        Header::Data(_) | Header::EtcpData { .. } | Header::EtcpSymbol { .. }
    );
    // The last packet of a flow may be short.
    let headers = IP_HEADER + tcp.header_len() as u32;
    let room = segment.bytes.saturating_sub(headers);
    let payload = if is_data { flow.payload.min(room) } else { 0 };
    let length = tcp.header_len() as u32 + payload;
    (packet(crossing, IpNumber::TCP, length, &tcp.to_bytes()), IP_HEADER + length)
}

/// A hosted datagram whole: over UDP, or as the IP packet that it is.
fn hosted(crossing: &Crossing, payload: &[u8]) -> (Vec<u8>, u32) {
    let bytes = crossing.segment.bytes;
    if bytes as usize == payload.len() {
        return (payload.to_vec(), bytes);
    }
    let length = UDP_HEADER + payload.len() as u32;
    let udp = udp(&crossing.segment, length, Carries::Hosted);
    let mut packet = packet(crossing, IpNumber::UDP, length, &udp);
    packet.extend_from_slice(payload);
    (packet, IP_HEADER + length)
}

/// An IPv4 header for a payload of `length` bytes, then the `inner` header.
fn packet(crossing: &Crossing, inside: IpNumber, length: u32, inner: &[u8]) -> Vec<u8> {
    let (sender, receiver) = addresses(crossing.flow);
    let (source, destination) =
        if crossing.segment.kind() == Kind::Data { (sender, receiver) } else { (receiver, sender) };
    let length = u16::try_from(length).unwrap_or(u16::MAX - 20);
    let mut ip = Ipv4Header::new(length, 64, inside, source, destination)
        .expect("a segment of at most 65,515 bytes fits into an IPv4 packet");
    ip.dont_fragment = true;
    ip.ecn = ecn(crossing.segment.ecn());
    ip.header_checksum = ip.calc_header_checksum();
    let mut bytes = ip.to_bytes().to_vec();
    bytes.extend_from_slice(inner);
    bytes
}

fn is_quic(segment: &Segment) -> bool {
    matches!(
        segment.header,
        Header::Data(DataHeader { quic: Some(_), .. })
            | Header::QuicAck(_)
            | Header::QuicInitial
            | Header::QuicAccept
    )
}

/// A UDP header without a checksum, which IPv4 allows, for a datagram of `length` bytes.
fn udp(segment: &Segment, length: u32, carries: Carries) -> [u8; 8] {
    let port = if carries == Carries::Datagrams { RECEIVER_PORT } else { QUIC_PORT };
    let (source_port, destination_port) = match segment.kind() {
        Kind::Data => (SENDER_PORT, port),
        Kind::Ack => (port, SENDER_PORT),
    };
    let length = u16::try_from(length).unwrap_or(u16::MAX);
    UdpHeader { source_port, destination_port, length, checksum: 0 }.to_bytes()
}

/// The field and the scale (RFC 7323 §2.2) of a receive window, rounded up to what can be said.
fn window(bytes: Option<u32>) -> (u16, u8) {
    let Some(bytes) = bytes else { return (u16::MAX, LARGEST_SCALE) };
    let fits = |scale: &u8| bytes.div_ceil(1 << scale) <= u32::from(u16::MAX);
    let scale = (0..=LARGEST_SCALE).find(fits).unwrap_or(LARGEST_SCALE);
    (u16::try_from(bytes.div_ceil(1 << scale)).unwrap_or(u16::MAX), scale)
}

fn tcp(segment: &Segment, flow: FlowHeaders) -> TcpHeader {
    let timestamps = flow.carries == Carries::Tcp { timestamps: true };
    let byte = |number: u64| FIRST_BYTE.wrapping_add((number as u32).wrapping_mul(flow.payload));
    let (field, scale) = window(flow.window);
    let mut tcp = match segment.kind() {
        Kind::Data => TcpHeader::new(SENDER_PORT, RECEIVER_PORT, byte(segment.number), u16::MAX),
        Kind::Ack => TcpHeader::new(RECEIVER_PORT, SENDER_PORT, FIRST_BYTE, field),
    };
    tcp.ack = !matches!(segment.header, Header::Syn(_));
    tcp.acknowledgment_number = match segment.kind() {
        Kind::Ack => byte(segment.number),
        Kind::Data if tcp.ack => FIRST_BYTE,
        Kind::Data => 0,
    };
    tcp.syn = !tcp.ack || matches!(segment.header, Header::SynAck(_));
    if tcp.syn {
        // A SYN takes the sequence number before the first byte.
        tcp.sequence_number = tcp.sequence_number.wrapping_sub(1);
        // What a SYN says is not scaled.
        tcp.window_size = u16::try_from(u32::from(field) << scale).unwrap_or(u16::MAX);
    }
    tcp.psh = matches!(segment.header, Header::Data(data) if data.pushes);
    tcp.cwr = matches!(segment.header, Header::Data(data) if data.reduced);
    tcp.ece = matches!(segment.header, Header::Ack(ack) if ack.ece);
    let mut options = Vec::new();
    if timestamps {
        let millis = |time: narrows_units::Time| (time.picos() / 1_000_000_000) as u32;
        options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
        options
            .push(TcpOptionElement::Timestamp(millis(segment.stamp), millis(segment.echoed_stamp)));
    }
    if tcp.syn {
        let room = if timestamps { TIMESTAMPS } else { 0 };
        let size = flow.payload.saturating_add(room).min(u32::from(u16::MAX)) as u16;
        options.push(TcpOptionElement::MaximumSegmentSize(size));
        options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
        options.push(TcpOptionElement::WindowScale(scale));
    }
    let sack = segment.sack();
    let duplicate = segment.duplicate().map(|number| (byte(number), byte(number + 1)));
    let blocks = sack.iter(segment.number).map(|range| (byte(range.start), byte(range.end)));
    let mut blocks = duplicate.into_iter().chain(blocks);
    if let Some(first) = blocks.next() {
        options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
        options.push(TcpOptionElement::SelectiveAcknowledgement(
            first,
            [blocks.next(), blocks.next(), None],
        ));
    }
    tcp.set_options(&options)
        .expect("timestamps and three blocks take 40 bytes, and there is room for 40");
    tcp
}

/// RFC 3168 §5: ECT(1) is 01, ECT(0) 10, CE 11.
fn ecn(bits: Ecn) -> IpEcn {
    IpEcn::try_new(bits.bits()).expect("two bits hold at most 3")
}

/// Returns the addresses of sender and receiver: 10.0.0.0/9 for senders, 10.128.0.0/9 for
/// receivers, with the flow's number plus one in the low bits.
fn addresses(flow: u32) -> ([u8; 4], [u8; 4]) {
    let [_, a, b, c] = (flow + 1).to_be_bytes();
    ([10, a & 127, b, c], [10, 128 | a, b, c])
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_signal::QuicAck;
    use narrows_sim::TapPoint;
    use narrows_transport::AckHeader;
    use narrows_units::Time;

    /// A segment that comes to a queue, with its bytes if it is hosted.
    fn arrives(header: Header, bytes: u32, payload: Option<&[u8]>) -> Crossing<'_> {
        let segment = Segment::data(3, Time::ZERO, bytes, header);
        Crossing { at: Time::ZERO, link: 0, point: TapPoint::Arrival, flow: 0, segment, payload }
    }

    fn bytes(header: Header) -> Vec<u8> {
        let carries = Carries::Tcp { timestamps: false };
        write(&arrives(header, 1000, None), FlowHeaders { payload: 960, carries, window: None }).0
    }

    #[test]
    fn a_hosted_datagram_is_there_whole() {
        let header = Header::Hosted { place: 0, ecn: Ecn::Marked, back: true };
        let shown = |bytes: u32, payload: &[u8]| {
            let crossing = arrives(header, bytes, Some(payload));
            write(&crossing, FlowHeaders { payload: 1200, carries: Carries::Hosted, window: None })
        };
        let (udp, length) = shown(33, b"hello");
        assert_eq!((length, &udp[28..], udp[1] & 3, udp[9]), (33, &b"hello"[..], 3, 17));
        // RFC 768: from HTTPS, eight bytes and five.
        assert_eq!(udp[20..26], [1, 187, 156, 64, 0, 13]);
        assert_eq!(shown(5, b"an ip"), (b"an ip".to_vec(), 5));
    }

    #[test]
    fn datagrams_are_udp() {
        let crossing = arrives(Header::Data(DataHeader::default()), 1000, None);
        let flow = FlowHeaders { payload: 960, carries: Carries::Datagrams, window: None };
        let (data, length) = write(&crossing, flow);
        assert_eq!((data.len(), length, data[9], &data[22..24]), (28, 1000, 17, &[19, 137][..]));
    }

    #[test]
    fn quic_is_udp_and_as_long_as_on_the_wire() {
        let quic = DataHeader { ecn: Ecn::Capable, quic: Some(3), ..DataHeader::default() };
        let data = bytes(Header::Data(quic));
        // RFC 791: total length 1000, ECT(0), protocol 17; RFC 768: ports, length 980.
        assert_eq!((data.len(), &data[2..4], data[1] & 3, data[9]), (28, &[3, 232][..], 2, 17));
        assert_eq!(data[20..28], [156, 64, 1, 187, 3, 212, 0, 0]);
        let ack = bytes(Header::QuicAck(QuicAck::default()));
        assert_eq!(ack[20..24], [1, 187, 156, 64]);
        assert_eq!((&ack[12..16], &ack[16..20]), (&data[16..20], &data[12..16]));
    }

    #[test]
    fn a_window_is_said_to_the_unit_of_its_scale() {
        assert_eq!(window(None), (65_535, 14));
        assert_eq!(
            [1, 65_535, 65_536].map(|bytes| window(Some(bytes))),
            [(1, 0), (65_535, 0), (32_768, 1)]
        );
        // RFC 7323 §2.2: 2³⁰ bytes are the most.
        assert_eq!(window(Some(u32::MAX)), (65_535, 14));
    }

    #[test]
    fn congestion_bits_are_where_wireshark_looks_for_them() {
        // The second byte of the IPv4 header contains them in its low bits; the fourteenth byte of
        // the TCP header has CWR at 128 and ECE at 64.
        let seen = |header| (bytes(header)[1] & 3, bytes(header)[20 + 13] & 0b1100_0000);
        let data = DataHeader::default();
        assert_eq!(seen(Header::Data(data)), (0, 0));
        assert_eq!(
            seen(Header::Data(DataHeader { ecn: Ecn::Capable, reduced: true, ..data })),
            (2, 128)
        );
        assert_eq!(seen(Header::Data(DataHeader { ecn: Ecn::Scalable, ..data })), (1, 0));
        assert_eq!(seen(Header::Data(DataHeader { ecn: Ecn::Marked, ..data })), (3, 0));
        assert_eq!(seen(Header::Ack(AckHeader { ece: true, ..AckHeader::default() })), (0, 64));
    }
}
