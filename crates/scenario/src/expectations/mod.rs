//! What a run is expected to show: numbers of it with bounds, which may speak of other numbers of
//! the same run and of reference runs under the same seed.

mod bound;
mod place;

pub use bound::Side;
use bound::{Bound, Runs};
use place::Place;

use crate::metrics::Kind;
use crate::own::Own;
use crate::scenario::{Expected, Reference, Scenario};
use crate::{Checked, Results, ScenarioError};
use narrows_units::{Duration, Probability};

/// An expectation whose number and bound are there.
#[derive(Clone)]
pub struct Expectation {
    /// The name of the number.
    pub name: String,
    /// The bound as written.
    pub written: String,
    /// The part of the run in which it is to hold, in seconds; the measured window if `None`.
    pub during: Option<[f64; 2]>,
    /// Why; empty if it was not said.
    pub why: String,
    /// Where it is asked for; empty if it was not said.
    pub source: String,
    place: Place,
    bound: Bound,
    is_relative: bool,
    needs_samples: bool,
}

impl Expectation {
    /// The number and what its bound amounts to, in the run of the scenario and those of its
    /// references, in the order of [`Expectations::references`], all under one seed; NaN for what
    /// such a run does not show.
    pub fn read(&self, runs: &[&Results]) -> [f64; 2] {
        [self.place.read(runs), self.bound.value(runs)]
    }

    /// Which side of the bound is right.
    pub fn side(&self) -> Side {
        self.bound.side
    }

    /// True if the bound is more than a number: it may differ from run to run.
    pub fn is_relative(&self) -> bool {
        self.is_relative
    }

    /// What kind of quantity it is.
    pub fn kind(&self) -> Kind {
        self.place.kind()
    }
}

/// What is expected of a scenario, and how it is found out.
#[derive(Clone)]
pub struct Expectations {
    /// Each of them, by name.
    pub all: Vec<Expectation>,
    /// The other runs that numbers are of: references, and the scenario or a reference of which
    /// another part is measured.
    pub references: Vec<Other>,
    /// The number of seeds.
    pub seeds: u32,
    /// The level of confidence.
    pub confidence: f64,
}

/// A run that a number is of, besides the scenario's own.
#[derive(Clone)]
pub struct Other {
    /// Its name.
    pub name: String,
    /// The scenario as JSON, and what is measured of it: where that is the same, so is the run.
    pub text: String,
    /// What is run.
    pub checked: Checked,
}

/// Seeds unless given: with fewer an interval is wide, by Student's t.
const SEEDS: u32 = 5;
const CONFIDENCE: f64 = 0.95;
/// More seeds than these would not end.
const MOST_SEEDS: u32 = 10_000;

impl Expectations {
    /// Of a scenario of which nothing is expected.
    pub(crate) fn none() -> Self {
        Self { all: Vec::new(), references: Vec::new(), seeds: SEEDS, confidence: CONFIDENCE }
    }

    /// What `scenario`, checked as `checked`, is expected to show.
    pub(crate) fn new(
        scenario: &Scenario,
        checked: &Checked,
        own: &Own,
    ) -> Result<Self, ScenarioError> {
        let (seeds, confidence) = seeds(scenario)?;
        let references = references(scenario, own)?;
        let mut runs = vec![("", checked)];
        runs.extend(references.iter().map(|it| (it.name.as_str(), &it.checked)));
        let mut parts = Parts::default();
        let mut used = vec![false; runs.len()];
        let mut all = Vec::new();
        let expected = scenario.expect.iter().flat_map(|expect| &expect.0);
        for (name, it) in expected.flat_map(|(name, all)| all.iter().map(move |it| (name, it))) {
            let wrong = |message| ScenarioError::new(format!("expect.{name}"), message);
            let mut one = expectation(name, it, &runs).map_err(wrong)?;
            if let Some(during) = it.during {
                window(during, checked).map_err(wrong)?;
            }
            let mut places = one.bound.places();
            places.push(&mut one.place);
            for place in places {
                place.runs().for_each(|run| used[run] = true);
                if let Some(during) = it.during {
                    *place = place.moved(&mut |run| runs.len() + parts.number(run, during));
                }
            }
            all.push(one);
        }
        if let Some(idle) = (1..runs.len()).find(|run| !used[*run]) {
            let message = "no bound speaks of it; leave it out";
            return Err(ScenarioError::new(format!("reference.{}", runs[idle].0), message));
        }
        let own = Other { name: String::new(), text: plain(scenario), checked: checked.clone() };
        let part =
            |part: &Part| part.of(part.run.checked_sub(1).map_or(&own, |it| &references[it]));
        let parts: Vec<_> = parts.0.iter().map(part).collect();
        let references = references.into_iter().chain(parts).collect();
        Ok(Self { all, references, seeds, confidence })
    }

