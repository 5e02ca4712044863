//! Runs what checks ask for, each stimulus once, over all cores.

use crate::check::{Check, Stop, Verdict};
use crate::network::Stimulus;
use crate::subject::Subject;
use crate::wire::{RealPackets, Seen, Watching, Wire};
use narrows_scenario::{Checked, Own, Scenario, run_tapped};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What a check found.
#[derive(Clone, Debug)]
pub struct Row {
    /// The check.
    pub check: &'static Check,
    /// What was found.
    pub verdict: Verdict,
    /// The number; NaN if there is none.
    pub number: f64,
    /// The number for people, or why there is none.
    pub seen: String,
    /// Where it lies if all is right.
    pub bound: String,
    /// The scenarios that were run for it, as JSON; the last has the stimulus.
    pub scenarios: Vec<String>,
}

impl Row {
    /// The row as one object: what was asked and what was found, without the scenarios.
    pub fn record(&self) -> Value {
        let mut record = self.check.record();
        record["finding"] = json!(self.verdict.as_str());
        record["number"] = json!(self.number.is_finite().then_some(self.number));
        record["seen"] = json!(self.seen);
        record["bound"] = json!(self.bound);
        record
    }
}

/// The seed of all runs: chance decides nothing but a stack's own keys.
pub const SEED: u64 = 1;

type Ran = Result<Arc<Wire>, NotRun>;

/// Why a scenario of a check was not run.
#[derive(Clone, Debug)]
pub enum NotRun {
    /// It is not for such a path or flow.
    Refused(String),
    /// Something went wrong.
    Failed(String),
}

impl From<NotRun> for Stop {
    fn from(error: NotRun) -> Self {
        match error {
            NotRun::Refused(why) => Self::NotAsked(why),
            NotRun::Failed(why) => Self::Failed(why),
        }
    }
}

/// What has been run, by scenario.
#[derive(Default)]
struct Runs(Mutex<BTreeMap<String, Arc<OnceLock<Ran>>>>);

/// Runs a scenario over a real path, and returns what was seen.
pub type RealPath<'a> = dyn Fn(&str) -> Result<RealPackets, NotRun> + Sync + 'a;

/// Where a subject meets what checks ask for.
#[derive(Clone, Copy)]
enum Over<'a> {
    /// In a simulation, whose flows may use these laws and stacks.
    Simulated(&'a Own),
    /// On a path in real time.
    Real(&'a RealPath<'a>),
}

/// One check of one subject.
pub(crate) struct Trial<'a> {
    pub subject: &'a Subject,
    over: Over<'a>,
    runs: &'a Runs,
    scenarios: Vec<String>,
}

impl Trial<'_> {
    /// Whether it is tried in real time.
    pub fn is_real(&self) -> bool {
        matches!(self.over, Over::Real(_))
    }

    fn scenario(&self, stimulus: &Stimulus) -> String {
        match self.over {
            Over::Simulated(_) => stimulus.scenario(self.subject),
            Over::Real(_) => stimulus.dumbbell(self.subject),
        }
    }

    /// What is on the wire when `scenario` is run over a path of `rtt` seconds.
    fn observe(&self, scenario: &str, rtt: f64) -> Ran {
        match self.over {
            Over::Simulated(own) => observe(scenario, rtt, own).map_err(NotRun::Failed),
            Over::Real(path) => Ok(Arc::new(Seen::of(path(scenario)?).wire(rtt))),
        }
    }

    /// What is on the wire when the subject meets `stimulus`.
    pub fn run(&mut self, stimulus: &Stimulus) -> Result<Arc<Wire>, Stop> {
        let scenario = self.scenario(stimulus);
        self.scenarios.retain(|it| *it != scenario);
        self.scenarios.push(scenario.clone());
        self.observed(stimulus, &scenario)
    }

    /// The same of a run that another is compared with.
    pub fn reference(&mut self, stimulus: &Stimulus) -> Result<Arc<Wire>, Stop> {
        let scenario = self.scenario(stimulus);
        if !self.scenarios.contains(&scenario) {
            self.scenarios.insert(0, scenario.clone());
        }
        self.observed(stimulus, &scenario)
    }

    fn observed(&self, stimulus: &Stimulus, scenario: &str) -> Result<Arc<Wire>, Stop> {
        let slot = {
            let mut runs = self.runs.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(runs.entry(scenario.to_owned()).or_default())
        };
        let rtt = stimulus.network.rtt;
        let ran = slot.get_or_init(|| self.observe(scenario, rtt)).clone();
        ran.map_err(|error| {
            // What is said of a flow that has not a field names it.
            let (NotRun::Refused(said) | NotRun::Failed(said)) = &error;
            let lacks = stimulus.asks().find(|(field, _)| said.contains(field));
            lacks.map_or_else(|| error.into(), |(_, why)| Stop::NotAsked(why.to_owned()))
        })
    }

    /// The same, and what a second run of it shows.
    pub fn run_twice(&mut self, stimulus: &Stimulus) -> Result<(Arc<Wire>, Arc<Wire>), Stop> {
        if self.is_real() {
            return Err(Stop::NotAsked("real time is never twice the same".to_owned()));
        }
        let first = self.run(stimulus)?;
        let scenario = self.scenario(stimulus);
        let second = self.observe(&scenario, stimulus.network.rtt)?;
        Ok((first, second))
    }
}

