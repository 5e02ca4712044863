//! Pacing: a token bucket that holds one burst and fills in the mean gap, or holds several tokens.

use narrows_control::{Gaps, Pacing, Rtt};
use narrows_units::{Duration, Stream, Time};

/// Spaces departures. A burst is one packet, or a send quantum of several packets that leave
/// together.
#[derive(Clone, Debug)]
pub struct Pacer {
    ready_at: Time,
    stream: Stream,
    /// Packets that have left since the connection began.
    sent: u32,
    /// Tokens that pile up while nothing leaves.
    bucket: Option<Box<Bucket>>,
}

/// A token bucket that fills at the pace of the window and holds several tokens (Alparslan,
/// Arakawa, Murata, §3.2).
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The most tokens that it holds.
    size: f64,
    /// Tokens at `at`; below zero if a burst has borrowed some.
    tokens: f64,
    at: Time,
    /// Tokens per second since then; none before the first RTT sample.
    rate: f64,
}

impl Bucket {
    fn full(size: f64) -> Self {
        Self { size, tokens: size, at: Time::ZERO, rate: 0.0 }
    }

    /// Takes `packets` tokens at `now`, and fills at `rate` from then on; returns when the next
    /// token is there.
    fn take(&mut self, now: Time, packets: u32, rate: f64) -> Time {
        let filled = self.tokens + now.since(self.at).seconds() * self.rate;
        self.tokens = filled.min(self.size) - f64::from(packets);
        (self.at, self.rate) = (now, rate);
        now + Duration::from_secs((1.0 - self.tokens).max(0.0) / rate)
    }
}

/// Linux does not pace the first packets of a connection (`tcp_update_skb_after_send` in
/// net/ipv4/tcp_output.c; the initial quantum of sch_fq).
const UNPACED: u32 = 10;

impl Pacer {
    /// A pacer with a full bucket; exponential gaps are drawn from `stream`.
    pub fn new(stream: Stream) -> Self {
        Self { ready_at: Time::ZERO, stream, sent: 0, bucket: None }
    }

    /// With a bucket that holds `tokens` tokens, one for each packet.
    pub fn with_bucket(mut self, tokens: u32) -> Self {
        self.bucket = Some(Box::new(Bucket::full(f64::from(tokens))));
        self
    }

    /// Lets the next burst leave at once.
    pub fn renew(&mut self) {
        (self.ready_at, self.sent) = (Time::ZERO, 0);
        self.bucket.iter_mut().for_each(|bucket| **bucket = Bucket::full(bucket.size));
    }

    /// Fills the bucket, if there is one, at the pace of `window` packets in a round trip from
    /// `now` on; to be called when window or RTT change (§3.2).
    pub fn refill(&mut self, now: Time, window: f64, rtt: &Rtt) {
        if let Some(bucket) = &mut self.bucket {
            self.ready_at = bucket.take(now, 0, window / rtt.smoothed.seconds());
        }
    }

    /// When the next burst may leave.
    pub fn ready_at(&self) -> Time {
        self.ready_at
    }

    /// Records that a burst of `packets` left, and that the next may at once.
    #[inline]
    pub fn sent_unpaced(&mut self, packets: u32) {
        self.sent = self.sent.saturating_add(packets);
    }

    /// Records that a burst of `packets` left at `now`, and schedules the next one as `pacing`
    /// says; `window` is in packets. A window cannot be paced before there is an RTT sample.
    pub fn sent(
        &mut self,
        now: Time,
        packets: u32,
        pacing: Pacing,
        window: f64,
        rtt: Option<&Rtt>,
    ) {
        let before = self.sent;
        self.sent = self.sent.saturating_add(packets);
        let Some((mean_gap, gaps)) = mean_gap(pacing, window, rtt) else { return };
        let burst_gap = mean_gap * f64::from(packets);
        if let Some(bucket) = &mut self.bucket {
            self.ready_at = bucket.take(now, packets, 1.0 / mean_gap);
            return;
        }
        let gap = match gaps {
            Gaps::Even => burst_gap,
            Gaps::Fq => return self.catch_up(now, before, Duration::from_secs(burst_gap)),
            Gaps::Exponential => burst_gap * self.stream.exponential(),
            Gaps::Uniform => burst_gap * 2.0 * self.stream.uniform(),
        };
        self.ready_at = now + Duration::from_secs(gap);
    }
}

impl Pacer {
    /// Records that a burst of `packets` left at `now`, and schedules the next one as TCP over
    /// Linux's fq does at a `rate` in packets per second (`tcp_update_skb_after_send`): the first
    /// ten packets are not paced, and a burst that left late shortens the next gap, at most by
    /// half.
    pub fn sent_over_fq(&mut self, now: Time, packets: u32, rate: f64) {
        let before = self.sent;
        self.sent = self.sent.saturating_add(packets);
        self.catch_up(now, before, Duration::from_secs(f64::from(packets) / rate));
    }

    /// Schedules the burst after one that left at `now`, after `before` packets, and whose gap is
    /// `gap`.
    fn catch_up(&mut self, now: Time, before: u32, gap: Duration) {
        if before < UNPACED {
            return;
        }
        let late = now.since(self.ready_at).min(Duration::from_picos(gap.picos() / 2));
        self.ready_at = now + gap.saturating_sub(late);
    }
}

