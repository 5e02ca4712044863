//! One packet's life: the event loop, and what happens at each place.

use crate::calendar::{Calendar, Event};
use crate::link::{Carried, Link};
use crate::measure::{FlowSummary, LinkSummary, PacketDelays, Window};
use crate::packet::Travelling;
use crate::probe::{Due, LinkSeries, ReceiverSeries, SenderSeries, Watch};
use crate::traffic::{Act, Application, Datagrams, Offering};
use crate::web::{Request, Transfer, Usage, WebUser};
use crate::wiring::{
    ControllerMaker, Endpoints, FlowSettings, LinkId, Network, Paths, Place, WiringError,
};
use narrows_control::Controller;
use narrows_transport::tcp::{self, AckPolicy};
use narrows_transport::{Counters, DataHeader, Header, Receiver, Segment, Sender};
use narrows_units::{Duration, Stream, Time};
use std::ops::ControlFlow;

/// How a simulation is run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Where all randomness comes from.
    pub seed: u64,
    /// The end of the run.
    pub duration: Duration,
    /// The measured window begins here and ends with the run.
    pub warmup: Duration,
    /// Computes what needs no event of its own early; false makes every hop an event, with the same
    /// result.
    pub eager: bool,
}

/// A path's packets over the whole run.
#[derive(Clone, Copy, Debug, Default)]
struct PathCounters {
    sent: u64,
    arrived: u64,
    lost: u64,
}

struct SendingEnd {
    machine: Machine,
    offering: Offering,
    overhead: Duration,
    /// When the overhead is over and what may be sent goes; never where nothing waits for that.
    sends_at: Time,
    stream: Stream,
    last_departure: Option<Time>,
    /// Calendar entries for the pacer, and for everything else: the earliest of each.
    scheduled: [Time; 2],
    watch: Watch,
    at_warmup: Counters,
    started: Option<Time>,
    series: Option<Box<SenderSeries>>,
    web: Option<Box<WebServer>>,
}

/// A web user, and what makes a controller for each connection to it.
struct WebServer {
    user: WebUser,
    make: ControllerMaker,
}

#[expect(
    clippy::large_enum_variant,
    reason = "nearly every machine is a connection; a box would cost each event a cache miss"
)]
enum Machine {
    Connection(Sender),
    Datagrams(Datagrams),
}

struct ReceivingEnd {
    /// Datagrams need no more of it than its count.
    receiver: Receiver,
    answers: bool,
    scheduled: Time,
    watch: Watch,
    at_warmup: (u64, u64),
    total: Option<u64>,
    finished: Option<Time>,
    delays: Option<Box<PacketDelays>>,
    series: Option<Box<ReceiverSeries>>,
}

/// Where a tapped link is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapPoint {
    /// At the queue's tail.
    Arrival,
    /// Its last bit leaves the transmitter.
    Departure,
    /// The queue had no room, or gave it up.
    Drop,
    /// It departed and was lost on the wire.
    WireLoss,
}

/// One packet at one tap.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// When.
    pub at: Time,
    /// The link's place in [`Network::links`].
    pub link: LinkId,
    /// Where at the link.
    pub point: TapPoint,
    /// The flow's place in [`Network::flows`].
    pub flow: u32,
    /// The packet.
    pub segment: Segment,
}

/// Is shown each packet at the tapped links. A departure is told with its arrival, which is
/// earlier.
pub trait Tap: Send {
    /// A packet crosses a tapped link.
    fn crossing(&mut self, crossing: &Crossing);
}

/// A simulation under way.
pub struct Simulation {
    now: Time,
    /// The end of the run: nothing is computed beyond it.
    horizon: Time,
    window: Window,
    calendar: Calendar,
    packets: Slab,
    paths: Paths,
    counters: Vec<PathCounters>,
    links: Vec<Link>,
    senders: Vec<SendingEnd>,
    receivers: Vec<ReceivingEnd>,
    tap: Option<(Vec<LinkId>, Box<dyn Tap>)>,
}

/// Packets that wait for their event.
#[derive(Default)]
struct Slab {
    packets: Vec<Travelling>,
    free: Vec<u32>,
}

