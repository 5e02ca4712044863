//! The SACK scoreboard (RFC 6675 §3, §4). Its cost per acknowledgement does not grow with the
//! window: blocks are compared with the ranges already known, and each packet is looked at a fixed
//! number of times in its life.

use super::lost_again::LostAgain;
use super::outstanding::{Outstanding, Record};
use crate::congestion::{Delivered, Proof};
use crate::ring::{fit, push};
use narrows_signal::Range;
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// A transmission that counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostPacket {
    /// Sequence number of the packet.
    pub number: u64,
    /// Number of the transmission.
    pub transmission: u64,
    /// Packets in flight when it left, itself included.
    pub in_flight: u32,
    /// True for a retransmission.
    pub again: bool,
}

/// What tells an original from its retransmission when an acknowledgement arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When the acknowledgement arrived.
    pub now: Time,
    /// The smallest RTT known: what left later than that ago has not arrived.
    pub least_rtt: Duration,
    /// The stamp that a cumulative acknowledgement echoes: what left later has not arrived. The end
    /// of time without timestamps.
    pub echo: Time,
}

impl Arrival {
    /// Nothing is known that tells an original from its retransmission; for boards that find losses
    /// by count, which do not ask.
    pub const UNSTAMPED: Self =
        Self { now: Time::ZERO, least_rtt: Duration::ZERO, echo: Time::NEVER };

    /// True if the latest transmission of a packet that was sent more than once has arrived, not an
    /// earlier one (RFC 8985 §6.2, step 2).
    fn proves(&self, record: &Record, echo: Time) -> bool {
        self.now.since(record.sent) >= self.least_rtt && record.sent <= echo
    }
}

impl Delivered {
    /// Adds the packet `number` with its record.
    #[inline]
    pub(super) fn add_record(&mut self, number: u64, record: &Record) {
        self.add(number, record.transmission, record.sent, record.in_flight);
    }

    /// Adds what RACK has to know of the packet `number`; `proven` is false if it was sent more
    /// than once and an earlier transmission may have arrived.
    fn learn(&mut self, number: u64, record: &Record, proven: bool) {
        let (transmission, sent) = (record.transmission, record.sent);
        if proven && self.proof.is_none_or(|proof| proof.transmission < transmission) {
            self.proof = Some(Proof { transmission, sent });
        }
        if !record.ambiguous && self.lowest_original.is_none_or(|lowest| number < lowest) {
            (self.lowest_original, self.original_sent) = (Some(number), Some(sent));
        }
    }
}

/// Which of the outstanding packets have arrived, are lost, or were retransmitted, and how many are
/// in the pipe.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    outstanding: Outstanding,
    /// Ranges known to have arrived above `outstanding.first()`: disjoint and ascending.
    sacked: VecDeque<Range>,
    /// RFC 6675's pipe: the estimated number of packets in flight.
    pipe: u32,
    /// Packets that have arrived above the cumulative acknowledgement.
    sacked_packets: u32,
    /// Every packet below this has arrived, is marked as lost, or was sent again.
    judged_to: u64,
    /// No packet below this waits for its first retransmission (HighRxt).
    retransmit_from: u64,
    /// Those below it that wait for another.
    lost_again: LostAgain,
    /// No packet from here on is marked as lost.
    lost_to: u64,
    /// Whether losses are found by time.
    by_time: bool,
    /// If so, the retransmissions whose fate is not yet known, as (transmission, number), in the
    /// order in which they left.
    resent: VecDeque<(u64, u64)>,
    /// Packets that must have arrived above a packet before it counts as lost: 3, or more if the
    /// path has been seen to reorder.
    duplicate_threshold: u64,
}

impl Default for Scoreboard {
    fn default() -> Self {
        let outstanding = Outstanding::default();
        Self {
            outstanding,
            sacked: VecDeque::new(),
            pipe: 0,
            sacked_packets: 0,
            judged_to: 0,
            retransmit_from: 0,
            lost_again: LostAgain::new(),
            lost_to: 0,
            by_time: false,
            resent: VecDeque::new(),
            duplicate_threshold: 3,
        }
    }
}

