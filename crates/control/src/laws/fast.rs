//! FAST TCP (Jin, Wei, Low: "FAST TCP: motivation, architecture, algorithms, performance", INFOCOM
//! 2004, §IV).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §IV-B, eq. 6 | w ← min(2w, (1 − γ)w + γ(baseRTT/RTT·w + α)), once per round trip | [`Fast::update`] |
//! | §IV-A | RTT ← (1 − η)RTT + ηT with η = min(3/w, 1/4), T each sample; baseRTT the smallest | [`Fast::measure`] |
//! | CUBINlab's ns-2 module | w ← w + 1 for each packet acknowledged while RTT − baseRTT < mi_threshold | [`Fast::on_ack`] |
//! | §IV-C | w ← w/2 at a loss, once per recovery epoch | [`Fast::on_loss`] |
//!
//! α is the number of packets that a flow keeps in queues. The multiplicative increase is that of
//! the module that Gu and others used (E-TCP, §VI-A); mi_threshold is a queueing delay in seconds.

use crate::entry::{Entry, MovedBy, Recipe, Start};
use crate::{Ack, CongestionWindow, Controller, Idle, Loss, Mark, Rounds, Timeout};
use narrows_settings::{Settings, settings};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "fast",
    aliases: &[],
    summary: "keeps `alpha` packets in queues, estimated from the queueing delay",
    source: "Jin, Wei, Low, INFOCOM 2004",
    moved_by: MovedBy::Delay,
    start: Start::Own,
    settings: Params::list,
    construct: |birth| Ok(Recipe::clones(Fast::new(birth.settings()?, birth.initial_window))),
};

settings! {
    /// Settings of FAST.
    pub struct Params {
        /// Packets that a flow keeps in queues: 1000 in Gu and others, §VI-A; 200 for 1 Gbps in Jin
        /// and others.
        alpha: f64 = 1000.0, above(0.0).at_most(1e6);
        /// Share of the distance to its target that the window covers per round trip (ratio;
        /// §IV-B).
        gamma: f64 = 0.5, above(0.0).at_most(1.0);
        /// Queueing delay in seconds below which the window doubles each round trip (CUBINlab).
        mi_threshold: f64 = 0.00075, at_least(0.0);
    }
}

/// The law's state.
#[derive(Clone, Debug)]
pub struct Fast {
    params: Params,
    cwnd: CongestionWindow,
    /// The averaged RTT in seconds; `None` until there is a sample.
    average: Option<f64>,
    /// The smallest RTT in seconds.
    base: f64,
    rounds: Rounds,
}

impl Fast {
    /// The law with `params`, which have been checked; starts with `initial_window` packets.
    pub fn new(params: Params, initial_window: f64) -> Self {
        Self {
            params,
            cwnd: CongestionWindow::new(initial_window),
            average: None,
            base: f64::INFINITY,
            rounds: Rounds::default(),
        }
    }

    /// RTT ← (1 − η)RTT + ηT with η = min(3/w, 1/4) (§IV-A).
    fn measure(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt.filter(|_| ack.rtt_is_fresh) else { return };
        let latest = rtt.latest.seconds();
        // Of data packets: the connection's least RTT may be that of the SYN, which is shorter.
        self.base = self.base.min(latest);
        let weight = (3.0 / self.cwnd.window).min(0.25);
        self.average =
            Some(self.average.map_or(latest, |average| (1.0 - weight) * average + weight * latest));
    }

    /// w ← min(2w, (1 − γ)w + γ(baseRTT/RTT·w + α)) (§IV-B, eq. 6).
    fn update(&mut self, average: f64) {
        let Params { alpha, gamma, .. } = self.params;
        let w = self.cwnd.window;
        self.cwnd.window =
            (2.0 * w).min((1.0 - gamma) * w + gamma * (self.base / average * w + alpha)).max(1.0);
    }

    fn halve(&mut self) {
        self.cwnd.remember();
        self.cwnd.reduce((self.cwnd.window / 2.0).max(2.0));
    }
}

impl Controller for Fast {
    /// Up by one per packet acknowledged while queues are short (CUBINlab's module), else eq. 6
    /// once per round trip (§IV-B).
    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        let round_ends = self.rounds.ends_with(ack);
        let Some(average) = self.average.filter(|_| ack.window_limited && !ack.recovering) else {
            return;
        };
        if average - self.base < self.params.mi_threshold {
            self.cwnd.window += ack.packets;
        } else if round_ends {
            self.update(average);
        }
    }

    /// w ← w/2, once per recovery epoch (§IV-C).
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

    /// There is no threshold that an epoch could reduce.
    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.opens_epoch {
            self.cwnd.remember();
        }
        self.cwnd.timeout(timeout);
    }

    fn on_restart(&mut self, idle: &Idle) {
        self.cwnd.restart(idle);
    }

    fn on_unused(&mut self, used: f64) {
        self.cwnd.unused(used);
    }

    fn on_spurious(&mut self) {
        self.cwnd.undo();
    }

    fn window(&self) -> f64 {
        self.cwnd.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_goes_half_of_the_way_to_the_target_and_at_most_doubles() {
        let params = Params { alpha: 200.0, ..Params::default() };
        let mut fast = Fast { base: 0.1, ..Fast::new(params, 100.0) };
        // 0.5·100 + 0.5·(0.1/0.125·100 + 200) = 190.
        fast.update(0.125);
        assert!((fast.cwnd.window - 190.0).abs() < 1e-12, "{}", fast.cwnd.window);
        fast.cwnd.window = 10.0;
        fast.update(0.125);
        assert_eq!(fast.cwnd.window, 20.0);
    }

    /// In equilibrium a flow keeps α packets in queues: w(1 − baseRTT/RTT) = α.
    #[test]
    fn the_equilibrium_is_alpha_packets_in_queues() {
        let mut fast = Fast { base: 0.1, ..Fast::new(Params::default(), 5000.0) };
        fast.update(0.125);
        assert!((fast.cwnd.window - 5000.0).abs() < 1e-9, "{}", fast.cwnd.window);
    }
}
