//! Queues that packets reach in the order in which they left another, so that no events need to
//! order them there.
//!
//! Packets leave a queue one by one, each a transmission after the one before it. A plain link
//! behind it that sends them at least as fast lets none wait: each takes as long as its own
//! transmission and the wire. The same holds for further plain links, and for a receiver that
//! answers each packet at once. If the times that packets take from one queue to another differ by
//! less than a transmission, they reach the second as they left the first, one by one.
//!
//! A receiver may answer later, when a timer expires. That is an event, and such answers are put
//! between those that have no event when these reach the queue ([`DueAnswers`]).
//!
//! [`DueAnswers`]: crate::due_answers::DueAnswers

use super::{Feeder, HopEnd, LinkId, Network, Paths};
use crate::link::{Link, LinkSettings};
use crate::packet::Travelling;
use narrows_units::{Bytes, Duration};
use std::ops::RangeInclusive;

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
}

impl<T> From<Option<T>> for Agreed<T> {
    fn from(said: Option<T>) -> Self {
        said.map_or(Self::No, Self::All)
    }
}

/// Bytes of the packets that go a way: at least, and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    least: u32,
    most: u32,
}

impl Sizes {
    /// None goes it.
    pub const NOBODY: Self = Self { least: u32::MAX, most: 0 };
    /// They may have any number.
    pub const ANY: Self = Self { least: 0, most: u32::MAX };

    /// Of these and others.
    pub fn and(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    /// The least time in which `link` sends one, and the longest.
    fn times_to_send(self, link: &LinkSettings) -> [Duration; 2] {
        [self.least, self.most].map(|bytes| link.rate.time_to_send(Bytes::new(bytes.into())))
    }
}

impl From<RangeInclusive<u32>> for Sizes {
    fn from(bytes: RangeInclusive<u32>) -> Self {
        Self { least: *bytes.start(), most: *bytes.end() }
    }
}

/// The way of packets since they left a queue.
#[derive(Clone, Copy)]
struct Way {
    from: LinkId,
    /// When a packet is here at the earliest, since the one before it left.
    soonest: Duration,
    /// When it is here at the latest, since it left itself.
    latest: Duration,
    /// The least time after which timers answer what is not answered at once; `MAX` without them.
    answers_after: Duration,
}

/// Queues that packets reach in the order in which they left another.
pub(super) struct Following {
    /// Whether each link has such a queue.
    pub follows: Vec<bool>,
    /// Those that answers reach which timers of receivers send.
    pub timed: Vec<LinkId>,
}

impl Following {
    /// Those of `network`, whose links are fed by `feeders`; none of plain links.
    pub fn find(
        paths: &Paths,
        network: &Network,
        links: &[Link<Travelling>],
        feeders: &[Agreed<Feeder>],
    ) -> Self {
        let sizes = sizes(paths, network);
        let mut ways = vec![Agreed::Nobody; links.len()];
        for (flow, settings) in network.flows.iter().enumerate() {
            let mut way: Option<Way> = None;
            for (path, bytes) in (2 * flow..).zip(settings.packet_sizes()) {
                if bytes == Sizes::NOBODY {
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
                                ways[place] = Way::meet(ways[place], way);
                                Way::from(link, there, bytes)
                            }
                        }
                        HopEnd::Receiver(_) => way
                            .zip(settings.answers_after())
                            .map(|(way, answers_after)| Way { answers_after, ..way }),
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
        let ordered = |way: &Agreed<Way>| match way {
            Agreed::All(way) => Some(*way).filter(Way::keeps_order),
            _ => None,
        };
        let is_timed = |way: &Way| way.answers_after < Duration::MAX;
        let found = ways.iter().map(ordered);
        let timed = (0..).zip(found.clone()).filter(|(_, way)| way.as_ref().is_some_and(is_timed));
        Self {
            follows: found.map(|way| way.is_some()).collect(),
            timed: timed.map(|(link, _)| link).collect(),
        }
    }
}

impl Way {
    /// Packets of so many `bytes` have left the queue of `link`, whose settings are `there`.
    fn from(link: LinkId, there: &LinkSettings, bytes: Sizes) -> Option<Self> {
        let [least, _] = bytes.times_to_send(there);
        // A host's packets are in its device as soon as they leave, without an event there.
        let is_device = there.is_device;
        (there.only_delays() && !is_device).then_some(Self {
            from: link,
            soonest: least + there.delay,
            latest: there.delay,
            answers_after: Duration::MAX,
        })
    }

    /// They have gone over a plain link of the settings `there`, on which packets have so many
    /// `bytes`; `None` if some wait there, but for those behind an answer that a timer sent.
    fn over(self, there: &LinkSettings, bytes: Sizes) -> Option<Self> {
        let [least, most] = bytes.times_to_send(there);
        let between = self.between();
        // A timer's answer may leave just before another, and waits for none.
        let (is_fast, waits) = if self.answers_after == Duration::MAX {
            (most <= between, Duration::ZERO)
        } else {
            (most < between.min(self.answers_after), most)
        };
        is_fast.then_some(Self {
            soonest: self.soonest + least + there.delay,
            latest: self.latest + waits + most + there.delay,
            ..self
        })
    }

