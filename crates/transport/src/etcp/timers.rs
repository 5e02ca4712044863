//! The timers of an E-TCP sender: of its data, and of silence.

use super::sender::Sender;
use crate::{Outstanding, Segment};
use narrows_control::Timeout;
use narrows_units::{Duration, Time};

/// When a sender's timers expire.
pub(super) struct Timers {
    /// That of the smallest unacknowledged number.
    pub data: Time,
    /// That of silence: nothing has been heard for a retransmission timeout.
    pub silence: Time,
}

impl Timers {
    pub fn new() -> Self {
        Self { data: Time::NEVER, silence: Time::NEVER }
    }
}

impl Sender {
    /// One of the wake-up times has come.
    pub fn on_wakeup(&mut self, now: Time) {
        self.congestion.wake(now);
        if self.timers.data <= now {
            if let Some(queue) = &mut self.queue {
                queue.on_timeout();
            }
            if let Some(code) = &mut self.code {
                code.on_silence();
            }
            self.written_off = self.signalling.outstanding();
            // "… and the timer is reset to the estimated round trip time" (§IV).
            self.timers.data =
                now + self.rtt.estimate().map_or(self.timeouts.initial, |rtt| rtt.smoothed);
        }
        if self.timers.silence <= now {
            self.rtt.back_off();
            self.written_off = self.signalling.outstanding();
            self.congestion.timed_out(&Timeout { now, opens_epoch: true, in_flight: 0.0 });
            self.timers.silence = now + self.timeout();
        }
    }

    pub(super) fn timeout(&self) -> Duration {
        self.rtt.timeout(&self.timeouts)
    }

    pub(super) fn measure_rtt(&mut self, now: Time, ack: &Segment) {
        let rtt = now.since(ack.echoed_stamp);
        let outstanding = Outstanding { first: 0, end: 0 };
        self.rtt.sample(rtt, &self.timeouts, outstanding);
        self.rtt.end_back_off();
        self.congestion.count_rtt(rtt);
    }

    /// True if answers are due. While the application has nothing to send, the last holes wait for
    /// the packets that come next.
    pub(super) fn waits_for_answers(&self) -> bool {
        !self.starved && self.signalling.outstanding() > 0
    }
}
