//! Packets that are under way, by number (RFC 9002, §6.1, appendices A.1 and A.10).

use crate::congestion::Delivered;
use narrows_signal::QuicAck;
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// kPacketThreshold (§6.1.1).
const PACKET_THRESHOLD: u64 = 3;

/// A packet that has left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SentPacket {
    /// The number of the data that it carries.
    pub data: u64,
    pub sent: Time,
    /// Packets in flight when it had left, itself included.
    pub in_flight: u32,
    acknowledged: bool,
}

/// A packet that was found lost, and whose acknowledgement may still come.
#[derive(Clone, Copy, Debug)]
struct Lost {
    number: u64,
    data: u64,
    /// When its record may go (RFC 9000, §13.3: "such as a PTO").
    until: Time,
}

/// All packets from the lowest on that is neither acknowledged nor lost, and those lost before it.
#[derive(Clone, Debug, Default)]
pub(super) struct SentPackets {
    /// The number of the first record.
    first: u64,
    records: VecDeque<SentPacket>,
    in_flight: u64,
    /// One past the largest number acknowledged so far; 0 before the first.
    acknowledged_to: u64,
    lost: VecDeque<Lost>,
}

impl SentPackets {
    /// The number of the next packet.
    pub fn next(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// The lowest number that is neither acknowledged nor lost.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Packets that are neither acknowledged nor lost.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Forgets all packets, lost or not; numbers continue (§6.4: "MUST discard all recovery state
    /// associated with those packets and MUST remove them from the count of bytes in flight").
    pub fn discard(&mut self) {
        *self = Self { first: self.next(), ..Self::default() };
    }

    /// A packet with `data` leaves at `now`. Returns its number.
    pub fn send(&mut self, data: u64, now: Time) -> u64 {
        let number = self.next();
        self.in_flight += 1;
        let in_flight = self.in_flight as u32;
        self.records.push_back(SentPacket { data, sent: now, in_flight, acknowledged: false });
        number
    }

    /// Takes the ranges of an acknowledgement of `largest` and below, which is below
    /// [`next`](Self::next); shows the data of each packet that is newly acknowledged or, though
    /// found lost, has arrived after all.
    pub fn acknowledge(
        &mut self,
        largest: u64,
        ack: &QuicAck,
        mut arrived: impl FnMut(u64),
    ) -> Delivered {
        let mut told = Delivered::default();
        let mut late = self.lost.len();
        for range in ack.ranges.iter(largest) {
            late = self.take_late(late, range.start, range.end, &mut arrived);
            for number in range.start.max(self.first)..range.end {
                let record = &mut self.records[(number - self.first) as usize];
                if record.acknowledged {
                    continue;
                }
                record.acknowledged = true;
                arrived(record.data);
                told.add(number, number, record.sent, record.in_flight);
            }
            if range.start < self.first && late == 0 {
                break;
            }
        }
        self.in_flight -= told.packets;
        self.acknowledged_to = self.acknowledged_to.max(largest + 1);
        self.forget_acknowledged();
        told
    }

    /// Takes what was lost among the first `late` records and lies from `start` up to `end`;
    /// returns the number of records below `start`.
    fn take_late(
        &mut self,
        mut late: usize,
        start: u64,
        end: u64,
        arrived: &mut impl FnMut(u64),
    ) -> usize {
        while let Some(lost) = late.checked_sub(1).and_then(|last| self.lost.get(last)).copied() {
            if lost.number < start {
                break;
            }
            late -= 1;
            if lost.number < end {
                arrived(lost.data);
                self.lost.remove(late);
            }
        }
        late
    }

    fn forget_acknowledged(&mut self) {
        while self.records.pop_front_if(|record| record.acknowledged).is_some() {
            self.first += 1;
        }
    }

    /// Returns the next packet that is lost at `now`, with its number (§6.1): it left before one
    /// that was acknowledged, and three packets or more before, or `loss_delay` ago or earlier.
    /// Packets are lost in the order of their numbers. Its record may go `until` then.
    pub fn next_lost(
        &mut self,
        now: Time,
        loss_delay: Duration,
        until: Time,
    ) -> Option<(u64, SentPacket)> {
        self.forget_acknowledged();
        let (number, acknowledged_to) = (self.first, self.acknowledged_to);
        let packet = self.records.pop_front_if(|packet| {
            number < acknowledged_to
                && (acknowledged_to > number + PACKET_THRESHOLD || packet.sent + loss_delay <= now)
        })?;
        self.first += 1;
        self.in_flight -= 1;
        self.lost.push_back(Lost { number, data: packet.data, until });
        Some((number, packet))
    }

    /// When the next packet will be lost by time; never if none left before one that was
    /// acknowledged (§6.1.2).
    pub fn loss_time(&self, loss_delay: Duration) -> Time {
        let waits = |_: &&SentPacket| self.first < self.acknowledged_to;
        self.records.front().filter(waits).map_or(Time::NEVER, |packet| packet.sent + loss_delay)
    }

    /// Forgets lost packets whose time is over at `now`.
    pub fn forget_lost(&mut self, now: Time) {
        while self.lost.pop_front_if(|lost| lost.until <= now).is_some() {}
    }

    /// The data of the packets in flight with numbers below `end`, the earliest first.
    pub fn unacknowledged(&self, end: u64) -> impl Iterator<Item = u64> {
        let records = self.records.iter().take(end.saturating_sub(self.first) as usize);
        records.filter(|record| !record.acknowledged).map(|record| record.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_signal::{AckRanges, Range};

    const DELAY: Duration = Duration::from_millis(90);

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn ten() -> SentPackets {
        let mut packets = SentPackets::default();
        (0..10).for_each(|n| assert_eq!(packets.send(100 + n, at(n)), n));
        packets
    }

    /// Acknowledges `ranges`, in falling order; returns what it tells, and the data that arrived.
    fn acknowledge(packets: &mut SentPackets, ranges: &[(u64, u64)]) -> (Delivered, Vec<u64>) {
        let ranges: Vec<_> =
            ranges.iter().map(|(start, end)| Range { start: *start, end: *end }).collect();
        let (largest, mut data) = (ranges[0].end - 1, Vec::new());
        let ack = QuicAck { ranges: AckRanges::new(ranges), ..QuicAck::default() };
        let told = packets.acknowledge(largest, &ack, |number| data.push(number));
        (told, data)
    }

    fn lost(packets: &mut SentPackets, now: u64) -> Vec<u64> {
        let next = || packets.next_lost(at(now), DELAY, at(now + 500));
        std::iter::from_fn(next).map(|(number, _)| number).collect()
    }

    #[test]
    fn three_packets_later_it_is_lost() {
        let mut packets = ten();
        let (told, data) = acknowledge(&mut packets, &[(2, 3)]);
        assert_eq!((told.packets, told.newest, told.newest_sent, data), (1, 2, at(2), vec![102]));
        assert_eq!(told.newest_in_flight, 3);
        assert_eq!((lost(&mut packets, 80), packets.loss_time(DELAY)), (vec![], at(90)));
        acknowledge(&mut packets, &[(4, 5), (2, 3)]);
        assert_eq!((lost(&mut packets, 81), packets.in_flight()), (vec![0, 1], 6));
        assert_eq!(packets.loss_time(DELAY), at(93), "3 left at 3 ms");
        assert!(lost(&mut packets, 92).is_empty());
        assert_eq!(lost(&mut packets, 93), [3]);
        assert_eq!(packets.loss_time(DELAY), Time::NEVER, "nothing after 4 is acknowledged");
        assert_eq!((packets.first(), packets.in_flight()), (5, 5));
    }

    #[test]
    fn a_lost_packet_that_arrives_after_all_is_told_for_a_while() {
        let mut packets = ten();
        acknowledge(&mut packets, &[(6, 8), (2, 3)]);
        assert_eq!(lost(&mut packets, 80), [0, 1, 3, 4]);
        let (told, data) = acknowledge(&mut packets, &[(3, 8), (1, 2)]);
        assert_eq!((told.packets, data), (1, vec![104, 103, 105, 101]), "5 was under way");
        packets.forget_lost(at(580));
        assert!(acknowledge(&mut packets, &[(0, 8)]).1.is_empty(), "0 is forgotten");
    }
}
