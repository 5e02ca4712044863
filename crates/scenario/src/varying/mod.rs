//! Checks what of a link varies, and draws what is drawn of it.

mod changes;
mod handovers;
mod outages;
mod script;

use crate::ScenarioError;
use crate::link::{Load, Placed};
use crate::reading::read_text;
use crate::scenario::{Does, Every, Handovers, LinkOptions, Policer, Shaper};
use changes::{Changed, Later};
use handovers::Drawn;
use narrows_router::service::{BucketSettings, Opportunities, Steps};
use narrows_router::{Discipline, Limit};
use narrows_sim::{Act, Hold, Line, LinkSettings, Loss, Script, Varying};
use narrows_units::{Buffer, Bytes, Duration, Rate, Stream, Time};
use outages::{Span, during, except};
use std::fmt::Display;

/// What of a link varies, checked. Handovers are still to be drawn.
#[derive(Clone)]
pub(crate) struct CheckedVarying {
    /// All but the rates, the delays of handovers, and outages.
    base: Varying,
    rates: Steps<Rate>,
    trace: Option<Opportunities>,
    outages: Vec<Span>,
    handovers: Option<Handovers>,
    /// The end of the run.
    end: Time,
}

/// Names of traces that come with narrows begin so.
const BUILT_IN: &str = "narrows:";
const MADE_UP_DOWN: &str = include_str!("../../traces/made-up-lte.down");
const MADE_UP_UP: &str = include_str!("../../traces/made-up-lte.up");

/// A schedule has no more steps than this.
const MOST: u64 = 1_000_000;
/// The wire lets packets go no more often than this.
const OFTEN: Duration = Duration::from_micros(1);

fn at(span: Duration) -> Time {
    Time::ZERO + span
}

impl CheckedVarying {
    /// All that varies in a run, drawn from `stream` as far as it is drawn.
    pub fn drawn(&self, mut stream: Stream) -> Varying {
        let mut varying = self.base.clone();
        let (mut rates, mut outages) = (self.rates.clone(), self.outages.clone());
        if let Some(handovers) = &self.handovers {
            let drawn = Drawn::of(handovers, self.end, &mut stream);
            // What is not drawn goes as it would.
            if !drawn.rates.is_empty() {
                rates = Steps::new(rates.get(Time::ZERO), drawn.rates, None);
            }
            if !drawn.delays.is_empty() {
                varying.delays = Steps::new(varying.delays.get(Time::ZERO), drawn.delays, None);
            }
            outages.extend(drawn.gaps);
            outages.sort_by_key(|span| span.from);
        }
        varying.down = during(&outages, |does| does == Does::Down);
        varying.loses = during(&outages, |does| does == Does::Lose);
        let held = during(&outages, |does| does != Does::Lose);
        varying.line = match &self.trace {
            Some(trace) => Line::Trace(trace.clone()),
            None if held.is_steady() && rates.is_steady() => Line::Steady,
            None => Line::Course(except(&rates, &held, self.end)),
        };
        varying
    }

    /// How many packets a hold lets go at once, and how often, if that is bounded.
    pub fn lets_go(&self) -> Option<(u64, Duration)> {
        let hold = self.base.hold?;
        let (narrows_sim::Every::Exactly(every) | narrows_sim::Every::OnAverage(every)) =
            hold.every;
        (hold.most < u64::MAX).then_some((hold.most, every))
    }

    /// The lines of a script that are about one flow, by number, and the flow.
    pub fn flows_of_script(&self) -> Vec<(usize, u32)> {
        let lines = self.base.script.0.iter().enumerate();
        lines.filter_map(|(number, line)| Some((number, line.admits.flow?))).collect()
    }

    /// The rate at `now`, without what is drawn.
    pub fn rate(&self, now: Time) -> Rate {
        self.rates.get(now)
    }

    /// How much the queue holds at `now`.
    pub fn limit(&self, now: Time) -> Limit {
        self.base.limits.get(now)
    }

    /// Its rates, if they change at given times.
    pub fn changing_rates(&self) -> Option<&Steps<Rate>> {
        Some(&self.rates).filter(|rates| !rates.is_steady())
    }

    /// Whether changes begin anew.
    pub fn repeats(&self) -> bool {
        let Varying { delays, limits, losses, jitters, mtus, .. } = &self.base;
        let periods = [delays.period(), limits.period(), losses.period(), jitters.period()];
        let others = [mtus.period(), self.rates.period()];
        periods.into_iter().chain(others).any(|period| period.is_some())
    }

    /// Whether a token bucket lets packets wait.
    pub fn shapes(&self) -> bool {
        self.base.shaper.is_some()
    }

