//! A TCP segment as a frame shows it, which may have been cut short.

use crate::frames::Frame;
use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TransportSlice};
use narrows_units::Time;
use pcap_file::DataLink;
use std::net::{IpAddr, SocketAddr};

/// A TCP segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub at: Time,
    /// The interface that saw it.
    pub interface: u32,
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub number: u32,
    /// What it acknowledges, if anything.
    pub acknowledged: Option<u32>,
    /// Bytes of payload on the link, which may be those of many packets that a network card cuts
    /// or has put together.
    pub payload: u32,
    /// Bytes of its IP and TCP headers.
    pub headers: u32,
    pub syn: bool,
    pub fin: bool,
    pub reset: bool,
    pub pushes: bool,
    /// A queue has marked it (CE).
    pub marked: bool,
    pub window: u16,
    /// IPv4's identification, which differs between what is sent twice; zero without one.
    pub identification: u16,
    pub options: Options,
    /// Options were cut off.
    pub is_cut: bool,
}

/// The options of a segment that the analysis asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The largest segment that the other end may send, in bytes.
    pub largest: Option<u16>,
    /// Places by which windows are shifted.
    pub scale: Option<u8>,
    /// Timestamp and echo (RFC 7323).
    pub stamps: Option<(u32, u32)>,
    /// SACK blocks as first number and number behind the last.
    pub blocks: [Option<(u32, u32)>; 4],
}

/// Bytes within which the headers of any segment end: link, IPv6 with extensions, TCP.
const HEADERS: usize = 192;

impl Segment {
    /// Returns the segment in a frame, or `None` if it is something else.
    pub fn of(frame: &Frame) -> Option<Self> {
        if frame.data.len() >= HEADERS || frame.data.len() as u32 == frame.length {
            return Self::parse(frame, frame.data);
        }
        // What was cut off is read as zeros, with which options end.
        let mut padded = [0; HEADERS];
        padded[..frame.data.len()].copy_from_slice(frame.data);
        Self::parse(frame, &padded)
    }

    fn parse(frame: &Frame, data: &[u8]) -> Option<Self> {
        let packet = packet(frame.link, data)?;
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else { return None };
        let (source, destination, total, marked, identification) = match packet.net? {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                let (source, destination) = (header.source_addr(), header.destination_addr());
                let total = usize::from(header.total_len());
                let inside = total.saturating_sub(header.slice().len());
                let (marked, number) = (header.ecn().value() == 3, header.identification());
                (IpAddr::from(source), IpAddr::from(destination), inside, marked, number)
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                let (source, destination) = (header.source_addr(), header.destination_addr());
                let ends = header.slice().as_ptr() as usize + header.slice().len();
                let extensions = tcp.slice().as_ptr() as usize - ends;
                let inside = usize::from(header.payload_length()).saturating_sub(extensions);
                let marked = header.traffic_class() & 3 == 3;
                (IpAddr::from(source), IpAddr::from(destination), inside, marked, 0)
            }
            LaxNetSlice::Arp(_) => return None,
        };
        let begins = tcp.slice().as_ptr() as usize - data.as_ptr() as usize;
        // Of what a card is yet to cut, IP may say no length.
        let inside = if total > 0 { total } else { (frame.length as usize).checked_sub(begins)? };
        let own = tcp.header_slice().len();
        Some(Self {
            at: frame.at,
            interface: frame.interface,
            from: SocketAddr::new(source, tcp.source_port()),
            to: SocketAddr::new(destination, tcp.destination_port()),
            number: tcp.sequence_number(),
            acknowledged: tcp.ack().then(|| tcp.acknowledgment_number()),
            payload: u32::try_from(inside.checked_sub(own)?).ok()?,
            headers: (own + if source.is_ipv4() { 20 } else { 40 }) as u32,
            syn: tcp.syn(),
            fin: tcp.fin(),
            reset: tcp.rst(),
            pushes: tcp.psh(),
            marked,
            window: tcp.window_size(),
            identification,
            options: options(tcp.options_iterator()),
            is_cut: begins + own > frame.data.len(),
        })
    }
}

fn packet(link: DataLink, data: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    let cooked = |header: usize, kind: usize| {
        let kind = u16::from_be_bytes([*data.get(kind)?, *data.get(kind + 1)?]);
        Some(LaxSlicedPacket::from_ether_type(EtherType(kind), data.get(header..)?))
    };
    match link {
        DataLink::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok(),
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => LaxSlicedPacket::from_ip(data).ok(),
        DataLink::NULL | DataLink::LOOP => LaxSlicedPacket::from_ip(data.get(4..)?).ok(),
        DataLink::LINUX_SLL => cooked(16, 14),
        DataLink::LINUX_SLL2 => cooked(20, 0),
        _ => None,
    }
}

/// What comes before the first option that is broken counts.
fn options(elements: etherparse::TcpOptionsIterator) -> Options {
    let mut options = Options::default();
    for element in elements {
        match element {
            Ok(TcpOptionElement::MaximumSegmentSize(bytes)) => options.largest = Some(bytes),
            // RFC 7323, §2.3: more than 14 is 14.
            Ok(TcpOptionElement::WindowScale(places)) => options.scale = Some(places.min(14)),
            Ok(TcpOptionElement::Timestamp(value, echo)) => options.stamps = Some((value, echo)),
            Ok(TcpOptionElement::SelectiveAcknowledgement(first, rest)) => {
                options.blocks = [Some(first), rest[0], rest[1], rest[2]];
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    options
}
