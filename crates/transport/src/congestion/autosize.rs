//! How many packets leave together with segmentation offload, as Linux decides it
//! (`tcp_tso_autosize`, `tcp_cwnd_test` and `tcp_tso_should_defer` in net/ipv4/tcp_output.c,
//! `tcp_update_pacing_rate` in net/ipv4/tcp_input.c).

use narrows_control::Rtt;
use narrows_units::{Duration, Time};

/// Packets that leave together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantum {
    /// Always this many, 1 without offload: a burst waits until the window has room for it.
    Packets(u32),
    /// About a millisecond at the flow's pacing rate, from 2 packets to 64 kB; more if the RTT is
    /// below 16 ms.
    Auto,
}

/// The largest burst in bytes (GSO_LEGACY_MAX_SIZE).
const MOST_BYTES: f64 = 65_536.0;
/// Bytes of headers in a packet, with time stamps.
const HEADERS: u32 = 52;
/// Bursts per second without that bound (`sk_pacing_shift` = 10).
const BURSTS_PER_SECOND: f64 = 1024.0;
/// `tcp_tso_rtt_log` = 9: bursts double for each halving of the RTT in units of 512 µs.
const RTT_UNIT: f64 = 512e-6;
/// From this many units on the RTT does not count.
const RTT_UNITS: u32 = 32;
/// A burst is worth waiting for if it is less than this part of the window
/// (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: f64 = 3.0;
/// No burst is waited for longer, nor after such a pause.
const RECENT: Duration = Duration::from_millis(1);

/// Linux's pacing rate in packets per second: 2.0 windows per round trip while the window is below
/// half the threshold, otherwise 1.2 (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
pub(super) fn pacing_rate(window: f64, ssthresh: f64, outstanding: u64, rtt: &Rtt) -> f64 {
    let gain = if window < ssthresh / 2.0 { 2.0 } else { 1.2 };
    gain * window.max(outstanding as f64) / rtt.smoothed.seconds()
}

/// The number of packets with `payload` bytes that leave together at `rate` packets per second, at
/// least `least` (`tcp_min_tso_segs`, unless the law has a number of its own).
pub(super) fn burst(rate: f64, least_rtt: Duration, payload: f64, least: f64) -> u32 {
    // Conversions to whole numbers round down, as `floor` does, which is a call of the C library.
    let units = (least_rtt.seconds() / RTT_UNIT) as u32;
    let for_short_paths =
        if units < RTT_UNITS { MOST_BYTES * (-f64::from(units)).exp2() } else { 0.0 };
    let bytes = (rate * payload / BURSTS_PER_SECOND + for_short_paths).min(MOST_BYTES);
    (bytes / payload).max(least) as u32
}

/// Of the `behind` packets that leave after the next of a burst, of which so many have `left`,
/// those that are handed over as one with it; each has `bytes` on the wire.
pub(super) fn of_one(left: u32, behind: u32, bytes: u32) -> u16 {
    let most = (MOST_BYTES as u32 / bytes.saturating_sub(HEADERS).max(1)).max(1);
    let more = most - 1 - left % most;
    behind.min(more) as u16
}

/// When a burst that is too small waits for the next acknowledgement (`tcp_tso_should_defer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// If that comes within a millisecond and half a round trip (since Linux 6.18).
    Soon,
    /// If that comes within half a round trip (before).
    HalfRound,
}

/// What a sender knows when it could send a burst that is smaller than it should be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    pub now: Time,
    /// Packets that the window has room for.
    pub room: u64,
    pub window: f64,
    pub last_sent: Time,
    /// When the lowest packet outstanding left.
    pub first_sent: Time,
    pub smoothed_rtt: Duration,
    pub deferral: Deferral,
}

impl Chance {
    /// True if it is better to wait for the next acknowledgement, and more room.
    pub fn defers(&self) -> bool {
        let recent = self.now.since(self.last_sent) <= RECENT;
        let small = (self.room as f64) < self.window / WINDOW_DIVISOR;
        let half = Duration::from_picos(self.smoothed_rtt.picos() / 2);
        let soon = match self.deferral {
            Deferral::Soon => RECENT.min(half),
            Deferral::HalfRound => half,
        };
        let next_ack = self.first_sent + self.smoothed_rtt;
        recent && small && next_ack <= self.now + soon
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_burst_is_about_a_millisecond() {
        let payload = 1448.0;
        let packets = |mbps: f64, rtt| burst(mbps * 1e6 / 8.0 / payload, rtt, payload, 2.0);
        assert_eq!(packets(1.0, ms(40)), 2, "at least two packets");
        // 100 Mbps · 0.977 ms = 12.2 kB = 8.4 packets.
        assert_eq!(packets(100.0, ms(40)), 8);
        assert_eq!(packets(10_000.0, ms(40)), 45, "64 kB");
        // RTT 1.1 ms is two units: 64 kB / 4 = 11.3 packets more than 8.4.
        assert_eq!(packets(100.0, Duration::from_micros(1100)), 19);
    }

    #[test]
    fn what_is_handed_over_as_one_is_64_kb_at_most() {
        assert_eq!(of_one(0, 9, 1500), 9, "a burst of ten");
        assert_eq!(of_one(0, 99, 1500), 44, "the first 45 of a hundred");
        assert_eq!((of_one(44, 55, 1500), of_one(45, 54, 1500)), (0, 44));
        assert_eq!(of_one(90, 9, 1500), 9, "the last ten");
    }

    #[test]
    fn the_rate_is_twice_the_window_per_round_trip_in_slow_start() {
        let rtt = Rtt { latest: ms(100), smoothed: ms(100), minimum: ms(50), maximum: ms(100) };
        assert_eq!(pacing_rate(10.0, f64::INFINITY, 10, &rtt), 200.0);
        assert_eq!(pacing_rate(10.0, 20.0, 10, &rtt), 120.0, "half of the threshold is reached");
        assert_eq!(pacing_rate(10.0, 20.0, 30, &rtt), 360.0, "more is outstanding");
    }

    #[test]
    fn it_waits_only_for_an_acknowledgement_that_is_near() {
        let at = |millis| Time::ZERO + ms(millis);
        let chance = Chance {
            now: at(100),
            room: 3,
            window: 100.0,
            last_sent: at(99),
            first_sent: at(61),
            smoothed_rtt: ms(40),
            deferral: Deferral::Soon,
        };
        assert!(chance.defers(), "the next comes in 1 ms");
        assert!(!Chance { first_sent: at(62), ..chance }.defers(), "in 2 ms");
        assert!(!Chance { last_sent: at(98), ..chance }.defers(), "the last burst is long ago");
        assert!(!Chance { room: 34, ..chance }.defers(), "a third of the window");
        let before = Chance { first_sent: at(80), deferral: Deferral::HalfRound, ..chance };
        assert!(before.defers(), "half a round trip, before Linux 6.18");
        assert!(!Chance { first_sent: at(81), ..before }.defers(), "21 ms of 40");
    }
}
