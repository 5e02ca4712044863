//! Checks a group of flows: how many there are, what carries them, where and when.
//!
//! Each field is taken by what it counts for; a field that is left counts for nothing, and is an
//! error that says what to do.

use crate::ScenarioError;
use crate::application;
use crate::arrivals::{self, Arriving};
use crate::connection::{self, Connection};
use crate::fields::Fields;
use crate::host;
use crate::hosted::{self, Hosted};
use crate::link::Load;
use crate::network::{Attachment, Network};
use crate::own::Own;
use crate::scenario::{Datagrams, Flow, PacingName, QuantumField, Scenario, TcpName};
use crate::stack::Stack;
use narrows_sim::{Application, Gap, HostSettings, Making, PageSettings, Transmit, Usage};
use narrows_transport::quic;
use narrows_transport::tcp::Habits;
use narrows_units::{Bytes, Duration, Time, text};

/// A group of identical flows, checked.
#[derive(Clone)]
pub struct CheckedFlow {
    /// How many.
    pub count: u32,
    /// Its name; empty if it was given none.
    pub name: String,
    /// Its `cc` as written, or "datagrams".
    pub cc: String,
    /// Its pacing as written; "own" if the law or its transport paces by itself.
    pub pacing: &'static str,
    /// True from right to left.
    pub reverse: bool,
    /// Its packets.
    pub packet: PacketSize,
    /// The hosts at its ends.
    pub(crate) host: HostSettings,
    pub(crate) over: Carrier,
    /// Where each is attached.
    pub(crate) attachments: Vec<Attachment>,
    starts: Starts,
    /// When all of it offers no more.
    pub(crate) stop: Time,
    /// When single flows do, the last first.
    stops: Vec<Duration>,
    /// The transfers that arrive at it, if some do.
    pub(crate) arriving: Option<Arriving>,
}

/// The packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSize {
    /// Bytes of a data packet on the wire.
    pub bytes: Bytes,
    /// Its headers.
    pub kind: Headers,
    /// Bytes of an acknowledgement on the wire.
    pub ack_bytes: u32,
}

/// The headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headers {
    /// IPv4 and TCP, or what takes as many bytes.
    Tcp {
        /// Whether they have RFC 7323's timestamps.
        timestamps: bool,
    },
    /// IPv4, UDP and QUIC.
    Quic,
    /// IPv4 and UDP; what is inside is up to a stack that others wrote.
    Udp,
}

/// What carries a flow's data.
#[derive(Clone)]
pub(crate) enum Carrier {
    Connection(Connection),
    Datagrams(narrows_sim::Datagrams),
    Hosted(Hosted),
}

#[derive(Clone, Debug)]
enum Starts {
    Given(Vec<Duration>),
    Within { first: Duration, spread: Duration },
}

/// What a flow is checked against.
pub(crate) struct Surroundings<'a> {
    pub scenario: &'a Scenario,
    pub duration: Duration,
    pub warmup: Duration,
    pub network: &'a Network,
    pub load: Load,
    /// The number of groups before this one at which transfers arrive.
    pub pool: u32,
    /// Laws besides the registry's, and stacks.
    pub own: &'a Own,
}

/// IPv4 and TCP headers, and TCP's timestamps (RFC 791, RFC 9293, RFC 7323).
const HEADERS: u32 = 40;
const TIMESTAMPS: u32 = 12;
/// Without `start_spread` flows begin within this time.
const START_SPREAD: Duration = Duration::from_millis(100);

impl PacketSize {
    /// Bytes of its headers.
    pub fn headers(self) -> u32 {
        self.kind.bytes()
    }

    /// Bytes of its payload.
    pub fn payload(self) -> u64 {
        self.bytes.count() - u64::from(self.headers())
    }

    /// The size `bytes`. Fails if the headers leave no room for payload, or IP cannot say it.
    pub(crate) fn new(given: &Fields, bytes: Bytes, kind: Headers) -> Result<Self, ScenarioError> {
        let packet = Self { bytes, kind, ack_bytes: kind.bytes() };
        let headers = packet.headers();
        if bytes.count() <= u64::from(headers) || bytes.count() > 65_535 {
            let message =
                format!("{bytes} is not a packet with {headers} bytes of headers; try \"1500B\"");
            return Err(given.error("packet", message));
        }
        Ok(packet)
    }

