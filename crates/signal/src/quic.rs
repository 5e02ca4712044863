//! What a QUIC acknowledgement carries (RFC 9000, §19.3), as far as endpoints use it here.

use crate::{Range, Reply};

/// The fields of an acknowledgement, apart from the largest packet number it acknowledges, which
/// travels as the segment's number, and its delay, which is the time between the segment's two
/// stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QuicAck {
    /// The packets acknowledged.
    pub ranges: AckRanges,
    /// Packets that have arrived with a mark so far, modulo 2¹⁶ (ECN-CE Count; RFC 9000, §19.3.2).
    pub marked: u16,
    /// What routers replied.
    pub reply: Reply,
}

/// Ranges of packet numbers, the highest first, written as RFC 9000, §19.3.1 has it: the first
/// range, then pairs of gap and length, as variable-length integers (§16).
///
/// There are [`BYTES`](Self::BYTES) of them, so that a packet stays within a cache line. That is
/// the first range of up to 2³⁰ packets and five to eight pairs more, depending on their lengths;
/// older ranges are left out, as §13.2.3 allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckRanges {
    written: [u8; Self::BYTES],
    length: u8,
}

/// The largest integer that is written here: what four bytes hold (RFC 9000, §16).
const MOST: u64 = (1 << 30) - 1;

impl AckRanges {
    /// Bytes of all ranges, at most.
    pub const BYTES: usize = 21;

    /// Writes as many `ranges` as fit; they come in falling order, and none touches the next.
    pub fn new(ranges: impl IntoIterator<Item = Range>) -> Self {
        let (mut written, mut smallest) = (Self::default(), None::<u64>);
        for range in ranges {
            let before = written.length;
            // RFC 9000, §19.3.1: both gap and length are one less than the number of packets.
            let gap = smallest.map(|smallest| smallest - range.end - 1);
            let whole = range.len() - 1 <= MOST;
            let fits = gap.is_none_or(|gap| gap <= MOST && written.push(gap))
                && written.push(range.len() - 1);
            if !fits {
                written.length = before;
                break;
            }
            if !whole {
                break;
            }
            smallest = Some(range.start);
        }
        written
    }

    /// Writes that the first range has `packets` packets, which must be some; returns false, and
    /// leaves all as it is, if that takes another number of bytes than what is written.
    pub fn rewrite_first(&mut self, packets: u64) -> bool {
        if packets - 1 > MOST || self.length == 0 {
            return false;
        }
        let integer = Integer::of((packets - 1) as u32);
        let is_as_long = Integer::bytes(self.written[0]) == integer.bytes;
        if is_as_long {
            integer.write(&mut self.written);
        }
        is_as_long
    }

    /// Bytes written.
    pub const fn bytes(&self) -> u32 {
        self.length as u32
    }

    /// The ranges in falling order, given the `largest` number acknowledged. Ends where a number
    /// would be below 0, which no receiver writes.
    pub fn iter(&self, largest: u64) -> Iter<'_> {
        Iter { unread: &self.written[..usize::from(self.length)], largest: Some(largest) }
    }

    /// Writes an integer, at most [`MOST`]; false if there is no room for it.
    fn push(&mut self, integer: u64) -> bool {
        let integer = Integer::of(integer.min(MOST) as u32);
        let start = usize::from(self.length);
        let Some(room) = self.written.get_mut(start..start + integer.bytes) else { return false };
        integer.write(room);
        self.length += integer.bytes as u8;
        true
    }
}

/// A variable-length integer (RFC 9000, §16).
#[derive(Clone, Copy, Debug)]
struct Integer {
    /// The integer with the two bits that say how many bytes it takes.
    written: u32,
    bytes: usize,
}

impl Integer {
    /// An `integer` of at most [`MOST`].
    fn of(integer: u32) -> Self {
        let (bytes, prefix) = match integer {
            0..64 => (1, 0),
            64..16_384 => (2, 1 << 14),
            _ => (4, 2 << 30),
        };
        Self { written: integer | prefix, bytes }
    }

    /// Bytes of the integer that begins with the byte `first`.
    fn bytes(first: u8) -> usize {
        match first >> 6 {
            0 => 1,
            1 => 2,
            _ => 4,
        }
    }

