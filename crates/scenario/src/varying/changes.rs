//! Changes of a link, in the order of time.

use super::{Context, at};
use crate::ScenarioError;
use crate::link::{loss, mtu};
use crate::scenario::Change;
use narrows_router::service::Steps;
use narrows_router::{Discipline, Limit};
use narrows_sim::{Jitter, Loss, Varying};
use narrows_units::{Duration, Probability, Rate, Time};
use std::fmt::Display;

/// A ramp has so many steps, unless they would be shorter than this.
const RAMP_STEPS: u64 = 100;
const SHORTEST_STEP: Duration = Duration::from_millis(10);

/// Changes begin anew no more often than this.
const SHORTEST_PERIOD: Duration = Duration::from_millis(1);

/// Which fields change.
pub(super) struct Changed {
    pub rate: bool,
    pub delay: bool,
}

/// What everything is from which time on.
#[derive(Default)]
pub(super) struct Later {
    rates: Vec<(Time, Rate)>,
    delays: Vec<(Time, Duration)>,
    limits: Vec<(Time, Limit)>,
    marks: Vec<(Time, u64)>,
    queues: Vec<(Time, Discipline)>,
    losses: Vec<(Time, Loss)>,
    jitters: Vec<(Time, Jitter)>,
    mtus: Vec<(Time, u32)>,
    /// The last loss and length of its bursts.
    loss: Option<Probability>,
    burst: Option<f64>,
    /// When the last change so far is over.
    ends: Duration,
}

impl Later {
    /// What `changes` say. Fails with the one that is wrong.
    pub fn of(context: &Context, changes: &[Change]) -> Result<Self, ScenarioError> {
        let mut later = Self::default();
        for (number, change) in changes.iter().enumerate() {
            // A ramp may go on where the last has ended.
            let continues =
                later.ends > changes.get(number.wrapping_sub(1)).map_or(later.ends, |it| it.at);
            let one = One { context, number, change, continues };
            one.is_in_order(later.ends)?;
            later.ends = change.at;
            later.add_rate(&one)?;
            later.add(&one)?;
        }
        Ok(later)
    }

    /// Which fields change.
    pub fn changed(&self) -> Changed {
        Changed { rate: !self.rates.is_empty(), delay: !self.delays.is_empty() }
    }

