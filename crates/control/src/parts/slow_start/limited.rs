//! Limited slow start (RFC 3742).

/// Slow start that gains at most half of `max_ssthresh` packets per round trip.
#[derive(Clone, Copy, Debug)]
pub struct Limited {
    max_ssthresh: f64,
}

impl Limited {
    /// Standard slow start up to `max_ssthresh` packets; RFC 3742 §2 gives 100 as an example.
    pub const fn new(max_ssthresh: f64) -> Self {
        Self { max_ssthresh }
    }

    /// W ← W + n/K with K = ⌊W/(max_ssthresh/2)⌋, above max_ssthresh (RFC 3742 §2).
    pub(super) fn increase(self, window: f64, packets: f64) -> f64 {
        if window <= self.max_ssthresh {
            return window + packets;
        }
        let k = (window / (0.5 * self.max_ssthresh)).floor();
        window + packets / k
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_the_rfcs() {
        let limited = Limited::new(100.0);
        // Up to 100 standard slow start; from 100 to 150 K = 2; at 1000 K = 20.
        assert_eq!(limited.increase(100.0, 1.0), 101.0);
        assert_eq!(limited.increase(101.0, 1.0), 101.5);
        assert_eq!(limited.increase(1000.0, 2.0), 1000.1);
    }

    #[test]
    fn doubling_from_100_takes_the_time_the_rfc_says() {
        // RFC 3742 §3: log(max_ssthresh) + (cwnd − max_ssthresh)/(max_ssthresh/2) round trips,
        // which is 1658 for 83,000 packets.
        let limited = Limited::new(100.0);
        let (mut window, mut rounds) = (100.0_f64, 0);
        while window < 83_000.0 {
            let acknowledged = window;
            window = limited.increase(window, acknowledged);
            rounds += 1;
        }
        assert!((1640..=1680).contains(&rounds), "{rounds}");
    }
}
