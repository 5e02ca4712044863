//! The one timer of a TCP sender: for retransmissions, for packets that may be late only, and for
//! probes.

use super::probe;
use super::recovery::{Answer, Recovery, ears};
use super::sender::Sender;
use crate::handshake::Handshake;
use crate::{Ticks, Timeouts};
use narrows_control::Timeout;
use narrows_units::{Duration, Time};

/// Timeouts that do not double the next one (`tcp_syn_linear_timeouts`, in Linux since 6.5;
/// `tcp_retransmit_timer` in net/ipv4/tcp_timer.c).
const LINEAR_TIMEOUTS: u32 = 4;

/// The timer of a sender.
pub(super) struct Timer {
    pub ticks: Ticks,
    pub kind: TimerKind,
    /// When it expires.
    pub at: Time,
    /// When it was last set for a packet that left, unless for something else since; never then.
    pub departed: Time,
    /// It has expired since the lowest number outstanding advanced.
    pub has_expired: bool,
    /// The losses of a timeout have been repaired once everything below this number is
    /// acknowledged.
    pub repairs_to: u64,
}

impl Timer {
    pub fn new() -> Self {
        Self {
            ticks: Ticks::default(),
            kind: TimerKind::Retransmission,
            at: Time::NEVER,
            departed: Time::NEVER,
            has_expired: false,
            repairs_to: 0,
        }
    }
}

/// What the timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKind {
    /// Nothing has come back for long.
    Retransmission,
    /// Packets that may be late only count as lost (RFC 8985 §6.2, step 5).
    Reordering,
    /// A probe is to leave (RFC 8985 §7.2).
    Probe,
}

impl<R: Recovery> Sender<R> {
    pub fn on_wakeup(&mut self, now: Time) {
        self.congestion.wake(now);
        if self.timer.at > now {
            return;
        }
        self.timer.at = Time::NEVER;
        match (self.handshake, self.timer.kind) {
            (Handshake::Asked(times), _) => {
                self.congestion.counters.timeouts += 1;
                if times > LINEAR_TIMEOUTS {
                    self.rtt.back_off();
                }
                self.handshake = Handshake::Due(times);
            }
            (_, TimerKind::Retransmission) => self.time_out(now),
            (_, TimerKind::Reordering) => {
                let was_recovering = self.recovery.recovering();
                self.recovery.on_reordering_timer(&mut ears!(self, now));
                if self.recovery.recovering() && !was_recovering {
                    self.timed = None;
                }
                self.rearm(now);
            }
            (_, TimerKind::Probe) if self.recovery.may_probe() => {
                self.recovery.probe();
                self.restart_timer(now);
            }
            (_, TimerKind::Probe) => self.rearm(now),
        }
    }

    pub(super) fn time_out(&mut self, now: Time) {
        if let Some(marks) = &mut self.congestion.marks
            && std::mem::take(&mut marks.stopped)
            && self.is_idle()
        {
            return;
        }
        self.congestion.was_silent(self.timeout(), now);
        self.rtt.back_off();
        self.timed = None;
        self.release.abandon_burst();
        let again = std::mem::replace(&mut self.timer.has_expired, true);
        let timed_out = self.recovery.on_timeout(again, &mut ears!(self, now));
        self.timer.repairs_to = self.recovery.end();
        let (opens_epoch, in_flight) = (timed_out.opens_epoch, timed_out.in_flight);
        self.congestion.timed_out(&Timeout { now, opens_epoch, in_flight });
        self.say_reduced();
        self.restart_timer(now);
    }

    pub(super) fn timeout(&self) -> Duration {
        self.rtt.timeout(&self.habits.timeouts)
    }

    /// Sets the timer after an acknowledgement.
    pub(super) fn set_timer(&mut self, now: Time, answer: &Answer) {
        if self.is_idle() {
            self.timer.at = Time::NEVER;
            if self.is_stopped() {
                self.restart_timer(now);
            }
        } else if let Some(at) = answer.reordering_at {
            self.set_to(TimerKind::Reordering, now, at.min(now + self.timeout()));
        } else if answer.restarts_timer {
            self.restart_timer(now);
            self.set_probe_timer(now);
        }
    }

    pub(super) fn set_to(&mut self, kind: TimerKind, now: Time, at: Time) {
        (self.timer.kind, self.timer.at) = (kind, self.timer.ticks.expiry(now, at.max(now)));
        self.timer.departed = Time::NEVER;
    }

    /// The retransmission timer runs from now on.
    pub(super) fn restart_timer(&mut self, now: Time) {
        self.set_to(TimerKind::Retransmission, now, now + self.timeout());
    }

    /// The retransmission timer runs since the lowest packet outstanding left, and for a tick at
    /// the least (`tcp_rearm_rto` in Linux's net/ipv4/tcp_input.c).
    pub(super) fn rearm(&mut self, now: Time) {
        let from = self.recovery.first_sent().unwrap_or(now);
        let soonest = now + self.habits.timeouts.granularity;
        self.set_to(TimerKind::Retransmission, now, (from + self.timeout()).max(soonest));
    }

    /// If a probe may leave, the timer is for that, and expires no later than for a retransmission
    /// (`tcp_schedule_loss_probe` in Linux's net/ipv4/tcp_output.c).
    #[inline]
    pub(super) fn set_probe_timer(&mut self, now: Time) {
        if self.habits.probes && self.recovery.may_probe() {
            self.time_probe(now);
        }
    }

    pub(super) fn time_probe(&mut self, now: Time) {
        let outstanding = self.recovery.end() - self.first();
        let Timeouts { least, initial, .. } = self.habits.timeouts;
        let at = now + probe::timeout(self.rtt.estimate(), outstanding, least, initial);
        self.set_to(TimerKind::Probe, now, at.min(self.timer.at));
    }
}
