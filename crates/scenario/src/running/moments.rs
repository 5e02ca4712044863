//! What is seen of a run at regular times.

use super::Running;
use crate::CheckedFlow;
use narrows_router::Limit;
use narrows_sim::Glimpse;
use narrows_units::Time;

/// What has happened since the moment before, and what is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// When.
    pub at: Time,
    /// Each group of flows.
    pub groups: Vec<GroupMoment>,
    /// The first flows of each group, those of [`Checked::sampled`](crate::Checked::sampled).
    pub flows: Vec<FlowMoment>,
    /// Each link between routers.
    pub links: Vec<LinkMoment>,
    /// What the law of the watched flow shows of itself, by name.
    pub law: Vec<(&'static str, f64)>,
}

/// A flow at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowMoment {
    /// Its window in packets; NaN if it has none.
    pub window: f64,
    /// Its smoothed RTT in seconds; NaN before the first sample.
    pub rtt: f64,
    /// Packets that have arrived since the moment before, repeated ones included.
    pub delivered: u64,
}

/// A group of flows at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupMoment {
    /// Packets that have arrived since the moment before, repeated ones included.
    pub delivered: u64,
    /// Those of them that had not arrived before.
    pub fresh: u64,
    /// Packets that its senders have sent since then.
    pub sent: u64,
    /// Packets that its senders have taken for lost since then.
    pub lost: u64,
    /// Mean, least and largest window in packets of those that have begun; NaN if none has.
    pub window: [f64; 3],
    /// Their mean smoothed RTT in seconds.
    pub rtt: f64,
    /// Flows that have not stopped.
    pub there: u32,
}

/// A link at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkMoment {
    /// Packets in its queue, the one in transmission included.
    pub queue: u64,
    /// Packets that have arrived since the moment before.
    pub arrivals: u64,
    /// Those that were dropped.
    pub drops: u64,
    /// Those that were marked.
    pub marks: u64,
    /// Bytes that have left.
    pub departed: u64,
    /// Its rate in bit/s, without what is drawn.
    pub rate: u64,
    /// Packets that its queue holds, of the first group's; `None` if it is unlimited.
    pub limit: Option<u64>,
}

impl Running {
    /// Notes the moment that is due.
    pub(super) fn note(&mut self) {
        self.stepped.simulation.look();
        let row = (self.due.picos() / self.row.picos()) as usize - 1;
        let is_there = self.stepped.checked.flows.iter().flat_map(|group| self.is_there(group));
        let glimpse = |(flow, is_there): (usize, bool)| {
            let seen = self.stepped.simulation.glimpse(flow);
            // What somebody would send who has left, or has not come, is nothing to anybody.
            if is_there && seen.sender.sent > 0 {
                seen
            } else {
                Glimpse { window: f64::NAN, rtt: f64::NAN, ..seen }
            }
        };
        let glimpses: Vec<Glimpse> = is_there.enumerate().map(glimpse).collect();
        let groups = self.groups(&glimpses);
        let mut flows = Vec::new();
        let mut first = 0;
        for (group, sampled) in
            self.stepped.checked.flows.iter().zip(self.stepped.checked.sampled())
        {
            let numbers = first..first + sampled;
            flows.extend(numbers.map(|number| self.flow(number, &glimpses[number])));
            first += group.count as usize;
        }
        let links =
            (0..self.stepped.checked.links.len()).map(|link| self.link(link, row)).collect();
        self.moments.push(Moment { at: self.due, groups, flows, links, law: self.law() });
        self.before = glimpses;
    }

    /// Of each flow of `group` whether it has not stopped.
    fn is_there(&self, group: &CheckedFlow) -> impl Iterator<Item = bool> {
        (0..group.count as usize).map(|index| group.stops_at(index) > self.due)
    }

    fn flow(&self, number: usize, now: &Glimpse) -> FlowMoment {
        let delivered = delivered(now) - self.before.get(number).map_or(0, delivered);
        FlowMoment { window: now.window, rtt: now.rtt, delivered }
    }

    fn groups(&self, glimpses: &[Glimpse]) -> Vec<GroupMoment> {
        let mut rest = glimpses;
        let mut before = &self.before[..];
        let groups = self.stepped.checked.flows.iter().map(|group| {
            let (flows, others) = rest.split_at(group.count as usize);
            rest = others;
            let (known, others) = before.split_at(flows.len().min(before.len()));
            before = others;
            let there = self.is_there(group).filter(|is_there| *is_there).count() as u32;
            GroupMoment { there, ..GroupMoment::of(flows, known) }
        });
        groups.collect()
    }

    fn link(&self, link: usize, row: usize) -> LinkMoment {
        let Some((_, series)) = self.stepped.simulation.link_series(link) else {
            return LinkMoment::default();
        };
        let of = |column: &Vec<u64>| column.get(row).copied().unwrap_or_default();
        let (link, packet) =
            (&self.stepped.checked.links[link], self.stepped.checked.packet().count());
        let limit = match link.limit_at(self.due) {
            Limit::Packets(packets) => Some(packets),
            Limit::Bytes(bytes) => Some(bytes / packet),
            Limit::Unlimited => None,
        };
        LinkMoment {
            rate: link.rate_at(self.due).bits_per_second(),
            limit,
            queue: of(&series.queue),
            arrivals: of(&series.arrivals),
            drops: of(&series.drops),
            marks: of(&series.marks),
            departed: of(&series.departed_bytes),
        }
    }

    fn law(&self) -> Vec<(&'static str, f64)> {
        let mut shown = Vec::new();
        if let Some(law) = self.watched.and_then(|flow| self.stepped.simulation.controller(flow)) {
            law.probe(&mut |name, value| shown.push((name, value)));
        }
        shown
    }
}

/// Packets that have arrived, repeated ones included.
fn delivered(glimpse: &Glimpse) -> u64 {
    glimpse.arrived + glimpse.duplicates
}

impl GroupMoment {
    /// The moment of `flows`, which had counted what `before` says at the last, if they were there.
    fn of(flows: &[Glimpse], before: &[Glimpse]) -> Self {
        let mut group = Self { window: [0.0, f64::INFINITY, 0.0], ..Self::default() };
        let (mut begun, mut known) = (0.0, 0.0);
        for (number, now) in flows.iter().enumerate() {
            let of = |count: fn(&Glimpse) -> u64| count(now) - before.get(number).map_or(0, count);
            group.delivered += of(delivered);
            group.fresh += of(|glimpse| glimpse.arrived);
            group.sent += of(|glimpse| glimpse.sender.sent);
            group.lost += of(|glimpse| glimpse.sender.lost.into());
            if now.sender.sent > 0 && now.window.is_finite() {
                let [total, least, largest] = group.window;
                begun += 1.0;
                group.window = [total + now.window, least.min(now.window), largest.max(now.window)];
            }
            if now.rtt.is_finite() {
                known += 1.0;
                group.rtt += now.rtt;
            }
        }
        if begun == 0.0 {
            group.window = [f64::NAN; 3];
        }
        group.window[0] /= begun;
        group.rtt /= known;
        group
    }
}
