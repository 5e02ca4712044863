//! Bursts of drops at one queue.

/// Drops between two of which fewer packets than this were taken are of one burst (RFC 3611,
/// §4.7.2, Gmin).
const GAP: u64 = 16;

/// The bursts so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bursts {
    /// How many there were.
    pub number: u64,
    /// Drops of the longest.
    pub longest: u64,
    length: u64,
    /// Packets that had arrived when the last was dropped, that one included.
    last: u64,
}

impl Bursts {
    /// The last of `arrivals` packets is dropped.
    pub fn drop(&mut self, arrivals: u64) {
        // A queue that decides on departure drops packets that arrived earlier.
        let taken = arrivals.saturating_sub(self.last + 1);
        if self.number == 0 || taken >= GAP {
            self.number += 1;
            self.length = 0;
        }
        self.length += 1;
        self.longest = self.longest.max(self.length);
        self.last = arrivals;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_packets_that_were_taken_end_a_burst() {
        let mut bursts = Bursts::default();
        // Between the third and the fourth 15 are taken, before the last 16.
        for arrivals in [1, 2, 3, 19, 36] {
            bursts.drop(arrivals);
        }
        assert_eq!((bursts.number, bursts.longest), (2, 4));
    }
}
