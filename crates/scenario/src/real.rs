//! What a scenario asks of real connections between two network namespaces, or why a kernel cannot
//! do it.

use crate::connection::Connection;
use crate::controller_spec::ControllerSpec;
use crate::flow::{Carrier, CheckedFlow, PacketSize};
use crate::scenario::{Change, Dumbbell, Flow, Of, QuantumField, Scenario};
use crate::{Checked, CheckedLink, ScenarioError};
use narrows_control::Needs;
use narrows_control::registry::Recipe;
use narrows_router::Discipline;
use narrows_settings::Given;
use narrows_sim::{Application, Datagrams, Transmit};
use narrows_transport::Recovery;
use narrows_transport::tcp::RecoveryKind;
use narrows_units::{Bytes, Duration, Stream, Time};

/// A congestion control of this machine's kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RealLaw {
    /// One that the kernel has, by its name there.
    Kernel(String),
    /// One of ours that is to be loaded: its name in the registry, and its settings.
    Ours(&'static str, Given),
    /// One of the program's own, which steers the kernel's connections from outside.
    Steers(SteeringLaw),
}

/// A law that decides once an interval, for connections of a kernel.
#[derive(Clone)]
pub struct SteeringLaw {
    /// The `cc` of its flows.
    pub cc: String,
    /// What makes its controllers.
    pub recipe: Recipe,
}

impl PartialEq for SteeringLaw {
    fn eq(&self, other: &Self) -> bool {
        self.cc == other.cc && self.recipe.is(&other.recipe)
    }
}

impl Eq for SteeringLaw {}

impl std::fmt::Debug for SteeringLaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SteeringLaw").field(&self.cc).finish()
    }
}

/// What a kernel has, and what can be brought into it.
pub struct Available<'a> {
    /// The congestion controls that it has.
    pub loaded: &'a [String],
    /// Laws of ours that can be loaded.
    pub ours: &'a [&'static str],
    /// Why they cannot be; `None` if they can.
    pub why_not: Option<&'a str>,
}

/// What a flow sends.
#[derive(Clone, Debug)]
pub enum RealSends {
    /// Bytes of payload over a connection with this congestion control; `None` for data without an
    /// end.
    Bytes(RealLaw, Option<u64>),
    /// Datagrams from this source, with so many bytes of payload each.
    Datagrams(Datagrams, usize),
}

impl RealSends {
    /// The congestion control; `None` of datagrams.
    pub fn law(&self) -> Option<&RealLaw> {
        match self {
            Self::Bytes(law, _) => Some(law),
            Self::Datagrams(..) => None,
        }
    }
}

/// A connection of this machine's kernel, or datagrams.
#[derive(Clone, Debug)]
pub struct RealFlow {
    /// What it sends.
    pub sends: RealSends,
    /// Whether it asks for ECN.
    pub ecn: bool,
    /// Whether segments leave one by one, instead of in bursts as the kernel likes.
    pub single: bool,
    /// When it asks for the connection.
    pub start: Time,
    /// When its application stops; never if it does not.
    pub stop: Time,
    /// Delay each way, without queues and transmission.
    pub delay: Duration,
}

/// The recovery of kernels.
const SACK: Recovery = Recovery::Tcp(RecoveryKind::Sack);
/// The flows that `scenario` asks for under `seed`, with those congestion controls that are
/// `available`. Fails if a kernel cannot do it, or if the network is not a dumbbell.
pub fn real_flows(
    scenario: &Scenario,
    checked: &Checked,
    seed: u64,
    available: &Available<'_>,
) -> Result<Vec<RealFlow>, ScenarioError> {
    refuse_path(scenario, checked)?;
    let mut flows = Vec::new();
    for (group, flow) in checked.flows.iter().enumerate() {
        let said = Said { fields: &scenario.flows[group], group };
        said.refuse_hosts()?;
        let (sends, single) = (said.sends(flow, available)?, said.single()?);
        for (index, attachment) in flow.attachments.iter().enumerate() {
            // The same starts as those of the simulator.
            let mut random = Stream::new(seed, crate::build::START_STREAMS, flows.len() as u64);
            flows.push(RealFlow {
                sends: sends.clone(),
                ecn: said.fields.ecn == Some(true),
                single,
                start: flow.start(index, random.uniform()),
                stop: flow.stops_at(index),
                delay: attachment.base_rtt.scale(0.5),
            });
        }
    }
    of_all(&flows, |flow| flow.ecn).map_err(|()| {
        let message = "is of a whole host in Linux (net.ipv4.tcp_ecn): say it of all flows or none";
        ScenarioError::new("flows[0].ecn", message)
    })?;
    of_all(&flows, |flow| flow.single).map_err(|()| {
        let message = "is of a whole device in Linux (gso_max_segs): say it of all flows or none";
        ScenarioError::new("flows[0].quantum", message)
    })?;
    Ok(flows)
}