impl Slab {
    fn put(&mut self, packet: Travelling) -> u32 {
        if let Some(place) = self.free.pop() {
            self.packets[place as usize] = packet;
            return place;
        }
        self.packets.push(packet);
        u32::try_from(self.packets.len() - 1)
            .expect("memory ends before 2^32 packets are in flight")
    }

    fn take(&mut self, place: u32) -> Travelling {
        self.free.push(place);
        self.packets[place as usize]
    }

    fn len(&self) -> u64 {
        (self.packets.len() - self.free.len()) as u64
    }

    /// The packets under way; for the end of a run.
    fn iter(&self) -> impl Iterator<Item = &Travelling> {
        let mut free = vec![false; self.packets.len()];
        self.free.iter().for_each(|place| free[*place as usize] = true);
        self.packets.iter().zip(free).filter(|(_, free)| !free).map(|(packet, _)| packet)
    }
}

/// Ranks at equal times: transmitters by link, packets by path, timers by path.
const PACKET: u32 = 1 << 30;
const TIMER: u32 = 1 << 31;
/// A timer event's payload: which of the end's two calendar entries came.
const SOON: usize = 0;
const LATE: usize = 1;
/// Families of random streams.
const LINK_STREAMS: u64 = 1;
const FLOW_STREAMS: u64 = 2;
/// The caller is asked whether to go on after so many events.
const ASK_EVERY: u32 = 1 << 14;

impl Simulation {
    /// Builds what `network` describes. Fails where a flow's ends are not connected.
    pub fn new(network: Network, settings: Settings) -> Result<Self, WiringError> {
        let paths = Paths::find(&network, settings.eager)?;
        let window =
            Window { from: Time::ZERO + settings.warmup, to: Time::ZERO + settings.duration };
        let stream = |family, index| Stream::new(settings.seed, family, index as u64);
        let link = |(index, (_, _, link)): (usize, &(_, _, _))| {
            Link::new(link, window.from, stream(LINK_STREAMS, index))
        };
        let links = network.links.iter().enumerate().map(link).collect();
        let counters = vec![PathCounters::default(); paths.starts.len()];
        let mut simulation = Self {
            now: Time::ZERO,
            horizon: window.to,
            window,
            calendar: Calendar::new(),
            packets: Slab::default(),
            paths,
            counters,
            links,
            senders: Vec::with_capacity(network.flows.len()),
            receivers: Vec::with_capacity(network.flows.len()),
            tap: None,
        };
        for (flow, settings) in network.flows.into_iter().enumerate() {
            simulation.add_flow(settings, stream(FLOW_STREAMS, flow), window.from);
            simulation.arm_sender(flow as u32);
        }
        Ok(simulation)
    }

    /// Shows each packet at the given links to `tap`; in order of time only where `eager` is off.
    pub fn set_tap(&mut self, links: Vec<LinkId>, tap: Box<dyn Tap>) {
        self.tap = Some((links, tap));
    }

    fn add_flow(&mut self, flow: FlowSettings, stream: Stream, warmup: Time) {
        let sampling = flow.sampled.map(|interval| (Time::ZERO, interval));
        let offering = Offering::new(flow.application, flow.start, flow.stop);
        let (machine, receiver) = match flow.endpoints {
            Endpoints::Connection { transport, controller, ack_bytes } => {
                let (sender, receiver) = transport.ends(controller, ack_bytes);
                (Machine::Connection(sender), receiver)
            }
            Endpoints::Datagrams { gap, bytes, periods } => {
                let machine = Machine::Datagrams(Datagrams::new(gap, bytes, periods));
                (
                    machine,
                    Receiver::Tcp(tcp::Receiver::new(
                        AckPolicy { every: 1, delay: Duration::ZERO, quick: 0 },
                        0,
                        0,
                    )),
                )
            }
        };
        self.receivers.push(ReceivingEnd {
            receiver,
            answers: matches!(machine, Machine::Connection(_)),
            scheduled: Time::NEVER,
            watch: Watch::new(sampling, warmup),
            at_warmup: (0, 0),
            total: offering.total(),
            finished: None,
            delays: matches!(flow.application, Application::Every(_)).then(Box::default),
            series: flow.sampled.map(|_| Box::default()),
        });
        self.senders.push(SendingEnd {
            machine,
            offering,
            overhead: flow.overhead,
            sends_at: Time::NEVER,
            stream,
            last_departure: None,
            scheduled: [Time::NEVER; 2],
            watch: Watch::new(sampling, warmup),
            at_warmup: Counters::default(),
            started: None,
            series: flow.sampled.map(|_| Box::default()),
            web: None,
        });
        if let Some((settings, make)) = flow.web {
            self.add_user(settings, make, flow.start);
        }
    }

