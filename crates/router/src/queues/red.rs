//! Random early detection (Floyd, Jacobson, IEEE/ACM ToN 1, 1993).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §4 | avg ← (1 − w)·avg + w·q for an arrival at a queue | [`Red::average`] |
//! | §4 | avg ← (1 − w)^m·avg, m the packets that could have left while the queue was idle | [`Red::average`] |
//! | §4 | p_b = p_max (avg − min)/(max − min) | [`Red::probability`] |
//! | §4 | p_a = p_b/(1 − count·p_b) | [`Red::spread`] |
//! | §4, bytes | p_b ← p_b · size/mean size | [`Red::probability`] |
//! | Floyd, "gentle", 2000 | from p_max at max to 1 at 2·max | [`Red::probability`] |
//! | Floyd, Gummadi, Shenker, "Adaptive RED", 2001, as Linux has it (`red_adaptative_algo`, include/net/red.h) | every half second, above min + 0.6(max − min): p_max ← p_max + min(0.01, p_max/4) up to 0.5; below min + 0.4(max − min): p_max ← 0.9·p_max down to 0.01 | [`Red::adapt`] |
//!
//! `q` does not count the packet in transmission, and a queue of one packet or none is never cut;
//! both are as in ns-2, whose red.cc was read. With `wait`, the default there, 1/p_b packets pass
//! after a drop before the next drop can come: p_a = p_b/(2 − count·p_b). With `mark_above`,
//! packets are marked above the upper threshold, too, as in the GWA paper (§6, note 7).

use crate::entry::{Entry, Placement};
use crate::{Backlog, Discipline, Verdict};
use narrows_settings::{SettingError, Settings, settings};
use narrows_signal::Ecn;
use narrows_units::{Duration, Probability, Stream, Time};

settings! {
    /// RED's settings as a user gives them.
    pub struct RedOptions {
        /// Lower threshold of the average queue (packets).
        min: Option<f64> = None => "buffer/12", at_least(0.0);
        /// Upper threshold of the average queue (packets).
        max: Option<f64> = None => "buffer/4", above(0.0);
        /// Weight of an arrival in the average (ratio).
        weight: Probability = Probability::clamped(0.002), above(0.0);
        /// Probability of a drop or mark at the upper threshold (ratio).
        p_max: Probability = Probability::clamped(0.1), above(0.0);
        /// Whether p_max moves, between 1 and 50 %, so that the average stays half-way between the
        /// thresholds.
        adaptive: bool = false;
        /// Whether the probability keeps rising to 1 above the upper threshold; if not, every
        /// packet is dropped there.
        gentle: bool = false;
        /// Whether packets that can be marked are marked instead of dropped.
        ecn: bool = true;
        /// Whether packets are marked above the upper threshold, too. Used only if `ecn`.
        mark_above: bool = false;
        /// Whether at least 1/p packets pass between two drops, as in ns-2.
        wait: bool = false;
        /// Whether the queue is measured in bytes, and packets are dropped in proportion to their
        /// size.
        bytes: bool = false;
        /// Mean size of a packet in bytes, for `bytes` and to count the packets that could have
        /// left while the queue was idle.
        mean_packet: Option<f64> = None => "packet size", at_least(1.0);
    }
}

/// How RED is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedSettings {
    /// Lower threshold: packets, or bytes with `bytes`.
    pub min: f64,
    /// Upper threshold.
    pub max: f64,
    /// Mean bytes of a packet.
    pub mean_packet: f64,
    /// The other settings.
    pub options: RedOptions,
}

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "red",
    aliases: &[],
    summary: "drops or marks packets at random, more and more often as the average queue grows \
              between two thresholds",
    source: "Floyd, Jacobson, ToN 1, 1993",
    settings: RedOptions::list,
    construct: |given, placement| {
        let options = RedOptions::read(given)?;
        given.counts_if("mark_above", options.ecn, "ecn=true")?;
        Ok(Discipline::Red(options.at(placement)?))
    },
};