    /// Whether one of the numbers is from samples.
    pub fn needs_samples(&self) -> bool {
        self.all.iter().any(|it| it.needs_samples)
    }
}

/// Parts of runs, by the run and what is measured of it.
#[derive(Default)]
struct Parts(Vec<Part>);

#[derive(Clone, Copy, PartialEq)]
struct Part {
    run: usize,
    during: [Duration; 2],
}

impl Parts {
    /// The number of a part, from 0.
    fn number(&mut self, run: usize, during: [Duration; 2]) -> usize {
        let part = Part { run, during };
        self.0.iter().position(|other| *other == part).unwrap_or_else(|| {
            self.0.push(part);
            self.0.len() - 1
        })
    }
}

impl Part {
    /// The part of `run`: a run that ends with it, and of which only it is measured.
    fn of(&self, run: &Other) -> Other {
        let [warmup, duration] = self.during;
        let when = format!("during {warmup} to {duration}");
        let mut checked = run.checked.clone();
        (checked.warmup, checked.duration) = (warmup, duration);
        Other {
            name: format!("{} {when}", run.name).trim_start().to_owned(),
            text: format!("{} {when}", run.text),
            checked,
        }
    }
}

/// `scenario` without what is expected of it, as JSON.
fn plain(scenario: &Scenario) -> String {
    let mut plain = scenario.clone();
    (plain.expect, plain.seeds) = (None, None);
    plain.reference.clear();
    plain.to_json()
}

/// The references of `scenario`, by name.
fn references(scenario: &Scenario, own: &Own) -> Result<Vec<Other>, ScenarioError> {
    let reference = |(name, reference): (&String, &Reference)| {
        let place = format!("reference.{name}");
        let wrong = |error: ScenarioError| ScenarioError::new(&place, error);
        if ["links", "groups", "flows", "min", "max"].contains(&name.as_str()) {
            let message = "bounds have another meaning for this word; choose another name";
            return Err(ScenarioError::new(&place, message));
        }
        let other = reference.of(scenario).map_err(wrong)?;
        let text = plain(&other);
        let checked = Checked::with_own(other, own).map_err(wrong)?;
        Ok(Other { name: name.clone(), text, checked })
    };
    scenario.reference.iter().map(reference).collect()
}

fn expectation(name: &str, it: &Expected, runs: Runs<'_>) -> Result<Expectation, String> {
    let mut bound = Bound::parse(&it.bound, name, runs)?;
    let place = Place::find(name, 0, runs)?;
    let is_sampled = bound.places().iter().any(|place| place.is_sampled());
    Ok(Expectation {
        name: name.to_owned(),
        written: it.bound.split_whitespace().collect::<Vec<_>>().join(" "),
        during: it.during.map(|during| during.map(Duration::seconds)),
        why: it.why.clone().unwrap_or_default(),
        source: it.source.clone().unwrap_or_default(),
        is_relative: bound.is_relative(),
        needs_samples: is_sampled || place.is_sampled(),
        place,
        bound,
    })
}

/// Checks that a part lies in the run.
fn window([from, to]: [Duration; 2], checked: &Checked) -> Result<(), String> {
    if from < to && to <= checked.duration {
        return Ok(());
    }
    let end = checked.duration;
    Err(format!("during: {from} to {to} is no part of the run; it goes from 0s to {end}"))
}

fn seeds(scenario: &Scenario) -> Result<(u32, f64), ScenarioError> {
    let given = scenario.seeds.as_ref();
    if given.is_some() && scenario.expect.is_none() {
        let message = "seeds are those of expectations, and there are none; add [expect], or leave \
                       it out";
        return Err(ScenarioError::new("seeds", message));
    }
    if !scenario.reference.is_empty() && scenario.expect.is_none() {
        let message = "bounds speak of references, and there are none; add [expect]";
        return Err(ScenarioError::new("reference", message));
    }
    let count = given.and_then(|given| given.count).unwrap_or(SEEDS);
    if !(1..=MOST_SEEDS).contains(&count) {
        let message = format!("{count} is not from 1 to {MOST_SEEDS}; try 5");
        return Err(ScenarioError::new("seeds.count", message));
    }
    let confidence =
        given.and_then(|given| given.confidence).map_or(CONFIDENCE, Probability::value);
    if !(0.5..1.0).contains(&confidence) {
        let message = "an interval has a confidence from 50% to below 100%; try \"95%\"";
        return Err(ScenarioError::new("seeds.confidence", message));
    }
    Ok((count, confidence))
}
