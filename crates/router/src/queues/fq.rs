//! Linux's fq as a router's queue: flows by hash, in turns by bytes, each first in, first out
//! (`net/sched/sch_fq.c` of Linux 5.13). Its pacing belongs to the host that sends (`pacing = "fq"`
//! of a flow): packets that are forwarded have no time of their own.
//!
//! | source | rule | here |
//! |---|---|---|
//! | `fq_enqueue` | a flow that holds `flow_limit` packets takes no more | [`Fq::enqueue`] |
//! | `fq_enqueue` | one that was idle for `refill_delay` has a whole quantum | [`Fq::admit`] |
//! | `fq_dequeue` | what has waited longer than `ce_threshold` is marked | [`Fq::dequeue`] |

use crate::departure::Departure;
use crate::entry::Entry;
use crate::parts::Turns;
use crate::{Backlog, Discipline, Drops, Packet, Room, TimedQueue};
use narrows_settings::{Settings, settings};
use narrows_units::{Duration, Time};

settings! {
    /// fq's settings.
    pub struct FqSettings {
        /// The most packets of one flow (`flow_limit`).
        flow_limit: u32 = 100, at_least(1.0);
        /// Bytes per turn (`quantum`: two packets of 1514 bytes).
        quantum: u32 = 3028, at_least(1.0).at_most(1e6);
        /// Bytes that a flow has at first (`initial_quantum`).
        initial_quantum: u32 = 15_140, at_least(1.0).at_most(1e9);
        /// After how long a silence a flow has a whole quantum again (`refill_delay`).
        refill_delay: Duration = Duration::from_millis(40);
        /// From which waiting time on a packet is marked when it leaves, if it can be
        /// (`ce_threshold`).
        ce_threshold: Option<Duration> = None => "none";
        /// Number of queues that flows are hashed to (`orphan_mask`).
        queues: u32 = 1024, at_least(1.0).at_most(65_536.0);
    }
}

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "fq",
    aliases: &[],
    summary: "hashes flows to queues that take turns by bytes; new flows go first",
    source: "Linux, net/sched/sch_fq.c",
    settings: FqSettings::list,
    construct: |given, _| Ok(Discipline::Fq(FqSettings::read(given)?)),
};

#[derive(Clone, Debug)]
struct Flow<P> {
    queue: TimedQueue<P>,
    /// When a turn last found it empty (`age`).
    seen: Time,
}

impl<P> Default for Flow<P> {
    fn default() -> Self {
        Self { queue: TimedQueue::default(), seen: Time::ZERO }
    }
}

/// fq at work.
#[derive(Clone, Debug)]
pub struct Fq<P> {
    settings: FqSettings,
    flows: Turns<Flow<P>>,
    backlog: Backlog,
}

impl<P: Packet> Fq<P> {
    /// Empty; `perturbation` changes which flow is hashed to which queue.
    pub fn new(settings: FqSettings, perturbation: u64) -> Self {
        let credit = i64::from(settings.initial_quantum);
        let flows = Turns::new(settings.queues, credit, perturbation);
        Self { settings, flows, backlog: Backlog::default() }
    }
}

impl<P: Packet> Departure<P> for Fq<P> {
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn admit(&mut self, now: Time, packet: P) {
        let place = self.flows.place(packet.flow());
        self.backlog.add(&packet);
        let flow = self.flows.at(place);
        flow.queue.push(now, packet);
        let is_rested = now.since(flow.seen) > self.settings.refill_delay;
        let least = if is_rested { i64::from(self.settings.quantum) } else { i64::MIN };
        self.flows.join(place, |credit| credit.max(least));
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Drops<P>) -> Option<P> {
        if self.backlog.packets == 0 {
            return None;
        }
        let (backlog, threshold) = (&mut self.backlog, self.settings.ce_threshold);
        self.flows.next(self.settings.quantum, |flow| {
            let Some((since, mut packet)) = flow.queue.pop() else {
                flow.seen = now;
                return None;
            };
            backlog.remove(&packet);
            if threshold.is_some_and(|threshold| now.since(since) > threshold) {
                packet.mark();
            }
            Some(packet)
        })
    }

