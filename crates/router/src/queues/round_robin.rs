//! A queue for each flow, one packet of each in turn (Nagle, RFC 970). GWA is an ideal match for it
//! (GWA, §2).
//!
//! Each packet costs the same, whatever the number of flows is: the queues are lists in one slab,
//! and those that are not empty form a ring.

use crate::departure::Departure;
use crate::entry::Entry;
use crate::{Backlog, Discipline, Drops, Packet};
use narrows_settings::none;
use narrows_units::Time;
use std::collections::VecDeque;

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "rr",
    aliases: &["round-robin"],
    summary: "keeps a queue for each flow and sends one packet of each in turn",
    source: "Nagle, RFC 970",
    settings: none,
    construct: |_, _| Ok(Discipline::RoundRobin),
};

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Flow {
    first: u32,
    last: u32,
    backlog: Backlog,
}

const EMPTY: Flow = Flow { first: NOBODY, last: NOBODY, backlog: Backlog { packets: 0, bytes: 0 } };

/// Queues by flow, served in turn.
#[derive(Clone, Debug)]
pub struct RoundRobin<P> {
    flows: Vec<Flow>,
    ring: VecDeque<u32>,
    packets: Vec<(u32, Option<P>)>,
    free: Vec<u32>,
    backlog: Backlog,
}

impl<P> Default for RoundRobin<P> {
    fn default() -> Self {
        Self {
            flows: Vec::new(),
            ring: VecDeque::new(),
            packets: Vec::new(),
            free: Vec::new(),
            backlog: Backlog::default(),
        }
    }
}

impl<P: Packet> RoundRobin<P> {
    /// What waits, all flows together.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// What waits of one flow.
    pub fn backlog_of(&self, flow: u32) -> Backlog {
        self.flows.get(flow as usize).map_or(Backlog::default(), |flow| flow.backlog)
    }

    /// Adds a packet.
    pub fn push(&mut self, packet: P) {
        let number = packet.flow();
        if number as usize >= self.flows.len() {
            self.flows.resize(number as usize + 1, EMPTY);
        }
        self.backlog.add(&packet);
        let flow = &mut self.flows[number as usize];
        flow.backlog.add(&packet);
        let place = match self.free.pop() {
            Some(place) => {
                self.packets[place as usize] = (NOBODY, Some(packet));
                place
            }
            None => {
                self.packets.push((NOBODY, Some(packet)));
                self.packets.len() as u32 - 1
            }
        };
        if flow.first == NOBODY {
            flow.first = place;
            self.ring.push_back(number);
        } else {
            self.packets[flow.last as usize].0 = place;
        }
        flow.last = place;
    }

    /// Removes the next packet in turn.
    pub fn pop(&mut self) -> Option<P> {
        let number = self.ring.pop_front()?;
        let flow = &mut self.flows[number as usize];
        let place = flow.first;
        let (next, packet) = &mut self.packets[place as usize];
        let packet = packet.take().expect("a list holds packets only");
        flow.first = *next;
        self.free.push(place);
        flow.backlog.remove(&packet);
        self.backlog.remove(&packet);
        if flow.first != NOBODY {
            self.ring.push_back(number);
        }
        Some(packet)
    }
}

impl<P: Packet> Departure<P> for RoundRobin<P> {
    fn backlog(&self) -> Backlog {
        self.backlog()
    }

    fn admit(&mut self, _now: Time, packet: P) {
        self.push(packet);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Drops<P>) -> Option<P> {
        self.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::Parcel;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn flows_take_turns_and_each_keeps_its_order() {
        let mut queue = RoundRobin::default();
        for (flow, number) in [(7, 0), (7, 1), (7, 2), (3, 0), (9, 0), (3, 1)] {
            queue.push(Parcel::new(flow, number));
        }
        let order: Vec<(u32, u64)> =
            std::iter::from_fn(|| queue.pop()).map(|packet| (packet.flow, packet.number)).collect();
        assert_eq!(order, [(7, 0), (3, 0), (9, 0), (7, 1), (3, 1), (7, 2)]);
        assert_eq!(queue.backlog(), Backlog::default());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_flow_waits_for_more_than_one_packet_of_each_other(
            steps in prop::collection::vec((any::<bool>(), 0u32..8), 1..400),
        ) {
            let (mut queue, mut model) =
                (RoundRobin::default(), BTreeMap::<u32, VecDeque<u64>>::new());
            let mut waited = BTreeMap::<u32, u32>::new();
            for (number, (comes, flow)) in (0..).zip(steps) {
                if comes {
                    queue.push(Parcel::new(flow, number));
                    model.entry(flow).or_default().push_back(number);
                } else if let Some(packet) = queue.pop() {
                    prop_assert_eq!(
                        model.get_mut(&packet.flow).and_then(VecDeque::pop_front),
                        Some(packet.number)
                    );
                    for (flow, packets) in &model {
                        let turns = waited.entry(*flow).or_default();
                        *turns = if *flow == packet.flow || packets.is_empty() {
                            0
                        } else {
                            *turns + 1
                        };
                        prop_assert!(*turns < 8);
                    }
                }
                let waiting: usize = model.values().map(VecDeque::len).sum();
                prop_assert_eq!(queue.backlog().packets, waiting as u64);
                prop_assert_eq!(
                    queue.backlog_of(3).packets,
                    model.get(&3).map_or(0, VecDeque::len) as u64
                );
            }
        }
    }
}