impl Scoreboard {
    /// An empty scoreboard that finds losses by time, if `by_time` says so, otherwise by count.
    pub fn new(by_time: bool) -> Self {
        Self { by_time, ..Self::default() }
    }

    /// The lowest number not acknowledged cumulatively.
    pub fn first(&self) -> u64 {
        self.outstanding.first()
    }

    /// One past the highest number sent.
    pub fn end(&self) -> u64 {
        self.outstanding.end()
    }

    /// Estimated number of packets in flight (RFC 6675 §4, pipe).
    pub fn pipe(&self) -> u32 {
        self.pipe
    }

    /// Number of packets that have arrived above the cumulative acknowledgement.
    pub fn sacked_packets(&self) -> u32 {
        self.sacked_packets
    }

    /// One past the highest packet that has arrived; the cumulative acknowledgement if nothing
    /// above it has.
    pub fn highest_arrival(&self) -> u64 {
        self.sacked.back().map_or(self.first(), |range| range.end)
    }

    /// True if `number` has been sent more than once, or is acknowledged and may have been.
    pub fn was_sent_again(&self, number: u64) -> bool {
        let is_outstanding = (self.first()..self.end()).contains(&number);
        !is_outstanding || self.outstanding.get(number).ambiguous
    }

    /// Retransmissions that may be in flight, if losses are found by time.
    pub fn resent_in_flight(&self) -> u32 {
        let in_flight = |(transmission, number): &(u64, u64)| {
            (self.first()..self.end()).contains(number) && {
                let record = self.outstanding.get(*number);
                record.transmission == *transmission && record.retransmitted && !record.sacked
            }
        };
        self.resent.iter().filter(|resent| in_flight(resent)).count() as u32
    }

    /// When the lowest packet outstanding left for the last time; `None` if nothing is outstanding.
    pub fn first_sent(&self) -> Option<Time> {
        self.outstanding.first_sent()
    }

    /// Where the records of the oldest and the newest packet outstanding lie.
    pub(super) fn places(&self) -> [Option<*const ()>; 2] {
        self.outstanding.places()
    }

    /// Records that the packet numbered `end()` leaves at `now` as transmission number
    /// `transmission`.
    pub fn sent(&mut self, transmission: u64, now: Time) {
        self.pipe += 1;
        self.outstanding.push(transmission, now, self.pipe);
    }

    /// Records that packet `number` leaves again at `now` as transmission number `transmission`.
    pub fn sent_again(&mut self, number: u64, transmission: u64, now: Time) {
        let mut record = self.outstanding.get(number);
        self.pipe -= record.in_pipe();
        (record.transmission, record.sent) = (transmission, now);
        (record.retransmitted, record.ambiguous) = (true, true);
        self.pipe += record.in_pipe();
        record.in_flight = self.pipe;
        self.outstanding.put(number, &record);
        self.retransmit_from = self.retransmit_from.max(number + 1);
        if self.by_time {
            push(&mut self.resent, (transmission, number));
        }
    }

    /// Marks packets that are lost because they left before the transmission `newest`, which has
    /// arrived, and at least `patience` ago, and reports each to
    /// `lost`; retransmissions are judged like
    /// originals. Returns true if something that left before `newest` may still be lost (RFC 8985
    /// §6.2, step 5).
    pub fn judge_by_time(
        &mut self,
        newest: u64,
        patience: Duration,
        now: Time,
        mut lost: impl FnMut(LostPacket),
    ) -> bool {
        let overdue = |record: &Record| now.since(record.sent) >= patience;
        let mut waits = false;
        while let Some(&(transmission, number)) =
            self.resent.front().filter(|(transmission, _)| *transmission < newest)
        {
            if number >= self.outstanding.first() {
                let record = self.outstanding.get(number);
                if record.transmission == transmission && record.retransmitted && !record.sacked {
                    if !overdue(&record) {
                        waits = true;
                        break;
                    }
                    self.mark_lost(number);
                    lost(record.as_lost(number));
                }
            }
            self.resent.pop_front();
        }
        while self.judged_to < self.outstanding.end() {
            let number = self.judged_to;
            let record = self.outstanding.get(number);
            if !(record.sacked || record.lost || record.retransmitted) {
                if record.transmission >= newest {
                    break;
                }
                if !overdue(&record) {
                    waits = true;
                    break;
                }
                self.mark_lost(number);
                lost(record.as_lost(number));
            }
            self.judged_to += 1;
        }
        waits
    }

