//! Recognises recoveries and timeouts that were needless, because what was thought lost arrives
//! after all: by timestamps (Eifel, RFC 3522), and by duplicates that the receiver reports (RFC
//! 2883; `undo_retrans` in Linux's net/ipv4/tcp_input.c).

use narrows_units::Time;

/// The retransmissions of one recovery or timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// The lowest packet that was outstanding when it began.
    marker: u64,
    /// The packet that was sent again first, and when; `None` before that.
    first: Option<(u64, Time)>,
    /// Retransmissions that have not been reported as duplicates; `None` before there is one.
    unreported: Option<u32>,
    /// An acknowledgement of that packet has shown that it was needed.
    was_needed: bool,
}

impl Undo {
    /// A recovery or timeout begins with everything below `marker` acknowledged, and with `resent`
    /// retransmissions of before in flight, whose duplicates may still be reported
    /// (`tcp_init_undo`).
    pub fn new(marker: u64, resent: u32) -> Self {
        let unreported = (resent > 0).then_some(resent);
        Self { marker, first: None, unreported, was_needed: false }
    }

    /// Packet `number` leaves again at `now`.
    pub fn sent_again(&mut self, number: u64, now: Time) {
        self.first.get_or_insert((number, now));
        *self.unreported.get_or_insert(0) += 1;
    }

    /// Packet `number` has arrived twice; returns true if all retransmissions have, so that none
    /// was needed.
    pub fn reported(&mut self, number: u64) -> bool {
        let Some(unreported) = self.unreported.as_mut().filter(|_| number >= self.marker) else {
            return false;
        };
        *unreported = unreported.saturating_sub(1);
        *unreported == 0
    }

    /// Everything below `number` is acknowledged in answer to what left at `echo`; returns true if
    /// that left before the first retransmission, so that the original has arrived (RFC 3522 §3.2).
    ///
    /// Only the acknowledgement of the packet that was sent again first tells: holes below it may
    /// have been filled by earlier retransmissions.
    pub fn acknowledged(&mut self, number: u64, echo: Time) -> bool {
        let Some((first, at)) = self.first.filter(|(first, _)| *first < number) else {
            return false;
        };
        debug_assert!(first >= self.marker, "{first} was acknowledged before {}", self.marker);
        let original = echo < at && !self.was_needed;
        self.was_needed |= !original;
        original
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Duration;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn an_older_stamp_tells_at_the_first_retransmission_only() {
        let mut undo = Undo::new(5, 0);
        assert!(!undo.acknowledged(6, at(0)), "nothing was sent again");
        undo.sent_again(7, at(100));
        undo.sent_again(9, at(101));
        assert!(!undo.acknowledged(7, at(50)), "7 is not acknowledged");
        assert!(undo.acknowledged(8, at(50)));
        assert!(!undo.acknowledged(9, at(100)), "this one was sent in answer to 7");
        assert!(!undo.acknowledged(10, at(50)), "the first has told");
    }

    #[test]
    fn all_retransmissions_must_be_reported() {
        let mut undo = Undo::new(5, 0);
        assert!(!undo.reported(5), "nothing was sent again");
        undo.sent_again(5, at(100));
        undo.sent_again(6, at(100));
        assert!(!undo.reported(4), "of an earlier recovery");
        assert!(!undo.reported(5));
        assert!(undo.reported(6));
    }
}
