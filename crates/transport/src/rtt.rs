//! Round-trip time and retransmission timeout: RFC 6298's, and Linux's, whose least timeout bounds
//! the variation instead of the sum.

use narrows_control::Rtt;
use narrows_units::Duration;

/// Smoothed RTT, its variation, and the timeout with its back-off.
#[derive(Clone, Debug, Default)]
pub struct RttEstimator {
    estimate: Option<Rtt>,
    /// RTTVAR of RFC 6298; with [`Least::OfVariation`] Linux's `mdev`.
    variation: Duration,
    linux: Bounded,
    /// The timeout since the last sample, without back-off.
    settled: Duration,
    backoff: u32,
}

/// What Linux keeps besides (`tcp_rtt_estimator`, net/ipv4/tcp_input.c), each four times a
/// deviation, as in `mdev_us`.
#[derive(Clone, Copy, Debug, Default)]
struct Bounded {
    /// `rttvar_us`, what the timeout adds to the smoothed RTT.
    added: Duration,
    /// `mdev_max_us`, the largest of this round trip, and at least the least timeout.
    largest: Duration,
    /// `rtt_seq`: the round trip is over once everything below is acknowledged.
    round_ends: u64,
}

/// How long a retransmission timer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The timeout before the first RTT sample.
    pub initial: Duration,
    /// The smallest timeout, or what Linux adds to the smoothed RTT at least.
    pub least: Duration,
    /// Which of them `least` is.
    pub least_is: Least,
    /// The longest timeout that back-off leads to.
    pub longest: Duration,
    /// How often back-off doubles a timeout at most.
    pub doublings: u32,
    /// The granularity of the clock (G of RFC 6298).
    pub granularity: Duration,
    /// If true, an RTT sample is a whole number of `granularity`, to the nearest and at least one
    /// (`TcpAgent::rtt_update` of ns-2), for the timer and for all who ask for the RTT:
    /// `XcpEndsys::rtt_update` of ns-2 has it in ticks, too.
    pub whole_ticks: bool,
    /// If true, the estimate is kept in whole eighths and its variation in whole quarters of
    /// `granularity` (`TcpAgent::rtt_update` of ns-2, after BSD's `tcp_xmit_timer`).
    pub integers: bool,
}

/// What the least timeout bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Least {
    /// The timeout, SRTT + 4·RTTVAR (RFC 6298 §2.4).
    OfTimeout,
    /// Four times the variation, so that the timeout is at least SRTT more (`tcp_rtt_estimator` and
    /// `__tcp_set_rto` of Linux).
    OfVariation,
}

/// What is outstanding when a sample is taken.
#[derive(Clone, Copy, Debug)]
pub struct Outstanding {
    /// The lowest number that is not acknowledged.
    pub first: u64,
    /// One past the highest number sent.
    pub end: u64,
}

impl Timeouts {
    fn in_whole_ticks(&self, rtt: Duration) -> Duration {
        let tick = self.granularity.picos();
        self.granularity * ((rtt.picos() + tick / 2) / tick).max(1)
    }

    /// SRTT and RTTVAR after a sample of `rtt`: t_srtt_ in eighths and t_rttvar_ in quarters of a
    /// tick, whose shifts drop what is less than a tick, so the variation does not die out.
    fn by_integers(&self, rtt: Duration, srtt: Duration, rttvar: Duration) -> (Duration, Duration) {
        let tick = self.granularity.picos();
        let units = |time: Duration, per_tick| ((time.picos() * per_tick + tick / 2) / tick) as i64;
        let (mut srtt, mut rttvar) = (units(srtt, 8), units(rttvar, 4));
        let delta = units(rtt, 1) - (srtt >> 3);
        srtt = (srtt + delta).max(1);
        rttvar = (rttvar + delta.abs() - (rttvar >> 2)).max(1);
        let time = |units: i64, per_tick| Duration::from_picos(units as u64 * tick / per_tick);
        (time(srtt, 8), time(rttvar, 4))
    }
}

