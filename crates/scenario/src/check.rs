//! One validation for every front: what passes here runs.

use crate::controller_spec::ControllerSpec;
use crate::law::OwnLaw;
use crate::queue_spec::QueueSpec;
use crate::scenario::{Flow, PacingName, Scenario, SlowStartName, TcpName};
use crate::topology::{self, Topology};
use crate::{ScenarioError, memory};
use narrows_control::registry::{Birth, MovedBy};
use narrows_control::slow_start::{HyStart, Limited};
use narrows_control::{Gaps, SlowStart};
use narrows_router::registry::Place;
use narrows_router::{Discipline, DropTail};
use narrows_sim::{Application, Gap, Jitter, Loss};
use narrows_transport::tcp::{AckPolicy, Habits};
use narrows_units::{Buffer, Bytes, Duration, Rate, Time};
use std::sync::Arc;

/// A scenario whose every value is in bounds and whose defaults are filled in.
#[derive(Clone)]
pub struct Checked {
    /// As it was described.
    pub scenario: Scenario,
    /// The measured window begins here.
    pub warmup: Duration,
    /// Between samples; `None` for none.
    pub sample: Option<Duration>,
    /// The links between routers.
    pub links: Vec<CheckedLink>,
    /// Each group of flows, as in the scenario.
    pub flows: Vec<CheckedFlow>,
    pub(crate) topology: Topology,
}

/// A link between routers, checked; one direction.
#[derive(Clone)]
pub struct CheckedLink {
    /// By which results and traces call it.
    pub name: String,
    /// From this router …
    pub from: u32,
    /// … to this one.
    pub to: u32,
    /// The transmitter's rate.
    pub rate: Rate,
    /// One-way delay.
    pub delay: Duration,
    /// `None` for unlimited.
    pub buffer: Option<Buffer>,
    /// The RTT that "bdp" means.
    pub base_rtt: Duration,
    /// Where it is described, for errors.
    pub(crate) place: String,
    /// What its queue does.
    pub queue: QueueSpec,
    /// What a marked packet finds before it; `None` where nothing is marked.
    pub mark: Option<Buffer>,
    /// Losses on the wire.
    pub loss: Loss,
    /// Variation of the delay.
    pub jitter: Jitter,
}

impl CheckedLink {
    /// The buffer in all four units: `20p = 20kB = 160us = 0.0016bdp`, of packets of `packet` bytes
    /// and `flows` flows.
    pub fn describe_buffer(&self, flows: u64, packet: Bytes) -> String {
        let Some(buffer) = self.buffer else { return "unlimited".to_owned() };
        let bytes = buffer.bytes(self.rate, self.base_rtt, flows, packet);
        let packets = buffer.packets(self.rate, self.base_rtt, flows, packet);
        let share = bytes.count() as f64 / (self.rate.bytes_per_second() * self.base_rtt.seconds());
        let time = self.rate.time_to_send(bytes);
        format!("{packets}p = {bytes} = {time} = {}", Buffer::Bdp(share))
    }
}

/// A group of flows, checked.
#[derive(Clone)]
pub struct CheckedFlow {
    /// As it was described.
    pub flow: Flow,
    /// Law, settings, recovery.
    pub spec: ControllerSpec,
    /// Everything of TCP but the law.
    pub habits: Arc<Habits>,
    /// Bytes of a data packet on the wire.
    pub packet: Bytes,
    /// Bytes of it that are headers; an acknowledgement has as many.
    pub headers: u32,
    /// What it sends.
    pub application: Application,
    pub(crate) slow_start: SlowStart,
    /// The receiver's window in packets; infinite where it is no limit.
    pub(crate) receive_window: f64,
}

impl CheckedFlow {
    /// Bytes of payload in a packet.
    pub fn payload(&self) -> u64 {
        self.packet.count() - u64::from(self.headers)
    }

    pub(crate) fn birth(&self, seed: u64) -> Birth {
        Birth {
            parameters: self.spec.parameters.clone(),
            slow_start: self.slow_start.clone(),
            initial_window: self.habits.initial_window,
            initial_ssthresh: self.flow.ssthresh.unwrap_or(f64::INFINITY),
            packet_bytes: self.packet.count() as u32,
            receive_window: self.receive_window,
            seed,
        }
    }

