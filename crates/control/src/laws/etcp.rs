//! E-TCP, the window law (Gu, Towsley, Hollot, Zhang: "Congestion Control for Small Buffer High
//! Speed Networks", §III-A).
//!
//! | source | equation | here |
//! |---|---|---|
//! | eq. 8 | W ← W + 1/b, for each packet acknowledged | [`Etcp::on_ack`] |
//! | eq. 9 | W ← W − W/(b(2 + p0·W)), for each packet lost | [`Etcp::on_loss`] |
//! | eq. 5 | W* = 2/(p − p0), the window at which the two are in balance; p is per acknowledged packet | tests |
//! | §V-A | slow start: W ← W + 1 per ACK, W ← W/2 at the first loss, then hold | `EtcpStart` |
//! | §VIII-A | future work: a slow start that ends with the RTT's rise | `DelayStart` |
//! | §VII-B | an RTT that is over- or underestimated | [`Params::rtt_scale`] |
//! | §III-C | gaps between packets are exponential with mean RTT/W; the window limits nothing | [`Etcp::pacing`] |
//!
//! Departures: the paper does not say what to do if no acknowledgement arrives; here the window is
//! halved after a retransmission timeout. The window is never below one packet.

use crate::entry::{Birth, Entry, MovedBy, Recipe, Start};
use crate::parts::etcp_start::SlowStartEnd;
use crate::parts::etcp_window::EtcpWindow;
use crate::{Ack, Controller, Gaps, Loss, Pacing, Timeout};
use narrows_settings::{SettingError, Settings, settings};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "etcp",
    aliases: &["e-tcp"],
    summary: "drives the bottleneck to a small constant loss rate; answers each lost packet, paces \
              its packets, and never waits for a window",
    source: "Gu, Towsley, Hollot, Zhang, §III",
    moved_by: MovedBy::EachLoss,
    start: Start::UnlessAtThreshold,
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        params.check(birth)?;
        Ok(Recipe::clones(Etcp::new(params, birth.initial_window, birth.initial_ssthresh)))
    },
};

settings! {
    /// Settings of E-TCP.
    pub struct Params {
        /// Loss rate above which the bottleneck is kept (ratio; §III-A).
        p0: f64 = 0.01, at_least(0.0).below(1.0);
        /// Packets acknowledged per packet of window gained; larger than the bottleneck's buffer
        /// for stability (§III-A).
        b: f64 = 25.0, at_least(1.0);
        /// What ends slow start: the first loss (§V-A), or with large buffers the RTT's rise
        /// (§VIII-A).
        start: SlowStartEnd = SlowStartEnd::Loss;
        /// The RTT that the law goes by, as a multiple of the smoothed one: over- or
        /// underestimated, if it is not 1 (§VII-B).
        rtt_scale: f64 = 1.0, at_least(0.01).at_most(100.0);
    }
}

impl Params {
    /// Fails if a slow start is chosen that is never entered.
    pub(super) fn check(&self, birth: &Birth) -> Result<(), SettingError> {
        if self.start == SlowStartEnd::Delay && birth.initial_window >= birth.initial_ssthresh {
            let message = "start: has no effect, as the initial window has reached ssthresh; \
                           leave one of them out";
            return Err(SettingError::new(message));
        }
        Ok(())
    }
}

/// The window law's state.
#[derive(Clone, Debug)]
pub struct Etcp {
    params: Params,
    window: EtcpWindow,
}

impl Etcp {
    /// The law with `params`, which have been checked; starts with `initial_window` packets, in
    /// congestion avoidance if that has already reached a threshold of `ssthresh` packets.
    pub fn new(params: Params, initial_window: f64, ssthresh: f64) -> Self {
        Self { params, window: EtcpWindow::new(initial_window, ssthresh, params.start) }
    }
}

impl Controller for Etcp {
    /// W ← W + n/b for n packets acknowledged (§III-A, eq. 8); W + n in slow start (§V-A).
    fn on_ack(&mut self, ack: &Ack) {
        let b = self.params.b;
        self.window.on_ack(ack, |_, packets| packets / b);
    }

    /// W ← W − W/(b(2 + p0·W)) for each packet lost (§III-A, eq. 9), half at the end of slow start
    /// (§V-A).
    fn on_loss(&mut self, loss: &Loss) {
        let Params { p0, b, .. } = self.params;
        self.window.on_loss(loss, |window| window / (b * (2.0 + p0 * window)));
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

    /// Exponential gaps of mean RTT/W (§III-C); even ones of half that within a train.
    fn pacing(&self) -> Pacing {
        let gain = 1.0 / self.params.rtt_scale;
        if self.window.sends_train() {
            return Pacing::Window { gain: 2.0 * gain, gaps: Gaps::Even };
        }
        Pacing::Window { gain, gaps: Gaps::Exponential }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{ack, loss};

    fn avoiding(window: f64) -> Etcp {
        Etcp::new(Params::default(), window, 1.0)
    }

    #[test]
    fn slow_start_ends_with_half_and_a_pause_until_later_packets_are_answered() {
        let mut etcp = Etcp::new(Params::default(), 100.0, f64::INFINITY);
        etcp.on_loss(&loss(3, 200));
        etcp.on_loss(&loss(4, 201));
        etcp.on_ack(&Ack { newest: 199, ..ack(0.0, 1.0) });
        assert_eq!(etcp.window(), 50.0);
        etcp.on_ack(&Ack { newest: 200, ..ack(0.0, 1.0) });
        assert_eq!(etcp.window(), 50.04);
        etcp.on_loss(&loss(205, 300));
        assert!(etcp.window() < 50.0);
    }

    /// At W = 2/(p − p0) with p losses per acknowledged packet, what 1/p acknowledgements add is
    /// what one loss takes (eq. 5).
    #[test]
    fn the_equilibrium_is_the_papers() {
        for window in [10.0, 240.0, 12_020.0] {
            let p = 0.01 + 2.0 / window;
            let mut etcp = avoiding(window);
            etcp.on_loss(&loss(3, 4));
            let taken = window - etcp.window();
            assert!((taken * 25.0 * p - 1.0).abs() < 1e-9, "W = {window}: a loss takes {taken}");
        }
    }

    /// x = W/τ, with τ as the law takes it (§VII-B); a train leaves at twice that, with even gaps.
    #[test]
    fn the_rate_goes_by_the_rtt_that_the_law_is_told() {
        let params = Params { rtt_scale: 2.0, start: SlowStartEnd::Delay, ..Params::default() };
        let mut etcp = Etcp::new(params, 100.0, f64::INFINITY);
        let gaps = Gaps::Exponential;
        assert_eq!(etcp.pacing(), Pacing::Window { gain: 0.5, gaps });
        etcp.on_ack(&ack(0.0, 1.0));
        assert_eq!(etcp.pacing(), Pacing::Window { gain: 1.0, gaps: Gaps::Even });
        etcp.on_loss(&loss(3, 200));
        assert_eq!(etcp.pacing(), Pacing::Window { gain: 0.5, gaps });
    }

    #[test]
    fn a_start_that_is_never_entered_is_refused() {
        let given = narrows_settings::Given::parse(["start=delay"]).expect("name=value");
        let birth = Birth { given, initial_ssthresh: 10.0, ..Birth::default() };
        let error = LAW.read(&birth).err().expect("10 packets have reached the threshold");
        assert!(error.to_string().contains("ssthresh"), "{error}");
    }
}
