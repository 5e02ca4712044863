//! The plain ways through the sender: an acknowledgement in order, and new data, with nothing rare
//! on.
//!
//! They do what [`Sender`]'s general methods do in that case, without asking them in turn whether
//! it is one. What is rare is known when the connection begins ([`Sender::find_way`]), but for
//! the little that each method asks here: a silence before what leaves, by count a law's pacing,
//! and by time whether all is calm. One way is for losses found by count, as in ns-2, the other for
//! losses found by time, in bursts, paced, with probes, samples of the rate and a window that is
//! validated, as in Linux. Only SACK hears acknowledgements plainly.
//! `crates/transport/tests/properties` holds that both ways end in the same state; built with
//! `--cfg general` (`make general`), there is only the other.

use super::recovery::{Answer, Next, Recovery};
use super::sender::Sender;
use super::timer::TimerKind;
use super::{Detection, Habits};
use crate::handshake::Handshake;
use crate::{DataHeader, Header, Segment, SendLimit};
use narrows_control::{Ack, Pacing, RateSample};
use narrows_signal::{Ecn, Reply, Request};
use narrows_units::Time;

/// By which way a sender hears and sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The plain way for losses found by count, if what happens is plain.
    ByCount,
    /// The plain way for losses found by time, if what happens is plain.
    ByTime,
    /// The general way.
    General,
    /// The general way, whatever is on.
    OnlyGeneral,
}

impl<R: Recovery> Sender<R> {
    /// The way of this connection: plain if nothing rare is on, neither a handshake under way,
    /// marks, requests to routers, a timer of the law, a send buffer, nor spacing that hears
    /// acknowledgements; by count neither rate samples, spacing at the user's wish, bursts,
    /// probes, nor a window that is validated.
    pub(super) fn find_way(&self) -> Way {
        let Habits {
            detection,
            probes,
            validates_window,
            // `release`, the buffer and the receiver were made of these.
            quantum: _,
            burst_memory: _,
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
            deferral: _,
            // Means nothing where losses are counted, or is over.
            frto: _,
            handshake: _,
        } = *self.habits;
        let is_plain = matches!(self.handshake, Handshake::Done)
            && self.congestion.is_plain()
            && self.buffer.is_none()
            && !self.release.hears();
        let is_bare = !self.congestion.samples()
            && !self.release.is_spaced()
            && self.release.is_single()
            && !validates_window
            && !probes;
        match (self.way, detection) {
            (Way::OnlyGeneral, _) => Way::OnlyGeneral,
            (_, Detection::ByTime) if is_plain => Way::ByTime,
            (_, Detection::ByCount) if is_plain && is_bare => Way::ByCount,
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
            let window_limited = self.usage.was_full() && !self.recovery.regrowing();
            self.tell_law(now, answer, rtt_is_fresh, window_limited, None);
        }
        if self.is_idle() {
            self.timer.at = Time::NEVER;
        } else {
            self.restart_timer(now);
        }
    }

