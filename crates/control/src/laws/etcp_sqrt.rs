//! The law that E-TCP's authors name beside their own and do not take (Gu, Towsley, Hollot, Zhang:
//! "Congestion Control for Small Buffer High Speed Networks", §III-A): TCP's, kept above a loss
//! rate of p0.
//!
//! | source | equation | here |
//! |---|---|---|
//! | §III-A | W* = √(2/(p − p0)), the window in balance; p is per acknowledged packet | tests |
//! | eq. 7 for this W* | i(W)/d(W) = p = p0 + 2/W² | tests |
//! | §II | W ← W + 1/W, for each packet acknowledged, as TCP | [`EtcpSqrt::on_ack`] |
//! | eq. 7 | W ← W − W/(2 + p0·W²), for each packet lost | [`EtcpSqrt::on_loss`] |
//!
//! "One option … is to have it behave similar to current TCP": the paper gives W* only, and i(W)
//! and d(W) here are those which do so: without p0 a loss takes W/2. Signalling, start and pacing
//! are as with `etcp`.
//!
//! Departures: silence for a retransmission timeout halves the window, which is never below one
//! packet.

use crate::entry::{Entry, MovedBy, Recipe, Start};
use crate::parts::etcp_start::SlowStartEnd;
use crate::parts::etcp_window::EtcpWindow;
use crate::{Ack, Controller, Gaps, Loss, Pacing, Timeout};
use narrows_settings::{Settings, settings};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "etcp-sqrt",
    aliases: &["e-tcp-sqrt"],
    summary: "the law that E-TCP's authors name and do not take: TCP's, kept above a small \
              constant loss rate",
    source: "Gu, Towsley, Hollot, Zhang, §III-A",
    moved_by: MovedBy::EachLoss,
    start: Start::UnlessAtThreshold,
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        Ok(Recipe::clones(EtcpSqrt::new(params, birth.initial_window, birth.initial_ssthresh)))
    },
};

settings! {
    /// Settings of the law.
    pub struct Params {
        /// Loss rate above which the bottleneck is kept (ratio; §III-A).
        p0: f64 = 0.01, at_least(0.0).below(1.0);
    }
}

/// The law's state.
#[derive(Clone, Debug)]
pub struct EtcpSqrt {
    params: Params,
    window: EtcpWindow,
}

impl EtcpSqrt {
    /// The law with `params`, which have been checked; starts with `initial_window` packets, in
    /// congestion avoidance if that has already reached a threshold of `ssthresh` packets.
    pub fn new(params: Params, initial_window: f64, ssthresh: f64) -> Self {
        Self { params, window: EtcpWindow::new(initial_window, ssthresh, SlowStartEnd::Loss) }
    }
}

impl Controller for EtcpSqrt {
    /// W ← W + n/W for n packets acknowledged (§II); W + n in slow start (§V-A).
    fn on_ack(&mut self, ack: &Ack) {
        self.window.on_ack(ack, |window, packets| packets / window);
    }

    /// W ← W − W/(2 + p0·W²) for each packet lost (eq. 7 with i(W) = 1/W), half at the end of slow
    /// start (§V-A).
    fn on_loss(&mut self, loss: &Loss) {
        let p0 = self.params.p0;
        self.window.on_loss(loss, |window| window / (2.0 + p0 * window * window));
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.window.on_timeout(timeout);
    }

    fn window(&self) -> f64 {
        self.window.packets()
    }

    fn flight_limit(&self) -> f64 {
        f64::INFINITY
    }

    /// Exponential gaps of mean RTT/W (§III-C).
    fn pacing(&self) -> Pacing {
        Pacing::Window { gain: 1.0, gaps: Gaps::Exponential }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::loss;

    /// At W = √(2/(p − p0)), with p losses per acknowledged packet, 1/p acknowledgements add what
    /// one loss takes (§III-A).
    #[test]
    fn the_equilibrium_is_the_papers() {
        for p in [0.03, 0.0102, 0.010_000_02] {
            let window = (2.0_f64 / (p - 0.01)).sqrt();
            let mut etcp = EtcpSqrt::new(Params::default(), window, 1.0);
            etcp.on_loss(&loss(3, 4));
            let taken = window - etcp.window();
            assert!((taken * window * p - 1.0).abs() < 1e-9, "p = {p}: a loss takes {taken}");
        }
    }
}
