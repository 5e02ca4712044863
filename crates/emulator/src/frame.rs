//! A real packet as routers see it: IPv4, told apart by the port of its flow.

use crate::window::updated;
use narrows_router::Packet;
use narrows_signal::{Ecn, Request};
use narrows_sim::Cargo;

/// The port of flow 0 at its receiver; the others' follow.
pub(crate) const FIRST_PORT: u16 = 20_000;

/// Flows that are told apart on a path for any packet.
pub(crate) const ANY_FLOWS: u32 = 1 << 16;

/// A packet of IPv4.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Which it is of those that came.
    pub number: usize,
    flow: u32,
    request: Request,
}

impl Frame {
    /// The packet in `bytes`; `None` if it is not TCP or UDP over IPv4 to or from a flow's port.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let header = usize::from(bytes.first()? & 0x0f) * 4;
        let is_ours = bytes[0] >> 4 == 4 && matches!(bytes.get(9)?, 6 | 17);
        let ports = bytes.get(header..header + 4).filter(|_| is_ours)?;
        let port = |place: usize| u16::from_be_bytes([ports[place], ports[place + 1]]);
        // The flow's port is that of the receiver; the sender's is above.
        let port = port(0).min(port(2));
        let flow = port.checked_sub(FIRST_PORT)?;
        Some(Self::new(bytes, u32::from(flow)))
    }

    /// Any packet of IPv4, its flow told by addresses, protocol and ports: one of [`ANY_FLOWS`].
    pub fn any(bytes: &[u8]) -> Option<Self> {
        let header = usize::from(bytes.first()? & 0x0f) * 4;
        let addresses = bytes.get(12..20).filter(|_| bytes[0] >> 4 == 4)?;
        let ports = bytes.get(header..header + 4).filter(|_| matches!(bytes[9], 6 | 17));
        let told = addresses.iter().chain(&bytes[9..10]).chain(ports.into_iter().flatten());
        // FNV-1a.
        let hash = told.fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        });
        Some(Self::new(bytes, (hash ^ hash >> 16) % ANY_FLOWS))
    }

    fn new(bytes: &[u8], flow: u32) -> Self {
        Self { bytes: bytes.to_vec(), number: 0, flow, request: Request::Nothing }
    }
}

/// Bytes of the headers of IPv4, and of TCP or UDP behind it.
fn headers(bytes: &[u8]) -> usize {
    let header = usize::from(bytes[0] & 0x0f) * 4;
    let transport = match bytes[9] {
        6 => bytes.get(header + 12).map_or(0, |byte| usize::from(byte >> 4) * 4),
        _ => 8,
    };
    header + transport
}

/// True if a packet carries something: more than the header of TCP, or that of UDP.
fn has_payload(bytes: &[u8]) -> bool {
    bytes.len() > headers(bytes)
}

impl Frame {
    /// TCP's sequence number behind its payload; `None` without payload, and if it is not TCP.
    pub fn ends_at(&self) -> Option<u32> {
        let header = usize::from(self.bytes[0] & 0x0f) * 4;
        let payload = self.bytes.len().checked_sub(headers(&self.bytes)).filter(|it| *it > 0)?;
        let word = self.bytes.get(header + 4..header + 8).filter(|_| self.bytes[9] == 6)?;
        let first = u32::from_be_bytes(word.try_into().ok()?);
        Some(first.wrapping_add(payload as u32))
    }

    /// Sets the two ECN bits, and brings the header's checksum up to date.
    fn set_ecn(&mut self, ecn: Ecn) {
        let word =
            |bytes: &[u8], place: usize| u16::from_be_bytes([bytes[place], bytes[place + 1]]);
        let (before, checksum) = (word(&self.bytes, 0), word(&self.bytes, 10));
        self.bytes[1] = self.bytes[1] & !3 | ecn.bits();
        let after = updated(checksum, before, word(&self.bytes, 0));
        self.bytes[10..12].copy_from_slice(&after.to_be_bytes());
    }
}

impl Packet for Frame {
    fn bytes(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.bytes[1] & 3).expect("two bits hold at most 3")
    }

    fn mark(&mut self) {
        if self.ecn() != Ecn::NotCapable {
            self.set_ecn(Ecn::Marked);
        }
    }

    /// A kernel's packets ask nothing; that it could is what tells data from acknowledgements.
    fn request(&mut self) -> Option<&mut Request> {
        has_payload(&self.bytes).then_some(&mut self.request)
    }
}

impl Cargo for Frame {
    fn number_of_flow(&self) -> u32 {
        self.flow()
    }

    fn clear(&mut self) {
        self.set_ecn(Ecn::NotCapable);
    }

    /// A kernel's packets come as it cut them.
    fn behind(&self) -> u32 {
        0
    }

    /// No script of a lab has lines that do so.
    fn advertise(&mut self, _: u32) {}

    fn damage(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of 20 bytes with ECT(0) and a right checksum, and the ports of flow 3.
    fn packet() -> Vec<u8> {
        let mut bytes =
            vec![0x45, 2, 0, 24, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2];
        let sum = checksum(&bytes);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes.extend([0xc0, 0, 0x4e, 0x23]);
        bytes
    }

    /// The Internet checksum (RFC 1071).
    fn checksum(bytes: &[u8]) -> u16 {
        let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let mut frame = Frame::parse(&packet()).expect("it is TCP");
        assert_eq!((frame.flow(), frame.bytes(), frame.ecn()), (3, 24, Ecn::Capable));
        assert_eq!(checksum(&frame.bytes[..20]), 0);
        frame.mark();
        assert_eq!(frame.ecn(), Ecn::Marked);
        assert_eq!(checksum(&frame.bytes[..20]), 0);
    }

    #[test]
    fn what_is_not_a_flows_is_refused() {
        for (place, byte) in [(0, 0x65), (9, 1), (22, 0)] {
            let mut bytes = packet();
            bytes[place] = byte;
            assert_eq!(Frame::parse(&bytes), None, "byte {place}");
        }
        assert_eq!(Frame::parse(&packet()[..21]), None);
        assert_eq!(Frame::parse(&[]), None);
    }

    #[test]
    fn flows_of_any_packets_are_told_by_their_ports() {
        let flow = |bytes: &[u8]| Frame::any(bytes).expect("it is IPv4").flow();
        let (one, mut other) = (packet(), packet());
        other[23] = 0x24;
        assert_eq!(flow(&one), flow(&packet()));
        assert_ne!(flow(&one), flow(&other));
        assert_eq!(Frame::any(&one[..19]), None);
        assert_eq!(Frame::any(&[0x60; 40]), None, "IPv6");
    }
}