    /// Tells the law of packets that have arrived, of which nothing rare is to be said, and of the
    /// rate at which.
    #[inline]
    fn tell_law(
        &mut self,
        now: Time,
        answer: &Answer,
        rtt_is_fresh: bool,
        window_limited: bool,
        rate: Option<RateSample>,
    ) {
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
            window_limited,
            recovering,
            marked: 0.0,
            reply: Reply::Nothing,
            rate,
        });
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
        self.write_new(now, number, (number + 1 == self.offered, 0), segment);
    }

    /// Puts the new packet `number` into `segment`: whether it says that it ends a burst, and with
    /// how many behind it it is handed over.
    #[inline]
    fn write_new(
        &self,
        now: Time,
        number: u64,
        (pushes, followers): (bool, u16),
        segment: &mut Segment,
    ) {
        *segment = Segment {
            number,
            stamp: now,
            echoed_stamp: self.echo,
            bytes: self.packet_bytes,
            header: Header::Data(DataHeader {
                retransmission: false,
                ecn: Ecn::NotCapable,
                reduced: false,
                pushes,
                behind: u32::from(followers) * self.packet_bytes,
                request: Request::Nothing,
                quic: None,
            }),
        };
    }

    /// The same as [`hear_plain`](Self::hear_plain) where losses are found by time.
    // Inlined, both ways would be slower.
    #[inline(never)]
    pub(super) fn hear_by_time(&mut self, now: Time, ack: &Segment) -> bool {
        if !ack.is_bare() {
            return false;
        }
        let in_flight = self.in_flight();
        let Some(delivered) = self.recovery.advance_calmly(ack, now) else { return false };
        self.echo = ack.stamp;
        let rtt_is_fresh = self.measure_rtt(now, ack);
        self.congestion.delivered(&delivered, now, || self.rtt.estimate());
        let rate = if self.congestion.samples() { self.rate_sample(now, in_flight) } else { None };
        self.timer.has_expired = false;
        let answer = Answer::of(&delivered, true);
        self.tell_law(now, &answer, rtt_is_fresh, self.uses_window(), rate);
        if self.is_idle() {
            self.timer.at = Time::NEVER;
        } else {
            self.restart_timer(now);
            if self.habits.probes {
                self.time_probe(now);
            }
        }
        true
    }

    /// The same as [`transmit_plain`](Self::transmit_plain) where losses are found by time.
    #[inline(never)]
    pub(super) fn transmit_by_time(&mut self, now: Time, segment: &mut Segment) -> Option<bool> {
        if !self.recovery.is_calm() {
            return None;
        }
        let window = self.flight_limit();
        let own = window <= self.limit.packets;
        let limit = window.min(self.limit.packets);
        match self.recovery.next(limit, self.sendable()) {
            Next::New if self.is_idle() && self.congestion.counters.sent > 0 => return None,
            Next::New if self.release.ready_at() > now && !self.release.is_bursting() => {
                self.wait_for_pacer(now, own, window);
            }
            Next::New => {
                self.waits_for_pacer = false;
                if self.begin_or_continue_burst(now, false, limit) {
                    self.send_by_time(now, segment);
                    return Some(true);
                }
                self.pause(now, own, window);
                self.waits(now, SendLimit::Window);
            }
            Next::WaitForWindow => {
                self.waits_for_pacer = false;
                self.pause(now, own, window);
                self.waits(now, if own { SendLimit::Window } else { SendLimit::Receiver });
            }
            Next::WaitForData | Next::Again(_) => return None,
        }
        Some(false)
    }

    /// Sets the timer for the packet `number`, which leaves at `now`.
    #[inline]
    fn time_departure(&mut self, now: Time, number: u64) {
        // Of three packets and more outstanding another that leaves together with them makes the
        // same time.
        if self.timer.departed == now && number - self.first() > 1 {
            return;
        }
        let departed = if self.timer.at == Time::NEVER {
            self.restart_timer(now);
            Time::NEVER
        } else if self.timer.kind == TimerKind::Probe {
            self.rearm(now);
            now
        } else {
            Time::NEVER
        };
        if self.habits.probes {
            self.time_probe(now);
            self.timer.departed = departed;
        }
    }

    #[inline]
    fn send_by_time(&mut self, now: Time, segment: &mut Segment) {
        let number = self.recovery.end();
        self.recovery.sent(number, self.congestion.counters.sent, now);
        let followers = self.release.followers(self.packet_bytes);
        self.congestion.sent(number, now, followers, || self.recovery.in_flight() as u32);
        self.last_sent = now;
        if self.timed.is_none() && (!self.habits.timestamps || self.habits.keeps_back_off) {
            self.timed = Some((number, now));
        }
        self.time_departure(now, number);
        let burst = self.release.one_left();
        if let Some(packets) = burst {
            self.space(now, packets);
        }
        let pushes = burst.is_some_and(|packets| packets > 1) || number + 1 == self.offered;
        self.write_new(now, number, (pushes, followers), segment);
    }
}
