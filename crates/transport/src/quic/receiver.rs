//! The QUIC receiver: takes data, and acknowledges packets by number (RFC 9000, §13.2).

use super::ranges::Received;
use super::{ACK_BYTES, INITIAL_BYTES};
use crate::{DataHeader, Header, Reassembly, Segment};
use narrows_signal::{Ecn, QuicAck, Reply, serial};
use narrows_units::{Duration, Time};

/// When packets are acknowledged that arrive in order of their numbers; the others are at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Packets per acknowledgement (RFC 9000, §13.2.2 recommends 2).
    pub every: u32,
    /// The longest time that an acknowledgement may be delayed, which the sender knows
    /// (max_ack_delay; 25 ms by RFC 9000, §18.2).
    pub delay: Duration,
}

impl Default for AckPolicy {
    fn default() -> Self {
        Self { every: 2, delay: Duration::from_millis(25) }
    }
}

/// Bytes of the three counts in an acknowledgement of packets that can be marked: ECT(0), ECT(1)
/// and ECN-CE, one of them in four bytes (RFC 9000, §19.3.2).
const ECN_COUNTS: u32 = 6;

/// A QUIC receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    policy: AckPolicy,
    received: Received,
    /// When the largest packet number arrived.
    largest_at: Time,
    reassembly: Reassembly,
    /// Packets received that wait for an acknowledgement.
    waiting: u32,
    ack_by: Time,
    arrived: u64,
    duplicates: u64,
    /// Packets that arrived with a mark, modulo 2¹⁶.
    marked: u16,
    /// Packets arrive that can be marked.
    sees_ecn: bool,
    /// What routers have replied since the last acknowledgement.
    reply: Reply,
    /// The receiver's own buffer, in bytes (GWA, eq. 2).
    buffer: u64,
}

impl Receiver {
    /// Creates a receiver with a buffer of `buffer` bytes.
    pub fn new(policy: AckPolicy, buffer: u64) -> Self {
        Self {
            policy,
            received: Received::default(),
            largest_at: Time::ZERO,
            reassembly: Reassembly::default(),
            waiting: 0,
            ack_by: Time::NEVER,
            arrived: 0,
            duplicates: 0,
            marked: 0,
            sees_ecn: false,
            reply: Reply::Nothing,
            buffer,
        }
    }

    /// Takes the packet that arrived; returns the acknowledgement to send now, if one is due.
    #[inline(never)]
    pub fn on_data(&mut self, now: Time, packet: &Segment) -> Option<Segment> {
        let (header, data) = match packet.header {
            Header::QuicInitial => return Some(accept(now, packet)),
            Header::Data(header @ DataHeader { quic: Some(data), .. }) => (header, data),
            _ => return None,
        };
        let largest = self.received.largest();
        if !self.received.arrive(packet.number) {
            // RFC 9000, §12.3: a packet that has been processed is discarded.
            self.duplicates += 1;
            return None;
        }
        // RFC 9000, §13.2.1: a packet is acknowledged without delay if it comes after a gap, if one
        // with a larger number has arrived, or if it is marked.
        let expected = largest.map_or(0, |largest| largest + 1);
        if packet.number >= expected {
            self.largest_at = now;
        }
        let marked = header.ecn == Ecn::Marked;
        self.marked = self.marked.wrapping_add(u16::from(marked));
        self.sees_ecn |= header.ecn.is_capable();
        self.reply = self.reply.and(header.request, self.buffer);
        let new = self.reassembly.arrive(serial::unwrap(data, self.reassembly.next()));
        self.arrived += u64::from(new);
        self.duplicates += u64::from(!new);
        self.waiting += 1;
        if packet.number != expected || marked || self.waiting >= self.policy.every {
            return Some(self.acknowledge(now));
        }
        if self.ack_by == Time::NEVER {
            self.ack_by = now + self.policy.delay;
        }
        None
    }

    /// When the receiver must be woken to send an acknowledgement; never if none is pending.
    pub fn wakeup(&self) -> Time {
        self.ack_by
    }

    /// Returns the acknowledgement that is due by `now`, if any; to be called at the wake-up time.
    #[inline(never)]
    pub fn on_wakeup(&mut self, now: Time) -> Option<Segment> {
        (self.ack_by <= now).then(|| self.acknowledge(now))
    }

    /// Packets of data that arrived for the first time.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Packets whose data had arrived before.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The lowest number of data that has not arrived.
    pub fn next(&self) -> u64 {
        self.reassembly.next()
    }

    fn acknowledge(&mut self, now: Time) -> Segment {
        (self.waiting, self.ack_by) = (0, Time::NEVER);
        let ranges = self.received.report();
        let ecn = if self.sees_ecn { ECN_COUNTS } else { 0 };
        Segment {
            number: self.received.largest().unwrap_or_default(),
            stamp: now,
            echoed_stamp: self.largest_at,
            bytes: ACK_BYTES + ranges.bytes() + ecn,
            header: Header::QuicAck(QuicAck {
                ranges,
                marked: self.marked,
                reply: std::mem::take(&mut self.reply),
            }),
        }
    }
}

/// Answers a request for a connection.
fn accept(now: Time, initial: &Segment) -> Segment {
    Segment {
        number: initial.number,
        stamp: now,
        echoed_stamp: initial.stamp,
        bytes: INITIAL_BYTES,
        header: Header::QuicAccept,
    }
}
