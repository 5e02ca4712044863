//! GWA's routers, which advertise their buffers (GWA, §3, §5).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §5, round robin | B_n ← min(B_n, B_t/n_f − q_i) | [`GwaQueue::room`] |
//! | §5, FCFS | B_n ← min(B_n, (B_t − q)/n_f) | [`GwaQueue::room`] |
//! | eq. 9 | n_f | [`FlowCount`](crate::FlowCount) |
//!
//! The field is written when a packet leaves: eq. 7 wants the queue as it was one propagation delay
//! ago, so the news must not wait in the queue that they are about. Written on arrival they do, and
//! a window swings between what the queue has and what it lacks for ever.

use crate::{Backlog, FlowCount, FlowCountSettings, Packet, RoundRobin, TimedQueue};
use narrows_signal::Request;
use narrows_units::Time;

/// How a GWA router is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gwa {
    /// A queue for each flow, served in turn; else one for all.
    pub round_robin: bool,
    /// B_t, the buffer in bytes.
    pub buffer: f64,
    /// How n_f is measured.
    pub flows: FlowCountSettings,
}

/// GWA's queue at work.
#[derive(Clone, Debug)]
pub struct GwaQueue<P> {
    buffer: f64,
    count: FlowCount,
    waiting: Waiting<P>,
}

#[derive(Clone, Debug)]
enum Waiting<P> {
    InTurn(RoundRobin<P>),
    InOrder(TimedQueue<P>),
}

impl<P: Packet> GwaQueue<P> {
    /// Empty.
    pub fn new(gwa: Gwa) -> Self {
        let waiting = if gwa.round_robin {
            Waiting::InTurn(RoundRobin::default())
        } else {
            Waiting::InOrder(TimedQueue::default())
        };
        Self { buffer: gwa.buffer, count: FlowCount::new(gwa.flows), waiting }
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        match &self.waiting {
            Waiting::InTurn(queue) => queue.backlog(),
            Waiting::InOrder(queue) => queue.backlog(),
        }
    }

    /// A packet comes at `now`.
    pub fn enqueue(&mut self, now: Time, mut packet: P) {
        while self.count.ends(now) {}
        if packet.request().is_some() {
            self.count.see(packet.flow());
        }
        match &mut self.waiting {
            Waiting::InTurn(queue) => queue.enqueue(packet),
            Waiting::InOrder(queue) => queue.push(now, packet),
        }
    }

    /// The next packet to leave at `now`, with what there is room for.
    pub fn dequeue(&mut self, now: Time) -> Option<P> {
        while self.count.ends(now) {}
        let mut packet = match &mut self.waiting {
            Waiting::InTurn(queue) => queue.dequeue(),
            Waiting::InOrder(queue) => queue.pop().map(|(_, packet)| packet),
        }?;
        let room = self.room(packet.flow());
        if let Some(Request::Window(window)) = packet.request() {
            window.lower(room);
        }
        Some(packet)
    }

    /// Room for a flow, in bytes.
    fn room(&self, flow: u32) -> u64 {
        let n_f = self.count.flows();
        let room = match &self.waiting {
            Waiting::InTurn(queue) => self.buffer / n_f - queue.backlog_of(flow).bytes as f64,
            Waiting::InOrder(queue) => (self.buffer - queue.backlog().bytes as f64) / n_f,
        };
        room.max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::Parcel;
    use narrows_signal::AdvertisedWindow;
    use narrows_units::Duration;

    fn parcel(flow: u32, number: u64) -> Parcel {
        Parcel {
            request: Request::Window(AdvertisedWindow::at_most(60_000)),
            ..Parcel::new(flow, number)
        }
    }

    fn said(packet: Option<Parcel>) -> u32 {
        let Some(Request::Window(window)) = packet.map(|packet| packet.request) else {
            panic!("no window")
        };
        window.bytes()
    }

    #[test]
    fn the_room_advertised_is_that_of_section_5() {
        for (round_robin, expected) in [
            (true, [10_000 - 2000, 10_000, 10_000 - 1000]),
            (false, [27_000 / 3, 28_000 / 3, 29_000 / 3]),
        ] {
            let flows =
                FlowCountSettings { alpha: 0.9, tau: Duration::from_millis(100), known: Some(3.0) };
            let mut queue = GwaQueue::new(Gwa { round_robin, buffer: 30_000.0, flows });
            for (flow, number) in [(1, 0), (2, 0), (1, 1), (1, 2)] {
                queue.enqueue(Time::ZERO, parcel(flow, number));
            }
            let rooms = [(); 3].map(|()| said(queue.dequeue(Time::ZERO)));
            assert_eq!(rooms, expected, "round robin: {round_robin}");
        }
    }
}
