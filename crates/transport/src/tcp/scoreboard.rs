//! The SACK scoreboard (RFC 6675 §3, §4). Its cost per acknowledgement does not grow with the
//! window: blocks are compared with the ranges already known, and each packet is looked at a fixed
//! number of times in its life.

use super::outstanding::{Outstanding, Record};
use narrows_signal::Range;
use std::collections::VecDeque;

/// What an acknowledgement newly acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Packets acknowledged for the first time, cumulatively or selectively.
    pub packets: u64,
    /// Number of the newest transmission among them.
    pub newest: u64,
    /// Sequence number of the packet that this transmission carried.
    pub newest_number: u64,
}

impl Delivered {
    /// Adds the packet `number` with its record.
    pub(super) fn add(&mut self, number: u64, record: &Record) {
        self.packets += 1;
        if record.transmission >= self.newest {
            (self.newest, self.newest_number) = (record.transmission, number);
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
    /// Every packet below this has arrived or is marked as lost.
    judged_to: u64,
    /// No packet below this waits for its first retransmission (HighRxt).
    retransmit_from: u64,
    /// Retransmissions whose fate is not yet known, as (transmission, number), in the order in
    /// which they left.
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
            judged_to: 0,
            retransmit_from: 0,
            resent: VecDeque::new(),
            duplicate_threshold: 3,
        }
    }
}

impl Scoreboard {
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