    /// Takes `number` out of the pipe, until it is sent again.
    fn mark_lost(&mut self, number: u64) {
        let mut record = self.outstanding.get(number);
        self.pipe -= record.in_pipe();
        (record.lost, record.retransmitted) = (true, false);
        self.pipe += record.in_pipe();
        self.outstanding.put(number, &record);
        if number < self.retransmit_from {
            self.lost_again.push(number);
        }
        self.lost_to = self.lost_to.max(number + 1);
    }

    /// Records that everything below `number` has arrived.
    pub fn acknowledge(&mut self, number: u64, arrival: &Arrival, delivered: &mut Delivered) {
        while self.outstanding.first() < number.min(self.outstanding.end()) {
            let number = self.outstanding.first();
            let Some(record) = self.outstanding.pop() else { break };
            self.pipe -= record.in_pipe();
            if record.sacked {
                self.sacked_packets -= 1;
            } else {
                delivered.add_record(number, &record);
                if self.by_time {
                    let proven = !record.ambiguous || arrival.proves(&record, arrival.echo);
                    delivered.learn(number, &record, proven);
                }
            }
        }
        let first = self.outstanding.first();
        if !self.sacked.is_empty() {
            self.forget_sacked_below(first);
        }
        self.judged_to = self.judged_to.max(first);
        self.retransmit_from = self.retransmit_from.max(first);
    }

    /// True if nothing has arrived out of order, and nothing is lost or was sent again.
    #[inline]
    pub fn is_calm(&self) -> bool {
        self.sacked.is_empty()
            && self.resent.is_empty()
            && self.lost_again.is_empty()
            && self.lost_to <= self.first()
    }

    /// The same as [`acknowledge`](Self::acknowledge) for a calm board that finds losses by time;
    /// returns what has arrived, and of originals the newest only. `None`, and nothing is done, if
    /// one of them had been sent again, if they are none, or if something is still outstanding that
    /// left before them or before the transmission `newest`.
    #[inline]
    pub fn acknowledge_calmly(&mut self, number: u64, newest: u64) -> Option<Delivered> {
        let (first, end) = (self.first(), self.end());
        let number = number.min(end);
        if number <= first || !(first..number).all(|number| self.outstanding.is_plain(number)) {
            return None;
        }
        let last = self.outstanding.get(number - 1);
        let judged_to = self.judged_to.max(number);
        let newest = newest.max(last.transmission);
        if judged_to < end && self.outstanding.get(judged_to).transmission < newest {
            return None;
        }
        let packets = number - first;
        self.outstanding.forget(packets);
        self.pipe -= packets as u32;
        (self.judged_to, self.retransmit_from) = (judged_to, self.retransmit_from.max(number));
        let (transmission, sent) = (last.transmission, last.sent);
        Some(Delivered {
            packets,
            newest: transmission,
            newest_number: number - 1,
            newest_sent: sent,
            newest_in_flight: last.in_flight,
            proof: Some(Proof { transmission, sent }),
            ..Delivered::default()
        })
    }

    fn forget_sacked_below(&mut self, first: u64) {
        while self.sacked.pop_front_if(|range| range.end <= first).is_some() {}
        if let Some(range) = self.sacked.front_mut() {
            range.start = range.start.max(first);
        }
    }

