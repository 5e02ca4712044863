//! Tells a queue that marks as classic queues do from one that marks at once, by how the RTT varies
//! (Briscoe, Ahmed: "TCP Prague fall-back on detection of a classic ECN AQM", arXiv:1911.00710, v2
//! of the algorithm), as Linux had it: `prague_classic_ecn_detection`,
//! `prague_classic_ecn_fallback` and `prague_rtt_estimator` in net/ipv4/tcp_prague.c 0.6.
//!
//! | source | equation | here |
//! |---|---|---|
//! | `prague_rtt_estimator` | srtt ← srtt + (rtt − srtt)/2^s, mdev ← mdev + (abs(rtt − srtt) − mdev)/2^(s+1), for each sample | [`Classic::sample`] |
//! | `prague_update_rtt_scaling` | s = k + ⌊k/2⌋ + 1 with k = ⌊lg ssthresh⌋, at most 18 | [`Classic::averages_over`] |
//! | `prague_classic_ecn_detection` | c ← c + V·lg(mdev/V₀) + D·lg(max(d/D₀, 1)), with d = srtt − least RTT, V = D = ½, V₀ = 750 µs, D₀ = 2 ms, between 0 and 17, once per update of α | [`Classic::end_round`] |
//! | `prague_classic_ecn_fallback` | α is at least 5/8 of what c is above 8, at most of 1 | [`Classic::alpha`] |
//!
//! Departures: logarithms are exact, where Linux carries the remainders of whole ones. What Linux
//! has in a comment only, that a flow limited by its application counts less, is left out. V₀ and
//! D₀ are those of the comments and of α with 20 bits; with 24 bits Linux's numbers, which were not
//! scaled with them, were taken for 1.5 and 1.6 µs, so that every queue was a classic one
//! (github.com/Greenscreen23/prague-fallback-experiments).

use narrows_units::Duration;

/// Weights of the variation and of the depth (`V`, `D`).
const V: f64 = 0.5;
const D: f64 = 0.5;
/// Up to here the queue is taken for an L4S one (`L_STICKY`).
const L_STICKY: f64 = 8.0;
/// c is at most that much above `L_STICKY`, of which the first unit counts (`C_STICKY`).
const MOST: f64 = L_STICKY + 1.0 + 8.0;
/// The largest s (`PRAGUE_MAX_SRTT_BITS`).
const MOST_BITS: f64 = 18.0;
/// The share of a classic queue's α: Reno friendliness (`c * ~0.6`).
const FRIENDLY: f64 = 0.625;
/// The variation at first, and the least that counts, in seconds.
const MICROSECOND: f64 = 1e-6;

/// What is known of the variation of the RTT.
#[derive(Clone, Debug)]
pub struct Classic {
    /// Variation and depth of a reference queue, in seconds (`V0_LG`, `D0_LG`).
    reference: (f64, f64),
    /// s.
    bits: f64,
    /// In seconds; `None` until there is a sample.
    smoothed: Option<f64>,
    /// In seconds.
    deviation: f64,
    /// c.
    score: f64,
}

impl Classic {
    /// Nothing is known; queues are compared with one of this variation and depth.
    pub fn new(variation: Duration, depth: Duration) -> Self {
        let reference = (variation.seconds(), depth.seconds());
        Self { reference, bits: MOST_BITS, smoothed: None, deviation: MICROSECOND, score: 0.0 }
    }

    /// c: 0 for a queue that is surely L4S, 17 for one that is surely classic; from 8 on it counts.
    pub fn score(&self) -> f64 {
        self.score
    }

    /// Averages are taken over a number of samples that grows with a threshold of `ssthresh`
    /// packets.
    pub fn averages_over(&mut self, ssthresh: f64) {
        let k = ssthresh.max(1.0).log2().floor();
        self.bits = (k + (k / 2.0).floor() + 1.0).min(MOST_BITS);
    }

