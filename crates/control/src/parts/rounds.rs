//! Round trips counted by transmission numbers.

use crate::Ack;

/// Counts round trips: one ends when a packet is answered that left after the round began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    ends_at: u64,
}

impl Rounds {
    /// True where `ack` ends a round; the next one begins with the next packet to leave.
    pub fn ends_with(&mut self, ack: &Ack) -> bool {
        let ends = ack.newest >= self.ends_at;
        if ends {
            self.ends_at = ack.next;
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ack;

    #[test]
    fn a_round_ends_with_the_first_packet_sent_after_it_began() {
        let mut rounds = Rounds::default();
        // Ten packets fly at any time: the answer to packet n finds n + 10 next to leave.
        let ends = (0..35)
            .filter(|n| rounds.ends_with(&crate::Ack { newest: *n, next: n + 10, ..ack(0.0, 1.0) }))
            .collect::<Vec<_>>();
        assert_eq!(ends, [0, 10, 20, 30]);
    }
}