    pub(crate) fn pacing(&self) -> Option<Gaps> {
        match self.flow.pacing {
            PacingName::None => None,
            PacingName::Even => Some(Gaps::Even),
            PacingName::Exponential => Some(Gaps::Exponential),
        }
    }
}

/// IPv4 and TCP headers, and TCP's timestamps (RFC 791, RFC 9293, RFC 7323).
const HEADERS: u32 = 40;
const TIMESTAMPS: u32 = 12;

impl Checked {
    /// Flows that are sampled: the first so many.
    pub const MOST_SAMPLED: usize = 100;

    /// Checks a scenario. The error names the place, the value and what would be right.
    pub fn new(scenario: Scenario) -> Result<Self, ScenarioError> {
        Self::with_own_laws(scenario, &[])
    }

    /// Checks a scenario whose flows may name laws of `own` besides the registry's.
    pub fn with_own_laws(
        scenario: Scenario,
        own: &[Arc<dyn OwnLaw>],
    ) -> Result<Self, ScenarioError> {
        positive("duration", scenario.duration, "60s")?;
        let warmup = scenario.warmup.unwrap_or_else(|| scenario.duration.scale(0.25));
        if warmup >= scenario.duration {
            let message = format!(
                "{warmup} is past the end of the run; try less than the duration of {}",
                scenario.duration
            );
            return Err(ScenarioError::new("warmup", message));
        }
        let sample = scenario.sample.unwrap_or_else(|| scenario.duration.scale(0.001));
        let sample = (sample > Duration::ZERO).then_some(sample);
        let (links, topology) = topology::lay(&scenario)?;
        if scenario.flows.is_empty() {
            return Err(ScenarioError::new(
                "flows",
                "nobody sends; add [[flows]] with cc = \"cubic\"",
            ));
        }
        let check = |(number, flow)| check_flow(&scenario, number, flow, own);
        let flows = scenario.flows.iter().enumerate().map(check).collect::<Result<Vec<_>, _>>()?;
        let mut checked = Self { warmup, sample, links, flows, topology, scenario };
        checked.size_windows();
        memory::check(&checked)?;
        checked.check_queues()?;
        checked.check_trace()?;
        checked.place_flows()?;
        Ok(checked)
    }

    /// Flows in all.
    pub fn flow_count(&self) -> u64 {
        self.flows.iter().map(|group| u64::from(group.flow.count)).sum()
    }

    /// The packet size that buffers are counted in: that of the first group of flows.
    pub fn packet(&self) -> Bytes {
        self.flows[0].packet
    }

    /// Receivers' windows in packets, of the first link where they are given in its terms.
    fn size_windows(&mut self) {
        let (flows, link) = (self.flow_count(), self.links[0].clone());
        for group in &mut self.flows {
            let packets = |window: Buffer| {
                window.packets(link.rate, link.base_rtt, flows, group.packet) as f64
            };
            group.receive_window = group.flow.max_window.map_or(f64::INFINITY, packets);
        }
    }

    /// A link's limit and discipline; hashes are seeded with `seed`.
    pub(crate) fn queue(
        &self,
        link: &CheckedLink,
        seed: u64,
    ) -> Result<(DropTail, Discipline), ScenarioError> {
        let (flows, packet) = (self.flow_count(), self.packet());
        let limit = match link.buffer {
            None => DropTail::Unlimited,
            Some(buffer) if buffer.counts_bytes() => {
                DropTail::Bytes(buffer.bytes(link.rate, link.base_rtt, flows, packet).count())
            }
            Some(buffer) => {
                DropTail::Packets(buffer.packets(link.rate, link.base_rtt, flows, packet))
            }
        };
        if let Some(mark) = link.mark {
            return Ok((
                limit,
                Discipline::MarkFrom(mark.packets(link.rate, link.base_rtt, flows, packet)),
            ));
        }
        let built = link.queue.build(Place { limit, packet: packet.count(), seed });
        Ok((
            limit,
            built.map_err(|error| ScenarioError::new(format!("{}.queue", link.place), error))?,
        ))
    }

