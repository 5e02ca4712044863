//! What a law hears of a QUIC connection. A stack tells of packets one by one, acknowledgements
//! before the losses that they reveal; a law hears of the losses first, and of an acknowledgement
//! once.

use crate::stack_law::StackLaw;
use narrows_control::{Ack, Pacing, Restart, Rtt, Timeout};
use narrows_signal::Reply;
use narrows_transport::congestion::{Abilities, Congestion, Counters, Delivered, Lost, Sending};
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// A packet that left and is neither acknowledged nor lost, or such with an earlier one before it.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// Its number in the stack's terms.
    number: u64,
    sent: Time,
    /// Packets in flight when it left, itself included.
    in_flight: u32,
    is_settled: bool,
}

/// An acknowledgement of which the law has not heard yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    now: Time,
    /// By our numbers.
    delivered: Delivered,
    prior_in_flight: u64,
    /// The sampler and the RTT know of it.
    is_counted: bool,
}

/// A law and what it has heard, for a stack that tells of packets one by one. The order of calls is
/// the stack's own: [`acknowledged`](Self::acknowledged) for each, [`counted`](Self::counted), then
/// [`lost`](Self::lost) for each; [`conclude`](Self::conclude) before the window is asked for.
pub struct Heard {
    congestion: Congestion,
    each_loss: bool,
    /// Packets from our number `first` on, which counts those alone that the law hears of.
    packets: VecDeque<Packet>,
    first: u64,
    in_flight: u64,
    rtt: Option<Rtt>,
    pending: Option<Pending>,
    /// The recovery is over once this packet or a later one is acknowledged.
    recovers_to: u64,
    /// A mark has begun a recovery up to this packet.
    answered_to: u64,
    /// The window was the limit when nothing more left.
    is_full: bool,
    last_sent: Time,
    acknowledged: u64,
}

/// Packets of a connection that a law has heard of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that left.
    pub sent: u64,
    /// Packets acknowledged.
    pub acknowledged: u64,
    /// Packets lost.
    pub lost: u64,
}

/// The retransmission timeout before there is an RTT (RFC 9002, §6.2.2, without its probe).
const FIRST_TIMEOUT: Duration = Duration::from_millis(999);

impl Heard {
    /// A controller of `law` that has heard nothing, with randomness from `seed`.
    pub fn new(law: &StackLaw, seed: u64) -> Self {
        let abilities = Abilities { deliveries: true, ..Abilities::default() };
        Self {
            congestion: Congestion::new(law.controller(seed), abilities),
            each_loss: law.each_loss(),
            packets: VecDeque::new(),
            first: 0,
            in_flight: 0,
            rtt: None,
            pending: None,
            recovers_to: 0,
            answered_to: 0,
            is_full: false,
            last_sent: Time::ZERO,
            acknowledged: 0,
        }
    }

    fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// Packet `number` leaves at `now`.
    pub fn sent(&mut self, now: Time, number: u64) {
        self.conclude();
        if self.packets.back().is_some_and(|last| number <= last.number) {
            // A packet number space of the handshake is over, and nobody says what became of it.
            self.first = self.next();
            self.packets.clear();
            self.in_flight = 0;
        }
        if self.in_flight == 0 && self.congestion.counters().sent > 0 {
            let timeout = self.rtt.map_or(FIRST_TIMEOUT, |rtt| rtt.smoothed * 3);
            self.congestion.restarted(now, self.last_sent, timeout, Restart::Never);
        }
        self.in_flight += 1;
        let (own, in_flight) = (self.next(), self.in_flight as u32);
        self.congestion.sent(own, now, 0, || in_flight);
        self.packets.push_back(Packet { number, sent: now, in_flight, is_settled: false });
        (self.is_full, self.last_sent) = (false, now);
    }

    /// The stack would have let more leave, had the window not been full.
    pub fn full(&mut self) {
        self.is_full = true;
    }

    /// The stack would have let more leave, had the application had more.
    pub fn application_limits(&mut self) {
        self.congestion.application_limits(self.in_flight);
    }

