//! How the network is connected: nodes, links, flows, their paths, and which hops need no event of
//! their own.

mod following;

use crate::browser::Browsing;
use crate::calendar::LANES;
use crate::host::HostSettings;
use crate::hosted::Endpoint;
use crate::link::{Link, LinkSettings};
use crate::packet::Travelling;
use crate::pool::Arrivals;
use crate::traffic::{Application, Datagrams};
use following::{Agreed, Following, Sizes};
use narrows_control::Controller;
use narrows_transport::Transport;
use narrows_transport::congestion::Path;
use narrows_units::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::sync::Arc;

/// A node, numbered from 0.
pub type NodeId = u32;
/// A link, by its place in [`Network::links`].
pub type LinkId = u32;

/// Everything that is simulated, before it runs.
#[derive(Default)]
pub struct Network {
    /// From node, to node, settings; each link has one direction. Links may share their settings.
    pub links: Vec<(NodeId, NodeId, Arc<LinkSettings>)>,
    /// The flows.
    pub flows: Vec<FlowSettings>,
    /// What arrives at pools of them.
    pub pools: Vec<Arrivals>,
    /// Web users with several of them, in the order of their flows.
    pub browsers: Vec<Browsing>,
}

/// How a flow is set up.
pub struct FlowSettings {
    /// The node of the sender.
    pub from: NodeId,
    /// The node of the receiver.
    pub to: NodeId,
    /// The machines at its ends.
    pub endpoints: Endpoints,
    /// When the flow begins.
    pub start: Time,
    /// When the flow stops offering data.
    pub stop: Time,
    /// Each time the sender may send, it first waits for a time drawn uniformly between 0 and this;
    /// meant to break phase effects (ns-2's `overhead_`).
    pub overhead: Duration,
    /// What the hosts at both ends are like.
    pub host: HostSettings,
    /// Interval of samples; `None` for no samples.
    pub sampled: Option<Duration>,
}

/// The machines at the ends of a flow.
pub enum Endpoints {
    /// A connection.
    Connection {
        /// The transport, with all settings of the sender.
        transport: Transport,
        /// The congestion controller.
        controller: Box<dyn Controller>,
        /// Bytes of an acknowledgement on the wire.
        ack_bytes: u32,
        /// The application, which decides what is sent.
        application: Application,
        /// Its path.
        path: Path,
    },
    /// Datagrams, which are not acknowledged.
    Datagrams(Datagrams),
    /// Ends that somebody else wrote.
    Hosted(HostedEnds),
}

/// The two ends of a hosted flow.
pub struct HostedEnds {
    /// The end that data comes from.
    pub near: Box<dyn Endpoint>,
    /// The end that data goes to.
    pub far: Box<dyn Endpoint>,
    /// As messages call the flow.
    pub name: String,
    /// Bytes that count as a packet in samples of windows.
    pub packet: u32,
    /// True if the data ends.
    pub finite: bool,
    /// Whether its datagrams may be marked; if not, the door takes ECN's bits off.
    pub ecn: bool,
}

impl Endpoints {
    /// Bytes of a data packet on the wire, of a TCP connection.
    pub(crate) fn tcp_bytes(&self) -> Option<u32> {
        match self {
            Self::Connection { transport: Transport::Tcp(settings), .. } => {
                Some(settings.packet_bytes)
            }
            _ => None,
        }
    }
}

impl FlowSettings {
    /// True if requests reach the sender in addition to acknowledgements.
    fn takes_requests(&self) -> bool {
        let Endpoints::Connection { application, .. } = &self.endpoints else { return false };
        matches!(application, Application::Requests(..))
    }

    /// The sizes of packets on the way out, and on the way back.
    fn packet_sizes(&self) -> [Sizes; 2] {
        match &self.endpoints {
            Endpoints::Connection { transport, ack_bytes, application, .. } => {
                if self.takes_requests() {
                    return [Sizes::ANY; 2];
                }
                let last = application.last_packet();
                let last = last.map_or(Sizes::NOBODY, |(_, bytes)| (bytes..=bytes).into());
                let data = transport.packet_bytes();
                let sizes = [
                    data.map(|it| last.and(it.into())),
                    transport.answer_bytes(*ack_bytes).map(Sizes::from),
                ];
                sizes.map(|it| it.unwrap_or(Sizes::ANY))
            }
            Endpoints::Datagrams(source) => [(source.bytes..=source.bytes).into(), Sizes::NOBODY],
            Endpoints::Hosted(_) => [Sizes::ANY; 2],
        }
    }

