//! Compound TCP (Tan, Song, Zhang, Sridharan: "A Compound TCP approach for high-speed and long
//! distance networks", INFOCOM 2006; draft-sridharan-tcpm-ctcp-02), which was Windows' for years.
//!
//! | source | equation | here |
//! |---|---|---|
//! | paper | W = cwnd + dwnd; cwnd ← cwnd + 1/W for each packet acknowledged | [`Compound::increase`] |
//! | paper | diff = W(1 − baseRTT/RTT) packets of its own in queues, once per round trip | [`Compound::queued`] |
//! | paper | dwnd ← dwnd + (αW^k − 1)⁺ if diff < γ, (dwnd − ζ·diff)⁺ if not | [`Compound::end_round`] |
//! | draft | dwnd grows from 38 packets on | [`Compound::end_round`] |
//! | module | W ← (1 − β)W, and dwnd by the same share, once per recovery epoch | [`Compound::decrease`] |
//! | draft, "Gamma auto-tuning" | γ ← (1 − λ)γ + λ·¾·cwnd(1 − baseRTT/RTT) at a loss, within its bounds | [`Compound::tune`] |
//!
//! The texts could not be opened whole here. What they say is as L. Andrew's module for Linux has
//! it (tcp_compound.c, release 1.3 of April 2008, after A. P. Castellani and S. Hemminger), whose
//! constants these are; W^k is the paper's, where the draft's first versions have dwnd^k. The
//! module's, too: the RTT of a round is its smallest sample, a round of fewer than three says
//! nothing, and in slow start dwnd is 0. Departures: dwnd grows at once, not over the next round,
//! diff is of the window at the end of a round, and a round that a recovery ends counts.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::parts::round_rtts::RoundRtts;
use crate::{Ack, Idle, WindowLaw};
use libm::pow;
use narrows_settings::{SettingError, Settings, settings};
use narrows_units::Time;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "compound",
    aliases: &["CTCP"],
    summary: "adds to Reno's window another, which grows fast while the queue is short and gives \
              way when it is not",
    source: "Tan, Song, Zhang, Sridharan, INFOCOM 2006",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        params.check()?;
        Ok(birth.once_per_epoch(Compound::new(params)))
    },
};

settings! {
    /// Settings of Compound.
    pub struct Params {
        /// α of the growth αW^k − 1 of dwnd, packets per round trip.
        alpha: f64 = 0.125, above(0.0).at_most(1.0);
        /// Share of the window given up at a loss (ratio).
        beta: f64 = 0.5, above(0.0).below(1.0);
        /// The power k of the window by which dwnd grows.
        k: f64 = 0.75, above(0.0).below(1.0);
        /// The window in packets below which dwnd does not grow.
        low_window: f64 = 38.0, at_least(0.0);
        /// ζ: how many packets dwnd gives up for each of its own that waits in queues.
        zeta: f64 = 1.0, at_least(0.0);
        /// γ at first, and at most: with so many own packets in queues dwnd gives way.
        gamma: f64 = 30.0, above(0.0);
        /// γ at least, however it is tuned.
        gamma_low: f64 = 5.0, above(0.0);
        /// Weight of a new sample in the tuning of γ (ratio); 0 leaves it as it is.
        lambda: f64 = 0.25, at_least(0.0).at_most(1.0);
    }
}

impl Params {
    /// Refuses settings that contradict each other.
    fn check(&self) -> Result<(), SettingError> {
        if self.gamma_low > self.gamma {
            let message = format!("gamma_low: {} is above gamma, {}", self.gamma_low, self.gamma);
            return Err(SettingError::new(message));
        }
        Ok(())
    }
}

/// What tuning takes of Reno's packets in queues.
const TUNED_TO: f64 = 0.75;

/// The law's state.
#[derive(Clone, Debug)]
pub struct Compound {
    params: Params,
    /// The part of the window that follows the delay, in packets; the rest is Reno's.
    dwnd: f64,
    /// γ as it is tuned, in packets.
    gamma: f64,
    rtts: RoundRtts,
    /// The smallest RTT in seconds of a round that has just ended, until the window moves.
    ended: Option<f64>,
    /// How many of Reno's packets waited in queues in the last round, until a loss uses it.
    reno_queued: Option<f64>,
}

