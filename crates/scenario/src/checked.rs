//! One parse for every front: what passes here runs, and all of it counts.

use crate::expectations::Expectations;
use crate::flow::{self, Carrier, CheckedFlow, Surroundings};
use crate::link::{CheckedLink, Load};
use crate::memories::CheckedMemory;
use crate::network::{Network, positive};
use crate::own::Own;
use crate::scenario::{Flow, Scenario, Trace};
use crate::stack::Stack;
use crate::warnings::{self, Warning};
use crate::{ScenarioError, effort, memories, memory, super_packets};
use narrows_settings::unknown;
use narrows_units::{Bytes, Duration};

/// A scenario whose every value is in bounds and counts, and whose defaults are filled in.
#[derive(Clone)]
pub struct Checked {
    /// Where all randomness comes from.
    pub seed: u64,
    /// Simulated time.
    pub duration: Duration,
    /// The measured window begins here.
    pub warmup: Duration,
    /// The interval between samples; `None` for none.
    pub sample: Option<Duration>,
    /// The links between routers.
    pub links: Vec<CheckedLink>,
    /// Each group of flows, as in the scenario.
    pub flows: Vec<CheckedFlow>,
    /// What to write down packet by packet.
    pub trace: Option<Trace>,
    /// What runs, but hardly as it was meant.
    pub warnings: Vec<Warning>,
    /// What runs are expected to show.
    pub expectations: Expectations,
    /// What queues of links share.
    pub(crate) memories: Vec<CheckedMemory>,
    load: Load,
    memory: f64,
}

/// Without `duration` a run lasts this long.
const DURATION: Duration = Duration::from_millis(60_000);
/// Without `warmup` this share of the run is not measured.
const WARMUP: f64 = 0.25;
/// Without `sample` there is a sample for each such share of the run.
const SAMPLE: f64 = 0.001;

impl Checked {
    /// The number of flows that are sampled: the first ones of each group, as many of each.
    pub const MOST_SAMPLED: usize = 100;

    /// Checks a scenario. The error names the place, the value and what would be right.
    pub fn new(scenario: Scenario) -> Result<Self, ScenarioError> {
        Self::with_own(scenario, &Own::default())
    }

    /// Checks a scenario whose flows may name what `own` has as well as the registry's laws.
    pub fn with_own(scenario: Scenario, own: &Own) -> Result<Self, ScenarioError> {
        let scenario = scenario.spelled_out();
        let duration = scenario.duration.unwrap_or(DURATION);
        positive("duration", duration, "60s")?;
        let warmup = scenario.warmup.unwrap_or_else(|| duration.scale(WARMUP));
        if warmup >= duration {
            let message = format!(
                "{warmup} is past the end of the run; try less than the duration of {duration}"
            );
            return Err(ScenarioError::new("warmup", message));
        }
        let sample = scenario.sample.unwrap_or_else(|| duration.scale(SAMPLE));
        let sample = (sample > Duration::ZERO).then_some(sample);
        let load = load(&scenario, duration)?;
        let network = Network::lay(&scenario, &load)?;
        let memory = memory::check(&network.links, &load, duration, sample)?;
        let memories = memories::check(&scenario.memories, &network.links, duration)?;
        let flows = check_flows(Surroundings {
            scenario: &scenario,
            duration,
            warmup,
            network: &network,
            load,
            pool: 0,
            own,
        })?;
        packets_fit(&network.links, &flows)?;
        super_packets::check(&network, &flows)?;
        scripts_name_flows(&network.links, load.all)?;
        let trace = check_trace(scenario.trace.clone(), &network.links, &flows)?;
        let warnings = warnings::find(&scenario, &network.links, &flows);
        let (seed, links) = (scenario.seed.unwrap_or(1), network.links);
        let mut checked = Self {
            seed,
            duration,
            warmup,
            sample,
            links,
            flows,
            trace,
            warnings,
            expectations: Expectations::none(),
            memories,
            load,
            memory,
        };
        checked.expectations = Expectations::new(&scenario, &checked, own)?;
        Ok(checked)
    }

    /// Fails if it would run for days; a description of that is as good as any other.
    pub fn ends_soon(&self) -> Result<(), ScenarioError> {
        effort::check(&self.links, &self.flows, self.duration)
    }

    /// Bytes that a run may need.
    pub fn memory(&self) -> f64 {
        self.memory
    }

    /// The number of flows of each group that are sampled, the first ones of it.
    pub fn sampled(&self) -> Vec<usize> {
        let mut sampled = vec![0; self.flows.len()];
        let mut left = Self::MOST_SAMPLED.min(self.flow_count() as usize);
        // What small groups leave, large ones have.
        let mut groups: Vec<usize> = (0..self.flows.len()).collect();
        // A flow of a pool is another connection each time.
        groups.retain(|group| self.flows[*group].arriving.is_none());
        groups.sort_by_key(|group| self.flows[*group].count);
        for (done, group) in groups.iter().enumerate() {
            let share = left.div_ceil(groups.len() - done);
            sampled[*group] = share.min(self.flows[*group].count as usize);
            left -= sampled[*group];
        }
        sampled
    }

    /// The number of flows in all.
    pub fn flow_count(&self) -> u64 {
        self.load.all
    }

    /// The packet size that buffers are counted in: that of the first group of flows.
    pub fn packet(&self) -> Bytes {
        self.load.packet
    }

