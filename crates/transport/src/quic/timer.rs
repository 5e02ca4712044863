//! The loss detection timer (RFC 9002, §6.2; appendix A.8 and A.9).

use super::sender::Sender;
use crate::handshake::Handshake;
use narrows_units::{Duration, Time};

/// Packets that leave at a probe timeout, if there is different data for them (RFC 9002, §6.2.4:
/// "MAY send up to two full-sized datagrams").
pub(super) const PROBES: u32 = 2;

/// The largest back-off is 2 to the power of this.
const LARGEST_BACKOFF: u32 = 16;

/// The timer of a sender, and its probes.
pub(super) struct LossTimer {
    /// When it expires.
    pub at: Time,
    /// When it does so because a packet is lost by time (loss_time).
    pub loss_time: Time,
    /// Probe timeouts in succession (pto_count).
    pub timeouts: u32,
    /// Probes that are still to leave.
    pub probes: u32,
    /// They ask about packets below this number.
    pub probes_for: u64,
}

impl LossTimer {
    pub fn new() -> Self {
        Self { at: Time::NEVER, loss_time: Time::NEVER, timeouts: 0, probes: 0, probes_for: 0 }
    }

    /// Something was acknowledged, or a connection begins: nothing is asked about.
    pub fn reset(&mut self) {
        (self.timeouts, self.probes) = (0, 0);
    }
}

impl Sender {
    /// One of the wake-up times has come (OnLossDetectionTimeout, A.9).
    #[inline(never)]
    pub fn on_wakeup(&mut self, now: Time) {
        self.congestion.wake(now);
        if self.timer.at > now {
            return;
        }
        self.timer.at = Time::NEVER;
        if let Handshake::Asked(times) = self.handshake {
            self.congestion.counters.timeouts += 1;
            self.timer.timeouts = (self.timer.timeouts + 1).min(LARGEST_BACKOFF);
            self.handshake = Handshake::Due(times);
            return;
        }
        if self.timer.loss_time <= now {
            self.detect_losses(now);
        } else {
            self.congestion.was_silent(self.probe_timeout() * (1 << self.timer.timeouts), now);
            self.timer.timeouts = (self.timer.timeouts + 1).min(LARGEST_BACKOFF);
            (self.timer.probes, self.timer.probes_for) = (PROBES, self.packets.next());
        }
        self.set_timer(now);
    }

    /// The probe timeout without back-off (§6.2.1).
    pub(super) fn probe_timeout(&self) -> Duration {
        self.rtt.probe_timeout(self.settings.acks.delay)
    }

    /// Sets the loss detection timer (SetLossDetectionTimer, A.8): for the next loss by time if
    /// there is one, else for a probe.
    pub(super) fn set_timer(&mut self, now: Time) {
        self.timer.at = if self.packets.in_flight() == 0 {
            Time::NEVER
        } else if self.timer.loss_time < Time::NEVER {
            self.timer.loss_time.max(now)
        } else {
            (self.last_sent + self.probe_timeout() * (1 << self.timer.timeouts)).max(now)
        };
    }
}
