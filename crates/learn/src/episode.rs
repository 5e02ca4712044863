//! One run, stepped from decision to decision.

use crate::interval::{COLUMNS, Interval};
use crate::learner::{Action, Desk, Learner, Script};
use narrows_control::Controller;
use narrows_control::registry::{self, Birth, Entry};
use narrows_scenario::{Checked, Own, OwnLaw, Place, RunError, Scenario, ScenarioError, Steps};
use narrows_settings::Given;
use narrows_transport::Counters;
use narrows_units::{Duration, Time};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name by which a flow's `cc` calls the law that is told from outside.
pub const LEARNER: &str = "learner";

/// A law that learners steer by setting its window.
#[derive(Clone, Copy)]
pub struct Below(&'static Entry);

impl Below {
    /// The law called `name`. Fails if there is none, or if its window could not be set.
    pub fn new(name: &str) -> Result<Self, String> {
        let entry = registry::find(name).map_err(|error| error.to_string())?;
        let recipe = entry.read(&Birth::default()).map_err(|error| error.to_string())?;
        if recipe.make(0).set_window(10.0) {
            return Ok(Self(entry));
        }
        Err(format!("{name} has no window that could be set; try \"cubic\""))
    }

    /// A controller.
    pub(crate) fn make(self, birth: &Birth) -> Box<dyn Controller> {
        let plain = Birth { given: Given::default(), ..birth.clone() };
        self.0.read(&plain).expect("its own settings are right").make(0)
    }
}

/// What makes learners: those of one run, each with a desk of its own.
#[derive(Default)]
struct Learners {
    /// What each begins with; those beyond it, with the window of their birth.
    first: Mutex<Vec<Action>>,
    /// The law below each.
    below: Option<Below>,
    /// The desks of those made so far.
    desks: Mutex<Vec<Desk>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Learners {
    fn take(&self) -> Vec<Desk> {
        std::mem::take(&mut lock(&self.desks))
    }
}

impl OwnLaw for Learners {
    fn name(&self) -> &str {
        LEARNER
    }

    fn hears_marks(&self) -> bool {
        true
    }

    fn make(&self, birth: &Birth) -> Box<dyn Controller> {
        let mut desks = lock(&self.desks);
        let first = lock(&self.first).get(desks.len()).copied();
        let first = first.unwrap_or(Learner::resting(birth));
        let desk = Desk::new(first);
        desks.push(desk.clone());
        let below = self.below.map(|below| below.make(birth));
        Box::new(Learner::new(first, Box::new(desk), below))
    }
}

/// What makes learners that do what was decided before.
struct Scripts {
    /// What was decided for each.
    actions: Vec<Arc<[Action]>>,
    below: Option<Below>,
    /// How many have been made.
    made: AtomicUsize,
}

impl OwnLaw for Scripts {
    fn name(&self) -> &str {
        LEARNER
    }

    fn hears_marks(&self) -> bool {
        true
    }

    fn make(&self, birth: &Birth) -> Box<dyn Controller> {
        let number = self.made.fetch_add(1, Relaxed) % self.actions.len();
        let actions = Arc::clone(&self.actions[number]);
        let first = actions[0];
        let below = self.below.map(|below| below.make(birth));
        Box::new(Learner::new(first, Box::new(Script::new(actions)), below))
    }
}

/// Whether a flow's `cc` is the learner, over whatever transport.
pub fn is_learner(cc: &str) -> bool {
    let law = cc.split('+').next().unwrap_or_default();
    law.trim() == LEARNER
}

/// The law `learner` for runs in which nobody decides: it keeps the window of its birth.
pub fn resting() -> Arc<dyn OwnLaw> {
    Arc::new(Resting)
}

struct Resting;

impl OwnLaw for Resting {
    fn name(&self) -> &str {
        LEARNER
    }

    fn hears_marks(&self) -> bool {
        true
    }

    fn oddity(&self) -> Option<&str> {
        Some(
            "nobody decides for a learner in a plain run, so that it keeps the window of its \
             birth; step it with narrows.gym, or name a trained policy",
        )
    }

    fn make(&self, birth: &Birth) -> Box<dyn Controller> {
        let first = Learner::resting(birth);
        Box::new(Learner::new(first, Box::new(Desk::new(first)), None))
    }
}

/// An episode that has been checked and has not begun.
pub struct Laid {
    scenario: Scenario,
    seed: u64,
    own: Own,
    learners: Arc<Learners>,
    checked: Checked,
    /// The numbers of the learners among all flows.
    flows: Vec<usize>,
}

impl Laid {
    /// Checks `scenario`, whose learners are each above the law `below`; flows may use what `own`
    /// has. Fails if the scenario is not right or has no learner, or if learners have connections
    /// one after the other.
    pub fn new(
        scenario: Scenario,
        seed: u64,
        own: Own,
        below: Option<Below>,
    ) -> Result<Self, ScenarioError> {
        let learners = Arc::new(Learners { below, ..Learners::default() });
        let checked = Checked::with_own(scenario.clone(), &with(&own, &learners))?;
        checked.ends_soon()?;
        let flows = learning(&checked)?;
        Ok(Self { scenario, seed, own, learners, checked, flows })
    }

    /// The number of learners.
    pub fn learners(&self) -> usize {
        self.flows.len()
    }

    /// How long the run may last.
    pub fn duration(&self) -> Duration {
        self.checked.duration
    }

    /// What learners cannot know of their places as the run begins; none of one that passes no link
    /// between routers. Fails if the run cannot be built.
    pub fn places(&self) -> Result<Vec<Option<Place>>, ScenarioError> {
        let mut steps = Steps::new(self.checked.clone(), self.seed)?;
        Ok(self.flows.iter().map(|flow| steps.place(*flow, Time::ZERO)).collect())
    }

    /// Begins it; each learner begins with its action of `first`, all until the same instant or the
    /// end of the run. Fails if the run cannot be built; panics if there are not as many actions as
    /// learners.
    pub fn begin(self, mut first: Vec<Action>) -> Result<Episode, ScenarioError> {
        let Self { scenario, seed, own, learners, checked, flows } = self;
        let end = Time::ZERO + checked.duration;
        first.iter_mut().for_each(|action| action.until = action.until.min(end));
        assert_eq!(first.len(), flows.len(), "an action for each learner");
        let until = first[0].until;
        lock(&learners.first).clone_from(&first);
        // Checking has made some, too.
        drop(learners.take());
        let steps = Steps::new(checked, seed)?;
        let desks = learners.take();
        assert_eq!(desks.len(), flows.len(), "each flow has one controller");
        let decided = first.into_iter().map(|first| vec![first]).collect();
        let (below, before) = (learners.below, Time::ZERO);
        Ok(Episode { scenario, seed, own, below, steps, end, decided, desks, flows, before, until })
    }
}

/// One run whose flows with the law [`LEARNER`] are told what to do at common times.
pub struct Episode {
    scenario: Scenario,
    seed: u64,
    own: Own,
    below: Option<Below>,
    steps: Steps,
    /// The end of the run.
    end: Time,
    /// What has been decided for each learner.
    decided: Vec<Vec<Action>>,
    /// What the law's flows leave, in their order.
    desks: Vec<Desk>,
    /// Their numbers among all flows.
    flows: Vec<usize>,
    /// When the interval began, and when it ends.
    before: Time,
    until: Time,
}

impl Episode {
    /// The same run from its start up to now, to be run as any other under its seed: with tables,
    /// and with traces; measured after `warmup`. Fails if that is not before now.
    pub fn again(&self, warmup: Duration) -> Result<(Checked, u64), ScenarioError> {
        let scenario = Scenario {
            duration: Some(self.now().since(Time::ZERO)),
            warmup: Some(warmup),
            ..self.scenario.clone()
        };
        let actions = self.decided.iter().map(|decided| Arc::from(decided.as_slice())).collect();
        let made = AtomicUsize::new(0);
        let scripts = Arc::new(Scripts { actions, below: self.below, made });
        let checked = Checked::with_own(scenario, &with(&self.own, &scripts))?;
        scripts.made.store(0, Relaxed);
        Ok((checked, self.seed))
    }

    /// Goes on until a decision is due, or to the end of the run.
    pub fn go(&mut self) -> Result<(), RunError> {
        self.steps.run_until(self.until)
    }

    /// What is decided for each learner from now on, at most to the end of the run, at which the
    /// last interval ends.
    pub fn decide(&mut self, actions: impl Iterator<Item = Action>) {
        self.before = self.steps.now();
        let end = self.end;
        let actions = actions.map(|it| Action { until: it.until.min(end), ..it });
        for ((desk, decided), action) in self.desks.iter().zip(&mut self.decided).zip(actions) {
            self.until = action.until;
            desk.decide(action);
            decided.push(action);
        }
    }

    /// The time that has been reached.
    pub fn now(&self) -> Time {
        self.steps.now()
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.steps.is_over()
    }

    /// Data packets that have reached their receivers.
    pub fn delivered(&self) -> u64 {
        self.steps.delivered()
    }

    /// What the sender of learner number `learner` has counted so far.
    pub fn counters(&self, learner: usize) -> Counters {
        self.steps.glimpse(self.flows[learner]).sender
    }

    /// Whether learner number `learner` has begun, and has not come to its end.
    pub fn is_running(&self, learner: usize) -> bool {
        self.steps.is_running(self.flows[learner])
    }

    /// The interval that learner number `learner` has ended now, in the order of [`COLUMNS`]; zeros
    /// but for the times if it ended none.
    pub fn row(&self, learner: usize) -> [f64; COLUMNS.len()] {
        let interval = self.desks[learner].interval();
        let now = self.now().seconds();
        if interval.now == now {
            return interval.row();
        }
        let duration = self.now().since(self.before).seconds();
        Interval { now, duration, ..Interval::default() }.row()
    }

    /// What learner number `learner` cannot know of the interval; `None` if it passes no link
    /// between routers.
    pub fn place(&mut self, learner: usize) -> Option<Place> {
        self.steps.place(self.flows[learner], self.before)
    }
}

/// What `own` has, and a law besides.
fn with(own: &Own, law: &Arc<impl OwnLaw + 'static>) -> Own {
    let mut own = own.clone();
    own.laws.insert(0, Arc::clone(law) as Arc<dyn OwnLaw>);
    own
}

/// The numbers of the flows whose law is the learner. Fails if there is none, or if one is a
/// connection after another, whose controllers would be others.
fn learning(checked: &Checked) -> Result<Vec<usize>, ScenarioError> {
    let mut flows = Vec::new();
    let mut first = 0;
    for (number, group) in checked.flows.iter().enumerate() {
        let count = group.count as usize;
        if is_learner(&group.cc) {
            if group.renews() {
                let message = "learns over one connection; leave out what makes it many";
                return Err(ScenarioError::new(format!("flows[{number}]"), message));
            }
            flows.extend(first..first + count);
        }
        first += count;
    }
    if flows.is_empty() {
        let message = format!("nobody learns; give a flow cc = \"{LEARNER}\"");
        return Err(ScenarioError::new("flows", message));
    }
    Ok(flows)
}
