//! E-TCP without a constant for the buffer: ours, not the paper's. A loss takes one packet, however
//! large the window is.
//!
//! The paper's b has to be larger than the bottleneck's buffer (Gu, Towsley, Hollot, Zhang:
//! "Congestion Control for Small Buffer High Speed Networks", §III-A), which senders do not know.
//! Here it is the window's own, b = W/(2 + p0·W): the balance is the paper's, and the loop's gain
//! does not depend on window, RTT or buffer.
//!
//! | source | equation | here |
//! |---|---|---|
//! | eq. 8, b of W | W ← W + p0 + 2/W, for each packet acknowledged | [`EtcpUnit::on_ack`] |
//! | eq. 9, b of W | W ← W − 1, for each packet lost | [`EtcpUnit::on_loss`] |
//! | eq. 5 | W* = 2/(p − p0), the window in balance; p is per acknowledged packet | tests |
//!
//! Stable on one link: the loop's gain is g = i(W)·E, where i = p0 + 2/W is p/(1 − p) in balance,
//! with p per packet sent, and E ≤ (1 − p)/p of M/D/1/B, M/M/1/B and of a queue that stays full.
//! So g ≤ 1, and the loop is stable below π/2 (docs/theory.md). Start, signalling and pacing are
//! those of `etcp`.
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
    name: "etcp-unit",
    aliases: &[],
    summary: "etcp without a constant for the buffer: a loss takes one packet, whatever the window",
    source: "ours, after E-TCP, §III",
    moved_by: MovedBy::EachLoss,
    start: Start::UnlessAtThreshold,
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        Ok(Recipe::clones(EtcpUnit::new(params, birth.initial_window, birth.initial_ssthresh)))
    },
};

settings! {
    /// Settings of the law.
    pub struct Params {
        /// Loss rate above which the bottleneck is kept (ratio; §III-A).
        p0: f64 = 0.01, at_least(0.0).below(1.0);
        /// Packets that a loss takes, and the factor of what acknowledgements add: the loop's gain,
        /// stable below π/2 (packets).
        taken: f64 = 1.0, above(0.0).at_most(100.0);
    }
}

/// The law's state.
#[derive(Clone, Debug)]
pub struct EtcpUnit {
    params: Params,
    window: EtcpWindow,
}

impl EtcpUnit {
    /// The law with `params`, which have been checked; starts with `initial_window` packets, in
    /// congestion avoidance if that has already reached a threshold of `ssthresh` packets.
    pub fn new(params: Params, initial_window: f64, ssthresh: f64) -> Self {
        Self { params, window: EtcpWindow::new(initial_window, ssthresh, SlowStartEnd::Loss) }
    }
}

impl Controller for EtcpUnit {
    /// W ← W + n(p0 + 2/W) for n packets acknowledged (eq. 8, b of W); W + n in slow start (§V-A).
    fn on_ack(&mut self, ack: &Ack) {
        let Params { p0, taken } = self.params;
        self.window.on_ack(ack, |window, packets| taken * packets * (p0 + 2.0 / window));
    }

    /// W ← W − 1 for each packet lost (eq. 9, b of W), half at the end of slow start (§V-A).
    fn on_loss(&mut self, loss: &Loss) {
        let taken = self.params.taken;
        self.window.on_loss(loss, |_| taken);
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
    use crate::fixtures::{ack, loss};

    /// At W = 2/(p − p0), with p losses per acknowledged packet, 1/p acknowledgements add what one
    /// loss takes (eq. 5).
    #[test]
    fn the_equilibrium_is_the_papers() {
        for window in [10.0, 240.0, 12_020.0] {
            let p = 0.01 + 2.0 / window;
            let avoiding = || EtcpUnit::new(Params::default(), window, 1.0);
            let (mut up, mut down) = (avoiding(), avoiding());
            up.on_ack(&ack(0.0, 1.0));
            down.on_loss(&loss(3, 4));
            let (added, taken) = (up.window() - window, window - down.window());
            assert!((added / p - taken).abs() < 1e-9, "W = {window}: {added} for {taken}");
            assert_eq!(taken, 1.0);
        }
    }
}