    /// Writes it into as many bytes as it takes.
    // Each length by itself: a copy of a length that is not known goes through the C library.
    fn write(self, room: &mut [u8]) {
        let Self { written, bytes } = self;
        match bytes {
            1 => room[0] = written as u8,
            2 => room[..2].copy_from_slice(&(written as u16).to_be_bytes()),
            _ => room[..4].copy_from_slice(&written.to_be_bytes()),
        }
    }
}

/// The ranges of an acknowledgement, in falling order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    unread: &'a [u8],
    /// The largest number of the next range; `None` after the last.
    largest: Option<u64>,
}

impl Iter<'_> {
    fn read(&mut self) -> Option<u64> {
        let bytes = Integer::bytes(*self.unread.first()?);
        let (integer, rest) = self.unread.split_at_checked(bytes)?;
        self.unread = rest;
        Some(match *integer {
            [only] => u64::from(only),
            [high, low] => u64::from(u16::from_be_bytes([high, low]) & 0x3fff),
            [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d]) & 0x3fff_ffff),
            _ => unreachable!("an integer takes one, two or four bytes here"),
        })
    }
}

impl Iterator for Iter<'_> {
    type Item = Range;

    fn next(&mut self) -> Option<Range> {
        let largest = self.largest.take()?;
        let start = largest.checked_sub(self.read()?)?;
        // RFC 9000, §19.3.1: largest = previous_smallest - gap - 2.
        self.largest = self.read().and_then(|gap| start.checked_sub(gap + 2));
        Some(Range { start, end: largest + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(edges: &[(u64, u64)]) -> Vec<Range> {
        edges.iter().map(|(start, end)| Range { start: *start, end: *end }).collect()
    }

    /// RFC 9000, §16 and §19.3.1 by hand: 90 to 99, then 20 to 79, then 5.
    #[test]
    fn ranges_are_written_as_the_rfc_has_it() {
        let all = ranges(&[(90, 100), (20, 80), (5, 6)]);
        let written = AckRanges::new(all.clone());
        // 9; gap 90 - 79 - 2 = 9, 59; gap 20 - 5 - 2 = 13, 0: all below 64, so one byte each.
        assert_eq!(written.written[..5], [9, 9, 59, 13, 0]);
        assert_eq!(written.bytes(), 5);
        assert_eq!(written.iter(99).collect::<Vec<_>>(), all);
    }

    #[test]
    fn longer_ranges_take_more_bytes() {
        let of = |length| AckRanges::new(ranges(&[(0, length)]));
        assert_eq!([64, 65, 16_384, 16_385].map(|length| of(length).bytes()), [1, 2, 2, 4]);
        // 15,293 is 0x7bbd in §16's example of two bytes.
        assert_eq!(of(15_294).written[..2], [0x7b, 0xbd]);
        // 494,878,333 is 0x9d7f3e7d in §16's example of four.
        assert_eq!(of(494_878_334).written[..4], [0x9d, 0x7f, 0x3e, 0x7d]);
        let endless = of(1 << 40);
        let reported = endless.iter((1 << 40) - 1).next().expect("one range");
        assert_eq!((reported.end, reported.len()), (1 << 40, 1 << 30));
    }

    #[test]
    fn the_oldest_ranges_find_no_room() {
        // 4 bytes for the first range, then pairs of 2 bytes: eight of them.
        let edges =
            |n: u64| if n == 0 { (100_000, 200_000) } else { (1000 - 10 * n, 1005 - 10 * n) };
        let mut all = ranges(&(0..20).map(edges).collect::<Vec<_>>());
        // The first gap is long.
        all[0].start = 1005;
        let written = AckRanges::new(all.clone());
        assert_eq!(written.iter(199_999).collect::<Vec<_>>(), all[..9]);
    }

    #[test]
    fn an_acknowledgement_that_goes_below_zero_ends() {
        let written = AckRanges::new(ranges(&[(90, 100), (20, 80)]));
        assert_eq!(written.iter(12).collect::<Vec<_>>(), ranges(&[(3, 13)]));
        assert_eq!(written.iter(5).count(), 0);
    }
}
