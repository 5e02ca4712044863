//! Loss detection by time (RFC 8985): the newest delivery that is known, and how long to wait for
//! what left before it.
//!
//! | source | rule | here |
//! |---|---|---|
//! | §6.2, step 2 | RACK.rtt and RACK.xmit_ts from each delivery that is not ambiguous | [`Rack::advance`] |
//! | §6.2, step 3 | reordering has been seen | [`Rack::saw_reordering`] |
//! | §6.2, step 4 | RACK.reo_wnd | [`Rack::reordering_window`] |
//! | §6.2, step 5 | what left RACK.rtt + reo_wnd ago is lost | [`Rack::patience`] |
//! | §6.2, step 5 | the timer, if something may still be lost | [`Rack::deadline`] |
//!
//! As in Linux (net/ipv4/tcp_recovery.c): the window is 0 in a recovery and once three packets have
//! arrived out of order, as long as no reordering has been seen; it grows by a quarter of the least
//! RTT at most once per round trip in which a duplicate was reported, and falls back after sixteen
//! recoveries without one; the timer waits 2 ms longer. Segments are ordered by the number of their
//! transmission, which stands for RACK.xmit_ts and RACK.end_seq.

use crate::congestion::Proof;
use narrows_control::Rtt;
use narrows_units::{Duration, Time};

/// TCP_RACK_RECOVERY_THRESH.
const RECOVERIES: u32 = 16;
/// TCP_TIMEOUT_MIN_US: what Linux adds to its short timers.
pub(super) const TIMER_SLACK: Duration = Duration::from_millis(2);
/// `tcp_reordering`: packets that must have arrived out of order for an immediate verdict.
const DUPLICATE_THRESHOLD: u32 = 3;

/// What RACK knows.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// The newest transmission that is known to have arrived, and when it left.
    newest: Proof,
    /// RACK.rtt.
    rtt: Duration,
    reordering_seen: bool,
    /// RACK.reo_wnd_mult.
    steps: u32,
    /// RACK.reo_wnd_persist: recoveries until the window falls back.
    persists: u32,
    /// No further step until a transmission of this number or a later one has arrived.
    next_step: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest: Proof { transmission: 0, sent: Time::ZERO },
            rtt: Duration::ZERO,
            reordering_seen: false,
            steps: 1,
            persists: 0,
            next_step: 0,
        }
    }
}

impl Rack {
    /// Takes the newest delivery that an acknowledgement proves.
    pub fn advance(&mut self, now: Time, proof: Proof) {
        self.rtt = now.since(proof.sent);
        if proof.transmission >= self.newest.transmission {
            self.newest = proof;
        }
    }

    /// The newest transmission that is known to have arrived; only what left before it can be lost.
    pub fn newest(&self) -> u64 {
        self.newest.transmission
    }

    /// A packet that was sent only once has arrived after a later one.
    pub fn saw_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// A retransmission proved needless: on a path that reorders, packets are waited for longer.
    /// `next` is the next transmission to leave.
    pub fn saw_duplicate(&mut self, next: u64) {
        if self.reordering_seen && self.newest.transmission >= self.next_step {
            self.steps = (self.steps + 1).min(255);
            self.next_step = next;
            self.persists = RECOVERIES;
        }
    }

    /// A recovery is over and was needed.
    pub fn recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.steps = 1;
        }
    }

    /// How long to wait for a packet that later ones have overtaken; `sacked` packets have arrived
    /// out of order.
    pub fn reordering_window(&self, rtt: Option<Rtt>, recovering: bool, sacked: u32) -> Duration {
        let Some(rtt) = rtt else { return Duration::ZERO };
        if !self.reordering_seen && (recovering || sacked >= DUPLICATE_THRESHOLD) {
            return Duration::ZERO;
        }
        let quarter = Duration::from_picos(rtt.minimum.picos() / 4);
        (quarter * u64::from(self.steps)).min(rtt.smoothed)
    }

    /// What left before `newest()`, this long ago or longer, is lost.
    pub fn patience(&self, window: Duration) -> Duration {
        self.rtt + window
    }

    /// When everything that left before `newest()` is known to be lost, unless it has arrived.
    /// Linux counts from the newest packet that is missing, we from the newest that has arrived.
    pub fn deadline(&self, window: Duration) -> Time {
        self.newest.sent + self.rtt + window + TIMER_SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    fn rtt() -> Option<Rtt> {
        Some(Rtt { latest: ms(100), smoothed: ms(90), minimum: ms(80), maximum: ms(200) })
    }

    #[test]
    fn the_window_is_a_quarter_of_the_least_rtt_and_none_where_reordering_is_unlikely() {
        let mut rack = Rack::default();
        assert_eq!(rack.reordering_window(rtt(), false, 2), ms(20));
        assert_eq!(rack.reordering_window(rtt(), false, 3), Duration::ZERO);
        assert_eq!(rack.reordering_window(rtt(), true, 0), Duration::ZERO);
        rack.saw_reordering();
        assert_eq!(rack.reordering_window(rtt(), true, 3), ms(20));
    }

    #[test]
    fn duplicates_widen_it_once_per_round_trip_up_to_the_smoothed_rtt() {
        let mut rack = Rack::default();
        rack.saw_reordering();
        rack.saw_duplicate(10);
        rack.saw_duplicate(11);
        assert_eq!(rack.reordering_window(rtt(), true, 3), ms(40));
        rack.advance(at(100), Proof { transmission: 10, sent: at(0) });
        rack.saw_duplicate(20);
        assert_eq!(rack.reordering_window(rtt(), true, 3), ms(60));
        for next in [20, 30, 40] {
            rack.advance(at(100), Proof { transmission: next, sent: at(0) });
            rack.saw_duplicate(next + 10);
        }
        assert_eq!(rack.reordering_window(rtt(), true, 3), ms(90), "not 120");
        (0..15).for_each(|_| rack.recovered());
        assert_eq!(rack.reordering_window(rtt(), true, 3), ms(90));
        rack.recovered();
        assert_eq!(rack.reordering_window(rtt(), true, 3), ms(20), "after sixteen recoveries");
    }

    #[test]
    fn what_is_older_than_the_newest_by_more_than_the_window_is_lost() {
        let mut rack = Rack::default();
        rack.advance(at(150), Proof { transmission: 7, sent: at(50) });
        assert_eq!((rack.newest(), rack.patience(ms(20))), (7, ms(120)));
        assert_eq!(rack.deadline(ms(20)), at(50 + 100 + 20 + 2));
        rack.advance(at(160), Proof { transmission: 3, sent: at(20) });
        assert_eq!(rack.newest(), 7, "an older one gives an RTT only (§6.2, step 2)");
        assert_eq!(rack.patience(Duration::ZERO), ms(140));
    }
}
