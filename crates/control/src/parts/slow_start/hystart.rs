//! Linux's HyStart (net/ipv4/tcp_cubic.c; Ha, Rhee: "Taming the elephants: new TCP slow start",
//! 2011): slow start that ends when a train of acknowledgements is long or the delay has grown.
//!
//! | source | rule | here |
//! |---|---|---|
//! | `cubictcp_acked` | the least RTT; nothing else once the exit is found, or above the threshold | [`HyStart::ends`] |
//! | `hystart_update` | a round ends when a packet that left after it began is acknowledged; below 16 packets nothing counts | [`HyStart::ends`] |
//! | `hystart_update`, `HYSTART_ACK_TRAIN` | acknowledgements at most 2 ms apart for longer than half of the least RTT, for a paced sender all of it | [`HyStart::is_long_train`] |
//! | `hystart_ack_delay` | and for what segmentation offload delays, at most 1 ms | [`HyStart::ack_delay`] |
//! | `hystart_update`, `HYSTART_DELAY` | from the ninth sample of a round on, its least RTT is above the least by an eighth, but at least by 4 and at most by 16 ms | [`HyStart::is_long_delay`] |
//! | `cubictcp_state` | a timeout begins anew, the least RTT included | [`HyStart::timeout`] |
//!
//! Departures: a round is told by transmission numbers, not sequence numbers, so that after a
//! timeout rounds do not last until everything outstanding is acknowledged. In a recovery nothing
//! counts, as the window is the threshold; Linux's window may be below it. Samples within a second
//! of the start of an epoch count. Linux's pacing rate is taken at its gain in the first slow start
//! and with headers for payload; it matters above 2 Gbps only, where four bursts take less than
//! 1 ms.

use crate::{Ack, Rounds, Rtt};
use narrows_units::{Duration, Time};

/// Smallest window in packets at which slow start may end (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// Largest gap between two acknowledgements of a train (`hystart_ack_delta_us`).
const ACK_DELTA: Duration = Duration::from_millis(2);
/// Samples of a round before its least RTT is judged (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// By how much the delay must have grown at the least and at the most (`HYSTART_DELAY_MIN`,
/// `_MAX`).
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);
/// `hystart_ack_delay`: four bursts of segmentation offload, at most 1 ms.
const BURSTS: f64 = 4.0 * 65_536.0;
const MOST_ACK_DELAY: Duration = Duration::from_millis(1);
/// Linux's pacing gain in slow start (`net.ipv4.tcp_pacing_ss_ratio`).
const PACING_GAIN: f64 = 2.0;

/// What HyStart remembers of the connection, of this round, and of the train in it.
#[derive(Clone, Debug)]
pub struct HyStart {
    paced: bool,
    packet_bytes: f64,
    /// True once slow start has been ended here (`found`).
    found: bool,
    /// `delay_min`; `None` until there is a sample.
    least: Option<Duration>,
    rounds: Rounds,
    /// When this round began (`round_start`).
    began: Time,
    /// The train's last acknowledgement (`last_ack`).
    train: Time,
    /// The least RTT of this round and its number of samples (`curr_rtt`, `sample_cnt`).
    least_of_round: Duration,
    samples: u32,
}

impl HyStart {
    /// HyStart for a sender that is `paced` or not, with packets of `packet_bytes`.
    pub fn new(paced: bool, packet_bytes: u32) -> Self {
        Self {
            paced,
            packet_bytes: f64::from(packet_bytes),
            found: false,
            least: None,
            rounds: Rounds::default(),
            began: Time::ZERO,
            train: Time::ZERO,
            least_of_round: Duration::MAX,
            samples: 0,
        }
    }

    /// True if slow start ends at `ack`, with a window of `window` packets; `slow` says whether it
    /// is below the threshold. Called for every acknowledgement.
    pub(super) fn ends(&mut self, window: f64, slow: bool, ack: &Ack) -> bool {
        let Some(rtt) = ack.rtt.filter(|_| ack.rtt_is_fresh) else { return false };
        let least = self.least.map_or(rtt.latest, |least| least.min(rtt.latest));
        self.least = Some(least);
        if self.found || !slow {
            return false;
        }
        if self.rounds.ends_with(ack) {
            (self.began, self.train) = (ack.now, ack.now);
            (self.least_of_round, self.samples) = (Duration::MAX, 0);
        }
        if window.floor() < LOW_WINDOW {
            return false;
        }
        let train = self.is_long_train(window, least, &rtt, ack.now);
        let delay = self.is_long_delay(least, rtt.latest);
        self.found = train || delay;
        self.found
    }

    fn is_long_train(&mut self, window: f64, least: Duration, rtt: &Rtt, now: Time) -> bool {
        if now.since(self.train) > ACK_DELTA {
            return false;
        }
        self.train = now;
        let threshold = least + self.ack_delay(window, rtt);
        now.since(self.began) > if self.paced { threshold } else { threshold.scale(0.5) }
    }

