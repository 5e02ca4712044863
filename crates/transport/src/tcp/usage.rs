//! How much of its window a sender uses (RFC 7661; `tcp_cwnd_validate` and `tcp_is_cwnd_limited` in
//! Linux's net/ipv4/tcp_output.c and include/net/tcp.h): a window that is not used does not grow,
//! and one that has not been used for a retransmission timeout shrinks.

use narrows_units::{Duration, Time};

/// What a sender knows when nothing more may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    pub now: Time,
    /// The window is full.
    pub is_full: bool,
    /// The lowest number that is not acknowledged, and one past the highest sent.
    pub outstanding: (u64, u64),
    /// The window in packets.
    pub window: f64,
    pub timeout: Duration,
    /// Nothing is being repaired, and nobody waits for room in the send buffer.
    pub is_open: bool,
}

/// What is remembered of the use of the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// The window was full in this round trip.
    was_full: bool,
    /// The most packets outstanding in this round trip, unless the window was full.
    most: u64,
    /// The round trip is over once everything below is acknowledged.
    round_ends: u64,
    /// The most packets outstanding since `since`.
    used: u64,
    /// When the window was last full, had grown, or was reduced to what was used.
    since: Time,
}

impl Usage {
    /// Nothing has been sent yet.
    pub fn new() -> Self {
        Self { was_full: false, most: 0, round_ends: 0, used: 0, since: Time::ZERO }
    }

    /// Nothing more may leave; earlier pauses do not count.
    pub fn forget(&mut self, is_full: bool) {
        self.was_full = is_full;
    }

    /// True if the window was full in this round trip.
    pub fn was_full(&self) -> bool {
        self.was_full
    }

    /// Takes note that nothing more may leave; `ssthresh` returns the slow-start threshold in
    /// packets. Returns the most packets that were outstanding, if the window has not been used for
    /// a timeout.
    #[inline]
    pub fn pause(&mut self, pause: &Pause, ssthresh: impl FnOnce() -> f64) -> Option<f64> {
        let (first, end) = pause.outstanding;
        let outstanding = end - first;
        if first >= self.round_ends || pause.is_full || !self.was_full && outstanding > self.most {
            (self.was_full, self.most, self.round_ends) = (pause.is_full, outstanding, end);
        }
        if self.is_used(pause.window, ssthresh) {
            (self.used, self.since) = (0, pause.now);
            return None;
        }
        self.used = self.used.max(outstanding);
        if pause.now.since(self.since) < pause.timeout {
            return None;
        }
        let used = std::mem::take(&mut self.used);
        self.since = pause.now;
        pause.is_open.then_some(used as f64)
    }

    /// True if the window was the limit in this round trip; in slow start, if it is less than twice
    /// what was outstanding.
    #[inline]
    pub fn is_used(&self, window: f64, ssthresh: impl FnOnce() -> f64) -> bool {
        self.was_full || window < 2.0 * self.most as f64 && window < ssthresh()
    }

    /// The window may have grown at `now`.
    pub fn grew(&mut self, now: Time) {
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(now: u64, outstanding: (u64, u64), is_full: bool) -> Pause {
        let ms = Duration::from_millis;
        let (now, timeout) = (Time::ZERO + ms(now), ms(300));
        Pause { now, is_full, outstanding, window: 20.0, timeout, is_open: true }
    }

    #[test]
    fn a_full_window_is_remembered_for_a_round_trip() {
        let mut usage = Usage::new();
        usage.pause(&pause(0, (0, 20), true), || 10.0);
        usage.pause(&pause(50, (10, 25), false), || 10.0);
        assert!(usage.is_used(20.0, || 10.0), "20 is not acknowledged");
        usage.pause(&pause(100, (20, 25), false), || 10.0);
        assert!(!usage.is_used(20.0, || 10.0));
    }

    #[test]
    fn in_slow_start_half_of_the_window_is_enough() {
        let mut usage = Usage::new();
        usage.pause(&pause(0, (0, 11), false), || f64::INFINITY);
        assert!(usage.is_used(20.0, || f64::INFINITY) && !usage.is_used(22.0, || f64::INFINITY));
        assert!(!usage.is_used(20.0, || 20.0), "in congestion avoidance it is not");
    }

    #[test]
    fn what_was_used_is_told_once_per_timeout() {
        let mut usage = Usage::new();
        assert_eq!(usage.pause(&pause(0, (0, 5), false), || 10.0), None);
        assert_eq!(usage.pause(&pause(299, (3, 9), false), || 10.0), None);
        assert_eq!(usage.pause(&pause(300, (9, 11), false), || 10.0), Some(6.0));
        assert_eq!(usage.pause(&pause(599, (11, 12), false), || 10.0), None);
        assert_eq!(usage.pause(&pause(600, (12, 13), false), || 10.0), Some(1.0));
        let repairing = Pause { is_open: false, ..pause(900, (13, 14), false) };
        assert_eq!(usage.pause(&repairing, || 10.0), None);
    }
}