    fn check_queues(&self) -> Result<(), ScenarioError> {
        self.links.iter().try_for_each(|link| self.queue(link, 0).map(drop))
    }

    /// Each flow's ends exist and are connected, both ways.
    fn place_flows(&self) -> Result<(), ScenarioError> {
        for (number, group) in self.flows.iter().enumerate() {
            let Some(place) =
                topology::place(&self.topology, number, 0, &group.flow)?.first().copied()
            else {
                continue;
            };
            for (from, to) in [(place.from, place.to), (place.to, place.from)] {
                if !topology::reachable(&self.links, from).contains(&to) {
                    let message = format!(
                        "no path from \"{}\" to \"{}\"; add a link",
                        self.node_name(from),
                        self.node_name(to)
                    );
                    return Err(ScenarioError::new(format!("flows[{number}]"), message));
                }
            }
        }
        Ok(())
    }

    fn node_name(&self, node: u32) -> String {
        match &self.topology {
            Topology::Nodes(nodes) => nodes[node as usize].clone(),
            Topology::Hosts { .. } => format!("router {node}"),
        }
    }

    fn check_trace(&self) -> Result<(), ScenarioError> {
        let Some(trace) = &self.scenario.trace else { return Ok(()) };
        for (number, name) in trace.links.iter().enumerate() {
            let known = self.links.iter().map(|link| link.name.as_str());
            if !known.clone().any(|link| link == name) {
                return Err(ScenarioError::new(
                    format!("trace.links[{number}]"),
                    narrows_control::registry::unknown("link", name, known),
                ));
            }
        }
        for (number, flow) in trace.flows.iter().enumerate() {
            if u64::from(*flow) >= self.flow_count() {
                let message = format!(
                    "there is no flow {flow}; they are numbered from 0 to {}",
                    self.flow_count() - 1
                );
                return Err(ScenarioError::new(format!("trace.flows[{number}]"), message));
            }
        }
        Ok(())
    }
}

pub(crate) fn positive(place: &str, value: Duration, example: &str) -> Result<(), ScenarioError> {
    if value == Duration::ZERO {
        Err(ScenarioError::new(place, format!("must be more than nothing; try \"{example}\"")))
    } else {
        Ok(())
    }
}

fn check_flow(
    scenario: &Scenario,
    number: usize,
    flow: &Flow,
    own: &[Arc<dyn OwnLaw>],
) -> Result<CheckedFlow, ScenarioError> {
    let at = |field: &str| format!("flows[{number}].{field}");
    let spec = ControllerSpec::parse(&flow.cc, own)
        .map_err(|error| ScenarioError::new(at("cc"), error))?;
    let tcp = flow.tcp.unwrap_or(scenario.tcp);
    let habits = habits(flow, tcp);
    let packet = packet_size(scenario, flow, tcp);
    let headers = HEADERS + if habits.timestamps { TIMESTAMPS } else { 0 };
    if packet.count() <= u64::from(headers) || packet.count() > 65_535 {
        return Err(ScenarioError::new(
            at("packet"),
            format!("{packet} is no packet with {headers} bytes of headers; try \"1500B\""),
        ));
    }
    if flow.count == 0 {
        return Err(ScenarioError::new(at("count"), "must be at least 1"));
    }
    if flow.quantum == 0 {
        return Err(ScenarioError::new(at("quantum"), "must be at least 1 packet; 1 means none"));
    }
    if flow.ack_every == Some(0) {
        return Err(ScenarioError::new(at("ack_every"), "must be at least 1 packet"));
    }
    if !(habits.initial_window >= 1.0 && habits.initial_window.is_finite()) {
        return Err(ScenarioError::new(
            at("initial_window"),
            format!("{} packets; try 10", habits.initial_window),
        ));
    }
    if flow.rate_halving.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
        return Err(ScenarioError::new(
            at("rate_halving"),
            "a share of the threshold, above 0 and at most 1; try 0.5",
        ));
    }
    if flow.start >= scenario.duration {
        let message = format!("{} is past the end of the run, {}", flow.start, scenario.duration);
        return Err(ScenarioError::new(at("start"), message));
    }
    if flow.stop.is_some_and(|stop| stop <= flow.start) {
        return Err(ScenarioError::new(
            at("stop"),
            format!("must come after the start, {}", flow.start),
        ));
    }
    if !flow.starts.is_empty() && flow.starts.len() != flow.count as usize {
        let message =
            format!("{} times for {} flows; give one for each", flow.starts.len(), flow.count);
        return Err(ScenarioError::new(at("starts"), message));
    }
    check_transport(number, flow, &spec)?;
    let slow_start = slow_start(number, flow, tcp, &spec)?;
    let payload = packet.count() - u64::from(headers);
    let application = application(number, flow, payload)?;
    if flow.ssthresh.is_some_and(|packets| packets.is_nan() || packets < 2.0) {
        return Err(ScenarioError::new(at("ssthresh"), "must be at least 2 packets; try 64"));
    }
    let habits = Arc::new(habits);
    let receive_window = f64::INFINITY;
    let checked = CheckedFlow {
        flow: flow.clone(),
        spec,
        habits,
        packet,
        headers,
        application,
        slow_start,
        receive_window,
    };
    checked
        .spec
        .law
        .build(&checked.birth(0))
        .map_err(|error| ScenarioError::new(at("cc"), format!("\"{}\": {error}", flow.cc)))?;
    Ok(checked)
}

