//! A whole run in real time: two namespaces, the path between them, the flows, and what was seen.

use crate::clock::{Clock, Span};
use crate::connection::Connection;
use crate::frame::Frame;
use crate::laws::{Join, Laws, available, loaded};
use crate::namespace::{Device, MOST_BUFFER, Namespace, SMALL_BUFFER};
use crate::port::Port;
use crate::samples::Samples;
use crate::window::Rooms;
use crate::wire::{Crossed, Seen, Told, Wire};
use narrows_router::Discipline;
use narrows_router::queues::GwaSettings;
use narrows_router::service::Steps;
use narrows_scenario::{
    Checked, CheckedLink, RealFlow, RealSends, Results, Scenario, ScenarioError, assemble,
    real_flows,
};
use narrows_sim::{LinkSettings, Varying, Watch};
use narrows_units::{Duration, Stream, Time};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, ScopedJoinHandle};
use std::{fmt, io};

/// Addresses in the two namespaces, which nobody else sees.
pub(crate) const SENDERS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(crate) const RECEIVERS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The family of the random streams of datagrams.
const DATAGRAM_STREAMS: u64 = 303;
/// Flows that a lab carries at most: each is two threads.
const MOST_FLOWS: usize = 200;
/// A run is to be believed if half of all deliveries are at most this late …
const LATE_MEDIAN: f64 = 100e-6;
/// … 99 % at most this share of the shortest RTT …
const LATE_SHARE: f64 = 0.05;
/// … and stalls took less than this share of the time.
const STALLED: f64 = 0.01;

/// Why there is no result.
#[derive(Debug)]
pub enum LabError {
    /// The scenario asks for something that a kernel cannot do.
    Scenario(ScenarioError),
    /// The machine refused something.
    Machine(io::Error),
    /// It was stopped.
    Stopped,
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(error) => error.fmt(f),
            Self::Machine(error) => {
                write!(
                    f,
                    "this machine cannot run a lab: {error}; narrows doctor says what is missing"
                )
            }
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl From<io::Error> for LabError {
    fn from(error: io::Error) -> Self {
        Self::Machine(error)
    }
}

/// How late the emulator was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lateness {
    /// Quantiles of how late packets were delivered, in seconds.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// How often the machine stood still.
    pub stalls: u64,
    /// For how much of the time, a ratio.
    pub stalled: f64,
    /// Packets of no flow, or that a device would not take.
    pub strange: u64,
}

impl Lateness {
    fn of(ways: &[Seen], run: Duration) -> Self {
        let worst = |share: f64| {
            ways.iter().map(|way| way.late.quantile(share)).max().unwrap_or(0) as f64 * 1e-9
        };
        let stalled: f64 = ways.iter().map(|way| way.stalls.1.seconds()).sum();
        Self {
            p50: worst(0.5),
            p99: worst(0.99),
            p999: worst(0.999),
            stalls: ways.iter().map(|way| way.stalls.0).sum(),
            stalled: stalled / run.seconds() / ways.len() as f64,
            strange: ways.iter().map(|way| way.strange).sum(),
        }
    }

    /// Why the run is not to be believed on a path of `rtt` seconds; `None` if it is.
    pub fn doubt(&self, rtt: f64) -> Option<String> {
        if self.p50 > LATE_MEDIAN {
            Some(format!("half of all packets were {:.0} us late or more", 1e6 * self.p50))
        } else if self.p99 > LATE_SHARE * rtt {
            Some(format!("one packet of a hundred was {:.2} ms late or more", 1e3 * self.p99))
        } else if self.stalled > STALLED {
            Some(format!("the machine stood still for {:.1} % of the time", 100.0 * self.stalled))
        } else {
            None
        }
    }
}

/// A run of real connections.
pub struct Measured {
    /// In the shape of a simulated run's.
    pub results: Results,
    /// How late the emulator was.
    pub lateness: Lateness,
    /// Why it is not to be believed, if it is not.
    pub doubt: Option<String>,
    /// Each packet there and back, as they came, if they were to be written down.
    pub crossed: [Vec<Crossed>; 2],
}

/// Runs `scenario` over this machine's TCP in real time; `watch` is shown the share done, and may
/// stop the run. Threads that call the program's own laws first call `join`. Fails if the scenario
/// asks for what a kernel cannot do, or if the machine lets us make no namespace or no device.
pub fn lab(
    scenario: &Scenario,
    checked: &Checked,
    seed: u64,
    join: &Join,
    watch: impl FnMut(f64) -> ControlFlow<()>,
) -> Result<Measured, LabError> {
    measured(scenario, checked, (seed, false), join, watch)
}

