//! Recovery from cumulative acknowledgements alone: Reno (RFC 5681 §3.2) and NewReno (RFC 6582).

use super::outstanding::{Outstanding, Record};
use super::recovery::{Answer, Ears, Next, Recovery, TimedOut};
use super::{Habits, Metering, RecoveryKind};
use crate::Segment;
use crate::congestion::Delivered;
use narrows_units::Time;

/// Duplicate acknowledgements that indicate a loss (RFC 5681 §3.2).
const DUPLICATE_THRESHOLD: u64 = 3;

/// The sender side of Reno's and NewReno's recovery, between the window and the wire.
#[derive(Clone, Debug)]
pub(crate) struct Cumulative {
    newreno: bool,
    limited_transmit: bool,
    outstanding: Outstanding,
    /// The next number to leave; lies below the highest sent after a timeout, because the sender
    /// goes back to the first unacknowledged packet.
    next: u64,
    duplicates: u64,
    /// One past the highest number sent when the last recovery or timeout began; no new recovery
    /// begins until more than that is acknowledged (RFC 6582 §3.2, step 1).
    recover: Option<u64>,
    recovering: bool,
    /// Packets added to the window during a recovery; negative after partial acknowledgements (RFC
    /// 6582 §3.2, step 3).
    inflation: f64,
    /// The lowest outstanding packet is to be retransmitted at once.
    resend_first: bool,
    first_partial: bool,
    resent_at: Option<Time>,
    /// After a timeout, when the lowest packet outstanding left again.
    timed_out: Option<Option<Time>>,
    /// The window after a recovery whose partial acknowledgements have deflated it; from there it
    /// grows as in slow start. RFC 6582 §3.2, step 3, leaves open how a sender avoids a burst after
    /// a full acknowledgement; this is what ns-2 does.
    regrowth: Option<f64>,
}

impl Cumulative {
    fn on_new(&mut self, ack: &Segment, ears: &mut Ears) -> Answer {
        let mut delivered = Delivered::default();
        while self.outstanding.first() < ack.number {
            let number = self.outstanding.first();
            let Some(record) = self.outstanding.pop() else { break };
            delivered.add_record(number, &record);
        }
        self.next = self.next.max(self.outstanding.first());
        self.duplicates = 0;
        let resent_at = self.timed_out.take().flatten();
        if ears.is_older(ack.echoed_stamp, resent_at) {
            self.next = self.outstanding.end();
            ears.spurious();
        }
        let partial = self.recovering && self.leave_or_stay(ack, delivered.packets as f64, ears);
        if let Some(limit) = self.regrowth {
            let limit = limit + 1.0;
            self.regrowth = (limit < ears.congestion.window()).then_some(limit);
        }
        let restarts_timer = !partial || !self.first_partial;
        self.first_partial |= partial;
        Answer::of(&delivered, restarts_timer)
    }

    /// Handles newly acknowledged data during a recovery; returns true if the recovery continues.
    fn leave_or_stay(&mut self, ack: &Segment, acknowledged: f64, ears: &mut Ears) -> bool {
        if ears.is_older(ack.echoed_stamp, self.resent_at.take()) {
            self.leave();
            ears.spurious();
            return false;
        }
        if !self.newreno || self.recover.is_none_or(|recover| ack.number >= recover) {
            let left = ears.congestion.window() + self.inflation;
            self.leave();
            self.regrowth = (left < ears.congestion.window()).then_some(left.max(1.0));
            return false;
        }
        // RFC 6582 §3.2, step 3, partial acknowledgement: deflate the window by the packets
        // acknowledged, add one back, and retransmit the next hole.
        self.inflation += 1.0 - acknowledged;
        self.lose_first(false, ears);
        self.resend_first = true;
        true
    }

    fn leave(&mut self) {
        self.recovering = false;
        self.inflation = 0.0;
        self.resend_first = false;
    }

    /// Counts a duplicate acknowledgement; returns true if a recovery begins.
    fn on_duplicate(&mut self, ears: &mut Ears) -> bool {
        self.duplicates += 1;
        if self.recovering {
            self.inflation += 1.0;
            return false;
        }
        let careful = self.recover.is_none_or(|recover| self.outstanding.first() > recover);
        if self.duplicates != DUPLICATE_THRESHOLD || !careful {
            return false;
        }
        self.lose_first(true, ears);
        self.recover = Some(self.outstanding.end());
        self.recovering = true;
        self.inflation = DUPLICATE_THRESHOLD as f64;
        self.resend_first = true;
        self.first_partial = false;
        self.resent_at = None;
        self.regrowth = None;
        true
    }

