//! A run that is looked at and changed while it goes: what happens to it is written into its
//! scenario, which makes the same run from the start.

mod moments;
mod stepped;
mod steps;
mod written;

pub use moments::{FlowMoment, GroupMoment, LinkMoment, Moment};
pub use stepped::{Place, Stepped};
pub use steps::Steps;

use crate::build;
use crate::error::RunError;
use crate::scenario::{Change, Flow};
use crate::traces::Traces;
use crate::{Checked, Scenario, ScenarioError, Warning, results};
use narrows_router::Discipline;
use narrows_sim::{Ahead, Glimpse, LinkSettings, Network, Tap, Varying};
use narrows_units::{Duration, Time};
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
/// running.run_until(Time::ZERO + Duration::from_millis(1000)).expect("all flows are there");
/// let more = serde_json::from_str("{\"at\": \"0s\", \"buffer\": \"50p\"}").expect("a change");
/// running.change("bottleneck", more)?;
/// assert!(running.scenario().to_toml().contains("at = \"1.000001s\""));
/// # Ok::<(), narrows_scenario::ScenarioError>(())
/// ```
pub struct Running {
    scenario: Scenario,
    stepped: Stepped,
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
        stepped::refuse_stacks(&checked)?;
        if row == Duration::ZERO {
            return Err(ScenarioError::new("row", "0s is no interval; try \"20ms\""));
        }
        let (network, seed) = (network(&checked, row)?, checked.seed);
        // Who looks on sees it from the start.
        let stepped = Stepped::of(checked, seed, network, Duration::ZERO, Ahead::Plain)?;
        let (due, before) = (Time::ZERO + row, Vec::new());
        let (moments, watched) = (Vec::new(), None);
        Ok(Self { scenario, stepped, row, due, moments, watched, before })
    }

    /// Runs to `end`, or to the end of the run, and notes each moment on the way. Fails if a
    /// transfer arrives that finds no flow.
    pub fn run_until(&mut self, end: Time) -> Result<(), RunError> {
        let end = end.min(Time::ZERO + self.stepped.checked.duration);
        while self.due <= end {
            self.stepped.run_until(self.due)?;
            self.note();
            self.due += self.row;
        }
        self.stepped.run_until(end)
    }

    /// The time that has been reached.
    pub fn now(&self) -> Time {
        self.stepped.now()
    }

    /// Data packets that have reached their receivers in the whole run.
    pub fn delivered(&self) -> u64 {
        self.stepped.simulation.delivered()
    }

    /// The moments that have not been taken yet.
    pub fn take_moments(&mut self) -> Vec<Moment> {
        std::mem::take(&mut self.moments)
    }

    /// What numbers of the run so far should be read with.
    pub fn remarks(&mut self) -> Vec<Warning> {
        let Stepped { checked, simulation } = &mut self.stepped;
        simulation.look();
        let so_far = simulation.now().since(Time::ZERO);
        let mut seen = checked.clone();
        (seen.duration, seen.warmup) = (so_far, Duration::ZERO);
        results::remarks(&seen, simulation)
    }

    /// Asks the law of a flow for its own quantities at each moment from now on; of none if there
    /// is no flow of that number.
    pub fn watch(&mut self, flow: usize) {
        self.watched = (flow < self.stepped.checked.flow_count() as usize).then_some(flow);
    }

    /// Shows each packet that crosses a link between routers to `tap`.
    pub fn set_tap(&mut self, tap: Box<dyn Tap>) {
        self.stepped
            .simulation
            .set_tap((0..self.stepped.checked.links.len() as u32).collect(), tap);
    }

    /// The scenario that makes the same run, as far as it has come.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The same, checked.
    pub fn checked(&self) -> &Checked {
        &self.stepped.checked
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
        for (number, settings) in build::links(&next, next.seed).enumerate() {
            self.stepped.simulation.change(number as u32, &open(settings));
        }
        (self.scenario, self.stepped.checked) = (scenario, next);
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
        if next.flows.iter().any(|flow| flow.arriving.is_some() || flow.browses().is_some()) {
            let message = "nobody joins arrivals or users of several connections; give all \
                           flows at the start";
            return Err(ScenarioError::new("flows", message));
        }
        self.stepped.simulation.join(network(&next, self.row)?).map_err(stepped::not_connected)?;
        (self.scenario, self.stepped.checked) = (scenario, next);
        Ok(at)
    }

    /// The last `count` flows of group number `group` that are still there offer nothing more, or
    /// all of them if there are no more; returns from when on, which is written as the group's
    /// `stop`, or into its `stops`. Fails if there is no such group, if nobody of it is left, or if
    /// its flows cannot stop one by one.
    pub fn leave(&mut self, group: usize, count: u32) -> Result<Duration, ScenarioError> {
        self.goes_on()?;
        let at = just_after(self.now());
        let wrong = |message: &str| ScenarioError::new(format!("flows[{group}].stop"), message);
        let mut scenario = self.scenario.clone();
        let (Some(flow), Some(now)) =
            (scenario.flows.get_mut(group), self.stepped.checked.flows.get(group))
        else {
            return Err(wrong("there is no such group"));
        };
        let stops_at = |index: &u32| now.stops_at(*index as usize);
        let there: Vec<u32> =
            (0..now.count).rev().filter(|index| stops_at(index) > Time::ZERO + at).collect();
        if there.is_empty() {
            return Err(wrong("the group has stopped"));
        }
        if count == 0 {
            return Err(wrong("nobody leaves; say how many do"));
        }
        let leaving = &there[..there.len().min(count as usize)];
        if leaving.len() == there.len() {
            flow.stop = Some(at);
            flow.stops.iter_mut().flatten().for_each(|stop| *stop = at.min(*stop));
        } else {
            let stops = flow.stops.get_or_insert_default();
            for index in leaving {
                let place = (now.count - 1 - index) as usize;
                stops.resize(stops.len().max(place + 1), at);
                stops[place] = at;
            }
        }
        let next = Checked::new(scenario.clone())?;
        if next.flows[group].arriving.is_some() {
            return Err(wrong("transfers arrive to the end; give stop at the start"));
        }
        let first: u32 = next.flows[..group].iter().map(|group| group.count).sum();
        for index in leaving {
            self.stepped.simulation.leave(first + index, Time::ZERO + at);
        }
        (self.scenario, self.stepped.checked) = (scenario, next);
        Ok(at)
    }

    /// Fails if the run is over.
    fn goes_on(&self) -> Result<(), ScenarioError> {
        let duration = self.stepped.checked.duration;
        if just_after(self.now()) < duration {
            return Ok(());
        }
        let message = format!("the run of {duration} is over; give more, and begin anew");
        Err(ScenarioError::new("duration", message))
    }

    /// From when on nothing has been decided of what leaves any link.
    fn decided_until(&self) -> Time {
        let links = 0..self.stepped.checked.links.len() as u32;
        let until = links.map(|link| self.stepped.simulation.decided_until(link)).max();
        until.unwrap_or(self.now())
    }

    /// Fails unless what is there has been as `next` has it.
    fn is_exact(&self, next: &Checked) -> Result<(), ScenarioError> {
        let wrong = |place: &str, message: &str| Err(ScenarioError::new(place, message));
        for (link, now) in self.stepped.checked.links.iter().zip(&next.links) {
            if (link.limit, link.base_rtt) != (now.limit, now.base_rtt) || link.queue != now.queue {
                let message = "would have been another with more flows; give it in packets";
                return wrong("buffer", message);
            }
            if now.varying.as_ref().is_some_and(|varying| varying.repeats()) {
                return wrong("repeat", "what begins anew has been decided; leave it out");
            }
            // A rate that never changes is the link's, which no change is of.
            let (before, after) = (link.changing_rates(), now.changing_rates());
            if before.is_none() && after.is_some() && matches!(now.queue, Discipline::Pie(_)) {
                let message = "PIE measures a rate that changes in another way; give a change of \
                               rate at the start";
                return wrong("rate", message);
            }
            if before != after && now.varying.as_ref().is_some_and(|varying| varying.shapes()) {
                return wrong("rate", "a shaper remembers; give a change of rate at the start");
            }
        }
        let groups = self.stepped.checked.flows.iter().zip(&next.flows);
        for (group, now) in groups {
            if group.attachments != now.attachments {
                return wrong("rtt_step", "deals RTTs to all flows anew; leave it out");
            }
        }
        Ok(())
    }
}

/// The network of `checked`, whose links between routers are open and sampled every `row`.
fn network(checked: &Checked, row: Duration) -> Result<Network, ScenarioError> {
    let mut sampled = checked.clone();
    sampled.sample = Some(row);
    let built = build::network(&sampled, checked.seed, &mut Traces::none(&sampled));
    let mut network = built.map_err(|error| ScenarioError::new("", error))?;
    for (.., settings) in network.links.iter_mut().take(checked.links.len()) {
        *settings = Arc::new(open((**settings).clone()));
    }
    // Moments have what their series would.
    network.flows.iter_mut().for_each(|flow| flow.sampled = None);
    Ok(network)
}

/// A link that may be changed while the run goes on.
fn open(settings: LinkSettings) -> LinkSettings {
    let varying = settings.varying.as_deref().cloned().unwrap_or_else(|| Varying::of(&settings));
    let varying = Some(Arc::new(Varying { is_open: true, ..varying }));
    LinkSettings { varying, ..settings }
}