impl RedOptions {
    /// The settings with thresholds in the unit that is measured. Fails if the thresholds are not
    /// in order, or are parts of a buffer that has no limit.
    fn at(self, placement: &Placement) -> Result<RedSettings, SettingError> {
        let part = |share: f64| Ok::<f64, SettingError>(placement.buffer("red")? / share);
        let min = self.min.map_or_else(|| part(12.0), Ok)?;
        let max = self.max.map_or_else(|| part(4.0), Ok)?;
        if min >= max {
            let message = format!("min: {min} packets is not below max, {max}");
            return Err(SettingError::new(message));
        }
        let mean_packet = self.mean_packet.unwrap_or(placement.packet as f64);
        let unit = if self.bytes { mean_packet } else { 1.0 };
        Ok(RedSettings { min: min * unit, max: max * unit, mean_packet, options: self })
    }
}

/// How often p_max moves, and between which values it does (`MAX_P_MIN`, `MAX_P_MAX`).
const ADAPTS_EVERY: Duration = Duration::from_millis(500);
const P_MAX_LEAST: f64 = 0.01;
const P_MAX_MOST: f64 = 0.5;

/// RED at work.
#[derive(Clone, Debug)]
pub struct Red {
    settings: RedSettings,
    /// Seconds to send a mean packet.
    service: f64,
    average: f64,
    p_max: f64,
    /// When p_max moves next, if it does; `None` before time counts.
    adapts_at: Option<Time>,
    /// Packets since the last drop or mark, or −1 below the lower threshold.
    count: f64,
}

impl Red {
    /// An empty queue in front of a transmitter of `bytes_per_second`.
    pub fn new(settings: RedSettings, bytes_per_second: f64) -> Self {
        Self {
            settings,
            service: settings.mean_packet / bytes_per_second,
            average: 0.0,
            p_max: settings.options.p_max.value(),
            adapts_at: Some(Time::ZERO + ADAPTS_EVERY),
            count: -1.0,
        }
    }

    /// It has these settings from now on, p_max too; what it has averaged stays.
    pub fn retune(&mut self, settings: RedSettings) {
        self.service *= settings.mean_packet / self.settings.mean_packet;
        self.p_max = settings.options.p_max.value();
        self.adapts_at = None;
        self.settings = settings;
    }

    /// The transmitter has `bytes_per_second` from now on.
    pub fn follow(&mut self, bytes_per_second: f64) {
        self.service = self.settings.mean_packet / bytes_per_second;
    }

    /// p_max moves as often as it has to up to `now`; the transmitter is busy until `busy_until`.
    pub fn catch_up(&mut self, now: Time, busy_until: Time) {
        if !self.settings.options.adaptive {
            return;
        }
        let mut next = self.adapts_at.unwrap_or(now + ADAPTS_EVERY);
        while next <= now {
            self.adapt(self.average * self.left_after(next.since(busy_until)));
            next += ADAPTS_EVERY;
        }
        self.adapts_at = Some(next);
    }

    fn adapt(&mut self, average: f64) {
        let RedSettings { min, max, .. } = self.settings;
        let part = (average - min) / (max - min);
        if part > 0.6 && self.p_max <= P_MAX_MOST {
            self.p_max += P_MAX_LEAST.min(self.p_max / 4.0);
        } else if part < 0.4 && self.p_max >= P_MAX_LEAST {
            self.p_max *= 0.9;
        }
    }

    /// A packet of `bytes` arrives. `waiting` is the queue before it, not counting the packet in
    /// transmission; the transmitter has been idle for `idle`.
    pub fn judge(
        &mut self,
        waiting: Backlog,
        idle: Duration,
        bytes: u32,
        ecn: Ecn,
        stream: &mut Stream,
    ) -> Verdict {
        let queue =
            if self.settings.options.bytes { waiting.bytes } else { waiting.packets } as f64;
        self.average(queue, idle);
        if self.average < self.settings.min || waiting.packets <= 1 {
            self.count = -1.0;
            return Verdict::Admit;
        }
        self.count += 1.0;
        if self.settings.options.wait && self.count == 0.0 {
            self.count = 1.0;
            return Verdict::Admit;
        }
        let p = self.probability(bytes);
        if stream.uniform() >= self.spread(p) {
            return Verdict::Admit;
        }
        self.count = 0.0;
        let above = self.average >= self.settings.max;
        Verdict::congestion(
            ecn,
            self.settings.options.ecn && (!above || self.settings.options.mark_above),
        )
    }

