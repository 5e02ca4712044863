//! One packet's life: the event loop, and what happens at each hop.

mod delayed_answers;
mod hosted;
mod look_ahead;
mod open;

pub use open::Glimpse;

use crate::books::PathBooks;
use crate::browser::Browser;
use crate::calendar::{Calendar, Event, PACKET, TIMER, arrival, link_of, transmitter};
use crate::due_answers::DueAnswers;
use crate::ends::{LATE, ReceivingEnd, SOON, SendingEnd, Sink, Source};
use crate::hosted::Payloads;
use crate::link::{Carried, DepartureLink, Link, LinkSettings, Offered, Player};
use crate::measured::Measured;
use crate::packet::Travelling;
use crate::pool::{Overrun, Pool};
use crate::requests::{Request, Transfer};
use crate::series::{LinkSeries, ReceiverSeries, SenderSeries};
use crate::slab::Slab;
use crate::summary::{FlowSummary, LinkSummary};
use crate::tap::{EndTap, Tap, TappedEnds, TappedLinks};
use crate::traffic::Act;
use crate::wiring::{Ahead, FlowSettings, Hop, HopEnd, LinkId, Network, Paths, WiringError};
use narrows_control::Controller;
use narrows_transport::{Header, Segment};
use narrows_units::{Duration, Stream, Time};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How a simulation is run.
#[derive(Clone, Copy, Debug)]
pub struct RunSettings {
    /// The seed of all randomness.
    pub seed: u64,
    /// The length of the run.
    pub duration: Duration,
    /// The measured part begins after this time and ends with the run.
    pub warmup: Duration,
    /// What is computed before its time comes. The result is the same.
    pub ahead: Ahead,
}

/// A simulation under way.
pub struct Simulation {
    settings: RunSettings,
    now: Time,
    /// The end of the run: nothing is computed beyond it.
    horizon: Time,
    measured: Measured,
    calendar: Calendar,
    due_answers: DueAnswers,
    /// Tells this seed's order at equal times from that of others.
    salt: u32,
    packets: Slab,
    payloads: Payloads,
    paths: Paths,
    books: PathBooks,
    links: Vec<Link<Travelling>>,
    senders: Vec<SendingEnd>,
    receivers: Vec<ReceivingEnd>,
    tap: Option<TappedLinks>,
    end_taps: Option<TappedEnds>,
    pools: Vec<Pool>,
    browsers: Vec<Browser>,
    /// The scripts of links that send packets twice.
    doublers: Vec<(LinkId, Player)>,
    /// The first transfer that found no free flow, which ends the run.
    overrun: Option<Overrun>,
    /// Whether there are so many flows that their ends are out of the caches.
    has_many_flows: bool,
    /// The end has been reached, and the books have been balanced.
    is_finished: bool,
}

/// Families of random streams.
const LINK_STREAMS: u64 = 1;
const FLOW_STREAMS: u64 = 2;
/// The hosts, by path.
const HOST_STREAMS: u64 = 3;
const TIE_STREAM: u64 = 4;
const POOL_STREAMS: u64 = 5;
const BROWSER_STREAMS: u64 = 6;
/// Flows whose ends a processor's second cache does not hold.
const MANY_FLOWS: usize = 2000;
/// Number of descriptions of flows whose memory is given back at once.
const GIVEN_BACK: usize = 1 << 12;
/// Number of events after which the caller is asked whether to go on.
const ASK_EVERY: u32 = 1 << 14;

/// The links of `network` from number `first` on.
fn links<'a>(
    network: &'a Network,
    first: usize,
    settings: &RunSettings,
) -> impl Iterator<Item = Link<Travelling>> + use<'a> {
    let RunSettings { seed, warmup, .. } = *settings;
    let links = network.links.iter().enumerate().skip(first);
    links.map(move |(number, (_, _, link))| {
        Link::new(link, Time::ZERO + warmup, Stream::new(seed, LINK_STREAMS, number as u64))
    })
}

/// The scripts of links that send packets twice.
fn doublers(network: &Network) -> Vec<(LinkId, Player)> {
    let doubles = network.links.iter().enumerate().filter(|(_, (.., link))| link.doubles());
    let player = |(number, (.., link)): (usize, &(_, _, Arc<LinkSettings>))| {
        let varying = link.varying.as_ref()?;
        Some((number as LinkId, Player::new(varying.script.clone())))
    };
    doubles.filter_map(player).collect()
}

