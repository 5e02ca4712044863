//! What paces a sender apart from its window: the bandwidth share as TCP Westwood estimates it, and
//! the delay of four hops.
//!
//! | source | equation | here |
//! |---|---|---|
//! | Razdan and others, "Enhancing TCP performance in networks with small buffers", 2002 | gap = 1/(α·BSE), α above 1 | [`BandwidthShare::gap`] |
//! | Grieco, Mascolo, CCR 34, 2004, §2.2, eq. 2 | BSE ← 7/8·BSE + 1/8·b, b = packets acknowledged in a round trip, over its length | [`BandwidthShare::hear`] |
//! | ElRakabawy, Klemm, Lindemann, "TCP with adaptive pacing", 2005 | FHD = 4·(RTT/2)/h over h hops | [`FourHops::gap`] |
//! | the same | FHD ← 0.7·FHD + 0.3·sample | [`FourHops::hear`] |
//! | the same | gap = FHD·(1 + 2·cov), cov = standard deviation over mean of the last 50 samples | [`FourHops::gap`] |
//!
//! Departures: Razdan and others filter each acknowledgement; we filter once per round trip, as
//! Westwood+ does, because compressed acknowledgements make the former far too high. Their α is not
//! known here; ours are Linux's pacing gains, 2.0 below half the threshold and 1.2 above
//! (`tcp_update_pacing_rate` in net/ipv4/tcp_input.c). After a timeout a share of next to nothing
//! would keep the sender there: the gap is at most an RTT. A share that paces what it is measured
//! by can grow by 2.5 % a round trip, 7/8 + 1.2/8, and by an eighth below half the threshold.
//! ElRakabawy and others take the time to transmit data and acknowledgement out of the delay of a
//! hop; we do not, as it is a thousandth of the delay of a wide-area link. Over fewer than four
//! hops the delay is that of all of them, which is two packets in a round trip.

use narrows_units::{Duration, Time};

/// An estimate that paces a sender.
#[derive(Clone, Debug)]
pub(super) enum Estimate {
    BandwidthShare(BandwidthShare),
    FourHops(FourHops),
}

impl Estimate {
    /// An acknowledgement of `packets` arrived, with an RTT sample if there is one.
    pub fn hear(&mut self, now: Time, packets: u64, rtt: Option<Duration>) {
        match self {
            Self::BandwidthShare(share) => share.hear(now, packets, rtt),
            Self::FourHops(delay) => rtt.into_iter().for_each(|rtt| delay.hear(rtt)),
        }
    }

    /// Seconds between packets; none before the first estimate. `grows_fast` while the window is
    /// below half the threshold.
    pub fn gap(&self, grows_fast: bool) -> Option<f64> {
        match self {
            Self::BandwidthShare(share) => share.gap(grows_fast),
            Self::FourHops(delay) => delay.gap(),
        }
    }
}

/// The bandwidth share of TCP Westwood (BSE).
#[derive(Clone, Debug, Default)]
pub(super) struct BandwidthShare {
    since: Option<Time>,
    /// Packets acknowledged since then.
    packets: u64,
    /// The latest RTT sample.
    rtt: Duration,
    /// Packets per second.
    share: Option<f64>,
}

/// CCR 34, §2.2: the shortest interval over which a sample is taken.
const SHORTEST: Duration = Duration::from_millis(50);

impl BandwidthShare {
    /// BSE ← 7/8·BSE + 1/8·b once per round trip (CCR 34, §2.2, eq. 2).
    fn hear(&mut self, now: Time, packets: u64, rtt: Option<Duration>) {
        self.rtt = rtt.unwrap_or(self.rtt);
        self.packets += packets;
        let Some(since) = self.since else {
            (self.since, self.packets) = (Some(now), 0);
            return;
        };
        let interval = now.since(since);
        if interval <= self.rtt.max(SHORTEST) {
            return;
        }
        let sample = self.packets as f64 / interval.seconds();
        self.share = Some(self.share.map_or(sample, |share| 7.0 / 8.0 * share + sample / 8.0));
        (self.since, self.packets) = (Some(now), 0);
    }

