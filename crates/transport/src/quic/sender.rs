//! The QUIC sender (RFC 9002, §6 and §7; appendices A and B): turns an application's data into
//! packets, as far as the controller and the pacer allow.

use super::persistent::LossRun;
use super::rtt::RttEstimator;
use super::sent_packets::{SentPacket, SentPackets};
use super::{AckPolicy, INITIAL_BYTES, IP_AND_UDP};
use crate::congestion::{
    Abilities, Congestion, EcnOfUser, Flight, Lost, Marked, Path, Quantum, Release, Sending,
    Spacing, Spread,
};
use crate::handshake::Handshake;
use crate::{DataHeader, Header, Reassembly, Segment, SendLimit};
use narrows_control::{Ack, Controller, RateSample, Restart, Rtt, Timeout};
use narrows_signal::{Ecn, QuicAck};
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

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
enum Next {
    /// A packet with this data, which may have left before.
    Data { data: u64, again: bool },
    /// The window is full.
    WaitForWindow,
    /// The application or the receiver's window has nothing to send.
    WaitForData,
}

/// Packets that leave at a probe timeout, if there is different data for them (RFC 9002, §6.2.4:
/// "MAY send up to two full-sized datagrams").
const PROBES: u32 = 2;

/// Packets that are neither lost nor acknowledged after persistent congestion, as a controller
/// hears of it: it sets its window to one more, which makes kMinimumWindow, two packets (RFC 9002,
/// §7.2).
const AFTER_PERSISTENT: f64 = 1.0;

/// The largest back-off is 2 to the power of this.
const LARGEST_BACKOFF: u32 = 16;

