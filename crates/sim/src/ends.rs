//! The two ends of a flow: what sends and what receives, when each must be woken, and what is
//! recorded of them.

use crate::delays::PacketDelays;
use crate::host::{Host, HostSettings};
use crate::hosted::HostedEnd;
use crate::requests::{Request, Requester};
use crate::series::{Due, ReceiverSeries, Schedule, SenderSeries};
use crate::traffic::{Act, Application, ControllerMaker, Datagrams, Offering, Offers, Served};
use crate::wiring::{Endpoints, FlowSettings, LinkId};
use narrows_transport::{Counters, DataHeader, Header, Limited, Receiver, Segment, Sender};
use narrows_units::{Duration, Stream, Time};

/// The calendar entries of a sending end: one for its pacer, and one for everything else.
pub(crate) const SOON: usize = 0;
pub(crate) const LATE: usize = 1;

pub(crate) struct SendingEnd {
    pub source: Source,
    pub offering: Offering,
    /// The host, if it is not ideal.
    pub host: Option<Box<Host>>,
    /// The number of the last packet, if it may be short, and its bytes on the wire.
    last: Option<Box<(u64, u32)>>,
    /// True if the host is ideal, there is no overhead, and its device never sends it back.
    pub at_once: bool,
    /// The link that is its host's device and tells it of a lack of room, and a packet's bytes.
    pub device: Option<Box<(LinkId, u32)>>,
    overhead: Duration,
    /// When the overhead ends and packets leave; never if no packet waits for it.
    sends_at: Time,
    pub stream: Stream,
    /// The end of time before the first.
    last_departure: Time,
    /// The earliest calendar entry for the pacer, and for everything else.
    pub scheduled: [Time; 2],
    schedule: Schedule,
    /// Nothing if all of the run is measured.
    pub at_warmup: Option<Box<(Counters, Limited)>>,
    pub started: Option<Time>,
    pub series: Option<Box<SenderSeries>>,
    pub server: Option<Box<Server>>,
}

/// The source of requests, and the maker of a controller for each connection that serves them.
pub(crate) struct Server {
    pub requester: Requester,
    pub make: ControllerMaker,
    /// Bytes of a full data packet on the wire.
    pub packet_bytes: u32,
    /// By how many bytes of payload the packets that have arrived in the measured part are fewer
    /// than as many full ones.
    pub shortage: u64,
}

/// What sends.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every source is a connection; a box would cost each event a cache miss"
)]
pub(crate) enum Source {
    Connection(Sender),
    Datagrams(Datagrams),
    Hosted(Box<HostedEnd>),
}

impl Source {
    /// The deadlines of one that is no connection, with an application that acts at `acts_at`.
    #[cold]
    fn deadlines(&self, acts_at: Time) -> [Time; 2] {
        match self {
            Self::Connection(_) => [Time::NEVER; 2],
            Self::Datagrams(source) => [source.next_at, acts_at],
            Self::Hosted(near) => [near.next_turn(), acts_at],
        }
    }

    /// Nobody tells a source of datagrams what was lost, nor perhaps us what a hosted end lost; but
    /// the links know.
    pub fn knows_its_losses(&self) -> bool {
        match self {
            Self::Connection(_) => true,
            Self::Datagrams(_) => false,
            Self::Hosted(near) => near.tell().lost.is_some(),
        }
    }
}

/// What receives.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every sink is a connection; a box would cost each packet a cache miss"
)]
pub(crate) enum Sink {
    Connection(Receiver),
    Datagrams {
        /// Datagrams that have arrived.
        arrived: u64,
    },
    Hosted(Box<HostedEnd>),
}

impl Sink {
    /// Takes a data packet that arrived; returns the acknowledgement to send now, if one is due.
    pub fn on_data(&mut self, now: Time, data: &Segment) -> Option<Segment> {
        if let Self::Connection(receiver) = self {
            return receiver.on_data(now, data);
        }
        if let Self::Datagrams { arrived } = self {
            *arrived += 1;
        }
        None
    }