    /// With acknowledgements as long as the flow says.
    pub(crate) fn acknowledged(mut self, given: &mut Fields) -> Result<Self, ScenarioError> {
        if self.kind == Headers::Quic {
            return Ok(self);
        }
        let Some(bytes) = given.take(|flow| &mut flow.ack_size) else { return Ok(self) };
        if !(u64::from(HEADERS)..=self.bytes.count()).contains(&bytes.count()) {
            let message = format!(
                "{bytes} is not from {HEADERS} bytes, IP's and TCP's headers, to a data packet's \
                 {}; try \"40B\"",
                self.bytes
            );
            return Err(given.error("ack_size", message));
        }
        self.ack_bytes = bytes.count() as u32;
        Ok(self)
    }
}

impl Headers {
    fn bytes(self) -> u32 {
        match self {
            Self::Tcp { timestamps } => HEADERS + if timestamps { TIMESTAMPS } else { 0 },
            Self::Quic => quic::HEADERS,
            Self::Udp => Transmit::UDP_HEADERS,
        }
    }
}

/// Flows over which transfers that arrive at random are carried, unless the scenario says how many.
const POOL: u32 = 1000;

/// The number of flows in a group.
pub(crate) fn count(flow: &Flow) -> u32 {
    flow.count.unwrap_or(if flow.arrivals.is_some() { POOL } else { 1 })
}

/// Bytes of a data packet on the wire.
pub(crate) fn packet_bytes(scenario: &Scenario, flow: &Flow) -> Bytes {
    let is_ns2 = flow.tcp.or(scenario.tcp).is_some_and(TcpName::is_ns2);
    let usual = Bytes::new(if is_ns2 { 1000 } else { 1500 });
    flow.packet.or(scenario.packet).unwrap_or(usual)
}

/// The habits called `name`, Linux's unless given.
pub(crate) fn habits(name: Option<TcpName>) -> Habits {
    match name {
        Some(TcpName::Ns2) => Habits::NS2,
        Some(TcpName::Ns2Of2005) => Habits::NS2_2005,
        Some(TcpName::Ns2Of2000) => Habits::NS2_2000,
        Some(TcpName::Linux5) => Habits::LINUX_5,
        Some(TcpName::L4sTeam) => Habits::L4STEAM,
        Some(TcpName::Linux24) => Habits::LINUX_24,
        Some(TcpName::Linux) | None => Habits::LINUX,
    }
}

impl CheckedFlow {
    /// The first flow's round-trip time without queues and transmission.
    pub fn base_rtt(&self) -> Duration {
        self.attachments.first().map_or(Duration::ZERO, |it| it.base_rtt)
    }

    /// The group `number`, whose first flow is `first` of all.
    pub(crate) fn new(
        number: usize,
        first: u64,
        flow: &Flow,
        around: &Surroundings,
    ) -> Result<Self, ScenarioError> {
        let mut given = Fields::new(flow.clone(), format!("flows[{number}]"));
        given.take(|flow| &mut flow.count);
        let count = count(flow);
        if count == 0 {
            return Err(given.error("count", "must be at least 1"));
        }
        let name = given.take(|flow| &mut flow.name);
        if let Some(message) = name.as_deref().and_then(text::wrong_name) {
            return Err(given.error("name", message));
        }
        let name = name.unwrap_or_default();
        if application::begins_together(flow) {
            arrivals::refuse_starts(&given)?;
        }
        let Times { starts, stop, stops } = times(&mut given, count, around.duration)?;
        let attachments = around.network.attach(&mut given, first, count)?;
        let stack = hosted::named(&given, host::stack(flow), around)?;
        let host = host::take(&mut given, stack.is_some())?;
        let (cc, packet, over) = carried(given, stack, flow, around)?;
        let pacing = pacing(flow, &over);
        let reverse = flow.reverse == Some(true);
        let arriving = None;
        let group = Self {
            count,
            name,
            cc,
            pacing,
            reverse,
            packet,
            host,
            over,
            attachments,
            starts,
            stop,
            stops,
            arriving,
        };
        group.has_whole_users(number)?;
        match &flow.arrivals {
            None => Ok(group),
            Some(written) => {
                let arriving = arrivals::check(&group, written, number, around)?;
                Ok(Self { arriving: Some(arriving), ..group })
            }
        }
    }

    /// Whether each flow has a given amount of data, and then ends.
    pub(crate) fn is_finite(&self) -> bool {
        match &self.over {
            Carrier::Connection(connection) => match &connection.application {
                Application::Packets { .. } => true,
                Application::Offered(offers) => {
                    offers.last().is_some_and(|offer| offer.packets.is_some())
                }
                _ => false,
            },
            Carrier::Hosted(hosted) => hosted.is_finite(),
            Carrier::Datagrams(_) => false,
        }
    }

