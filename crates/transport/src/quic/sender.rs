//! The QUIC sender (RFC 9002, §6 and §7; appendices A and B): turns an application's data into
//! packets, as far as the controller and the pacer allow.

use super::losses::Repair;
use super::outgoing::Outgoing;
use super::rtt::RttEstimator;
use super::sent_packets::SentPackets;
use super::timer::LossTimer;
use super::{AckPolicy, INITIAL_BYTES, IP_AND_UDP};
use crate::congestion::{
    Abilities, Congestion, EcnOfUser, Marked, Path, Quantum, Release, Sending, Spacing,
};
use crate::handshake::Handshake;
use crate::{DataHeader, Header, Segment, SendLimit};
use narrows_control::{Ack, Controller, RateSample, Restart, Rtt};
use narrows_signal::{Ecn, QuicAck};
use narrows_units::{Duration, Time};

/// How a QUIC sender is set up.
#[derive(Clone, Debug)]
pub struct QuicSettings {
    /// If true, a connection begins with a handshake, which gives the first RTT sample.
    pub handshake: bool,
    /// When the receiver acknowledges, which the sender is told (max_ack_delay).
    pub acks: AckPolicy,
    /// Bytes of a data packet on the wire, headers included.
    pub packet_bytes: u32,
    /// The receiver's window in packets; infinite if it does not limit the sender.
    pub window_limit: f64,
    /// How packets are spaced.
    pub pacing: Option<Spacing>,
    /// Packets that leave together, as with segmentation offload.
    pub quantum: u32,
    /// What the user asks of ECN.
    pub ecn: EcnOfUser,
    /// If true, the controller answers each lost packet, so no recovery keeps its window still
    /// (E-TCP, §III-A).
    pub each_loss: bool,
}

impl QuicSettings {
    /// What RFC 9002 recommends, without ECN, for packets that leave one by one and a receiver
    /// whose window does not limit the sender.
    pub fn new(packet_bytes: u32) -> Self {
        Self {
            handshake: true,
            acks: AckPolicy::default(),
            packet_bytes,
            window_limit: f64::INFINITY,
            pacing: Some(Spacing::Recommended(initial_window(packet_bytes) as u32)),
            quantum: 1,
            ecn: EcnOfUser::default(),
            each_loss: false,
        }
    }
}

/// The initial window, in packets of `packet_bytes` on the wire: ten, "while limiting the window to
/// the larger of 14,720 bytes or twice the maximum datagram size" (RFC 9002, §7.2). Datagrams are
/// counted without the headers of IPv4 and UDP.
pub fn initial_window(packet_bytes: u32) -> f64 {
    let datagram = f64::from(packet_bytes.saturating_sub(IP_AND_UDP).max(1));
    (14_720.0 / datagram).clamp(2.0, 10.0)
}

/// What may leave next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A packet with this data, which may have left before.
    Data { data: u64, again: bool },
    /// The window is full.
    WaitForWindow,
    /// The application or the receiver's window has nothing to send.
    WaitForData,
}

/// A QUIC sender. Its methods are [`Sender`](crate::Sender)'s.
pub(crate) struct Sender {
    pub(super) congestion: Congestion,
    pub(super) release: Release,
    pub(super) settings: QuicSettings,
    /// Packets under way, and those lost for which an acknowledgement may still come.
    pub(super) packets: SentPackets,
    pub(super) data: Outgoing,
    pub(super) rtt: RttEstimator,
    pub(super) handshake: Handshake,
    /// The connection's first packet number.
    pub(super) begins_at: u64,
    pub(super) timer: LossTimer,
    pub(super) last_sent: Time,
    pub(super) repair: Repair,
    /// The window was the limit when nothing more could leave.
    pub(super) is_full: bool,
    /// When the pacer lets the next packet go, if that is what the sender waits for.
    pub(super) waits_for_pacer: Time,
}

impl Sender {
    /// Creates a sender that has no data to send.
    pub fn new(settings: QuicSettings, controller: Box<dyn Controller>, path: Path) -> Self {
        let congestion =
            Congestion::new(controller, Abilities { ecn: settings.ecn, deliveries: true });
        let quantum = Quantum::Packets(settings.quantum);
        Self {
            release: Release::new(settings.pacing, quantum, path),
            congestion,
            packets: SentPackets::default(),
            data: Outgoing::default(),
            rtt: RttEstimator::default(),
            handshake: Handshake::new(settings.handshake),
            begins_at: 0,
            timer: LossTimer::new(),
            last_sent: Time::ZERO,
            repair: Repair::default(),
            is_full: false,
            waits_for_pacer: Time::NEVER,
            settings,
        }
    }

    /// The application has `packets` more packets to send.
    #[inline(never)]
    pub fn offer(&mut self, packets: u64) {
        self.data.offered = self.data.offered.saturating_add(packets);
    }

    /// The application withdraws everything that has not been sent yet.
    #[inline(never)]
    pub fn stop(&mut self) {
        self.data.offered = self.data.end;
    }

