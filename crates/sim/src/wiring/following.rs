//! Queues that packets reach in the order in which they left another, so that no events need to
//! order them there.
//!
//! Packets leave a queue one by one, each a transmission after the one before it. A plain link
//! behind it that sends them at least as fast lets none wait: each takes as long as its own
//! transmission and the wire. The same holds for further plain links, and for a receiver that
//! answers each packet at once. If packets of all paths from one queue to another take the same
//! time, they reach the second as they left the first, one by one.

use super::{Feeder, HopEnd, LinkId, Network, Paths};
use crate::link::{Link, LinkSettings};
use crate::packet::Travelling;
use narrows_units::{Bytes, Duration};

/// One fact of which several speak: each path of a link, for example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreed<T> {
    /// Nobody does.
    Nobody,
    /// All say this.
    All(T),
    /// They differ, or one does not know.
    No,
}

impl<T: PartialEq> Agreed<T> {
    /// What is said of it if somebody says `other`, too.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nobody, said) | (said, Self::Nobody) => said,
            (Self::All(one), Self::All(another)) if one == another => Self::All(one),
            _ => Self::No,
        }
    }

    fn all(self) -> Option<T> {
        if let Self::All(said) = self { Some(said) } else { None }
    }
}

impl<T> From<Option<T>> for Agreed<T> {
    fn from(said: Option<T>) -> Self {
        said.map_or(Self::No, Self::All)
    }
}

/// The way of a path's packets since they left a queue.
#[derive(Clone, Copy)]
struct Way {
    from: LinkId,
    /// How long it has taken each.
    took: Duration,
    /// The least time between two of them.
    gap: Duration,
}

/// Whether packets reach each link of `network`, fed by `feeders`, in the order in which they left
/// another; never said of plain links.
pub(super) fn following(
    paths: &Paths,
    network: &Network,
    links: &[Link<Travelling>],
    feeders: &[Agreed<Feeder>],
) -> Vec<bool> {
    let sizes = sizes(paths, network);
    let mut following = vec![Agreed::Nobody; links.len()];
    for (flow, settings) in network.flows.iter().enumerate() {
        let mut way: Option<Way> = None;
        for (path, bytes) in (2 * flow..).zip(settings.packet_sizes()) {
            if bytes == Agreed::Nobody {
                continue;
            }
            for hop in paths.range(path) {
                way = match paths.hops[hop].end() {
                    HopEnd::Link(link) => {
                        let (place, there) = (link as usize, &network.links[link as usize].2);
                        if links[place].is_plain() {
                            let alone = feeders[place] != Agreed::No;
                            way.filter(|_| alone).and_then(|way| way.over(there, sizes[place]))
                        } else {
                            let came = way.map(|Way { from, took, .. }| (from, took));
                            following[place] = following[place].and(came.into());
                            Way::from(link, there, bytes)
                        }
                    }
                    HopEnd::Receiver(_) => way.filter(|_| settings.answers_at_once()),
                    // A notice is an event, which others of the same way may not meet.
                    HopEnd::Notice(_)
                    | HopEnd::Double(_)
                    | HopEnd::Sender(_)
                    | HopEnd::Hosted(_)
                    | HopEnd::Host(_) => None,
                };
            }
        }
    }
    following.into_iter().map(|queue| queue.all().is_some()).collect()
}

impl Way {
    /// Packets of so many `bytes` have left the queue of `link`, whose settings are `there`.
    fn from(link: LinkId, there: &LinkSettings, bytes: Agreed<u32>) -> Option<Self> {
        let gap = time_to_send(there, bytes.all()?);
        // A host's packets are in its device as soon as they leave, without an event there.
        let is_device = there.is_device;
        (there.only_delays() && !is_device).then_some(Self { from: link, took: there.delay, gap })
    }

    /// They have gone over a plain link of the settings `there`, on which all packets have so many
    /// `bytes`; `None` if some wait there.
    fn over(self, there: &LinkSettings, bytes: Agreed<u32>) -> Option<Self> {
        let sending = time_to_send(there, bytes.all()?);
        let took = self.took + sending + there.delay;
        (sending <= self.gap).then_some(Self { took, ..self })
    }
}