    /// When the sink must be woken; never if no acknowledgement is pending.
    pub fn wakeup(&self) -> Time {
        if let Self::Connection(receiver) = self { receiver.wakeup() } else { Time::NEVER }
    }

    /// Returns the acknowledgement that is due by `now`, if any; to be called at the wake-up time.
    pub fn on_wakeup(&mut self, now: Time) -> Option<Segment> {
        if let Self::Connection(receiver) = self { receiver.on_wakeup(now) } else { None }
    }

    /// Packets that arrived for the first time; of a hosted end, the bytes that its application
    /// got.
    pub fn arrived(&self) -> u64 {
        match self {
            Self::Connection(receiver) => receiver.arrived(),
            Self::Datagrams { arrived } => *arrived,
            Self::Hosted(far) => far.tell().delivered,
        }
    }

    /// Packets that had arrived before.
    pub fn duplicates(&self) -> u64 {
        if let Self::Connection(receiver) = self { receiver.duplicates() } else { 0 }
    }

    /// The lowest number that has not arrived; `None` for datagrams, whose numbers have no order.
    pub fn next(&self) -> Option<u64> {
        if let Self::Connection(receiver) = self { Some(receiver.next()) } else { None }
    }
}

pub(crate) struct ReceivingEnd {
    pub sink: Sink,
    /// The host, if it is not ideal.
    pub host: Option<Box<Host>>,
    /// When the sink must be woken; never if no acknowledgement is pending.
    pub wakes_at: Time,
    pub scheduled: Time,
    schedule: Schedule,
    pub at_warmup: (u64, u64),
    pub total: Option<u64>,
    pub finished: Option<Time>,
    pub delays: Option<Box<PacketDelays>>,
    pub series: Option<Box<ReceiverSeries>>,
}

/// The machines at the ends of a flow.
struct Machines {
    source: Source,
    sink: Sink,
    application: Application,
    /// The sender's and the receiver's, if they are not ideal; a hosted end keeps its own to
    /// itself.
    hosts: [Option<Box<Host>>; 2],
}

/// The machines of `endpoints`, on hosts that draw from `streams`.
fn machines(endpoints: Endpoints, settings: HostSettings, streams: [Stream; 2]) -> Machines {
    let ours = |streams: [Stream; 2]| streams.map(|stream| Host::new(settings, stream));
    match endpoints {
        Endpoints::Connection { transport, controller, ack_bytes, application, path } => {
            let hosts = ours(streams);
            let (mut sender, receiver) = transport.ends(controller, ack_bytes, path);
            if let [Some(host), _] = &hosts {
                sender.set_ticks(host.ticks());
            }
            let (source, sink) = (Source::Connection(sender), Sink::Connection(receiver));
            Machines { source, sink, application, hosts }
        }
        Endpoints::Datagrams(source) => Machines {
            source: Source::Datagrams(source),
            sink: Sink::Datagrams { arrived: 0 },
            application: Application::Endless,
            hosts: ours(streams),
        },
        Endpoints::Hosted(ends) => {
            let (near, far) = HostedEnd::pair(ends, settings, streams);
            Machines {
                source: Source::Hosted(Box::new(near)),
                sink: Sink::Hosted(Box::new(far)),
                application: Application::Endless,
                hosts: [None, None],
            }
        }
    }
}

/// Delays are recorded if the application limits the sender.
fn delays(endpoints: &Endpoints) -> Option<Box<PacketDelays>> {
    match endpoints {
        Endpoints::Connection { transport, application: Application::Made(making), .. } => {
            let deadline = making.frames.map(|frames| frames.deadline);
            Some(Box::new(PacketDelays::new(transport.loses_data(), deadline)))
        }
        _ => None,
    }
}