    /// A packet was answered `rtt` seconds after it left.
    pub fn sample(&mut self, rtt: f64) {
        let Some(smoothed) = &mut self.smoothed else {
            self.smoothed = Some(rtt);
            return;
        };
        let gain = (-self.bits).exp2();
        let error = rtt - *smoothed;
        *smoothed += gain * error;
        self.deviation += gain / 2.0 * (error.abs() - self.deviation);
    }

    /// A round has ended; the least RTT is `least` seconds.
    pub fn end_round(&mut self, least: f64) {
        let Some(smoothed) = self.smoothed else { return };
        let (variation, depth) = self.reference;
        let varies = V * (self.deviation.max(MICROSECOND) / variation).log2();
        let is_deep = D * ((smoothed - least) / depth).max(1.0).log2();
        self.score = (self.score + varies + is_deep).clamp(0.0, MOST);
    }

    /// The α to answer a mark with, given Prague's own (ratios).
    pub fn alpha(&self, alpha: f64) -> f64 {
        alpha.max(FRIENDLY * (self.score - L_STICKY).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_linux() -> Classic {
        Classic::new(Duration::from_micros(750), Duration::from_micros(2000))
    }

    /// With the constants of L4STeam/linux#38 the same shallow queue counts as classic.
    #[test]
    fn a_reference_of_microseconds_takes_every_queue_for_a_classic_one() {
        let shallow = |variation, depth| {
            let mut classic = Classic::new(variation, depth);
            classic.averages_over(256.0);
            for n in 0..200_000 {
                classic.sample(0.02 + if n % 2 == 0 { 1e-3 } else { 0.0 });
            }
            (0..100).for_each(|_| classic.end_round(0.02));
            classic.score()
        };
        assert_eq!(shallow(Duration::from_micros(750), Duration::from_micros(2000)), 0.0);
        assert_eq!(shallow(Duration::from_micros(2), Duration::from_micros(2)), 17.0);
    }

    /// Samples of 20 ms, every second one longer by `above` seconds, of 200,000 packets; then
    /// `rounds`.
    fn after(above: f64, rounds: u32) -> Classic {
        let mut classic = of_linux();
        classic.averages_over(256.0);
        for n in 0..200_000 {
            classic.sample(0.02 + if n % 2 == 0 { above } else { 0.0 });
        }
        (0..rounds).for_each(|_| classic.end_round(0.02));
        classic
    }

    #[test]
    fn a_shallow_queue_stays_l4s() {
        // Half of 1 ms of variation is below 750 µs, and 0.5 ms of queue below 2 ms.
        let classic = after(1e-3, 100);
        assert_eq!((classic.score(), classic.alpha(0.1)), (0.0, 0.1));
    }

    #[test]
    fn a_deep_queue_becomes_classic_at_the_rate_of_the_logarithms() {
        // mdev 6 ms is 2³·V₀: 3/2 per round. The mean queue, 6 ms, is 3·D₀: lg(3)/2 = 0.79 per
        // round. After 3 rounds 6.9, after 4 rounds 9.2: above 9 the whole of 0.625.
        let scores = [1, 3, 4, 100].map(|rounds| after(12e-3, rounds));
        for (classic, expected) in scores.iter().zip([2.2925, 6.8774, 9.1699, 17.0]) {
            assert!((classic.score() - expected).abs() < 0.01, "{}", classic.score());
        }
        assert_eq!(scores.map(|classic| classic.alpha(0.0)), [0.0, 0.0, 0.625, 0.625]);
    }

    #[test]
    fn averages_are_longer_for_larger_windows() {
        let bits = |ssthresh| {
            let mut classic = of_linux();
            classic.averages_over(ssthresh);
            classic.bits
        };
        // lg 10 = 3.3, lg 100 = 6.6; 13 + 6 + 1 is above 18.
        assert_eq!([10.0, 100.0, 8192.0, f64::INFINITY].map(bits), [5.0, 10.0, 18.0, 18.0]);
    }
}