    /// Sits a web user down at the flow added last.
    fn add_user(&mut self, usage: Usage, make: ControllerMaker, start: Time) {
        let (Some(sender), Some(receiver)) = (self.senders.last_mut(), self.receivers.last_mut())
        else {
            return;
        };
        let user = WebUser::new(usage, sender.stream.clone(), start);
        receiver.total = Some(0);
        sender.expect(&user.request);
        sender.web = Some(Box::new(WebServer { user, make }));
    }

    /// Runs to the end, asking `go_on` now and then, with the time reached; stops early where that
    /// says so.
    pub fn run(&mut self, mut go_on: impl FnMut(Time) -> ControlFlow<()>) -> ControlFlow<()> {
        self.run_until(self.horizon, &mut go_on)
    }

    /// Runs until all events up to `end` have happened. What eager hops have computed already may
    /// lie behind `end`: to look at an instant exactly, run with `eager` off.
    pub fn run_until(
        &mut self,
        end: Time,
        mut go_on: impl FnMut(Time) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let end = end.min(self.horizon);
        let mut until_asked = ASK_EVERY;
        while let Some(event) = self.calendar.pop(end) {
            assert!(event.time >= self.now, "an event of {} comes after {}", event.time, self.now);
            self.now = event.time;
            self.happen(event);
            until_asked -= 1;
            if until_asked == 0 {
                go_on(self.now)?;
                until_asked = ASK_EVERY;
            }
        }
        self.now = end;
        if end == self.horizon {
            self.finish();
        }
        ControlFlow::Continue(())
    }

    fn happen(&mut self, event: Event) {
        if event.rank & (PACKET | TIMER) == 0 {
            self.links[event.rank as usize].stop_waiting();
            self.release(event.rank, event.time);
        } else if event.rank & TIMER == 0 {
            let packet = self.packets.take(event.payload);
            self.travel(event.time, packet);
        } else {
            let path = event.rank & !TIMER;
            if path.is_multiple_of(2) {
                self.sender_timer(path / 2, event.payload as usize, event.time);
            } else {
                self.receiver_timer(path / 2, event.time);
            }
        }
    }

    /// Carries a packet that reaches a hop at `at` as far as it goes without an event.
    fn travel(&mut self, mut at: Time, mut packet: Travelling) {
        loop {
            match self.paths.hops[packet.hop as usize].place {
                Place::Link(link) if self.links[link as usize].holds() => {
                    return self.hold(link, at, packet);
                }
                Place::Link(link) => match self.cross(link, at, &mut packet) {
                    Some(arrival) => {
                        at = arrival;
                        packet.hop += 1;
                    }
                    None => return self.counters[packet.path as usize].lost += 1,
                },
                Place::Receiver(flow) => match self.receive(flow, at, &packet) {
                    Some(ack) => packet = ack,
                    None => return,
                },
                Place::Sender(flow) => return self.acknowledge(flow, at, &packet),
            }
            if !self.paths.hops[packet.hop as usize].eager || at > self.horizon {
                return self.schedule(at, packet);
            }
        }
    }

    /// A packet comes to a link whose queue decides on departure.
    fn hold(&mut self, link: LinkId, at: Time, packet: Travelling) {
        if self.tap.is_some() {
            self.show(link, at, &packet, TapPoint::Arrival);
        }
        self.links[link as usize].hold(at, packet, &self.window);
        self.release(link, at);
    }

    /// Lets the next packet go if the transmitter is free.
    fn release(&mut self, link: LinkId, now: Time) {
        let released = self.links[link as usize].release(now, &self.window);
        while let Some(packet) = self.links[link as usize].give_up(now, &self.window) {
            self.counters[packet.path as usize].lost += 1;
            if self.tap.is_some() {
                self.show(link, now, &packet, TapPoint::Drop);
            }
        }
        if let Some(time) = self.links[link as usize].await_transmitter() {
            self.calendar.push(Event { time, rank: link, payload: 0 });
        }
        let Some((mut packet, carried)) = released else { return };
        if self.tap.is_some() {
            self.show_fate(link, now, &packet, &carried);
        }
        match carried {
            Carried::Arrives(_, arrival) => {
                packet.hop += 1;
                if self.paths.hops[packet.hop as usize].eager && arrival <= self.horizon {
                    self.travel(arrival, packet);
                } else {
                    self.schedule(arrival, packet);
                }
            }
            Carried::Lost(_) | Carried::Dropped => self.counters[packet.path as usize].lost += 1,
        }
    }

