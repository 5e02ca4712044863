//! LEDBAT++ (Balasubramanian, Ertugay, Havey: draft-irtf-iccrg-ledbat-plus-plus-01, August 2020),
//! on top of LEDBAT (RFC 6817).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §4.5 | delay = the smallest of the last four RTTs − base; base is the smallest of ten minutes, minute by minute (RFC 6817) | [`LedbatPlusPlus::measure`] |
//! | §4.1 | slow start from two packets: W ← W + n·GAIN for n packets acknowledged; the first one ends when delay > 3/4 TARGET | [`LedbatPlusPlus::slow_start`] |
//! | §4.2 | GAIN = 1/min(16, ⌈2·TARGET/base⌉) | [`LedbatPlusPlus::gain`] |
//! | §4.3 | delay ≤ TARGET: W ← W + GAIN, once per round trip | [`LedbatPlusPlus::avoid`] |
//! | §4.3 | else W ← W + max(GAIN − constant·W(delay/TARGET − 1), −W/2), at least two packets | [`LedbatPlusPlus::avoid`] |
//! | §4.4 | slowdown: ssthresh ← W, W ← 2 for two round trips, then slow start up to ssthresh | [`LedbatPlusPlus::slow_down`], [`LedbatPlusPlus::advance`] |
//! | §4.4 | the first slowdown two round trips after the first slow start, each other one 9 times as long after the last as that took | [`LedbatPlusPlus::advance`] |
//! | RFC 5681 §3.1 | W ← W/2, once per recovery epoch | [`LedbatPlusPlus::on_loss`] |
//!
//! Where the draft leaves it open, it is read as in Apple's code (bsd/netinet/tcp_ledbat.c of 2021,
//! which names draft -01): ⌈x⌉ is the smallest integer of at least x, where §4.2 says "larger than
//! x". ssthresh follows a window that delays reduce, so that slow start does not undo the
//! reduction. The slow start after a slowdown has GAIN as well.
//!
//! Departures from Apple's code: that slow start ends at ssthresh only, whatever the delay (§4.1),
//! and a reduction does not put off the next slowdown by 30 s. A round trip of §4.4 is the smoothed
//! RTT when it begins. In a recovery the delay moves nothing. A loss while the window is at two
//! packets halves ssthresh, because what was lost left before. After a timeout one packet may leave
//! (RFC 5681 §3.1), though §4.3 asks for two.

use crate::entry::{Entry, MovedBy, Recipe, Start};
use crate::parts::RecentMin;
use crate::{Ack, CongestionWindow, Controller, Idle, Loss, Mark, Rounds, Timeout};
use narrows_settings::{Settings, settings};
use narrows_units::{Duration, Time};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "ledbat++",
    aliases: &["ledbatpp", "ledbat-plus-plus", "TcpLedbatPlusPlus"],
    summary: "for background traffic: yields when the queueing delay exceeds a target, and slows \
              down now and then to see the path without its queue",
    source: "draft-irtf-iccrg-ledbat-plus-plus-01",
    moved_by: MovedBy::Delay,
    start: Start::ToThreshold,
    settings: Params::list,
    construct: |birth| {
        let law = LedbatPlusPlus::new(birth.settings()?, birth.initial_window);
        Ok(Recipe::clones(law.with_ssthresh(birth.initial_ssthresh)))
    },
};

settings! {
    /// Settings of LEDBAT++.
    pub struct Params {
        /// TARGET: queueing delay above which the window shrinks (§4.5).
        target: Duration = Duration::from_millis(60), above(0.0).at_most(10.0);
        /// How much of the window a delay of twice the target takes per round trip, before the
        /// bound of one half (ratio; §4.3).
        constant: f64 = 1.0, above(0.0).at_most(100.0);
        /// Largest divisor of GAIN (§4.2).
        gain_divisor: f64 = 16.0, at_least(1.0).at_most(1e6);
        /// Whether it slows down now and then (§4.4).
        slowdowns: bool = true;
    }
}

/// §4.3: the least window, and §4.1 the first, in packets.
const LEAST: f64 = 2.0;
/// §4.1: share of the target at which the first slow start ends.
const EXIT: f64 = 0.75;
/// §4.4: round trips from the first slow start to the first slowdown, and with two packets.
const ROUND_TRIPS: u64 = 2;
/// §4.4: how much longer than a slowdown the time to the next one is.
const PAUSE: u64 = 9;
/// RFC 6817 §2.4.2: base delays are kept for ten minutes, one for each.
const BASE_HISTORY: usize = 10;
const BASE_LASTS: Duration = Duration::from_millis(600_000);
/// §4.5: samples of which the smallest is the current one.
const CURRENT_FILTER: usize = 4;