    /// Settles packet `number`; returns our number and what is known of it, or `None` if it is not
    /// of those that count, or was settled before.
    fn settle(&mut self, number: u64) -> Option<(u64, Packet)> {
        let place = self.packets.binary_search_by_key(&number, |packet| packet.number).ok()?;
        let packet = &mut self.packets[place];
        if std::mem::replace(&mut packet.is_settled, true) {
            return None;
        }
        let packet = *packet;
        self.in_flight -= 1;
        Some((self.first + place as u64, packet))
    }

    /// Packet `number` is acknowledged at `now`.
    pub fn acknowledged(&mut self, now: Time, number: u64) {
        if self.pending.is_some_and(|pending| pending.now != now || pending.is_counted) {
            self.conclude();
        }
        let prior_in_flight = self.in_flight;
        if let Some(settled) = self.settle(number) {
            self.note_arrival(now, prior_in_flight, settled);
        }
    }

    /// A packet that left at `sent` is acknowledged at `now`: the first of them that is not
    /// settled.
    pub fn acknowledged_of(&mut self, now: Time, sent: Time) {
        let from = self.packets.partition_point(|packet| packet.sent < sent);
        let mut those = self.packets.range(from..).take_while(|packet| packet.sent == sent);
        if let Some(number) = those.find(|packet| !packet.is_settled).map(|packet| packet.number) {
            self.acknowledged(now, number);
        }
    }

    /// Declares the oldest `count` unsettled packets sent at or before `sent` lost. The loss is
    /// detected at `now`.
    pub fn lost_until(&mut self, now: Time, sent: Time, count: u64) {
        let those = self.packets.iter().take_while(|packet| packet.sent <= sent);
        let numbers = those.filter(|packet| !packet.is_settled).map(|packet| packet.number);
        let numbers: Vec<u64> = numbers.take(count as usize).collect();
        numbers.into_iter().for_each(|number| self.lost(now, number));
    }

    /// Nothing is in flight.
    pub fn settle_all(&mut self) {
        self.packets.iter_mut().for_each(|packet| packet.is_settled = true);
        self.in_flight = 0;
    }

    /// The window was the limit if two packets more had no room before this acknowledgement.
    pub fn full_if_nearly(&mut self) {
        let before = self.pending.map_or(self.in_flight, |pending| pending.prior_in_flight);
        self.is_full = (before + 2) as f64 > self.flight_limit();
    }

    /// A packet, settled with `prior_in_flight` packets in flight, has arrived.
    fn note_arrival(&mut self, now: Time, prior_in_flight: u64, (own, packet): (u64, Packet)) {
        self.acknowledged += 1;
        let pending = self.pending.get_or_insert(Pending {
            now,
            delivered: Delivered::default(),
            prior_in_flight,
            is_counted: false,
        });
        pending.delivered.add(own, own, packet.sent, packet.in_flight);
    }

    /// That was all of this acknowledgement; the losses that it reveals come next.
    pub fn counted(&mut self) {
        let Some(pending) = &mut self.pending else { return };
        if std::mem::replace(&mut pending.is_counted, true) {
            return;
        }
        let Pending { now, delivered, .. } = *pending;
        self.take_rtt(now.since(delivered.newest_sent));
        let rtt = self.rtt;
        self.congestion.delivered(&delivered, now, || rtt);
    }

    /// The moving average of RFC 6298; the receiver's delay is part of it, as a stack does not tell
    /// it.
    fn take_rtt(&mut self, latest: Duration) {
        let latest = latest.max(Duration::from_picos(1000));
        let rtt = self.rtt.get_or_insert(Rtt {
            latest,
            smoothed: latest,
            minimum: latest,
            maximum: latest,
        });
        rtt.latest = latest;
        rtt.minimum = rtt.minimum.min(latest);
        rtt.maximum = rtt.maximum.max(latest);
        let smoothed = rtt.smoothed.picos();
        rtt.smoothed = Duration::from_picos(smoothed - smoothed / 8 + latest.picos() / 8);
    }

