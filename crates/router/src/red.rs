//! Random early detection (Floyd, Jacobson, IEEE/ACM ToN 1, 1993).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §4 | avg ← (1 − w)·avg + w·q for an arrival at a queue | [`Red::average`] |
//! | §4 | avg ← (1 − w)^m·avg, m packets that could have gone while the queue was idle | [`Red::average`] |
//! | §4 | p_b = p_max (avg − min)/(max − min) | [`Red::probability`] |
//! | §4 | p_a = p_b/(1 − count·p_b) | [`Red::spread`] |
//! | §4, bytes | p_b ← p_b · size/mean size | [`Red::probability`] |
//! | Floyd, "gentle", 2000 | from p_max at max to 1 at 2·max | [`Red::probability`] |
//!
//! `q` does not count the packet in transmission, and a queue of one packet or none is never cut:
//! both as in ns-2, whose red.cc was read. With `wait`, as there by default, 1/p_b packets pass
//! after a drop before the next can come: p_a = p_b/(2 − count·p_b). The GWA paper marks above the
//! upper threshold too (§6, note 7): `mark_above`.

use crate::{Backlog, Verdict};
use narrows_signal::Ecn;
use narrows_units::{Duration, Stream};

/// How RED is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Lower threshold: packets, or bytes with `bytes`.
    pub min: f64,
    /// Upper threshold.
    pub max: f64,
    /// Weight of an arrival in the average, a ratio.
    pub weight: f64,
    /// Probability at the upper threshold, a ratio.
    pub p_max: f64,
    /// Above the upper threshold the probability goes on rising to 1; else everything is dropped
    /// there.
    pub gentle: bool,
    /// Marks what can be marked.
    pub ecn: bool,
    /// Marks above the upper threshold too.
    pub mark_above: bool,
    /// Between two drops 1/p packets pass.
    pub wait: bool,
    /// Measures the queue in bytes, and drops packets in proportion to their size.
    pub bytes: bool,
    /// Mean bytes of a packet: for `bytes`, and for how many could have gone while the queue was
    /// idle.
    pub mean_packet: f64,
}

/// RED at work.
#[derive(Clone, Debug)]
pub struct RedQueue {
    red: Red,
    /// Seconds to send a mean packet.
    service: f64,
    average: f64,
    /// Packets since the last drop or mark, or −1 below the lower threshold.
    count: f64,
}

impl RedQueue {
    /// An empty queue in front of a transmitter of `bytes_per_second`.
    pub fn new(red: Red, bytes_per_second: f64) -> Self {
        Self { red, service: red.mean_packet / bytes_per_second, average: 0.0, count: -1.0 }
    }

    /// A packet of `bytes` arrives: `waiting` is before it, without what is in transmission; the
    /// transmitter has been idle for `idle`.
    pub fn judge(
        &mut self,
        waiting: Backlog,
        idle: Duration,
        bytes: u32,
        ecn: Ecn,
        stream: &mut Stream,
    ) -> Verdict {
        let queue = if self.red.bytes { waiting.bytes } else { waiting.packets } as f64;
        self.average(queue, idle);
        if self.average < self.red.min || waiting.packets <= 1 {
            self.count = -1.0;
            return Verdict::Admit;
        }
        self.count += 1.0;
        if self.red.wait && self.count == 0.0 {
            self.count = 1.0;
            return Verdict::Admit;
        }
        let p = self.probability(bytes);
        if stream.uniform() >= self.spread(p) {
            return Verdict::Admit;
        }
        self.count = 0.0;
        let above = self.average >= self.red.max;
        Verdict::congestion(ecn, self.red.ecn && (!above || self.red.mark_above))
    }

    fn average(&mut self, queue: f64, idle: Duration) {
        let weight = self.red.weight;
        if idle > Duration::ZERO {
            self.average *= libm::pow(1.0 - weight, idle.seconds() / self.service);
        }
        self.average += weight * (queue - self.average);
    }