impl Compound {
    /// The law with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        Self {
            params,
            dwnd: 0.0,
            gamma: params.gamma,
            rtts: RoundRtts::new(),
            ended: None,
            reno_queued: None,
        }
    }

    /// How many of `packets` in flight wait in queues if a round trip takes `rtt` seconds.
    fn queued(&self, packets: f64, rtt: f64) -> f64 {
        packets * (1.0 - self.rtts.base / rtt)
    }

    /// dwnd after a round trip of `rtt` seconds at `window` packets.
    fn end_round(&mut self, window: f64, rtt: f64) {
        self.reno_queued = Some(self.queued(window - self.dwnd, rtt));
        let diff = self.queued(window, rtt);
        let Params { alpha, k, low_window, zeta, .. } = self.params;
        if diff >= self.gamma {
            self.dwnd = (self.dwnd - zeta * diff).max(0.0);
        } else if window >= low_window {
            self.dwnd += (alpha * pow(window, k) - 1.0).max(0.0);
        }
    }

    /// γ moves towards what waits of Reno's part, so that a queue too short for γ is noticed, too.
    fn tune(&mut self) {
        let Params { lambda, gamma, gamma_low, .. } = self.params;
        if let Some(queued) = self.reno_queued.take() {
            let sample = TUNED_TO * queued;
            self.gamma = (self.gamma + lambda * (sample - self.gamma)).clamp(gamma_low, gamma);
        }
    }

    /// Nothing is known of a round, and the window is Reno's.
    fn begin_anew(&mut self) {
        self.rtts.forget_round();
        (self.dwnd, self.ended, self.reno_queued) = (0.0, None, None);
    }
}

impl WindowLaw for Compound {
    /// baseRTT, and the smallest RTT of each round.
    fn observe(&mut self, ack: &Ack) {
        if let Some(round) = self.rtts.hear(ack) {
            self.ended = round.rtt;
        }
    }

    /// W ← W + n/W for n packets acknowledged, and by what dwnd has moved in a round
    /// (`tcp_compound_cong_avoid` in the module's net/ipv4/tcp_compound.c).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        if self.dwnd > window {
            // Somebody else has set the window below it.
            self.dwnd = 0.0;
        }
        let before = self.dwnd;
        if let Some(rtt) = self.ended.take() {
            self.end_round(window, rtt);
        }
        window + ack.packets * (1.0 / window).min(1.0) + self.dwnd - before
    }

    /// W ← (1 − β)W, both parts by the same share (`tcp_compound_ssthresh` in the module's
    /// net/ipv4/tcp_compound.c).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        self.tune();
        let kept = 1.0 - self.params.beta;
        self.dwnd = kept * self.dwnd.min(window);
        self.rtts.forget_round();
        self.ended = None;
        kept * window
    }

    /// Slow start is Reno's.
    fn forget(&mut self) {
        self.begin_anew();
    }

    /// baseRTT stays, γ is that of a new flow (the module).
    fn restart(&mut self, _idle: &Idle) {
        self.begin_anew();
        self.gamma = self.params.gamma;
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("dwnd", self.dwnd);
        show("gamma", self.gamma);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(dwnd: f64) -> Compound {
        let mut rtts = RoundRtts::new();
        rtts.base = 0.1;
        Compound { dwnd, rtts, ..Compound::new(Params::default()) }
    }

    #[test]
    fn it_grows_by_a_power_of_the_window_while_few_packets_wait() {
        // 1000^(3/4)/8 − 1 = 21.2283 packets; 125 ms are 200 packets that wait of 1000.
        let mut law = with(600.0);
        law.end_round(1000.0, 0.1);
        assert!((law.dwnd - 621.228).abs() < 1e-3, "{}", law.dwnd);
        let mut law = with(600.0);
        law.end_round(1000.0, 0.125);
        assert!((law.dwnd - 400.0).abs() < 1e-9, "{}", law.dwnd);
        // 38^(3/4)/8 − 1 = 0.9131 packets; smaller windows are Reno's.
        let mut law = with(0.0);
        law.end_round(37.9, 0.1);
        assert_eq!(law.dwnd, 0.0);
        law.end_round(38.0, 0.1);
        assert!((law.dwnd - 0.913_15).abs() < 1e-4, "{}", law.dwnd);
    }

    #[test]
    fn a_loss_halves_both_parts_and_tunes_gamma() {
        let mut law = with(600.0);
        // Of Reno's 400 packets a tenth waits: γ = ¾·30 + ¼·¾·40 = 30, at most; then of 200, with
        // 102 ms, 3.92: ¾·30 + ¼·¾·3.92 = 23.235.
        law.reno_queued = Some(40.0);
        assert_eq!((law.decrease(1000.0, Time::ZERO), law.dwnd, law.gamma), (500.0, 300.0, 30.0));
        law.end_round(500.0, 0.102);
        law.decrease(500.0, Time::ZERO);
        assert!((law.gamma - 23.235_294).abs() < 1e-6, "{}", law.gamma);
        // Nothing new is known at the next.
        let gamma = law.gamma;
        law.decrease(250.0, Time::ZERO);
        assert_eq!(law.gamma, gamma);
    }
}