/// The same, and each packet is written down.
pub fn lab_logged(
    scenario: &Scenario,
    checked: &Checked,
    seed: u64,
    watch: impl FnMut(f64) -> ControlFlow<()>,
) -> Result<Measured, LabError> {
    let join: Join = Arc::new(|| ());
    measured(scenario, checked, (seed, true), &join, watch)
}

fn measured(
    scenario: &Scenario,
    checked: &Checked,
    (seed, logs): (u64, bool),
    join: &Join,
    watch: impl FnMut(f64) -> ControlFlow<()>,
) -> Result<Measured, LabError> {
    let loaded = loaded()?;
    let flows = real_flows(scenario, checked, seed, &available(&loaded));
    let flows = flows.map_err(LabError::Scenario)?;
    if flows.len() > MOST_FLOWS {
        let message = format!("{} are more than the {MOST_FLOWS} of a lab", flows.len());
        return Err(LabError::Scenario(ScenarioError::new("flows", message)));
    }
    let Some([there, back]) = checked.links.get(..2).and_then(|it| <&[_; 2]>::try_from(it).ok())
    else {
        let message = "a lab has one bottleneck and a way back";
        return Err(LabError::Scenario(ScenarioError::new("dumbbell", message)));
    };
    let way = |link, way| Wire { logs, ..wire(checked, link, &flows, seed, way) };
    let ways = [way(there, 0), way(back, 1)];
    let laws = Laws::load(&flows, join).map_err(LabError::Scenario)?;
    let is_paced = laws.of_flows().iter().any(|law| law.is_paced);
    let device = Device {
        mtu: checked.packet().count() as i32,
        single: is_paced || flows.iter().any(|flow| flow.single),
        ecn: flows.iter().any(|flow| flow.ecn),
        // A small buffer has a fine window scale.
        buffer: if matches!(there.queue, Discipline::Gwa(_)) { SMALL_BUFFER } else { MOST_BUFFER },
    };
    let senders = Namespace::new("left", SENDERS, device)?;
    let receivers = Namespace::new("right", RECEIVERS, device)?;
    let path = Path {
        checked,
        seed,
        flows: &flows,
        laws: &laws,
        senders: &senders,
        receivers: &receivers,
    };
    let (mut seen, samples) = path.run(ways, watch)?;
    let crossed = [0, 1].map(|way: usize| std::mem::take(&mut seen[way].crossed));
    let lateness = Lateness::of(&seen, checked.duration);
    let rtt = flows.iter().map(|flow| 2.0 * flow.delay.seconds()).fold(f64::INFINITY, f64::min);
    let observed = samples.observed(&seen);
    let doubt = lateness.doubt(rtt);
    let mut results = assemble(checked, seed, observed);
    if let Some(doubt) = &doubt {
        // The first of the warnings that go with a run wherever it goes.
        let rest = if results.warnings.is_empty() { "" } else { "\n" };
        results.warnings = format!("not valid: {doubt}{rest}{}", results.warnings);
    }
    Ok(Measured { results, lateness, doubt, crossed })
}

fn wire(checked: &Checked, link: &CheckedLink, flows: &[RealFlow], seed: u64, way: u64) -> Wire {
    let [from, to] = [checked.warmup, checked.duration].map(|time| Time::ZERO + time);
    let (settings, own) = passed(link, seed ^ way);
    Wire {
        parse: Frame::parse,
        port: Port::new(settings, narrows_sim::Measured { from, to }, seed ^ way),
        delays: flows.iter().map(|flow| flow.delay.saturating_sub(own)).collect(),
        sample: checked.sample.unwrap_or(Duration::ZERO),
        logs: false,
    }
}

/// What the directions tell each other: a GWA router lowers windows for kernels, which ask nothing.
fn told<'a>(checked: &Checked, rooms: &'a Rooms) -> [Told<'a>; 2] {
    match checked.links.first().map(|link| link.queue) {
        Some(Discipline::Gwa(_)) => [Told::Room(rooms), Told::Windows(rooms, checked.packet())],
        _ => [Told::Nothing; 2],
    }
}