impl SendingEnd {
    /// Creates both ends of a flow, with randomness from `stream` and, for the hosts of sender and
    /// receiver, from `hosts`; the counters are read at `warmup`, and `device` is the link that is
    /// the sender's device, if it tells of a lack of room.
    pub fn pair(
        flow: FlowSettings,
        device: Option<LinkId>,
        mut stream: Stream,
        hosts: [Stream; 2],
        warmup: Time,
    ) -> (Self, ReceivingEnd) {
        let sampling = flow.sampled.map(|interval| (Time::ZERO, interval));
        let delays = delays(&flow.endpoints);
        let device = device.zip(flow.endpoints.tcp_bytes());
        let finite = matches!(&flow.endpoints, Endpoints::Hosted(ends) if ends.finite);
        let Machines { source, sink, application, hosts: [host, receiving_host] } =
            machines(flow.endpoints, flow.host, hosts);
        let offers = Offers::from(&application);
        let offering = Offering::new(offers, flow.start, flow.stop, &mut stream);
        let mut receiving = ReceivingEnd {
            sink,
            host: receiving_host,
            wakes_at: Time::NEVER,
            scheduled: Time::NEVER,
            schedule: Schedule::new(sampling, warmup),
            at_warmup: (0, 0),
            total: offering.total().or(finite.then_some(u64::MAX)),
            finished: None,
            delays,
            series: flow.sampled.map(|_| Box::default()),
        };
        let mut sending = Self {
            source,
            offering,
            last: application.last_packet().map(Box::new),
            at_once: host.is_none() && flow.overhead == Duration::ZERO && device.is_none(),
            device: device.map(Box::new),
            host,
            overhead: flow.overhead,
            sends_at: Time::NEVER,
            stream,
            last_departure: Time::NEVER,
            scheduled: [Time::NEVER; 2],
            schedule: Schedule::new(sampling, warmup),
            at_warmup: None,
            started: None,
            series: flow.sampled.map(|_| Box::default()),
            server: None,
        };
        if let Application::Requests(usage, Served { rtt, packet_bytes, make }) = application {
            let requester = Requester::new(usage, rtt, sending.stream.clone(), flow.start);
            receiving.total = Some(0);
            sending.expect(&requester.request);
            let server = Server { requester, make, packet_bytes, shortage: 0 };
            sending.server = Some(Box::new(server));
        }
        (sending, receiving)
    }

    /// The deadline of the pacer or the datagram source, and the earlier one of the application and
    /// the retransmission timer; when the host comes to them, if it is not ideal.
    #[inline]
    pub fn deadlines(&mut self) -> [Time; 2] {
        if !self.at_once {
            return self.late_deadlines();
        }
        let acts_at = self.offering.acts_at;
        match &self.source {
            Source::Connection(sender) => [sender.pace_at(), sender.retransmit_at().min(acts_at)],
            other => other.deadlines(acts_at),
        }
    }

    /// The deadlines of a sender with an overhead, or of one whose host is not ideal. Neither an
    /// overhead nor an application waits for a timer's tick.
    #[cold]
    fn late_deadlines(&mut self) -> [Time; 2] {
        let mut ideal = Host::default();
        let host = self.host.as_deref_mut().unwrap_or(&mut ideal);
        let acts_at = host.wakes(self.offering.acts_at);
        match &self.source {
            Source::Connection(sender) => {
                let soon = if self.sends_at < Time::NEVER {
                    host.wakes(self.sends_at)
                } else {
                    host.expires(sender.pace_at())
                };
                [soon, host.expires(sender.retransmit_at()).min(acts_at)]
            }
            Source::Datagrams(source) => [host.expires(source.next_at), acts_at],
            Source::Hosted(near) => [near.next_turn(), acts_at],
        }
    }

