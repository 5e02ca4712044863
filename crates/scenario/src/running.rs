//! A run that is looked at and changed while it goes: what happens to it is written into its
//! scenario, which makes the same run from the start.

use crate::build;
use crate::scenario::{Change, Flow};
use crate::traces::Traces;
use crate::{Checked, Scenario, ScenarioError};
use narrows_router::{Discipline, Limit};
use narrows_sim::{Ahead, Glimpse, LinkSettings, Network, RunSettings, Simulation, Tap, Varying};
use narrows_units::{Duration, Time};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A run under way.
///
/// # Examples
///
/// ```
/// use narrows_scenario::{Running, Scenario};
/// use narrows_units::{Duration, Time};
///
/// let text = "[dumbbell]\nrate = \"10Mbps\"\nrtt = \"20ms\"\nbuffer = \"5p\"\n[[flows]]\n";
/// let mut running = Running::new(Scenario::from_toml(text)?, Duration::from_millis(20))?;
/// running.run_until(Time::ZERO + Duration::from_millis(1000));
/// let more = serde_json::from_str("{\"at\": \"0s\", \"buffer\": \"50p\"}").expect("a change");
/// running.change("bottleneck", more)?;
/// assert!(running.scenario().to_toml().contains("at = \"1.000001s\""));
/// # Ok::<(), narrows_scenario::ScenarioError>(())
/// ```
pub struct Running {
    scenario: Scenario,
    checked: Checked,
    simulation: Simulation,
    /// The interval between moments.
    row: Duration,
    /// When the next is due.
    due: Time,
    moments: Vec<Moment>,
    /// The flow whose law is asked for its own quantities.
    watched: Option<usize>,
    /// What each flow had counted at the last moment.
    before: Vec<Glimpse>,
}

/// What has happened since the moment before, and what is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// When.
    pub at: Time,
    /// Each group of flows.
    pub groups: Vec<GroupMoment>,
    /// The first flows of each group, at most [`Checked::MOST_SAMPLED`] in all.
    pub flows: Vec<FlowMoment>,
    /// Each link between routers.
    pub links: Vec<LinkMoment>,
    /// What the law of the watched flow shows of itself, by name.
    pub law: Vec<(&'static str, f64)>,
}

/// A flow at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowMoment {
    /// Its window in packets; NaN if it has none.
    pub window: f64,
    /// Its smoothed RTT in seconds; NaN before the first sample.
    pub rtt: f64,
    /// Packets that have arrived since the moment before, repeated ones included.
    pub delivered: u64,
}

/// A group of flows at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupMoment {
    /// Packets that have arrived since the moment before, repeated ones included.
    pub delivered: u64,
    /// Those of them that had not arrived before.
    pub fresh: u64,
    /// Packets that its senders have sent since then.
    pub sent: u64,
    /// Packets that its senders have taken for lost since then.
    pub lost: u64,
    /// Mean, least and largest window in packets of those that have begun; NaN if none has.
    pub window: [f64; 3],
    /// Their mean smoothed RTT in seconds.
    pub rtt: f64,
}

/// A link at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkMoment {
    /// Packets in its queue, the one in transmission included.
    pub queue: u64,
    /// Packets that have arrived since the moment before.
    pub arrivals: u64,
    /// Those that were dropped.
    pub drops: u64,
    /// Those that were marked.
    pub marks: u64,
    /// Bytes that have left.
    pub departed: u64,
    /// Its rate in bit/s, without what is drawn.
    pub rate: u64,
    /// Packets that its queue holds, of the first group's; `None` if it is unlimited.
    pub limit: Option<u64>,
}

/// The first instant of a whole microsecond after `time`: it can be read and written.
fn just_after(time: Time) -> Duration {
    const MICRO: u64 = 1_000_000;
    Duration::from_picos((time.picos() / MICRO + 1) * MICRO)
}

