//! The receiver's window in passing acknowledgements, lowered to a router's room: GWA for hosts
//! that know nothing of it (Gerla, Lo Cigno, Mascolo, Weng, §1: "the receiver window field").

use narrows_units::Bytes;
use std::sync::atomic::{AtomicU64, Ordering};

/// Flags of TCP's header (RFC 9293 §3.1).
const SYN: u8 = 2;
const ACK: u8 = 16;
/// Options of TCP's header: the end, padding, and the window scale (RFC 7323 §2.2).
const END: u8 = 0;
const PADDING: u8 = 1;
const WINDOW_SCALE: u8 = 3;

/// The room of each flow in bytes on the wire; written by the direction that has the queue, read by
/// the other.
#[derive(Debug)]
pub(crate) struct Rooms(Vec<AtomicU64>);

impl Rooms {
    /// No flow is limited yet.
    pub fn new(flows: usize) -> Self {
        Self((0..flows).map(|_| AtomicU64::new(u64::MAX)).collect())
    }

    /// Sets the room of each flow.
    pub fn set(&self, mut room: impl FnMut(u32) -> u64) {
        for (flow, place) in self.0.iter().enumerate() {
            place.store(room(flow as u32), Ordering::Relaxed);
        }
    }
}

/// Lowers windows. It learns each connection's window scale from its SYN-ACK, which has one only if
/// the SYN had (RFC 7323 §2.2).
pub(crate) struct Rewriter<'a> {
    rooms: &'a Rooms,
    /// The shift of each flow's receiver.
    scales: Vec<u8>,
    /// Bytes of a full packet on the wire, and of its payload.
    packet: (u64, u64),
}

impl<'a> Rewriter<'a> {
    /// Rewrites by `rooms`, for packets of `packet` bytes.
    pub fn new(rooms: &'a Rooms, packet: Bytes) -> Self {
        /// Headers of IPv4 and TCP with timestamps.
        const HEADERS: u64 = 52;
        let bytes = packet.count();
        let packet = (bytes, bytes.saturating_sub(HEADERS));
        Self { rooms, scales: vec![0; rooms.0.len()], packet }
    }

    /// Lowers the window of an acknowledgement of `flow`, and brings its checksum up to date (RFC
    /// 1624, eqn. 3). The window is as many whole packets as there is room for, rounded up to what
    /// the scale can say, so that one that just fits does fit.
    pub fn rewrite(&mut self, bytes: &mut [u8], flow: usize) {
        let header = usize::from(bytes.first().map_or(0, |byte| byte & 0x0f)) * 4;
        if bytes.get(9) != Some(&6) || bytes.len() < header + 20 {
            return;
        }
        let (Some(scale), Some(room)) = (self.scales.get_mut(flow), self.rooms.0.get(flow)) else {
            return;
        };
        let tcp = &mut bytes[header..];
        let flags = tcp[13];
        if flags & SYN != 0 {
            *scale = window_scale(tcp).unwrap_or(0);
            return;
        }
        if flags & ACK == 0 {
            return;
        }
        let room = room.load(Ordering::Relaxed);
        let payload = (room / self.packet.0).saturating_mul(self.packet.1);
        let most = payload.div_ceil(1 << *scale).min(u64::from(u16::MAX)) as u16;
        let before = u16::from_be_bytes([tcp[14], tcp[15]]);
        if most < before {
            tcp[14..16].copy_from_slice(&most.to_be_bytes());
            let checksum = u16::from_be_bytes([tcp[16], tcp[17]]);
            tcp[16..18].copy_from_slice(&updated(checksum, before, most).to_be_bytes());
        }
    }
}

/// The shift of the window scale option; `None` if there is none.
fn window_scale(tcp: &[u8]) -> Option<u8> {
    let length = usize::from(tcp.get(12)? >> 4) * 4;
    let mut options = tcp.get(20..length)?;
    loop {
        match *options.first()? {
            END => return None,
            PADDING => options = &options[1..],
            kind => {
                let size = usize::from(*options.get(1)?);
                if kind == WINDOW_SCALE {
                    return options.get(2).map(|shift| (*shift).min(14));
                }
                options = options.get(size.max(2)..)?;
            }
        }
    }
}

/// A checksum after a word has changed (RFC 1624, eqn. 3).
pub(crate) fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of IPv4 and one of TCP with `flags`, `window` and `options`.
    fn segment(flags: u8, window: u16, options: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 40];
        (bytes[0], bytes[9]) = (0x45, 6);
        bytes[32] = (((20 + options.len()) / 4) << 4) as u8;
        bytes[33] = flags;
        bytes[34..36].copy_from_slice(&window.to_be_bytes());
        bytes.extend(options);
        bytes
    }

    fn window(bytes: &[u8]) -> u16 {
        u16::from_be_bytes([bytes[34], bytes[35]])
    }

    #[test]
    fn a_window_is_lowered_to_whole_packets_in_the_connections_scale() {
        let rooms = Rooms::new(2);
        let mut rewriter = Rewriter::new(&rooms, Bytes::new(1500));
        // Maximum segment size, padding, a scale of 7.
        let mut answer = segment(SYN | ACK, 65_535, &[2, 4, 5, 180, 1, 3, 3, 7]);
        rewriter.rewrite(&mut answer, 1);
        assert_eq!(window(&answer), 65_535, "a window in a SYN has no scale");
        rooms.set(|flow| if flow == 1 { 4000 } else { u64::MAX });
        let mut ack = segment(ACK, 10_000, &[]);
        rewriter.rewrite(&mut ack, 1);
        // Two packets of 1448 bytes of payload, in steps of 128.
        assert_eq!(window(&ack), 23);
        let mut small = segment(ACK, 20, &[]);
        rewriter.rewrite(&mut small, 1);
        assert_eq!(window(&small), 20, "no window is raised");
        let mut other = segment(ACK, 10_000, &[]);
        rewriter.rewrite(&mut other, 0);
        assert_eq!(window(&other), 10_000, "another flow");
    }

    #[test]
    fn the_checksum_stays_right() {
        let sum = |bytes: &[u8]| {
            let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
            let mut sum: u32 = words.sum();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            !(sum as u16)
        };
        let rooms = Rooms::new(1);
        rooms.set(|_| 6000);
        let mut rewriter = Rewriter::new(&rooms, Bytes::new(1500));
        for before in [5793, 5794, 30_000, 65_535] {
            let mut ack = segment(ACK, before, &[]);
            let right = sum(&ack[20..]);
            ack[36..38].copy_from_slice(&right.to_be_bytes());
            assert_eq!(sum(&ack[20..]), 0);
            rewriter.rewrite(&mut ack, 0);
            assert_eq!((window(&ack), sum(&ack[20..])), (5792, 0));
        }
    }

    #[test]
    fn what_is_no_acknowledgement_stays() {
        let rooms = Rooms::new(1);
        rooms.set(|_| 1500);
        let mut rewriter = Rewriter::new(&rooms, Bytes::new(1500));
        for bytes in [vec![], vec![0x45; 30], segment(4, 999, &[])] {
            let mut same = bytes.clone();
            rewriter.rewrite(&mut same, 0);
            assert_eq!(same, bytes);
        }
    }
}