    fn average(&mut self, queue: f64, idle: Duration) {
        let weight = self.settings.options.weight.value();
        if idle > Duration::ZERO {
            self.average *= self.left_after(idle);
        }
        self.average += weight * (queue - self.average);
    }

    /// The share of the average that is left after the transmitter has been idle for `idle`.
    fn left_after(&self, idle: Duration) -> f64 {
        let weight = self.settings.options.weight.value();
        libm::pow(1.0 - weight, idle.seconds() / self.service)
    }

    /// p_b of a packet of `bytes`.
    fn probability(&self, bytes: u32) -> f64 {
        let RedSettings { min, max, options, .. } = self.settings;
        let p_max = self.p_max;
        let p = if self.average < max {
            p_max * (self.average - min) / (max - min)
        } else if options.gentle {
            p_max + (1.0 - p_max) * (self.average - max) / max
        } else {
            1.0
        };
        let p = if self.settings.options.bytes && p < 1.0 {
            p * f64::from(bytes) / self.settings.mean_packet
        } else {
            p
        };
        p.min(1.0)
    }

    /// p_a: spreads drops evenly instead of geometrically.
    fn spread(&self, p: f64) -> f64 {
        let due = self.count * p;
        match (self.settings.options.wait, due) {
            (true, due) if due < 1.0 => 0.0,
            (true, due) if due < 2.0 => p / (2.0 - due),
            (false, due) if due < 1.0 => p / (1.0 - due),
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classic(change: impl Fn(&mut RedOptions)) -> RedSettings {
        let weight = Probability::clamped(0.25);
        let mut options = RedOptions { weight, ecn: false, ..RedOptions::default() };
        change(&mut options);
        RedSettings { min: 5.0, max: 15.0, mean_packet: 1000.0, options }
    }

    fn queue(settings: RedSettings) -> Red {
        Red::new(settings, 1e6) // a packet per millisecond
    }

    fn waiting(packets: u64) -> Backlog {
        Backlog { packets, bytes: packets * 1000 }
    }

    #[test]
    fn the_average_is_that_of_a_trace_worked_out_by_hand() {
        let mut red = queue(classic(|_| {}));
        let mut averages = Vec::new();
        let mut stream = Stream::new(1, 1, 1);
        for (packets, idle) in [(0, 0), (8, 0), (8, 0), (4, 0), (0, 2)] {
            red.judge(
                waiting(packets),
                Duration::from_millis(idle),
                1000,
                Ecn::NotCapable,
                &mut stream,
            );
            averages.push(red.average);
        }
        // 0; 0.25·8 = 2; 0.75·2 + 2 = 3.5; 0.75·3.5 + 1 = 3.625; then idle for the time of two
        // packets: 0.75²·3.625 = 2.0390625, then 0.75 of that.
        assert_eq!(averages, [0.0, 2.0, 3.5, 3.625, 1.529_296_875]);
    }

    #[test]
    fn probabilities_are_those_worked_out_by_hand() {
        let at = |red: RedSettings, average: f64, count: f64| {
            let mut red = queue(red);
            (red.average, red.count) = (average, count);
            (red.probability(500), red.spread(red.probability(500)))
        };
        let near = |found: (f64, f64), wanted: (f64, f64)| {
            assert!(
                (found.0 - wanted.0).abs() < 1e-12 && (found.1 - wanted.1).abs() < 1e-12,
                "{found:?} {wanted:?}"
            );
        };
        near(at(classic(|_| {}), 10.0, 0.0), (0.05, 0.05));
        near(at(classic(|_| {}), 10.0, 10.0), (0.05, 0.1)); // 0.05/(1 − 0.5)
        near(at(classic(|_| {}), 10.0, 20.0), (0.05, 1.0));
        near(at(classic(|_| {}), 15.0, 0.0), (1.0, 1.0));
        // Halfway from 0.1 to 1.
        near(at(classic(|red| red.gentle = true), 22.5, 0.0), (0.55, 0.55));
        near(at(classic(|red| red.wait = true), 10.0, 19.0), (0.05, 0.0));
        near(at(classic(|red| red.wait = true), 10.0, 30.0), (0.05, 0.1)); // 0.05/(2 − 1.5)
        near(
            at(
                RedSettings { min: 5000.0, max: 15_000.0, ..classic(|red| red.bytes = true) },
                10_000.0,
                0.0,
            ),
            (0.025, 0.025),
        ); // half a mean packet
    }

    #[test]
    fn a_steady_average_drops_one_packet_in_as_many_as_the_paper_says() {
        // Drops spread evenly over 1 … 1/p_b packets: (1/p_b + 1)/2 apart (§7.2: X uniform, mean
        // 1/(2p) + 1/2).
        for (wait, gap) in [(false, (20.0 + 1.0) / 2.0), (true, 20.0 + (20.0 + 1.0) / 2.0 - 1.0)] {
            let mut red = queue(classic(|red| {
                (red.weight, red.wait) = (Probability::clamped(1e-9), wait);
            }));
            (red.average, red.count) = (10.0, 0.0);
            let mut stream = Stream::new(2, 1, 1);
            let dropped = (0..200_000)
                .filter(|_| {
                    red.judge(waiting(10), Duration::ZERO, 1000, Ecn::NotCapable, &mut stream)
                        == Verdict::Drop
                })
                .count();
            let found = 200_000.0 / dropped as f64;
            assert!(
                (found / gap - 1.0).abs() < 0.05,
                "{found} packets between drops, {gap} expected (wait: {wait})"
            );
        }
    }

    /// From 0.02 on: a quarter of itself is added up to 0.04, then 0.01; a tenth is taken away.
    #[test]
    fn p_max_follows_the_average() {
        let moved = |average, times: u64| {
            let mut red = queue(classic(|red| {
                (red.adaptive, red.p_max) = (true, Probability::clamped(0.02));
            }));
            red.average = average;
            let now = Time::ZERO + ADAPTS_EVERY * times;
            red.catch_up(now, now);
            red.p_max
        };
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}");
        // 5 + 0.6·(15 − 5) = 11, and 5 + 0.4·(15 − 5) = 9.
        near(moved(11.5, 1), 0.025);
        near(moved(11.5, 5), 0.02 * 1.25_f64.powi(4) + 0.01);
        near(moved(10.0, 5), 0.02);
        near(moved(8.5, 3), 0.02 * 0.9_f64.powi(3));
        assert!((0.5..0.51).contains(&moved(14.0, 1000)));
        assert!((0.009..0.01).contains(&moved(6.0, 1000)));
    }

    #[test]
    fn what_is_turned_on_later_begins_then() {
        let mut red = queue(classic(|_| {}));
        red.average = 14.0;
        red.retune(classic(|red| red.adaptive = true));
        let late = Time::ZERO + ADAPTS_EVERY * 100;
        red.catch_up(late, late);
        assert_eq!(red.p_max, 0.1);
        red.catch_up(late + ADAPTS_EVERY, late + ADAPTS_EVERY);
        assert_eq!(red.p_max, 0.11);
    }

    /// The line has been idle for the time of 250 packets when p_max moves: nothing is left of the
    /// average there.
    #[test]
    fn an_idle_line_counts_as_a_short_queue() {
        let mut red = queue(classic(|red| red.adaptive = true));
        red.average = 14.0;
        red.catch_up(Time::ZERO + ADAPTS_EVERY, Time::ZERO + Duration::from_millis(250));
        assert_eq!((red.p_max, red.average), (0.1 * 0.9, 14.0));
    }

    #[test]
    fn what_is_capable_is_marked_between_the_thresholds_and_above_them_only_if_so_told() {
        let verdict = |mark_above, ecn, average| {
            let mut red = queue(classic(|red| {
                (red.weight, red.p_max) = (Probability::clamped(1e-9), Probability::clamped(1.0));
                (red.ecn, red.mark_above) = (true, mark_above);
            }));
            (red.average, red.count) = (average, 1e9);
            red.judge(waiting(10), Duration::ZERO, 1000, ecn, &mut Stream::new(1, 1, 1))
        };
        assert_eq!(verdict(false, Ecn::Capable, 10.0), Verdict::Mark);
        assert_eq!(verdict(false, Ecn::NotCapable, 10.0), Verdict::Drop);
        assert_eq!(verdict(false, Ecn::Capable, 16.0), Verdict::Drop);
        assert_eq!(verdict(true, Ecn::Capable, 16.0), Verdict::Mark);
    }
}
