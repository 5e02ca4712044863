//! Handovers of a link: checked, and drawn for a run.

use super::outages::Span;
use super::{Context, MOST, at};
use crate::ScenarioError;
use crate::scenario::{Does, Handovers};
use narrows_units::{Duration, Rate, Stream, Time};

/// A delay that drifts does so in steps of this.
const DRIFT_STEP: Duration = Duration::from_millis(100);

/// Handovers of one run.
#[derive(Default)]
pub(super) struct Drawn {
    pub rates: Vec<(Time, Rate)>,
    pub delays: Vec<(Time, Duration)>,
    pub gaps: Vec<Span>,
}

impl Drawn {
    /// Those of a run that ends at `end`, drawn from `stream`.
    pub fn of(handovers: &Handovers, end: Time, stream: &mut Stream) -> Self {
        let mut drawn = Self::default();
        let mut begins = at(handovers.first.unwrap_or(handovers.every));
        let mut number = 0;
        while begins < end {
            drawn.hand_over(handovers, (begins, end), number, stream);
            begins += handovers.every;
            number += 1;
        }
        drawn
    }

    fn hand_over(
        &mut self,
        handovers: &Handovers,
        (begins, end): (Time, Time),
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
            self.delays.extend(drifting(delay, drift.unwrap_or_default(), *every, begins, end));
        }
        if let Some(gap) = gap.filter(|gap| *gap > Duration::ZERO) {
            let does = does.unwrap_or(Does::Lose);
            self.gaps.push(Span { from: begins, to: begins + gap, does });
        }
    }
}

/// The steps of a delay that grows by `drift` in a slot of length `every` from `begins` on, up to
/// the end of the run.
fn drifting(
    delay: Duration,
    drift: Duration,
    every: Duration,
    begins: Time,
    end: Time,
) -> impl Iterator<Item = (Time, Duration)> {
    let steps = if drift > Duration::ZERO { every.picos() / DRIFT_STEP.picos() } else { 1 };
    let steps = steps.max(1);
    let step = move |number: u64| {
        let share = number as f64 / steps as f64;
        (begins + DRIFT_STEP * number, delay + drift.scale(share))
    };
    (0..steps).map(step).take_while(move |(at, _)| *at < end)
}

impl Context<'_> {
    pub(super) fn handovers(&self, handovers: &Handovers) -> Result<Handovers, ScenarioError> {
        let Handovers { every, first, rate, delay, gap, drift, slots, does } = handovers;
        let field = |name: &str| format!("handovers.{name}");
        self.within(&field("first"), first.unwrap_or(*every))?;
        let first_is_start = first.is_some_and(|first| first == Duration::ZERO);
        if *every == Duration::ZERO || first_is_start {
            let name = if first_is_start { "first" } else { "every" };
            return Err(self.error(&field(name), "must be above 0; try \"15s\""));
        }
        if self.end.picos() / every.picos() > MOST {
            let message = format!("{every} makes more than {MOST} handovers; give more");
            return Err(self.error(&field("every"), message));
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
}
