//! Round-trip times (RFC 9002, §5).

use super::GRANULARITY;
use narrows_control::Rtt;
use narrows_units::{Duration, Time};

/// kInitialRtt (§6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// The least RTT, a nanosecond. A sample of 0 says that the clock was too coarse: no path takes no
/// time, and controllers divide by the RTT.
const LEAST_RTT: Duration = Duration::from_picos(1000);

/// smoothed_rtt, rttvar, min_rtt and latest_rtt.
#[derive(Clone, Debug, Default)]
pub(super) struct RttEstimator {
    estimate: Option<Rtt>,
    /// rttvar.
    variation: Duration,
    /// When the first sample was taken (first_rtt_sample).
    first_sample: Time,
}

impl RttEstimator {
    /// Takes a sample, `latest`, at `now`: the largest packet acknowledged left that long ago, and
    /// its receiver waited for `ack_delay`, of which no more than `max_ack_delay` counts (§5.2,
    /// §5.3).
    pub fn sample(
        &mut self,
        now: Time,
        latest: Duration,
        ack_delay: Duration,
        max_ack_delay: Duration,
    ) {
        let latest = latest.max(LEAST_RTT);
        let Some(rtt) = &mut self.estimate else {
            self.estimate =
                Some(Rtt { latest, smoothed: latest, minimum: latest, maximum: latest });
            self.variation = Duration::from_picos(latest.picos() / 2);
            self.first_sample = now;
            return;
        };
        rtt.latest = latest;
        // §5.2: min_rtt ignores the delay of acknowledgements.
        rtt.minimum = rtt.minimum.min(latest);
        rtt.maximum = rtt.maximum.max(latest);
        let ack_delay = ack_delay.min(max_ack_delay);
        // §5.3: not if the result would be smaller than min_rtt.
        let plausible = latest >= rtt.minimum + ack_delay;
        let adjusted = if plausible { latest - ack_delay } else { latest }.picos();
        let (smoothed, variation) = (rtt.smoothed.picos(), self.variation.picos());
        // rttvar first, from the smoothed_rtt of before, as in appendix A.7 and RFC 6298 §2.3; the
        // pseudocode of §5.3 has them the other way round.
        let deviation = smoothed.abs_diff(adjusted);
        self.variation = Duration::from_picos(variation - variation / 4 + deviation / 4);
        rtt.smoothed = Duration::from_picos(smoothed - smoothed / 8 + adjusted / 8);
    }

    /// The current estimate; `None` until there is a sample.
    pub fn estimate(&self) -> Option<Rtt> {
        self.estimate
    }

    /// smoothed_rtt + max(4·rttvar, kGranularity) + max_ack_delay: the probe timeout without
    /// back-off (§6.2.1). Without a sample, of the initial RTT: 333 + 4·166.5 ms.
    pub fn probe_timeout(&self, max_ack_delay: Duration) -> Duration {
        let (smoothed, variation) = match &self.estimate {
            Some(rtt) => (rtt.smoothed, self.variation),
            None => (INITIAL_RTT, Duration::from_picos(INITIAL_RTT.picos() / 2)),
        };
        smoothed + GRANULARITY.max(variation * 4) + max_ack_delay
    }

    /// The time after which a packet that left before one that was acknowledged is lost: 9/8 of the
    /// larger of smoothed_rtt and latest_rtt, at least kGranularity (§6.1.2).
    pub fn loss_delay(&self) -> Duration {
        let rtt = self.estimate.map_or(INITIAL_RTT, |rtt| rtt.smoothed.max(rtt.latest));
        Duration::from_picos(rtt.picos() + rtt.picos() / 8).max(GRANULARITY)
    }

    /// True if there was a sample when a packet left at `sent` (§7.6.2).
    pub fn was_known(&self, sent: Time) -> bool {
        self.estimate.is_some() && sent > self.first_sample
    }