/// Where the law is between two slowdowns (§4.4).
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The first slow start.
    Starting,
    /// Congestion avoidance until the next slowdown.
    Avoiding { until: Time },
    /// Two packets, since the slowdown began.
    Frozen { since: Time, until: Time },
    /// Slow start after that.
    Rising { since: Time },
}

/// The law's state.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    params: Params,
    cwnd: CongestionWindow,
    rounds: Rounds,
    phase: Phase,
    base_delays: RecentMin<BASE_HISTORY>,
    /// The newest samples in seconds, and the place of the next one.
    samples: ([f64; CURRENT_FILTER], usize),
    /// The base delay and the queueing delay in seconds; `None` until there is a sample.
    delays: Option<(f64, f64)>,
}

impl LedbatPlusPlus {
    /// The law with `params`, which have been checked; starts with `initial_window` packets, at
    /// most two (§4.1).
    pub fn new(params: Params, initial_window: f64) -> Self {
        Self {
            params,
            cwnd: CongestionWindow::new(initial_window.min(LEAST)),
            rounds: Rounds::default(),
            phase: Phase::Starting,
            base_delays: RecentMin::default(),
            samples: ([f64::INFINITY; CURRENT_FILTER], 0),
            delays: None,
        }
    }

    /// Starts with a threshold of `ssthresh` packets instead.
    pub fn with_ssthresh(mut self, ssthresh: f64) -> Self {
        self.cwnd.ssthresh = ssthresh;
        self
    }

    /// Takes a sample into the base and the current delay (§4.5; RFC 6817 §2.4.2).
    fn measure(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt.filter(|_| ack.rtt_is_fresh) else { return };
        let latest = rtt.latest.seconds();
        let (samples, next) = &mut self.samples;
        samples[*next] = latest;
        *next = (*next + 1) % CURRENT_FILTER;
        let current = samples.iter().copied().fold(f64::INFINITY, f64::min);
        let base = self.base_delays.update(ack.now, latest, BASE_LASTS);
        self.delays = Some((base, (current - base).max(0.0)));
    }

    /// GAIN = 1/min(16, ⌈2·TARGET/base⌉) (§4.2).
    fn gain(&self, base: f64) -> f64 {
        let ratio = 2.0 * self.params.target.seconds() / base;
        1.0 / ratio.ceil().clamp(1.0, self.params.gain_divisor)
    }

    /// W ← W + n·GAIN for n packets acknowledged, up to the threshold (§4.1).
    fn slow_start(&mut self, gain: f64, packets: f64) {
        let most = self.cwnd.ssthresh.max(self.cwnd.window);
        self.cwnd.window = (self.cwnd.window + gain * packets).min(most);
    }

    /// What a round trip with queueing `delay` in seconds does to the window (§4.3).
    fn avoid(&mut self, gain: f64, delay: f64, limited: bool) {
        let window = self.cwnd.window;
        let excess = delay / self.params.target.seconds() - 1.0;
        if excess <= 0.0 {
            self.cwnd.window += if limited { gain } else { 0.0 };
            return;
        }
        let change = (gain - self.params.constant * window * excess).max(-window / 2.0);
        let floor = LEAST.min(window);
        self.cwnd.window = (window + if limited { change } else { change.min(0.0) }).max(floor);
        self.cwnd.ssthresh = self.cwnd.ssthresh.min(self.cwnd.window);
    }

    /// Goes from phase to phase (§4.4), with a round trip of `smoothed` and queueing `delay` in
    /// seconds.
    fn advance(&mut self, now: Time, smoothed: Duration, delay: f64) {
        let regrown = !self.cwnd.is_below_threshold();
        match self.phase {
            Phase::Starting if regrown || delay > EXIT * self.params.target.seconds() => {
                self.cwnd.ssthresh = self.cwnd.ssthresh.min(self.cwnd.window);
                self.phase = Phase::Avoiding { until: now + smoothed * ROUND_TRIPS };
            }
            Phase::Avoiding { until } if self.params.slowdowns && now >= until && regrown => {
                self.slow_down(now, smoothed);
            }
            Phase::Frozen { since, until } if now >= until => self.phase = Phase::Rising { since },
            Phase::Rising { since } if regrown => {
                self.phase = Phase::Avoiding { until: now + now.since(since) * PAUSE };
            }
            _ => {}
        }
    }

