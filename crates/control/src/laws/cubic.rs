//! CUBIC (RFC 9438).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §4.2, fig. 1 | W_cubic(t) = C(t − K)³ + W_max | [`Cubic::w_cubic`] |
//! | §4.2, fig. 2 | K = ∛((W_max − cwnd_epoch)/C) | [`Cubic::begin_epoch`] |
//! | §4.2 | target = W_cubic(t + RTT), between cwnd and 1.5 cwnd | [`Cubic::target`] |
//! | §4.3, fig. 4 | W_est ← W_est + α·n/cwnd, α = 3(1−β)/(1+β), and 1 from cwnd_prior on | [`Cubic::grow_estimate`] |
//! | §4.4, §4.5 | cwnd ← cwnd + n(target − cwnd)/cwnd | [`Cubic::increase`] |
//! | §4.6 | ssthresh ← β·cwnd | [`Cubic::decrease`] |
//! | §4.7 | W_max ← cwnd(1 + β)/2, if cwnd < W_max | [`Cubic::decrease`] |
//! | §4.8 | after a timeout K = 0 and W_max is the window at which congestion avoidance begins | [`Cubic::timeout`] |
//!
//! Departures: §4.3 compares W_cubic(t) with W_est; we compare the target. §4.6 multiplies the
//! packets in flight; like Linux we multiply the window. `s_max` is not in the RFC: it is the bound
//! that Linux up to 2.6.22, and so ns-2, put on growth above W_max (BIC's S_max: 16 packets in 100
//! ms).

use crate::registry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, Idle, WindowLaw};
use narrows_settings::{Settings, settings};
use narrows_units::Time;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "cubic",
    aliases: &["TcpCubic"],
    summary: "the window is a cubic function of the time since the last loss, and at least Reno's",
    source: "RFC 9438",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::HyStart),
    settings: Params::list,
    construct: |birth| Ok(birth.once_per_epoch(Cubic::new(birth.settings()?))),
};

settings! {
    /// Settings of CUBIC.
    pub struct Params {
        /// Share of the window kept in an epoch (ratio; §4.6).
        beta: f64 = 0.7, above(0.0).below(1.0);
        /// Steepness in packets per second³ (§5.1).
        c: f64 = 0.4, above(0.0);
        /// Whether a flow whose peaks fall makes room for others (§4.7).
        fast_convergence: bool = true;
        /// Whether the window is at least that of a Reno flow (§4.3).
        friendly: bool = true;
        /// Largest number of packets gained per second above W_max; 160 in Linux 2.6.22.
        s_max: f64 = f64::INFINITY, above(0.0).or_infinite();
    }
}

impl Params {
    /// α = 3(1−β)/(1+β): the increase per round trip that gives a flow with factor β Reno's mean
    /// window (§4.3, fig. 4).
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}

/// The law's state; windows in packets, as in the RFC's §4.1.2.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: Params,
    /// The window before the last decrease, after fast convergence.
    w_max: f64,
    /// The window before the last decrease.
    cwnd_prior: f64,
    /// Seconds from the start of the epoch to W_max.
    k: f64,
    /// The window of a Reno flow.
    w_est: f64,
    /// When congestion avoidance began; `None` until the next acknowledgement begins it.
    epoch_start: Option<Time>,
}

impl Cubic {
    /// The law with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        Self { params, w_max: 0.0, cwnd_prior: 0.0, k: 0.0, w_est: 0.0, epoch_start: None }
    }

    /// W_cubic(t) = C(t − K)³ + W_max, t in seconds (§4.2, fig. 1).
    fn w_cubic(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        self.params.c * from_plateau * from_plateau * from_plateau + self.w_max
    }

    /// K = ∛((W_max − cwnd_epoch)/C) (§4.2, fig. 2). W_max is at least the window, so K is 0 if no
    /// earlier loss is known.
    fn begin_epoch(&mut self, window: f64, now: Time) -> Time {
        self.epoch_start = Some(now);
        self.w_est = window;
        self.w_max = self.w_max.max(window);
        // Not the system's cube root: its last bit differs from machine to machine, and every run
        // would differ with it.
        self.k = libm::cbrt((self.w_max - window) / self.params.c);
        now
    }

    /// W_cubic(t + RTT), between cwnd and 1.5 cwnd (§4.2); above W_max at most cwnd + S_max · RTT.
    fn target(&self, window: f64, t: f64, rtt: f64) -> f64 {
        let target = self.w_cubic(t + rtt).clamp(window, 1.5 * window);
        if t + rtt >= self.k { target.min(window + self.params.s_max * rtt) } else { target }
    }

    /// W_est ← W_est + α·n/cwnd (§4.3, fig. 4).
    fn grow_estimate(&mut self, window: f64, packets: f64) {
        let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { self.params.alpha() };
        self.w_est += alpha * packets / window;
    }
}

impl WindowLaw for Cubic {
    /// The Reno flow's window if the target is below it (§4.3), else cwnd + n(target − cwnd)/cwnd
    /// (§4.4, §4.5).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        let start = self.epoch_start.unwrap_or_else(|| self.begin_epoch(window, ack.now));
        let t = ack.now.since(start).seconds();
        let rtt = ack.rtt.map_or(0.0, |rtt| rtt.smoothed.seconds());
        self.grow_estimate(window, ack.packets);
        let target = self.target(window, t, rtt);
        // RFC 9438 §4.3 compares W_cubic(t); like Linux we compare the clamped target, the value
        // that would be used.
        if self.params.friendly && target < self.w_est {
            return self.w_est;
        }
        window + ack.packets * (target - window) / window
    }

    /// β·cwnd (§4.6), with fast convergence (§4.7).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        self.epoch_start = None;
        self.cwnd_prior = window;
        // In whole packets, as in Linux: a peak that is lower by a fraction of a packet is not a
        // sign of another flow.
        let makes_room = self.params.fast_convergence && window.floor() < self.w_max.floor();
        self.w_max = if makes_room { window * (1.0 + self.params.beta) / 2.0 } else { window };
        self.params.beta * window
    }

    /// β·cwnd, and W_max is forgotten (§4.8).
    fn timeout(&mut self, window: f64, now: Time) -> f64 {
        let ssthresh = self.decrease(window, now);
        self.w_max = 0.0;
        ssthresh
    }

    /// Time without data does not count (§5.8; `cubictcp_cwnd_event` in Linux's tcp_cubic.c).
    fn restart(&mut self, idle: &Idle) {
        if let Some(start) = &mut self.epoch_start {
            *start = (*start + idle.length).min(idle.now);
        }
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("w_max", self.w_max);
        show("w_est", self.w_est);
    }
}