/// What only one of the transports can do.
fn check_transport(number: usize, flow: &Flow, spec: &ControllerSpec) -> Result<(), ScenarioError> {
    let at = |field: &str| format!("flows[{number}].{field}");
    let each_loss = spec.law.moved_by() == MovedBy::EachLoss;
    let tcps = [
        ("quantum", flow.quantum > 1),
        ("ack_every", flow.ack_every.is_some()),
        ("ack_delay", flow.ack_delay.is_some()),
        ("max_window", flow.max_window.is_some()),
        ("ecn", flow.ecn),
    ];
    match tcps.iter().find(|(_, given)| each_loss && *given) {
        Some((field, _)) => Err(ScenarioError::new(
            at(field),
            format!(
                "is TCP's; {} paces single packets, answers each, and has neither window limit nor marks",
                spec.law.name()
            ),
        )),
        None if !each_loss && !flow.reliable => Err(ScenarioError::new(
            at("reliable"),
            format!("false is for etcp and etcp-rate; {} runs over TCP", spec.law.name()),
        )),
        None => Ok(()),
    }
}

fn habits(flow: &Flow, tcp: TcpName) -> Habits {
    let mut habits = match tcp {
        TcpName::Ns2 => Habits::NS2,
        TcpName::Linux => Habits::LINUX,
    };
    habits.initial_window = flow.initial_window.unwrap_or(habits.initial_window);
    habits.timestamps = flow.timestamps.unwrap_or(habits.timestamps);
    habits.prr = flow.prr.unwrap_or(habits.prr);
    habits.rate_halving = flow.rate_halving;
    habits.halving_stalls = flow.overhead > Duration::ZERO;
    habits.acks = match (flow.ack_every, flow.ack_delay) {
        (None, None) => habits.acks,
        (Some(every), delay) => {
            AckPolicy { every, delay: delay.unwrap_or(Duration::from_millis(40)), quick: 0 }
        }
        (None, Some(delay)) => AckPolicy { every: u32::MAX, delay, quick: 0 },
    };
    habits
}

fn packet_size(scenario: &Scenario, flow: &Flow, tcp: TcpName) -> Bytes {
    let usual = match tcp {
        TcpName::Ns2 => Bytes::new(1000),
        TcpName::Linux => Bytes::new(1500),
    };
    flow.packet.or(scenario.packet).unwrap_or(usual)
}

