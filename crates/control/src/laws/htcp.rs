//! H-TCP (Leith, Shorten: "H-TCP: TCP for high-speed and long-distance networks", §3).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §3.1, eqs. 16, 17, 23 | α = 1 up to Δ_L, then 1 + 10(Δ − Δ_L) + ((Δ − Δ_L)/2)² | [`Htcp::alpha`] |
//! | §3.4, eq. 24 | α ← 2(1 − β)α | [`Htcp::alpha`] |
//! | §3.1, comment 2 | α in proportion to the RTT, within [0.5, 10] | [`Htcp::rtt_scale`] |
//! | §3.1, comment 2 | a convergence time in seconds | [`Htcp::haste`] |
//! | §3.4, eq. 25 | β = RTT_min/RTT_max within [0.5, 0.8]; 0.5 if B⁻ has moved by more than 20 % | [`Htcp::back_off`] |
//! | §3.2, eq. 22 | β = min over epochs of β·B⁻/B⁺ | [`Htcp::by_throughput`] |
//! | §3.4 | W ← W + α/W for each packet acknowledged; W ← βW once per recovery epoch | [`Htcp::increase`], [`Htcp::decrease`] |
//!
//! B⁻ and B⁺ are the delivery rates of the last round trip before a back-off and of the first one
//! after it ("measured from packets ACK'ed over an RTT", §3.2). For B⁻ we take the round trip under
//! way if at least half of it is over, else the one before. Comment 2 does not say for which RTT
//! the scale is 1; here it is 100 ms, as in Linux and FreeBSD.
//!
//! Comment 2 offers "to specify a required convergence time in seconds" and does not say how. 95 %
//! of the way to fairness take n_r = log 0.05/log β epochs (§2 (ii)), so an epoch may last T* = the
//! time/n_r. "The increase function α^H is a design parameter" (§3.1): here eq. 17 is multiplied by
//! (1 + (Δ − Δ_L)/(T* − Δ_L))⁴, which is 16 at T*. As this is a function of Δ alone, sources stay
//! symmetrical, which one of the source's own window would break: sources that all regain what they
//! lost in the same time never become fair.
//!
//! RTT samples from a recovery are left out: an acknowledgement that fills a hole is late by more
//! than the queueing delay.
//!
//! Differences: Linux smooths B⁻ and stays at 0.5 for one more epoch after a reset. It lets RTT_max
//! fade by 5 % of its excess each epoch; here RTT_max is forgotten when a reset shows that the path
//! has changed. It never adapts below 10 ms, and counts in 1/128. It scales by the inverse, clamped
//! to [0.5, 10], so that α's scale lies in [0.1, 2]; `rtt_scaling` is the paper's, in [0.5, 10]. It
//! leaves eq. 22 out.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, Idle, Rounds, WindowLaw};
use narrows_settings::{Given, SettingError, Settings, settings};
use narrows_units::{Duration, Time};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "htcp",
    aliases: &["h-tcp", "TcpHtcp"],
    summary: "grows faster the longer ago the last loss was; backs off in proportion to the \
              queueing delay",
    source: "Leith, Shorten, §3",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        params.check(&birth.given)?;
        Ok(birth.once_per_epoch(Htcp::new(params)))
    },
};

settings! {
    /// Settings of H-TCP.
    pub struct Params {
        /// Δ_L, seconds after a loss during which the law is Reno's. The default is Linux's and
        /// FreeBSD's, as the paper gives none.
        delta_l: f64 = 1.0, at_least(0.0);
        /// First coefficient of eq. 17, packets per round trip.
        a0: f64 = 1.0, at_least(1.0);
        /// Second coefficient of eq. 17, packets per round trip and second.
        a1: f64 = 10.0, at_least(0.0);
        /// Third coefficient of eq. 17, packets per round trip and second².
        a2: f64 = 0.25, at_least(0.0);
        /// Whether the back-off adapts to the queueing delay (§3.2).
        adaptive: bool = true;
        /// Smallest share of the window kept, and the share kept after a reset (ratio; §3.4,
        /// comment 1).
        beta: f64 = 0.5, above(0.0).below(1.0);
        /// Largest share of the window kept (ratio; §3.4, comment 1). Used only if `adaptive`.
        beta_max: f64 = 0.8, above(0.0).below(1.0);
        /// How far B⁻ may move from one epoch to the next without a reset (ratio; §3.3). Used only
        /// if `adaptive`.
        reset: f64 = 0.2, above(0.0).or_infinite();
        /// Whether eq. 22 replaces RTT_min/RTT_max. Used only if `adaptive`.
        throughput_ratio: bool = false;
        /// Whether α grows with the RTT (§3.1, comment 2), between 0.5 and 10 times its value at
        /// 100 ms.
        rtt_scaling: bool = false;
        /// Seconds in which flows shall be within 5 % of fairness (§3.1, comment 2), if they keep
        /// `beta` at each loss. Used only if `rtt_scaling`.
        convergence: f64 = f64::INFINITY, above(0.0).or_infinite();
    }
}

