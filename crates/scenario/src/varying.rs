//! Checks what of a link varies, and draws what is drawn of it.

use crate::ScenarioError;
use crate::link::{Load, Placed, loss, mtu};
use crate::scenario::{
    Change, Does, Every, Handovers, LinkOptions, Numbers, Outage, Policer, ScriptLine, Shaper,
};
use narrows_router::service::{BucketSettings, Opportunities, Steps};
use narrows_router::{Discipline, Limit};
use narrows_sim::{Act, Admits, Hold, Jitter, Line, LinkSettings, Loss, Script, Varying};
use narrows_units::{Buffer, Bytes, Duration, Rate, Stream, Time};
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

/// An outage.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Time,
    to: Time,
    does: Does,
}

/// A ramp has so many steps, unless they would be shorter than this.
const RAMP_STEPS: u64 = 100;
const SHORTEST_STEP: Duration = Duration::from_millis(10);
/// Names of traces that come with narrows begin so.
const BUILT_IN: &str = "narrows:";
const MADE_UP_DOWN: &str = include_str!("../../../python/narrows/examples/traces/made-up-lte.down");
const MADE_UP_UP: &str = include_str!("../../../python/narrows/examples/traces/made-up-lte.up");
/// A delay that drifts does so in steps of this.
const DRIFT_STEP: Duration = Duration::from_millis(100);

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
            rates = Steps::new(rates.get(Time::ZERO), drawn.rates, None);
            varying.delays = Steps::new(varying.delays.get(Time::ZERO), drawn.delays, None);
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

    /// Whether the wire loses packets by chance at times.
    pub fn loses(&self) -> bool {
        self.base.losses.values().any(|loss| loss != Loss::None)
    }
}

/// Whether an outage that does what is `meant` is under way.
fn during(outages: &[Span], meant: impl Fn(Does) -> bool) -> Steps<bool> {
    let mut merged: Vec<(Time, Time)> = Vec::new();
    for span in outages.iter().filter(|span| meant(span.does)) {
        match merged.last_mut() {
            Some((_, to)) if span.from <= *to => *to = span.to.max(*to),
            _ => merged.push((span.from, span.to)),
        }
    }
    let begins_out = merged.first().is_some_and(|(from, _)| *from == Time::ZERO);
    let steps = merged.into_iter().flat_map(|(from, to)| [(from, true), (to, false)]);
    Steps::new(begins_out, steps.skip(usize::from(begins_out)), None)
}

/// `rates`, but none while `held`.
fn except(rates: &Steps<Rate>, held: &Steps<bool>, end: Time) -> Steps<Option<Rate>> {
    if held.is_steady() {
        return rates.map(Some);
    }
    let mut times: Vec<Time> = rates.until(end).map(|(at, _)| at).collect();
    times.extend(held.until(Time::NEVER).map(|(at, _)| at));
    times.sort();
    times.dedup();
    let value = |at| (!held.get(at)).then(|| rates.get(at));
    let changes = times.into_iter().skip(1).map(|at| (at, value(at)));
    Steps::new(value(Time::ZERO), changes.collect::<Vec<_>>(), None)
}

/// Handovers of one run.
#[derive(Default)]
struct Drawn {
    rates: Vec<(Time, Rate)>,
    delays: Vec<(Time, Duration)>,
    gaps: Vec<Span>,
}

impl Drawn {
    fn of(handovers: &Handovers, end: Time, stream: &mut Stream) -> Self {
        let mut drawn = Self::default();
        let mut begins = at(handovers.first.unwrap_or(handovers.every));
        let mut number = 0;
        while begins < end {
            drawn.hand_over(handovers, begins, number, stream);
            begins += handovers.every;
            number += 1;
        }
        drawn
    }