/// Seconds between packets, and their distribution; `None` if nothing is paced.
fn mean_gap(pacing: Pacing, window: f64, rtt: Option<&Rtt>) -> Option<(f64, Gaps)> {
    match pacing {
        Pacing::Unpaced => None,
        Pacing::Window { gain, gaps } => Some((rtt?.smoothed.seconds() / (gain * window), gaps)),
        Pacing::Rate { packets_per_second, gaps } => Some((1.0 / packets_per_second, gaps)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leave(bursts: usize, packets: u32, gaps: Gaps) -> Vec<Time> {
        let span = Duration::from_millis(100);
        let rtt = Rtt { latest: span, smoothed: span, minimum: span, maximum: span };
        let mut pacer = Pacer::new(Stream::new(3, 1, 1));
        let mut now = Time::ZERO;
        let departures = (0..bursts).map(|_| {
            now = now.max(pacer.ready_at());
            pacer.sent(now, packets, Pacing::Window { gain: 1.0, gaps }, 10.0, Some(&rtt));
            now
        });
        departures.collect()
    }

    #[test]
    fn even_gaps_are_the_rtt_over_the_window() {
        assert_eq!(leave(4, 1, Gaps::Even), [0.0, 0.01, 0.02, 0.03].map(Time::from_secs));
    }

    #[test]
    fn a_burst_waits_for_all_its_tokens() {
        assert_eq!(leave(3, 3, Gaps::Even), [0.0, 0.03, 0.06].map(Time::from_secs));
    }

    /// 100 packets per second into a bucket of three: three leave at once, then one every 10 ms. A
    /// silence of 25 ms brings two tokens and a half, one of 1 s no more than three.
    #[test]
    fn tokens_pile_up_to_the_size_of_the_bucket() {
        let span = Duration::from_millis(100);
        let rtt = Rtt { latest: span, smoothed: span, minimum: span, maximum: span };
        let at = |micros| Time::ZERO + Duration::from_micros(micros);
        let mut pacer = Pacer::new(Stream::new(3, 1, 1)).with_bucket(3);
        let pacing = Pacing::Window { gain: 1.0, gaps: Gaps::Even };
        let mut leave = |micros: u64| {
            pacer.sent(at(micros), 1, pacing, 10.0, Some(&rtt));
            pacer.ready_at()
        };
        let first: Vec<_> = [0, 0, 0, 10_000, 20_000].map(&mut leave).into();
        assert_eq!(first, [0, 0, 10_000, 20_000, 30_000].map(at));
        assert_eq!([45_000, 45_000].map(&mut leave), [45_000, 50_000].map(at));
        assert_eq!([1_000_000; 3].map(&mut leave), [1_000_000, 1_000_000, 1_010_000].map(at));
        pacer.refill(at(1_005_000), 20.0, &rtt);
        assert_eq!(pacer.ready_at(), at(1_007_500), "half a token is missing, at twice the rate");
        pacer.renew();
        let mut leave = |micros: u64| {
            pacer.sent(at(micros), 1, pacing, 10.0, Some(&rtt));
            pacer.ready_at()
        };
        assert_eq!([1_020_000; 3].map(&mut leave)[1], at(1_020_000), "a new connection's is full");
    }

    #[test]
    fn over_fq_ten_packets_leave_at_once_and_lateness_is_made_up_for_by_half_a_gap() {
        let mut pacer = Pacer::new(Stream::new(3, 1, 1));
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        for _ in 0..5 {
            assert_eq!(pacer.ready_at(), Time::ZERO);
            pacer.sent_over_fq(at(1000), 2, 100.0);
        }
        let mut own = pacer.clone();
        let pacing = Pacing::Rate { packets_per_second: 100.0, gaps: Gaps::Fq };
        own.sent(at(1000), 2, pacing, 10.0, None);
        assert_eq!(own.ready_at(), at(1010), "a law that sets a rate may ask for the same");
        let mut unpaced = Pacer::new(Stream::new(3, 1, 1));
        unpaced.sent_unpaced(10);
        unpaced.sent_over_fq(at(1000), 2, 100.0);
        assert_eq!(unpaced.ready_at(), at(1010), "the first ten may leave unpaced");
        pacer.sent_over_fq(at(1000), 2, 100.0);
        assert_eq!(pacer.ready_at(), at(1010), "20 ms for two packets, less half of that");
        pacer.sent_over_fq(at(1013), 2, 100.0);
        assert_eq!(pacer.ready_at(), at(1030), "3 ms late");
    }

    #[test]
    fn exponential_gaps_have_the_same_mean() {
        let n = 50_000;
        let mean = leave(n, 1, Gaps::Exponential).last().unwrap().seconds() / (n - 1) as f64;
        // 2.2 % is five standard errors of the mean of 50,000 exponential gaps.
        assert!((mean / 0.01 - 1.0).abs() < 0.022, "{mean}");
    }

    #[test]
    fn uniform_gaps_lie_between_none_and_twice_the_mean() {
        let n = 50_000;
        let departures = leave(n, 1, Gaps::Uniform);
        let gaps = departures.windows(2).map(|pair| pair[1].since(pair[0]).seconds());
        assert!(gaps.clone().all(|gap| gap < 0.02));
        let (sum, squares) = gaps.fold((0.0, 0.0), |(sum, squares), gap| {
            (sum + gap, squares + (gap - 0.01) * (gap - 0.01))
        });
        let n = (n - 1) as f64;
        // Five standard errors: of the mean 1.3 %, of the variance, a third of the mean's square, 2
        // %.
        assert!((sum / n / 0.01 - 1.0).abs() < 0.013, "{sum}");
        assert!((squares / n * 3.0 / 1e-4 - 1.0).abs() < 0.02, "{squares}");
    }
}
