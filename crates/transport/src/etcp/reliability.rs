//! Reliable delivery (E-TCP, §IV): decides which data to send again. This module knows nothing of
//! congestion control.
//!
//! | source | says | here |
//! |---|---|---|
//! | §IV | data sent and not acknowledged, in segments by the number of times it has been retransmitted | [`RetransmissionQueue`] |
//! | §IV | an acknowledgement carries CACK, TSN and LE | [`RetransmissionQueue::on_ack`] |
//! | §IV | losses are inferred from the TSN's place in its segment | [`RetransmissionQueue::infer`] |
//! | §IV | a timer watches the smallest number | [`RetransmissionQueue::on_timeout`] |
//!
//! The data of one segment left in the order of its places there. Data that stands more than two
//! places ahead of a TSN was therefore lost, or its acknowledgements were. The paper does not say
//! how many places; two is the reordering that its signalling allows for.

use std::collections::VecDeque;

/// Places by which data may be overtaken without counting as lost.
const REORDERING: u64 = 2;

/// Data sent and not yet known to have arrived.
#[derive(Clone, Debug, Default)]
pub struct RetransmissionQueue {
    /// The lowest number that has not been acknowledged (CACK + 1).
    first: u64,
    /// What is known of the packets `first`, `first + 1`, …
    records: VecDeque<Record>,
    /// Entry n contains the data that has been retransmitted n times, in the order of departure.
    segments: Vec<SegmentNumbers>,
    /// Numbers found lost that are to be sent again, in the order of discovery.
    lost: VecDeque<u64>,
    /// Packets acknowledged so far.
    delivered: u64,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    state: State,
    /// Number of times that the data has been retransmitted.
    resent: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// On its way, at this place of its segment (counted from the creation of the segment).
    Sent { place: u64 },
    /// Found lost, not yet sent again.
    Lost,
    /// Arrived, and so has everything from the number `from` up to this one.
    Arrived { from: u64 },
}

#[derive(Clone, Debug, Default)]
struct SegmentNumbers {
    /// The place of the first entry of `numbers`.
    base: u64,
    numbers: VecDeque<u64>,
}

impl RetransmissionQueue {
    /// The lowest number that has not been acknowledged.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The next number that has never been sent.
    pub fn end(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// True if nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Packets acknowledged so far, in order or not.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns the next number to send again, if one was lost and has not arrived since.
    pub fn next_lost(&mut self) -> Option<u64> {
        while let Some(number) = self.lost.front().copied() {
            if self.record(number).is_some_and(|record| record.state == State::Lost) {
                return Some(number);
            }
            self.lost.pop_front();
        }
        None
    }

    /// Records that new data leaves; returns its number.
    pub fn send_new(&mut self) -> u64 {
        let number = self.end();
        let place = self.enter(0, number);
        self.records.push_back(Record { state: State::Sent { place }, resent: 0 });
        number
    }

    /// Records that data found lost leaves again; `number` is what [`Self::next_lost`] returned.
    pub fn send_again(&mut self, number: u64) {
        if self.lost.front() == Some(&number) {
            self.lost.pop_front();
        }
        let Some(resent) = self.record(number).map(|record| record.resent + 1) else { return };
        let place = self.enter(resent as usize, number);
        if let Some(record) = self.record_mut(number) {
            *record = Record { state: State::Sent { place }, resent };
        }
    }

    /// Takes an acknowledgement, which says that everything below `cack` and the block from
    /// `left_edge` to `tsn` has arrived.
    pub fn on_ack(&mut self, cack: u64, left_edge: u64, tsn: u64) {
        let trigger = self.record(tsn);
        if left_edge <= tsn {
            self.arrive(left_edge, tsn);
        }
        if let Some(Record { state: State::Sent { place }, resent }) = trigger {
            self.infer(resent as usize, place);
        }
        while self.first < cack {
            let Some(record) = self.records.pop_front() else { break };
            self.delivered += u64::from(!matches!(record.state, State::Arrived { .. }));
            self.first += 1;
        }
    }

    /// Marks as lost whatever stands ahead of `place` in its segment by more than reordering
    /// explains.
    fn infer(&mut self, segment: usize, place: u64) {
        while let Some(number) = self.segments[segment].numbers.front().copied() {
            let segment = &mut self.segments[segment];
            let ahead = segment.base;
            if place <= ahead + REORDERING {
                return;
            }
            segment.numbers.pop_front();
            segment.base += 1;
            if let Some(record) = self.record_mut(number)
                && record.state == (State::Sent { place: ahead })
            {
                record.state = State::Lost;
                self.lost.push_back(number);
            }
        }
    }

    /// Marks `from` to `to` as arrived. Known blocks are skipped in one step, so that a growing
    /// block costs no more than its new packets.
    fn arrive(&mut self, from: u64, to: u64) {
        let from = from.max(self.first);
        let mut number = to;
        loop {
            if number < from {
                break;
            }
            let Some(record) = self.record_mut(number) else { break };
            number = match record.state {
                State::Arrived { from: known } => known,
                State::Sent { .. } | State::Lost => {
                    record.state = State::Arrived { from: number };
                    self.delivered += 1;
                    number
                }
            };
            let Some(below) = number.checked_sub(1) else { break };
            number = below;
        }
        if let Some(record) = self.record_mut(to) {
            record.state = State::Arrived { from };
        }
    }

    /// Marks `number` as lost, because its packet arrived with damaged data. Called before
    /// [`Self::on_ack`] takes the same acknowledgement, whose block is then empty.
    pub fn on_damage(&mut self, number: u64) {
        if let Some(record) = self.record_mut(number)
            && matches!(record.state, State::Sent { .. })
        {
            record.state = State::Lost;
            self.lost.push_back(number);
        }
    }

    /// Marks the smallest number as lost, because its timer has expired.
    pub fn on_timeout(&mut self) {
        let first = self.first;
        if let Some(record) = self.records.front_mut()
            && matches!(record.state, State::Sent { .. })
        {
            record.state = State::Lost;
            self.lost.push_front(first);
        }
    }

    fn enter(&mut self, segment: usize, number: u64) -> u64 {
        if segment >= self.segments.len() {
            self.segments.resize_with(segment + 1, SegmentNumbers::default);
        }
        let segment = &mut self.segments[segment];
        segment.numbers.push_back(number);
        segment.base + segment.numbers.len() as u64 - 1
    }

    fn record(&self, number: u64) -> Option<Record> {
        self.records.get(usize::try_from(number.checked_sub(self.first)?).ok()?).copied()
    }

    fn record_mut(&mut self, number: u64) -> Option<&mut Record> {
        self.records.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }
}
