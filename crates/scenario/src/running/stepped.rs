//! A run that is paused exactly: nobody at its ends has seen what is still to come.

use crate::error::RunError;
use crate::run::{arrivals_fit, contradiction};
use crate::traces::Traces;
use crate::{Checked, ScenarioError, build};
use narrows_router::Limit;
use narrows_sim::{Ahead, Glimpse, Network, RunSettings, Simulation};
use narrows_units::{Duration, Time};
use std::ops::ControlFlow;

/// A run that goes on when it is told to, and stands still at the instant it is told to.
///
/// # Examples
///
/// ```
/// use narrows_scenario::{Checked, Scenario, Stepped};
/// use narrows_units::{Duration, Time};
///
/// let text = "[dumbbell]\nrate = \"10Mbps\"\nrtt = \"20ms\"\nbuffer = \"5p\"\n[[flows]]\n";
/// let checked = Checked::new(Scenario::from_toml(text)?)?;
/// let mut stepped = Stepped::new(checked, 1)?;
/// stepped.run_until(Time::ZERO + Duration::from_millis(500)).expect("all flows are there");
/// assert!(stepped.glimpse(0).sender.sent > 100);
/// let place = stepped.place(0, Time::ZERO).expect("it has a bottleneck");
/// assert_eq!((place.capacity, place.flows), (10e6 / 8.0 / 1500.0, 1));
/// # Ok::<(), narrows_scenario::ScenarioError>(())
/// ```
pub struct Stepped {
    pub(super) checked: Checked,
    pub(super) simulation: Simulation,
}

/// What a flow cannot know of its bottleneck: the slowest link between routers of its way now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Packets of the flow's size per second that the bottleneck could have sent since then.
    pub capacity: f64,
    /// Flows over it that have begun and have not ended, this one included.
    pub flows: u64,
    /// The flow's RTT without queues.
    pub base_rtt: Duration,
    /// Packets of the flow's size that the bottleneck's queue holds; infinite if unlimited.
    pub buffer: f64,
    /// Packets in it, the one in transmission included.
    pub queue: u64,
    /// Probability that a packet is lost on its wire, if that does not vary and has no memory; else
    /// NaN.
    pub wire_loss: f64,
}

impl Stepped {
    /// Begins a run of `checked` under `seed`. Fails if it has stacks that others wrote, which
    /// [`Steps`](super::Steps) takes, or cannot be built.
    pub fn new(checked: Checked, seed: u64) -> Result<Self, ScenarioError> {
        refuse_stacks(&checked)?;
        Self::here(checked, seed)
    }

    /// The same on this thread, which is prepared for the stacks that it may have.
    pub(super) fn here(checked: Checked, seed: u64) -> Result<Self, ScenarioError> {
        let built = build::network(&checked, seed, &mut Traces::none(&checked));
        let network = built.map_err(|error| ScenarioError::new("", error))?;
        let warmup = checked.warmup;
        Self::of(checked, seed, network, warmup, Ahead::Answers)
    }

    /// Begins a run of `network`, which is that of `checked`, measured from `warmup` on; `ahead`
    /// says who is in the present while it stands still.
    pub(super) fn of(
        checked: Checked,
        seed: u64,
        network: Network,
        warmup: Duration,
        ahead: Ahead,
    ) -> Result<Self, ScenarioError> {
        let duration = checked.duration;
        let settings = RunSettings { seed, duration, warmup, ahead };
        let simulation = Simulation::new(network, settings).map_err(not_connected)?;
        Ok(Self { checked, simulation })
    }

    /// Runs to `end`, or to the end of the run. Fails if a transfer arrives that finds no flow, or
    /// if at the end of the run a stack says of itself what cannot be.
    pub fn run_until(&mut self, end: Time) -> Result<(), RunError> {
        let end = end.min(Time::ZERO + self.checked.duration);
        // Nobody stops it but a lack of flows.
        let _ = self.simulation.run_until(end, |_| ControlFlow::Continue(()));
        arrivals_fit(&self.checked, &self.simulation)?;
        if self.is_over() && self.checked.stacks().next().is_some() {
            return self.believable();
        }
        Ok(())
    }

    fn believable(&self) -> Result<(), RunError> {
        let flows = 0..self.checked.flow_count() as usize;
        let mut hosted = flows.filter_map(|flow| self.simulation.flow(flow).hosted);
        let said = hosted.find_map(|ends| contradiction(&ends));
        said.map_or(Ok(()), |said| Err(RunError::Stack(said)))
    }

    /// The time that has been reached.
    pub fn now(&self) -> Time {
        self.simulation.now()
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.now() >= Time::ZERO + self.checked.duration
    }

    /// Data packets that have reached their receivers in the whole run.
    pub fn delivered(&self) -> u64 {
        self.simulation.delivered()
    }

    /// The scenario.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// Flow number `flow` as it is now.
    pub fn glimpse(&self, flow: usize) -> Glimpse {
        self.simulation.glimpse(flow)
    }

    /// Whether flow number `flow` has begun, and has not come to its end.
    pub fn is_running(&self, flow: usize) -> bool {
        self.simulation.is_running(flow)
    }

    /// What flow number `flow` cannot know of the time since `since`; `None` if it passes no link
    /// between routers.
    pub fn place(&mut self, flow: usize, since: Time) -> Option<Place> {
        let now = self.now();
        let routers = 0..self.checked.links.len() as u32;
        let ours = |number: &u32| routers.contains(number);
        let rate = |number: &u32| self.checked.links[*number as usize].rate_at(now);
        let bottleneck = self.simulation.route(flow).filter(ours).min_by_key(rate)?;
        let link = &self.checked.links[bottleneck as usize];
        let group = self.checked.groups().nth(flow)?;
        let bytes = group.packet.bytes.count() as f64;
        let seconds = now.since(since).seconds();
        let offered = self.simulation.offered(bottleneck as usize, since, now);
        let rate = if seconds > 0.0 {
            offered / seconds
        } else {
            link.rate_at(now).bits_per_second() as f64
        };
        let all = 0..self.checked.flow_count() as usize;
        let over = |flow: &usize| {
            self.simulation.is_running(*flow)
                && self.simulation.route(*flow).any(|link| link == bottleneck)
        };
        Some(Place {
            capacity: rate / 8.0 / bytes,
            flows: all.filter(over).count() as u64,
            base_rtt: self.checked.base_rtt(flow),
            buffer: packets(link.limit_at(now), bytes),
            queue: self.simulation.backlog(bottleneck).packets,
            wire_loss: link.wire_loss(),
        })
    }
}

/// Packets of `bytes` that a queue holds; infinite if it has no limit.
fn packets(limit: Limit, bytes: f64) -> f64 {
    match limit {
        Limit::Packets(packets) => packets as f64,
        Limit::Bytes(limit) => limit as f64 / bytes,
        Limit::Unlimited => f64::INFINITY,
    }
}

/// Fails if a flow of `checked` has a stack that others wrote.
pub(super) fn refuse_stacks(checked: &Checked) -> Result<(), ScenarioError> {
    if checked.stacks().next().is_none() {
        return Ok(());
    }
    let message = "a stack that others wrote runs from start to end; use narrows run";
    Err(ScenarioError::new("flows", message))
}

pub(super) fn not_connected(error: narrows_sim::WiringError) -> ScenarioError {
    ScenarioError::new("links", error)
}
