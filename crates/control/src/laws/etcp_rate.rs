//! E-TCP, the rate law (Gu, Towsley, Hollot, Zhang: "Congestion Control for Small Buffer High Speed
//! Networks", §VII-A).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §VII-A | x ← x + 1/(bτ), for each packet acknowledged | [`EtcpRate::on_ack`] |
//! | §VII-A | x ← x − x/(bτ(2 + p0·x)), for each packet lost | [`EtcpRate::slow_down`] |
//! | eq. 11 | x* = 2/(p − p0) packets per second, the rate at which the two are in balance, whatever the RTT | tests |
//! | §V-A | slow start: x ← x + 1/τ per ACK, x ← x/2 at the first loss, then hold | `EtcpStart` |
//! | §VIII-A | future work: a slow start that ends with the RTT's rise | `DelayStart` |
//! | §VII-B | an RTT that is over- or underestimated | [`Params::rtt_scale`] |
//!
//! x is in packets per second, and τ is the smoothed RTT. Departures: if bτ(2 + p0·x) < 1 the
//! decrease would exceed the rate itself, so the rate is never below one packet per round trip. A
//! retransmission timeout halves the rate, as in the window law.

use super::etcp::Params;
use crate::entry::{Entry, MovedBy, Recipe, Start};
use crate::parts::etcp_start::{Answer, EtcpStart, Growth};
use crate::{Ack, Controller, Gaps, Loss, Pacing, Timeout};
use narrows_settings::Settings;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "etcp-rate",
    aliases: &["e-tcp-rate"],
    summary: "like etcp, but moves a rate instead of a window, so that flows of any RTT get the \
              same rate",
    source: "Gu, Towsley, Hollot, Zhang, §VII",
    moved_by: MovedBy::EachLoss,
    start: Start::UnlessAtThreshold,
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        params.check(birth)?;
        let etcp = EtcpRate::new(params, birth.initial_window);
        Ok(Recipe::clones(etcp.with_ssthresh(birth.initial_ssthresh)))
    },
};

/// The rate law's state.
#[derive(Clone, Debug)]
pub struct EtcpRate {
    params: Params,
    /// Packets per second; `None` until there is an RTT.
    rate: Option<f64>,
    /// The smoothed RTT in seconds, as of the last acknowledgement.
    rtt: f64,
    /// Packets.
    initial_window: f64,
    start: EtcpStart,
}

impl EtcpRate {
    /// The law with `params`, which have been checked; starts with `initial_window` packets per
    /// round trip.
    pub fn new(params: Params, initial_window: f64) -> Self {
        let start = EtcpStart::until(params.start);
        Self { params, rate: None, rtt: 1.0, initial_window, start }
    }

    /// Starts in congestion avoidance if the initial window has already reached a threshold of
    /// `ssthresh` packets.
    pub fn with_ssthresh(mut self, ssthresh: f64) -> Self {
        if self.initial_window >= ssthresh {
            self.start = EtcpStart::CongestionAvoidance;
        }
        self
    }

    /// x ← x − x/(bτ(2 + p0·x)) for each packet lost (§VII-A).
    fn slow_down(&mut self) {
        let Params { p0, b, rtt_scale, .. } = self.params;
        let rtt = rtt_scale * self.rtt;
        self.change(|x| x - x / (b * rtt * (2.0 + p0 * x)));
    }

    fn change(&mut self, to: impl Fn(f64) -> f64) {
        let least = 1.0 / self.rtt;
        if let Some(rate) = &mut self.rate {
            *rate = to(*rate).max(least);
        }
    }
}

impl Controller for EtcpRate {
    /// x ← x + n/(bτ) for n packets acknowledged (§VII-A); x + n/τ in slow start (§V-A).
    fn on_ack(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        self.rtt = rtt.smoothed.seconds();
        let Params { b, rtt_scale, .. } = self.params;
        let scaled = rtt_scale * self.rtt;
        let rate = self.rate.get_or_insert(self.initial_window / scaled);
        match self.start.growth(ack, *rate * self.rtt) {
            Growth::SlowStart => *rate += ack.packets / scaled,
            Growth::Times(times) => *rate *= times,
            Growth::Nothing => {}
            Growth::Law => *rate += ack.packets / (b * scaled),
        }
    }

    /// Half at the first loss, nothing for those that follow slow start (§V-A), then §VII-A's
    /// decrease for each.
    fn on_loss(&mut self, loss: &Loss) {
        match self.start.answer(loss) {
            Answer::Halve => self.change(|x| x / 2.0),
            Answer::Nothing => {}
            Answer::SlowDown => self.slow_down(),
        }
    }

    /// Half, once per epoch. What is still in flight does not matter: nothing waits for a window.
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.start = EtcpStart::CongestionAvoidance;
        if timeout.opens_epoch {
            self.change(|x| x / 2.0);
        }
    }

    /// The rate times the RTT.
    fn window(&self) -> f64 {
        self.rate.map_or(self.initial_window, |rate| (rate * self.rtt).max(1.0))
    }

    fn flight_limit(&self) -> f64 {
        f64::INFINITY
    }

    /// The rate, with exponential gaps (§III-C); twice the rate, with even ones, within a train;
    /// until there is an RTT the initial window leaves at once.
    fn pacing(&self) -> Pacing {
        match self.rate {
            Some(rate) if self.start.sends_train() => {
                Pacing::Rate { packets_per_second: 2.0 * rate, gaps: Gaps::Even }
            }
            Some(packets_per_second) => {
                Pacing::Rate { packets_per_second, gaps: Gaps::Exponential }
            }
            None => Pacing::Unpaced,
        }
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("rate", self.rate.unwrap_or(f64::NAN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ack;

    /// At x = 2/(p − p0) what 1/p acknowledgements add is what one loss takes, at any RTT (eq. 11).
    #[test]
    fn the_equilibrium_is_the_papers() {
        for x in [1000.0, 120_200.0] {
            let p = 0.01 + 2.0 / x;
            let mut law = EtcpRate::new(Params::default(), 2.0).with_ssthresh(1.0);
            law.on_ack(&Ack { window_limited: false, ..ack(0.0, 1.0) });
            law.rate = Some(x);
            law.slow_down();
            let taken = x - law.rate.unwrap();
            assert!((taken * 25.0 * 0.1 * p - 1.0).abs() < 1e-9, "x = {x}: a loss takes {taken}");
        }
    }
}
