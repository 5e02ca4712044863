//! Round trips counted by transmission numbers.

use crate::Ack;

/// Counts round trips. One ends when a packet that left after it began is answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    ends_at: u64,
}

impl Rounds {
    /// True if `ack` ends a round; the next one begins with the next packet to leave.
    pub fn ends_with(&mut self, ack: &Ack) -> bool {
        let ends = self.may_end_with(ack);
        if ends {
            self.begin(ack);
        }
        ends
    }

    /// True if a round trip has passed at `ack`, for laws whose rounds may be longer.
    pub fn may_end_with(&self, ack: &Ack) -> bool {
        ack.newest >= self.ends_at
    }

    /// The next round begins with the next packet to leave.
    pub fn begin(&mut self, ack: &Ack) {
        self.ends_at = ack.next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ack;

    #[test]
    fn a_round_ends_with_the_first_packet_sent_after_it_began() {
        let mut rounds = Rounds::default();
        // Ten packets are in flight at any time: when packet n is answered, n + 10 is next to
        // leave.
        let ends = (0..35)
            .filter(|n| rounds.ends_with(&crate::Ack { newest: *n, next: n + 10, ..ack(0.0, 1.0) }))
            .collect::<Vec<_>>();
        assert_eq!(ends, [0, 10, 20, 30]);
    }
}
