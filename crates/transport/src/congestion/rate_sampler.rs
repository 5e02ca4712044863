//! Delivery-rate samples (draft-ietf-ccwg-bbr-06, §4.1), taken here for every controller that asks
//! for them.
//!
//! Departures from the draft: a sample belongs to the newest transmission among those acknowledged,
//! by its number. Of a burst that leaves as one, each packet has what is in flight once all of it
//! has left, as in Linux (`tcp_set_tx_in_flight` in Google's branches of BBR). The connection is
//! application-limited when a packet could leave and the application has none, which is when the
//! draft's three checks would hold.

use super::delivered::Delivered;
use crate::ring::{fit, push};
use narrows_control::{LossSample, RateSample};
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// What is remembered of a packet's latest transmission (§4.1.2.1.2, per-packet state), except when
/// it left and with how many in flight, which the sender knows.
#[derive(Clone, Copy, Debug)]
struct Departure {
    first_sent: Time,
    delivered: u64,
    delivered_time: Time,
    lost: u32,
    app_limited: bool,
    sent_before: bool,
    /// Packets of its burst that leave right behind it.
    followers: u16,
}

/// What the sender knows at an acknowledgement, apart from deliveries.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Packets in flight before the acknowledgement.
    pub prior_in_flight: u64,
    /// True while losses are being repaired.
    pub repairing: bool,
    /// Time until the pacer lets the next packet leave.
    pub departs_in: Duration,
}

/// Per-connection state (§4.1.2.1.1), and a record for each packet outstanding.
#[derive(Clone, Debug, Default)]
pub struct RateSampler {
    /// The packet number of the first entry of `departures`.
    first: u64,
    departures: VecDeque<Departure>,
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    lost: u32,
    /// The connection is application-limited until more packets than this have been delivered.
    app_limited_until: Option<u64>,
    sample: Option<RateSample>,
}

impl RateSampler {
    /// A sampler that knows nothing yet; the next packet to leave has the number `first`.
    pub fn starting_at(first: u64) -> Self {
        Self { first, ..Self::default() }
    }

    /// Records that packet `number` leaves at `now`, with `in_flight` packets in flight, itself
    /// included, before so many `followers` of its burst (§4.1.2.2).
    pub fn sent(&mut self, number: u64, now: Time, in_flight: u32, followers: u16) {
        if in_flight == 1 {
            (self.first_sent, self.delivered_time) = (now, now);
        }
        let place = (number - self.first) as usize;
        let departure = Departure {
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            lost: self.lost,
            app_limited: self.app_limited_until.is_some(),
            sent_before: place < self.departures.len(),
            followers,
        };
        if place < self.departures.len() {
            self.departures[place] = departure;
        } else {
            push(&mut self.departures, departure);
        }
    }

    /// Takes the packets that an acknowledgement delivered, before the losses that it reveals
    /// (§4.1.2.3): their number, and of the newest its number, when it left and with how many in
    /// flight.
    pub fn arrived(&mut self, delivered: &Delivered, now: Time, least_rtt: Option<Duration>) {
        self.sample = None;
        if delivered.packets == 0 {
            return;
        }
        self.delivered += delivered.packets;
        self.delivered_time = now;
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        let sent = delivered.newest_sent;
        let newest = self.departures[(delivered.newest_number - self.first) as usize];
        let interval = sent.since(newest.first_sent).max(now.since(newest.delivered_time));
        self.first_sent = sent;
        let packets = (self.delivered - newest.delivered) as f64;
        let reliable = interval > Duration::ZERO && least_rtt.is_none_or(|least| interval >= least);
        self.sample = Some(RateSample {
            total_delivered: self.delivered as f64,
            prior_delivered: newest.delivered as f64,
            delivery_rate: reliable.then(|| packets / interval.seconds()),
            rtt: (!newest.sent_before).then(|| now.since(sent)),
            tx_in_flight: f64::from(delivered.newest_in_flight + u32::from(newest.followers)),
            lost: f64::from(self.lost - newest.lost),
            app_limited: newest.app_limited,
            newly_lost: 0.0,
            prior_in_flight: 0.0,
            repairing: false,
            departs_in: Duration::ZERO,
        });
    }

    /// Records the loss of packet `number` (§5.5.10.2, HandleLostPacket); `None` if its departure
    /// is forgotten, because a loss probe has repaired it.
    pub fn lost(&mut self, number: u64) -> Option<LossSample> {
        self.lost += 1;
        if let Some(sample) = &mut self.sample {
            // RS.lost also counts the losses that this acknowledgement reveals.
            sample.lost += 1.0;
            sample.newly_lost += 1.0;
        }
        let departure = self.departures.get(number.checked_sub(self.first)? as usize)?;
        let total_delivered = self.delivered as f64;
        let lost = f64::from(self.lost - departure.lost);
        Some(LossSample { total_delivered, lost, app_limited: departure.app_limited })
    }

    /// Returns the sample of the acknowledgement that has been processed, with what the sender
    /// knows, and forgets packets below `first`.
    pub fn take(&mut self, first: u64, sending: &Sending) -> Option<RateSample> {
        while self.first < first && self.departures.pop_front().is_some() {
            self.first += 1;
        }
        let Sending { prior_in_flight, repairing, departs_in } = *sending;
        let prior_in_flight = prior_in_flight as f64;
        Some(RateSample { prior_in_flight, repairing, departs_in, ..self.sample.take()? })
    }

    /// Releases memory after a large window has shrunk; called once a recovery.
    pub fn shrink(&mut self) {
        fit(&mut self.departures);
    }