/// §3.1, comment 2: the RTT in seconds at which α is not scaled.
const REFERENCE_RTT: f64 = 0.1;
/// §3.1, comment 2: the interval of the scale.
const SCALE: (f64, f64) = (0.5, 10.0);
/// §2 (ii): the share of the way that is left when flows count as fair.
const LEFT: f64 = 0.05;

impl Params {
    /// Refuses settings that contradict each other, or would not count.
    fn check(&self, given: &Given) -> Result<(), SettingError> {
        if self.beta > self.beta_max {
            let message = format!("beta: {} is above beta_max, {}", self.beta, self.beta_max);
            return Err(SettingError::new(message));
        }
        for name in ["beta_max", "reset", "throughput_ratio"] {
            given.counts_if(name, self.adaptive, "adaptive=true")?;
        }
        given.counts_if("convergence", self.rtt_scaling, "rtt_scaling=true")?;
        if self.high_speed() <= 0.0 {
            let least = self.delta_l * LEFT.ln() / self.beta.ln();
            let message = format!(
                "convergence: {} s is not above {least:.2} s, which epochs of delta_l={} s take; \
                 try {:.0}",
                self.convergence,
                self.delta_l,
                (2.0 * least).ceil()
            );
            return Err(SettingError::new(message));
        }
        Ok(())
    }

    /// T* − Δ_L: how long high-speed mode may last in an epoch, in seconds; infinite without
    /// `convergence`.
    pub fn high_speed(&self) -> f64 {
        self.convergence * self.beta.ln() / LEFT.ln() - self.delta_l
    }
}

/// The law's state.
#[derive(Clone, Debug)]
pub struct Htcp {
    params: Params,
    /// β, a ratio.
    beta: f64,
    /// When the last congestion event was, or the law was first asked.
    last_event: Option<Time>,
    /// The smallest and the largest RTT.
    rtt: Option<(Duration, Duration)>,
    was_recovering: bool,
    throughput: Throughput,
    /// B⁻ of the last event, packets per second.
    b_minus: Option<f64>,
    /// min_j β(j)·B⁻(j)/B⁺(j) since the last reset (eq. 22).
    least_ratio: f64,
    /// [`Params::high_speed`].
    high_speed: f64,
}

impl Htcp {
    /// The law with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        let throughput = Throughput::default();
        Self {
            params,
            beta: params.beta,
            last_event: None,
            rtt: None,
            was_recovering: false,
            throughput,
            b_minus: None,
            least_ratio: f64::INFINITY,
            high_speed: params.high_speed(),
        }
    }

    /// α in packets per round trip, `delta` seconds after the last congestion event (eqs. 23, 24).
    fn alpha(&self, delta: f64) -> f64 {
        let Params { delta_l, a0, a1, a2, .. } = self.params;
        let x = delta - delta_l;
        let alpha = if x <= 0.0 { 1.0 } else { (a0 + a1 * x + a2 * x * x) * self.haste(x) };
        2.0 * (1.0 - self.beta) * alpha * self.rtt_scale()
    }

    /// How much faster than eq. 17 the window grows `x` seconds into high-speed mode (§3.1,
    /// comment 2); 1 without `convergence`.
    fn haste(&self, x: f64) -> f64 {
        if self.high_speed.is_infinite() {
            return 1.0;
        }
        let square = (1.0 + x / self.high_speed) * (1.0 + x / self.high_speed);
        square * square
    }

    /// The RTT divided by 100 ms, clamped to [0.5, 10] (§3.1, comment 2); 1 without `rtt_scaling`.
    fn rtt_scale(&self) -> f64 {
        match self.rtt {
            Some((least, _)) if self.params.rtt_scaling => {
                (least.seconds() / REFERENCE_RTT).clamp(SCALE.0, SCALE.1)
            }
            _ => 1.0,
        }
    }

    /// β at a congestion event (eq. 25).
    fn back_off(&mut self, now: Time) -> f64 {
        let Params { beta, beta_max, reset, adaptive, throughput_ratio, .. } = self.params;
        let before = self.b_minus;
        self.b_minus = self.throughput.at(now).or(before);
        let moved = before
            .zip(self.b_minus)
            .is_some_and(|(before, now)| (now - before).abs() > reset * before);
        if !adaptive {
            return beta;
        }
        if moved {
            self.rtt = self.rtt.map(|(least, _)| (least, least));
            self.least_ratio = f64::INFINITY;
            return beta;
        }
        let ratio = if throughput_ratio { self.by_throughput() } else { self.by_round_trip_time() };
        ratio.map_or(beta, |ratio| ratio.clamp(beta, beta_max))
    }

    /// RTT_min/RTT_max (eq. 21).
    fn by_round_trip_time(&self) -> Option<f64> {
        self.rtt.map(|(least, most)| least.seconds() / most.seconds())
    }

    /// min_j β(j)·B⁻(j)/B⁺(j) (eq. 22); `None` until there is one.
    fn by_throughput(&self) -> Option<f64> {
        Some(self.least_ratio).filter(|ratio| ratio.is_finite())
    }
}

