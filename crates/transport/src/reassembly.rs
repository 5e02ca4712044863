//! Which packets have arrived, in and out of order, and which blocks to report first (RFC 2018).

use narrows_signal::{Range, SackBlocks};
use std::collections::VecDeque;

/// Packets that have arrived, before and after the first gap.
#[derive(Clone, Debug)]
pub struct Reassembly {
    next: u64,
    /// Ranges that arrived above `next`: disjoint and ascending.
    ranges: VecDeque<Range>,
    /// The blocks that changed last, the latest first, and then empty ones. One that ends at `next`
    /// or before is a block no more.
    recent: [Range; SackBlocks::MOST],
}

impl Default for Reassembly {
    fn default() -> Self {
        Self { next: 0, ranges: VecDeque::new(), recent: [Range::EMPTY; SackBlocks::MOST] }
    }
}

impl Reassembly {
    /// The lowest number that has not arrived.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Numbers from the lowest that is missing to the highest that has arrived.
    pub fn waiting(&self) -> u64 {
        self.ranges.back().map_or(0, |last| last.end - self.next)
    }

    /// True if something above a gap has arrived.
    pub fn has_gap(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// True if packet `number` has arrived.
    pub fn contains(&self, number: u64) -> bool {
        let place = self.ranges.partition_point(|range| range.end <= number);
        number < self.next || self.ranges.get(place).is_some_and(|range| range.contains(number))
    }

    /// The left edge of the contiguous block around `number`; `number` itself if it lies below the
    /// first gap.
    pub fn left_edge(&self, number: u64) -> u64 {
        let place = self.ranges.partition_point(|range| range.end <= number);
        self.ranges
            .get(place)
            .filter(|range| range.contains(number))
            .map_or(number, |range| range.start)
    }

    /// The place, among the blocks that changed last, of the one that `number` belongs to or
    /// lengthens; their number if there is none.
    pub fn place_of(&self, number: u64) -> usize {
        let known = self.recent.iter().filter(|block| !block.is_empty());
        let lengthens = |block: &Range| {
            // In the place of one that is a block no more counts the lowest.
            let is_block = block.end > self.next;
            let block = if is_block { Some(block) } else { self.ranges.front() };
            block.is_some_and(|block| block.start <= number + 1 && number <= block.end)
        };
        known.clone().position(lengthens).unwrap_or(known.count())
    }

    /// Records the arrival of packet `number`; returns true if it is new.
    #[inline]
    pub fn arrive(&mut self, number: u64) -> bool {
        if number == self.next {
            self.next += 1;
            if !self.ranges.is_empty() {
                self.join_front();
            }
            return true;
        }
        number > self.next && self.insert(number)
    }

    fn join_front(&mut self) {
        let next = self.next;
        if let Some(range) = self.ranges.pop_front_if(|range| range.start == next) {
            self.next = range.end;
        }
    }

    #[inline(never)]
    fn insert(&mut self, number: u64) -> bool {
        // Most arrivals lengthen the last block or begin another above it.
        let above = self.ranges.back().is_none_or(|last| last.end < number);
        let lengthens = !above && self.ranges.back().is_some_and(|last| last.end == number);
        let place = match self.ranges.len() {
            blocks if above => blocks,
            blocks if lengthens => blocks - 1,
            _ => self.ranges.partition_point(|range| range.end < number),
        };
        let range = match self.ranges.get(place).copied() {
            Some(range) if range.contains(number) => {
                self.touch(range);
                return false;
            }
            Some(range) if range.end == number => {
                self.ranges[place].end += 1;
                self.join_with_following(place)
            }
            Some(range) if range.start == number + 1 => {
                self.ranges[place].start = number;
                self.ranges[place]
            }
            _ => {
                let range = Range { start: number, end: number + 1 };
                self.ranges.insert(place, range);
                range
            }
        };
        self.touch(range);
        true
    }

    fn join_with_following(&mut self, place: usize) -> Range {
        let range = self.ranges[place];
        if let Some(following) =
            self.ranges.get(place + 1).copied().filter(|following| following.start == range.end)
        {
            self.ranges[place].end = following.end;
            self.ranges.remove(place + 1);
        }
        self.ranges[place]
    }

    /// Moves the block `range` to the front, and forgets what has become part of it.
    fn touch(&mut self, range: Range) {
        let [latest, others @ ..] = &self.recent;
        let swallows = |other: &Range| range.contains(other.start);
        if !swallows(latest) || others.iter().any(swallows) {
            let mut recent = [range; SackBlocks::MOST];
            let kept = self.recent.iter().filter(|other| !swallows(other));
            let kept = kept.copied().chain([Range::EMPTY; SackBlocks::MOST]);
            recent[1..].iter_mut().zip(kept).for_each(|(place, other)| *place = other);
            self.recent = recent;
        }
        self.recent[0] = range;
    }

    /// The blocks to report with a cumulative acknowledgement of `next()`; the block that changed
    /// last comes first (RFC 2018 §4).
    #[inline]
    pub fn blocks(&self) -> SackBlocks {
        if self.ranges.is_empty() { SackBlocks::NONE } else { self.recent_blocks() }
    }

    fn recent_blocks(&self) -> SackBlocks {
        let blocks = self.recent.iter().copied().filter(|block| block.end > self.next);
        SackBlocks::of(self.next, blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn after(numbers: &[u64]) -> Reassembly {
        let mut reassembly = Reassembly::default();
        numbers.iter().for_each(|number| {
            reassembly.arrive(*number);
        });
        reassembly
    }

    fn blocks(reassembly: &Reassembly) -> Vec<(u64, u64)> {
        reassembly.blocks().iter(reassembly.next()).map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn the_block_that_changed_last_comes_first() {
        assert_eq!(blocks(&after(&[0, 2, 4, 6, 8])), [(8, 9), (6, 7), (4, 5)]);
        assert_eq!(blocks(&after(&[0, 2, 4, 6, 3])), [(2, 5), (6, 7)]);
        assert_eq!(
            blocks(&after(&[0, 2, 4, 1])),
            [(4, 5)],
            "2 is now covered by the cumulative acknowledgement"
        );
    }

    #[test]
    fn it_knows_the_place_of_the_block_that_a_packet_lengthens() {
        let reassembly = after(&[0, 10, 20]);
        let places = [19, 20, 21, 22, 9, 11, 15].map(|number| reassembly.place_of(number));
        assert_eq!(places, [0, 0, 0, 2, 1, 1, 2]);
    }

    #[test]
    fn a_packet_that_arrives_twice_is_not_new() {
        let mut reassembly = after(&[0, 2, 3]);
        assert!(!reassembly.arrive(0) && !reassembly.arrive(3));
        assert!(reassembly.arrive(1));
        assert_eq!(reassembly.next(), 4);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_set(numbers in prop::collection::vec(0u64..80, 1..300)) {
            let mut set = BTreeSet::new();
            let mut reassembly = Reassembly::default();
            for number in numbers {
                prop_assert_eq!(reassembly.arrive(number), set.insert(number));
                let next = (0..).find(|n| !set.contains(n)).unwrap();
                prop_assert_eq!(reassembly.next(), next);
                prop_assert!((0..81).all(|n| reassembly.contains(n) == set.contains(&n)));
                let reported = blocks(&reassembly);
                for (start, end) in &reported {
                    prop_assert!(
                        (*start..*end).all(|n| set.contains(&n))
                            && !set.contains(end)
                            && !set.contains(&(start - 1))
                    );
                }
                let edge = reassembly.left_edge(number);
                prop_assert!(
                    (edge..=number).all(|n| set.contains(&n))
                        && (number < next || !set.contains(&(edge - 1)))
                );
                if number > next {
                    prop_assert!(
                        reported[0].0 <= number && number < reported[0].1,
                        "the first block contains the packet that arrived last"
                    );
                }
            }
        }
    }
}
