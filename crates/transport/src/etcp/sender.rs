//! The E-TCP sender: packet transmission, congestion control, and, if required, reliable
//! transmission (E-TCP, §V-A).

use super::coding::{Encoder, Symbol};
use super::reliability::RetransmissionQueue;
use super::signalling::{Fate, Signalling};
use crate::congestion::{Abilities, Congestion, Lost, Path, Quantum, Release, Spacing, Spread};
use crate::{Header, Least, Outstanding, Payload, RttEstimator, Segment, SendLimit, Timeouts};
use narrows_control::{Ack, Controller, Pacing, Restart, Rtt, Timeout};
use narrows_signal::Reply;
use narrows_units::{Duration, Time};

/// How an E-TCP sender is set up.
#[derive(Clone, Debug)]
pub struct EtcpSettings {
    /// The bounds of the retransmission timer.
    pub timeouts: Timeouts,
    /// What becomes of lost data.
    pub delivery: Delivery,
    /// How the payload is checked: apart from the header, if data errors are to be told from losses
    /// (§I).
    pub payload: Payload,
    /// Bytes of a data packet on the wire, headers included.
    pub packet_bytes: u32,
    /// The gaps that replace the law's exponential ones.
    pub pacing: Option<Spacing>,
}

impl EtcpSettings {
    /// Settings of a sender as in the paper, whose data packets have `packet_bytes` on the wire.
    pub fn new(timeouts: Timeouts, packet_bytes: u32) -> Self {
        let (delivery, payload) = (Delivery::Retransmission, Payload::WithHeader);
        Self { timeouts, delivery, payload, packet_bytes, pacing: None }
    }
}

/// What becomes of lost data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is gone.
    Unreliable,
    /// It is sent again (§IV).
    Retransmission,
    /// It is computed from the symbols of an erasure code, see [`super::coding`].
    Coding {
        /// Packets of a block.
        block: u32,
    },
}

/// An E-TCP sender. Its methods are [`Sender`](crate::Sender)'s.
pub(crate) struct Sender {
    congestion: Congestion,
    release: Release,
    signalling: Signalling,
    /// `None` unless lost data is sent again.
    queue: Option<RetransmissionQueue>,
    /// `None` unless an erasure code makes up for lost data.
    code: Option<Box<Encoder>>,
    rtt: RttEstimator,
    timeouts: Timeouts,
    payload: Payload,
    packet_bytes: u32,
    offered: u64,
    /// The next number that has never been sent, used if delivery is not reliable.
    next_number: u64,
    waits_for_pacer: bool,
    last_sent: Time,
    /// Packets that had left when the connection began.
    began_at: u64,
    /// The application had nothing to send when the pacer was ready.
    starved: bool,
    /// When the timer of the smallest unacknowledged number expires.
    data_timer: Time,
    /// When the silence timer expires: nothing has been heard for a retransmission timeout.
    silence_timer: Time,
    /// Outstanding packets whose answers are no longer awaited, so that the sender can go on if all
    /// of the first packets have been lost.
    written_off: u64,
    /// The loss of a packet with this label or a later one opens an epoch.
    epoch_ends: u64,
}

impl Sender {
    /// Creates a sender that has no data to send.
    pub fn new(settings: EtcpSettings, controller: Box<dyn Controller>, path: Path) -> Self {
        let EtcpSettings { timeouts, delivery, payload, packet_bytes, pacing } = settings;
        let code = match delivery {
            Delivery::Coding { block } => Some(Box::new(Encoder::new(block))),
            Delivery::Unreliable | Delivery::Retransmission => None,
        };
        // RFC 6298's bound: Linux's goes by round trips, which E-TCP does not count.
        let timeouts = Timeouts { least_is: Least::OfTimeout, ..timeouts };
        let congestion = Congestion::new(controller, Abilities::default());
        Self {
            release: Release::new(pacing, Quantum::Packets(1), path),
            congestion,
            signalling: Signalling::default(),
            queue: (delivery == Delivery::Retransmission).then(RetransmissionQueue::default),
            code,
            rtt: RttEstimator::default(),
            timeouts,
            payload,
            packet_bytes,
            offered: 0,
            next_number: 0,
            waits_for_pacer: false,
            last_sent: Time::ZERO,
            began_at: 0,
            starved: true,
            data_timer: Time::NEVER,
            silence_timer: Time::NEVER,
            written_off: 0,
            epoch_ends: 0,
        }
    }

    /// The application has `packets` more packets to send.
    pub fn offer(&mut self, packets: u64) {
        self.offered = self.offered.saturating_add(packets);
    }

    /// The application withdraws everything that has not been sent yet.
    pub fn stop(&mut self) {
        self.offered = self.next_new();
    }

    /// Begins a new connection where the old one ended: nothing is known of the path any more, but
    /// sequence numbers continue.
    pub fn renew(&mut self, controller: Box<dyn Controller>) {
        self.congestion.renew(controller);
        self.release.renew();
        self.rtt = RttEstimator::default();
        self.written_off = self.signalling.outstanding();
        self.began_at = self.congestion.counters.sent;
    }

