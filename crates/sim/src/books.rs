//! Conservation of packets: every packet sent has arrived, was lost, or is in flight. Arrivals and
//! losses are counted per path, and checked against the links at the end of every run.

use crate::link::Link;
use crate::measured::Measured;
use crate::packet::Travelling;
use crate::prefetch::prefetch;
use crate::slab::Slab;
use crate::wiring::Paths;
use narrows_units::Time;

/// The packet counters of every path.
pub(crate) struct PathBooks {
    paths: Vec<PathCounters>,
    /// Packets that have set out on any path.
    sent: u64,
    /// Those that were lost.
    lost: u64,
    /// Datagrams of hosted ends that have set out.
    hosted_sent: u64,
    /// Datagrams of hosted ends that have arrived or were lost.
    hosted_gone: u64,
}

/// The packets of one path over the whole run.
#[derive(Clone, Copy, Debug, Default)]
struct PathCounters {
    arrived: u64,
    /// Those lost in the measured part of the run.
    lost_measured: u64,
}

impl PathBooks {
    pub fn new(paths: usize) -> Self {
        let paths = vec![PathCounters::default(); paths];
        Self { paths, sent: 0, lost: 0, hosted_sent: 0, hosted_gone: 0 }
    }

    /// Adds the books of further paths, to have those of `paths` in all.
    pub fn extend_to(&mut self, paths: usize) {
        self.paths.resize(paths, PathCounters::default());
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

    /// Begins to fetch the counters of `path`.
    #[inline]
    pub fn prefetch(&self, path: u32) {
        prefetch(&self.paths[path as usize]);
    }

    /// Counts a packet of `path` that was dropped, or lost on a wire, by the link that it reached
    /// at `at`.
    pub fn lose(&mut self, path: u32, at: Time, measured: &Measured) {
        self.lost += 1;
        self.paths[path as usize].lost_measured += u64::from(measured.contains(at));
    }

    /// Datagrams of hosted ends, of which `sent` set out and `gone` have arrived or were lost.
    pub fn count_hosted(&mut self, sent: u64, gone: u64) {
        self.hosted_sent += sent;
        self.hosted_gone += gone;
    }

    /// Datagrams of hosted ends that have neither arrived nor been lost.
    pub fn hosted_under_way(&self) -> u64 {
        self.hosted_sent - self.hosted_gone
    }

    /// Packets of `path` that were lost in the measured part of the run.
    pub fn lost(&self, path: usize) -> u64 {
        self.paths[path].lost_measured
    }

    /// Data packets that have reached their receivers.
    pub fn delivered(&self) -> u64 {
        self.paths.iter().step_by(2).map(|path| path.arrived).sum()
    }

    /// Panics unless every packet sent has arrived, was lost, or is in flight, that is, in
    /// `waiting` or in a queue.
    pub fn balance(&self, links: &[Link<Travelling>], waiting: &Slab, paths: &Paths) {
        let arrived: u64 = self.paths.iter().map(|path| path.arrived).sum();
        let (sent, lost) = (self.sent, self.lost);
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
    fn balance_links(&self, links: &[Link<Travelling>], waiting: &Slab, paths: &Paths) {
        let mut accounted = vec![0; links.len()];
        for (hop, path) in waiting.iter() {
            let came_by = paths.link_before(path as usize, hop as usize);
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
