//! What a TCP sender waits for, and whether its window is used (RFC 7661).

use super::recovery::Recovery;
use super::sender::Sender;
use super::usage::Pause;
use crate::SendLimit;
use narrows_control::Restart;
use narrows_units::Time;

impl<R: Recovery> Sender<R> {
    /// Nothing more leaves at `now` because of `limit`, or because losses are being repaired.
    #[inline]
    pub(super) fn waits(&mut self, now: Time, limit: SendLimit) {
        self.congestion.waits(now, limit, self.recovery.repairing());
    }

    /// Nothing more may leave at `now`, with a limit of `flight` packets; `is_full` if that is the
    /// reason.
    #[inline]
    pub(super) fn pause(&mut self, now: Time, is_full: bool, flight: f64) {
        if self.habits.validates_window {
            self.validate(now, is_full, flight);
        } else {
            self.usage.forget(is_full);
        }
    }

    pub(super) fn validate(&mut self, now: Time, is_full: bool, flight: f64) {
        let window = self.congestion.window();
        // A law that paces its window may let more be in flight than that.
        let is_full = is_full || self.in_flight() as f64 + 1.0 > flight.min(window.max(1.0));
        let pause = Pause {
            now,
            is_full,
            outstanding: (self.first(), self.recovery.end()),
            window,
            timeout: self.timeout(),
            // Linux does not answer a buffer without room (`tcp_cwnd_application_limited`).
            is_open: !self.recovery.repairing() && !self.wants_to_write(),
        };
        let unused = self.usage.pause(&pause, || self.congestion.ssthresh());
        if let Some(used) = unused.filter(|_| self.habits.restart != Restart::Never) {
            self.congestion.unused(used);
        }
    }

    /// True if the window, not the application or the receiver, is what held the sender back.
    pub(super) fn uses_window(&self) -> bool {
        self.usage.was_full()
            || self.habits.validates_window
                && self.usage.is_used(self.congestion.window(), || self.congestion.ssthresh())
    }

    /// The pacer is the limit, with a limit of `flight` packets; `own` if the law set that.
    #[inline]
    pub(super) fn wait_for_pacer(&mut self, now: Time, own: bool, flight: f64) {
        self.waits_for_pacer = true;
        let is_used =
            !self.habits.validates_window || self.release.spreads_window(&self.congestion);
        self.pause(now, is_used && own, flight);
        self.waits(now, SendLimit::Pacing);
    }

    /// The application, the send buffer or the receiver's window is the limit.
    pub(super) fn wait_for_data(&mut self, now: Time, flight: f64) {
        self.pause(now, false, flight);
        let in_flight = self.in_flight();
        let has_more = self.recovery.end() < self.written;
        if has_more {
            self.fill_buffer();
        }
        self.waits(now, if has_more { SendLimit::Receiver } else { SendLimit::Application });
        let begins_anew = self.buffer.as_ref().is_none_or(|buffer| buffer.begins_anew());
        if !has_more && (begins_anew || !self.wants_to_write()) {
            self.congestion.application_limits(in_flight);
        }
    }
}
