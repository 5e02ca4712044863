//! Cheap Nasty Queueing with CoDel and Approximate Fairness: two queues for any number of flows
//! (J. Morton; github.com/chromi/sce, net/sched/sch_cnq_codel_af.c, read in 016a60c).
//!
//! | source | rule | here |
//! |---|---|---|
//! | `cnq_enqueue` | a packet whose flow has none in the bulk is sparse; a dummy in the bulk stands for it, and counts for its flow | [`CnqCodelAf::admit`] |
//! | `cnq_dequeue` | sparse packets before the bulk; a flow's last packet is not dropped | [`CnqCodelAf::dequeue`] |
//! | `cobalt_should_drop` | CoDel at each flow, whose waiting time counts by its packets over a fair share of the queue; BLUE at four intervals | [`cobalt`] |
//! | `cnq_dequeue`, decay | with each packet that leaves the AQM of another idle flow recovers | [`CnqCodelAf::decay`] |
//!
//! Departures: the shaper is the link's; nothing is marked for SCE, which is off there. The source
//! has a limit of 10,240 packets that it does not use; here the buffer limits.

mod cobalt;

use crate::departure::Departure;
use crate::entry::Entry;
use crate::parts::place;
use crate::{Backlog, Discipline, Drops, Packet};
use cobalt::{Cobalt, Share};
use narrows_settings::{Settings, settings};
use narrows_units::{Duration, Stream, Time};
use std::collections::VecDeque;

settings! {
    /// How CNQ-CoDel-AF is set up.
    pub struct CnqCodelAfSettings {
        /// The acceptable delay of a flow that has its fair share of the queue (`ce_target`).
        target: Duration = Duration::from_millis(5), above(0.0);
        /// For how long it may be above the target (`ce_interval`).
        interval: Duration = Duration::from_millis(100), above(0.0);
        /// Number of counters that flows are hashed to (`CNQ_QUEUES`).
        queues: u32 = 65_536, at_least(1.0).at_most(65_536.0);
    }
}

/// Its line in the registry.
pub(super) const QUEUE: Entry = Entry {
    name: "cnq-codel-af",
    aliases: &["cnq_codel_af"],
    summary: "lets packets of flows that have none waiting go first, with CoDel at each flow by \
              its share of the queue",
    source: "chromi/sce, net/sched/sch_cnq_codel_af.c",
    settings: CnqCodelAfSettings::list,
    construct: |given, _| Ok(Discipline::CnqCodelAf(CnqCodelAfSettings::read(given)?)),
};

/// A flow's packets in the bulk, dummies counted, and its AQM.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    waiting: u64,
    aqm: Cobalt,
}

/// What has a place in the bulk: a packet with the time at which it arrived, or the dummy of one
/// that is sparse.
#[derive(Clone, Debug)]
enum InBulk<P> {
    Packet(Time, P),
    Dummy,
}

/// CNQ-CoDel-AF at work.
#[derive(Clone, Debug)]
pub struct CnqCodelAf<P> {
    settings: CnqCodelAfSettings,
    perturbation: u64,
    dice: Stream,
    flows: Vec<Flow>,
    sparse: VecDeque<(usize, P)>,
    bulk: VecDeque<(usize, InBulk<P>)>,
    /// Flows with something in the bulk, and dummies there.
    active: u64,
    dummies: u64,
    /// Whose AQM recovers next.
    decays: usize,
    backlog: Backlog,
}

impl<P: Packet> CnqCodelAf<P> {
    /// Empty; `perturbation` changes which flow is hashed to which counter, and its dice are seeded
    /// from `stream`.
    pub fn new(settings: CnqCodelAfSettings, perturbation: u64, stream: &mut Stream) -> Self {
        Self {
            settings,
            perturbation,
            dice: Stream::new(stream.bits(), 0, 0),
            flows: vec![Flow::default(); settings.queues as usize],
            sparse: VecDeque::new(),
            bulk: VecDeque::new(),
            active: 0,
            dummies: 0,
            decays: 0,
            backlog: Backlog::default(),
        }
    }

    /// The next packet of the bulk, whose it is, and when it arrived (`dequeue_bulk`).
    fn take_from_bulk(&mut self) -> Option<(usize, Time, P)> {
        loop {
            let (place, entry) = self.bulk.pop_front()?;
            let flow = &mut self.flows[place];
            flow.waiting -= 1;
            self.active -= u64::from(flow.waiting == 0);
            match entry {
                InBulk::Packet(since, packet) => return Some((place, since, packet)),
                InBulk::Dummy => self.dummies -= 1,
            }
        }
    }

    /// The AQM of the next counter recovers, if its flow is idle.
    fn decay(&mut self, now: Time) {
        let flow = &mut self.flows[self.decays];
        if flow.waiting == 0 {
            flow.aqm.rest(now, &self.settings);
        }
        self.decays = (self.decays + 1) % self.flows.len();
    }

    /// A packet of the bulk leaves, marked or not, or is dropped, which is true.
    fn judge(&mut self, now: Time, (place, since): (usize, Time), packet: &mut P) -> bool {
        let flow = &mut self.flows[place];
        let own = flow.waiting + 1;
        let share = Share { own, flows: self.active - self.dummies, all: self.backlog.packets + 1 };
        let (settings, dice) = (&self.settings, &mut self.dice);
        let drop = flow.aqm.should_drop(settings, (since, now), packet, share, dice);
        drop && flow.waiting > 0
    }
}

impl<P: Packet> Departure<P> for CnqCodelAf<P> {
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn admit(&mut self, now: Time, packet: P) {
        self.backlog.add(&packet);
        let place = place(packet.flow(), self.perturbation, self.flows.len());
        let flow = &mut self.flows[place];
        let is_sparse = flow.waiting == 0;
        flow.waiting += 1;
        self.active += u64::from(is_sparse);
        self.dummies += u64::from(is_sparse);
        if is_sparse {
            self.bulk.push_back((place, InBulk::Dummy));
            self.sparse.push_back((place, packet));
        } else {
            self.bulk.push_back((place, InBulk::Packet(now, packet)));
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Drops<P>) -> Option<P> {
        let packet = if let Some((place, packet)) = self.sparse.pop_front() {
            self.backlog.remove(&packet);
            self.flows[place].aqm.rest(now, &self.settings);
            packet
        } else {
            loop {
                let (place, since, mut packet) = self.take_from_bulk()?;
                self.backlog.remove(&packet);
                if !self.judge(now, (place, since), &mut packet) {
                    break packet;
                }
                dropped.push(packet);
            }
        };
        self.decay(now);
        Some(packet)
    }
}

#[cfg(test)]
mod tests;