    /// An acknowledgement arrived.
    ///
    /// Panics if the segment is not an E-TCP acknowledgement.
    pub fn on_ack(&mut self, now: Time, ack: &Segment) {
        let Header::EtcpAck(fields) = &ack.header else {
            panic!("an E-TCP sender got {:?}", ack.header)
        };
        self.measure_rtt(now, ack);
        self.written_off = 0;
        let (mut received, rtt, next) = (0u32, self.rtt.estimate(), self.signalling.next());
        let in_flight = self.signalling.outstanding() as f64;
        let (congestion, epoch_ends, code) =
            (&mut self.congestion, &mut self.epoch_ends, &mut self.code);
        let highest = self.signalling.on_ack(fields, |label, fate| {
            if let Some(code) = code {
                code.answer(fate);
            }
            if fate == Fate::Received {
                received += 1;
                return;
            }
            let opens_epoch = label >= *epoch_ends;
            if opens_epoch {
                *epoch_ends = next;
            }
            let (number, transmission) = (label, label);
            congestion.lost(&Lost { now, number, transmission, next, opens_epoch, in_flight, rtt });
        });
        if let Some(newest) = highest.filter(|_| received > 0) {
            self.congestion.acknowledged(&Ack {
                now,
                packets: f64::from(received),
                newest,
                next,
                rtt,
                rtt_is_fresh: true,
                in_flight: self.signalling.outstanding() as f64,
                window_limited: !self.starved,
                recovering: false,
                marked: 0.0,
                reply: Reply::Nothing,
                rate: None,
            });
        }
        if self.release.hears() {
            let outstanding = self.signalling.outstanding();
            let spread = Spread::new(&self.congestion, f64::INFINITY, outstanding, rtt);
            self.release.hear(now, received.into(), rtt.map(|rtt| rtt.latest), &spread);
        }
        self.deliver(now, ack);
        self.silence_timer =
            if self.waits_for_answers() { now + self.timeout() } else { Time::NEVER };
    }

    /// Handles the part of an acknowledgement that concerns reliable delivery.
    fn deliver(&mut self, now: Time, ack: &Segment) {
        let Header::EtcpAck(fields) = &ack.header else { return };
        if let Some(code) = &mut self.code {
            code.on_ack(ack.number, fields.decoded());
            if let Some(block) = fields.damaged_symbol() {
                code.on_damage(block);
            }
            self.data_timer =
                if code.is_empty() { Time::NEVER } else { now + self.rtt.timeout(&self.timeouts) };
        }
        let Some(queue) = &mut self.queue else { return };
        let first = queue.first();
        let (left_edge, tsn) = fields.block(ack.number);
        if left_edge > tsn {
            queue.on_damage(tsn);
        }
        queue.on_ack(ack.number, left_edge, tsn);
        if queue.is_empty() {
            self.data_timer = Time::NEVER;
        } else if queue.first() > first {
            self.data_timer = now + self.rtt.timeout(&self.timeouts);
        }
    }

    /// One of the wake-up times has come.
    pub fn on_wakeup(&mut self, now: Time) {
        self.congestion.wake(now);
        if self.data_timer <= now {
            if let Some(queue) = &mut self.queue {
                queue.on_timeout();
            }
            if let Some(code) = &mut self.code {
                code.on_silence();
            }
            self.written_off = self.signalling.outstanding();
            // "… and the timer is reset to the estimated round trip time" (§IV).
            self.data_timer =
                now + self.rtt.estimate().map_or(self.timeouts.initial, |rtt| rtt.smoothed);
        }
        if self.silence_timer <= now {
            self.rtt.back_off();
            self.written_off = self.signalling.outstanding();
            self.congestion.timed_out(&Timeout { now, opens_epoch: true, in_flight: 0.0 });
            self.silence_timer = now + self.timeout();
        }
    }

    /// True if there is something to send and the pacer lets it go at `now`.
    pub fn may_transmit(&mut self, now: Time) -> bool {
        self.has_data() && self.may_leave_unanswered() && self.release.ready_at() <= now
    }