impl Running {
    /// Begins a run that is looked at every `row`. Fails if the scenario is not right, or has what
    /// cannot be changed while it runs.
    pub fn new(scenario: Scenario, row: Duration) -> Result<Self, ScenarioError> {
        let checked = Checked::new(scenario.clone())?;
        if checked.stacks().next().is_some() {
            let message = "a stack that others wrote runs from start to end; use narrows run";
            return Err(ScenarioError::new("flows", message));
        }
        if row == Duration::ZERO {
            return Err(ScenarioError::new("row", "0s is no interval; try \"20ms\""));
        }
        let Checked { seed, duration, warmup, .. } = checked;
        let settings = RunSettings { seed, duration, warmup, ahead: Ahead::Plain };
        let network = network(&checked, row)?;
        let simulation = Simulation::new(network, settings).map_err(not_connected)?;
        let (due, before) = (Time::ZERO + row, Vec::new());
        let (moments, watched) = (Vec::new(), None);
        Ok(Self { scenario, checked, simulation, row, due, moments, watched, before })
    }

    /// Runs to `end`, or to the end of the run, and notes each moment on the way.
    pub fn run_until(&mut self, end: Time) {
        let end = end.min(Time::ZERO + self.checked.duration);
        while self.due <= end {
            self.go(self.due);
            self.note();
            self.due += self.row;
        }
        self.go(end);
    }

    fn go(&mut self, end: Time) {
        // Nobody stops it; the first transfer that finds no flow ends it all the same.
        let _ = self.simulation.run_until(end, |_| ControlFlow::Continue(()));
    }

    /// The time that has been reached.
    pub fn now(&self) -> Time {
        self.simulation.now()
    }

    /// Data packets that have reached their receivers in the whole run.
    pub fn delivered(&self) -> u64 {
        self.simulation.delivered()
    }

    /// The moments that have not been taken yet.
    pub fn take_moments(&mut self) -> Vec<Moment> {
        std::mem::take(&mut self.moments)
    }

    /// Asks the law of a flow for its own quantities at each moment from now on; of none if there
    /// is no flow of that number.
    pub fn watch(&mut self, flow: usize) {
        self.watched = (flow < self.checked.flow_count() as usize).then_some(flow);
    }

    /// Shows each packet that crosses a link between routers to `tap`.
    pub fn set_tap(&mut self, tap: Box<dyn Tap>) {
        self.simulation.set_tap((0..self.checked.links.len() as u32).collect(), tap);
    }

    /// The scenario that makes the same run, as far as it has come.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The same, checked.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// The link called `link` changes as `change` says, as soon as nothing has been decided for it;
    /// returns from when on, which is written in place of `change.at`. Fails if the file would be
    /// wrong, or if such a change is not exact.
    pub fn change(&mut self, link: &str, change: Change) -> Result<Duration, ScenarioError> {
        self.goes_on()?;
        let leaves = Change { at: change.at, buffer: change.buffer, ..Change::nothing(change.at) };
        let since = if change == leaves { self.now() } else { self.decided_until() };
        let mut scenario = self.scenario.clone();
        let at = scenario.change(link, change, just_after(since), self.now())?;
        let next = Checked::new(scenario.clone())?;
        self.is_exact(&next)?;
        let network = network(&next, self.row)?;
        for (number, (.., settings)) in network.links.iter().take(next.links.len()).enumerate() {
            self.simulation.change(number as u32, settings);
        }
        (self.scenario, self.checked) = (scenario, next);
        Ok(at)
    }

    /// Flows join as a group after those that there are; returns from when on they begin, which is
    /// written in place of `group.start`. Fails if the file would be wrong, or if those that are
    /// there would have been other flows.
    pub fn join(&mut self, group: Flow) -> Result<Duration, ScenarioError> {
        self.goes_on()?;
        let at = just_after(self.now());
        let mut scenario = self.scenario.clone();
        scenario.flows.push(Flow { start: Some(at), starts: None, ..group });
        let next = Checked::new(scenario.clone())?;
        self.is_exact(&next)?;
        let pools = |checked: &Checked| checked.flows.iter().any(|flow| flow.arriving.is_some());
        if pools(&next) {
            let message = "nobody joins while transfers arrive; give all flows at the start";
            return Err(ScenarioError::new("flows", message));
        }
        self.simulation.join(network(&next, self.row)?).map_err(not_connected)?;
        (self.scenario, self.checked) = (scenario, next);
        Ok(at)
    }