/// The size of all packets that take each link.
fn sizes(paths: &Paths, network: &Network) -> Vec<Agreed<u32>> {
    let mut sizes = vec![Agreed::Nobody; network.links.len()];
    for (flow, settings) in network.flows.iter().enumerate() {
        for (path, bytes) in (2 * flow..).zip(settings.packet_sizes()) {
            for link in paths.links(path) {
                let size: &mut Agreed<u32> = &mut sizes[link as usize];
                *size = size.and(bytes);
            }
        }
    }
    sizes
}

fn time_to_send(link: &LinkSettings, bytes: u32) -> Duration {
    link.rate.time_to_send(Bytes::new(bytes.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Watch;
    use crate::traffic::{Application, Datagrams, Gap};
    use crate::wiring::{Ahead, Endpoints, FlowSettings};
    use narrows_control::registry::{self, Birth};
    use narrows_router::{Discipline, Limit};
    use narrows_transport::Transport;
    use narrows_transport::congestion::Path;
    use narrows_transport::tcp::{AckPolicy, Habits, RecoveryKind, TcpSettings};
    use narrows_units::{Rate, Stream, Time};
    use std::sync::Arc;

    /// Two flows over routers 0 and 1: link 0 leads from one to the other, link 1 back.
    struct Two {
        access: Rate,
        /// From the second flow's sender to its router, and back.
        delay: Duration,
        /// From its receiver to its router, and back.
        far_delay: Duration,
        /// Of the second flow's packets.
        bytes: u32,
        ack_bytes: u32,
        habits: Habits,
        application: fn() -> Application,
        /// The second flow is one of datagrams.
        datagrams: bool,
        /// The second flow goes the other way.
        reverse: bool,
        backward: fn(&mut LinkSettings),
        forward: fn(&mut LinkSettings),
    }

    impl Default for Two {
        fn default() -> Self {
            let delay = Duration::from_millis(1);
            Self {
                access: Rate::from_megabits(100),
                delay,
                far_delay: delay,
                bytes: 1000,
                ack_bytes: 40,
                habits: Habits::NS2,
                application: || Application::Endless,
                datagrams: false,
                reverse: false,
                backward: |_| {},
                forward: |_| {},
            }
        }
    }

    impl Two {
        fn network(&self) -> Network {
            let millisecond = Duration::from_millis(1);
            let middle = LinkSettings {
                limit: Limit::Packets(20),
                watch: Watch::Histograms,
                ..LinkSettings::plain(Rate::from_megabits(10), millisecond)
            };
            let (mut there, mut back) = (middle.clone(), middle);
            (self.forward)(&mut there);
            (self.backward)(&mut back);
            let mut network = Network::default();
            network.links.extend([(0, 1, Arc::new(there)), (1, 0, Arc::new(back))]);
            for (flow, bytes) in [1000, self.bytes].into_iter().enumerate() {
                let (near, far) = if flow == 0 {
                    (millisecond, millisecond)
                } else {
                    (self.delay, self.far_delay)
                };
                let (left, right) = (2 + 2 * flow as u32, 3 + 2 * flow as u32);
                for (from, to, delay) in
                    [(left, 0, near), (0, left, near), (1, right, far), (right, 1, far)]
                {
                    let access = LinkSettings::plain(self.access, delay);
                    network.links.push((from, to, Arc::new(access)));
                }
                let turns = self.reverse && flow == 1;
                let (from, to) = if turns { (right, left) } else { (left, right) };
                network.flows.push(self.flow(from, to, bytes, flow == 1));
            }
            network
        }

        fn flow(&self, from: u32, to: u32, bytes: u32, second: bool) -> FlowSettings {
            let law = registry::find("reno").expect("a law");
            let recipe = law.read(&Birth::default()).expect("its defaults");
            let settings = TcpSettings::new(RecoveryKind::Sack, Arc::new(self.habits), bytes);
            let endpoints = if second && self.datagrams {
                let gap = Gap::Constant(Duration::from_millis(3));
                Endpoints::Datagrams(Datagrams::new(gap, 700, None))
            } else {
                Endpoints::Connection {
                    transport: Transport::Tcp(settings),
                    controller: recipe.make(1),
                    ack_bytes: self.ack_bytes,
                    application: (self.application)(),
                    path: Path::new(Stream::new(1, 2, 3)),
                }
            };
            FlowSettings {
                from,
                to,
                endpoints,
                start: Time::ZERO,
                stop: Time::NEVER,
                overhead: Duration::ZERO,
                host: Default::default(),
                sampled: None,
            }
        }

        /// Whether acknowledgements reach the link back in the order in which data left the other.
        fn follows(&self) -> bool {
            let network = self.network();
            let settings = network.links.iter().map(|(_, _, link)| link);
            let links: Vec<_> =
                settings.map(|link| Link::new(link, Time::ZERO, Stream::new(1, 1, 1))).collect();
            let paths = Paths::find(&network, &links, Ahead::Nothing).expect("they are connected");
            let following = following(&paths, &network, &links, &paths.feeders(links.len()));
            let mut others = following.iter().enumerate().filter(|(link, _)| *link != 1);
            assert!(others.all(|(_, follows)| !follows), "data, or a plain link");
            following[1]
        }
    }

    #[test]
    fn acknowledgements_follow_data_that_takes_one_time_to_be_answered() {
        assert!(Two::default().follows());
        // 1 ms from the sender, which is before the queue, does not count.
        assert!(Two { delay: Duration::from_millis(2), ..Two::default() }.follows());
        // 1000 bytes take 80 us to the receiver, 900 take 72.
        assert!(!Two { bytes: 900, ..Two::default() }.follows());
        assert!(!Two { far_delay: Duration::from_millis(2), ..Two::default() }.follows());
        // As fast as the queue is fast enough; 8 Mbps lets packets wait.
        assert!(Two { access: Rate::from_megabits(10), ..Two::default() }.follows());
        assert!(!Two { access: Rate::from_megabits(8), ..Two::default() }.follows());
        // An acknowledgement that takes longer than its data waits for the one before it.
        assert!(!Two { ack_bytes: 10_001, ..Two::default() }.follows());
        assert!(Two { ack_bytes: 10_000, ..Two::default() }.follows());
    }

    #[test]
    fn acknowledgements_that_something_else_may_delay_do_not_follow() {
        let waits = AckPolicy { every: 2, ..Habits::NS2.acks };
        assert!(!Two { habits: Habits { acks: waits, ..Habits::NS2 }, ..Two::default() }.follows());
        // Requests are smaller than data.
        assert!(
            !Two { habits: Habits { handshake: true, ..Habits::NS2 }, ..Two::default() }.follows()
        );
        let short = || Application::Packets { count: 9, last_bytes: 500 };
        assert!(!Two { application: short, ..Two::default() }.follows());
        let whole = || Application::Packets { count: 9, last_bytes: 1000 };
        assert!(Two { application: whole, ..Two::default() }.follows());
        assert!(!Two { reverse: true, ..Two::default() }.follows());
        // Nobody answers datagrams.
        assert!(Two { datagrams: true, ..Two::default() }.follows());
        let jitter = |it: &mut LinkSettings| it.jitter.most = Duration::from_micros(1);
        assert!(!Two { forward: jitter, ..Two::default() }.follows());
        assert!(!Two { forward: |it| it.super_packets = true, ..Two::default() }.follows());
        assert!(!Two { forward: |it| it.is_device = true, ..Two::default() }.follows());
        // In whatever order a queue lets packets leave.
        assert!(
            Two { forward: |it| it.queue = Discipline::RoundRobin, ..Two::default() }.follows()
        );
        // What comes after the link back is of no account.
        assert!(Two { backward: jitter, ..Two::default() }.follows());
    }
}
