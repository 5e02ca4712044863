//! CUBIC (RFC 9438), as Linux has it (net/ipv4/tcp_cubic.c) unless the settings say otherwise.
//!
//! | source | equation | here |
//! |---|---|---|
//! | §4.2, fig. 1 | W_cubic(t) = C(t − K)³ + W_max | [`Cubic::w_cubic`] |
//! | §4.2, fig. 2 | K = ∛((W_max − cwnd_epoch)/C) | [`Cubic::begin_epoch`] |
//! | §4.2 | target = W_cubic(t + RTT), between cwnd and 1.5 cwnd | [`Cubic::target`] |
//! | §4.2 | t leaves out the time in which the application was the limit | [`Cubic::observe`] |
//! | §4.3, fig. 4 | W_est ← W_est + α·n/cwnd, α = 3(1−β)/(1+β), and 1 from cwnd_prior on | [`Cubic::grow_estimate`] |
//! | Linux, `bictcp_update` | W_est ← W_est + n/⌊s·cwnd/8⌋, s = ⌊⌊8(1+β)/3⌋/(1−β)⌋ in 1024ths: α is 0.53 for good | [`Params::packets_per_step`] |
//! | Linux, `bictcp_update` | while no loss is known, 5 % more per round trip at least | [`Cubic::target`] |
//! | Linux, `bictcp_update` | cwnd, W_est and the target are whole packets, the target rounded towards W_max | [`Cubic::whole_target`] |
//! | Linux, `bictcp_update` | one packet more per cnt = ⌊cwnd/(target − cwnd)⌋ packets acknowledged, at least 2; 100 cwnd at the target | [`Cubic::packets_per_growth`] |
//! | Linux, `tcp_cong_avoid_ai` | the packets acknowledged towards the next step are kept | [`Credits::step`] |
//! | §4.4, §4.5 | cwnd ← cwnd + n(target − cwnd)/cwnd | [`Cubic::increase`] |
//! | §4.6 | ssthresh ← β·cwnd | [`Cubic::decrease`] |
//! | §4.7 | W_max ← cwnd(1 + β)/2, if cwnd < W_max | [`Cubic::decrease`] |
//! | RFC 8511 §3 | ssthresh ← beta_ecn·cwnd after a mark, if asked for; W_max as after a loss | [`Abe`] |
//! | §4.8 | after a timeout K = 0 and W_max is the window at which congestion avoidance begins | [`Cubic::forget`] |
//!
//! `cubic:friendly=rfc:unknown_growth=0:ahead=smoothed:whole=false` is the RFC's law. `s_max` is in
//! neither: it is the bound that Linux up to 2.6.22, and so ns-2, put on growth above W_max (BIC's
//! S_max: 16 packets in 100 ms).
//!
//! Departures from the RFC: §4.3 compares W_cubic(t) with W_est; like Linux we compare the target.
//! §4.6 multiplies the packets in flight; like Linux we multiply the window.
//!
//! Departures from Linux: C is 0.4, not 410/1024; K is the cube root, there 0.2 % off. The time is
//! exact; there it counts ticks of the clock, and the target is computed anew at most once per
//! tick. The least RTT is that of the connection; there samples within a second of the start of an
//! epoch do not count, and a timeout begins anew. An undone epoch gives back W_max and t (§4.9);
//! there it does not, and after a timeout they are forgotten for good. t leaves out all time in
//! which the application was the limit; there only silence with nothing in flight.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Abe, Ack, Idle, WindowLaw};
use narrows_settings::{Given, Settings, choice, settings};
use narrows_units::{Duration, Time};
use std::sync::Arc;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "cubic",
    aliases: &["TcpCubic"],
    summary: "the window is a cubic function of the time since the last loss, and at least Reno's",
    source: "RFC 9438; Linux, net/ipv4/tcp_cubic.c",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::HyStart),
    settings: Params::list,
    construct: |birth| {
        let mut params: Params = birth.settings()?;
        if !birth.as_linux {
            params.take_the_rfcs(&birth.given);
        }
        Ok(birth.once_per_epoch(Abe::new(Cubic::new(params), params.beta_ecn)))
    },
};