    /// A packet comes to a link: when it reaches the other end, if it does.
    fn cross(&mut self, link: LinkId, at: Time, packet: &mut Travelling) -> Option<Time> {
        let carried = self.links[link as usize].carry(at, packet, &self.window);
        if self.tap.is_some() {
            self.show(link, at, packet, TapPoint::Arrival);
            self.show_fate(link, at, packet, &carried);
        }
        if let Carried::Arrives(_, arrival) = carried { Some(arrival) } else { None }
    }

    #[cold]
    fn show(&mut self, link: LinkId, at: Time, packet: &Travelling, point: TapPoint) {
        let Some((tapped, tap)) = &mut self.tap else { return };
        if tapped.contains(&link) {
            tap.crossing(&Crossing {
                at,
                link,
                point,
                flow: packet.path / 2,
                segment: packet.segment,
            });
        }
    }

    #[cold]
    fn show_fate(&mut self, link: LinkId, at: Time, packet: &Travelling, carried: &Carried) {
        let (at, point) = match carried {
            Carried::Arrives(departure, _) => (*departure, TapPoint::Departure),
            Carried::Dropped => (at, TapPoint::Drop),
            Carried::Lost(departure) => (*departure, TapPoint::WireLoss),
        };
        self.show(link, at, packet, point);
    }

    fn schedule(&mut self, at: Time, packet: Travelling) {
        let rank = PACKET | packet.path;
        let payload = self.packets.put(packet);
        self.calendar.push(Event { time: at, rank, payload });
    }

    /// An endpoint lets a packet go at `at` on `path`.
    fn launch(&mut self, at: Time, path: u32, segment: Segment) {
        self.counters[path as usize].sent += 1;
        let packet = Travelling { segment, hop: self.paths.starts[path as usize], path };
        if self.paths.hops[packet.hop as usize].eager && at <= self.horizon {
            self.travel(at, packet);
        } else {
            self.schedule(at, packet);
        }
    }

    /// Data reaches its receiver: the acknowledgement that leaves, ready for its first hop.
    fn receive(&mut self, flow: u32, at: Time, packet: &Travelling) -> Option<Travelling> {
        self.run_receiver_timer(flow, at);
        let path = packet.path + 1;
        self.counters[packet.path as usize].arrived += 1;
        let end = &mut self.receivers[flow as usize];
        end.catch_up(at);
        let ack = end.receiver.on_data(at, &packet.segment);
        if let Some(delays) = &mut end.delays {
            delays.deliver(end.receiver.next(), at, &self.window);
        }
        let complete = end.total == Some(end.receiver.next());
        if complete && end.finished.is_none() {
            end.finished = Some(at);
            self.ask_for_more(flow, at);
        }
        let end = &mut self.receivers[flow as usize];
        if !end.answers {
            return None;
        }
        match ack {
            Some(segment) => {
                self.counters[path as usize].sent += 1;
                Some(Travelling { segment, hop: self.paths.starts[path as usize], path })
            }
            None => {
                self.arm_receiver(flow);
                None
            }
        }
    }

    /// Where a web user has got all that it asked for, it asks for more.
    fn ask_for_more(&mut self, flow: u32, at: Time) {
        let end = &mut self.senders[flow as usize];
        let Some(web) = &mut end.web else { return };
        let request = web.user.finish(at);
        end.expect(&request);
        self.arm_sender(flow);
    }

    /// A web user's request has reached the server: a new connection begins in slow start, and the
    /// receiver waits for so much more.
    fn serve(&mut self, flow: u32) {
        let end = &mut self.senders[flow as usize];
        let (Some(web), Machine::Connection(sender)) = (&end.web, &mut end.machine) else { return };
        if web.user.request.fresh {
            sender.renew((web.make)());
        }
        let receiver = &mut self.receivers[flow as usize];
        receiver.total = receiver.total.map(|total| total + web.user.request.packets);
        receiver.finished = None;
    }

