//! The E-TCP sender: packet transmission, congestion control, and reliable transmission where that
//! is required (E-TCP, §V-A).

use super::reliability::RetransmissionQueue;
use super::signalling::{Fate, Signalling};
use crate::{Counters, Header, Pacer, RttEstimator, Segment, Timeouts};
use narrows_control::{Ack, Controller, Gaps, Loss, Pacing, Rtt};
use narrows_signal::Reply;
use narrows_units::{Duration, Stream, Time};

/// How an E-TCP sender is set up.
#[derive(Clone, Debug)]
pub struct EtcpSettings {
    /// The retransmission timer's.
    pub timeouts: Timeouts,
    /// Sends again what was lost.
    pub reliable: bool,
    /// Bytes of a data packet on the wire, headers included.
    pub packet_bytes: u32,
    /// The distribution of gaps, instead of the law's.
    pub gaps: Option<Gaps>,
    /// The randomness of exponential gaps.
    pub stream: Stream,
}

/// An E-TCP sender.
pub struct Sender {
    controller: Box<dyn Controller>,
    signalling: Signalling,
    /// `None` where delivery is not reliable.
    queue: Option<RetransmissionQueue>,
    rtt: RttEstimator,
    pacer: Pacer,
    timeouts: Timeouts,
    gaps: Option<Gaps>,
    packet_bytes: u32,
    offered: u64,
    /// The next number that has never been sent, where there is no queue to know it.
    next_number: u64,
    waits_for_pacer: bool,
    /// The application had nothing to send when the pacer was ready.
    starved: bool,
    /// The timer of the smallest number that has not been acknowledged.
    data_timer: Time,
    /// Goes off when nothing has been heard for a retransmission timeout.
    silence_timer: Time,
    /// Packets that nobody waits for any more, where all of the first have been lost.
    written_off: u64,
    /// A loss of a packet from here on opens an epoch.
    epoch_ends: u64,
    counters: Counters,
}

impl Sender {
    /// A sender without data.
    pub fn new(settings: EtcpSettings, controller: Box<dyn Controller>) -> Self {
        let EtcpSettings { timeouts, reliable, packet_bytes, gaps, stream } = settings;
        Self {
            controller,
            signalling: Signalling::default(),
            queue: reliable.then(RetransmissionQueue::default),
            rtt: RttEstimator::default(),
            pacer: Pacer::new(stream),
            timeouts,
            gaps,
            packet_bytes,
            offered: 0,
            next_number: 0,
            waits_for_pacer: false,
            starved: true,
            data_timer: Time::NEVER,
            silence_timer: Time::NEVER,
            written_off: 0,
            epoch_ends: 0,
            counters: Counters::default(),
        }
    }

    /// The application has `packets` more packets to send.
    pub fn offer(&mut self, packets: u64) {
        self.offered = self.offered.saturating_add(packets);
    }

    /// The application has nothing more to send than what has been sent.
    pub fn stop(&mut self) {
        self.offered = self.next_new();
    }

    /// A new connection begins where the old one ended: nothing is known of the path, numbers go
    /// on.
    pub fn renew(&mut self, controller: Box<dyn Controller>) {
        self.controller = controller;
        self.rtt = RttEstimator::default();
        self.pacer.renew();
        self.written_off = self.signalling.outstanding();
    }