settings! {
    /// Settings of CUBIC.
    pub struct Params {
        /// Share of the window kept in an epoch (ratio; §4.6).
        beta: f64 = 0.7, above(0.0).below(1.0);
        /// Share of the window kept after a mark (ratio); RFC 8511 §3.1 has 0.85.
        beta_ecn: Option<f64> = None => "beta, as after a loss", above(0.0).below(1.0);
        /// Steepness in packets per second³ (§5.1).
        c: f64 = 0.4, above(0.0);
        /// Whether a flow whose peaks fall makes room for others (§4.7).
        fast_convergence: bool = true;
        /// The Reno flow whose window is the least (§4.3): that of `linux` gains 0.53 packets per
        /// round trip for good, that of `rfc` 1 packet once it has passed the window before the
        /// loss; `off` is for none.
        friendly: Friendly = Friendly::Linux;
        /// Least growth per round trip while no loss is known (share of the window; Linux; the RFC
        /// has none).
        unknown_growth: f64 = 0.05, at_least(0.0).at_most(0.5);
        /// The RTT by which the target is ahead of the present (§4.2): the `least`, as in Linux, or
        /// the `smoothed` one of the RFC.
        ahead: Ahead = Ahead::Least;
        /// Whether window, W_max, W_est and target are whole packets, as in Linux.
        whole: bool = true;
        /// Largest number of packets gained per second above W_max; 160 in Linux 2.6.22.
        s_max: f64 = f64::INFINITY, above(0.0).or_infinite();
    }
}

choice! {
    /// The Reno flow whose window is the least.
    pub enum Friendly("choice among linux, rfc and off") {
        /// α = 3(1−β)/(1+β) for good, in whole packets (`bictcp_update`, `tcp_friendliness`).
        Linux = "linux",
        /// The same α, and 1 from cwnd_prior on (§4.3).
        Rfc = "rfc",
        /// None: only the cubic function counts.
        Off = "off",
    }
}

choice! {
    /// How far the target is ahead of the present.
    pub enum Ahead("choice among least and smoothed") {
        /// The least RTT (`delay_min` in Linux).
        Least = "least",
        /// The smoothed RTT (§4.2).
        Smoothed = "smoothed",
    }
}

/// The denominator of Linux's β (`BICTCP_BETA_SCALE`).
const BETA_SCALE: f64 = 1024.0;

impl Params {
    /// Settings that are not `given` are the RFC's where Linux differs.
    fn take_the_rfcs(&mut self, given: &Given) {
        let is_given = |name| given.pairs().any(|(known, _)| known == name);
        if !is_given("friendly") {
            self.friendly = Friendly::Rfc;
        }
        if !is_given("unknown_growth") {
            self.unknown_growth = 0.0;
        }
        if !is_given("ahead") {
            self.ahead = Ahead::Smoothed;
        }
        if !is_given("whole") {
            self.whole = false;
        }
    }

    /// β in 1024ths, less than all.
    fn beta_in_1024ths(&self) -> f64 {
        (self.beta * BETA_SCALE).round().min(BETA_SCALE - 1.0)
    }

    /// The share of `window` that a loss leaves (§4.6), and W_max if there is to be room for others
    /// (§4.7); in whole packets as `cubictcp_recalc_ssthresh` has them, or not.
    fn after_a_loss(&self, window: f64) -> (f64, f64) {
        if !self.whole {
            return (self.beta * window, window * (1.0 + self.beta) / 2.0);
        }
        let beta = self.beta_in_1024ths();
        let kept = (window * beta / BETA_SCALE).floor();
        (kept, (window * (BETA_SCALE + beta) / (2.0 * BETA_SCALE)).floor())
    }