    fn enqueue(&mut self, now: Time, packet: P, room: Room, dropped: &mut Drops<P>) {
        let place = self.flows.place(packet.flow());
        let of_flow = self.flows.at(place).queue.backlog().packets;
        let fits = of_flow < u64::from(self.settings.flow_limit);
        if fits && room.admits(self.backlog, packet.bytes()) {
            self.admit(now, packet);
        } else {
            dropped.push(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;
    use crate::packet::tests::Parcel;
    use narrows_signal::Ecn;

    fn millis(count: u64) -> Time {
        Time::ZERO + Duration::from_millis(count)
    }

    fn numbers(fq: &mut Fq<Parcel>, count: usize) -> Vec<u64> {
        let packets = std::iter::from_fn(|| fq.dequeue(millis(1), &mut Vec::new()));
        packets.take(count).map(|packet| packet.number).collect()
    }

    #[test]
    fn flows_begin_with_ten_packets_and_then_have_turns_of_two() {
        let mut fq = Fq::new(FqSettings::default(), 7);
        for number in 0..20 {
            fq.admit(Time::ZERO, Parcel { bytes: 1514, ..Parcel::new(1, number) });
        }
        for number in 100..120 {
            fq.admit(Time::ZERO, Parcel { bytes: 1514, ..Parcel::new(2, number) });
        }
        let ten = |from: u64| from..from + 10;
        let first: Vec<u64> = ten(0).chain(ten(100)).collect();
        assert_eq!(numbers(&mut fq, 20), first);
        assert_eq!(numbers(&mut fq, 8), [10, 11, 110, 111, 12, 13, 112, 113]);
    }

    #[test]
    fn a_flow_has_its_limit_whatever_room_there_is() {
        let (mut fq, mut dropped) = (Fq::new(FqSettings::default(), 7), Vec::new());
        let room = Room { limit: Limit::Packets(1000), in_transmission: Backlog::default() };
        for number in 0..150 {
            fq.enqueue(Time::ZERO, Parcel::new(1, number), room, &mut dropped);
        }
        fq.enqueue(Time::ZERO, Parcel::new(2, 200), room, &mut dropped);
        assert!(dropped.iter().map(|packet| packet.number).eq(100..150));
        assert_eq!(fq.backlog().packets, 101);
    }

    #[test]
    fn what_has_waited_longer_than_the_threshold_is_marked() {
        let ce_threshold = Some(Duration::from_millis(5));
        let mut fq = Fq::new(FqSettings { ce_threshold, ..FqSettings::default() }, 7);
        for (number, ecn) in [(0, Ecn::Capable), (1, Ecn::Capable), (2, Ecn::NotCapable)] {
            fq.admit(Time::ZERO, Parcel { ecn, ..Parcel::new(1, number) });
        }
        let left = [5, 6, 7].map(|at| fq.dequeue(millis(at), &mut Vec::new()).unwrap().ecn);
        assert_eq!(left, [Ecn::Capable, Ecn::Marked, Ecn::NotCapable]);
    }

    #[test]
    fn credit_is_filled_up_after_a_silence_only() {
        let order = |at| {
            let mut fq = Fq::new(FqSettings::default(), 7);
            let parcel = |flow, number| Parcel { bytes: 1500, ..Parcel::new(flow, number) };
            (0..10).for_each(|number| fq.admit(Time::ZERO, parcel(1, number)));
            fq.admit(Time::ZERO, parcel(2, 10));
            // 140 bytes of flow 1's are left, and it is found to be empty.
            numbers(&mut fq, 11);
            (20..22).for_each(|number| fq.admit(millis(at), parcel(1, number)));
            fq.admit(millis(at), parcel(3, 30));
            numbers(&mut fq, 3)
        };
        assert_eq!(order(30), [20, 30, 21]);
        assert_eq!(order(80), [20, 21, 30]);
    }
}