fn slow_start(
    number: usize,
    flow: &Flow,
    tcp: TcpName,
    spec: &ControllerSpec,
) -> Result<SlowStart, ScenarioError> {
    let place = format!("flows[{number}].max_ssthresh");
    let max_ssthresh = flow.max_ssthresh.filter(|packets| *packets != 0.0);
    if max_ssthresh.is_some_and(|packets| packets.is_nan() || packets < 2.0) {
        return Err(ScenarioError::new(
            place,
            format!(
                "{} packets; try 100, or 0 for standard slow start",
                max_ssthresh.unwrap_or(0.0)
            ),
        ));
    }
    let usual = match (max_ssthresh, tcp) {
        (Some(_), _) => SlowStartName::Limited,
        (None, TcpName::Linux) if spec.law.name() == "cubic" => SlowStartName::HyStart,
        _ => SlowStartName::Standard,
    };
    Ok(match flow.slow_start.unwrap_or(usual) {
        SlowStartName::Standard => SlowStart::Standard,
        SlowStartName::Limited => SlowStart::Limited(Limited::new(max_ssthresh.unwrap_or(100.0))),
        SlowStartName::HyStart => SlowStart::HyStart(HyStart::new(flow.pacing != PacingName::None)),
    })
}

fn application(number: usize, flow: &Flow, payload: u64) -> Result<Application, ScenarioError> {
    let at = |field: &str| format!("flows[{number}].{field}");
    let kinds = [
        ("web", flow.web.is_some()),
        ("files", flow.files.is_some()),
        ("telnet", flow.telnet.is_some()),
        ("size", flow.size.is_some()),
        ("app_rate", flow.app_rate.is_some() && flow.datagrams.is_none()),
        ("datagrams", flow.datagrams.is_some()),
    ];
    let given: Vec<&str> =
        kinds.iter().filter(|(_, given)| *given).map(|(kind, _)| *kind).collect();
    if let [first, second, ..] = given[..] {
        return Err(ScenarioError::new(
            at(second),
            format!("a flow sends one kind of data, and has {first} already"),
        ));
    }
    if let Some(files) = &flow.files {
        if !(files.mean >= 1.0 && files.mean <= 1e9 && files.shape > 1.0 && files.shape <= 100.0) {
            let message = format!(
                "mean {} packets, shape {}; try mean = 30, shape = 1.35",
                files.mean, files.shape
            );
            return Err(ScenarioError::new(at("files"), message));
        }
        return Ok(Application::Web);
    }
    if let Some(mean) = flow.telnet {
        positive(&at("telnet"), mean, "100ms")?;
        return Ok(Application::Every(Gap::Exponential(mean)));
    }
    if let Some(web) = &flow.web {
        if !(web.size_factor > 0.0 && web.size_factor <= 1e6) {
            return Err(ScenarioError::new(
                at("web.size_factor"),
                format!("{} times; try 15", web.size_factor),
            ));
        }
        return Ok(Application::Web);
    }
    match (flow.datagrams, flow.on, flow.off) {
        (_, None, None) => {}
        (None, ..) => {
            return Err(ScenarioError::new(
                at("on"),
                "on and off are for datagrams; add datagrams = \"constant\"",
            ));
        }
        (Some(_), Some(on), Some(off)) if on > Duration::ZERO && off > Duration::ZERO => {}
        (Some(_), ..) => {
            return Err(ScenarioError::new(
                at("on"),
                "on and off go together, both longer than nothing, like \"5s\"",
            ));
        }
    }
    match (flow.datagrams, flow.size, flow.app_rate) {
        (Some(_), _, None) => {
            Err(ScenarioError::new(at("app_rate"), "datagrams need a rate, like \"10Mbps\""))
        }
        (None, Some(size), None) if size.count() == 0 => {
            Err(ScenarioError::new(at("size"), "must be more than nothing; try \"1MB\""))
        }
        (None, Some(size), None) => Ok(Application::Packets(size.count().div_ceil(payload))),
        (None, None, Some(rate)) => {
            Ok(Application::Every(Gap::Constant(rate.time_to_send(Bytes::new(payload)))))
        }
        _ => Ok(Application::Endless),
    }
}

impl CheckedFlow {
    /// When this group's flow `index` begins, where `random` is uniform in [0, 1).
    pub(crate) fn start(&self, index: usize, random: f64) -> Time {
        let spread = self.flow.start + self.flow.start_spread.scale(random);
        Time::ZERO + self.flow.starts.get(index).copied().unwrap_or(spread)
    }
}
