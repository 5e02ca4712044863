//! Selective acknowledgements (RFC 2018), counted in packets.

/// The packets `start..end`, by sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First sequence number inside.
    pub start: u64,
    /// First sequence number after it.
    pub end: u64,
}

impl Range {
    /// No packet.
    pub const EMPTY: Self = Self { start: 0, end: 0 };

    /// Number of packets it covers.
    pub const fn len(self) -> u64 {
        self.end - self.start
    }

    /// True if it covers nothing.
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// True if `number` lies inside.
    pub const fn contains(self, number: u64) -> bool {
        self.start <= number && number < self.end
    }
}

/// Up to three blocks of packets that arrived above the cumulative acknowledgement, the most
/// recently changed first.
///
/// There are three, because RFC 7323's timestamps leave no room for a fourth. Blocks are kept as
/// distances from the cumulative acknowledgement, 24 bytes in all, so that a packet stays within a
/// cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks([(u32, u32); SackBlocks::MOST]);

impl SackBlocks {
    /// Number of blocks that fit beside timestamps (RFC 2018 §3, RFC 7323 §3.2).
    pub const MOST: usize = 3;
    /// None.
    pub const NONE: Self = Self([(0, 0); Self::MOST]);

    /// The first of `ranges`, which lie above the cumulative acknowledgement `ack`. None may be
    /// empty: it would hide those after it.
    ///
    /// Panics if one ends 2³² packets or more above `ack`.
    pub fn of(ack: u64, ranges: impl Iterator<Item = Range>) -> Self {
        let mut blocks = Self::NONE;
        for (place, range) in blocks.0.iter_mut().zip(ranges) {
            let distance = u32::try_from(range.end - ack);
            let length = range.len() as u32;
            let end = distance.expect("a window has fewer than 2^32 packets");
            *place = (end - length, length);
        }
        blocks
    }

    /// Puts the packet `number`, which has arrived more than once, before the other blocks, the
    /// last of which may have to go (RFC 2883 §4). It may lie below the cumulative acknowledgement
    /// `ack`.
    pub fn push_duplicate(&mut self, ack: u64, number: u64) {
        self.0.rotate_right(1);
        // The distance of a packet below wraps around, as in TCP's 32 bits.
        self.0[0] = (number.wrapping_sub(ack) as u32, 1);
    }

    /// The packet that has arrived more than once, given that the first block reports it.
    pub fn duplicate(&self, ack: u64) -> u64 {
        ack.wrapping_add_signed(i64::from(self.0[0].0 as i32))
    }

    /// The blocks without the first.
    pub fn without_first(mut self) -> Self {
        self.0[0] = (0, 0);
        self.0.rotate_left(1);
        self
    }

    /// True if nothing is reported.
    pub const fn is_empty(&self) -> bool {
        self.0[0].1 == 0
    }

    /// The blocks in the order reported, above the cumulative acknowledgement `ack`.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = Range> {
        self.0.into_iter().take_while(|(_, length)| *length > 0).map(move |(start, length)| {
            let start = ack + u64::from(start);
            Range { start, end: start + u64::from(length) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_in_order_and_a_fourth_finds_no_room() {
        let ranges =
            [(20, 22), (12, 13), (30, 40), (50, 60)].map(|(start, end)| Range { start, end });
        assert!(SackBlocks::NONE.is_empty());
        let blocks = SackBlocks::of(10, ranges.into_iter());
        assert_eq!(blocks.iter(10).collect::<Vec<_>>(), ranges[..3]);
    }

    #[test]
    fn a_duplicate_comes_first_and_may_lie_below_the_acknowledgement() {
        let blocks = SackBlocks::of(100, [Range { start: 110, end: 112 }].into_iter());
        for number in [97, 111, 0] {
            let mut reported = blocks;
            reported.push_duplicate(100, number);
            assert_eq!(reported.duplicate(100), number);
            assert_eq!(reported.without_first(), blocks);
        }
    }
}