    /// When what leaves at `now` was due; `None` if the sender must wait for its overhead first. A
    /// packet that had to wait for its pacer was due when it would have left if the host had come
    /// in time, see `Host::due`; it leaves now.
    #[cold]
    pub fn due(&mut self, now: Time) -> Option<Time> {
        if self.waits_for_overhead(now) {
            return None;
        }
        let before = self.departed();
        let (Source::Connection(sender), Some(host)) = (&self.source, &mut self.host) else {
            return Some(now);
        };
        host.reach(now);
        let just_before = Time::from_picos(now.picos().saturating_sub(1));
        self.last_departure = before.map_or(just_before, |last| last.max(just_before));
        Some(host.due(sender.pace_at(), now))
    }

    /// The time of what a host that is not ideal comes to at `now`: `None` if no timer has expired.
    /// A source of datagrams keeps its timetable: each is due when it would have left.
    #[cold]
    pub fn comes_to(&mut self, now: Time) -> Option<Time> {
        let host = self.host.as_mut()?;
        host.reach(now);
        match &self.source {
            Source::Connection(sender) => {
                (host.expires(sender.retransmit_at()) <= now).then_some(now)
            }
            Source::Datagrams(source) => Some(source.next_at.min(now)),
            Source::Hosted(_) => Some(now),
        }
    }

    #[inline]
    pub fn next_deadline(&mut self) -> Time {
        let [soon, late] = self.deadlines();
        soon.min(late)
    }

    /// True if a deadline lies before `at`. If packets leave at once, no deadline lies before its
    /// entry in the calendar.
    #[inline]
    pub fn is_due_before(&mut self, at: Time) -> bool {
        let [soon, late] = self.scheduled;
        debug_assert!(!self.at_once || soon.min(late) <= self.next_deadline(), "an entry is late");
        (soon.min(late) < at || !self.at_once) && self.next_deadline() < at
    }

    /// Expects a request that is on its way to the sender.
    pub fn expect(&mut self, request: &Request) {
        self.offering.acts_at = request.arrives;
        self.offering.asked = request.packets;
    }

    /// Begins to answer the request that has arrived, which ends with packet number `end`.
    pub fn serve(&mut self, end: u64) {
        let (Some(server), Source::Connection(sender)) = (&self.server, &mut self.source) else {
            return;
        };
        let request = server.requester.request;
        if request.fresh {
            sender.renew((server.make)());
        }
        let short = (end - 1, server.packet_bytes - request.shortage);
        self.last = (request.shortage > 0).then(|| Box::new(short));
    }

    /// The pool that its transfers come from, if they do.
    pub fn pool(&self) -> Option<usize> {
        self.server.as_ref()?.requester.pool()
    }

    pub fn obey(&mut self, act: Act, now: Time) {
        match (&mut self.source, act) {
            (Source::Connection(sender), Act::Offer(packets)) => sender.offer(packets),
            (Source::Connection(sender), Act::Stop) => sender.stop(),
            (Source::Datagrams(source), Act::Offer(_)) => source.begin(now, &mut self.stream),
            (Source::Datagrams(source), Act::Stop) => source.stop(),
            // Both ends of a hosted flow begin and stop together.
            (Source::Hosted(_), _) => {}
        }
    }

