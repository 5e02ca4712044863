//! The packets between the cumulative acknowledgement and the highest number sent, with one record
//! each.

use super::scoreboard::LostPacket;
use crate::ring::{fit, push};
use narrows_units::Time;
use std::collections::VecDeque;
use std::ptr;

/// What a sender remembers of a packet that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Number of its latest transmission.
    pub transmission: u64,
    /// When that transmission left.
    pub sent: Time,
    /// Packets in flight when it left, itself included.
    pub in_flight: u32,
    pub sacked: bool,
    /// Marked as lost.
    pub lost: bool,
    /// A retransmission is thought to be in flight.
    pub retransmitted: bool,
    /// It has been sent more than once, so that nobody knows which transmission an
    /// acknowledgement answers (Karn).
    pub ambiguous: bool,
}

impl Record {
    /// What is reported of it if it is packet `number` and lost.
    pub fn as_lost(&self, number: u64) -> LostPacket {
        let Self { transmission, in_flight, ambiguous: again, .. } = *self;
        LostPacket { number, transmission, in_flight, again }
    }

    /// Copies of this packet that are thought to be in the pipe (RFC 6675 §4, SetPipe): the
    /// original and a retransmission.
    pub fn in_pipe(&self) -> u32 {
        if self.sacked { 0 } else { u32::from(!self.lost) + u32::from(self.retransmitted) }
    }
}

/// A record in 16 bytes: with many flows, much of the memory is records.
#[derive(Clone, Copy, Debug)]
struct Packed {
    sent: Time,
    /// How far the number of the transmission is ahead of the packet's: before it, as many
    /// transmissions were of packets sent again or of later ones.
    ahead: u32,
    /// The four flags of a record, and above them the packets in flight.
    rest: u32,
}

const SACKED: u32 = 1;
const LOST: u32 = 1 << 1;
const RETRANSMITTED: u32 = 1 << 2;
const AMBIGUOUS: u32 = 1 << 3;
const FLAGS: u32 = 4;

impl Packed {
    #[inline]
    fn of(number: u64, record: &Record) -> Self {
        let Record { transmission, sent, in_flight, sacked, lost, retransmitted, ambiguous } =
            *record;
        let flags = [
            (sacked, SACKED),
            (lost, LOST),
            (retransmitted, RETRANSMITTED),
            (ambiguous, AMBIGUOUS),
        ];
        let flags = flags.into_iter().map(|(is_set, flag)| u32::from(is_set) * flag).sum::<u32>();
        assert!(
            in_flight >> (u32::BITS - FLAGS) == 0,
            "a flow has less than 2^28 packets in flight"
        );
        let ahead = u32::try_from(transmission - number);
        let ahead = ahead.expect("a flow sends less than 2^32 packets again");
        Self { sent, ahead, rest: in_flight << FLAGS | flags }
    }

    #[inline]
    fn record(self, number: u64) -> Record {
        let Self { sent, ahead, rest } = self;
        Record {
            transmission: number + u64::from(ahead),
            sent,
            in_flight: rest >> FLAGS,
            sacked: rest & SACKED != 0,
            lost: rest & LOST != 0,
            retransmitted: rest & RETRANSMITTED != 0,
            ambiguous: rest & AMBIGUOUS != 0,
        }
    }
}

/// Records of `first()..end()`, by sequence number.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    first: u64,
    records: VecDeque<Packed>,
}

impl Outstanding {
    /// The lowest number not acknowledged cumulatively (SND.UNA).
    pub fn first(&self) -> u64 {
        self.first
    }

    /// One past the highest number sent (SND.MAX).
    pub fn end(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// When the lowest packet left for the last time; `None` if nothing is outstanding.
    pub fn first_sent(&self) -> Option<Time> {
        self.records.front().map(|record| record.sent)
    }

    /// Where the oldest and the newest record lie.
    pub fn places(&self) -> [Option<*const ()>; 2] {
        let ends = [self.records.front(), self.records.back()];
        ends.map(|record| record.map(|record| ptr::from_ref(record).cast()))
    }

    pub fn len(&self) -> u64 {
        self.records.len() as u64
    }

    /// Adds the packet numbered `end()`.
    #[inline]
    pub fn push(&mut self, transmission: u64, sent: Time, in_flight: u32) {
        let record = Record {
            transmission,
            sent,
            in_flight,
            sacked: false,
            lost: false,
            retransmitted: false,
            ambiguous: false,
        };
        let record = Packed::of(self.end(), &record);
        push(&mut self.records, record);
    }

    /// The record of `number`, which must be outstanding.
    #[inline]
    pub fn get(&self, number: u64) -> Record {
        self.records[(number - self.first) as usize].record(number)
    }

    /// Whether `number`, which must be outstanding, was sent once and is neither lost nor has
    /// arrived.
    #[inline]
    pub fn is_plain(&self, number: u64) -> bool {
        self.records[(number - self.first) as usize].rest & ((1 << FLAGS) - 1) == 0
    }

    /// Removes the first `packets` records, which must be there.
    #[inline]
    pub fn forget(&mut self, packets: u64) {
        self.first += packets;
        for _ in 0..packets {
            self.records.pop_front();
        }
    }

    /// Replaces the record of `number`, which must be outstanding.
    #[inline]
    pub fn put(&mut self, number: u64, record: &Record) {
        self.records[(number - self.first) as usize] = Packed::of(number, record);
    }

    /// Removes and returns the record of `first()`.
    #[inline]
    pub fn pop(&mut self) -> Option<Record> {
        let record = self.records.pop_front()?.record(self.first);
        self.first += 1;
        Some(record)
    }

    /// Releases memory after a large window has shrunk; called once a recovery.
    pub fn shrink(&mut self) {
        fit(&mut self.records);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_is_what_was_packed_in_16_bytes(
            (number, ahead) in (0u64..1 << 40, any::<u32>()),
            (sent, in_flight) in (any::<u64>(), 0u32..1 << 28),
            flags in any::<[bool; 4]>(),
        ) {
            prop_assert_eq!(size_of::<Packed>(), 16);
            let (transmission, sent) = (number + u64::from(ahead), Time::from_picos(sent));
            let [sacked, lost, retransmitted, ambiguous] = flags;
            let record =
                Record { transmission, sent, in_flight, sacked, lost, retransmitted, ambiguous };
            let found = Packed::of(number, &record).record(number);
            prop_assert_eq!(format!("{found:?}"), format!("{record:?}"));
        }
    }
}
