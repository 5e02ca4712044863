//! The E-TCP sender: packet transmission, congestion control, and, if required, reliable
//! transmission (E-TCP, §V-A).

use super::coding::Encoder;
use super::reliability::RetransmissionQueue;
use super::signalling::{Fate, Signalling};
use super::timers::Timers;
use crate::congestion::{Abilities, Congestion, Lost, Path, Quantum, Release, Spacing, Spread};
use crate::{Header, Least, Payload, RttEstimator, Segment, SendLimit, Timeouts};
use narrows_control::{Ack, Controller, Restart, Rtt};
use narrows_signal::Reply;
use narrows_units::Time;

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
    pub(super) congestion: Congestion,
    pub(super) release: Release,
    pub(super) signalling: Signalling,
    /// `None` unless lost data is sent again.
    pub(super) queue: Option<RetransmissionQueue>,
    /// `None` unless an erasure code makes up for lost data.
    pub(super) code: Option<Box<Encoder>>,
    pub(super) rtt: RttEstimator,
    pub(super) timeouts: Timeouts,
    pub(super) payload: Payload,
    pub(super) packet_bytes: u32,
    pub(super) offered: u64,
    /// The next number that has never been sent, used if delivery is not reliable.
    pub(super) next_number: u64,
    pub(super) waits_for_pacer: bool,
    pub(super) last_sent: Time,
    /// Packets that had left when the connection began.
    pub(super) began_at: u64,
    /// The application had nothing to send when the pacer was ready.
    pub(super) starved: bool,
    pub(super) timers: Timers,
    /// Outstanding packets whose answers are no longer awaited, so that the sender can go on if all
    /// of the first packets have been lost.
    pub(super) written_off: u64,
    /// The loss of a packet with this label or a later one opens an epoch.
    pub(super) epoch_ends: u64,
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
            timers: Timers::new(),
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
        self.timers.silence =
            if self.waits_for_answers() { now + self.timeout() } else { Time::NEVER };
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

    pub(super) fn transmit(&mut self, now: Time) -> Segment {
        if self.timers.silence == Time::NEVER {
            self.restart(now);
            self.timers.silence = now + self.timeout();
        }
        let (number, retransmission, symbol) = self.take_number();
        let label = self.signalling.label();
        self.congestion.counters.retransmitted += u32::from(retransmission);
        self.congestion.sent(label, now, 0, || self.signalling.outstanding() as u32);
        let cc_seq = label as u32;
        let is_reliable = self.queue.is_some() || self.code.is_some();
        if self.timers.data == Time::NEVER && is_reliable {
            self.timers.data = now + self.timeout();
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
    pub(super) fn restart(&mut self, now: Time) {
        let (since, timeout) = (self.last_sent, self.timeout());
        let is_silence = self.signalling.outstanding() == 0 || now.since(since) > timeout;
        if is_silence && self.congestion.counters.sent > self.began_at {
            self.congestion.restarted(now, since, timeout, Restart::Never);
        }
    }

    /// When the rate-control timer expires; never if the sender waits for something else.
    pub fn pace_at(&self) -> Time {
        if self.waits_for_pacer { self.release.ready_at() } else { Time::NEVER }
    }

    /// When the earliest of the other timers expires; never if none is running.
    pub fn retransmit_at(&self) -> Time {
        self.congestion.or_wakes(self.timers.data.min(self.timers.silence))
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
}
