//! Sequence numbers that do not wrap around, and what an end has heard of them.

use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// Turns numbers of 32 bits into such that grow without an end, from the first one seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers(Option<i64>);

impl Numbers {
    /// Returns the number that is nearest to the last.
    pub fn whole(&mut self, number: u32) -> i64 {
        let last = *self.0.get_or_insert(i64::from(number));
        let next = last + i64::from(number.wrapping_sub(last as u32) as i32);
        self.0 = Some(next);
        next
    }
}

/// What has arrived, as acknowledgements say.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// All below has arrived.
    pub below: i64,
    /// What has arrived above, in order and apart.
    above: Vec<(i64, i64)>,
}

/// What an acknowledgement is the first to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Newly {
    /// Bytes that have arrived.
    pub bytes: i64,
    /// The highest number behind them.
    pub newest: i64,
}

/// Ranges that are kept above the acknowledged number; hostile ones are no more.
const MOST_RANGES: usize = 512;

impl Board {
    /// Takes an acknowledgement of all below a number, and of blocks above.
    pub fn hear(&mut self, below: i64, blocks: impl Iterator<Item = (i64, i64)>) -> Newly {
        let mut newly = Newly::default();
        if below > self.below {
            let known: i64 =
                self.above.iter().map(|range| overlap(*range, (self.below, below))).sum();
            // What is above had arrived before.
            let known_from = self.above.iter().find(|range| range.0 < below && below <= range.1);
            let newest = known_from.map_or(below, |range| range.0);
            newly = Newly { bytes: below - self.below - known, newest };
            self.below = below;
            self.above.retain(|range| range.1 > below);
            self.above.iter_mut().for_each(|range| range.0 = range.0.max(below));
        }
        for block in blocks {
            let block = (block.0.max(self.below), block.1);
            if block.1 > block.0 && (self.above.len() < MOST_RANGES || self.touches(block)) {
                let known = self.above.iter().find(|it| it.0 < block.1 && block.1 <= it.1);
                let newest = known.map_or(block.1, |it| it.0);
                let added = self.add(block);
                newly.bytes += added;
                newly.newest = if added > 0 { newly.newest.max(newest) } else { newly.newest };
            }
        }
        newly
    }

    fn touches(&self, block: (i64, i64)) -> bool {
        self.above.iter().any(|range| range.0 <= block.1 && block.0 <= range.1)
    }

    fn add(&mut self, (mut start, mut end): (i64, i64)) -> i64 {
        let first = self.above.partition_point(|range| range.1 < start);
        let last = self.above.partition_point(|range| range.0 <= end);
        let before: i64 = self.above[first..last].iter().map(|range| range.1 - range.0).sum();
        if let Some(range) = self.above[first..last].first() {
            start = start.min(range.0);
        }
        if let Some(range) = self.above[first..last].last() {
            end = end.max(range.1);
        }
        self.above.splice(first..last, [(start, end)]);
        end - start - before
    }

    /// Bytes that have arrived above the acknowledged number.
    pub fn sacked(&self) -> i64 {
        self.above.iter().map(|range| range.1 - range.0).sum()
    }
}

fn overlap(a: (i64, i64), b: (i64, i64)) -> i64 {
    (a.1.min(b.1) - a.0.max(b.0)).max(0)
}

/// A segment that has been sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The number of its first byte, and that behind its last.
    pub start: i64,
    pub end: i64,
    pub at: Time,
    /// Sent more than once, so that nothing can be told from its acknowledgement (Karn).
    pub again: bool,
    /// Bytes that a policer would have had left for it.
    pub tokens: f32,
}

/// Segments under way.
#[derive(Clone, Debug, Default)]
pub struct Flight(VecDeque<Sent>);

/// Segments that one covers which is sent again: a super-packet has less than fifty.
const MOST_COVERED: usize = 64;
/// Segments under way that are kept of a connection.
const MOST_SENT: usize = 1 << 16;

impl Flight {
    /// Adds a segment of new data.
    pub fn send(&mut self, sent: Sent) {
        if self.0.len() < MOST_SENT {
            self.0.push_back(sent);
        }
    }