    /// The flows of group number `group` offer nothing more; returns from when on, which is written
    /// as the group's `stop`. Fails if there is no such group, or if it has stopped.
    pub fn leave(&mut self, group: usize) -> Result<Duration, ScenarioError> {
        self.goes_on()?;
        let at = just_after(self.now());
        let wrong = |message: &str| ScenarioError::new(format!("flows[{group}].stop"), message);
        let mut scenario = self.scenario.clone();
        let Some(flow) = scenario.flows.get_mut(group) else {
            return Err(wrong("there is no such group"));
        };
        if flow.stop.is_some_and(|stop| stop <= at) {
            return Err(wrong("the group has stopped"));
        }
        flow.stop = Some(at);
        let next = Checked::new(scenario.clone())?;
        if next.flows[group].arriving.is_some() {
            return Err(wrong("transfers arrive to the end; give stop at the start"));
        }
        let first: u32 = next.flows[..group].iter().map(|group| group.count).sum();
        for flow in first..first + next.flows[group].count {
            self.simulation.leave(flow, Time::ZERO + at);
        }
        (self.scenario, self.checked) = (scenario, next);
        Ok(at)
    }

    /// Fails if the run is over.
    fn goes_on(&self) -> Result<(), ScenarioError> {
        let duration = self.checked.duration;
        if just_after(self.now()) < duration {
            return Ok(());
        }
        let message = format!("the run of {duration} is over; give more, and begin anew");
        Err(ScenarioError::new("duration", message))
    }

    /// From when on nothing has been decided of what leaves any link.
    fn decided_until(&self) -> Time {
        let links = 0..self.checked.links.len() as u32;
        let until = links.map(|link| self.simulation.decided_until(link)).max();
        until.unwrap_or(self.now())
    }

    /// Fails unless what is there has been as `next` has it.
    fn is_exact(&self, next: &Checked) -> Result<(), ScenarioError> {
        let wrong = |place: &str, message: &str| Err(ScenarioError::new(place, message));
        for (link, now) in self.checked.links.iter().zip(&next.links) {
            if (link.limit, link.base_rtt) != (now.limit, now.base_rtt) || link.queue != now.queue {
                let message = "would have been another with more flows; give it in packets";
                return wrong("buffer", message);
            }
            if now.varying.as_ref().is_some_and(|varying| varying.repeats()) {
                return wrong("repeat", "what begins anew has been decided; leave it out");
            }
            let steered = now.varying.as_ref().is_some_and(|varying| varying.changes_rate());
            let before = link.varying.as_ref().is_some_and(|varying| varying.changes_rate());
            if steered && !before && matches!(now.queue, Discipline::Pie(_)) {
                let message = "PIE measures a rate that changes in another way; give a change of \
                               rate at the start";
                return wrong("rate", message);
            }
            if steered && now.varying.as_ref().is_some_and(|varying| varying.shapes()) {
                return wrong("rate", "a shaper remembers; give a change of rate at the start");
            }
        }
        let groups = self.checked.flows.iter().zip(&next.flows);
        for (group, now) in groups {
            if group.attachments != now.attachments {
                return wrong("rtt_step", "deals RTTs to all flows anew; leave it out");
            }
        }
        Ok(())
    }

