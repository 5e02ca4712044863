//! The packets between the cumulative acknowledgement and the highest number sent, with one record
//! each.

use super::scoreboard::LostPacket;
use narrows_units::Time;
use std::collections::VecDeque;

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

/// Records of `first()..end()`, by sequence number.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    first: u64,
    records: VecDeque<Record>,
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

    pub fn len(&self) -> u64 {
        self.records.len() as u64
    }

    /// Adds the packet numbered `end()`.
    pub fn push(&mut self, transmission: u64, sent: Time, in_flight: u32) {
        self.records.push_back(Record {
            transmission,
            sent,
            in_flight,
            sacked: false,
            lost: false,
            retransmitted: false,
            ambiguous: false,
        });
    }

    /// The record of `number`, which must be outstanding.
    pub fn get(&self, number: u64) -> &Record {
        &self.records[(number - self.first) as usize]
    }

    /// The record of `number`, which must be outstanding.
    pub fn get_mut(&mut self, number: u64) -> &mut Record {
        &mut self.records[(number - self.first) as usize]
    }

    /// Removes and returns the record of `first()`.
    pub fn pop(&mut self) -> Option<Record> {
        let record = self.records.pop_front()?;
        self.first += 1;
        Some(record)
    }

    /// All records with their numbers, in order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Record)> {
        (self.first..).zip(self.records.iter_mut())
    }

    /// Releases memory after a large window has shrunk; called once a recovery.
    pub fn shrink(&mut self) {
        fit(&mut self.records);
    }
}

/// Leaves `ring` half as much room again as it needs: a ring is written all around, and so takes as
/// much of a cache as it has room.
pub(super) fn fit<T>(ring: &mut VecDeque<T>) {
    const LEAST: usize = 16;
    if ring.capacity() > LEAST.max(2 * ring.len()) {
        ring.shrink_to(ring.len() + ring.len() / 2);
    }
}