    /// Records that the packets of `block` have arrived. Packets already known to have arrived cost
    /// nothing.
    pub fn sack(&mut self, block: Range, arrival: &Arrival, delivered: &mut Delivered) {
        let start = block.start.max(self.outstanding.first());
        let end = block.end.min(self.outstanding.end());
        // Most blocks are the last, as it was or longer.
        if let Some(last) = self.sacked.back_mut()
            && last.start <= start
            && start <= last.end
        {
            let newly = Range { start: last.end, end };
            last.end = last.end.max(end);
            return self.arrived(newly, arrival, delivered);
        }
        self.fill(Range { start, end }, arrival, delivered);
    }

    /// Records that the packets of `block`, all of them outstanding, have arrived.
    fn fill(&mut self, block: Range, arrival: &Arrival, delivered: &mut Delivered) {
        let Range { mut start, end } = block;
        // Ranges that end before the block begins stay as they are; the rest of the block fills the
        // gaps between the others.
        let place = self.sacked.partition_point(|range| range.end < start);
        let mut merged = block;
        if merged.is_empty() {
            return;
        }
        let mut swallowed = place;
        while let Some(known) =
            self.sacked.get(swallowed).copied().filter(|known| known.start <= end)
        {
            self.arrived(Range { start, end: known.start }, arrival, delivered);
            start = start.max(known.end);
            merged = Range { start: merged.start.min(known.start), end: merged.end.max(known.end) };
            swallowed += 1;
        }
        self.arrived(Range { start, end }, arrival, delivered);
        self.replace(place, swallowed, merged);
    }

    fn arrived(&mut self, range: Range, arrival: &Arrival, delivered: &mut Delivered) {
        for number in range.start..range.end {
            let mut record = self.outstanding.get(number);
            self.pipe -= record.in_pipe();
            record.sacked = true;
            self.outstanding.put(number, &record);
            self.sacked_packets += 1;
            delivered.add_record(number, &record);
            if self.by_time {
                // The stamp echoed is that of data in order (RFC 7323 §4.3), and says nothing here.
                let proven = !record.ambiguous || arrival.proves(&record, Time::NEVER);
                delivered.learn(number, &record, proven);
            }
        }
    }

    /// Puts `merged` in the place of the ranges `from..to`.
    fn replace(&mut self, from: usize, to: usize, merged: Range) {
        if from == to {
            self.sacked.insert(from, merged);
        } else {
            self.sacked[from] = merged;
            for _ in from + 1..to {
                self.sacked.remove(from + 1);
            }
        }
    }

    /// Marks newly lost packets, lowest first, and reports each to `lost`.
    ///
    /// A packet is lost once at least `duplicate_threshold` packets have arrived above it (RFC 6675
    /// §4, IsLost, in packets). The loss of a retransmission is left to the timer.
    pub fn judge_by_count(&mut self, mut lost: impl FnMut(LostPacket)) {
        let Some(edge) = self.loss_edge() else { return };
        while self.judged_to < edge {
            let number = self.judged_to;
            self.judged_to += 1;
            let mut record = self.outstanding.get(number);
            if !record.sacked && !record.lost {
                self.pipe -= record.in_pipe();
                record.lost = true;
                self.pipe += record.in_pipe();
                self.outstanding.put(number, &record);
                self.retransmit_from = self.retransmit_from.min(number);
                self.lost_to = self.lost_to.max(number + 1);
                lost(record.as_lost(number));
            }
        }
    }

    /// False if [`Self::judge_by_count`] has no packet left to judge.
    pub fn has_unjudged(&self) -> bool {
        self.loss_edge().is_some_and(|edge| self.judged_to < edge)
    }

    /// The number below which every packet has at least `duplicate_threshold` arrivals above it;
    /// `None` if there is no such number.
    fn loss_edge(&self) -> Option<u64> {
        let mut wanted = self.duplicate_threshold;
        for range in self.sacked.iter().rev() {
            if range.len() >= wanted {
                return Some(range.end - wanted);
            }
            wanted -= range.len();
        }
        None
    }