    /// Notes the moment that is due.
    fn note(&mut self) {
        self.simulation.look();
        let row = (self.due.picos() / self.row.picos()) as usize - 1;
        let glimpses: Vec<Glimpse> = (0..self.checked.flow_count() as usize)
            .map(|flow| self.simulation.glimpse(flow))
            .collect();
        let groups = self.groups(&glimpses);
        let mut flows = Vec::new();
        let mut first = 0;
        for (group, sampled) in self.checked.flows.iter().zip(self.checked.sampled()) {
            let numbers = first..first + sampled;
            flows.extend(numbers.map(|number| self.flow(number, &glimpses[number])));
            first += group.count as usize;
        }
        let links = (0..self.checked.links.len()).map(|link| self.link(link, row)).collect();
        self.moments.push(Moment { at: self.due, groups, flows, links, law: self.law() });
        self.before = glimpses;
    }

    fn flow(&self, number: usize, now: &Glimpse) -> FlowMoment {
        let delivered = delivered(now) - self.before.get(number).map_or(0, delivered);
        FlowMoment { window: now.window, rtt: now.rtt, delivered }
    }

    fn groups(&self, glimpses: &[Glimpse]) -> Vec<GroupMoment> {
        let mut rest = glimpses;
        let mut before = &self.before[..];
        let groups = self.checked.flows.iter().map(|group| {
            let (flows, others) = rest.split_at(group.count as usize);
            rest = others;
            let (known, others) = before.split_at(flows.len().min(before.len()));
            before = others;
            GroupMoment::of(flows, known)
        });
        groups.collect()
    }

    fn link(&self, link: usize, row: usize) -> LinkMoment {
        let Some((_, series)) = self.simulation.link_series(link) else {
            return LinkMoment::default();
        };
        let of = |column: &Vec<u64>| column.get(row).copied().unwrap_or_default();
        let (link, packet) = (&self.checked.links[link], self.checked.packet().count());
        let varying = link.varying.as_ref();
        let limit = match varying.map_or(link.limit, |varying| varying.limit(self.due)) {
            Limit::Packets(packets) => Some(packets),
            Limit::Bytes(bytes) => Some(bytes / packet),
            Limit::Unlimited => None,
        };
        LinkMoment {
            rate: varying.map_or(link.rate, |varying| varying.rate(self.due)).bits_per_second(),
            limit,
            queue: of(&series.queue),
            arrivals: of(&series.arrivals),
            drops: of(&series.drops),
            marks: of(&series.marks),
            departed: of(&series.departed_bytes),
        }
    }

    fn law(&self) -> Vec<(&'static str, f64)> {
        let mut shown = Vec::new();
        if let Some(law) = self.watched.and_then(|flow| self.simulation.controller(flow)) {
            law.probe(&mut |name, value| shown.push((name, value)));
        }
        shown
    }
}

/// Packets that have arrived, repeated ones included.
fn delivered(glimpse: &Glimpse) -> u64 {
    glimpse.arrived + glimpse.duplicates
}

impl GroupMoment {
    /// The moment of `flows`, which had counted what `before` says at the last, if they were there.
    fn of(flows: &[Glimpse], before: &[Glimpse]) -> Self {
        let mut group = Self { window: [0.0, f64::INFINITY, 0.0], ..Self::default() };
        let (mut begun, mut known) = (0.0, 0.0);
        for (number, now) in flows.iter().enumerate() {
            let of = |count: fn(&Glimpse) -> u64| count(now) - before.get(number).map_or(0, count);
            group.delivered += of(delivered);
            group.fresh += of(|glimpse| glimpse.arrived);
            group.sent += of(|glimpse| glimpse.sender.sent);
            group.lost += of(|glimpse| glimpse.sender.lost.into());
            if now.sender.sent > 0 && now.window.is_finite() {
                let [total, least, largest] = group.window;
                begun += 1.0;
                group.window = [total + now.window, least.min(now.window), largest.max(now.window)];
            }
            if now.rtt.is_finite() {
                known += 1.0;
                group.rtt += now.rtt;
            }
        }
        if begun == 0.0 {
            group.window = [f64::NAN; 3];
        }
        group.window[0] /= begun;
        group.rtt /= known;
        group
    }
}