    fn add_rate(&mut self, one: &One) -> Result<(), ScenarioError> {
        let Change { at: when, rate, ramp, .. } = one.change;
        match (rate, ramp) {
            (None, Some(_)) => Err(one.error("ramp", "is for a rate; add one")),
            (Some(rate), ramp) => {
                let before = self.rates.last().map_or(one.context.steady.rate, |last| last.1);
                let ramp = ramp.unwrap_or_default();
                self.rates.pop_if(|last| last.0 == at(*when));
                self.rates.extend(ramped(before, *rate, *when, ramp));
                self.ends += ramp;
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    fn add(&mut self, one: &One) -> Result<(), ScenarioError> {
        let Change { at: when, delay, buffer, mark, loss: lost, loss_burst, .. } = one.change;
        let (when, amounts, steady) = (at(*when), one.context.amounts, one.context.steady);
        let place = format!("{}.changes[{}]", one.context.place, one.number);
        self.delays.extend(delay.map(|delay| (when, delay)));
        self.limits.extend(buffer.map(|buffer| (when, (amounts.limit)(buffer))));
        if let Some(mark) = mark {
            if !matches!(steady.queue, Discipline::MarkFrom(_)) {
                let message = "changes a threshold that is not there; give the link a mark";
                return Err(one.error("mark", message));
            }
            self.marks.push((when, (amounts.packets)(*mark)));
        }
        if let Some(queue) = &one.change.queue {
            let next = (amounts.queue)(queue).map_err(|error| one.error("queue", error))?;
            if !steady.queue.can_become(next) {
                let message = format!(
                    "\"{queue}\" is another kind of queue, or one without settings that change; \
                     only settings may"
                );
                return Err(one.error("queue", message));
            }
            self.queues.push((when, next));
        }
        if lost.is_some() || loss_burst.is_some() {
            // What is not given stays as it is.
            let ratio = lost.or(self.loss).or(one.context.options.loss);
            let before = self.burst.or(one.context.options.loss_burst);
            (self.loss, self.burst) = (ratio, loss_burst.or(before));
            let loses = ratio.is_some_and(|ratio| ratio.value() > 0.0);
            let burst = loss_burst.or(before.filter(|_| loses));
            self.losses.push((when, loss(&place, ratio, burst)?));
        }
        let reorders = steady.jitter.reorders;
        let jitter = one.change.jitter.map(|most| Jitter { most, reorders });
        self.jitters.extend(jitter.map(|jitter| (when, jitter)));
        self.mtus.extend(mtu(&place, one.change.mtu)?.map(|mtu| (when, mtu)));
        Ok(())
    }

    /// Writes all but the rates into `varying`, to begin anew after each `repeat`; returns the
    /// rates. Fails if that is too short.
    pub fn put(
        self,
        repeat: Option<Duration>,
        context: &Context,
        varying: &mut Varying,
    ) -> Result<Steps<Rate>, ScenarioError> {
        let ends = self.ends;
        if let Some(repeat) = repeat.filter(|repeat| *repeat < SHORTEST_PERIOD) {
            let message = format!("{repeat} is below {SHORTEST_PERIOD}; give more");
            return Err(context.error("repeat", message));
        }
        if let Some(repeat) = repeat.filter(|repeat| *repeat <= ends) {
            let message = format!("{repeat} is not after the last change, which ends at {ends}");
            return Err(context.error("repeat", message));
        }
        let steady = context.steady;
        varying.delays = steps(steady.delay, self.delays, repeat);
        varying.limits = steps(steady.limit, self.limits, repeat);
        if let Discipline::MarkFrom(packets) = steady.queue {
            varying.marks = Some(steps(packets, self.marks, repeat));
        }
        if !self.queues.is_empty() {
            varying.queues = Some(steps(steady.queue, self.queues, repeat));
        }
        varying.losses = steps(steady.loss, self.losses, repeat);
        varying.jitters = steps(steady.jitter, self.jitters, repeat);
        varying.mtus = steps(steady.mtu.unwrap_or(u32::MAX), self.mtus, repeat);
        Ok(steps(steady.rate, self.rates, repeat))
    }
}

fn steps<T: Copy>(first: T, later: Vec<(Time, T)>, repeat: Option<Duration>) -> Steps<T> {
    let repeat = repeat.filter(|_| !later.is_empty());
    Steps::new(first, later, repeat)
}

/// One of the changes.
struct One<'a> {
    context: &'a Context<'a>,
    number: usize,
    change: &'a Change,
    /// It may begin when the last has ended.
    continues: bool,
}

impl One<'_> {
    fn error(&self, field: &str, message: impl Display) -> ScenarioError {
        self.context.error(&format!("changes[{}].{field}", self.number), message)
    }

    /// Fails unless it is within the run, after `before`, and changes something.
    fn is_in_order(&self, before: Duration) -> Result<(), ScenarioError> {
        let (number, when) = (self.number, self.change.at);
        self.context.within(&format!("changes[{number}].at"), when)?;
        if when < before || when == before && !self.continues {
            let after = if number == 0 { "0s, the start".to_owned() } else { before.to_string() };
            let message = format!("{when} is not after {after}; put the changes in order");
            return Err(self.error("at", message));
        }
        if *self.change == Change::nothing(when) {
            let message = "changes nothing; give a rate, a delay, a loss …, or leave it out";
            return Err(self.context.error(&format!("changes[{number}]"), message));
        }
        Ok(())
    }
}

impl Change {
    /// A change that changes nothing.
    pub(crate) fn nothing(at: Duration) -> Self {
        Self {
            at,
            rate: None,
            ramp: None,
            delay: None,
            rtt: None,
            buffer: None,
            mark: None,
            queue: None,
            loss: None,
            loss_burst: None,
            jitter: None,
            mtu: None,
        }
    }
}

/// The way from rate `from` to rate `to` in a `ramp` that begins at `when`: each step has the rate
/// of its middle.
fn ramped(from: Rate, to: Rate, when: Duration, ramp: Duration) -> Vec<(Time, Rate)> {
    let least = u64::from(ramp > Duration::ZERO);
    let steps = (ramp.picos() / SHORTEST_STEP.picos()).clamp(least, RAMP_STEPS);
    let [low, high] = [from, to].map(|rate| rate.bits_per_second() as f64);
    let step = |number: u64| {
        let share = (number as f64 + 0.5) / steps as f64;
        let bits = (low + (high - low) * share).round() as u64;
        let begins = at(when) + ramp.scale(number as f64 / steps as f64);
        (begins, Rate::from_bits_per_second(bits).unwrap_or(to))
    };
    (0..steps).map(step).chain([(at(when + ramp), to)]).collect()
}
