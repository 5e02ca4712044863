//! Which packet numbers have arrived, as far as the receiver remembers (RFC 9000, §13.2.3).

use narrows_signal::{AckRanges, Range};
use std::collections::VecDeque;

/// Ranges that are remembered at most; the oldest go first (§13.2.3: "A receiver limits the number
/// of ACK Ranges it remembers").
const MOST: usize = 32;

/// Ranges of packet numbers that have arrived: disjoint, in rising order, none touching the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    ranges: VecDeque<Range>,
    /// What was reported last; [`AckRanges::default`] if more than the end of the newest range has
    /// changed since.
    reported: AckRanges,
}

impl Received {
    /// The largest number that has arrived.
    pub fn largest(&self) -> Option<u64> {
        self.ranges.back().map(|range| range.end - 1)
    }

    /// Takes note that packet `number` has arrived; false if it had before.
    pub fn arrive(&mut self, number: u64) -> bool {
        if let Some(newest) = self.ranges.back_mut()
            && newest.end == number
        {
            newest.end += 1;
            return true;
        }
        self.reported = AckRanges::default();
        let place = self.ranges.partition_point(|range| range.end < number);
        match self.ranges.get(place).copied() {
            Some(range) if range.contains(number) => return false,
            Some(range) if range.end == number => {
                self.ranges[place].end += 1;
                self.join_with_following(place);
            }
            Some(range) if range.start == number + 1 => self.ranges[place].start = number,
            _ => {
                self.ranges.insert(place, Range { start: number, end: number + 1 });
                if self.ranges.len() > MOST {
                    self.ranges.pop_front();
                }
            }
        }
        true
    }

    fn join_with_following(&mut self, place: usize) {
        let end = self.ranges[place].end;
        if let Some(following) = self.ranges.get(place + 1).copied()
            && following.start == end
        {
            self.ranges[place].end = following.end;
            self.ranges.remove(place + 1);
        }
    }

    /// The newest ranges, as many as an acknowledgement holds.
    pub fn report(&mut self) -> AckRanges {
        let newest = self.ranges.back().map_or(0, |range| range.len());
        if newest == 0 || !self.reported.rewrite_first(newest) {
            self.reported = AckRanges::new(self.ranges.iter().rev().copied());
        }
        self.reported
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_oldest_ranges_are_forgotten() {
        let mut received = Received::default();
        for number in 0..40 {
            assert!(received.arrive(2 * number));
        }
        assert_eq!((received.ranges.len(), received.ranges[0].start), (32, 16));
        assert_eq!(received.largest(), Some(78));
    }

    /// The newest range grows from one byte of length to four; two ranges lie below it.
    #[test]
    fn what_is_reported_again_is_as_if_written_anew() {
        let mut received = Received::default();
        for number in [0, 2].into_iter().chain(4..17_000) {
            received.arrive(number);
            let anew = AckRanges::new(received.ranges.iter().rev().copied());
            assert_eq!(received.report(), anew, "after {number}");
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_set(numbers in prop::collection::vec(0u64..50, 1..200)) {
            let (mut set, mut received) = (BTreeSet::new(), Received::default());
            for number in numbers {
                prop_assert_eq!(received.arrive(number), set.insert(number));
                prop_assert_eq!(received.largest(), set.last().copied());
                let held = received.ranges.iter().flat_map(|range| range.start..range.end);
                prop_assert!(held.eq(set.iter().copied()));
                let gaps = received.ranges.iter().zip(received.ranges.iter().skip(1));
                prop_assert!(gaps.into_iter().all(|(below, above)| below.end < above.start));
                // Asked seldom, or each time: with packets in order between, and without.
                if number % 3 > 0 {
                    let anew = AckRanges::new(received.ranges.iter().rev().copied());
                    prop_assert_eq!(received.report(), anew);
                }
            }
        }
    }
}