impl RttEstimator {
    /// Takes a sample (§2.2, §2.3).
    pub fn sample(&mut self, rtt: Duration, timeouts: &Timeouts, outstanding: Outstanding) {
        self.take(rtt, timeouts, outstanding);
        if let Some(estimate) = self.estimate {
            self.settled = self.settle(estimate.smoothed, timeouts);
        }
    }

    #[inline]
    fn take(&mut self, rtt: Duration, timeouts: &Timeouts, outstanding: Outstanding) {
        let rtt = if timeouts.whole_ticks { timeouts.in_whole_ticks(rtt) } else { rtt };
        let Some(estimate) = &mut self.estimate else {
            self.estimate = Some(Rtt { latest: rtt, smoothed: rtt, minimum: rtt, maximum: rtt });
            self.variation = Duration::from_picos(rtt.picos() / 2);
            let added = (rtt * 2).max(timeouts.least);
            self.linux = Bounded { added, largest: added, round_ends: outstanding.end };
            return;
        };
        estimate.latest = rtt;
        estimate.minimum = estimate.minimum.min(rtt);
        estimate.maximum = estimate.maximum.max(rtt);
        if timeouts.integers {
            let (srtt, rttvar) = timeouts.by_integers(rtt, estimate.smoothed, self.variation);
            (estimate.smoothed, self.variation) = (srtt, rttvar);
            return;
        }
        let (r, srtt, rttvar) = (rtt.picos(), estimate.smoothed.picos(), self.variation.picos());
        let deviation = srtt.abs_diff(r);
        // RTTVAR ← 3/4 RTTVAR + 1/4 |SRTT − R'|, then SRTT ← 7/8 SRTT + 1/8 R', in whole
        // picoseconds. Linux lets a falling RTT raise the variation by an eighth of that only.
        let eased = timeouts.least_is == Least::OfVariation && r < srtt && deviation > rttvar;
        self.variation = Duration::from_picos(if eased {
            rttvar + (deviation - rttvar) / 32
        } else {
            rttvar - rttvar / 4 + deviation / 4
        });
        estimate.smoothed = Duration::from_picos(srtt - srtt / 8 + r / 8);
        if timeouts.least_is == Least::OfVariation {
            self.linux.sample(self.variation * 4, timeouts.least, outstanding);
        }
    }

    /// The current RTT estimate; `None` until there is a sample.
    #[inline]
    pub fn estimate(&self) -> Option<Rtt> {
        self.estimate
    }

    /// SRTT + max(G, 4·RTTVAR), within bounds (§2.3, §2.4), or Linux's.
    fn settle(&self, srtt: Duration, timeouts: &Timeouts) -> Duration {
        match timeouts.least_is {
            Least::OfTimeout if timeouts.integers => {
                // t_rtxcur_: the sum, rounded down to whole ticks.
                let tick = timeouts.granularity.picos();
                let sum = srtt + self.variation * 4;
                Duration::from_picos(sum.picos() / tick * tick).max(timeouts.least)
            }
            Least::OfTimeout => {
                (srtt + timeouts.granularity.max(self.variation * 4)).max(timeouts.least)
            }
            Least::OfVariation => srtt + self.linux.added,
        }
    }

    /// The timeout as of the last sample, with back-off (§5.5); before the first, the initial one
    /// of `timeouts`.
    #[inline]
    pub fn timeout(&self, timeouts: &Timeouts) -> Duration {
        let timeout = if self.estimate.is_some() { self.settled } else { timeouts.initial };
        if self.backoff == 0 { timeout } else { self.back_off_from(timeout, timeouts) }
    }

    #[cold]
    fn back_off_from(&self, timeout: Duration, timeouts: &Timeouts) -> Duration {
        let doublings = self.backoff.min(timeouts.doublings);
        (timeout * (1 << doublings)).min(timeouts.longest.max(timeout))
    }

    /// Ends the back-off (§5.7).
    pub fn end_back_off(&mut self) {
        self.backoff = 0;
    }

