//! What happens at a hosted end.

use super::Simulation;
use crate::ends::{ReceivingEnd, SendingEnd, Sink, Source};
use crate::hosted::{End, Endpoint, HostedEnd};
use crate::packet::Travelling;
use crate::summary::HostedSummary;
use crate::traffic::Act;
use narrows_units::Time;
use std::any::Any;

impl Simulation {
    /// An end of a hosted flow, as what it is; `None` if the flow is not hosted, or its end is
    /// something else.
    pub fn endpoint<T: Endpoint>(&self, flow: usize, end: End) -> Option<&T> {
        let hosted = match (end, &self.senders[flow].source, &self.receivers[flow].sink) {
            (End::Near, Source::Hosted(near), _) => near,
            (End::Far, _, Sink::Hosted(far)) => far,
            _ => return None,
        };
        (hosted.endpoint() as &dyn Any).downcast_ref()
    }

    /// Begins or ends both ends of a hosted flow, as its application does.
    pub(super) fn obey_hosted(&mut self, act: Act, flow: u32, now: Time) {
        for path in [2 * flow, 2 * flow + 1] {
            let end = hosted(&mut self.senders, &mut self.receivers, path);
            match act {
                Act::Offer(_) => end.begin(now),
                Act::Stop => end.stop(&mut self.payloads),
            }
            self.arm(path);
        }
    }

    /// Delivers a datagram to the hosted end of its path.
    #[cold]
    pub(super) fn deliver(&mut self, at: Time, packet: &Travelling) {
        self.books.arrive(packet.path);
        self.books.count_hosted(0, 1);
        self.catch_up_hosted(packet.path, at);
        let end = hosted(&mut self.senders, &mut self.receivers, packet.path);
        end.arrive(at, &packet.segment, &mut self.payloads);
        if end.sees_by(at) { self.turn(packet.path, at) } else { self.arm(packet.path) }
    }

    /// A turn of the hosted end of `path`.
    pub(super) fn turn(&mut self, path: u32, now: Time) {
        self.catch_up_hosted(path, now);
        let end = hosted(&mut self.senders, &mut self.receivers, path);
        end.turn(now, &mut self.payloads);
        let departures = end.departures();
        self.note_progress(path, now, !departures.is_empty());
        self.books.count_hosted(departures.len() as u64, 0);
        for segment in &departures {
            self.launch(segment.stamp, path ^ 1, segment);
        }
        hosted(&mut self.senders, &mut self.receivers, path).give_back(departures);
        self.arm(path);
    }

    /// Notes when the first datagram leaves the near end, and when the far end has everything.
    fn note_progress(&mut self, path: u32, now: Time, departs: bool) {
        let flow = path as usize / 2;
        if path % 2 == 1 && departs {
            self.senders[flow].started.get_or_insert(now);
        }
        let receiver = &mut self.receivers[flow];
        if let (Sink::Hosted(far), Some(_), None) =
            (&receiver.sink, receiver.total, receiver.finished)
        {
            receiver.finished = far.has_all().then_some(now);
        }
    }

    fn catch_up_hosted(&mut self, path: u32, now: Time) {
        let flow = path as usize / 2;
        if path.is_multiple_of(2) {
            self.receivers[flow].catch_up(now);
        } else {
            self.senders[flow].catch_up(now);
        }
    }

    fn arm(&mut self, path: u32) {
        if path.is_multiple_of(2) { self.arm_far(path / 2) } else { self.arm_sender(path / 2) }
    }

    fn arm_far(&mut self, flow: u32) {
        let end = &mut self.receivers[flow as usize];
        if let Sink::Hosted(far) = &end.sink {
            end.wakes_at = far.next_turn();
        }
        self.arm_receiver(flow);
    }

    /// A packet does not reach its end.
    pub(super) fn lose(&mut self, packet: &Travelling, at: Time) {
        self.books.lose(packet.path, at, &self.measured);
        if self.payloads.free(&packet.segment) {
            self.books.count_hosted(0, 1);
        }
    }

    /// What the ends of a flow did, if they are hosted.
    pub(super) fn hosted_summary(&self, flow: usize) -> Option<Box<HostedSummary>> {
        match (&self.senders[flow].source, &self.receivers[flow].sink) {
            (Source::Hosted(near), Sink::Hosted(far)) => {
                Some(Box::new(HostedSummary { near: near.summary(), far: far.summary() }))
            }
            _ => None,
        }
    }

    /// Panics unless as many datagrams are kept as are under way.
    pub(super) fn balance_payloads(&self) {
        let mut under_way = self.books.hosted_under_way();
        for flow in 0..self.senders.len() {
            if let (Source::Hosted(near), Sink::Hosted(far)) =
                (&self.senders[flow].source, &self.receivers[flow].sink)
            {
                under_way += near.unseen() + far.unseen();
            }
        }
        let kept = self.payloads.in_use();
        assert_eq!(kept, under_way, "{kept} payloads are kept, but {under_way} are under way");
    }
}

/// The hosted end that `path` leads to, which sends on the other path of its flow.
fn hosted<'a>(
    senders: &'a mut [SendingEnd],
    receivers: &'a mut [ReceivingEnd],
    path: u32,
) -> &'a mut HostedEnd {
    let flow = path as usize / 2;
    match (path % 2, &mut senders[flow].source, &mut receivers[flow].sink) {
        (0, _, Sink::Hosted(far)) => far,
        (1, Source::Hosted(near), _) => near,
        _ => unreachable!("only the paths of a hosted flow end at a hosted end"),
    }
}