/// Fails if the network or its hosts are such as no lab has.
fn refuse_path(scenario: &Scenario, checked: &Checked) -> Result<(), ScenarioError> {
    let Some(dumbbell) = &scenario.dumbbell else {
        let message = "a lab has one bottleneck; write [dumbbell]";
        return Err(ScenarioError::new("dumbbell", message));
    };
    if scenario.tcp.is_some_and(|tcp| tcp != crate::TcpName::Linux) {
        let message = "a kernel has its own habits; leave it out";
        return Err(ScenarioError::new("tcp", message));
    }
    refuse_bursts(scenario, dumbbell)?;
    let changes_mtu =
        |changes: &Option<Vec<Change>>| changes.iter().flatten().any(|change| change.mtu.is_some());
    let back = dumbbell.reverse.as_ref();
    let refused = [
        (
            back.is_some_and(|back| back.reorder.is_some() || back.mtu.is_some()),
            "dumbbell.reverse",
            "a lab keeps the order of packets and carries any; leave out reorder and mtu",
        ),
        (
            changes_mtu(&dumbbell.changes) || back.is_some_and(|back| changes_mtu(&back.changes)),
            "dumbbell.changes",
            "a lab's path carries any packet; leave out mtu",
        ),
        (
            dumbbell.access_rate.is_some(),
            "dumbbell.access_rate",
            "hosts have no links of their own in a lab; leave it out",
        ),
        (dumbbell.mtu.is_some(), "dumbbell.mtu", "a lab's path carries any packet; leave it out"),
        (
            dumbbell.reorder.is_some(),
            "dumbbell.reorder",
            "a lab keeps the order of packets; leave it out",
        ),
        (scenario.trace.is_some(), "trace", "a lab writes no traces; leave it out"),
    ];
    if let Some((_, place, why)) = refused.into_iter().find(|(is_given, ..)| *is_given) {
        return Err(ScenarioError::new(place, why));
    }
    if let Some((field, why)) = checked.links.iter().find_map(CheckedLink::only_simulated) {
        return Err(ScenarioError::new(format!("dumbbell.{field}"), why));
    }
    match checked.links.first().map(|link| link.queue) {
        Some(Discipline::Xcp(_) | Discipline::Ba(_)) => Err(ScenarioError::new(
            "dumbbell.queue",
            "answers what packets ask, and a kernel's ask nothing; try \"fq-codel\"",
        )),
        Some(Discipline::Gwa(settings)) if settings.backward => Err(ScenarioError::new(
            "dumbbell.queue",
            "backward=true answers what packets ask, and a kernel's ask nothing; leave it out: a \
             lab lowers windows by itself",
        )),
        _ => Ok(()),
    }
}

/// Bytes that a kernel sends as one packet at most, unless segments leave one by one.
const LARGEST_BURST: Bytes = Bytes::new(65_536);

/// Fails if single packets are meant, and a kernel sends several as one.
fn refuse_bursts(scenario: &Scenario, dumbbell: &Dumbbell) -> Result<(), ScenarioError> {
    let singly = |flow: &Flow| flow.quantum == Some(QuantumField::Packets(1));
    if scenario.flows.iter().all(|flow| singly(flow) || flow.datagrams.is_some()) {
        return Ok(());
    }
    let small = |bucket: Option<Bytes>| bucket.is_some_and(|burst| burst < LARGEST_BURST);
    let back = dumbbell.reverse.as_ref();
    let policers = [dumbbell.policer.as_ref(), back.and_then(|back| back.policer.as_ref())];
    let shapers = [dumbbell.shaper.as_ref(), back.and_then(|back| back.shaper.as_ref())];
    let refused = [
        (dumbbell.script.is_some() || back.is_some_and(|back| back.script.is_some()), "script"),
        (policers.into_iter().any(|it| small(it.map(|it| it.burst))), "policer"),
        (shapers.into_iter().any(|it| small(it.map(|it| it.burst))), "shaper"),
    ];
    match refused.into_iter().find(|(is_meant, _)| *is_meant) {
        None => Ok(()),
        Some((_, field)) => {
            let message = "is of single packets, and a kernel's are bursts of up to 64 kB; give \
                           the flows quantum = 1";
            Err(ScenarioError::new(format!("dumbbell.{field}"), message))
        }
    }
}

/// What a group of flows says, as it was written.
struct Said<'a> {
    fields: &'a Flow,
    group: usize,
}

