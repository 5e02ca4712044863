//! Segments as real IPv4 and TCP headers.

use etherparse::{IpNumber, Ipv4Header, TcpHeader, TcpOptionElement};
use narrows_sim::Crossing;
use narrows_transport::{Kind, Segment};

/// What a flow's headers need besides its segments.
#[derive(Clone, Copy, Debug)]
pub struct FlowHeaders {
    /// Bytes of payload in a data packet.
    pub payload: u32,
    /// Whether segments carry RFC 7323's timestamps, in milliseconds.
    pub timestamps: bool,
}

/// The first data byte's sequence number: what a handshake would have left.
const FIRST_BYTE: u32 = 1;
const SENDER_PORT: u16 = 40_000;
const RECEIVER_PORT: u16 = 5001;

/// The headers of a segment as bytes, and the packet's length on the wire with its payload, which is not written.
pub(crate) fn write(crossing: &Crossing, flow: FlowHeaders) -> (Vec<u8>, u32) {
    let tcp = tcp(&crossing.segment, flow);
    let payload = if crossing.segment.kind() == Kind::Data { flow.payload } else { 0 };
    let length = tcp.header_len() as u32 + payload;
    let (sender, receiver) = addresses(crossing.flow);
    let (source, destination) = if crossing.segment.kind() == Kind::Data { (sender, receiver) } else { (receiver, sender) };
    let mut ip = Ipv4Header::new(u16::try_from(length).unwrap_or(u16::MAX - 20), 64, IpNumber::TCP, source, destination)
        .expect("a segment of at most 65,515 bytes fits into an IPv4 packet");
    ip.dont_fragment = true;
    ip.header_checksum = ip.calc_header_checksum();
    let mut bytes = ip.to_bytes().to_vec();
    bytes.extend_from_slice(&tcp.to_bytes());
    let total = bytes.len() as u32 + payload;
    (bytes, total)
}

fn tcp(segment: &Segment, flow: FlowHeaders) -> TcpHeader {
    let byte = |number: u64| FIRST_BYTE.wrapping_add((number as u32).wrapping_mul(flow.payload));
    let mut tcp = match segment.kind() {
        Kind::Data => TcpHeader::new(SENDER_PORT, RECEIVER_PORT, byte(segment.number), 65_535),
        Kind::Ack => TcpHeader::new(RECEIVER_PORT, SENDER_PORT, FIRST_BYTE, 65_535),
    };
    tcp.ack = true;
    tcp.acknowledgment_number = if segment.kind() == Kind::Ack { byte(segment.number) } else { FIRST_BYTE };
    let mut options = Vec::new();
    if flow.timestamps {
        let millis = |time: narrows_units::Time| (time.picos() / 1_000_000_000) as u32;
        options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
        options.push(TcpOptionElement::Timestamp(millis(segment.stamp), millis(segment.echo)));
    }
    let sack = segment.sack();
    let mut blocks = sack.iter(segment.number).map(|range| (byte(range.start), byte(range.end)));
    if let Some(first) = blocks.next() {
        options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
        options.push(TcpOptionElement::SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), None]));
    }
    tcp.set_options(&options).expect("timestamps and three blocks take 40 bytes, and there is room for 40");
    tcp
}

/// 10.0.0.0/9 for senders, 10.128.0.0/9 for receivers, the flow's number below.
fn addresses(flow: u32) -> ([u8; 4], [u8; 4]) {
    let [_, a, b, c] = (flow + 1).to_be_bytes();
    ([10, a & 127, b, c], [10, 128 | a, b, c])
}
