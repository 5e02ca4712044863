//! FQ-CoDel: flows by hash, in turns by deficit, each under CoDel (RFC 8290).
//!
//! | source | rule | here |
//! |---|---|---|
//! | §4.1 | a flow's queue by hash; a queue that becomes active joins the new queues with a full quantum | [`FqCodel::admit`] |
//! | §4.1.2 | over the limit, the fattest queue gives up its head | [`FqCodel::relieve`] |
//! | §4.2 | new queues before old ones, a quantum per turn, CoDel at each | [`FqCodel::dequeue`] |

use super::codel::{CodelOptions, CodelSettings, CodelState};
use crate::departure::Departure;
use crate::entry::Entry;
use crate::parts::Turns;
use crate::{Backlog, Discipline, Drops, Packet, Room, TimedQueue};
use narrows_settings::{Settings, settings};
use narrows_units::Time;

settings! {
    /// FQ-CoDel's settings as a user gives them.
    pub struct FqCodelOptions {
        ..codel: CodelOptions;
        /// Number of queues that flows are hashed to (§4.1.1).
        queues: u32 = 1024, at_least(1.0).at_most(65_536.0);
        /// Bytes per turn (§4.1.1).
        quantum: u32 = 1514, at_least(1.0).at_most(1e9);
    }
}

/// How FQ-CoDel is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FqCodelSettings {
    /// The user's settings.
    pub options: FqCodelOptions,
    /// Bytes of the largest packet.
    pub mtu: u64,
}

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "fq-codel",
    aliases: &["fq_codel"],
    summary: "hashes flows to queues that take turns by bytes, with CoDel at each; new flows go \
              first",
    source: "RFC 8290",
    settings: FqCodelOptions::list,
    construct: |given, placement| {
        let options = FqCodelOptions::read(given)?;
        options.codel.check(given)?;
        Ok(Discipline::FqCodel(FqCodelSettings { options, mtu: placement.packet }))
    },
};

#[derive(Clone, Debug)]
struct Flow<P> {
    queue: TimedQueue<P>,
    codel: CodelState,
}

impl<P> Default for Flow<P> {
    fn default() -> Self {
        Self { queue: TimedQueue::default(), codel: CodelState::default() }
    }
}

/// FQ-CoDel at work.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    settings: FqCodelSettings,
    flows: Turns<Flow<P>>,
    backlog: Backlog,
}

impl<P: Packet> FqCodel<P> {
    /// Empty; `perturbation` changes which flow is hashed to which queue.
    pub fn new(settings: FqCodelSettings, perturbation: u64) -> Self {
        let flows = Turns::new(settings.options.queues, 0, perturbation);
        Self { settings, flows, backlog: Backlog::default() }
    }

    /// It has these settings from now on; its queues and their states stay.
    pub fn retune(&mut self, settings: FqCodelSettings) {
        self.settings = settings;
    }

    /// Drops the packet at the head of the fattest queue. Looks at every queue, as Linux does,
    /// because this happens at overload only.
    pub fn relieve(&mut self, dropped: &mut Drops<P>) {
        let fattest = self.flows.iter_mut().max_by_key(|flow| flow.queue.backlog().bytes);
        if let Some((_, packet)) = fattest.and_then(|flow| flow.queue.pop()) {
            self.backlog.remove(&packet);
            dropped.push(packet);
        }
    }
}

impl<P: Packet> Departure<P> for FqCodel<P> {
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn admit(&mut self, now: Time, packet: P) {
        let place = self.flows.place(packet.flow());
        self.backlog.add(&packet);
        self.flows.at(place).queue.push(now, packet);
        self.flows.join(place, |_| i64::from(self.settings.options.quantum));
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Drops<P>) -> Option<P> {
        let codel = CodelSettings { options: self.settings.options.codel, mtu: self.settings.mtu };
        let backlog = &mut self.backlog;
        self.flows.next(self.settings.options.quantum, |flow| {
            let before = dropped.len();
            let packet = flow.codel.dequeue(&codel, now, &mut flow.queue, dropped);
            dropped[before..].iter().chain(&packet).for_each(|packet| backlog.remove(packet));
            packet
        })
    }

    /// Over the limit, the fattest queue loses a packet, whichever packet arrived last (§4.1.2).
    fn enqueue(&mut self, now: Time, packet: P, room: Room, dropped: &mut Drops<P>) {
        let has_room = room.admits(self.backlog, packet.bytes());
        self.admit(now, packet);
        if !has_room {
            self.relieve(dropped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::Parcel;

    fn settings(queues: u32) -> FqCodelSettings {
        let codel = CodelOptions { ecn: false, ..CodelOptions::default() };
        let options = FqCodelOptions { codel, queues, ..FqCodelOptions::default() };
        FqCodelSettings { options, mtu: 1514 }
    }

    #[test]
    fn a_new_flow_goes_before_the_old_and_flows_of_any_packet_size_get_alike() {
        let (mut fq, mut dropped) = (FqCodel::new(settings(1024), 7), Vec::new());
        let flows: Vec<u32> = (0..)
            .filter(|flow| fq.flows.place(*flow) != fq.flows.place(1))
            .take(2)
            .chain([1])
            .collect();
        for number in 0..3000 {
            fq.admit(Time::ZERO, Parcel { bytes: 1500, ..Parcel::new(flows[0], number) });
            fq.admit(Time::ZERO, Parcel { bytes: 500, ..Parcel::new(flows[2], number) });
        }
        let mut bytes = [0, 0];
        for _ in 0..1000 {
            let packet = fq.dequeue(Time::ZERO, &mut dropped).unwrap();
            bytes[usize::from(packet.flow == flows[2])] += packet.bytes;
        }
        assert!(bytes[0].abs_diff(bytes[1]) <= 2 * 1514, "{bytes:?}");
        fq.admit(Time::ZERO, Parcel::new(flows[1], 0));
        assert_eq!(fq.dequeue(Time::ZERO, &mut dropped).map(|packet| packet.flow), Some(flows[1]));
        assert!(dropped.is_empty());
    }

    #[test]
    fn the_fattest_queue_pays_and_the_books_balance() {
        let (mut fq, mut dropped) = (FqCodel::new(settings(1024), 7), Vec::new());
        (0..100).for_each(|number| fq.admit(Time::ZERO, Parcel::new(3, number)));
        fq.admit(Time::ZERO, Parcel::new(4, 0));
        fq.relieve(&mut dropped);
        assert_eq!(
            dropped.iter().map(|packet| (packet.flow, packet.number)).collect::<Vec<_>>(),
            [(3, 0)]
        );
        let left = std::iter::from_fn(|| fq.dequeue(Time::ZERO, &mut dropped)).count();
        assert_eq!((left, fq.backlog()), (100, Backlog::default()));
    }
}