    /// ssthresh ← W, W ← 2 (§4.4). What happened before is no longer undone.
    fn slow_down(&mut self, now: Time, smoothed: Duration) {
        self.cwnd.settle();
        self.cwnd.ssthresh = self.cwnd.window;
        self.cwnd.window = LEAST.min(self.cwnd.window);
        self.phase = Phase::Frozen { since: now, until: now + smoothed * ROUND_TRIPS };
    }

    fn halve(&mut self) {
        self.cwnd.remember();
        match self.phase {
            Phase::Frozen { .. } => self.cwnd.ssthresh = (self.cwnd.ssthresh / 2.0).max(LEAST),
            _ => self.cwnd.reduce((self.cwnd.window / 2.0).max(LEAST)),
        }
    }
}

impl Controller for LedbatPlusPlus {
    /// §4.4, then §4.1 for each acknowledgement or §4.3 once per round trip.
    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        let ends = self.rounds.ends_with(ack);
        let Some(((base, delay), rtt)) = self.delays.zip(ack.rtt).filter(|_| !ack.recovering)
        else {
            return;
        };
        self.advance(ack.now, rtt.smoothed, delay);
        let gain = self.gain(base);
        let limited = ack.window_limited;
        if matches!(self.phase, Phase::Frozen { .. }) {
            return;
        }
        if !self.cwnd.is_below_threshold() {
            if ends {
                self.avoid(gain, delay, limited);
            }
        } else if limited {
            self.slow_start(gain, ack.packets);
            self.advance(ack.now, rtt.smoothed, delay);
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

    fn on_restart(&mut self, idle: &Idle) {
        self.cwnd.restart(idle);
    }

    fn on_unused(&mut self, used: f64) {
        self.cwnd.unused(used);
    }

    /// Without a threshold it is the first slow start again, which heeds the delay.
    fn on_spurious(&mut self) {
        self.cwnd.undo();
        if self.cwnd.ssthresh.is_infinite() {
            self.phase = Phase::Starting;
        }
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

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let (base, delay) = self.delays.unwrap_or((f64::NAN, f64::NAN));
        show("base_delay", base);
        show("queueing", delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ack;

    fn law(params: Params) -> LedbatPlusPlus {
        LedbatPlusPlus::new(params, 10.0)
    }

    /// 2·60 ms over the base delay, rounded up, at most 16 (§4.2).
    #[test]
    fn the_gain_falls_as_the_base_delay_does() {
        let law = law(Params::default());
        let of = |millis: f64| 1.0 / law.gain(millis / 1000.0);
        assert_eq!([500.0, 120.0, 100.0, 50.0, 20.0].map(of), [1.0, 1.0, 2.0, 3.0, 6.0]);
        assert_eq!([8.0, 7.5, 1.0, 0.1].map(of), [15.0, 16.0, 16.0, 16.0]);
    }

    /// Two flows with the same path: W ← W + 1/2 below the target and W ← (1 − x)W + 1/2 above it
    /// bring 90 and 10 packets together, because what the larger one gives up is more (§4.3).
    #[test]
    fn multiplicative_decrease_makes_two_windows_equal() {
        let mut laws = [90.0, 10.0].map(|window| {
            let mut law = law(Params::default()).with_ssthresh(2.0);
            law.cwnd.window = window;
            law
        });
        // A link of 600 packets/s: beyond 60 packets, each takes 1/600 s to serve.
        for _ in 0..2000 {
            let queue: f64 = laws.iter().map(|law| law.cwnd.window).sum::<f64>() - 60.0;
            let delay = queue.max(0.0) / 600.0;
            laws.iter_mut().for_each(|law| law.avoid(0.5, delay, true));
        }
        let [larger, smaller] = laws.map(|law| law.cwnd.window);
        // Equality within the half packet that a round trip gains.
        assert!((larger - smaller).abs() < 0.5, "{larger} {smaller}");
        assert!((larger + smaller - 96.0).abs() < 2.0, "60 packets and 36 in 60 ms");
    }

    /// What a spurious epoch took comes back, and the delay ends the slow start as before.
    #[test]
    fn an_undone_first_slow_start_still_ends_by_the_delay() {
        let mut law = law(Params::default());
        law.halve();
        law.on_ack(&ack(1.0, 1.0));
        assert!(matches!(law.phase, Phase::Avoiding { .. }));
        law.on_spurious();
        assert!(matches!(law.phase, Phase::Starting));
    }
}