    /// The least time between two packets.
    fn between(&self) -> Duration {
        self.soonest.saturating_sub(self.latest)
    }

    fn keeps_order(&self) -> bool {
        self.between() > Duration::ZERO
    }

    /// What is known of packets to one place, of which some come as `met` says and others by `way`.
    fn meet(met: Agreed<Self>, way: Option<Self>) -> Agreed<Self> {
        match (met, way) {
            (Agreed::Nobody, way) => way.into(),
            (Agreed::All(one), Some(other)) if one.from == other.from => Agreed::All(Self {
                soonest: one.soonest.min(other.soonest),
                latest: one.latest.max(other.latest),
                answers_after: one.answers_after.min(other.answers_after),
                ..one
            }),
            _ => Agreed::No,
        }
    }
}

/// The sizes of packets that take each link.
fn sizes(paths: &Paths, network: &Network) -> Vec<Sizes> {
    let mut sizes = vec![Sizes::NOBODY; network.links.len()];
    for (flow, settings) in network.flows.iter().enumerate() {
        for (path, bytes) in (2 * flow..).zip(settings.packet_sizes()) {
            for link in paths.links(path) {
                let size: &mut Sizes = &mut sizes[link as usize];
                *size = size.and(bytes);
            }
        }
    }
    sizes
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
            let feeders = paths.feeders(links.len());
            let Following { follows, timed } = Following::find(&paths, &network, &links, &feeders);
            let mut others = follows.iter().enumerate().filter(|(link, _)| *link != 1);
            assert!(others.all(|(_, follows)| !follows), "data, or a plain link");
            assert!(timed.is_empty() || timed == [1] && follows[1]);
            follows[1]
        }
    }

    #[test]
    fn acknowledgements_follow_data_that_takes_about_one_time_to_be_answered() {
        assert!(Two::default().follows());
        // 1 ms from the sender, which is before the queue, does not count.
        assert!(Two { delay: Duration::from_millis(2), ..Two::default() }.follows());
        // A packet takes 800 us to leave the queue; there and back, 798 and 800 us more.
        let far = |micros| Two { far_delay: Duration::from_micros(micros), ..Two::default() };
        assert!(far(1399).follows());
        assert!(!far(1400).follows());
        // 1000 bytes take 80 us from the queue to the receiver. 91 leave the queue in 72.8 us and
        // take 7.28; 90 need a tenth of a microsecond less.
        assert!(Two { bytes: 91, ..Two::default() }.follows());
        assert!(!Two { bytes: 90, ..Two::default() }.follows());
        // As fast as the queue is fast enough; 8 Mbps lets packets wait.
        assert!(Two { access: Rate::from_megabits(10), ..Two::default() }.follows());
        assert!(!Two { access: Rate::from_megabits(8), ..Two::default() }.follows());
        // An acknowledgement that takes longer than its data waits for the one before it.
        assert!(!Two { ack_bytes: 10_001, ..Two::default() }.follows());
        assert!(Two { ack_bytes: 10_000, ..Two::default() }.follows());
    }

    #[test]
    fn acknowledgements_of_timers_follow_if_none_waits_for_another() {
        let waits = |acks| Two { habits: Habits { acks, ..Habits::NS2 }, ..Two::default() };
        let delay = Duration::from_micros(10);
        let twos = AckPolicy { every: 2, delay, ..Habits::NS2.acks };
        // One takes 3.2 us, or 10.
        assert!(waits(twos).follows());
        assert!(Two { ack_bytes: 124, ..waits(twos) }.follows());
        assert!(!Two { ack_bytes: 125, ..waits(twos) }.follows());
        let longer = AckPolicy { delay: Duration::from_millis(40), ..twos };
        assert!(Two { ack_bytes: 125, ..waits(longer) }.follows());
        // One that waits behind a timer's must be gone when the next comes, 800 us later.
        assert!(!Two { ack_bytes: 10_000, ..waits(longer) }.follows());
        assert!(Two { ack_bytes: 9999, ..waits(longer) }.follows());
        assert!(!waits(AckPolicy { merges_for: Duration::from_micros(1), ..longer }).follows());
        let paced = Habits { acks: longer, paces_acks: true, ..Habits::NS2 };
        assert!(!Two { habits: paced, ..Two::default() }.follows());
    }

    #[test]
    fn acknowledgements_over_linux_follow_if_requests_do() {
        // A request leaves the queue in 48 us, in which data must have arrived that left before.
        let linux = |access| Two {
            habits: Habits::LINUX,
            access: Rate::from_megabits(access),
            ..Two::default()
        };
        assert!(!linux(170).follows());
        assert!(linux(180).follows());
    }

    #[test]
    fn acknowledgements_that_something_else_may_delay_do_not_follow() {
        let short = || Application::Packets { count: 9, last_bytes: 99 };
        assert!(!Two { application: short, ..Two::default() }.follows());
        let whole = || Application::Packets { count: 9, last_bytes: 100 };
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
