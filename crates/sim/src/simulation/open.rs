//! A run that is looked at and changed while it goes, with the results of one in which all of that
//! was known before: what is computed ahead then passes plain links only, and links between routers
//! are open. What has been decided stays; a change counts from an instant for which nothing has
//! been.

use super::Simulation;
use crate::ends::Source;
use crate::link::LinkSettings;
use crate::wiring::{Ahead, LinkId, Network, Paths, WiringError};
use narrows_router::Backlog;
use narrows_transport::Counters;
use narrows_units::Time;

/// A flow as it is at the moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glimpse {
    /// Congestion window in packets; NaN for datagrams and for hosted flows.
    pub window: f64,
    /// Smoothed RTT in seconds; NaN before the first sample, and where there is none.
    pub rtt: f64,
    /// What its sender has counted in the whole run.
    pub sender: Counters,
    /// Packets that have arrived for the first time, in the whole run.
    pub arrived: u64,
    /// Packets that had arrived before.
    pub duplicates: u64,
}

impl Simulation {
    /// Panics unless links and flows may change while it goes.
    fn expect_open(&self) {
        assert!(
            matches!(self.settings.ahead, Ahead::Nothing | Ahead::Plain) && !self.is_finished,
            "the run is not open"
        );
    }

    /// Takes the samples of links that are due by now.
    pub fn look(&mut self) {
        let Self { now, measured, .. } = *self;
        self.links.iter_mut().for_each(|link| link.look(now, &measured));
    }

    /// Flow number `flow` as it is now.
    pub fn glimpse(&self, flow: usize) -> Glimpse {
        let (sender, receiver) = (&self.senders[flow], &self.receivers[flow]);
        let (window, rtt) = match &sender.source {
            Source::Connection(sender) => {
                let rtt = sender.rtt().map_or(f64::NAN, |rtt| rtt.smoothed.seconds());
                (sender.controller().window(), rtt)
            }
            Source::Datagrams(_) | Source::Hosted(_) => (f64::NAN, f64::NAN),
        };
        Glimpse {
            window,
            rtt,
            sender: sender.counters(),
            arrived: receiver.sink.arrived(),
            duplicates: receiver.sink.duplicates(),
        }
    }

    /// Whether a flow has begun, and has not come to its end.
    pub fn is_running(&self, flow: usize) -> bool {
        let (sender, receiver) = (&self.senders[flow], &self.receivers[flow]);
        let begun = sender.started.is_some_and(|started| started <= self.now);
        begun
            && receiver.finished.is_none_or(|end| end > self.now)
            && self.now < sender.offering.stop()
    }

    /// The links that a flow's data goes over, in order.
    pub fn route(&self, flow: usize) -> impl Iterator<Item = LinkId> {
        self.paths.links(2 * flow)
    }

    /// What a link holds now, the packet in transmission included, as far as that is counted.
    pub fn backlog(&mut self, link: LinkId) -> Backlog {
        self.links[link as usize].backlog(self.now)
    }

    /// From when on nothing has been decided yet of what leaves a link: not before now.
    pub fn decided_until(&self, link: LinkId) -> Time {
        self.links[link as usize].busy_until().max(self.now)
    }

    /// A link changes as `settings` say, which up to now, or until it has sent what is decided, say
    /// what has been. Panics unless it was built open.
    pub fn change(&mut self, link: LinkId, settings: &LinkSettings) {
        self.expect_open();
        self.links[link as usize].follow(settings);
    }

    /// Flow number `flow` offers nothing from `stop` on, which is still to come.
    pub fn leave(&mut self, flow: u32, stop: Time) {
        self.expect_open();
        assert!(stop > self.now, "{stop} is over");
        self.senders[flow as usize].offering.stop_at(stop);
        self.arm_sender(flow);
    }

    /// Flows join: `network` is the one that there is, followed by links and flows of its own,
    /// which begin later than now. Panics if transfers arrive at a pool of flows, or a user has
    /// several. Fails if the ends of a flow are not connected.
    pub fn join(&mut self, network: Network) -> Result<(), WiringError> {
        self.expect_open();
        let after = self.pools.is_empty() && self.browsers.is_empty();
        assert!(after, "pools and users come after the flows that there are");
        let known = self.links.len();
        self.links.extend(super::links(&network, known, &self.settings));
        let paths = Paths::find(&network, &self.links, self.settings.ahead)?;
        self.paths.extend_to(paths);
        self.books.extend_to(self.paths.starts.len());
        for flow in network.flows.into_iter().skip(self.senders.len()) {
            assert!(flow.start > self.now, "{} is over", flow.start);
            self.settle(flow);
        }
        Ok(())
    }
}