    /// Doubles the next timeout, because the timer has expired (§5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }
}

impl Bounded {
    /// Takes four times the deviation after a sample. What is added grows at once, and shrinks by a
    /// quarter of the difference per round trip.
    fn sample(&mut self, deviation: Duration, least: Duration, outstanding: Outstanding) {
        if deviation > self.largest {
            self.largest = deviation;
            self.added = self.added.max(deviation);
        }
        if outstanding.first > self.round_ends {
            let excess = self.added.saturating_sub(self.largest);
            self.added = self.added.saturating_sub(excess.scale(0.25));
            self.round_ends = outstanding.end;
            self.largest = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Habits;

    const NOTHING: Outstanding = Outstanding { first: 0, end: 0 };

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_numbers_are_those_of_rfc_6298() {
        let timeouts = Timeouts { initial: ms(1000), ..Habits::NS2.timeouts };
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.timeout(&timeouts), ms(1000), "§2.1");
        rtt.sample(ms(100), &timeouts, NOTHING);
        assert_eq!(rtt.timeout(&timeouts), ms(300), "§2.2: 100 + 4·50");
        rtt.sample(ms(180), &timeouts, NOTHING);
        // §2.3: RTTVAR = 3/4·50 + 1/4·80 = 57.5; SRTT = 7/8·100 + 1/8·180 = 110.
        assert_eq!(rtt.timeout(&timeouts), Duration::from_micros(110_000 + 4 * 57_500));
        let estimate = rtt.estimate().unwrap();
        assert_eq!(
            (estimate.smoothed, estimate.minimum, estimate.maximum),
            (ms(110), ms(100), ms(180))
        );
    }

    #[test]
    fn the_timeout_doubles_up_to_sixty_seconds_and_a_sample_ends_that() {
        let timeouts = Timeouts { initial: ms(1000), ..Habits::NS2.timeouts };
        let mut rtt = RttEstimator::default();
        (0..40).for_each(|_| rtt.sample(ms(20), &timeouts, NOTHING));
        let mut found = Vec::new();
        for _ in 0..10 {
            found.push(rtt.timeout(&timeouts));
            rtt.back_off();
        }
        let expected = [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000].map(ms);
        assert_eq!(found, expected);
        rtt.end_back_off();
        assert_eq!(rtt.timeout(&timeouts), ms(200));
    }

    /// 6 s before the first sample, 64 times that at most: `t_backoff_ << 6` of ns-2.28.
    #[test]
    fn ns2_of_2005_backs_off_sixty_four_times_and_no_further() {
        let timeouts = Habits::NS2_2005.timeouts;
        let mut rtt = RttEstimator::default();
        let mut after = |expiries: u32| {
            (0..expiries).for_each(|_| rtt.back_off());
            rtt.timeout(&timeouts)
        };
        assert_eq!(
            [after(0), after(5), after(1), after(9)].map(|it| it.picos() / 1_000_000_000_000),
            [6, 192, 384, 384]
        );
    }

    /// ns-2's `int(tao / tcp_tick_ + 0.5)`, at least 1.
    #[test]
    fn a_coarse_clock_samples_whole_ticks() {
        let granularity = ms(100);
        let timeouts = Timeouts { granularity, whole_ticks: true, ..Habits::NS2.timeouts };
        let sampled = |rtt| {
            let mut estimator = RttEstimator::default();
            estimator.sample(rtt, &timeouts, NOTHING);
            estimator.estimate().map(|rtt| rtt.smoothed)
        };
        assert_eq!(
            [ms(1), ms(100), ms(149), ms(150), ms(250)].map(sampled),
            [ms(100), ms(100), ms(100), ms(200), ms(300)].map(Some)
        );
    }

    /// By hand, in ticks of 100 ms: t_srtt_ = 8 and t_rttvar_ = 2 after the first sample of one
    /// tick; then δ = 0 and 2 >> 2 = 0, so nothing moves and the timeout stays (2·8 + 8) >> 3 = 3.
    /// A sample of 4 ticks: δ = 3, t_srtt_ = 11, t_rttvar_ = 5, and (5·8 + 11) >> 3 = 6. One tick
    /// again: δ = 1 − (11 >> 3) = 0, t_rttvar_ = 5 − 1 = 4: (32 + 11) >> 3 = 5.
    #[test]
    fn integers_keep_the_timeout_at_three_ticks() {
        let granularity = ms(100);
        let coarse = Timeouts { granularity, whole_ticks: true, ..Habits::NS2.timeouts };
        let timeouts = Timeouts { integers: true, ..coarse };
        let (mut whole, mut exact) = (RttEstimator::default(), RttEstimator::default());
        for _ in 0..50 {
            whole.sample(ms(2), &timeouts, NOTHING);
            exact.sample(ms(2), &coarse, NOTHING);
            assert_eq!(whole.timeout(&timeouts), ms(300));
        }
        assert_eq!(exact.timeout(&coarse).picos() / 1_000_000_000, 200);
        whole.sample(ms(400), &timeouts, NOTHING);
        assert_eq!(whole.timeout(&timeouts), ms(600));
        whole.sample(ms(2), &timeouts, NOTHING);
        assert_eq!(whole.timeout(&timeouts), ms(500));
    }

    #[test]
    fn with_a_steady_rtt_the_granularity_keeps_the_timeout_apart() {
        let timeouts = Timeouts { least: ms(0), ..Habits::NS2.timeouts };
        let mut rtt = RttEstimator::default();
        (0..200).for_each(|_| rtt.sample(ms(300), &timeouts, NOTHING));
        assert_eq!(rtt.timeout(&timeouts).picos() / 1_000_000_000, 310);
    }

    /// `tcp_rtt_estimator` by hand: mdev = 2R at first; then SRTT ← 7/8 SRTT + 1/8 R and
    /// mdev ← 3/4 mdev + |SRTT − R|, both as Linux scales them, in milliseconds.
    #[test]
    fn linux_adds_at_least_the_least_timeout_to_the_smoothed_rtt() {
        let timeouts = Habits::LINUX.timeouts;
        let after = |samples: &[u64]| {
            let mut rtt = RttEstimator::default();
            samples.iter().for_each(|millis| rtt.sample(ms(*millis), &timeouts, NOTHING));
            rtt.timeout(&timeouts)
        };
        assert_eq!(after(&[20]), ms(220), "20 + max(2·20, 200)");
        assert_eq!(after(&[100]), ms(300), "100 + 2·100");
        assert_eq!(after(&[250]), ms(750), "250 + 2·250");
        assert_eq!(after(&[100, 180]), ms(340), "110 + (200 − 50 + 80)");
        assert_eq!(after(&[100, 20]), Duration::from_micros(293_750), "90 + 200 + (80 − 50)/8");
    }

    #[test]
    fn what_linux_adds_shrinks_by_a_quarter_of_the_difference_per_round_trip() {
        let timeouts = Habits::LINUX.timeouts;
        let mut rtt = RttEstimator::default();
        let mut sample = |first| {
            rtt.sample(ms(250), &timeouts, Outstanding { first, end: first + 10 });
            rtt.timeout(&timeouts)
        };
        // rtt_seq is 10, mdev_max 500; mdev falls to 375 and on.
        assert_eq!(sample(0), ms(750));
        assert_eq!(sample(10), ms(750), "the round trip is over above 10");
        assert_eq!(sample(11), ms(750), "its largest was 500; the next round's least is 200");
        assert_eq!(sample(12), ms(750));
        // The largest deviation of that round, at 12, was 500·(3/4)³ = 210.9.
        let mut found = sample(22);
        assert_eq!(found.picos() / 1_000_000_000, 677, "250 + 500 − (500 − 210.9)/4");
        for round in 3..60 {
            found = sample(round * 11);
        }
        assert!(found > ms(450) && found < ms(451), "250 + 200 in the end: {found}");
    }
}