    /// Packet `number` is lost, as is noticed at `now`.
    pub fn lost(&mut self, now: Time, number: u64) {
        let Some((own, packet)) = self.settle(number) else { return };
        // A law that decides in a recovery by itself hears of each that begins.
        let answered = if self.congestion.own_recovery() { 0 } else { self.answered_to };
        let opens_epoch = own >= self.recovers_to.max(answered);
        if opens_epoch {
            self.recovers_to = self.next();
        }
        let next = self.next();
        self.congestion.lost(&Lost {
            now,
            number: own,
            transmission: own,
            next,
            opens_epoch,
            in_flight: f64::from(packet.in_flight),
            rtt: self.rtt,
        });
    }

    /// A packet that left at `sent` came with a mark.
    pub fn marked(&mut self, now: Time, sent: Time) {
        if self.congestion.ignores_marks() {
            return;
        }
        let newest = self.packets.partition_point(|packet| packet.sent <= sent) as u64;
        let opens_epoch = self.first + newest > self.recovers_to.max(self.answered_to);
        if opens_epoch {
            self.answered_to = self.next();
        }
        self.congestion.marked_by_stack(now, opens_epoch);
    }

    /// Everything that left for longer than three probe timeouts is lost (RFC 9002, §7.6).
    pub fn collapsed(&mut self, now: Time) {
        self.congestion.timed_out(&Timeout { now, opens_epoch: true, in_flight: 1.0 });
    }

    /// Lets the law hear of an acknowledgement whose losses have been told.
    pub fn conclude(&mut self) {
        self.counted();
        let Some(pending) = self.pending.take() else { return };
        let Pending { now, delivered, prior_in_flight, .. } = pending;
        let Delivered { packets, newest, newest_sent, .. } = delivered;
        self.forget(newest_sent);
        let repairing = newest < self.recovers_to;
        let sending = Sending { prior_in_flight, repairing, departs_in: Duration::ZERO };
        let (rate, next) = (self.congestion.rate_sample(self.first, &sending), self.next());
        self.congestion.acknowledged(&Ack {
            now,
            packets: packets as f64,
            newest,
            next,
            rtt: self.rtt,
            rtt_is_fresh: true,
            in_flight: self.in_flight as f64,
            window_limited: self.is_full,
            recovering: !self.each_loss && newest < self.recovers_to.max(self.answered_to),
            marked: 0.0,
            reply: Reply::Nothing,
            rate,
        });
    }

    /// Forgets what is settled, and what left so long before a packet that has arrived that it is
    /// lost and nobody said so: stacks do not report probes of the MTU.
    fn forget(&mut self, newest_sent: Time) {
        let patience = self.rtt.map_or(FIRST_TIMEOUT, |rtt| rtt.maximum * 2);
        while let Some(packet) = self.packets.front()
            && (packet.is_settled || packet.sent + patience < newest_sent)
        {
            self.in_flight -= u64::from(!packet.is_settled);
            self.packets.pop_front();
            self.first += 1;
        }
    }

    /// Packets that left, were acknowledged, were lost.
    pub fn counts(&self) -> Counts {
        let &Counters { sent, lost, .. } = self.congestion.counters();
        Counts { sent, acknowledged: self.acknowledged, lost: lost.into() }
    }

    /// All that was thought lost in this epoch has arrived after all.
    pub fn spurious(&mut self) {
        self.congestion.spurious();
    }

    /// The window in packets.
    pub fn window(&self) -> f64 {
        self.congestion.window()
    }

    /// Packets that may be in flight.
    pub fn flight_limit(&self) -> f64 {
        self.congestion.bounded_flight(self.rtt.is_some())
    }

    /// The slow-start threshold in packets.
    pub fn ssthresh(&self) -> f64 {
        self.congestion.ssthresh()
    }

    /// How packets are spaced.
    pub fn pacing(&self) -> Pacing {
        *self.congestion.pacing()
    }

    /// The RTT, once there is a sample.
    pub fn rtt(&self) -> Option<Rtt> {
        self.rtt
    }

    /// Packets a second at which they are spaced; `None` if they are not.
    pub fn rate(&self) -> Option<f64> {
        match self.pacing() {
            Pacing::Unpaced => None,
            Pacing::Window { gain, .. } => {
                self.rtt.map(|rtt| gain * self.window() / rtt.smoothed.seconds())
            }
            Pacing::Rate { packets_per_second, .. } => Some(packets_per_second),
        }
    }
}