    /// Whether a script lowers the windows that acknowledgements advertise.
    pub fn lowers_windows(&self) -> bool {
        self.base.script.0.iter().any(|line| matches!(line.act, Act::Window(_)))
    }

    /// Whether a script sends packets twice.
    pub fn doubles(&self) -> bool {
        self.base.script.0.iter().any(|line| line.act == Act::Twice)
    }

    /// Whether packets are marked before the queue at times: by a policer, or by a script.
    pub fn marks(&self) -> bool {
        let polices = self.base.policer.is_some_and(|policer| policer.marks);
        polices || self.base.script.0.iter().any(|line| line.act == Act::Mark)
    }

    /// Whether the wire loses packets by chance at times.
    pub fn loses(&self) -> bool {
        self.base.losses.values().any(|loss| loss != Loss::None)
    }
}

/// What of a link varies; `None` if nothing does. `steady` is the link without that.
pub(crate) fn check(
    placed: &Placed,
    options: &LinkOptions,
    steady: &LinkSettings,
    trace: Option<Opportunities>,
    load: &Load,
    amounts: &Amounts,
) -> Result<Option<CheckedVarying>, ScenarioError> {
    let place = placed.place;
    let LinkOptions { changes, repeat, outages, handovers, hold, policer, shaper, script, .. } =
        options;
    let is_steady = changes.is_empty() && outages.is_empty() && script.is_empty();
    let is_plain = trace.is_none() && hold.is_none() && policer.is_none() && shaper.is_none();
    if let (Some(repeat), true) = (repeat, changes.is_empty()) {
        let message = format!("{repeat} is for changes, and there are none; leave it out");
        return Err(ScenarioError::new(format!("{place}.repeat"), message));
    }
    if is_steady && is_plain && handovers.is_none() {
        return Ok(None);
    }
    let mut base = Varying::of(steady);
    let context = Context { place, end: load.duration, options, steady, amounts };
    let later = Later::of(&context, changes)?;
    let changed = later.changed();
    let rates = later.put(*repeat, &context, &mut base)?;
    let outages = context.outages(outages)?;
    context.refuse_mixtures(trace.is_some(), &changed, &outages)?;
    if outages.iter().any(|span| span.does != Does::Lose)
        && rates.count_until(at(load.duration)) > MOST
    {
        let message = format!("makes more than {MOST} changes beside outages; give more");
        return Err(context.error("repeat", message));
    }
    let first = outages.first().filter(|span| span.from == Time::ZERO && span.does != Does::Lose);
    if first.is_some() && !except_is_open(&rates, &outages, at(load.duration)) {
        let message = "leave no time at which anything passes; make them shorter";
        return Err(context.error("outages", message));
    }
    let handovers = handovers.as_ref().map(|it| context.handovers(it)).transpose()?;
    base.hold = hold.as_ref().map(|hold| context.hold(hold)).transpose()?;
    base.policer = policer.as_ref().map(|it| context.policer(it, load)).transpose()?;
    base.shaper = shaper.as_ref().map(|it| context.shaper(it, load)).transpose()?;
    let lines = script.iter().enumerate().map(|(number, line)| context.line(number, line));
    base.script = Script(lines.collect::<Result<Vec<_>, _>>()?.into());
    if trace.is_some() {
        base.mtus = base.mtus.map(|mtu| mtu.min(Opportunities::LARGEST));
    }
    Ok(Some(CheckedVarying { base, rates, trace, outages, handovers, end: at(load.duration) }))
}

/// Whether outages leave a time at which bits pass.
fn except_is_open(rates: &Steps<Rate>, outages: &[Span], end: Time) -> bool {
    let held = during(outages, |does| does != Does::Lose);
    except(rates, &held, end).until(end).any(|(_, rate)| rate.is_some())
}

/// The trace of the link at `place`, if it has one.
pub(crate) fn trace(
    place: &str,
    options: &LinkOptions,
) -> Result<Option<Opportunities>, ScenarioError> {
    let Some(file) = &options.trace else { return Ok(None) };
    let wrong = |message: String| ScenarioError::new(format!("{place}.trace"), message);
    let text = match file.strip_prefix(BUILT_IN) {
        Some("made-up-lte.down") => MADE_UP_DOWN.to_owned(),
        Some("made-up-lte.up") => MADE_UP_UP.to_owned(),
        _ => read_text(file, "opportunities").map_err(&wrong)?,
    };
    let parsed = Opportunities::parse(&text);
    parsed.map(Some).map_err(|error| wrong(format!("\"{file}\", {error}")))
}

/// Turns amounts into what a link counts with.
pub(crate) struct Amounts<'a> {
    /// A buffer's limit.
    pub limit: &'a dyn Fn(Buffer) -> Limit,
    /// An amount in packets.
    pub packets: &'a dyn Fn(Buffer) -> u64,
    /// A queue of the link as given first.
    pub queue: &'a dyn Fn(&str) -> Result<Discipline, String>,
}