/// What is on the wire when a `scenario` of a check, as [`Row::scenarios`] has it, is run; `rtt` is
/// its base RTT in seconds. Fails if it cannot be run.
pub fn observe(scenario: &str, rtt: f64, own: &Own) -> Result<Arc<Wire>, String> {
    let watching = Watching::default();
    let parsed = Scenario::from_json(scenario).map_err(|error| error.to_string())?;
    let checked = Checked::with_own(parsed, own).map_err(|error| error.to_string())?;
    run_tapped(&checked, SEED, Box::new(watching.clone())).map_err(|error| error.to_string())?;
    Ok(Arc::new(watching.seen().wire(rtt)))
}

/// Tries `checks` of `subject`, whose flow may use the laws and stacks of `own`, on as many threads
/// as there are cores. Fails if one of them cannot be run.
pub fn conform(
    subject: &Subject,
    own: &Own,
    checks: &[&'static Check],
) -> Result<Vec<Row>, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    conform_on(cores, subject, own, checks)
}

/// The same on so many threads; the rows do not depend on their number.
pub fn conform_on(
    threads: usize,
    subject: &Subject,
    own: &Own,
    checks: &[&'static Check],
) -> Result<Vec<Row>, String> {
    tried(threads, subject, Over::Simulated(own), checks)
}

/// The same of a congestion control of this machine's kernel, over a path in real time, one
/// stimulus after the other.
pub fn conform_real(
    subject: &Subject,
    path: &RealPath<'_>,
    checks: &[&'static Check],
) -> Result<Vec<Row>, String> {
    tried(1, subject, Over::Real(path), checks)
}

fn tried(
    threads: usize,
    subject: &Subject,
    over: Over<'_>,
    checks: &[&'static Check],
) -> Result<Vec<Row>, String> {
    let (runs, next) = (Runs::default(), AtomicUsize::new(0));
    let rows: Vec<OnceLock<Result<Row, String>>> = checks.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        while let Some(place) =
            Some(next.fetch_add(1, Ordering::Relaxed)).filter(|it| *it < rows.len())
        {
            let trial = Trial { subject, over, runs: &runs, scenarios: Vec::new() };
            let _ = rows[place].set(row(checks[place], trial));
        }
    };
    match over {
        // Who called may be asked to stop, on its own thread.
        Over::Real(_) => work(),
        Over::Simulated(own) => std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, checks.len().max(1)) {
                let joining: Vec<_> = own.stacks.iter().map(|stack| stack.joining()).collect();
                scope.spawn(|| {
                    joining.into_iter().for_each(|join| join());
                    work();
                });
            }
        }),
    }
    let rows: Vec<Result<Row, String>> = rows
        .into_iter()
        .map(|row| row.into_inner().unwrap_or_else(|| Err("it was not run".to_owned())))
        .collect();
    // What no check can run is no subject; of one that some can the others say why not.
    let runs = rows.iter().flatten().any(|row| row.verdict != Verdict::NotAsked);
    let found = rows.into_iter().zip(checks).map(|(row, check)| match row {
        Err(error) if runs => Ok(Row {
            check,
            verdict: Verdict::Undecided,
            number: f64::NAN,
            seen: format!("could not be run: {error}"),
            bound: String::new(),
            scenarios: Vec::new(),
        }),
        row => row.map_err(|error| format!("{}: {error}", check.id)),
    });
    found.collect()
}

fn row(check: &'static Check, mut trial: Trial<'_>) -> Result<Row, String> {
    let none = |verdict, seen: String, scenarios| {
        Ok(Row { check, verdict, number: f64::NAN, seen, bound: String::new(), scenarios })
    };
    if let Err(reason) = (check.applies)(trial.subject) {
        return none(Verdict::NotAsked, reason.to_owned(), Vec::new());
    }
    match (check.measure)(&mut trial) {
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::NotAsked(reason)) => none(Verdict::NotAsked, reason, Vec::new()),
        Err(Stop::Undecided(reason)) => none(Verdict::Undecided, reason, trial.scenarios),
        Ok(found) => Ok(Row {
            check,
            verdict: found.verdict(),
            number: found.number,
            bound: found.bound(),
            seen: found.seen,
            scenarios: trial.scenarios,
        }),
    }
}