    /// Packets acknowledged per packet that Linux's Reno flow gains at `window`: about cwnd/α, in
    /// whole numbers (`delta` and `beta_scale` in `bictcp_update` and `cubictcp_register`).
    fn packets_per_step(&self, window: f64) -> f64 {
        let beta = self.beta_in_1024ths();
        let scale = ((8.0 * (BETA_SCALE + beta) / 3.0).floor() / (BETA_SCALE - beta)).floor();
        (window.floor() * scale / 8.0).floor().max(1.0)
    }

    /// α = 3(1−β)/(1+β): the increase per round trip that gives a flow with factor β Reno's mean
    /// window (§4.3, fig. 4).
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}

/// The law's state; windows in packets, as in the RFC's §4.1.2.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Shared by the flows that were made together.
    params: Arc<Params>,
    /// The window before the last decrease, after fast convergence; 0 if no loss is known.
    w_max: f64,
    /// The plateau of this epoch's cubic function: W_max, or the window at its start if that is
    /// larger.
    origin: f64,
    /// The window before the last decrease.
    cwnd_prior: f64,
    /// Seconds from the start of the epoch to W_max.
    k: f64,
    /// The window of a Reno flow.
    w_est: f64,
    /// What counts towards the next whole packet of the window, and of W_est.
    credits: Credits,
    /// When congestion avoidance began; `None` until the next acknowledgement begins it.
    epoch_start: Option<Time>,
    /// Until when it is known whether the application was the limit; `None` at first.
    seen: Option<Time>,
}

impl Cubic {
    /// The law with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        let (w_max, origin, cwnd_prior, k, w_est) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let params = Arc::new(params);
        let credits = Credits::default();
        Self { params, w_max, origin, cwnd_prior, k, w_est, credits, epoch_start: None, seen: None }
    }

    /// W_cubic(t) = C(t − K)³ + W_max, t in seconds (§4.2, fig. 1).
    fn w_cubic(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        self.params.c * from_plateau * from_plateau * from_plateau + self.origin
    }

    /// K = ∛((W_max − cwnd_epoch)/C) (§4.2, fig. 2); 0 if the window is W_max or above it.
    fn begin_epoch(&mut self, window: f64, now: Time) -> Time {
        self.epoch_start = Some(now);
        self.w_est = window;
        self.origin = self.w_max.max(window);
        // Not the system's cube root: its last bit differs from machine to machine, and every run
        // would differ with it.
        self.k = libm::cbrt((self.origin - window) / self.params.c);
        now
    }

    /// W_cubic(t + RTT), between cwnd and 1.5 cwnd (§4.2; at most a packet per two acknowledged in
    /// Linux, too); above W_max at most cwnd + S_max · RTT. While no loss is known, growth is at
    /// least `unknown_growth` (Linux).
    fn target(&self, window: f64, t: f64, rtt: f64) -> f64 {
        let target = self.w_cubic(t + rtt).clamp(window, 1.5 * window);
        let above = t + rtt >= self.k;
        let target = if above { target.min(window + self.params.s_max * rtt) } else { target };
        if self.w_max == 0.0 {
            target.max(window * (1.0 + self.params.unknown_growth))
        } else {
            target
        }
    }

    /// W_est ← W_est + α·n/cwnd (§4.3, fig. 4), or Linux's.
    fn grow_estimate(&mut self, window: f64, packets: f64) {
        self.w_est += match self.params.friendly {
            Friendly::Linux => packets / self.params.packets_per_step(window),
            Friendly::Rfc if self.w_est >= self.cwnd_prior => packets / window,
            Friendly::Rfc | Friendly::Off => self.params.alpha() * packets / window,
        };
    }
}