    /// An acknowledgement reaches its sender.
    fn acknowledge(&mut self, flow: u32, at: Time, packet: &Travelling) {
        self.counters[packet.path as usize].arrived += 1;
        while self.senders[flow as usize].next_deadline() < at {
            let deadline = self.senders[flow as usize].next_deadline();
            self.wake_sender(flow, deadline);
        }
        let end = &mut self.senders[flow as usize];
        end.catch_up(at);
        if let Machine::Connection(sender) = &mut end.machine {
            sender.on_ack(at, &packet.segment);
        }
        self.transmit(flow, at);
        self.arm_sender(flow);
    }

    /// Lets everything go that a sender may send at `now`, or waits for its overhead first.
    fn transmit(&mut self, flow: u32, now: Time) {
        if self.senders[flow as usize].waits_for_overhead(now) {
            return;
        }
        loop {
            let end = &mut self.senders[flow as usize];
            let Machine::Connection(sender) = &mut end.machine else { return };
            let Some(segment) = sender.poll_transmit(now) else { return };
            let departure = end.depart(now);
            self.launch(departure, 2 * flow, segment);
        }
    }

    /// Something of a sender's is due at `now`.
    fn wake_sender(&mut self, flow: u32, now: Time) {
        let end = &mut self.senders[flow as usize];
        end.catch_up(now);
        if end.offering.acts_at <= now {
            let act = end.offering.act(&mut end.stream);
            if end.web.is_some() && act != Act::Stop {
                self.serve(flow);
            }
            if let (Act::Offer(_), Some(delays)) = (act, &mut self.receivers[flow as usize].delays)
            {
                delays.offer(now);
            }
            self.senders[flow as usize].obey(act, now);
        }
        let end = &mut self.senders[flow as usize];
        match &mut end.machine {
            Machine::Connection(sender) => {
                sender.on_wakeup(now);
                self.transmit(flow, now);
            }
            Machine::Datagrams(source) => {
                if let Some(number) = source.wake(now, &mut end.stream) {
                    let bytes = source.bytes;
                    let segment =
                        Segment::data(number, now, bytes, Header::Data(DataHeader::default()));
                    let departure = end.depart(now);
                    self.launch(departure, 2 * flow, segment);
                }
            }
        }
    }

    fn sender_timer(&mut self, flow: u32, slot: usize, now: Time) {
        let end = &mut self.senders[flow as usize];
        if end.scheduled[slot] != now {
            return;
        }
        end.scheduled[slot] = Time::NEVER;
        if end.next_deadline() <= now {
            self.wake_sender(flow, now);
        }
        self.arm_sender(flow);
    }

    /// Puts a sender's deadlines into the calendar, where they are not there earlier already:
    /// re-arming a timer costs nothing.
    fn arm_sender(&mut self, flow: u32) {
        let end = &mut self.senders[flow as usize];
        let deadlines = end.deadlines();
        for slot in [SOON, LATE] {
            if deadlines[slot] < end.scheduled[slot] {
                end.scheduled[slot] = deadlines[slot];
                self.calendar.push(Event {
                    time: deadlines[slot],
                    rank: TIMER | (2 * flow),
                    payload: slot as u32,
                });
            }
        }
    }

    fn receiver_timer(&mut self, flow: u32, now: Time) {
        let end = &mut self.receivers[flow as usize];
        if end.scheduled != now {
            return;
        }
        end.scheduled = Time::NEVER;
        if end.receiver.wakeup() <= now {
            self.wake_receiver(flow, now);
        }
        self.arm_receiver(flow);
    }

    fn run_receiver_timer(&mut self, flow: u32, before: Time) {
        let wakeup = self.receivers[flow as usize].receiver.wakeup();
        if wakeup < before {
            self.wake_receiver(flow, wakeup);
        }
    }

    fn wake_receiver(&mut self, flow: u32, now: Time) {
        let end = &mut self.receivers[flow as usize];
        end.catch_up(now);
        if let Some(ack) = end.receiver.on_wakeup(now) {
            self.launch(now, 2 * flow + 1, ack);
        }
    }

