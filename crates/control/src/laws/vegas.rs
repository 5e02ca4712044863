//! TCP Vegas (Brakmo, Peterson: "TCP Vegas: end to end congestion avoidance on a global Internet",
//! JSAC 13, 1995), as Linux has it.
//!
//! | source | equation | here |
//! |---|---|---|
//! | §IV-A | diff = W(RTT − baseRTT)/RTT packets of its own in queues, once per round trip | [`Vegas::queued`] |
//! | §IV-A | W ← W + 1 if diff < α, W − 1 if diff > β | [`Vegas::avoid`] |
//! | §IV-B | slow start ends when diff > γ | [`Vegas::end_round`] |
//! | RFC 5681 §3.1, eq. 4 | W ← W/2, once per recovery epoch | [`Vegas::on_loss`] |
//! | Linux, `tcp_vegas_cwnd_event` | baseRTT is learnt again when a packet leaves while nothing is in flight | [`Vegas::on_restart`] |
//!
//! Departures, all Linux's: the RTT of a round is its smallest sample, so that delayed
//! acknowledgements do no harm. diff has baseRTT in the denominator, W(RTT − baseRTT)/baseRTT. Slow
//! start doubles the window each round trip, not every other one, and ends at the window that fits
//! without a queue. In rounds of fewer than three samples the window grows like Reno's. Vegas'
//! finer timeouts (§III) belong to the transport and are left out.

use crate::entry::{Entry, MovedBy, Recipe, Start};
use crate::parts::round_rtts::{Round, RoundRtts};
use crate::{Ack, CongestionWindow, Controller, Idle, Loss, Mark, Timeout};
use narrows_settings::{SettingError, Settings, settings};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "vegas",
    aliases: &["TcpVegas"],
    summary: "keeps two to four of its own packets in queues, estimated from the round-trip time",
    source: "Brakmo, Peterson, JSAC 13, 1995",
    moved_by: MovedBy::Delay,
    start: Start::ToThreshold,
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        params.check()?;
        let vegas = Vegas::new(params, birth.initial_window);
        Ok(Recipe::clones(vegas.with_ssthresh(birth.initial_ssthresh)))
    },
};

settings! {
    /// Settings of Vegas. All are numbers of the flow's own packets that wait in queues.
    pub struct Params {
        /// Own packets in queues below which the window grows (Linux; §IV-A takes 1 or 2).
        alpha: f64 = 2.0, above(0.0).at_most(1e6);
        /// Own packets in queues above which the window shrinks (Linux; §IV-A takes 3 or 4).
        beta: f64 = 4.0, above(0.0);
        /// Own packets in queues above which slow start ends (Linux; §IV-B).
        gamma: f64 = 1.0, above(0.0);
    }
}

impl Params {
    /// Refuses settings that contradict each other.
    fn check(&self) -> Result<(), SettingError> {
        if self.alpha > self.beta {
            let message = format!("alpha: {} is above beta, {}", self.alpha, self.beta);
            return Err(SettingError::new(message));
        }
        Ok(())
    }
}

/// RFC 5681 §3.1, eq. 4: the threshold is at least two packets.
const LEAST: f64 = 2.0;

/// The law's state.
#[derive(Clone, Debug)]
pub struct Vegas {
    params: Params,
    cwnd: CongestionWindow,
    rtts: RoundRtts,
}

impl Vegas {
    /// The law with `params`, which have been checked; starts with `initial_window` packets.
    pub fn new(params: Params, initial_window: f64) -> Self {
        let cwnd = CongestionWindow::new(initial_window);
        Self { params, cwnd, rtts: RoundRtts::new() }
    }

    /// Starts with a threshold of `ssthresh` packets instead.
    pub fn with_ssthresh(mut self, ssthresh: f64) -> Self {
        self.cwnd.ssthresh = ssthresh;
        self
    }

    /// diff: the flow's own packets that wait in queues, if a round trip takes `rtt` seconds
    /// (§IV-A).
    fn queued(&self, rtt: f64) -> f64 {
        self.cwnd.window * (rtt - self.rtts.base) / self.rtts.base
    }