impl Said<'_> {
    fn error(&self, field: &str, message: impl std::fmt::Display) -> ScenarioError {
        ScenarioError::new(format!("flows[{}].{field}", self.group), message)
    }

    /// Fails if it describes a simulated host.
    fn refuse_hosts(&self) -> Result<(), ScenarioError> {
        let of_hosts = |field: &&str| !Flow::counts_for(field, Of::Kernel);
        match self.fields.given().find(of_hosts) {
            None => Ok(()),
            Some(field) => {
                let message =
                    "is of simulated hosts; a kernel's connection cannot do it: leave it out";
                Err(self.error(field, message))
            }
        }
    }

    fn sends(
        &self,
        flow: &CheckedFlow,
        available: &Available<'_>,
    ) -> Result<RealSends, ScenarioError> {
        match &flow.over {
            Carrier::Connection(_) if self.fields.app.is_some() => {
                let message = "is for datagrams in a lab; leave it out, or give a size";
                Err(self.error("app", message))
            }
            Carrier::Connection(connection) => {
                let law = if connection.is_own {
                    steering(&flow.cc, connection, available)
                } else {
                    law(&flow.cc, available)
                };
                let law = law.map_err(|why| self.error("cc", why))?;
                Ok(RealSends::Bytes(law, payload(connection, flow.packet)))
            }
            Carrier::Hosted(_) => {
                let message = "is a stack that lives in virtual time; leave it out of a lab";
                Err(self.error("cc", message))
            }
            Carrier::Datagrams(source) => {
                let payload = flow.packet.bytes.count() - u64::from(Transmit::UDP_HEADERS);
                Ok(RealSends::Datagrams(source.clone(), payload as usize))
            }
        }
    }

    /// Whether segments leave one by one.
    fn single(&self) -> Result<bool, ScenarioError> {
        match self.fields.quantum {
            None => Ok(false),
            Some(QuantumField::Packets(1)) => Ok(true),
            Some(other) => {
                let written = match other {
                    QuantumField::Packets(packets) => packets.to_string(),
                    QuantumField::Auto => "\"auto\"".to_owned(),
                };
                let message = format!("{written} is not 1, and a kernel chooses its bursts itself");
                Err(self.error("quantum", message))
            }
        }
    }
}

/// Fails if `what` is so of some connections, and not of others.
fn of_all(flows: &[RealFlow], what: impl Fn(&RealFlow) -> bool) -> Result<(), ()> {
    let mut so = flows.iter().filter(|flow| flow.sends.law().is_some()).map(what);
    let first = so.next();
    if so.all(|it| Some(it) == first) { Ok(()) } else { Err(()) }
}

fn payload(connection: &Connection, packet: PacketSize) -> Option<u64> {
    match connection.application {
        Application::Packets { count, last_bytes } => {
            let last = u64::from(last_bytes - packet.headers());
            Some((count - 1) * packet.payload() + last)
        }
        _ => None,
    }
}

/// The program's own law of a flow, if it can steer.
fn steering(
    cc: &str,
    connection: &Connection,
    available: &Available<'_>,
) -> Result<RealLaw, String> {
    if let Some(why) = available.why_not {
        return Err(format!("\"{cc}\" steers a program in the kernel, and {why}"));
    }
    let Needs { timer, own_recovery, .. } = connection.needs;
    let lacks = match (timer, own_recovery) {
        (false, _) => {
            "it decides at each acknowledgement; one that steers from outside of a kernel \
                       decides once an interval (on_interval)"
        }
        (true, false) => {
            "it leaves recoveries to its sender, which a law that steers from outside \
                          of a kernel does not have; own_recovery = true leaves them to its window"
        }
        (true, true) => {
            let (cc, recipe) = (cc.to_owned(), connection.recipe.clone());
            return Ok(RealLaw::Steers(SteeringLaw { cc, recipe }));
        }
    };
    Err(format!("\"{cc}\": {lacks}"))
}

/// The law that a flow's `cc` means in a kernel: ours if there is one for it, else its own.
fn law(cc: &str, available: &Available<'_>) -> Result<RealLaw, String> {
    let spec = ControllerSpec::parse(cc, &[])?;
    let name = spec.law.name();
    if spec.recovery != SACK {
        return Err(format!(
            "\"{cc}\": a kernel's recovery is by selective acknowledgements; write {name}"
        ));
    }
    let settings = spec.given.pairs().next();
    if let Some(ours) = available.ours.iter().find(|ours| **ours == name) {
        return match available.why_not {
            None => Ok(RealLaw::Ours(ours, spec.given)),
            Some(why) => Err(format!("\"{cc}\" is to be loaded into the kernel, and {why}")),
        };
    }
    if let Some((setting, _)) = settings {
        return Err(format!("\"{cc}\" is the kernel's own law here; leave out {setting}"));
    }
    let name = match name {
        "bbr1" => "bbr",
        "bbr" => return Err("\"bbr\" is version 3, and Linux's bbr is \"bbr1\"".to_owned()),
        other => other,
    };
    if available.loaded.iter().any(|it| it == name) {
        Ok(RealLaw::Kernel(name.to_owned()))
    } else {
        let (has, ours) = (available.loaded.join(", "), available.ours.join(", "));
        Err(format!(
            "\"{cc}\" is not a law of this kernel; it has: {has}; narrows can load: {ours}"
        ))
    }
}