    /// Persistent congestion is established: min_rtt is the newest sample (§5.2).
    pub fn restart_minimum(&mut self) {
        if let Some(rtt) = &mut self.estimate {
            rtt.minimum = rtt.latest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn after(samples: &[(u64, u64)]) -> RttEstimator {
        let mut rtt = RttEstimator::default();
        for (latest, ack_delay) in samples {
            rtt.sample(Time::ZERO, ms(*latest), ms(*ack_delay), MAX_ACK_DELAY);
        }
        rtt
    }

    fn smoothed(samples: &[(u64, u64)]) -> Duration {
        after(samples).estimate().expect("there are samples").smoothed
    }

    #[test]
    fn before_a_sample_the_timeout_is_a_second() {
        assert_eq!(after(&[]).probe_timeout(ms(0)), ms(999), "333 + 4·166.5 (§6.2.2)");
    }

    /// §5.3 by hand.
    #[test]
    fn the_delay_of_acknowledgements_is_taken_off() {
        assert_eq!(smoothed(&[(100, 20)]), ms(100), "the first sample is taken as it is");
        // 124 − 24 = 100 ≥ min_rtt.
        assert_eq!(smoothed(&[(100, 0), (124, 24)]), ms(100));
        // 116 − 24 would be below min_rtt: 7/8·100 + 1/8·116.
        assert_eq!(smoothed(&[(100, 0), (116, 24)]), ms(102));
        // No more than max_ack_delay: 7/8·100 + 1/8·(133 − 25).
        assert_eq!(smoothed(&[(100, 0), (133, 90)]), ms(101));
    }

    /// §5.3: the result is not below min_rtt, here the nanosecond of a handshake that took 0.
    #[test]
    fn no_delay_of_acknowledgements_makes_an_rtt_of_0() {
        let rtt = after(&[(0, 0), (24, 24)]).estimate().expect("there are samples");
        assert_eq!((rtt.minimum, rtt.latest), (LEAST_RTT, ms(24)));
        assert!(rtt.smoothed > LEAST_RTT, "7/8·1 ns + 1/8·24 ms: 24 − 24 is below min_rtt");
        assert_eq!(smoothed(&[(0, 0), (0, 0)]), LEAST_RTT);
    }

    #[test]
    fn the_least_rtt_ignores_the_delay_of_acknowledgements() {
        let rtt = after(&[(100, 0), (125, 25), (90, 25)]).estimate().expect("there are samples");
        assert_eq!((rtt.minimum, rtt.latest, rtt.maximum), (ms(90), ms(90), ms(125)));
    }

    /// §6.2.1: after 100 ms 100 + 4·50 + 25; then rttvar = 3/4·50 + 1/4·80 and smoothed_rtt = 110.
    #[test]
    fn the_probe_timeout_is_that_of_the_rfc() {
        assert_eq!(after(&[(100, 0)]).probe_timeout(MAX_ACK_DELAY), ms(325));
        let then = after(&[(100, 0), (180, 0)]).probe_timeout(MAX_ACK_DELAY);
        assert_eq!(then, Duration::from_micros(110_000 + 4 * 57_500 + 25_000));
        let steady = after(&[(100, 0); 200]).probe_timeout(MAX_ACK_DELAY);
        assert_eq!(steady.picos() / 1_000_000_000, 126, "100 + 1 + 25: at least kGranularity");
    }

    #[test]
    fn the_time_threshold_is_that_of_the_rfc() {
        assert_eq!(after(&[(80, 0)]).loss_delay(), ms(90), "9/8·80");
        assert_eq!(after(&[(80, 0), (160, 0)]).loss_delay(), ms(180), "9/8 of the latest");
        assert_eq!(after(&[(160, 0), (80, 0)]).loss_delay(), Duration::from_micros(168_750));
        let mut short = RttEstimator::default();
        short.sample(Time::ZERO, Duration::from_micros(100), ms(0), MAX_ACK_DELAY);
        assert_eq!(short.loss_delay(), ms(1), "kGranularity");
    }
}