/// How a window of whole packets grows between two of them (Linux, `struct bictcp` and
/// `snd_cwnd_cnt`).
#[derive(Clone, Debug, Default)]
struct Credits {
    /// Packets acknowledged since the window grew last (`snd_cwnd_cnt`).
    of_window: f64,
    /// Packets acknowledged since W_est grew last (`ack_cnt`).
    of_estimate: f64,
    /// Packets acknowledged per packet of growth (`cnt`).
    per_growth: f64,
    /// The window for which that was computed (`last_cwnd`), and when (`last_time`).
    computed: Option<(f64, Time)>,
}

/// For a window that has not moved `cnt` is computed anew after this time (HZ/32).
const COMPUTED_LASTS: Duration = Duration::from_micros(31_250);

impl Credits {
    /// By how many whole packets the window grows for `packets` acknowledged; credits of a time
    /// with a larger `cnt` count once (`tcp_cong_avoid_ai`).
    fn step(&mut self, packets: f64) -> f64 {
        let mut grown = 0.0;
        if self.of_window >= self.per_growth {
            self.of_window = 0.0;
            grown = 1.0;
        }
        self.of_window += packets;
        let steps = (self.of_window / self.per_growth).floor();
        self.of_window -= steps * self.per_growth;
        grown + steps
    }
}

impl Cubic {
    /// The target in whole packets, rounded towards W_max (`bic_target`).
    fn whole_target(&self, t: f64) -> f64 {
        let offset = (t - self.k).abs();
        let delta = (self.params.c * offset * offset * offset).floor();
        if t < self.k { self.origin - delta } else { self.origin + delta }
    }

    /// Packets acknowledged per packet of growth at `window` (`cnt`), `t` seconds into the epoch.
    fn packets_per_growth(&self, window: f64, t: f64, rtt: f64) -> f64 {
        let per_step = |target: f64| {
            if target > window { (window / (target - window)).floor() } else { 100.0 * window }
        };
        let mut count = per_step(self.whole_target(t + rtt));
        if t + rtt >= self.k {
            // s_max · RTT packets in a round trip of `window` packets.
            count = count.max((window / (self.params.s_max * rtt)).floor());
        }
        if self.w_max == 0.0 && self.params.unknown_growth > 0.0 {
            count = count.min(1.0 / self.params.unknown_growth);
        }
        count
    }

    /// The whole window after `ack` (`bictcp_update` and `tcp_cong_avoid_ai`).
    fn grow_by_whole_packets(&mut self, window: f64, ack: &Ack, rtt: f64) -> f64 {
        let whole = window.floor();
        self.credits.of_estimate += ack.packets;
        let lasts = |(of, at): (f64, Time)| of == whole && ack.now.since(at) <= COMPUTED_LASTS;
        if self.epoch_start.is_none() || !self.credits.computed.is_some_and(lasts) {
            self.credits.computed = Some((whole, ack.now));
            let start = self.epoch_start.unwrap_or_else(|| {
                self.credits.of_estimate = ack.packets;
                self.begin_epoch(whole, ack.now)
            });
            let mut count = self.packets_per_growth(whole, ack.now.since(start).seconds(), rtt);
            self.grow_whole_estimate(whole);
            if self.params.friendly != Friendly::Off && self.w_est > whole {
                count = count.min((whole / (self.w_est.floor() - whole)).floor());
            }
            self.credits.per_growth = count.max(2.0);
        }
        window + self.credits.step(ack.packets)
    }

    /// W_est ← W_est + 1 for each `packets_per_step` acknowledged (`tcp_cwnd`), or the RFC's.
    fn grow_whole_estimate(&mut self, window: f64) {
        if self.params.friendly != Friendly::Linux {
            let packets = std::mem::take(&mut self.credits.of_estimate);
            return self.grow_estimate(window, packets);
        }
        let step = self.params.packets_per_step(window);
        while self.credits.of_estimate > step {
            self.credits.of_estimate -= step;
            self.w_est += 1.0;
        }
    }
}