    /// The least time after which what arrives and is not answered is, `MAX` if all is answered at
    /// once; `None` if that is not known.
    fn answers_after(&self) -> Option<Duration> {
        let Endpoints::Connection { transport, .. } = &self.endpoints else { return None };
        transport.answers_after().filter(|_| self.host.is_ideal())
    }
}

/// A flow whose ends are not connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WiringError {
    /// The flow's place in [`Network::flows`].
    pub flow: usize,
    /// From here there is no path …
    pub from: NodeId,
    /// … to here.
    pub to: NodeId,
}

impl fmt::Display for WiringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow {}: no path from node {} to node {}", self.flow, self.from, self.to)
    }
}

impl std::error::Error for WiringError {}

/// One step of a path, in as few bytes as it takes: a flow has eight of them and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop(u32);

impl Hop {
    /// Bits of the number of a link, a flow or a path. Above them is the kind of hop, then whether
    /// it is eager; a plain link that is eager has none of these bits.
    const INDEX_BITS: u32 = 28;
    const EAGER: u32 = 1 << 31;
    /// The kinds that are asked for one by one.
    const RECEIVER: u32 = 3;
    const SENDER: u32 = 4;
    /// No hop.
    const NONE: Self = Self(u32::MAX);

    /// A hop that is an event.
    fn new(end: HopEnd) -> Self {
        let (kind, index) = match end {
            HopEnd::Link(link) => (1, link),
            HopEnd::Notice(link) => (2, link),
            HopEnd::Receiver(flow) => (Self::RECEIVER, flow),
            HopEnd::Sender(flow) => (Self::SENDER, flow),
            HopEnd::Hosted(path) => (5, path),
            HopEnd::Host(path) => (6, path),
            HopEnd::Double(link) => (7, link),
        };
        assert!(index < (1 << Self::INDEX_BITS) - 1, "memory ends before 2^28 links or paths");
        Self(kind << Self::INDEX_BITS | index)
    }

    /// The same, eager.
    fn eager(self) -> Self {
        Self(self.0 | Self::EAGER)
    }

    /// A plain link that packets pass.
    fn passing(link: LinkId) -> Self {
        Self(Self::new(HopEnd::Link(link)).index())
    }

    /// The same, where packets no longer pass unseen.
    fn watched(self) -> Self {
        if self.passes().is_some() { Self::new(self.end()).eager() } else { self }
    }

    fn index(self) -> u32 {
        self.0 & ((1 << Self::INDEX_BITS) - 1)
    }

    /// The plain link that packets pass here without an event, and that nobody watches.
    #[inline]
    pub fn passes(self) -> Option<LinkId> {
        (self.0 >> Self::INDEX_BITS == 0).then_some(self.0)
    }

    /// True if what happens here is computed when the packet enters the hop before.
    #[inline]
    pub fn is_eager(self) -> bool {
        self.0 & Self::EAGER != 0 || self.passes().is_some()
    }

    /// The number of a hop of this kind, if it is one.
    #[inline]
    fn of(self, kind: u32) -> Option<u32> {
        (self.0 >> Self::INDEX_BITS & 7 == kind).then_some(self.index())
    }

    /// The link, if it is one.
    #[inline]
    pub fn link(self) -> Option<LinkId> {
        (self.0 >> Self::INDEX_BITS & 7 <= 1).then_some(self.index())
    }

    /// The flow, if it is a receiver.
    #[inline]
    pub fn receiver(self) -> Option<u32> {
        self.of(Self::RECEIVER)
    }

    /// The flow, if it is a sender.
    #[inline]
    pub fn sender(self) -> Option<u32> {
        self.of(Self::SENDER)
    }

