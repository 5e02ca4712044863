//! The plain way through the sender: an acknowledgement in order, and new data, with nothing rare
//! on.
//!
//! It does what [`Sender`]'s general methods do in that case, without asking them in turn whether
//! it is one. What is rare is known when the connection begins ([`Sender::find_way`]), but for
//! the little that each method asks here: a law's pacing, a silence before what leaves. Today
//! ns-2's habits are plain and Linux's are not; only SACK hears acknowledgements plainly.
//! `crates/transport/tests/properties` holds that both ways end in the same state; built with
//! `--cfg general` (`make general`), there is only the other.

use super::recovery::{Answer, Next, Recovery};
use super::sender::Sender;
use super::{Detection, Habits};
use crate::handshake::Handshake;
use crate::{DataHeader, Header, Segment, SendLimit};
use narrows_control::{Ack, Pacing};
use narrows_signal::{Ecn, Reply, Request};
use narrows_units::Time;

/// By which way a sender hears and sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The plain way, if what happens is plain.
    Plain,
    /// The general way.
    General,
    /// The general way, whatever is on.
    OnlyGeneral,
}

impl<R: Recovery> Sender<R> {
    /// The way of this connection: plain if nothing rare is on, neither a handshake under way,
    /// marks, rate samples, requests to routers, a timer of the law, spacing at the user's wish,
    /// bursts, losses found by time, probes, nor a window that is validated.
    pub(super) fn find_way(&self) -> Way {
        let Habits {
            detection,
            probes,
            validates_window,
            // `release` and the receiver were made of these.
            quantum: _,
            acks: _,
            paces_acks: _,
            // What both ways ask, or hand to what they share.
            initial_window: _,
            timeouts: _,
            timestamps: _,
            keeps_back_off: _,
            counts_packets: _,
            limited_transmit: _,
            metering: _,
            restart: _,
            // Means nothing where losses are counted, or is over.
            frto: _,
            handshake: _,
        } = *self.habits;
        let is_plain = matches!(self.handshake, Handshake::Done)
            && self.congestion.is_plain()
            && self.release.is_plain()
            && detection == Detection::ByCount
            && !validates_window
            && !probes;
        match self.way {
            Way::OnlyGeneral => Way::OnlyGeneral,
            _ if is_plain => Way::Plain,
            _ => Way::General,
        }
    }

    /// Handles an acknowledgement that says only that everything below its number has arrived, and
    /// reveals nothing; returns false if it is another, and leaves it alone.
    #[inline]
    pub(super) fn hear_plain(&mut self, now: Time, ack: &Segment) -> bool {
        if !ack.is_bare() {
            return false;
        }
        let Some(answer) = self.recovery.advance(ack, self.habits.timestamps) else { return false };
        self.echo = ack.stamp;
        if answer.restarts_timer {
            self.advance_plain(now, ack, &answer);
        } else if self.is_idle() {
            self.timer.at = Time::NEVER;
        }
        true
    }

    #[inline]
    fn advance_plain(&mut self, now: Time, ack: &Segment, answer: &Answer) {
        let rtt_is_fresh = self.measure_rtt(now, ack);
        self.timer.has_expired = false;
        if answer.packets > 0 {
            let recovering = self.recovering();
            if !recovering {
                self.usage.grew(now);
            }
            self.congestion.acknowledged(&Ack {
                now,
                packets: if self.habits.counts_packets { answer.packets as f64 } else { 1.0 },
                newest: answer.newest,
                next: self.congestion.counters.sent,
                rtt: self.rtt.estimate(),
                rtt_is_fresh,
                in_flight: self.in_flight() as f64,
                window_limited: self.usage.was_full() && !self.recovery.regrowing(),
                recovering,
                marked: 0.0,
                reply: Reply::Nothing,
                rate: None,
            });
        }
        if self.is_idle() {
            self.timer.at = Time::NEVER;
        } else {
            self.restart_timer(now);
        }
    }

    /// Puts the next packet into `segment`, if it is a new one that may leave; `None` leaves it to
    /// the general way.
    #[inline]
    pub(super) fn transmit_plain(&mut self, now: Time, segment: &mut Segment) -> Option<bool> {
        if *self.congestion.pacing() != Pacing::Unpaced || self.release.ready_at() > now {
            return None;
        }
        let window = self.flight_limit();
        match self.recovery.next(window.min(self.limit.packets), self.sendable()) {
            // A silence is over: the law may begin to pace.
            Next::New if self.is_idle() && self.congestion.counters.sent > 0 => None,
            Next::New => {
                self.send_plain(now, segment);
                Some(true)
            }
            Next::WaitForWindow => {
                self.waits_for_pacer = false;
                let own = window <= self.limit.packets;
                self.usage.forget(own);
                self.waits(now, if own { SendLimit::Window } else { SendLimit::Receiver });
                Some(false)
            }
            Next::WaitForData | Next::Again(_) => None,
        }
    }

    #[inline]
    fn send_plain(&mut self, now: Time, segment: &mut Segment) {
        self.waits_for_pacer = false;
        let number = self.recovery.end();
        self.recovery.sent(number, self.congestion.counters.sent, now);
        self.congestion.counters.sent += 1;
        self.last_sent = now;
        if self.timed.is_none() && (!self.habits.timestamps || self.habits.keeps_back_off) {
            self.timed = Some((number, now));
        }
        if self.timer.at == Time::NEVER {
            self.restart_timer(now);
        }
        self.release.one_left_plain();
        *segment = Segment {
            number,
            stamp: now,
            echoed_stamp: self.echo,
            bytes: self.packet_bytes,
            header: Header::Data(DataHeader {
                retransmission: false,
                ecn: Ecn::NotCapable,
                reduced: false,
                pushes: number + 1 == self.offered,
                request: Request::Nothing,
                quic: None,
            }),
        };
    }
}