/// A link as a lab has it, drawn from `seed`: the delay is the flows', but for what varies of it;
/// and how much of theirs at the start is the link's own.
pub(crate) fn passed(link: &CheckedLink, seed: u64) -> (LinkSettings, Duration) {
    /// The family of the random stream of what is drawn before a run.
    const FAMILY: u64 = 302;
    let queue = match link.queue {
        Discipline::Gwa(settings) => Discipline::Gwa(GwaSettings { rewrite: true, ..settings }),
        other => other,
    };
    let settings = link.settings(0, Watch::Histograms, Stream::new(seed, FAMILY, 0));
    let mut own = Duration::ZERO;
    let varying = settings.varying.as_deref().map(|varying| {
        let least = varying.delays.values().min().unwrap_or_default();
        own = varying.delays.get(Time::ZERO).saturating_sub(least);
        let delays = varying.delays.map(|delay| delay.saturating_sub(least));
        // A burst that a kernel sends as one packet is larger than any, and waits for several
        // opportunities.
        let mtus = Steps::always(u32::MAX);
        Arc::new(Varying { delays, mtus, ..varying.clone() })
    });
    (LinkSettings { queue, delay: Duration::ZERO, varying, ..settings }, own)
}

/// Everything that the threads of a run share.
struct Path<'a> {
    checked: &'a Checked,
    seed: u64,
    flows: &'a [RealFlow],
    laws: &'a Laws,
    senders: &'a Namespace,
    receivers: &'a Namespace,
}

impl Path<'_> {
    /// Runs in real time; returns what both ways saw, and the samples.
    fn run(
        &self,
        [there, back]: [Wire; 2],
        mut watch: impl FnMut(f64) -> ControlFlow<()>,
    ) -> Result<(Vec<Seen>, Samples), LabError> {
        let listeners = self.listen()?;
        let stop = AtomicBool::new(false);
        let end = Time::ZERO + self.checked.duration;
        let span = Span { clock: Clock::start(), end, stop: &stop };
        let connections: Vec<Connection> =
            self.flows.iter().map(|_| Connection::default()).collect();
        let (left, right) = (&self.senders.tun, &self.receivers.tun);
        let rooms = Rooms::new(self.flows.len());
        let told = told(self.checked, &rooms);
        thread::scope(|scope| {
            let ways = [
                scope.spawn(|| there.carry(span, (left, right), told[0], None)),
                scope.spawn(|| back.carry(span, (right, left), told[1], None)),
            ];
            let mut talks: Vec<ScopedJoinHandle<'_, io::Result<()>>> = Vec::new();
            for (number, (flow, listener)) in self.flows.iter().zip(listeners).enumerate() {
                let connection = &connections[number];
                talks.push(scope.spawn(move || self.receive(connection, number, listener, span)));
                talks.push(scope.spawn(move || self.send(connection, number, flow, span)));
            }
            let mut samples = Samples::new(self.checked, self.flows, self.laws.of_flows());
            let stopped = samples.take(&connections, span, &mut watch);
            for talk in talks {
                talk.join().expect("no flow panics")?;
            }
            let seen = ways.map(|way| way.join().expect("no direction panics"));
            let seen = seen.into_iter().collect::<io::Result<Vec<_>>>()?;
            if stopped { Err(LabError::Stopped) } else { Ok((seen, samples)) }
        })
    }

    /// What a flow's receiver does.
    fn receive(
        &self,
        connection: &Connection,
        number: usize,
        listener: Option<TcpListener>,
        span: Span<'_>,
    ) -> io::Result<()> {
        match listener {
            Some(listener) => connection.receive(&listener, &self.flows[number], span),
            None => {
                self.receivers.enter()?;
                connection.receive_datagrams(number, RECEIVERS, span)
            }
        }
    }

    /// What its sender does.
    fn send(
        &self,
        connection: &Connection,
        number: usize,
        flow: &RealFlow,
        span: Span<'_>,
    ) -> io::Result<()> {
        self.senders.enter()?;
        match &flow.sends {
            RealSends::Bytes(..) => {
                connection.send(number, flow, &self.laws.of_flows()[number], RECEIVERS, span)
            }
            RealSends::Datagrams(source, payload) => {
                let stream = Stream::new(self.seed, DATAGRAM_STREAMS, number as u64);
                let source = (source.clone(), *payload);
                connection.send_datagrams(number, flow, source, RECEIVERS, (span, stream))
            }
        }
    }

    /// Listens for all connections, before anybody asks for one.
    fn listen(&self) -> io::Result<Vec<Option<TcpListener>>> {
        thread::scope(|scope| {
            let listening = scope.spawn(|| {
                self.receivers.enter()?;
                let listen = |(number, flow): (usize, &RealFlow)| match flow.sends {
                    RealSends::Bytes(..) => Connection::listen(number, RECEIVERS).map(Some),
                    RealSends::Datagrams(..) => Ok(None),
                };
                self.flows.iter().enumerate().map(listen).collect()
            });
            listening.join().expect("listening does not panic")
        })
    }
}