    /// Begins a new connection where the old one ended: nothing is known of the path any more, but
    /// numbers continue. Whoever asks for it has received all that has left, so nothing of the old
    /// connection leaves again, and whatever is still heard of it changes nothing.
    #[inline(never)]
    pub fn renew(&mut self, controller: Box<dyn Controller>) {
        self.rtt = RttEstimator::default();
        self.packets.discard();
        self.begins_at = self.packets.next();
        self.congestion.renew_from(controller, self.begins_at);
        self.release.renew();
        (self.data.delivered.next()..self.data.end)
            .for_each(|data| _ = self.data.delivered.arrive(data));
        self.handshake = Handshake::new(self.settings.handshake);
        self.timer.reset();
        self.is_full = false;
        // `recovers_to` and its like are numbers of packets that have left, below all that come.
        self.repair.begins = false;
        self.repair.run.forget();
        (self.timer.at, self.timer.loss_time, self.waits_for_pacer) =
            (Time::NEVER, Time::NEVER, Time::NEVER);
    }

    /// An acknowledgement arrived (OnAckReceived, A.7).
    #[inline(never)]
    pub fn on_ack(&mut self, now: Time, ack: &Segment) {
        let fields = match &ack.header {
            Header::QuicAccept if ack.number >= self.begins_at => return self.accepted(now, ack),
            Header::QuicAck(fields) => fields,
            _ => return,
        };
        if ack.number < self.begins_at {
            // It answers a connection that is over; so do the marks that it counts.
            self.congestion.marks.iter_mut().for_each(|marks| _ = marks.newly(fields.marked));
            return;
        }
        if ack.number >= self.packets.next() {
            // RFC 9000, §13.1: an acknowledgement of a packet that has not been sent is an error.
            return;
        }
        self.repair.begins = false;
        self.packets.forget_lost(now);
        let prior_in_flight = self.packets.in_flight();
        let delivered = &mut self.data.delivered;
        let told = self.packets.acknowledge(ack.number, fields, |data| {
            delivered.arrive(data);
        });
        if told.packets == 0 {
            return;
        }
        // §5.1: a sample is of the largest packet acknowledged, if that is new.
        let rtt_is_fresh = told.newest == ack.number;
        if rtt_is_fresh {
            let delay = ack.stamp.since(ack.echoed_stamp);
            self.take_rtt(now, now.since(told.newest_sent), delay);
        }
        let rtt = self.rtt.estimate();
        self.congestion.delivered(&told, now, || rtt);
        let marked = self.tell_marks(now, fields, told.newest);
        self.detect_losses(now);
        self.timer.reset();
        let rate = self.rate_sample(now, told.newest, prior_in_flight);
        self.congestion.acknowledged(&Ack {
            now,
            packets: told.packets as f64,
            newest: told.newest,
            next: self.packets.next(),
            rtt,
            rtt_is_fresh,
            in_flight: self.packets.in_flight() as f64,
            window_limited: self.is_full,
            recovering: !self.settings.each_loss
                && told.newest < self.repairs_to().max(self.answered_to()),
            marked,
            reply: fields.reply,
            rate,
        });
        if self.release.hears() {
            let fresh = rtt.filter(|_| rtt_is_fresh).map(|rtt| rtt.latest);
            let spread = self.spread();
            self.release.hear(now, told.packets, fresh, &spread);
        }
        self.set_timer(now);
    }

    /// The rate sample of an acknowledgement up to `newest`, before which `prior_in_flight` packets
    /// were in flight.
    pub(super) fn rate_sample(
        &mut self,
        now: Time,
        newest: u64,
        prior_in_flight: u64,
    ) -> Option<RateSample> {
        let repairing = newest < self.repairs_to();
        let departs_in = self.release.ready_at().since(now);
        let first = self.packets.first();
        self.congestion.rate_sample(first, &Sending { prior_in_flight, repairing, departs_in })
    }

    /// The connection is accepted: data may leave, and the RTT is known.
    pub(super) fn accepted(&mut self, now: Time, answer: &Segment) {
        if let Handshake::Asked(_) = self.handshake {
            self.handshake = Handshake::Done;
            self.timer.timeouts = 0;
            self.take_rtt(now, now.since(answer.echoed_stamp), Duration::ZERO);
            self.set_timer(now);
        }
    }

    pub(super) fn take_rtt(&mut self, now: Time, latest: Duration, ack_delay: Duration) {
        self.rtt.sample(now, latest, ack_delay, self.settings.acks.delay);
        self.congestion.count_rtt(latest);
    }

    /// Tells the controller about packets that arrived with a mark (ProcessECN, B.7); returns their
    /// number.
    pub(super) fn tell_marks(&mut self, now: Time, ack: &QuicAck, newest: u64) -> f64 {
        let Some(marks) = &mut self.congestion.marks else { return 0.0 };
        let packets = marks.newly(ack.marked);
        if packets > 0.0 {
            let (next, reduced_to) = (self.packets.next(), self.repair.recovers_to);
            self.congestion.marked(&Marked { now, packets, newest, next, reduced_to });
        }
        packets
    }

