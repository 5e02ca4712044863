//! Persistent congestion (RFC 9002, §7.6): all packets that left over a long time are lost.

use narrows_units::{Duration, Time};

/// kPersistentCongestionThreshold (§7.6.1).
const THRESHOLD: u64 = 3;

/// Packets in succession that were lost. Losses are noted in rising order of packet numbers, when
/// whatever left before them is known to be lost or acknowledged; so a number left out is of a
/// packet that was acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossRun {
    /// When the first of them left.
    first_sent: Time,
    /// When the last of them left.
    last_sent: Time,
    /// The number after the last one; 0 if there is none.
    next: u64,
}

impl LossRun {
    /// Packet `number`, which left at `sent`, is lost.
    pub fn note(&mut self, number: u64, sent: Time) {
        if number != self.next || number == 0 {
            self.first_sent = sent;
        }
        (self.last_sent, self.next) = (sent, number + 1);
    }

    /// Forgets what was lost: it has been answered, or there was no RTT sample when it left.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// True if all that left over more than three times the `probe_timeout`, which has no back-off,
    /// is lost (§7.6.1, §7.6.2).
    pub fn is_persistent(&self, probe_timeout: Duration) -> bool {
        self.last_sent.since(self.first_sent) > probe_timeout * THRESHOLD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §7.6.3: packets 2 to 8 leave from 1 to 8 s and are lost; PTO without back-off is 2 s.
    #[test]
    fn the_example_of_the_rfc_is_persistent_congestion() {
        let sent = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0].map(Time::from_secs);
        let run = |left_out: Option<u64>| {
            let mut run = LossRun::default();
            let lost = (2..).zip(sent).filter(|(number, _)| Some(*number) != left_out);
            lost.for_each(|(number, sent)| run.note(number, sent));
            run.is_persistent(Duration::from_millis(2000))
        };
        assert!(run(None), "8 − 1 = 7 exceeds 2·3 = 6");
        assert!(!run(Some(5)), "5 was acknowledged: 8 − 5 does not");
        assert!(!run(Some(2)), "8 − 2 = 6 does not exceed 6");
    }
}
