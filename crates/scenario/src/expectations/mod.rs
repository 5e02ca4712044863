//! What a run is expected to show: numbers of it with bounds, which may speak of other numbers of
//! the same run and of reference runs under the same seed.

mod bound;
mod place;

use bound::Bound;
pub use bound::Side;
use place::Place;

use crate::metrics::Kind;
use crate::own::Own;
use crate::scenario::{Reference, Scenario};
use crate::{Checked, Results, ScenarioError};
use narrows_units::Probability;

/// An expectation whose number and bound are there.
#[derive(Clone)]
pub struct Expectation {
    /// The name of the number.
    pub name: String,
    /// The bound as written.
    pub written: String,
    /// Why; empty if it was not said.
    pub why: String,
    /// Where it is asked for; empty if it was not said.
    pub source: String,
    place: Place,
    bound: Bound,
}

impl Expectation {
    /// The number and what its bound amounts to, in the run of the scenario and those of its
    /// references, in the order of [`Expectations::references`], all under one seed; NaN for what
    /// such a run does not show.
    pub fn read(&self, runs: &[&Results]) -> [f64; 2] {
        [self.place.read(runs[0]), self.bound.value(runs)]
    }

    /// Which side of the bound is right.
    pub fn side(&self) -> Side {
        self.bound.side
    }

    /// True if the bound is more than a number: it may differ from run to run.
    pub fn is_relative(&self) -> bool {
        self.bound.is_relative()
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
    /// The scenarios that bounds speak of, by name.
    pub references: Vec<(String, Checked)>,
    /// The number of seeds.
    pub seeds: u32,
    /// The level of confidence.
    pub confidence: f64,
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
        let reference = |(name, reference): (&String, &Reference)| {
            let place = format!("reference.{name}");
            let wrong = |error: ScenarioError| ScenarioError::new(&place, error);
            if ["links", "groups", "flows", "min", "max"].contains(&name.as_str()) {
                let message = "bounds have another meaning for this word; choose another name";
                return Err(ScenarioError::new(&place, message));
            }
            let other = reference.of(scenario).map_err(wrong)?;
            Ok((name.clone(), Checked::with_own(other, own).map_err(wrong)?))
        };
        let references: Vec<_> =
            scenario.reference.iter().map(reference).collect::<Result<_, _>>()?;
        let mut runs = vec![("", checked)];
        runs.extend(references.iter().map(|(name, checked)| (name.as_str(), checked)));
        let expectation = |(name, it): (&String, &crate::scenario::Expected)| {
            let wrong = |message| ScenarioError::new(format!("expect.{name}"), message);
            Ok(Expectation {
                name: name.clone(),
                written: it.bound.split_whitespace().collect::<Vec<_>>().join(" "),
                why: it.why.clone().unwrap_or_default(),
                source: it.source.clone().unwrap_or_default(),
                place: Place::find(name, checked).map_err(wrong)?,
                bound: Bound::parse(&it.bound, name, &runs).map_err(wrong)?,
            })
        };
        let all = scenario.expect.iter().flat_map(|expect| &expect.0);
        let all: Vec<Expectation> = all.map(expectation).collect::<Result<_, _>>()?;
        let is_idle = |run: usize| !all.iter().any(|it| it.bound.uses(run));
        if let Some(idle) = (1..runs.len()).find(|run| is_idle(*run)) {
            let message = "no bound speaks of it; leave it out";
            return Err(ScenarioError::new(format!("reference.{}", runs[idle].0), message));
        }
        Ok(Self { all, references, seeds, confidence })
    }
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