    fn arm_receiver(&mut self, flow: u32) {
        let end = &mut self.receivers[flow as usize];
        let wakeup = end.receiver.wakeup();
        if wakeup < end.scheduled {
            end.scheduled = wakeup;
            self.calendar.push(Event { time: wakeup, rank: TIMER | (2 * flow + 1), payload: 0 });
        }
    }

    /// What a flow's web user has got, in order; nothing where there is none.
    pub fn transfers(&self, flow: usize) -> &[Transfer] {
        self.senders[flow].web.as_ref().map_or(&[], |web| &web.user.transfers)
    }

    /// The last samples, and the books: what was sent has arrived, was lost, or is under way.
    fn finish(&mut self) {
        self.links.iter_mut().for_each(|link| link.finish(&self.window));
        self.senders.iter_mut().for_each(|end| end.catch_up(self.horizon));
        self.receivers.iter_mut().for_each(|end| end.catch_up(self.horizon));
        let total = |count: fn(&PathCounters) -> u64| self.counters.iter().map(count).sum::<u64>();
        let (sent, arrived, lost) =
            (total(|path| path.sent), total(|path| path.arrived), total(|path| path.lost));
        let under_way = self.packets.len() + self.links.iter().map(Link::held).sum::<u64>();
        assert_eq!(
            sent,
            arrived + lost + under_way,
            "{sent} packets sent are not {arrived} arrived + {lost} lost + {under_way} under way"
        );
        let missing: u64 = self.links.iter().map(Link::missing).sum();
        assert_eq!(lost, missing, "flows miss {lost} packets, links have lost {missing}");
        self.balance_links();
    }

    /// The books of links that lead to endpoints only: what they carried has arrived, or is on its
    /// way.
    fn balance_links(&self) {
        let mut accounted = vec![0; self.links.len()];
        for packet in self.packets.iter() {
            let came_by = packet
                .hop
                .checked_sub(1)
                .filter(|_| packet.hop > self.paths.starts[packet.path as usize]);
            if let Some(Place::Link(link)) = came_by.map(|hop| self.paths.hops[hop as usize].place)
            {
                accounted[link as usize] += 1;
            }
        }
        for (path, counters) in self.counters.iter().enumerate() {
            if let Some(Place::Link(link)) = self.paths.last_link(path) {
                accounted[link as usize] += counters.arrived;
            }
        }
        for link in self.paths.links_to_endpoints_only(self.links.len()) {
            let (carried, accounted) = (self.links[link].carried, accounted[link]);
            assert_eq!(
                carried, accounted,
                "link {link}: {carried} carried are not {accounted} arrived or under way"
            );
        }
    }

    /// The time that has been reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Data packets that have reached their receivers, in the whole run.
    pub fn delivered(&self) -> u64 {
        self.counters.iter().step_by(2).map(|path| path.arrived).sum()
    }

    /// What flow number `flow` did.
    pub fn flow(&self, flow: usize) -> FlowSummary {
        let (sender, receiver) = (&self.senders[flow], &self.receivers[flow]);
        let (arrived, duplicates) = receiver.at_warmup;
        FlowSummary {
            sender: difference(&sender.counters(), &sender.at_warmup),
            arrived: receiver.receiver.arrived() - arrived,
            duplicates: receiver.receiver.duplicates() - duplicates,
            dropped: self.counters[2 * flow].lost,
            acks_dropped: self.counters[2 * flow + 1].lost,
            started: sender.started,
            finished: receiver.finished,
            delays: receiver.delays.as_deref().cloned(),
        }
    }

    /// What link number `link` did.
    pub fn link(&self, link: usize) -> LinkSummary {
        self.links[link].summary(&self.window)
    }

    /// The samples of a flow's sender and receiver, where any were taken.
    pub fn flow_series(&self, flow: usize) -> Option<(&SenderSeries, &ReceiverSeries)> {
        Some((self.senders[flow].series.as_deref()?, self.receivers[flow].series.as_deref()?))
    }

    /// The samples of a link and their interval, where any were taken.
    pub fn link_series(&self, link: usize) -> Option<(Duration, &LinkSeries)> {
        self.links[link].series()
    }

