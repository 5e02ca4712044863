//! GWA's routers, which advertise their buffers (GWA, §3, §5).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §5, round robin | B_n ← min(B_n, B_t/n_f − q_i) | [`Gwa::room`] |
//! | §5, FCFS | B_n ← min(B_n, (B_t − q)/n_f) | [`Gwa::room`] |
//! | eq. 9 | n_f | [`FlowCount`] |
//! | §2, backward notification | B_n into the acknowledgements that pass on the way back | [`Gwa::room_now`] |
//! | §1, "the receiver window field" | the receiver's window in them lowered to B_n, for hosts that know nothing of GWA | [`AdvertisedRoom::rewrites`] |
//!
//! The field is written when a packet leaves: eq. 7 wants the queue as it was one propagation delay
//! ago, so the field must not wait in the very queue it describes. Written on arrival it would, and
//! the window would oscillate without end.

use super::RoundRobin;
use crate::departure::Departure;
use crate::entry::{Entry, Placement};
use crate::{Backlog, Discipline, Drops, FlowCount, FlowCountSettings, Packet, TimedQueue};
use narrows_settings::{Given, SettingError, Settings, settings};
use narrows_signal::Request;
use narrows_units::Time;

/// The registry's line for GWA's router with one queue.
pub(super) const FIRST_IN_FIRST_OUT: Entry = Entry {
    name: "gwa-fcfs",
    aliases: &["gwa"],
    summary: "first in, first out; advertises to each flow an equal part of the free buffer, for \
              `gwa` senders",
    source: "Gerla, Lo Cigno, Mascolo, Weng, §5",
    settings: GwaGiven::list,
    construct: |given, placement| read(given, placement, "gwa-fcfs", false),
};

/// The registry's line for GWA's router with a queue for each flow.
pub(super) const ROUND_ROBIN: Entry = Entry {
    name: "gwa-rr",
    aliases: &[],
    summary: "keeps a queue for each flow, served in turn; advertises to each flow its part of the \
              buffer less its queue, for `gwa` senders",
    source: "Gerla, Lo Cigno, Mascolo, Weng, §5",
    settings: GwaGiven::list,
    construct: |given, placement| read(given, placement, "gwa-rr", true),
};

settings! {
    /// What a user says of a GWA router.
    pub struct GwaGiven {
        ..count: FlowCountSettings;
        /// Whether B_n is written into the acknowledgements that pass the router on their way back,
        /// instead of into the data (backward notification; GWA, §2).
        backward: bool = false;
        /// Whether the receiver's window in the acknowledgements that pass the router on their way
        /// back is lowered to B_n, but not below a packet: TCP that knows nothing of GWA obeys.
        rewrite: bool = false;
    }
}

fn read(
    given: &Given,
    placement: &Placement,
    name: &str,
    round_robin: bool,
) -> Result<Discipline, SettingError> {
    let GwaGiven { count: flows, backward, rewrite } = GwaGiven::read(given)?;
    if backward && rewrite {
        let message = "rewrite: it is a backward notification itself; leave backward out";
        return Err(SettingError::new(message));
    }
    if flows.flows.is_some() {
        given.only_without(&["alpha", "tau"], "flows")?;
    }
    let buffer = placement.buffer(name)? * placement.packet as f64;
    let packet = placement.packet;
    Ok(Discipline::Gwa(GwaSettings { round_robin, buffer, flows, backward, rewrite, packet }))
}

/// How a GWA router is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GwaSettings {
    /// True for a queue for each flow, served in turn; false for one queue for all.
    pub round_robin: bool,
    /// B_t, the buffer in bytes.
    pub buffer: f64,
    /// How n_f is measured.
    pub flows: FlowCountSettings,
    /// Whether acknowledgements on their way back carry B_n, instead of the data.
    pub backward: bool,
    /// Whether the receiver's window in acknowledgements on their way back is lowered to B_n.
    pub rewrite: bool,
    /// Bytes of a packet, below which no window is lowered by `rewrite`: a window of zero would
    /// stop a sender until it probes (RFC 9293 §3.8.6.1).
    pub packet: u64,
}

/// What an acknowledgement on its way back is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvertisedRoom {
    /// Room for its flow in bytes.
    pub bytes: u64,
    /// Whether the receiver's window is lowered to it, whether or not anybody asked.
    pub rewrites: bool,
}

