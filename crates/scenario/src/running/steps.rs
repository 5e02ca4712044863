//! A run that stands still now and then, wherever it is: with stacks that others wrote on a thread
//! of its own, since what those draw from the system belongs to their thread.

use super::stepped::{Place, Stepped};
use crate::error::RunError;
use crate::{Checked, ScenarioError};
use narrows_sim::Glimpse;
use narrows_units::Time;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

/// A [`Stepped`] run, also of stacks that others wrote.
pub struct Steps(Where);

enum Where {
    Here(Box<Stepped>),
    Apart(Box<Apart>),
}

impl Steps {
    /// Begins a run of `checked` under `seed`. Fails if it cannot be built.
    pub fn new(checked: Checked, seed: u64) -> Result<Self, ScenarioError> {
        Ok(Self(if checked.stacks().next().is_none() {
            Where::Here(Box::new(Stepped::new(checked, seed)?))
        } else {
            Where::Apart(Box::new(Apart::new(checked, seed)?))
        }))
    }

    /// Runs to `end`, or to the end of the run. Fails if a transfer arrives that finds no flow, or
    /// if at the end of the run a stack says of itself what cannot be.
    pub fn run_until(&mut self, end: Time) -> Result<(), RunError> {
        match &mut self.0 {
            Where::Here(stepped) => stepped.run_until(end),
            Where::Apart(apart) => apart.ask(move |stepped| stepped.run_until(end)),
        }
    }

    /// The time that has been reached.
    pub fn now(&self) -> Time {
        self.read(Stepped::now)
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.read(Stepped::is_over)
    }

    /// Data packets that have reached their receivers in the whole run.
    pub fn delivered(&self) -> u64 {
        self.read(Stepped::delivered)
    }

    /// Flow number `flow` as it is now.
    pub fn glimpse(&self, flow: usize) -> Glimpse {
        self.read(move |stepped| stepped.glimpse(flow))
    }

    /// Whether flow number `flow` has begun, and has not come to its end.
    pub fn is_running(&self, flow: usize) -> bool {
        self.read(move |stepped| stepped.is_running(flow))
    }

    /// What flow number `flow` cannot know of the time since `since`; `None` if it passes no link
    /// between routers.
    pub fn place(&mut self, flow: usize, since: Time) -> Option<Place> {
        match &mut self.0 {
            Where::Here(stepped) => stepped.place(flow, since),
            Where::Apart(apart) => apart.ask(move |stepped| stepped.place(flow, since)),
        }
    }

    fn read<T: Send + 'static>(&self, what: impl FnOnce(&Stepped) -> T + Send + 'static) -> T {
        match &self.0 {
            Where::Here(stepped) => what(stepped),
            Where::Apart(apart) => apart.ask(|stepped| what(stepped)),
        }
    }
}

/// What a run on a thread of its own is asked.
type Question = Box<dyn FnOnce(&mut Stepped) + Send>;

/// A run on a thread of its own, which ends with it.
struct Apart {
    checked: Checked,
    questions: Option<Sender<Question>>,
    thread: Option<JoinHandle<()>>,
}

/// What came of a question, or the panic that it ended in.
type Outcome<T> = Result<T, Box<dyn Any + Send>>;

const GONE: &str = "the thread answers as long as it is asked";

impl Apart {
    fn new(checked: Checked, seed: u64) -> Result<Self, ScenarioError> {
        let (questions, asked) = channel::<Question>();
        let (answer, answered) = channel();
        let ours = checked.clone();
        let join = joining(&checked);
        let thread = thread::spawn(move || {
            join();
            ours.stacks().for_each(|stack| stack.prepare(seed));
            let begun = catch_unwind(AssertUnwindSafe(|| Stepped::here(ours, seed)));
            let (told, stepped) = match begun {
                Ok(Ok(stepped)) => (Ok(Ok(())), Some(stepped)),
                Ok(Err(error)) => (Ok(Err(error)), None),
                Err(panic) => (Err(panic), None),
            };
            // Nobody listens if the caller has gone.
            let _ = answer.send(told);
            if let Some(mut stepped) = stepped {
                asked.iter().for_each(|question| question(&mut stepped));
            }
        });
        told(answered.recv().expect(GONE))?;
        Ok(Self { checked, questions: Some(questions), thread: Some(thread) })
    }

    /// Returns what `what` makes of the run, and passes on a panic.
    fn ask<T: Send + 'static>(&self, what: impl FnOnce(&mut Stepped) -> T + Send + 'static) -> T {
        let (answer, answered) = channel();
        let join = joining(&self.checked);
        let question: Question = Box::new(move |stepped| {
            join();
            let _ = answer.send(catch_unwind(AssertUnwindSafe(|| what(stepped))));
        });
        let questions = self.questions.as_ref().expect(GONE);
        questions.send(question).expect(GONE);
        told(answered.recv().expect(GONE))
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        self.questions = None;
        // It has told of its panic.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What the run's thread does to belong to this one.
fn joining(checked: &Checked) -> impl FnOnce() + Send + use<> {
    let joining: Vec<_> = checked.stacks().map(|stack| stack.joining()).collect();
    move || joining.into_iter().for_each(|join| join())
}

fn told<T>(outcome: Outcome<T>) -> T {
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}