impl WindowLaw for Htcp {
    /// RTT_min, RTT_max, B⁻ and B⁺ (§3.2, §3.3).
    fn observe(&mut self, ack: &Ack) {
        let touched = std::mem::replace(&mut self.was_recovering, ack.recovering) || ack.recovering;
        if let Some(rtt) = ack.rtt.filter(|_| ack.rtt_is_fresh && !touched) {
            let (least, most) = self.rtt.unwrap_or((rtt.latest, rtt.latest));
            self.rtt = Some((least.min(rtt.latest), most.max(rtt.latest)));
        }
        if let (Some(b_plus), Some(b_minus)) = (self.throughput.observe(ack), self.b_minus) {
            self.least_ratio = self.least_ratio.min(self.beta * b_minus / b_plus);
        }
    }

    /// W ← W + nα/W for n packets acknowledged (§3.4 (a)).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        let last_event = *self.last_event.get_or_insert(ack.now);
        window + ack.packets * (self.alpha(ack.now.since(last_event).seconds()) / window).min(1.0)
    }

    /// W ← βW when an epoch opens (§3.4 (b), eq. 25).
    fn decrease(&mut self, window: f64, now: Time) -> f64 {
        self.beta = self.back_off(now);
        self.last_event = Some(now);
        self.throughput.event();
        self.beta * window
    }

    /// Time without data does not count.
    fn restart(&mut self, idle: &Idle) {
        if let Some(last_event) = self.last_event.as_mut().filter(|_| idle.is_long()) {
            *last_event += idle.length;
        }
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("beta", self.beta);
    }
}

/// Packets acknowledged in each round trip, divided by its length.
#[derive(Clone, Debug, Default)]
struct Throughput {
    rounds: Rounds,
    since: Time,
    packets: f64,
    /// Of the last whole round: packets per second, and its length in seconds.
    last: Option<(f64, f64)>,
    /// Rounds that have ended since the last event.
    after_event: Option<u32>,
}

/// The round that is under way at an event ends with packets that left before it, and the next one
/// drains the queue; B⁺ is the rate of the third.
const ROUNDS_TO_B_PLUS: u32 = 3;

impl Throughput {
    /// Counts `ack`; returns B⁺ if `ack` ends the round after an event that measures it.
    fn observe(&mut self, ack: &Ack) -> Option<f64> {
        self.packets += ack.packets;
        if !self.rounds.ends_with(ack) {
            return None;
        }
        let seconds = ack.now.since(self.since).seconds();
        self.last = (seconds > 0.0).then(|| (self.packets / seconds, seconds)).or(self.last);
        (self.since, self.packets) = (ack.now, 0.0);
        let ended = self.after_event.as_mut()?;
        *ended += 1;
        if *ended < ROUNDS_TO_B_PLUS {
            return None;
        }
        self.after_event = None;
        self.last.map(|(rate, _)| rate)
    }

    /// Packets per second just before `now`.
    fn at(&self, now: Time) -> Option<f64> {
        let (last, length) = self.last?;
        let seconds = now.since(self.since).seconds();
        Some(if seconds >= length / 2.0 { self.packets / seconds } else { last })
    }