    /// True if the window and the pacer let a packet go at `now`.
    #[inline(never)]
    pub fn may_transmit(&mut self, now: Time) -> bool {
        if self.handshake != Handshake::Done {
            return matches!(self.handshake, Handshake::Due(_)) && !self.data.has_all_left();
        }
        matches!(self.next(), Next::Data { .. })
            && (self.timer.probes > 0 || self.release.is_bursting() || self.ready_at(1) <= now)
    }

    /// Puts the next segment to leave at `now` into `segment` and returns true, if one may.
    #[inline(never)]
    pub fn transmit_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        self.waits_for_pacer = Time::NEVER;
        if self.handshake != Handshake::Done {
            return self.ask(now, segment);
        }
        let (data, again) = match self.next() {
            Next::WaitForWindow => {
                self.is_full = true;
                self.waits(now, SendLimit::Window);
                return false;
            }
            Next::WaitForData => {
                self.wait_for_data();
                let starved = self.data.has_all_left();
                self.waits(now, if starved { SendLimit::Application } else { SendLimit::Receiver });
                return false;
            }
            Next::Data { data, again } => (data, again),
        };
        if self.timer.probes == 0 && !self.begin_or_continue_burst(now, again) {
            let paced = self.waits_for_pacer < Time::NEVER;
            self.waits(now, if paced { SendLimit::Pacing } else { SendLimit::Window });
            return false;
        }
        self.transmit(now, data, again, segment);
        true
    }

    /// Nothing more leaves at `now` because of `limit`, or because losses are being repaired.
    pub(super) fn waits(&mut self, now: Time, limit: SendLimit) {
        let repairs = !self.settings.each_loss && self.packets.first() < self.repairs_to();
        self.congestion.waits(now, limit, repairs);
    }

    /// Asks for the connection, if there is data for it and nobody has asked yet. Its timer has no
    /// delay of acknowledgements in it (§6.2.1).
    pub(super) fn ask(&mut self, now: Time, segment: &mut Segment) -> bool {
        let Handshake::Due(times) = self.handshake else { return false };
        if self.data.has_all_left() {
            return false;
        }
        self.handshake = Handshake::Asked(times + 1);
        self.timer.at = now + self.rtt.probe_timeout(Duration::ZERO) * (1 << self.timer.timeouts);
        *segment = Segment::data(self.packets.next(), now, INITIAL_BYTES, Header::QuicInitial);
        true
    }

    /// Packets that may be in flight.
    pub(super) fn limit(&self) -> f64 {
        self.congestion.bounded_flight(self.rtt.estimate().is_some())
    }

    /// Puts a packet with `data`, which leaves at `now`, into `segment`.
    pub(super) fn transmit(&mut self, now: Time, data: u64, again: bool, segment: &mut Segment) {
        if self.packets.in_flight() == 0 && self.packets.next() > self.begins_at {
            let (since, timeout) = (self.last_sent, self.probe_timeout());
            self.congestion.restarted(now, since, timeout, Restart::Never);
        }
        if self.data.again.front() == Some(&data) {
            self.data.again.pop_front();
            self.repair.begins = false;
        }
        self.data.end = self.data.end.max(data + 1);
        let number = self.packets.send(data, now);
        self.congestion.counters.retransmitted += u32::from(again);
        self.congestion.sent(number, now, 0, || self.packets.in_flight() as u32);
        self.last_sent = now;
        let mut followers = 0;
        if self.timer.probes > 0 {
            self.timer.probes -= 1;
            self.space(now, 1);
        } else {
            followers = self.release.followers(self.settings.packet_bytes);
            if let Some(packets) = self.release.one_left() {
                self.space(now, packets);
            }
        }
        self.set_timer(now);
        let request = self.congestion.request();
        let ecn = self.congestion.marks.map_or(Ecn::NotCapable, |marks| marks.leaves_as);
        let (quic, reduced) = (Some(data as u32), false);
        let header = DataHeader {
            retransmission: again,
            ecn,
            reduced,
            behind: u32::from(followers) * self.settings.packet_bytes,
            request,
            quic,
            ..DataHeader::default()
        };
        *segment = Segment::data(number, now, self.settings.packet_bytes, Header::Data(header));
    }

    /// When the pacer lets the next packet go; never if the sender waits for something else.
    pub fn pace_at(&self) -> Time {
        self.waits_for_pacer
    }

    /// When the loss detection timer expires, or the law's; never if there is none, as nothing is
    /// in flight, not even a request for a connection.
    pub fn retransmit_at(&self) -> Time {
        self.congestion.or_wakes(self.timer.at)
    }

    pub fn congestion(&self) -> &Congestion {
        &self.congestion
    }

    /// The current RTT estimate; `None` until there is a sample.
    pub fn rtt(&self) -> Option<Rtt> {
        self.rtt.estimate()
    }

    /// Packets that are neither acknowledged nor lost.
    pub fn in_flight(&self) -> u64 {
        self.packets.in_flight()
    }

    /// The lowest number of data that is not known to have arrived.
    pub fn first(&self) -> u64 {
        self.data.delivered.next()
    }

    /// True if all data offered is known to have arrived.
    pub fn is_done(&self) -> bool {
        self.first() >= self.data.offered
    }

    pub fn recovering(&self) -> bool {
        self.packets.first() < self.repairs_to()
    }
}
