//! Conservation of packets: every packet sent has arrived, was lost, or is in flight. They are
//! counted per path and checked against the links at the end of every run.

use crate::link::Link;
use crate::measured::Measured;
use crate::slab::Slab;
use crate::wiring::Paths;
use narrows_units::Time;

/// The packet counters of every path.
pub(crate) struct PathBooks {
    paths: Vec<PathCounters>,
    /// Packets that have set out on any path.
    sent: u64,
    /// Datagrams of hosted ends that have set out, have arrived or were lost.
    hosted: [u64; 2],
}

/// The packets of one path over the whole run.
#[derive(Clone, Copy, Debug, Default)]
struct PathCounters {
    arrived: u64,
    lost: u32,
    /// Those lost in the measured part of the run.
    lost_measured: u32,
}

impl PathBooks {
    pub fn new(paths: usize) -> Self {
        Self { paths: vec![PathCounters::default(); paths], sent: 0, hosted: [0; 2] }
    }

    /// Counts a packet that sets out.
    #[inline]
    pub fn send(&mut self) {
        self.sent += 1;
    }

    /// Counts a packet that has reached the end of `path`.
    #[inline]
    pub fn arrive(&mut self, path: u32) {
        self.paths[path as usize].arrived += 1;
    }

    /// Counts a packet of `path` that was dropped, or lost on a wire, by the link that it reached
    /// at `at`.
    pub fn lose(&mut self, path: u32, at: Time, measured: &Measured) {
        let path = &mut self.paths[path as usize];
        path.lost += 1;
        path.lost_measured += u32::from(measured.contains(at));
    }

    /// Datagrams of hosted ends, of which `sent` set out and `gone` have arrived or were lost.
    pub fn count_hosted(&mut self, sent: u64, gone: u64) {
        self.hosted[0] += sent;
        self.hosted[1] += gone;
    }

    /// Datagrams of hosted ends that have neither arrived nor been lost.
    pub fn hosted_under_way(&self) -> u64 {
        self.hosted[0] - self.hosted[1]
    }

    /// Packets of `path` that were lost in the measured part of the run.
    pub fn lost(&self, path: usize) -> u32 {
        self.paths[path].lost_measured
    }

    /// Data packets that have reached their receivers.
    pub fn delivered(&self) -> u64 {
        self.paths.iter().step_by(2).map(|path| path.arrived).sum()
    }

    /// Panics unless every packet sent has arrived, was lost, or is in flight, that is, in
    /// `waiting` or in a queue.
    pub fn balance(&self, links: &[Link], waiting: &Slab, paths: &Paths) {
        let total = |count: fn(&PathCounters) -> u64| self.paths.iter().map(count).sum::<u64>();
        let (arrived, lost) = (total(|path| path.arrived), total(|path| u64::from(path.lost)));
        let sent = self.sent;
        let under_way = waiting.len() + links.iter().map(Link::held).sum::<u64>();
        assert_eq!(
            sent,
            arrived + lost + under_way,
            "{sent} packets sent, but {arrived} arrived + {lost} lost + {under_way} in flight"
        );
        let missing: u64 = links.iter().map(Link::missing).sum();
        assert_eq!(lost, missing, "flows have lost {lost} packets, but links have lost {missing}");
        self.balance_links(links, waiting, paths);
    }

    /// Panics unless every packet carried by links that lead only to endpoints has arrived or is on
    /// its way.
    fn balance_links(&self, links: &[Link], waiting: &Slab, paths: &Paths) {
        let mut accounted = vec![0; links.len()];
        for packet in waiting.iter() {
            let came_by = paths.link_before(packet.path as usize, packet.hop as usize);
            if let Some(link) = came_by {
                accounted[link as usize] += 1;
            }
        }
        for (path, counters) in self.paths.iter().enumerate() {
            if let Some(link) = paths.last_link(path) {
                accounted[link as usize] += counters.arrived;
            }
        }
        for link in paths.links_to_endpoints_only(links.len()) {
            let (carried, accounted) = (links[link].carried(), accounted[link]);
            assert_eq!(
                carried, accounted,
                "link {link}: {carried} packets carried, but {accounted} arrived or in flight"
            );
        }
    }
}