    fn hand_over(
        &mut self,
        handovers: &Handovers,
        begins: Time,
        number: usize,
        stream: &mut Stream,
    ) {
        let Handovers { every, rate, delay, gap, does, drift, slots, .. } = handovers;
        let slot = slots.as_ref().map(|slots| slots[number % slots.len()]);
        let rate = slot.map(|slot| slot.0).or_else(|| {
            let (least, most) = (*rate)?;
            let [least, most] = [least, most].map(|rate| (rate.bits_per_second() as f64).ln());
            let bits = (least + (most - least) * stream.uniform()).exp();
            Rate::from_bits_per_second(bits.round() as u64)
        });
        self.rates.extend(rate.map(|rate| (begins, rate)));
        let delay = slot.map(|slot| slot.1).or_else(|| {
            let (least, most) = (*delay)?;
            Some(least + most.saturating_sub(least).scale(stream.uniform()))
        });
        if let Some(delay) = delay {
            let drift = drift.unwrap_or_default();
            let steps = if drift > Duration::ZERO { every.picos() / DRIFT_STEP.picos() } else { 1 };
            let share = |step| drift.scale(step as f64 / steps.max(1) as f64);
            self.delays.extend(
                (0..steps.max(1)).map(|step| (begins + DRIFT_STEP * step, delay + share(step))),
            );
        }
        if let Some(gap) = gap.filter(|gap| *gap > Duration::ZERO) {
            let does = does.unwrap_or(Does::Lose);
            self.gaps.push(Span { from: begins, to: begins + gap, does });
        }
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
    let (rates, changed) = context.changes(changes, *repeat, &mut base)?;
    let outages = context.outages(outages)?;
    context.refuse_mixtures(trace.is_some(), &changed, &outages)?;
    let handovers = handovers.as_ref().map(|it| context.handovers(it)).transpose()?;
    base.hold = hold.as_ref().map(|hold| context.hold(hold)).transpose()?;
    base.policer = policer.as_ref().map(|it| context.policer(it, load)).transpose()?;
    base.shaper = shaper.as_ref().map(|it| context.shaper(it, load)).transpose()?;
    let lines = script.iter().enumerate().map(|(number, line)| context.line(number, line));
    base.script = Script(lines.collect::<Result<Vec<_>, _>>()?.into());
    if trace.is_some() {
        let most = base.mtus.get(Time::ZERO).min(Opportunities::LARGEST);
        base.mtus = Steps::always(most);
    }
    Ok(Some(CheckedVarying { base, rates, trace, outages, handovers, end: at(load.duration) }))
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
        _ => std::fs::read_to_string(file).map_err(|error| {
            wrong(format!("\"{file}\" cannot be read ({error}); name a file of opportunities"))
        })?,
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
}

/// Which fields change.
#[derive(Default)]
struct Changed {
    rate: bool,
    delay: bool,
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