    #[inline]
    pub fn end(self) -> HopEnd {
        let index = self.index();
        match self.0 >> Self::INDEX_BITS & 7 {
            0 | 1 => HopEnd::Link(index),
            2 => HopEnd::Notice(index),
            Self::RECEIVER => HopEnd::Receiver(index),
            Self::SENDER => HopEnd::Sender(index),
            5 => HopEnd::Hosted(index),
            6 => HopEnd::Host(index),
            _ => HopEnd::Double(index),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HopEnd {
    Link(LinkId),
    /// The router before this link of the way out, which an acknowledgement passes on its way back
    /// and which tells it the room in the link's queue.
    Notice(LinkId),
    /// Just before this link, whose script sends some packets there twice.
    Double(LinkId),
    Receiver(u32),
    Sender(u32),
    /// The hosted end of this path.
    Hosted(u32),
    /// The host at the end of this path, if it does not see packets as soon as they arrive; next on
    /// the path is the receiver or the sender.
    Host(u32),
}

/// The paths of all flows: path 2f is flow f's way to the receiver, path 2f + 1 its way back; each
/// ends at an endpoint.
pub(crate) struct Paths {
    pub hops: Vec<Hop>,
    /// First hop of each path.
    pub starts: Vec<u32>,
    /// The hops whose events wait in lanes of their own: links that most paths reach as events.
    lanes: [Hop; LANES],
    /// Whether there is a way back without an event.
    pub returns_at_once: bool,
    /// The queues that answers of receivers' timers reach in order, without an event.
    pub timed: Vec<LinkId>,
}

impl Paths {
    /// Finds the paths of shortest delay; `ahead` says which hops need no event.
    pub fn find(
        network: &Network,
        links: &[Link<Travelling>],
        ahead: Ahead,
    ) -> Result<Self, WiringError> {
        let mut routes = Routes::new(network);
        let mut paths = Self {
            hops: Vec::new(),
            starts: Vec::new(),
            lanes: [Hop::NONE; LANES],
            returns_at_once: false,
            timed: Vec::new(),
        };
        for (flow, settings) in network.flows.iter().enumerate() {
            let ways = [
                (settings.from, settings.to, HopEnd::Receiver(flow as u32)),
                (settings.to, settings.from, HopEnd::Sender(flow as u32)),
            ];
            // Links of the way out whose routers answer on the way back.
            let mut answering: Vec<LinkId> = Vec::new();
            for (from, to, last) in ways {
                let links = routes.path(from, to).ok_or(WiringError { flow, from, to })?;
                paths.starts.push(paths.hops.len() as u32);
                let path = paths.starts.len() as u32 - 1;
                let hosted = matches!(settings.endpoints, Endpoints::Hosted(_));
                let last = if hosted { HopEnd::Hosted(path) } else { last };
                let delays = settings.host.delays_arrivals() && !hosted;
                let host = delays.then_some(HopEnd::Host(path));
                let ends = links.into_iter().flat_map(|link| {
                    let (_, node, settings) = &network.links[link as usize];
                    if path.is_multiple_of(2) && settings.queue.answers_backward() {
                        answering.push(link);
                    }
                    let passed = |out: &&LinkId| network.links[**out as usize].0 == *node;
                    let back = if path.is_multiple_of(2) { &[][..] } else { &answering[..] };
                    let notices = back.iter().filter(passed).map(|out| HopEnd::Notice(*out));
                    let double = settings.doubles().then_some(HopEnd::Double(link));
                    let link = [HopEnd::Link(link)].into_iter();
                    double.into_iter().chain(link).chain(notices).collect::<Vec<_>>()
                });
                let ends = ends.chain(host).chain([last]);
                paths.hops.extend(ends.map(Hop::new));
            }
        }
        if ahead != Ahead::Nothing {
            paths.mark_eager(network, links, ahead);
            paths.find_lanes();
        }
        Ok(paths)
    }

    /// Takes over further paths of `all`, which begin with these. Lanes stay: their events do.
    pub fn extend_to(&mut self, all: Self) {
        assert!(all.hops.starts_with(&self.hops), "paths that are in use stay as they are");
        (self.hops, self.starts) = (all.hops, all.starts);
    }

    /// Gives lanes to the links that most paths reach as events.
    fn find_lanes(&mut self) {
        let mut reached = BTreeMap::<u32, u32>::new();
        for hop in &self.hops {
            if !hop.is_eager() && matches!(hop.end(), HopEnd::Link(_)) {
                *reached.entry(hop.0).or_default() += 1;
            }
        }
        let mut most: Vec<_> =
            reached.into_iter().map(|(hop, paths)| (Reverse(paths), hop)).collect();
        most.sort_unstable();
        for (lane, (_, hop)) in self.lanes.iter_mut().zip(most) {
            *lane = Hop(hop);
        }
    }

    /// The lane of events at `hop`.
    #[inline]
    pub fn lane(&self, hop: Hop) -> Option<usize> {
        self.lanes.iter().position(|lane| *lane == hop)
    }

    /// Packets no longer pass the links of `watched` unseen.
    pub fn watch(&mut self, watched: &[LinkId]) {
        for hop in &mut self.hops {
            if hop.passes().is_some_and(|link| watched.contains(&link)) {
                *hop = hop.watched();
            }
        }
    }

    fn range(&self, path: usize) -> std::ops::Range<usize> {
        let end = self.starts.get(path + 1).map_or(self.hops.len(), |start| *start as usize);
        self.starts[path] as usize..end
    }

    /// The links of a path, in order.
    pub fn links(&self, path: usize) -> impl Iterator<Item = LinkId> {
        let link = |hop: &Hop| if let HopEnd::Link(link) = hop.end() { Some(link) } else { None };
        self.hops[self.range(path)].iter().filter_map(link)
    }

    /// The link at which a path begins, if it does at one.
    pub fn first_link(&self, path: u32) -> Option<LinkId> {
        match self.hops[self.starts[path as usize] as usize].end() {
            HopEnd::Link(link) => Some(link),
            _ => None,
        }
    }

    /// The last link of a path, which leads to its endpoint; `None` if the path has no link.
    pub fn last_link(&self, path: usize) -> Option<LinkId> {
        self.link_before(path, self.range(path).end)
    }

    /// The last link of a path before its hop number `hop` of all; `None` if there is none.
    pub fn link_before(&self, path: usize, hop: usize) -> Option<LinkId> {
        let mut before = self.hops[self.range(path).start..hop].iter().rev();
        before.find_map(|hop| if let HopEnd::Link(link) = hop.end() { Some(link) } else { None })
    }

    /// The links that are the last link of every path that uses them.
    pub fn links_to_endpoints_only(&self, links: usize) -> impl Iterator<Item = usize> {
        let mut only = vec![true; links];
        for path in 0..self.starts.len() {
            let last = self.last_link(path);
            for hop in self.range(path) {
                if let HopEnd::Link(link) = self.hops[hop].end()
                    && Some(link) != last
                {
                    only[link as usize] = false;
                }
            }
        }
        (0..links).filter(move |link| only[*link])
    }

    /// A hop is eager if computing its packets early cannot change their order: all come from one
    /// place that keeps it, or a link's [follow](Following) those of another. At least one hop of
    /// each flow's round trip must be an event, or the loop would never return.
    fn mark_eager(&mut self, network: &Network, links: &[Link<Travelling>], ahead: Ahead) {
        let feeders = self.feeders(network.links.len());
        // The page's runs change while they go, and need none of it: two kB of its module.
        let asks = ahead != Ahead::Plain && cfg!(not(any(general, target_arch = "wasm32")));
        let following = asks.then(|| Following::find(self, network, links, &feeders));
        let follows = |link: usize| following.as_ref().is_some_and(|it| it.follows[link]);
        let mut carries_data = vec![false; links.len()];
        for path in (0..self.starts.len()).step_by(2) {
            self.links(path).for_each(|link| carries_data[link as usize] = true);
        }
        for path in 0..self.starts.len() {
            let mut before: Option<LinkId> = None;
            for hop in self.range(path) {
                let ordered = before.is_none_or(|link| !network.links[link as usize].2.reorders());
                let end = self.hops[hop].end();
                let alone = match end {
                    // A queue that decides on departure must see events in order of time.
                    HopEnd::Link(link) => {
                        let (place, there) = (link as usize, &links[link as usize]);
                        (feeders[place] != Agreed::No || follows(place))
                            && !there.needs_order()
                            && (ahead.passes(carries_data[place]) || there.is_plain())
                    }
                    // Requests reach the sender in addition to the acknowledgements.
                    HopEnd::Sender(flow) => {
                        ahead == Ahead::All && !network.flows[flow as usize].takes_requests()
                    }
                    HopEnd::Host(_) | HopEnd::Receiver(_) => ahead != Ahead::Plain,
                    // It must see the queue as it is.
                    HopEnd::Notice(_) => false,
                    // What it counts must come in the order of time.
                    HopEnd::Double(_) => false,
                    // It sends what and when it likes, and so lives in the present.
                    HopEnd::Hosted(_) => false,
                };
                if ordered && alone {
                    self.hops[hop] = match end {
                        HopEnd::Link(link) if links[link as usize].is_plain() => Hop::passing(link),
                        end => Hop::new(end).eager(),
                    };
                }
                before = if let HopEnd::Link(link) = end { Some(link) } else { None };
            }
            let has_event = self.range(path).any(|hop| !self.hops[hop].is_eager());
            if path % 2 == 0 && !has_event {
                let last = self.range(path).end - 1;
                self.hops[last] = Hop::new(self.hops[last].end());
            }
            self.returns_at_once |= path % 2 == 1 && !has_event;
        }
        self.timed = following.map_or(Vec::new(), |it| self.without_event(it.timed, links.len()));
    }

    /// Those of `queues` that packets reach without an event.
    fn without_event(&self, queues: Vec<LinkId>, links: usize) -> Vec<LinkId> {
        let mut eager = vec![false; links];
        let hops = self.hops.iter().filter(|hop| hop.is_eager());
        hops.filter_map(|hop| hop.link()).for_each(|link| eager[link as usize] = true);
        queues.into_iter().filter(|link| eager[*link as usize]).collect()
    }

    fn feeders(&self, links: usize) -> Vec<Agreed<Feeder>> {
        let mut feeders = vec![Agreed::Nobody; links];
        for path in 0..self.starts.len() {
            let mut feeder = Feeder::End(path);
            for hop in self.range(path) {
                match self.hops[hop].end() {
                    HopEnd::Link(link) => {
                        let known = &mut feeders[link as usize];
                        *known = known.and(Agreed::All(feeder));
                        feeder = Feeder::Link(link);
                    }
                    HopEnd::Notice(link) => feeder = Feeder::Notice(link),
                    _ => {}
                }
            }
        }
        feeders
    }
}

/// What is computed before its time comes; the results are the same, but for what happens at one
/// instant where a node sends data or answers without a link of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// Nothing: every hop is an event.
    Nothing,
    /// What happens at links that are plain: the others may change while the run goes on, and flows
    /// may join and leave it.
    Plain,
    /// What comes after the links that data meets, up to its sender: the run may stand still, and
    /// what senders and the queues of data are then is as of that instant.
    Answers,
    /// All that keeps the order of packets.
    All,
}

impl Ahead {
    /// Whether a link is passed before its time that is not plain, and that carries data or not.
    fn passes(self, carries_data: bool) -> bool {
        self == Self::All || self == Self::Answers && !carries_data
    }
}

/// Where packets come to a link from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    /// The endpoint where this path begins.
    End(usize),
    Link(LinkId),
    /// The router before this link, which tells of the room there, by an event.
    Notice(LinkId),
}

/// Shortest paths by delay, with a tree for each node that has a choice of links.
struct Routes<'a> {
    network: &'a Network,
    leaving: Vec<Vec<LinkId>>,
    trees: BTreeMap<NodeId, Vec<Option<LinkId>>>,
}