    /// True if packets that leave now are marked as limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// Notes that a packet could leave but the application has none, with `in_flight` packets in
    /// flight (§4.1.2.4, MarkConnectionAppLimited).
    pub fn application_limits(&mut self, in_flight: u64) {
        self.app_limited_until = Some((self.delivered + in_flight).max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With many packets in flight most of the memory that BBR touches is these.
    const _: () = assert!(size_of::<Departure>() == 32);

    const SENDING: Sending =
        Sending { prior_in_flight: 0, repairing: false, departs_in: Duration::ZERO };

    /// One packet, which had left at `sent` with `newest_in_flight` packets in flight.
    fn delivered(newest: u64, newest_number: u64, sent: u64, newest_in_flight: u32) -> Delivered {
        let newest_sent = at(sent);
        let delivered = Delivered { packets: 1, newest, newest_number, ..Delivered::default() };
        Delivered { newest_sent, newest_in_flight, ..delivered }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Acknowledges packet `number`, which had left at `sent` with `in_flight` packets in flight.
    fn acknowledge(
        sampler: &mut RateSampler,
        number: u64,
        (sent, in_flight): (u64, u32),
        now: u64,
    ) -> RateSample {
        let delivered = delivered(number, number, sent, in_flight);
        sampler.arrived(&delivered, at(now), Some(Duration::from_millis(100)));
        sampler.take(number + 1, &SENDING).expect("a packet has been delivered")
    }

    /// Two hundred packets leave 1 ms apart and are acknowledged 2 ms apart from 300 ms on; each
    /// acknowledgement releases one more packet.
    #[test]
    fn the_rate_is_the_slower_of_sending_and_arriving() {
        let mut sampler = RateSampler::default();
        (0..200u32).for_each(|n| sampler.sent(u64::from(n), at(u64::from(n)), n + 1, 0));
        let samples: Vec<_> = (0..600)
            .map(|n| {
                let sent = if n < 200 { (n, n as u32 + 1) } else { (300 + 2 * (n - 200), 200) };
                let sample = acknowledge(&mut sampler, n, sent, 300 + 2 * n);
                sampler.sent(200 + n, at(300 + 2 * n), 200, 0);
                sample
            })
            .collect();
        // The first sample: one packet between the start of the connection at 0 ms and 300 ms.
        assert_eq!(samples[0].delivery_rate, Some(1.0 / 0.3));
        // Packet 199 left at 199 ms, when nothing had been delivered; by 698 ms 200 packets had
        // been.
        assert_eq!(samples[199].delivery_rate, Some(200.0 / 0.698));
        assert_eq!(
            (samples[199].rtt, samples[199].tx_in_flight),
            (Some(Duration::from_millis(499)), 200.0)
        );
        // Packet 599 left at 1098 ms with 400 packets delivered; by 1498 ms 600 had been: the
        // path's 500 packets per second.
        assert_eq!(samples[599].delivery_rate, Some(200.0 / 0.4));
    }

    #[test]
    fn a_sample_shorter_than_the_least_rtt_is_none() {
        let mut sampler = RateSampler::default();
        sampler.sent(0, at(0), 1, 0);
        sampler.arrived(&delivered(0, 0, 0, 1), at(99), Some(Duration::from_millis(100)));
        assert_eq!(sampler.take(1, &SENDING).unwrap().delivery_rate, None);
    }

    #[test]
    fn packets_that_leave_while_the_application_is_the_limit_are_marked_until_the_bubble_is_gone() {
        let mut sampler = RateSampler::default();
        sampler.sent(0, at(0), 1, 0);
        sampler.application_limits(1);
        sampler.sent(1, at(10), 2, 0);
        assert!(!acknowledge(&mut sampler, 0, (0, 1), 100).app_limited);
        assert!(
            acknowledge(&mut sampler, 1, (10, 2), 110).app_limited,
            "it left while the application was the limit"
        );
        sampler.sent(2, at(120), 1, 0);
        assert!(
            !acknowledge(&mut sampler, 2, (120, 1), 220).app_limited,
            "two packets have been delivered, which ends the application limit"
        );
    }

    #[test]
    fn what_was_in_flight_is_that_of_the_whole_burst() {
        let mut sampler = RateSampler::default();
        (0..3).for_each(|n| sampler.sent(n, at(0), n as u32 + 1, 2 - n as u16));
        let told = (0..3).map(|n| acknowledge(&mut sampler, n, (0, n as u32 + 1), 100 + n));
        assert!(told.map(|sample| sample.tx_in_flight).eq([3.0; 3]));
    }

    #[test]
    fn losses_are_counted_since_the_packet_left() {
        let mut sampler = RateSampler::default();
        (0..5).for_each(|n| sampler.sent(n, at(n), n as u32 + 1, 0));
        sampler.arrived(&delivered(3, 3, 3, 4), at(103), None);
        let mut lost = |number| sampler.lost(number).map(|sample| sample.lost);
        assert_eq!((lost(0), lost(1)), (Some(1.0), Some(2.0)));
        let sample = sampler.take(0, &SENDING).expect("packet 3 has been delivered");
        assert_eq!((sample.lost, sample.newly_lost, sample.tx_in_flight), (2.0, 2.0, 4.0));
        sampler.sent(0, at(104), 3, 0);
        sampler.arrived(&delivered(5, 0, 104, 3), at(204), None);
        let again = sampler.take(1, &SENDING).unwrap();
        assert_eq!(
            (again.lost, again.newly_lost, again.rtt),
            (0.0, 0.0, None),
            "it was retransmitted after both losses; which copy has arrived is not known"
        );
    }
}