    /// Writes all changes but that of the rate into `varying`; returns the rates.
    fn changes(
        &self,
        changes: &[Change],
        repeat: Option<Duration>,
        varying: &mut Varying,
    ) -> Result<(Steps<Rate>, Changed), ScenarioError> {
        let steady = self.steady;
        let mut rates: Vec<(Time, Rate)> = Vec::new();
        let (mut delays, mut limits, mut marks) = (Vec::new(), Vec::new(), Vec::new());
        let (mut losses, mut jitters, mut mtus) = (Vec::new(), Vec::new(), Vec::new());
        let (mut rate_now, mut before) = (steady.rate, Duration::ZERO);
        for (number, change) in changes.iter().enumerate() {
            let field = |name: &str| format!("changes[{number}].{name}");
            let place = format!("{}.changes[{number}]", self.place);
            let Change {
                at: when,
                rate,
                ramp,
                delay,
                rtt: _,
                buffer,
                mark,
                loss: lost,
                loss_burst,
                jitter: varies,
                mtu: largest,
            } = change;
            self.within(&field("at"), *when)?;
            if *when <= before {
                let after =
                    if number == 0 { "0s, the start".to_owned() } else { before.to_string() };
                let message = format!("{when} is not after {after}; put the changes in order");
                return Err(self.error(&field("at"), message));
            }
            if *change == Change::nothing(*when) {
                let message = "changes nothing; give a rate, a delay, a loss …, or leave it out";
                return Err(self.error(&format!("changes[{number}]"), message));
            }
            let mut ends = *when;
            match (rate, ramp) {
                (None, Some(_)) => {
                    return Err(self.error(&field("ramp"), "is for a rate; add one"));
                }
                (Some(rate), ramp) => {
                    let ramp = ramp.unwrap_or_default();
                    rates.extend(ramped(rate_now, *rate, *when, ramp));
                    (rate_now, ends) = (*rate, *when + ramp);
                }
                (None, None) => {}
            }
            let when = at(*when);
            delays.extend(delay.map(|delay| (when, delay)));
            limits.extend(buffer.map(|buffer| (when, (self.amounts.limit)(buffer))));
            if let Some(mark) = mark {
                if !matches!(steady.queue, Discipline::MarkFrom(_)) {
                    let message = "changes a threshold that is not there; give the link a mark";
                    return Err(self.error(&field("mark"), message));
                }
                marks.push((when, (self.amounts.packets)(*mark)));
            }
            if lost.is_some() || loss_burst.is_some() {
                losses.push((when, loss(&place, *lost, *loss_burst)?));
            }
            if let Some(most) = varies {
                let reorders = steady.jitter.reorders;
                jitters.push((when, Jitter { most: *most, reorders }));
            }
            mtus.extend(mtu(&place, *largest)?.map(|mtu| (when, mtu)));
            before = ends;
        }
        if let Some(repeat) = repeat.filter(|repeat| *repeat <= before) {
            let message = format!("{repeat} is not after the last change, which ends at {before}");
            return Err(self.error("repeat", message));
        }
        let changed = Changed { rate: !rates.is_empty(), delay: !delays.is_empty() };
        fn steps<T: Copy>(first: T, later: Vec<(Time, T)>, repeat: Option<Duration>) -> Steps<T> {
            let repeat = repeat.filter(|_| !later.is_empty());
            Steps::new(first, later, repeat)
        }
        varying.delays = steps(steady.delay, delays, repeat);
        varying.limits = steps(steady.limit, limits, repeat);
        if let Discipline::MarkFrom(packets) = steady.queue {
            varying.marks = Some(steps(packets, marks, repeat));
        }
        varying.losses = steps(steady.loss, losses, repeat);
        varying.jitters = steps(steady.jitter, jitters, repeat);
        varying.mtus = steps(steady.mtu.unwrap_or(u32::MAX), mtus, repeat);
        Ok((steps(steady.rate, rates, repeat), changed))
    }

