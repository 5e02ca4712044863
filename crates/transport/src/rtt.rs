//! Round-trip time and retransmission timeout (RFC 6298).

use narrows_control::Rtt;
use narrows_units::Duration;

/// The estimator of RFC 6298: smoothed RTT, its variation, and the timeout with its back-off.
#[derive(Clone, Debug, Default)]
pub struct RttEstimator {
    estimate: Option<Rtt>,
    variation: Duration,
    backoff: u32,
}

/// How long a retransmission timer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The timeout before the first RTT sample.
    pub initial: Duration,
    /// The smallest timeout.
    pub least: Duration,
    /// The granularity of the clock (G of RFC 6298).
    pub granularity: Duration,
}

/// RFC 6298 §2.5 allows a bound of at least 60 s.
const LONGEST_TIMEOUT: Duration = Duration::from_millis(60_000);

impl RttEstimator {
    /// Takes a sample (§2.2, §2.3) and ends the back-off (§5.7).
    pub fn sample(&mut self, rtt: Duration) {
        self.backoff = 0;
        let Some(estimate) = &mut self.estimate else {
            self.estimate = Some(Rtt { latest: rtt, smoothed: rtt, minimum: rtt, maximum: rtt });
            self.variation = Duration::from_picos(rtt.picos() / 2);
            return;
        };
        let (r, srtt, rttvar) = (rtt.picos(), estimate.smoothed.picos(), self.variation.picos());
        // RTTVAR ← 3/4 RTTVAR + 1/4 |SRTT − R'|, then SRTT ← 7/8 SRTT + 1/8 R', in whole
        // picoseconds.
        self.variation = Duration::from_picos(rttvar - rttvar / 4 + srtt.abs_diff(r) / 4);
        estimate.smoothed = Duration::from_picos(srtt - srtt / 8 + r / 8);
        estimate.latest = rtt;
        estimate.minimum = estimate.minimum.min(rtt);
        estimate.maximum = estimate.maximum.max(rtt);
    }

    /// The current RTT estimate; `None` until there is a sample.
    pub fn estimate(&self) -> Option<Rtt> {
        self.estimate
    }

    /// The timeout, back-off included: SRTT + max(G, 4·RTTVAR), within bounds (§2.3, §2.4, §5.5).
    pub fn timeout(&self, timeouts: &Timeouts) -> Duration {
        let timeout = match &self.estimate {
            None => timeouts.initial,
            Some(rtt) => {
                (rtt.smoothed + timeouts.granularity.max(self.variation * 4)).max(timeouts.least)
            }
        };
        (timeout * (1 << self.backoff)).min(LONGEST_TIMEOUT.max(timeout))
    }

    /// Doubles the next timeout, because the timer has expired (§5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Habits;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_numbers_are_those_of_rfc_6298() {
        let timeouts = Timeouts { initial: ms(1000), ..Habits::NS2.timeouts };
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.timeout(&timeouts), ms(1000), "§2.1");
        rtt.sample(ms(100));
        assert_eq!(rtt.timeout(&timeouts), ms(300), "§2.2: 100 + 4·50");
        rtt.sample(ms(180));
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
        (0..40).for_each(|_| rtt.sample(ms(20)));
        let mut found = Vec::new();
        for _ in 0..10 {
            found.push(rtt.timeout(&timeouts));
            rtt.back_off();
        }
        let expected = [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000].map(ms);
        assert_eq!(found, expected);
        rtt.sample(ms(20));
        assert_eq!(rtt.timeout(&timeouts), ms(200));
    }

    #[test]
    fn with_a_steady_rtt_the_granularity_keeps_the_timeout_apart() {
        let timeouts = Timeouts { least: ms(0), ..Habits::NS2.timeouts };
        let mut rtt = RttEstimator::default();
        (0..200).for_each(|_| rtt.sample(ms(300)));
        assert_eq!(rtt.timeout(&timeouts).picos() / 1_000_000_000, 310);
    }
}