    /// A flow's congestion controller; `None` for datagrams.
    pub fn controller(&self, flow: usize) -> Option<&dyn Controller> {
        if let Machine::Connection(sender) = &self.senders[flow].machine {
            Some(sender.controller())
        } else {
            None
        }
    }
}

impl SendingEnd {
    /// The deadlines of the pacer or the datagram source, and of the application and the
    /// retransmission timer.
    fn deadlines(&self) -> [Time; 2] {
        match &self.machine {
            Machine::Connection(sender) => {
                let soon =
                    if self.sends_at < Time::NEVER { self.sends_at } else { sender.pace_at() };
                [soon, sender.retransmit_at().min(self.offering.acts_at)]
            }
            Machine::Datagrams(source) => {
                [source.next_at, source.turns_at.min(self.offering.acts_at)]
            }
        }
    }

    fn next_deadline(&self) -> Time {
        let [soon, late] = self.deadlines();
        soon.min(late)
    }

    /// A web user's request is on its way.
    fn expect(&mut self, request: &Request) {
        self.offering.acts_at = request.arrives;
        self.offering.asked = request.packets;
    }

    fn obey(&mut self, act: Act, now: Time) {
        match (&mut self.machine, act) {
            (Machine::Connection(sender), Act::Offer(packets)) => sender.offer(packets),
            (Machine::Connection(sender), Act::Stop) => sender.stop(),
            (Machine::Datagrams(source), Act::Offer(_)) => source.begin(now, &mut self.stream),
            (Machine::Datagrams(source), Act::Stop) => source.stop(),
        }
    }

    /// Each time a sender may send, it waits uniformly up to its overhead, then sends all it may
    /// (ns-2's `overhead_`).
    fn waits_for_overhead(&mut self, now: Time) -> bool {
        let Machine::Connection(sender) = &mut self.machine else { return false };
        if self.overhead == Duration::ZERO {
            return false;
        }
        if self.sends_at == Time::NEVER && sender.may_transmit(now) {
            self.sends_at = now + self.overhead.scale(self.stream.uniform());
        }
        let waits = self.sends_at > now && self.sends_at < Time::NEVER;
        if !waits {
            self.sends_at = Time::NEVER;
        }
        waits
    }

    /// When a packet that may leave at `now` does: after the one before it, by a picosecond at
    /// least, so that packets of a burst have an order.
    fn depart(&mut self, now: Time) -> Time {
        self.started.get_or_insert(now);
        let departure =
            self.last_departure.map_or(now, |last| now.max(last + Duration::from_picos(1)));
        self.last_departure = Some(departure);
        departure
    }

    fn counters(&self) -> Counters {
        match &self.machine {
            Machine::Connection(sender) => *sender.counters(),
            Machine::Datagrams(source) => Counters { sent: source.sent, ..Counters::default() },
        }
    }

    fn catch_up(&mut self, now: Time) {
        while let Some((due, _)) = self.watch.due(now) {
            match (due, &mut self.series, &self.machine) {
                (Due::WarmedUp, ..) => self.at_warmup = self.counters(),
                (Due::Sample, Some(series), Machine::Connection(sender)) => series.sample(sender),
                (Due::Sample, Some(series), Machine::Datagrams(source)) => {
                    series.sample_datagrams(source.sent)
                }
                (Due::Sample, ..) => {}
            }
        }
    }
}

impl ReceivingEnd {
    fn catch_up(&mut self, now: Time) {
        while let Some((due, _)) = self.watch.due(now) {
            match (due, &mut self.series) {
                (Due::WarmedUp, _) => {
                    self.at_warmup = (self.receiver.arrived(), self.receiver.duplicates())
                }
                (Due::Sample, Some(series)) => series.arrived.push(self.receiver.arrived()),
                (Due::Sample, None) => {}
            }
        }
    }
}

/// What was counted since `earlier`.
fn difference(now: &Counters, earlier: &Counters) -> Counters {
    Counters {
        sent: now.sent - earlier.sent,
        retransmitted: now.retransmitted - earlier.retransmitted,
        lost: now.lost - earlier.lost,
        epochs: now.epochs - earlier.epochs,
        timeouts: now.timeouts - earlier.timeouts,
        spurious: now.spurious - earlier.spurious,
        rtt_samples: now.rtt_samples - earlier.rtt_samples,
        rtt_sum: now.rtt_sum - earlier.rtt_sum,
    }
}