    /// Whether each flow has data from its start to its end.
    pub(crate) fn is_greedy(&self) -> bool {
        let is_greedy = match &self.over {
            Carrier::Connection(connection) => {
                matches!(connection.application, Application::Endless | Application::Packets { .. })
            }
            Carrier::Hosted(_) => true,
            Carrier::Datagrams(_) => false,
        };
        is_greedy && self.arriving.is_none()
    }

    /// Whether its flows are connections one after the other, each with a controller of its own.
    pub fn renews(&self) -> bool {
        let requests = matches!(self.application(), Some(Application::Requests(..)));
        requests || self.arriving.is_some()
    }

    /// What its users do who have several connections each, and how many, if it has such users.
    pub(crate) fn browses(&self) -> Option<(PageSettings, u32)> {
        match self.application() {
            Some(Application::Requests(Usage::Browses(page, connections), ())) => {
                Some((*page, *connections))
            }
            _ => None,
        }
    }

    /// Fails if the connections are not those of whole users.
    fn has_whole_users(&self, number: usize) -> Result<(), ScenarioError> {
        let each = self.browses().map_or(1, |(_, connections)| connections);
        if self.count.is_multiple_of(each) {
            return Ok(());
        }
        let message = format!(
            "{} flows are not the connections of whole users with {each} each; try count = {}",
            self.count,
            each * self.count.div_ceil(each)
        );
        Err(ScenarioError::new(format!("flows[{number}].web.connections"), message))
    }

    /// What its application sends, over a connection of ours.
    pub(crate) fn application(&self) -> Option<&Application<()>> {
        if let Carrier::Connection(it) = &self.over { Some(&it.application) } else { None }
    }

    /// The stack that others wrote, if its ends are one.
    pub(crate) fn stack(&self) -> Option<&dyn Stack> {
        if let Carrier::Hosted(hosted) = &self.over { Some(&*hosted.stack) } else { None }
    }

    /// By how much the last packet's payload is less than the others', in bytes.
    pub(crate) fn shortage(&self) -> u64 {
        match &self.over {
            Carrier::Connection(Connection {
                application: Application::Packets { last_bytes, .. },
                ..
            }) => self.packet.bytes.count() - u64::from(*last_bytes),
            _ => 0,
        }
    }

    /// When the group's flow `index` begins; `random` is uniform in [0, 1).
    pub(crate) fn start(&self, index: usize, random: f64) -> Time {
        Time::ZERO
            + match &self.starts {
                Starts::Given(starts) => starts[index],
                Starts::Within { first, spread } => *first + spread.scale(random),
            }
    }

    /// When the group's flow `index` offers no more.
    pub(crate) fn stops_at(&self, index: usize) -> Time {
        let own = self.stops.get(self.count as usize - 1 - index);
        own.map_or(self.stop, |stop| self.stop.min(Time::ZERO + *stop))
    }
}

/// When the flows of a group begin and stop.
struct Times {
    starts: Starts,
    stop: Time,
    stops: Vec<Duration>,
}

/// What carries a flow's data: its `cc`, its packets, and the rest.
fn carried(
    mut given: Fields,
    stack: Option<hosted::Chosen>,
    flow: &Flow,
    around: &Surroundings,
) -> Result<(String, PacketSize, Carrier), ScenarioError> {
    let bytes = packet_bytes(around.scenario, flow);
    if stack.is_none() {
        given.take(|flow| &mut flow.packet);
    }
    match (stack, given.take(|flow| &mut flow.datagrams)) {
        (Some(stack), None) => hosted::check(given, stack, around),
        (Some(_), Some(_)) => {
            let message = "are not of a stack that others wrote; leave one of them out";
            Err(given.error("datagrams", message))
        }
        (None, None) => connection::check(given, bytes, around),
        (None, Some(gaps)) => {
            given.drop_default(|flow| &mut flow.cc, connection::USUAL_LAW.to_owned());
            let timestamps = habits(around.scenario.tcp).timestamps;
            let packet = PacketSize::new(&given, bytes, Headers::Tcp { timestamps })?;
            Ok(("datagrams".to_owned(), packet, datagrams(given, gaps, bytes, around)?))
        }
    }
}

/// The pacing as written; "own" if the law or its transport paces by itself.
fn pacing(flow: &Flow, over: &Carrier) -> &'static str {
    match (flow.pacing, over) {
        (Some(PacingName::None) | None, Carrier::Connection(connection))
            if connection.paces_itself =>
        {
            "own"
        }
        (Some(pacing), _) => pacing.as_str(),
        (None, _) => PacingName::None.as_str(),
    }
}

