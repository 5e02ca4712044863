//! Outages of a link.

use super::{Context, MOST, at};
use crate::ScenarioError;
use crate::scenario::{Does, Outage};
use narrows_router::service::Steps;
use narrows_units::{Duration, Rate, Time};

/// An outage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub from: Time,
    pub to: Time,
    pub does: Does,
}

/// Whether an outage that does what is `meant` is under way.
pub(super) fn during(outages: &[Span], meant: impl Fn(Does) -> bool) -> Steps<bool> {
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
pub(super) fn except(rates: &Steps<Rate>, held: &Steps<bool>, end: Time) -> Steps<Option<Rate>> {
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

impl Context<'_> {
    /// Every outage up to the end of the run, in order.
    pub(super) fn outages(&self, outages: &[Outage]) -> Result<Vec<Span>, ScenarioError> {
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
            let lasting = self.end.saturating_sub(*begins).picos();
            if let Some(every) = every.filter(|every| lasting / every.picos() > MOST) {
                let message = format!("{every} makes more than {MOST} outages; give more");
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
}