    /// 1/(α·BSE), at most an RTT; none before a sample.
    fn gap(&self, grows_fast: bool) -> Option<f64> {
        let alpha = if grows_fast { 2.0 } else { 1.2 };
        self.share.map(|share| (1.0 / (alpha * share)).min(self.rtt.seconds()))
    }
}

/// The time that a packet takes over four hops, estimated from the RTT.
#[derive(Clone, Debug)]
pub(super) struct FourHops {
    /// The hops of half a round trip.
    hops: f64,
    /// The filtered delay in seconds; none before the first sample.
    delay: Option<f64>,
    /// The last samples in seconds, in a ring, and the place of the next.
    samples: Vec<f64>,
    next: usize,
}

/// Samples that the coefficient of variation is taken of.
const HISTORY: usize = 50;

impl FourHops {
    /// For a path of `hops` links in each direction.
    pub fn new(hops: u32) -> Self {
        let hops = f64::from(hops.max(1));
        Self { hops, delay: None, samples: Vec::with_capacity(HISTORY), next: 0 }
    }

    /// FHD ← 0.7·FHD + 0.3·sample.
    fn hear(&mut self, rtt: Duration) {
        let sample = self.hops.min(4.0) * rtt.seconds() / (2.0 * self.hops);
        self.delay = Some(self.delay.map_or(sample, |delay| 0.7 * delay + 0.3 * sample));
        if self.samples.len() < HISTORY {
            self.samples.push(sample);
        } else {
            self.samples[self.next] = sample;
            self.next = (self.next + 1) % HISTORY;
        }
    }

    /// FHD·(1 + 2·cov).
    fn gap(&self) -> Option<f64> {
        let delay = self.delay?;
        let n = self.samples.len() as f64;
        let mean = self.samples.iter().sum::<f64>() / n;
        let squares = self.samples.iter().map(|sample| (sample - mean) * (sample - mean));
        let variation = (squares.sum::<f64>() / n).sqrt() / mean;
        Some(delay * (1.0 + 2.0 * variation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// By hand: 20 packets in 100 ms are 200 per second; then 40 in 100 ms make 7/8·200 + 1/8·400 =
    /// 225.
    #[test]
    fn the_bandwidth_share_is_filtered_once_per_round_trip() {
        let mut share = BandwidthShare::default();
        let rtt = Some(Duration::from_millis(99));
        share.hear(at(0), 5, rtt);
        assert_eq!(share.gap(false), None);
        share.hear(at(60), 10, rtt);
        assert_eq!(share.gap(false), None, "the round trip is not over");
        share.hear(at(100), 10, rtt);
        assert!((share.gap(true).unwrap() - 1.0 / 400.0).abs() < 1e-12);
        share.hear(at(200), 40, rtt);
        assert!((share.gap(false).unwrap() - 1.0 / 270.0).abs() < 1e-12);
        share.hear(at(60_200), 0, rtt);
        share.hear(at(900_000), 0, rtt);
        (0..100).for_each(|k| share.hear(at(1_000_000 + 1000 * k), 0, rtt));
        assert_eq!(share.gap(false), Some(0.099), "a packet per round trip at the least");
    }

    /// By hand: eight hops there and back take 80 ms, so four take 20 ms. Then 160 ms: 0.7·20 +
    /// 0.3·40 = 26 ms; samples of 20 and 40 ms have a coefficient of variation of 1/3.
    #[test]
    fn the_gap_is_the_delay_of_four_hops_and_longer_if_it_varies() {
        let mut delay = FourHops::new(8);
        assert_eq!(delay.gap(), None);
        delay.hear(Duration::from_millis(80));
        assert!((delay.gap().unwrap() - 0.020).abs() < 1e-12);
        delay.hear(Duration::from_millis(160));
        assert!((delay.gap().unwrap() - 0.026 * (1.0 + 2.0 / 3.0)).abs() < 1e-12);
        for _ in 0..200 {
            delay.hear(Duration::from_millis(80));
        }
        assert!((delay.gap().unwrap() - 0.020).abs() < 1e-9, "fifty samples later it is forgotten");
        let mut short = FourHops::new(3);
        short.hear(Duration::from_millis(80));
        assert!((short.gap().unwrap() - 0.040).abs() < 1e-12, "all three hops");
    }
}