/// The network of `checked`, whose links between routers are open and sampled every `row`.
fn network(checked: &Checked, row: Duration) -> Result<Network, ScenarioError> {
    let mut open = checked.clone();
    open.sample = Some(row);
    let built = build::network(&open, checked.seed, &mut Traces::none(&open));
    let mut network = built.map_err(|error| ScenarioError::new("", error))?;
    for (.., settings) in network.links.iter_mut().take(checked.links.len()) {
        let varying = settings.varying.as_deref().cloned();
        let varying = varying.unwrap_or_else(|| Varying::of(settings));
        let varying = Some(Arc::new(Varying { is_open: true, ..varying }));
        *settings = Arc::new(LinkSettings { varying, ..(**settings).clone() });
    }
    // Moments have what their series would.
    network.flows.iter_mut().for_each(|flow| flow.sampled = None);
    Ok(network)
}

fn not_connected(error: narrows_sim::WiringError) -> ScenarioError {
    ScenarioError::new("links", error)
}

impl Scenario {
    /// Writes `change` to the link called `link`, from `at` on or as soon after that as changes are
    /// in order; one that has not come by `now` is added to. Returns from when on.
    fn change(
        &mut self,
        link: &str,
        change: Change,
        at: Duration,
        now: Time,
    ) -> Result<Duration, ScenarioError> {
        let Some(changes) = self.changes_of(link) else {
            let message = format!("no link \"{link}\" of the scenario can be changed");
            return Err(ScenarioError::new("link", message));
        };
        let changes = changes.get_or_insert_default();
        let last =
            changes.last().map_or(Duration::ZERO, |last| last.at + last.ramp.unwrap_or_default());
        match changes.last_mut() {
            Some(last) if last.at == at && Time::ZERO + at > now => last.merge(change),
            _ => {
                let at = if at > last { at } else { just_after(Time::ZERO + last) };
                changes.push(Change { at, ..change });
                return Ok(at);
            }
        }
        Ok(at)
    }

    /// What is written of the changes of the link called `link`, if any can be.
    fn changes_of(&mut self, link: &str) -> Option<&mut Option<Vec<Change>>> {
        if let Some(dumbbell) = &mut self.dumbbell {
            return match link {
                "bottleneck" => Some(&mut dumbbell.changes),
                "reverse" => Some(&mut dumbbell.reverse.as_mut()?.changes),
                _ => None,
            };
        }
        let number = || link.strip_prefix("link")?.parse::<usize>().ok()?.checked_sub(1);
        if let Some(lot) = &mut self.parking_lot {
            return number().is_some().then_some(&mut lot.changes);
        }
        if let Some(chain) = &mut self.chain {
            return Some(&mut chain.hops.get_mut(number()?)?.changes);
        }
        let called = |it: &&mut crate::scenario::Link| match &it.name {
            Some(name) => name == link,
            None => format!("{}-{}", it.from, it.to) == link,
        };
        Some(&mut self.links.iter_mut().find(called)?.changes)
    }
}

impl Change {
    /// Adds what `later` says, which counts where both say something.
    fn merge(&mut self, later: Self) {
        let Self {
            at: _,
            rate,
            ramp,
            delay,
            rtt,
            buffer,
            mark,
            queue,
            loss,
            loss_burst,
            jitter,
            mtu,
        } = later;
        self.rate = rate.or(self.rate);
        self.ramp = ramp.or(self.ramp);
        self.delay = delay.or(self.delay);
        self.rtt = rtt.or(self.rtt);
        self.buffer = buffer.or(self.buffer);
        self.mark = mark.or(self.mark);
        self.queue = queue.or_else(|| self.queue.take());
        self.loss = loss.or(self.loss);
        self.loss_burst = loss_burst.or(self.loss_burst);
        self.jitter = jitter.or(self.jitter);
        self.mtu = mtu.or(self.mtu);
    }
}