    /// Packets that the buffer of a link holds; 0 if that is unlimited.
    pub(crate) fn buffer_packets(&self, link: usize) -> u64 {
        self.links[link].buffer_packets(&self.load)
    }

    /// The stacks that others wrote, of each group that has one.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = &dyn Stack> {
        self.flows.iter().filter_map(CheckedFlow::stack)
    }

    /// The RTT of flow number `flow` without queues; panics if there is no such flow.
    pub fn base_rtt(&self, flow: usize) -> Duration {
        let mut all = self.flows.iter().flat_map(|group| &group.attachments);
        all.nth(flow).expect("it is one of the flows").base_rtt
    }

    /// The group of each flow, in order.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &CheckedFlow> {
        self.flows.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize))
    }
}

/// What links are checked for. Fails if nobody sends.
fn load(scenario: &Scenario, duration: Duration) -> Result<Load, ScenarioError> {
    let Some(first) = scenario.flows.first() else {
        let message = "nobody sends; add [[flows]] with cc = \"cubic\"";
        return Err(ScenarioError::new("flows", message));
    };
    let packet = flow::packet_bytes(scenario, first);
    if packet.count() == 0 {
        return Err(ScenarioError::new("packet", "0B is not a packet; try \"1500B\""));
    }
    let count = |flow: &Flow| u64::from(flow::count(flow));
    let all = scenario.flows.iter().map(count).sum();
    // A pool is as many flows as are busy, which nobody knows before.
    let stay = scenario.flows.iter().filter(|flow| flow.arrivals.is_none());
    let flows = stay.map(count).sum::<u64>().max(1);
    Ok(Load { duration, flows, all, packet })
}

fn check_flows(mut around: Surroundings) -> Result<Vec<CheckedFlow>, ScenarioError> {
    let mut first = 0;
    let mut flows: Vec<CheckedFlow> = Vec::new();
    for (number, flow) in around.scenario.flows.iter().enumerate() {
        let checked = CheckedFlow::new(number, first, flow, &around)?;
        around.pool += u32::from(checked.arriving.is_some());
        if !checked.name.is_empty() && flows.iter().any(|other| other.name == checked.name) {
            let message =
                format!("two groups are called \"{}\"; name one differently", checked.name);
            return Err(ScenarioError::new(format!("flows[{number}].name"), message));
        }
        flows.push(checked);
        first += u64::from(flow::count(flow));
    }
    Ok(flows)
}

/// Fails if a line of a script is about a flow that is not there, of `flows` in all.
fn scripts_name_flows(links: &[CheckedLink], flows: u64) -> Result<(), ScenarioError> {
    for link in links {
        let named = link.varying.iter().flat_map(|varying| varying.flows_of_script());
        if let Some((line, flow)) = named.into_iter().find(|(_, flow)| u64::from(*flow) >= flows) {
            let place = format!("links \"{}\".script[{line}].flow", link.name);
            let message =
                format!("there is no flow {flow}; they are numbered from 0 to {}", flows - 1);
            return Err(ScenarioError::new(place, message));
        }
    }
    Ok(())
}

/// Fails if a flow's packets are too large for a link on its way; a stack that others wrote may
/// find out by itself.
fn packets_fit(links: &[CheckedLink], flows: &[CheckedFlow]) -> Result<(), ScenarioError> {
    for (number, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.stack().is_none()) {
        let bytes = flow.packet.bytes;
        let is_too_small =
            |link: &&&CheckedLink| link.mtu.is_some_and(|mtu| bytes.count() > u64::from(mtu));
        let way = warnings::way(flow, links, warnings::Direction::Out);
        if let Some(link) = way.iter().find(is_too_small) {
            let mtu = Bytes::new(u64::from(link.mtu.unwrap_or_default()));
            let message = format!(
                "packets of {bytes} never pass the link \"{}\", whose mtu is {mtu}; try packet = \
                 \"{mtu}\"",
                link.name
            );
            return Err(ScenarioError::new(format!("flows[{number}].packet"), message));
        }
    }
    Ok(())
}

/// The links and flows to trace are there.
fn check_trace(
    trace: Option<Trace>,
    links: &[CheckedLink],
    groups: &[CheckedFlow],
) -> Result<Option<Trace>, ScenarioError> {
    let Some(trace) = trace else { return Ok(None) };
    for (number, name) in trace.links.iter().enumerate() {
        let known = links.iter().map(|link| link.name.as_str());
        if !known.clone().any(|link| link == name) {
            let place = format!("trace.links[{number}]");
            return Err(ScenarioError::new(place, unknown("link", name, known)));
        }
    }
    let members = groups.iter().flat_map(|it| std::iter::repeat_n(it, it.count as usize));
    for (number, flow) in trace.flows.iter().enumerate() {
        let message = match members.clone().nth(*flow as usize) {
            None => {
                let last = members.clone().count() - 1;
                format!("there is no flow {flow}; they are numbered from 0 to {last}")
            }
            Some(CheckedFlow { over: Carrier::Datagrams(_), .. }) => {
                format!("flow {flow} is datagrams, which have no recovery; trace a link they cross")
            }
            Some(CheckedFlow { over: Carrier::Hosted(hosted), cc, .. }) if !hosted.stack.logs() => {
                format!("flow {flow} is {cc}, which does not log itself; trace a link it crosses")
            }
            Some(_) => continue,
        };
        return Err(ScenarioError::new(format!("trace.flows[{number}]"), message));
    }
    Ok(Some(trace))
}