    /// True if something above the cumulative acknowledgement has arrived.
    pub fn has_sacked(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// Records that the packet numbered `end()` leaves as transmission number `transmission`.
    pub fn sent(&mut self, transmission: u64) {
        self.pipe += 1;
        self.outstanding.push(transmission, self.pipe);
    }

    /// Records that packet `number`, as returned by [`Self::next_retransmission`] or
    /// [`Self::speculative`], leaves again as transmission number `transmission`.
    pub fn sent_again(&mut self, number: u64, transmission: u64) {
        let record = self.outstanding.get_mut(number);
        self.pipe -= record.in_pipe();
        record.retransmitted = true;
        record.transmission = transmission;
        self.pipe += record.in_pipe();
        record.in_flight = self.pipe;
        self.retransmit_from = self.retransmit_from.max(number + 1);
        self.resent.push_back((transmission, number));
    }

    /// Marks retransmissions that are lost, and reports each to
    /// `lost(number, transmission, in flight when it left)`. A retransmission is lost if `newest`,
    /// the newest transmission that has arrived, left at least `duplicate_threshold` transmissions
    /// after it (the idea of RFC 8985, by count).
    pub fn judge_resent(&mut self, newest: u64, mut lost: impl FnMut(u64, u64, u32)) {
        while let Some((transmission, number)) = self
            .resent
            .front()
            .copied()
            .filter(|(left, _)| left + self.duplicate_threshold <= newest)
        {
            self.resent.pop_front();
            if number < self.outstanding.first() {
                continue;
            }
            let record = self.outstanding.get_mut(number);
            if !record.sacked && record.retransmitted && record.transmission == transmission {
                self.pipe -= record.in_pipe();
                record.retransmitted = false;
                self.pipe += record.in_pipe();
                self.retransmit_from = self.retransmit_from.min(number);
                lost(number, transmission, record.in_flight);
            }
        }
    }

    /// Records that everything below `number` has arrived.
    pub fn acknowledge(&mut self, number: u64, delivered: &mut Delivered) {
        while self.outstanding.first() < number.min(self.outstanding.end()) {
            let number = self.outstanding.first();
            let Some(record) = self.outstanding.pop() else { break };
            self.pipe -= record.in_pipe();
            if !record.sacked {
                delivered.add(number, &record);
            }
        }
        let first = self.outstanding.first();
        while self.sacked.pop_front_if(|range| range.end <= first).is_some() {}
        if let Some(range) = self.sacked.front_mut() {
            range.start = range.start.max(first);
        }
        self.judged_to = self.judged_to.max(first);
        self.retransmit_from = self.retransmit_from.max(first);
    }

    /// Records that the packets of `block` have arrived. Packets already known to have arrived cost
    /// nothing.
    pub fn sack(&mut self, block: Range, delivered: &mut Delivered) {
        let mut start = block.start.max(self.outstanding.first());
        let end = block.end.min(self.outstanding.end());
        // Ranges that end before the block begins stay as they are; the rest of the block fills the
        // gaps between the others.
        let place = self.sacked.partition_point(|range| range.end < start);
        let mut merged = Range { start, end };
        if merged.is_empty() {
            return;
        }
        let mut swallowed = place;
        while let Some(known) =
            self.sacked.get(swallowed).copied().filter(|known| known.start <= end)
        {
            self.arrived(Range { start, end: known.start }, delivered);
            start = start.max(known.end);
            merged = Range { start: merged.start.min(known.start), end: merged.end.max(known.end) };
            swallowed += 1;
        }
        self.arrived(Range { start, end }, delivered);
        self.replace(place, swallowed, merged);
    }

    fn arrived(&mut self, range: Range, delivered: &mut Delivered) {
        for number in range.start..range.end {
            let record = self.outstanding.get_mut(number);
            self.pipe -= record.in_pipe();
            record.sacked = true;
            delivered.add(number, record);
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

    /// Marks newly lost packets, lowest first, and reports each to
    /// `lost(number, transmission, in flight when it left)`.
    ///
    /// A packet is lost once at least `duplicate_threshold` packets have arrived above it (RFC 6675
    /// §4, IsLost, in packets).
    pub fn judge(&mut self, mut lost: impl FnMut(u64, u64, u32)) {
        let Some(edge) = self.loss_edge() else { return };
        while self.judged_to < edge {
            let number = self.judged_to;
            self.judged_to += 1;
            let record = self.outstanding.get_mut(number);
            if !record.sacked && !record.lost {
                self.pipe -= record.in_pipe();
                record.lost = true;
                self.pipe += record.in_pipe();
                lost(number, record.transmission, record.in_flight);
            }
        }
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

    /// The lowest lost packet that has not been retransmitted (RFC 6675 §4, NextSeg, rule 1).
    pub fn next_retransmission(&mut self) -> Option<u64> {
        while self.retransmit_from < self.judged_to {
            let record = self.outstanding.get(self.retransmit_from);
            if record.lost && !record.sacked && !record.retransmitted {
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

    /// Handles an expiry of the retransmission timer: everything that has not arrived is lost, and
    /// the pipe is empty (RFC 6675 §5.1).
    pub fn lose_everything(&mut self) {
        for record in self.outstanding.iter_mut() {
            record.lost = !record.sacked;
            record.retransmitted = false;
        }
        self.pipe = 0;
        self.resent.clear();
        self.judged_to = self.outstanding.end();
        self.retransmit_from = self.outstanding.first();
    }

    /// Takes back all losses, because the packets were only late, by `extent` packets: they count
    /// as in flight again, and the duplicate threshold grows.
    pub fn forgive(&mut self, extent: u64) {
        const MOST: u64 = 300; // Linux's tcp_max_reordering.
        self.duplicate_threshold = self.duplicate_threshold.max(extent + 1).min(MOST);
        self.resent.clear();
        self.pipe = 0;
        for record in self.outstanding.iter_mut() {
            record.lost = false;
            self.pipe += record.in_pipe();
        }
        self.judged_to = self.outstanding.first();
        self.retransmit_from = self.outstanding.first();
    }

    /// How many packets the highest arrival lies above `number`.
    pub fn extent_above(&self, number: u64) -> u64 {
        self.sacked.back().map_or(0, |range| range.end.saturating_sub(number + 1))
    }

    /// Releases memory after a large window has shrunk.
    pub fn shrink(&mut self) {
        self.outstanding.shrink();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn board(packets: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..packets).for_each(|number| board.sent(number));
        board
    }

    fn sack(board: &mut Scoreboard, start: u64, end: u64) -> Delivered {
        let mut delivered = Delivered::default();
        board.sack(Range { start, end }, &mut delivered);
        delivered
    }

    fn lost(board: &mut Scoreboard) -> Vec<u64> {
        let mut numbers = Vec::new();
        board.judge(|number, _, _| numbers.push(number));
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
            board.sent_again(number, transmission);
        }
        assert_eq!((board.next_retransmission(), board.pipe()), (None, 6));
        let mut delivered = Delivered::default();
        board.acknowledge(2, &mut delivered);
        assert_eq!(
            (delivered, board.pipe()),
            (Delivered { packets: 1, newest: 10, newest_number: 0 }, 5)
        );
    }

    #[test]
    fn a_retransmission_is_lost_when_three_that_left_later_have_arrived() {
        let mut board = board(10);
        sack(&mut board, 1, 6);
        assert_eq!(lost(&mut board), [0]);
        board.sent_again(0, 10);
        (11..14).for_each(|transmission| board.sent(transmission));
        let mut found = Vec::new();
        board.judge_resent(12, |number, _, _| found.push(number));
        assert_eq!(
            (found.len(), board.next_retransmission()),
            (0, None),
            "only two that left later have arrived"
        );
        board.judge_resent(13, |number, transmission, _| found.push(number + transmission));
        assert_eq!((found, board.next_retransmission()), (vec![10], Some(0)));
        board.sent_again(0, 14);
        let mut delivered = Delivered::default();
        board.acknowledge(6, &mut delivered);
        board.judge_resent(100, |_, _, _| unreachable!("it has arrived"));
        assert_eq!(board.pipe(), 7, "6 to 12");
    }

    #[test]
    fn after_a_timeout_only_what_did_not_arrive_is_sent_again() {
        let mut board = board(6);
        sack(&mut board, 2, 4);
        board.lose_everything();
        let mut again = Vec::new();
        while let Some(number) = board.next_retransmission() {
            board.sent_again(number, 100 + number);
            again.push(number);
        }
        assert_eq!((again, board.pipe()), (vec![0, 1, 4, 5], 4));
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
                        board.acknowledge(to, &mut delivered);
                        una = to;
                        newly
                    }
                    1 | 2 => {
                        let range = start.max(una)..(start + length).min(60);
                        let newly = range.clone().filter(|n| !sacked[*n as usize]).count();
                        range.for_each(|n| sacked[n as usize] = true);
                        board.sack(Range { start, end: start + length }, &mut delivered);
                        newly
                    }
                    _ => {
                        board.judge(|_, _, _| {});
                        if let Some(number) = board.next_retransmission() {
                            prop_assert!(!sacked[number as usize] && number >= una);
                            board.sent_again(number, next_transmission);
                            next_transmission += 1;
                        }
                        0
                    }
                };
                prop_assert_eq!(delivered.packets, newly as u64);
                board.judge(|_, _, _| {});
                let arrived_above = |n: u64| (n + 1..60).filter(|m| sacked[*m as usize]).count();
                let mut pipe = 0;
                for number in una..60 {
                    let record = board.outstanding.get(number);
                    prop_assert_eq!(record.sacked, sacked[number as usize]);
                    if !record.sacked {
                        prop_assert!(
                            arrived_above(number) < 3 || record.lost,
                            "{} should be lost",
                            number
                        );
                        pipe += record.in_pipe();
                    }
                }
                prop_assert_eq!(board.pipe(), pipe);
                for pair in board.sacked.iter().collect::<Vec<_>>().windows(2) {
                    prop_assert!(pair[0].end < pair[1].start);
                }
            }
        }
    }
}