/// GWA's queue at work.
#[derive(Clone, Debug)]
pub struct Gwa<P> {
    buffer: f64,
    backward: bool,
    /// The least room in bytes that `rewrite` tells; `None` without it.
    rewrites_above: Option<u64>,
    count: FlowCount,
    waiting: Waiting<P>,
}

#[derive(Clone, Debug)]
enum Waiting<P> {
    InTurn(RoundRobin<P>),
    InOrder(TimedQueue<P>),
}

impl<P: Packet> Gwa<P> {
    /// Empty.
    pub fn new(settings: GwaSettings) -> Self {
        let waiting = if settings.round_robin {
            Waiting::InTurn(RoundRobin::default())
        } else {
            Waiting::InOrder(TimedQueue::default())
        };
        let GwaSettings { buffer, flows, backward, rewrite, packet, .. } = settings;
        let rewrites_above = rewrite.then_some(packet);
        Self { buffer, backward, rewrites_above, count: FlowCount::new(flows), waiting }
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

    /// Room for a flow at `now`, for an acknowledgement that passes on its way back.
    pub fn room_now(&mut self, now: Time, flow: u32) -> AdvertisedRoom {
        while self.count.ends(now) {}
        let bytes = self.room(flow).max(self.rewrites_above.unwrap_or(0));
        AdvertisedRoom { bytes, rewrites: self.rewrites_above.is_some() }
    }
}

impl<P: Packet> Departure<P> for Gwa<P> {
    fn backlog(&self) -> Backlog {
        match &self.waiting {
            Waiting::InTurn(queue) => queue.backlog(),
            Waiting::InOrder(queue) => queue.backlog(),
        }
    }

    fn admit(&mut self, now: Time, mut packet: P) {
        while self.count.ends(now) {}
        if packet.request().is_some() {
            self.count.see(packet.flow());
        }
        match &mut self.waiting {
            Waiting::InTurn(queue) => queue.push(packet),
            Waiting::InOrder(queue) => queue.push(now, packet),
        }
    }

    /// The packet leaves with the room that its flow has.
    fn dequeue(&mut self, now: Time, _dropped: &mut Drops<P>) -> Option<P> {
        while self.count.ends(now) {}
        let mut packet = match &mut self.waiting {
            Waiting::InTurn(queue) => queue.pop(),
            Waiting::InOrder(queue) => queue.pop().map(|(_, packet)| packet),
        }?;
        if self.backward || self.rewrites_above.is_some() {
            return Some(packet);
        }
        let room = self.room(packet.flow());
        if let Some(Request::Window(window) | Request::WindowOver(window, _)) = packet.request() {
            window.lower(room);
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::Parcel;
    use narrows_signal::AdvertisedWindow;

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
    fn data_passes_as_it_is_if_acknowledgements_are_told() {
        let flows = FlowCountSettings { flows: Some(2.0), ..FlowCountSettings::default() };
        let buffer = 10_000.0;
        let mut queue = Gwa::new(GwaSettings {
            round_robin: true,
            buffer,
            flows,
            backward: true,
            rewrite: false,
            packet: 0,
        });
        queue.admit(Time::ZERO, parcel(1, 0));
        let rooms = [1, 2].map(|flow| queue.room_now(Time::ZERO, flow).bytes);
        assert_eq!(rooms, [4000, 5000]);
        assert_eq!(said(queue.dequeue(Time::ZERO, &mut Vec::new())), 60_000);
    }

    #[test]
    fn the_room_advertised_is_that_of_section_5() {
        for (round_robin, expected) in [
            (true, [10_000 - 2000, 10_000, 10_000 - 1000]),
            (false, [27_000 / 3, 28_000 / 3, 29_000 / 3]),
        ] {
            let flows = FlowCountSettings { flows: Some(3.0), ..FlowCountSettings::default() };
            let (buffer, backward) = (30_000.0, false);
            let mut queue = Gwa::new(GwaSettings {
                round_robin,
                buffer,
                flows,
                backward,
                rewrite: false,
                packet: 0,
            });
            for (flow, number) in [(1, 0), (2, 0), (1, 1), (1, 2)] {
                queue.admit(Time::ZERO, parcel(flow, number));
            }
            let rooms = [(); 3].map(|()| said(queue.dequeue(Time::ZERO, &mut Vec::new())));
            assert_eq!(rooms, expected, "round robin: {round_robin}");
        }
    }
}