    /// An acknowledgement arrived.
    ///
    /// Panics where it is not E-TCP's.
    pub fn on_ack(&mut self, now: Time, ack: &Segment) {
        let Header::EtcpAck(fields) = &ack.header else {
            panic!("an E-TCP sender got {:?}", ack.header)
        };
        self.measure_rtt(now, ack);
        self.written_off = 0;
        let (mut received, rtt, next) = (0, self.rtt.estimate(), self.signalling.next());
        let in_flight = self.signalling.outstanding() as f64;
        let (controller, counters, epoch_ends) =
            (&mut self.controller, &mut self.counters, &mut self.epoch_ends);
        let highest = self.signalling.on_ack(fields, |label, fate| match fate {
            Fate::Received => received += 1,
            Fate::Lost => {
                let opens_epoch = label >= *epoch_ends;
                if opens_epoch {
                    *epoch_ends = next;
                }
                counters.lost += 1;
                counters.epochs += u32::from(opens_epoch);
                controller.on_loss(&Loss {
                    now,
                    transmission: label,
                    next,
                    opens_epoch,
                    in_flight,
                    rtt,
                    rate: None,
                });
            }
        });
        if let Some(newest) = highest.filter(|_| received > 0) {
            self.controller.on_ack(&Ack {
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
        self.deliver(now, ack);
        self.silence_timer =
            if self.waits_for_answers() { now + self.timeout() } else { Time::NEVER };
    }

    /// The reliable half of an acknowledgement.
    fn deliver(&mut self, now: Time, ack: &Segment) {
        let (Some(queue), Header::EtcpAck(fields)) = (&mut self.queue, &ack.header) else { return };
        let first = queue.first();
        let (left_edge, tsn) = fields.block(ack.number);
        queue.on_ack(ack.number, left_edge, tsn);
        if queue.is_empty() {
            self.data_timer = Time::NEVER;
        } else if queue.first() > first {
            self.data_timer = now + self.rtt.timeout(&self.timeouts);
        }
    }

    /// One of the wake-ups has come.
    pub fn on_wakeup(&mut self, now: Time) {
        if self.data_timer <= now {
            if let Some(queue) = &mut self.queue {
                queue.on_timeout();
            }
            self.written_off = self.signalling.outstanding();
            // "… and the timer is reset to the estimated round trip time" (§IV).
            self.data_timer =
                now + self.rtt.estimate().map_or(self.timeouts.initial, |rtt| rtt.smoothed);
        }
        if self.silence_timer <= now {
            self.counters.timeouts += 1;
            self.rtt.back_off();
            self.written_off = self.signalling.outstanding();
            self.controller.on_timeout(now);
            self.silence_timer = now + self.timeout();
        }
    }

    /// True where there is something to send and the pacer lets it go at `now`.
    pub fn may_transmit(&mut self, now: Time) -> bool {
        self.has_data() && self.may_leave_unanswered() && self.pacer.ready_at() <= now
    }

    /// The next segment to leave at `now`, if one may: what was lost before what is new.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.waits_for_pacer = false;
        if !self.has_data() {
            self.starved = true;
            return None;
        }
        if !self.may_leave_unanswered() {
            return None;
        }
        if self.pacer.ready_at() > now {
            self.waits_for_pacer = true;
            return None;
        }
        self.starved = false;
        Some(self.transmit(now))
    }

    fn transmit(&mut self, now: Time) -> Segment {
        let (number, retransmission) = self.take_number();
        let cc_seq = self.signalling.label() as u32;
        self.counters.sent += 1;
        self.counters.retransmitted += u32::from(retransmission);
        if self.data_timer == Time::NEVER && self.queue.is_some() {
            self.data_timer = now + self.timeout();
        }
        if self.silence_timer == Time::NEVER {
            self.silence_timer = now + self.timeout();
        }
        let rtt = self.rtt.estimate();
        self.pacer.sent(now, 1, self.pacing(), self.controller.window(), rtt.as_ref());
        Segment::data(number, now, self.packet_bytes, Header::EtcpData { cc_seq, retransmission })
    }

    /// The number of the data that leaves, and whether it has been sent before.
    fn take_number(&mut self) -> (u64, bool) {
        let Some(queue) = &mut self.queue else {
            self.next_number += 1;
            return (self.next_number - 1, false);
        };
        match queue.next_lost() {
            Some(number) => {
                queue.send_again(number);
                (number, true)
            }
            None => (queue.send_new(), false),
        }
    }

    /// When the rate-control timer goes off; never where the sender waits for something else.
    pub fn pace_at(&self) -> Time {
        if self.waits_for_pacer { self.pacer.ready_at() } else { Time::NEVER }
    }

    /// When the earliest of the other timers goes off; never where none runs.
    pub fn retransmit_at(&self) -> Time {
        self.data_timer.min(self.silence_timer)
    }

    /// The congestion controller.
    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    /// What is known of the RTT; `None` until there is a sample.
    pub fn rtt(&self) -> Option<Rtt> {
        self.rtt.estimate()
    }

    /// Packets sent and neither received nor lost, as far as the sender knows.
    pub fn in_flight(&self) -> u64 {
        self.signalling.outstanding()
    }

    /// True where all data offered has been acknowledged; never where delivery is not reliable.
    pub fn is_done(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.first() >= self.offered)
    }

    /// What it has done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn next_new(&self) -> u64 {
        self.queue.as_ref().map_or(self.next_number, RetransmissionQueue::end)
    }

    fn has_data(&mut self) -> bool {
        let lost = self.queue.as_mut().is_some_and(|queue| queue.next_lost().is_some());
        lost || self.next_new() < self.offered
    }

    /// The window limits nothing but the first packets, before there is a pace.
    fn may_leave_unanswered(&self) -> bool {
        let unanswered = self.signalling.outstanding().saturating_sub(self.written_off);
        let has_pace = self.rtt.estimate().is_some() && self.controller.pacing() != Pacing::Unpaced;
        has_pace || (unanswered as f64) < self.controller.window()
    }

    /// True where answers are due. While the application has nothing to send, the last holes wait
    /// for the packets that come next.
    fn waits_for_answers(&self) -> bool {
        !self.starved && self.signalling.outstanding() > 0
    }

    fn timeout(&self) -> Duration {
        self.rtt.timeout(&self.timeouts)
    }

    fn measure_rtt(&mut self, now: Time, ack: &Segment) {
        let rtt = now.since(ack.echoed_stamp);
        self.rtt.sample(rtt);
        self.counters.rtt_samples += 1;
        self.counters.rtt_sum += rtt.seconds();
    }

    fn pacing(&self) -> Pacing {
        match (self.controller.pacing(), self.gaps) {
            (Pacing::Window { gain, .. }, Some(gaps)) => Pacing::Window { gain, gaps },
            (Pacing::Rate { packets_per_second, .. }, Some(gaps)) => {
                Pacing::Rate { packets_per_second, gaps }
            }
            (pacing, _) => pacing,
        }
    }
}