    /// The highest packet that is lost and has not arrived yet, sent again or not (one of those
    /// that Linux counts in `lost_out`).
    pub fn highest_lost(&mut self) -> Option<LostPacket> {
        while self.lost_to > self.outstanding.first() {
            let number = self.lost_to - 1;
            let highest = self.outstanding.get(number);
            if highest.lost && !highest.sacked {
                return Some(highest.as_lost(number));
            }
            self.lost_to -= 1;
        }
        None
    }

    /// True if no packet is marked as lost, and nothing that left before the transmission `newest`
    /// is outstanding, so that there is nothing to judge by time; for a board on which nothing has
    /// arrived out of order.
    #[inline]
    pub fn is_settled(&self, newest: u64) -> bool {
        let oldest = || self.outstanding.get(self.judged_to).transmission;
        self.resent.is_empty()
            && self.lost_to <= self.first()
            && (self.judged_to >= self.end() || oldest() >= newest)
    }

    /// True if a packet may wait for a retransmission; if not, none does.
    #[inline]
    pub fn may_retransmit(&self) -> bool {
        self.retransmit_from < self.lost_to || !self.lost_again.is_empty()
    }

    /// Whether packet `number` is lost, and has not been sent again since.
    fn waits(outstanding: &Outstanding, number: u64) -> bool {
        let record = outstanding.get(number);
        record.lost && !record.sacked && !record.retransmitted
    }

    /// The lowest lost packet that has not been retransmitted (RFC 6675 §4, NextSeg, rule 1).
    pub fn next_retransmission(&mut self) -> Option<u64> {
        let outstanding = &self.outstanding;
        let again = self
            .lost_again
            .lowest(|number| number >= outstanding.first() && Self::waits(outstanding, number));
        if again.is_some() {
            return again;
        }
        while self.retransmit_from < self.lost_to {
            if Self::waits(&self.outstanding, self.retransmit_from) {
                return Some(self.retransmit_from);
            }
            self.retransmit_from += 1;
        }
        None
    }

    /// The lowest packet that is neither acknowledged nor retransmitted, below the highest that has
    /// arrived (RFC 6675 §4, NextSeg, rule 3).
    pub fn speculative(&self) -> Option<u64> {
        let top = self.sacked.back()?.end;
        (self.retransmit_from.max(self.first())..top).find(|number| {
            let record = self.outstanding.get(*number);
            !record.sacked && !record.retransmitted
        })
    }

    /// Handles an expiry of the retransmission timer: what has not arrived is lost, unless
    /// `spares(sent)` says that it left too recently; the lowest packet is always lost. Reports
    /// each packet newly lost to `lost` (RFC 6675 §5.1; RFC 8985 §6.3).
    pub fn time_out(&mut self, spares: impl Fn(Time) -> bool, mut lost: impl FnMut(LostPacket)) {
        let first = self.outstanding.first();
        (self.pipe, self.lost_to, self.judged_to) = (0, first, self.outstanding.end());
        for number in first..self.end() {
            let mut record = self.outstanding.get(number);
            let waits = record.lost && !record.retransmitted;
            if number > first && !record.sacked && !waits && spares(record.sent) {
                self.judged_to = self.judged_to.min(number);
                self.pipe += record.in_pipe();
                continue;
            }
            if !record.sacked && !waits {
                lost(record.as_lost(number));
            }
            record.lost = !record.sacked;
            record.retransmitted = false;
            self.outstanding.put(number, &record);
            if record.lost {
                self.lost_to = number + 1;
            }
        }
        if self.pipe == 0 {
            self.resent.clear();
        }
        (self.retransmit_from, self.lost_again) = (first, LostAgain::new());
    }