impl Simulation {
    /// Builds what `network` describes. Fails if the ends of a flow are not connected.
    pub fn new(network: Network, settings: RunSettings) -> Result<Self, WiringError> {
        let measured =
            Measured { from: Time::ZERO + settings.warmup, to: Time::ZERO + settings.duration };
        let stream = |family, index| Stream::new(settings.seed, family, index as u64);
        let links: Vec<Link<Travelling>> = links(&network, 0, &settings).collect();
        let paths = Paths::find(&network, &links, settings.ahead)?;
        let books = PathBooks::new(paths.starts.len());
        let doublers = doublers(&network);
        let has_many_flows = network.flows.len() >= MANY_FLOWS;
        let mut simulation = Self {
            settings,
            now: Time::ZERO,
            horizon: measured.to,
            measured,
            calendar: Calendar::new(),
            due_answers: DueAnswers::new(&paths.timed),
            salt: stream(TIE_STREAM, 0).bits() as u32 & (PACKET - 1),
            packets: Slab::new(has_many_flows),
            payloads: Payloads::default(),
            paths,
            books,
            links,
            senders: Vec::with_capacity(network.flows.len()),
            receivers: Vec::with_capacity(network.flows.len()),
            tap: None,
            end_taps: None,
            pools: Vec::new(),
            browsers: Vec::new(),
            doublers,
            overrun: None,
            has_many_flows,
            is_finished: false,
        };
        // The descriptions of links take as much memory as all flows.
        drop(network.links);
        // From the end of the list, which gives its memory back as it becomes shorter.
        let mut flows = network.flows;
        flows.reverse();
        while let Some(settings) = flows.pop() {
            if flows.len().is_multiple_of(GIVEN_BACK) {
                flows.shrink_to_fit();
            }
            simulation.settle(settings);
        }
        for (number, arrivals) in network.pools.into_iter().enumerate() {
            simulation.pools.push(Pool::new(arrivals, stream(POOL_STREAMS, number)));
            simulation.await_arrival(number);
        }
        for (number, browsing) in network.browsers.into_iter().enumerate() {
            let mut browser = Browser::new(browsing, stream(BROWSER_STREAMS, number));
            let (flow, request) = browser.begin();
            simulation.browsers.push(browser);
            simulation.request(flow, request);
        }
        Ok(simulation)
    }

    /// Adds the ends of the next flow, whose paths are there.
    fn settle(&mut self, settings: FlowSettings) {
        let flow = self.senders.len();
        let stream = |family, index| Stream::new(self.settings.seed, family, index as u64);
        let hosts = [2 * flow + 1, 2 * flow].map(|path| stream(HOST_STREAMS, path));
        let first = self.paths.first_link(2 * flow as u32);
        let device = first.filter(|link| self.links[*link as usize].is_device());
        let (chances, warmup) = (stream(FLOW_STREAMS, flow), self.measured.from);
        let (sender, receiver) = SendingEnd::pair(settings, device, chances, hosts, warmup);
        self.senders.push(sender);
        self.receivers.push(receiver);
        self.arm_sender(flow as u32);
    }

    /// Shows each packet at the given links to `tap`. Arrivals are shown in order of time unless
    /// all is computed ahead.
    pub fn set_tap(&mut self, links: Vec<LinkId>, tap: Box<dyn Tap>) {
        self.paths.watch(&links);
        self.tap = Some(TappedLinks { links, tap });
    }

    /// Shows what leaves the senders of flows, and what comes back to them, to a tap for each flow.
    pub fn set_end_taps(&mut self, taps: Vec<(u32, Box<dyn EndTap>)>) {
        self.end_taps = (!taps.is_empty()).then_some(TappedEnds(taps));
    }

    /// Runs to the end. Now and then calls `go_on` with the time reached, and stops early if that
    /// breaks.
    pub fn run(&mut self, mut go_on: impl FnMut(Time) -> ControlFlow<()>) -> ControlFlow<()> {
        self.run_until(self.horizon, &mut go_on)
    }

