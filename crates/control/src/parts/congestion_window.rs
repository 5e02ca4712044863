//! The window and its threshold, and what happens to them whichever law moves them.

use crate::{Idle, Timeout};

/// The congestion window and the slow-start threshold in packets, and what they were before the
/// epoch under way. A law without a threshold leaves it alone.
#[derive(Clone, Debug)]
pub struct CongestionWindow {
    /// Packets.
    pub window: f64,
    /// Packets; infinite if there is none.
    pub ssthresh: f64,
    initial: f64,
    /// Window and threshold to which a spurious epoch goes back.
    before: Option<(f64, f64)>,
}

impl CongestionWindow {
    /// Starts with `initial` packets and no threshold.
    pub fn new(initial: f64) -> Self {
        Self { window: initial, ssthresh: f64::INFINITY, initial, before: None }
    }

    /// True in slow start.
    pub fn is_below_threshold(&self) -> bool {
        self.window < self.ssthresh
    }

    /// Remembers window and threshold, as an epoch of losses opens.
    pub fn remember(&mut self) {
        self.before = Some((self.window, self.ssthresh));
    }

    /// Forgets what was before: nobody will find this reduction needless.
    pub fn settle(&mut self) {
        self.before = None;
    }

    /// Window and threshold become `packets`.
    pub fn reduce(&mut self, packets: f64) {
        (self.window, self.ssthresh) = (packets, packets);
    }

    /// A packet more than what is still in flight may leave (RFC 5681 §3.1; `tcp_enter_loss` in
    /// Linux's net/ipv4/tcp_input.c).
    pub fn timeout(&mut self, timeout: &Timeout) {
        self.window = timeout.in_flight + 1.0;
    }

    /// After a silence (RFC 5681 §4.1; `tcp_cwnd_restart` in Linux's net/ipv4/tcp_output.c).
    pub fn restart(&mut self, idle: &Idle) {
        (self.window, self.ssthresh) =
            idle.restart.after(idle, self.window, self.ssthresh, self.initial);
    }

    /// Halfway to the packets that were `used`, and the threshold at least three quarters of the
    /// window (`tcp_cwnd_application_limited` in Linux's net/ipv4/tcp_output.c).
    pub fn unused(&mut self, used: f64) {
        let used = used.max(self.initial);
        if used < self.window {
            self.ssthresh = self.ssthresh.max(0.75 * self.window);
            self.window = (self.window + used) / 2.0;
        }
    }

    /// The window before the epoch, or what it has grown to since, whichever is larger (RFC 4015
    /// §3.2, without its burst limit; `tcp_reno_undo_cwnd` in Linux's net/ipv4/tcp_cong.c), and the
    /// threshold before it.
    pub fn undo(&mut self) {
        if let Some((window, ssthresh)) = self.before.take() {
            self.window = self.window.max(window);
            self.ssthresh = ssthresh;
        }
    }

    /// At most `packets`, at least one.
    pub fn moderate(&mut self, packets: f64) {
        self.window = self.window.min(packets.max(1.0));
    }
}