    /// Takes back all losses, because the packets were only late, by `extent` packets: they count
    /// as in flight again, and the duplicate threshold grows.
    pub fn forgive(&mut self, extent: u64) {
        const MOST: u64 = 300; // Linux's tcp_max_reordering.
        self.duplicate_threshold = self.duplicate_threshold.max(extent + 1).min(MOST);
        self.pipe = 0;
        for number in self.first()..self.end() {
            let mut record = self.outstanding.get(number);
            record.lost = false;
            self.pipe += record.in_pipe();
            self.outstanding.put(number, &record);
        }
        self.judged_to = self.outstanding.first();
        (self.retransmit_from, self.lost_again) = (self.outstanding.first(), LostAgain::new());
        self.lost_to = self.outstanding.first();
    }

    /// How many packets the highest arrival lies above `number`.
    pub fn extent_above(&self, number: u64) -> u64 {
        self.sacked.back().map_or(0, |range| range.end.saturating_sub(number + 1))
    }

    /// Releases memory after a large window has shrunk, and what only a recovery needs.
    pub fn shrink(&mut self) {
        self.outstanding.shrink();
        let first = self.first();
        self.resent.retain(|(_, number)| *number >= first);
        fit(&mut self.sacked);
        fit(&mut self.resent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    /// The first `packets` leave at 0, 1, 2 ... ms.
    fn filled(board: &mut Scoreboard, packets: u64) {
        (0..packets).for_each(|number| board.sent(number, at(number)));
    }

    fn board(packets: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        filled(&mut board, packets);
        board
    }

    fn sack(board: &mut Scoreboard, start: u64, end: u64) -> Delivered {
        let mut delivered = Delivered::default();
        board.sack(Range { start, end }, &Arrival::UNSTAMPED, &mut delivered);
        delivered
    }

    fn lost(board: &mut Scoreboard) -> Vec<u64> {
        let mut numbers = Vec::new();
        board.judge_by_count(|packet| numbers.push(packet.number));
        numbers
    }

    #[test]
    fn a_packet_is_lost_when_three_above_it_have_arrived() {
        let mut board = board(10);
        sack(&mut board, 2, 4);
        assert!(lost(&mut board).is_empty());
        sack(&mut board, 6, 7);
        assert_eq!(
            lost(&mut board),
            [0, 1],
            "2, 3 and 6 are above 0 and 1; only 6 is above 4 and 5"
        );
        assert_eq!(board.pipe(), 10 - 3 - 2);
    }

    #[test]
    fn retransmissions_go_lowest_first_and_fill_the_pipe() {
        let mut board = board(10);
        sack(&mut board, 1, 2);
        sack(&mut board, 3, 6);
        assert_eq!(lost(&mut board), [0, 2]);
        assert_eq!(board.pipe(), 4);
        for (number, transmission) in [(0, 10), (2, 11)] {
            assert_eq!(board.next_retransmission(), Some(number));
            board.sent_again(number, transmission, at(20));
        }
        assert_eq!((board.next_retransmission(), board.pipe()), (None, 6));
        let mut delivered = Delivered::default();
        board.acknowledge(2, &Arrival::UNSTAMPED, &mut delivered);
        assert_eq!((delivered.packets, delivered.newest, delivered.newest_number), (1, 10, 0));
        let again = (delivered.newest_sent, delivered.newest_in_flight);
        assert_eq!(again, (at(20), 5), "as the retransmission left, not the original");
        assert_eq!((delivered.lowest_original, board.pipe()), (None, 5));
    }

    #[test]
    fn after_a_recovery_nothing_of_it_takes_memory() {
        let mut board = Scoreboard::new(true);
        filled(&mut board, 10);
        sack(&mut board, 2, 10);
        assert!(!board.judge_by_time(9, Duration::ZERO, at(100), |_| ()));
        for (number, transmission) in [(0, 10), (1, 11)] {
            board.sent_again(number, transmission, at(100));
        }
        board.sent(12, at(101));
        board.acknowledge(10, &Arrival::UNSTAMPED, &mut Delivered::default());
        board.shrink();
        assert_eq!((board.sacked.capacity(), board.resent.capacity()), (0, 0));
        assert!(board.lost_again.is_empty());
        assert_eq!(board.outstanding.len(), 1);
    }

    /// Losses by time among packets that leave every millisecond, with an RTT of 100 ms.
    #[test]
    fn what_left_before_the_newest_arrival_and_long_ago_is_lost() {
        let mut board = Scoreboard::new(true);
        filled(&mut board, 10);
        sack(&mut board, 4, 5);
        let mut found = Vec::new();
        let mut judge = |board: &mut Scoreboard, newest, patience, now| {
            let waits = board.judge_by_time(newest, ms(patience), at(now), |packet| {
                found.push(packet.number);
            });
            (std::mem::take(&mut found), waits)
        };
        assert_eq!(judge(&mut board, 4, 102, 104), (vec![0, 1, 2], true), "3 may be late");
        assert_eq!(judge(&mut board, 4, 102, 105), (vec![3], false), "5 left after 4");
        (0..4).for_each(|number| board.sent_again(number, 10 + number, at(105)));
        board.sent(14, at(106));
        assert_eq!(judge(&mut board, 12, 100, 204), (vec![5, 6, 7, 8, 9], true), "by 12's arrival");
        assert_eq!(judge(&mut board, 12, 100, 205), (vec![0, 1], false), "sent again before 12");
        assert_eq!(board.next_retransmission(), Some(0));
    }

    #[test]
    fn an_original_is_not_taken_for_its_retransmission() {
        let mut board = Scoreboard::new(true);
        filled(&mut board, 3);
        board.sent_again(0, 3, at(100));
        board.sent_again(1, 4, at(101));
        let proof = |board: &mut Scoreboard, number, arrival: Arrival| {
            let mut delivered = Delivered::default();
            board.acknowledge(number, &arrival, &mut delivered);
            delivered.proof.map(|proof| proof.transmission)
        };
        let late = Arrival { now: at(160), least_rtt: ms(50), echo: at(100) };
        let early = Arrival { now: at(140), ..late };
        let original = Arrival { echo: at(0), ..late };
        assert_eq!(proof(&mut board.clone(), 1, early), None, "less than an RTT after it left");
        assert_eq!(proof(&mut board.clone(), 1, original), None, "the stamp is the original's");
        assert_eq!(proof(&mut board, 1, late), Some(3));
    }

    #[test]
    fn after_a_timeout_only_what_did_not_arrive_is_sent_again() {
        let mut board = board(6);
        sack(&mut board, 2, 4);
        let mut lost = Vec::new();
        board.time_out(|_| false, |packet| lost.push(packet.number));
        let mut again = Vec::new();
        while let Some(number) = board.next_retransmission() {
            board.sent_again(number, 100 + number, at(100));
            again.push(number);
        }
        assert_eq!((lost, again, board.pipe()), (vec![0, 1, 4, 5], vec![0, 1, 4, 5], 4));
    }

    #[test]
    fn a_timeout_spares_what_left_lately_but_not_the_first() {
        let mut board = Scoreboard::new(true);
        filled(&mut board, 6);
        sack(&mut board, 2, 3);
        board.sent_again(0, 6, at(50));
        let mut lost = Vec::new();
        board.time_out(|sent| sent >= at(4), |packet| lost.push(packet.number));
        assert_eq!((lost, board.pipe()), (vec![0, 1, 3], 2), "4 and 5 may be on their way");
        let rest = board.judge_by_time(100, Duration::ZERO, at(60), |packet| {
            assert!(packet.number > 3, "{packet:?} is lost already");
        });
        assert_eq!((rest, board.pipe()), (false, 0));
    }

    #[test]
    fn what_was_only_late_is_in_flight_again_and_the_threshold_grows() {
        let mut board = board(10);
        sack(&mut board, 5, 9);
        assert_eq!(lost(&mut board), [0, 1, 2, 3, 4]);
        board.forgive(board.extent_above(0));
        assert_eq!((board.pipe(), lost(&mut board)), (6, vec![]));
    }

    proptest! {
        /// With losses by time, of retransmissions, too: what is sent again next is what a look at
        /// every packet finds.
        #[test]
        fn the_lowest_that_waits_is_sent_again_first(
            events in prop::collection::vec((0u8..6, 0u64..50, 1u64..9), 1..300),
        ) {
            let mut board = Scoreboard::new(true);
            filled(&mut board, 50);
            let (mut transmission, mut now) = (50, 60);
            for (kind, start, length) in events {
                now += 1;
                let arrival = Arrival { now: at(now), least_rtt: ms(5), echo: at(now) };
                let mut delivered = Delivered::default();
                match kind {
                    0 => board.acknowledge(start.min(board.first() + 2), &arrival, &mut delivered),
                    1 => {
                        let block = Range { start, end: (start + length).min(50) };
                        board.sack(block, &arrival, &mut delivered);
                    }
                    2 | 3 => {
                        board.judge_by_time(start + transmission - 50, ms(length), at(now), drop);
                    }
                    4 if start == 0 => board.time_out(|sent| sent >= at(now - 3), drop),
                    _ => {
                        if let Some(number) = board.next_retransmission() {
                            board.sent_again(number, transmission, at(now));
                            transmission += 1;
                        }
                    }
                }
                let waits = |number: &u64| Scoreboard::waits(&board.outstanding, *number);
                let lowest = (board.first()..board.end()).find(waits);
                prop_assert!(board.may_retransmit() || lowest.is_none());
                prop_assert_eq!(board.next_retransmission(), lowest);
            }
        }

        /// Compares the scoreboard with a model that keeps one flag per packet and counts from
        /// scratch each time.
        #[test]
        fn the_board_agrees_with_a_simple_model(
            events in prop::collection::vec((0u8..4, 0u64..60, 1u64..12), 1..200),
        ) {
            let mut board = board(60);
            let mut sacked = [false; 60];
            let (mut una, mut next_transmission) = (0u64, 60);
            for (kind, start, length) in events {
                let mut delivered = Delivered::default();
                let newly = match kind {
                    0 => {
                        let to = start.min(una + 3).max(una);
                        let newly = (una..to).filter(|n| !sacked[*n as usize]).count();
                        board.acknowledge(to, &Arrival::UNSTAMPED, &mut delivered);
                        una = to;
                        newly
                    }
                    1 | 2 => {
                        let range = start.max(una)..(start + length).min(60);
                        let newly = range.clone().filter(|n| !sacked[*n as usize]).count();
                        range.for_each(|n| sacked[n as usize] = true);
                        let block = Range { start, end: start + length };
                        board.sack(block, &Arrival::UNSTAMPED, &mut delivered);
                        newly
                    }
                    _ => {
                        board.judge_by_count(drop);
                        if let Some(number) = board.next_retransmission() {
                            prop_assert!(!sacked[number as usize] && number >= una);
                            board.sent_again(number, next_transmission, at(100));
                            next_transmission += 1;
                        }
                        0
                    }
                };
                prop_assert_eq!(delivered.packets, newly as u64);
                board.judge_by_count(drop);
                let arrived_above = |n: u64| (n + 1..60).filter(|m| sacked[*m as usize]).count();
                let (mut pipe, mut out_of_order) = (0, 0);
                for number in una..60 {
                    let record = board.outstanding.get(number);
                    prop_assert_eq!(record.sacked, sacked[number as usize]);
                    if record.sacked {
                        out_of_order += 1;
                    } else {
                        prop_assert!(
                            arrived_above(number) < 3 || record.lost,
                            "{} should be lost",
                            number
                        );
                        pipe += record.in_pipe();
                    }
                }
                prop_assert_eq!((board.pipe(), board.sacked_packets()), (pipe, out_of_order));
                for pair in board.sacked.iter().collect::<Vec<_>>().windows(2) {
                    prop_assert!(pair[0].end < pair[1].start);
                }
            }
        }
    }
}