    /// Runs until all events up to `end` have happened. What is computed [`Ahead`] may have been
    /// beyond `end`.
    pub fn run_until(
        &mut self,
        end: Time,
        mut go_on: impl FnMut(Time) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let end = end.min(self.horizon);
        let mut until_asked = ASK_EVERY;
        while let Some(event) = self.calendar.pop(end) {
            assert!(event.time >= self.now, "an event at {} comes after {}", event.time, self.now);
            self.now = event.time;
            if self.has_many_flows || self.packets.are_many() {
                self.look_ahead();
            }
            self.happen(event);
            until_asked -= 1;
            if until_asked == 0 {
                if self.overrun.is_some() {
                    return ControlFlow::Break(());
                }
                go_on(self.now)?;
                until_asked = ASK_EVERY;
            }
        }
        self.now = end;
        if end == self.horizon && !self.is_finished {
            self.is_finished = true;
            self.finish();
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn happen(&mut self, event: Event) {
        match event.what() & (PACKET | TIMER) {
            PACKET => {
                let mut packet = self.packets.take(event.payload());
                self.travel(event.time, &mut packet);
            }
            0 => {
                let link = link_of(event.what());
                self.holding(link).stop_waiting();
                self.release(link, event.time);
            }
            _ => {
                let path = event.what() & !TIMER;
                if path.is_multiple_of(2) {
                    self.sender_timer(path / 2, event.payload() as usize, event.time);
                } else {
                    self.receiver_timer(path / 2, event.time);
                }
            }
        }
    }

    /// Carries a packet that reaches a hop at `at` as far as it can go without an event.
    fn travel(&mut self, mut at: Time, packet: &mut Travelling) {
        let mut place = packet.hop;
        let mut hop = self.paths.hops[place as usize];
        loop {
            if let Some(link) = hop.link() {
                if self.due_answers.may_come_by(at) {
                    self.answer_before(link, at, packet.path);
                }
                match self.enter(link, at, place, packet) {
                    Offered::Carried(Carried::Arrives(arrival)) => {
                        (at, place) = (arrival, place + 1)
                    }
                    Offered::Carried(_) => return self.lose(packet, at),
                    Offered::Held => return self.release(link, at),
                }
            } else if let Some(flow) = hop.receiver() {
                match self.receive(flow, at, packet) {
                    Some(back) => place = back,
                    None => return,
                }
            } else if let Some(flow) = hop.sender() {
                return self.acknowledge(flow, at, packet);
            } else {
                packet.hop = place;
                match self.visit(hop.end(), at, packet) {
                    Some(leaves) => (at, place) = (leaves, place + 1),
                    None => return,
                }
            }
            (at, place, hop) = self.pass(at, packet.segment.bytes, place);
            if !hop.is_eager() || at > self.horizon {
                return self.schedule(at, &packet.segment, place, packet.path);
            }
        }
    }

    /// Takes a packet of `bytes` that reaches the hop in `place` at `at` over plain links as far as
    /// they need no event; returns when it reaches which hop after them, as place and hop.
    #[inline]
    fn pass(&mut self, mut at: Time, bytes: u32, mut place: u32) -> (Time, u32, Hop) {
        loop {
            let hop = self.paths.hops[place as usize];
            let Some(link) = hop.passes() else { return (at, place, hop) };
            let Link::Plain(link) = &mut self.links[link as usize] else {
                unreachable!("packets pass plain links only")
            };
            at = link.carry(at, bytes);
            place += 1;
        }
    }

    /// Takes a packet that reaches a hop of a rare kind at `at` to the next; returns when it
    /// leaves, or `None` if that was its end.
    #[cold]
    #[inline(never)]
    fn visit(&mut self, hop: HopEnd, at: Time, packet: &mut Travelling) -> Option<Time> {
        let leaves = match hop {
            HopEnd::Host(path) => self.see(path, at),
            HopEnd::Notice(link) => {
                self.notice(link, at, packet);
                at
            }
            HopEnd::Double(link) => {
                self.double(link, at, packet);
                at
            }
            HopEnd::Hosted(_) => {
                self.deliver(at, packet);
                return None;
            }
            HopEnd::Link(_) | HopEnd::Receiver(_) | HopEnd::Sender(_) => {
                unreachable!("links and ends of connections are not rare")
            }
        };
        Some(leaves)
    }

    /// When the host at the end of `path` sees a packet that arrives there at `at`.
    fn see(&mut self, path: u32, at: Time) -> Time {
        let flow = path as usize / 2;
        let host = if path.is_multiple_of(2) {
            &mut self.receivers[flow].host
        } else {
            &mut self.senders[flow].host
        };
        host.as_deref_mut().expect("a path leads to a host only if that is not ideal").sees(at)
    }

    /// Sends a copy of a packet that reaches `link` at `at` behind it, if its script says so.
    fn double(&mut self, link: LinkId, at: Time, packet: &Travelling) {
        let mut doublers = self.doublers.iter_mut();
        let Some((_, player)) = doublers.find(|(other, _)| *other == link) else { return };
        if !player.play(at, packet).doubles {
            return;
        }
        let mut copy = packet.segment;
        if let Header::Hosted { place, .. } = &mut copy.header {
            *place = self.payloads.copy(*place);
            self.books.count_hosted(1, 0);
        }
        self.books.send();
        self.schedule(at, &copy, packet.hop + 1, packet.path);
    }

    /// Tells an acknowledgement the room in the queue that its flow's data goes through.
    fn notice(&mut self, link: LinkId, at: Time, packet: &mut Travelling) {
        let room = self.holding(link).room_now(at, packet.path - 1);
        if let (Some(room), Some(reply)) = (room, packet.segment.reply()) {
            if room.rewrites {
                reply.rewrite(room.bytes);
            } else {
                reply.lower(room.bytes);
            }
        }
    }

    /// Hands a packet to the link in `place`.
    #[inline]
    fn enter(&mut self, link: LinkId, at: Time, place: u32, packet: &mut Travelling) -> Offered {
        match (&mut self.links[link as usize], &self.tap) {
            (Link::DropTail(link), None) => {
                Offered::Carried(link.carry(at, packet.segment.bytes, &self.measured))
            }
            _ => {
                packet.hop = place;
                self.enter_any(link, at, packet)
            }
        }
    }

    #[inline(never)]
    fn enter_any(&mut self, link: LinkId, at: Time, packet: &mut Travelling) -> Offered {
        let offered = self.links[link as usize].offer(at, packet, &self.measured);
        if let Some(tapped) = &mut self.tap {
            tapped.show_arrival(link, at, packet, &self.payloads);
            if let Offered::Carried(carried) = offered {
                let there = &self.links[link as usize];
                let told = (link, at, there.busy_until(), there.drop_point());
                tapped.show_fate(told, packet, carried, &self.payloads);
            }
        }
        offered
    }

    fn holding(&mut self, link: LinkId) -> &mut DepartureLink<Travelling> {
        let link = self.links[link as usize].as_departure();
        link.expect("only links that hold packets are released")
    }

    /// Releases the next packet if the transmitter is free.
    fn release(&mut self, link: LinkId, now: Time) {
        let measured = self.measured;
        let released = self.holding(link).release(now, &measured);
        while let Some(packet) = self.holding(link).give_up(now, &measured) {
            if let Some(tapped) = &mut self.tap {
                let point = self.links[link as usize].drop_point();
                tapped.show_drop((link, point), now, &packet, &self.payloads);
            }
            self.lose(&packet, now);
        }
        if let Some(time) = self.holding(link).await_transmitter() {
            self.calendar.push(Event::new(time, transmitter(link, self.salt), 0));
        }
        let Some((packet, carried)) = released else { return };
        if let Some(tapped) = &mut self.tap {
            let there = &self.links[link as usize];
            let told = (link, now, there.busy_until(), there.drop_point());
            tapped.show_fate(told, &packet, carried, &self.payloads);
        }
        let Carried::Arrives(arrival) = carried else {
            return self.lose(&packet, now);
        };
        self.proceed(arrival, &packet.segment, packet.hop + 1, packet.path);
    }

    /// Goes on at once if the next hop, in `place`, is eager; otherwise schedules an event.
    #[inline]
    fn proceed(&mut self, at: Time, segment: &Segment, place: u32, path: u32) {
        let (at, place, hop) = self.pass(at, segment.bytes, place);
        if hop.is_eager() && at <= self.horizon {
            self.travel(at, &mut Travelling { segment: *segment, hop: place, path });
        } else {
            self.schedule(at, segment, place, path);
        }
    }

    fn schedule(&mut self, at: Time, segment: &Segment, place: u32, path: u32) {
        let payload = self.packets.put(segment, place, path);
        self.file(at, path, self.paths.hops[place as usize], payload);
    }

    /// Enters into the calendar that the packet at `payload` reaches `hop` of `path` at `at`.
    #[inline]
    fn file(&mut self, at: Time, path: u32, hop: Hop, payload: u32) {
        let event = Event::new(at, arrival(path, self.salt), payload);
        match self.paths.lane(hop) {
            Some(lane) => self.calendar.push_in_lane(lane, event),
            None => self.calendar.push(event),
        }
    }

    /// Sends a packet from its endpoint at `at`, on `path`.
    #[inline]
    fn launch(&mut self, at: Time, path: u32, segment: &Segment) {
        self.books.send();
        self.proceed(at, segment, self.paths.starts[path as usize], path);
    }

    /// Sends the slab's draft, a packet of `bytes`, from its endpoint at `at` on `path`.
    #[inline]
    fn launch_draft(&mut self, at: Time, path: u32, bytes: u32) {
        self.books.send();
        let (at, place, hop) = self.pass(at, bytes, self.paths.starts[path as usize]);
        if hop.is_eager() && at <= self.horizon {
            let segment = *self.packets.draft();
            self.travel(at, &mut Travelling { segment, hop: place, path });
        } else {
            let payload = self.packets.keep(place, path);
            self.file(at, path, hop, payload);
        }
    }

    /// Delivers data to its receiver. If an acknowledgement leaves, it takes the place of the data,
    /// and its first hop is returned.
    #[inline]
    fn receive(&mut self, flow: u32, at: Time, packet: &mut Travelling) -> Option<u32> {
        self.books.arrive(packet.path);
        let end = &mut self.receivers[flow as usize];
        if end.answer_plain(at, &mut packet.segment) {
            if end.total == Some(packet.segment.number) && end.finished.is_none() {
                end.finished = Some(at);
                self.ask_for_more(flow, at);
            }
            return Some(self.turn_back(packet));
        }
        if end.wakes_at < at {
            self.run_receiver_timer(flow, at);
        }
        let end = &mut self.receivers[flow as usize];
        end.catch_up(at);
        let ack = end.sink.on_data(at, &packet.segment);
        let answers = ack.is_some();
        if let Some(ack) = ack {
            packet.segment = ack;
        }
        end.set_timer(at);
        // Also if it answers: what is acknowledged first may make room for more to wait.
        let must_arm = end.wakes_at < end.scheduled;
        // A datagram sink has no order and sends no acknowledgements.
        let next = end.sink.next()?;
        if let Some(delays) = &mut end.delays {
            delays.deliver(next, at, &self.measured);
        }
        if end.total == Some(next) && end.finished.is_none() {
            end.finished = Some(at);
            self.ask_for_more(flow, at);
        }
        if must_arm {
            self.arm_receiver(flow);
        }
        answers.then(|| self.turn_back(packet))
    }

    /// Puts an acknowledgement on its way back; returns the first hop of that.
    #[inline]
    fn turn_back(&mut self, packet: &mut Travelling) -> u32 {
        packet.path += 1;
        self.books.send();
        self.paths.starts[packet.path as usize]
    }

    /// Lets a user who has received everything asked for make the next request.
    fn ask_for_more(&mut self, flow: u32, at: Time) {
        let end = &mut self.senders[flow as usize];
        let Some(server) = &mut end.server else { return };
        if self.measured.contains(at) {
            server.shortage += u64::from(server.requester.request.shortage);
        }
        let request = server.requester.finish(at);
        end.expect(&request);
        if let Some(pool) = end.pool() {
            self.pools[pool].idle(flow, at);
        } else if !self.browsers.is_empty() {
            self.tell_browser(flow, at);
        }
        self.arm_sender(flow);
    }

    /// Tells the user whose connection `flow` is, if it is one's, that what was asked for is there
    /// at `at`. The user goes on then, by an event of its own: over other connections something may
    /// come before.
    #[cold]
    fn tell_browser(&mut self, flow: u32, at: Time) {
        let place = self.browsers.partition_point(|browser| browser.flows().end <= flow);
        let browser = self.browsers.get_mut(place);
        let Some(browser) = browser.filter(|browser| browser.flows().contains(&flow)) else {
            return;
        };
        browser.finish(at, flow);
        if at <= self.horizon {
            let place = (self.senders.len() + self.pools.len() + place) as u32;
            self.calendar.push(Event::new(at, TIMER | (2 * place), 0));
        }
    }

    /// Lets a user request what is next.
    #[cold]
    fn browse(&mut self, browser: usize, now: Time) {
        for (flow, request) in self.browsers[browser].step(now) {
            self.request(flow, request);
        }
    }

    /// Sends a request to the sender of `flow`, which has nothing else to do.
    fn request(&mut self, flow: u32, request: Request) {
        let end = &mut self.senders[flow as usize];
        end.expect(&request);
        if let Some(server) = &mut end.server {
            server.requester.request = request;
        }
        self.arm_sender(flow);
    }

    /// Gives the transfer that arrives at a pool to one of its flows.
    #[cold]
    fn arrive(&mut self, pool: usize, now: Time) {
        match self.pools[pool].arrive() {
            Some((flow, request)) => {
                self.request(flow, request);
                self.await_arrival(pool);
            }
            None => {
                self.overrun.get_or_insert(Overrun { at: now, pool });
            }
        }
    }

    /// Enters the next arrival at a pool into the calendar, where pools come after flows, and
    /// users with several connections after pools.
    fn await_arrival(&mut self, pool: usize) {
        let time = self.pools[pool].next_at();
        if time <= self.horizon {
            let place = (self.senders.len() + pool) as u32;
            self.calendar.push(Event::new(time, TIMER | (2 * place), 0));
        }
    }

    /// Handles a request that has reached the sender: a new connection, if one is needed, begins in
    /// slow start, and the receiver expects what was asked for.
    fn serve(&mut self, flow: u32) {
        let sender = &mut self.senders[flow as usize];
        let receiver = &mut self.receivers[flow as usize];
        let end = receiver.total.unwrap_or_default() + sender.offering.asked;
        (receiver.total, receiver.finished) = (Some(end), None);
        sender.serve(end);
    }

    /// Delivers an acknowledgement to its sender.
    #[inline]
    fn acknowledge(&mut self, flow: u32, at: Time, packet: &Travelling) {
        self.books.arrive(packet.path);
        if self.senders[flow as usize].is_due_before(at) {
            self.run_sender_timers(flow, at);
        }
        if let Some(tapped) = &mut self.end_taps {
            tapped.show_received(flow, at, &packet.segment);
        }
        let end = &mut self.senders[flow as usize];
        end.catch_up(at);
        if let Source::Connection(sender) = &mut end.source {
            sender.on_ack(at, &packet.segment);
        }
        self.transmit(flow, at);
        self.arm_sender(flow);
    }

    #[inline(never)]
    fn run_sender_timers(&mut self, flow: u32, before: Time) {
        loop {
            let deadline = self.senders[flow as usize].next_deadline();
            if deadline >= before {
                return;
            }
            self.wake_sender(flow, deadline);
        }
    }

    /// Sends everything that a sender may send at `now`, or as of when it was due: if the host came
    /// late to a pacer's turn, the next turn may be over too, and is the next event.
    fn transmit(&mut self, flow: u32, mut now: Time) {
        let end = &mut self.senders[flow as usize];
        let mut has_device = false;
        if !end.at_once {
            let Some(due) = end.due(now) else { return };
            now = due;
            has_device = end.device.is_some();
        }
        loop {
            if has_device && self.is_refused(flow, now) {
                return;
            }
            let end = &mut self.senders[flow as usize];
            let Source::Connection(sender) = &mut end.source else { return };
            let segment = self.packets.draft();
            if !sender.transmit_into(now, segment) {
                return;
            }
            end.shorten(segment);
            let (departure, bytes) = (end.depart(now), segment.bytes);
            if let Some(tapped) = &mut self.end_taps {
                tapped.show_sent(flow, departure, segment);
            }
            if has_device {
                self.launch_into_device(departure, 2 * flow);
            } else {
                self.launch_draft(departure, 2 * flow, bytes);
            }
        }
    }

    /// Sends the slab's draft into the device of its host at once, so that what leaves next finds
    /// it there: it is the first link, and what a host sends comes there in the order of time.
    #[cold]
    fn launch_into_device(&mut self, at: Time, path: u32) {
        self.books.send();
        let (segment, hop) = (*self.packets.draft(), self.paths.starts[path as usize]);
        self.travel(at, &mut Travelling { segment, hop, path });
    }

    /// Whether what a sender would send at `now` finds no room in its host's device, of which it is
    /// told; it tries again when something arrives. What cannot wait for that may be dropped.
    #[cold]
    fn is_refused(&mut self, flow: u32, now: Time) -> bool {
        let end = &mut self.senders[flow as usize];
        let (Some(device), Source::Connection(sender)) = (&end.device, &mut end.source) else {
            return false;
        };
        let (link, bytes) = **device;
        let refuses = sender.may_be_refused(now) && !self.links[link as usize].has_room(now, bytes);
        if refuses {
            sender.on_local_congestion(now);
        }
        refuses
    }

    /// Handles what is due at a sender at `now`.
    fn wake_sender(&mut self, flow: u32, now: Time) {
        let end = &mut self.senders[flow as usize];
        end.catch_up(now);
        if end.offering.acts_at <= now {
            let act = end.offering.act(&mut end.stream);
            if end.server.is_some() && act != Act::Stop {
                self.serve(flow);
            }
            if let (Act::Offer(packets), Some(delays)) =
                (act, &mut self.receivers[flow as usize].delays)
            {
                delays.offer(packets, now);
            }
            self.senders[flow as usize].obey(act, now);
            if let Source::Hosted(_) = &self.senders[flow as usize].source {
                self.obey_hosted(act, flow, now);
            }
        }
        let end = &mut self.senders[flow as usize];
        let now_or_due = if end.host.is_some() { end.comes_to(now) } else { Some(now) };
        if let Source::Connection(sender) = &mut end.source {
            if now_or_due.is_some() {
                sender.on_wakeup(now);
            }
            self.transmit(flow, now);
        } else {
            self.wake_other(flow, now, now_or_due);
        }
    }

    /// Handles what is due at `now` at an end that is no connection.
    #[cold]
    fn wake_other(&mut self, flow: u32, now: Time, now_or_due: Option<Time>) {
        let end = &mut self.senders[flow as usize];
        if let Source::Hosted(near) = &end.source {
            if near.next_turn() <= now {
                self.turn(2 * flow + 1, now);
            }
        } else if let Some(segment) = now_or_due.and_then(|due| end.wake_datagrams(due)) {
            let departure = end.depart(now);
            self.launch(departure, 2 * flow, &segment);
        }
    }

    fn sender_timer(&mut self, flow: u32, slot: usize, now: Time) {
        let Some(end) = self.senders.get_mut(flow as usize) else {
            let place = flow as usize - self.senders.len();
            return match place.checked_sub(self.pools.len()) {
                None => self.arrive(place, now),
                Some(browser) => self.browse(browser, now),
            };
        };
        if end.scheduled[slot] != now {
            return;
        }
        end.scheduled[slot] = Time::NEVER;
        if end.next_deadline() <= now {
            self.wake_sender(flow, now);
        }
        self.arm_sender(flow);
    }

    /// Puts a sender's deadlines into the calendar, unless an earlier entry is there already;
    /// re-arming a timer therefore costs nothing.
    #[inline(always)]
    fn arm_sender(&mut self, flow: u32) {
        let end = &mut self.senders[flow as usize];
        let [soon, late] = end.deadlines();
        let scheduled = end.scheduled;
        if soon < scheduled[SOON] {
            self.schedule_sender(flow, SOON, soon);
        }
        if late < scheduled[LATE] {
            self.schedule_sender(flow, LATE, late);
        }
    }

    #[inline(never)]
    fn schedule_sender(&mut self, flow: u32, slot: usize, time: Time) {
        self.senders[flow as usize].scheduled[slot] = time;
        self.calendar.push(Event::new(time, TIMER | (2 * flow), slot as u32));
    }

    fn receiver_timer(&mut self, flow: u32, now: Time) {
        let end = &mut self.receivers[flow as usize];
        if end.scheduled != now {
            return;
        }
        end.scheduled = Time::NEVER;
        if end.wakes_at <= now {
            self.wake_receiver(flow, now);
        }
        self.arm_receiver(flow);
    }

    #[inline(never)]
    fn run_receiver_timer(&mut self, flow: u32, before: Time) {
        // What a receiver has merged may have to wait for more, so there can be two deadlines.
        while self.receivers[flow as usize].wakes_at < before {
            self.wake_receiver(flow, self.receivers[flow as usize].wakes_at);
        }
    }

    fn wake_receiver(&mut self, flow: u32, now: Time) {
        let end = &mut self.receivers[flow as usize];
        if let Sink::Hosted(_) = &end.sink {
            return self.turn(2 * flow, now);
        }
        end.catch_up(now);
        let ack = end.sink.on_wakeup(now);
        end.set_timer(now);
        if let Some(ack) = ack {
            self.launch(now, 2 * flow + 1, &ack);
        }
    }

    fn arm_receiver(&mut self, flow: u32) {
        let end = &mut self.receivers[flow as usize];
        let wakeup = end.wakes_at;
        if wakeup < end.scheduled {
            end.scheduled = wakeup;
            self.calendar.push(Event::new(wakeup, TIMER | (2 * flow + 1), 0));
            if self.due_answers.matter() {
                self.expect_answer(flow, wakeup);
            }
        }
    }

    /// The objects that were requested from a flow and have arrived, in order; empty if the flow
    /// serves no requests.
    pub fn transfers(&self, flow: usize) -> &[Transfer] {
        self.senders[flow].server.as_ref().map_or(&[], |server| &server.requester.transfers)
    }

    /// What was asked of a flow and had not ended at the end of the run, of those that are asked
    /// whether they are busy or not.
    pub fn unfinished(&self, flow: usize) -> Vec<Transfer> {
        let end = &self.senders[flow];
        let last = self.now.min(end.offering.stop());
        end.server.as_ref().map_or(Vec::new(), |server| server.requester.unfinished(last))
    }

    /// The first transfer that found no flow of its pool free; no results mean anything then.
    pub fn overrun(&self) -> Option<Overrun> {
        self.overrun
    }

    /// Takes the last samples and balances the books.
    fn finish(&mut self) {
        self.links.iter_mut().for_each(|link| link.finish(&self.measured));
        self.senders.iter_mut().for_each(|end| end.catch_up(self.horizon));
        self.receivers.iter_mut().for_each(|end| end.catch_up(self.horizon));
        self.books.balance(&self.links, &self.packets, &self.paths);
        self.balance_payloads();
        // What is still under way takes as much memory as a summary of every flow.
        (self.calendar, self.packets) = (Calendar::new(), Slab::default());
    }

    /// The time that has been reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Data packets that have reached their receivers in the whole run.
    pub fn delivered(&self) -> u64 {
        self.books.delivered()
    }

    /// The summary of flow number `flow`.
    pub fn flow(&self, flow: usize) -> FlowSummary {
        let (sender, receiver) = (&self.senders[flow], &self.receivers[flow]);
        let (arrived, duplicates) = receiver.at_warmup;
        let before = sender.at_warmup.as_deref().copied().unwrap_or_default();
        let mut counters = sender.counters().since(&before.0);
        if !sender.source.knows_its_losses() {
            counters.lost = self.books.lost(2 * flow) as u32;
        }
        let limited = sender.limited(self.now).since(&before.1);
        let hosted = self.hosted_summary(flow);
        let arrived = match &hosted {
            Some(hosted) => hosted.far.datagrams.arrived,
            None => receiver.sink.arrived() - arrived,
        };
        let ended = receiver.finished.filter(|_| sender.server.is_none());
        let ended = ended.unwrap_or(Time::NEVER).min(sender.offering.stop());
        FlowSummary {
            sender: counters,
            limited: limited.without_idle(self.now.since(ended.max(self.measured.from))),
            arrived,
            duplicates: receiver.sink.duplicates() - duplicates,
            started: sender.started,
            finished: receiver.finished,
            delays: receiver.delays.as_deref().map(|delays| delays.at(self.now, &self.measured)),
            shortage: sender.server.as_ref().map_or(0, |server| server.shortage),
            hosted,
        }
    }

    /// The summary of link number `link`.
    pub fn link(&self, link: usize) -> LinkSummary {
        self.links[link].summary(&self.measured)
    }

    /// The samples of a flow's sender and receiver; `None` if none were taken.
    pub fn flow_series(&self, flow: usize) -> Option<(&SenderSeries, &ReceiverSeries)> {
        Some((self.senders[flow].series.as_deref()?, self.receivers[flow].series.as_deref()?))
    }

    /// Bits that a link could have sent in `from..to`.
    pub fn offered(&self, link: usize, from: Time, to: Time) -> f64 {
        self.links[link].offered(from, to)
    }

    /// The interval of a link's samples, and the samples; `None` if none were taken.
    pub fn link_series(&self, link: usize) -> Option<(Duration, &LinkSeries)> {
        self.links[link].series()
    }

    /// A flow's congestion controller; `None` for datagrams and for a hosted flow.
    pub fn controller(&self, flow: usize) -> Option<&dyn Controller> {
        if let Source::Connection(sender) = &self.senders[flow].source {
            Some(sender.controller())
        } else {
            None
        }
    }
}