    fn event(&mut self) {
        self.after_event = Some(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ack;

    /// Feeds `rounds` rounds of `packets` packets each over `rtt` milliseconds, and returns the
    /// time reached in seconds.
    fn feed(law: &mut Htcp, from: f64, rounds: u32, packets: f64, rtt: u64) -> f64 {
        let span = Duration::from_millis(rtt);
        for round in 0..rounds {
            let now = from + f64::from(round + 1) * span.seconds();
            let known = ack(now, packets);
            let rtt = known.rtt.map(|known| crate::Rtt { latest: span, ..known });
            // Each acknowledgement answers a packet that left after the previous acknowledgement.
            let newest = (now * 1000.0) as u64;
            law.observe(&Ack { rtt, newest, next: newest, ..known });
        }
        from + f64::from(rounds) * span.seconds()
    }

    #[test]
    fn the_back_off_is_the_ratio_of_round_trip_times_within_its_bounds() {
        for (most, beta) in [(160, 0.625), (110, 0.8), (300, 0.5)] {
            let mut law = Htcp::new(Params::default());
            let now = feed(&mut law, 0.0, 3, 100.0, 100);
            feed(&mut law, now, 1, 100.0, most);
            assert_eq!(law.decrease(1000.0, Time::from_secs(1.0)), beta * 1000.0);
        }
    }

    /// Eq. 25: 100 packets in 100 ms, then 79 in 100 ms are 21 % less.
    #[test]
    fn the_back_off_is_reset_when_the_throughput_moves_by_a_fifth() {
        for (packets, beta) in [(79.0, 0.5), (81.0, 0.8), (121.0, 0.5), (119.0, 0.8)] {
            let mut law = Htcp::new(Params::default());
            let now = feed(&mut law, 0.0, 5, 100.0, 100);
            assert_eq!(law.decrease(1000.0, Time::from_secs(now)), 800.0);
            let now = feed(&mut law, now, 5, packets, 100);
            assert_eq!(law.decrease(1000.0, Time::from_secs(now)), beta * 1000.0, "{packets}");
        }
    }

    /// Eq. 22: 1000 packets/s before, 800 after a back-off by 0.5: 0.5·1000/800 = 0.625.
    #[test]
    fn the_throughput_ratio_takes_the_place_of_the_rtts() {
        let mut law = Htcp::new(Params { throughput_ratio: true, ..Params::default() });
        let now = feed(&mut law, 0.0, 5, 100.0, 100);
        assert_eq!(law.decrease(1000.0, Time::from_secs(now)), 500.0);
        let now = feed(&mut law, now, 3, 80.0, 100);
        let now = feed(&mut law, now, 3, 100.0, 100);
        assert_eq!(law.decrease(1000.0, Time::from_secs(now)), 625.0);
    }

    /// 12.97 s are 4.32 epochs of 3 s with β = 0.5, so high-speed mode lasts some 2 s.
    #[test]
    fn the_window_grows_the_faster_the_shorter_the_convergence_time() {
        let convergence = 3.0 * 20.0_f64.ln() / 2.0_f64.ln();
        let law = Htcp::new(Params { convergence, rtt_scaling: true, ..Params::default() });
        for (x, haste) in [(0.0, 1.0), (1.0, 5.0625), (2.0, 16.0)] {
            assert!((law.haste(x) / haste - 1.0).abs() < 1e-9, "{x}");
        }
        assert_eq!(Htcp::new(Params::default()).haste(1e9), 1.0);
    }

    #[test]
    fn a_convergence_time_must_leave_room_for_low_speed_mode() {
        let refused = |parts: &[&str]| {
            let given = Given::parse(parts.iter().copied()).unwrap();
            Params::read(&given).unwrap().check(&given).unwrap_err().to_string()
        };
        assert_eq!(
            refused(&["rtt_scaling=true", "convergence=4.3"]),
            "convergence: 4.3 s is not above 4.32 s, which epochs of delta_l=1 s take; try 9"
        );
        assert!(refused(&["convergence=20"]).contains("without rtt_scaling=true"));
    }

    #[test]
    fn the_scale_goes_with_the_rtt_within_its_interval() {
        for (rtt, scale) in [(10, 0.5), (100, 1.0), (250, 2.5), (2000, 10.0)] {
            let mut law = Htcp::new(Params { rtt_scaling: true, ..Params::default() });
            feed(&mut law, 0.0, 1, 10.0, rtt);
            assert_eq!(law.rtt_scale(), scale, "{rtt} ms");
        }
    }
}