struct Context<'a> {
    place: &'a str,
    end: Duration,
    options: &'a LinkOptions,
    steady: &'a LinkSettings,
    amounts: &'a Amounts<'a>,
}

impl Context<'_> {
    fn error(&self, field: &str, message: impl Display) -> ScenarioError {
        ScenarioError::new(format!("{}.{field}", self.place), message.to_string())
    }

    /// Fails unless `time` lies within the run.
    fn within(&self, field: &str, time: Duration) -> Result<(), ScenarioError> {
        if time < self.end {
            return Ok(());
        }
        let message = format!("{time} is not within the run, which ends at {}", self.end);
        Err(self.error(field, message))
    }

    /// Fails if two fields would decide one thing.
    fn refuse_mixtures(
        &self,
        has_trace: bool,
        changed: &Changed,
        outages: &[Span],
    ) -> Result<(), ScenarioError> {
        let LinkOptions { handovers, shaper, hold, reorder, .. } = self.options;
        let holds = outages.iter().any(|span| span.does != Does::Lose);
        let gap_holds =
            handovers.as_ref().is_some_and(|it| it.does.is_some_and(|it| it != Does::Lose));
        let hands_rates =
            handovers.as_ref().is_some_and(|it| it.rate.is_some() || it.slots.is_some());
        let hands_delays =
            handovers.as_ref().is_some_and(|it| it.delay.is_some() || it.slots.is_some());
        let mixtures = [
            (has_trace && changed.rate, "trace", "changes of rate: the trace has the rate"),
            (has_trace && hands_rates, "trace", "handovers that set a rate: the trace has it"),
            (has_trace && shaper.is_some(), "trace", "a shaper: the trace says when packets leave"),
            (
                has_trace && (holds || gap_holds),
                "trace",
                "an outage that stops the transmitter, which the trace decides: write does = \"lose\"",
            ),
            (hands_rates && changed.rate, "handovers", "changes of rate"),
            (hands_delays && changed.delay, "handovers", "changes of delay"),
            (
                hold.is_some() && *reorder == Some(true),
                "hold",
                "reorder: what is held keeps its order",
            ),
        ];
        match mixtures.into_iter().find(|(is_mixed, ..)| *is_mixed) {
            None => Ok(()),
            Some((_, field, what)) => {
                Err(self.error(field, format!("cannot go with {what}; leave one of them out")))
            }
        }
    }

    fn hold(&self, hold: &crate::scenario::Hold) -> Result<Hold, ScenarioError> {
        let (every, mean) = match &hold.every {
            Every::Exactly(every) => (narrows_sim::Every::Exactly(*every), *every),
            Every::OnAverage(every) => (narrows_sim::Every::OnAverage(every.mean), every.mean),
        };
        if mean < OFTEN {
            let message = format!("{mean} is below {OFTEN}; try \"4ms\"");
            return Err(self.error("hold.every", message));
        }
        if hold.most == Some(0) {
            return Err(self.error("hold.most", "nothing would pass; try 64"));
        }
        let closed = hold.r#for;
        if let Some(closed) = closed.filter(|closed| *closed >= mean || *closed == Duration::ZERO) {
            let message = format!("{closed} is not above 0 and below the {mean} of a period");
            return Err(self.error("hold.for", message));
        }
        if closed.is_some() && hold.most.is_some() {
            let message = "is for a wire that opens for an instant; leave out for, or this";
            return Err(self.error("hold.most", message));
        }
        let most = hold.most.unwrap_or(u64::MAX);
        Ok(Hold { every, most, closed, phase: hold.phase.unwrap_or(mean) })
    }

    fn bucket(
        &self,
        field: &str,
        (rate, burst): (Rate, Bytes),
        load: &Load,
    ) -> Result<BucketSettings, ScenarioError> {
        if burst < load.packet {
            let message = format!("{burst} is less than a packet of {}; give more", load.packet);
            return Err(self.error(&format!("{field}.burst"), message));
        }
        Ok(BucketSettings { rate, burst })
    }

    fn policer(
        &self,
        policer: &Policer,
        load: &Load,
    ) -> Result<narrows_sim::Policer, ScenarioError> {
        let bucket = self.bucket("policer", (policer.rate, policer.burst), load)?;
        Ok(narrows_sim::Policer { bucket, marks: policer.mark == Some(true) })
    }

    fn shaper(&self, shaper: &Shaper, load: &Load) -> Result<BucketSettings, ScenarioError> {
        self.bucket("shaper", (shaper.rate, shaper.burst), load)
    }
}