/// A QUIC sender. Its methods are [`Sender`](crate::Sender)'s.
pub(crate) struct Sender {
    congestion: Congestion,
    release: Release,
    settings: QuicSettings,
    /// Packets under way, and those lost for which an acknowledgement may still come.
    packets: SentPackets,
    /// Data of lost packets, which leaves again unless it arrives after all.
    again: VecDeque<u64>,
    /// Data known to have arrived.
    delivered: Reassembly,
    /// The next data that has never left, and one past all that has been offered.
    end: u64,
    offered: u64,
    rtt: RttEstimator,
    handshake: Handshake,
    /// The connection's first packet number.
    begins_at: u64,
    /// Probe timeouts in succession (pto_count).
    timeouts: u32,
    /// When the loss detection timer expires.
    timer: Time,
    /// When it does so because a packet is lost by time (loss_time).
    loss_time: Time,
    last_sent: Time,
    /// Probes that are still to leave.
    probes: u32,
    /// They ask about packets below this number.
    probes_for: u64,
    /// A recovery begins, and one packet may leave before the window falls (§7.3.2).
    begins_recovery: bool,
    /// The recovery is over once this packet or a later one is acknowledged; the loss of an earlier
    /// one begins none.
    recovers_to: u64,
    /// The window stays as persistent congestion has left it until this packet or a later one is
    /// acknowledged.
    collapsed_to: u64,
    run: LossRun,
    /// The window was the limit when nothing more could leave.
    is_full: bool,
    /// When the pacer lets the next packet go, if that is what the sender waits for.
    waits_for_pacer: Time,
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
            again: VecDeque::new(),
            delivered: Reassembly::default(),
            end: 0,
            offered: 0,
            rtt: RttEstimator::default(),
            handshake: Handshake::new(settings.handshake),
            begins_at: 0,
            timeouts: 0,
            timer: Time::NEVER,
            loss_time: Time::NEVER,
            last_sent: Time::ZERO,
            probes: 0,
            probes_for: 0,
            begins_recovery: false,
            recovers_to: 0,
            collapsed_to: 0,
            run: LossRun::default(),
            is_full: false,
            waits_for_pacer: Time::NEVER,
            settings,
        }
    }

    /// The application has `packets` more packets to send.
    #[inline(never)]
    pub fn offer(&mut self, packets: u64) {
        self.offered = self.offered.saturating_add(packets);
    }

    /// The application withdraws everything that has not been sent yet.
    #[inline(never)]
    pub fn stop(&mut self) {
        self.offered = self.end;
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
        (self.delivered.next()..self.end).for_each(|data| _ = self.delivered.arrive(data));
        self.handshake = Handshake::new(self.settings.handshake);
        (self.timeouts, self.probes, self.is_full) = (0, 0, false);
        // `recovers_to` and its like are numbers of packets that have left, below all that come.
        self.begins_recovery = false;
        self.run.forget();
        (self.timer, self.loss_time, self.waits_for_pacer) =
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
        self.begins_recovery = false;
        self.packets.forget_lost(now);
        let prior_in_flight = self.packets.in_flight();
        let delivered = &mut self.delivered;
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
        (self.timeouts, self.probes) = (0, 0);
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
    fn rate_sample(&mut self, now: Time, newest: u64, prior_in_flight: u64) -> Option<RateSample> {
        let repairing = newest < self.repairs_to();
        let departs_in = self.release.ready_at().since(now);
        let first = self.packets.first();
        self.congestion.rate_sample(first, &Sending { prior_in_flight, repairing, departs_in })
    }

    /// The connection is accepted: data may leave, and the RTT is known.
    fn accepted(&mut self, now: Time, answer: &Segment) {
        if let Handshake::Asked(_) = self.handshake {
            self.handshake = Handshake::Done;
            self.timeouts = 0;
            self.take_rtt(now, now.since(answer.echoed_stamp), Duration::ZERO);
            self.set_timer(now);
        }
    }

    fn take_rtt(&mut self, now: Time, latest: Duration, ack_delay: Duration) {
        self.rtt.sample(now, latest, ack_delay, self.settings.acks.delay);
        self.congestion.count_rtt(latest);
    }

    /// Reports the packets that are lost by now (DetectAndRemoveLostPackets, A.10; OnPacketsLost,
    /// B.8).
    fn detect_losses(&mut self, now: Time) {
        let loss_delay = self.rtt.loss_delay();
        let probe_timeout = self.probe_timeout();
        while let Some((number, packet)) =
            self.packets.next_lost(now, loss_delay, now + probe_timeout)
        {
            self.lose(now, number, &packet);
        }
        self.loss_time = self.packets.loss_time(loss_delay);
        if self.run.is_persistent(probe_timeout) {
            self.collapse(now);
        }
    }

    fn lose(&mut self, now: Time, number: u64, packet: &SentPacket) {
        self.again.push_back(packet.data);
        if self.rtt.was_known(packet.sent) {
            self.run.note(number, packet.sent);
        }
        let next = self.packets.next();
        // A mark of the same round trip has reduced the window; a law that decides in a recovery by
        // itself hears of each that begins.
        let answered = if self.congestion.own_recovery() { 0 } else { self.answered_to() };
        let opens_epoch = number >= self.recovers_to.max(answered);
        if opens_epoch {
            self.recovers_to = next;
            self.begins_recovery = true;
        }
        self.congestion.lost(&Lost {
            now,
            number,
            transmission: number,
            next,
            opens_epoch,
            in_flight: f64::from(packet.in_flight),
            rtt: self.rtt.estimate(),
        });
    }

    /// Persistent congestion is established (§7.6.2; OnPacketsLost, B.8).
    fn collapse(&mut self, now: Time) {
        self.run.forget();
        self.rtt.restart_minimum();
        self.recovers_to = 0;
        self.collapsed_to = self.packets.next();
        // The losses have begun an epoch, except for a law that answers each by itself.
        let (opens_epoch, in_flight) = (self.settings.each_loss, AFTER_PERSISTENT);
        self.congestion.timed_out(&Timeout { now, opens_epoch, in_flight });
    }

    /// Tells the controller about packets that arrived with a mark (ProcessECN, B.7); returns their
    /// number.
    fn tell_marks(&mut self, now: Time, ack: &QuicAck, newest: u64) -> f64 {
        let Some(marks) = &mut self.congestion.marks else { return 0.0 };
        let packets = marks.newly(ack.marked);
        if packets > 0.0 {
            let (next, reduced_to) = (self.packets.next(), self.recovers_to);
            self.congestion.marked(&Marked { now, packets, newest, next, reduced_to });
        }
        packets
    }

    /// Acknowledgements of packets below this number leave the window as losses have made it.
    fn repairs_to(&self) -> u64 {
        self.recovers_to.max(self.collapsed_to)
    }

    /// A mark has begun a recovery up to this packet; 0 if none has.
    fn answered_to(&self) -> u64 {
        self.congestion.marks.map_or(0, |marks| if marks.classic { marks.answered_to } else { 0 })
    }

    /// One of the wake-up times has come (OnLossDetectionTimeout, A.9).
    #[inline(never)]
    pub fn on_wakeup(&mut self, now: Time) {
        self.congestion.wake(now);
        if self.timer > now {
            return;
        }
        self.timer = Time::NEVER;
        if let Handshake::Asked(times) = self.handshake {
            self.congestion.counters.timeouts += 1;
            self.timeouts = (self.timeouts + 1).min(LARGEST_BACKOFF);
            self.handshake = Handshake::Due(times);
            return;
        }
        if self.loss_time <= now {
            self.detect_losses(now);
        } else {
            self.congestion.was_silent(self.probe_timeout() * (1 << self.timeouts), now);
            self.timeouts = (self.timeouts + 1).min(LARGEST_BACKOFF);
            (self.probes, self.probes_for) = (PROBES, self.packets.next());
        }
        self.set_timer(now);
    }

    /// The probe timeout without back-off (§6.2.1).
    fn probe_timeout(&self) -> Duration {
        self.rtt.probe_timeout(self.settings.acks.delay)
    }

    /// Sets the loss detection timer (SetLossDetectionTimer, A.8): for the next loss by time if
    /// there is one, else for a probe.
    fn set_timer(&mut self, now: Time) {
        self.timer = if self.packets.in_flight() == 0 {
            Time::NEVER
        } else if self.loss_time < Time::NEVER {
            self.loss_time.max(now)
        } else {
            (self.last_sent + self.probe_timeout() * (1 << self.timeouts)).max(now)
        };
    }

    /// True if the window and the pacer let a packet go at `now`.
    #[inline(never)]
    pub fn may_transmit(&mut self, now: Time) -> bool {
        if self.handshake != Handshake::Done {
            return matches!(self.handshake, Handshake::Due(_)) && self.end < self.offered;
        }
        matches!(self.next(), Next::Data { .. })
            && (self.probes > 0 || self.release.is_bursting() || self.ready_at(1) <= now)
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
                let starved = self.end >= self.offered;
                self.waits(now, if starved { SendLimit::Application } else { SendLimit::Receiver });
                return false;
            }
            Next::Data { data, again } => (data, again),
        };
        if self.probes == 0 && !self.begin_or_continue_burst(now, again) {
            let paced = self.waits_for_pacer < Time::NEVER;
            self.waits(now, if paced { SendLimit::Pacing } else { SendLimit::Window });
            return false;
        }
        *segment = self.transmit(now, data, again);
        true
    }

    /// Nothing more leaves at `now` because of `limit`, or because losses are being repaired.
    fn waits(&mut self, now: Time, limit: SendLimit) {
        let repairs = !self.settings.each_loss && self.packets.first() < self.repairs_to();
        self.congestion.waits(now, limit, repairs);
    }

    /// Asks for the connection, if there is data for it and nobody has asked yet. Its timer has no
    /// delay of acknowledgements in it (§6.2.1).
    fn ask(&mut self, now: Time, segment: &mut Segment) -> bool {
        let Handshake::Due(times) = self.handshake else { return false };
        if self.end >= self.offered {
            return false;
        }
        self.handshake = Handshake::Asked(times + 1);
        self.timer = now + self.rtt.probe_timeout(Duration::ZERO) * (1 << self.timeouts);
        *segment = Segment::data(self.packets.next(), now, INITIAL_BYTES, Header::QuicInitial);
        true
    }

    /// Decides what may leave next. Lost data goes before new data; a probe prefers them to data
    /// that is under way (§6.2.4).
    fn next(&mut self) -> Next {
        while let Some(data) = self.again.front()
            && self.delivered.contains(*data)
        {
            self.again.pop_front();
        }
        let lost = self.again.front().copied();
        let (data, again) = match lost {
            Some(data) => (data, true),
            None if self.end < self.sendable() => (self.end, false),
            None if self.probes > 0 => {
                let skipped = (PROBES - self.probes) as usize;
                let Some(data) = self.packets.unacknowledged(self.probes_for).nth(skipped) else {
                    self.probes = 0;
                    return Next::WaitForData;
                };
                (data, true)
            }
            None => return Next::WaitForData,
        };
        // §7: not if the window would be exceeded, unless as a probe (§7.5) or on entering recovery
        // (§7.3.2).
        let free = self.probes > 0 || self.begins_recovery && again;
        if free || (self.packets.in_flight() + 1) as f64 <= self.limit().max(1.0) {
            Next::Data { data, again }
        } else {
            Next::WaitForWindow
        }
    }

    /// Packets that may be in flight.
    fn limit(&self) -> f64 {
        self.congestion.bounded_flight(self.rtt.estimate().is_some())
    }

    /// One past the highest data that the application and the receiver's window let leave
    /// (MAX_STREAM_DATA; RFC 9000, §4.1).
    fn sendable(&self) -> u64 {
        let limit = self.delivered.next().saturating_add(self.settings.window_limit as u64);
        self.offered.min(limit)
    }

    /// The application or the receiver's window is the limit (§7.8).
    fn wait_for_data(&mut self) {
        self.is_full = (self.packets.in_flight() + 1) as f64 > self.limit();
        if self.end >= self.offered {
            self.congestion.application_limits(self.packets.in_flight());
        }
    }

    /// True if a packet may leave as part of a burst: one is under way, or the pacer lets one go
    /// and the window has room for it.
    fn begin_or_continue_burst(&mut self, now: Time, again: bool) -> bool {
        if self.release.is_bursting() {
            return true;
        }
        let mut burst = 1;
        let (limit, in_flight) = (self.limit(), self.packets.in_flight());
        if !self.release.is_single() && !again {
            let room = Flight { limit, in_flight, waiting: self.sendable() - self.end };
            let payload = f64::from(self.settings.packet_bytes);
            let (congestion, spread) = (&self.congestion, self.spread());
            let sizes = (payload, 1.0);
            let next = self.release.next_burst(congestion, &spread, &room, sizes, |_| true);
            let Some(packets) = next else {
                self.is_full = true;
                return false;
            };
            burst = packets;
        }
        let ready_at = self.ready_at(burst);
        if ready_at > now {
            self.waits_for_pacer = ready_at;
            // §7.8: without the pacer's delay the window would have been used.
            let waiting = self.sendable() - self.end + self.again.len() as u64;
            self.is_full = (in_flight + waiting) as f64 >= limit.floor();
            return false;
        }
        self.release.begin_burst(burst);
        true
    }

    /// When the pacer lets `packets` leave together.
    fn ready_at(&self, packets: u32) -> Time {
        self.release.burst_ready_at(packets, || self.spread())
    }

    /// What packets are spread by.
    fn spread(&self) -> Spread {
        let (limit, outstanding) = (self.settings.window_limit, self.packets.in_flight());
        Spread::new(&self.congestion, limit, outstanding, self.rtt.estimate())
    }

    fn transmit(&mut self, now: Time, data: u64, again: bool) -> Segment {
        if self.packets.in_flight() == 0 && self.packets.next() > self.begins_at {
            let (since, timeout) = (self.last_sent, self.probe_timeout());
            self.congestion.restarted(now, since, timeout, Restart::Never);
        }
        if self.again.front() == Some(&data) {
            self.again.pop_front();
            self.begins_recovery = false;
        }
        self.end = self.end.max(data + 1);
        let number = self.packets.send(data, now);
        self.congestion.counters.retransmitted += u32::from(again);
        self.congestion.sent(number, now, || self.packets.in_flight() as u32);
        self.last_sent = now;
        if self.probes > 0 {
            self.probes -= 1;
            self.space(now, 1);
        } else if let Some(packets) = self.release.one_left() {
            self.space(now, packets);
        }
        self.set_timer(now);
        let request = self.congestion.request();
        let ecn = self.congestion.marks.map_or(Ecn::NotCapable, |marks| marks.leaves_as);
        let (quic, reduced) = (Some(data as u32), false);
        let header =
            DataHeader { retransmission: again, ecn, reduced, pushes: false, request, quic };
        Segment::data(number, now, self.settings.packet_bytes, Header::Data(header))
    }

    /// Schedules what comes after a burst of `packets` that left at `now`.
    fn space(&mut self, now: Time, packets: u32) {
        let (congestion, rtt, limit) = (&self.congestion, &self.rtt, self.settings.window_limit);
        let outstanding = self.packets.in_flight();
        self.release.left(now, packets, congestion, || {
            Spread::new(congestion, limit, outstanding, rtt.estimate())
        });
    }

    /// When the pacer lets the next packet go; never if the sender waits for something else.
    pub fn pace_at(&self) -> Time {
        self.waits_for_pacer
    }

    /// When the loss detection timer expires, or the law's; never if there is none, as nothing is
    /// in flight, not even a request for a connection.
    pub fn retransmit_at(&self) -> Time {
        self.congestion.or_wakes(self.timer)
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
        self.delivered.next()
    }

    /// True if all data offered is known to have arrived.
    pub fn is_done(&self) -> bool {
        self.first() >= self.offered
    }

    pub fn recovering(&self) -> bool {
        self.packets.first() < self.repairs_to()
    }
}