/// When the flows of a group of `count` begin and stop, within a run of `duration`.
fn times(given: &mut Fields, count: u32, duration: Duration) -> Result<Times, ScenarioError> {
    let mut field = "start";
    let together = given.field(application::begins_together);
    let (starts, earliest) = match given.take(|flow| &mut flow.starts) {
        Some(starts) if starts.len() == count as usize => {
            let earliest = starts.iter().min().copied().unwrap_or_default();
            field = "starts";
            given.drop_default(|flow| &mut flow.start, Duration::ZERO);
            given.drop_default(|flow| &mut flow.start_spread, START_SPREAD);
            (Starts::Given(starts), earliest)
        }
        Some(starts) => {
            let message = format!("{} times for {count} flows; give one for each", starts.len());
            return Err(given.error("starts", message));
        }
        None => {
            let first = given.take(|flow| &mut flow.start).unwrap_or_default();
            let usual = if together { Duration::ZERO } else { START_SPREAD };
            let spread = given.take(|flow| &mut flow.start_spread).unwrap_or(usual);
            (Starts::Within { first, spread }, first)
        }
    };
    if earliest >= duration {
        let message = format!("{earliest} is past the end of the run, {duration}");
        return Err(given.error(field, message));
    }
    let stop = given.take(|flow| &mut flow.stop);
    if stop.is_some_and(|stop| stop <= earliest) {
        return Err(given.error(
            "stop",
            format!("{} is not after the start, {earliest}", stop.unwrap_or_default()),
        ));
    }
    let stops = stops(given, (count, duration), &starts, stop)?;
    let stop = stop.map_or(Time::NEVER, |stop| Time::ZERO + stop);
    Ok(Times { starts, stop, stops })
}

/// When single flows of a group of `count` stop, in a run of `duration`; all of them do at `stop`.
fn stops(
    given: &mut Fields,
    (count, duration): (u32, Duration),
    starts: &Starts,
    stop: Option<Duration>,
) -> Result<Vec<Duration>, ScenarioError> {
    if given.field(|flow| application::begins_together(flow) || flow.web.is_some()) {
        return Ok(Vec::new());
    }
    let stops = given.take(|flow| &mut flow.stops).unwrap_or_default();
    if stops.len() > count as usize {
        let message = format!("{} times for {count} flows; give one for each at most", stops.len());
        return Err(given.error("stops", message));
    }
    for (place, own) in stops.iter().enumerate() {
        let start = match starts {
            Starts::Given(starts) => starts[count as usize - 1 - place],
            Starts::Within { first, .. } => *first,
        };
        let message = if *own <= start {
            format!("{own} is not after the start, {start}")
        } else if *own >= duration {
            format!("{own} is past the end of the run, {duration}")
        } else if let Some(stop) = stop.filter(|stop| own > stop) {
            format!("{own} is past {stop}, when all have stopped")
        } else {
            continue;
        };
        return Err(given.error(&format!("stops[{place}]"), message));
    }
    Ok(stops)
}

/// Datagrams of `bytes` on the wire.
fn datagrams(
    mut given: Fields,
    gaps: Datagrams,
    bytes: Bytes,
    around: &Surroundings,
) -> Result<Carrier, ScenarioError> {
    let Some(app) = given.take(|flow| &mut flow.app) else {
        return Err(given.error("app", "datagrams need a rate: app = { rate = \"10Mbps\" }"));
    };
    if app.frames.is_some() || app.deadline.is_some() {
        let message = "are of a connection, whose receiver puts them in order; leave it out";
        return Err(given.error("app.frames", message));
    }
    let mean = app.rate.time_to_send(bytes);
    let gap = match gaps {
        Datagrams::Constant => Gap::Constant(mean),
        Datagrams::Poisson => Gap::Exponential(mean),
    };
    let periods = application::periods(&given, &app)?;
    let silent = application::silences(&given, &app, around.duration)?;
    given.drop_default(|flow| &mut flow.quantum, QuantumField::Packets(1));
    given.drop_default(|flow| &mut flow.pacing, PacingName::None);
    given.nothing_left(|field| {
        let known = why_not(field, around.network);
        known.unwrap_or_else(|| {
            "has no effect for datagrams, which leave at app.rate and are never answered; leave \
             it out"
                .to_owned()
        })
    })?;
    let making = Making { gap, frames: None, periods, silent };
    Ok(Carrier::Datagrams(narrows_sim::Datagrams::made(making, bytes.count() as u32)))
}

/// Why a field has no effect, if the reason does not depend on the transport.
pub(crate) fn why_not(field: &str, network: &Network) -> Option<String> {
    let why = match field {
        "start" | "start_spread" => "starts says it already; leave one of them out",
        "stops" => "its flows do not stop one by one; give stop",
        _ => network.why_not(field)?,
    };
    Some(why.to_owned())
}