    /// p_b of a packet of `bytes`.
    fn probability(&self, bytes: u32) -> f64 {
        let Red { min, max, p_max, gentle, .. } = self.red;
        let p = if self.average < max {
            p_max * (self.average - min) / (max - min)
        } else if gentle {
            p_max + (1.0 - p_max) * (self.average - max) / max
        } else {
            1.0
        };
        let p =
            if self.red.bytes && p < 1.0 { p * f64::from(bytes) / self.red.mean_packet } else { p };
        p.min(1.0)
    }

    /// p_a: spreads drops evenly instead of geometrically.
    fn spread(&self, p: f64) -> f64 {
        let due = self.count * p;
        match (self.red.wait, due) {
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

    const CLASSIC: Red = Red {
        min: 5.0,
        max: 15.0,
        weight: 0.25,
        p_max: 0.1,
        gentle: false,
        ecn: false,
        mark_above: false,
        wait: false,
        bytes: false,
        mean_packet: 1000.0,
    };

    fn queue(red: Red) -> RedQueue {
        RedQueue::new(red, 1e6) // a packet a millisecond
    }

    fn waiting(packets: u64) -> Backlog {
        Backlog { packets, bytes: packets * 1000 }
    }

    #[test]
    fn the_average_is_that_of_a_trace_worked_out_by_hand() {
        let mut red = queue(CLASSIC);
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
        // 0; 0.25·8 = 2; 0.75·2 + 2 = 3.5; 0.75·3.5 + 1 = 3.625; two packets' time idle:
        // 0.75²·3.625 = 2.0390625, then 0.75 of that.
        assert_eq!(averages, [0.0, 2.0, 3.5, 3.625, 1.529_296_875]);
    }

    #[test]
    fn probabilities_are_those_worked_out_by_hand() {
        let at = |red: Red, average: f64, count: f64| {
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
        near(at(CLASSIC, 10.0, 0.0), (0.05, 0.05));
        near(at(CLASSIC, 10.0, 10.0), (0.05, 0.1)); // 0.05/(1 − 0.5)
        near(at(CLASSIC, 10.0, 20.0), (0.05, 1.0));
        near(at(CLASSIC, 15.0, 0.0), (1.0, 1.0));
        near(at(Red { gentle: true, ..CLASSIC }, 22.5, 0.0), (0.55, 0.55)); // half of the way from 0.1 to 1
        near(at(Red { wait: true, ..CLASSIC }, 10.0, 19.0), (0.05, 0.0));
        near(at(Red { wait: true, ..CLASSIC }, 10.0, 30.0), (0.05, 0.1)); // 0.05/(2 − 1.5)
        near(
            at(Red { bytes: true, min: 5000.0, max: 15_000.0, ..CLASSIC }, 10_000.0, 0.0),
            (0.025, 0.025),
        ); // half a mean packet
    }

    #[test]
    fn a_steady_average_drops_one_packet_in_as_many_as_the_paper_says() {
        // Drops spread evenly over 1 … 1/p_b packets: (1/p_b + 1)/2 apart (§7.2: X uniform, mean
        // 1/(2p) + 1/2).
        for (wait, gap) in [(false, (20.0 + 1.0) / 2.0), (true, 20.0 + (20.0 + 1.0) / 2.0 - 1.0)] {
            let mut red = queue(Red { weight: 1e-9, wait, ..CLASSIC });
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

    #[test]
    fn what_is_capable_is_marked_between_the_thresholds_and_above_them_only_if_so_told() {
        let verdict = |red: Red, ecn, average| {
            let mut red = queue(Red { ecn: true, weight: 1e-9, p_max: 1.0, ..red });
            (red.average, red.count) = (average, 1e9);
            red.judge(waiting(10), Duration::ZERO, 1000, ecn, &mut Stream::new(1, 1, 1))
        };
        assert_eq!(verdict(CLASSIC, Ecn::Capable, 10.0), Verdict::Mark);
        assert_eq!(verdict(CLASSIC, Ecn::NotCapable, 10.0), Verdict::Drop);
        assert_eq!(verdict(CLASSIC, Ecn::Capable, 16.0), Verdict::Drop);
        assert_eq!(verdict(Red { mark_above: true, ..CLASSIC }, Ecn::Capable, 16.0), Verdict::Mark);
    }
}