impl<'a> Routes<'a> {
    fn new(network: &'a Network) -> Self {
        let ends = network
            .links
            .iter()
            .flat_map(|(from, to, _)| [*from, *to])
            .chain(network.flows.iter().flat_map(|flow| [flow.from, flow.to]));
        let nodes = ends.max().map_or(0, |node| node as usize + 1);
        let mut leaving = vec![Vec::new(); nodes];
        for (link, (from, ..)) in network.links.iter().enumerate() {
            leaving[*from as usize].push(link as LinkId);
        }
        Self { network, leaving, trees: BTreeMap::new() }
    }

    /// The links from `from` to `to`; `None` if there is no path, or if both are the same node and
    /// none is needed.
    fn path(&mut self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        let mut path = Vec::new();
        let mut node = from;
        // A host with a single link has no choice; with thousands of hosts this saves as many
        // trees.
        while let ([only], true) =
            (&self.leaving[node as usize][..], node != to && path.len() < self.leaving.len())
        {
            path.push(*only);
            node = self.network.links[*only as usize].1;
        }
        if node != to {
            if !self.trees.contains_key(&node) {
                let tree = self.tree(node);
                self.trees.insert(node, tree);
            }
            let (root, tree, stem) = (node, &self.trees[&node], path.len());
            let mut at = to;
            while at != root {
                let link = tree[at as usize]?;
                path.push(link);
                at = self.network.links[link as usize].0;
            }
            path[stem..].reverse();
        }
        (!path.is_empty()).then_some(path)
    }

    /// Dijkstra's algorithm, by delay, then by number of hops, then by link number. Returns, for
    /// each node, the link by which it is reached from `root`.
    fn tree(&self, root: NodeId) -> Vec<Option<LinkId>> {
        let mut reached_by: Vec<Option<LinkId>> = vec![None; self.leaving.len()];
        let mut best = vec![(Duration::MAX, u32::MAX); self.leaving.len()];
        best[root as usize] = (Duration::ZERO, 0);
        let mut open = BinaryHeap::from([Reverse((Duration::ZERO, 0u32, root))]);
        while let Some(Reverse((delay, hops, node))) = open.pop() {
            if best[node as usize] < (delay, hops) {
                continue;
            }
            for link in &self.leaving[node as usize] {
                let (_, to, settings) = &self.network.links[*link as usize];
                let cost = (delay + settings.delay, hops + 1);
                if cost < best[*to as usize] {
                    best[*to as usize] = cost;
                    reached_by[*to as usize] = Some(*link);
                    open.push(Reverse((cost.0, cost.1, *to)));
                }
            }
        }
        reached_by
    }
}