    fn lose_first(&mut self, opens_epoch: bool, ears: &mut Ears) {
        let number = self.outstanding.first();
        let record = self.outstanding.get(number);
        ears.lost(&record.as_lost(number), opens_epoch);
    }

    /// Packets that may be outstanding, rounded down to whole packets, as in ns-2.
    fn usable(&self, window: f64) -> u64 {
        let window = self.regrowth.unwrap_or(window).min(window) + self.inflation;
        let limited_transmit = if self.limited_transmit && !self.recovering {
            self.duplicates.min(DUPLICATE_THRESHOLD - 1)
        } else {
            0
        };
        window.max(1.0) as u64 + limited_transmit
    }
}

impl Recovery for Cumulative {
    const TELLS_DELIVERIES: bool = false;

    fn new(kind: RecoveryKind, _metering: Metering, habits: &Habits) -> Self {
        Self {
            newreno: kind == RecoveryKind::NewReno,
            limited_transmit: habits.limited_transmit,
            outstanding: Outstanding::default(),
            next: 0,
            duplicates: 0,
            recover: None,
            recovering: false,
            inflation: 0.0,
            resend_first: false,
            first_partial: false,
            resent_at: None,
            timed_out: None,
            regrowth: None,
        }
    }

    fn first(&self) -> u64 {
        self.outstanding.first()
    }

    fn end(&self) -> u64 {
        self.outstanding.end()
    }

    fn in_flight(&self) -> u64 {
        self.next - self.outstanding.first()
    }

    fn places(&self) -> [Option<*const ()>; 2] {
        self.outstanding.places()
    }

    fn first_sent(&self) -> Option<Time> {
        self.outstanding.first_sent()
    }

    fn recovering(&self) -> bool {
        self.recovering
    }

    fn regrowing(&self) -> bool {
        self.regrowth.is_some()
    }

    fn on_ack(&mut self, ack: &Segment, ears: &mut Ears) -> Answer {
        if ack.number > self.outstanding.first() {
            self.on_new(ack, ears)
        } else {
            let restarts_timer = self.outstanding.len() > 0
                && ack.number == self.outstanding.first()
                && self.on_duplicate(ears);
            Answer { restarts_timer, ..Answer::default() }
        }
    }

    /// Goes back to the first packet that is not acknowledged (RFC 6582 §4: recover is the highest
    /// sent).
    fn on_timeout(&mut self, again: bool, ears: &mut Ears) -> TimedOut {
        self.lose_first(false, ears);
        self.leave();
        self.timed_out = Some(None);
        self.duplicates = 0;
        self.recover = Some(self.outstanding.end());
        self.next = self.outstanding.first();
        self.regrowth = None;
        TimedOut { opens_epoch: !again, in_flight: 0.0 }
    }

    /// Sequence numbers begin anew (RFC 6582 §3.2: recover begins at the initial one).
    fn renew(&mut self) {
        (self.recover, self.regrowth) = (None, None);
    }

    /// Decides what may leave next, with a window of `window` packets and `offered` packets of
    /// data.
    fn next(&mut self, window: f64, offered: u64) -> Next {
        if self.resend_first {
            return Next::Again(self.outstanding.first());
        }
        if self.in_flight() >= self.usable(window) {
            return Next::WaitForWindow;
        }
        match self.next {
            next if next < self.outstanding.end() => Next::Again(next),
            next if next < offered => Next::New,
            _ => Next::WaitForData,
        }
    }

    /// Records that packet `number` leaves as transmission number `transmission`.
    fn sent(&mut self, number: u64, transmission: u64, now: Time) {
        if number == self.next {
            self.next += 1;
        }
        let in_flight = self.in_flight() as u32;
        if number == self.outstanding.end() {
            self.outstanding.push(transmission, now, in_flight);
        } else {
            let record = self.outstanding.get(number);
            let ambiguous = true;
            let record = Record { transmission, sent: now, in_flight, ambiguous, ..record };
            self.outstanding.put(number, &record);
        }
        if let Some(resent_at) = &mut self.timed_out {
            resent_at.get_or_insert(now);
        }
        if self.resend_first && number == self.outstanding.first() {
            self.resend_first = false;
            self.resent_at.get_or_insert(now);
        }
    }
}