    /// The time of four bursts of 64 kB at the pacing rate, at most 1 ms.
    fn ack_delay(&self, window: f64, rtt: &Rtt) -> Duration {
        let rate = PACING_GAIN * window * self.packet_bytes / rtt.smoothed.seconds().max(1e-6);
        MOST_ACK_DELAY.min(Duration::from_secs(BURSTS / rate))
    }

    fn is_long_delay(&mut self, least: Duration, latest: Duration) -> bool {
        self.least_of_round = self.least_of_round.min(latest);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.least_of_round > least + least.scale(0.125).clamp(DELAY_MIN, DELAY_MAX)
    }

    /// Begins anew: slow start may be ended again.
    pub(super) fn timeout(&mut self) {
        let (paced, packet_bytes) = (self.paced, self.packet_bytes);
        *self = Self { packet_bytes, ..Self::new(paced, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ack;

    const RTT: u64 = 40_000;

    /// Acknowledgements of one round, each at microseconds after its beginning and with an RTT in
    /// microseconds, at a window of `window`. The connection has seen 40 ms before. Returns the
    /// number of the one at which slow start ends.
    fn round(mut hystart: HyStart, window: f64, acks: &[(u64, u64)]) -> Option<usize> {
        hystart.least = Some(Duration::from_micros(RTT));
        (0..).zip(acks).position(|(number, (at, rtt))| {
            let latest = Duration::from_micros(*rtt);
            let rtt = Some(Rtt { latest, smoothed: latest, minimum: latest, maximum: latest });
            let now = Time::from_secs(1.0) + Duration::from_micros(*at);
            let ack = Ack { now, rtt, newest: number, next: 1000, ..ack(0.0, 1.0) };
            hystart.ends(window, true, &ack)
        })
    }

    fn unpaced() -> HyStart {
        HyStart::new(false, 1500)
    }

    /// Acknowledgements each millisecond.
    fn train(rtt: u64) -> Vec<(u64, u64)> {
        (0..60).map(|number| (1000 * number, rtt)).collect()
    }

    #[test]
    fn a_train_is_long_after_half_of_the_least_rtt_and_of_a_millisecond() {
        // (40 + 1)/2 = 20.5 ms: the one at 21 ms is the first beyond.
        assert_eq!(round(unpaced(), 100.0, &train(RTT)), Some(21));
        // At 10,000 packets 64 kB take 0.0874 ms, four bursts 0.35: (40 + 0.35)/2 = 20.17 ms, and
        // acknowledgements at each tenth of a millisecond from 20 on.
        let mut dense = train(RTT)[..=20].to_vec();
        dense.extend((1..10).map(|tenth| (20_000 + 100 * tenth, RTT)));
        assert_eq!(round(unpaced(), 10_000.0, &dense), Some(22));
        assert_eq!(round(unpaced(), 100.0, &dense), Some(26), "20.6 ms, beyond 20.5");
    }

    #[test]
    fn a_train_of_a_paced_sender_lasts_for_a_round_trip() {
        assert_eq!(round(HyStart::new(true, 1500), 100.0, &train(RTT)), Some(42));
    }

    #[test]
    fn a_gap_of_more_than_two_milliseconds_breaks_the_train_for_the_round() {
        let with_gap = |gap: u64| {
            let late = |(at, rtt): (u64, u64)| (if at > 9000 { at + gap - 1000 } else { at }, rtt);
            round(unpaced(), 100.0, &train(RTT).into_iter().map(late).collect::<Vec<_>>())
        };
        assert_eq!(with_gap(2000), Some(20), "2 ms are allowed: at 21 ms is number 20");
        assert_eq!(with_gap(2001), None);
    }

    #[test]
    fn a_longer_delay_is_seen_at_the_ninth_sample() {
        // Three milliseconds apart, there is no train. An eighth of 40 ms is 5 ms.
        let sparse = |rtt| (0..12).map(|number| (3000 * number, rtt)).collect::<Vec<_>>();
        assert_eq!(round(unpaced(), 100.0, &sparse(45_001)), Some(8));
        assert_eq!(round(unpaced(), 100.0, &sparse(45_000)), None);
        let mut noisy = sparse(60_000);
        noisy[3].1 = 44_000;
        assert_eq!(round(unpaced(), 100.0, &noisy), None, "the least of the round counts");
    }

    #[test]
    fn below_sixteen_packets_nothing_counts() {
        assert_eq!(round(unpaced(), 15.9, &train(RTT)), None);
        assert_eq!(round(unpaced(), 16.0, &train(RTT)), Some(21));
    }

    #[test]
    fn an_exit_is_found_once_and_a_timeout_begins_anew() {
        let found = HyStart { found: true, ..unpaced() };
        assert_eq!(round(found.clone(), 100.0, &train(RTT)), None);
        let mut again = found;
        again.timeout();
        assert_eq!(round(again, 100.0, &train(RTT)), Some(21));
    }
}