    /// Every outage up to the end of the run, in order.
    fn outages(&self, outages: &[Outage]) -> Result<Vec<Span>, ScenarioError> {
        let mut spans = Vec::new();
        for (number, outage) in outages.iter().enumerate() {
            let field = |name: &str| format!("outages[{number}].{name}");
            let Outage { at: begins, r#for: lasts, every, does } = outage;
            self.within(&field("at"), *begins)?;
            if *lasts == Duration::ZERO {
                return Err(self.error(&field("for"), "must be above 0; try \"500ms\""));
            }
            if let Some(every) = every.filter(|every| every <= lasts) {
                let message = format!("{every} is no longer than the outage of {lasts}; give more");
                return Err(self.error(&field("every"), message));
            }
            let does = does.unwrap_or(Does::Lose);
            let mut from = at(*begins);
            while from < at(self.end) {
                spans.push(Span { from, to: from + *lasts, does });
                from = every.map_or(Time::NEVER, |every| from + every);
            }
        }
        spans.sort_by_key(|span| span.from);
        Ok(spans)
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

    fn handovers(&self, handovers: &Handovers) -> Result<Handovers, ScenarioError> {
        let Handovers { every, first, rate, delay, gap, drift, slots, does } = handovers;
        let field = |name: &str| format!("handovers.{name}");
        self.within(&field("first"), first.unwrap_or(*every))?;
        let first_is_start = first.is_some_and(|first| first == Duration::ZERO);
        if *every == Duration::ZERO || first_is_start {
            let name = if first_is_start { "first" } else { "every" };
            return Err(self.error(&field(name), "must be above 0; try \"15s\""));
        }
        if gap.is_some_and(|gap| gap >= *every) {
            let message = format!("is not shorter than the {every} from one to the next");
            return Err(self.error(&field("gap"), message));
        }
        if does.is_some() && gap.is_none_or(|gap| gap == Duration::ZERO) {
            return Err(self.error(&field("does"), "is for a gap; add gap = \"80ms\""));
        }
        if let Some((least, most)) = rate.filter(|(least, most)| least > most) {
            return Err(self.error(&field("rate"), format!("{least} is above {most}; swap them")));
        }
        if let Some((least, most)) = delay.filter(|(least, most)| least > most) {
            return Err(self.error(&field("delay"), format!("{least} is above {most}; swap them")));
        }
        if slots.as_ref().is_some_and(Vec::is_empty) {
            return Err(self.error(&field("slots"), "is empty; give a rate and a delay each"));
        }
        let draws = rate.is_some() || delay.is_some();
        if slots.is_some() && draws {
            return Err(
                self.error(&field("slots"), "says all rates and delays; leave the ranges out")
            );
        }
        if slots.is_none() && !draws && gap.is_none() {
            return Err(self.error("handovers", "change nothing; give a rate, a delay or a gap"));
        }
        if drift.is_some() && delay.is_none() && slots.is_none() {
            return Err(self.error(&field("drift"), "is of a delay; add one"));
        }
        Ok(handovers.clone())
    }

    fn hold(&self, hold: &crate::scenario::Hold) -> Result<Hold, ScenarioError> {
        let (every, mean) = match &hold.every {
            Every::Exactly(every) => (narrows_sim::Every::Exactly(*every), *every),
            Every::OnAverage(every) => (narrows_sim::Every::OnAverage(every.mean), every.mean),
        };
        if mean == Duration::ZERO {
            return Err(self.error("hold.every", "must be above 0; try \"4ms\""));
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

    /// Line `number` of the script.
    fn line(
        &self,
        number: usize,
        line: &ScriptLine,
    ) -> Result<narrows_sim::ScriptLine, ScenarioError> {
        let field = |name: &str| format!("script[{number}].{name}");
        let ScriptLine { drop, mark, late, packets, from, until, flow, least, each } = line;
        let (act, numbers) = match (drop, mark, late, packets) {
            (Some(numbers), None, None, None) => (Act::Drop, numbers),
            (None, Some(numbers), None, None) => (Act::Mark, numbers),
            (None, None, Some(late), Some(numbers)) => (Act::Late(*late), numbers),
            (None, None, Some(_), None) => {
                let message = "must say which packets; add packets = 1";
                return Err(self.error(&field("late"), message));
            }
            _ => {
                let message =
                    "must say one of drop, mark, and late with packets; like { drop = 17 }";
                return Err(self.error(&format!("script[{number}]"), message));
            }
        };
        if late.is_some_and(|late| late > Act::LATEST) {
            let message = format!("is later than {} at most", Act::LATEST);
            return Err(self.error(&field("late"), message));
        }
        if late.is_some() && self.options.hold.is_some() {
            let message = "lets others overtake, and a hold keeps the order; leave one of them out";
            return Err(self.error(&field("late"), message));
        }
        let (begins, ends) = (from.unwrap_or_default(), until.unwrap_or(Duration::MAX));
        self.within(&field("from"), begins)?;
        if ends <= begins {
            let message = format!("{ends} is not after {begins}, where it begins");
            return Err(self.error(&field("until"), message));
        }
        self.numbers(&field, numbers, *each)?;
        let admits = Admits {
            from: at(begins),
            until: at(ends),
            flow: *flow,
            least: least.map_or(0, |least| least.count().min(u32::MAX.into()) as u32),
        };
        let numbers = numbers.ranges().to_vec();
        Ok(narrows_sim::ScriptLine { act, admits, numbers, each: *each })
    }

    fn numbers(
        &self,
        field: &dyn Fn(&str) -> String,
        numbers: &Numbers,
        each: Option<u64>,
    ) -> Result<(), ScenarioError> {
        let last = numbers.ranges().iter().map(|range| *range.end()).max().unwrap_or(0);
        match each {
            Some(each) if each < last => {
                let message = format!("{each} is below {last}, to which is never counted then");
                Err(self.error(&field("each"), message))
            }
            _ => Ok(()),
        }
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
    let steps = (ramp.picos() / SHORTEST_STEP.picos()).min(RAMP_STEPS);
    let [low, high] = [from, to].map(|rate| rate.bits_per_second() as f64);
    let step = |number: u64| {
        let share = (number as f64 + 0.5) / steps as f64;
        let bits = (low + (high - low) * share).round() as u64;
        let begins = at(when) + ramp.scale(number as f64 / steps as f64);
        (begins, Rate::from_bits_per_second(bits).unwrap_or(to))
    };
    (0..steps).map(step).chain([(at(when + ramp), to)]).collect()
}