    /// Each time a sender may send, it waits for a time drawn uniformly between 0 and its overhead,
    /// then sends everything it may (ns-2's `overhead_`).
    fn waits_for_overhead(&mut self, now: Time) -> bool {
        let Source::Connection(sender) = &mut self.source else { return false };
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

    /// When a packet that may leave at `now` actually leaves: at least one picosecond after the
    /// packet before it, so that the packets of a burst have an order.
    #[inline]
    pub fn depart(&mut self, now: Time) -> Time {
        self.started.get_or_insert(now);
        let departure = self.departed().map_or(now, |last| now.max(last + Duration::from_picos(1)));
        self.last_departure = departure;
        departure
    }

    /// When the last packet departed.
    fn departed(&self) -> Option<Time> {
        Some(self.last_departure).filter(|last| *last < Time::NEVER)
    }

    /// Makes `segment` as short as the last packet is, if it carries that, or what it says of those
    /// behind it.
    #[inline]
    pub fn shorten(&self, segment: &mut Segment) {
        if let Some((number, bytes)) = self.last.as_deref() {
            segment.shorten(*number, *bytes);
        }
    }

    pub fn counters(&self) -> Counters {
        match &self.source {
            Source::Connection(sender) => *sender.counters(),
            Source::Datagrams(source) => Counters { sent: source.sent, ..Counters::default() },
            Source::Hosted(near) => near.counters(),
        }
    }

    /// The time that it has spent under each limit up to `now`; nothing if nothing limits it.
    pub fn limited(&self, now: Time) -> Limited {
        match &self.source {
            Source::Connection(sender) => sender.limited(now),
            Source::Datagrams(_) | Source::Hosted(_) => Limited::default(),
        }
    }

    #[inline]
    pub fn catch_up(&mut self, now: Time) {
        if self.schedule.is_due(now) {
            self.record_all(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_all(&mut self, now: Time) {
        while let Some((due, at)) = self.schedule.due(now) {
            self.record(due, at);
        }
    }

    fn record(&mut self, due: Due, at: Time) {
        match (due, &mut self.series, &mut self.source) {
            (Due::WarmedUp, _, source) => {
                if let Source::Hosted(near) = source {
                    near.warmed_up();
                }
                if at > Time::ZERO {
                    self.at_warmup = Some(Box::new((self.counters(), self.limited(at))));
                }
            }
            (Due::Sample, Some(series), Source::Hosted(near)) => {
                let told = near.sample();
                series.sample_hosted(&told, near.sent(), near.packet());
            }
            (Due::Sample, Some(series), Source::Connection(sender)) => series.sample(sender),
            (Due::Sample, Some(series), Source::Datagrams(source)) => {
                series.sample_datagrams(source.sent)
            }
            (Due::Sample, None, _) => {}
        }
    }

    /// Handles a deadline of a datagram source at `now`; returns the datagram that leaves, if one
    /// does.
    pub fn wake_datagrams(&mut self, now: Time) -> Option<Segment> {
        let Source::Datagrams(source) = &mut self.source else { return None };
        let number = source.wake(now, &mut self.stream)?;
        let header = Header::Data(DataHeader::default());
        Some(Segment::data(number, now, source.bytes, header))
    }
}

impl ReceivingEnd {
    /// Answers data in its own place, if that is all that there is to do; returns false if it is
    /// not. No timer runs at an end that answers so.
    #[inline]
    pub fn answer_plain(&mut self, at: Time, data: &mut Segment) -> bool {
        // What is due by now is recorded before the packet counts.
        let is_plain = self.delays.is_none() && self.host.is_none() && !self.schedule.is_due(at);
        match &mut self.sink {
            Sink::Connection(receiver) if is_plain => receiver.answer_plain(at, data),
            _ => false,
        }
    }

    /// Brings `wakes_at` up to date, after the sink has been told something at `now`.
    #[inline]
    pub fn set_timer(&mut self, now: Time) {
        self.wakes_at = self.sink.wakeup();
        if self.host.is_some() {
            self.set_late_timer(now);
        }
    }

    #[cold]
    fn set_late_timer(&mut self, now: Time) {
        if let Some(host) = &mut self.host {
            host.reach(now);
            self.wakes_at = host.expires(self.wakes_at);
        }
    }

    #[inline]
    pub fn catch_up(&mut self, now: Time) {
        if self.schedule.is_due(now) {
            self.record_all(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_all(&mut self, now: Time) {
        while let Some((due, _)) = self.schedule.due(now) {
            self.record(due);
        }
    }

    fn record(&mut self, due: Due) {
        match (due, &mut self.series) {
            (Due::WarmedUp, _) => {
                if let Sink::Hosted(far) = &mut self.sink {
                    far.warmed_up();
                }
                self.at_warmup = (self.sink.arrived(), self.sink.duplicates())
            }
            (Due::Sample, Some(series)) => series.sample(&self.sink),
            (Due::Sample, None) => {}
        }
    }
}