    /// Moves the window one packet up, one down, or not at all (§IV-A).
    fn avoid(&mut self, diff: f64) {
        if diff > self.params.beta {
            self.cwnd.window = (self.cwnd.window - 1.0).max(LEAST);
            self.cwnd.ssthresh = self.cwnd.ssthresh.min(self.cwnd.window - 1.0).max(LEAST);
        } else if diff < self.params.alpha {
            self.cwnd.window += 1.0;
        }
    }

    /// A round trip has ended: `rtt` is its smallest RTT in seconds, `packets` have just been
    /// acknowledged (§IV-A, §IV-B).
    fn end_round(&mut self, rtt: f64, packets: f64) {
        let diff = self.queued(rtt);
        if self.cwnd.window >= self.cwnd.ssthresh {
            return self.avoid(diff);
        }
        if diff > self.params.gamma {
            self.cwnd.window =
                self.cwnd.window.min(self.cwnd.window * self.rtts.base / rtt + 1.0).max(LEAST);
            self.cwnd.ssthresh = self.cwnd.ssthresh.min(self.cwnd.window);
        } else {
            self.slow_start(packets);
        }
    }

    fn halve(&mut self) {
        self.cwnd.remember();
        self.cwnd.reduce((self.cwnd.window / 2.0).max(LEAST));
    }

    fn slow_start(&mut self, packets: f64) {
        self.cwnd.window =
            (self.cwnd.window + packets).min(self.cwnd.ssthresh.max(self.cwnd.window));
    }
}

impl Controller for Vegas {
    /// Follows §IV once per round trip; in between, only slow start moves the window.
    fn on_ack(&mut self, ack: &Ack) {
        let ended = self.rtts.hear(ack);
        if !ack.window_limited || ack.recovering {
            return;
        }
        match ended {
            Some(Round { rtt: Some(rtt) }) => self.end_round(rtt, ack.packets),
            _ if self.cwnd.is_below_threshold() => self.slow_start(ack.packets),
            Some(_) => self.cwnd.window += 1.0,
            None => {}
        }
    }

    /// W ← W/2, once per recovery epoch (RFC 5681 §3.1, eq. 4).
    fn on_loss(&mut self, loss: &Loss) {
        if loss.opens_epoch {
            self.halve();
        }
    }

    /// As after a loss (RFC 3168 §6.1.2).
    fn on_mark(&mut self, mark: &Mark) {
        if mark.opens_epoch {
            self.halve();
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.opens_epoch {
            self.halve();
        }
        self.cwnd.timeout(timeout);
    }

    /// The samples of before the silence say nothing about the path of now (Linux).
    fn on_restart(&mut self, idle: &Idle) {
        self.cwnd.restart(idle);
        self.rtts.forget();
    }

    fn on_unused(&mut self, used: f64) {
        self.cwnd.unused(used);
    }

    fn on_spurious(&mut self) {
        self.cwnd.undo();
    }

    fn on_moderation(&mut self, window: f64) {
        self.cwnd.moderate(window);
    }

    fn window(&self) -> f64 {
        self.cwnd.window
    }

    fn ssthresh(&self) -> f64 {
        self.cwnd.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vegas(window: f64, ssthresh: f64) -> Vegas {
        let mut rtts = RoundRtts::new();
        rtts.base = 0.1;
        Vegas { rtts, ..Vegas::new(Params::default(), window).with_ssthresh(ssthresh) }
    }

    #[test]
    fn two_to_four_packets_of_its_own_wait_in_queues() {
        // With a window of 100 packets, an RTT of 101.9 ms means 1.9 packets in queues, 103 ms 3,
        // and 104.1 ms 4.1.
        for (rtt, window) in [(0.1019, 101.0), (0.103, 100.0), (0.1041, 99.0)] {
            let mut law = vegas(100.0, 50.0);
            law.end_round(rtt, 1.0);
            assert_eq!(law.cwnd.window, window, "{rtt}");
        }
    }

    #[test]
    fn slow_start_ends_with_a_packet_in_queues() {
        let mut law = vegas(100.0, f64::INFINITY);
        law.end_round(0.1009, 1.0);
        assert_eq!((law.cwnd.window, law.cwnd.ssthresh), (101.0, f64::INFINITY));
        law.end_round(0.125, 1.0);
        // 101 · 0.1/0.125 + 1.
        assert!((law.cwnd.window - 81.8).abs() < 1e-12 && law.cwnd.ssthresh == law.cwnd.window);
    }
}
