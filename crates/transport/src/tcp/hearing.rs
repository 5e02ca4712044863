//! What an acknowledgement says besides what has arrived: a window, marks, the round-trip time.

use super::recovery::{Answer, Recovery};
use super::sender::Sender;
use crate::congestion::Marked;
use crate::{AckHeader, Header, Outstanding, Segment};
use narrows_signal::Reply;
use narrows_units::Time;

impl<R: Recovery> Sender<R> {
    /// What an acknowledgement says besides what has arrived: a window, if a router has lowered it
    /// for a sender that asks nothing, and whether a mark is echoed.
    #[inline]
    pub(super) fn hear(&mut self, header: &AckHeader, advances: bool) {
        if !self.congestion.asks()
            && let Reply::Window(bytes) = header.reply
        {
            self.take_window(bytes, advances);
        }
        if self.is_echo(header) {
            self.recovery.forbid_undo();
        }
    }

    /// The window that an acknowledgement advertises, in bytes, lowered by a router on its way; a
    /// smaller one counts only if it acknowledges more (`tcp_may_update_window` in Linux's
    /// net/ipv4/tcp_input.c).
    #[cold]
    pub(super) fn take_window(&mut self, bytes: u32, advances: bool) {
        let packets = (f64::from(bytes) / f64::from(self.packet_bytes)).min(self.limit.own);
        if advances || packets > self.limit.packets {
            self.limit.packets = packets;
            self.limit.whole = packets as u64;
        }
    }

    /// Tells the controller about packets that arrived with a mark; returns their number.
    #[inline]
    pub(super) fn tell_marks(&mut self, now: Time, ack: &AckHeader, answer: &Answer) -> f64 {
        if self.congestion.marks.is_none() { 0.0 } else { self.tell_of_marks(now, ack, answer) }
    }

    pub(super) fn tell_of_marks(&mut self, now: Time, ack: &AckHeader, answer: &Answer) -> f64 {
        let reduced = self.recovery.recovering() || self.recovery.repairing();
        let Some(marks) = &mut self.congestion.marks else { return 0.0 };
        let packets = marks.told(ack, answer.packets);
        if packets > 0.0 {
            let next = self.congestion.counters.sent;
            let reduced_to = if reduced { u64::MAX } else { 0 };
            let marked = Marked { now, packets, newest: answer.newest, next, reduced_to };
            let answered = self.congestion.marked(&marked);
            if answered.backs_off {
                self.rtt.back_off();
            }
            if answered.opens_epoch {
                self.recovery.reduces_for_mark();
            }
        }
        packets
    }

    /// The next new packet tells the receiver that the window has been reduced (RFC 3168 §6.1.2).
    pub(super) fn say_reduced(&mut self) {
        if let Some(marks) = &mut self.congestion.marks {
            marks.says_reduced = true;
        }
    }

    /// True if a mark has stopped the sender until the timer goes off.
    pub(super) fn is_stopped(&self) -> bool {
        self.congestion.marks.is_some_and(|marks| marks.stopped)
    }

    /// RFC 3168 §6.1.2: the window does not grow for an acknowledgement that echoes a mark.
    pub(super) fn is_echo(&self, ack: &AckHeader) -> bool {
        ack.ece && self.congestion.marks.is_some_and(|marks| marks.classic)
    }

    /// Takes an RTT sample from a new acknowledgement, by its timestamp or from the packet being
    /// timed; returns true if there is one.
    pub(super) fn measure_rtt(&mut self, now: Time, ack: &Segment) -> bool {
        let timed = self.timed.take_if(|(number, _)| *number < ack.number);
        let keeps = self.congestion.marks.is_some_and(|marks| {
            marks.keeps_back_off(matches!(ack.header, Header::Ack(header) if header.ece))
        });
        if timed.is_some() && !keeps {
            self.rtt.end_back_off();
        }
        let stamped = self.habits.timestamps.then_some(ack.echoed_stamp);
        let Some(sent) = stamped.or(timed.map(|(_, sent)| sent)) else { return false };
        self.take_rtt(now, sent, ack.number);
        true
    }

    /// Takes an RTT sample of what left at `sent`; everything below `number` is acknowledged.
    pub(super) fn take_rtt(&mut self, now: Time, sent: Time, number: u64) {
        let rtt = now.since(sent);
        let outstanding = Outstanding { first: number.max(self.first()), end: self.recovery.end() };
        self.rtt.sample(rtt, &self.habits.timeouts, outstanding);
        if !self.habits.keeps_back_off {
            self.rtt.end_back_off();
        }
        self.congestion.count_rtt(rtt);
    }
}