    /// Puts the next segment to leave at `now` into `segment` and returns true, if one may.
    pub fn transmit_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        self.waits_for_pacer = false;
        if !self.has_data() {
            self.starved = true;
            self.congestion.waits(now, SendLimit::Application, false);
            return false;
        }
        if !self.may_leave_unanswered() {
            self.congestion.waits(now, SendLimit::Window, false);
            return false;
        }
        if self.release.ready_at() > now {
            self.waits_for_pacer = true;
            self.congestion.waits(now, SendLimit::Pacing, false);
            return false;
        }
        self.starved = false;
        *segment = self.transmit(now);
        true
    }

    fn transmit(&mut self, now: Time) -> Segment {
        if self.silence_timer == Time::NEVER {
            self.restart(now);
            self.silence_timer = now + self.timeout();
        }
        let (number, retransmission, symbol) = self.take_number();
        let label = self.signalling.label();
        self.congestion.counters.retransmitted += u32::from(retransmission);
        self.congestion.sent(label, now, || self.signalling.outstanding() as u32);
        let cc_seq = label as u32;
        let is_reliable = self.queue.is_some() || self.code.is_some();
        if self.data_timer == Time::NEVER && is_reliable {
            self.data_timer = now + self.timeout();
        }
        self.last_sent = now;
        let (congestion, signalling, rtt) = (&self.congestion, &self.signalling, &self.rtt);
        self.release.left(now, 1, congestion, || {
            Spread::new(congestion, f64::INFINITY, signalling.outstanding(), rtt.estimate())
        });
        let header = match symbol {
            None => Header::EtcpData { cc_seq, retransmission, payload: self.payload },
            Some(symbol) => Header::EtcpSymbol { cc_seq, symbol, payload: self.payload },
        };
        Segment::data(number, now, self.packet_bytes, header)
    }

    /// A packet is about to leave at `now` while no answer is awaited. After a silence the law
    /// hears of it: nothing is outstanding, or only holes whose answers are overdue.
    #[cold]
    fn restart(&mut self, now: Time) {
        let (since, timeout) = (self.last_sent, self.timeout());
        let is_silence = self.signalling.outstanding() == 0 || now.since(since) > timeout;
        if is_silence && self.congestion.counters.sent > self.began_at {
            self.congestion.restarted(now, since, timeout, Restart::Never);
        }
    }

    /// Returns the number of the data that leaves, whether it makes up for a loss, and the symbol
    /// that it is, if it is coded.
    fn take_number(&mut self) -> (u64, bool, Option<Symbol>) {
        if let Some(code) = &mut self.code
            && let Some((symbol, first)) = code.next(self.offered)
        {
            let packet = if symbol.is_repair() { 0 } else { u64::from(symbol.number) };
            return (first + packet, symbol.is_repair(), Some(symbol));
        }
        let Some(queue) = &mut self.queue else {
            self.next_number += 1;
            return (self.next_number - 1, false, None);
        };
        match queue.next_lost() {
            Some(number) => {
                queue.send_again(number);
                (number, true, None)
            }
            None => (queue.send_new(), false, None),
        }
    }

    /// When the rate-control timer expires; never if the sender waits for something else.
    pub fn pace_at(&self) -> Time {
        if self.waits_for_pacer { self.release.ready_at() } else { Time::NEVER }
    }

    /// When the earliest of the other timers expires; never if none is running.
    pub fn retransmit_at(&self) -> Time {
        self.congestion.or_wakes(self.data_timer.min(self.silence_timer))
    }

    pub fn congestion(&self) -> &Congestion {
        &self.congestion
    }

    /// The current RTT estimate; `None` until there is a sample.
    pub fn rtt(&self) -> Option<Rtt> {
        self.rtt.estimate()
    }

    /// Packets sent and neither received nor lost, as far as the sender knows.
    pub fn in_flight(&self) -> u64 {
        self.signalling.outstanding()
    }

    pub fn first(&self) -> u64 {
        if let Some(code) = &self.code {
            return code.first();
        }
        self.queue.as_ref().map_or(self.next_number, RetransmissionQueue::first)
    }

    pub fn recovering(&self) -> bool {
        false
    }

    pub fn is_done(&self) -> bool {
        (self.queue.is_some() || self.code.is_some()) && self.first() >= self.offered
    }

    fn next_new(&self) -> u64 {
        if let Some(code) = &self.code {
            return code.end();
        }
        self.queue.as_ref().map_or(self.next_number, RetransmissionQueue::end)
    }

    fn has_data(&mut self) -> bool {
        let lost = self.queue.as_mut().is_some_and(|queue| queue.next_lost().is_some());
        let lacking = self.code.as_mut().is_some_and(|code| code.needs_repair());
        lost || lacking || self.next_new() < self.offered
    }

    /// True if a packet may leave although earlier ones are unanswered: the window limits only the
    /// first packets, before there is a pacing rate.
    fn may_leave_unanswered(&self) -> bool {
        let unanswered = self.signalling.outstanding().saturating_sub(self.written_off);
        let has_pace = self.rtt.estimate().is_some() && self.congestion.pacing() != Pacing::Unpaced;
        has_pace || (unanswered as f64) < self.congestion.window()
    }

    /// True if answers are due. While the application has nothing to send, the last holes wait for
    /// the packets that come next.
    fn waits_for_answers(&self) -> bool {
        !self.starved && self.signalling.outstanding() > 0
    }

    fn timeout(&self) -> Duration {
        self.rtt.timeout(&self.timeouts)
    }

    fn measure_rtt(&mut self, now: Time, ack: &Segment) {
        let rtt = now.since(ack.echoed_stamp);
        let outstanding = Outstanding { first: 0, end: 0 };
        self.rtt.sample(rtt, &self.timeouts, outstanding);
        self.rtt.end_back_off();
        self.congestion.count_rtt(rtt);
    }
}