    /// Notes that what is between two numbers is sent again; returns what was known of its last
    /// segment.
    pub fn send_again(&mut self, start: i64, end: i64) -> Option<Sent> {
        let first = self.0.partition_point(|sent| sent.end <= start);
        let mut found = None;
        let covered = self.0.iter_mut().skip(first).take_while(|sent| sent.start < end);
        for sent in covered.take(MOST_COVERED) {
            found = Some(*sent);
            sent.again = true;
        }
        found
    }

    /// The time since the segment was sent that has the byte before `end`, if it was seen once, and
    /// not after now.
    pub fn age(&self, end: i64, now: Time) -> Option<Duration> {
        let sent = self.0.get(self.0.partition_point(|sent| sent.end < end))?;
        let is_known = sent.start < end && !sent.again && sent.at <= now;
        is_known.then(|| now.since(sent.at))
    }

    /// Takes what has arrived below a number.
    pub fn forget(&mut self, below: i64) -> impl Iterator<Item = Sent> {
        let known = self.0.partition_point(|sent| sent.end <= below);
        self.0.drain(..known)
    }
}

/// Timestamps (RFC 7323) of one end, and when each was first seen.
#[derive(Clone, Debug, Default)]
pub struct Stamps(VecDeque<(u32, Time)>);

/// Timestamps that are kept.
const MOST_STAMPS: usize = 4096;

impl Stamps {
    /// A segment has this timestamp.
    pub fn see(&mut self, stamp: u32, at: Time) {
        if self.0.back().is_none_or(|(last, _)| (stamp.wrapping_sub(*last) as i32) > 0) {
            if self.0.len() == MOST_STAMPS {
                self.0.pop_front();
            }
            self.0.push_back((stamp, at));
        }
    }

    /// The time since the timestamp was first seen that a segment echoes now.
    pub fn since(&self, echo: u32, now: Time) -> Option<Duration> {
        let place = self.0.partition_point(|(stamp, _)| (stamp.wrapping_sub(echo) as i32) < 0);
        let (_, seen) = self.0.get(place).filter(|(stamp, at)| *stamp == echo && *at <= now)?;
        Some(now.since(*seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_go_on_where_they_wrap_around() {
        let mut numbers = Numbers::default();
        let whole = [u32::MAX - 1, 3, u32::MAX, 10].map(|number| numbers.whole(number));
        assert_eq!(whole, [4_294_967_294, 4_294_967_299, 4_294_967_295, 4_294_967_306]);
    }

    #[test]
    fn what_was_sent_twice_has_no_age() {
        let mut flight = Flight::default();
        for end in 1..=4 {
            let at = Time::from_picos(end as u64);
            let (start, end) = (end * 100 - 100, end * 100);
            flight.send(Sent { start, end, at, again: false, tokens: 0.0 });
        }
        assert_eq!(flight.send_again(100, 200).map(|sent| sent.end), Some(200));
        let ages = [200, 250, 300].map(|end| flight.age(end, Time::from_picos(10)));
        let seven = Some(Duration::from_picos(7));
        assert_eq!(ages, [None, seven, seven]);
        assert_eq!(flight.forget(250).count(), 2);
    }

    proptest! {
        #[test]
        fn a_board_counts_as_a_set_does(
            acks in prop::collection::vec(
                (0i64..60, prop::collection::vec((0i64..90, 1i64..9), 0..4)),
                0..40,
            )
        ) {
            let (mut board, mut set) = (Board::default(), BTreeSet::new());
            for (below, blocks) in acks {
                let (known, before) = (set.clone(), set.len() as i64);
                set.extend(0..below);
                let ends = |(start, size): &(i64, i64)| (*start, start + size);
                let blocks: Vec<_> = blocks.iter().map(ends).collect();
                blocks.iter().for_each(|(start, end)| set.extend(*start..*end));
                let newly = board.hear(below, blocks.into_iter());
                prop_assert_eq!(newly.bytes, set.len() as i64 - before);
                prop_assert_eq!(board.below + board.sacked(), set.len() as i64);
                let highest = set.iter().rev().find(|it| !known.contains(*it));
                prop_assert!(newly.bytes == 0 || Some(newly.newest - 1) == highest.copied());
            }
        }
    }
}