impl WindowLaw for Cubic {
    /// Moves the start of the epoch by the time in which the application was the limit (§4.2).
    fn observe(&mut self, ack: &Ack) {
        let seen = self.seen.replace(ack.now);
        if let (Some(start), Some(seen)) = (&mut self.epoch_start, seen)
            && !ack.window_limited
            && !ack.recovering
        {
            *start += ack.now.since(seen);
        }
    }

    /// cwnd + n(target − cwnd)/cwnd (§4.4, §4.5), or the Reno flow's window if that is larger
    /// (§4.3).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        let rtt = ack.rtt.map_or(0.0, |rtt| match self.params.ahead {
            Ahead::Least => rtt.minimum.seconds(),
            Ahead::Smoothed => rtt.smoothed.seconds(),
        });
        if self.params.whole {
            return self.grow_by_whole_packets(window, ack, rtt);
        }
        let start = self.epoch_start.unwrap_or_else(|| self.begin_epoch(window, ack.now));
        let t = ack.now.since(start).seconds();
        self.grow_estimate(window, ack.packets);
        let target = self.target(window, t, rtt);
        let grown = window + ack.packets * (target - window) / window;
        match self.params.friendly {
            // Towards W_est within a round trip, and at most a packet per two acknowledged. The
            // first packet comes at once: Linux has counted the acknowledgements for it.
            Friendly::Linux => {
                let most = (self.w_est - window).max(1.0).min(0.5 * window);
                grown.max(self.w_est.min(window + ack.packets * most / window))
            }
            // RFC 9438 §4.3 compares W_cubic(t); like Linux we compare the clamped target, the
            // value that would be used.
            Friendly::Rfc if target < self.w_est => self.w_est,
            Friendly::Rfc | Friendly::Off => grown,
        }
    }

    /// β·cwnd (§4.6), with fast convergence (§4.7).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        self.epoch_start = None;
        self.credits = Credits::default();
        self.cwnd_prior = window;
        let window = if self.params.whole { window.floor() } else { window };
        let makes_room = self.params.fast_convergence && window < self.w_max;
        let (kept, room) = self.params.after_a_loss(window);
        self.w_max = if makes_room { room } else { window };
        self.origin = self.w_max;
        kept
    }

    /// The cubic function begins anew at the window that was set.
    fn moved(&mut self) {
        self.epoch_start = None;
    }

    /// W_max is forgotten (§4.8; `bictcp_reset` in Linux).
    fn forget(&mut self) {
        self.epoch_start = None;
        self.credits = Credits::default();
        self.w_max = 0.0;
        self.origin = 0.0;
    }

    /// Time without data does not count (§5.8; `cubictcp_cwnd_event` in Linux's tcp_cubic.c).
    fn restart(&mut self, idle: &Idle) {
        if let Some(start) = &mut self.epoch_start {
            *start = (*start + idle.length).min(idle.now);
        }
        self.seen = Some(idle.now);
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("w_max", self.origin);
        show("w_est", self.w_est);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ack;
    use crate::{Controller, Loss, OncePerEpoch, SlowStart};
    use narrows_units::Duration;

    /// A flow that has lost at 150 packets and grows for three seconds; then the application is the
    /// limit for `rounds` rounds of 100 ms, answered one by one; then it grows for six rounds.
    /// Returns the window at the end of the pause and after each round.
    fn after_a_pause_of(rounds: u64) -> (f64, Vec<f64>) {
        let cubic = Cubic::new(Params::default());
        let mut flow = OncePerEpoch::new(SlowStart::Standard, cubic, 150.0).with_ssthresh(2.0);
        let (now, round) = (Time::ZERO, Duration::from_millis(100));
        let (opens_epoch, in_flight, rtt, rate) = (true, 150.0, None, None);
        flow.on_loss(&Loss {
            now,
            transmission: 0,
            next: 1,
            opens_epoch,
            again: false,
            in_flight,
            rtt,
            rate,
        });
        let mut at = now;
        let mut play = |flow: &mut OncePerEpoch<Cubic>, limited: bool, rounds: u64| {
            for _ in 0..rounds {
                at += round;
                let packets = flow.window().floor();
                flow.on_ack(&Ack { now: at, window_limited: limited, ..ack(0.0, packets) });
            }
            flow.window()
        };
        play(&mut flow, true, 30);
        let before = play(&mut flow, false, rounds);
        (before, (0..6).map(|_| play(&mut flow, true, 1)).collect())
    }

    /// RFC 9438 §4.2: t must not include the time in which the application was the limit.
    #[test]
    fn time_without_data_is_not_counted() {
        let (before, without) = after_a_pause_of(0);
        let (then, with) = after_a_pause_of(200);
        assert_eq!(before, then);
        for (with, without) in with.iter().zip(&without) {
            assert!((with / without - 1.0).abs() < 1e-9, "{with} is not {without}");
        }
        assert!(with[5] < 1.05 * then, "{then} became {} in six rounds", with[5]);
    }

    /// `beta_scale` is 15 for 717/1024, and 23 for the 819/1024 of Linux 2.6.22.
    #[test]
    fn linux_counts_in_whole_packets() {
        let steps = |beta: f64| {
            let params = Params { beta, ..Params::default() };
            [2.0, 10.9, 100.0].map(|window| params.packets_per_step(window))
        };
        assert_eq!(steps(0.7), [3.0, 18.0, 187.0]);
        assert_eq!(steps(819.0 / 1024.0), [5.0, 28.0, 287.0]);
    }

    /// RFC 9438 §4.7 compares cwnd with W_max, Linux their whole packets.
    #[test]
    fn a_peak_that_is_lower_by_a_fraction_makes_room_in_the_rfcs_law_only() {
        let w_max = |whole: bool| {
            let mut cubic = Cubic::new(Params { whole, ..Params::default() });
            for window in [100.9, 100.5] {
                cubic.decrease(window, Time::ZERO);
            }
            cubic.w_max
        };
        assert!((w_max(false) - 100.5 * 0.85).abs() < 1e-9);
        assert_eq!(w_max(true), 100.0);
    }

    /// With C(K − t)³ < 1 the target is W_max: the window is there 1.36 s before K.
    #[test]
    fn whole_packets_reach_the_plateau_early() {
        let mut cubic = Cubic::new(Params { friendly: Friendly::Off, ..Params::default() });
        cubic.decrease(200.0, Time::ZERO);
        let (mut window, mut at) = (140.0, Time::ZERO);
        let round = Duration::from_millis(40);
        while window < 200.0 {
            at += round;
            for _ in 0..window as u64 {
                window = cubic.increase(window, &Ack { now: at, ..ack(0.0, 1.0) });
            }
        }
        // K = ∛(60/0.4) = 5.31 s, and (1/0.4)^(1/3) = 1.36 s; a packet per round trip follows.
        let early = 5.313 - at.seconds();
        assert!((1.1..=1.4).contains(&early), "{early} s before K");
    }

    /// `cnt` is at least 2: a packet per two acknowledged.
    #[test]
    fn a_reno_flow_far_ahead_is_reached_at_the_largest_growth() {
        let mut cubic = Cubic::new(Params { whole: false, ..Params::default() });
        cubic.increase(10.0, &ack(0.0, 1.0));
        cubic.w_max = 10.0;
        cubic.w_est = 30.0;
        assert_eq!(cubic.increase(10.0, &ack(0.0, 1.0)), 10.5);
        cubic.w_est = 12.0;
        // Two packets ahead, and one more eighteenth: a fifth of a packet per one acknowledged.
        let expected = 10.0 + (2.0 + 1.0 / 18.0) / 10.0;
        assert!((cubic.increase(10.0, &ack(0.0, 1.0)) - expected).abs() < 1e-12);
    }
}
